#!/usr/bin/env bash
#
# bundle.sh - a user creates bundles and prints them, in every way that bypasses
# the filter: no part of them reaches the service, not even in a queue with an
# older driver, which lets them reach the backend. The output of the filter in
# the same queue does.
. "$(dirname "$0")/../it/lib.sh"

entry() # TYPE FILE [SEAL]: as the filter would frame it
{
  entry_header "$2" "$1" chart "${3-}"
  cat "$2"
}

printf '#!/bin/sh\necho no document at all\n' > "$dir/program"
seal=$(printf '%032d' 0)
chart_pdf "$dir/chart.pdf" Ann Ahrens 1
pdftoppm -png -r 30 -singlefile "$dir/chart.pdf" "$dir/scan"
entry application/pdf "$dir/program" > "$dir/bundle"
entry application/pdf "$dir/chart.pdf" > "$dir/honest"
entry application/pdf "$dir/program" "$seal" > "$dir/sealed"

start_all

# cupsd unpacks compressed documents with its own filter, gziptoany: that is how
# raw bytes reach the stdin of a backend, even after a document that went
# through our filter.
request() # OPERATION LINE...
{
  local operation=$1
  shift
  printf '%s\n' '{' "OPERATION $operation" 'GROUP operation-attributes-tag' \
    'ATTR charset attributes-charset utf-8' \
    'ATTR naturalLanguage attributes-natural-language en' \
    'ATTR uri printer-uri $uri' "$@" '}'
}
by=('ATTR name requesting-user-name ann')
send() # FILE LAST LINE...
{
  local file=$1 last=$2
  shift 2
  request Send-Document 'ATTR integer job-id $job-id' "${by[@]}" "$@" \
    "ATTR boolean last-document $last" "FILE $file"
}
compressed=('ATTR mimeMediaType document-format application/vnd.cups-raw'
  'ATTR keyword compression gzip' 'COMPRESSION gzip')

print_compressed() # FILE [FILE BEFORE IT]: the other one as it should be
{
  {
    request Create-Job "${by[@]}"
    [ $# = 1 ] ||
      send "$2" false 'ATTR mimeMediaType document-format application/pdf'
    send "$1" true "${compressed[@]}"
  } > "$dir/print.test"
  job=$(ipptool -tv "$ipp/printers/chart" "$dir/print.test" |
    sed -n 's/^ *job-id (integer) = //p' | head -n 1)
  [ -n "$job" ] || give_up 'cupsd takes a compressed document'
}

held() # TEXT COMMAND...: prints, and checks that nothing of it was sent
{
  local text=$1
  shift
  clear_results
  "$@"
  job_ends "$text: the job is held" "$job" pending-held
  has "$text: the reason is shown" "$(queue_message "$job")" "$reason"
  is "$text: nothing is sent" "$(calls create) $(calls put) $(n_results)" '0 0 0'
}

reason='it was printed raw'
held 'a raw bundle in the right queue' print -d chart -o raw "$dir/honest"
held 'two raw bundles in the right queue' print -d chart -o raw "$dir/bundle" \
  "$dir/honest"
held 'a compressed bundle in the right queue' print_compressed "$dir/sealed"

use_older_driver chart
reason='this printer does not have its driver'
held 'a bundle, raw' print -d chart -o raw "$dir/bundle"
held 'a bundle of a whole PDF, raw' print -d chart -o raw "$dir/honest"
held 'a bundle with a guessed seal' print -d chart -o raw "$dir/sealed"
held 'two bundles' print -d chart -o raw "$dir/bundle" "$dir/honest"
held 'a compressed bundle' print_compressed "$dir/bundle"
held 'a compressed bundle with a guessed seal' print_compressed "$dir/sealed"
cat "$dir/honest" "$dir/sealed" > "$dir/both"
held 'a bundle of two' print -d chart -o raw "$dir/both"

held 'a bundle after a chart' print_compressed "$dir/honest" "$dir/chart.pdf"
is 'a bundle after a chart did arrive' \
  "$(grep -c "Job $job\] Receiving document" "$cups/log/error_log")" 1

# What the filter frames is content to it, whatever it looks like.
clear_results
cp "$dir/scan.png" "$dir/tail.png"
entry application/pdf "$dir/program" "$seal" >> "$dir/tail.png"
print -d chart "$dir/tail.png"
job_ends 'a picture with a bundle behind it: completed' "$job" completed
is 'a picture with a bundle behind it is one document' \
  "$(calls create) $(calls put)" '1 1'

clear_results
print -d chart "$dir/chart.pdf" "$dir/scan.png" "$dir/chart.pdf"
job_ends 'three charts through the filter: completed' "$job" completed
is 'three charts through the filter are sent' "$(calls put) $(n_results)" '3 3'
