#!/usr/bin/env bash
#
# walk.sh - kill -9 before and after the n-th write of the journal, for all n;
# then the job is run again, as cupsd would, and must end as if nothing had
# happened: nothing lost, nothing sent twice.
#
#   walk.sh         the journal, the results, and some pairs of kills
#   walk.sh --all   every step on disk, and every pair
. "$(dirname "$0")/lib.sh"

all=
[ "${1-}" != --all ] || all=1

killed_at() # GROUP N before|after
{
  run_backend "kill $*"
  if happened killed; then
    kills=$((kills + 1))
  else # it took fewer steps than the run that was counted
    same 'it ends well when it is not killed' "$status" 0
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

count() # GROUP: how many there are in an undisturbed run
{
  clean_sheet
  run_backend "count $1"
  grep -c . "$dir/walk.log"
}

every() # GROUP: one line a case
{
  local n last
  last=$(count "$1")
  for ((n = 1; n <= last; n++)); do
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
