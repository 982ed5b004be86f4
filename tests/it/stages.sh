#!/usr/bin/env bash
#
# stages.sh - changes to a print job at every stage of it: cancel, hold, move to
# another queue of this spool, restart of cupsd; also through a class.
# `docextract jobs` and the print job always have the same state.
. "$(dirname "$0")/lib.sh"
. "$it/gate.sh"

# --- stages --------------------------------------------------------------------

status_of() # CUPS JOB ID: as `docextract jobs` has it
{
  dx jobs --all --json 2> "$dir/jobs.err" |
    jq -r --arg id "$1" '.[] | select(.id == $id) | .state'
}
status_is() { [ "$(status_of "$1")" = "$2" ]; } # CUPS JOB ID, STATUS
journal_says() { [ "$(of_journal "$job" "$1")" = true ]; } # JQ FILTER
has_received() { [ -n "$(ls "$spool/received")" ]; }
has_picked_up() { [ -z "$(ls "$spool/received")" ]; }
extract_began() { compgen -G "$spool/jobs/*/.result*" > /dev/null; }
reach() { until_true "$@" || not_ok "$t: the state is reached" "$*"; }

# How a call is kept under way until it is seen: a canceled one need not end,
# others do.
slow='delay 5000'

print_chart()
{
  clear_results
  print -d "${queue:-chart}" "$dir/a.pdf"
}

to_receiving()
{
  close_gate filter
  print_chart
  reach is_waiting_at filter
  reach is_receiving
}

to_stored() # docextractd is not aware of it
{
  kill -STOP "$DAEMON_PID"
  print_chart
  reach has_received
}

to_creating() # the response comes after what is done to the job
{
  kill -STOP "$SIM_PID"
  print_chart
  reach is_calling "$job"
}

to_uploading()
{
  faults "put * $slow"
  print_chart
  reach journal_says '.submissions[0].files[0].put == "sending"'
}

to_processing()
{
  faults 'source * word processing'
  print_chart
  reach calls_are source 1
}

to_fetching()
{
  faults "extract * $slow"
  print_chart
  reach extract_began
}

resume() # ends what kept the job at its stage
{
  faults '#'
  kill -CONT "$SIM_PID" "$DAEMON_PID"
  open_gate filter
}

stages='receiving stored creating uploading processing fetching'

backend_of() # CUPS JOB ID: the process that cupsd started last
{
  sed -n "s/.*\[Job $1\] Started backend .*(PID \([0-9]*\)).*/\1/p" \
    "$cups/log/error_log" | tail -n 1
}

# --- what is done to it ---------------------------------------------------------

puts() { calls put '.status == 200'; }
once() { is "$t: sent once" "$(puts) $(n_results)" '1 1'; }
backend_leaves()
{
  WAIT_S=20 until_true no_backend || not_ok "$t: the backend leaves"
}

# Another print job proves that the service takes documents.
another_completes()
{
  local mine=$job
  print -d other "$dir/b.pdf"
  job_ends "$t: another one completes" "$job" completed
  job=$mine
}

canceled() # STAGE
{
  local sent=0
  t="canceled while $1"
  slow=hang
  "to_$1"
  case $1 in processing | fetching) sent=1 ;; esac
  cancel "$job"
  backend_leaves
  resume
  is "$t: the print job is" "$(job_state "$job")" canceled
  another_completes # alone, docextractd looks for it twice a minute
  reach has_picked_up
  if [ "$1" != receiving ]; then
    check "$t: so is the job" until_true status_is "$job" canceled
  fi
  is "$t: what was sent before, and no more" "$(puts) $(n_results)" \
    "$((sent + 1)) 1"
}

held() # STAGE
{
  local sent=0
  t="held while $1"
  slow='delay 5000'
  "to_$1"
  case $1 in uploading | processing | fetching) sent=1 ;; esac
  lp -i "$job" -H hold
  backend_leaves
  resume
  job_ends "$t: the print job is" "$job" pending-held
  another_completes
  if [ $sent = 1 ]; then
    check "$t: what was sent is extracted" until_true status_is "$job" extracted
  else
    is "$t: nothing is sent as long as it is" "$(puts)" 1
  fi
  release "$job"
  is "$t: released, it completes" "$(job_state "$job")" completed
  is "$t: sent once" "$(puts) $(n_results)" '2 2'
}

moved() # STAGE
{
  t="moved while $1"
  slow='delay 5000'
  "to_$1"
  lpmove "$job" other
  resume
  job_ends "$t: it completes there" "$job" completed
  has "$t: in the other queue" "$(job_value "$job" job-printer-uri)" '/other$'
  once
}

start_all --source-time 0 --case-time 0
add_queue other
build_gate filter
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Brown 2

section 'at each stage'

for what in ${ONLY-canceled held moved}; do
  for stage in $stages; do
    $what "$stage"
  done
done

section 'a restart of cups with jobs in every state'

t='cups is restarted'
clear_results
open_gate filter
for queue in left failed undecided held stopped killed receiving; do
  add_queue $queue
done
unset queue
n=0
put() { n=$((n + 1)) && print "$@" "$dir/a.pdf"; } # QUEUE: sent in the end
attends() { journal_says '.print.backend == "attends"'; } # and retries its call

faults '#'
put -d other
job_ends "$t: one is completed" "$job" completed
completed=$job
faults 'source * word processing'
polls=$(calls source)
put -d left
left=$job
reach calls_are source $((polls + 1))
put -d left
processing=$job
job_ends "$t: one is left" "$left" completed
is "$t: its backend has left" "$(status_of "$left") \
$(of_journal "$left" .print.backend)" 'processing left'
reach journal_says '.submissions[0].source_id != null'
faults 'create * status 422' 'source * word processing'
put -d failed
refused=$job
job_ends "$t: one has failed" "$refused" pending-held
faults 'create * status 503' 'source * word processing'
put -d held
held=$job
reach attends
lp -i "$held" -H hold
job_ends "$t: one is held" "$held" pending-held
print -d held "$dir/a.pdf"
canceled=$job
reach attends
cancel "$canceled"
job_ends "$t: one is canceled" "$canceled" canceled
put -d killed
killed=$job
reach attends
kill -KILL "$(backend_of "$killed")"
job_ends "$t: one is over for cupsd" "$killed" completed
put -d undecided
undecided=$job
reach attends
cupsdisable undecided
lpadmin -p undecided -v file:///dev/null
check "$t: one needs a decision" until_true status_is "$undecided" undecided
put -d stopped
stopped=$job
reach attends
cupsdisable stopped
close_gate filter
put -d receiving
receiving=$job
put -d receiving
pending=$job
reach is_waiting_at filter
reach is_receiving
stop_cupsd
backend_leaves
faults '#'
open_gate filter
start_cupsd
for job in "$processing" "$pending" "$receiving"; do
  job_ends "$t: job $job completes" "$job" completed
done
check "$t: what was over is sent" until_true status_is "$killed" extracted
check "$t: what was left is extracted" until_true status_is "$left" extracted
is "$t: the canceled one stays so" \
  "$(job_state "$canceled") $(status_of "$canceled")" 'canceled canceled'
is "$t: so does the held one" "$(job_state "$held")" pending-held
is "$t: so does the failed one" \
  "$(job_state "$refused") $(status_of "$refused")" 'pending-held failed'
# Without cupsd it was not known, and the next question may be a minute later.
check "$t: one still needs a decision" until_true status_is "$undecided" undecided
is "$t: what waits is not sent" "$(puts)" $((n - 4))
dx retry "$(of_journal "$undecided" .key)" > "$dir/out" ||
  not_ok "$t: it is retried: $(cat "$dir/out")"
check "$t: decided, it is extracted" until_true status_is "$undecided" extracted
release "$refused"
is "$t: released, the failed one completes" "$(job_state "$refused")" completed
cupsenable stopped
job_ends "$t: on the stopped queue it completes" "$stopped" completed
release "$held"
is "$t: so does the held one" "$(job_state "$held")" completed
is "$t: the completed one is still so" "$(job_state "$completed")" completed
is "$t: each was sent once" "$(puts) $(n_results)" "$n $n"

section 'two queues and a class'

to_the_outage()
{
  clear_results
  faults 'create * status 503'
  print -d "$1" "$dir/a.pdf"
  until_true calls_are create 1 || not_ok "$t: the service is called"
}
runs_on() # QUEUE: a backend for $job is attending there
{
  journal_says ".queue == \"$1\" and .print.backend == \"attends\""
}

t='moved, and its backend is killed there'
to_the_outage chart
lpmove "$job" other
reach runs_on other
kill -KILL "$(backend_of "$job")"
job_ends "$t: for cupsd it is over" "$job" completed
faults '#'
check "$t: it is sent" until_true extracted 1
once

