#!/usr/bin/env bash
#
# corpus.sh - PDFs written by various programs: each is sent with its pages, look
# and text unchanged, or refused with the correct reason. PDFs made by others are
# in tests/nightly/corpus.sh.
#
# Needs what lib.sh needs, and Ghostscript.
. "$(dirname "$0")/lib.sh"

same() { is "$1: pages, look and text are the same" "$(changes "$2")" ''; }

chart="$dir/chart.pdf"
"$mkpdf" "$chart" 'Patient: José Müller|MRN: 4711|WBC 7.2 10^3/uL' \
  'a second page' 'and a third'

# --- qpdf ------------------------------------------------------------------

same 'as our tests write it' "$chart"
mistreat 'as our tests write it' "$chart"
for o in --qdf --linearize --object-streams=generate \
  --newline-before-endstream --stream-data=uncompress --coalesce-contents --force-version=2.0 \
  --min-version=1.7 --preserve-unreferenced; do
  qpdf "$o" "$chart" "$dir/q.pdf"
  same "qpdf $o" "$dir/q.pdf"
done
for bits in 40 128 256; do
  qpdf --allow-weak-crypto --encrypt '' owner $bits -- "$chart" "$dir/q.pdf"
  same "encrypted with $bits bits, no password to read" "$dir/q.pdf"
  qpdf --allow-weak-crypto --encrypt user owner $bits -- "$chart" "$dir/q.pdf"
  is "encrypted with $bits bits and a password" "$(result "$dir/q.pdf")" \
    'refused password 0'
done
qpdf "$chart" --pages . 3,1,1,2 -- --rotate=+90:2 "$dir/q.pdf"
same 'the same page twice, one turned' "$dir/q.pdf"

# --- Ghostscript -----------------------------------------------------------

for o in -dCompatibilityLevel=1.3 -dCompatibilityLevel=1.7 \
  -dPDFSETTINGS=/screen -dPDFA=2 -dFastWebView=true; do
  gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite "$o" -o "$dir/g.pdf" "$chart" \
    2> /dev/null
  same "Ghostscript $o" "$dir/g.pdf"
done
mistreat Ghostscript "$dir/g.pdf"
gs -q -sDEVICE=pdfimage24 -r72 -o "$dir/g.pdf" "$chart" 2> /dev/null
same 'Ghostscript, pages as pictures' "$dir/g.pdf"

# --- cairo -----------------------------------------------------------------

pdftocairo -pdf "$chart" "$dir/c.pdf"
same cairo "$dir/c.pdf"
mistreat cairo "$dir/c.pdf"
pdftocairo -pdf -paper legal -expand "$chart" "$dir/c.pdf"
same 'cairo, on another paper' "$dir/c.pdf"

# --- cups-filters ----------------------------------------------------------

filters=$(cups-config --serverbin)/filter
printf 'Patient: Jane Roe\fMRN: 815\n' > "$dir/note.txt"
"$filters/texttopdf" 7 u t 1 '' "$dir/note.txt" > "$dir/t.pdf" 2> /dev/null
same texttopdf "$dir/t.pdf"
for o in '' number-up=2 landscape 'page-ranges=2-3 media=A5' mirror; do
  "$filters/pdftopdf" 7 u t 1 "$o" "$chart" > "$dir/p.pdf" 2> /dev/null
  same "pdftopdf $o" "$dir/p.pdf"
done

# --- poppler ---------------------------------------------------------------

pdfunite "$chart" "$dir/t.pdf" "$dir/u.pdf"
same pdfunite "$dir/u.pdf"
pdfseparate -f 2 -l 2 "$chart" "$dir/s%d.pdf"
same pdfseparate "$dir/s2.pdf"
pdfattach "$chart" "$dir/note.txt" "$dir/a.pdf"
same 'pdfattach, without what it attached' "$dir/a.pdf"

# --- defects that occur in practice ----------------------------------

{ cat "$chart"; head -c 5000 /dev/zero; } > "$dir/odd.pdf"
same 'zeros after the end' "$dir/odd.pdf"
{ printf '\r\n\r\n'; cat "$chart"; } > "$dir/odd.pdf"
same 'blank lines before the header' "$dir/odd.pdf"
sed 's/$/\r/' "$chart" > "$dir/m.pdf"
is 'line endings changed by a transfer: complete or refused' \
  "$(whole_or_refused "$chart")" ''

finish
