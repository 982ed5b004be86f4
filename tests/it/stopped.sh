#!/usr/bin/env bash
#
# stopped.sh - no docextractd runs: the chart is stored, and the queue and the
# commands name what starts it. And a docextractd of another version: the queue
# asks for a restart, and after an upgrade, cupsd runs the new backend.
. "$(dirname "$0")/lib.sh"

[ ! -d /run/systemd/system ] || leave_out_all \
  'no docextractd' 'run it in a container without systemd'

once() { is "$t: sent once" "$(calls create) $(calls put) $(n_results)" "$1 $1 $1"; }
use_backend() # a new program file, complete from the start: cupsd may run it
{
  install -m 755 "$build/backend/docextract" "$cups/bin/backend.new"
  mv "$cups/bin/backend.new" "$cups/bin/backend/docextract"
}

start_sim --source-time 0 --case-time 0
NO_DAEMON=1 start_cupsd
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1

# --- none runs ---------------------------------------------------------------------

missing='docextractd is not running; restart its service, or run: docextractd'
queue_has() { queue_state chart | grep -qF "$1"; }

t='none runs'
GENERAL='Language de' write_config
print -d chart "$dir/a.pdf"
check "$t: the queue names what starts it, in the language of the site" \
  until_true queue_has \
  "Das Dokument ist auf diesem Computer; bitte dem Administrator melden – $missing"
has "$t: with a state reason" "$(lpoptions -p chart)" docextract-stopped-warning
has "$t: the chart is stored" "$(dx jobs)" "^[^ ]+ +stored +chart-$job .*: $missing\$"
is "$t: the print job waits" "$(job_state "$job")" processing
output=$(dx hello 2>&1)
has "$t: hello names it" "$? $(tail -n 1 <<< "$output")" "^78 .*$missing"
output=$(dx retry "chart-$job" 2>&1)
is "$t: so does a request" "$? $output" "78 docextract: $missing"
output=$(dx submit "$dir/a.pdf" 2>&1)
has "$t: so does submit, which has stored its files" \
  "$? $(tail -n 1 <<< "$output")" "^75 .* is stored, and waits: $missing\$"
is "$t: nothing is sent" "$(calls create)" 0
is "$t: nothing starts it" "$(cups_children | grep docextractd; ls "$spool" |
  grep sock)" ''
start_daemon
job_ends "$t: once it runs, the print job completes" "$job" completed
check "$t: so does what was submitted" until_true extracted 2
once 2
is "$t: one backend was enough" "$(starts "$job")" 1

t='a second one'
output=$(as_run_user "$build/daemon/docextractd" -c "$config" 2>&1)
has "$t: it exits at once, and names the first" "$? $output" \
  "^75 E_BUSY: docextractd is already running as process $DAEMON_PID\$"

# --- another version ---------------------------------------------------------------

playing=
play() # docextractd of another version, for as long as needed
{
  local i
  stop_daemon
  : > "$dir/played.out"
  for i in {1..99}; do printf 'greet docextractd 999 9.0\n\n'; done \
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
trap 'finish end_play' EXIT
asks_for_a_restart()
{
  queue_state chart | grep -q 'Das Dokument ist auf diesem Computer; bitte dem Administrator melden – docextractd is of version 9.0.*; restart docextractd' &&
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
