#!/bin/sh
# consume.sh RESULTS INBOX - moves delivered results to INBOX, and those of a
# chart that was extracted twice, by two servers, to INBOX/duplicates. Only files
# that belong to the owner of RESULTS are imported; everything else is named, and
# remains there. If it is killed and started again, no result is lost; see
# docextract-results(5).
set -eu
[ $# = 2 ] || {
  echo 'usage: consume.sh RESULTS INBOX' >&2
  exit 64
}
inbox=$(cd "$2" && pwd)
new=$inbox/.new
cd "$1"
owner=$(stat -c %u .)

copy() # FILE: to $new; what was opened is what is checked
{
  if [ ! -f "$1" ] || [ -L "$1" ] ||
    ! { [ "$(stat -c %u -)" = "$owner" ] && cat > "$new/$1"; } < "$1"; then
    echo "$1 is not a file of docextract" >&2
    return 1
  fi
}

move() # FILE TO: at any time, the whole file is in one directory
{
  sync "$new/$1" && mv "$new/$1" "$2/" && sync "$2" && rm -- "$1"
}

consume() # MANIFEST
{
  rm -rf "$new" && mkdir "$new" && copy "$1" || return
  chart=$(jq -ce 'if .schema == 2 and all(.cases[].file;
    endswith(".json") and (startswith(".") or test("[/\n]") | not)) then
    [.outcome, .job.uuid, (.files[] | .document, .sha256)] else
    error("its schema or a name is invalid") end' "$new/$1") || return
  jq -r '.cases[] | "\(.sha256) \(.file)"' "$new/$1" > "$new/.cases" || return
  while read -r sum file; do
    [ -e "$file" ] || [ -L "$file" ] || continue # moved before it was killed
    copy "$file" && echo "$sum  $new/$file" | sha256sum --check --quiet || return
  done < "$new/.cases"
  to=$inbox seen=$inbox/.$(echo "$chart" | sha256sum | cut -d ' ' -f 1)
  case $chart in '["extracted","'*)
    [ -L "$seen" ] || ln -s "$1" "$seen" || [ -L "$seen" ] || return # by another
    [ "$(readlink "$seen")" = "$1" ] || to=$inbox/duplicates ;;
  esac
  mkdir -p "$to" || return
  while read -r sum file; do
    [ ! -e "$new/$file" ] || move "$file" "$to" || return
  done < "$new/.cases"
  move "$1" "$to"
}

status=0
exec 9>> "$inbox/.lock"
flock 9
for manifest in *.job.json; do
  [ -e "$manifest" ] || [ -L "$manifest" ] || continue
  consume "$manifest" || {
    status=1
    echo "$manifest is not imported" >&2
  }
done
rm -rf "$new"
exit $status
