#!/usr/bin/env bash
#
# again.sh - a client's CUPS is killed while its print job is at the server, and
# sends the job again: it has another number there, but the same uuid. What was
# printed once is sent once; what is different, or was printed again on purpose,
# is sent; and what was canceled is not sent when every one of the print jobs
# was canceled.
. "$(dirname "$0")/lib.sh"
. "$it/gate.sh"

# --- a server and a client ---------------------------------------------------

server=$cups client=$dir/client client_pid=

use_cupsd() # DIRECTORY
{
  cups=$1
  ipp=ipp://${cups//\//%2F}%2Fcups.sock
  export CUPS_SERVER=$cups/cups.sock
}

start_client()
{
  local CUPSD_PID='' NO_DAEMON=1 LISTEN=''
  use_cupsd "$client"
  if [ ! -d "$cups/bin" ]; then
    make_cups
    rm "$cups/bin/backend/docextract"
    cp /usr/lib/cups/backend/ipp "$cups/bin/backend/"
  fi
  start_cupsd
  client_pid=$CUPSD_PID
  use_cupsd "$server"
}

client_children()
{
  local -A sessions=(["$client_pid"]=${sessions[$client_pid]})
  cups_children | sed -n 's/ ipp$//p'
}

# As when the computer loses its power.
crash_client()
{
  local p children
  children=$(client_children)
  end_process "$client_pid" KILL
  for p in $children; do kill -KILL "$p" 2> /dev/null; done
  for p in $children; do until_true is_gone "$p"; done
  forget_half_saved "$client"
}

jobs_there() { lpstat -W all -o chart | sed 's/^chart-\([0-9]*\) .*/\1/' | sort -n; }
newest() { jobs_there | tail -n 1; }
is_newer() { [ "$(newest)" -gt "$1" ]; } # ID

# Prints at the client. $mine: the number there; $first: at the server.
print_at_client() # LP ARGUMENT...
{
  before=$(newest)
  use_cupsd "$client"
  print "$@"
  mine=$job
  use_cupsd "$server"
  until_true is_newer "${before:-0}" || give_up "$t: the server has the job"
  first=$(newest)
}

# The client sends the job again. $second: its number at the server.
send_again()
{
  crash_client
  start_client
  until_true is_newer "$first" || give_up "$t: the client sends the job again"
  second=$(newest)
}

ends_at_client() # STATE
{
  use_cupsd "$client"
  job_ends "$t: for the client it is $1" "$mine" "$1"
  use_cupsd "$server"
}

states() { dx jobs --all --json 2> "$dir/jobs.err" | jq -r '.[].state' | xargs; }
states_are() { [ "$(states)" = "$1" ]; }
records() { all_journals | jq -r .key | sort -u | wc -l; }
shown() # CUPS JOB ID: its results
{
  local queue
  queue=$(job_value "$1" job-printer-uri)
  dx show --json "${queue##*/}-$1" 2>&1
}

is_sent_once() # DOCUMENTS
{
  check "$t: it is extracted" until_true extracted "$1"
  is "$t: each document was sent once" \
    "$(calls create '.status < 300') $(calls put '.status == 200')" "$1 $1"
  is "$t: there is one record" "$(records)" 1
  has "$t: the first print job leads to it" "$(shown "$first")" Ahrens
  is "$t: as does the second one" "$(shown "$second")" "$(shown "$first")"
}

