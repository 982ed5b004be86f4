#!/usr/bin/env bash
#
# test.sh - runs every test, also on a fresh Debian or Ubuntu machine: installs
# what is missing, builds a copy of the tree with warnings as errors, and ends
# with "N passed, N failed". Apart from packages nothing outside a temporary
# directory is changed.
#
#   ./test.sh          everything but what takes minutes
#   ./test.sh --long   that, too; with CI=true nothing may be left out, and the
#                      programs that people print from are installed for it
#
# The tests are in tests/; only their order and the counting are here.
set -u -o pipefail
cd "$(dirname "$0")" || exit 1
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
work=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-test.XXXXXX")
chmod 711 "$work"
mkdir "$work/out"
export LC_ALL=C.UTF-8
cores=$(nproc)

leave()
{
  local status=$? tasks
  trap - EXIT
  tasks=$(jobs -p)
  # shellcheck disable=SC2086
  [ -z "$tasks" ] || { kill $tasks && wait; } 2> /dev/null
  rm -rf "$work"
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT TERM HUP

# --- tasks -----------------------------------------------------------------

# Runs a test script: it prints "ok - TEXT" or "not ok - TEXT" for each check,
# and the counts in its last line. Prints what failed, the counts and the time.
task() # NAME LIMIT-S COMMAND...
(
  name=$1 limit=$2 begin=$SECONDS
  log=$work/out/${name//[\/ ]/-}
  shift 2
  timeout -k 60 "$limit" "$@" > "$log" 2>&1 < /dev/null &
  pid=$!
  trap 'kill $pid; wait $pid; exit 1' TERM
  wait $pid
  status=$?
  times > "$log.times"
  if [ $status = 124 ] || [ $status = 137 ]; then
    echo "not ok - stopped after $limit s: $name" >> "$log"
  fi
  judge "$name" "$log" $status > "$log.report"
  echo "$passed $failed" > "$log.counts"
  sed -n "s|^not ok - |failed: $name: |p" "$log.report" > "$log.failed"
  # Only processes that the script has waited for count.
  cpu=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", 60 * ($1 + $3) + $2 + $4 }' \
    "$log.times")
  echo "$name: $passed passed, $failed failed ($((SECONDS - begin)) s," \
    "CPU $cpu s)" >> "$log.report"
  flock "$work/out" cat "$log.report"
  [ "$failed" = 0 ]
)

# Counts the lines of the checks. A script with other counts has failed: it was
# interrupted, or made a check that it did not count. Prints what failed; sets
# passed and failed.
judge() # NAME LOG STATUS
{
  local last
  passed=$(grep -ac '^ok - ' "$2")
  failed=$(grep -ac '^not ok - ' "$2")
  last=$(tail -n 1 "$2")
  grep -a -e '^not ok - ' -e '^#' -e '^left out: ' "$2"
  if [ "$last" != "$passed passed, $failed failed" ] &&
    [[ $last != 'not ok - stopped after '* ]]; then
    echo "not ok - it counts $passed and $failed checks in its last line"
    tail -n 20 "$2" | sed 's/^/#   /'
    failed=$((failed + 1))
  fi
  if [ "$3" != 0 ] && [ "$failed" = 0 ]; then
    echo "not ok - it ends with status 0 ($3)"
    failed=1
  fi
  if [ "$failed" = 0 ] && grep -aq '^# stopped after ' "$2"; then
    echo 'not ok - it waits for nothing in vain'
    failed=1
  fi
}

# Reads tasks, one per line, and runs N of them at once.
at_once() # N
{
  local words
  while read -ra words; do
    while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n; done
    task "${words[@]}" &
  done
  wait
}

end()
{
  local p f
  passed=0
  failed=0
  while read -r p f; do
    passed=$((passed + p))
    failed=$((failed + f))
  done < <(cat "$work"/out/*.counts)
  echo "== done ($SECONDS s)"
  grep -ah '^left out: ' "$work"/out/*.report
  cat "$work"/out/*.failed
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}

# --- what there is to do ---------------------------------------------------

# Copies what git knows or would add; without git everything but build output.
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

limit_s=1200 # of a script; on an idle machine none takes two minutes
script() # BUILD FILE: the line of a task
{
  local name=$2
  [ "$1" = build ] || name="$2-$1"
  echo "$name $limit_s env DX_BUILD=$work/$1 bash $2"
}

tests_in() # GLOB...: scripts that are tests by themselves
{
  local f
  for f; do [ ! -x "$f" ] || echo "$f"; done
}

# The longest first, so that none of them runs alone at the end; those that use
# the processor alternate with those that mostly wait.
longest='long/power long/packages long/release long/faults long/systemd long/walk
long/kills long/model it/stages it/sigterm hostile/documents it/accepted
it/pages build/unit it/patience crash/faults cli/jobs_test it/orphans
crash/walk it/rows crash/power hostile/thirty it/auto it/types it/silence
it/many long/corpus long/fhir cli/cli_test long/hostile it/again cli/status_test
it/shared it/interrupted it/demand it/wanted it/on_result it/tokens
hostile/service filter/whole_test it/text it/notify it/reruns hostile/client
hostile/secrets sim/sim_test'

# Reads lines of "BUILD FILE" and prints the tasks in this order.
scripts()
{
  local build f
  awk -v longest="$(xargs <<< "$longest")" '
    BEGIN { n = split(longest, names); for (i in names) at[names[i]] = i }
    { name = $2; sub("^tests/", "", name); sub("[.]sh$", "", name)
      print name in at ? at[name] : n + 1, $0 }' |
    sort -s -n -k 1,1 |
    while read -r _ build f; do script "$build" "$f"; done
}

# Programs to print from are installed after everything else has passed without.
with_programs='tests/(it/(office|programs|web|desktop)|filter/corpus)\.sh'
in_ci() { [ -n "${CI-}" ] && [ -n "$long" ]; }

# tests/long runs all of their cases.
with_all_cases='tests/crash/(faults|power|walk)\.sh'

# These run again with sanitizers.
with_sanitizers='it/interrupted it/sigterm it/accepted it/types it/many it/tls
it/silence it/discovery hostile/secrets'

quick_tasks()
{
  {
    printf 'build tests/build/%s.sh\n' unit hardening install
    tests_in tests/*/*.sh | grep -vE "^tests/(bench|build|fuzz|helper|long)/" |
      if in_ci; then grep -vE "$with_programs"; else cat; fi |
      if [ -n "$long" ]; then grep -vE "$with_all_cases"; else cat; fi |
      sed 's/^/build /'
  } | scripts
}

# Four at once: thousand and rate measure time, and hardly use the processor.
# The others use one or two, and get what is left.
calm='thousand valgrind tidy cases rate large documents'
calm_tasks()
{
  local name
  for name in $calm; do
    case $name in
    thousand | rate) script build tests/long/$name.sh ;;
    *) script build tests/long/$name.sh | sed 's/ env / nice env /' ;;
    esac
  done
}

