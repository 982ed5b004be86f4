#!/usr/bin/env bash
#
# unit.sh - what `make check` runs in $DX_BUILD (default: the top of the tree),
# with a line for each test; for platforms.sh, and for test.sh --long, with
# sanitizers. distcheck.sh runs the same as it is released.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
. tests/helper/cmocka.sh
cd "${DX_BUILD:-.}" || exit 1

rm -f tests/*/*.trs
output=$(make -j"$(nproc)" check 2>&1)
status=$?
all_programs .
if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
  not_ok 'make check succeeds' "$(tail -n 40 <<< "$output")"
fi
count_is_good