clear_all() # TEXT: a clean slate, with this title
{
  t=$1
  faults '#'
  until_true no_backend
  stop_daemon
  rm -rf "${spool:?}"/{jobs,finished,received}/*
  clear_results
  write_config
  start_daemon
}

# Stored at the server, and not sent. By default, after ten seconds the print job
# would make room for the second one.
to_the_outage() # LP ARGUMENT...
{
  write_config 'Completion extracted'
  faults 'create * status 503'
  print_at_client "$@"
  until_true calls_are create 1 || not_ok "$t: the service is called"
}

to_the_wait() # LP ARGUMENT...: the service has it, and no result yet
{
  faults 'source * word processing'
  print_at_client "$@"
  until_true calls_are source 1 || not_ok "$t: the service has it"
}

has_received() { [ -n "$(ls "$spool/received")" ]; }
attends() # CUPS JOB ID: its backend attends the record
{
  all_journals | jq -e --arg id "$1" \
    'select(.id == $id and .print.backend == "attends")' > "$dir/journal.out"
}

start_sim --source-time 0 --case-time 0
start_cupsd_on_a_port
add_queue chart
add_queue other
lpadmin -p chart -o printer-is-shared=true
build_gate filter
start_client
use_cupsd "$client"
lpadmin -p far -E -v "ipp://localhost:$port/printers/chart" 2>> "$dir/lpadmin.err"
lpadmin -p driverless -E -v "ipp://localhost:$port/printers/chart" -m everywhere \
  2>> "$dir/lpadmin.err" || give_up "lpadmin at the client: $(cat "$dir/lpadmin.err")"
use_cupsd "$server"
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Brown 2
chart_pdf "$dir/c.pdf" Cem Cakir 3

section 'killed at each stage'

clear_all 'killed before the server has stored it'
close_gate filter
print_at_client -d far "$dir/a.pdf"
until_true is_waiting_at filter || not_ok "$t: the filter waits"
send_again
open_gate filter
ends_at_client completed
is_sent_once 1

clear_all 'killed while the service does not respond'
to_the_outage -d far "$dir/a.pdf"
send_again
faults '#'
ends_at_client completed
is_sent_once 1

clear_all 'killed while the service has it'
to_the_wait -d driverless "$dir/a.pdf"
send_again
until_true attends "$second" || not_ok "$t: the second one attends"
is "$t: the first one is over" "$(job_state "$first")" completed
faults '#'
ends_at_client completed
is_sent_once 1

clear_all 'killed when it is extracted, before the client hears of it'
to_the_wait -d far "$dir/a.pdf"
kill -STOP "$(client_children)"
faults '#'
job_ends "$t: at the server it completes" "$first" completed
stop_daemon KILL
start_daemon
send_again
ends_at_client completed
is_sent_once 1
has "$t: the print job says so" "$(job_log "$second")" \
  'Already extracted; nothing was sent'

t='printed again on purpose'
print_at_client -d far "$dir/a.pdf"
ends_at_client completed
check "$t: it is extracted again" until_true extracted 2
is "$t: it was sent" "$(calls put '.status == 200')" 2

section 'three documents'

clear_all 'three documents, killed while the service has them'
to_the_wait -d far "$dir/a.pdf" "$dir/b.pdf" "$dir/c.pdf"
send_again
faults '#'
ends_at_client completed
is_sent_once 3

clear_all 'three documents, of which one changes'
to_the_wait -d far "$dir/a.pdf" "$dir/b.pdf" "$dir/c.pdf"
kill -STOP "$(client_children)"
faults '#'
job_ends "$t: at the server it completes" "$first" completed
crash_client
cp "$dir/a.pdf" "$client/spool/$(printf 'd%05d-002' "$mine")"
start_client
ends_at_client completed
check "$t: it is another chart" until_true extracted 6
is "$t: there are two records" "$(records)" 2

section 'at the same time, as through a class of queues'

clear_all 'two queues have it at the same time'
uuid=urn:uuid:6d8b4ae2-7c34-4f4e-8f0a-2f4f0f5a1c12
faults 'create * status 503'
print -d chart -o "job-uuid=$uuid" "$dir/a.pdf"
first=$job
until_true attends "$first" || not_ok "$t: the first one attends"
print -d other -o "job-uuid=$uuid" "$dir/a.pdf"
second=$job
check "$t: the second one waits" until_true has_received
has "$t: docextract cancel refers to CUPS" "$(dx cancel "other-$second" 2>&1)" \
  'sent twice.*cancel its print job in CUPS'
faults '#'
job_ends "$t: the first one completes" "$first" completed
job_ends "$t: the second one completes" "$second" completed
is "$t: each ran once" "$(starts "$first") $(starts "$second")" '1 1'
is_sent_once 1

section 'canceled'

clear_all 'the first one is canceled'
to_the_outage -d far "$dir/a.pdf"
send_again
cancel "$first"
job_ends "$t: it is canceled" "$first" canceled
until_true attends "$second" || not_ok "$t: the second one attends"
faults '#'
ends_at_client completed
is_sent_once 1

clear_all 'the second one is canceled, at the client'
to_the_wait -d far "$dir/a.pdf"
send_again
until_true attends "$second" || not_ok "$t: the second one attends"
use_cupsd "$client"
cancel "$mine"
use_cupsd "$server"
job_ends "$t: it is canceled" "$second" canceled
faults '#'
is_sent_once 1

clear_all 'both are canceled'
to_the_outage -d far "$dir/a.pdf"
send_again
cancel "$first"
until_true attends "$second" || not_ok "$t: the second one attends"
cancel "$second"
check "$t: the record is canceled" until_true states_are canceled
faults '#'
print_at_client -d far "$dir/b.pdf"
check "$t: only the next chart is sent" until_true extracted 1
is "$t: nothing else was sent" "$(calls put)" 1

held_and_canceled() # the first one is held, and the second one canceled
{
  to_the_outage -d far "$dir/a.pdf"
  send_again
  lp -i "$first" -H hold
  until_true attends "$second" || not_ok "$t: the second one attends"
  cancel "$second"
  job_ends "$t: the second one is canceled" "$second" canceled
  check "$t: the first one counts again" until_true of_record "$first"
}
of_record() { [ "$(all_journals | jq -r .id)" = "$1" ]; } # CUPS JOB ID

clear_all 'the first one is held, the second one canceled, the first one released'
held_and_canceled
is "$t: it is not canceled" "$(states)" stored
faults '#'
release "$first"
is_sent_once 1

clear_all 'the first one is held, the second one canceled, then the first one'
held_and_canceled
cancel "$first"
check "$t: the record is canceled" until_true states_are canceled
is "$t: nothing was sent" "$(calls put)" 0
