#!/usr/bin/env bash
#
# active_test.sh - attachments, scripts, and actions are not sent, and removing
# them changes nothing that is printed. Other tests of todocextract are in
# filter_test.sh.
. "$(dirname "$0")/lib.sh"

# Objects as text; qpdf corrects offsets and lengths.
document() # FILE < OBJECTS
{
  { echo '%PDF-1.7'; cat; } > "$dir/raw.pdf"
  qpdf --static-id --object-streams=preserve "$dir/raw.pdf" "$1" 2> "$dir/qpdf"
  [ -s "$1" ] || cat "$dir/qpdf"
}

stream() # TEXT [ENTRIES OF ITS DICTIONARY]
{
  printf '<<%s/Length %s>>\nstream\n%s\nendstream' "${2-}" "${#1}" "$1"
}

# Everything at once: each SECRET word is in something that must be removed.
document "$dir/wild.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R/Outlines 40 0 R
  /OpenAction<</S/JavaScript/JS(SECRET-open)>>
  /AA<</WC<</S/JavaScript/JS(SECRET-close)>>>>
  /AF[20 0 R]/Collection<</Type/Collection/D(SECRET-d)>>
  /Names<</EmbeddedFiles<</Names[(SECRET-n) 20 0 R]>>
    /JavaScript<</Names[(SECRET-k)<</S/JavaScript/JS 22 0 R>>]>>
    /Dests<</Names[(place)[3 0 R/Fit]]>>>>
  /AcroForm<</Fields[30 0 R 35 0 R]/DR<</Font<</AA 6 0 R>>>>
    /XFA[(template) 23 0 R]>>>> endobj
2 0 obj <</Type/Pages/Count 2/Kids[3 0 R 4 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 7 0 R
  /Resources<</Font<</AA 6 0 R/T 6 0 R/F 6 0 R>>/XObject<</EF 8 0 R/AF 9 0 R>>
    /ColorSpace<</AF[/Indexed/DeviceRGB 1 <FF00000000FF>]>>
    /ExtGState<</AA<</CA 1/ca 1>>>>>>
  /AA<</O<</S/JavaScript/JS(SECRET-page)>>>>/AF[20 0 R]
  /Annots[30 0 R 31 0 R 32 0 R 33 0 R 34 0 R 36 0 R]>> endobj
4 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 500 200]/Contents 10 0 R
  /Resources<</Font<</AA 6 0 R>>>>/Annots[37 0 R]>> endobj
