# lib.sh - what the benchmarks share: a simulator, a configuration, bundles,
# the backend run as cupsd would run it, and the rows of the table. To be
# sourced by bash.
#
# How a figure is measured, so that it can be trusted:
# - ours and the alternative take turns, in one run of one script;
# - sync comes before each of them, so that neither pays for what the other has
#   written;
# - a row shows minimum, median and maximum of both, and the load average;
# - the ratio is the median of the ratios of neighbors, ours by theirs.
# A benchmark measures and never judges: it does not fail because something
# was slow.
set -eu

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$bench/../.." && pwd)
build=${DX_BUILD:-$top}
. "$bench/size.sh"
. "$top/tests/helper/wait.sh"
. "$top/tests/helper/picture.sh"
helpers=$build/tests/bench
backend=$build/backend/docextract
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-bench.XXXXXX")
results=$dir/spool/results
memory= # a directory without a disk
sim_pid=
daemon_pid=
export LC_ALL=C.UTF-8
unset CUPS_SERVER
# In a directory of its own, because docextractd looks at every change there.
mkdir "$dir/etc"
config=$dir/etc/docextract.conf
export CUPS_SERVERROOT=$dir/etc DEVICE_URI=docextract://default

stop_sim()
{
  [ -n "$sim_pid" ] || return 0
  kill "$sim_pid" 2> /dev/null || true
  wait "$sim_pid" 2> /dev/null || true
  sim_pid=
}

finish()
{
  stop_daemon
  stop_sim
  rm -rf "$dir" ${memory:+"$memory"}
}
trap finish EXIT
(umask 077 && echo bench-token > "$dir/token")

# ---- the table ----

# Samples are files with one number per line. Without an alternative: "-".
row() # WHAT UNIT OURS THEIRS ALTERNATIVE AIM
{
  local theirs=$4
  [ "$theirs" != - ] || theirs=/dev/null
  awk -v what="$1" -v unit="$2" -v name="$5" -v aim="$6" \
    -v busy="$(cut -d ' ' -f 1 /proc/loadavg)" '
    function digits(x) { return x < 0.995 ? 3 : x < 9.95 ? 2 : x < 99.5 ? 1 : 0 }
    function text(x) { return sprintf("%.*f", digits(x), x) }
    function sorted(from, n, to,   i, k, x) {
      for (i = 1; i <= n; i++) {
        x = from[i]
        for (k = i - 1; k > 0 && to[k] > x; k--) to[k + 1] = to[k]
        to[k + 1] = x
      }
    }
    function median(v, n) {
      return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
    }
    function three(from, n,   v) {
      if (n == 0) return sprintf("%8s%8s%8s", "", "-", "")
      sorted(from, n, v)
      return sprintf("%8s%8s%8s", text(v[1]), text(median(v, n)), text(v[n]))
    }
    FILENAME == ARGV[1] { ours[++n] = $1; next }
    { theirs[++m] = $1 }
    END {
      for (i = 1; i <= n && i <= m && theirs[i] != 0; i++)
        ratios[i] = ours[i] / theirs[i]
      sorted(ratios, i - 1, r)
      printf "%-30s%5s%s%s%8s %-8s%5s  %s\n", what, unit, three(ours, n),
        three(theirs, m), (i > 1 ? text(median(r, i - 1)) : "-"), aim, busy, name
    }' "$3" "$theirs"
}

heading()
{
  printf '%-35s%24s%24s%8s %-8s%5s  %s\n' '' 'ours: min median max' \
    'theirs: min median max' ratio aim load theirs
}

# What run.sh has printed already is not printed again.
[ -n "${DX_BENCH_HEADING-}" ] || heading

# ---- what is measured ----

# Makes a directory in memory; false if less than this size is available.
make_memory() # MIB
{
  [ "$(df --output=fstype /dev/shm 2> /dev/null | tail -1)" = tmpfs ] &&
    [ "$(df -m --output=avail /dev/shm | tail -1)" -gt "$1" ] &&
    memory=$(mktemp -d /dev/shm/dx-bench.XXXXXX)
}

sim_is_up_or_gone() { [ -e "$dir/ready" ] || ! kill -0 "$sim_pid" 2> /dev/null; }