t='a class'
lpadmin -p chart -c all
lpadmin -p other -c all
cupsaccept all
cupsenable all
to_the_outage all
cancel "$job"
backend_leaves
job_ends "$t, canceled: the print job is" "$job" canceled
check "$t, canceled: so is the job" until_true status_is "$job" canceled
to_the_outage all
lp -i "$job" -H hold
backend_leaves
job_ends "$t, held: the print job is" "$job" pending-held
faults '#'
another_completes
is "$t, held: it is not sent" "$(puts)" 1
release "$job"
is "$t, released: it completes" "$(job_state "$job")" completed
is "$t, released: sent once" "$(puts) $(n_results)" '2 2'
to_the_outage all
kill -KILL "$(backend_of "$job")"
faults '#'
check "$t, its backend killed: it is sent" until_true extracted 1
once

section 'what users are told'

# `docextract jobs`, for its owner and for the user who printed, has the words of
# the print job. The print job also has the progress, in parentheses.
said_by_cups() { job_message "$job" | sed 's/ ([0-9][^()]*)$//'; }
said_to_owner() { sentence_for dx; }
said_to_user() { sentence_for as_user "$docextract" -c "$config"; }
as_user() { setpriv --reuid nobody --regid nogroup --clear-groups "$@"; }
sentence_for() # COMMAND...
{
  "$@" jobs --json 2> "$dir/jobs.err" |
    jq -r --arg id "$job" '.[] | select(.id == $id) | .sentence'
}
readers=said_to_owner
[ "$(id -u)" != 0 ] || readers+=' said_to_user'
say_the_same() # WORDS
{
  local reader words
  for reader in $readers; do
    words=$(said_by_cups)
    [[ $words =~ $1 ]] && [ "$words" = "$($reader)" ] || {
      echo "the print job: '$words', $reader: '$($reader)'"
      return 1
    }
  done
}
agree() # TEXT STATUS STATE WORDS
{
  check "$t, $1: the job is $2" until_true status_is "$job" "$2"
  check "$t, $1: the print job is $3" until_true job_is "$job" "$3"
  check "$t, $1: both say so" until_true say_the_same "$4"
}
print_told()
{
  clear_results
  print -U nobody -d chart "$dir/a.pdf"
}

t='told'
chmod 644 "$config"
faults 'create * hang'
print_told
agree 'stored' stored processing '^The chart is on this computer$'
cancel "$job"
agree 'canceled' canceled canceled 'canceled$'
faults 'create * status 503' 'source * word processing' 'extract * status 503'
print_told
agree 'the service is down' stored processing \
  '^The chart is on this computer; the service is not working correctly'
lp -i "$job" -H hold
agree 'held' stored pending-held 'it is sent when the print job continues$'
faults 'create * status 429'
lp -i "$job" -H resume
agree 'the service asks for a pause' stored processing 'continuing soon$'
faults 'put * delay 5000' 'source * word processing' 'extract * status 503'
reach journal_says '.submissions[0].files[0].put == "sending"'
kill -STOP "$SIM_PID" # until all have agreed
agree 'being sent' registered processing '^The chart is on this computer$'
kill -CONT "$SIM_PID"
agree 'sent' processing processing \
  '^The chart is with the service; waiting for its result$'
faults 'source * status 503'
agree 'down again' processing processing \
  '^The chart is with the service; the service is not working correctly'
lp -i "$job" -H hold
agree 'held there' processing pending-held 'delivered in the background$'
faults 'source * word processing'
lp -i "$job" -H resume
agree 'released' processing processing 'waiting for its result$'
faults 'extract * status 503'
agree 'its result cannot be fetched' complete processing \
  'is not working correctly, trying again'
faults '#'
agree 'at its end' extracted completed '^Extracted 1 case$'
faults 'create * status 422'
print_told
agree 'failed' failed pending-held 'the service rejected it; print it to .* administrator$'
faults 'source * word processing'
lp -i "$job" -H resume
agree 'retried' processing processing 'waiting for its result$'
cupsdisable chart
agree 'its queue is disabled' processing pending 'delivered in the background$'
cupsenable chart
agree 'its queue is enabled' processing processing 'waiting for its result$'
print -U nobody -d chart "$dir/b.pdf"
second=$job
job=$((second - 1))
agree 'another one waits' processing completed 'delivered in the background$'
job=$second
faults '#'
agree 'the other one' extracted completed '^Extracted 1 case$'
faults 'create * status 401'
print_told
agree 'the token is refused' stored processing 'trying again, nothing is lost$'
faults '#'
agree 'it is accepted' extracted completed '^Extracted 1 case$'
