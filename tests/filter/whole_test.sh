#!/usr/bin/env bash
#
# whole_test.sh - the content of the selected pages is sent completely, or the
# PDF is refused with a message that gives the page and the problem. Damage
# outside of the selected pages is ignored.
#
# Needs the programs of lib.sh, and zlib-flate of qpdf. tests/unit/test_stream.c
# and related unit tests check single streams.
. "$(dirname "$0")/lib.sh"
configure ''

# --- a PDF of three pages ----------------------------------------------------

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
whole=$(stat -c %s "$dir/three.pdf")

# Another generation: the cross-reference table leads to an object that is not
# the one wanted, and nothing else has changed.
without() # OBJECT
{
  sed "s/^$1 0 obj/$1 9 obj/" "$dir/three.pdf" > "$dir/d.pdf"
}

judged() # FILE: "document 3 0", or "refused damaged 0: " and what is wrong
{
  local kind text
  run < "$1"
  read_kind
  text="$kind $status"
  [ "${value[kind]-}" != refused ] || text+=": ${value[reason_text]%%;*}"
  echo "$text"
}

# All pages are sent, and print as they should.
arrives() # TEXT FILE [AS]
{
  is "$1" "$(judged "$2") $("$same" "${3-$2}" "$dir/body" 2>&1)" \
    "document $(pages_of "${3-$2}") 0 same"
}

section 'the parts of a PDF'

arrives 'a complete PDF' "$dir/three.pdf"
is 'only debug lines are printed' "$(grep -cv '^DEBUG: ' "$dir/err")" 0

while IFS='|' read -r object what expected; do
  without "$object"
  is "$what is lost" "$(judged "$dir/d.pdf")" "refused damaged 0: $expected"
done << 'END'
2|the page tree|it is damaged: its list of pages is missing
3|a page|page 1 is damaged: the page is missing
4|a branch of the page tree|page 2 is damaged: the page is missing
6|the list of resources|page 1 is damaged: its content is missing
7|the content of a page|page 1 is damaged: its content is missing
9|a part of the content of a page|page 3 is damaged: a part of its content is missing
10|a font|page 1 is damaged: a part of it is missing
11|an image|page 3 is damaged: a part of it is missing
13|the appearance of an annotation|page 3 is damaged: a stamp is missing
END
for object in 14 15 16; do
  without $object
  arrives "what no page shows is lost: object $object" "$dir/d.pdf" \
    "$dir/three.pdf"
done
while read -r page object; do
  without "$object"
  options=page-ranges=$page
  is "object $object is lost, and page $page does not show it" \
    "$(judged "$dir/d.pdf") $("$same" "$dir/three.pdf" "$dir/body" "$page")" \
    'document 1 0 same'
done << 'END'
1 9
1 13
2 12
2 13
END
options=

sed 's/Length 31/Length 13/' "$dir/three.pdf" > "$dir/d.pdf"
arrives 'a stream with a wrong length' "$dir/d.pdf" "$dir/three.pdf"
sed 's|/Contents\[7 0 R|/Contents[6 0 R|' "$dir/three.pdf" > "$dir/d.pdf"
is 'content that is no stream' "$(judged "$dir/d.pdf")" \
  'refused damaged 0: page 3 is damaged: a part of its content is missing'
while IFS='|' read -r what script; do
  sed "$script" "$dir/three.pdf" > "$dir/d.pdf"
  is "no list of pages: $what" "$(judged "$dir/d.pdf")" \
    'refused damaged 0: it is damaged: its list of pages is missing'
done << 'END'
the root, with a wrong key|3s/Kids/Kidz/
the root, without a type|3s/.Type.Pages//;3s/Kids/Kidz/
the root, without a count|3s/.Count 3//;3s/Kids/Kidz/
the root, without both|3s/.Type.Pages//;3s/.Count 3//;3s/Kids/Kidz/
the root, a reference to nothing|3s/.Kids.*.Res/\/Kids 99 0 R\/Res/
a branch|5s/Kids/Kidz/
a branch that is no array|5s/Kids.*]/Kids 7 0 R/
END
# Newer versions of libqpdf leave it out.
sed '5s/.Type.Pages//;5s/.Count [0-9]*//;5s/Kids/Kidz/' "$dir/three.pdf" \
  > "$dir/d.pdf"
has 'no list of pages: a branch, without a type and a count' \
  "$(judged "$dir/d.pdf")" \
  '^refused damaged 0: it is damaged: its (list|number) of pages is (missing|wrong)$'
sed '5s/.Type.Pages/\/Type\/Page/' "$dir/three.pdf" > "$dir/d.pdf"
arrives 'a branch with the type of a page' "$dir/d.pdf" "$dir/three.pdf"
sed '4s/.Type.Page//' "$dir/three.pdf" > "$dir/d.pdf"
arrives 'a page without a type' "$dir/d.pdf" "$dir/three.pdf"
for count in 2 4; do
  sed "s/Count 3/Count $count/" "$dir/three.pdf" > "$dir/d.pdf"
  is "a page tree that claims $count pages, of 3" "$(judged "$dir/d.pdf")" \
    'refused damaged 0: it is damaged: its number of pages is wrong'
done

# Viewers show the pages below the catalog, libqpdf those of the topmost parent.
with_table "$dir/d.pdf" << 'END'
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
is 'of two page trees, the one of the catalog counts' \
  "$(judged "$dir/d.pdf") $("$same" "$dir/d.pdf" "$dir/body")" \
  'document 1 0 same'

section 'the table, and the end'

sed 's/^%PDF-1.7/&\n%/' "$dir/three.pdf" > "$dir/d.pdf"
arrives 'a cross-reference table with wrong offsets' "$dir/d.pdf" \
  "$dir/three.pdf"
sed '/^xref/{n;s/^0/1/}' "$dir/three.pdf" > "$dir/d.pdf"
arrives 'a cross-reference table that counts from 1' "$dir/d.pdf" \
  "$dir/three.pdf"
sed '/^xref/,/^0000000000/d' "$dir/three.pdf" > "$dir/d.pdf"
arrives 'no cross-reference table' "$dir/d.pdf" "$dir/three.pdf"
for offset in 0 999999; do
  sed "/^startxref/{n;s/.*/$offset/}" "$dir/three.pdf" > "$dir/d.pdf"
  arrives "it is said to be at $offset" "$dir/d.pdf" "$dir/three.pdf"
done
sed "/^startxref/{n;d}" "$dir/three.pdf" > "$dir/d.pdf"
is 'it is said to be nowhere' "$(judged "$dir/d.pdf")" \
  'refused damaged 0: it is damaged: its end is missing'
# libqpdf 11 does not look for the catalog, later versions do.
sed '/^xref/,/^trailer/d' "$dir/three.pdf" > "$dir/d.pdf"
case $(judged "$dir/d.pdf") in
'refused damaged 0'*) ok 'neither table nor trailer: refused' ;;
*) arrives 'neither table nor trailer' "$dir/d.pdf" "$dir/three.pdf" ;;
esac

