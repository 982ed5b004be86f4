#!/usr/bin/env bash
#
# throughput.sh - the PUT of the backend (by its own log, without receiving and
# storing) and `curl -T` of the same file to the same storage, in turns. Aim:
# 0.97 of curl's speed.
. "$(dirname "$0")/lib.sh"

runs=5
mib=256
picture "$dir/a.png" "$mib"
start_sim --source-time 0 --case-time 0
configure "$api"

curl_put_ms()
{
  local url
  url=$(curl -sS -H "Authorization: Bearer $(cat "$dir/token")" \
    -H 'Content-Type: application/json' "$api/v1/source" \
    -d '{"files":[{"content_type":"image/png","file_name":"bench"}]}' |
    jq -r '.results.upload_urls[0].url')
  curl -sS -f -o /dev/null -H 'Content-Type: image/png' -H 'Expect:' \
    -w '%{time_total}\n' -T "$dir/a.png" "$url" | awk '{ print $1 * 1000 }'
}

for n in $(seq "$runs"); do
  run_backend "$n" "$dir/a.png" image/png > /dev/null
  sed -n 's/.*PUT .* -> 200, \([0-9]*\) ms, sent.*/\1/p' "$dir/backend.err" \
    >> "$dir/ours"
  find "$dir/data" -type f -delete
  curl_put_ms >> "$dir/curls"
  find "$dir/data" -type f -delete
done
ours=$(median < "$dir/ours")
curls=$(median < "$dir/curls")
jq -nc --argjson runs "$runs" --argjson mib "$mib" --argjson ours "$ours" \
  --argjson curls "$curls" '{
    bench: "throughput", runs: $runs, mib: $mib, backend_put_ms: $ours,
    curl_put_ms: $curls, backend_mib_s: ($mib * 1000 / $ours | round),
    curl_mib_s: ($mib * 1000 / $curls | round),
    ratio: ($curls / $ours * 1000 | round / 1000), aim: 0.97
  }'
