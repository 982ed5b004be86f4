#!/usr/bin/env bash
#
# pages.sh - only the pages that page-ranges and page-set select are sent, and
# they are counted. Options that arrange pages on paper, and copies, have no
# effect. Types of documents are in types.sh.
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

start_all --source-time 0 --case-time 0
"$it/mkpdf" "$dir/five.pdf" p1 p2 p3 p4 p5
"$it/mkpdf" "$dir/two.pdf" q1 q2
"$it/mkpdf" "$dir/separator.pdf" separator
five='p1|p2|p3|p4|p5'
printf 't1\ft2\ft3\n' > "$dir/three.txt"
for type in png jpeg; do
  pdftoppm -$type -r 30 -f 1 -l 1 -singlefile "$dir/five.pdf" "$dir/scan"
done

section 'what the dialog can say'

chosen 'no options' "$five" 5 "$dir/five.pdf"
chosen 'page ranges' 'p2|p4|p5' 3 -o page-ranges=2,4-9 "$dir/five.pdf"
chosen 'page ranges of two documents' 'p2|p3#q2' 3 -o page-ranges=2-3 \
  "$dir/five.pdf" "$dir/two.pdf"
chosen 'odd pages' 'p1|p3|p5' 3 -o page-set=odd "$dir/five.pdf"
chosen 'even pages' 'p2|p4' 2 -o page-set=even "$dir/five.pdf"
chosen 'the last of two options' 'p2|p3' 2 -o page-ranges=5 \
  -o 'page-ranges=4 page-ranges=2-3' -o page-set=odd -o page-set=all \
  "$dir/five.pdf"
chosen 'both options' 'p2|p4' 2 -o page-ranges=2-5 -o page-set=even \
  "$dir/five.pdf"
chosen 'reverse order' "$five" 5 -o outputorder=reverse "$dir/five.pdf"
chosen 'two pages on one' "$five" 5 -o number-up=2 "$dir/five.pdf"
chosen 'a range of them' 'p2|p3' 2 -o number-up=2 -o page-ranges=2-3 \
  "$dir/five.pdf"
chosen 'three copies' "$five" 5 -n 3 "$dir/five.pdf"
chosen 'collated copies' "$five" 5 -n 3 -o collate=true "$dir/five.pdf"
chosen 'collated copies, as requested by a dialog' "$five" 5 -n 3 \
  -o multiple-document-handling=separate-documents-collated-copies \
  "$dir/five.pdf"
chosen 'copies that are not collated' "$five" 5 -n 3 -o collate=false \
  "$dir/five.pdf"
chosen 'copies of two documents' "$five#q1|q2" 7 -n 2 -o collate=true \
  "$dir/five.pdf" "$dir/two.pdf"
chosen 'copies with job sheets' 'q1|q2' 2 -n 2 -o job-sheets=standard,standard \
  "$dir/two.pdf"

look() { pdftoppm -r 20 "$1" | sha256sum; }
for options in 'media=A5 fit-to-page' orientation-requested=4 mirror scaling=50 \
  booklet print-scaling=fill; do
  chosen "printed with $options" 'q1|q2' 2 -o "$options" "$dir/two.pdf"
  is "printed with $options: the pages are unchanged" \
    "$(look "$(sent_files)")" "$(look "$dir/two.pdf")"
done

chosen 'pages of a text file' 't2|t3' 2 -o page-ranges=2- "$dir/three.txt"
pdftops -q "$dir/five.pdf" "$dir/five.ps"
chosen 'pages of PostScript' 'p1|p3|p5' 3 -o page-set=odd "$dir/five.ps"

for type in png jpeg; do
  file=$dir/scan.${type/e/}
  clear_results
  print -d chart -n 4 "$file"
  job_ends "copies of a $type: the job is completed" "$job" completed
  is "copies of a $type: one source, one unchanged file" \
    "$(calls create) $(calls put) $(cmp "$(sent_files)" "$file" && echo same)" \
    '1 1 same'
  is "copies of a $type: one page" "$(logged) $(counted)" \
    "chart $job 1 total 1 1 1"
  clear_results
  print -d chart -o page-ranges=1-4 "$file"
  job_ends "page 1 of a $type: the job is completed" "$job" completed
  is "page 1 of a $type: it is sent" "$(cmp "$(sent_files)" "$file" && echo same)" \
    same