head -c -1 "$dir/three.pdf" > "$dir/d.pdf"
arrives 'the last line has no end' "$dir/d.pdf" "$dir/three.pdf"
for cut in 2 4 6; do
  head -c $((whole - cut)) "$dir/three.pdf" > "$dir/d.pdf"
  arrives "the last $cut bytes are missing, of the last comment" \
    "$dir/d.pdf" "$dir/three.pdf"
done
sed 's/^%%EOF/%EOF/' "$dir/three.pdf" > "$dir/d.pdf"
arrives 'the last comment is damaged' "$dir/d.pdf" "$dir/three.pdf"
sed '/^%%EOF/d; /^startxref/{n;s/.*/0/}' "$dir/three.pdf" > "$dir/d.pdf"
is 'it is missing, and the table has to be rebuilt' "$(judged "$dir/d.pdf")" \
  'refused damaged 0: it is damaged: its end is missing'
for cut in 7 8 12 20 60; do
  head -c $((whole - cut)) "$dir/three.pdf" > "$dir/d.pdf"
  is "the last $cut bytes are missing" "$(judged "$dir/d.pdf")" \
    'refused damaged 0: it is damaged: its end is missing'
done
{ printf 'junk\n'; cat "$dir/three.pdf"; } > "$dir/d.pdf"
arrives 'junk before the header' "$dir/d.pdf" "$dir/three.pdf"
{ cat "$dir/three.pdf"; head -c 5000 /dev/zero; } > "$dir/d.pdf"
arrives 'zeros after the end' "$dir/d.pdf" "$dir/three.pdf"
for page in '<html><title>an object was moved</title></html>' 0; do
  { cat "$dir/three.pdf"; printf '\r\n%s\r\n' "$page"; } > "$dir/d.pdf"
  arrives "what a web server adds after the end: $page" "$dir/d.pdf" \
    "$dir/three.pdf"
done
{ cat "$dir/three.pdf"; seq 9999; echo 'the end'; } > "$dir/d.pdf"
arrives 'many lines after the end' "$dir/d.pdf" "$dir/three.pdf"
for number in 99 '99 0' '99 0 o' '99 0 obj <<'; do
  { cat "$dir/three.pdf"; printf %s "$number"; } > "$dir/d.pdf"
  is "it ends with '$number'" "$(judged "$dir/d.pdf")" \
    'refused damaged 0: it is damaged: its end is missing'
done

section 'the beginning'

for before in 'HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n' \
  '\033%%-12345X@PJL ENTER LANGUAGE=PDF\r\n' '\0\011chart.pdf%0117d\0' \
  'From: a@example.com\n\nIt begins with %%PDF-1.7.\n\n%3000d\n'; do
  # shellcheck disable=SC2059
  { printf "$before" 0; cat "$dir/three.pdf"; } > "$dir/d.pdf"
  arrives "it follows ${before:0:15}" "$dir/d.pdf" "$dir/three.pdf"
done
for header in '%PDF1.7 ' '%PDF-1,7' '%PDF-x.y' ' PDF-1.7'; do
  sed "1s/.*/$header/" "$dir/three.pdf" > "$dir/d.pdf"
  arrives "its header is damaged: $header" "$dir/d.pdf" "$dir/three.pdf"
done
sed '1s/.*/%PDF1.7 /' "$dir/three.pdf" | head -c -40 > "$dir/d.pdf"
is 'its header is damaged, and it is cut' "$(judged "$dir/d.pdf")" \
  'refused damaged 0: it is damaged: its end is missing'
printf '%%PDF-1.7 is the format.\nThere are 2 objections.\n' > "$dir/d.txt"
is 'text about PDF is text' "$(judged "$dir/d.txt") $(text_of "$dir/body")" \
  'document 1 0 %PDF-1.7 is the format. There are 2 objections.'
sed 's/$/\r/' "$dir/three.pdf" > "$dir/m.pdf"
is 'line endings were changed: complete or refused' \
  "$(whole_or_refused "$dir/three.pdf")" ''

qpdf --linearize "$dir/three.pdf" "$dir/linear.pdf"
qpdf --object-streams=generate "$dir/three.pdf" "$dir/objects.pdf"
for file in three linear objects; do
  size=$(stat -c %s "$dir/$file.pdf")
  wrong=
  for ((percent = 1; percent < 100; percent++)); do
    head -c $((size * percent / 100)) "$dir/$file.pdf" > "$dir/d.pdf"
    kind=$(result "$dir/d.pdf")
    [ "$kind" = 'refused damaged 0' ] || wrong+="$percent%: $kind "
  done
  is "$file: wherever it is cut: refused" "$wrong" ''
done

# Programs that change a linearized file leave its first dictionary as it is.
sed '/Linearized/s|/N 3|/N 4|' "$dir/linear.pdf" > "$dir/d.pdf"
is 'a linearized file has a page less than it says' "$(judged "$dir/d.pdf")" \
  'refused damaged 0: it is damaged: its number of pages is wrong'
{ printf 'junk\n'; cat "$dir/d.pdf"; } > "$dir/m.pdf"
is 'also behind junk' "$(judged "$dir/m.pdf")" \
  'refused damaged 0: it is damaged: its number of pages is wrong'
echo >> "$dir/d.pdf"
arrives 'its length says that it was changed' "$dir/d.pdf" "$dir/three.pdf"
options='page-ranges=1'
is 'one page of a linearized file' "$(judged "$dir/linear.pdf")" 'document 1 0'
options=

section 'several versions'

# A newer version of the content that the pages share, added as programs do that
# save changes.
{
  cat "$dir/three.pdf"
  printf '7 0 obj <</Length 36>>\nstream\nBT /F 20 Tf 20 350 Td (2nd go) Tj ET\n'
  printf 'endstream endobj\n'
} > "$dir/two.pdf"
table=$(stat -c %s "$dir/two.pdf")
{
  printf 'xref\n7 1\n%010d 00000 n \n' "$whole"
  printf 'trailer <</Root 1 0 R/Size 17/Prev %d>>\nstartxref\n%d\n%%%%EOF\n' \
    "$(sed -n '/^startxref/{n;p}' "$dir/three.pdf")" "$table"
} >> "$dir/two.pdf"
is 'the second version is a valid PDF' \
  "$(qpdf --check "$dir/two.pdf" > "$dir/check" 2>&1; echo $?)" 0
for other in three two; do
  cat "$dir/three.pdf" "$dir/$other.pdf" > "$dir/d.pdf"
  is "a PDF was joined with $other.pdf" "$(judged "$dir/d.pdf")" \
    'refused damaged 0: it is damaged: a later change to it may be missing'
done
{
  cat "$dir/three.pdf"
  echo '%PDF-1.7'
  tail -c "+$((whole + 1))" "$dir/two.pdf" |
    sed "/^7 1/{n;s/.*/$(printf '%010d 00000 n ' $((whole + 9)))/}" |
    sed "/^startxref/{n;s/.*/$((table + 9))/}"
} > "$dir/d.pdf"
arrives 'a second version with a header' "$dir/d.pdf" "$dir/two.pdf"
arrives 'two versions' "$dir/two.pdf"
is 'the newer one is sent' "$(text_of "$dir/body")" '2nd go 2nd go 2nd go'
size=$(stat -c %s "$dir/two.pdf")
end=$((size - 6)) # all but its last comment
wrong=
for ((cut = whole + 1; cut < size; cut++)); do
  head -c $cut "$dir/two.pdf" > "$dir/d.pdf"
  kind=$(result "$dir/d.pdf")
  [ "$kind" = 'refused damaged 0' ] ||
    { [ $cut -ge $end ] && [ "$(text_of "$dir/body")" = \
      '2nd go 2nd go 2nd go' ]; } || wrong+="$((cut - whole)): $kind "
