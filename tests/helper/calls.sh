# calls.sh - counts the calls in the simulator's log, which has one JSON object
# in each line. To be sourced by bash.

# Those of a kind whose log entry matches the jq filter. Tests ask again and
# again, and grep takes a tenth of the processor time of jq.
count_calls() # LOG KIND [FILTER]
{
  local kind="\"call\":\"$2\"," filter=${3-}
  if [[ $filter =~ ^\.status\ ?==\ ?([0-9]+)$ ]]; then
    grep -c "$kind.*\"status\":${BASH_REMATCH[1]}," "$1"
  elif [ -z "$filter" ]; then
    grep -c "$kind" "$1"
  else
    jq -s "[.[] | select(.call == \"$2\") | select($filter)] | length" "$1"
  fi
}
