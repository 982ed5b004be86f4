#!/usr/bin/env bash
#
# interrupted.sh - a job of three documents is stopped in every possible way,
# while its first document is being filtered, and while it waits for the
# extraction. In the end, every document was sent once, or, if the job was
# canceled, none was sent after that.
#
# The test does not depend on time: a filter waits at a gate until it is opened,
# and the simulator returns "processing" until the fault is removed.
. "$(dirname "$0")/lib.sh"
. "$it/gate.sh"

abc=$'Ahrens Ann 1\nBerg Bob 2\nCan Cem 3'
queue=chart

print_three() { print -d "$queue" "$dir/a.pdf" "$dir/b.pdf" "$dir/c.pdf"; }

to_the_gate() # prints; the first document waits in front of our filter
{
  clear_results
  rm -rf "${spool:?}"/incoming/* # of killed backends: see is_receiving
  close_gate filter
  print_three
  until_true is_waiting_at filter || not_ok 'the filter reaches the gate'
  until_true is_receiving || not_ok 'the backend runs'
}

to_the_wait() # prints; the extraction is awaited
{
  clear_results
  faults 'source * word processing'
  print_three
  until_true calls_are source 3 || not_ok 'the extraction is awaited'
}

exactly_once() # TEXT
{
  wait_job "$job" "$ended"
  is "$1: the job is completed" "$(job_state "$job")" completed
  is "$1: each document was sent once" \
    "$(calls create) $(calls put) $(n_results) $(n_extracted)" '3 3 3 3'
  is "$1: all of them arrived" "$(patients)" "$abc"
}

nothing_sent() # TEXT
{
  is "$1: nothing was sent" "$(calls create) $(calls put) $(n_results)" '0 0 0'
}

backend_leaves() # TEXT
{
  if WAIT_S=20 until_true no_backend; then
    ok "$1: the backend leaves"
  else
    not_ok "$1: the backend leaves" "$(cups_children)"
  fi
}

start_all --source-time 0 --case-time 0
build_gate filter
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Berg 2
chart_pdf "$dir/c.pdf" Cem Can 3

section 'while the first document is being filtered'

t='disabled while filtering'
to_the_gate
cupsdisable chart
backend_leaves "$t"
nothing_sent "$t"
open_gate filter
cupsenable chart
exactly_once "$t"

t='held while filtering'
to_the_gate
lp -i "$job" -H hold
backend_leaves "$t"
is "$t: the job is held" "$(job_state "$job")" pending-held
nothing_sent "$t"
open_gate filter
lp -i "$job" -H resume
until_true job_is "$job" 'completed|aborted'
exactly_once "$t"

t='canceled while filtering'
add_queue other # other tests continue, whatever happens to it
queue=other
to_the_gate
cancel "$job"
backend_leaves "$t"
has "$t: the job is over" "$(job_state "$job")" 'canceled|aborted'
nothing_sent "$t"
open_gate filter
# cupsd 2.4 never ends such a job, and blocks its queue, if the backend simply
# dies of the signal.
print -d other "$dir/a.pdf"
job_ends "$t: the next job is extracted" "$job" completed
is "$t: the canceled one is not" "$(patients)" 'Ahrens Ann 1'

t='SIGTERM not from cupsd while filtering'
add_queue third
queue=third
to_the_gate
kill -TERM "$(backends)"
backend_leaves "$t"
nothing_sent "$t"
is "$t: the job does not count as completed" \
  "$(job_state "$job" | grep -c completed)" 0
open_gate filter
cancel "$job" 2> /dev/null

t='killed while filtering'
queue=chart
to_the_gate
kill -KILL "$(backends)"
until_true no_backend
open_gate filter
until_true job_is "$job" processing-stopped
is "$t: the job reports it" "$(job_message "$job")" 'Filter failed'
nothing_sent "$t"
lp -i "$job" -H restart
until_true job_is "$job" 'completed|aborted'
exactly_once "$t"

section 'while the extraction is awaited'

t='disabled while waiting'
to_the_wait
cupsdisable chart
backend_leaves "$t"
faults '#'
cupsenable chart
exactly_once "$t"

t='held while waiting'
to_the_wait
lp -i "$job" -H hold
backend_leaves "$t"
is "$t: the job is held" "$(job_state "$job")" pending-held
faults '#'
lp -i "$job" -H resume
until_true job_is "$job" 'completed|aborted'
exactly_once "$t"

t='canceled while waiting'
to_the_wait
cancel "$job"
backend_leaves "$t"
is "$t: the job is canceled" "$(job_state "$job")" canceled
none_is_kept()
{
  [ -z "$(find "$spool/jobs" "$spool/finished" -type f ! -name job.json)" ]
}
check "$t: no document is kept" until_true none_is_kept
faults '#'

t='SIGTERM not from cupsd while waiting'
to_the_wait
kill -TERM "$(backends)"
until_true started_again "$job" 1
faults '#'
exactly_once "$t"

section 'the scheduler is killed'

t='cupsd is killed while waiting'
to_the_wait
stop_cupsd KILL
check "$t: the backend ends, too" until_true no_backend
start_cupsd
until_true started_again "$job" 1
faults '#'
exactly_once "$t"
backend_leaves "$t"

t='cupsd and the backend are killed while waiting'
to_the_wait
stop_cupsd KILL
end_children
start_cupsd
faults '#'
exactly_once "$t"

t='cupsd is killed while filtering, the orphan ends later'
to_the_gate
orphan=$(backends)
stop_cupsd KILL
start_cupsd
until_true started_again "$job" 1
open_gate filter
exactly_once "$t"
until_true is_gone "$orphan"
is "$t: nor after the orphan has ended" \
  "$(calls create) $(calls put) $(n_results)" '3 3 3'

t='cupsd is killed while filtering, the orphan ends first'
to_the_gate
orphan=$(backends)
stop_cupsd KILL
open_gate filter
until_true is_gone "$orphan"
is "$t: the orphan had only a part of the job: nothing is sent twice" \
  "$(calls create) $(calls put)" "$(n_results) $(n_results)"
start_cupsd
exactly_once "$t"

t='cupsd is killed while it saves the job'
to_the_wait
stop_cupsd KILL
end_children
printf -v record '%s/spool/c%05d' "$cups" "$job"
cp -p "$record" "$record.N"
rm "$cups/cache/job.cache"
start_cupsd # which has the job twice now, and never ends the second one
faults '#'
until_true extracted 3 # for a job that waits, the first ends before its results
exactly_once "$t"
stop_cupsd
rm "$cups/cache/job.cache" # as doc/administration.md has it
start_cupsd
clear_results
print_three
exactly_once "$t: the next job"

t='cupsd is stopped and started while waiting'
to_the_wait
stop_cupsd TERM
start_cupsd
faults '#'
exactly_once "$t"

section 'the backend is killed'

# Each step needs an answer of cupsd, and those of several documents are due at
# the same moment.
t='the backend is killed while documents are sent'
clear_results
faults 'put 1 hang' 'create 2 hang'
print_three
until_true calls_are create 2 || not_ok "$t: the second document is registered"
until_true calls_are put 1 || not_ok "$t: the first one is uploaded"
stop_daemon KILL
kill -KILL "$(backends)"
until_true job_is "$job" completed
kill -STOP "$CUPSD_PID"
faults '#'
start_daemon
until_true grep -q 'cupsd: none, backend: broken: wait' "$dir/daemon.new"
kill -CONT "$CUPSD_PID"
until_true extracted 3
is "$t: all of them arrive" "$(patients)" "$abc"
