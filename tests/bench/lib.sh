# lib.sh - what the benchmarks share: a simulator, a configuration, bundles,
# and the backend run as cupsd would. To be sourced by bash. A benchmark
# prints one line of JSON with ours and the alternative from the same run; it
# never fails because something was slow.
set -eu

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$bench/../.." && pwd)
build=${DX_BUILD:-$top}
helpers=$build/tests/bench
dir=$(mktemp -d "${TMPDIR:-/tmp}/dx-bench.XXXXXX")
results=$dir/spool/results
sim_pid=
export LC_ALL=C.UTF-8
unset CUPS_SERVER
export CUPS_SERVERROOT=$dir DEVICE_URI=docextract://default

finish()
{
  if [ -n "$sim_pid" ]; then
    kill "$sim_pid" 2> /dev/null || true
    wait "$sim_pid" 2> /dev/null || true
  fi
  rm -rf "$dir"
}
trap finish EXIT
mkdir -m 700 "$dir/spool"
(umask 077 && echo bench-token > "$dir/token")

sim_is_up_or_gone() { [ -e "$dir/ready" ] || ! kill -0 "$sim_pid" 2> /dev/null; }

start_sim() # [OPTION...]: sets api
{
  "$build/docextract-sim" --port 0 --storage-port 0 --rate 0 \
    --ready-file "$dir/ready" --data-dir "$dir/data" \
    --token-file "$dir/token" "$@" 2> "$dir/sim.err" &
  sim_pid=$!
  until sim_is_up_or_gone; do sleep 0.02; done
  api=$(sed -n 's/^api //p' "$dir/ready")
}

# Writes the configuration; without a URL its last lines are left to others.
configure() # [URL]
{
  (
    umask 077
    printf 'SpoolDir %s\n<Service default>\nToken file\nTokenFile %s\n' \
      "$dir/spool" "$dir/token" > "$dir/docextract.conf"
    [ -z "${1-}" ] || printf 'BaseURL %s\n</Service>\n' "$1" \
      >> "$dir/docextract.conf"
  )
}

bundle() # FILE TYPE: what the filter would write
{
  printf 'DOCEXTRACT-BUNDLE 1\nKind: document\nType: %s\nOrigin: %s\n' \
    "$2" "$2"
  printf 'Name: bench\nPages: 1\nGrouping: separate\nLength: %s\n' \
    "$(stat -c %s "$1")"
  printf 'SHA-256: %s\n\n' "$(sha256sum "$1" | cut -d ' ' -f 1)"
  cat "$1"
}

# A picture of so many MiB; the simulator does not look into pictures.
picture() # FILE MIB
{
  printf '\x89PNG\r\n\x1a\n' > "$1"
  head -c "$2M" /dev/urandom | dd of="$1" conv=notrunc bs=1M seek=1 \
    oflag=seek_bytes status=none
  truncate -s "$2M" "$1"
}

backend=$build/backend/docextract
# Its arguments; the number makes it another job.
arguments() # N
{
  printf '%s\n' "$1" user title 1 "job-uuid=urn:uuid:bench-$1"
}

# Runs the backend with a bundle; its messages go to $dir/backend.err, its
# costs (see measure.c) are printed.
run_backend() # N FILE TYPE
{
  local a
  mapfile -t a < <(arguments "$1")
  if ! bundle "$2" "$3" | "$helpers/measure" "$dir/cost" "$backend" "${a[@]}" \
    2> "$dir/backend.err"; then
    cat "$dir/backend.err" >&2
    return 1
  fi
  cat "$dir/cost"
}

median() # numbers on stdin, one a line
{
  sort -g | awk '{ v[NR] = $1 } END {
    printf "%.3f\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
  }'
}

divide() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }
