#!/usr/bin/env bash
#
# many.sh - what grows with the number of jobs and documents, and what should
# not: 100,000 finished jobs lie in the spool, and neither a print job nor
# docextractd takes notice. The alternative is the same with an empty spool.
# Then the system calls and fsyncs of one document, and a job of 500.
. "$(dirname "$0")/lib.sh"

finished=100000
documents=500
preload=$build/tests/crash/preload.so

"$top/tests/it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
header "$dir/a.pdf" application/pdf > "$dir/header"
cat "$dir/header" "$dir/a.pdf" > "$dir/bundle"
start_sim --source-time 0 --case-time 0

use() # SPOOL [URL]: which is kept as it is
{
  (
    umask 077
    printf 'SpoolDir %s\n<Service default>\nMaxDocumentsPerJob %s\n' "$1" \
      "$documents" > "$dir/docextract.conf"
    printf 'Token file\nTokenFile %s\n' "$dir/token" >> "$dir/docextract.conf"
    [ -z "${2-}" ] || printf 'BaseURL %s\n</Service>\n' "$2" \
      >> "$dir/docextract.conf"
  )
}

# One job is extracted; the others are links to its files, which nobody reads:
# if anybody did, the figures would show it.
fill() # SPOOL
{
  use "$1" "$api"
  run_backend 0 "$dir/header" "$dir/a.pdf"
  perl -MFile::Copy -e '
    my ($to, $count) = @ARGV;
    my ($from) = glob "$to/*";
    for my $n (1 .. $count - 1) {
      my $new = sprintf "%s/%032x", $to, $n;
      mkdir $new, 0700 or die;
      if ($n % 50000 == 1) { # a file has at most 65000 links
        copy("$from/$_", "$new/$_") or die for "job.json", "lock";
        $from = $new;
      } else {
        link "$from/$_", "$new/$_" or die for "job.json", "lock";
      }
    }' "$1/finished" "$finished"
}

# ---- finished jobs ----

first_byte() # SPOOL N
{
  local a
  mapfile -t a < <(arguments "first-$2")
  use "$1"
  sync
  "$helpers/first-byte" "$dir/docextract.conf" "$dir/bundle" 1 x \
    "$backend" "${a[@]}" 2> "$dir/backend.err" | awk '{ print ($3 - $2) * 1000 }'
}

# Leaves its process id in $daemon, and prints how long it took to be ready.
start_daemon() # SPOOL FILE
{
  local line from
  use "$1" "$api"
  from=${EPOCHREALTIME/./}
  exec {out}< <(exec "$build/daemon/docextractd" -c "$dir/docextract.conf" 2>&1)
  daemon=$!
  while read -r line <&"$out" && [ "$line" != ready ]; do :; done
  awk -v us=$((${EPOCHREALTIME/./} - from)) 'BEGIN { print us / 1000 }' >> "$2"
}

cpu_ms() { awk '{ print $1 / 1e6 }' "/proc/$1/schedstat"; }

# docextractd looks through the jobs every 30 s.
look() # NAME
{
  local before
  before=$(cpu_ms "$daemon")
  sleep 31
  awk -v a="$before" -v b="$(cpu_ms "$daemon")" 'BEGIN { print b - a }' \
    >> "$dir/$1-look"
}

measure_daemon() # NAME SPOOL
{
  start_daemon "$2" "$dir/$1-start"
  [ -z "${3-}" ] || look "$1"
  kill "$daemon"
  while kill -0 "$daemon" 2> /dev/null; do sleep 0.01; done
  exec {out}<&-
}

for spool in "$dir/many" "$dir/few"; do mkdir -m 700 "$spool"; done
fill "$dir/many"
for n in 1 2 3 4 5 6 7 8 9; do
  first_byte "$dir/many" "$n" >> "$dir/many-first"
  first_byte "$dir/few" "$n" >> "$dir/few-first"
done
rm -rf "$dir"/{many,few}/jobs/* # their service is gone
for n in 1 2 3 4 5; do
  measure_daemon many "$dir/many" "$([ "$n" -gt 2 ] || echo look)"
  measure_daemon few "$dir/few" "$([ "$n" -gt 2 ] || echo look)"
done
few='no finished job'
echo "$finished finished jobs"
row '  end of stdin to first byte' ms "$dir/many-first" "$dir/few-first" \
  "$few" '<= 1.1'
row '  docextractd: start to ready' ms "$dir/many-start" "$dir/few-start" \
  "$few" '<= 1.1'
row '  docextractd: CPU of a look' ms "$dir/many-look" "$dir/few-look" \
  "$few" '<= 1.1'
rm -rf "$dir/many"

# ---- calls ----

calls() # PATTERN OF A TRACE
{
  grep -cE "$1" "$dir/trace"
}

if [ -n "$(command -v strace)" ]; then
  use "$dir/few" "$api"
  for n in 1 2 3; do
    mapfile -t a < <(arguments "calls-$n")
    strace -f -o "$dir/trace" "$backend" "${a[@]}" < "$dir/bundle" \
      2> "$dir/backend.err"
    calls '^[0-9]+ +[a-z]' >> "$dir/calls"
    calls '^[0-9]+ +(fsync|fdatasync|syncfs)' >> "$dir/fsyncs"
  done
  row 'system calls of a job' '' "$dir/calls" - '' ''
  row '  of them fsync' '' "$dir/fsyncs" - '' '<= 17'
fi

# ---- documents ----

# Time runs twenty times faster for it: the rate limit would hide what it
# costs. The library that does that also counts the fsyncs.
many_documents() # N
{
  local a
  mapfile -t a < <(arguments "many-$1")
  sync
  for ((i = 0; i < documents; i++)); do cat "$dir/bundle"; done |
    "$helpers/measure" "$dir/cost" env LD_PRELOAD="$preload" \
      DX_WALK_SPEED=20 DX_WALK='count fsync' DX_WALK_LOG="$dir/count" \
      "$backend" "${a[@]}" 2> "$dir/backend.err"
}

use "$dir/few" "$api"
for n in 1 2 3; do
  rm -f "$dir/count"
  many_documents "$n"
  wall | awk '{ print $1 / 1000 }' >> "$dir/many-wall"
  cpu | awk '{ print $1 / 1000 }' >> "$dir/many-cpu"
  peak_mib >> "$dir/many-peak"
  wc -l < "$dir/count" | awk -v n="$documents" '{ print $1 / n }' \
    >> "$dir/many-fsyncs"
done
echo "a job of $documents documents, at twenty times the rate"
row '  time' s "$dir/many-wall" - '' ''
row '  processor time' s "$dir/many-cpu" - '' ''
row '  peak memory' MiB "$dir/many-peak" - '' ''
row '  fsyncs of a document' '' "$dir/many-fsyncs" - '' '<= 17'
