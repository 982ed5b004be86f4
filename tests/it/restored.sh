#!/usr/bin/env bash
#
# restored.sh - a spool that was restored from a backup, or copied, may be older
# than what was sent. Nothing of it is sent until the administrator decides, and
# then once; what the service has is fetched, and new charts are not affected
# (doc/policy.md, "Restored and copied spools"). A spool that was moved one level
# too deep is reported.
. "$(dirname "$0")/lib.sh"

state_of() # CUPS JOB ID: as `docextract jobs` has it
{
  dx jobs --all --json 2> "$dir/jobs.err" |
    jq -r --arg id "$1" '.[] | select(.id == $id) | .state'
}
state_is() { [ "$(state_of "$1")" = "$2" ]; } # CUPS JOB ID, STATE
states() # CUPS JOB ID...
{
  local id
  for id; do state_of "$id"; done | xargs
}
all_are() # STATE CUPS JOB ID...
{
  local id
  for id in "${@:2}"; do state_is "$id" "$1" || return; done
}
sent_calls() { echo "$(calls create) $(calls put)"; }
run() { out=$(dx "$@" 2>&1) && rc=0 || rc=$?; } # ARGUMENT...

# One chart of each kind, whose print jobs are over: the service processes it;
# it is registered, but could not be uploaded; it is stored.
put_charts()
{
  faults 'source * word processing'
  print -d chart "$dir/a.pdf"
  processing=$job
  until_true state_is "$processing" processing ||
    not_ok "$t: a chart is processed"
  faults 'source * word processing' 'put * status 503'
  print -d chart "$dir/b.pdf"
  registered=$job
  until_true calls_are put 2 && until_true state_is "$registered" registered ||
    not_ok "$t: a chart is registered"
  faults 'source * word processing' 'put * status 503' 'create * status 503'
  print -d chart "$dir/c.pdf"
  stored=$job
  until_true calls_are create 3 && until_true job_is "$stored" completed ||
    not_ok "$t: a chart is stored"
  is "$t: one chart of each kind" "$(states "$processing" "$registered" "$stored")" \
    'processing registered stored'
}

# Ways to copy a spool, and to restore it.
with_cp() { cp -a "$1" "$2"; } # FROM TO
with_tar() { mkdir "$2" && tar -C "$1" -cf - . | tar -C "$2" -xpf -; }

restore() # HOW
{
  rm -rf "$spool"
  "with_$1" "$dir/backup" "$spool"
  : > "$SIM_LOG"
}

start_sim --source-time 0 --case-time 0
write_config 'Completion accepted'
start_cupsd
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Brown 2
chart_pdf "$dir/c.pdf" Cid Carter 3
chart_pdf "$dir/d.pdf" Dan Dorn 4

t='restored after all was sent'
put_charts
stop_daemon
with_cp "$spool" "$dir/backup"
faults '#'
start_daemon
until_true all_are extracted "$processing" "$registered" "$stored" ||
  not_ok "$t: the charts are extracted"
stop_daemon
restore cp
run jobs
has "$t: without docextractd, jobs says it, too" "$out" \
  'undecided .*restored from a backup, or copied, .*docextract retry'
start_daemon
check "$t: what the service has is fetched" \
  until_true all_are extracted "$processing" "$registered"
is "$t: nothing was sent" "$(sent_calls)" '0 0'
is "$t: what was stored needs a decision" "$(states "$stored")" undecided
run jobs
has "$t: jobs says why, and what to do" "$out" \
  'undecided .*restored from a backup, or copied, .*docextract retry .*docextract cancel'
has "$t: the log has the commands for all" "$(cat "$dir/daemon.new")" \
  '^2 jobs were restored .*retry --all --state undecided.*cancel --all --state und'
run metrics
has "$t: the metrics count it" "$out" 'state="undecided"\} 1$'

t='restored, and a new chart'
print -d chart "$dir/d.pdf"
check "$t: it is extracted" until_true state_is "$job" extracted
is "$t: it alone was sent" "$(sent_calls)" '1 1'

t='restored, killed, and started again'
stop_daemon KILL
start_daemon
run hello
has "$t: hello says it" "$out" '1 job waits, although this test succeeds: it was restored'
run retry --all
is "$t: --all is no decision" "$rc $out" '0 Retrying 0 jobs'
run cancel --all
is "$t: nor is it to cancel" "$rc $out" '0 Canceled 0 jobs'
is "$t: it needs the decision still" "$(states "$stored") $(sent_calls)" \
  'undecided 1 1'
run retry --all --state undecided --queue other
is "$t: other queues are not affected" "$rc $out" "0 docextract: unknown queue 'other'
Retrying 0 jobs"
run retry --all --state undecided
is "$t: it is decided for all" "$rc $out" \
  '0 Retrying 1 job; check with: docextract jobs'
