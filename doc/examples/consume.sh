#!/bin/sh
# consume.sh RESULTS INBOX - moves what docextract has delivered to INBOX. It
# may be killed at any moment and started again: see docextract-results(5).
set -eu
inbox=$(cd "$2" && pwd)
cd "$1"

for manifest in *.job.json; do
  [ -e "$manifest" ] || continue
  cases=$(jq -r '.cases[] | "\(.sha256)  \(.file)"' "$manifest")
  echo "$cases" | while read -r sum file; do
    [ -e "$file" ] || continue # taken before we were killed
    echo "$sum  $file" | sha256sum --check --quiet
    mv "$file" "$inbox/"
  done
  mv "$manifest" "$inbox/"
done
