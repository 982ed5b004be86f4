#!/usr/bin/env bash
#
# whole_test.sh - a PDF that may have lost a page, or part of one, is refused
# with every version of qpdf, however much that version repairs. One with defects
# that do not affect its pages is sent, with a warning.
. "$(dirname "$0")/lib.sh"

# Three pages; the last one has an image, an annotation with an appearance, and a
# link. The tests damage objects by their numbers.
with_table "$dir/three.pdf" << 'END'
1 0 obj <</Type/Catalog/Pages 2 0 R/Outlines 14 0 R>> endobj
2 0 obj <</Type/Pages/Count 3/Kids[3 0 R 4 0 R]/Resources 6 0 R>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 7 0 R>> endobj
4 0 obj <</Type/Pages/Parent 2 0 R/Count 2/Kids[5 0 R 8 0 R]>> endobj
5 0 obj <</Type/Page/Parent 4 0 R/MediaBox[0 0 300 400]/Contents 7 0 R>> endobj
6 0 obj <</Font<</F 10 0 R>>/XObject<</I 11 0 R>>>> endobj
7 0 obj <</Length 37>>
stream
BT /F 20 Tf 20 350 Td (a page) Tj ET 
endstream endobj
8 0 obj <</Type/Page/Parent 4 0 R/MediaBox[0 0 300 400]/Contents[7 0 R 9 0 R]
  /Annots[12 0 R 15 0 R]>> endobj
9 0 obj <</Length 31>>
stream
q 100 0 0 100 20 20 cm /I Do Q 
endstream endobj
10 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj
11 0 obj <</Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8
  /ColorSpace/DeviceRGB/Filter/ASCIIHexDecode/Length 8>>
stream
0000FF> 
endstream endobj
12 0 obj <</Type/Annot/Subtype/Stamp/F 4/Rect[80 260 120 280]
  /AP<</N 13 0 R>>>> endobj
13 0 obj <</Type/XObject/Subtype/Form/BBox[0 0 40 20]/Length 24>>
stream
1 0 0 rg 0 0 40 20 re f 
endstream endobj
14 0 obj <</Type/Outlines/First 16 0 R/Last 16 0 R/Count 1>> endobj
15 0 obj <</Type/Annot/Subtype/Link/F 4/Rect[20 20 60 40]/Dest[3 0 R/Fit]>> endobj
16 0 obj <</Title(bookmark)/Parent 14 0 R/Dest[3 0 R/Fit]>> endobj
END

# Another generation: the cross-reference table leads to an object that is not
# the one wanted, and nothing else has changed.
without() # OBJECT
{
  sed "s/^$1 0 obj/$1 9 obj/" "$dir/three.pdf" > "$dir/without.pdf"
}

warnings() { grep -c '^WARNING: .*repaired' "$dir/err"; }

both() # TEXT FILE EXPECTED: with checkdocextract before it, and without
{
  looked=yes
  is "$1" "$(result "$2")" "$3"
  looked=
  is "$1: todocextract by itself" "$(result "$2")" "$3"
}

both 'a complete PDF' "$dir/three.pdf" 'document 3 0'
is 'causes no warning' "$(warnings)" 0

# --- what the pages need ---------------------------------------------------

while read -r object what; do
  without "$object"
  both "$what is lost" "$dir/without.pdf" 'refused damaged 0'
  is "$what is lost: not reported as repaired" "$(warnings)" 0
done << 'END'
2 the page tree
3 a page
4 a branch of the page tree
6 the list of resources
7 the content of a page
9 a part of the content of a page
10 a font
11 an image
13 the appearance of an annotation
END
sed 's/Length 31/Length 13/' "$dir/three.pdf" > "$dir/bad.pdf"
both 'a stream with a wrong length' "$dir/bad.pdf" 'refused damaged 0'
sed 's|/Contents\[7 0 R|/Contents[6 0 R|' "$dir/three.pdf" > "$dir/bad.pdf"
both 'content that is no stream' "$dir/bad.pdf" 'refused damaged 0'
for count in 2 4; do
  sed "s/Count 3/Count $count/" "$dir/three.pdf" > "$dir/bad.pdf"
  both "a page tree that claims $count pages, of 3" "$dir/bad.pdf" \
    'refused damaged 0'
done
sed 's/^%PDF-1.7/&\n%/' "$dir/three.pdf" > "$dir/bad.pdf"
both 'a cross-reference table with wrong offsets' "$dir/bad.pdf" \
  'refused damaged 0'
sed '/^xref/,/^trailer/d' "$dir/three.pdf" > "$dir/bad.pdf"
both 'no cross-reference table' "$dir/bad.pdf" 'refused damaged 0'

# Viewers show the pages below the catalog, libqpdf those of the topmost parent.
with_table "$dir/bad.pdf" << 'END'
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]/Parent 5 0 R>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 4 0 R>> endobj
4 0 obj <</Length 16>>
stream
20 20 40 40 re f
endstream endobj
5 0 obj <</Type/Pages/Count 1/Kids[6 0 R]>> endobj
6 0 obj <</Type/Page/Parent 5 0 R/MediaBox[0 0 300 400]/Contents 7 0 R>> endobj
7 0 obj <</Length 16>>
stream
20 20 80 80 re f
endstream endobj
END
both 'a page tree with another one above it' "$dir/bad.pdf" 'refused damaged 0'

# --- what they do not need -------------------------------------------------

for object in 14 16; do
  without $object
  both "bookmark $object is lost" "$dir/without.pdf" 'document 3 0'
done
without 15
both 'a link that was never written' "$dir/without.pdf" 'document 3 0'
is 'with a warning' "$(warnings)" 1
is 'and all its text' "$(text_of "$dir/body")" 'a page a page a page'

# --- the end ---------------------------------------------------------------

whole=$(stat -c %s "$dir/three.pdf")
{ cat "$dir/three.pdf"; head -c 5000 /dev/zero; } > "$dir/end.pdf"
both 'zeros after the end' "$dir/end.pdf" 'document 3 0'
is 'with a warning' "$(warnings)" 1
is 'and all its text' "$(text_of "$dir/body")" 'a page a page a page'
for cut in 1 4 8 12 20; do
  head -c $((whole - cut)) "$dir/three.pdf" > "$dir/end.pdf"
  both "the last $cut bytes are missing" "$dir/end.pdf" 'document 3 0'
done
{ printf 'junk\n'; head -c -12 "$dir/three.pdf"; } > "$dir/end.pdf"
both 'the end is missing, and junk before the header' "$dir/end.pdf" \
  'document 3 0'
sed 's/$/\r/' "$dir/end.pdf" > "$dir/bad.pdf"
both 'the end is missing, and line endings were changed' "$dir/bad.pdf" \
  'refused damaged 0'
head -c $((whole - 60)) "$dir/three.pdf" > "$dir/end.pdf"
both 'the trailer is truncated' "$dir/end.pdf" 'refused damaged 0'
for size in 1 5000; do
  {
    cat "$dir/three.pdf"
    printf '9 0 obj <</Length %d>>\nstream\n%*s' $size $size ''
  } > "$dir/end.pdf"
  both "a newer version that is truncated after $size bytes" "$dir/end.pdf" \
    'refused damaged 0'
done

finish
