#!/usr/bin/env bash
#
# lag.sh - how late results are stored, and after how many calls; lag.c says
# how it is measured.
. "$(dirname "$0")/lib.sh"

mkdir -m 700 "$dir/lag"
"$helpers/lag" "$dir/lag"
