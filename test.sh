#!/usr/bin/env bash
#
# test.sh - runs every test, also on a fresh Debian or Ubuntu machine: installs
# what is missing, builds a copy of the tree with warnings as errors, and ends
# with "N passed, N failed". Apart from packages nothing outside a temporary
# directory is changed.
#
#   ./test.sh            the unit tests, and what depends on the versions of
#                        libraries and CUPS; in about five minutes
#   ./test.sh --rest     all other scripts but those of tests/nightly, and the unit
#                        tests with sanitizers; with CI=true nothing may be left out
#   ./test.sh --long     both
#   ./test.sh --nightly  only tests/nightly: hours, what measures time, the
#                        programs that people print from, and what depends on
#                        registries and servers that are not ours to repair
#
# A script that has failed is run once more, alone, at the end. If it passes then,
# "FLAKY NAME: CHECK" says so, and the run passes, unless this happens to more than
# two scripts. The tests are in tests/; only their order is here.
set -u -o pipefail
cd "$(dirname "$0")" || exit 1
. tests/helper/packages.sh
. tests/helper/tasks.sh

quick=''
rest=''
nightly=''
case ${1-} in
'') quick=1 ;;
--rest) rest=1 ;;
--long) quick=1 rest=1 ;;
--nightly) nightly=1 ;;
*)
  echo 'usage: ./test.sh [--rest | --long | --nightly]' >&2
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

limit_s=2700 # of a script: what hangs is named before .ci/run's 90 minutes end
[ -z "$nightly" ] || limit_s=7200

# The line of a task. With a build that is not there yet it waits.
script() # BUILD FILE
{
  local name=$2 first=''
  [ "$1" = build ] || {
    name="$2-$1"
    first="flock -sF $work/$1.lock "
  }
  echo "$name $limit_s ${first}env DX_BUILD=$work/$1 bash $2"
}

tests_in() # GLOB...: scripts that are tests by themselves
{
  local f
  for f; do [ ! -x "$f" ] || echo "$f"; done
}

# The longest first, so that none of them runs alone at the end; those that use
# the processor alternate with those that mostly wait.
longest='long/packages long/systemd hostile/documents build/unit
long/documents long/kills it/unknown it/consumers it/stages
long/cases filter/whole_test hostile/thirty it/pages hostile/service it/sigterm
it/mixed long/hostile crash/faults it/log long/network it/tokens cli/jobs_test
it/text it/patience crash/walk it/admin it/orphans checks/lint it/on_result
it/types it/accepted it/again build/unit-sanitized it/types-sanitized
it/accepted-sanitized it/wanted it/silence it/many cli/cli_test it/interrupted
it/notify filter/tiff_test long/class it/outage it/shared it/killed it/auto
crash/power it/reruns it/prefilter it/troubles it/stopped it/restored crash/large
sim/sim_test it/tls-sanitized cli/status_test it/rows build/install long/rate
hostile/secrets nightly/faults nightly/power nightly/walk nightly/valgrind
nightly/tidy nightly/planted nightly/release nightly/model nightly/corpus
nightly/fhir nightly/storm nightly/large hostile/client filter/check_test'

# Reads lines of "BUILD FILE" and prints the tasks in this order.
scripts()
{
  local build f
  awk -v longest="$(xargs <<< "$longest")" '
    BEGIN { n = split(longest, names); for (i in names) at[names[i]] = i }
    { name = $2; sub("^tests/", "", name); sub("[.]sh$", "", name)
      if ($1 != "build") name = name "-" $1
      print name in at ? at[name] : n + 1, $0 }' |
    sort -s -n -k 1,1 |
    while read -r _ build f; do script "$build" "$f"; done
}

# What these show depends on our code more than on the distribution.
rest_of_scripts='checks/[a-z]* cli/[a-z]*_test crash/[a-z]* doc/man sim/sim_test
filter/(active|corpus|foreign|same)_test
hostile/[a-z]*
it/(admin|again|auto|consumers|interrupted|killed|language|languages|log|many)
it/(metrics|mixed|on_result|orphans|outage|owner|pages|patience|private|repair)
it/(report|reruns|restored|rows|shared|sigterm|silence|stages|stopped|tokens)
it/(unknown|waiting|wanted|withdrawn)'

# These run again with sanitizers.
sanitized='it/interrupted it/sigterm it/many it/silence it/discovery it/accepted
it/types it/tls hostile/secrets'

matching() # OPTION OF grep, NAME...: scripts of stdin
{
  grep "$1" "^tests/($(tr -s ' \n' '|' <<< "${*:2}" | sed 's/|$//'))\.sh$"
}

in_each_directory()
{
  tests_in tests/*/*.sh |
    grep -vE "^tests/(bench|build|faults|fuzz|helper|long|nightly)/"
}

quick_tasks()
{
  printf 'build tests/build/%s.sh\n' unit hardening install
  in_each_directory | matching -vE "$rest_of_scripts" | sed 's/^/build /'
}

rest_tasks()
{
  { in_each_directory | matching -E "$rest_of_scripts"; tests_in tests/long/*.sh; } |
    sed 's/^/build /'
  echo sanitized tests/build/unit.sh
}

chosen_tasks()
{
  { [ -z "$quick" ] || quick_tasks; [ -z "$rest" ] || rest_tasks; } | scripts
}

# Nothing may run beside these: one measures time, and one makes all others late.
alone='nightly/thousand nightly/overbooked'
alone_tasks()
{
  local name
  for name in $alone; do script build "tests/$name.sh"; done
}

nightly_tasks()
{
  {
    tests_in tests/nightly/*.sh | matching -vE "$alone" | sed 's/^/build /'
    # shellcheck disable=SC2086
    printf 'sanitized tests/%s.sh\n' $sanitized
  } | scripts
}

# --- the order -------------------------------------------------------------

installed_or_end() # PACKAGE...
{
  install_missing "$@" && return
  fail 'everything needed is installed'
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
how=()
[ -n "$quick$nightly" ] || how=(--without-units)
task build $limit_s bash tests/build/build.sh "${how[@]}" "$work/build" &
one=$!
# Installing and configure use one processor each.
# shellcheck disable=SC2086
installed_or_end $run_packages $test_packages ${rest:+$rest_packages} \
  ${nightly:+$nightly_packages}
wait "$one" || end # without it the rest makes no sense

# Beside the first scripts. Until it is there, it has the lock.
build_sanitized() # OPTION OF build.sh
{
  local lock
  exec {lock}> "$work/sanitized.lock"
  flock "$lock"
  task build-sanitized $limit_s bash tests/build/build.sh "$1" \
    "$work/sanitized" &
  exec {lock}>&-
}

echo "== testing ($SECONDS s)"
parallel=$((9 * cores / 2))
export DX_SHARED=$work/shared # what several scripts need is made there
mkdir "$DX_SHARED"
if [ -n "$nightly" ]; then
  build_sanitized --sanitized
  wait
  run_tasks 1 alone_tasks
  run_tasks "$cores" nightly_tasks
else
  [ -z "$rest" ] || build_sanitized --sanitized-units
  run_tasks $parallel chosen_tasks
fi
run_again
task leftovers $limit_s env DX_BUILD="$work/build" bash tests/build/leftovers.sh
end
