#!/usr/bin/env bash
#
# overbooked.sh - the scripts that wait pass on a computer that has too much to
# do: four busy processes for each processor run beside them, and each fsync()
# takes 50 ms longer.
#
#   overbooked.sh [SCRIPT...]    only these; default: all of tests/it
#
#   BUSY=N   that many busy processes
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
cores=$(nproc)
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-overbooked.XXXXXX")
chmod 711 "$dir"
busy=()
leave()
{
  [ ${#busy[@]} = 0 ] || kill "${busy[@]}"
  rm -rf "$dir"
}
trap leave EXIT
trap 'exit 130' INT TERM HUP

# --- a slow disk ---------------------------------------------------------------

cat > "$dir/slow.c" << 'END'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for_disk(void)
{
  const struct timespec ms_50 = {0, 50000000};

  (void)nanosleep(&ms_50, NULL);
}

int fsync(int fd)
{
  wait_for_disk();
  return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
  wait_for_disk();
  return (int)syscall(SYS_fdatasync, fd);
}

int syncfs(int fd)
{
  wait_for_disk();
  return (int)syscall(SYS_syncfs, fd);
}
END
cc -shared -fPIC -O1 -o "$dir/slow.so" "$dir/slow.c" &&
  chmod 755 "$dir/slow.so" || exit
begin=${EPOCHREALTIME/./}
LD_PRELOAD=$dir/slow.so sync -d "$dir/slow.c"
check 'the disk is slow' [ $((${EPOCHREALTIME/./} - begin)) -ge 50000 ]

# --- too much to do --------------------------------------------------------------

for ((i = 0; i < ${BUSY-$((4 * cores))}; i++)); do
  (while :; do :; done) &
  busy+=($!)
done

passes() # SCRIPT
{
  local begin=$SECONDS log=$dir/${1//\//-} status
  LD_PRELOAD=$dir/slow.so timeout -k 60 3600 bash "$1" > "$log" 2>&1 < /dev/null
  status=$?
  if [ $status = 0 ] && ! grep -aq '^# stopped after ' "$log"; then
    echo "ok - $1 ($((SECONDS - begin)) s)"
  else
    echo "not ok - $1 (status $status, $((SECONDS - begin)) s)"
    grep -a -A 3 -e '^not ok' -e '^# stopped after ' "$log" | sed 's/^/#   /'
  fi
}

if [ $# = 0 ]; then
  for script in tests/it/*.sh; do
    [ ! -x "$script" ] || set -- "$@" "$script"
  done
fi
export -f passes
export dir
printf '%s\n' "$@" | xargs -P "$cores" -I SCRIPT bash -c 'passes SCRIPT' |
  tee "$dir/results"
passed=$((passed + $(grep -c '^ok - ' "$dir/results")))
failed=$((failed + $(grep -c '^not ok - ' "$dir/results")))
is 'each script has run' "$(grep -cE '^(not )?ok - ' "$dir/results")" $#
count_is_good
