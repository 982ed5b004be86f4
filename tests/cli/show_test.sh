#!/usr/bin/env bash
#
# show_test.sh - what `docextract` promises of what is over: `show` tells what
# was extracted, digit for digit, and `purge` removes records, never results
# and never what is unfinished.
#
# Prints a line per case and a last line with the counts.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/frame.sh"

submitted() # FILE...: sets key and the files of the results
{
  dx submit "$@"
  key=$(sed -n 's/^Stored .* as job //p' "$dir/out")
  mapfile -t files < <(grep '^/' "$dir/out")
}

edit() # KEY FILTER: writes another journal
{
  local f=$spool/jobs/$1/job.json
  jq "$2" "$f" > "$f.new"
  chmod 600 "$f.new"
  give "$f.new"
  mv "$f.new" "$f"
}

row() { grep -E "^ +$1 " <<< "$out" | xargs; } # FIELD: with single blanks

# --- show: a job -------------------------------------------------------------

"$mkpdf" "$dir/values.pdf" \
  "Patient: Ann Ahrens|MRN: 17|DOB: 03/07/1984|\
WBC 7.10 10^3/uL (4.50 - 11.0)|Hemoglobin 17.20 g/dL (12.0 - 16.0)"
submitted "$dir/values.pdf"
dx show "${key:0:8}"
is 'show: a job is shown' "$rc $err" '0 '
has 'show: the patient has a line' "$out" \
  '^Patient: Ann Ahrens, MRN 17, born 3/7/1984$'
has 'show: the case is named' "$out" '^Case '
is 'show: the columns are named' "$(row FIELD)" 'FIELD VALUE UNIT MIN MAX'
is 'show: a measurement has unit and range' "$(row wbc_count)" \
  'wbc_count 7.10 10^3/uL 4.50 11.0'
has 'show: what is outside of its range is marked' "$(row hemoglobin)" \
  '^hemoglobin 17.20 g/dL .* high$'
"$program" -c "$conf" show --json "$key" > "$dir/shown"
is 'show --json: the result as it came' \
  "$? $(cmp "$dir/shown" "${files[0]}" && echo same)" '0 same'
hasnt 'show: no colour in a pipe' "$out" $'\033'
on_terminal show "$key"
end_terminal
has 'show: a mark has colour on a terminal' "$rc $out" $'\033\\[31mhigh'

# --- show: digits and characters as they came --------------------------------

m() { printf '"%s":{"value":%s,"measurement_unit":"%s","range":%s}' "$@"; }
result() # DOCUMENT-MEMBERS
{
  printf '{"status":200,"results":{"status":"complete","id":"c1",'
  printf '"source_id":"s1","case_name":"a\\u001b[31mb\\u009bc",'
  printf '"medical_data":{"d1":{"patient_last_name":"\\u001b]0;x\\u0007y",'
  printf '%s}}}}' "$1"
}
long=0.$(printf '%080d' 1)
result "$(m seven 7.10 g '{"min":4.50,"max":7.1}'),$(m huge 1e400 g \
  '{"min":1,"max":9e399}'),$(m tiny -0.0 g '{"min":0}'),$(m small \
  -1E-400 g '{"min":0}'),$(m long "$long" g '{"max":0}'),$(m odd '"<5"' g \
  '{"min":1,"max":2}'),$(m esc 1 '\u001b[2J\u009b' null),\"yes\":true,
  \"no\":null,\"list\":[1,2]" > "$dir/result.json"
faults "extract * body $(tr -d '\n' < "$dir/result.json")\n"
configure
submitted "$dir/a.pdf"
faults ''
dx show "$key"
is 'show: trailing zeros stay, equal is inside' "$rc $(row seven)" \
  '0 seven 7.10 g 4.50 7.1'
is 'show: numbers beyond a double stay and compare' "$(row huge)" \
  'huge 1e400 g 1 9e399 high'
is 'show: minus nothing is not below nothing' "$(row tiny)" 'tiny -0.0 g 0'
is 'show: a number that a double takes for 0 is below it' "$(row small)" \
  'small -1E-400 g 0 low'
is 'show: as many digits as there are' "$(row long)" "long $long g 0 high"
is 'show: a text is shown and not compared' "$(row odd)" 'odd <5 g 1 2'
is 'show: what is no measurement is shown' \
  "$(row yes), $(row no), $(row list)" \
  'yes true, no -, list (see --json)'
hasnt 'show: no control characters of a result' "$out" \
  $'[\001-\010\013-\037\302]'
has 'show: a place is held for them' "$out" '^Case c1: a\?\[31mb\?c$'

printf '{"a":"\033[2J\302\233x"}\n' > "$dir/raw.json"
"$program" show --json "$dir/raw.json" > "$dir/shown"
is 'show --json: byte for byte into a pipe' \
  "$(cmp "$dir/shown" "$dir/raw.json" && echo same)" same
on_terminal show --json "$dir/raw.json"
end_terminal
is 'show --json: no control characters to a terminal' \
  "$(tr -d '\r' <<< "$out")" '{"a":"?[2J?x"}'

