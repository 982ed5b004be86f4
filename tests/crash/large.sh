#!/usr/bin/env bash
#
# large.sh - kill -9 of docextractd while it processes a large job, whose
# documents share journal writes: again and again, before or after one of them.
# In the end, each document was uploaded to one source, and each result arrived.
#
#   SEED=N tests/crash/large.sh    repeats the kills of a run
. "$(dirname "$0")/lib.sh"

documents=200
rounds=12
SPEED=20
RANDOM=${SEED:=$RANDOM}

make_large_bundle()
{
  local i
  for ((i = 1; i <= documents; i++)); do
    chart_pdf "$dir/a.pdf" Ann Ahrens $((5551000 + i))
    entry "$dir/a.pdf"
  done > "$bundle"
}

is_killed_or_finished() { is_killed || is_finished; }

make_large_bundle
start_service "MaxDocumentsPerJob $documents"
start_walked_daemon "kill journal 4 after"
{ # bash would report every kill
  (print_it 0 'count journal' "$dir/walk.log") > "$dir/out" 2> "$dir/err" &
  PRINT_PID=$!
  for ((kills = 0; kills < rounds; kills++)); do
    until_true is_killed_or_finished
    ! is_finished || break
    where=before
    [ $((RANDOM % 2)) = 0 ] || where=after
    start_walked_daemon "kill journal $((RANDOM % 12 + 1)) $where"
  done
  until_true is_killed_or_finished
  stop_daemon
} 2> /dev/null
start_walked_daemon
until_true is_finished
is "docextractd is killed (SEED=$SEED)" "$kills" "$rounds"
wait "$PRINT_PID"
is 'the backend succeeds' "$?" 0
is 'each document is uploaded to one source' \
  "$(uploads_of_sources | sed 's/again/once/' | uniq -c | xargs)" "$documents once"
is 'each result arrives' "$(patients | sort -u | wc -l) $(n_results)" \
  "$documents $documents"
is 'each has a manifest' "$(n_manifests)" "$documents"
is 'the journal was shared' \
  "$([ "$(wc -c < "$(journals)")" -gt 98304 ] && echo large)" large
