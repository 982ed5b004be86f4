#!/usr/bin/env bash
#
# run.sh - plants each fault of tests/faults/list in a copy of the tree, and runs
# the test that should notice it: that test must fail. A line says for each fault
# whether it was noticed; the last one has the counts.
#
#   run.sh [DIRECTORY]     makes the copy and its build in DIRECTORY, and keeps
#                          them: the next run there is quicker
#
#   FAULTS=WORD            only the faults whose file, test, or name contain WORD
#
# A fault in the list is a line with the file, the test, and what is wrong; the
# text to replace, which is in one place of the file, on lines that begin with -;
# and what replaces it, on lines that begin with +. Add one where a test is new.
# The test is a unit test; a script only where no unit test notices the fault.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh

if [ $# = 0 ]; then
  tree=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-faults.XXXXXX")
  trap 'rm -rf "$tree"' EXIT
else
  mkdir -p "$1" && tree=$(cd "$1" && pwd) || exit 1
fi
export DX_BUILD=$tree/build
log=$tree/log

# Into a copy that was kept, what differs, with a new time: make compares times,
# and the last fault may still be there.
copy()
{
  local f
  if [ ! -e "$tree/configure.ac" ]; then
    tar cf - --exclude=./build --exclude=./.git . | tar xf - -C "$tree"
    return
  fi
  find . \( -path ./build -o -path ./.git -o -name autom4te.cache \) -prune -o \
    -type f -print | while IFS= read -r f; do
    cmp -s "$f" "$tree/$f" || cp --parents "$f" "$tree"
  done
}

build()
(
  copy && mkdir -p "$DX_BUILD" && cd "$DX_BUILD" || return
  [ -x ../configure ] || (cd .. && autoreconf -fi) || return
  [ -s Makefile ] || ../configure CFLAGS='-g1 -O0' CXXFLAGS='-g1 -O0' || return
  make -j"$(nproc)" all && make -j"$(nproc)" check TESTS=
)

# A script uses any of the programs.
make_for() # TEST
{
  case $1 in
  *.sh*) make all && make check TESTS= ;;
  *) make "$1" ;;
  esac
}

passes() # TEST
{
  case $1 in
  *.sh) timeout -k 10 120 "../$1" ;;
  *.sh:*)
    local name=${1#*:}
    DX_ONLY=${name//_/ } timeout -k 10 120 "../${1%:*}"
    ;;
  *) timeout -k 10 120 "$1" ;;
  esac
}

# A fault that does not compile, or that nothing runs, shows nothing.
plant() # FILE TEST NAME OLD NEW
{
  local file=$tree/$1 text without
  text=$(< "$file")
  without=${text//"$4"/}
  if [ "$text" = "$without" ] ||
    [ $((${#text} - ${#without})) != ${#4} ]; then
    not_ok "$1: $3: what it replaces is there once" "$4"
    return
  fi
  printf '%s\n' "${text/"$4"/"$5"}" > "$file"
  if ! make_for "$2" > "$log" 2>&1; then
    not_ok "$1: $3: it compiles" "$(grep -m 3 error "$log")"
  elif passes "$2" > "$log" 2>&1; then
    not_ok "NOT noticed by $2: $1: $3"
  else
    ok "noticed by $2: $1: $3"
  fi
  printf '%s\n' "$text" > "$file"
}

if ! build > "$log" 2>&1; then
  not_ok 'the copy is built' "$(tail -n 20 "$log")"
  count_is_good
  exit
fi

# Lines of "FILE TEST NAME", and of what is replaced, into arrays of the faults.
files=() tests=() names=() old=() new=()
n=-1
while IFS= read -r line; do
  case $line in
  '' | '#'*) ;;
  -*) old[n]+=${old[n]:+$'\n'}${line#-} ;;
  +*) new[n]+=${new[n]:+$'\n'}${line#+} ;;
  *"${FAULTS-}"*)
    n=$((n + 1))
    read -r "files[n]" "tests[n]" "names[n]" <<< "$line"
    old[n]='' new[n]=''
    ;;
  *) n=$((n + 1)) ;;
  esac
done < tests/faults/list
cd "$DX_BUILD" || exit 1

# Without a fault each test passes, or its failure would show nothing.
for test in $(printf '%s\n' "${tests[@]}" | sort -u); do
  check "without a fault, $test passes" passes "$test"
done
for ((i = 0; i <= n; i++)); do
  [ -z "${files[i]-}" ] ||
    plant "${files[i]}" "${tests[i]}" "${names[i]}" "${old[i]}" "${new[i]}"
done
count_is_good
