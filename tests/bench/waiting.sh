#!/usr/bin/env bash
#
# waiting.sh - what grows with the number of charts that wait during an outage,
# and what should not: the start and the end of docextractd, an idle second, one
# more print, memory. The service is away. The alternative is ten waiting charts.
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

# Until it has loaded everything, it is busy.
is_idle()
{
  local before after
  before=$(daemon_cpu)
  sleep 0.5
  after=$(daemon_cpu)
  awk -v a="$before" -v b="$after" 'BEGIN { exit b - a > 50 }'
}

measure_stop() # from SIGTERM until it has exited, in ms
{
  local from=${EPOCHREALTIME/./}
  stop_daemon
  awk -v us=$((${EPOCHREALTIME/./} - from)) 'BEGIN { print us / 1000 }'
}

measure_waiting() # N
{
  local from before i
  fill "$1"
  start_daemon # a copied journal is written once, with its own identity
  until is_idle; do :; done
  stop_daemon
  sync
  from=${EPOCHREALTIME/./}
  start_daemon
  awk -v us=$((${EPOCHREALTIME/./} - from)) 'BEGIN { print us / 1000 }' \
    > "$dir/$1-ready"
  until is_idle; do :; done
  daemon_cpu > "$dir/$1-start"
  before=$(daemon_cpu)
  sleep 10
  difference "$before" "$(daemon_cpu)" | awk '{ print $1 / 10 }' > "$dir/$1-idle"
  for i in $(seq "$(size 5 1)"); do
    before=$(daemon_cpu)
    run_backend "more-$1-$i" "$dir/header" "$dir/a.pdf"
    difference "$before" "$(daemon_cpu)" >> "$dir/$1-print"
  done
  awk '$1 == "VmRSS:" { print $2 / 1024 }' "/proc/$daemon_pid/status" \
    > "$dir/$1-memory"
  find "/proc/$daemon_pid/fd" -mindepth 1 | wc -l > "$dir/$1-open"
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
  until is_idle; do :; done
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
  row '  CPU of an idle second' ms "$dir/$n-idle" "$dir/$few-idle" \
    "$few waiting charts" '<= 1.5'
  row '  CPU of one more print' ms "$dir/$n-print" "$dir/$few-print" \
    "$few waiting charts" '<= 1.5'
  row '  memory' MiB "$dir/$n-memory" "$dir/$few-memory" \
    "$few waiting charts" ''
  row '  open descriptors' '' "$dir/$n-open" "$dir/$few-open" \
    "$few waiting charts" '<= 1'
  row '  stop' ms "$dir/$n-stop" "$dir/$few-stop" "$few waiting charts" \
    '<= 2000'
  row '  stop, cupsd is away' ms "$dir/$n-silent" "$dir/$few-silent" \
    "$few waiting charts" '<= 2000'
done
