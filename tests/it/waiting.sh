#!/usr/bin/env bash
#
# waiting.sh - print jobs that wait in the queues of CUPS, before the spool, are
# counted and listed with what to do, also while docextractd is not running. A
# queue whose section is missing is named.
. "$(dirname "$0")/lib.sh"

said() { { dx jobs > "$dir/table"; } 2>&1; }
value() { dx metrics | awk -v name="docextract_$1" '$1 == name { print $2 }'; }
waiting() { value 'waiting_print_jobs{service="default"}'; }
chart() { lp -d chart "$@" "$dir/a.pdf" | sed -E 's/.*chart-([0-9]+).*/\1/'; }

start_sim --source-time 0 --case-time 0
start_cupsd
write_config
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1
echo text > "$dir/a.txt"
lpadmin -p paper -E -v file:/dev/null -m raw 2> "$dir/lpadmin.err" ||
  give_up "lpadmin adds a queue: $(cat "$dir/lpadmin.err")"

t='no print job'
is "$t: none waits" "$(waiting)" 0
is "$t: for no time" \
  "$(value 'oldest_waiting_print_job_seconds{service="default"}')" 0
hasnt "$t: none is listed" "$(said)" 'not in the spool'

# With those that only cupsd knows.
dx metrics > "$dir/metrics"
missing()
{
  local name
  for name in $(grep -o 'docextract_[a-z_]*' \
    "$top/doc/examples/docextract.rules.yml" | sort -u); do
    grep -q "^# TYPE $name " "$dir/metrics" || echo "$name"
  done
}
is 'the rules of Prometheus name metrics that there are' "$(missing)" ''

t='a queue is stopped'
cupsdisable chart
first=$(chart)
dx wait "chart-$first" > "$dir/waited" 2>&1 &
waits=$!
script -qfec "$docextract -c $config wait chart-$first" /dev/null \
  > "$dir/terminal" &
terminal=$!
check "$t: who waits on a terminal is told where the print job is" \
  until_true grep -q "^chart-$first waits in CUPS; to see its queue: lpstat -p -o" \
  "$dir/terminal"
is "$t: its print job is counted" "$(waiting)" 1
has "$t: and listed" "$(said)" \
  "^1 print job in queue 'chart' is not in the spool yet, the oldest for [0-9]+ s; the queue is stopped; to start it: cupsenable chart$"
second=$(chart)
has "$t: several" "$(said)" "^2 print jobs in queue 'chart' are not in the spool"
hasnt "$t: not with another queue" "$(dx jobs --queue other 2>&1)" \
  'not in the spool'
is "$t: a queue that is mistyped is named" \
  "$(dx jobs --queue cahrt 2>&1 > "$dir/table")" \
  "docextract: unknown queue 'cahrt'; did you mean 'chart'?"
is "$t: one of others is not ours" \
  "$(dx jobs --queue paper 2>&1 > "$dir/table")" \
  "docextract: unknown queue 'paper'"
is "$t: and a section" "$(dx retry --all --service ddefault 2>&1)" \
  "docextract: unknown service 'ddefault'; did you mean 'default'?
Retrying 0 jobs"
stop_daemon
is "$t: also without docextractd" "$(waiting)" 2
start_daemon
cupsdisable paper
lp -d paper "$dir/a.txt" > "$dir/lp"
is "$t: a queue of others does not count" "$(waiting)" 2
hasnt "$t: and is not listed" "$(said)" paper
cupsenable chart
job_ends "$t: it is started" "$first" completed
wait "$waits"
is "$t: who waited for the print job learns its outcome" \
  "$? $(cat "$dir/waited")" '0 '
wait "$terminal"
is "$t: and on the terminal, too" $? 0
job_ends "$t: and the other one goes on" "$second" completed
is "$t: none waits any more" "$(waiting)" 0

t='held by its user'
job=$(chart -H hold)
is "$t: it is counted" "$(waiting)" 1
has "$t: and listed" "$(said)" \
  "^1 print job in queue 'chart' is .*; held; to release one: lp -i chart-$job -H resume$"
has "$t: a command does not wait for it" "$(dx wait "chart-$job" 2>&1)" \
  "^docextract: no job 'chart-$job'; to list jobs that wait in CUPS, run: lpstat -o;"
lp -i "chart-$job" -H resume
job_ends "$t: it is released" "$job" completed
is "$t: none waits any more" "$(waiting)" 0

t='the chart is in the spool'
faults 'create 1- status 422'
print -d chart "$dir/a.pdf"
job_ends "$t: the print job is held" "$job" pending-held
is "$t: it does not wait in CUPS" "$(waiting)" 0
hasnt "$t: it is not listed there" "$(said)" 'not in the spool'

t='a queue whose section is missing'
checked() { dx config 2> "$dir/config.err" > "$dir/config.out"; echo "$? $(cat "$dir/config.err")"; }
is "$t: before, nothing is wrong" "$(checked)" '0 '
lpadmin -p east -E -v docextract://esat -m raw 2> "$dir/lpadmin.err"
lpadmin -p west -E -v docextract:west -m raw 2> "$dir/lpadmin.err"
has "$t: config names it, with what to do" "$(checked | xargs -d '\n')" \
  "^78 warning: the section of queue 'east', <Service esat>, is not in '$config'; add it, or change the queue with: lpadmin -p east -v docextract://default warning: the device URI of queue 'west' names no section; change it with: lpadmin -p west -v docextract://default docextract: 2 warnings:"
lpadmin -p south -E -v docextract://esat -P "$build/ppd/docextract.ppd" \
  2> "$dir/lpadmin.err"
lp -d south "$dir/a.pdf" > "$dir/lp"
has "$t: its print job is listed, with what to do" "$(said)" \
  "^1 print job in queue 'south' is .*; its section is missing; to see what to do: docextract config$"
lpadmin -x south
is "$t: not while cupsd does not answer" \
  "$(CUPS_SERVER=/nonexistent/cups.sock checked)" '0 '
lpadmin -x east
lpadmin -x west
is "$t: nor without that queue" "$(checked)" '0 '

t='cupsd does not answer'
has "$t: that is unknown" \
  "$(CUPS_SERVER=/nonexistent/cups.sock dx metrics; echo "exit $?")" '^exit 0$'
hasnt "$t: and not printed" \
  "$(CUPS_SERVER=/nonexistent/cups.sock dx metrics)" waiting_print_jobs

finish
