#!/usr/bin/env bash
#
# distcheck.sh - the tarball of `make dist` can be built, checked, installed,
# and uninstalled.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh

# What it is compiled and packed with does not matter here: what is quick.
export DISTCHECK_CONFIGURE_FLAGS='CFLAGS=-O1 CXXFLAGS=-O1' XZ_OPT=-1
if output=$(make -C "${DX_BUILD:-.}" -j"$(nproc)" distcheck 2>&1); then
  ok 'make distcheck'
else
  not_ok 'make distcheck' "$(tail -n 60 <<< "$output")"
fi
count_is_good
