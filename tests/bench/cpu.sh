#!/usr/bin/env bash
#
# cpu.sh - processor time (user and system) a print job costs in the backend,
# and what a shell script with curl and jq costs that does the same. Aim: a
# tenth.
. "$(dirname "$0")/lib.sh"

runs=5
"$top/tests/it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
start_sim
configure "$api"
mkdir "$dir/script-results"
cpu() { cut -d ' ' -f 2; }

for n in $(seq "$runs"); do
  run_backend "$n" "$dir/a.pdf" application/pdf | cpu >> "$dir/ours"
  "$helpers/measure" "$dir/cost" bash "$bench/curl-jq.sh" "$api" \
    "$dir/token" "$dir/a.pdf" application/pdf "$dir/script-results"
  cpu < "$dir/cost" >> "$dir/scripts"
done
ours=$(median < "$dir/ours")
scripts=$(median < "$dir/scripts")
jq -nc --argjson runs "$runs" --argjson ours "$ours" \
  --argjson scripts "$scripts" '{
    bench: "cpu", runs: $runs, backend_cpu_ms: $ours, script_cpu_ms: $scripts,
    ratio: ($ours / $scripts * 1000 | round / 1000), aim: 0.1
  }'