done
is 'the newer one is cut off, wherever: refused, or sent' "$wrong" ''

# Acrobat 5 leaves blanks before a table, whose offset is then that of the first
# one: here 22 before each table.
older=$(sed -n '/^startxref/{n;p}' "$dir/three.pdf")
with_blanks() # OFFSET OFFSET: of the older and of the newer table, from the blanks
{
  local blanks
  blanks=$(printf '%22s' '')
  {
    sed "s/^xref/$blanks&/" "$dir/three.pdf"
    sed -n '/^7 0 obj/,/^endstream/p' "$dir/two.pdf" | tail -n 4
    printf '%sxref\n7 1\n%010d 00000 n \n' "$blanks" $((whole + 22))
    printf 'trailer <</Root 1 0 R/Size 17/Prev %d>>\n' $((older + $1))
    printf 'startxref\n%d\n%%%%EOF\n' $((table + 22 + $2))
  } > "$dir/d.pdf"
}
for offset in 0 3 22; do
  with_blanks $offset 22
  arrives "the older table is said to be at $offset of the 22 blanks before it" \
    "$dir/d.pdf" "$dir/two.pdf"
  with_blanks 22 $offset
  arrives "the newer one is said to be at $offset" "$dir/d.pdf" "$dir/two.pdf"
done
with_blanks -2 22
is 'the older one is said to be before its blanks' "$(judged "$dir/d.pdf")" \
  'refused damaged 0: it is damaged: a later change to it may be missing'

# If libqpdf has to search for the objects, the one that it finds may be the older
# one.
put() # OFFSET TEXT: into d.pdf
{
  printf %s "$2" | dd of="$dir/d.pdf" bs=1 seek="$1" conv=notrunc status=none
}
lost='refused damaged 0: it is damaged: a later change to it may be missing'
while IFS='|' read -r what offset text; do
  cp "$dir/two.pdf" "$dir/d.pdf"
  put $((offset)) "$text"
  is "of two versions, $what" "$(judged "$dir/d.pdf")" "$lost"
done << 'END'
the header of the newer object is damaged|whole|7 0 xxx
its number is|whole|?
its generation is|whole|7 x
it is claimed to be elsewhere|table + 9|1
the newer table is damaged|table|?
its offset is|size - 10|9
END
sed 's/^%PDF-1.7/&\n%/' "$dir/two.pdf" > "$dir/d.pdf"
is 'both tables are wrong' "$(judged "$dir/d.pdf")" "$lost"
sed 's/^%PDF-1.7/&\n%/; s/^7 0 obj <<.Length 36/7 0 obX <<\/Length 36/' \
  "$dir/two.pdf" > "$dir/d.pdf"
is 'also if the newer object has no header' "$(judged "$dir/d.pdf")" "$lost"
cp "$dir/two.pdf" "$dir/d.pdf"
put $((whole + 8)) '????'
is 'the newer object is damaged' "$(judged "$dir/d.pdf")" \
  'refused damaged 0: page 1 is damaged: a part of its content is missing'
# Two newer objects: the end of one and the header of the other are blank.
{
  cat "$dir/three.pdf"
  echo '16 0 obj <</Title(renamed)/Parent 14 0 R/Dest[3 0 R/Fit]>> endobj'
  sed -n '/^7 0 obj/,/^endstream/p' "$dir/two.pdf" | tail -n 4
} > "$dir/d.pdf"
newer=$(grep -abo '^7 0 obj' "$dir/d.pdf" | tail -n 1 | cut -d: -f1)
table=$(stat -c %s "$dir/d.pdf")
{
  printf 'xref\n7 1\n%010d 00000 n \n16 1\n%010d 00000 n \n' "$newer" "$whole"
  printf 'trailer <</Root 1 0 R/Size 17/Prev %d>>\nstartxref\n%d\n%%%%EOF\n' \
    "$(sed -n '/^startxref/{n;p}' "$dir/three.pdf")" "$table"
} >> "$dir/d.pdf"
arrives 'two newer objects' "$dir/d.pdf" "$dir/two.pdf"
put $((newer - 8)) '               '
is 'of one the header is lost, of the other the end' "$(judged "$dir/d.pdf")" \
  "$lost"
# A newer version of what is not printed.
{
  cat "$dir/three.pdf"
  echo '16 0 obj <</Title(renamed)/Parent 14 0 R/Dest[3 0 R/Fit]>> endobj'
  printf 'xref\n0 0\ntrailer <</Root 1 0 R/Size 17>>\nstartxref\n0\n%%%%EOF\n'
} > "$dir/d.pdf"
arrives 'a bookmark has two versions, and the table is wrong' "$dir/d.pdf" \
  "$dir/three.pdf"
for size in 1 5000; do
  {
    cat "$dir/three.pdf"
    printf '9 0 obj <</Length %d>>\nstream\n%*s' $size $size ''
  } > "$dir/d.pdf"
  is "it is cut off after $size bytes" "$(judged "$dir/d.pdf")" \
    'refused damaged 0: it is damaged: its end is missing'
done

section 'what the second page shows'

# d.pdf: a page of words, and one with these entries, which begin with its
# content or resources. Objects from 7 on are on stdin.
second() # ENTRIES
{
  {
    cat << END
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 2/Kids[3 0 R 4 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 5 0 R
  /Resources<</Font<</F 6 0 R>>>>>> endobj
4 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]$1>> endobj
5 0 obj <</Length 38>>
stream
BT /F 20 Tf 20 350 Td (page one) Tj ET
endstream endobj
6 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj
END
    cat
  } | with_table "$dir/d.pdf"
}