# --- show: a file -----------------------------------------------------------

out=$(cd "$dir" && "$program" -c "$dir/none.conf" show result.json)
is 'show: a file needs no configuration' "$? $(row seven)" \
  '0 seven 7.10 g 4.50 7.1'
dx show "$dir/none.json"
has 'show: no such file' "$rc $err" '^74 .*neither a file'
dx show chart-12
has 'show: what jobs are called is told' "$rc $err" '^74 .*docextract jobs$'
dx show "$dir/e.txt"
has 'show: a file that is no result' "$rc $err" '^65 .*not a result'
manifests=("$results"/*.job.json)
dx show "${manifests[0]}"
has 'show: a manifest is told' "$rc $err" '^65 .*manifest'
echo '{"results":{"medical_data":{"d":{"a":01}}}}' > "$dir/bad.json"
dx show "$dir/bad.json"
has 'show: what is not JSON is no result' "$rc $err" '^65 .*not a result'

# --- show: what is not there ------------------------------------------------

new_spool
start_sim
configure
faults 'create 2 status 400\n'
submitted "$dir/a.pdf" "$dir/b.pdf"
faults ''
dx show "$key"
has 'show: of two documents the good one is shown' "$rc $out" 'Ann Ahrens'
has 'show: and of the other one why there is nothing' "$err" \
  'document 2: failed: .*refused'
submitted "$dir/a.pdf" "$dir/b.pdf"
"$program" -c "$conf" show --json "$key" > "$dir/shown"
is 'show --json: several results are values one after the other' \
  "$(jq -r '.results.medical_data[].patient_mrn' "$dir/shown" | xargs)" '1 2'
echo ' ' >> "${files[1]}"
rm "${files[0]}"
dx show "$key"
has 'show: a result that was taken is named' "$err" \
  "${files[0]##*/}' is no longer in"
is 'show: and is no success' "$rc" 74
has 'show: one that was changed too' "$err" "${files[1]##*/}' differs from what"
has 'show: what is there is shown' "$out" 'Ben Bauer'
faults 'create * status 400\n'
submitted "$dir/a.pdf"
faults ''
dx show "$key"
is 'show: nothing extracted is no success' "$rc" 65
has 'show: and is said' "$err" 'job .* has no results'
dx show 12345
has 'show: no such job' "$rc $err" '^65 .*no job'

# --- purge ------------------------------------------------------------------

old() { "${as_owner[@]}" touch -d '8 days ago' "$spool/jobs/$1/job.json"; }
as_owner=()
[ "$(id -u)" != 0 ] ||
  as_owner=(setpriv --reuid="$owner" --regid="$group" --clear-groups)
kept() { jobs | wc -l; }

new_spool
submitted "$dir/a.pdf"
done_key=$key
faults 'create * status 400\n'
submitted "$dir/b.pdf"
failed_key=$key
submitted "$dir/b.pdf"
open_key=$key
faults ''
edit "$open_key" '.submissions[0].state = "stored" |
  .submissions[0].reason = ""'
old "$done_key"
old "$open_key"
before=$(ls "$results")

dx purge --dry-run
has 'purge --dry-run: says what would go' "$rc $out" \
  '^0 Would remove 1 finished job$'
is 'purge --dry-run: and removes nothing' "$(kept)" 3
dx purge
has 'purge: what is older than KeepJobs goes' "$rc $out" '^0 Removed 1 finished job'
is 'purge: that one, and nothing else' "$(jobs | sort | xargs)" \
  "$(printf '%s\n' "$failed_key" "$open_key" | sort | xargs)"
has 'purge: what stays is counted' "$out" '^Kept 1: unfinished'
is 'purge: results stay' "$(ls "$results")" "$before"
dx purge --older-than 1h
has 'purge: young ones stay' "$out" '^Kept 1: too recent'
is 'purge: all of them' "$(kept)" 2
edit "$failed_key" '.owner = "cups" | .queue = "chart" | .cups_id = "12"'
dx purge --older-than 0s
has 'purge: a failed print job stays, because CUPS may run it again' "$out" \
  '^Kept 1: failed print jobs'
edit "$failed_key" '.owner = "command"'
dx purge --older-than 0s
is 'purge: what is unfinished never goes' "$rc $(jobs)" "0 $open_key"

holder=$build/tests/cli/holder
edit "$open_key" '.submissions[0].state = "extracted" |
  .submissions[0].source_id = "s"'
mkfifo "$dir/holder.in"
"${as_owner[@]}" "$holder" "$spool/jobs/$open_key/lock" < "$dir/holder.in" \
  > "$dir/out" &
pid=$!
exec 9> "$dir/holder.in"
until_true says locked
dx purge --older-than 0s
is 'purge: what somebody works on stays' "$rc $(kept)" '0 1'
exec 9>&-
wait "$pid"
pid=
dx purge --older-than 0s
is 'purge: until nobody does' "$rc $(kept)" '0 0'

for age in 7 d -1d 7w ''; do
  dx purge --older-than "$age"
  has "purge: '$age' is no age" "$rc $err" '^64.*such as 7d'
done

end
