#!/usr/bin/env bash
#
# distcheck.sh - the tarball of `make dist` can be built, checked, installed,
# and uninstalled; and what it checks, the unit tests, passes with sanitizers,
# with a line for each test.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
. tests/helper/cmocka.sh

dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-distcheck.XXXXXX")
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
mkdir "$dir/logs"
top=$PWD

# For reports of sanitizers -g1 is enough, and with -O1 it compiles in half the
# time. What it is packed with does not matter: what is quick.
export DISTCHECK_CONFIGURE_FLAGS="--enable-sanitizers CFLAGS='-g1 -O1' \
CXXFLAGS='-g1 -O1'"
export XZ_OPT=-1 DX_KEEP_LOGS=$dir/logs

# Twice as many jobs as processors: other scripts run beside it, and it would end
# long after them.
distcheck()
{
  flock . bash -c '[ -x configure ] || autoreconf -fi' &&
    cd "$dir" && "$top/configure" && make -j"$((2 * $(nproc)))" distcheck
}

if output=$(distcheck 2>&1); then
  ok 'make distcheck'
  all_programs "$dir/logs"
else
  not_ok 'make distcheck' "$(tail -n 60 <<< "$output")"
  all_programs "$(echo "$dir"/docextract-*/_build/sub)"
fi
count_is_good
