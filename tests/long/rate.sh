#!/usr/bin/env bash
#
# rate.sh - docextractd keeps the rate limit although it is killed and started
# again all the time while many documents wait, and while `docextract hello` and
# `docextract submit` run. Counted where the calls come in. DOCUMENTS,
# RATE, SECONDS_LONG, and SEED can be set in the environment.
. "$(dirname "$0")/../it/lib.sh"

n=${DOCUMENTS:-60}
rate=${RATE:-8}
long=${SECONDS_LONG:-20}
RANDOM=${SEED:-7}
submit=
hello=

clear_stage()
{
  touch "$dir/enough"
  [ -z "$hello" ] || wait "$hello"
  [ -z "$submit" ] || end_process "$submit"
  stop_daemon
  stop_sim
}

arrived() # the API calls in the simulator
{
  jq -c 'select(.call == "create" or .call == "source" or
    .call == "extract" or .call == "hello")' "$SIM_LOG"
}
start_sim --source-time 0 --case-time 0
write_config "APIRate $rate"
make_cups
chart_pdf "$dir/a.pdf" Ann Ahrens 1
documents=()
for ((i = 1; i <= n; i++)); do
  cp "$dir/a.pdf" "$dir/$i.pdf"
  documents+=("$dir/$i.pdf")
done

start_daemon
dx submit "${documents[@]}" > "$dir/submit.out" 2>&1 &
submit=$!
WAIT_S=60 until_true calls_are create 1 || give_up 'the documents are submitted'
(until [ -e "$dir/enough" ]; do dx hello; done) > "$dir/hello.out" 2>&1 &
hello=$!

# On a busy machine, it needs more time for so many calls.
is_short() # SECONDS
{
  [ "$1" -lt "$long" ] ||
    { [ "$1" -lt $((9 * long)) ] && [ "$(left_at | wc -l)" -le "$long" ]; }
}

restarts=0
begin=$SECONDS
while is_short $((SECONDS - begin)); do
  pause "0.$((RANDOM % 9))$((RANDOM % 9))" # it is killed at random moments
  { stop_daemon KILL; } 2> /dev/null       # bash would report every kill
  start_daemon
  restarts=$((restarts + 1))
done
killed=$(left_at | wc -l)
check "killed $restarts times, it still calls ($killed)" \
  test "$killed" -gt "$long"
most=$(left_at | most_in_a_second)
check "at most 9 calls in any second ($most)" test "$most" -le 9
touch "$dir/enough"

# From now on it runs to the end.
WAIT_S=$((n / 2 + 60)) until_true is_gone "$submit"
check 'everything is extracted' wait "$submit"
is 'each document has its results' "$(n_results) $(n_manifests)" "$n $n"
most=$(left_at | most_in_a_second)
check "at most 9 calls in any second, to the end ($most)" test "$most" -le 9
check 'every call that arrived is in the log' test "$(left_at | wc -l)" -ge \
  "$(arrived | wc -l)"
