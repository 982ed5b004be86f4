#!/usr/bin/env bash
#
# order.sh - the order of write, fsync, rename, request, and removal. The calls
# of every kind of run are recorded, and checked against the rules of order.awk,
# so that no kill or power failure is needed. It reports rules that are broken,
# and rules that no run has tested.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
trace=$dir/trace

# --- the runs ----------------------------------------------------------------

print_job() # ID [PLAN [LOG]]
{
  { # bash would report a kill
    (run_by=$sealed preloaded 120 "${2:-trace}" "${3:-$trace}" "$backend" "$1" ann \
      secret-title 1 "job-uuid=urn:uuid:$1") < "$bundle" > "$dir/out" \
      2> "$dir/err"
    status=$?
  } 2> /dev/null
}

journal_of() # JOB ID
{
  journals | xargs -r grep -l "\"id\":[[:space:]]*\"$1\""
}
place_of() # JOB ID: jobs or finished
{
  journal_of "$1" | sed -E 's,.*/(jobs|finished)/[^/]*/job.json,\1,'
}
finished() { [ "$(place_of "$1")" = finished ]; }
submit_one() { dx submit "$dir/a.pdf" > "$dir/submit.out" 2>&1; }
is_removed() { [ ! -e "$1" ]; }

# --- the rules ---------------------------------------------------------------

# Lines for order.awk.
read_journals()
{
  find "$dir" -maxdepth 1 -name 'trace.*' -size +0 -exec jq -r '
    input_filename as $f | .print.run as $run |
    ((.print.cupsd // "-") | gsub(" "; "_")) as $cupsd | [.submissions | to_entries[] |
    (.key + 1) as $n | .value |
    "sub \($n) \(.state) \(.source_id // "-")",
    (.files[] | "file \($n) \(.document) \(.put) " +
      ((.url // "-") | sub("^[a-z]*://[^/]*"; "") | sub("[?].*"; ""))),
    (.cases | to_entries[] | "case \($n) \(.key + 1) \(.value.state) " +
      .value.id)] |
    "\($f) job \($run) \($cupsd)", "\($f) \(.[])"' {} +
}

judge()
{
  local name seen broken text first judged=0
  read_journals > "$dir/journals"
  while IFS=$'\t' read -r name seen broken text first; do
    judged=$((judged + 1))
    if [ "$seen" = 0 ]; then
      not_ok "$name: $text" 'no run has come to where it counts'
    elif [ "$broken" != 0 ]; then
      not_ok "$name: $text" "broken $broken times of $seen, first at $first"
    else
      ok "$name: $text ($seen times)"
    fi
  done < <(awk -v daemons="$daemons " -f "$here/order.awk" "$dir/journals" \
    "$trace")
  [ "$judged" -gt 0 ] || not_ok 'the trace is judged'
}

make_bundle
start_service
owned_dir 700 "$spool"
rm -rf "$results" # docextractd has to create it
daemons=
trace_daemon()
{
  start_walked_daemon trace "$trace"
  daemons+=" $DAEMON_PID"
}
trace_daemon

t='a job that nobody disturbs'
print_job 1
check "$t: it comes to its end" until_true finished 1
is "$t: it is extracted" "$status $(n_results)" '0 3'

t='a job that comes again'
print_job 2 'kill journal 2 after' "$dir/walk.log"
print_job 2
check "$t: it comes to its end" until_true finished 2
is "$t: it is extracted" "$status $(n_results)" '0 6'

t='a job that the service refuses'
faults 'create * status 422'
print_job 3
is "$t: it is held, with its documents" "$status $(place_of 3)" '3 jobs'
print_job 4
faults '#'

t='old jobs'
mkdir -p "$cups/bin/filter"
install -m 755 "$build/todocextract" "$build/docextract-text.so" \
  "$cups/bin/filter/"
check "$t: cupsd knows nothing of one" submit_one
stop_daemon
submitted=$(journals | xargs jq -r 'select(.id == null) | input_filename')
touch -d '8 days ago' "$submitted"
touch -d '31 days ago' "$(journal_of 3)"
touch -d '2 hours ago' "$spool/swept"
SPEED=1 trace_daemon # at this speed the sweep has enough time
check "$t: a finished one is gone" until_true is_removed "$submitted"
check "$t: an unfinished one has expired" until_true finished 3
stop_daemon # after the sweep
is "$t: one that is not old stays" "$(place_of 4)" jobs
trace_daemon

t='a job that is printed again after that'
print_job 3
check "$t: it is extracted" until_true finished 3
is "$t: it ends" "$status" 0

t='a job whose print job ends first'
stop_daemon
write_config 'APIRate 9' 'Completion accepted'
trace_daemon
print_job 5
is "$t: the print job ends" "$status" 0
check "$t: docextractd extracts it" until_true finished 5
stop_daemon

judge
