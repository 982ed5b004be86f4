#!/usr/bin/env bash
#
# queue.sh - twenty users print at once, and the service takes 5 s: measures
# when the queue is free again, how long after the upload of each document, and
# when all results are available. With Completion auto, the default, and also
# with accepted and extracted, under a scheduler of our own.
#
# The alternative is what the service and 8 calls a second allow: nothing is
# ready for 5 s, and then each job still needs two calls, to learn that it is
# ready and to fetch its result.
. "$(dirname "$0")/size.sh"
prints=$(size 20 2)
service_s=$(size 5 1)

# The simulator's clock is the monotonic one.
uptime_ms()
{
  local seconds
  read -r seconds _ < /proc/uptime
  echo $((10#${seconds/./} * 10))
}

# "JOB MS" for each that has ended, with the time when it was noticed.
note_ended()
{
  local id now
  now=$(uptime_ms)
  for id in $(lpstat -W completed -o | sed -n 's/^chart-\([0-9]*\) .*/\1/p'); do
    [ -n "${ended_at[id]-}" ] || ended_at[id]=$now
  done
}

# "SOURCE MS" for each upload.
upload_times()
{
  jq -r 'select(.call == "put") | "\(.source_id) \(.t * 1000)"' "$SIM_LOG"
}

# Prints the milliseconds from the first print to the end of the last print job,
# and to the last result; then, for each job except the last, from its upload to
# its end. With auto, the last one ends with its result: no other job waits.
print_all() # COMPLETION
{
  local i begin source job id ended_at=()
  start_sim --source-time "$service_s" --case-time 0
  start_cupsd
  write_config "Completion $1"
  add_queue chart
  start_daemon
  for i in $(seq "$prints"); do chart_pdf "$dir/$i.pdf" Ann "A$i" "$i"; done
  begin=$(uptime_ms)
  for i in $(seq "$prints"); do print -d chart "$dir/$i.pdf"; done
  until [ ${#ended_at[@]} = "$prints" ] && [ "$(n_results)" = "$prints" ]; do
    note_ended
    sleep 0.05
  done
  echo $((ended_at[job] - begin)) $(($(uptime_ms) - begin)) >&3
  jq -r '"\(.source_id) \(.job.id)"' "$results"/*.job.json | sort > "$dir/jobs"
  upload_times | sort | join "$dir/jobs" - | while read -r source id i; do
    [ "$id" = "$job" ] || echo $((ended_at[id] - ${i%.*})) >&3
  done
}

if [ $# = 1 ]; then
  . "$(dirname "$0")/../it/lib.sh"
  print_all "$1"
  is 'each was sent once' "$(calls create) $(calls put)" "$prints $prints"
  exit
fi

. "$(dirname "$0")/lib.sh"
echo $((service_s + 2 * prints / 8)) > "$dir/possible"
for completion in auto accepted extracted; do
  DX_BUILD=$build bash "$0" $completion 3> "$dir/$completion" > /dev/null ||
    exit 1
  awk 'NR == 1 { print $1 / 1000 }' "$dir/$completion" > "$dir/free"
  awk 'NR == 1 { print $2 / 1000 }' "$dir/$completion" > "$dir/all"
  awk 'NR > 1 { print $1 / 1000 }' "$dir/$completion" > "$dir/later"
  row "$prints prints, $completion: queue free" s "$dir/free" - '' ''
  if [ $completion = auto ]; then
    row '  after each upload' s "$dir/later" - '' '<= 3 s'
  fi
  row '  all results' s "$dir/all" "$dir/possible" 'what 8 calls/s allow' \
    "$([ $completion != auto ] || echo '<= 1.3')"
done
