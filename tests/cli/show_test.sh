#!/usr/bin/env bash
#
# show_test.sh - show and purge: `show` prints what was extracted, digit for
# digit; `purge` removes finished jobs, never results or unfinished jobs.
#
# Prints a line per case and a last line with the counts.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/frame.sh"

submitted() # FILE...: sets key, and files to the paths of the results
{
  dx submit "$@"
  key=$(sed -n 's/^Stored .* as job //p' "$dir/err")
  mapfile -t files < <(grep '^/' "$dir/out")
}

row() { grep -E "^ +$1 " <<< "$out" | xargs; } # FIELD: its row

# --- a job, and a file ---------------------------------------------------------

"$mkpdf" "$dir/values.pdf" \
  "Patient: Ann Ahrens|MRN: 17|DOB: 03/07/1984|\
WBC 7.10 10^3/uL (4.50 - 11.0)|Hemoglobin 17.20 g/dL (12.0 - 16.0)"
submitted "$dir/values.pdf"

m() { printf '"%s":{"value":%s,"measurement_unit":"%s","range":%s}' "$@"; }
result() # DOCUMENT-MEMBERS: the end of a result, after its ids
{
  printf '"case_name":"a\\u001b[31mb\\u009bc\\u202ed",'
  printf '"medical_data":{"d1":{"patient_last_name":"\\u001b]0;x\\u0007y",'
  printf '%s}}}}' "$1"
}
long=0.$(printf '%080d' 1)
result "$(m seven 7.10 g '{"min":4.50,"max":7.1}'),$(m huge 1e400 g \
  '{"min":1,"max":9e399}'),$(m tiny -0.0 g '{"min":0}'),$(m small \
  -1E-400 g '{"min":0}'),$(m long "$long" g '{"max":0}'),$(m odd '"<5"' g \
  '{"min":1,"max":2}'),$(m esc 1 '\u001b[2J\u009b' null),\"yes\":true,
  \"no\":null,\"list\":[1,2]" > "$dir/end.json"
{
  printf '{"status":200,"results":{"status":"complete","id":"c1",'
  printf '"source_id":"s1",'
  cat "$dir/end.json"
} > "$dir/result.json"

section 'show: a job'

dx show "${key:0:8}"
is 'show: a job is shown' "$rc $err" '0 '
has 'show: the patient is shown' "$out" \
  '^Patient: Ann Ahrens, MRN 17, born 1984-03-07 \(3/7/1984\)$'
has 'show: the case is named' "$out" '^Case '
is 'show: the columns are named' "$(row FIELD)" 'FIELD VALUE UNIT MIN MAX'
is 'show: a measurement has its unit and range' "$(row wbc_count)" \
  'wbc_count 7.10 10^3/uL 4.50 11.0'
has 'show: a value out of range is marked' "$(row hemoglobin)" \
  '^hemoglobin 17.20 g/dL .* high$'
is 'show: the last line says what to do with the values' \
  "$(tail -n 1 <<< "$out")" \
  'Extracted automatically; compare the values with the chart'
"$program" -c "$conf" show --json "$key" > "$dir/shown"
is 'show --json: prints the result unchanged' \
  "$? $(cmp "$dir/shown" "${files[0]}" && echo same)" '0 same'
TERM=xterm dx show "$key"
hasnt 'show: no color in a pipe' "$out" $'\033'
on_terminal show "$key"
end_terminal
has 'show: a mark has color on a terminal' "$rc $out" $'\033\\[31mhigh'

section 'show: dates of birth'

born() # TEXT: as shown in the table, and on the page
{
  echo "{\"results\":{\"status\":\"complete\",\"id\":\"c1\",\"medical_data\":\
{\"d1\":{\"patient_dob\":\"$1\"}}}}" > "$dir/born.json"
  dx show "$dir/born.json"
  sed -n 's/^Patient:, born //p' <<< "$out"
  dx show --html "$dir/born.json"
  grep -oE '<dd><bdi>[^<]*' <<< "$out" | cut -d '>' -f 3
}
for row in '4/9/1967=1967-04-09 (4/9/1967)' '12/31/2025=2025-12-31 (12/31/2025)' \
  '2/29/2024=2024-02-29 (2/29/2024)' 2/29/2023 13/1/1967 4/31/1967 04/09/1967 \
  4/9/67 4/9/967 ' 4/9/1967' 4/9/1967x 1967-04-09 9.4.1967 0/1/1967; do
  is "show: the date of birth '${row%%=*}'" "$(born "${row%%=*}")" \
    "${row#*=}"$'\n'"${row#*=}"
