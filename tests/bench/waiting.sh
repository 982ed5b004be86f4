#!/usr/bin/env bash
#
# waiting.sh - what grows with the number of charts that wait during an outage,
# and what should not: the start and the end of docextractd, an idle second, one
# more print, `docextract metrics`, memory. The service is away. The alternative
# is ten waiting charts.
. "$(dirname "$0")/lib.sh"

few=10
away=http://127.0.0.1:9 # the port "discard", where nothing listens

# Never a privilege that a user lacks: as many descriptors as a service has.
ulimit -n "$(ulimit -Hn)"

"$top/tests/it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
header "$dir/a.pdf" application/pdf > "$dir/header"

# One chart is stored. The others are copies with other keys.
fill() # N
{
  configure "$dir/spool" "$away"
  sed -i '/^<Service/a Completion accepted' "$config"
  start_daemon
  run_backend "first-$1" "$dir/header" "$dir/a.pdf"
  stop_daemon
  perl -MFile::Copy -e '
    my ($jobs, $count) = @ARGV;
    my ($from) = glob "$jobs/*";
    my ($key) = $from =~ m{([^/]*)$};
    local $/;
    open my $in, "<", "$from/job.json" or die;
    my $journal = <$in>;
    $journal =~ s/"final":(\s*)"none"/"final":$1"over"/;
    for my $n (1 .. $count - 1) {
      my $new = sprintf "%032x", $n;
      mkdir "$jobs/$new", 0700 or die;
      copy("$from/document-0001", "$jobs/$new/document-0001") or die;
      (my $text = $journal) =~ s/$key/$new/g;
      $text =~ s/"file_id":(\s*)"[^"]*"/"file_id":$1""/; # no copies
      open my $out, ">", "$jobs/$new/job.json" or die;
      print $out $text;
    }' "$dir/spool/jobs" "$1"
}

# Until it has loaded everything, and written what it has found, it is busy; on
# a busy computer, not all the time.
until_idle()
{
  local before after quiet=0
  while [ $quiet -lt 3 ]; do
    before=$(daemon_cpu)
    sleep 0.5
    after=$(daemon_cpu)
    quiet=$((quiet + 1))
    awk -v a="$before" -v b="$after" 'BEGIN { exit b - a > 10 }' || quiet=0
  done
}

# What each waiting chart costs: the difference to few, divided.
of_each() # N NAME FACTOR
{
  paste "$dir/$1-$2" "$dir/$few-$2" |
    awk -v n=$(($1 - few)) -v by="$3" '{ print ($1 - $2) * by / n }' \
      > "$dir/$1-$2-each"
}

measure_stop() # from SIGTERM until it has exited, in ms
{
  local from=${EPOCHREALTIME/./}
  stop_daemon
  awk -v us=$((${EPOCHREALTIME/./} - from)) 'BEGIN { print us / 1000 }'
}

idle_second() # the CPU of one, in ms
{
  local before
  before=$(daemon_cpu)
  sleep 10
  difference "$before" "$(daemon_cpu)" | awk '{ print $1 / 10 }'
}

# A thousand in a minute, as a part of a processor: in docextractd, and in the
# processes of the status socket, whose end only perf can count. Fewer would
# measure the spool too often.
metrics_calls=$(size 1000 2)
of_a_minute() # reads the CPU of all calls, in ms
{
  awk -v n="$metrics_calls" '{ print $1 / n * 1000 / 60000 * 100 }'
}
call_metrics()
{
  local i
  for ((i = 0; i < metrics_calls; i++)); do
    "$build/cli/docextract" -c "$config" metrics > "$dir/metrics"
  done
}
measure_metrics() # NAME
{
  local before
  before=$(daemon_cpu)
  if [ -n "$(command -v perf)" ]; then
    export -f call_metrics
    export build config dir metrics_calls
    perf stat -x , -e task-clock -o "$dir/perf" -p "$(status_pid)" -- \
      bash -c call_metrics
    awk -F , '$3 == "task-clock" { print $1 }' "$dir/perf" | of_a_minute \
      > "$dir/$1-status"
  else
    call_metrics
  fi
  difference "$before" "$(daemon_cpu)" | of_a_minute > "$dir/$1-metrics"
  measured "$build/cli/docextract" -c "$config" metrics > "$dir/metrics"
  cpu > "$dir/$1-command"
}

