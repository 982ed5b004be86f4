#!/usr/bin/env bash
#
# patience.sh - a wait that is longer than MaxJobTime of cupsd, and one that is
# longer than ProcessingLimit and does not end. cupsd cancels a job that reports
# nothing, so the backend changes a state reason regularly, here every second.
. "$(dirname "$0")/lib.sh"

[ -x "$build/tests/it/docextract-quick" ] ||
  give_up 'docextract-quick is built (make tests/it/docextract-quick)'
limit=12 # the backend may be late by that much
start_sim --source-time 0 --case-time 0
make_cups
echo "MaxJobTime $limit" >> "$cups/cupsd.conf"
install -m 755 "$build/tests/it/docextract-quick" "$cups/bin/backend/docextract"
start_cupsd
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1

# The moment of the last call, on the simulator's clock.
now() { tail -n 1 "$SIM_LOG" | jq '.t | floor'; }
is_later() { [ "$(now)" -ge "$1" ]; }

t='longer than MaxJobTime'
faults 'source * word processing'
print -d chart "$dir/a.pdf"
until_true calls_are source 1 || not_ok "$t: the extraction is awaited"
WAIT_S=60 until_true is_later $(($(now) + 2 * limit)) ||
  not_ok "$t: polling continues"
is "$t: the job is not canceled" "$(job_state "$job")" processing
faults '#'
job_ends "$t: and is completed" "$job" completed
is "$t: sent once" "$(calls create) $(calls put) $(n_results)" '1 1 1'

t='longer than ProcessingLimit'
clear_results
write_config 'ProcessingLimit 1m'
kill -HUP "$DAEMON_PID"
faults 'source * word processing'
print -d chart "$dir/a.pdf"
WAIT_S=100 job_ends "$t: the print job ends" "$job" completed
has "$t: with a message about the result" "$(job_log "$job")" \
  'message to "The service is taking longer than usual; the result will be delivered in the background'
has "$t: the queue has a state reason" "$(lpoptions -p chart)" \
  docextract-overdue-warning
has "$t: the log names the limit" "$(dx jobs)" ProcessingLimit
is "$t: no result was delivered" "$(n_results)" 0
faults '#'
stop_daemon # or it asks once an hour
start_daemon
check "$t: the result is delivered in the background" until_true extracted 1
is "$t: it was sent once" "$(calls create) $(calls put) $(n_results)" '1 1 1'
is "$t: one backend was enough" "$(starts "$job")" 1