done

section 'show: in the language of the user'

in_language() # LOCALE ARGUMENT...
{
  out=$(env LC_ALL="$1" "$program" -c "$conf" "${@:2}")
}
# The column in which a text begins, with two for each Japanese character.
column_of() # TEXT
{
  perl -CSA -e '($text, $line) = map s/([\x{3000}-\x{9fff}])/$1_/gr, @ARGV;
    print index($line, $text)' "$1" "$(grep -F -m 1 -e "$1" <<< "$out")"
}
in_language ja_JP.UTF-8 show "$key"
has 'show: labels are in the language of the user' "$out" '^患者: Ann Ahrens'
is 'show: Japanese columns line up' \
  "$(column_of 値) $(column_of 単位)" "$(column_of 7.10) $(column_of 10^3)"
in_language de_DE.UTF-8 show --html "$key"
has 'show --html: the page is in the language of the user' "$out" \
  '<html lang="de">'
has 'show --html: so are its labels' "$out" '<h1>Ausgelesene Werte</h1>'
has 'show --html: and marks' "$out" '▲ hoch<'

section 'show: nothing'

for data in '{}' 'null' '{"d1":{}}' '{"d1":{"patient_mrn":null,"list":[""]}}'; do
  echo "{\"results\":{\"status\":\"complete\",\"id\":\"c1\",\"medical_data\":\
$data}}" > "$dir/empty.json"
  dx show "$dir/empty.json"
  is "show: $data is nothing" "$rc $err $(xargs < "$dir/out")" \
    '0  Case c1 Nothing was found in it'
  hasnt "show: $data has no patient" "$out" Patient
  dx show --html "$dir/empty.json"
  has "show --html: $data is nothing" "$out" 'Nothing was found in it'
done
echo '{"results":{"status":"complete","id":"c1"}}' > "$dir/empty.json"
dx show "$dir/empty.json"
is 'show: no data at all is nothing, too' "$rc $err $(tail -n 1 "$dir/out")" \
  '0  Nothing was found in it'

section 'show: digits and control characters'

faults "extract * edit |\"case_name\".*|$(tr -d '\n' < "$dir/end.json" |
  sed 's/\\/\\\\/g')|\n"
configure
submitted "$dir/a.pdf"
faults ''
dx show "$key"
is 'show: trailing zeros stay, limits are in range' "$rc $(row seven)" \
  '0 seven 7.10 g 4.50 7.1'
is 'show: numbers beyond a double are kept and compared' "$(row huge)" \
  'huge 1e400 g 1 9e399 high'
is 'show: -0 is not below 0' "$(row tiny)" 'tiny -0.0 g 0'
is 'show: a number that a double rounds to 0 is compared' "$(row small)" \
  'small -1E-400 g 0 low'
is 'show: all digits are printed' "$(row long)" "long $long g 0 high"
is 'show: a string is shown and not compared' "$(row odd)" 'odd <5 g 1 2'
is 'show: other values are shown' \
  "$(row yes), $(row no), $(row list)" \
  'yes true, no -, list (see --json)'
hasnt 'show: control characters are not printed' "$out" \
  $'[\001-\010\013-\037\302\342]'
has 'show: they are replaced' "$out" '^Case [0-9A-Z]+: a\?\[31mb\?c\?d$'

printf '{"a":\t"\033[2J\302\233x\342\200\256y"}\n' > "$dir/raw.json"
dx show --json "$dir/raw.json" && cp "$dir/out" "$dir/shown"
is 'show --json: unchanged in a pipe' \
  "$(cmp "$dir/shown" "$dir/raw.json" && echo same)" same
