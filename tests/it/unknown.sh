#!/usr/bin/env bash
#
# unknown.sh - a print job with a document that no filter of CUPS can read: at
# the beginning, in the middle, and at the end; from lp, from an IPP client, and
# from another computer. The other documents are extracted, and the job is held
# with a message. The same for raw print jobs.
. "$(dirname "$0")/lib.sh"
. "$it/client.sh"

# How many documents were sent, how many results are there.
counts() { echo "$(calls create) $(calls put) $(n_results)"; }

# Prints documents in one job, as an IPP client that may declare their types.
# MultipleOperationTimeout ends a job whose last document was not accepted.
print_documents() # TYPE:FILE...: leaves the number in $job, and `statuses`
{
  local document file type last=false by='ATTR name requesting-user-name ann'
  local request='GROUP operation-attributes-tag
    ATTR charset attributes-charset utf-8
    ATTR naturalLanguage attributes-natural-language en
    ATTR uri printer-uri $uri'
  {
    printf '%s\n' '{' 'OPERATION Create-Job' "$request" "$by" '}'
    for document; do
      [ "$document" != "${*: -1}" ] || last=true
      type=${document%%:*} file=${document#*:}
      printf '%s\n' '{' 'OPERATION Send-Document' "$request" \
        'ATTR integer job-id $job-id' "$by" \
        "ATTR mimeMediaType document-format $type" \
        "ATTR boolean last-document $last" "FILE $file" '}'
    done
  } > "$dir/print.test"
  output=$(ipptool -tv "$ipp/${ipp_queue-printers/chart}" "$dir/print.test" 2>&1)
  job=$(sed -n 's/^ *job-id (integer) = //p' <<< "$output" | head -n 1)
  statuses=$(sed -n 's/.*status-code = \([a-z-]*\).*/\1/p' <<< "$output" | xargs)
  [ -n "$job" ] || give_up "cupsd takes the documents of an IPP client: $output"
}

refused() # TEXT PLACE: the document there, and no other, of two good ones
{
  job_ends "$1: the job is held" "$job" pending-held
  has "$1: the message names the document, and says what to do" \
    "$(job_message "$job")" "^2 of 3 .*document $2: it is of a type that .*print"
  is "$1: the others are extracted, once" "$(counts) $(patients)" "2 2 2 $ab"
  is "$1: one backend" "$(starts "$job")" 1
  cancel "$job"
}

start_sim
CUPSD_CONF='MultipleOperationTimeout 3'
start_cupsd_on_a_port
add_queue chart
add_queue together DocumentGrouping=Together
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Berg 2
ab=$'Ahrens Ann 1\nBerg Bob 2'
{ printf '\0\1\2\3' && head -c 3000 /dev/urandom; } > "$dir/x.bin"
printf '\0\0\0\x18ftypheic\0\0\0\0mif1heic' > "$dir/x.heic"
printf 'RIFF\x1A\0\0\0WEBPVP8 \x0E\0\0\0\x30\x01\0\x9D\x01\x2A\x01\0\x01\0' \
  > "$dir/x.webp"

orders() # FILE: the two charts with it at each place
{
  printf '%s\n' "$1 a.pdf b.pdf" "a.pdf $1 b.pdf" "a.pdf b.pdf $1"
}

section 'lp'

for x in x.bin x.heic x.webp; do
  place=0
  while read -ra files; do
    place=$((place + 1))
    clear_results
    print -d chart "${files[@]/#/$dir/}"
    refused "lp ${files[*]}" "$place"
  done < <(orders "$x")
done

clear_results
print -d chart -o job-sheets=standard,standard "$dir/x.heic" "$dir/a.pdf" \
  "$dir/b.pdf"
job_ends 'between job sheets: the job is held' "$job" pending-held
is 'between job sheets: the others are extracted' "$(counts) $(patients)" \
  "2 2 2 $ab"
cancel "$job"

clear_results
print -d chart "$dir/x.heic"
job_ends 'alone: the job is held' "$job" pending-held
has 'alone: with the reason' "$(queue_message "$job")" \
  'not extracted: it is of a type that'
is 'alone: nothing is sent' "$(counts)" '0 0 0'
cancel "$job"

clear_results
print -d together "$dir/x.heic" "$dir/a.pdf"
job_ends 'together: the job is held' "$job" pending-held
has 'together: with the reason' "$(queue_message "$job")" \
  'belong together: it is of a type that'
is 'together: nothing is sent' "$(counts)" '0 0 0'
cancel "$job"

section 'an IPP client, with one Send-Document for each document'

place=0
while read -ra files; do
  place=$((place + 1))
  for type in application/octet-stream application/pdf; do
    clear_results
    print_documents "${files[@]/#/$type:$dir/}"
    refused "IPP, declared as $type: ${files[*]}" "$place"
  done
done < <(orders x.heic)

# cupsd refuses a type that it does not know, or cannot convert. The client
# decides what happens to the others; if it has no other last document, cupsd
# waits for one.
place=0
while read -ra files; do
  place=$((place + 1))
  for type in image/heic application/vnd.cups-ppd; do
    documents=("${files[@]/#/application/pdf:$dir/}")
    documents[place - 1]=$type:$dir/x.heic
    clear_results
    print_documents "${documents[@]}"
    t="IPP, $type: ${files[*]}"
    is "$t: cupsd refuses that document" \
      "$(grep -o 'client-error-[^ ]*' <<< "$statuses")" \
      client-error-document-format-not-supported
    check "$t: the others are extracted" until_true extracted 2
    check "$t: the job completes" until_true job_is "$job" completed
    is "$t: once" "$(counts) $(patients)" "2 2 2 $ab"
  done
done < <(orders x.heic)

section 'another computer'

on_client start_client
on_client add_shared plain -m raw
on_client add_shared far -m everywhere

last_job() # its number, or 0
{
  { echo 0 && lpstat -W all -o chart | sed 's/^chart-\([0-9]*\) .*/\1/'; } |
    sort -n | tail -n 1
}
has_arrived() { [ "$(last_job)" -gt "$last" ]; }
on_both() # QUEUE FILE...: prints there; leaves the number of the job here in $job
{
  local last
  last=$(last_job)
  clear_results
  on_client print -d "$1" "${@:2}"
  until_true has_arrived
  job=$(last_job)
}

place=0
while read -ra files; do
  place=$((place + 1))
  on_both plain "${files[@]/#/$dir/}"
  refused "a raw queue on another computer: ${files[*]}" "$place"
done < <(orders x.heic)

on_both far "$dir/x.heic"
job_ends '-m everywhere on another computer: the job is held here' "$job" \
  pending-held
has '-m everywhere on another computer: with the reason' \
  "$(queue_message "$job")" 'not extracted: it is of a type that'
cancel "$job"
on_both far "$dir/a.pdf"
job_ends '-m everywhere on another computer: the next chart completes' "$job" \
  completed
is '-m everywhere on another computer: and is extracted' \
  "$(counts) $(patients)" '1 1 1 Ahrens Ann 1'
on_client stop_cupsd

section 'raw'

raw() # TEXT: it is named, with the setting
{
  job_ends "$1: the job is held" "$job" pending-held
  has "$1: the message names the reason" "$(queue_message "$job")" \
    'it was printed raw, without the driver of this printer; print it without'
  has "$1: the administrator sees the setting" "$(dx jobs)" \
    "printed raw: .*'-o raw'.*'cups options = raw'"
  is "$1: nothing is sent" "$(counts)" '0 0 0'
  cancel "$job"
  until_true not has_jobs
}
has_jobs() { dx jobs | grep -q 'printed raw'; }

clear_results
print -d chart -o raw "$dir/a.pdf"
raw 'lp -o raw'
# As Samba does, with 'cups options = raw'.
print_ipp "$dir/a.pdf" application/vnd.cups-raw
raw 'an IPP client'
print -d chart -o raw "$dir/a.pdf" "$dir/x.heic" "$dir/b.pdf"
raw 'three documents'
print_documents "application/pdf:$dir/a.pdf" "application/vnd.cups-raw:$dir/b.pdf"
job_ends 'one of two: the job is held' "$job" pending-held
has 'one of two: the message names it' "$(queue_message "$job")" \
  '1 of 2 .*document 2: it was printed raw'
is 'one of two: the other is extracted' "$(counts)" '1 1 1'
cancel "$job"

clear_results
use_older_driver chart
print -d chart "$dir/x.heic"
job_ends 'an older driver: the job is held' "$job" pending-held
has 'an older driver: the user is referred to the administrator' \
  "$(queue_message "$job")" 'administrator: this printer does not have its driver'
has 'an older driver: the log says how to replace it' "$(job_log "$job")" \
  'todocextract: .*; give the queue its current driver: lpadmin -p QUEUE'
