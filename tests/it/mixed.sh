#!/usr/bin/env bash
#
# mixed.sh - print jobs of two documents, one of which has failed: they are held
# as soon as the other one may be left, and that one goes on. Then the user
# waits, cancels the print job, or releases it.
. "$(dirname "$0")/lib.sh"

is_held() { wait_job "$1" "$ended" && job_is "$1" pending-held; } # CUPS JOB ID
states() { of_journal "$1" '[.submissions[].state] | join(" ")'; } # CUPS JOB ID
states_are() { [[ $(states "$1") =~ ^($2)$ ]]; } # CUPS JOB ID, PATTERN
backend() { of_journal "$1" .print.backend; } # CUPS JOB ID
counts() { echo "$(calls create) $(calls put) $(n_results)"; }
rest='the rest is being processed in the background'

start_sim --source-time 0 --case-time 0
write_config 'ProcessingLimit 1m'
start_cupsd
for queue in chart canceled released; do add_queue "$queue"; done
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Berg 2
chart_pdf "$dir/c.pdf" Cem Can 3
chart_pdf "$dir/d.pdf" Dan Dahl 4
printf '%%PDF-1.4\n1 0 obj <</Type/Catalog>> endobj\n' > "$dir/damaged.pdf"
sent='uploaded|processing'

section 'the other one was sent, and takes longer than ProcessingLimit'

faults 'create 1 status 422' 'source * word processing'
print -d released "$dir/c.pdf" "$dir/d.pdf"
released=$job
check 'the service rejects one of two documents' until_true states_are \
  "$released" "failed ($sent)|($sent) failed"
print -d chart "$dir/damaged.pdf" "$dir/a.pdf"
alone=$job
print -d canceled "$dir/b.pdf" "$dir/damaged.pdf"
canceled=$job
for t in alone canceled released; do
  WAIT_S=100 check "$t: the print job is held" is_held "${!t}"
  has "$t: its message says that the rest goes on" "$(job_message "${!t}")" \
    "0 of 2 documents extracted; document [12]: .*; $rest\$"
  is "$t: the journal has that it is held" "$(backend "${!t}")" held
done
is 'each good document was sent once' "$(counts)" '4 3 0'

cancel "$canceled"
check 'canceled: the damaged document is canceled, and the other one goes on' \
  until_true states_are "$canceled" "($sent) canceled"

release "$released"
is 'released: the print job completes, because a document is overdue' \
  "$(job_state "$released")" completed
has 'released: its message says so' "$(job_message "$released")" \
  'taking longer than usual; the result will be delivered in the background$'
is 'released: the journal has that it was left' "$(backend "$released")" left
check 'released: the rejected document was sent before' states_are \
  "$released" "($sent) ($sent)"
is 'released: and the other one not again' "$(counts)" '5 4 0'

faults '#'
stop_daemon # or it asks once an hour
start_daemon
check 'all of them are extracted, the canceled one, too' until_true extracted 4
is 'and were sent once' "$(counts)" '5 4 4'
check 'alone: the print job ends' until_true states_are "$alone" 'refused extracted'
is 'alone: it is still held' "$(job_state "$alone")" pending-held
release "$alone"
has 'alone: released, it is held because of the same document' \
  "$(job_state "$alone") $(job_message "$alone")" '^pending-held .*document 1: '
is 'alone: and nothing is sent again' "$(counts)" '5 4 4'
cancel "$alone"
check 'alone: canceled, nothing is left to do' until_true states_are "$alone" \
  'canceled extracted'

section 'nothing was sent'

clear_results
write_config 'Completion accepted'
kill -HUP "$DAEMON_PID"
faults 'create * status 503'
print -d chart "$dir/damaged.pdf" "$dir/a.pdf"
alone=$job
print -d canceled "$dir/b.pdf" "$dir/damaged.pdf"
canceled=$job
for t in alone canceled; do
  check "$t, not sent: the print job is held" is_held "${!t}"
  has "$t, not sent: its message says that the rest goes on" \
    "$(job_message "${!t}")" "$rest\$"
done
cancel "$canceled"
check 'canceled, not sent: all of it is canceled' until_true states_are \
  "$canceled" 'canceled canceled'
faults '#'
check 'alone, not sent: it is sent while the print job is held' \
  until_true extracted 1
is 'alone, not sent: and nothing else' "$(patients)" 'Ahrens Ann 1'
is 'alone, not sent: it is still held' "$(job_state "$alone")" pending-held