on_terminal show --json "$dir/raw.json"
end_terminal
is 'show --json: control characters are replaced on a terminal' \
  "$(tr -d '\r' <<< "$out")" $'{"a":\t"?[2J?x?y"}'

section 'show: a file'

out=$(cd "$dir" &&
  "${as_owner[@]}" "$program" -c "$dir/none.conf" show result.json)
is 'show: a file needs no configuration' "$? $(row seven)" \
  '0 seven 7.10 g 4.50 7.1'
if [ "$(id -u)" = 0 ]; then
  cp "$dir/result.json" "$dir/secret.json"
  chmod 600 "$dir/secret.json"
  for option in '' --json; do
    # shellcheck disable=SC2086
    dx show $option "$dir/secret.json"
    has "show $option: root is shown what the owner of the spool may read" \
      "$rc $out $err" '^74  docextract: cannot open .*ermission denied.*; files are read with'
  done
  conf=$dir/none.conf dx show "$dir/secret.json"
  is 'show: without a configuration root is shown nothing' "$rc $out" '78 '
fi
head -c 9000000 /dev/zero | tr '\0' ' ' > "$dir/large.json"
dx show "$dir/large.json"
has 'show: what is too large for a table is not read into memory' "$rc $err" \
  '^65 .*8 MiB.*--json'
dx show --json "$dir/large.json"
is 'show --json: it can be printed' "$rc" 0
rm "$dir/large.json"
dx show "$dir/none.json"
has 'show: a missing file is an error' "$rc $err" '^65 .*neither a file'
dx show chart
has 'show: what is neither the name of a job nor a file' "$rc $err" \
  "^65 docextract: 'chart' is neither a file nor a job; "
dx show chart-99
has 'show: a print job that is unknown' "$rc $err" \
  "^65 docextract: no job 'chart-99'; "

dx show chart-12
has 'show: a print job that is not there is an error' \
  "$rc $err" "^65 .*no job 'chart-12'"
dx show "$dir/none.json" "$dir/e.txt"
has 'show: so are several files, each with its own' "$rc $(xargs <<< "$err")" \
  '^65 .*none.json.* neither a file .*e.txt: .* not a result .*2 of 2 failed$'
