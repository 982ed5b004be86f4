#!/usr/bin/env bash
#
# run.sh - all benchmarks, one line of JSON each. Needs curl, jq, gs, qpdf,
# about 2 GiB of free space in TMPDIR; strace for the share of fsync. They measure and
# never judge: nothing here is a test. Finds the programs in $DX_BUILD
# (default: the top of the tree); `make bench` builds and runs.
set -u

here=$(cd "$(dirname "$0")" && pwd)
status=0
for name in first_byte memory throughput cpu lag filter; do
  "$here/$name.sh" || {
    echo "bench: $name could not be measured" >&2
    status=1
  }
done
exit "$status"
