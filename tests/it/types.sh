#!/usr/bin/env bash
#
# types.sh - every type of document, one at a time, from lp to the results
# directory: the programs that convert it, and its results. Text files are in
# text.sh, types that CUPS does not know in unknown.sh, and jobs of several
# documents in many.sh.
. "$(dirname "$0")/lib.sh"

one_job() # TEXT LP ARGUMENT...: prints, waits, expects one result
{
  local text=$1
  shift
  clear_results
  print -d chart "$@"
  job_ends "$text: the job is completed" "$job" completed
  is "$text: one result and one manifest" "$(n_results) $(n_manifests)" '1 1'
  result=$results/$(results | head -n 1)
  manifest=$results/$(manifests | head -n 1)
}

mode_of() { stat -c %a "$1"; }
manifest_has() { jq -c "$1" "$manifest"; }
uploaded() { echo "$SIM_DATA/$(uploads | head -n 1)"; }
pages_of() { qpdf --show-npages "$1"; }

start_all
results_mode=$(mode_of "$results")
chart_pdf "$dir/chart.pdf" José Müller 004711 'a second page'

pdftoppm -png -r 50 -singlefile "$dir/chart.pdf" "$dir/scan"
pdftoppm -jpeg -r 50 -singlefile "$dir/chart.pdf" "$dir/scan"
"$build/tests/filter/mktiff" "$dir/three.tif" pages=3 pack=g3 unit=inch dpi=204
frame='\x2C\0\0\0\0\x01\0\x01\0\0\x02\x02\x4C\x01\0'
gif='GIF89a\x01\0\x01\0\x80\0\0\xFF\xFF\xFF\0\0\0'
printf %b "$gif$frame;" > "$dir/one.gif"
printf %b "$gif$frame$frame$frame;" > "$dir/three.gif"
pdftoppm -r 20 -singlefile "$dir/chart.pdf" "$dir/one"
cat "$dir"/one.ppm "$dir"/one.ppm "$dir"/one.ppm > "$dir/three.ppm"

section 'a PDF'

one_job 'a PDF' -t 'Befund Müller / "A"' "$dir/chart.pdf"
is 'the job reports its outcome' \
  "$(job_message "$job")" 'Extracted 1 case'
source=$(jq -r .results.source_id "$result")
case_id=$(jq -r .results.id "$result")
# Some versions of jq print 4.0 as it came, others as 4.
is "the values of the chart are extracted" \
  "$(jq -c '.results.medical_data[] | (.. | numbers) |= . + 0' "$result")" \
  '{"patient_first_name":"José","patient_last_name":"Müller","patient_mrn":"004711","patient_dob":"3/7/1984","wbc_count":{"value":7.2,"measurement_unit":"10^3/uL","range":{"min":4,"max":11}},"hemoglobin":{"value":13.5,"measurement_unit":"g/dL","range":{"min":12,"max":15.5}}}'
is 'something was found in it' "$(manifest_has '.cases[0].empty')" false
is 'results are named after source and case' "$(results) $(manifests)" \
  "$source-$case_id.json $source.job.json"
is 'results are for their group only' \
  "$(mode_of "$result") $(mode_of "$manifest") $results_mode" '640 640 2770'
is "results have their directory's group" \
  "$(stat -c %G "$result" "$manifest" | sort -u)" "$(stat -c %G "$results")"
is 'the results directory has no other files' "$(ls -A "$results" | wc -l)" 2
is 'the manifest has the outcome' \
  "$(manifest_has '[.schema,.outcome,.service,.source_id]')" \
  "[2,\"extracted\",\"default\",\"$source\"]"
is 'the manifest has the job' \
  "$(manifest_has '[.job|.queue,.id,.user,.title]')" \
  "[\"chart\",\"$job\",\"$(id -un)\",\"Befund Müller / \\\"A\\\"\"]"
is 'the manifest has the uuid that CUPS gave' \
  "$(manifest_has .job.uuid)" "\"$(job_value "$job" job-uuid)\""
has 'the manifest has the key of the job' "$(manifest_has .job.key)" \
  '^"[0-9a-f]{32}"$'
is 'the manifest has the file that was uploaded' \
  "$(manifest_has '[.files[]|[.document,.content_type,.pages,.bytes,.sha256]]')" \
  "[[1,\"application/pdf\",2,$(stat -c %s "$(uploaded)"),\"$(sha256sum < "$(uploaded)" | cut -d ' ' -f 1)\"]]"