object() # NUMBER ENTRIES [FILE]: a stream with the bytes of a file; else stdin
{
  [ $# = 3 ] || cat > "$dir/bytes"
  printf '%d 0 obj <<%s/Length %d>>\nstream\n' "$1" "$2" \
    "$(stat -c %s "${3-$dir/bytes}")"
  cat "${3-$dir/bytes}"
  printf '\nendstream endobj\n'
}

# Page 2 is refused for this, and page 1 by itself is sent.
damaged() # TEXT WHY
{
  options=
  is "$1" "$(judged "$dir/d.pdf")" \
    "refused damaged 0: page 2 is damaged: $2"
  options='page-ranges=1'
  is "$1, on a page that is not selected" \
    "$(judged "$dir/d.pdf") $(text_of "$dir/body")" 'document 1 0 page one'
  options=
}

flate() { zlib-flate -compress=9; }
number() # N: two bytes
{
  # shellcheck disable=SC2059
  printf "\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $(($1 >> 8)))"
}
stored() # TEXT: as one block of Deflate, which is not the last
{
  printf '\x78\x01\x00'
  number ${#1}
  number $((~${#1} & 65535))
  printf %s "$1"
}
flip() # FILE OFFSET: the bits of a byte
{
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  # shellcheck disable=SC2059
  printf "\\x$(printf %02x $((byte ^ 255)))" |
    dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

show_content() # FILE: as content of the second page
{
  object 7 /Filter/FlateDecode "$1" | second "$content"
}

make_parts() # which the tests of the second page have in common
{
  seq -f 'BT /F 9 Tf 20 %g Td (a line of the second page) Tj ET' 20 12 390 \
    > "$dir/lines"
  flate < "$dir/lines" > "$dir/flate"
  { echo 'q 1 0 0 1 0 0 cm'; cat "$dir/lines"; } | flate | head -c -40 > "$dir/cut"
  seq -s '' 100000 100149 | head -c 900 > "$dir/pixels"
  flate < "$dir/pixels" > "$dir/pixels.z"
  content=/Contents' 7 0 R/Resources<</Font<</F 6 0 R>>>>'
  rectangle='1 0 0 rg 20 20 40 40 re f'
  unknown='a part of it is stored in a way that is not known here'
  shape='/Type/XObject/Subtype/Form/BBox[0 0 300 400]'
  image='/Type/XObject/Subtype/Image/Width 30/Height 30/BitsPerComponent 8'
  gray="$image/ColorSpace/DeviceGray"
  show_content "$dir/flate"
  cp "$dir/d.pdf" "$dir/lines.pdf"
}

make_parts
size=$(stat -c %s "$dir/flate")
arrives 'content that is packed' "$dir/d.pdf"
head -c -4 "$dir/flate" > "$dir/f"
show_content "$dir/f"
arrives 'its checksum is missing' "$dir/d.pdf" "$dir/lines.pdf"
for rest in 1 2 3; do
  head -c $((rest - 4)) "$dir/flate" > "$dir/f"
  show_content "$dir/f"
  arrives "of its checksum, $rest bytes are there" "$dir/d.pdf" "$dir/lines.pdf"
  flip "$dir/f" $((size - 5 + rest))
  show_content "$dir/f"
  damaged "$rest bytes of another checksum" 'a part of it is damaged'
done
{ cat "$dir/flate"; echo 'bytes after the end'; } > "$dir/f"
show_content "$dir/f"
arrives 'bytes follow its end' "$dir/d.pdf" "$dir/lines.pdf"

cp "$dir/flate" "$dir/f"
flip "$dir/f" $((size - 1))
show_content "$dir/f"
damaged 'its checksum is wrong' 'a part of it is damaged'
cp "$dir/flate" "$dir/f"
flip "$dir/f" $((size / 2))
show_content "$dir/f"
damaged 'a byte is wrong' 'a part of it is damaged'
for part in 1 30 60 90; do
  head -c $((size * part / 100)) "$dir/flate" > "$dir/f"
  show_content "$dir/f"
  damaged "it ends after $part%" 'a part of it ends early'
done
: > "$dir/f"
show_content "$dir/f"
arrives 'it is empty' "$dir/d.pdf"
stored "$rectangle" > "$dir/f"
show_content "$dir/f"
arrives 'it ends early, behind a block and an operator' "$dir/d.pdf"
for what in 'q 1 0 0 rg 20 20 40 40 re f' '1 0 0 rg 20 20 40 40 re' \
  '1 0 0 rg 20 20 40 40' '1 0 0 r' 'BT /F 9 Tf (wor' 'BT /F 9 Tf (words) Tj'; do
  stored "$what" > "$dir/f"
  show_content "$dir/f"
  case $what in
  *re) arrives "behind '$what'" "$dir/d.pdf" ;;
  *) damaged "behind '$what'" 'its content ends early' ;;
  esac
done
printf '\x78\xda' > "$dir/f"
show_content "$dir/f"
arrives 'it is the header of Flate alone: a blank page' "$dir/d.pdf"
{
  object 7 /Filter/FlateDecode "$dir/f"
  object 8 '/Subtype/Form/BBox[0 0 40 40]' <<< '0 0 40 40 re f'
} | second "$content
  /Annots[<</Subtype/Stamp/F 4/Rect[60 60 90 90]/AP<</N 8 0 R>>>>]"
arrives 'with a stamp' "$dir/d.pdf"
stored "$rectangle" | head -c -3 > "$dir/f"
show_content "$dir/f"
damaged 'it ends early, in a block' 'a part of it ends early'
{
  object 7 '' <<< "$rectangle"
  stored 'q 0 1 0 rg' > "$dir/f"
  object 8 /Filter/FlateDecode "$dir/f"
  object 9 '' <<< '60 60 40 40 re f Q'
} | second '/Contents[7 0 R 8 0 R 9 0 R]'
damaged 'one of several streams ends early' 'its content ends early'

object 7 '/F(\\server\content)' "$dir/lines" | second "$content"
damaged 'its content is in another file' 'a part of it is in another file'

object 7 /Filter/Own "$dir/lines" | second "$content"
is 'a filter that is not known has its own reason' "$(judged "$dir/d.pdf")" \
  "refused unknown-filter 0: page 2 cannot be sent: $unknown"
options='page-ranges=1'
is 'on a page that is not selected it does not matter' \
  "$(judged "$dir/d.pdf")" 'document 1 0'
options=

while IFS='|' read -r what entries; do
  second "$entries" < /dev/null
  damaged "its $what is a reference to nothing" 'its content is missing'
done << 'END'
content|/Contents 99 0 R
content, with words in the resources,|/Contents 99 0 R/Resources<</Font<</F 6 0 R>>>>
list of resources|/Contents 5 0 R/Resources 99 0 R
END
second '/Contents[5 0 R 99 0 R]/Resources<</Font<</F 6 0 R>>>>' < /dev/null
damaged 'a part of its content is a reference to nothing' \
  'a part of its content is missing'
second '/Contents[]/Resources<</Font<</F 6 0 R>>>>' < /dev/null
arrives 'it has no content' "$dir/d.pdf"
second '' < /dev/null
arrives 'it has neither content nor resources' "$dir/d.pdf"

# The second page draws X, which is object 8 or refers to it.
draws() # RESOURCES < OBJECTS FROM 8
{
  { object 7 '' <<< 'q 100 0 0 100 20 20 cm /X Do Q
/X gs BT /X 20 Tf 20 200 Td (a) Tj ET /Pattern cs /X scn 20 300 40 40 re f'
    cat; } | second "/Contents 7 0 R/Resources<<$1>>"
}

while IFS='|' read -r what resources entries; do
  object 8 "$entries" "$dir/pixels" | draws "$resources"
  damaged "$what is a reference to nothing" 'a part of it is missing'
done << END
the list of images and forms|/XObject 99 0 R|
an item of it|/XObject[99 0 R]|
an image or form|/XObject<</X 99 0 R>>|
a font|/Font<</X 99 0 R>>|
a pattern|/Pattern<</X 99 0 R>>|
a soft mask|/XObject<</X 8 0 R>>|$gray/SMask 99 0 R
a stencil mask|/XObject<</X 8 0 R>>|$gray/Mask 99 0 R
a color space|/XObject<</X 8 0 R>>|$image/ColorSpace 99 0 R
the profile of colors|/ColorSpace<</X[/ICCBased 99 0 R]>>|
the mask of a graphics state|/ExtGState<</X<</SMask<</S/Alpha/G 99 0 R>>>>>>|
the program of a font|/Font<</X<</Type/Font/Subtype/TrueType/FontDescriptor<</FontFile2 99 0 R>>>>>>|
the descendant of a font|/Font<</X<</Type/Font/Subtype/Type0/Encoding/Identity-H/DescendantFonts[99 0 R]>>>>|
the words of a font|/Font<</X<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 99 0 R>>>>|
a glyph|/Font<</X<</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 99 0 R>>/Encoding<</Differences[97/a]>>/FirstChar 97/LastChar 97/Widths[1]>>>>|
END

# The color space of a group is optional: without it, the group has that of what
# it is painted on.
group='/Group<</S/Transparency/CS 99 0 R>>'
while IFS='|' read -r what keys color; do
  {
    object 7 '' <<< '20 20 40 40 re f /X Do'
    object 8 "$keys" <<< "$color 30 30 40 40 re f"
  } | second "/Contents 7 0 R/Resources<</XObject<</X 8 0 R>>>>$group"
  case $color in
  '') arrives "$what is a reference to nothing" "$dir/d.pdf" ;;
  *) damaged "$what is a reference to nothing" 'a part of it is missing' ;;
  esac
done << END
the color space of a page's group|$shape|
the color space of a form's group|$shape$group|
the color space that a form uses|$shape/Resources<</ColorSpace<</C 99 0 R>>>>|/C cs
END

printf '\x78\xda' > "$dir/header"
object 8 "$shape/Filter/FlateDecode" "$dir/header" |
  draws '/XObject<</X 8 0 R>>'
damaged 'a form that is the header of Flate alone' 'a part of it ends early'

# An empty form without /Length, as LiveCycle writes it, or another one.
while IFS='|' read -r what data expected; do
  {
    printf '8 0 obj <<%s%s>>\nstream\r\n' "$shape" "${what#*:}"
    # shellcheck disable=SC2059
    printf "$data"
    printf 'endstream endobj\n'
  } | draws '/XObject<</X 8 0 R>>/Font<</X 6 0 R>>'
  case $expected in
  '') arrives "a form without data, ${what%:*}" "$dir/d.pdf" ;;
  *) damaged "a form, ${what%:*}" "$expected" ;;
  esac
