#!/usr/bin/env bash
#
# thousand.sh - a thousand jobs outstanding in docextractd: from the first to the
# last result, the peak of memory, and how many connections it opens (strace).
# The backend stores the jobs, one after another and faster than they are sent.
# The alternative is what the rate limit allows: a job takes three calls.
. "$(dirname "$0")/lib.sh"

jobs=$(size 1000 12)
rate=9

"$top/tests/it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
header "$dir/a.pdf" application/pdf > "$dir/header"
cat "$dir/header" "$dir/a.pdf" > "$dir/bundle"
start_sim --source-time 1000 --case-time 1000
configure "$dir/spool"
printf 'BaseURL %s\nAPIRate %s\nCompletion accepted\n</Service>\n' "$api" \
  "$rate" >> "$config"

all_extracted()
{
  [ "$(find "$results" -name '*.job.json' | wc -l)" -ge "$jobs" ]
}
connections_to() # KIND, as the simulator names it
{
  local port
  port=$(sed -n "s/^$1 .*:\([0-9]*\)\$/\1/p" "$dir/ready")
  grep -c "htons($port)" "$dir/connects" || true
}

traced=()
[ -z "$(command -v strace)" ] ||
  traced=(strace -D -f --seccomp-bpf -e trace=connect -o "$dir/connects")
start_daemon "${traced[@]}"
began=$(date +%s.%N)
for ((n = 1; n <= jobs; n++)); do
  mapfile -t a < <(arguments "$n")
  "$build/tests/helper/sealed" "$backend" "${a[@]}" < "$dir/bundle" \
    2> "$dir/backend.err"
done
until all_extracted; do sleep 1; done
echo $((3 * jobs)) | awk -v rate="$rate" '{ print $1 / rate }' > "$dir/possible"
result_ms "$results" | awk '{ print $1 / 1000 }' > "$dir/ours"
daemon_peak_mib > "$dir/peak"

echo "$jobs jobs outstanding"
row '  all results' s "$dir/ours" "$dir/possible" "what $rate calls/s allow" \
  '<= 1.02'
row '  peak memory of docextractd' MiB "$dir/peak" - '' '< 24'
for kind in ${traced[@]+api storage}; do
  connections_to "$kind" > "$dir/$kind"
  row "  connections, $kind" '' "$dir/$kind" - '' '1'
done
