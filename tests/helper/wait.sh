# wait.sh - waiting for what shall become true, with a bound: no test and no
# demonstration waits a fixed time. To be sourced by bash.

# Waits until a command succeeds, at most WAIT_S seconds (30).
until_true()
{
  local end=$((SECONDS + ${WAIT_S:-30}))
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.02
  done
}