check "$t: then it is extracted" until_true state_is "$stored" extracted
is "$t: it was sent once" "$(sent_calls)" '2 2'
stop_daemon
start_daemon
is "$t: after the next start, nothing is undecided" \
  "$(dx jobs --state undecided --json)" '[]'

t='restored before anything more was sent'
clear_results
put_charts
stop_daemon
rm -rf "$dir/backup"
with_tar "$spool" "$dir/backup"
restore tar
faults '#'
start_daemon
check "$t: what the service processes is fetched" \
  until_true state_is "$processing" extracted
until_true calls_are source 2 || not_ok "$t: the registered source is asked about"
is "$t: the others need a decision" "$(states "$registered" "$stored") $(sent_calls)" \
  'undecided undecided 0 0'
run retry "chart-$registered"
has "$t: the decision for one" "$rc $out" '^0 Retrying job '
check "$t: it is extracted" until_true state_is "$registered" extracted
is "$t: uploaded to its source, once" "$(sent_calls)" '0 1'
is "$t: the other needs it still" "$(states "$stored")" undecided
run cancel --all --state undecided
is "$t: the decision to cancel" "$rc $out" '0 Canceled 1 job'
is "$t: it is canceled" "$(states "$stored") $(sent_calls)" 'canceled 0 1'
is "$t: its document is gone" "$(find "$spool/jobs" -type f)" ''

t='failed, and restored'
clear_results
faults 'create * status 422'
print -d chart "$dir/a.pdf"
until_true state_is "$job" failed || not_ok "$t: it fails"
stop_daemon
rm -rf "$dir/backup"
with_cp "$spool" "$dir/backup"
restore cp
faults '#'
start_daemon
check "$t: it needs a decision" until_true state_is "$job" undecided
run retry --all
is "$t: --all leaves it alone" "$rc $out $(sent_calls)" '0 Retrying 0 jobs 0 0'
run retry "chart-$job"
check "$t: decided, it is extracted" until_true state_is "$job" extracted
is "$t: it was sent once" "$(sent_calls)" '1 1'

t='restored, and CUPS runs its print job again'
clear_results
write_config
until_true grep -q 'reloading' "$dir/daemon.new"
faults 'create * status 503'
print -d chart "$dir/a.pdf"
first=$job
until_true calls_are create 1 || not_ok "$t: the service is called"
stop_cupsd
stop_daemon
rm -rf "$dir/backup"
with_cp "$spool" "$dir/backup"
restore cp
faults '#'
start_cupsd
check "$t: it needs a decision" until_true state_is "$first" undecided
check "$t: CUPS runs it" until_true one_backend
print -d chart "$dir/d.pdf"
second=$job
job_ends "$t: another chart gets the queue, and completes" "$second" completed
is "$t: the other one alone was sent" \
  "$(states "$first" "$second") $(sent_calls)" 'undecided extracted 1 1'
is "$t: the user is told" "$(dx jobs --json | jq -r --arg id "$first" \
  '.[] | select(.id == $id).sentence')" 'Contact your administrator: this '\
'computer no longer knows whether the print job was sent or is still wanted'
run retry "chart-$first"
check "$t: decided, it is extracted" until_true state_is "$first" extracted
is "$t: it was sent once" "$(sent_calls)" '2 2'

t='moved to another place on the same disk'
clear_results
faults 'create * status 503'
print -d chart "$dir/a.pdf"
until_true calls_are create 1 || not_ok "$t: the service is called"
stop_cupsd
stop_daemon
mv "$spool" "$dir/moved"
mv "$dir/moved" "$spool"
faults '#'
start_cupsd
check "$t: it continues" until_true state_is "$job" extracted

t='moved one level too deep'
stop_daemon
mv "$spool" "$dir/old"
write_config
mv "$dir/old" "$spool"
(as_run_user "$build/daemon/docextractd" -c "$config") > "$dir/out" 2>&1
is "$t: docextractd refuses it" "$?" 78
has "$t: it says what happened" "$(cat "$dir/out")" \
  "SpoolDir '$spool' has no jobs, but its directory 'old' is a spool that has"
run hello
is "$t: hello fails, too" "$rc" 78
has "$t: and says it" "$out" 'one level too deep; fix it with: cd '
print -d chart "$dir/d.pdf"
is_told() { job_log "$job" | grep -q 'one level too deep'; }
check "$t: so does the backend" until_true is_told
command=$(sed -n 's/.*fix it with: //p' "$dir/out")
check "$t: the command works" sh -c "$command"
start_daemon
job_ends "$t: print jobs continue" "$job" completed
is "$t: the jobs are there, and nothing is undecided" \
  "$(states "$second") [$(dx jobs --state undecided | tail -n +2)]" 'extracted []'
