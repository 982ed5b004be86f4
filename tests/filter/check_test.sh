#!/usr/bin/env bash
#
# check_test.sh - checkdocextract passes a valid PDF unchanged. It replaces any
# other by a note that survives pdftopdf with any options, and todocextract
# refuses the note with the correct reason.
. "$(dirname "$0")/lib.sh"

pdftopdf=$(cups-config --serverbin)/filter/pdftopdf

check_pdf() # [FILE]: on stdin or as a file, as cupsd passes it
{
  "$check" 7 user "$title" 1 "$options" "$@" > "$dir/checked" 2> "$dir/err"
  status=$?
}

passes() # TEXT FILE
{
  check_pdf < "$2"
  is "$1 is passed on" "$(cmp "$2" "$dir/checked") $status" ' 0'
  check_pdf "$2"
  is "$1 is passed on, also as a file" "$(cmp "$2" "$dir/checked") $status" ' 0'
}

# All filters of a queue.
filters() # FILE: kind, and pages or reason
{
  check_pdf "$1"
  CONTENT_TYPE=application/pdf \
    FINAL_CONTENT_TYPE=application/vnd.docextract-bundle \
    "$pdftopdf" 7 user "$title" 1 "$options" < "$dir/checked" \
    > "$dir/printed" 2> "$dir/printed.err"
  result "$dir/printed"
}

errors() { grep -h '^ERROR' "$dir/err" "$dir/printed.err"; }
warnings() { grep -c '^WARNING: .*repaired' "$dir/err"; }

refused() # REASON FILE
{
  is "$1 after pdftopdf" "$(filters "$2")" "refused $1 0"
  is "$1: no other filter shows an error" "$(errors)" ''
}

"$mkpdf" "$dir/five.pdf" p1 p2 p3 p4 p5
qpdf --encrypt secret owner 256 -- "$dir/five.pdf" "$dir/locked.pdf"
qpdf --encrypt '' owner 256 -- "$dir/five.pdf" "$dir/owner.pdf"
qpdf --empty "$dir/no-pages.pdf"
head -c 300 "$dir/five.pdf" > "$dir/cut.pdf"
{ echo '%PDF-1.4'; head -c 3000 /dev/urandom; } > "$dir/garbage.pdf"
sed "/^startxref/,\$d" "$dir/five.pdf" > "$dir/tail.pdf"
sed '/^11 0 obj/,/^endobj/d; s/^startxref/startxerf/' "$dir/five.pdf" \
  > "$dir/lost.pdf"
configure ''

# --- accepted ----------------------------------------------------------

passes 'a PDF' "$dir/five.pdf"
passes 'a PDF that restricts changes' "$dir/owner.pdf"
passes 'a PDF that can be repaired without loss' "$dir/tail.pdf"
is 'with a warning' "$(warnings)" 1
is 'and all its pages' "$(filters "$dir/tail.pdf")" 'document 5 0'
check_pdf "$dir/five.pdf"
is 'a valid PDF causes no warning' "$(warnings)" 0

# --- refused -----------------------------------------------------------

refused password "$dir/locked.pdf"
refused no-pages "$dir/no-pages.pdf"
refused damaged "$dir/cut.pdf"
refused damaged "$dir/garbage.pdf"
refused damaged "$dir/lost.pdf"
{ printf 'P1 1 1 0\n'; cat "$dir/lost.pdf"; } > "$dir/picture.pdf"
refused damaged "$dir/picture.pdf" # to viewers it is a PDF
for options in number-up=2 'number-up=4 sides=two-sided-long-edge' \
  outputorder=reverse landscape fit-to-page page-ranges=1-2; do
  refused password "$dir/locked.pdf"
done
options=page-ranges=2-5
is 'refused even if page-ranges excludes the note' \
  "$(filters "$dir/locked.pdf")" 'refused empty 0'
options=

# --- errors ---------------------------------------------------------------

with_much_to_read "$dir/many.pdf"
configure 'FilterTimeLimit 1s'
is 'a PDF that takes too long is refused' \
  "$(check_pdf "$dir/many.pdf"; result "$dir/checked")" 'refused too-slow 0'
configure ''
is 'a truncated copy is not reported as a damaged document' "$(
  (ulimit -f 2; check_pdf < <(cat "$dir/five.pdf" "$dir/five.pdf"))
  result "$dir/checked"
)" 'refused trouble 0'
is 'without a temporary directory it is passed on unchecked' "$(
  TMPDIR=$dir/nowhere check_pdf < <(cat "$dir/locked.pdf")
  cmp "$dir/checked" "$dir/locked.pdf"
)" ''
check_pdf "$dir/nonexistent"
is 'a missing file: no output' "$status $(wc -c < "$dir/checked")" \
  '1 0'

finish
