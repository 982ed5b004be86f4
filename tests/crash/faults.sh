#!/usr/bin/env bash
#
# faults.sh - the n-th write, fsync, rename, open, mkdir, remove, or allocation
# of the backend fails, for all n. It may continue, or end so that cupsd runs it
# again; it reports what is wrong, leaves nothing half-written, and when the
# fault is gone every document is extracted once.
#
# The same with docextractd, in the backend that hands over and in docextractd,
# which goes on by itself.
#
#   faults.sh         some calls of every family
#   faults.sh --all   every call; of allocations that are alike, one
. "$(dirname "$0")/lib.sh"

all=
[ "${1-}" != --all ] || all=1

# What an administrator reads about an error, in the words of the C library.
words_of() # ERROR
{
  case $1 in
  ENOSPC) echo 'No space left on device' ;;
  EDQUOT) echo 'Disk quota exceeded' ;;
  EROFS) echo 'Read-only file system' ;;
  EACCES) echo 'Permission denied' ;;
  EMFILE) echo 'Too many open files' ;;
  EIO) echo 'Input/output error' ;;
  ENOMEM) echo 'out of memory' ;;
  esac
}

# 0: it continued. 7: cupsd runs it again. 4: the queue stops, because only an
# administrator can fix it.
ends_well() # ERROR
{
  case $status in
  0) ;;
  7) says_why "$1" ;;
  4) [ "$1" = EACCES ] && says_why "$1" ;;
  *) false ;;
  esac
}

says_why()
{
  grep -q '^ERROR: The administrator has to look at this: ' "$dir/err" &&
    grep -q "^WARNING: E_[A-Z]*: .*$(words_of "$1")" "$dir/err" &&
    ! grep '^WARNING: E_SPACE: ' "$dir/err" | grep -Evq "$says_where"
}
# Of a full disk: where it is, and what to do.
says_where="'$dir/.*: ($(words_of ENOSPC)|$(words_of EDQUOT)); free space \
there, and it goes on by itself; nothing is lost\$"

# AT is the journal write at which an earlier run was killed; 0: none.
begin() # AT
{
  [ "$1" = 0 ] || run_backend "kill journal $1 after"
  [ "$1" = 0 ] || kills=$((kills + 1))
  remember
}

fails() # GROUP N COUNT ERROR AT
{
  begin "$5"
  run_backend "fail $1 $2 $3 $4"
  if ! happened failed; then
    same 'it succeeds when nothing fails' "$status" 0
    return
  fi
  kills=$((kills + 1))
  ends_well "$4" || wrong "exit $status at $(step): $(grep ERROR "$dir/err")"
  same 'it prints no secrets' "$(printed_secrets)" ''
  [ "$1" = remove ] ||
    same 'nothing half-written is left to consumers' "$(hidden)" ''
  was_final
  remember
  run_to_the_end
  check_end
}

# docextractd runs, but takes the job only after the test has looked at it.
fails_handing_over() # GROUP N COUNT ERROR
{
  start_walked_daemon
  kill -STOP "$DAEMON_PID"
  run_backend "fail $*"
  local expected_journal=$expected_journal
  if is_finished && [[ $(step) = *docextractd.lock* ]]; then
    # It could not look for docextractd, and went on without it.
    expected_journal=${expected_journal/'"collector"'/'"cups"'}
    same 'it has ended well' "$status" 0
  elif [[ $(journal) = *collector* ]]; then
    same "what is docextractd's has ended for cupsd" "$status" 0
  else
    [ "$status" != 0 ] || wrong "it has ended and is not docextractd's"
  fi
  kill -CONT "$DAEMON_PID"
  if happened failed; then
    kills=$((kills + 1))
    ends_well "$4" || wrong "exit $status at $(step): $(grep ERROR "$dir/err")"
  fi
  run_to_the_end
  check_end
}

fails_in_daemon() # GROUP N COUNT ERROR
{
  start_walked_daemon "fail $*"
  if is_gone "$DAEMON_PID"; then # systemd starts it again
    same 'it says why it does not start' \
      "$(grep -c "$(words_of "$4")" "$dir/daemon.new")" 1
    start_walked_daemon
  fi
  run_backend
  same 'the print job ends' "$status" 0
  until_true is_finished || wrong "docextractd does not go on: $(journal)"
  ! happened failed "$dir/daemon.log" || kills=$((kills + 1))
  check_end
}

step() # what failed, and where in the program
{
  grep -B 1 -m 1 -x failed "$dir/walk.log" | head -n 1
}

count() # GROUP AT: how many there are in an undisturbed run
{
  clean_sheet
  begin "$2"
  run_backend "count $1"
  grep -c . "$dir/walk.log"
}

# Of allocations that are alike, one fails: one for each call path that no walk
# has taken yet, and one for each place in the program and state in the journal.
new_ones() # their numbers in the last count
{
  awk -v file="$dir/paths" '
    BEGIN { while ((getline path < file) > 0) paths[path]; close(file) }
    { split($3, at, "/")
      if (!((at[1], $4) in places) || !(at[2] in paths)) print $1
      places[at[1], $4]; paths[at[2]] }
    END { for (path in paths) print path > file }' "$dir/walk.log"
}

walk() # TEXT GROUP STEP|new COUNT ERROR [AT]
{
  local n last
  last=$(count "$2" "${6:-0}")
  for n in $(if [ "$3" = new ]; then new_ones; else seq 1 "$3" "$last"; fi); do
    echo "$2 $n $4 $5 ${6:-0}"
  done > "$dir/list"
  in_parallel "$1" fails < "$dir/list"
}

make_bundle
learn_expected
by() { if [ -n "$all" ]; then echo "$2"; else echo "$1"; fi; } # COARSE FINE

walk 'a write fails, the disk is full' write "$(by 3 1)" 1 ENOSPC
walk 'writes fail for a while' write "$(by 5 1)" 4 ENOSPC
walk 'an fsync fails' fsync "$(by 2 1)" 1 EIO
walk 'a rename fails' rename 1 1 EDQUOT
walk 'a file is not opened' open "$(by 2 1)" 1 EMFILE
walk 'a directory is not made' mkdir 1 1 EROFS
walk 'a file is not removed' remove 1 1 EACCES
walk 'memory is out' memory "$(by 60 new)" 1 ENOMEM
for at in ${all:+4 6} 8; do
  walk "a write fails after a kill at $at" write "$(by 5 1)" 1 ENOSPC "$at"
  walk "a file is not opened after a kill at $at" open "$(by 3 1)" 1 EMFILE \
    "$at"
  walk "memory is out after a kill at $at" memory "$(by 60 new)" 1 ENOMEM "$at"
done

accept
handed() # TEXT GROUP STEP OF DOCEXTRACTD, COUNT ERROR
{
  local n
  count_handed "$2"
  for ((n = 1; n <= of_backend; n += $4)); do
    echo "$2 $n $4 $5"
  done > "$dir/list"
  in_parallel "$1 of a backend that hands over" fails_handing_over \
    < "$dir/list"
  for ((n = 1; n <= of_daemon; n += $3)); do
    echo "$2 $n $4 $5"
  done > "$dir/list"
  in_parallel "$1 of docextractd" fails_in_daemon < "$dir/list"
}
handed 'an fsync fails' fsync "$(by 5 1)" 1 EIO
handed 'a rename fails' rename "$(by 3 1)" 1 EDQUOT
handed 'writes fail for a while' write "$(by 8 1)" 4 ENOSPC
[ -z "$all" ] || handed 'a file is not removed' remove 1 1 EACCES
[ -z "$all" ] || handed 'a file is not opened' open 1 1 EMFILE
