#!/usr/bin/env bash
#
# silence.sh - a document that bypasses the filters in the middle of a job, with
# an older driver: cupsd and the backend then wait for each other, until the
# timeout of the backend, which is 13 seconds here instead of half an hour. A
# docextractd that hangs, which the backend notices after 12 seconds instead of
# 30. And a backend that hangs, and with it the news that its print job was
# canceled, which docextractd notices after 12 seconds.
. "$(dirname "$0")/lib.sh"

[ -x "$build/tests/it/docextract-quick" ] ||
  give_up 'docextract-quick is built (make tests/it/docextract-quick)'
start_sim
make_cups
install -m 755 "$build/tests/it/docextract-quick" "$cups/bin/backend/docextract"
write_config 'FilterTimeLimit 5s'
start_cupsd
add_queue chart
use_older_driver chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Berg 2
{ printf '\0\1\2\3' && head -c 3000 /dev/urandom; } > "$dir/random.bin"

print -d chart "$dir/a.pdf" "$dir/random.bin" "$dir/b.pdf"
WAIT_S=60 wait_job "$job" "$ended|aborted"
has 'a job that cannot continue is not completed' "$(job_state "$job")" \
  'pending-held|aborted'
has 'the reason is shown' "$(queue_message "$job")" 'did not arrive.*print it again'
is 'an incomplete job is not sent' "$(calls create)" 0
until_true no_backend
check 'the backend has ended' no_backend

write_config # with the usual limits
print -d chart "$dir/b.pdf"
job_ends 'the next job is extracted' "$job" completed
is 'its values are there' "$(patients)" 'Berg Bob 2'

t='docextractd hangs'
clear_results
faults 'source * word processing'
now() { tail -n 1 "$SIM_LOG" | jq '.t | floor'; } # on the simulator's clock
is_later() { [ "$(now)" -ge "$1" ]; }
has_reason() { lpoptions -p chart | grep -q docextract-stopped-warning; }
print -d chart "$dir/a.pdf"
until_true calls_are source 1 || not_ok "$t: the extraction is awaited"
WAIT_S=60 until_true is_later $(($(now) + 14)) || not_ok "$t: polling continues"
is "$t, before: the connection lasts longer than the limit" \
  "$(job_log "$job" | grep ' docextractd: ')" ''
kill -STOP "$DAEMON_PID"
check "$t: the queue reports it" eval 'WAIT_S=60 until_true has_reason'
is "$t: the print job waits" "$(job_state "$job")" processing
kill -CONT "$DAEMON_PID"
faults '#'
job_ends "$t: it continues, and the print job completes" "$job" completed
is "$t: sent once" "$(calls create) $(calls put) $(n_results)" '1 1 1'
is "$t: one backend was enough" "$(starts "$job")" 1
is "$t: the queue no longer reports it" \
  "$(lpoptions -p chart | grep docextract-stopped)" ''

t='a backend hangs'
clear_results
is_canceled() { [ "$(of_journal "$job" '.submissions[0].state')" = canceled ]; }
faults 'create * status 503'
print -d chart "$dir/b.pdf"
until_true calls_are create 1 || not_ok "$t: the chart is not accepted yet"
backend=$(backends)
kill -STOP "$backend"
cancel "chart-$job"
check "$t: its canceled print job is noticed" eval 'WAIT_S=60 until_true is_canceled'
check "$t: while it hangs" kill -0 "$backend"
faults '#'
kill -CONT "$backend"
until_true no_backend
is "$t: nothing was sent" "$(calls put)" 0
