#!/usr/bin/env bash
#
# bench.sh - `make bench` runs, in a short form whose figures mean nothing: each
# benchmark measures something, and all of it is in one table.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
. tests/helper/packages.sh
build=$(cd "${DX_BUILD:-.}" && pwd)
table=$(mktemp)
trap 'rm -f "$table"' EXIT

check 'strace is installed' install_missing strace
DX_BENCH_SHORT=1 make -s -C "$build" bench > "$table" 2>&1
is 'make bench runs to its end' "$?" 0
sed 's/^/# /' "$table"
hasnt 'every benchmark measures' "$(cat "$table")" 'could not be measured'
is 'it prints one table' "$(grep -c 'ours: min median max' "$table")" 1

# A row has minimum, median, and maximum of ours.
number='[0-9.]+'
for what in 'PUT of 16 MiB' 'PUT of 2 MiB, 50 ms away' '16 MiB, stdin to result' \
  'processor time of a job' 'end of stdin to first byte' \
  'of a second job' 'lp to the first call' \
  'docextractd: CPU of a look' 'fsyncs of a document' \
  '2 prints, auto: queue free' 'after each upload' 'connections, api' \
  'connections, storage' 'calls per second' 'of it for them' \
  'written by docextractd' 'a sweep blocks' 'pages of text: 10'; do
  has "it has a row for: $what" "$(cat "$table")" \
    "^ *$what +([A-Za-z/]+ +)?$number +$number +$number "
done
count_is_good