dx show "$dir/e.txt"
has 'show: another file is refused' "$rc $err" '^65 .*not a result'
manifests=("$results"/*.job.json)
dx show "${manifests[0]}"
has 'show: a manifest is recognized' "$rc $err" '^65 .*manifest'
echo '{"results":{"medical_data":{"d":{"a":01}}}}' > "$dir/bad.json"
dx show "$dir/bad.json"
has 'show: malformed JSON is refused' "$rc $err" '^65 .*not a result'

section 'show --html'

page() { tr -d '\n' < "$dir/out"; }
row_of() # FIELD: of the page, text only
{
  sed -n "s|^<tr><th scope=\"row\"><bdi>$1</bdi></th>||p" "$dir/out" |
    sed 's/<[^>]*>/ /g' | xargs -r
}
structure() { sed 's/ [a-zA-Z-]*="[^"]*"//g' | grep -o '<[^>]*>' | xargs; }

style=$("${as_owner[@]}" "$program" -c "$conf" show --html "$dir/result.json" |
  perl -0777 -ne 'print m|<style>(.*)</style>|s' | openssl dgst -sha256 -binary |
  base64)
dx show --html "$dir/result.json"
is 'show --html: a page' "$rc $err $(head -n 1 "$dir/out")" '0  <!DOCTYPE html>'
is 'show --html: that may have its own style and nothing else' \
  "$(sed -n 's/^<meta http-equiv="Content-Security-Policy" //p' "$dir/out")" \
  "content=\"default-src 'none'; style-src 'sha256-$style'; base-uri 'none';\
 form-action 'none'\">"
hasnt 'show --html: and has nothing else' "$(page)" \
  '<(script|link|img|iframe|a|form)[ >]|url\(|@import| (on[a-z]*|style|href|src)='
is 'show --html: has the digits of the service' \
  "$(row_of seven), $(row_of huge), $(row_of small), $(row_of long)" \
  "7.10 g 4.50 7.1, 1e400 g 1 9e399 ▲ high, -1E-400 g 0 ▼ low, \
$long g 0 ▲ high"
is 'show --html: shows what the table has no room for' \
  "$(row_of yes), $(row_of no), $(row_of list)" 'true, -, 1 2'
hasnt 'show --html: prints no control characters' "$out" \
  $'[\001-\010\013-\037]|\302[\200-\237]|\342\200\256'

cat > "$dir/hostile.json" << 'END'
{"results":{"id":"a\"onload=\"b","case_name":"</title></style><script>x()</script>",
 "medical_data":{"<script>alert(1)</script>":{
  "patient_last_name":"O'Neil & <b>Sons</b>","patient_mrn":"1\u00002",
  "' onclick='x()":"\u202e\u2066\u200f\ud83d\ude00<!--]]>&lt;",
  "א":"ב","<svg/onload=x()>":{"value":"<img src=x onerror=x()>",
   "measurement_unit":"\"><script>x()</script>","range":{"min":"</td>","max":2,
   "</script>":[["</script>"]]},"<i>":{"<u>":null}},
  "of":{"value":1,"range":"<2"},"none":{"value":null,"range":{}},
  "flat":{"value":3,"range":{"min":2,"max":2}},
  "huge":{"value":9e9999999,"range":{"min":-9e9999999,"max":1}},
  "in":{"value":3,"range":{"min":2,"max":6}},
  "up":{"value":9e999,"range":{"min":1,"max":2}},
  "off":{"value":-9e999,"measurement_unit":"g","range":{"min":1,"max":2}}},
 "d2":"a text","d3":{},"d4":[{}]},"more":{"<s>":"<\/script>"}}}
END
dx show --html "$dir/hostile.json"
is 'show --html: every text is a text' \
  "$rc $(page | sed 's/.*<body>//' | grep -o '<[a-z][a-z0-9]*' | sort -u | xargs)" \
  '0 <bdi <circle <dd <div <dl <dt <h1 <h2 <h3 <li <main <p <path <rect <section '\
'<small <svg <table <tbody <td <th <thead <tr <ul'
is 'show --html: and no attribute' \
  "$(page | sed 's/.*<body>//' | grep -oE '<[^>]*>' | grep -oiE ' [a-z-]+=' |
    sort -u | xargs)" \
  'aria-hidden= class= colspan= cx= cy= d= height= r= scope= viewBox= width= x= y='
has 'show --html: quotes cannot end one' "$out" \
  '<bdi>a&quot;onload=&quot;b</bdi>'
has 'show --html: what hides or turns text is replaced' "$out" \
  '>&#39; onclick=&#39;x\(\)<.*<bdi>\?\?\?😀&lt;!--\]\]&gt;&amp;lt;</bdi>'
has 'show --html: so is a NUL' "$out" '<bdi>1�2</bdi>'
has 'show --html: a value has its place on the bar' \
  "$(grep '>in<' "$dir/out")" '<td class="n"><.*<circle class="dot" cx="37\.5"'
has 'show --html: a value far away stays on the bar, and is marked' \
  "$(grep -A 1 '>up<' "$dir/out" | xargs -d '\n')" \
  '<td class="n out">.*<path class="far" d="M95\.0 .*'\
'<td class="n out">.*<path class="far" d="M5\.0 '
hasnt 'show --html: without a range there is no bar' \
  "$(grep -E '>(of|none|flat|huge)<' "$dir/out")" '<svg|nan|inf'
has 'show --html: fields that nobody knows are shown' "$(page)" \
  '&lt;s&gt;</bdi>: <bdi>&lt;/script&gt;<.*>ב<.*>&lt;u&gt;</bdi>.*>a text<'
has 'show --html: also those of a range' "$(page)" \
  '<bdi>&lt;/script&gt;</bdi>: <ul><li><ul><li><bdi>&lt;/script&gt;<'
has 'show --html: a document may be empty' "$(page)" '<p>\(empty\)</p>'

printf '%s' '{"results":{"id":"c","case_name":"n","medical_data":{"d":{
  "patient_mrn":"1","a":{"value":1,"range":{"min":0,"max":2}},"b":"t"}}}}' \
  > "$dir/small.json"
dx show "$dir/small.json" "$dir/small.json"
is 'show: an empty line separates two results' \
  "$(grep -cx '' <<< "$out") $(grep -B 1 '^Case' <<< "$out" | xargs)" \
  '5 Case c: n -- Case c: n'
dx show --html "$dir/small.json"
is 'show --html: headings, the patient, and a table' \
  "$(page | sed 's/.*<main>//' | structure | sed 's/ *<\/*bdi> */ /g' | xargs)" \
  '<h1> </h1> <section> <h2> <small> </small> </h2> <p> </p> '\
'<h3> </h3> <dl> <div> <dt> </dt> <dd> </dd> </div> </dl> '\
'<table> <thead> <tr> <th> </th> <th> </th> <th> </th> <th> </th> <th> </th> '\
'<th> </th> <th> </th> </tr> </thead> <tbody> '\
'<tr> <th> </th> <td> </td> <td> </td> <td> </td> '\
'<td> <svg> <rect/> <rect/> <circle/> </svg> </td> <td> </td> <td> </td> '\
'</tr> <tr> <th> </th> <td> </td> </tr> </tbody> </table> </section> '\
'</main> </body> </html>'

jq -nc '{results: {id: "c", medical_data: {d: ([range(100000) |
  {key: "f\(.)", value: {value: ., range: {min: 10, max: 90000}}}] |
  from_entries)}}}' > "$dir/many.json"
