#!/usr/bin/env bash
#
# queue.sh - twenty users print at once, and the service takes 5 s: measures
# when the queue is free again, and when all results are available. With
# Completion auto, the default, and also with accepted and extracted, under a
# scheduler of our own.
#
# The alternative is what the service and 8 calls a second allow: nothing is
# ready for 5 s, and then each job still needs two calls, to learn that it is
# ready and to fetch its result.
. "$(dirname "$0")/size.sh"
prints=$(size 20 2)
service_s=$(size 5 1)

# Prints "FREE-MS ALL-MS".
print_all() # COMPLETION
{
  local i begin free=
  start_sim --source-time $service_s --case-time 0
  start_cupsd
  write_config "Completion $1"
  add_queue chart
  start_daemon
  for i in $(seq $prints); do chart_pdf "$dir/$i.pdf" Ann "A$i" "$i"; done
  begin=${EPOCHREALTIME/./}
  ms() { echo $(((${EPOCHREALTIME/./} - begin) / 1000)); }
  for i in $(seq $prints); do print -d chart "$dir/$i.pdf"; done
  until [ -n "$free" ] && [ "$(n_results)" = $prints ]; do
    [ -n "$free" ] || ! job_is "$job" completed || free=$(ms)
    sleep 0.05
  done
  echo "$free $(ms)" >&3
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
  awk '{ print $1 / 1000 }' "$dir/$completion" > "$dir/free"
  awk '{ print $2 / 1000 }' "$dir/$completion" > "$dir/all"
  row "$prints prints, $completion: queue free" s "$dir/free" - '' ''
  row '  all results' s "$dir/all" "$dir/possible" 'what 8 calls/s allow' \
    "$([ $completion != auto ] || echo '<= 1.3')"
done
