#!/usr/bin/env bash
#
# hl7.sh - what docextract-fhir makes of 200 results with hostile values: the HL7
# v2 parser of others, python3-hl7, reads in the messages what is in the bundles.
# tests/nightly/fhir.sh has the bundles validated.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/helper/count.sh"
program=${DX_BUILD:-$top}/fhir/docextract-fhir
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-fhir.XXXXXX")
trap 'rm -rf "$dir"' EXIT

mkdir "$dir/results" "$dir/out" "$dir/again"
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
bundles=("$dir"/out/[0-9a-f]*.fhir.json)
check 'there are bundles' [ ${#bundles[@]} -gt 200 ]

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
count_is_good