# Keeps uploads in memory, if there is enough, so that the benchmark does not
# measure the disk of the storage.
start_sim() # [OPTION...]: sets api and data
{
  make_memory 1024 || true
  data=${memory:-$dir}/data
  rm -f "$dir/ready"
  "$build/docextract-sim" --port 0 --storage-port 0 --rate 0 \
    --ready-file "$dir/ready" --data-dir "$data" \
    --token-file "$dir/token" "$@" 2> "$dir/sim.err" &
  sim_pid=$!
  until sim_is_up_or_gone; do sleep 0.02; done
  api=$(sed -n 's/^api //p' "$dir/ready")
}

# Writes the configuration for an empty spool; without a URL its last lines are
# left for others to add.
configure() # SPOOL [URL]
{
  rm -rf "$1"
  mkdir -m 700 "$1"
  (
    umask 077
    printf 'SpoolDir %s\nStatusSocket %s\n' "$1" "$dir/status" > "$config"
    printf '<Service default>\nToken file\nTokenFile %s\n' "$dir/token" \
      >> "$config"
    [ -z "${2-}" ] || printf 'BaseURL %s\n</Service>\n' "$2" \
      >> "$config"
  )
}

# docextractd, with the configuration as it is now, and the options of the
# service, unless $verbose is --verbose. Everything it prints is in daemon.log.
daemon_is_up_or_gone()
{
  grep -qx ready "$dir/daemon.log" || ! kill -0 "$daemon_pid" 2> /dev/null
}
start_daemon() # [COMMAND BEFORE IT...]
{
  : > "$dir/daemon.log"
  # shellcheck disable=SC2086
  "$@" "$build/daemon/docextractd" ${verbose-} -c "$config" \
    > "$dir/daemon.log" 2>&1 &
  daemon_pid=$!
  until daemon_is_up_or_gone; do sleep 0.02; done
}
stop_daemon()
{
  [ -n "$daemon_pid" ] || return 0
  kill "$daemon_pid" 2> /dev/null || true
  wait "$daemon_pid" 2> /dev/null || true
  daemon_pid=
}
daemon_cpu() { awk '{ print $1 / 1e6 }' "/proc/$daemon_pid/schedstat"; } # ms
# The process of the status socket.
status_pid() { cut -d ' ' -f 1 "/proc/$daemon_pid/task/$daemon_pid/children"; }
# "CHARACTERS BLOCKS": what it has passed to write(), and what goes to the disk.
daemon_wrote_mib()
{
  awk '{ v[$1] = $2 / 1048576 } END { print v["wchar:"], v["write_bytes:"] }' \
    "/proc/$daemon_pid/io"
}
daemon_peak_mib()
{
  awk '$1 == "VmHWM:" { print $2 / 1024 }' "/proc/$daemon_pid/status"
}
difference() { awk -v a="$1" -v b="$2" 'BEGIN { print b - a }'; }

header() { entry_header "$1" "$2" bench; } # FILE TYPE

# The arguments of a print job; the number makes it another job.
arguments() # N
{
  printf '%s\n' "$1" user title 1 "job-uuid=urn:uuid:bench-$1"
}

# Syncs first: what was written before is on the disk before we begin.
# Writes "WALL_MS CPU_MS PEAK_KIB" (measure.c) to $dir/cost.
measured() # COMMAND...
{
  sync
  began=$(date +%s.%N)
  "$helpers/measure" "$dir/cost" "$@"
}

# The backend with a bundle on its stdin, which is a pipe, as from a filter.
run_backend() # N HEADER DOCUMENT
{
  local a
  mapfile -t a < <(arguments "$1")
  sync
  began=$(date +%s.%N)
  if ! cat "$2" "$3" |
    "$build/tests/helper/sealed" "$helpers/measure" "$dir/cost" \
      "$backend" "${a[@]}" 2> "$dir/backend.err"
  then
    cat "$dir/backend.err" >&2
    return 1
  fi
}

run_script() # DOCUMENT TYPE
{
  mkdir -p "$dir/script-results"
  measured bash "$bench/curl-jq.sh" "$api" "$dir/token" "$1" "$2" \
    "$dir/script-results"
}

# From the beginning of the measurement until the newest result is in its place.
result_ms() # DIRECTORY
{
  find "$1" -name '*.json' ! -name '*.job.json' -printf '%C@\n' | sort -g |
    tail -1 | awk -v began="$began" '{ print ($1 - began) * 1000 }'
}

wall() { cut -d ' ' -f 1 "$dir/cost"; }
cpu() { cut -d ' ' -f 2 "$dir/cost"; }
peak_mib() { awk '{ print $3 / 1024 }' "$dir/cost"; }

forget_uploads() { find "$data" -type f -delete; }