(ulimit -v 1000000 && dx show --html "$dir/many.json" && exit "$rc")
is 'show --html: 100,000 values are 100,000 rows' \
  "$? $(grep -c '^<tr><th scope="row">' "$dir/out")" '0 100000'
is 'show --html: in a page that grows with the result only' \
  "$(($(wc -c < "$dir/out") / $(wc -c < "$dir/many.json") < 15))" 1
rm "$dir/many.json"

for option in '' --verbose; do
  # shellcheck disable=SC2086
  dx show --html --json $option "$dir/result.json"
  has "show $option: a page is not JSON" "$rc $out $err" \
    '^64 .*--json and --html cannot be combined'
done
dx show --html "$dir/e.txt"
is 'show --html: what is no result is no page' "$rc $out" '65 '

section 'show: missing results'

new_spool
start_sim
configure
faults 'create 2 status 422\n'
submitted "$dir/a.pdf" "$dir/b.pdf"
faults ''
dx show "$key"
has 'show: the extracted document of two is shown' "$rc $out" 'Ann Ahrens'
has 'show: with the reason of the other one' "$err" \
  'document 2: failed: .*responded with 422'
dx show --html "$key"
has 'show --html: both are on the page' "$(page)" \
  '>Ahrens<.*<p class="note">document 2: failed: .*responded with 422.*</p></main>'
has 'show --html: and it is still reported' "$err" 'document 2: failed: '
submitted "$dir/a.pdf" "$dir/b.pdf"
"$program" -c "$conf" show --json "$key" > "$dir/shown"
is 'show --json: several results are consecutive values' \
  "$(jq -r '.results.medical_data[].patient_mrn' "$dir/shown" | xargs)" '1 2'
echo ' ' >> "${files[1]}"
mv "${files[0]}" "$dir/taken.json"
dx show "$key"
has 'show: a result that was taken is named' "$err" \
  "${files[0]##*/}' is no longer in"
is 'show: and is an error' "$rc" 74
has 'show: so is one that was changed' \
  "$err" "${files[1]##*/}' differs from what"
has 'show: the others are shown' "$out" 'Ben Bauer'
dx show --html "$key"
has 'show --html: what is missing is on the page' "$rc $(page)" \
  '^74 .*differs from what.*>Bauer<.*no longer in .*</p></main></body></html>$'
edit "$key" '.submissions[0] |= (.state = "complete" |
  .cases[0].state = "waiting")'
dx show "$key"
has 'show: a result that is still at the service is not missing' \
  "$rc $(xargs <<< "$err")" '^0 .*differs from what .* document 1: complete$'
