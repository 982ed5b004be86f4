#!/usr/bin/env bash
#
# cases.sh - a source with very many cases, from a compromised service: all of
# them are fetched and delivered once, in limited memory. CASES=10000 is the
# maximum.
#
# Time runs ten times faster because of the rate limit.
. "$(dirname "$0")/../cli/frame.sh"
. "$top/tests/hostile/lib.sh"

n=${CASES:-1500}

new_spool
start_raw "source:1=cases:$n"
configure 'APIRate 9' 'ProcessingLimit 7d'
DRIVER_UNDER=(prlimit --data=$((64 << 20))
  env LD_PRELOAD="$build/tests/crash/preload.so" DX_WALK_SPEED=10)
start_docextractd
limited 3000 "$dir/both" "$program" -c "$conf" submit "$dir/d.png"
is 'all cases of a large source are extracted' "$? $(results_of_sources)" \
  "0 $n"
is 'and listed in the manifest' \
  "$(jq '.cases | length' "$results"/*.job.json)" "$n"
is 'and fetched once' \
  "$(grep -a '/extract ' "$dir/log" | sort | uniq -c | awk '$1 > 1')" ''
dx jobs --json
is 'the job is finished' "$rc $(jq '.[0].cases' <<< "$out")" "0 $n"
end
