#!/usr/bin/env bash
#
# first_byte.sh - from the end of stdin to the first byte of the POST: what the
# backend adds before the service can begin. Most of it is fsync, which keeps
# the promise not to lose a document; it is shown apart (strace, in runs of
# their own). The alternative: curl, from its start to the first byte of the
# same POST.
. "$(dirname "$0")/lib.sh"

runs=20
"$top/tests/it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
bundle "$dir/a.pdf" application/pdf > "$dir/bundle"
printf '{"files":[{"content_type":"application/pdf","file_name":"bench"}]}' \
  > "$dir/body"

time_backend() # LABEL PREFIX... 
{
  local label=$1 a
  shift
  mapfile -t a < <(arguments "@RUN@$label")
  rm -rf "$dir/spool"
  mkdir -m 700 "$dir/spool"
  configure
  "$helpers/first-byte" "$dir/docextract.conf" "$dir/bundle" "$runs" "$label" \
    "$@" "$backend" "${a[@]}" 2> "$dir/backend.err"
}

{
  time_backend 1
  "$helpers/first-byte" - - "$runs" 2 curl -sS -X POST \
    -H 'Content-Type: application/json' -H 'Authorization: Bearer x' \
    --data-binary "@$dir/body" @URL@/v1/source 2> /dev/null
  if [ -n "$(command -v strace)" ]; then
    time_backend 3 strace --seccomp-bpf -D -f -A -ttt -T \
      -e trace=fsync,fdatasync -o "$dir/trace"
  fi
} > "$dir/times"

ms() # LABEL: the median
{
  awk -v label="$1" '$1 == label { print ($3 - $2) * 1000 }' "$dir/times" |
    median
}

# The time in fsync between EOF and first byte, a number a traced run.
fsync_ms()
{
  awk 'NR == FNR { if ($1 == 3) { n++; from[n] = $2; to[n] = $3 } next }
    match($0, /<[0-9.]+>$/) {
      t = substr($0, RSTART + 1, RLENGTH - 2)
      for (i = 1; i <= n; i++)
        if ($2 >= from[i] && $2 < to[i]) { sum[i] += t; count[i]++ }
    }
    END { for (i = 1; i <= n; i++) print sum[i] * 1000, count[i] }' \
    "$dir/times" "$dir/trace"
}

ours=$(ms 1)
fsync=null
count=null
rest=null
if [ -e "$dir/trace" ]; then
  fsync=$(fsync_ms | median)
  count=$(fsync_ms | cut -d ' ' -f 2 | median)
  rest=$(awk -v a="$ours" -v b="$fsync" 'BEGIN { printf "%.3f", a - b }')
fi
jq -nc --argjson runs "$runs" --argjson ours "$ours" --argjson fsync "$fsync" \
  --argjson count "$count" --argjson rest "$rest" --argjson curl "$(ms 2)" '{
    bench: "first_byte", runs: $runs, backend_ms: $ours, fsync_ms: $fsync,
    fsync_calls: $count, backend_without_fsync_ms: $rest, curl_start_ms: $curl
  }'
