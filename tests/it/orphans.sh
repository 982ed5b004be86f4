#!/usr/bin/env bash
#
# orphans.sh - a print job whose backend has ended: docextractd asks cupsd for
# its state. A job that a user holds, cancels, or moves to another printer is
# not sent. If the state is unknown, the job needs a decision. An unreadable job
# is not replaced. All other jobs are finished, whatever process is killed at
# any time. Each document is sent once.
. "$(dirname "$0")/lib.sh"

unfinished() { find "$spool/jobs" -name job.json; }
key_of() { of_journal "$1" .key; }
states() # KEY: of its submissions
{
  cat "$spool"/{jobs,finished}/"$1"/job.json 2> "$dir/none" |
    jq -r '.submissions[].state' | paste -sd ' '
}
documents()
{
  find "$spool/received" "$spool/jobs" "$spool/finished" -name 'document-*' |
    wc -l
}
state_is() { [ "$(states "$1")" = "$2" ]; } # KEY STATES

# What docextractd has last decided about a job, one pattern per word:
# decided KEY ANSWER BACKEND PERMISSION
decided()
{
  grep "^job $1, [^:]*: cupsd: " "$dir/daemon.new" | tail -n 1 |
    grep -q "cupsd: $2, backend: $3: $4\$"
}
has_decided() # ANSWER BACKEND PERMISSION
{
  check "$t: docextractd asks cupsd ($1)" until_true decided "$key" "$@"
}

# What arrived: calls that were refused or cut off do not count.
arrived() { echo "$(calls create '.status == 201') $(calls put '.status == 200') $(n_results)"; }
arrived_is() { [ "$(arrived)" = "$1" ]; }
once() # TEXT [N]: each of N documents
{
  local n=${2:-1}
  WAIT_S=60 until_true arrived_is "$n $n $n"
  is "$1: each document is sent once" "$(arrived)" "$n $n $n"
  check "$1: the job is finished" until_true nothing_is_left
}
nothing_is_left() { [ -z "$(unfinished)" ] && [ "$(documents)" = 0 ]; }

