#!/usr/bin/env bash
#
# pages.sh - which pages leave this computer, and how they are counted. The
# options of the dialog are applied by pdftopdf before the upload; copies never
# multiply anything. Types of documents are in types.sh.
. "$(dirname "$0")/lib.sh"

# pages, sheets; and the last line of the page_log
counted() { echo "$(job_value "$job" job-impressions-completed) $(
  job_value "$job" job-media-sheets-completed)"; }
logged() { tail -n 1 "$cups/log/page_log"; }

chosen() # TEXT PAGES COUNT LP ARGUMENT...: what is sent, and how it counts
{
  local text=$1 pages=$2 count=$3
  shift 3
  clear_results
  print -d chart "$@"
  job_ends "$text: the job is completed" "$job" completed
  is "$text: the pages" "$(sent)" "$pages"
  is "$text: one source a document" "$(calls create) $(calls put)" \
    "$(uploads | wc -l) $(uploads | wc -l)"
  is "$text: the page_log" "$(logged)" "chart $job $count total $count"
  is "$text: the job's own counts" "$(counted)" "$count $count"
}

start_all
"$it/mkpdf" "$dir/five.pdf" p1 p2 p3 p4 p5
"$it/mkpdf" "$dir/two.pdf" q1 q2
"$it/mkpdf" "$dir/separator.pdf" separator
five='p1|p2|p3|p4|p5'

# --- what the dialog can say -----------------------------------------------

chosen 'as it is' "$five" 5 "$dir/five.pdf"
chosen 'page ranges' 'p2|p4|p5' 3 -o page-ranges=2,4-9 "$dir/five.pdf"
chosen 'page ranges of two documents' 'p2|p3#q2' 3 -o page-ranges=2-3 \
  "$dir/five.pdf" "$dir/two.pdf"
chosen 'odd pages' 'p1|p3|p5' 3 -o page-set=odd "$dir/five.pdf"
chosen 'even pages' 'p2|p4' 2 -o page-set=even "$dir/five.pdf"
chosen 'reverse order' 'p5|p4|p3|p2|p1' 5 -o outputorder=reverse \
  "$dir/five.pdf"
chosen 'two pages on one' 'p1 p2|p3 p4|p5' 3 -o number-up=2 "$dir/five.pdf"
# pdftopdf counts sheets then.
chosen 'a range of them' 'p3 p4|p5' 2 -o number-up=2 -o page-ranges=2-3 \
  "$dir/five.pdf"
chosen 'three copies' "$five" 5 -n 3 "$dir/five.pdf"
chosen 'collated copies' "$five" 5 -n 3 -o collate=true "$dir/five.pdf"
chosen 'collated copies as a dialog says it' "$five" 5 -n 3 \
  -o multiple-document-handling=separate-documents-collated-copies \
  "$dir/five.pdf"
chosen 'copies that are not collated' "$five" 5 -n 3 -o collate=false \
  "$dir/five.pdf"
chosen 'copies of two documents' "$five#q1|q2" 7 -n 2 -o collate=true \
  "$dir/five.pdf" "$dir/two.pdf"
chosen 'copies with job sheets' 'q1|q2' 2 -n 2 -o job-sheets=standard,standard \
  "$dir/two.pdf"

size() { pdfinfo "$(sent_files)" | sed -n 's/^Page size: *\([^(]*[^ (]\).*/\1/p'; }
chosen 'on A5' "$five" 5 -o media=A5 -o fit-to-page "$dir/five.pdf"
is 'the page has the size that was chosen' "$(size)" '420 x 595 pts'
chosen 'landscape' 'q1|q2' 2 -o orientation-requested=4 -o media=A4 \
  "$dir/two.pdf"
pdftoppm -r 20 -f 1 -l 1 -png -singlefile "$dir/two.pdf" "$dir/upright"
pdftoppm -r 20 -f 1 -l 1 -png -singlefile "$(sent_files)" "$dir/turned"
is 'and is turned as the person wants it' \
  "$(cmp -s "$dir/upright.png" "$dir/turned.png"; echo $?)" 1

for type in png jpeg; do
  file=$dir/scan.${type/e/}
  pdftoppm -$type -r 30 -f 1 -l 1 -singlefile "$dir/five.pdf" "$dir/scan"
  clear_results
  print -d chart -n 4 "$file"
  job_ends "copies of a $type: the job is completed" "$job" completed
  is "copies of a $type: one source, one file, as it is" \
    "$(calls create) $(calls put) $(cmp "$(sent_files)" "$file" && echo same)" \
    '1 1 same'
  is "copies of a $type: one page" "$(logged) $(counted)" \
    "chart $job 1 total 1 1 1"
done

clear_results
print -d chart -o page-ranges=7-9 "$dir/five.pdf"
job_ends 'no page is left: the job is held' "$job" pending-held
is 'no page is left: nothing is sent' "$(calls create) $(uploads)" '0 '

# --- separators and what is chosen -----------------------------------------

write_config "SeparatorPage $dir/separator.pdf"
[ "$(id -u)" != 0 ] || chgrp "$run_group" "$dir/separator.pdf"
chmod 644 "$dir/separator.pdf"
chosen 'separators count the pages that are left' \
  'p2|p3|separator|p4|p5' 5 -o page-ranges=2-5 -o CaseSeparators=Every2 \
  "$dir/five.pdf"
chosen 'separators count what is on a page' \
  'p1 p2|separator|p3 p4|separator|p5' 5 -o number-up=2 \
  -o CaseSeparators=Every1 "$dir/five.pdf"
chosen 'any number of pages' 'p1|p2|p3|separator|p4|p5' 6 \
  -o CaseSeparators=Custom.3 "$dir/five.pdf"
write_config

# --- counting --------------------------------------------------------------

qpdf --encrypt secret owner 256 -- "$dir/five.pdf" "$dir/locked.pdf"
clear_results
print -d chart "$dir/five.pdf" "$dir/locked.pdf" "$dir/two.pdf"
job_ends 'a refused document among good ones: held' "$job" pending-held
is 'what was refused is not counted' "$(counted)" '7 7'
release "$job"
is 'a second run counts nothing twice' "$(counted)" '7 7'

add_queue limited job-quota-period=86400 job-page-limit=8
print -d limited "$dir/five.pdf"
job_ends 'a quota of 8 pages: 5 are allowed' "$job" completed
print -d limited "$dir/scan.jpg" "$dir/scan.jpg"
job_ends 'and 2 pictures' "$job" completed
print -d limited "$dir/five.pdf"
job_ends 'and 5 more, since one is left' "$job" completed
has 'then no more' "$(lp -d limited "$dir/two.pdf" 2>&1)" '[Qq]uota'
is 'other queues go on' "$(print -d chart "$dir/two.pdf" && echo yes)" yes
