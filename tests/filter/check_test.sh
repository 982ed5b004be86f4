#!/usr/bin/env bash
#
# check_test.sh - what checkdocextract promises: a PDF that can be extracted
# goes through byte for byte; of any other a note arrives behind pdftopdf,
# whatever was chosen in the print dialog, and todocextract refuses it with
# the right reason.
. "$(dirname "$0")/lib.sh"

pdftopdf=$(cups-config --serverbin)/filter/pdftopdf

look() # FILE...: on stdin, or a file, as cupsd gives it
{
  "$check" 7 user "$title" 1 "$options" "$@" > "$dir/looked" 2> "$dir/err"
  status=$?
}

passes() # TEXT FILE
{
  look < "$2"
  is "$1 goes through" "$(cmp "$2" "$dir/looked") $status" ' 0'
  look "$2"
  is "$1 goes through, as a file too" "$(cmp "$2" "$dir/looked") $status" ' 0'
}

# The whole way of a PDF in a queue.
way() # FILE: kind, and pages or reason
{
  look "$1"
  CONTENT_TYPE=application/pdf \
    FINAL_CONTENT_TYPE=application/vnd.docextract-bundle \
    "$pdftopdf" 7 user "$title" 1 "$options" < "$dir/looked" \
    > "$dir/printed" 2> "$dir/printed.err"
  result "$dir/printed"
}

errors() { grep -h '^ERROR' "$dir/err" "$dir/printed.err"; }
warnings() { grep -c '^WARNING: .*repaired' "$dir/err"; }

refused() # REASON FILE
{
  is "$1 behind pdftopdf" "$(way "$2")" "refused $1 0"
  is "$1: nobody else has words for people" "$(errors)" ''
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

# --- what is good ----------------------------------------------------------

passes 'a PDF' "$dir/five.pdf"
passes 'a PDF that must not be changed' "$dir/owner.pdf"
passes 'what can be repaired without loss' "$dir/tail.pdf"
is 'with a warning' "$(warnings)" 1
is 'and arrives whole' "$(way "$dir/tail.pdf")" 'document 5 0'
look "$dir/five.pdf"
is 'of a whole one there is no warning' "$(warnings)" 0

# --- what is not -----------------------------------------------------------

refused password "$dir/locked.pdf"
refused no-pages "$dir/no-pages.pdf"
refused damaged "$dir/cut.pdf"
refused damaged "$dir/garbage.pdf"
refused damaged "$dir/lost.pdf"
for options in number-up=2 'number-up=4 sides=two-sided-long-edge' \
  outputorder=reverse landscape fit-to-page page-ranges=1-2; do
  refused password "$dir/locked.pdf"
done
options=page-ranges=2-5
is 'even where the note itself is not chosen the document is refused' \
  "$(way "$dir/locked.pdf")" 'refused empty 0'
options=

# --- trouble ---------------------------------------------------------------

with_much_to_read "$dir/many.pdf"
configure 'FilterTimeLimit 1s'
is 'what keeps us busy too long is refused' \
  "$(look "$dir/many.pdf"; result "$dir/looked")" 'refused too-slow 0'
configure ''
is 'half a document is not taken for a damaged one' "$(
  (ulimit -f 2; look < <(cat "$dir/five.pdf" "$dir/five.pdf"))
  result "$dir/looked"
)" 'refused trouble 0'
is 'without a temporary folder it goes through unseen' "$(
  TMPDIR=$dir/nowhere look < <(cat "$dir/locked.pdf")
  cmp "$dir/looked" "$dir/locked.pdf"
)" ''
look "$dir/nonexistent"
is 'a file that is not there gives nothing' "$status $(wc -c < "$dir/looked")" \
  '1 0'

finish
