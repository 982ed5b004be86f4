#!/usr/bin/env bash
#
# order.sh - the order of what is written, fsynced, renamed, sent, and removed.
# It needs no kill and no power failure: the calls of every kind of run are
# recorded and checked against the rules of order.awk. A rule that is broken is
# named, and so is one that no run has tested.
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


# --- the rules ---------------------------------------------------------------

# Lines for order.awk.
read_journals()
{
  find "$dir" -maxdepth 1 -name 'trace.*' -size +0 -exec jq -r '
    input_filename as $f | .owner as $owner | [.submissions | to_entries[] |
    (.key + 1) as $n | .value |
    "sub \($n) \(.state) \(.registering) \(.source_id // "-")",
    (.files[] | "file \($n) \(.document) \(.put) " +
      ((.url // "-") | sub("^[a-z]*://[^/]*"; "") | sub("[?].*"; ""))),
    (.cases | to_entries[] | "case \($n) \(.key + 1) \(.value.state) " +
      .value.id)] |
    "\($f) job \($owner)", "\($f) \(.[])"' {} +
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
  done < <(awk -v daemon="$daemon" -f "$here/order.awk" "$dir/journals" \
    "$trace")
  [ "$judged" -gt 0 ] || not_ok 'the trace is judged'
}

make_bundle
start_service
owned_dir 700 "$spool"
rm -rf "$results" # the backend has to create it

t='a job that nobody disturbs'
print_job 1
is "$t: it is extracted" "$status $(n_results) $(place_of 1)" '0 3 finished'

t='a job that comes again'
print_job 2 'kill journal 2 after' "$dir/walk.log"
print_job 2
is "$t: it is extracted" "$status $(n_results) $(place_of 2)" '0 6 finished'

t='a job that the service refuses'
faults 'create * status 422'
print_job 3
is "$t: it is held, with its documents" "$status $(place_of 3)" '3 jobs'
print_job 4
faults '#'

t='old jobs'
touch -d '8 days ago' "$(journal_of 1)"
touch -d '31 days ago' "$(journal_of 3)"
touch -d '2 hours ago' "$spool/swept"
SPEED=1 print_job 2 # at this speed the sweep has enough time
is "$t: a finished one is gone" "$(place_of 1)" ''
is "$t: an unfinished one has expired" "$(place_of 3)" finished
is "$t: one that is not old stays" "$(place_of 4)" jobs

t='a job that is printed again after that'
print_job 3
is "$t: it is extracted" "$status $(place_of 3)" '0 finished'

t='a job that is handed over'
write_config 'APIRate 9' 'Completion accepted'
start_walked_daemon trace "$trace"
daemon=$DAEMON_PID
kill -STOP "$DAEMON_PID" # it must not look before we do
print_job 5
is "$t: the print job ends, and the journal says why" \
  "$status $(jq -r .owner "$(journal_of 5)")" '0 collector'
kill -CONT "$DAEMON_PID"
check "$t: docextractd extracts it" until_true finished 5
stop_daemon

judge
