#!/usr/bin/env bash
#
# rate.sh - a hundred processes share one rate limit, and half of them are
# killed at random moments: the rate is used, never exceeded, and shared fairly;
# urgent calls wait less. SECONDS_LONG and SEED can be set in the environment. A
# killed process may lose a slot, so a short run loses more.
. "$(dirname "$0")/../it/lib.sh"

caller=$build/tests/long/rate-caller
rate=8
long=${SECONDS_LONG:-60}
RANDOM=${SEED:-7}
[ -x "$caller" ] || give_up 'rate-caller is built (make check TESTS=)'

boot_ms() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

# Starts callers; every n-th is to be killed at a random moment of the run.
callers() # NAME COUNT URGENCY KILL-EVERY-NTH
{
  local i
  for ((i = 1; i <= $2; i++)); do
    "$caller" "$dir/shared" "$rate" "$3" "$until" > "$dir/$1.$i" &
    pids+=($!)
    [ $((i % $4)) -ne 0 ] || victims+=("$! $((RANDOM % (long * 9) + 5))")
  done
}

kill_victims() # in their order; the moments are tenths of a second
{
  local pid at began
  began=$(boot_ms)
  while read -r pid at; do
    until [ $(($(boot_ms) - began)) -ge $((at * 100)) ]; do read -rt 0.05 <> <(:); done
    kill -KILL "$pid" 2> /dev/null && killed=$((killed + 1))
  done < <(printf '%s\n' "${victims[@]}" | sort -n -k 2)
}

run() # CALLERS ARGUMENTS..., "--" between groups
{
  pids=()
  victims=()
  killed=0
  rm -rf "$dir/shared" "$dir"/{all,urgent,patient}.*
  mkdir -m 700 "$dir/shared"
  until=$(($(boot_ms) + long * 1000))
  while [ $# -ge 4 ]; do
    callers "$1" "$2" "$3" "$4"
    shift 4
  done
  [ ${#victims[@]} -eq 0 ] || kill_victims
  wait "${pids[@]}" 2> /dev/null
}

moments() { cat "$dir"/all.* "$dir"/urgent.* "$dir"/patient.* 2> /dev/null | cut -d ' ' -f 1; }
# The calls within the run, from its first one on.
used()
{
  moments | sort -n | awk -v l="$long" 'NR == 1 { f = $1 }
    $1 <= f + l * 1000 { n++ } END { print n }'
}
most_in_a_second()
{
  moments | sort -n | awk '{ t[NR] = $1; while (t[NR] - t[first + 1] > 1000)
    first++; if (NR - first > most) most = NR - first } END { print most }'
}
mean_wait() { cat "$dir/$1".* | awk '{ s += $2 } END { print int(s / NR) }'; }

run all 100 patient 2 2> "$dir/killed"
is 'half of a hundred are killed while they call' "$killed" 50
n=$(used)
share=$((n * 1000 / (rate * long)))
check "at least 95 % of the rate is used ($share/1000)" \
  test "$share" -ge 950
most=$(most_in_a_second)
check "at most 9 calls in any second ($most)" test "$most" -le 9
survivors=$(for ((i = 1; i <= 99; i += 2)); do wc -l < "$dir/all.$i"; done)
fair=$(awk '{ s += $1; if (NR == 1 || $1 < m) m = $1 } END {
  printf "%d %d", m * 100, s / NR * 100 }' <<< "$survivors")
check "no survivor has less than half of the mean (least and mean in 1/100: $fair)" \
  test "${fair% *}" -ge $((${fair#* } / 2))

long=$((long / 2))
run urgent 4 urgent 99 patient 60 patient 99 2>> "$dir/killed"
urgent=$(mean_wait urgent)
patient=$(mean_wait patient)
check "urgent calls wait less ($urgent and $patient ms)" \
  test "$urgent" -lt $((patient / 2))
most=$(most_in_a_second)
check "at most 9 calls in any second, mixed ($most)" test "$most" -le 9
check 'patient callers are not starved' test "$(cat "$dir"/patient.* | wc -l)" -gt 60
