#!/usr/bin/env bash
#
# documents.sh - small documents that are designed to exhaust the computer, and
# a computer with too little memory: each document is sent or refused at a
# bounded cost, and none is truncated. The process that reads it is in its
# sandbox. The sandbox is tested by tests/unit/test_isolate.c, and the outcome
# of a job by tests/hostile/jobs.sh.
#
#   documents.sh [NAME...]     only these, of mkhostile's
. "$(dirname "$0")/../filter/lib.sh"

mkhostile=$top/tests/hostile/mkhostile
measure=${DX_BUILD:-$top}/tests/bench/measure
configure ''

# --- documents that ask too much ---------------------------------------------

most_ms=60000 # of processor time, and for each process:
most_kib=524288
grep -aq __asan_init "$filter" && most_kib=99999999 # which has no limit

# What becomes of the document, and what it cost if that is too much.
costs() # FILE
{
  "$measure" "$dir/cost" "$program" 7 user title 1 '' "$1" \
    > "$dir/out" 2> "$dir/err"
  kind_of
  awk -v ms="$ms" -v kib="$most_kib" '
    { print "# " $2 " ms, " $3 " KiB" > "/dev/stderr" }
    $2 > ms || $3 > kib { print $2 " ms, " $3 " KiB" }' "$dir/cost"
}

# All of at most 1 MiB, but "objects", which has another 200 kB, and "scans". One
# that is sent costs time, but is what it says. Two use all of their processor
# time, and have a fifth of it.
while read -r name numbers expected; do
  [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
  program=$filter
  ms=$most_ms
  case $name in
  tiff-of-many-pages | same-page-of-pieces)
    program=${DX_BUILD:-$top}/tests/hostile/todocextract-quick
    ms=$((most_ms / 5))
    ;;
  esac
  # shellcheck disable=SC2086
  "$mkhostile" "$name" "$dir/$name" ${numbers//[-,]/ }
  is "$name" "$(costs "$dir/$name")" "$expected"
  rm "$dir/$name"
done << 'END'
bomb             - refused too-complex
flate-content    - refused too-complex
flate-font       - document 1
flate-image      - document 1
scans            - document 14
lzw-content      - refused too-complex
run-length       - document 1
digits           - document 1
digits-of-flate  - refused too-complex
flate-of-run-length - refused too-complex
lzw-of-flate     - refused too-complex
flate-of-lzw     - refused too-complex
shared           3000,200 refused too-complex
shared           3000,20 refused too-complex
shared           1,300 document 1
objects          - refused too-complex
chain            - document 1
same             300,8000 document 300
same-page        - document 100000
same-page-of-pieces - refused too-complex
deep-tree        - refused damaged
annotations      - refused too-complex
annotations-on-many-pages - refused too-complex
values           - refused too-complex
inline-images    - refused damaged
jpeg-large       - refused damaged
jpeg-scans       - refused too-complex
jpeg-scans-by-itself - refused too-complex
jpeg-few-scans   - document 1
jpeg-coefficients - refused too-complex
jbig2            - document 1
jpx              - document 1
ccitt-rows       - document 1
ccitt-columns    - refused too-complex
png              - document 1
png-wide         - refused too-complex
png-of-many-chunks - document 1
gif              - document 1
gif-large        - refused too-complex
gif-of-many-images - refused images
pnm              - refused damaged
pnm-of-bits      - document 1
tiff-flate       - document 1
tiff-of-many-pages - refused too-complex
tiff-lzw         - document 1
tiff-tile        - refused too-complex
form-feeds       - refused too-complex
combining        - refused too-complex
overprinted      - refused printer-codes
lines            - document 7576
one-line         - document 183
characters       - document 119
END
[ $# = 0 ] || { finish; exit; }

# --- too little memory -------------------------------------------------------

# libqpdf reads what it has no memory for as null: lists of numbers would be
# lost, and nothing would show it. With very little the filter does not even
# start; then cupsd stops the job.
"$mkhostile" objects "$dir/lists.pdf" 300 500
run < "$dir/lists.pdf"
is 'a document that takes 50 MB is sent' "$(kind_of)" 'document 1'
whole=$(field sha256)

with_memory() # KIB
{
  (
    ulimit -v "$1"
    exec "$filter" 7 user title 1 '' < "$dir/lists.pdf"
  ) > "$dir/out" 2> "$dir/err" || { echo 'no output'; return; }
  if [ "$(field sha256)" = "$whole" ]; then echo whole; else kind_of; fi
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
"$mkhostile" same-page-of-pieces "$dir/pieces.pdf"
state=
"$filter" 7 user title 1 CaseSeparators=Every1 "$dir/pieces.pdf" \
  > /dev/null 2>&1 &
pid=$!
until_true is_sandboxed
is 'the child is in its sandbox' "$state" 'NoNewPrivs: 1 Seccomp: 2 Max core 0 0'
child=$(child_of "$pid")
kill -KILL "$pid"
wait "$pid" 2> /dev/null
is_gone() { [ ! -e "/proc/$child/status" ]; }
until_true is_gone
check 'it ends with its parent' is_gone
finish
