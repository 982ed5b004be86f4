#!/usr/bin/env bash
#
# test.sh - runs every test there is, on a fresh Debian or Ubuntu machine too:
# installs what is missing, builds a copy of the tree with warnings as errors,
# and ends with "N passed, N failed". Nothing outside a temporary folder is
# changed, packages excepted. With CI=true nothing may be left out.
#
#   ./test.sh [--long]   the tests that take minutes each, too
#
# What is tested lives in tests/; only the order and the counting live here.
set -u
cd "$(dirname "$0")" || exit 1
top=$PWD
. tests/helper/packages.sh

long=
case ${1-} in
'') ;;
--long) long=1 ;;
*)
  echo 'usage: ./test.sh [--long]' >&2
  exit 2
  ;;
esac
passed=0
failed=0
left_out=
work=$(mktemp -d "${TMPDIR:-/tmp}/dx-test.XXXXXX")
chmod 711 "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export LC_ALL=C.UTF-8
jobs=$(nproc)

add() # PASSED FAILED
{
  passed=$((passed + $1))
  failed=$((failed + $2))
}

end()
{
  [ -z "$left_out" ] || printf '%s\n' "$left_out"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}

give_up() # TEXT [LOG]
{
  echo "not ok - $1"
  [ -z "${2-}" ] || tail -n 40 "$2" | sed 's/^/#   /'
  add 0 1
  end
}

step() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }

# One thing that is right or wrong as a whole.
whole() # TEXT LOG COMMAND...
{
  local text=$1 log=$2
  shift 2
  if "$@" > "$log" 2>&1; then
    echo "ok - $text"
    add 1 0
  else
    echo "not ok - $text"
    tail -n 40 "$log" | sed 's/^/#   /'
    add 0 1
  fi
}

# --- counting --------------------------------------------------------------

# A script ends with its own counts, or is wrong as a whole.
count_script() # NAME LOG
{
  local last
  last=$(tail -n 1 "$2" 2> /dev/null)
  grep -h -e '^not ok' -e '^#' "$2"
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    echo "$1: $last"
    add "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
  elif [[ $last = 'left out: '* ]]; then
    left_out+=${left_out:+$'\n'}$last
  else
    echo "not ok - $1 ended without its counts"
    tail -n 20 "$2" | sed 's/^/#   /'
    add 0 1
  fi
}

