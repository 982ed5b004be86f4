#!/usr/bin/env bash
#
# accepted.sh - Completion accepted: the print job completes when it is stored,
# and docextractd processes it, whatever process is killed. If docextractd is
# not running, the chart is stored, and the print job waits until it is running
# again.
. "$(dirname "$0")/lib.sh"

message_of() { of_journal "$1" '.message + .submissions[0].message'; }
has_message() { [ -n "$(message_of "$1")" ]; }
daemon_says() { grep -Eq -e "$1" "$dir/daemon.new"; }
said_again() { [ "$(grep -Ec -e "$1" "$dir/daemon.new")" -gt "$2" ]; }

accept() # [LINE...]: writes the configuration, with LINEs for the service
{
  write_config 'Completion accepted' "$@"
}

print_chart() { print -d chart "$dir/a.pdf" "$@"; }

to_the_wait() # prints; docextractd waits for the extraction
{
  clear_results
  faults 'source * word processing'
  print_chart "$@"
  job_ends "$t: the print job ends while the extraction is awaited" \
    "$job" completed
  until_true calls_are source 1 || not_ok "$t: the extraction is awaited"
}

once() # TEXT [N]
{
  local n=${2:-1}
  check "$1: it is extracted" until_true extracted "$n"
  is "$1: sent once" "$(calls create) $(calls put) $(n_results)" "$n $n $n"
}

start_sim --source-time 0 --case-time 0
start_cupsd
accept
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Berg 2

t='left'
to_the_wait "$dir/b.pdf"
is "$t: nothing is extracted yet" "$(n_results)" 0
is "$t: the journal says so" "$(of_journal "$job" .print.backend)" left
has "$t: and the person can see it" \
  "$(grep -a "\[Job $job\] Set job-printer-state-message" "$cups/log/error_log")" \
  'on this computer and will be sent; the result will be delivered in the background'
faults '#'
once "$t" 2
no_documents_left() { [ -z "$(find "$spool/jobs" "$spool/finished" -name 'document-*')" ]; }
check "$t: no document is kept" until_true no_documents_left

t='a slash at the end of the device URI' # as some dialogs write it
lpadmin -p chart -v docextract://default/
to_the_wait
check "$t: docextractd learns that it is over" until_true \
  daemon_says "job $(key_of "$job"), service .*: cupsd: over, backend: left: send"
faults '#'
once "$t"
lpadmin -p chart -v docextract://default

t='no scanning'
clear_results
stop_daemon
start_daemon # it scans now, and then in 30 s
print_chart
WAIT_S=20 until_true daemon_says 'job .*: received' ||
  not_ok "$t: a job is taken when it comes"
once "$t"

t='killed while waiting'
to_the_wait
stop_daemon KILL
faults '#'
start_daemon
once "$t"

is_stored() { [ -n "$(ls "$spool/received")" ]; }
says_stopped() { queue_state chart | grep -q "$1"; }
t='without docextractd'
clear_results
stop_daemon
print_chart
until_true is_stored || not_ok "$t: the chart is stored"
check "$t: the queue says that the chart is safe, and what is wrong" until_true \
  says_stopped 'The chart is on this computer; contact your administrator'
is "$t: the print job waits" "$(job_state "$job")" processing
start_daemon
job_ends "$t: and ends when it is back" "$job" completed
once "$t"

t='killed before it takes a job'
clear_results
kill -STOP "$DAEMON_PID"
print_chart
until_true is_stored || not_ok "$t: the chart is stored"
stop_daemon KILL
start_daemon
job_ends "$t: the print job ends" "$job" completed
once "$t"

t='a directory that cannot be written at first'
clear_results
faults 'source * word processing'
chmod 500 "$spool/jobs"
print_chart
until_true is_stored || not_ok "$t: the chart is stored"
key=$(ls "$spool/received")
key=${key%.*}
until_true daemon_says "job $key: E_ACCESS: cannot" ||
  not_ok "$t: docextractd cannot take the job"
is "$t: the print job waits" "$(job_state "$job")" processing
chmod 700 "$spool/jobs"
dx retry "$key" > "$dir/retry" 2>&1
is "$t: the job is taken when it can be" "$?" 0
job_ends "$t: and the print job completes, without the result" "$job" completed
is "$t: the journal says so" "$(of_journal "$job" .print.backend)" left
faults '#'
once "$t"

# cupsd writes its list of jobs, and then each job's own record: killed in
# between, it reports a finished job as pending, and never starts it. If a
# record is newer than the list, it does not use the list.
call_pending() # CUPS JOB ID
{
  local record
  record=$cups/spool/$(printf 'c%05d' "$1")
  touch -r "$record" "$dir/record"
  LC_ALL=C sed -i 's/\(job-state\x00\x04\x00\x00\x00\)\x09/\1\x03/' "$record"
  touch -r "$dir/record" "$record"
}
t='cupsd killed while it writes that the print job is over'
clear_results
faults 'create * status 503'
print_chart
job_ends "$t: the print job ends" "$job" completed
key=$(key_of "$job")
stop_daemon KILL
stop_cupsd
call_pending "$job"
jq '.print.final = "none"' "$spool/jobs/$key/job.json" > "$dir/job.json"
cat "$dir/job.json" > "$spool/jobs/$key/job.json" # it had not asked yet
clear_results
faults '#'
NO_DAEMON=1 start_cupsd
is "$t: it is pending for ever" "$(job_state "$job")" pending
start_daemon
once "$t"

