#!/usr/bin/env bash
#
# wanted.sh - changes to a print job in CUPS determine whether it is sent, even
# if its queue is stopped, its backend is killed, or cupsd has ended or lost the
# job (doc/policy.md, "Changes to the print job in CUPS").
. "$(dirname "$0")/lib.sh"

status_is() # CUPS JOB ID, STATUS: as `docextract jobs` has it
{
  dx jobs --all --json 2> "$dir/jobs.err" |
    jq -e --arg id "$1" --arg state "$2" \
      'any(.[]?; .id == $id and .state == $state)' > "$dir/jobs.out"
}
# The last decision of docextractd about the job.
decided() # ANSWER BACKEND PERMISSION
{
  grep "^job $(key_of "$job"), [^:]*: cupsd: " "$dir/daemon.new" | tail -n 1 |
    grep -q "cupsd: $1, backend: $2: $3\$"
}

# A document is here, and the service takes none.
to_the_outage() # [QUEUE]
{
  clear_results
  faults 'create * status 503'
  print -d "${1-chart}" "$dir/a.pdf"
  until_true calls_are create 1 || not_ok "$t: the service is called"
}

# The outage is over; a print job on the other queue proves that the service
# takes documents again.
after_the_outage()
{
  local first=$job
  faults '#'
  print -d other "$dir/b.pdf"
  job_ends "$t: another print job completes" "$job" completed
  job=$first
}

nothing_was_sent()
{
  is "$t: nothing of it was sent" "$(calls put) $(n_results)" '1 1'
}

start_all --source-time 0 --case-time 0
add_queue other
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Brown 2

t='one of two failed, and is released'
clear_results
faults 'create 2 status 422'
print -d chart "$dir/a.pdf" "$dir/b.pdf"
job_ends "$t: it is held" "$job" pending-held
faults '#'
release "$job"
is "$t: it completes" "$(job_state "$job")" completed
is "$t: both are extracted, and none twice" \
  "$(calls put) $(n_results)" '2 2'
check "$t: the user gets the outcome of this run" \
  eval 'job_log "$job" | grep -q "Extracted 2 cases"'
release_again=$job
t='extracted, and printed again'
clear_results
before=$(starts "$release_again")
lp -i "$release_again" -H restart 2> "$dir/restart.err"
until_true started_again "$release_again" "$before" || not_ok "$t: it runs again"
job_ends "$t: it completes" "$release_again" completed
is "$t: nothing is sent" "$(calls create) $(calls put)" '0 0'

t='canceled while its queue is stopped, and remembered'
to_the_outage
cupsdisable chart
until_true no_backend || not_ok "$t: the backend leaves"
cancel "$job"
check "$t: it is canceled here" until_true status_is "$job" canceled
after_the_outage
nothing_was_sent
cupsenable chart

t='held while docextractd is not running'
to_the_outage
stop_daemon KILL
lp -i "$job" -H hold
job_ends "$t: it is held" "$job" pending-held
until_true no_backend || not_ok "$t: the backend leaves"
stop_cupsd
start_daemon
check "$t: without cupsd, it waits" until_true grep -q 'cupsd: none' \
  "$dir/daemon.new"
faults '#'
start_cupsd
print -d other "$dir/b.pdf"
job_ends "$t: another print job completes" "$job" completed
nothing_was_sent

t='moved to paper'
lpadmin -p paper -E -v file:///dev/null -m raw 2> "$dir/paper.err" ||
  lpadmin -p paper -E -v ipp://localhost:1/x -m raw 2> "$dir/paper.err"
to_the_outage
lpmove "$job" paper
check "$t: it is canceled here" until_true status_is "$job" canceled
after_the_outage
nothing_was_sent

t='moved to another queue of ours'
to_the_outage
lpmove "$job" other
faults '#'
job_ends "$t: it completes there" "$job" completed
is "$t: it was sent once" "$(calls put) $(n_results)" '1 1'

t='moved to one with a slash at the end of its device URI'
add_queue slash
lpadmin -p slash -v docextract://default/
cupsdisable slash
to_the_outage
lpmove "$job" slash
check "$t: it waits for that queue" until_true decided other-queue ended wait
faults '#'
cupsenable slash
job_ends "$t: it completes there" "$job" completed
is "$t: it was sent once" "$(calls put) $(n_results)" '1 1'

t='moved to a stopped queue of ours, and canceled'
cupsdisable slash
to_the_outage
lpmove "$job" slash
check "$t: it waits for that queue" until_true decided other-queue ended wait
cancel "$job"
check "$t: it is canceled here" until_true status_is "$job" canceled
after_the_outage
nothing_was_sent

