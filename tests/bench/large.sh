#!/usr/bin/env bash
#
# large.sh - a document of 512 MiB from stdin to its result, and the peak of
# memory, of the backend and of docextractd. The alternative: the script with curl and jq, which keeps nothing,
# and then what keeping costs, one copy of the document with one fsync. Both
# wait 2 s before they ask for the result; the rate limit then keeps ours from
# asking twice within 125 ms. Aim: no longer than the two together.
#
# What each byte goes through. Filter, for a picture: read, written to a file
# without a name, read for its form, read for its SHA-256, given to the pipe by
# the kernel. Backend: read; hashed; written; the disk
# begins at every 8 MiB, so that the fsync before the commit is short. docextractd:
# read and sent. Two SHA-256, because what the filter has seen must be what is stored.
. "$(dirname "$0")/lib.sh"

runs=$(size 5 1)
mib=$(size 512 16)
type=image/png
picture "$dir/small.png" 1
header "$dir/small.png" "$type" > "$dir/small"
picture "$dir/large.png" "$mib"
header "$dir/large.png" "$type" > "$dir/large"
export PPD=$build/ppd/docextract.ppd
start_sim --source-time 0 --case-time 0
configure "$dir/spool" "$api"
start_daemon

# Filter and backend, as cupsd connects them.
print()
{
  local a
  mapfile -t a < <(arguments "$1")
  "$build/todocextract" "${a[@]}" "$dir/large.png" 2> "$dir/filter.err" |
    "$build/tests/helper/sealed" "$backend" "${a[@]}" 2> "$dir/backend.err"
}
export -f print arguments
export build backend dir

for n in $(seq "$runs"); do
  before=$(daemon_cpu)
  run_backend "$n" "$dir/large" "$dir/large.png"
  result_ms "$results" >> "$dir/ours"
  difference "$before" "$(daemon_cpu)" >> "$dir/daemon-cpu"
  cpu >> "$dir/backend-cpu"
  peak_mib >> "$dir/large-peak"
  forget_uploads

  run_script "$dir/large.png" "$type"
  result_ms "$dir/script-results" >> "$dir/script"
  cpu >> "$dir/script-cpu"
  forget_uploads
  measured dd if="$dir/large.png" of="$dir/copy" bs=1M conv=fsync status=none
  wall >> "$dir/copy-ms"
  cpu >> "$dir/copy-cpu"
  rm "$dir/copy"

  measured bash -c "print p$n"
  result_ms "$results" >> "$dir/printed"
  forget_uploads

  run_backend "s$n" "$dir/small" "$dir/small.png"
  peak_mib >> "$dir/small-peak"
  measured "$helpers/get" "$api/v1/source/x" > /dev/null
  peak_mib >> "$dir/get-peak"
done
sum() { paste "$1" "$2" | awk '{ print $1 + $2 }'; }
daemon_peak_mib > "$dir/daemon-peak"
sum "$dir/backend-cpu" "$dir/daemon-cpu" > "$dir/ours-cpu"
sum "$dir/script" "$dir/copy-ms" > "$dir/theirs"
sum "$dir/script-cpu" "$dir/copy-cpu" > "$dir/theirs-cpu"

row "$mib MiB, stdin to result" ms "$dir/ours" "$dir/theirs" \
  'script, then fsynced copy' '<= 1'
row '  of theirs, the script' ms "$dir/script" - '' ''
row '  of theirs, the copy' ms "$dir/copy-ms" - '' ''
row '  with the filter before it' ms "$dir/printed" "$dir/theirs" \
  'script, then fsynced copy' ''
row '  processor time' ms "$dir/ours-cpu" "$dir/theirs-cpu" \
  'script, then fsynced copy' ''
row '  of ours, docextractd' ms "$dir/daemon-cpu" - '' ''
row 'peak memory, 1 MiB' MiB "$dir/small-peak" "$dir/get-peak" \
  'one GET with libcurl' ''
row "peak memory, $mib MiB" MiB "$dir/large-peak" "$dir/get-peak" \
  'one GET with libcurl' '+4 MiB'
row 'peak memory, docextractd' MiB "$dir/daemon-peak" "$dir/get-peak" \
  'one GET with libcurl' ''
