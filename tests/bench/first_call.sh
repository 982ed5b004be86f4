#!/usr/bin/env bash
#
# first_call.sh - from the start of lp to the first call of the service, under a
# scheduler of our own: lp, cupsd, filter, backend, and docextractd, until
# something happens that takes time elsewhere. The alternative: lp, from its
# start to its end.
. "$(dirname "$0")/size.sh"
runs=$(size 9 2)

sim_ms() # of the n-th registration, by the simulator's clock
{
  jq -r 'select(.call == "create") | .t * 1000' "$SIM_LOG" | sed -n "$1p"
}

# The simulator's clock is the monotonic one; bash has only the other.
offset_us=$(perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC,CLOCK_REALTIME -e \
  'printf "%d", 1e6 * (clock_gettime(CLOCK_MONOTONIC) - clock_gettime(CLOCK_REALTIME))')
now_ms() { echo $(((${EPOCHREALTIME/./} + offset_us) / 1000)); }

if [ $# = 1 ]; then
  . "$(dirname "$0")/../it/lib.sh"
  start_all --source-time 0 --case-time 0
  chart_pdf "$dir/a.pdf" Ann Ahrens 1
  for n in $(seq "$runs"); do
    sync
    before=$(now_ms)
    print -d chart "$dir/a.pdf"
    after=$(now_ms)
    until_true calls_are create "$n"
    awk -v a="$before" -v b="$(sim_ms "$n")" -v c="$after" \
      'BEGIN { print b - a, c - a }' >&3
    job_ends 'it is extracted' "$job" completed
  done
  exit
fi

. "$(dirname "$0")/lib.sh"
DX_BUILD=$build bash "$0" stage 3> "$dir/times" > "$dir/stage"
cut -d ' ' -f 1 "$dir/times" > "$dir/ours"
cut -d ' ' -f 2 "$dir/times" > "$dir/lp"
row 'lp to the first call' ms "$dir/ours" "$dir/lp" 'lp alone' '<=100 ms'
