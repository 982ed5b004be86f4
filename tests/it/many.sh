#!/usr/bin/env bash
#
# many.sh - jobs of several documents: none is lost, none is sent twice. Single
# documents are in types.sh, interruptions in interrupted.sh.
. "$(dirname "$0")/lib.sh"

hold_is() # TEXT PATTERN: the job is held with a reason
{
  job_ends "$1: the job is held" "$job" pending-held
  has "$1: the reason is shown" "$(queue_message "$job")" "$2"
  has "$1: the job message has the reason" "$(job_message "$job")" "$2"
}

# How many documents were sent, how many results are there.
counts() { echo "$(calls create) $(calls put) $(n_results)"; }

start_all
add_queue together DocumentGrouping=Together
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Berg 2
chart_pdf "$dir/c.pdf" Cem Can 3
qpdf --encrypt secret owner 256 -- "$dir/b.pdf" "$dir/locked.pdf"
pdftoppm -png -r 30 -singlefile "$dir/a.pdf" "$dir/scan"
head -c 3000 /dev/urandom > "$dir/random.bin"
printf '\0\1\2\3' | cat - "$dir/random.bin" > "$dir/x" && mv "$dir/x" "$dir/random.bin"
abc=$'Ahrens Ann 1\nBerg Bob 2\nCan Cem 3'
ac=$'Ahrens Ann 1\nCan Cem 3'

section 'nothing is wrong'

print -d chart "$dir/a.pdf" "$dir/b.pdf" "$dir/c.pdf"
job_ends 'three documents make one job' "$job" completed
is 'three documents, three sources, three results' "$(counts)" '3 3 3'
is 'all of them arrived' "$(patients)" "$abc"
is 'the job waits when all of them were sent' "$(job_log "$job" |
  grep -ao '% sent\|waiting for its result' | uniq | xargs)" \
  '% sent waiting for its result'
is 'each manifest has the number of its document' \
  "$(cd "$results" && jq -s -c '[.[].files[].document]|sort' $(manifests))" \
  '[1,2,3]'

clear_results
print -d together "$dir/a.pdf" "$dir/scan.png" "$dir/c.pdf"
job_ends 'together: one job' "$job" completed
is 'together: one source of three files' \
  "$(calls create '.files==3') $(calls create) $(calls put)" '1 1 3'
is 'together: one manifest with three files' \
  "$(cd "$results" && jq -c '[.files[].content_type]' $(manifests))" \
  '["application/pdf","image/png","application/pdf"]'

clear_results
print -d chart -o job-sheets=standard,standard "$dir/a.pdf" "$dir/c.pdf"
job_ends 'with job sheets' "$job" completed
is 'job sheets are not uploaded' "$(counts)" '2 2 2'
is 'the documents between them are' "$(patients)" "$ac"

clear_results
uuid=urn:uuid:6d8b4ae2-7c34-4f4e-8f0a-2f4f0f5a1c11
print -d chart -o "job-uuid=$uuid" "$dir/a.pdf"
job_ends 'a job-uuid of the client' "$job" completed
print -d chart -o "job-uuid=$uuid" "$dir/c.pdf"
job_ends 'the same job-uuid again' "$job" completed
is 'two jobs with one job-uuid are two submissions' "$(counts)" '2 2 2'

section 'a document that cannot be sent'

for order in 'locked a c' 'a locked c' 'a c locked'; do
  clear_results
  files=()
  for f in $order; do files+=("$dir/$f.pdf"); done
  print -d chart "${files[@]}"
  hold_is "$order" 'document .: it is password-protected'
  is "$order: the others are extracted" "$(counts) $(patients)" "2 2 2 $ac"
  is "$order: the queue continues" "$(queue_is_stopped chart && echo stopped)" ''
done

release "$job"
is 'released: still held, because of the same document' \
  "$(job_state "$job")" pending-held
is 'released: what was extracted is not sent again' "$(counts)" '2 2 2'

clear_results
print -d together "$dir/a.pdf" "$dir/locked.pdf"
hold_is 'together with a refused one' 'belong together: it is password-protected'
is 'together: an incomplete chart is not sent' "$(counts)" '0 0 0'

printf '%%PDF-1.4\n1 0 obj <</Type/Catalog>> endobj\n' > "$dir/broken.pdf"
clear_results
gs -q -dNOPAUSE -dBATCH -r50 -sDEVICE=urf -dLastPage=1 -dcupsColorSpace=18 \
  -dcupsBitsPerColor=8 -dcupsBitsPerPixel=8 -sOutputFile="$dir/a.urf" \
  "$dir/a.pdf" 2> "$dir/gs.err"
mv "$cups/bin/filter/rastertopdf" "$cups/bin/filter/rastertopdf.real"
cat > "$cups/bin/filter/rastertopdf" << END
#!/bin/sh
"$cups/bin/filter/rastertopdf.real" "\$@"
exit 1
END
chmod 755 "$cups/bin/filter/rastertopdf"
print -d chart "$dir/a.pdf" "$dir/a.urf" "$dir/c.pdf"
job_ends 'a converter that fails midway: the job is held' "$job" pending-held
has 'a converter that fails midway: the reason is shown' "$(queue_message "$job")" \
  'document 2: its conversion failed, and pages may be missing; print it as a PDF$'
is 'a converter that fails midway: an incomplete chart is not sent' \
  "$(counts) $(patients)" "2 2 2 $ac"

clear_results
print -d chart "$dir/a.urf"
job_ends 'a filter fails on the only document: the job is held' "$job" \
  pending-held
