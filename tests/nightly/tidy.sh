#!/usr/bin/env bash
#
# tidy.sh - clang-tidy, with its static analyzer, reports no problem in the
# installed programs. .clang-tidy lists the checks.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
build=$(cd "${DX_BUILD:-.}" && pwd)

# Every version finds different things: this is the one to use.
analyzer=14
version=$(clang-tidy --version 2>&1 |
  sed -n 's/.* version \([0-9]*\)\..*/\1/p')

# The relevant flags of `make`, and facts that the analyzer cannot determine.
look_at() # FILE
{
  local more='-include lib/base/policy.h -include tests/nightly/analyzer.h'
  [ "$1" != lib/base/err.c ] || more=
  # shellcheck disable=SC2086
  nice clang-tidy --quiet "$1" -- -std=gnu11 -include "$build/config.h" $more \
    -I. "-I$build" $(pkg-config --cflags libnotify cairo fribidi freetype2 fontconfig | sed 's/-I/-isystem /g') \
    '-DDX_SERVERROOT="/"' '-DDX_SERVERBIN="/"' '-DDX_SBINDIR="/"' '-DDX_RUNTIME_DIR="/"' '-DDX_PKGLIBDIR="/"' \
    '-DDX_GHOSTSCRIPT="/"' 2>&1 |
    grep -v '^[0-9]* warnings\? \(generated\|treated as\)'
}
export -f look_at
export build

if [ "$version" != $analyzer ]; then
  echo "left out: the analysis of the sources (to include it: clang-tidy" \
    "$analyzer, this is ${version:-none})"
  check 'there is a configuration' [ -s .clang-tidy ]
  count_is_good
  exit
fi
files=$(echo {lib/*,backend,filter,cli,daemon,daemon/*,notify,sim}/*.c)
# shellcheck disable=SC2086
found=$(printf '%s\n' $files | xargs -P "$(nproc)" -I{} bash -c 'look_at {}')
for file in $files; do
  is "$file is clean" "$(grep -A 20 "^$PWD/$file:.*warning\|$file:.*error" <<< "$found")" ''
done
is 'nothing else is found' "$(grep -E 'warning:|error:' <<< "$found" |
  grep -vE "^$PWD/[a-z/_]+\.c:")" ''
count_is_good
