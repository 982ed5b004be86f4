#!/usr/bin/env bash
#
# run.sh - all benchmarks in one table, about half an hour. Needs curl, jq, gs,
# qpdf, 2 GiB of free space in TMPDIR and 1 GiB of memory in /dev/shm; strace
# for system calls; perf for the processor time of processes that end. lib.sh
# says how the figures are made; nothing here is a test. Finds the programs in
# $DX_BUILD (default: the top of the tree); `make bench` builds and runs.
set -u

here=$(cd "$(dirname "$0")" && pwd)
tmp=${TMPDIR:-/var/tmp}

# ext4 without a journal, as on many virtual machines, searches long for an
# inode that was not deleted lately.
file_system()
{
  local device type
  read -r device type < <(df --output=source,fstype "$tmp" | tail -1)
  device=$(readlink -f "$device")
  case $type in
  ext4) [ -d "/proc/fs/jbd2/${device##*/}-8" ] || type+=' without a journal' ;;
  esac
  echo "$type"
}

printf 'docextract benchmarks, %s\n' "$(date -u '+%F %R UTC')"
printf '%s x %s, %s MiB, Linux %s\n' "$(nproc)" \
  "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1)" \
  "$(($(sed -n 's/^MemTotal: *\([0-9]*\) .*/\1/p' /proc/meminfo) / 1024))" \
  "$(uname -r)"
printf '%s: %s; %s, %s, %s\n\n' "$tmp" "$(file_system)" \
  "$(curl --version | cut -d ' ' -f 1,2 | head -1)" "$(jq --version)" \
  "$(qpdf --version | head -1)"

export DX_BENCH_HEADING=
status=0
for name in throughput large cpu first_byte first_call many waiting hospital queue thousand \
  disk filter lag hosts outages; do
  "$here/$name.sh" || {
    echo "bench: $name could not be measured" >&2
    status=1
  }
  DX_BENCH_HEADING=printed
done
exit "$status"
