#!/usr/bin/env bash
#
# disk.sh - whether a slow disk costs calls: 100 jobs wait for a docextractd
# that does not run yet, and each of its fsyncs takes 15 ms. The alternative is
# the same with the disk as it is. Counted are the calls that the service gets,
# from the tenth to the last but ten: before them all jobs are picked up at
# once, and after them there may be nothing to call for.
. "$(dirname "$0")/lib.sh"

jobs=$(size 100 24)
rate=9
preload=$build/tests/crash/preload.so

"$top/tests/it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
header "$dir/a.pdf" application/pdf > "$dir/header"
start_sim --source-time 2000 --case-time 1000 --log "$dir/sim.log"

# They wait for docextractd, or leave what they stored behind.
received() { find "$dir/spool/received" -mindepth 1 -maxdepth 1 | wc -l; }
store_jobs()
{
  local n a
  for ((n = 1; n <= jobs; n++)); do
    mapfile -t a < <(arguments "$1-$n")
    cat "$dir/header" "$dir/a.pdf" |
      "$build/tests/helper/sealed" "$backend" "${a[@]}" 2> "$dir/backend.err" &
  done
  until [ "$(received)" = "$jobs" ]; do sleep 0.2; done
}

all_extracted() { [ "$(find "$results" -name '*.job.json' 2> /dev/null | wc -l)" -ge "$jobs" ]; }

calls() { jq -r 'select(.call != "put") | .t' "$dir/sim.log" | sort -n; }

measure() # NAME MS
{
  local began
  configure "$dir/spool"
  printf 'BaseURL %s\nAPIRate %s\nCompletion accepted\n</Service>\n' "$api" \
    "$rate" >> "$config"
  store_jobs "$1"
  : > "$dir/sim.log"
  began=$(cut -d ' ' -f 1 /proc/uptime)
  start_daemon env LD_PRELOAD="$preload" DX_WALK='count fsync' \
    DX_WALK_LOG="$dir/$1-count" DX_WALK_FSYNC="$2"
  until all_extracted; do sleep 1; done
  stop_daemon
  calls | awk '{ t[NR] = $1 } END { print (NR - 20) / (t[NR - 10] - t[10]) }' \
    >> "$dir/$1-rate"
  calls | awk -v began="$began" 'NR == 10 { print $1 - began }' >> "$dir/$1-tenth"
  wc -l < "$dir/$1-count" | awk -v n="$jobs" '{ print $1 / n }' \
    >> "$dir/$1-fsyncs"
  rm "$dir/$1-count"
}

for n in $(seq "$(size 3 1)"); do
  measure slow 15
  measure fast 0
done
as_is='the disk as it is'
echo "$jobs jobs, APIRate $rate, 15 ms for each fsync"
row '  calls per second' '' "$dir/slow-rate" "$dir/fast-rate" "$as_is" '>= 0.97'
row '  start to the tenth call' s "$dir/slow-tenth" "$dir/fast-tenth" "$as_is" ''
row '  fsyncs of a job' '' "$dir/slow-fsyncs" "$dir/fast-fsyncs" "$as_is" ''
