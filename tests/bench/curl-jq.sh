#!/usr/bin/env bash
#
# curl-jq.sh - submits a document with curl and jq, as a shell script would.
# cpu.sh compares the backend with it. It keeps no journal, and does not handle
# errors.
#
# usage: curl-jq.sh API TOKEN-FILE DOCUMENT TYPE RESULTS
set -eu

api=$1 file=$3 type=$4 results=$5
auth="Authorization: Bearer $(cat "$2")"

response=$(jq -n --arg type "$type" --arg name "${file##*/}" \
  '{files: [{content_type: $type, file_name: $name}]}' |
  curl -sS -H "$auth" -H 'Content-Type: application/json' -d @- \
    "$api/v1/source")
id=$(jq -r .results.id <<< "$response")
url=$(jq -r '.results.upload_urls[0].url' <<< "$response")
curl -sS -f -o /dev/null -H "Content-Type: $type" -T "$file" "$url"

while
  sleep 2
  response=$(curl -sS -H "$auth" "$api/v1/source/$id")
  [ "$(jq -r .results.status <<< "$response")" != complete ]
do :; done

for case in $(jq -r '.results.case_ids[]' <<< "$response"); do
  while
    status=$(curl -sS -H "$auth" -o "$results/.$case" -w '%{http_code}' \
      "$api/v1/patient_case/$case/extract")
    [ "$status" != 200 ]
  do sleep 2; done
  jq -e '.results.status == "complete"' "$results/.$case" > /dev/null
  mv "$results/.$case" "$results/$id-$case.json"
done