done << 'END'
without a length:|\r\n|
with a wrong length:/Length 9|\r\n|its content ends early
with zeros, without a length:|\0\0\r\n|its content ends early
with a number, without a length:|20 \r\n|its content ends early
with a filter, without a length:/Filter/FlateDecode|\r\n|a part of it is damaged
END

# A form or a pattern without its area: some viewers draw it, others do not.
bare='/Type/XObject/Subtype/Form'
pattern='/PatternType 1/PaintType 1/TilingType 1/XStep 9/YStep 9'
while IFS='|' read -r what resources keys content; do
  echo "$content" > "$dir/drawn"
  object 8 "$keys" "$dir/drawn" | draws "$resources"
  case $what in
  *', and '*) arrives "$what" "$dir/d.pdf" ;;
  *) damaged "$what" 'a part of it is missing' ;;
  esac
done << END
a form without an area|/XObject<</X 8 0 R>>|$bare|$rectangle
a form whose area is null|/XObject<</X 8 0 R>>|$bare/BBox null|$rectangle
a form whose area is a reference to nothing|/XObject<</X 8 0 R>>|$bare/BBox 99 0 R|$rectangle
a form whose area has three numbers|/XObject<</X 8 0 R>>|$bare/BBox[0 0 9]|$rectangle
a form whose area has a name|/XObject<</X 8 0 R>>|$bare/BBox[0 0 9/A]|$rectangle
a form whose area is null, and it is not used|/XObject<</Y 8 0 R>>|$bare/BBox null|$rectangle
a form whose area has no size, and shows nothing|/XObject<</X 8 0 R>>|$bare/BBox[0 0 0 0]|$rectangle
a form whose area is the wrong way round, and is shown|/XObject<</X 8 0 R>>|$bare/BBox[300 400 0 0]|$rectangle
a pattern without an area|/Pattern<</X 8 0 R>>|$pattern|0 0 9 9 re f
a pattern with an area, and it is shown|/Pattern<</X 8 0 R>>|$pattern/BBox[0 0 9 9]/Resources<<>>|0 0 5 5 re f
a soft mask without an area|/ExtGState<</X<</SMask<</S/Alpha/G 8 0 R>>>>>>|$bare/Group<</S/Transparency>>|$rectangle
END
: > "$dir/nothing"
object 8 "$bare/BBox[0 0 9/A]" "$dir/nothing" | draws '/XObject<</X 8 0 R>>'
arrives 'a form without an area, and without data' "$dir/d.pdf"
{
  object 7 '' <<< "$rectangle"
  object 8 "$shape/Resources<</XObject<</Y 9 0 R>>>>" <<< '/Y Do'
  object 9 "$bare" <<< "$rectangle"
} | second '/Contents 7 0 R
  /Annots[<</Subtype/Stamp/F 4/Rect[60 60 90 90]/AP<</N 8 0 R>>>>]'
damaged 'a form without an area in the appearance of a stamp' \
  'a part of it is missing'

# What the page lists, but does not draw, may be missing or damaged.
while IFS='|' read -r what resources; do
  object 8 "$image/ColorSpace 99 0 R/Filter/Own" "$dir/pixels" |
    draws "/Font<</X 6 0 R>>$resources"
  arrives "$what is not used" "$dir/d.pdf"