is 'the manifest has the case, with the checksum of its file' \
  "$(manifest_has '[.cases[]|[.case_id,.file,.bytes,.sha256]]')" \
  "[[\"$case_id\",\"${result##*/}\",$(stat -c %s "$result"),\"$(sha256sum < "$result" | cut -d ' ' -f 1)\"]]"
has 'times are RFC 3339 in UTC' \
  "$(manifest_has '[.times|.received_at,.uploaded_at,.complete_at,.extracted_at]')" \
  '^\[("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z",?){4}\]$'
is 'one source, one upload' "$(calls create) $(calls put)" '1 1'
is 'an upload carries no token and a length' \
  "$(jq -sc '[.[]|select(.call=="put")|.auth,.chunked,.expect]' "$SIM_LOG")" \
  '[false,false,false]'
is 'no call was refused' "$(jq -s 'map(select(.status>=400))|length' "$SIM_LOG")" 0
is 'the pages are counted' "$(tail -n 1 "$cups/log/page_log")" \
  "chart $job 2 total 2"
none_is_left()
{
  [ -z "$(find "$spool/jobs" "$spool/finished" "$spool/incoming" -type f \
    ! -name job.json)" ]
}
check 'no document is left in the spool' until_true none_is_left

body='{"status":200, "results": {"status":"complete","n":1.2300000000000000000001e400,"t":"\u00e9 é\/" ,"a":[0.10,-0]}}'
faults "extract * body $body"
one_job 'an unusual response' "$dir/chart.pdf"
is 'the response is kept byte for byte' "$(cat "$result"; echo .)" "$body."
faults '#'

section 'pictures, text, PostScript'

one_job 'a PNG' "$dir/scan.png"
check 'a PNG is uploaded as it is' cmp "$dir/scan.png" "$(uploaded)"
is 'a PNG is registered as one' "$(manifest_has '.files[0]|[.content_type,.pages]')" \
  '["image/png",1]'

one_job 'a JPEG' "$dir/scan.jpg"
check 'a JPEG is uploaded as it is' cmp "$dir/scan.jpg" "$(uploaded)"
is 'a JPEG is registered as one' "$(manifest_has '.files[0].content_type')" \
  '"image/jpeg"'

one_job 'page ranges of a TIFF' -o page-ranges=2-3 "$dir/three.tif"
is 'only the selected pages of a TIFF are sent' \
  "$(pages_of "$(uploaded)")" 2

held() # TEXT PATTERN LP ARGUMENT...: nothing is sent, and the queue reports the reason
{
  clear_results
  print -d chart "${@:3}"
  job_ends "$1: the job is held" "$job" pending-held
  is "$1: nothing is sent" "$(calls create) $(n_results)" '0 0'
  has "$1: the queue reports the reason" "$(queue_message "$job")" "$2"
}
held 'a GIF with three images' 'several images' "$dir/three.gif"
held 'a PNM with three images' 'several images' "$dir/three.ppm"

section 'what a client declares'

# A banner file names others, which bannertopdf puts on a page.
printf '#PDF-BANNER\nTemplate /etc/passwd\nHeader "page"\n' > "$dir/banner"
tail -n 2 "$dir/banner" > "$dir/half"
while read -r file type; do
  held "a $file as $type" 'a type that cannot be extracted' \
    -o "document-format=$type" "$dir/$file"
  is "a $file as $type: only todocextract read it" "$(filters_of "$job")" \
    todocextract
done << 'END'
banner application/octet-stream
banner application/vnd.cups-pdf-banner
banner text/plain
half application/vnd.cups-pdf-banner
END

while read -r file type expected; do
  clear_results
  print_ipp "$dir/$file" "$type" 'ATTR rangeOfInteger page-ranges 1-1'
  job_ends "$file that is declared as $type: completed" "$job" completed
  manifest=$results/$(manifests | head -n 1)
  is "$file that is declared as $type: its content determines the type, and options apply" \
    "$(manifest_has '.files[0]|[.content_type,.pages]')" "$expected"
  is "$file that is declared as $type: only todocextract read it" \
    "$(filters_of "$job")" todocextract
done << 'END'
chart.pdf image/jpeg ["application/pdf",1]
chart.pdf text/plain ["application/pdf",1]
chart.pdf application/vnd.cups-pdf ["application/pdf",1]
chart.pdf application/vnd.cups-pdf-banner ["application/pdf",1]
scan.jpg application/pdf ["image/jpeg",1]
scan.png image/gif ["image/png",1]
three.tif image/png ["application/pdf",1]
END