to_the_stop() # a document is here, and its queue is stopped
{
  to_the_outage
  cupsdisable chart
  until_true no_backend || not_ok "$t: the backend leaves"
}
it_continues()
{
  cupsenable chart
  job_ends "$t: it completes" "$job" completed
  is "$t: it was sent once" "$(calls put) $(n_results)" '2 2'
}
t='its queue is given the URI of a printer, and then its own'
to_the_stop
cat > "$cups/bin/backend/paper" << 'END'
#!/bin/sh
[ $# = 0 ] || cat > /dev/null
END
chmod 755 "$cups/bin/backend/paper"
lpadmin -p chart -v paper:/tray
check "$t: a decision is needed" until_true status_is "$job" undecided
after_the_outage
nothing_was_sent
check "$t: and still needed" status_is "$job" undecided
lpadmin -p chart -v docextract://default
check "$t: no decision is needed" until_true decided active ended wait
it_continues

t='its queue is given another section'
write_config '</Service>' '<Service second>' "BaseURL $SIM_API" \
  "TokenKeyFile $dir/key" "TokenAlgorithm $CIPHER"
to_the_stop
lpadmin -p chart -v docextract://second
check "$t: it waits for its next run" until_true decided other-queue ended wait
after_the_outage
nothing_was_sent
it_continues
is "$t: by the other section" "$(of_journal "$job" .service)" second
lpadmin -p chart -v docextract://default

t='the queue is deleted while a job waits'
add_queue gone
to_the_outage gone
lpadmin -x gone
until_true no_backend || not_ok "$t: the backend leaves"
check "$t: it is canceled here" until_true status_is "$job" canceled
after_the_outage
nothing_was_sent

# From here on, cupsd does not keep jobs that are over.
stop_cupsd
sed -i '1i PreserveJobHistory No' "$cups/cupsd.conf"
start_cupsd

cancel_unnoticed() # while docextractd is not running, and its queue is stopped
{
  cupsdisable chart
  until_true no_backend || not_ok "$t: the backend leaves"
  stop_daemon KILL
  cancel "$job"
  start_daemon
  check "$t: it needs a decision" until_true status_is "$job" undecided
}

t='canceled while its queue is stopped, and forgotten'
to_the_outage
cancel_unnoticed
first=$job
faults '#'
print -d other "$dir/b.pdf" > "$dir/out"
check "$t: another print job is extracted" until_true extracted 1
job=$first
nothing_was_sent
check "$t: and still needs it" status_is "$job" undecided
dx jobs > "$dir/out"
check "$t: jobs names the commands that decide" \
  grep -q 'docextract retry .*docextract cancel' "$dir/out"
cupsenable chart
reports() # TEXT: the last print job, in the message of its queue
{
  job_log "$job" | grep -q "Set job-printer-state-message to \"$1\""
}
has_reason() { lpoptions -p chart | grep -q docextract-decision-warning; }
print -d chart "$dir/b.pdf"
check "$t: the next print job of its queue reports it" until_true reports \
  'Extracted 1 case. Contact your administrator: it is unknown whether 1 chart printed earlier is still wanted'
check "$t: so does the queue" until_true has_reason
job=$first
dx cancel "$(key_of "$job")" > "$dir/out" ||
  not_ok "$t: it is canceled: $(cat "$dir/out")"
check "$t: it is over then" status_is "$job" canceled
print -d chart "$dir/b.pdf"
check "$t: and is not reported any more" until_true reports 'Extracted 1 case'
is "$t: nor by the queue" "$(lpoptions -p chart | grep decision)" ''

t='the same, and the administrator sends it'
to_the_outage
cancel_unnoticed
faults '#'
dx retry "$(key_of "$job")" > "$dir/out" ||
  not_ok "$t: it is retried: $(cat "$dir/out")"
check "$t: it is sent" until_true extracted 1
cupsenable chart

t='the same, while the service does not respond about another document'
stop_sim
start_sim --source-time 0 --case-time 0
write_config
clear_results
faults 'create 2- status 503' 'source * hang'
print -d chart "$dir/a.pdf" "$dir/b.pdf"
until_true calls_are create 2 || not_ok "$t: one is registered"
until_true calls_are put 1 || not_ok "$t: and uploaded"
cancel_unnoticed
until_true is_calling "$job" || not_ok "$t: the service is called"
faults '#'
has "$t: it is retried" "$(dx retry "$(key_of "$job")")" '^Retrying job '
# After the time limit of that call, 60 s.
WAIT_S=120 check "$t: it is sent" until_true extracted 1
dx cancel "$(key_of "$job")" > "$dir/out" ||
  not_ok "$t: the other one is canceled: $(cat "$dir/out")"
cupsenable chart

t='its backend is killed, and cupsd forgets it'
to_the_outage
stop_daemon KILL
kill -KILL "$(backends)"
until_true no_backend
is_forgotten() { [ -z "$(job_state "$job")" ]; }
check "$t: it is forgotten" until_true is_forgotten
start_daemon
check "$t: it needs a decision" until_true status_is "$job" undecided
dx cancel "$(key_of "$job")" > "$dir/out" ||
  not_ok "$t: it is canceled: $(cat "$dir/out")"

# From here on, cupsd keeps the last job that is over.
stop_cupsd
sed -i '1s/.*/MaxJobs 2/' "$cups/cupsd.conf"
start_cupsd

t='canceled while its queue is stopped, and forgotten for newer jobs'
to_the_outage
cupsdisable chart
until_true no_backend || not_ok "$t: the backend leaves"
stop_daemon KILL
cancel "$job"
is "$t: cupsd has it at first" "$(job_state "$job")" canceled
first=$job
cupsdisable paper
for _ in 1 2; do
  print -d paper "$dir/b.pdf"
  cancel "$job"
done
job=$first
check "$t: it is forgotten" until_true is_forgotten
start_daemon
check "$t: it needs a decision" until_true status_is "$job" undecided
after_the_outage
nothing_was_sent
