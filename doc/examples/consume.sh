#!/bin/sh
# consume.sh RESULTS INBOX - moves delivered results to INBOX, and those of a
# chart that was extracted twice, by two servers, to INBOX/duplicates. If it is
# killed and started again, no result is lost; see docextract-results(5).
set -eu
inbox=$(cd "$2" && pwd)
cd "$1"
for manifest in *.job.json; do
  [ -e "$manifest" ] || continue
  chart=$(jq -c '[.outcome, .job.uuid, (.files[] | .document, .sha256)]' "$manifest")
  to=$inbox seen=$inbox/.$(echo "$chart" | sha256sum | cut -d ' ' -f 1)
  case $chart in '["extracted","'*)
    [ -L "$seen" ] || ln -s "$manifest" "$seen" || [ -L "$seen" ] # by another one
    [ "$(readlink "$seen")" = "$manifest" ] || to=$inbox/duplicates ;;
  esac
  mkdir -p "$to"
  cases=$(jq -r '.cases[] | "\(.sha256)  \(.file)"' "$manifest")
  echo "$cases" | while read -r sum file; do
    [ -e "$file" ] || continue # moved before the script was killed
    echo "$sum  $file" | sha256sum --check --quiet
    mv "$file" "$to/"
  done
  mv "$manifest" "$to/"
done
