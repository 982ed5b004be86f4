#!/usr/bin/env bash
#
# documents.sh - as many documents as a print job can have, 1,000, and one more.
# The backend gets them without cupsd, which would run the filter for each.
. "$(dirname "$0")/../it/lib.sh"

sealed=$build/tests/helper/sealed
[ -x "$sealed" ] || give_up 'sealed is built (make tests/helper/sealed)'

# In a process of its own, which becomes the user of the backends. An idle machine
# needs minutes; test.sh names what hangs for half an hour.
received() # ID: from $dir/bundle
{
  as_run_user timeout -k 10 1700 "$sealed" env -u CUPS_SERVER PRINTER=chart \
    CUPS_SERVERROOT="$cups/root" DEVICE_URI=docextract://default \
    "$build/backend/docextract" "$1" ann title 1 "job-uuid=urn:uuid:$1" \
    < "$dir/bundle" 2> "$dir/backend.err"
}

start_sim --rate 0 --source-time 0 --case-time 0
write_config
start_daemon
chart_pdf "$dir/chart.pdf" Ann Ahrens 1
pdftoppm -png -r 9 -gray -singlefile "$dir/chart.pdf" "$dir/dot"
PPD=$build/ppd/docextract.ppd CUPS_SERVERROOT=$cups/root \
  DEVICE_URI=docextract://default "$build/todocextract" 1 ann title 1 \
  DocumentGrouping=Together "$dir/dot.png" > "$dir/one" 2> "$dir/filter.err"
for _ in {1..1000}; do cat "$dir/one"; done > "$dir/bundle"

(received 1)
is '1,000 documents are extracted' "$?" 0
is '1,000 documents are sent, all of them once' \
  "$(calls create) $(calls put .status==200) $(jq '.files | length' \
    "$results"/*.job.json)" '1 1000 1000'

clear_results
rm -r "${spool:?}/finished"
cat "$dir/one" >> "$dir/bundle"
(received 2)
is 'more than 1,000 documents are held' "$?" 3
has 'more than 1,000 documents: the reason is shown' \
  "$(grep -a ^ERROR "$dir/backend.err")" 'has too many documents'
has 'more than 1,000 documents: the log names the limit' \
  "$(grep -a ^WARNING "$dir/backend.err")" 'more documents than MaxDocumentsPerJob'
is 'more than 1,000 documents: nothing is sent or kept' \
  "$(calls create) $(ls -A "$spool/jobs" "$spool/incoming" | grep -v :)" '0 '
