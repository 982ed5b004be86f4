#!/usr/bin/env bash
#
# sections.sh - each section of a test passes when it is run alone (DX_ONLY).
#
#   sections.sh [TEST...]     only those of these scripts
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh

[ $# -gt 0 ] || mapfile -t < <(grep -l '^section ' tests/*/*.sh |
  grep -v '^tests/checks/')
[ $# -gt 0 ] || set -- "${MAPFILE[@]}"
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-sections.XXXXXX")
trap 'rm -rf "$dir"' EXIT

for test; do
  mapfile -t names < <(sed -n "s/^section '\(.*\)'$/\1/p" "$test")
  for name in "${names[@]}"; do
    begin=$SECONDS
    DX_ONLY=$name bash "$test" > "$dir/out" 2>&1
    status=$?
    is "$test: $name ($((SECONDS - begin)) s)" \
      "$status $(grep '^not ok' "$dir/out")" '0 '
  done
done
count_is_good
