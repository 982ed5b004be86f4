#!/usr/bin/env bash
#
# distcheck.sh - the tarball of `make dist` can be built, checked, installed,
# and uninstalled; with a line for each unit test.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
. tests/helper/cmocka.sh

dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-distcheck.XXXXXX")
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
mkdir "$dir/logs"
top=$PWD

# Whether it is built matters here, not how fast it is: what is quick.
export DISTCHECK_CONFIGURE_FLAGS="CFLAGS='-g1 -O0' CXXFLAGS='-g1 -O0'"
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
