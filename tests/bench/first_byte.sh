#!/usr/bin/env bash
#
# first_byte.sh - from the end of stdin to the first byte of the POST: what the
# backend and docextractd add before the service can begin. Most of it is fsync,
# which keeps the promise not to lose a document; a third run traces it (strace).
# Then the same of a second job, for which the connection is open. The
# alternative: curl, from its start to the first byte of the same POST.
. "$(dirname "$0")/lib.sh"

runs=$(size 15 2)
"$top/tests/it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
{
  header "$dir/a.pdf" application/pdf
  cat "$dir/a.pdf"
} > "$dir/bundle"
printf '{"files":[{"content_type":"application/pdf","file_name":"bench"}]}' \
  > "$dir/body"

time_backend() # LABEL JOBS [PREFIX...]: of both programs, before "-o FILE"
{
  local label=$1 jobs=$2 a
  shift 2
  export DX_DOCEXTRACTD="${*:+$* -o $dir/trace-daemon} $build/daemon/docextractd"
  mapfile -t a < <(arguments "@RUN@")
  configure "$dir/spool"
  sync
  "$helpers/first-byte" "$config" "$dir/bundle" "$jobs" "$label" \
    "$build/tests/helper/sealed" "$@" ${1+-o "$dir/trace"} "$backend" "${a[@]}" \
    2> "$dir/backend.err" >> "$dir/times"
}

time_curl()
{
  unset DX_DOCEXTRACTD
  sync
  "$helpers/first-byte" - - 1 curl curl -sS -X POST \
    -H 'Content-Type: application/json' -H 'Authorization: Bearer x' \
    --data-binary "@$dir/body" @URL@/v1/source 2> /dev/null >> "$dir/times"
}

# The time in fsync between end of stdin and first byte.
fsync_ms()
{
  tail -1 "$dir/times" | cat - "$dir/trace" "$dir/trace-daemon" | awk '
    NR == 1 { from = $2; to = $3; next }
    match($0, /<[0-9.]+>$/) && $2 >= from && $2 < to {
      sum += substr($0, RSTART + 1, RLENGTH - 2)
    }
    END { print sum * 1000 }'
}

for _ in $(seq "$runs"); do
  time_backend ours 1
  time_curl
  time_backend warm 2
  if [ -n "$(command -v strace)" ]; then
    time_backend traced 1 strace --seccomp-bpf -D -f -ttt -T \
      -e trace=fsync,fdatasync
    fsync_ms >> "$dir/fsync"
  fi
done
ms() { awk -v l="$1" '$1 == l { print ($3 - $2) * 1000 }' "$dir/times"; }
ms ours > "$dir/ours"
ms warm > "$dir/warm"
ms curl > "$dir/curl"

row 'end of stdin to first byte' ms "$dir/ours" "$dir/curl" \
  'start of curl to first byte' '<= 0.5'
[ ! -e "$dir/fsync" ] || row '  of it in fsync' ms "$dir/fsync" - '' ''
row '  of a second job' ms "$dir/warm" "$dir/curl" \
  'start of curl to first byte' '<= 0.5'