is 'a filter fails on the only document: it is not sent' "$(counts)" '0 0 0'
mv "$cups/bin/filter/rastertopdf.real" "$cups/bin/filter/rastertopdf"
release "$job"
job_ends 'and is sent when the filter succeeds' "$job" completed
is 'and is sent when the filter succeeds: once' "$(counts)" '1 1 1'

clear_results
sed 's,/Contents 5 ,/Contents 9 ,; s,^<</Size,<</Info<</Producer(Old Scanner 2)>>/Size,' \
  "$dir/b.pdf" > "$dir/made.pdf"
print -d chart "$dir/a.pdf" "$dir/made.pdf" "$dir/c.pdf"
hold_is 'a damaged one in the middle' 'document 2: .*damaged'
hasnt 'a damaged one in the middle: the user does not read its producer' \
  "$(queue_message "$job") $(job_message "$job")" 'Old Scanner'
has 'a damaged one in the middle: the administrator does' "$(dx jobs)" \
  'document 2: .* damaged.*[(]made by Old Scanner 2[)]$'
is 'a damaged one in the middle: the others are extracted' \
  "$(counts) $(patients)" "2 2 2 $ac"

pdftoppm -jpeg -r 30 -singlefile "$dir/a.pdf" "$dir/photo"
head -c 1500 "$dir/photo.jpg" > "$dir/cut.jpg"
clear_results
print -d chart "$dir/a.pdf" "$dir/cut.jpg" "$dir/c.pdf"
hold_is 'a truncated picture' 'document 2: .*damaged'
is 'a truncated picture: the others are extracted' \
  "$(counts) $(patients)" "2 2 2 $ac"

qpdf --empty "$dir/none.pdf"
for bad in broken.pdf none.pdf cut.jpg random.bin; do
  clear_results
  print -d together "$dir/a.pdf" "$dir/c.pdf" "$dir/$bad"
  hold_is "together with $bad" 'belong together'
  is "together with $bad: nothing is sent" "$(counts)" '0 0 0'
done

clear_results
write_config 'OnDocumentError cancel'
print -d chart "$dir/locked.pdf"
job_ends 'OnDocumentError cancel: nothing was sent, the job is canceled' \
  "$job" canceled
is 'OnDocumentError cancel: nothing was sent' "$(counts)" '0 0 0'
print -d chart "$dir/a.pdf" "$dir/locked.pdf"
job_ends 'OnDocumentError cancel: still held if one was sent' \
  "$job" pending-held
write_config

section 'limits'

clear_results
write_config 'MaxDocumentsPerJob 2'
print -d chart "$dir/a.pdf" "$dir/b.pdf" "$dir/c.pdf"
hold_is 'more documents than MaxDocumentsPerJob' \
  'has too many documents, nothing was sent'
has 'more documents than MaxDocumentsPerJob: the log reports it' \
  "$(job_log "$job")" 'MaxDocumentsPerJob [(]2[)]; nothing'
is 'more documents than allowed: nothing is sent' "$(counts)" '0 0 0'
print -d chart -o job-sheets=standard,standard "$dir/a.pdf" "$dir/c.pdf"
job_ends 'job sheets do not count as documents' "$job" completed
is 'as many as allowed are sent' "$(counts)" '2 2 2'

clear_results
write_config 'MaxDocumentSize 1M'
{ cat "$dir/scan.png"; head -c 1048576 /dev/zero; } > "$dir/large.png"
print -d chart "$dir/a.pdf" "$dir/large.png" "$dir/c.pdf"
hold_is 'a document larger than MaxDocumentSize' \
  'document 2: it is too large'
has 'a document larger than MaxDocumentSize: the log reports it' \
  "$(dx jobs)" 'larger than MaxDocumentSize [(]1M[)]'
is 'the smaller ones are extracted' "$(counts) $(patients)" \
  "2 2 2 $ac"

section 'names'

names() # of the files, in the order of the documents
{
  (cd "$results" && jq -r '.files[]|"\(.document) \(.name)"' $(manifests)) |
    sort -n | cut -d ' ' -f 2- | paste -sd '|'
}

write_config
umlaut="$dir/Müller  \"Anna\" it's 10\\1.pdf"
cp "$dir/a.pdf" "$umlaut"
clear_results
print -d chart -t 'Visit of May' "$umlaut" "$dir/scan.png"
job_ends 'names: two files' "$job" completed
is 'documents of one job are named after their files' "$(names)" \
  "Müller  \"Anna\" it's 10-1.pdf|scan.png"
clear_results
print -d chart -t 'Visit of May' "$umlaut"
job_ends 'names: one file with a title' "$job" completed
is 'a single document is named after the title' "$(names)" 'Visit of May.pdf'
clear_results
print -d chart -t 'x document-name-supplied=evil.pdf' -o job-sheets=standard \
  "$dir/a.pdf" "$dir/c.pdf"
job_ends 'names: a title that looks like a name, and a sheet' "$job" completed
is 'titles do not become names of other documents, and sheets have no names' "$(names)" \
  'a.pdf|c.pdf'

clear_results
write_config 'FileNames neutral'
print -d chart -t 'Visit of May' "$umlaut" "$dir/scan.png"
job_ends 'neutral names' "$job" completed
is 'neutral names contain only number and type' "$(names)" \
  'document-1.pdf|document-2.png'
is 'and the service gets no other' \
  "$(grep -c 'Müller\|Visit\|scan' "$SIM_LOG")" 0
write_config