done << END
a missing font|/Font<</X 6 0 R/Y 99 0 R>>
a missing image|/XObject<</Y 99 0 R>>
a damaged image|/XObject<</Y 8 0 R>>
a missing pattern|/Pattern<</Y 99 0 R>>
a missing graphics state|/ExtGState<</Y 99 0 R/Z<</Font[99 0 R 9]>>>>
a missing color space|/ColorSpace<</Y 99 0 R>>
a missing shading|/Shading<</Y 99 0 R>>
the missing list of shadings|/Shading 99 0 R
END
# Page 1 uses the name Y for something else.
with_table "$dir/d.pdf" << 'END'
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 2/Kids[3 0 R 4 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 5 0 R
  /Resources<</Font<</Y 6 0 R>>>>>> endobj
4 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 7 0 R
  /Resources<</Font<</X 6 0 R/Y 99 0 R>>>>>> endobj
5 0 obj <</Length 35>>
stream
BT /Y 20 Tf 20 350 Td (one) Tj ET  
endstream endobj
6 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj
7 0 obj <</Length 35>>
stream
BT /X 20 Tf 20 350 Td (two) Tj ET  
endstream endobj
END
arrives 'only the other page uses the missing font' "$dir/d.pdf"

# What it uses in any way may not.
glyph='/Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]'
glyph+='/Encoding<</Differences[97/a]>>/FirstChar 97/LastChar 97/Widths[1]'
tiling='/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 9 9]/XStep 9/YStep 9'
echo '/Y gs BT /#59 9 Tf (a) Tj ET' > "$dir/uses"
echo 'BT /Y 9 Tf (a) Tj ET' > "$dir/mask"
while IFS='|' read -r what resources entries; do
  { object 8 "$entries" "$dir/uses"; object 9 "$shape" "$dir/mask"; } |
    draws "$resources"
  damaged "a missing font is used $what" 'a part of it is missing'
done << END
in a form without resources|/Font<</X 6 0 R/Y 99 0 R>>/XObject<</X 8 0 R>>|$shape
in a form with resources|/Font<</X 6 0 R>>/XObject<</X 8 0 R>>|$shape/Resources<</Font<</Y 99 0 R/Z 99 0 R>>>>
in a soft mask of a form|/Font<</X 6 0 R>>/XObject<</X 8 0 R>>|$shape/Resources<</Font<</Y 99 0 R>>/ExtGState<</Y<</SMask<</S/Alpha/G 9 0 R>>>>>>>>
in a pattern|/Font<</X 6 0 R/Y 99 0 R>>/Pattern<</X 8 0 R>>|$tiling
in a glyph|/Font<</X<<$glyph/CharProcs<</a 8 0 R>>>>/Y 99 0 R>>|
in a glyph of a font with resources|/Font<</X<<$glyph/CharProcs<</a 8 0 R>>/Resources<</Font<</Y 99 0 R>>>>>>>>|
by a graphics state|/Font<</X 6 0 R>>/ExtGState<</X<</Font[99 0 R 9]>>>>|
in a soft mask|/Font<</X 6 0 R/Y 99 0 R>>/ExtGState<</X<</SMask<</S/Alpha/G 9 0 R>>>>>>|
END
{
  object 7 '' <<< 'BT /F#31 9 Tf (a) Tj ET'
} | second '/Contents 7 0 R/Resources<</Font<</#461 99 0 R/F2 99 0 R>>>>'
damaged 'its name is written in another way' 'a part of it is missing'
second '/Contents 7 0 R/Resources<</Font 99 0 R>>' < <(
  object 7 '' <<< '20 20 40 40 re f')
arrives 'the list of fonts is missing, and there is no text' "$dir/d.pdf"
second '/Contents 7 0 R/Resources<</Font 99 0 R>>' < <(
  object 7 '' <<< '[(a)]TJ/F 9 Tf')
damaged 'the list of fonts is missing' 'a part of it is missing'

draws '/XObject<</X 8 0 R>>' <<< '8 0 obj null endobj'
damaged 'an image that is null' 'a part of it is missing'

# Streams that are not content have no place where they may end early.
head -c $(($(stat -c %s "$dir/pixels.z") / 2)) "$dir/pixels.z" > "$dir/half"
cp "$dir/pixels.z" "$dir/wrong"
flip "$dir/wrong" $(($(stat -c %s "$dir/wrong") - 1))
while IFS='|' read -r what resources entries file why; do
  object 8 "$entries/Filter/FlateDecode" "$dir/$file" | draws "$resources"
  damaged "$what" "$why"
done << END
a form that is cut|/XObject<</X 8 0 R>>|$shape|cut|a part of it ends early
a pattern that is cut|/Pattern<</X 8 0 R>>|/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 9 9]/XStep 9/YStep 9/Resources<<>>|cut|a part of it ends early
a glyph that is cut|/Font<</X<</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 8 0 R>>/Encoding<</Differences[97/a]>>/FirstChar 97/LastChar 97/Widths[1]>>>>||cut|a part of it ends early
an image that is cut|/XObject<</X 8 0 R>>|$gray|half|a part of it ends early
an image with a wrong checksum|/XObject<</X 8 0 R>>|$gray|wrong|a part of it is damaged
an embedded font that is cut|/Font<</X<</Type/Font/Subtype/TrueType/FontDescriptor<</FontFile2 8 0 R>>>>>>||half|a part of it ends early
an embedded font with a wrong checksum|/Font<</X<</Type/Font/Subtype/TrueType/FontDescriptor<</FontFile2 8 0 R>>>>>>||wrong|a part of it is damaged
a list of words of a font that is cut|/Font<</X<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 8 0 R>>>>||half|a part of it ends early
a CMap that is cut|/Font<</X<</Type/Font/Subtype/Type0/BaseFont/A/Encoding 8 0 R/DescendantFonts[]>>>>|/Type/CMap/CMapName/A|half|a part of it ends early
a profile of colors that is cut|/ColorSpace<</X[/ICCBased 8 0 R]>>|/N 3|half|a part of it ends early
the mask of a graphics state that is cut|/ExtGState<</X<</SMask<</S/Alpha/G 8 0 R>>>>>>|$shape|cut|a part of it ends early
END
{
  object 8 "$gray/SMask 9 0 R" "$dir/pixels"
  object 9 "$gray/Filter/FlateDecode" "$dir/half"
} | draws '/XObject<</X 8 0 R>>'
damaged 'a soft mask that is cut' 'a part of it ends early'

# Fonts and CMaps may end with a flush; this one has letters of four shapes.
cmap='/CIDInit /ProcSet findresource begin begincmap 1 beginbfchar <61><0041>
endbfchar endcmap end'
words_font='<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 8 0 R>>'
for end in "$cmap" "${cmap%endcmap end}"; do
  stored "$end" > "$dir/f"
  object 8 /Filter/FlateDecode "$dir/f" | draws "/Font<</X $words_font>>"
  case $end in
  *end) arrives 'a list of words that ends with a flush' "$dir/d.pdf" ;;
  *) damaged 'one without its last operator' 'a part of it ends early' ;;
  esac
done

# The profile that the colors of the document were made for. Viewers do without.
echo profile > "$dir/f"
while IFS='|' read -r what profile expected; do
  {
    object 7 '' <<< '1 0 0 rg 20 20 40 40 re f'
    object 8 '/N 3' "$dir/f"
    object 9 '/N 3/Filter/FlateDecode' "$dir/f"
    object 10 "/N 3/Filter/Own" "$dir/f"
  } | second '/Contents 7 0 R'
  sed -i "s|/Catalog|&/OutputIntents[<</S/GTS_PDFX$profile>>]|" "$dir/d.pdf"
  is "the profile of the document is $what" \
    "$(judged "$dir/d.pdf") $(grep -ac GTS_PDFX "$dir/body")" \
    "document 2 0 $expected"
done << 'END'
whole|/DestOutputProfile 8 0 R|1
not there|/Info(X)|1
damaged|/DestOutputProfile 9 0 R|0
in a format that is not known|/DestOutputProfile 10 0 R|0
lost|/DestOutputProfile 99 0 R|0
END

# No viewer reads /CIDSet: it is not sent.
printf '\0\0\0' > "$dir/f"
object 8 /Filter/FlateDecode "$dir/f" | draws "/Font<</X<</Type/Font
  /Subtype/Type1/BaseFont/Helvetica
  /FontDescriptor<</Type/FontDescriptor/CIDSet 8 0 R>>>>>>"
