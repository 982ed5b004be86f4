#!/usr/bin/env bash
#
# metrics.sh - `docextract metrics` prints correct metrics in the text format of
# Prometheus, from docextractd, and from the spool if that is not running, with no
# data about patients or users. tests/long/metrics.sh checks them with promtool.
. "$(dirname "$0")/lib.sh"

# docextractd writes what it has counted after five seconds.
has_counted() # NUMBER: of calls
{
  metrics
  [ "$(sum calls_total)" = "$1" ]
}
all_calls() { echo $(($(calls create) + $(calls put) + $(calls source) + $(calls extract))); }
metrics() { dx metrics > "$dir/metrics" || not_ok "$t: there are metrics"; }
value() # SAMPLE
{
  awk -v sample="docextract_$1" '$1 == sample { print $2 }' "$dir/metrics"
}
sum() { awk -v name="docextract_$1{" 'index($1, name) == 1 { n += $2 } END { print n + 0 }' "$dir/metrics"; }

# What the format requires: each metric once, with help and type before its
# samples, each sample once, and a number. Prints what is wrong.
format_errors() # FILE
{
  awk '
    /^# HELP / { help[$3] = 1; if (NF < 4) print "no text: " $0; next }
    /^# TYPE / {
      if (!($3 in help)) print "no help: " $3
      if ($3 in type) print "twice: " $3
      name = $3; type[name] = $4; next
    }
    !/^[a-z_]+([{][a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*[}])? -?[0-9]+(\.[0-9]+)?$/ {
      print "no sample: " $0
    }
    {
      base = $1; sub(/[{].*/, "", base)
      if (type[name] == "summary") sub(/_(sum|count)$/, "", base)
      if (base != name) print "in the wrong place: " $1
      if (type[name] == "counter" && base !~ /_total$/) print "counter: " $1
      if ($1 in seen) print "twice: " $1
      seen[$1] = 1
    }' "$1"
}

start_sim --source-time 0 --case-time 0
start_cupsd
write_config
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1

t='nothing yet'
metrics
is "$t: the format" "$(format_errors "$dir/metrics")" ''
is "$t: calls" "$(sum calls_total)" 0
is "$t: jobs" "$(sum jobs)" 0
is "$t: the service is up" "$(value 'service_up{service="default"}')" 1

t='a chart was extracted'
print -d chart -t Secret "$dir/a.pdf"
job_ends "$t: the print job ends" "$job" completed
until_true has_counted "$(all_calls)"
is "$t: the format" "$(format_errors "$dir/metrics")" ''
is "$t: every call is counted" \
  "$(value 'calls_total{service="default",class="done"}')" "$(all_calls)"
is "$t: it is counted" \
  "$(value 'manifests_total{service="default",outcome="extracted"}')" 1
is "$t: and found" "$(value 'lag_seconds_count{service="default",phase="extract"}')" 1
has_finished() { metrics && [ "$(value finished_jobs) $(sum jobs)" = '1 0' ]; }
check "$t: and finished, and no job is left" until_true has_finished

t='a new configuration'
starts_of_daemon() { grep -c '^ready$' "$dir/daemon.new"; }
before=$(starts_of_daemon)
print -d chart "$dir/a.pdf"
job_ends "$t: the print job ends" "$job" completed
write_config # before the last calls were written
has_started_again() { [ "$(starts_of_daemon)" -gt "$before" ]; }
until_true has_started_again || not_ok "$t: it is in effect"
check "$t: every call is counted" until_true has_counted "$(all_calls)"

says_hello() { dx hello > "$dir/hello" 2>&1; }
t='the service was down'
stop_daemon # the pause is over, the outage is not
port=${SIM_API#http://*:}
pause=$spool/history/127-0-0-1_${port%%/*}_pause
# lib/base/history.c: the boot, until 1 ms, and down.
printf 'docextract-pause 3\n%s\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0' \
  "$(cat /proc/sys/kernel/random/boot_id)" > "$pause"
[ "$(id -u)" != 0 ] || chown "$run_user" "$pause"
start_daemon
metrics
is "$t: it is not up" "$(value 'service_up{service="default"}')" 0
has "$t: and the help says since when" "$(cat "$dir/metrics")" \
  '^# HELP docextract_service_up 0 after 3 consecutive failed or rejected calls, until a '
check "$t: hello reaches it" says_hello
metrics
is "$t: and is up" "$(value 'service_up{service="default"}')" 1

t='one fails'
faults 'create 1- status 422'
print -d chart "$dir/a.pdf"
job_ends "$t: the print job is held" "$job" pending-held
until_true has_counted "$(all_calls)"
is "$t: the job" "$(value 'jobs{service="default",state="failed"}')" 1
is "$t: the call" "$(value 'calls_total{service="default",class="refused"}')" 1
is "$t: the manifest" \
  "$(value 'manifests_total{service="default",outcome="failed"}')" 1
check "$t: its document takes space" test "$(value spool_bytes)" -gt 0
faults '#'

# What it is counted as; the journal is written a second later at the latest.
is_in_journal()
{
  metrics
  [ "$(value 'jobs{service="default",state="processing"}')" = 1 ]
}

t='one is under way'
start_daemon
write_config 'Completion accepted'
faults 'source * word processing'
polls=$(calls source)
print -d chart "$dir/a.pdf"
job_ends "$t: the print job ends" "$job" completed
until_true calls_are source $((polls + 1)) || not_ok "$t: it is under way"
until_true is_in_journal || not_ok "$t: it is in its journal"
check "$t: its age" test \
  "$(value 'oldest_unfinished_seconds{service="default"}')" -ge 0
is "$t: docextractd runs" "$(value daemon_up)" 1
is "$t: the jobs" "$(sum jobs)" 2

t='the status socket'
socket=$(dx config | awk '$1 == "StatusSocket" { print $2 }')
/usr/bin/python3 - "$socket" > "$dir/metrics" << 'EOF'
import json, socket, sys
with socket.socket(socket.AF_UNIX) as s:
    s.connect(sys.argv[1])
    s.sendall(b"metrics\n")
    response = s.makefile("rb")
    size = json.loads(response.readline())["bytes"]
    text = response.read()
    assert len(text) == size
    sys.stdout.write(text.decode())
EOF
is "$t: the format" "$(format_errors "$dir/metrics")" ''
is "$t: the same" "$(sum jobs) $(value daemon_up)" '2 1'

t='docextractd is not running'
of_jobs()
{
  grep -E '^docextract_(jobs|needs_admin|unseen|hook|finished|damaged)' \
    "$dir/metrics"
}
of_jobs > "$dir/counted"
stop_daemon
metrics
is "$t: it is not up" "$(value daemon_up) $(value loading)" '0 0'
is "$t: the journals have the same jobs" "$(of_jobs | diff "$dir/counted" -)" ''
check "$t: their age" test \
  "$(value 'oldest_unfinished_seconds{service="default"}')" -ge 0

t='nothing about people'
hasnt "$t" "$(cat "$dir/metrics")" 'Secret|Ahrens|chart|root|127\.0\.0\.1'

t='for node_exporter'
mkdir "$dir/prom" "$dir/bin"
printf '#!/bin/sh\nexec %s -c %s "$@"\n' "$docextract" "$config" \
  > "$dir/bin/docextract"
chmod 755 "$dir/bin/docextract"
PATH=$dir/bin:$PATH sh "$top/doc/examples/metrics.sh" "$dir/prom"
is "$t: there is one file" "$(ls "$dir/prom")" docextract.prom
is "$t: with everything" "$(format_errors "$dir/prom/docextract.prom")" ''
is "$t: that others may read" "$(stat -c %a "$dir/prom/docextract.prom")" 644
printf '#!/bin/sh\necho half; exit 75\n' > "$dir/bin/docextract"
PATH=$dir/bin:$PATH sh "$top/doc/examples/metrics.sh" "$dir/prom"
is "$t: an error leaves the last one" \
  "$(ls "$dir/prom") $(grep -c half "$dir/prom/docextract.prom")" \
  'docextract.prom 0'

finish
