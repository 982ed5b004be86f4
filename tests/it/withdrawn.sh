#!/usr/bin/env bash
#
# withdrawn.sh - print jobs that failed, are held by CUPS, and are then canceled
# there: their jobs are canceled, too, so that nothing can send them later.
. "$(dirname "$0")/lib.sh"

DOCEXTRACTD=tests/it/docextractd-quick
[ -x "$build/$DOCEXTRACTD" ] || give_up 'the programs are built (make check TESTS=)'

looks() { grep -c 'successful-ok for Get-Jobs' "$cups/log/error_log"; }
looked_again() { [ "$(looks)" -gt $(($1 + 2)) ]; } # BEFORE: two looks have ended
look_again() # WHEN
{
  local before
  before=$(looks)
  until_true looked_again "$before" || not_ok "$t: docextractd looks $1"
}
state_of() { of_journal "$1" '.submissions[0].state'; } # ID
is_canceled() { [ "$(state_of "$1")" = canceled ]; }
files_of() { find "$spool/jobs" "$spool/finished" -path "*/$(of_journal "$1" .key)/*" -printf '%f '; }
held() # TEXT [LP ARGUMENT...]: a print job that the service rejects
{
  print -U ann -d chart "${@:2}" "$dir/a.pdf"
  job_ends "$t: $1 is held" "$job" pending-held
}

start_all --source-time 0 --case-time 0
chart_pdf "$dir/a.pdf" Ann Ahrens 1
faults 'create * status 422'

t='a held print job is canceled'
held 'it'
is "$t: before, its document is kept" "$(state_of "$job") $(
  files_of "$job" | tr ' ' '\n' | sort | xargs)" 'failed document-0001 job.json'
lpadmin -p chart -v docextract://renamed
look_again 'at it'
lpadmin -p chart -v docextract://default
look_again 'again'
is "$t: it has failed, also if its queue has another section for a while" \
  "$(state_of "$job")" failed
cancel "chart-$job"
check "$t: so is its job" until_true is_canceled "$job"
is "$t: its document is removed" "$(files_of "$job")" 'job.json '
faults '#'
hasnt "$t: it cannot be sent again" "$(dx retry "chart-$job" 2>&1)" 'Retrying'
is "$t: nothing is sent" "$(calls put)" 0

t='a held print job is canceled while docextractd does not run'
faults 'create * status 422'
held 'it'
stop_daemon
cancel "chart-$job"
start_daemon
check "$t: so is its job" until_true is_canceled "$job"

t='a held print job that was sent twice is canceled'
held 'the first one' -o job-uuid=urn:uuid:6d8b4ae2-7c34-4f4e-8f0a-2f4f0f5a1c12
first=$job
held 'the second one' -o job-uuid=urn:uuid:6d8b4ae2-7c34-4f4e-8f0a-2f4f0f5a1c12
cancel "chart-$first"
look_again 'again'
is "$t: the second one still counts" "$(state_of "$job")" failed
cancel "chart-$job"
check "$t: then the job is canceled" until_true is_canceled "$job"

finish
