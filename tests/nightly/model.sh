#!/usr/bin/env bash
#
# model.sh - both models of tests/model with more user actions and faults than
# in `make check`: several times as many states.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
cd "${DX_BUILD:-.}" || exit 1

states() { sed -n '1s/.*: \([0-9]*\) states.*/\1/p' <<< "$1"; }

larger() # NAME OF THE MODEL
{
  local few many
  few=$("tests/model/$1" 2>&1)
  many=$("tests/model/$1" many 2>&1)
  is "$1: nothing is broken, and every wrong version is found" "$?" 0
  sed '1s/^/# /; 1q' <<< "$many"
  [ "$(states "$many")" -gt $((5 * $(states "$few"))) ] ||
    not_ok "$1: it has larger bounds" "$few"$'\n'"$many"
}

larger model_one
larger model_two
count_is_good
