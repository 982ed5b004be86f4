#!/usr/bin/env bash
#
# reruns.sh - a print job that runs again, later, in another queue, or at the
# same time as another one: a document that was sent is not sent again, other
# documents are not lost, and other runs, queues, accounts, or cupsds do not
# affect it.
. "$(dirname "$0")/lib.sh"
. "$it/gate.sh"
preload=$build/tests/crash/preload.so
[ -e "$preload" ] || give_up "$preload is built (make check TESTS=)"

status_is() # CUPS JOB ID, STATUS: as `docextract jobs` has it
{
  dx jobs --all --json 2> "$dir/jobs.err" |
    jq -e --arg id "$1" --arg state "$2" \
      'any(.[]?; .id == $id and .state == $state)' > "$dir/jobs.out"
}
says() # CUPS JOB ID, PATTERN: what `docextract jobs` says of it
{
  dx jobs --all --json 2> "$dir/jobs.err" |
    jq -r --arg id "$1" '.[] | select(.id == $id) | .message' | grep -Eq -e "$2"
}
key_of() { of_journal "$1" .key; } # CUPS JOB ID
daemon_says() { grep -Eq -e "$1" "$dir/daemon.new"; }
has_received() { [ -n "$(ls "$spool/received")" ]; }
other_backend() { backends | grep -qvx "$1"; } # PID

to_the_outage() # [QUEUE]
{
  clear_results
  faults 'create * status 503'
  print -d "${1-chart}" "$dir/a.pdf"
  until_true calls_are create 1 || not_ok "$t: the service is called"
}

sent_once() # TEXT
{
  is "$1: it was sent once" "$(calls put '.status == 200') $(n_results)" '1 1'
}

reload() # after the configuration was written
{
  local before
  before=$(grep -c '^ready$' "$dir/daemon.new")
  kill -HUP "$DAEMON_PID"
  until_true eval '[ "$(grep -c "^ready$" "$dir/daemon.new")" -gt '"$before ]"
}

# The backend meets a failure on disk, whichever run it is, until it is repaired.
# What cupsd runs stays the same: a shell that was just started would read
# whatever is there then.
fail_backend() # PLAN OF preload.c
{
  local to=$cups/bin/backend
  echo "$1" > "$dir/plan"
  [ ! -e "$dir/real" ] || return 0
  mkdir -p "$dir/real"
  mv "$to/docextract" "$dir/real/"
  cat > "$to/docextract" << END
#!/bin/sh
if read -r plan < $dir/plan; then
  export LD_PRELOAD=$preload DX_WALK="\$plan" DX_WALK_LOG=$dir/run/walk
fi
exec $dir/real/docextract "\$@"
END
  chmod 755 "$to/docextract"
}
repair_backend() { : > "$dir/plan"; }
has_failed() { grep -qsx failed "$dir/run/walk"; }
has_ended() # CUPS JOB ID, N: N backends of it have exited; none was killed
{
  [ "$(job_log "$1" | grep -c 'backend/docextract) \(stopped with status\|exited\)')" \
    -ge "$2" ]
}

start_all --source-time 0 --case-time 0
add_queue other
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Brown 2

section 'what was extracted is remembered as long as it may be printed again'

sweep() # as if eight days had passed since everything was written
{
  stop_daemon # it may be about to write a journal
  find "$spool/jobs" "$spool/finished" -exec touch -d '8 days ago' {} +
  touch -d '2 hours ago' "$spool/swept"
  start_daemon
  until_true swept || not_ok "$t: docextractd sweeps"
}
swept() { grep -q 'the spool is swept$' "$dir/daemon.new"; }


to_the_wait() # prints; the service has the document, and no result yet
{
  clear_results
  faults 'source * word processing'
  print -d "${1-chart}" "$dir/a.pdf"
  until_true calls_are source 1 || not_ok "$t: the service has it"
}
is_finished() { [ -e "$spool/finished/$1/job.json" ]; } # KEY