arrives 'the list of the glyphs in a font is damaged' "$dir/d.pdf"
is 'it is not sent' "$(grep -ac CIDSet "$dir/body")" 0

# No stream has a checksum that is right, or one has.
all_wrong() # right, zero, wrong or but-one; FILE COUNT: of streams of content
{
  local i refs=
  for ((i = 7; i < 7 + $3; i++)); do
    refs+="$i 0 R "
    echo "0 0 1 rg $((20 * (i - 6))) 20 10 $i re f" | flate > "$dir/f"
    if [ "$1" = zero ]; then
      { head -c -4 "$dir/f"; printf '\0\0\0\0'; } > "$dir/g"
      mv "$dir/g" "$dir/f"
    elif [ "$1" != right ] && { [ "$1" = wrong ] || [ $i != 7 ]; }; then
      flip "$dir/f" $(($(stat -c %s "$dir/f") - 1))
    fi
    object $i /Filter/FlateDecode "$dir/f"
  done > "$dir/objects"
  second "/Contents[$refs]" < "$dir/objects"
  [ "$2" = "$dir/d.pdf" ] || mv "$dir/d.pdf" "$2"
}
for count in 1 8; do
  all_wrong right "$dir/right.pdf" $count
  all_wrong zero "$dir/d.pdf" $count
  arrives "$count checksums, all zero" "$dir/d.pdf" "$dir/right.pdf"
  sed 's/endstream/\n&/' "$dir/d.pdf" > "$dir/m.pdf" # lengths are wrong
  is 'with lengths that are wrong' "$(whole_or_refused "$dir/right.pdf")" ''
done
all_wrong wrong "$dir/d.pdf" 8
arrives '8 checksums, all wrong' "$dir/d.pdf" "$dir/right.pdf"
all_wrong wrong "$dir/d.pdf" 7
damaged '7 checksums, all wrong' 'a part of it is damaged'
all_wrong but-one "$dir/d.pdf" 20
damaged '20 checksums, one of them right' 'a part of it is damaged'

section 'images'

make_parts
draws_image() # ENTRIES FILE
{
  object 8 "$1" "$2" | draws '/XObject<</X 8 0 R>>'
}
draws_image "$gray/Filter/FlateDecode" "$dir/pixels.z"
arrives 'an image' "$dir/d.pdf"
head -c 300 "$dir/pixels" > "$dir/third"
draws_image "$gray" "$dir/third"
damaged 'an image with a third of its rows' 'an image ends early'
flate < "$dir/third" > "$dir/f"
draws_image "$gray/Filter/FlateDecode" "$dir/f"
damaged 'also if it is packed' 'an image ends early'
stored "$(cat "$dir/pixels")" > "$dir/f"
draws_image "$gray/Filter/FlateDecode" "$dir/f"
arrives 'an image that has all of its bytes, but no end' "$dir/d.pdf"
{ cat "$dir/pixels"; printf xyz; } | flate | head -c -6 > "$dir/f"
draws_image "$gray/Filter/FlateDecode" "$dir/f"
arrives 'one that is cut behind them' "$dir/d.pdf"
# Only inline images should have abbreviations, but viewers accept them anywhere.
fold -w 30 "$dir/pixels" | sed 's/^/\x01/' | tr -d '\n' | flate > "$dir/f"
draws_image '/Type/XObject/Subtype/Image/W 30/H 30/BPC 8/CS/G/D[1 0]/I true
  /Filter/Fl/DP<</Predictor 15/Columns 30>>' "$dir/f"
arrives 'an image with abbreviations' "$dir/d.pdf"
jbig2='/Type/XObject/Subtype/Image/Width 32/Height 32/BitsPerComponent 1
  /ColorSpace/DeviceGray/Filter[/ASCIIHexDecode/JBIG2Decode]'
# A page, and a halftone region of two patterns.
printf '%s' 00000001300001000000130000002000000020000000000000000000000000000002 \
  172000010000002c0000002000000020000000000000000000010000000400000004000000 \
  '00000000000800000026bffe002002>' > "$dir/halftone"
echo '000000001000000000000e010808000000013317fff0010010>' > "$dir/patterns"
{
  object 8 "$jbig2/DecodeParms[null<</JBIG2Globals 9 0 R>>]" "$dir/halftone"
  object 9 /Filter/ASCIIHexDecode "$dir/patterns"
} | draws '/XObject<</X 8 0 R>>'
arrives 'an image with shared JBIG2 segments' "$dir/d.pdf"
draws_image "$jbig2" "$dir/halftone"
damaged 'one without them' 'a part of its image is missing'
head -c 60 "$dir/halftone" > "$dir/f"
draws_image "$jbig2" "$dir/f"
arrives 'a page without regions, as scanners write a blank side' "$dir/d.pdf"
pdfimages -f 2 "$dir/body" "$dir/blank" 2> /dev/null
is 'it is white' "$(tail -c 128 "$dir/blank-000.pbm" | tr -d '\0' | wc -c)" 0
printf '\xff' > "$dir/f" # 8 rows
draws_image "$image/ImageMask true/BitsPerComponent 1/Filter/CCITTFaxDecode
  /DecodeParms<</K -1/Columns 30>>" "$dir/f"
damaged 'a fax that lacks rows' 'an image ends early'

pdftoppm -r 18 -f 2 -singlefile -jpeg "$dir/lines.pdf" "$dir/scan"
pdftoppm -r 18 -f 2 -singlefile -png "$dir/lines.pdf" "$dir/scan"
scan=$dir/scan.jpg # 75 x 100 pixels
size=$(stat -c %s "$scan")
start=$(grep -obUaP '\xff\xda' "$scan" | head -n 1 | cut -d: -f1)
head -c "$start" "$scan" > "$dir/f"
{ cat "$dir/f"; printf '\xff\xd9'; } > "$dir/no-scan.jpg"
head -c $(((start + size) / 2)) "$scan" > "$dir/cut.jpg"
{ cat "$dir/cut.jpg"; printf '\xff\xd9'; } > "$dir/closed.jpg"
cat "$scan" "$dir/lines" > "$dir/longer.jpg"
rgb='/Type/XObject/Subtype/Image/BitsPerComponent 8/ColorSpace/DeviceRGB'
dct="$rgb/Width 75/Height 100/Filter/DCTDecode"
for name in scan longer; do
  draws_image "$dct" "$dir/$name.jpg"
  arrives "a JPEG in a PDF: $name" "$dir/d.pdf"
  is "a JPEG by itself: $name" "$(judged "$dir/$name.jpg") $(
    cmp "$dir/body" "$scan")" 'document 1 0 '
done
flate < "$scan" > "$dir/f"
draws_image "$rgb/Width 75/Height 100/Filter[/Fl/DCT]
  /DP[null<</ColorTransform 0>>]" "$dir/f"
arrives 'a packed JPEG' "$dir/d.pdf"
is 'its parameters are those of the JPEG' \
  "$(qpdf --qdf "$dir/body" - | grep -aA 2 -E '/D(P|ecodeParms)' | xargs)" \
  '/DecodeParms << /ColorTransform 0 >>'
