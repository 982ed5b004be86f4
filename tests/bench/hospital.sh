#!/usr/bin/env bash
#
# hospital.sh - what is said of a large site and no other benchmark prints: the
# clients that watch, a source of very many cases, the sweep of very many
# records, and the hours after an outage with 10,000 charts. Of the last three,
# hospital.c says how they are measured.
. "$(dirname "$0")/lib.sh"

watchers=$(size 200 4)
prints=$(size 40 2)
cases=$(size 1500 100)
rate=9
processing=2000 # ms
ulimit -n "$(ulimit -Hn)"

use_sim() # [LINE...]: of the section
{
  configure "$dir/spool"
  printf '%s\n' "BaseURL $api" "APIRate $rate" 'Completion accepted' "$@" \
    '</Service>' >> "$config"
}
print_chart() # N
{
  local a
  mapfile -t a < <(arguments "$1")
  "$build/tests/helper/sealed" "$backend" "${a[@]}" < "$dir/bundle" \
    2> "$dir/backend.err"
}
manifests() { find "$results" -name '*.job.json' 2> /dev/null | wc -l; }
until_manifests() { until [ "$(manifests)" -ge "$1" ]; do sleep 0.2; done; } # N

"$top/tests/it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
header "$dir/a.pdf" application/pdf > "$dir/header"
cat "$dir/header" "$dir/a.pdf" > "$dir/bundle"

# ---- watchers ----

# docextractd and the process of its status socket, in ms. That tells the
# clients, when those that have begun to respond to them have exited.
children_of() { cat "/proc/$1/task/$1/children"; } # PID
until_alone() { until [ -z "$(children_of "$(status_pid)")" ]; do sleep 0.1; done; }
all_cpu()
{
  cat "/proc/$daemon_pid/schedstat" "/proc/$(status_pid)/schedstat" |
    awk '{ ns += $1 } END { print ns / 1e6 }'
}

stop_watching()
{
  [ -n "$watch_pid" ] || return 0
  kill "$watch_pid"
  wait "$watch_pid" 2> /dev/null || true
  watch_pid=
}
watch_pid=
trap 'stop_watching; finish' EXIT

has_read() { [ "$(tail -n 1 "$dir/watched")" = "$1" ]; } # LINE
watchers_have_read() { has_read "$1" || ! kill -0 "$watch_pid" 2> /dev/null; }
until_read() { until watchers_have_read "$1"; do sleep 0.1; done; }

# The CPU of a print job: with clients, and without. Each round has other jobs.
measure_watchers() # N NAME ROUND
{
  local before i had
  if [ "$1" -gt 0 ]; then
    python3 "$bench/watch.py" "$dir/status" "$1" > "$dir/watched" &
    watch_pid=$!
    until_read connected
    until_alone
  fi
  had=$(manifests)
  before=$(all_cpu)
  for ((i = 1; i <= prints; i++)); do print_chart "$2-$3-$i"; done
  until_manifests $((had + prints))
  [ "$1" -eq 0 ] || until_read "$prints"
  sleep 1
  difference "$before" "$(all_cpu)" | awk -v n="$prints" '{ print $1 / n }' \
    >> "$dir/$2"
  stop_watching
}

start_sim --source-time 0 --case-time 0
use_sim
start_daemon
for round in $(seq "$(size 3 1)"); do
  measure_watchers "$watchers" watched-by ROUND"$round"
  measure_watchers 0 alone ROUND"$round"
done
stop_daemon
stop_sim
paste "$dir/watched-by" "$dir/alone" | awk '{ print $1 - $2 }' \
  > "$dir/watching"
echo "$watchers clients that watch, and all see all jobs"
row '  CPU of a print job' ms "$dir/watched-by" "$dir/alone" 'none watches' ''
row '    of it for them' ms "$dir/watching" - '' '<= 3'

# ---- a source of many cases ----

# Others are printed meanwhile, one every ten seconds. A result is late by the
# time from when the service has it until its call.
print_others() # NAME: while $dir/busy exists
{
  local n
  for ((n = 1; ; n++)); do
    sleep 5
    [ -e "$dir/busy" ] || return 0
    print_chart "$1-$n"
    sleep 5
  done
}
# Of the simulator's log: from the end of the upload, and of processing, to the
# result.
lateness()
{
  jq -r 'select(.status == 200) | [.call, .source_id, .t] | @tsv' "$dir/sim.log" |
    awk -v processing="$processing" '
      $1 == "put" { put[$2] = $3 }
      $1 == "extract" { n[$2]++; got[$2] = $3 }
      END {
        for (s in got)
          if (n[s] == 1) print got[s] - put[s] - processing / 1000
      }'
}
measure_others() # NAME COMMAND...: others while it runs
{
  local name=$1 others
  shift
  : > "$dir/sim.log"
  touch "$dir/busy"
  print_others "$name" &
  others=$!
  "$@"
  rm "$dir/busy"
  wait "$others"
  sleep 10 # their results
  lateness > "$dir/$name-late"
}
most_cases() # of a manifest
{
  find "$results" -name '*.job.json' -exec cat {} + |
    jq -s 'map(.cases | length) | max // 0'
}
print_large()
{
  local a
  mapfile -t a < <(arguments large)
  cat "$dir/large-header" "$dir/large.pdf" | "$build/tests/helper/sealed" \
    "$backend" "${a[@]}" 2> "$dir/backend.err"
  until [ "$(most_cases)" -ge "$cases" ]; do sleep 1; done
}

# A separator page ends a case.
mapfile -t pages < <(seq -f 'DOCEXTRACT CASE SEPARATOR
Patient: Ann Ahrens|MRN: %g' "$cases")
"$top/tests/it/mkpdf" "$dir/large.pdf" "${pages[@]}"
header "$dir/large.pdf" application/pdf > "$dir/large-header"
start_sim --source-time $((processing / 2)) --case-time $((processing / 2)) \
  --log "$dir/sim.log"
use_sim 'ProcessingLimit 7d'
start_daemon
measure_others few sleep "$(size 60 6)"
daemon_cpu > "$dir/before"
daemon_wrote_mib > "$dir/wrote-before"
measure_others large print_large
daemon_wrote_mib | paste "$dir/wrote-before" - > "$dir/wrote"
awk '{ print $3 - $1 }' "$dir/wrote" > "$dir/large-wrote"
awk '{ print $4 - $2 }' "$dir/wrote" > "$dir/large-disk"
difference "$(cat "$dir/before")" "$(daemon_cpu)" |
  awk -v n="$cases" '{ print $1 / n }' > "$dir/large-cpu"
stop_daemon
stop_sim
echo "a source of $cases cases"
row '  written by docextractd' MiB "$dir/large-wrote" - '' '<= 200'
row '    to the disk' MiB "$dir/large-disk" - '' '<= 200'
row '  CPU of a case' ms "$dir/large-cpu" - '' ''
row '  others: results are late' s "$dir/large-late" "$dir/few-late" \
  'no such source' '<= +1'

# ---- hours, with a clock that is set ahead ----

"$helpers/hospital" "$(size full short)" > "$dir/lines"
while IFS=$'\t' read -r what unit ours theirs alternative aim; do
  if [ -z "$unit" ]; then
    echo "$what"
    continue
  fi
  tr ' ' '\n' <<< "$ours" > "$dir/ours"
  tr ' ' '\n' <<< "$theirs" > "$dir/theirs"
  [ "$theirs" = - ] || theirs=$dir/theirs
  [ "$alternative" != - ] || alternative=
  row "  $what" "$unit" "$dir/ours" "$theirs" "$alternative" "$aim"
done < "$dir/lines"
