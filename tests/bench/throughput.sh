#!/usr/bin/env bash
#
# throughput.sh - the PUT of docextractd, by its own log, and `curl -T` of the
# same file to the same storage. Aim: 0.97 of curl's throughput.
#
# The storage is in memory. On the disk that the backend has just written to,
# the disk's queue would be measured: 0.6 and 1.2 were both seen.
. "$(dirname "$0")/lib.sh"

runs=$(size 9 2)
mib=$(size 256 16)
picture "$dir/a.png" "$mib"
header "$dir/a.png" image/png > "$dir/header"
start_sim --source-time 0 --case-time 0
configure "$dir/spool" "$api"
verbose=--verbose # the log has the time of each upload
start_daemon

upload_url()
{
  curl -sS -H "Authorization: Bearer $(cat "$dir/token")" \
    -H 'Content-Type: application/json' "$api/v1/source" \
    -d '{"files":[{"content_type":"image/png","file_name":"bench"}]}' |
    jq -r '.results.upload_urls[0].url'
}

for n in $(seq "$runs"); do
  run_backend "$n" "$dir/header" "$dir/a.png"
  sed -n 's/.*PUT .* -> 200, \([0-9]*\) ms, sent.*/\1/p' "$dir/daemon.log" |
    tail -1 | awk -v mib="$mib" '{ print mib * 1000 / $1 }' >> "$dir/ours"
  forget_uploads
  url=$(upload_url)
  sync
  curl -sS -f -o /dev/null -H 'Content-Type: image/png' -H 'Expect:' \
    -w '%{time_total}\n' -T "$dir/a.png" "$url" |
    awk -v mib="$mib" '{ print mib / $1 }' >> "$dir/theirs"
  forget_uploads
done
row "PUT of $mib MiB" MiB/s "$dir/ours" "$dir/theirs" 'curl -T' '>= 0.97'
