#!/bin/sh
# consume.sh RESULTS INBOX - moves delivered results to INBOX. If it is killed
# and started again, no result is lost; see docextract-results(5). A result may
# arrive twice: identify documents by case ID and document ID.
set -eu
inbox=$(cd "$2" && pwd)
cd "$1"

for manifest in *.job.json; do
  [ -e "$manifest" ] || continue
  cases=$(jq -r '.cases[] | "\(.sha256)  \(.file)"' "$manifest")
  echo "$cases" | while read -r sum file; do
    [ -e "$file" ] || continue # moved before the script was killed
    echo "$sum  $file" | sha256sum --check --quiet
    mv "$file" "$inbox/"
  done
  mv "$manifest" "$inbox/"
done
