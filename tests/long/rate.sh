#!/usr/bin/env bash
#
# rate.sh - one process after the other keeps the rate limit, however often it
# ends or is killed and is started again. SECONDS_LONG and SEED can be set in
# the environment.
. "$(dirname "$0")/../it/lib.sh"

caller=$build/tests/long/rate-caller
rate=8
long=${SECONDS_LONG:-20}
RANDOM=${SEED:-7}
[ -x "$caller" ] || give_up 'rate-caller is built (make check TESTS=)'

boot_ms() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }
mkdir -m 700 "$dir/history"

most_in_a_second()
{
  sort -n "$1" | awk '{ t[NR] = $1; while (t[NR] - t[first + 1] > 1000)
    first++; if (NR - first > most) most = NR - first } END { print most + 0 }'
}

run() # CALLS: of each process
{
  : > "$dir/calls"
  restarts=0
  until=$(($(boot_ms) + long * 1000))
  while [ "$(boot_ms)" -lt "$until" ]; do
    "$caller" "$dir/history" "$rate" "$1" >> "$dir/calls"
    restarts=$((restarts + 1))
  done
}

"$caller" "$dir/history" "$rate" 100000000 > "$dir/calls" &
pid=$!
sleep "$long" # this is how long it is measured
kill -TERM "$pid"
wait "$pid"
n=$(wc -l < "$dir/calls")
share=$((n * 1000 / (rate * long)))
check "one that goes on uses at least 90 % of the rate ($share/1000)" \
  test "$share" -ge 900
most=$(most_in_a_second "$dir/calls")
check "at most 9 calls in any second ($most)" test "$most" -le 9

for calls in 1 2 3 8; do
  run "$calls"
  most=$(most_in_a_second "$dir/calls")
  check "restarts after $calls calls ($restarts): at most 9 in any second ($most)" \
    test "$most" -le 9
done

# Killed at random moments.
: > "$dir/calls"
restarts=0
until=$(($(boot_ms) + long * 1000))
while [ "$(boot_ms)" -lt "$until" ]; do
  "$caller" "$dir/history" "$rate" 100000000 >> "$dir/calls" &
  pid=$!
  read -rt "0.$((RANDOM % 9))$((RANDOM % 9))" <> <(:)
  kill -KILL "$pid"
  wait "$pid" 2>> "$dir/killed"
  restarts=$((restarts + 1))
done
n=$(wc -l < "$dir/calls")
check "killed $restarts times, it still calls ($n)" test "$n" -gt "$long"
most=$(most_in_a_second "$dir/calls")
check "at most 9 calls in any second ($most)" test "$most" -le 9