t='held, extracted meanwhile, released after KeepJobs'
to_the_wait
lp -i "$job" -H hold
job_ends "$t: it is held" "$job" pending-held
until_true no_backend || not_ok "$t: the backend leaves"
faults '#'
key=$(key_of "$job")
check "$t: it is extracted" until_true is_finished "$key"
sweep
check "$t: its record stays" is_finished "$key"
rm -f "$results"/*
release "$job"
is "$t: it completes" "$(job_state "$job")" completed
is "$t: nothing is sent a second time" "$(calls create) $(calls put)" '1 1'
sweep
check "$t: it stays as long as it may be printed again" is_finished "$key"
before=$(starts "$job")
lp -i "$job" -H restart 2> "$dir/restart.err"
until_true started_again "$job" "$before"
job_ends "$t: printed again it completes" "$job" completed
is "$t: and nothing is sent then, either" "$(calls create) $(calls put)" '1 1'
cancel -a -x chart
sweep
check "$t: it goes when cupsd has forgotten it" \
  until_true eval '! is_finished "$key"'

section 'a full disk, and a backend that is killed'

t='the disk is full, and the backend is killed'
clear_results
fail_backend 'fail write 1 1000000 ENOSPC'
print -d chart "$dir/a.pdf"
until_true has_failed || not_ok "$t: the state is reached"
kill -KILL "$(backends)"
repair_backend
until_true no_backend
check "$t: the print job is not over" \
  until_true eval 'job_is "$job" "pending|pending-held|processing-stopped" || started_again "$job" 1'
faults '#'
job_is "$job" 'pending-held|processing-stopped' && lp -i "$job" -H restart
job_ends "$t: it completes when there is room" "$job" completed
sent_once "$t"

# Once cupsd has passed on the documents, it would call the job completed if the
# backend were killed: so the backend must not wait for space, but end by itself.
t='the disk is full when the documents have arrived'
clear_results
rm -f "$dir/run/walk"
fail_backend 'fail write 2 1000000 ENOSPC'
print -d chart "$dir/a.pdf"
until_true has_failed || not_ok "$t: the state is reached"
check "$t: the backend does not wait for space" \
  eval 'WAIT_S=20 until_true has_ended "$job" 1'
repair_backend
check "$t: it is not lost" until_true extracted 1
sent_once "$t"

section 'a print job of another queue'

add_north() # the queue of the second section
{
  lpadmin -p north -E -v docextract://north -P "$build/ppd/docextract.ppd" \
    2>> "$dir/lpadmin.err"
}

two_sections() # LINE OF THE SECOND...
{
  write_config
  {
    echo '<Service north>'
    echo "BaseURL $SIM_API"
    echo 'Token key'
    echo "TokenKeyFile $dir/key"
    echo "TokenAlgorithm $CIPHER"
    echo '</Service>'
  } >> "$config"
}

t='moved, and its first section is removed'
two_sections
reload
add_north
to_the_wait
first=$(backends)
lpmove "$job" north
until_true eval 'one_backend && other_backend "$first"' ||
  not_ok "$t: the other queue has it"
sed -i '0,/<Service default>/s//<Service south>/' "$config"
reload
check "$t: the other queue refers to the administrator" \
  until_true queue_says north 'Contact your administrator'
check "$t: the other queue is not stopped" not queue_is_stopped north
moved=$job
faults '#'
print -d north "$dir/b.pdf"
job_ends "$t: and goes on printing" "$job" completed
is "$t: because the document of the first was uploaded" "$(job_state "$moved")" \
  completed

two_sections
reload
check "$t: put back, it is extracted" until_true extracted 2
is "$t: each was sent once" "$(calls put '.status == 200') $(n_results)" '2 2'

section 'a source stays with its account'

source_of() { of_journal "$1" '.submissions[0].source_id'; } # CUPS JOB ID
to_the_killed_wait() # nobody attends any more
{
  to_the_wait
  kill -KILL "$(backends)"
  job_ends "$t: for cupsd it is over" "$job" completed
}

# The service works, and is not asked about that source.
is_left_alone() # CUPS JOB ID, PATTERN OF ITS MESSAGE
{
  local before source
  check "$t: jobs says what to do" until_true says "$1" "$2"
  source=$(source_of "$1")
  before=$(jq -s --arg s "$source" 'map(select(.path | contains($s))) | length' \
    "$SIM_LOG")
  faults '#'
  print -d north "$dir/b.pdf"
  job_ends "$t: another print job completes" "$job" completed
  is "$t: the source was not asked for with other credentials" "$(jq -s \
    --arg s "$source" 'map(select(.path | contains($s))) | length' \
    "$SIM_LOG")" "$before"
}

t='the section was renamed'
two_sections
reload
add_north
to_the_killed_wait
id=$job
sed -i '0,/<Service default>/s//<Service south>/' "$config"
reload
is_left_alone "$id" 'no section <Service default>.*--service'
dx retry "$(key_of "$id")" --service south > "$dir/out" 2>&1 ||
  not_ok "$t: it is retried: $(cat "$dir/out")"
check "$t: with the new name it is extracted" until_true extracted 2
is "$t: sent once" "$(calls put '.status == 200')" 2

t='its BaseURL was changed'
two_sections
reload
to_the_killed_wait
id=$job
sed -i "0,/^BaseURL .*/s,,BaseURL ${SIM_API/127.0.0.1/localhost}," "$config"
reload
is_left_alone "$id" 'BaseURL of <Service default> was changed'
two_sections
reload
check "$t: put back, it is extracted" until_true extracted 2
is "$t: sent once" "$(calls put '.status == 200')" 2

