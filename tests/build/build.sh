#!/usr/bin/env bash
#
# build.sh - builds what the scripts test.
#
#   build.sh DIRECTORY [OPTION OF configure...]
#       everything, the tests too, with warnings as errors; in a copy of the
#       tree, where git can list new files
#   build.sh --without-units DIRECTORY
#       the same without what only `make check` runs
#   build.sh --sanitized DIRECTORY
#       outside of the tree, with sanitizers
#   build.sh --sanitized-units DIRECTORY
#       only the unit tests
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
top=$PWD

# For reports of sanitizers and valgrind -g1 is enough.
configured_inside() # DIRECTORY [OPTION...]
{
  flock . bash -c '[ -x configure ] || autoreconf -fi' &&
    cp -a . "$1" && cd "$1" && git init -q && git add -A &&
    ./configure --enable-werror CFLAGS='-g1 -O2' CXXFLAGS='-g1 -O2' "${@:2}"
}

# `all` is made by another make: at the same time, both would write the libraries.
make_all() # [VARIABLE=VALUE OF make check]
{
  make -j"$(nproc)" all && make -j"$(nproc)" check TESTS= "$@"
}

inside() { configured_inside "$@" && make_all; } # DIRECTORY [OPTION...]

check_programs() # prints their names
{
  make -s -f - show <<< $'include Makefile\nshow:\n\t@echo $(check_PROGRAMS)' |
    tr -s ' ' '\n'
}
without_units() # DIRECTORY
{
  configured_inside "$1" && make_all check_PROGRAMS="$(check_programs |
    grep -Ev '^tests/(unit|model|fuzz)/' | xargs)"
}

# With -O1 it compiles in half the time, and warns of what cannot happen.
configured() # DIRECTORY
{
  mkdir "$1" && cd "$1" &&
    "$top/configure" --enable-sanitizers CFLAGS='-g1 -O1' CXXFLAGS='-g1 -O1'
}
sanitized() { configured "$1" && make_all; } # DIRECTORY
sanitized_units() # DIRECTORY
{
  local programs
  configured "$1" && programs=$(check_programs | grep '^tests/unit/') &&
    xargs make -j"$(nproc)" <<< "$programs"
}

case $1 in
--sanitized) how=sanitized ;;
--sanitized-units) how=sanitized_units ;;
--without-units) how=without_units ;;
*) how=inside ;;
esac
[ $how = inside ] || shift
if output=$($how "$@" 2>&1); then
  ok "it is built: $how"
else
  not_ok "it is built: $how" \
    "$(grep -a -A 5 "error:" <<< "$output" | head -n 40; tail -n 20 <<< "$output")"
fi
count_is_good