# automake hides cmocka's counts in one log a program.
count_unit() # LOG
{
  local name=${1##*/} good bad
  good=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$1" | paste -sd+ | bc_sum)
  bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$1" | paste -sd+ | bc_sum)
  if ! grep -qx ':test-result: PASS' "${1%.log}.trs" && [ "$bad" = 0 ]; then
    bad=1
  fi
  [ "$bad" = 0 ] || grep -v '\[       OK \]\|\[ RUN' "$1" | tail -n 40 | sed 's/^/#   /'
  echo "${name%.log}: $good passed, $bad failed"
  add "$good" "$bad"
}
bc_sum() { local sum; read -r sum; echo $((${sum:-0})); }

# --- running ---------------------------------------------------------------

# Copies what git knows or would take; all but the leavings without git.
copy_tree() # TO
{
  mkdir "$1"
  if git rev-parse --git-dir > /dev/null 2>&1; then
    git ls-files -coz --exclude-standard |
      while IFS= read -r -d '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done |
      tar cf - --null -T - | tar xf - -C "$1"
  else
    tar cf - --exclude=./build . | tar xf - -C "$1"
  fi
}

build_in() # FOLDER CONFIGURE OPTION...
{
  local folder=$work/$1 log=$work/$1.log
  shift
  mkdir "$folder"
  (cd "$folder" && "$work/src/configure" --enable-werror "$@" &&
    make -j"$jobs" all && make -j"$jobs" check TESTS=) > "$log" 2>&1 ||
    give_up "it is built with: configure --enable-werror $*" "$log"
  echo "ok - it is built with: configure --enable-werror $*"
  add 1 0
}

unit_tests() # FOLDER
{
  local log
  make -C "$work/$1" -j"$jobs" check > "$work/$1-check.log" 2>&1
  # shellcheck disable=SC2044
  for log in $(find "$work/$1/tests" -name '*.trs' | sort); do
    count_unit "${log%.trs}.log"
  done
  compgen -G "$work/$1/tests/unit/*.trs" > /dev/null ||
    give_up 'unit tests ran' "$work/$1-check.log"
}

one_script() # BUILD FILE LOG: at most five minutes, or DX_MINUTES
{
  DX_BUILD=$1 timeout "$((${DX_MINUTES:-5} * 60))" bash "$2" > "$3" 2>&1 < /dev/null
}
export -f one_script

scripts() # AT-ONCE FOLDER FILE...
{
  local at_once=$1 build=$2 f
  shift 2
  mkdir -p "$work/out-$build"
  printf '%s\n' "$@" | xargs -P "$at_once" -I{} bash -c \
    'one_script "$1" "$2" "$3/$(basename "$2").log"' _ \
    "$work/$build" {} "$work/out-$build"
  for f; do count_script "$f" "$work/out-$build/$(basename "$f").log"; done
}

executables() # GLOB...: scripts that are tests by themselves
{
  local f
  for f in "$@"; do [ ! -x "$f" ] || echo "$f"; done
}

# --- the order -------------------------------------------------------------

programs=
[ -z "${CI-}" ] || programs=$program_packages
# shellcheck disable=SC2086
install_missing $build_packages $run_packages xz-utils clang-format $programs ||
  give_up 'everything needed is installed'

step 'building'
copy_tree "$work/src"
(cd "$work/src" && autoreconf -fi) > "$work/autoreconf.log" 2>&1 ||
  give_up 'autoreconf' "$work/autoreconf.log"
build_in build

step 'unit tests'
unit_tests build

step 'scripts'
cd "$work/src" || exit 1
mapfile -t list < <(executables tests/[!ibl]*/*.sh)
[ ${#list[@]} -eq 0 ] || scripts 2 build "${list[@]}"

step 'integration tests'
# The longest first.
# shellcheck disable=SC2086,SC2046
first='interrupted sigterm tokens patience pages many accepted'
mapfile -t list < <(executables $(printf 'tests/it/%s.sh ' $first)
  executables tests/it/*.sh | grep -vE "/(${first// /|})\.sh")
scripts 2 build "${list[@]}"

step 'installing'
installs() # every part is where CUPS looks, and others may run it
{
  local root=$work/root bin data
  bin=$(cups-config --serverbin)
  data=$(cups-config --datadir)
  (umask 077 && make -C "$work/build" -j1 install DESTDIR="$root") &&
    [ "$(stat -c %a "$root$bin/backend/docextract" \
      "$root$bin"/filter/{check,to}docextract | paste -sd' ')" = \
      '755 755 755' ] &&
    [ -s "$root$data/model/docextract.ppd" ] &&
    [ -s "$root/usr/local/share/docextract/docextract.drv" ] &&
    [ -x "$root/usr/local/bin/docextract" ]
}
whole 'make install puts every part in its place' "$work/install.log" installs

step 'distcheck'
whole 'make distcheck' "$work/distcheck.log" \
  make -C "$work/build" -j"$jobs" distcheck

step 'with sanitizers'
build_in sanitized --enable-sanitizers
unit_tests sanitized
scripts 2 sanitized \
  tests/it/{interrupted,sigterm,accepted,types,many,secrets,tls,silence,discovery}.sh

if [ -n "$long" ]; then
  step 'long tests'
  export DX_MINUTES=65
  scripts 1 build tests/long/{thousand,pace}.sh # alone: they measure time
  mapfile -t list < <(executables tests/long/faults.sh
    executables tests/long/*.sh | grep -vE '/(faults|thousand|pace)\.sh')
  scripts 2 build "${list[@]}"
fi

step 'done'
cd "$top" || exit 1
end
