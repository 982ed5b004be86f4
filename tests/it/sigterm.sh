#!/usr/bin/env bash
#
# sigterm.sh - SIGTERM in every state ends the backend within two seconds, cupsd
# runs the job again, and every document is sent once; a call of docextractd
# continues. A job that is canceled in that state ends, and is not submitted if
# its upload had not begun. Cancel, hold, and disable for a job of several
# documents are in interrupted.sh.
. "$(dirname "$0")/lib.sh"
. "$it/gate.sh"

bound_ms=2000   # on a machine with nothing else to do
measured_ms=250 # how late the end of a process may be noticed
again='stopped with status 7.' # CUPS_BACKEND_RETRY_CURRENT

# --- the end of a process ----------------------------------------------------

# A zombie has ended: a stopped cupsd reaps it later.
has_ended() # PID
{
  local line
  { read -r line < "/proc/$1/stat"; } 2> /dev/null || return 0
  line=${line##*) }
  [ "${line%% *}" = Z ]
}

start_clock()
{
  backend=$(backends)
  begin_limit
  then_ms=$((${EPOCHREALTIME/./} / 1000))
}

ends_within() # TEXT MS
{
  local ms limit
  while ms=$((${EPOCHREALTIME/./} / 1000 - then_ms)) &&
    ! has_ended "$backend" && [ $ms -lt 120000 ]; do
    sleep 0.01
    read_load
  done
  limit=$(limit_of $(($2 + measured_ms)))
  if [ "$ms" -le "$limit" ]; then
    ok "$1: ends within $2 ms ($ms)"
  else
    not_ok "$1: ends within $2 ms" "it took $ms ms, limit $limit ms"
  fi
}

how_it_ended() # as cupsd logs it
{
  grep -a "PID $backend " "$cups/log/error_log" |
    sed -n 's/.*) \(stopped with\|was terminated\|exited\|crashed\)/\1/p'
}
end_is_logged() { [ -n "$(how_it_ended)" ]; }

# --- states ------------------------------------------------------------------

print_chart()
{
  clear_results
  print -d chart "$dir/a.pdf"
}

reach() # CONDITION...: the state, or the rest means nothing
{
  until_true "$@" || not_ok "$t: the state is reached" "$*"
}

journal_says() # JQ FILTER: true for the one job
{
  local j
  j=$(find "$spool/jobs" "$spool/finished" -name job.json -newer "$dir/mark")
  # shellcheck disable=SC2086
  [ -n "$j" ] && [ "$(jq -s "any(.[]; $1)" $j)" = true ]
}

connections() { grep -c " $cups/cups.sock\$" /proc/net/unix; }
has_connected() { [ "$(connections)" -gt "$1" ]; } # BEFORE
has_let_go() { ! is_receiving; }
extract_began() { compgen -G "$spool/jobs/*/.result*" > /dev/null; }
failure_is_shown() { queue_state chart | grep -q 'every minute'; }
wait_is_shown()
{
  grep -aq "\[Job $job\].*cannot write in directory" "$cups/log/error_log"
}

# docextractd connects to cupsd, too, and must not be taken for the backend.
freeze_cupsd() { kill -STOP "$CUPSD_PID" "$DAEMON_PID"; }
thaw_cupsd() { kill -CONT "$CUPSD_PID" "$DAEMON_PID"; }

to_receiving()
{
  close_gate filter
  print_chart
  reach is_waiting_at filter
  reach is_receiving
}

to_asking_first() # cupsd does not respond, and nothing was read yet
{
  local before
  close_gate filter
  close_gate backend
  print_chart
  reach is_waiting_at filter
  reach is_waiting_at backend
  freeze_cupsd
  before=$(connections)
  open_gate backend
  reach has_connected "$before"
}

to_asking_again() # everything was read
{
  local before
  to_receiving
  freeze_cupsd
  before=$(connections)
  open_gate filter
  reach has_connected "$before"
}

# Not from cupsd; one from cupsd may follow within 1.5 s. It is stopped until
# the second signal is sent, because this shell may need longer.
to_first_signal()
{
  local first
  to_receiving
  first=$(backends)
  kill -TERM "$first"
  reach has_let_go
  kill -STOP "$first"
}

to_post()
{
  faults "create * $stuck"
  print_chart
  reach is_calling "$job"
}

to_put()
{
  faults "put * $stuck"
  print_chart
  reach journal_says '.submissions[0].files[0].put == "sending"'
}

to_poll()
{
  faults 'source * word processing'
  print_chart
  reach calls_are source 1
}

to_extract()
{
  faults "extract * $stuck"
  print_chart
  reach extract_began
}

to_local_failure()
{
  to_poll
  chmod 550 "$results"
  faults '#'
  reach failure_is_shown
  chmod 2770 "$results" # the wait continues
}

to_minute() # nothing can be stored, and nothing was received
{
  clear_results
  chmod 511 "$spool"
  print_chart
  reach wait_is_shown
}

to_backoff()
{
  faults 'create * status 503'
  print_chart
  reach calls_are create 3
}

to_token() # refused twice: the third try comes 25 s later
{
  faults 'create * status 401'
  print_chart
  reach calls_are create 2
}

to_minting() # the command that makes the token takes a while
{
  rm -f "$gate/minting"
  NO_TOKEN=1 write_config 'Token command' "TokenCommand $dir/mint"
  print_chart
  reach test -s "$gate/minting"
  write_config # for the next process
}

resume() # ends what kept the job in its state
{
  thaw_cupsd
  chmod 711 "$spool"
  faults '#'
  open_gate filter
  open_gate backend
}

# --- cases -------------------------------------------------------------------

begin() # TEXT STATE
{
  t=$1
  touch "$dir/mark"
  "to_$2"
  start_clock
}

sent_once()
{
  job_ends "$t: the job is extracted" "$job" completed
  is "$t: sent once" "$(calls put '.status == 200') $(n_results)" '1 1'
  is "$t: it is the right one" "$(patients)" 'Ahrens Ann 1'
}

signaled() # TEXT STATE [MS]: by SIGTERM, not from cupsd
{
  stuck='delay 5000' # for the next run, which waits until the call is over
  begin "$1, SIGTERM" "$2"
  kill -TERM "$backend"
  kill -CONT "$backend" 2> "$dir/cont.err" # it may have ended
  ends_within "$t" "${3:-$bound_ms}"
  resume
  until_true end_is_logged
  is "$t: cupsd is asked to run it again" "$(how_it_ended)" "$again"
  sent_once
}

over=() # canceled jobs

canceled() # TEXT STATE [CALLS]: with what the service had received by then
{
  stuck=hang
  begin "$1, canceled" "$2"
  cancel "$job"
  ends_within "$t" "$bound_ms"
  resume
  until_true no_backend
  over+=("$job")
  is "$t: the job is over" "$(job_state "$job")" canceled
  is "$t: what was uploaded" "$(calls put '.status == 200')" "${3:-0}"
}

kept() { find "$spool/incoming" "$spool/jobs" -type f -name 'document*'; }

start_all --source-time 0 --case-time 0
build_gate filter
build_gate backend
chart_pdf "$dir/a.pdf" Ann Ahrens 1
cat > "$dir/mint" << END
#!/bin/sh
echo \$\$ > $gate/minting
exec sleep 60
END
chmod 755 "$dir/mint"

section 'SIGTERM in every state'

for state in receiving asking_first asking_again post put poll extract \
  local_failure minute backoff token minting; do
  signaled "${state//_/ }" $state
done
check 'TokenCommand: the program has ended, too' is_gone "$(cat "$gate/minting")"
signaled 'a second one' first_signal 500

section 'canceled in every state'

for state in receiving post minute backoff token minting; do
  canceled "${state//_/ }" $state
done
none_is_kept() { [ -z "$(kept)" ]; }
check 'canceled before the upload: no document is kept' until_true none_is_kept
canceled put put
for state in poll extract local_failure; do
  canceled "${state//_/ }" $state 1
done

# Canceled jobs are not submitted.
t='what was canceled'
clear_results
for id in "${over[@]}"; do
  lp -i "$id" -H resume 2> "$dir/resume.err" && not_ok "$t: $id is released"
done
stop_cupsd
start_cupsd
cancel -a -x chart # what cupsd could run again stays
stop_daemon
find "$spool/jobs" "$spool/finished" -exec touch -d '8 days ago' {} +
touch -d '2 hours ago' "$spool/swept"
start_daemon
one_is_left() { [ "$(all_journals | jq -s length)" = 1 ]; }
print -d chart "$dir/a.pdf"
sent_once
is "$t: nothing but this one was registered" "$(calls create)" 1
check "$t: and the job files are swept" until_true one_is_left