measure_waiting() # N
{
  local from before i
  fill "$1"
  start_daemon # a copied journal is written once, with its own identity
  until_idle
  stop_daemon
  sync
  from=${EPOCHREALTIME/./}
  start_daemon
  awk -v us=$((${EPOCHREALTIME/./} - from)) 'BEGIN { print us / 1000 }' \
    > "$dir/$1-ready"
  until_idle
  daemon_cpu > "$dir/$1-start"
  idle_second > "$dir/$1-idle"
  for i in $(seq "$(size 5 1)"); do
    before=$(daemon_cpu)
    run_backend "more-$1-$i" "$dir/header" "$dir/a.pdf"
    difference "$before" "$(daemon_cpu)" >> "$dir/$1-print"
  done
  awk '$1 == "VmRSS:" { print $2 / 1024 }' "/proc/$daemon_pid/status" \
    > "$dir/$1-memory"
  find "/proc/$daemon_pid/fd" -mindepth 1 | wc -l > "$dir/$1-open"
  measure_metrics "$1"
  measure_stop > "$dir/$1-stop"
  # Each waits for an answer of cupsd, which is away. In place: a new file would
  # be a copy.
  perl -e '
    local $/;
    for (glob "$ARGV[0]/*/job.json") {
      open my $file, "+<", $_ or die;
      (my $text = <$file>) =~ s/"final":(\s*)"over"/"final":$1"none"/;
      seek $file, 0, 0;
      print $file $text;
    }' "$dir/spool/jobs"
  CUPS_SERVER=$dir/cups.sock start_daemon # where nothing listens
  until_idle
  idle_second > "$dir/$1-silent-idle"
  measure_stop > "$dir/$1-silent"
}

measure_waiting $few
for n in $(size '1000 10000 50000' 100); do
  measure_waiting "$n"
  echo "$n waiting charts"
  row '  docextractd: start to ready' ms "$dir/$n-ready" "$dir/$few-ready" \
    "$few waiting charts" '<= 200'
  row '  CPU until all are loaded' ms "$dir/$n-start" "$dir/$few-start" \
    "$few waiting charts" ''
  of_each "$n" start 1000
  row '    of each' us "$dir/$n-start-each" - '' '<= 60'
  row '  CPU of an idle second' ms "$dir/$n-idle" "$dir/$few-idle" \
    "$few waiting charts" '<= 1.5'
  row '    cupsd is away' ms "$dir/$n-silent-idle" "$dir/$few-silent-idle" \
    "$few waiting charts" ''
  row '  CPU of one more print' ms "$dir/$n-print" "$dir/$few-print" \
    "$few waiting charts" '<= 1.5'
  row '  CPU of 1000 metrics a minute' % "$dir/$n-metrics" "$dir/$few-metrics" \
    "$few waiting charts" '<= 2'
  if [ -s "$dir/$n-status" ]; then
    row '    by the status socket' % "$dir/$n-status" "$dir/$few-status" \
      "$few waiting charts" '<= 2'
  fi
  row '    CPU of the command' ms "$dir/$n-command" "$dir/$few-command" \
    "$few waiting charts" ''
  row '  memory' MiB "$dir/$n-memory" "$dir/$few-memory" \
    "$few waiting charts" ''
  of_each "$n" memory 1024
  row '    of each' KiB "$dir/$n-memory-each" - '' '<= 4'
  row '  open descriptors' '' "$dir/$n-open" "$dir/$few-open" \
    "$few waiting charts" '<= 1'
  row '  stop' ms "$dir/$n-stop" "$dir/$few-stop" "$few waiting charts" \
    '<= 2000'
  row '    cupsd is away' ms "$dir/$n-silent" "$dir/$few-silent" \
    "$few waiting charts" '<= 2000'
done
