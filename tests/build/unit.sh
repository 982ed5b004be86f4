#!/usr/bin/env bash
#
# unit.sh - what `make check` runs in $DX_BUILD (default: the top of the tree),
# with a line for each test; for platforms.sh, for test.sh, and for test.sh --long,
# with sanitizers: then without the models of tests/model, which would take
# minutes. In --long, distcheck.sh runs all as they are released.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
. tests/helper/cmocka.sh
cd "${DX_BUILD:-.}" || exit 1

rm -f tests/*/*.trs
tests=
if grep -q -e --enable-sanitizers config.status; then
  tests=TESTS=$(find tests/unit -name 'test_*' ! -name '*.*' -type f | xargs)
fi
output=$(make -j"$(nproc)" check ${tests:+"$tests"} 2>&1)
status=$?
all_programs .
if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
  not_ok 'make check succeeds' "$(tail -n 40 <<< "$output")"
fi
count_is_good
