#!/usr/bin/env bash
#
# memory.sh - the peak memory (VmHWM) of the backend, for a document of 1 MiB
# and one of 512 MiB. The alternative: a program that does one GET with
# libcurl and nothing else. Aim: at most 4 MiB more, and flat.
. "$(dirname "$0")/lib.sh"

start_sim --source-time 0 --case-time 0
configure "$api"
peak() { cut -d ' ' -f 3; }

picture "$dir/small.png" 1
small=$(run_backend 1 "$dir/small.png" image/png | peak)
rm "$dir/small.png"
picture "$dir/large.png" 512
large=$(run_backend 2 "$dir/large.png" image/png | peak)
"$helpers/measure" "$dir/cost" "$helpers/get" "$api/v1/source/x" > /dev/null
get=$(peak < "$dir/cost")
jq -nc --argjson small "$small" --argjson large "$large" --argjson get "$get" '{
    bench: "memory", backend_1_mib_kib: $small, backend_512_mib_kib: $large,
    libcurl_get_kib: $get, more_than_get_kib: ($large - $get), aim_kib: 4096,
    growth_kib: ($large - $small)
  }'
