#!/usr/bin/env bash
#
# wait.sh - limits of waiting (tests/helper/wait.sh): the time in which the machine
# held up everything does not count, up to a sixteenth of all the time. Nothing is
# waited for here: a pause only moves a clock.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-wait.XXXXXX")
trap 'rm -rf "$dir"' EXIT
. tests/helper/wait.sh

if read_held; then # not every kernel counts
  begin_ms=$held_ms
  read_held
  check 'what Linux counts does not decrease' test "$held_ms" -ge "$begin_ms"
fi

paused_ms=0 total_ms=0
held_percent=0 # of each pause
pause()
{
  local ms=$((10#${1#0.}))
  paused_ms=$((paused_ms + ms))
  total_ms=$((total_ms + ms * held_percent / 100))
}
read_held() { held_ms=$total_ms; }

# How many seconds of pauses until_true makes if it waits in vain.
waits()
{
  paused_ms=0
  WAIT_S=10 until_true false 2> "$dir/vain"
  echo $((paused_ms / 1000))
}
is 'on an idle machine it waits as long as it says' "$(waits)" 10
held_percent=50
is 'half of the time is held up: twice as long' "$(waits)" 20
held_percent=100
is 'all of the time is: 16 times as long' "$(($(waits) / 10))" 16
held_percent=200 # by disk and processor
is 'and no longer' "$(($(waits) / 10))" 16
WAIT_S=1 until_true false 2> "$dir/vain"
has 'it says that it has waited in vain' "$(cat "$dir/vain")" '^# stopped after '

begin_limit
is 'a limit is that of an idle machine' "$(limit_of 2000)" 2000
total_ms=$((total_ms + 3000))
is 'and what was held up' "$(limit_of 2000)" 5000
total_ms=$((total_ms + 100000))
is 'but at most 16 times as long' "$(limit_of 2000)" 32000

# --- where Linux does not count it -------------------------------------------

read_held() { return 1; }
read_load() { load=4 load_sum=$((load_sum + 4)) loads=$((loads + 1)); }
is 'else the load counts' "$(waits)" 40
begin_limit
is 'also in limits' "$(limit_of 2000)" 8000

count_is_good