long_tasks()
{
  {
    tests_in tests/long/*.sh | grep -vE "/(${calm// /|})\.sh" | sed 's/^/build /'
    ! in_ci || tests_in tests/*/*.sh | grep -E "$with_programs" |
      sed 's/^/build /'
    # shellcheck disable=SC2086
    printf 'sanitized tests/%s.sh\n' $with_sanitizers
  } | scripts
}

# --- the order -------------------------------------------------------------

installed_or_end() # PACKAGE...
{
  install_missing "$@" && return
  echo 'failed: everything needed is installed' > "$work/out/packages.failed"
  echo '0 1' > "$work/out/packages.counts"
  end
}

run_tasks() # N NAME OF THE LIST
{
  "$2" > "$work/tasks" || exit 1
  at_once "$1" < "$work/tasks"
}

# git copies the tree.
# shellcheck disable=SC2086
installed_or_end $build_packages git

echo "== building ($SECONDS s)"
copy_tree "$work/src"
cd "$work/src" || exit 1
task build $limit_s bash tests/build/build.sh "$work/build" &
one=$!
# Installing and configure use one processor each.
# shellcheck disable=SC2086
installed_or_end $run_packages $test_packages
# It takes long and needs nothing of the build. With a low priority, it gets what
# the tests leave that mostly wait, until the end.
task tests/build/distcheck.sh $limit_s nice bash tests/build/distcheck.sh &
wait "$one" || end # without it the rest makes no sense

echo "== testing ($SECONDS s)"
run_tasks $((9 * cores / 2)) quick_tasks

if [ -n "$long" ]; then
  # shellcheck disable=SC2086
  installed_or_end $long_packages
  # shellcheck disable=SC2086
  ! in_ci || installed_or_end $program_packages
  limit_s=3300 # .ci/run has 90 minutes, and must be able to say what hangs
  echo "== what takes minutes ($SECONDS s)"
  task build-sanitized $limit_s bash tests/build/build.sh --sanitized \
    "$work/sanitized" &
  run_tasks 4 calm_tasks
  run_tasks $((7 * cores / 2)) long_tasks
fi
task leftovers $limit_s env DX_BUILD="$work/build" bash tests/build/leftovers.sh
end