done

section 'when no page is left'

refused() # TEXT PATTERN: the job is held, and the message names the option
{
  job_ends "$1: the job is held" "$job" pending-held
  has "$1: the message names the option" "$(job_message "$job")" "$2"
  is "$1: nothing is sent or counted" "$(calls create) $(uploads) $(counted)" \
    '0  0 0'
}

clear_results
while read -r file option; do
  print -d chart -o "$option" "$dir/$file"
  refused "$option of $file" "'${option%=*}' selects none of its pages"
done << 'END'
five.pdf page-ranges=7-9
five.pdf page-ranges=20-30
scan.png page-ranges=2
scan.jpg page-set=even
three.txt page-ranges=4
END
print -d chart -o page-ranges=1 -o page-set=even "$dir/five.pdf"
refused 'the even pages of one page' "'page-ranges' and 'page-set' selects"

# lp makes other values of these, and cupsd refuses a range that runs backward.
for value in 3-1 abc 0 2,x 1-2-3; do
  print_ipp "$dir/five.pdf" application/pdf "ATTR name page-ranges $value"
  refused "page-ranges=$value" "'page-ranges' is not a list of pages"
done
print_ipp "$dir/five.pdf" application/pdf 'ATTR name page-set prime'
refused 'page-set=prime' "'page-set' has no such choice"
print_ipp "$dir/five.pdf" application/pdf 'ATTR name page-ranges 2,4'
job_ends 'an invalid list of pages' "$job" completed
is 'an invalid list of pages: the pages' "$(sent)" 'p2|p4'

section 'separators and what is chosen'

write_config "SeparatorPage $dir/separator.pdf"
[ "$(id -u)" != 0 ] || chgrp "$run_group" "$dir/separator.pdf"
chmod 644 "$dir/separator.pdf"
chosen 'separators count the pages that are left' \
  'p2|p3|separator|p4|p5' 5 -o page-ranges=2-5 -o CaseSeparators=Every2 \
  "$dir/five.pdf"
chosen 'separators count pages, not sheets' \
  'p1|separator|p2|separator|p3|separator|p4|separator|p5' 9 -o number-up=2 \
  -o CaseSeparators=Every1 "$dir/five.pdf"
chosen 'separators in a text file' 't1|t2|separator|t3' 4 \
  -o CaseSeparators=Every2 "$dir/three.txt"
chosen 'any number of pages' 'p1|p2|p3|separator|p4|p5' 6 \
  -o CaseSeparators=Custom.3 "$dir/five.pdf"
write_config

section 'counting'

qpdf --encrypt secret owner 256 -- "$dir/five.pdf" "$dir/locked.pdf"
clear_results
print -d chart "$dir/five.pdf" "$dir/locked.pdf" "$dir/two.pdf"
job_ends 'a refused document among good ones: held' "$job" pending-held
is 'refused documents are not counted' "$(counted)" '7 7'
release "$job"
is 'a second run counts nothing twice' "$(counted)" '7 7'

add_queue limited job-quota-period=86400 job-page-limit=11
print -d limited "$dir/five.pdf"
job_ends 'a quota of 11 pages: 5 are allowed' "$job" completed
print -d limited "$dir/three.txt"
job_ends 'and the 3 of a text file' "$job" completed
print -d limited "$dir/scan.jpg" "$dir/scan.jpg"
job_ends 'and 2 pictures' "$job" completed
print -d limited "$dir/five.pdf"
job_ends 'and 5 more, since one is left' "$job" completed
has 'then no more' "$(lp -d limited "$dir/two.pdf" 2>&1)" '[Qq]uota'
is 'other queues continue' "$(print -d chart "$dir/two.pdf" && echo yes)" yes