6 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj
7 0 obj $(stream 'BT /AA 20 Tf 20 350 Td (first page) Tj ET /EF Do /AF Do
/AF cs 1 sc 20 20 40 40 re f /AA gs 80 20 40 40 re f') endobj
8 0 obj $(stream '0 0 1 rg 140 20 40 40 re f' \
  '/Type/XObject/Subtype/Form/BBox[0 0 300 400]/AF[20 0 R]') endobj
9 0 obj $(stream '0 1 0 rg 200 20 40 40 re f' \
  '/Type/XObject/Subtype/Form/BBox[0 0 300 400]') endobj
10 0 obj $(stream 'BT /AA 20 Tf 20 150 Td (second page) Tj ET') endobj
20 0 obj <</Type/Filespec/F(SECRET-f.pdf)/UF(SECRET-uf.pdf)
  /EF<</F 21 0 R/UF 21 0 R>>>> endobj
21 0 obj $(stream 'SECRET-embedded' /Type/EmbeddedFile) endobj
22 0 obj $(stream 'SECRET-script') endobj
23 0 obj $(stream '<x>SECRET-xfa</x>') endobj
24 0 obj $(stream 'look' \
  '/Type/XObject/Subtype/Form/BBox[0 0 40 40]/Resources<<>>') endobj
25 0 obj $(stream '1 0 0 rg 0 0 40 20 re f' \
  '/Type/XObject/Subtype/Form/BBox[0 0 40 20]') endobj
26 0 obj $(stream 'SECRET-sound' '/R 8000') endobj
30 0 obj <</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(value)/F 4
  /Rect[20 300 60 320]/AP<</N 25 0 R>>
  /AA<</K<</S/JavaScript/JS(SECRET-key)>>>>
  /A<</S/SubmitForm/F(http://SECRET-submit)>>>> endobj
31 0 obj <</Type/Annot/Subtype/Link/F 4/Rect[20 260 60 280]/Border[0 0 2]
  /A<</S/Launch/F(SECRET-program)>>>> endobj
32 0 obj <</Type/Annot/Subtype/Link/F 4/Rect[20 220 60 240]/Border[0 0 2]
  /A<</S/URI/URI(http://kept.example/)/Next[<</S/JavaScript/JS(SECRET-next)>>
    <</S/GoTo/D[4 0 R/Fit]>>]>>>> endobj
33 0 obj <</Type/Annot/Subtype/FileAttachment/F 4/Rect[80 220 120 240]
  /AP<</N 25 0 R>>/FS 20 0 R>> endobj
34 0 obj <</Type/Annot/Subtype/Stamp/F 4/Rect[80 260 120 280]
  /AP<</N 25 0 R>>/Contents(kept note)>> endobj
35 0 obj <</FT/Tx/T(field without a place)
  /AA<</C<</S/JavaScript/JS(SECRET-calculate)>>>>>> endobj
36 0 obj <</Type/Annot/Subtype/Sound/F 4/Rect[80 180 120 200]
  /AP<</N 25 0 R>>/Sound 26 0 R>> endobj
37 0 obj <</Type/Annot/Subtype/Link/F 4/Rect[20 20 60 40]
  /A<</S/GoTo/D[3 0 R/Fit]>>>> endobj
40 0 obj <</Type/Outlines/First 41 0 R/Last 42 0 R/Count 2>> endobj
41 0 obj <</Title(kept bookmark)/Parent 40 0 R/Next 42 0 R
  /Dest[3 0 R/Fit]>> endobj
42 0 obj <</Title(another)/Parent 40 0 R/Prev 41 0 R
  /A<</S/JavaScript/JS(SECRET-bookmark)>>>> endobj
trailer <</Root 1 0 R/Size 43>>
%%EOF
END

plain() # PDF: its content, uncompressed
{
  qpdf --qdf --static-id --object-streams=disable "$1" - | tr -d '\0'
}
secrets() { plain "$1" | grep -ao 'SECRET[-a-z]*' | sort -u | paste -sd' '; }
pictures() # PDF: checksums of each page, as viewed and as printed
{
  local page
  for page in 1 2; do
    pdftoppm -r 50 -f $page -l $page "$1" 2> /dev/null | sha256sum
    gs -q -dPrinted -r50 -sDEVICE=ppmraw -dFirstPage=$page \
      -dLastPage=$page -o - "$1" 2> /dev/null | sha256sum
  done
}
removed() { sed -n 's/^DEBUG: todocextract: removed //p' "$dir/err"; }

is 'the document contains all of it' \
  "$(secrets "$dir/wild.pdf" | wc -w)" 18
result "$dir/wild.pdf" > "$dir/kind"
cp "$dir/body" "$dir/tame.pdf"
is 'a document full of it is accepted' "$(cat "$dir/kind")" 'document 2 0'
is 'nothing of it is sent' "$(secrets "$dir/tame.pdf")" ''
is 'no key that starts something is sent' \
  "$(plain "$dir/tame.pdf" |
    grep -aoE '/(JS|JavaScript|Launch|EmbeddedFiles?|SubmitForm|XFA)\b')" ''
counts=$(removed | sed 's/[0-9]\+/N/g')
is 'the debug log says how much was removed' \
  "$counts" 'N attachments, N scripts and actions'
is 'but not the names of files' "$(grep -c SECRET "$dir/err")" 0
is 'what is sent is a valid PDF' \
  "$(qpdf --check "$dir/tame.pdf" > "$dir/check" 2>&1; echo $?)" 0

is 'its pages look the same' "$(pictures "$dir/tame.pdf")" \
  "$(pictures "$dir/wild.pdf")"
is 'and are not blank' "$(pictures "$dir/wild.pdf" | sort -u | wc -l)" 4
is 'its text is the same' "$(text_of "$dir/tame.pdf")" 'first page second page'
is 'all annotations are kept' \
  "$(plain "$dir/tame.pdf" | grep -acE \
    '/Subtype /(Widget|Link|Stamp|Sound|FileAttachment)')" 7
for kept in '(value)' '(http://kept.example/)' '(kept note)' '(kept bookmark)' \
  '(place)' '/S /GoTo'; do
  is "what is harmless is kept: $kept" \
    "$(plain "$dir/tame.pdf" | grep -acF "$kept" | sed 's/[1-9]/1/')" 1
done
cp "$dir/out" "$dir/first"
run < "$dir/wild.pdf"
is 'the result is the same every time' "$(cmp "$dir/out" "$dir/first" && echo same)" same

# --- PDFs of programs ----------------------------------------------------

"$mkpdf" "$dir/plain.pdf" one two
run < "$dir/plain.pdf"
is 'nothing to remove: nothing is logged' "$(removed)" ''
echo 'another patient' > "$dir/note.txt"
qpdf "$dir/plain.pdf" --add-attachment "$dir/note.txt" -- "$dir/holds.pdf"
run < "$dir/holds.pdf"
is 'an attached file is removed' \
  "$(qpdf --list-attachments "$dir/body")" "$dir/body has no embedded files"
qpdf --object-streams=generate --encrypt '' owner 256 -- "$dir/holds.pdf" \
  "$dir/locked.pdf"
run < "$dir/locked.pdf"
is 'also from an encrypted PDF with object streams' \
  "$(qpdf --list-attachments "$dir/body")" "$dir/body has no embedded files"
is 'which is logged' "$(removed)" '1 attachments, 0 scripts and actions'
document "$dir/goes.pdf" << 'END'
1 0 obj <</Type/Catalog/Pages 2 0 R/OpenAction<</S/GoTo/D[3 0 R/Fit]>>>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]>> endobj
trailer <</Root 1 0 R/Size 4>>
%%EOF
END
run < "$dir/goes.pdf"
is 'opening at a page is harmless' "$(removed)" ''

# --- hostile ones ----------------------------------------------------------

deep=$(printf '[%.0s' {1..400})$(printf ']%.0s' {1..400})
document "$dir/deep.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R/Deep $deep>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Self 3 0 R
  /Contents 4 0 R>> endobj
4 0 obj $(stream '20 20 40 40 re f') endobj
trailer <</Root 1 0 R/Size 5>>
%%EOF
END
is 'deep and circular objects are visited' "$(result "$dir/deep.pdf")" \
  'document 1 0'
with_table "$dir/far.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R/Deep $deep>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]
  /Self 2147483647 0 R/Contents 4 0 R>> endobj
4 0 obj $(stream '20 20 40 40 re f') endobj
END
is 'references out of bounds cost nothing' "$(
  ulimit -v 400000; result "$dir/far.pdf")" 'document 1 0'

finish
