#!/usr/bin/env bash
#
# tasks.sh - what ./test.sh makes of scripts that fail (tests/helper/tasks.sh):
# they run once more, alone, and what they say then counts. More than two that
# pass only then, and more than five that fail, are a failure.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-tasks.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# A script that makes two checks. Its KIND: good, bad, flaky (only its first run
# fails, twice), stopped (as timeout reports it, in its first run), loses (a check
# of its first run), or long (fails, and never ends when it runs again).
cat > "$dir/script" << 'END'
seen=$0.$1
echo "$1 begins" >> "$0.order"
trap 'echo "$1 ends" >> "$0.order"' EXIT
kind=$2
case $kind in flaky | stopped | loses)
  [ ! -e "$seen" ] || kind=good
  ;;
esac
[ "$kind" != long ] || [ ! -e "$seen" ] || sleep 1000
touch "$seen"
case $kind in
good) printf '%s\n' 'ok - one' 'ok - two' '2 passed, 0 failed' ;;
bad | long) printf '%s\n' 'ok - one' 'not ok - two' '1 passed, 1 failed' && exit 1 ;;
flaky)
  printf '%s\n' 'not ok - one' '#   got: x' 'not ok - two' '0 passed, 2 failed'
  exit 1
  ;;
stopped) exit 124 ;;
loses) printf '%s\n' 'ok - one' '2 passed, 0 failed' ;;
esac
END

# Runs one script of each kind, and tasks that do not run again; sets out, last,
# and status.
run() # KIND...
{
  local kind n=0
  rm -rf "$dir/work" "$dir"/script.*
  mkdir -p "$dir/work/out"
  for kind; do
    n=$((n + 1))
    echo "tests/$kind/$n.sh 600 bash $dir/script $n $kind"
  done > "$dir/list"
  # As if there were processors enough, however busy they are.
  out=$(bash -c '. tests/helper/tasks.sh
    work=$1 again_s=$2 cores=100
    shift 2
    at_once 3 < "$1"
    [ -z "${2-}" ] || task build 600 bash "${1%/*}/script" build "$2"
    run_again
    end' _ "$dir/work" "${again_s:-600}" "$dir/list" "${by_itself-}" 2>&1)
  status=$?
  last=$(tail -n 1 <<< "$out")
}
flaky() { grep '^FLAKY ' <<< "$out"; }
wrong() { grep '^failed: ' <<< "$out"; }
runs() { grep -c "^$1 begins" "$dir/script.order"; } # NUMBER OF A SCRIPT

run good good
is 'all pass: none runs again' "$status $(runs 1) $(runs 2) $last" \
  '0 1 1 4 passed, 0 failed'
is 'and none is flaky' "$(flaky)$(wrong)" ''

run good flaky good
is 'one passes the second time: the run passes, and the second counts' \
  "$status $last" '0 6 passed, 0 failed'
is 'each check that had failed is named' "$(flaky)" \
  $'FLAKY tests/flaky/2.sh: one\nFLAKY tests/flaky/2.sh: two'
is 'and is no failure' "$(wrong)" ''
is 'only that one runs again' "$(runs 1) $(runs 2) $(runs 3)" '1 2 1'

run bad good
is 'one fails twice: the run fails, and counts it once' "$status $last" \
  '1 3 passed, 1 failed'
is 'it is not flaky' "$(flaky)" ''
is 'what failed is named once' "$(wrong)" 'failed: tests/bad/1.sh: two'
is 'it has run twice' "$(runs 1)" 2

run flaky bad flaky good
is 'two flaky ones and a bad one: the run fails for the bad one' \
  "$status $last $(flaky | wc -l) $(wrong)" \
  '1 7 passed, 1 failed 4 failed: tests/bad/2.sh: two'
is 'those that run again run alone' \
  "$(tail -n 6 "$dir/script.order" | sed 's/[0-9] //' | xargs)" \
  'begins ends begins ends begins ends'

run flaky flaky
is 'two flaky ones: the run passes' "$status $last" '0 4 passed, 0 failed'

run flaky flaky flaky
is 'three flaky ones: the run fails' "$status $last" '1 6 passed, 1 failed'
is 'and says why' "$(wrong)" 'failed: at most two scripts are flaky (3)'
is 'and names all of them' "$(flaky | wc -l)" 6

run stopped good
is 'one that was stopped runs again, too' "$status $last $(flaky)" \
  '0 4 passed, 0 failed FLAKY tests/stopped/1.sh: stopped after 600 s: tests/stopped/1.sh'

run loses
is 'so does one that counts wrong' "$status $last $(flaky)" \
  '0 2 passed, 0 failed FLAKY tests/loses/1.sh: it counts 1 and 0 checks in its last line'

again_s=1 run long
is 'what takes too long to run again stays failed' "$status $(wrong)" \
  '1 failed: tests/long/1.sh: stopped after 1 s: tests/long/1.sh'

run flaky flaky flaky bad bad good
is 'five that fail run again' "$(runs 5) $last" '2 10 passed, 3 failed'

run flaky flaky flaky flaky flaky flaky
is 'more than five do not' "$status $(runs 6) $last $(flaky)" \
  '1 1 0 passed, 12 failed '

by_itself=flaky run good
is 'the build does not run again' "$status $(runs build) $last $(wrong | xargs)" \
  '1 1 2 passed, 2 failed failed: build: one failed: build: two'

count_is_good
