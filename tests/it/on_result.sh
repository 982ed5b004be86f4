#!/usr/bin/env bash
#
# on_result.sh - OnResult: docextractd runs the program of the administrator for
# every result, whatever process is killed, and print jobs do not wait for it.
. "$(dirname "$0")/lib.sh"

# It prints what it was given, and succeeds once there is a file `go`. Until
# then, it is run every 10 s or less often.
program=$dir/on-result
said=$dir/said
cat > "$program" << EOF
#!/bin/sh
echo "\$DOCEXTRACT_OUTCOME \$DOCEXTRACT_QUEUE \$(basename "\$1")" >> $said
echo 'no bed for Ann Ahrens' >&2
while [ -e $dir/wait ]; do sleep 0.05; done
[ -e $dir/go ]
EOF
chmod 755 "$program"
fresh() # the program waits for nothing and succeeds
{
  : > "$said"
  chmod 666 "$said"
  rm -f "$dir/wait"
  touch "$dir/go"
  failures=$(n_failures)
}
n_failures() { grep -c 'OnResult failed' "$dir/daemon.new"; }
fails_of_a_chart() # prints one, until OnResult has failed; sets $key
{
  fresh
  rm "$dir/go"
  print_chart
  job_ends "$t: the print job ends" "$job" completed
  check "$t: the program fails" until_true has_failed
  key=$(of_journal "$job" .key)
}
succeeded_once() # since fresh
{
  is "$t: once" "$(n_lines)" $(($(n_failures) - failures + 1))
}
lines() { [ "$(wc -l < "$said")" -ge "$1" ]; }
n_lines() { wc -l < "$said"; }
all_finished() { [ -z "$(find "$spool/jobs" -mindepth 1 -print -quit)" ]; }
messages()
{
  find "$spool/jobs" -name job.json -exec jq -r '.submissions[].message' {} +
}
has_failed() { messages | grep -q 'OnResult failed'; }
print_chart() { print -d chart "$dir/a.pdf"; }

start_sim --source-time 0 --case-time 0
start_cupsd
write_config "OnResult $program"
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1

t='while it runs'
fresh
touch "$dir/wait"
print_chart
job_ends "$t: the print job ends" "$job" completed
check "$t: the program is run" until_true lines 1
check "$t: and still runs" test -e "$dir/wait"
print_chart
job_ends "$t: the next print job does not wait for it" "$job" completed
rm "$dir/wait"
check "$t: it is run for both" until_true lines 2
check "$t: and no run is pending" until_true all_finished
is "$t: once each" "$(sort -u "$said" | wc -l) $(n_lines)" '2 2'
has "$t: with its environment" "$(cat "$said")" '^extracted chart .*\.job\.json$'

t='a failure'
fresh
faults 'create 1- status 422'
print_chart
job_ends "$t: the print job is held" "$job" pending-held
check "$t: the program is run" until_true lines 1
has "$t: and gets the outcome" "$(cat "$said")" '^failed chart '
faults '#'
release "$job"
check "$t: it is run when the job was released" until_true lines 2
has "$t: and gets the outcome" "$(tail -n 1 "$said")" '^extracted chart '
check "$t: no run is pending" until_true all_finished

