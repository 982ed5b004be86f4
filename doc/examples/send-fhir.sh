#!/bin/sh
# send-fhir.sh URL DIRECTORY - sends the transactions of docextract-fhir(1) in
# DIRECTORY to a FHIR server, and deletes each one of which the server has
# accepted every entry. The others are kept and named: some servers respond with
# 200 although entries failed.
set -eu
[ $# = 2 ] || {
  echo 'usage: send-fhir.sh URL DIRECTORY' >&2
  exit 64
}
url=$1 status=0
cd "$2"
for bundle in patient-*.fhir.json [0-9a-f]*.fhir.json; do
  [ -f "$bundle" ] || continue
  if curl -fsS -H 'Content-Type: application/fhir+json' \
    --data-binary "@$bundle" "$url" |
    jq -es --slurpfile sent "$bundle" 'length == 1 and
      .[0].type == "transaction-response" and
      (.[0].entry | length) == ($sent[0].entry | length) and
      all(.[0].entry[]; .response.status | test("^20[01]( |$)"))' > /dev/null
  then
    rm "$bundle"
  else
    status=1
    echo "$bundle was not accepted, and is kept; see the log of the server" >&2
  fi
done
exit $status
