#!/usr/bin/env bash
#
# attributes.sh - print clients that send attributes which are cupsd's, or
# thousands of values: cupsd returns them. They concern their own print job
# only: docextractd goes on asking about the others, and removes old records.
. "$(dirname "$0")/lib.sh"

DOCEXTRACTD=tests/it/docextractd-quick
[ -x "$build/$DOCEXTRACTD" ] || give_up 'the programs are built (make check TESTS=)'

start_all --source-time 0 --case-time 0
add_queue paper # of which nothing is printed
cupsdisable paper
lpadmin -p paper -c all
cupsaccept all
cupsenable all
chart_pdf "$dir/a.pdf" Ann Ahrens 1

# 1,500 keywords of 200 bytes.
words=$(printf ",%0199d" {1..1500})
words=${words#,}

# Prints to another queue what stays there.
print_elsewhere() # QUEUE [LINE OF A JOB ATTRIBUTE...]
{
  ipp_queue=$1 print_ipp "$dir/a.pdf" application/pdf "${@:2}"
}
looks() { grep -c 'successful-ok for Get-Jobs' "$cups/log/error_log"; }
looked_again() { [ "$(looks)" -gt $(($1 + 2)) ]; } # BEFORE
state_of() { of_journal "$1" '.submissions[0].state'; } # ID
is_canceled() { [ "$(state_of "$1")" = canceled ]; }
daemon_is() { is "$t: docextractd runs" "$(is_gone "$DAEMON_PID" || echo yes)" yes; }

# --- of its own print job ----------------------------------------------------

t='values that are cupsd'\''s'
print_ipp "$dir/a.pdf" application/pdf \
  'ATTR integer number-of-documents 7' 'ATTR integer number-of-documents 8' \
  'ATTR enum job-state 7' 'ATTR enum job-state 7' \
  'ATTR integer time-at-creation 5' 'ATTR integer time-at-creation 6' \
  'ATTR uri job-printer-uri ipp://h/printers/paper' \
  'ATTR boolean job-preserved true' 'ATTR boolean job-preserved true' \
  'ATTR text job-printer-state-message "Filter failed"'
# ipptool reads the values of the client.
check "$t: they change nothing" until_true extracted 1
is "$t: it is extracted once" "$(calls put) $(n_results)" '1 1'
until_true no_backend || not_ok "$t: the backend leaves"

t='two uuids'
clear_results
print_ipp "$dir/a.pdf" application/pdf \
  'ATTR uri job-uuid urn:uuid:cfb9795d-a948-35a1-5ef2-17b8b05e61c2' \
  'ATTR uri job-uuid urn:uuid:afb9795d-a948-35a1-5ef2-17b8b05e61c2'
job_ends "$t: it completes" "$job" completed
is "$t: it is extracted once" "$(calls put) $(n_results)" '1 1'

t='a uuid that is a list'
clear_results
print_ipp "$dir/a.pdf" application/pdf \
  'ATTR uri job-uuid urn:uuid:cfb9795d-a948-35a1-5ef2-17b8b05e61c2,urn:x'
job_ends "$t: the print job is held" "$job" pending-held
is "$t: nothing is sent" "$(calls create)" 0
has "$t: the log names the cause" "$(job_log "$job")" \
  'unusual values for job-uuid, time-at-creation, or number-of-documents'
cancel "chart-$job"

t='lists in everything that cupsd is asked about' # more, and no filter starts
clear_results
some=${words::1999}
print_ipp "$dir/a.pdf" application/pdf "ATTR keyword job-uuid $some" \
  "ATTR keyword job-preserved $some" "ATTR keyword job-printer-uri $some" \
  "ATTR keyword number-of-documents $some" "ATTR keyword job-state $some"
job_ends "$t: it completes" "$job" completed
is "$t: it is extracted once" "$(calls put) $(n_results)" '1 1'

# --- of others ---------------------------------------------------------------

t='a printer without a slash, in a class'
clear_results
print_elsewhere classes/all 'ATTR uri job-printer-uri-actual ipp:x'
faults 'create * status 422'
print -d chart "$dir/a.pdf"
job_ends "$t: another print job is held" "$job" pending-held
before=$(looks)
until_true looked_again "$before" || not_ok "$t: docextractd looks at the list"
daemon_is

# cupsd removes the first occurrence.
t='a list of 1.5 MB'
for _ in 1 2 3 4 5; do
  print_elsewhere printers/paper "ATTR keyword job-state $words" \
    "ATTR keyword job-state $words" "ATTR keyword job-id $words" \
    "ATTR keyword job-id $words" "ATTR keyword job-id $words"
done
faults 'create * status 422'
print -d chart "$dir/a.pdf"
job_ends "$t: another print job is held" "$job" pending-held
before=$(looks)
until_true looked_again "$before" || not_ok "$t: docextractd looks at the list"
is "$t: its job has failed" "$(state_of "$job")" failed
cancel "chart-$job"
check "$t: canceled in CUPS, its job is canceled" until_true is_canceled "$job"
is "$t: the log names the cause once" \
  "$(grep -c 'has more attributes than can be read' "$dir/daemon.new")" 1
faults '#'

t='a list of 1.5 MB, and old records'
swept() { grep -q 'the spool is swept$' "$dir/daemon.new"; }
stop_daemon
before=$(find "$spool/finished" -name job.json | wc -l)
find "$spool/jobs" "$spool/finished" -exec touch -d '8 days ago' {} +
touch -d '2 hours ago' "$spool/swept"
cancel -a -x chart
start_daemon
check "$t: docextractd sweeps" until_true swept
is "$t: those that cupsd no longer has are removed" \
  "$((before > 0)) $(find "$spool/finished" -name job.json | wc -l)" '1 0'
daemon_is

finish
