#!/usr/bin/env bash
#
# private.sh - a cupsd that hides print jobs from all users except the owner and
# administrators (JobPrivateValues all): backend and docextractd ask as the
# owner, and therefore work as usual.
. "$(dirname "$0")/lib.sh"

# The user who runs this test may be neither.
sed -i 's/requesting-user-name root/requesting-user-name $who/' "$dir/job.test"
who=ann
job_attribute() # ID ATTRIBUTE: as $who is told
{
  exec ipptool -tv -d who="$who" -d attribute="$2" "$ipp/jobs/$1" \
    "$dir/job.test" 2> /dev/null
}

# A document is stored, and the service is unavailable. Only the owner gets this
# information.
to_the_outage() # prints
{
  clear_results
  faults 'create * status 503'
  print -U ann -d chart "$dir/a.pdf"
  until_true calls_are create 1 || not_ok "$t: the service is called"
  is "$t: its owner can query its state" "$(job_state "$job")" processing
  is "$t: other users cannot" "$(who=eve && job_state "$job")" ''
}

make_cups
sed -i -e 's/^JobPrivateAccess .*/JobPrivateAccess default/' \
  -e 's/^JobPrivateValues .*/JobPrivateValues all/' "$cups/cupsd.conf"
start_all --source-time 0 --case-time 0
start_daemon
chart_pdf "$dir/a.pdf" Ann Ahrens 1

t='a print'
print -U ann -d chart "$dir/a.pdf"
job_ends "$t: it completes" "$job" completed
is "$t: it was sent once" "$(calls create) $(calls put) $(n_results)" '1 1 1'

t='two documents'
clear_results
print -U ann -d chart "$dir/a.pdf" "$dir/a.pdf"
job_ends "$t: they complete" "$job" completed
is "$t: they were sent once" "$(calls create) $(calls put) $(n_results)" \
  '2 2 2'

t='its backend is killed'
to_the_outage
kill -KILL "$(backends)"
job_ends "$t: for cupsd it is over" "$job" completed
faults '#'
check "$t: docextractd detects it, and sends the chart" until_true extracted 1
is "$t: once" "$(calls put) $(n_results)" '1 1'

t='canceled'
to_the_outage
cancel -U ann "$job"
job_ends "$t: it is canceled" "$job" canceled
until_true no_backend || not_ok "$t: the backend leaves"
faults '#'
print -U bob -d chart "$dir/a.pdf"
who=bob
job_ends "$t: the next one completes" "$job" completed
is "$t: and was sent alone" "$(calls put) $(n_results)" '1 1'
