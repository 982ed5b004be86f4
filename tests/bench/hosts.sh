#!/usr/bin/env bash
#
# hosts.sh - several hosts that share an account: docextract's adaptive rate
# beside a fixed share of the rate, and beside a client that only retries; hosts.c
# says how it is simulated.
. "$(dirname "$0")/lib.sh"

"$helpers/hosts" > "$dir/lines"
numbers() # COLUMN: of the line of $n hosts
{
  awk -v n="$n" -v column="$1" '$1 == n { print $column }' "$dir/lines"
}
pair() # WHAT, COLUMN OF OURS, OF THE ALTERNATIVE, ITS NAME
{
  numbers "$2" > "$dir/ours"
  numbers "$3" > "$dir/theirs"
  row "$n hosts: $1" % "$dir/ours" "$dir/theirs" "$4" -
}
while read -r n _; do
  pair 'used of the account' 2 4 'a fixed share'
  pair 'used of the account' 2 6 'retry only'
  [ "$n" = 1 ] || pair 'refused calls' 3 7 'retry only'
done < "$dir/lines"
