#!/usr/bin/env bash
#
# auto.sh - Completion auto, the default: a print job waits for its results
# until another one waits in the queue. It then completes, docextractd continues
# to process it, and the queue is free.
. "$(dirname "$0")/lib.sh"

once() # TEXT N
{
  check "$1: everything is extracted" until_true extracted "$2"
  is "$1: and was sent once" "$(calls create) $(calls put) $(n_results)" \
    "$2 $2 $2"
}
message_was() # CUPS JOB ID TEXT
{
  grep -aqF "[Job $1] Set job-printer-state-message to \"$2" "$cups/log/error_log"
}
backend_of() { of_journal "$1" .print.backend; } # CUPS JOB ID
is_awaited() # N: at least N extractions are
{
  [ "$(jq -rs 'map(select(.call == "source") | .source_id) | unique | length' \
    "$SIM_LOG")" -ge "$1" ]
}

# Processing times must not be recorded while this test delays the extraction,
# because the polls would become later and later.
clean_sheet()
{
  stop_daemon
  clear_results
  rm -f "$spool"/history/*_times
  start_daemon
}

start_sim --source-time 0 --case-time 0
start_cupsd
write_config
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Berg 2
print_a() { print -d "${queue:-chart}" "$dir/a.pdf" "$@"; }
print_b() { print -d "${queue:-chart}" "$dir/b.pdf" "$@"; }

t='an idle queue'
clean_sheet
print_a
job_ends "$t: the print job ends with its results" "$job" completed
is "$t: they are there" "$(n_results)" 1
has "$t: its backend did not leave before" "$(backend_of "$job")" "^(attends|ended)$"

t='a held job behind it'
clean_sheet
faults 'source * word processing'
print_a
first=$job
until_true is_awaited 1
print_b -H hold
held=$job
polls=$(calls source)
check "$t: the queue is not needed" until_true calls_are source $((polls + 3))
is "$t: the print job continues" "$(job_state "$first")" processing
faults '#'
job_ends "$t: and ends with its results" "$first" completed
has "$t: its backend did not leave before" "$(backend_of "$first")" "^(attends|ended)$"
cancel "$held"

for queue in chart all; do
  t="a print job waits for $queue"
  [ "$queue" = chart ] || {
    lpadmin -p chart -c all
    cupsenable all
    cupsaccept all
  }
  clean_sheet
  faults 'source * word processing'
  print_a
  first=$job
  until_true is_awaited 1
  begin_limit
  print_b
  printed=$EPOCHREALTIME
  job_ends "$t: the first print job ends" "$first" completed
  took=$(((${EPOCHREALTIME/./} - ${printed/./}) / 1000))
  check "$t: within 3 s ($took ms)" test "$took" -lt "$(limit_of 3000)"
  check "$t: and reports what follows" message_was "$first" \
    'The chart is with the service; the result will be delivered in the background'
  is "$t: the journal records that its backend left" "$(backend_of "$first")" left
  until_true is_awaited 2
  is "$t: the last one waits for its results" "$(job_state "$job")" processing
  is "$t: nothing is extracted yet" "$(n_results)" 0
  faults '#'
  job_ends "$t: and ends with them" "$job" completed
  has "$t: its backend did not leave before" "$(backend_of "$job")" "^(attends|ended)$"
  once "$t" 2
done
queue=chart

t='a refused document'
clean_sheet
faults 'source * word processing'
echo '%PDF-1.4' > "$dir/bad.pdf"
print -d chart "$dir/a.pdf" "$dir/bad.pdf"
first=$job
until_true is_awaited 1
print_b
faults '#'
job_ends "$t: the job is held although another one waits" "$first" pending-held
job_ends "$t: which comes after it" "$job" completed
once "$t" 2

t='a failure after the print job has ended'
clean_sheet
faults 'source * word processing'
print_a
until_true is_awaited 1
faults 'source * word processing' 'create * status 422'
print_b
last=$job
job_ends "$t: docextractd continues the first one" "$((job - 1))" completed
faults 'source * word failed' 'create * status 422' # it starts over
first_failed()
{
  of_journal "$((last - 1))" '.submissions[].state' | grep -qx failed
}
until_true first_failed
job_ends "$t: the last one is held" "$last" pending-held
cancel "$last"
faults '#'
print_a
job_ends "$t: another one completes" "$job" completed
check "$t: and reports that one failed" message_was "$job" \
  'Extracted 1 case. Contact your administrator: 1 chart printed earlier failed'
warns() { lpoptions -p chart | grep -q docextract-failed-warning; }
check "$t: so does the queue" until_true warns
dx jobs --seen > "$dir/seen"
is "$t: it is acknowledged" "$(cat "$dir/seen")" 'Acknowledged 1 failed job'
print_a
job_ends "$t: the next one completes" "$job" completed
check "$t: and does not report it any more" message_was "$job" \
  'Extracted 1 case"'
check "$t: nor does the queue" test -z "$(lpoptions -p chart | grep docextract-failed)"
dx jobs --seen > "$dir/seen"
is "$t: it was the only one" "$(cat "$dir/seen")" 'Acknowledged 0 failed jobs'