section 'a cancel that comes late'

t='canceled, and printed again before docextractd hears of it'
write_config
reload
to_the_outage
first=$(backends)
kill -STOP "$DAEMON_PID"
cancel "$job"
until_true no_backend || not_ok "$t: the backend leaves"
job_ends "$t: it is canceled" "$job" canceled
faults '#'
before=$(starts "$job")
lp -i "$job" -H restart
until_true started_again "$job" "$before" || not_ok "$t: it runs again"
until_true has_received || not_ok "$t: the second run is stored"
kill -CONT "$DAEMON_PID"
job_ends "$t: it completes" "$job" completed
sent_once "$t"

section 'two cupsds'


# Jobs of the same number and of the same queue.
use_cupsd() # DIRECTORY
{
  cups=$1
  ipp=ipp://$(sed 's,/,%2F,g' <<< "$cups/cups.sock")
  export CUPS_SERVER=$cups/cups.sock
}
to_two_outages() # a print job of the same number at each; $job
{
  local number
  use_cupsd "$one"
  to_the_outage
  number=$job
  use_cupsd "$two"
  job=$last
  while [ "$job" -lt $((number - 1)) ]; do print -d chart -H hold "$dir/a.pdf"; done
  cancel -a -x chart
  print -d chart "$dir/a.pdf"
  last=$job
  is "$t: they have the same number" "$job" "$number"
  until_true two_attend || not_ok "$t: the second one is stored"
}
two_attend() { [ "$(of_journal "$job" .print.backend | grep -c attends)" = 2 ]; }

last=0 # number there
one=$cups two=$dir/cups2 first_cupsd=$CUPSD_PID
use_cupsd "$two"
make_cups
cp -p "$config" "$two/root/docextract.conf"
start_cupsd
add_queue chart

t='two cupsds on one spool'
to_two_outages
use_cupsd "$one"
cancel "$job"
job_ends "$t: one print job is canceled" "$job" canceled
check "$t: it is canceled here" until_true status_is "$job" canceled
use_cupsd "$two"
faults '#'
job_ends "$t: the other one completes" "$job" completed
sent_once "$t"

t='two cupsds, and nobody attends the job of the other one'
to_two_outages
kill -KILL "$(sed -n "s/.*\[Job $job\] Started backend .*(PID \([0-9]*\)).*/\1/p" \
  "$two/log/error_log")"
use_cupsd "$one"
cancel "$job"
job_ends "$t: one print job is canceled" "$job" canceled
check "$t: it is canceled here" until_true status_is "$job" canceled
check "$t: the other one is a person's to decide" \
  until_true status_is "$job" undecided
faults '#'
key=$(of_journal "$job" 'select(.print.undecided) | .key')
dx retry "$key" > "$dir/out" 2>&1 ||
  not_ok "$t: it is retried: $(cat "$dir/out")"
check "$t: and is sent then" until_true extracted 1
sent_once "$t"
stop_cupsd
CUPSD_PID=$first_cupsd
