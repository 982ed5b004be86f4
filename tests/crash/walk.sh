#!/usr/bin/env bash
#
# walk.sh - kill -9 before and after the n-th write of the journal, for all n,
# of the backend and of docextractd. The backend is run again, as cupsd would;
# docextractd is started again, as systemd would, and the backend that attends
# is not affected. In the end, no document is lost or sent twice. The same
# applies when a second backend is started for the job.
#
# Jobs that fail and are released or retried, that are canceled, or expire, and
# those with an OnResult, are walked only at the writes of the journal.
#
# Before and after every second step is enough to meet each state: between any
# two steps, either after the first or before the second.
#
#   walk.sh         each state of the journal and of the results, of a job that
#                   is waited for; of the other jobs, some; some pairs
#   walk.sh --all   before and after every step on disk, every pair; of a job
#                   whose print job ends first, every second step on disk
. "$(dirname "$0")/lib.sh"

all=
[ "${1-}" != --all ] || all=1
by() { if [ -n "$all" ]; then echo "$2"; else echo "$1"; fi; } # COARSE FINE

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
  start_walked_daemon
  killed_at "$@"
  run_to_the_end
  check_end
}

# docextractd is killed at a step, and again at a step after that.
daemon_once() # GROUP N before|after [N before|after]
{
  local plan="kill $1 $2 $3" first
  begin_scene "$plan"
  $scene &
  first=$!
  until_true is_killed_or_over "$first" || wrong "it does nothing: $(journal)"
  while is_killed; do
    kills=$((kills + 1))
    wait "$DAEMON_PID"
    facts
    ends_are_told
    was_final
    remember
    plan=${4:+"kill $1 $4 $5"}
    set -- "$1" "$2" "$3"
    start_daemon_of_scene "$plan"
    until_true is_killed_or_over "$first" || wrong "it stays: $(journal)"
  done
  wait "$first"
  check_end
} 2> /dev/null # bash would report every kill
is_killed_or_over() { is_killed || is_gone "$1"; }

# Both are killed: the backend at a step, docextractd at once.
both() # GROUP N before|after
{
  start_walked_daemon
  killed_at "$@"
  stop_daemon KILL
  kills=$((kills + 1))
  start_walked_daemon
  run_to_the_end
  check_end
} 2> /dev/null

stopped_or_gone() { happened stopped "$dir/first.log" || is_gone "$first"; }

# cupsd was killed, and the one that was started again runs a second backend
# for the job while the first one is at a step.
two_backends() # GROUP N before|after
{
  local first status
  start_walked_daemon
  rm -f "$dir/first.log"
  print_it 0 "stop $*" "$dir/first.log" > "$dir/first.out" \
    2> "$dir/first.err" &
  first=$!
  until_true stopped_or_gone
  run_to_the_end
  kill -CONT "$first" 2> /dev/null
  until_true is_gone "$first" || kill -KILL "$first"
  wait "$first"
  status=$?
  [ "$status" = 7 ] || [ "$status" = 0 ] || wrong "the first one: exit $status"
  until_true is_finished || wrong "the first one is over: $(journal)"
  kills=1
  check_end
} 2> /dev/null

every() # GROUP COUNT [STEP]: one line per case
{
  local n
  for ((n = 1; n <= $2; n += ${3:-1})); do
    printf '%s %s before\n%s %s after\n' "$1" "$n" "$1" "$n"
  done
}

pairs() # STEP
{
  local n m
  for ((n = 1; n <= of_daemon; n += $1)); do
    for ((m = 1; m <= of_daemon - n; m += $1)); do
      printf 'journal %s before %s after\n' "$n" "$m"
      printf 'journal %s after %s before\n' "$n" "$m"
    done
  done
}

walk() # HOW STEP [STEP OF docextractd IN ALL FILES]
{
  local group step
  for group in journal result ${all:+file}; do
    step=$2
    [ "$group" != file ] || step=${3-1}
    count "$group"
    every "$group" "$of_backend" > "$dir/backend"
    every "$group" "$of_daemon" "$step" > "$dir/daemon"
    [ "$of_backend" = 0 ] ||
      in_parallel "$1: the backend is killed at a $group step" once \
        < "$dir/backend"
    in_parallel "$1: docextractd is killed at a $group step" daemon_once \
      < "$dir/daemon"
  done
}

act() # SCENE TEXT STEP
{
  scene=$1
  learn
  count journal
  every journal "$of_daemon" "$(by "$3" 1)" > "$dir/daemon"
  in_parallel "$2: docextractd is killed at a journal step" daemon_once \
    < "$dir/daemon"
}

make_bundle
learn_expected
walk 'the job is waited for' "$(by 2 1)"
count journal
pairs "$(by 5 1)" > "$dir/pairs"
in_parallel 'docextractd is killed twice' daemon_once < "$dir/pairs"
count file
every file "$of_backend" "$(by 7 1)" > "$dir/backend"
in_parallel 'both are killed' both < "$dir/backend"
in_parallel 'a second backend comes' two_backends < "$dir/backend"
accept
walk 'the print job ends first' "$(by 4 1)" 2

extracted=$expected_found
act canceled 'the job is canceled' 4
configure
act released 'the job fails, and is released' 6
is 'released, it is as if it had not failed' "$expected_found" "$extracted"
act retried 'the job fails, and is retried' 6
is 'retried, it is as if it had not failed' "$expected_found" "$extracted"
act expired 'the job has failed, and expires' 1
cat > "$dir/on-result" << 'END'
#!/bin/sh
echo "$(basename "$1")" >> "$(dirname "$1")/../hooks"
END
chmod 755 "$dir/on-result"
configure "OnResult $dir/on-result"
act hooked 'OnResult is run' 4
