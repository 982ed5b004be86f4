#!/usr/bin/env bash
#
# silence.sh - a document that bypasses the filters in the middle of a job:
# cupsd and the backend then wait for each other, until the timeout of the
# backend, which is five seconds here instead of half an hour.
. "$(dirname "$0")/lib.sh"

[ -x "$build/tests/it/docextract-quick" ] ||
  give_up 'docextract-quick is built (make tests/it/docextract-quick)'
start_sim
make_cups
install -m 755 "$build/tests/it/docextract-quick" "$cups/bin/backend/docextract"
write_config 'FilterTimeLimit 1s'
start_cupsd
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Berg 2
{ printf '\0\1\2\3' && head -c 3000 /dev/urandom; } > "$dir/random.bin"

print -d chart "$dir/a.pdf" "$dir/random.bin" "$dir/b.pdf"
wait_job "$job" "$ended|aborted"
has 'a job that cannot go on is not completed' "$(job_state "$job")" \
  'pending-held|aborted'
has 'the reason is shown' "$(queue_message "$job")" 'type'
is 'half a job is not sent' "$(calls create)" 0
until_true no_backend
check 'the backend has ended' no_backend

print -d chart "$dir/b.pdf"
job_ends 'the next job is extracted' "$job" completed
is 'its values are there' "$(patients)" 'Berg Bob 2'