t='a failed job expires'
fresh
faults 'create 1- status 422'
print_chart
job_ends "$t: the print job is held" "$job" pending-held
check "$t: the program is run" until_true lines 1
faults '#'
stop_daemon
touch -d '31 days ago' "$spool"/jobs/*/job.json
touch -d '2 hours ago' "$spool/swept"
start_daemon
check "$t: it is run again" until_true lines 2
has "$t: and gets the outcome" "$(tail -n 1 "$said")" '^failed chart '
check "$t: no run is pending" until_true all_finished
is "$t: the manifest says it" \
  "$(jq -r .reason_code "$results/$(tail -n 1 "$said" | cut -d ' ' -f 3)")" \
  expired

t='docextractd is killed meanwhile'
fresh
touch "$dir/wait"
print_chart
job_ends "$t: the print job ends" "$job" completed
check "$t: the program is run" until_true lines 1
stop_daemon KILL
rm "$dir/wait"
start_daemon
check "$t: the next one repeats it" until_true lines 2
check "$t: and no run is pending" until_true all_finished

t='failing'
fresh
rm "$dir/go"
print_chart
check "$t: the journal records it" until_true has_failed
has "$t: and the log" "$(cat "$dir/daemon.new")" \
  'OnResult failed \(status 1\); it will be run again'
touch "$dir/go"
check "$t: it is repeated" until_true all_finished
succeeded_once

t='while it is due'
fails_of_a_chart
last_error=$spool/jobs/$key/on-result-0001
jobs=$(dx jobs)
has "$t: it is listed, with what to do" "$jobs" \
  "${key:0:8}  extracted .*OnResult failed \(status 1\); its last error output is in $last_error; when the cause is fixed: docextract retry ${key:0:8}; if it need not be run: docextract cancel ${key:0:8}; trying again at "
has "$t: it is counted" "$(dx metrics)" \
  'docextract_hook_pending_jobs\{service="default"\} 1'
is "$t: what it has said is in that file" "$(cat "$last_error")" \
  'no bed for Ann Ahrens'
is "$t: which only its owner reads" "$(stat -c %a "$last_error")" 600
hasnt "$t: and in no other place" \
  "$jobs $(cat "$spool/jobs/$key/job.json" "$dir/daemon.new")" Ahrens
stop_daemon KILL
start_daemon
before=$(n_lines)
check "$t: docextractd that was killed runs it again" \
  until_true lines $((before + 1))
check "$t: and lists it" until_true has_failed
before=$(n_lines)
has "$t: retry runs it" "$(dx retry "chart-$job" 2>&1)" \
  "Running OnResult again for job $key"
check "$t: at once" until_true lines $((before + 1))
touch "$dir/go"
has "$t: retry when the cause is fixed" "$(dx retry "chart-$job" 2>&1)" \
  "Running OnResult again for job $key"
check "$t: it succeeds" until_true all_finished
is "$t: what it has said is removed" \
  "$(find "$spool" -name 'on-result*')" ''

t='acknowledged'
fails_of_a_chart
has "$t: purge asks for it" "$(dx purge "chart-$job" 2>&1)" \
  "not finished; cancel it first, with: docextract cancel $key"
has "$t: cancel acknowledges it" "$(dx cancel "chart-$job" 2>&1)" \
  "OnResult is not run again for job $key"
check "$t: the job is finished" all_finished
hasnt "$t: it is listed without it" "$(dx jobs)" OnResult
has "$t: it is not counted" "$(dx metrics)" \
  'docextract_hook_pending_jobs\{service="default"\} 0'
is "$t: what it has said is removed" \
  "$(find "$spool" -name 'on-result*')" ''
has "$t: the result stays" "$(ls "$results")" "$(tail -n 1 "$said" | cut -d ' ' -f 3)"
before=$(n_lines)
has "$t: retry does not run it" "$(dx retry "chart-$job" 2>&1)" \
  'Everything .* has already been extracted'
stop_daemon
start_daemon
print_chart
check "$t: the next one is run" until_true lines $((before + 1))
is "$t: but this one is not" "$(grep -c . "$said")" $((before + 1))
touch "$dir/go"
check "$t: no run is pending" until_true all_finished

t='a released failure'
fresh
rm "$dir/go"
faults 'create 1- status 422'
print_chart
job_ends "$t: the print job is held" "$job" pending-held
check "$t: the program is run" until_true lines 1
faults '#'
release "$job"
is "$t: a release extracts it" "$(job_state "$job")" completed
touch "$dir/go"
check "$t: and the program is run for that" until_true all_finished
has "$t: and gets the outcome" "$(tail -n 1 "$said")" '^extracted chart '

t='canceled while it is due'
fresh
touch "$dir/wait"
write_config "OnResult $program" 'Completion accepted'
faults 'source * word processing'
polls=$(calls source)
print_chart
until_true calls_are source $((polls + 1)) || not_ok "$t: it is uploaded"
key=$(of_journal "$job" .key)
is "$t: a client is told once, even if it cancels it again" "$(
  perl -MIO::Socket::UNIX -e '
    $s = IO::Socket::UNIX->new($ARGV[0]) or exit;
    <$s>;
    for my $verb ("cancel $ARGV[1]", "cancel $ARGV[1]", "seen") {
      print $s "$verb\n";
      while (<$s>) { print; last if /^done/ }
    }' "$spool/docextractd.sock" "$key" | grep -v '^line The service ')" \
  "line Canceled job $key
done 
done Job $key has already finished: 0 of 1 documents extracted
done Acknowledged 0 failed jobs"
faults '#'
rm "$dir/wait"
check "$t: and no run is pending" until_true all_finished
write_config "OnResult $program"

t='the configuration is changed while it runs'
fresh
touch "$dir/wait"
print_chart
check "$t: the program is run" until_true lines 1
write_config "OnResult $program" 'APIRate 7'
check "$t: it is run again" until_true lines 2
rm "$dir/wait"
check "$t: and no run is pending" until_true all_finished

t='docextract submit'
fresh
dx submit "$dir/a.pdf" > "$dir/submit.out" 2>&1
is "$t: it succeeds" "$?" 0
check "$t: docextractd runs the program" until_true lines 1
check "$t: no run is pending" until_true all_finished
fresh
stop_daemon
dx submit "$dir/a.pdf" > "$dir/submit.out" 2>&1
is "$t, while docextractd is stopped: it is stored" \
  "$? $(ls "$spool/received" | wc -l)" '75 1'
start_daemon
check "$t, when it is started: the program is run" until_true lines 1
check "$t, when it is started: no run is pending" until_true all_finished

finish
