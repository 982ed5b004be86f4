#!/usr/bin/env bash
#
# faults.sh - the n-th write, fsync, rename, open, mkdir, remove, or allocation
# of the backend or of docextractd fails, for all n; or all of them fail from
# the n-th on, until the fault ends. The backend continues, or exits so that
# cupsd runs it again. docextractd continues, or exits so that systemd starts it
# again, and the backend that attends is not affected. Both report the error and
# leave no partial files. After the fault ends, every document is extracted once.
#
#   faults.sh         some calls of every family
#   faults.sh --all   every call, with one error each; of allocations that are
#                     alike, one; some calls of a job whose print job ends first
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

# 0: it continued. 7: cupsd runs it again. It never stops the queue (4).
ends_well() # ERROR
{
  case $status in
  0) ;;
  7) says_why "$1" ;;
  *) false ;;
  esac
}

says_why()
{
  grep -q '^ERROR: Contact your administrator: ' "$dir/err" &&
    grep -q "^WARNING: E_[A-Z]*: .*$(words_of "$1")" "$dir/err" &&
    ! grep '^WARNING: E_SPACE: ' "$dir/err" | grep -Evq "$says_where"
}
# Of a full disk: where it is, and what to do.
says_where="'$dir/.*: ($(words_of ENOSPC)|$(words_of EDQUOT)); free space \
there; the job then resumes automatically\$"

fails() # GROUP N COUNT ERROR
{
  start_walked_daemon
  run_backend "fail $*"
  if ! happened failed; then
    same 'it succeeds when nothing fails' "$status" 0
    return
  fi
  kills=$((kills + 1))
  ends_well "$4" || wrong "exit $status at $(step): $(grep ERROR "$dir/err")"
  same 'it prints no secrets' "$(printed_secrets)" ''
  if [ "$3" = "$long" ]; then
    run_backend "fail $1 1 $3 $4"
    ends_well "$4" || wrong "exit $status again: $(grep ERROR "$dir/err")"
  fi
  was_final
  remember
  run_to_the_end
  check_end
}

daemon_is_gone() { is_gone "$DAEMON_PID"; }
gone_or_over() { daemon_is_gone || is_gone "$1"; }

fails_in_daemon() # GROUP N COUNT ERROR
{
  local first lost_puts=0
  [ "$1" != memory ] || lost_puts=1 # libcurl, without memory for a response
  start_walked_daemon "fail $*"
  run_to_the_end 1 &
  first=$!
  until_true gone_or_over "$first" || wrong "it does not go on: $(journal)"
  if daemon_is_gone && happened failed "$dir/daemon.log"; then
    same 'it says why it ends' \
      "$(grep -c "$(words_of "$4")" "$dir/daemon.new")" 1
    kills=$((kills + 1))
    if [ "$3" = "$long" ]; then
      start_walked_daemon "fail $1 1 $3 $4"
      daemon_is_gone || until_true happened failed "$dir/daemon.log"
      stop_daemon
    fi
    start_walked_daemon
  fi
  wait "$first"
  if happened failed "$dir/daemon.log"; then
    kills=$((kills + 1))
    [ "$3" = 1 ] || grep -q "$(words_of "$4")" "$dir/daemon.new" ||
      wrong "it logs why it waits: $(tail -n 3 "$dir/daemon.new")"
  fi
  same 'it logs no secrets' "$(grep -aE "$secrets" "$dir/daemon.new")" ''
  same 'the backend prints no secrets' "$(printed_secrets)" ''
  check_end
} 2> /dev/null

step() # what failed, and where in the program
{
  grep -B 1 -m 1 -x failed "$dir/walk.log" | head -n 1
}

# Of allocations that are alike, one fails: one for each call path that no walk
# has taken yet, and one for each place in the program and state in the journal.
new_ones() # LOG: their numbers
{
  awk -v file="$dir/paths" '
    BEGIN { while ((getline path < file) > 0) paths[path]; close(file) }
    { split($3, at, "/")
      if (!((at[1], $4) in places) || !(at[2] in paths)) print $1
      places[at[1], $4]; paths[at[2]] }
    END { for (path in paths) print path > file }' "$1"
}

cases() # LOG GROUP STEP|new COUNT ERROR
{
  local n
  for n in $(if [ "$3" = new ]; then new_ones "$1"; else
    seq 1 "$3" "$(grep -c . "$1")"; fi); do
    echo "$2 $n $4 $5"
  done
}

walk() # TEXT GROUP STEP|new COUNT ERROR
{
  count "$2"
  cases "$dir/walk.log" "${@:2}" > "$dir/backend"
  cases "$dir/daemon.log" "${@:2}" > "$dir/daemon"
  [ ! -s "$dir/backend" ] || in_parallel "$1: the backend" fails < "$dir/backend"
  [ ! -s "$dir/daemon" ] ||
    in_parallel "$1: docextractd" fails_in_daemon < "$dir/daemon"
}

make_bundle
learn_expected
by() # COARSE FINE
{
  case $all in
  '') echo "$1" ;;
  half) echo $((($1 + 1) / 2)) ;;
  *) echo "$2" ;;
  esac
}

# How many calls fail when a fault lasts.
long=$(by 8 20)

# Every place fails once; the other errors of the same call are for samples.
every_family()
{
  walk 'a write fails, the disk is full' write "$(by 9 1)" 1 ENOSPC
  walk 'writes fail for a while' write "$(by 14 2)" 4 ENOSPC
  walk 'a write fails, the disk is damaged' write "$(by 14 4)" 1 EIO
  walk 'an fsync fails' fsync "$(by 6 1)" 1 EIO
  walk 'a rename fails, the quota is used up' rename "$(by 4 1)" 1 EDQUOT
  walk 'a rename fails, the disk is full' rename "$(by 9 4)" 1 ENOSPC
  walk 'a file is not opened' open "$(by 12 1)" 1 EMFILE
  walk 'a file is not made, there are no inodes' create "$(by 8 1)" 1 ENOSPC
  walk 'a directory is not made, there are no inodes' mkdir "$(by 5 1)" 1 ENOSPC
  walk 'a file is not removed' remove "$(by 4 1)" 1 EACCES
  walk 'something fails, the disk is read-only' file "$(by 36 4)" 1 EROFS
  walk 'the disk stays full' space "$(by 60 4)" "$long" ENOSPC
  walk 'memory is out' memory "$(by 200 new)" 1 ENOMEM
}
every_family
[ -z "$all" ] || walk 'the disk stays damaged' file 8 "$long" EIO
[ -z "$all" ] || walk 'the disk stays read-only' file 8 "$long" EROFS
accept
if [ -n "$all" ]; then
  all=half
  every_family
else
  walk 'the print job ends first: an fsync fails' fsync 10 1 EIO
  walk 'the print job ends first: a rename fails' rename 9 1 EDQUOT
fi