created=0 # so far: the simulator counts from its start
new_sheet()
{
  faults '#'
  created=$((created + $(calls create)))
  clear_results
  rm -rf "${spool:?}"/finished/*
}

print_chart() { print -d "${queue:-chart}" "$dir/a.pdf" "$@"; }

to_the_wait() # prints; the extraction is awaited
{
  new_sheet
  faults 'source * word processing'
  print_chart
  until_true calls_are source 1 || not_ok "$t: the extraction is awaited"
  key=$(key_of "$job")
}

to_the_create() # prints; the document is stored, but cannot be registered
{
  new_sheet
  faults 'create * status 503'
  print_chart
  until_true calls_are create 1 || not_ok "$t: creating is tried"
  key=$(key_of "$job")
}

kill_backend() # cupsd is there to see it, and takes it for a success
{
  kill -KILL "$(backends)"
  job_ends "$t: cupsd counts the print job as completed" "$job" completed
}

leaves() # the backend, on SIGTERM or at its own end
{
  WAIT_S=20 until_true no_backend || not_ok "$t: the backend leaves"
}

forget() # cupsd is killed, and does not know its last job when it comes back
{
  stop_cupsd KILL
  rm -f "$cups"/spool/[cd]0* "$cups"/cache/job.cache*
}

start_sim --source-time 0 --case-time 0
start_cupsd
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Berg 2

section 'only processes are killed'

t='the backend is killed while it waits'
to_the_wait
kill_backend
faults '#'
once "$t"

t='the backend is killed before anything is sent'
to_the_create
kill_backend
has_decided over broken send
faults '#'
once "$t"

t='docextractd is killed while the backend waits'
to_the_wait
stop_daemon KILL
start_daemon
faults '#'
job_ends "$t: the print job is completed" "$job" completed
once "$t"

t='both are killed while uploading'
new_sheet
faults 'put * delay 600000'
print_chart
uploading()
{
  [ "$(unfinished | xargs -r jq -r '.submissions[].files[].put')" = sending ]
}
until_true uploading || not_ok "$t: it is uploaded"
stop_daemon KILL
kill_backend
faults '#'
start_daemon
once "$t"

t='both are killed before docextractd has the job'
new_sheet
kill -STOP "$DAEMON_PID"
print_chart
is_stored() { [ -n "$(ls "$spool/received")" ]; }
until_true is_stored || not_ok "$t: the chart is stored"
stop_daemon KILL
kill_backend
start_daemon
once "$t"

t='both are killed before docextractd has the second run'
to_the_create
lp -i "$job" -H hold
leaves
kill -STOP "$DAEMON_PID"
lp -i "$job" -H resume
until_true is_stored || not_ok "$t: the chart is stored"
stop_daemon KILL
kill_backend
start_daemon
has_decided over broken send
faults '#'
once "$t"
is "$t: its backend does not attend" \
  "$(grep -c "^job $key, [^:]*: cupsd: .*, backend: attends" "$dir/daemon.new")" 0

section 'cupsd no longer has the job'

t='cupsd is killed, and has forgotten the job'
to_the_create
forget
leaves
faults '#'
start_cupsd
has_decided unknown broken send
once "$t"

undecided() { has_decided unknown "$1" 'the administrator decides'; }
lists() { dx jobs | grep -q " $1 "; } # STATE: the journal is written later
lost() # TEXT: the print job is purged before docextractd can ask
{
  t=$1
  to_the_create
  kill -STOP "$DAEMON_PID"
  kill_backend
  cancel -a -x chart
  kill -CONT "$DAEMON_PID"
  undecided broken
  faults '#'
  check "$t: jobs reports it" until_true lists undecided
}

lost 'purged, and sent by the administrator'
is "$t: nothing is sent, and nothing deleted" "$(arrived) $(documents)" '0 0 0 1'
dx retry "$key" > "$dir/retry" 2>&1
is "$t: docextract retry does it" "$?" 0
once "$t"

lost 'purged, and canceled by the administrator'
stop_daemon KILL # which changes nothing
start_daemon
undecided broken
is "$t: nothing is sent, and nothing deleted" "$(arrived) $(documents)" '0 0 0 1'
dx cancel "$key" > "$dir/cancel" 2>&1
is "$t: docextract cancel does it" "$?" 0
check "$t: nothing is kept" until_true nothing_is_left
is "$t: nothing was sent" "$(arrived)" '0 0 0'

section 'held'

t='held, one document is not sent'
new_sheet
faults "create $((created + 2))- status 503" 'source * word processing'
print_chart "$dir/b.pdf"
until_true calls_are source 1
key=$(key_of "$job")
lp -i "$job" -H hold
leaves
faults '#'
has_decided held ended wait
stop_daemon KILL
start_daemon
has_decided held ended wait
until_true arrived_is '1 1 1'
is "$t: what was sent is fetched, and nothing else sent" "$(arrived)" '1 1 1'
release "$job"
is "$t: released, it is completed" "$(job_state "$job")" completed
once "$t" 2

t='held, everything is sent'
to_the_wait
lp -i "$job" -H hold
leaves
faults '#'
once "$t"
release "$job"
is "$t: released, it is completed" "$(job_state "$job")" completed
once "$t, and released"

section 'canceled'

canceled() # TEXT: nothing was or will be sent
{
  WAIT_S=90 until_true state_is "$key" canceled
  faults '#'
  is "$1: the job is canceled" "$(states "$key")" canceled
  check "$1: the job is finished, and nothing kept" until_true nothing_is_left
  is "$1: nothing is sent" "$(arrived)" '0 0 0'
}

t='canceled while its backend waits'
to_the_create
cancel "$job"
job_ends "$t: CUPS reports it" "$job" canceled
canceled "$t"

t='canceled after its backend was killed'
to_the_create
kill_backend
has_decided over broken send
dx cancel "$key" > "$dir/cancel"
is "$t: docextract cancel does it" "$?" 0
canceled "$t"

t='canceled while no backend runs'
to_the_create
cupsdisable chart
leaves
cancel "$job"
canceled "$t"
cupsenable chart

t='canceled while docextractd does not run'
to_the_create
stop_daemon KILL
cancel "$job"
leaves
start_daemon
canceled "$t"

t='the backend has left, and the print job is over'
write_config 'Completion accepted'
to_the_create
job_ends "$t: the print job has ended" "$job" completed
# After that response, it does not ask again.
check "$t: docextractd detects it" until_true \
  grep -q "^job $key, [^:]*: cupsd: over, backend: left: send" "$dir/daemon.new"
faults '#'
once "$t"
write_config

section 'moved'

t='moved to another queue of this spool'
add_queue second
to_the_create
lpmove "$job" second
faults '#'
job_ends "$t: it is completed there" "$job" completed
once "$t"
is "$t: the record names that queue" "$(of_journal "$job" .queue)" second

t='moved to paper'
cat > "$cups/bin/backend/paper" << 'END'
#!/bin/sh
[ $# = 0 ] || cat > /dev/null
END
chmod 755 "$cups/bin/backend/paper"
lpadmin -p paper -E -v paper:/tray 2>> "$dir/lpadmin.err"
to_the_create
lpmove "$job" paper
job_ends "$t: it is printed" "$job" completed
canceled "$t"

section 'failed, and printed again'

t='failed without a backend, and printed again'
to_the_create
kill_backend
faults 'create * status 422'
until_true state_is "$key" failed
faults '#'
before=$(starts "$job")
lp -i "$job" -H restart
until_true started_again "$job" "$before"
wait_job "$job" "$ended"
is "$t: it is completed" "$(job_state "$job")" completed
once "$t"

section 'a job file that cannot be read'

unreadable() # TEXT COMMAND...: what it prints becomes the job file
{
  t=$1
  shift
  to_the_create
  lp -i "$job" -H hold
  leaves
  stop_daemon KILL
  "$@" > "$dir/job.json"
  cat "$dir/job.json" > "$spool/jobs/$key/job.json"
  faults '#'
  start_daemon
  release "$job"
  is "$t: the print job is held" "$(job_state "$job") $(arrived)" \
    'pending-held 0 0 0'
  has "$t: and refers to the administrator" "$(queue_message "$job")" \
    'Contact your administrator: .* no longer knows whether'
  has "$t: the log gives advice" "$(job_log "$job")" "docextract cancel $key"
  dx cancel "$key" > "$dir/cancel"
  is "$t: which moves it away" \
    "$? $(find "$spool/damaged" -name "$key-*" | wc -l) $(documents)" '0 1 0'
  release "$job"
  is "$t: released, it is completed" "$(job_state "$job")" completed
  once "$t"
}

half() { head -c 200 "$spool/jobs/$key/job.json"; }
newer() { jq '.schema = 99' "$spool/jobs/$key/job.json"; }

unreadable 'a damaged job file' half
unreadable 'a newer job file' newer

section 'another name'

t='the section is renamed'
to_the_wait
lp -i "$job" -H hold
leaves
sed -i 's/<Service default>/<Service lab>/' "$config"
lpadmin -p chart -v docextract://lab
stop_daemon
start_daemon
says_how() { dx jobs | grep -q -e "--service"; }
check "$t: jobs gives advice" until_true says_how
lp -i "$job" -H resume
check "$t: released, its queue gives the reason" \
  until_true queue_says chart 'not set up correctly'
is "$t: and it waits" "$(job_state "$job")" processing
faults '#'
dx retry "$key" --service lab > "$dir/retry" 2>&1
is "$t: docextract retry accepts the new name" "$?" 0
job_ends "$t: then it is completed" "$job" completed
once "$t"
