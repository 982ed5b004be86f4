#!/usr/bin/env bash
#
# power.sh - the power fails before or after the n-th operation on disk, or
# request, of the backend and docextractd together, for all n; and again while
# they recover. What was not fsynced is lost, in one of three ways (power-cut).
# The service keeps what it got, and cupsd runs the backend again if it had not
# succeeded. In the end it is as if nothing had happened: nothing lost, nothing
# sent twice.
#
#   power.sh         some of the operations, some pairs
#   power.sh --all   every operation, more pairs; of a job whose print job ends
#                    first, fewer kinds and pairs
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
all=
[ "${1-}" != --all ] || all=1

# What power-cut has to know about the spool before anything is done.
keep_base()
{
  rm -rf "$dir"/ops*
  find "$spool" -printf '%i %m %y %P\n' > "$dir/ops.base"
  cp -a "$spool" "$dir/ops.files"
}

power_is_off() { contains_line "$dir/ops" cut; }
off_or_finished() { power_is_off || is_finished; }

# Until the power fails, or until all is done. A backend that has succeeded is
# not run again.
run_until() # N before|after
{
  keep_base
  start_walked_daemon "cut $*" "$dir/ops"
  if ! power_is_off && [ "$status" != 0 ]; then
    (print_it $((60 * slowest)) "cut $*" "$dir/ops") \
      > "$dir/out" 2> "$dir/err"
    status=$?
  fi
  until_true off_or_finished || wrong "it stops before that: $(journal)"
  # Not while it writes a line of the log.
  power_is_off || flock "$dir/ops" kill -KILL "$DAEMON_PID"
  stop_daemon KILL
} 2> /dev/null # bash would report every kill

# Consumers have seen what there was.
lose() # fsynced|removed|named
{
  kills=$((kills + 1))
  mkdir -p "$dir/seen"
  cp -an "$results/." "$dir/seen" 2> /dev/null
  rm -rf "$dir/lost"
  mv "$spool" "$dir/lost"
  owned_dir 700 "$spool"
  (as_run_user "$here/power-cut" "$dir/ops" "$dir/lost" "$1" "$spool") \
    > "$dir/power-cut.out" 2>&1 ||
    wrong "the log is complete: $(tail -n 1 "$dir/power-cut.out")"
}

power_fails() # [N before|after fsynced|removed|named]...
{
  status=none
  while [ $# -gt 0 ]; do
    run_until "$1" "$2"
    lose "$3"
    shift 3
  done
  start_walked_daemon
  if [ "$status" = 0 ]; then
    until_true is_finished || wrong "what was accepted is lost: $(journal)"
  else
    run_to_the_end
  fi
  check_end
}

# The kinds of cases take turns.
kinds=('before fsynced' 'after removed' 'before named'
  'after fsynced' 'before removed' 'after named')

each() # STEP: 1 is four cases for each operation
{
  local n
  for ((n = 0; n < 4 * steps; n += $1)); do
    echo "$((n / 4 + 1)) ${kinds[n % 6]}"
  done
}

pairs() # STEP
{
  local n m i=0
  for ((n = $1 / 2; n <= steps; n += $1)); do
    for ((m = $1 / 2; m <= steps - n + 40; m += $1, i++)); do
      echo "$n ${kinds[i % 6]} $m ${kinds[i / 6 % 6]}"
    done
  done
}

by() { if [ -n "$all" ]; then echo "$2"; else echo "$1"; fi; } # COARSE FINE

walk() # HOW STEP STEP-OF-PAIRS
{
  clean_sheet
  status=none
  run_until 0 after
  steps=$(tail -n 1 "$dir/ops" | cut -d ' ' -f 1)
  has "$1: there are many operations" "$steps" '^[1-9][0-9][0-9]$'
  each "$2" > "$dir/cases"
  in_parallel "$1: the power fails" power_fails < "$dir/cases"
  pairs "$3" > "$dir/cases"
  in_parallel "$1: the power fails twice" power_fails < "$dir/cases"
}

make_bundle
learn_expected
walk 'the job is waited for' "$(by 29 1)" "$(by 60 9)"
accept
walk 'the print job ends first' "$(by 29 4)" "$(by 60 18)"
