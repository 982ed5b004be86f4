#!/usr/bin/env bash
#
# lag.sh - how late results are stored, and after how many calls; lag.c says
# how it is measured.
. "$(dirname "$0")/lib.sh"

mkdir -m 700 "$dir/lag"
"$helpers/lag" "$dir/lag" > "$dir/lines"
while IFS=$'\t' read -r what unit ours theirs alternative aim; do
  echo "$ours" > "$dir/ours"
  echo "$theirs" > "$dir/theirs"
  row "$what" "$unit" "$dir/ours" "$dir/theirs" "$alternative" "$aim"
done < "$dir/lines"
