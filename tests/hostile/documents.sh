#!/usr/bin/env bash
#
# documents.sh - PDFs that are small and valid, but made to exhaust whoever
# reads them, and a computer with too little memory: such a document is refused
# at a bounded cost, and never turned into a smaller one. The process that
# reads it is in its sandbox; what the sandbox withstands is tested by
# tests/unit/test_isolate.c, and what becomes of a job by tests/hostile/jobs.sh.
. "$(dirname "$0")/../filter/lib.sh"

mkhostile=$top/tests/hostile/mkhostile
measure=${DX_BUILD:-$top}/tests/bench/measure
pdftopdf=$(cups-config --serverbin)/filter/pdftopdf
configure ''

# --- documents that ask too much ---------------------------------------------

# Runs a filter; $dir/costs gets a line if it takes more than 512 MiB, or more
# than most_ms of processor time: there are two filters. Memory is not limited
# with AddressSanitizer.
most_ms=30000
cheaply() # FILTER [FILE]
{
  "$measure" "$dir/cost" "$1" 7 user title 1 '' "${@:2}" 2>> "$dir/err"
  awk -v name="${1##*/}" -v ms="$most_ms" '$2 > ms || $3 > 524288 {
    print name ": " $2 " ms, " $3 " KiB"
  }' "$dir/cost" >> "$dir/costs"
}

refused() # TEXT FILE: by checkdocextract, before pdftopdf sees it
{
  : > "$dir/costs"
  cheaply "$check" "$2" |
    CONTENT_TYPE=application/pdf \
      FINAL_CONTENT_TYPE=application/vnd.docextract-bundle \
      "$pdftopdf" 7 user title 1 '' 2> "$dir/printed.err" > "$dir/printed"
  cheaply "$filter" < "$dir/printed" > "$dir/out"
  is "$1: refused" "$(kind_of)" 'refused too-complex'
  is "$1: it cost little" "$(cat "$dir/costs")" ''
}

"$mkhostile" bomb "$dir/bomb.pdf" 4600
"$mkhostile" objects "$dir/objects.pdf" 60000 500
"$mkhostile" shared "$dir/shared.pdf" 3000 200
"$mkhostile" shared "$dir/many.pdf" 3000 20
"$mkhostile" same "$dir/same.pdf" 3000 8000
refused '4.6 GB in 11 kB' "$dir/bomb.pdf"
refused '30 million objects in 1.2 MB' "$dir/objects.pdf"
refused '3,000 pages with the same 200 MB' "$dir/shared.pdf"
refused '3,000 pages with the same 20 MB, which fit in memory' "$dir/many.pdf"
most_ms=10000 refused 'a page listed 3,000 times, with 8,000 resources' \
  "$dir/same.pdf"
is 'the reason is one that a person understands' "$(field Reason)" \
  'too-complex it%20is%20too%20complex%20to%20check'
: > "$dir/costs"
cheaply "$filter" "$dir/objects.pdf" > "$dir/out"
is 'todocextract alone refuses many objects, too' \
  "$(kind_of)$(cat "$dir/costs")" 'refused too-complex'

# --- too little memory -------------------------------------------------------

# libqpdf reads what it has no memory for as null: lists of numbers would be
# lost, and nothing would show it. With very little the filter does not even
# start; then cupsd stops the job.
"$mkhostile" objects "$dir/lists.pdf" 300 500
run < "$dir/lists.pdf"
is 'a document that takes 50 MB is sent' "$(kind_of)" 'document 1'
whole=$(field SHA-256)

with_memory() # KIB
{
  (
    ulimit -v "$1"
    exec "$filter" 7 user title 1 '' < "$dir/lists.pdf"
  ) > "$dir/out" 2> "$dir/err" || { echo 'no output'; return; }
  if [ "$(field SHA-256)" = "$whole" ]; then echo whole; else kind_of; fi
} 2> "$dir/err" # of a shell whose program crashes

for ((kib = 20000; kib <= 160000; kib += 5000)); do
  with_memory $kib
done > "$dir/kinds"
is 'whatever memory there is: all of it or none, for the right reason' \
  "$(sort -u "$dir/kinds")" $'no output\nrefused trouble\nwhole'

# --- the sandbox --------------------------------------------------------------

child_of() # PID
{
  awk -v parent="$1" '{ sub(/.*\) /, ""); if ($2 == parent) print FILENAME }' \
    /proc/[0-9]*/stat 2> /dev/null | tr -dc '0-9\n' | head -n 1
}

# Sets `state` when the child is in its sandbox.
is_sandboxed()
{
  local child
  child=$(child_of "$pid")
  [ -n "$child" ] || return 1
  state=$(awk '/^NoNewPrivs|^Seccomp:/ { printf "%s %s ", $1, $2 }' \
    "/proc/$child/status" 2> /dev/null
  awk '/^Max core/ { print $1, $2, $5, $6 }' "/proc/$child/limits" 2> /dev/null)
  [[ $state == *'Seccomp: 2'* ]]
}

"$mkpdf" "$dir/separator.pdf" separator
configure "SeparatorPage $dir/separator.pdf"
for program in "$check" "$filter"; do
  state=
  "$program" 7 user title 1 CaseSeparators=Every1 "$dir/many.pdf" \
    > /dev/null 2>&1 &
  pid=$!
  until_true is_sandboxed
  is "${program##*/}: the child is in its sandbox" "$state" \
    'NoNewPrivs: 1 Seccomp: 2 Max core 0 0'
  child=$(child_of "$pid")
  kill -KILL "$pid"
  wait "$pid" 2> /dev/null
  is_gone() { [ ! -e "/proc/$child/status" ]; }
  until_true is_gone
  check "${program##*/}: it ends with its parent" is_gone
done
finish