edit "$key" '.submissions[0].cases[0].state = "stored"'
mv "$dir/taken.json" "$(job_dir "$key")/result-0001-00001.json"
dx show "$key"
has 'show: one that could not be delivered yet is shown' "$rc $(xargs <<< "$out")" \
  '^0 .*Ann Ahrens'
SERVICE=other configure
dx show "$key"
has 'show: without its service, a job says so' "$rc $(tail -n 1 <<< "$err")" \
  '^78 .*no longer configured, so its results directory is unknown'
configure
faults 'create * status 422\n'
submitted --together "$dir/a.pdf" "$dir/b.pdf"
faults ''
dx show "$key"
is 'show: a job without results is an error' "$rc" 65
is 'show: with the reason of each document' \
  "$(grep -oE '^docextract: document [0-9]: failed: ' <<< "$err" | xargs)" \
  'docextract: document 1: failed: docextract: document 2: failed:'
has 'show: and the message says so' "$err" 'job .* has no results'
dx cancel "$key"
dx show "$key"
has 'show: of a canceled job, that it is, once' "$err" \
  '^docextract: document 1: canceled$'
dx show 12345
has 'show: an unknown job is an error' "$rc $err" '^65 .*no job'

section 'purge'

old() { "${as_owner[@]}" touch -d '8 days ago' "$(job_dir "$1")/job.json"; }
kept() { jobs | wc -l; }

new_spool
submitted "$dir/a.pdf"
done_key=$key
faults 'create * status 422\n'
submitted "$dir/b.pdf"
failed_key=$key
submitted "$dir/b.pdf"
open_key=$key
faults ''
# It waits for an administrator.
edit "$open_key" '.submissions[0].state = "stored" |
  .submissions[0].reason = "" | .service = "other"'
old "$done_key"
old "$open_key"
before=$(ls "$results")

damaged=$spool/finished/$(printf '%032x' 1)
mkdir "$damaged"
echo '{' > "$damaged/job.json"
give "$damaged"
dx purge --dry-run
is 'purge: goes on after a damaged job' "$rc $err" '0 '
rm -r "$damaged"
dx purge --dry-run
has 'purge --dry-run: prints what would be removed' "$rc $out" \
  '^0 Would remove 1 finished job$'
is 'purge --dry-run: and removes nothing' "$(kept)" 3
dx purge
has 'purge: removes what is older than KeepJobs' \
  "$rc $out" '^0 Removed 1 finished job'
is 'purge: and nothing else' "$(jobs | sort | xargs)" \
  "$(printf '%s\n' "$failed_key" "$open_key" | sort | xargs)"
has 'purge: counts what stays' "$out" '^Kept 1: unfinished'
is 'purge: results stay' "$(ls "$results")" "$before"
has 'purge: a failed job stays, with its documents' "$out" \
  '^Kept 1: failed, .*docextract cancel JOB'
submitted "$dir/a.pdf"
dx purge --older-than 1h
has 'purge: recent jobs stay' "$out" '^Kept 1: too recent'
is 'purge: all of them' "$(kept)" 3
dx purge --older-than 1h "$key" "$failed_key"
has 'purge JOB: each has its own reason to stay' "$err" \
  "^docextract: $failed_key: job .* is not finished"
edit "$failed_key" '.queue = "chart" | .id = "12"'
dx purge --older-than 0s
has 'purge: a failed print job stays, because CUPS may run it again' "$out" \
  '^Kept 1: failed, '
dx cancel "$failed_key"
dx purge --older-than 0s
is 'purge: an unfinished job stays' "$rc $(jobs)" "0 $open_key"

edit "$open_key" '.submissions[0].state = "extracted" |
  .submissions[0].source_id = "s" | .submissions[0].section = "default" |
  .submissions[0].base_url = .base_url'
dx purge --older-than 0s
is 'purge: and is removed afterwards' "$rc $(kept)" '0 0'

for age in 7 d -1d 7w ''; do
  dx purge --older-than "$age"
  has "purge: '$age' is not an age" "$rc $err" '^64.*such as 7d'
done

end
