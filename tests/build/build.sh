#!/usr/bin/env bash
#
# build.sh - builds everything, the tests too, with warnings as errors. Two may
# run at the same time.
#
#   build.sh DIRECTORY [CONFIGURE OPTION...]
#   build.sh --inside DIRECTORY [CONFIGURE OPTION...]
#                   in a copy of the tree, where git can list new files
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh

inside=
if [ "$1" = --inside ]; then
  inside=1
  shift
fi
dir=$1
shift

copy_for_git() # TO
{
  cp -a . "$1" && git -C "$1" init -q && git -C "$1" add -A
}

build()
{
  flock . bash -c '[ -x configure ] || autoreconf -fi' || return
  if [ -n "$inside" ]; then copy_for_git "$dir"; else mkdir "$dir"; fi || return
  top=$PWD
  cd "$dir" || return
  if [ -n "$inside" ]; then top=.; fi
  "$top/configure" --enable-werror "$@" && make -j"$(nproc)" all &&
    make -j"$(nproc)" check TESTS=
}

if output=$(build "$@" 2>&1); then
  ok "it is built with: configure --enable-werror $*"
else
  not_ok "it is built with: configure --enable-werror $*" \
    "$(grep -a -A 5 "error:" <<< "$output" | head -n 40; tail -n 20 <<< "$output")"
fi
count_is_good
