#!/usr/bin/env bash
#
# demand.sh - a computer without systemd: a backend starts docextractd, which
# exits when it is idle, or when another one is started by hand. And a
# docextractd of another version: the queue asks for a restart, and after an
# upgrade, cupsd runs the new backend.
. "$(dirname "$0")/lib.sh"

quick=$build/tests/it
[ -x "$quick/docextractd-quick" ] && [ -x "$quick/docextract-quick" ] ||
  give_up 'the programs are built (make check TESTS=)'
[ ! -d /run/systemd/system ] || leave_out_all \
  'docextractd on demand' 'run it in a container without systemd'

trap 'finish end_demanded' EXIT

once() { is "$t: sent once" "$(calls create) $(calls put) $(n_results)" "$1 $1 $1"; }
use_backend() # a new program file, complete from the start: cupsd may run it
{
  install -m 755 "$quick/docextract-quick" "$cups/bin/backend.new"
  mv "$cups/bin/backend.new" "$cups/bin/backend/docextract"
}

start_sim --source-time 0 --case-time 0
CUPS_FILES="SetEnv DX_DOCEXTRACTD $quick/docextractd-quick"
make_cups
use_backend
NO_DAEMON=1 start_cupsd
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1

t='on demand'
faults 'source * word processing'
print -d chart "$dir/a.pdf"
first=$job
until_true calls_are source 1 || not_ok "$t: a backend starts docextractd"
has "$t: it says so" "$(greeting)" 'demand$'
pid=$(demanded)
is "$t: it is in a session of its own" "$(cups_children | grep docextractd)" ''
print -d chart "$dir/a.pdf"
polls=$(calls source)
until_true calls_are source $((polls + 3)) || not_ok "$t: polls go on"
is "$t: 'auto' does not leave, because it ends with cups.service" \
  "$(job_state "$first")" processing
faults '#'
job_ends "$t: the print job completes with its results" "$first" completed
job_ends "$t: so does the next one" "$job" completed
once 2
is_the_only_one() { [ "$(demanded)" = "$pid" ] || is_gone "$pid"; } # it was idle
check "$t: one was started" is_the_only_one

t='idle'
check "$t: it exits" until_true is_gone "$pid"
check "$t: its socket is removed" [ ! -e "$spool/docextractd.sock" ]
clear_results
print -d chart "$dir/a.pdf"
job_ends "$t: the next backend starts another one" "$job" completed
once 1

t='one is started by hand'
clear_results
faults 'source * word processing'
print -d chart "$dir/a.pdf"
until_true calls_are source 1 || not_ok "$t: the extraction is awaited"
pid=$(demanded)
start_daemon
check "$t: the one on demand exits" until_true is_gone "$pid"
is "$t: and the other one runs" "$(greeting)" "$DAEMON_PID hand"
faults '#'
job_ends "$t: the print job completes" "$job" completed
once 1
is "$t: one backend was enough" "$(starts "$job")" 1

# --- another version ---------------------------------------------------------------

playing=
play() # docextractd of another version, for as long as needed
{
  local i
  stop_daemon
  : > "$dir/played.out"
  for i in {1..99}; do printf 'greet docextractd 999 9.0 service\n\n'; done \
    > "$dir/script"
  "$top/tests/cli/docextractd_played" "$spool" "$dir/script" "$dir/played" \
    > "$dir/played.out" &
  playing=$!
  until_true test -s "$dir/played.out"
}
end_play()
{
  [ -z "$playing" ] || end_process "$playing" KILL
  playing=
}
end_both()
{
  end_play
  end_demanded
}
trap 'finish end_both' EXIT
asks_for_a_restart()
{
  queue_state chart | grep -q 'The chart is on this computer; contact your administrator: docextractd is of version 9.0.*; restart docextractd' &&
    job_log "$job" | grep -q '+docextract-stopped-warning'
}

t='another version'
clear_results
play
print -d chart "$dir/a.pdf"
check "$t: the queue asks for a restart" until_true asks_for_a_restart
has "$t: with a state reason" "$(lpoptions -p chart)" docextract-stopped-warning
is "$t: the print job waits" "$(job_state "$job")" processing
end_play
start_daemon
job_ends "$t: after a restart, the print job completes" "$job" completed
once 1
is "$t: one backend was enough" "$(starts "$job")" 1

t='another version, after an upgrade'
clear_results
play
print -d chart "$dir/a.pdf"
until_true asks_for_a_restart || not_ok "$t: the queue asks for a restart"
before=$(starts "$job")
use_backend
check "$t: cupsd runs the new backend" until_true started_again "$job" "$before"
end_play
start_daemon
job_ends "$t: with the new docextractd, the print job completes" "$job" completed
once 1
is "$t: the new backend was enough" "$(starts "$job")" $((before + 1))