while IFS='|' read -r name what why; do
  draws_image "$dct" "$dir/$name.jpg"
  damaged "a JPEG $what" "$why"
  is "by itself" "$(judged "$dir/$name.jpg")" \
    "refused damaged 0: it is damaged: $why"
done << 'END'
no-scan|without pixels|an image has no data
cut|that is cut|an image ends early
closed|that is cut and has its end marker|an image ends early
END
draws_image "$gray/Filter/Own" "$dir/pixels"
is 'an image with a filter that is not known' "$(judged "$dir/d.pdf")" \
  "refused unknown-filter 0: page 2 cannot be sent: $unknown"
draws_image "$rgb/Width 75/Height 200/Filter/DCTDecode" "$scan"
damaged 'a JPEG with half of the rows' 'an image is smaller than it should be'
options=
run < "$dir/d.pdf"
has 'the user reads what to do' "$(reason)" \
  '^page 2 is damaged: .*; scan page 2 again, or ask for a new copy of it$'
run < "$dir/cut.jpg"
has 'also if it is a picture' "$(reason)" \
  '^it is damaged: .*; scan it again, or ask for a new copy of it$'
for codec in JPX JBIG2; do
  draws_image "$rgb/Width 75/Height 100/Filter/${codec}Decode" "$dir/lines"
  options=
  has "invalid $codec data" "$(judged "$dir/d.pdf")" \
    '^refused damaged 0: page 2 is damaged: an image '
done

png=$dir/scan.png
size=$(stat -c %s "$png")
is 'a PNG' "$(judged "$png")" 'document 1 0'
bad_png() # TEXT
{
  is "$1" "$(judged "$dir/f")" \
    'refused damaged 0: it is damaged: an image ends early, or has invalid data'
}
cp "$png" "$dir/f"
flip "$dir/f" $((size - 13)) # behind the last IDAT there is IEND, of 12 bytes
bad_png 'a PNG with a wrong CRC'
cp "$png" "$dir/f"
flip "$dir/f" $((size / 2))
bad_png 'a PNG with a wrong byte'
start=$(grep -obUa IDAT "$png" | head -n 1 | cut -d: -f1)
for cut in 12 16 $(((size - start) / 2)); do
  head -c -$cut "$png" > "$dir/f"
  bad_png "a PNG whose last $cut bytes are missing"
done

# An inline image of 60 x 4 pixels.
inline() # ENTRIES FILE
{
  { echo 'q 200 0 0 100 20 20 cm BI /W 60/H 4/BPC 8/CS/G'"$1"' ID'
    cat "$2"
    printf '\nEI Q\nBT /F 20 Tf 20 350 Td (words below) Tj ET\n'; } > "$dir/f"
  object 7 '' "$dir/f" | second "$content"
}
head -c 240 "$dir/pixels" > "$dir/inline"
head -c 120 "$dir/inline" > "$dir/inline.half"
inline '' "$dir/inline"
arrives 'an inline image' "$dir/d.pdf"
inline '' "$dir/inline.half"
damaged 'one with half of its rows' 'a small image ends early or is damaged'
flate < "$dir/inline" > "$dir/inline.z"
inline /F/Fl "$dir/inline.z"
arrives 'a packed inline image' "$dir/d.pdf"
head -c -20 "$dir/inline.z" > "$dir/inline.cut"
inline /F/Fl "$dir/inline.cut"
damaged 'one that is cut' 'a small image ends early or is damaged'
inline '' "$dir/inline"
sed 's/^EI Q/QQ Q/' "$dir/d.pdf" > "$dir/f"
mv "$dir/f" "$dir/d.pdf"
damaged 'one without an end' 'its content ends early'

section 'annotations and forms'

make_parts
annotated() # ANNOTATION [OBJECTS FROM 8]
{
  { object 7 '' <<< '20 20 40 40 re f'; echo "${2-}"; } |
    second "/Contents 7 0 R/Annots[$1]"
}
while IFS='|' read -r what annotation why; do
  annotated "$annotation"
  damaged "$what is a reference to nothing" "$why"
done << 'END'
the appearance of a stamp|<</Subtype/Stamp/F 4/Rect[20 20 60 60]/AP<</N 99 0 R>>>>|a stamp is missing
the appearance of a signature|<</Subtype/Widget/FT/Sig/F 4/Rect[20 20 60 60]/AP<</N 99 0 R>>>>|a signature is missing
END
{
  object 7 '/Subtype/Form/BBox[0 0 40 40]' <<< 'BT /G 9 Tf (words) Tj ET'
} | second '/Contents 5 0 R
    /Resources<</Font<</F 6 0 R/G 6 0 R/H 99 0 R>>/XObject<</I 99 0 R>>>>
    /Annots[<</Subtype/Stamp/F 4/Rect[60 60 90 90]/AP<</N 7 0 R>>>>]'
arrives 'a font that neither the page nor its stamp uses' "$dir/d.pdf"
sed 's/G 6 0 R/G 99 0 R/' "$dir/d.pdf" > "$dir/f"
mv "$dir/f" "$dir/d.pdf"
damaged 'a font that only the stamp uses' 'a part of it is missing'
# With an annotation, the content becomes a form.
stored "$rectangle" > "$dir/f"
for contents in 8 '[5 0 R 8 0 R]' '[5 0 R 8 0 R 5 0 R]' '[]'; do
  {
    object 7 '/Subtype/Form/BBox[0 0 40 40]' <<< '0 0 40 40 re f'
    object 8 /Filter/FlateDecode "$dir/f"
  } | second "/Contents ${contents/#8/8 0 R}/Resources<</Font<</F 6 0 R>>>>
    /Annots[<</Subtype/Stamp/F 4/Rect[60 60 90 90]/AP<</N 7 0 R>>>>]"
  arrives "content that ends early, with a stamp: $contents" "$dir/d.pdf"
done
annotated '<</Subtype/Stamp/F 4/Rect[20 20 60 60]/AP<</N 8 0 R>>>>' "$(
  object 8 '/Subtype/Form/BBox[0 0 40 40]/Resources<</Font<</F 99 0 R>>>>' \
    <<< 'BT /F 9 Tf (words) Tj ET')"
damaged 'what an appearance draws is a reference to nothing' \
  'a part of it is missing'
{
  object 7 '' <<< '20 20 40 40 re f'
  object 8 "$shape/Filter/FlateDecode" "$dir/cut"
} | second '/Contents 7 0 R
  /Annots[<</Subtype/Stamp/F 4/Rect[20 20 60 60]/AP<</N 8 0 R>>>>]'
damaged 'an appearance is cut' 'a part of it ends early'
{
  object 7 '' <<< '20 20 40 40 re f'
  object 8 "$shape/Filter/FlateDecode" "$dir/cut"
} | second '/Contents 7 0 R
  /Annots[<</Subtype/Stamp/Rect[20 20 60 60]/AP<</N 8 0 R>>>>]'
is 'unless it is not printed' "$(judged "$dir/d.pdf")" 'document 2 0'

finish
