#!/usr/bin/env bash
#
# many.sh - what grows with the number of jobs and documents, and what should
# not. With 100,000 finished jobs in the spool, a print job and docextractd
# should take the same time as with an empty spool, which is the alternative.
# Then the system calls and fsyncs of one document, and a job of 500.
. "$(dirname "$0")/lib.sh"

finished=$(size 100000 100)
documents=$(size 500 10)
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
      "$documents" > "$config"
    printf 'Token file\nTokenFile %s\n' "$dir/token" >> "$config"
    [ -z "${2-}" ] || printf 'BaseURL %s\n</Service>\n' "$2" \
      >> "$config"
  )
}

# One job is extracted, and the others are links to its files. If a program read
# them, the figures would show it.
fill() # SPOOL
{
  use "$1" "$api"
  start_daemon
  run_backend 0 "$dir/header" "$dir/a.pdf"
  stop_daemon
  perl -MFile::Copy -e '
    my ($to, $count) = @ARGV;
    my ($from) = glob "$to/*";
    for my $n (1 .. $count - 1) {
      my $new = sprintf "%s/%032x", $to, $n;
      mkdir $new, 0700 or die;
      if ($n % 50000 == 1) { # a file has at most 65000 links
        copy("$from/$_", "$new/$_") or die for "job.json";
        $from = $new;
      } else {
        link "$from/$_", "$new/$_" or die for "job.json";
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
  DX_DOCEXTRACTD=$build/daemon/docextractd \
    "$helpers/first-byte" "$config" "$dir/bundle" 1 x \
    "$build/tests/helper/sealed" "$backend" "${a[@]}" 2> "$dir/backend.err" | awk '{ print ($3 - $2) * 1000 }'
}

# docextractd looks for receipts every 30 s.
look() # NAME
{
  local before
  before=$(daemon_cpu)
  sleep 31
  difference "$before" "$(daemon_cpu)" >> "$dir/$1-look"
}

measure_daemon() # NAME SPOOL
{
  local from
  use "$2" "$api"
  from=${EPOCHREALTIME/./}
  start_daemon
  awk -v us=$((${EPOCHREALTIME/./} - from)) 'BEGIN { print us / 1000 }' \
    >> "$dir/$1-start"
  [ -z "${3-}" ] || look "$1"
  stop_daemon
}

for spool in "$dir/many" "$dir/few"; do mkdir -m 700 "$spool"; done
fill "$dir/many"
for n in $(seq "$(size 9 1)"); do
  first_byte "$dir/many" "$n" >> "$dir/many-first"
  first_byte "$dir/few" "$n" >> "$dir/few-first"
done
rm -rf "$dir"/{many,few}/jobs/* # their service is gone
for n in $(seq "$(size 5 1)"); do
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
  for n in $(seq "$(size 3 1)"); do
    mapfile -t a < <(arguments "calls-$n")
    start_daemon strace -D -f -o "$dir/trace-daemon"
    "$build/tests/helper/sealed" strace -f -o "$dir/trace" "$backend" \
      "${a[@]}" < "$dir/bundle" 2> "$dir/backend.err"
    stop_daemon
    cat "$dir/trace-daemon" >> "$dir/trace"
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
    "$build/tests/helper/sealed" "$helpers/measure" "$dir/cost" \
      "${quick[@]}" "$backend" "${a[@]}" 2> "$dir/backend.err"
}

quick=(env LD_PRELOAD="$preload" DX_WALK_SPEED=20 DX_WALK='count fsync'
  DX_WALK_LOG="$dir/count")
use "$dir/few" "$api"
for n in $(seq "$(size 3 1)"); do
  rm -f "$dir/count"
  start_daemon "${quick[@]}"
  many_documents "$n"
  wall | awk '{ print $1 / 1000 }' >> "$dir/many-wall"
  cpu | awk -v daemon="$(daemon_cpu)" '{ print ($1 + daemon) / 1000 }' \
    >> "$dir/many-cpu"
  daemon_cpu | awk '{ print $1 / 1000 }' >> "$dir/many-daemon"
  daemon_peak_mib >> "$dir/many-peak"
  daemon_wrote_mib > "$dir/wrote"
  cut -d ' ' -f 1 "$dir/wrote" >> "$dir/many-wrote"
  cut -d ' ' -f 2 "$dir/wrote" >> "$dir/many-disk"
  stop_daemon
  wc -l < "$dir/count" | awk -v n="$documents" '{ print $1 / n }' \
    >> "$dir/many-fsyncs"
done
echo "a job of $documents documents, at twenty times the rate"
row '  time' s "$dir/many-wall" - '' ''
row '  processor time' s "$dir/many-cpu" - '' ''
row '  of it docextractd' s "$dir/many-daemon" - '' '<= 2'
row '  written by docextractd' MiB "$dir/many-wrote" - '' '<= 200'
row '    to the disk' MiB "$dir/many-disk" - '' '<= 200'
row '  peak memory of docextractd' MiB "$dir/many-peak" - '' ''
row '  fsyncs of a document' '' "$dir/many-fsyncs" - '' '<= 17'
