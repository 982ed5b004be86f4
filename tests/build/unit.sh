#!/usr/bin/env bash
#
# unit.sh - what `make check` runs in $DX_BUILD (default: the top of the tree),
# with a line for each test; for platforms.sh and test.sh, in --long also with
# sanitizers: then without the models of tests/model, which would take minutes.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
. tests/helper/cmocka.sh
cd "${DX_BUILD:-.}" || exit 1

rm -f tests/*/*.trs
what=(check)
if grep -q -e --enable-sanitizers config.status; then
  tests=$(find tests/unit -name 'test_*' ! -name '*.*' -type f | xargs)
  what=(check-TESTS TESTS="$tests" check_PROGRAMS="$tests" check_LIBRARIES=)
fi
output=$(make -j"$(nproc)" "${what[@]}" 2>&1)
status=$?
all_programs .
if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
  not_ok 'make check succeeds' "$(tail -n 40 <<< "$output")"
fi
count_is_good