t='stopped by SIGTERM'
to_the_wait
begin_limit
before=$(date +%s%N)
kill -TERM "$DAEMON_PID"
wait "$DAEMON_PID"
is "$t: it succeeds" "$?" 0
took=$((($(date +%s%N) - before) / 1000000))
check "$t: within two seconds ($took ms)" \
  test "$took" -lt "$(limit_of 2000)"
DAEMON_PID=
faults '#'
start_daemon
once "$t"

t='a second instance'
"$build/daemon/docextractd" --version > "$dir/version"
has "$t: the version is printed" "$(cat "$dir/version")" '^docextractd [0-9]'
(as_run_user "$build/daemon/docextractd" -c "$config") 2> "$dir/second"
is "$t: it does not start" "$?" 75
has "$t: and says why" "$(cat "$dir/second")" "already running as process $DAEMON_PID"

t='a new configuration'
clear_results
before=$(grep -c '^ready$' "$dir/daemon.new")
write_config
kill -HUP "$DAEMON_PID"
until_true said_again '^ready$' "$before" || not_ok "$t: it is in effect"
print_chart
job_ends "$t: the print job ends with its results" "$job" completed
is "$t: they are there" "$(n_results)" 1
has "$t: its backend did not leave before" \
  "$(of_journal "$job" .print.backend)" '^(attends|ended)$'

t='another SpoolDir and StatusSocket'
first_spool=$spool
spool=$dir/spool2 results=$dir/spool2/results
STATUS_SOCKET=$dir/run/status2 write_config
until_true test -S "$dir/run/status2" || not_ok "$t: it is in effect"
print_chart
job_ends "$t: the print job ends with its results" "$job" completed
is "$t: they are there" "$(n_results)" 1
is "$t: the sockets of the others are removed" \
  "$(find "$first_spool" "$dir/run" -type s)" "$dir/run/status2"
check "$t: the process is the same" kill -0 "$DAEMON_PID"
spool=$first_spool results=$first_spool/results

t='a document that cannot be sent'
clear_results
accept
echo '%PDF-1.4' > "$dir/bad.pdf"
print -d chart "$dir/bad.pdf"
job_ends "$t: the print job is held, or nobody would notice" "$job" pending-held
cancel "$job"

t='the key is wrong'
clear_results
faults 'source * word processing'
print_chart
until_true calls_are source 1
make_key "$dir/other"
stop_daemon KILL

KEY=$dir/other accept
start_daemon
WAIT_S=60 until_true daemon_says 'every 10 minutes' ||
  not_ok "$t: docextractd says that it waits"
check "$t: the journal says why" until_true has_message "$job"
# The first refusal is not final.
names_key() { message_of "$1" | grep -q 'key id'; }
check "$t: and which key it is" until_true names_key "$job"
faults '#'
accept
once "$t, and fixed: a new configuration is enough"
is "$t, and fixed: the message is gone" "$(message_of "$job")" ''

t='canceled by the command'
to_the_wait
output=$(dx cancel "$(key_of "$job")" 2>&1)
is "$t: it is done" "$?" 0
has "$t: it reports what the service has" "$output" 'service'
faults '#'
is "$t: the journal says so" \
  "$(of_journal "$job" '.submissions[0].reason')" \
  canceled
check "$t: no document is kept" until_true no_documents_left
is "$t: the manifest reports it" \
  "$(cd "$results" && manifests | xargs jq -r .outcome)" failed

t='failed and tried again'
clear_results
faults 'create 1- status 422'
print_chart
job_ends "$t: the print job ends" "$job" completed
check "$t: it fails" until_true daemon_says "job $(key_of "$job"), .*responded with 4"
faults '#'
dx retry "$(key_of "$job")" > "$dir/retry" 2>&1
is "$t: the command succeeds" "$?" 0
check "$t: and extracted" until_true extracted 1
is "$t: once" "$(calls put) $(n_results)" '1 1'

t='a wrong configuration'
to_the_wait
before=$(grep -c 'keeping the previous' "$dir/daemon.new")
cp -p "$config" "$dir/valid.conf"
accept 'Completon accepted'
until_true said_again 'keeping the previous' "$before" ||
  not_ok "$t: docextractd keeps the previous one"
has "$t: hello reports that, and does not test the previous one" \
  "$(config=$dir/valid.conf dx hello 2>&1)" "$config:.*unknown directive"
faults '#'
once "$t"
accept

t='started by the wrong user'
if [ "$(id -u)" = 0 ]; then
  stop_daemon
  mv "$spool" "$spool.full"
  write_config # with an unused spool
  "$build/daemon/docextractd" -c "$config" 2> "$dir/wrong"
  is "$t: it does not run" "$?" 78
  has "$t: and says as which user it must" "$(cat "$dir/wrong")" \
    "belongs to '$run_user'; run docextractd as"
  is "$t: and leaves no files" \
    "$(find "$spool" ! -user "$run_user")" ''
  rm -rf "$spool"
  mv "$spool.full" "$spool"
  accept
fi
