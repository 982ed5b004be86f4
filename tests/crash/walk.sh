#!/usr/bin/env bash
#
# walk.sh - kill -9 before and after the n-th write of the journal, for all n,
# of the backend or of docextractd; then the job is run again, as cupsd would,
# and must end as if nothing had happened: nothing lost, nothing sent twice. The
# same when a second backend is started for the job at that moment.
#
#   walk.sh         the journal, the results, some pairs and second backends
#   walk.sh --all   every step on disk, every pair and every second backend
. "$(dirname "$0")/lib.sh"

all=
[ "${1-}" != --all ] || all=1

killed_at() # GROUP N before|after
{
  run_backend "kill $*"
  if happened killed; then
    kills=$((kills + 1))
  else # it took fewer steps than the run that was counted
    same 'it succeeds when it is not killed' "$status" 0
  fi
  was_final
  remember
}

once() # GROUP N before|after
{
  killed_at "$@"
  run_to_the_end
  check_end
}

twice() # GROUP N before|after M before|after
{
  killed_at "$1" "$2" "$3"
  killed_at "$1" "$4" "$5"
  run_to_the_end
  check_end
}

# The backend is killed while docextractd runs.
handing_over() # GROUP N before|after
{
  start_walked_daemon
  once "$@"
}

# docextractd is killed at a step of its own, and started again.
handed_over() # GROUP N before|after
{
  local expected_journal=$expected_journal
  start_walked_daemon "kill $*"
  run_backend
  same 'the print job ends' "$status" 0
  # Killed at startup, it takes nothing over: the backend has sent everything.
  [[ $(journal) != '["cups",["extracted"'* ]] ||
    expected_journal=${expected_journal/'"collector"'/'"cups"'}
  until_true killed_or_finished || wrong "it does nothing: $(journal)"
  if happened killed "$dir/daemon.log"; then
    kills=$((kills + 1))
    wait "$DAEMON_PID"
    was_final
    remember
    start_walked_daemon
  fi
  run_to_the_end
  check_end
} 2> /dev/null # bash would report every kill

stopped_or_gone() { happened stopped "$dir/first.log" || is_gone "$first"; }
asked_or_gone() { grep -q 'asking process' "$dir/err" || is_gone "$second"; }

# cupsd was killed, and the one that was started again runs a second backend
# for the job while the first one is at a step.
two_backends() # GROUP N before|after
{
  local first second status asked_at=2
  rm -f "$dir/first.log"
  print_it 0 "stop $*" "$dir/first.log" > "$dir/first.out" \
    2> "$dir/first.err" &
  first=$!
  until_true stopped_or_gone
  : > "$dir/err"
  SPEED=20 run_to_the_end &
  second=$!
  [ -z "$(ls "$spool/jobs")" ] || until_true asked_or_gone
  # The first one is stopped: what it has delivered so far tells whether it has
  # work left.
  ! grep -q 'asking process' "$dir/err" || asked_at=$(n_manifests)
  kill -CONT "$first" 2> /dev/null
  until_true is_gone "$first" || kill -KILL "$first"
  wait "$first"
  status=$?
  [ "$status" = 7 ] || [ "$status" = 0 ] || wrong "the first one: exit $status"
  [ "$asked_at" = 2 ] || same 'it leaves when it is asked' "$status" 7
  wait "$second"
  kills=1
  check_end
}

count() # GROUP: how many there are in an undisturbed run
{
  clean_sheet
  run_backend "count $1"
  grep -c . "$dir/walk.log"
}

every() # GROUP [STEP [COUNT]]: one line per case
{
  local n last=${3-}
  [ -n "$last" ] || last=$(count "$1")
  for ((n = 1; n <= last; n += ${2:-1})); do
    printf '%s %s before\n%s %s after\n' "$1" "$n" "$1" "$n"
  done
}

pairs() # STEP
{
  local n m last
  last=$(count journal)
  for ((n = 1; n <= last; n += $1)); do
    for ((m = 1; m <= last; m += $1)); do
      printf 'journal %s before %s after\n' "$n" "$m"
      printf 'journal %s after %s before\n' "$n" "$m"
    done
  done
}

make_bundle
learn_expected
every journal > "$dir/journal"
every result > "$dir/result"
pairs "$([ -n "$all" ] && echo 1 || echo 4)" > "$dir/pairs"
[ -z "$all" ] || every file > "$dir/file"
in_parallel 'killed at a write of the journal' once < "$dir/journal"
in_parallel 'killed when a result is stored or dropped' once < "$dir/result"
in_parallel 'killed twice' twice < "$dir/pairs"
[ -z "$all" ] || in_parallel 'killed at any step on disk' once < "$dir/file"
by() { if [ -n "$all" ]; then echo "$2"; else echo "$1"; fi; } # COARSE FINE

every journal "$(by 3 1)" > "$dir/journal"
in_parallel 'a second backend comes' two_backends < "$dir/journal"

accept
for group in journal ${all:+file}; do
  count_handed "$group"
  every "$group" 1 "$of_backend" > "$dir/backend"
  every "$group" "$(by 3 1)" "$of_daemon" > "$dir/daemon"
  in_parallel "killed at a $group step, docextractd runs" handing_over \
    < "$dir/backend"
  in_parallel "docextractd is killed at a $group step" handed_over \
    < "$dir/daemon"
done