section 'a chart with nothing on it'

"$it/mkpdf" "$dir/blank.pdf" ''
one_job 'a blank chart' "$dir/blank.pdf"
is 'a blank chart: the job reports that nothing was found' \
  "$(job_message "$job")" 'Extracted 1 case; nothing was found in it'
is 'a blank chart: so does the manifest' \
  "$(manifest_has '[.outcome, .cases[0].empty]')" '["extracted",true]'
has 'a blank chart: so does show' "$(dx show "$result")" \
  '^Nothing was found in it$'

section 'three pages of each type'

# docextract-backend(7) has the same table.
"$it/mkpdf" "$dir/three.pdf" 'MRN: 1' 'MRN: 2' 'MRN: 3'
pdftops -q "$dir/three.pdf" "$dir/three.ps"
printf 'one\ftwo\fthree\n' > "$dir/three.txt"
# URF has 8 bits for each color. Of fewer, rastertopdf makes incomplete images.
for device in pwgraster:pwg urf:urf pclm:pclm; do
  gs -q -dNOPAUSE -dBATCH -r50 -sDEVICE="${device%:*}" -dLastPage=3 \
    -dcupsColorSpace=18 -dcupsBitsPerColor=8 -dcupsBitsPerPixel=8 \
    -sOutputFile="$dir/three.${device#*:}" "$dir/three.pdf" 2> "$dir/gs.err"
done
gs -q -dNOPAUSE -dBATCH -r50 -sDEVICE=bmp16m -dLastPage=1 \
  -sOutputFile="$dir/one.bmp" "$dir/three.pdf"
gs -q -dNOPAUSE -dBATCH -r50 -sDEVICE=ppmraw -dLastPage=1 \
  -sOutputFile="$dir/bitmap.page" "$dir/three.pdf"
sed '/^#/d' "$dir/bitmap.page" > "$dir/bitmap.ppm" # without a comment
cp "$dir/three.txt" "$dir/three.html"
while read -r file expected filters; do
  one_job "$file" "$dir/$file"
  is "$file arrives as expected" \
    "$(manifest_has '.files[0]|[.content_type,.pages]')" "$expected"
  is "$file: the programs that read it" "$(filters_of "$job")" "$filters"
  case $file in
  three.pdf | three.ps)
    is "$file: its words" "$(sent)" 'MRN: 1|MRN: 2|MRN: 3'
    ;;
  three.txt | three.html) is "$file: its words" "$(sent)" 'one|two|three' ;;
  one.bmp)
    pdfimages "$(uploaded)" "$dir/bitmap"
    check "$file: its pixels" cmp "$dir/bitmap.ppm" "$dir/bitmap-000.ppm"
    ;;
  one.ppm)
    pdfimages "$(uploaded)" "$dir/arrived"
    check "$file: its pixels" cmp "$dir/one.ppm" "$dir/arrived-000.ppm"
    ;;
  esac
done << 'END'
three.pdf ["application/pdf",3] todocextract
three.ps ["application/pdf",3] todocextract-check gstopdf todocextract
three.txt ["application/pdf",3] todocextract
three.html ["application/pdf",3] todocextract
three.tif ["application/pdf",3] todocextract
three.pwg ["application/pdf",3] todocextract-check rastertopdf todocextract
three.urf ["application/pdf",3] todocextract-check rastertopdf todocextract
three.pclm ["application/pdf",3] todocextract
one.gif ["application/pdf",1] todocextract
one.ppm ["application/pdf",1] todocextract
one.bmp ["application/pdf",1] todocextract
END

one_job 'standard input' - < "$dir/chart.pdf"
is 'a document from a pipe arrives' "$(patients)" 'Müller José 004711'

section 'what the dialog can say'

"$it/mkpdf" "$dir/five.pdf" 'MRN: 1' 'MRN: 2' 'MRN: 3' 'MRN: 4' 'MRN: 5'
one_job 'page ranges' -o page-ranges=2,4 "$dir/five.pdf"
is 'only the selected pages are sent' \
  "$(pages_of "$(uploaded)") $(pdftotext "$(uploaded)" - | tr -s '\f\n' ' ')" \
  '2 MRN: 2 MRN: 4 '

one_job 'three copies' -n 3 "$dir/chart.pdf"
is 'copies are sent once' \
  "$(calls create) $(pages_of "$(uploaded)")" '1 2'
