#!/usr/bin/env bash
#
# active_test.sh - only the visible content of a PDF is sent: no attachments,
# scripts, actions, or metadata. Removing them, and flattening annotations and
# form fields into the pages, does not change the printed pages. Other tests of
# todocextract are in filter_test.sh.
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

plain() # PDF: its content, uncompressed
{
  qpdf --qdf --static-id --object-streams=disable "$1" - | tr -d '\0'
}
secrets() { plain "$1" | grep -ao 'SECRET[-A-Za-z0-9]*' | sort -u | paste -sd' '; }
interactive() # PDF: what is left of annotations, forms, and actions
{
  plain "$1" |
    grep -aoE '/(Annots|AcroForm|OpenAction|Names|Subtype /(Widget|Link|Stamp)) '
}
copy='ask for a new copy of it, or print it from the program that made it'

"$mkpdf" "$dir/plain.pdf" one two

section 'everything at once'

# Each SECRET word is in something that must be removed.
document "$dir/wild.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R/Outlines 40 0 R
  /OpenAction<</S/JavaScript/JS(SECRET-open)>>
  /AA<</WC<</S/JavaScript/JS(SECRET-close)>>>>
  /AF[20 0 R]/Collection<</Type/Collection/View/H/D(SECRET-d)>>
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
  /A<</S/URI/URI(http://SECRET-link)/Next[<</S/JavaScript/JS(SECRET-next)>>
    <</S/GoTo/D[4 0 R/Fit]>>]>>>> endobj
33 0 obj <</Type/Annot/Subtype/FileAttachment/F 4/Rect[80 220 120 240]
  /AP<</N 25 0 R>>/FS 20 0 R>> endobj
34 0 obj <</Type/Annot/Subtype/Stamp/F 4/Rect[80 260 120 280]
  /AP<</N 25 0 R>>/Contents(SECRET-note)>> endobj
35 0 obj <</FT/Tx/T(field without a place)
  /AA<</C<</S/JavaScript/JS(SECRET-calculate)>>>>>> endobj
36 0 obj <</Type/Annot/Subtype/Sound/F 4/Rect[80 180 120 200]
  /AP<</N 25 0 R>>/Sound 26 0 R>> endobj
37 0 obj <</Type/Annot/Subtype/Link/F 4/Rect[20 20 60 40]
  /A<</S/GoTo/D[3 0 R/Fit]>>>> endobj
40 0 obj <</Type/Outlines/First 41 0 R/Last 42 0 R/Count 2>> endobj
41 0 obj <</Title(SECRET-bookmark)/Parent 40 0 R/Next 42 0 R
  /Dest[3 0 R/Fit]>> endobj
42 0 obj <</Title(another)/Parent 40 0 R/Prev 41 0 R
  /A<</S/JavaScript/JS(SECRET-bookmark)>>>> endobj
trailer <</Root 1 0 R/Size 43>>
%%EOF
END

is 'the document contains all of it' \
  "$(secrets "$dir/wild.pdf" | wc -w)" 20
result "$dir/wild.pdf" > "$dir/kind"
cp "$dir/body" "$dir/tame.pdf"
is 'a document full of it is accepted' "$(cat "$dir/kind")" 'document 2 0'
is 'nothing of it is sent' "$(secrets "$dir/tame.pdf")" ''
is 'no key that starts something is sent' \
  "$(plain "$dir/tame.pdf" |
    grep -aoE '/(A|JS|JavaScript|Launch|EmbeddedFiles?|SubmitForm|URI|XFA) ')" ''
is 'and no annotation or field' "$(interactive "$dir/tame.pdf")" ''
is 'nothing of it is logged' "$(grep -c SECRET "$dir/err")" 0
is 'what is sent is a valid PDF' \
  "$(qpdf --check "$dir/tame.pdf" > "$dir/check" 2>&1; echo $?)" 0

is 'its pages print the same' "$("$same" "$dir/wild.pdf" "$dir/tame.pdf")" same
is 'its text is the same' "$(text_of "$dir/tame.pdf")" 'first page second page'
cp "$dir/out" "$dir/first"
run < "$dir/wild.pdf"
is 'the result is the same every time' "$(cmp "$dir/out" "$dir/first" && echo same)" same

sed 's|/View /H|/View /D|' "$dir/wild.pdf" > "$dir/portfolio.pdf"
is 'a portfolio, whose documents are the attached files: refused' \
  "$(result "$dir/portfolio.pdf")" 'refused not-drawn 0'

section 'what must look the same'

# Form fields without a look of their own, with values from above; annotations
# that viewers draw; layers; colors, patterns, masks, and glyphs.
mark() # SUBTYPE X Y ENTRIES: 40 points wide, 20 high
{
  printf '<</Subtype/%s/F 4/Rect[%d %d %d %d]%s>>\n' \
    "$1" "$2" "$3" $(($2 + 40)) $(($3 + 20)) "$4"
}
square() # X Y: content
{
  echo "$1 $2 40 40 re f"
}
document "$dir/shown.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R/AcroForm<</NeedAppearances true
  /Fields[10 0 R 12 0 R 13 0 R 14 0 R]/DR<</Font<</F 6 0 R/Z 7 0 R>>>>
  /DA(/F 12 Tf 0 0 1 rg)>>
  /OCProperties<</OCGs[20 0 R 21 0 R 22 0 R 23 0 R]/D<</BaseState/ON
    /OFF[21 0 R 23 0 R]/AS[<</Event/Print/OCGs[22 0 R]/Category[/Print]>>
      <</Event/View/OCGs[22 0 R]/Category[/View]>>]/Order[20 0 R]>>>>>> endobj
2 0 obj <</Type/Pages/Count 4/Kids[3 0 R 4 0 R 5 0 R 8 0 R]
  /MediaBox[0 0 300 400]/Resources<</Font<</F 6 0 R>>>>>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/Contents 30 0 R/Rotate 90/UserUnit 1.5
  /CropBox[5 5 250 350]/Annots[11 0 R 12 0 R 13 0 R 15 0 R]>> endobj
4 0 obj <</Type/Page/Parent 2 0 R/Contents 30 0 R/Annots[
    $(mark Stamp 20 20 '/AP<</N 31 0 R>>')
    $(mark Stamp 70 20 '/AS/On/AP<</N<</On 31 0 R/Off 32 0 R>>>>')
    $(mark Stamp 120 20 '/OC 21 0 R/AP<</N 31 0 R>>')
    $(mark FileAttachment 20 60 '/Name/Paperclip/FS<</F(x)>>/C[1 0 0]')
    $(mark FileAttachment 70 60 '/FS<</F(x)>>/AP<</N 31 0 R>>')
    $(mark Sound 120 60 '/Name/Mic/Sound 33 0 R/AP<</N 31 0 R>>')
    $(mark Text 20 100 '/Name/Note/C[1 1 0]/Contents(note)')
    $(mark Link 70 100 '/Border[3 3 2[4 2]]/C[1 0 0]')
    $(mark Link 120 100 '/BS<</W 3/S/U>>/C[0 1 0]/A<</S/URI/URI(x)>>')
    $(mark Popup 70 220 '/Parent 34 0 R')
    $(mark Stamp 120 220 '/F 2/AP<</N 31 0 R>>')
    $(mark Stamp 170 220 '/F 0/AP<</N 31 0 R>>')
    $(mark Watermark 220 220 '/FixedPrint<</Matrix[1 0 0 1 9 9]>>/AP<</N 31 0 R>>')
    $(mark RichMedia 70 260 '/RichMediaContent<<>>/AP<</N 31 0 R>>')
    $(mark Redact 120 260 '/OC[0]/AP<</N 31 0 R>>')
    $(mark Own 170 260 '/AP<</N 31 0 R>>')]>> endobj
5 0 obj <</Type/Page/Parent 2 0 R/Contents[35 0 R 36 0 R]
  /Resources<</Font<</F 6 0 R>>/Properties<</A 20 0 R/B 21 0 R/C 22 0 R
    /D<</Type/OCMD/OCGs[20 0 R 21 0 R]/P/AllOn>>
    /E<</Type/OCMD/VE[/Or 21 0 R[/Not 20 0 R]]>>/G 23 0 R
    /T<</ActualText(spoken)>>>>
    /XObject<</H 37 0 R/I 38 0 R>>>>>> endobj
6 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica
  /Encoding<</Differences[65/B]>>>> endobj
7 0 obj <</Type/Font/Subtype/Type1/BaseFont/ZapfDingbats>> endobj
8 0 obj <</Type/Page/Parent 2 0 R/Contents 40 0 R/Group<</S/Transparency
    /CS/DeviceRGB/I true>>
  /Resources<</Font<</T 41 0 R/F 6 0 R>>/XObject<</I 42 0 R/J 43 0 R/K 44 0 R
    /L 45 0 R>>
    /Pattern<</P 46 0 R/Q<</PatternType 2/Matrix[1 0 0 1 9 9]
      /Shading 47 0 R>>>>/Shading<</S 48 0 R>>
    /ExtGState<</A<</CA .3/ca .3/BM/Multiply>>/B<</SMask<</S/Luminosity/G 49 0 R
      /BC[0]/TR 50 0 R>>>>/C<</SMask/None/Font[6 0 R 30]/LW 9/D[[3]0]>>>>
    /ColorSpace<</C[/ICCBased 51 0 R]/D[/Separation/Spot/DeviceRGB 52 0 R]
      /E[/DeviceN[/X/Y]/DeviceRGB 53 0 R<</Colorants<</X[/Separation/X
        /DeviceRGB 52 0 R]>>/Process<</ColorSpace/DeviceRGB/Components[/X]>>>>]
      /F[/Lab<</WhitePoint[.9 1 .8]/Range[-99 99 -99 99]>>]
      /G[/Indexed[/CalRGB<</WhitePoint[.9 1 1]/Gamma[2 2 2]>>] 1 54 0 R]
      /H[/Pattern/DeviceRGB]>>>>>> endobj
10 0 obj <</FT/Tx/T(a)/V(from above)/DA(/F 14 Tf 1 0 0 rg)/Q 2
  /Kids[16 0 R]>> endobj
11 0 obj <</Subtype/Widget/F 4/Rect[20 260 120 280]/Parent 16 0 R
  /MK<</BC[1 0 0]/BG[1 1 .5]>>>> endobj
12 0 obj $(mark Widget 70 300 '/FT/Ch/T(b)/Ff 131072/Opt[(one)(two)]/V(two)
  /I[1]') endobj
13 0 obj $(mark Widget 120 300 '/FT/Btn/T(c)/V/On/AS/On/MK<</CA(4)>>
  /AP<</N<</On 31 0 R/Off 32 0 R>>>>') endobj
14 0 obj <</FT/Btn/Ff 32768/T(d)/V/x/Kids[15 0 R]>> endobj
15 0 obj $(mark Widget 170 300 '/Parent 14 0 R/AS/x/AP<</N<</x 31 0 R>>>>') endobj
16 0 obj <</Parent 10 0 R/T(e)/Ff 4096/MaxLen 50/Kids[11 0 R]>> endobj
20 0 obj <</Type/OCG/Name(on)>> endobj
21 0 obj <</Type/OCG/Name(off)>> endobj
22 0 obj <</Type/OCG/Name(screen only)/Usage<</Print<</PrintState/OFF>>
  /View<</ViewState/ON>>>>>> endobj
23 0 obj <</Type/OCG/Name(also off)/Intent[/View/Design]>> endobj
30 0 obj $(stream 'BT /F 20 Tf 20 350 Td (ABC page) Tj ET') endobj
31 0 obj $(stream '1 0 0 rg 0 0 40 10 re f' \
  '/Type/XObject/Subtype/Form/BBox[0 0 40 20]/Matrix[1 0 0 2 0 0]') endobj
32 0 obj $(stream '0 0 1 rg 0 0 9 9 re f' \
  '/Type/XObject/Subtype/Form/BBox[0 0 9 9]') endobj
33 0 obj $(stream 'aaaa' '/R 8000') endobj
34 0 obj $(mark Text 0 0 '') endobj
35 0 obj $(stream "/OC /A BDC 1 0 0 rg $(square 20 20) EMC
/OC /B BDC 0 1 0 rg $(square 70 20) EMC /OC /C BDC $(square 120 20) EMC
/OC /D BDC 0 0 1 rg $(square 170 20) EMC /OC /E BDC $(square 220 20) EMC") endobj
36 0 obj $(stream "/OC /G BDC $(square 20 70) EMC /H Do /I Do
BT /F 20 Tf 20 150 Td /Span /T BDC (glyphs) Tj EMC ET") endobj
37 0 obj $(stream "$(square 70 70)" \
  '/Type/XObject/Subtype/Form/BBox[0 0 300 400]/OC 21 0 R') endobj
38 0 obj $(stream "$(square 120 70)" \
  '/Type/XObject/Subtype/Form/BBox[0 0 300 400]/OC 20 0 R') endobj
40 0 obj $(stream "BT /T 20 Tf 20 20 Td (aa) Tj ET
/C cs 1 0 0 sc $(square 20 70) /D cs 1 sc $(square 70 70)
/E cs 1 .5 sc $(square 120 70) /F cs 50 60 60 sc $(square 170 70)
/G cs 1 sc $(square 220 70)
/Pattern cs /P scn $(square 20 120) /H cs 0 1 0 /P scn $(square 70 120)
/Pattern cs /Q scn $(square 120 120) q 170 120 40 40 re W n /S sh Q
q 40 0 0 40 20 170 cm /I Do Q q 40 0 0 40 70 170 cm /J Do Q
q 40 0 0 40 120 170 cm /K Do Q q /A gs $(square 170 170) Q
q /B gs 1 0 0 rg $(square 220 170) Q q /C gs 20 220 m 90 250 l S
BT 20 300 Td (AB) Tj ET Q q 1 0 0 1 120 220 cm /L Do Q") endobj
41 0 obj <</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]
  /CharProcs<</g 55 0 R>>/Encoding<</Differences[97/g]>>/FirstChar 97
  /LastChar 97/Widths[2]/Resources<</XObject<</I 42 0 R>>>>>> endobj
42 0 obj $(stream 'abcdefghijkl' '/Type/XObject/Subtype/Image/Width 2/Height 2
  /BitsPerComponent 8/ColorSpace/DeviceRGB/Interpolate true
  /Decode[1 0 0 1 0 1]/SMask 56 0 R') endobj
43 0 obj $(stream 'ab' '/Type/XObject/Subtype/Image/Width 4/Height 2
  /BitsPerComponent 1/ImageMask true/Decode[1 0]') endobj
44 0 obj $(stream '616263646566>' '/Type/XObject/Subtype/Image/Width 3/Height 2
  /BitsPerComponent 8/ColorSpace[/Indexed/DeviceRGB 255 57 0 R]
  /Filter/ASCIIHexDecode/Mask[98 99]') endobj
45 0 obj $(stream "0 0 1 rg $(square 0 0) /X Do" '/Type/XObject/Subtype/Form
  /BBox[0 0 60 60]/Resources<</XObject<</X 31 0 R>>>>
  /Group<</S/Transparency/K true/CS/DeviceRGB>>') endobj
46 0 obj $(stream '1 0 0 rg 0 0 4 4 re f' '/PatternType 1/PaintType 1
  /TilingType 1/BBox[0 0 8 8]/XStep 8/YStep 8/Matrix[1 0 .5 1 0 0]
  /Resources<<>>') endobj
47 0 obj <</ShadingType 2/ColorSpace/DeviceRGB/Coords[100 0 180 0]
  /Extend[true true]/Function 58 0 R/BBox[0 0 400 400]>> endobj
48 0 obj <</ShadingType 1/ColorSpace/DeviceRGB/Domain[0 1 0 1]
  /Matrix[40 0 0 40 170 120]/Function[59 0 R 59 0 R 60 0 R]>> endobj
49 0 obj $(stream "1 g 220 170 20 40 re f .5 g 240 170 20 40 re f" \
  '/Type/XObject/Subtype/Form/BBox[0 0 300 400]
  /Group<</S/Transparency/CS/DeviceGray>>') endobj
50 0 obj <</FunctionType 2/Domain[0 1]/C0[0]/C1[1]/N 2>> endobj
51 0 obj $(stream '' '/N 3/Alternate/DeviceRGB') endobj
52 0 obj <</FunctionType 2/Domain[0 1]/C0[1 1 1]/C1[.2 .7 .3]/N 1>> endobj
53 0 obj $(stream '{2 copy add 2 div}' '/FunctionType 4/Domain[0 1 0 1]
  /Range[0 1 0 1 0 1]') endobj
54 0 obj $(stream 'abcxyz') endobj
55 0 obj $(stream '2 0 d0 0 0 1 1 re f /I Do') endobj
56 0 obj $(stream 'azAZ' '/Type/XObject/Subtype/Image/Width 2/Height 2
  /BitsPerComponent 8/ColorSpace/DeviceGray/Matte[0 0 0]') endobj
57 0 obj $(stream "$(printf '%03d' {0..255})") endobj
58 0 obj <</FunctionType 3/Domain[0 1]/Bounds[.5]/Encode[0 1 1 0]
  /Functions[52 0 R 52 0 R]>> endobj
59 0 obj $(stream '{add 2 div}' '/FunctionType 4/Domain[0 1 0 1]
  /Range[0 1]') endobj
60 0 obj $(stream 'az' '/FunctionType 0/Domain[0 1 0 1]/Range[0 1]/Size[2 1]
  /BitsPerSample 8/Order 1/Encode[0 1 0 0]/Decode[0 1]') endobj
trailer <</Root 1 0 R/Size 61>>
%%EOF
END
is 'what viewers draw is accepted' "$(result "$dir/shown.pdf")" 'document 4 0'
is 'and prints the same' "$("$same" "$dir/shown.pdf" "$dir/body" 2>&1)" same
is 'in a unit of its own, which poppler ignores' \
  "$(grep -ao 'UserUnit 1.5' "$dir/body")" 'UserUnit 1.5'
is 'no annotation or field is sent' "$(interactive "$dir/body")" ''
has 'values without an appearance are words of the page' \
  "$(text_of "$dir/body")" 'two .*from above|from above .*two'
is 'a page that has neither is not changed at all' \
  "$(pdftoppm -r 50 -f 4 "$dir/body" | sha256sum)" \
  "$(pdftoppm -r 50 -f 4 "$dir/shown.pdf" | sha256sum)"

# Every key that may be kept, once for each kind of dictionary.
parms='<</Name/X/Predictor 1/Colors 1/BitsPerComponent 8/Columns 1/EarlyChange 1
  /K 0/EndOfLine false/EncodedByteAlign false/Rows 1/EndOfBlock true
  /BlackIs1 false/DamagedRowsBeforeError 0/ColorTransform 1
  /JBIG2Globals 18 0 R>>'
font='/Type/Font/Subtype/Type0/Name/X/BaseFont/X/FirstChar 0/LastChar 0/Widths[9]
  /FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/W[0[9]]/DW 9/W2[0[9 9 9]]/DW2[9 9]
  /FontName/X/FontFamily(X)/FontStretch/Normal/FontWeight 400/Flags 4
  /ItalicAngle 0/Ascent 9/Descent 0/Leading 9/CapHeight 9/XHeight 9/StemV 1
  /StemH 1/AvgWidth 9/MaxWidth 9/MissingWidth 9/CharSet(X)/Lang/en
  /Length1 1/Length2 1/Length3 1/BaseEncoding/WinAnsiEncoding
  /Differences[65/A]/CMapName/X/WMode 0/Registry(X)/Ordering(X)/Supplement 0'
document "$dir/keys.pdf" << END
1 0 obj <</Type/Catalog/Version/1.7/Pages 2 0 R/OCProperties<</OCGs[20 0 R]
  /D<</BaseState/ON/OFF[]>>>>/OutputIntents[<</Type/OutputIntent/S/GTS_PDFX
  /OutputConditionIdentifier(X)/DestOutputProfile 23 0 R>>]>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/CropBox[0 0 98 98]
  /BleedBox[0 0 97 97]/TrimBox[0 0 96 96]/ArtBox[0 0 95 95]/Rotate 90
  /UserUnit 2/Contents 4 0 R/Group 22 0 R/Resources 5 0 R>> endobj
4 0 obj $(stream '20 20 40 40 re f') endobj
5 0 obj <</ProcSet[/PDF]/ExtGState<</X 10 0 R>>/ColorSpace<</X[/DeviceN[/X]
    /DeviceRGB 13 0 R 14 0 R]>>/Pattern<</X 11 0 R>>/Shading<</X 12 0 R>>
  /XObject<</I 6 0 R/F 7 0 R>>/Font<</X 15 0 R>>/Properties<</X 21 0 R>>>> endobj
6 0 obj $(stream '61>' "/Type/XObject/Subtype/Image/Name/X/Width 1/Height 1
  /BitsPerComponent 8/ColorSpace/DeviceGray/Intent/Perceptual/ImageMask false
  /Decode[0 1]/Interpolate true/SMaskInData 1/Matte[0]/W 1/H 1/BPC 8/CS/G
  /IM false/D[0 1]/I true/Mask 8 0 R/SMask 9 0 R/OC 20 0 R
  /Filter/ASCIIHexDecode/DecodeParms $parms/DP $parms") endobj
7 0 obj $(stream '' '/Type/XObject/Subtype/Form/FormType 1/BBox[0 0 9 9]
  /Matrix[1 0 0 1 0 0]/Resources 5 0 R/Group 22 0 R/OC 21 0 R') endobj
8 0 obj $(stream 'a' '/Subtype/Image/Width 1/Height 1/ImageMask true') endobj
9 0 obj $(stream 'a' '/Subtype/Image/Width 1/Height 1/BitsPerComponent 8
  /ColorSpace/DeviceGray') endobj
10 0 obj <</Type/ExtGState/LW 1/LC 0/LJ 0/ML 9/D[[]0]/RI/Perceptual/OP true
  /op true/OPM 1/FL 1/SM 1/SA true/BM/Multiply/CA .5/ca .5/AIS false/TK true
  /UseBlackPtComp/ON/Font[15 0 R 9]/BG 13 0 R/BG2 13 0 R/UCR 13 0 R
  /UCR2 13 0 R/TR 13 0 R/TR2 13 0 R/SMask<</Type/Mask/S/Luminosity/BC[0]
    /G 7 0 R/TR 13 0 R>>>> endobj
11 0 obj $(stream '' '/Type/Pattern/PatternType 1/PaintType 1/TilingType 1
  /BBox[0 0 9 9]/XStep 9/YStep 9/Matrix[1 0 0 1 0 0]/Resources 5 0 R
  /Shading 12 0 R/ExtGState 10 0 R') endobj
12 0 obj $(stream '' '/ShadingType 4/Background[0]/BBox[0 0 9 9]/AntiAlias true
  /Domain[0 1]/Matrix[1 0 0 1 0 0]/Coords[0 0 9 9]/Extend[true true]
  /BitsPerCoordinate 8/BitsPerComponent 8/BitsPerFlag 8/Decode[0 1]
  /VerticesPerRow 2/ColorSpace 16 0 R/Function 13 0 R') endobj
13 0 obj $(stream 'a' '/FunctionType 0/Domain[0 1]/Range[0 1]/Size[1]
  /BitsPerSample 8/Order 1/Encode[0 0]/Decode[0 1]/C0[0]/C1[1]/N 1/Bounds[]
  /Functions[13 0 R]') endobj
14 0 obj <</Subtype/NChannel/Process<</ColorSpace/DeviceGray/Components[/X]>>
  /Colorants<</X[/Separation/X/DeviceRGB 13 0 R]>>/WhitePoint[1 1 1]
  /BlackPoint[0 0 0]/Gamma[1 1 1]/Matrix[1 0 0 0 1 0 0 0 1]/Range[0 1]
  /Alternate/DeviceGray>> endobj
15 0 obj <<$font/DescendantFonts[15 0 R]/FontDescriptor 17 0 R/FontFile 18 0 R
  /FontFile2 18 0 R/FontFile3 18 0 R/Style<</Panose<00>>>
  /Encoding 19 0 R/ToUnicode 19 0 R/CIDToGIDMap 18 0 R
  /CIDSystemInfo<</Registry(X)>>/CharProcs<</X 7 0 R>>/Resources 5 0 R>> endobj
16 0 obj [/CalGray<</WhitePoint[1 1 1]>>] endobj
17 0 obj <</Type/FontDescriptor/FD<</X<</Flags 4>>>>>> endobj
18 0 obj $(stream 'x') endobj
19 0 obj $(stream 'x' '/Type/CMap/UseCMap 18 0 R') endobj
20 0 obj <</Type/OCG/Name(X)/Intent/View/Usage<</View<</ViewState/ON>>
  /Print<</Subtype/Print/PrintState/ON>>/Export<</ExportState/ON>>
  /Zoom<</min 1/max 2>>>>>> endobj
21 0 obj <</Type/OCMD/OCGs 20 0 R/P/AllOn/VE[/And 20 0 R]
  /ActualText(X)>> endobj
22 0 obj <</Type/Group/S/Transparency/CS 16 0 R/I true/K true>> endobj
23 0 obj $(stream 'x' '/N 3/Alternate/DeviceRGB') endobj
trailer <</Root 1 0 R/Size 24>>
%%EOF
END
kept() # PDF
{
  qpdf --qdf --static-id --no-original-object-ids --stream-data=preserve \
    --normalize-content=n "$1" - | grep -av '/ID '
}
is 'what may change how a page looks' "$(result "$dir/keys.pdf")" 'document 1 0'
is 'is kept, all of it' "$(diff -a <(kept "$dir/keys.pdf") <(kept "$dir/body"))" \
  ''

# poppler prints none of these, but shows them; ISO 32000 and Ghostscript do both.
while read -r subtype entries; do
  with_table "$dir/mark.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]/MediaBox[0 0 300 400]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/Annots[4 0 R]>> endobj
4 0 obj $(mark "$subtype" 20 140 "$entries/AP<</N 5 0 R>>") endobj
5 0 obj $(stream '1 0 0 rg 0 0 40 20 re f' '/Subtype/Form/BBox[0 0 40 20]') endobj
END
  is "$subtype has an appearance" "$(result "$dir/mark.pdf") $(
    pdftoppm -r 72 "$dir/body" | sha256sum)" "document 1 0 $(
    pdftoppm -r 72 "$dir/mark.pdf" | sha256sum)"
done << 'END'
Movie /Movie<</F(x)>>
Screen /MK<</BC[1 0 0]>>
3D /3DD 5 0 R
END

# What the program that made it draws from other keys of the annotation.
while IFS='|' read -r subtype what entries; do
  with_table "$dir/mark.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 2/Kids[3 0 R 4 0 R]/MediaBox[0 0 300 400]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/Contents 5 0 R>> endobj
4 0 obj <</Type/Page/Parent 2 0 R/Contents 5 0 R/Annots[6 0 R]>> endobj
5 0 obj $(stream '20 20 40 40 re f') endobj
6 0 obj $(mark "$subtype" 20 140 "$entries") endobj
END
  is "$subtype without an appearance: refused" \
    "$(result "$dir/mark.pdf"): $(reason)" \
    "refused not-drawn 0: page 2 cannot be sent: $what has no appearance; in a viewer, print it to a new PDF, and print that"
  options=page-ranges=1
  is "$subtype on a page that is not selected" "$(result "$dir/mark.pdf")" \
    'document 1 0'
  options=
  sed 's|/F 4|/F 0|' "$dir/mark.pdf" > "$dir/view.pdf"
  is "$subtype that is not printed" \
    "$(result "$dir/view.pdf") $("$same" "$dir/view.pdf" "$dir/body")" \
    'document 2 0 same'
done << 'END'
FreeText|a text comment|/Contents(free text)/DA(/F 9 Tf 1 0 0 rg)/Q 1
Square|a rectangle|/C[0 0 1]/IC[1 1 0]/BS<</W 2>>/CA .5
Circle|a circle|/C[0 0 1]/BE<</S/C/I 1>>
Line|a line|/C[0 0 1]/L[120 140 160 160]/LE[/OpenArrow/Square]
Polygon|a polygon|/C[0 0 1]/IC[1 0 0]/Vertices[170 140 210 140 190 160]
PolyLine|a line|/C[0 0 1]/Vertices[220 140 260 140 240 160]
Highlight|a highlight|/C[1 1 0]/QuadPoints[20 200 60 200 20 180 60 180]
Underline|an underline|/C[1 0 0]/QuadPoints[70 200 110 200 70 180 110 180]
Squiggly|an underline|/C[1 0 0]/QuadPoints[120 200 160 200 120 180 160 180]
StrikeOut|a strikethrough|/C[1 0 0]/QuadPoints[170 200 210 200 170 180 210 180]
Caret|an insertion mark|/C[1 0 0]/Sy/P
Ink|a drawing|/C[0 1 0]/BS<</W 3>>/InkList[[20 220 60 240 40 220]]
Stamp|a stamp|/Name/Draft
END

section 'PDFs of programs'

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

page_with_form() # NAME: objects 1 to 4 of a PDF, which show object 5
{
  cat << END
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 4 0 R
  /Resources<</XObject<</$1 5 0 R>>>>>> endobj
4 0 obj $(stream "/$1 Do") endobj
END
}

section 'hostile ones, which leave out what is optional'

# No /Type, and odd paths: each SECRET is what must be removed, named after the
# key that leads to it.
script() { printf '<</S/JavaScript/P 1 0 R/JS(SECRET-%s)>>' "$1"; }
extras() # NAME: of a stream that pages draw
{
  printf '/AF[<</F(SECRET-%s-AF)/EF<</F 20 0 R>>>>]/Metadata 20 0 R' "$1"
  printf '/PieceInfo<</X<</Private(SECRET-%s-PieceInfo)>>>>' "$1"
  printf '/OPI<</2.0<</F(SECRET-%s-OPI)>>>>/Measure<</R(SECRET-%s-Me)>>' "$1" "$1"
  printf '/Ref<</F(SECRET-%s-Ref)/Page 0>>/PtData<</N[(SECRET-%s-Pt)]>>' "$1" "$1"
  printf '/Alternates[<</Image 20 0 R/DefaultForPrinting true>>]'
  printf '/AA<</O %s>>/FFilter/FlateDecode/FDecodeParms<</X(SECRET-%s-FDP)>>' \
    "$(script "$1-AA")" "$1"
}
annotation() # ENTRIES
{
  printf '<</Subtype/Link/Rect[0 0 9 9]/F 4%s>>\n' "$1"
}
action() # S, ENTRIES
{
  annotation "/A<</S/$1/P 1 0 R$2>>"
}
document "$dir/bare.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R/Outlines 40 0 R/OpenAction $(script Open)
  /AA<</WC $(script WC)>>/AF[<</F(SECRET-AF)/EF<</F 20 0 R>>>>]
  /Names<</EmbeddedFiles<</Names[(SECRET-EF)<</EF<</F 20 0 R>>>>]>>
    /JavaScript<</Kids[<</Names[(x)$(script Names)]>>]>>
    /Renditions<</Names[(x)<</S/MR/C<</D(SECRET-MR)>>>>]>>
    /AlternatePresentations<</Names[(x)(SECRET-AP)]>>
    /Dests<</Names[(SECRET-Dest)[4 0 R/Fit]]>>/URLS<</Names[(x)(SECRET-URLS)]>>>>
  /Dests<</SECRET-Dests[4 0 R/Fit]>>/Metadata 20 0 R
  /PieceInfo<</X<</Private(SECRET-Pi)>>>>/Collection<</View/H/D(SECRET-Co)>>
  /URI<</Base(http://SECRET-Base)>>/Threads[<</I<</Title(SECRET-Th)>>>>]
  /StructTreeRoot<</K[<</S/P/Pg 4 0 R/Alt(SECRET-Alt)/AF[20 0 R]>>]>>
  /OutputIntents[<</Info(SECRET-OI)/DestOutputProfile 22 0 R>>]
  /PageLabels<</Nums[0<</P(SECRET-Label)>>]>>/Legal<</Attestation(SECRET-Le)>>
  /Requirements[<</RH<</Script(SECRET-Re)>>>>]/Perms<</DocMDP 20 0 R>>
  /DSS<</Certs[20 0 R]>>/DPartRoot<</DPartRootNode<</DPM<</X(SECRET-D)>>>>>>
  /SpiderInfo<</C[20 0 R]>>/ViewerPreferences<</X(SECRET-V)>>/Lang(SECRET-Lang)
  /Extensions<</X(SECRET-Ext)>>/Unknown<</X(SECRET-Unknown)>>/#41F[(SECRET-#41F)]
  /AcroForm<</Fields[30 0 R 35 0 R]/CO[35 0 R]/XFA[(template)20 0 R]
    /SigFlags 3/AA<</K $(script Form)>>/DR<</Font<</F 6 0 R>>
      /XObject<</X 14 0 R>>/AA $(script DR)>>>>
  /OCProperties<</OCGs[15 0 R]/D<</Name(SECRET-D)/Creator(SECRET-Cr)
    /Order[(SECRET-Or)15 0 R]>>/Configs[<</Name(SECRET-Cf)>>]>>>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]
  /AA<</O $(script Node)>>/Metadata 20 0 R
  /Resources<</Font<</F 6 0 R>>/AA $(script Resources)>>>> endobj
3 0 obj <</Type/Page/Parent 5 0 R/MediaBox[0 0 300 400]
  /Contents[7 0 R]
  /AA<</O $(script Page)>>/AF[20 0 R]/Metadata 20 0 R/Thumb 20 0 R
  /PieceInfo<</X<</Private(SECRET-Pp)>>>>/B[<</T<</I(SECRET-Bead)>>>>]
  /PresSteps<</NA $(script PresSteps)>>/VP[<</Name(SECRET-VP)>>]
  /Trans<</X(SECRET-Tr)>>/SeparationInfo<</D(SECRET-Se)>>
  /DPart<</DPM<</X(SECRET-DPM)>>>>/OutputIntents[<</Info(SECRET-PO)>>]
  /BoxColorInfo<</X(SECRET-Box)>>/ID(SECRET-ID)/LastModified(SECRET-LM)
  /Resources<</Font<</F 6 0 R/T 16 0 R/X $(script FontX)>>
    /XObject<</I 11 0 R/F 12 0 R/PS 13 0 R/X 20 0 R>>
    /Pattern<</P 17 0 R/Q<</PatternType 2/Shading<</ShadingType 2
      /ColorSpace[/DeviceN[/A]/DeviceRGB 18 0 R<</Subtype/DeviceN
        /MixingHints<</X(SECRET-Mix)>>/X(SECRET-DeviceN)>>]
      /Coords[0 0 9 9]/Function 18 0 R/AA $(script Shading)>>>>>>
    /Properties<</L 15 0 R/M<</ActualText(kept text)/AF[20 0 R]
      /Metadata 20 0 R/X(SECRET-Property)>>>>
    /ExtGState<</G<</SMask<</S/Luminosity/G 19 0 R/X(SECRET-Mask)>>
      /HT<</X(SECRET-HT)>>/AA $(script GState)>>>>
    /ColorSpace<</C[/ICCBased 22 0 R]/D[/Lab<</WhitePoint[1 1 1]
      /X(SECRET-Lab)>>]>>/AA $(script Res)/Unknown<</X 20 0 R>>>>
  /Annots[30 0 R 31 0 R 50 0 R<</Subtype/Widget/F 4/Rect[0 0 0 0]
      /Parent<</T(direct)/AA $(script direct)>>>>
    $(annotation "/PA$(script PA)")
    $(annotation "/Dest[4 0 R/Fit]")
    $(annotation "/AA<</E$(script E)>>")
    $(annotation "/P<</A$(script P)>>")
    $(annotation "/Popup<</Contents(SECRET-Popup)>>/IRT<</A$(script IRT)>>")
    $(annotation "/Contents(SECRET-Contents)/T(SECRET-T)/NM(SECRET-NM)")
    $(annotation "/RC(SECRET-RC)/DS(SECRET-DS)/Subj(SECRET-Su)/M(SECRET-M)")
    $(annotation "/RO 20 0 R/OverlayText(SECRET-Ov)/ExData<</X(SECRET-Ex)>>")
    $(annotation "/BS<</AA$(script BS)>>/Border[0 0 1[3]<</X(SECRET-Bo)>>]")
    $(annotation "/3DD<</OnInstantiate 20 0 R>>/3DA<</X(SECRET-3DA)>>")
    $(annotation "/RichMediaContent<</Assets<</Names[(SECRET-RM)20 0 R]>>>>")
    $(annotation "/RichMediaSettings<</X(SECRET-RS)>>/Unknown(SECRET-Un)")
    $(annotation "/FS<</F(SECRET-FS)/EF<</F 20 0 R>>>>/Sound 20 0 R")
    $(annotation "/FS(SECRET-FSString)")
    $(annotation "/Movie<</F(SECRET-Movie)/X(SECRET-Mo)>>/A<</X(SECRET-MA)>>")
    $(annotation "/AP<</N 23 0 R/D 20 0 R/R 20 0 R/X$(script AP)>>")
    $(annotation "/AP<</N<</On 24 0 R/Y$(script State)>>>>")
    $(action JavaScript '/JS(SECRET-JS)')
    $(action Launch '/F(SECRET-Launch)/Win<</F(SECRET-Win)>>')
    $(action URI '/URI(http://SECRET-URI)')
    $(action GoToR '/F(\\\\SECRET-GoToR\\share)/D[0/Fit]')
    $(action GoToE '/F(SECRET-GoToE)/T<</N(SECRET-Target)>>')
    $(action GoTo '/D[4 0 R/Fit]')
    $(action SubmitForm '/F<</FS/URL/F(http://SECRET-Submit)>>')
    $(action ImportData '/F(SECRET-Import)')
    $(action Thread '/F(SECRET-Thread)/D 0')
    $(action Sound '/Sound 20 0 R')
    $(action Movie '/T(SECRET-MovieT)')
    $(action Rendition "/R<</C<</D(SECRET-Ren)>>>>/JS(SECRET-RenJS)")
    $(action RichMediaExecute '/CMD<</C(SECRET-CMD)>>')
    $(action GoTo3DView '/V(SECRET-3DV)')
    $(action Named "/N/SECRET-Named/Next[$(script Next)]")
    $(action Hide '/T(SECRET-Hide)')
    $(action ResetForm '/Fields[(SECRET-Reset)]')]>> endobj
4 0 obj <</Type/Page/MediaBox[0 0 500 200]/Contents 10 0 R
  /Annots[36 0 R]/Resources<</Font<</F 6 0 R>>>>>> endobj
5 0 obj <</Kids[4 0 R]/Count 1/AA<</O $(script OtherParent)>>
  /MediaBox[0 0 99 99]>> endobj
6 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica/AA $(script Font)
  /FontDescriptor<</FontName/Helvetica/Flags 32/X(SECRET-FontDescriptor)
    /FontFile4 20 0 R>>
  /Encoding<</Differences[65/A]/X$(script Encoding)>>>> endobj
7 0 obj $(stream 'BT /F 20 Tf 20 350 Td (first page) Tj ET
/P /M BDC EMC /P1 /L BDC EMC' "$(extras Content)") endobj
10 0 obj $(stream 'BT /F 20 Tf 20 150 Td (SECRET-not in the tree) Tj ET') endobj
11 0 obj $(stream 'aaa' "/Subtype/Image/Width 1/Height 1/BitsPerComponent 8
  /ColorSpace[/Indexed/DeviceRGB 0 $(script Lookup)]
  /DecodeParms<</X(SECRET-Parms)/JBIG2Globals 25 0 R>>
  /SMask 26 0 R$(extras Image)") endobj
12 0 obj $(stream '' "/Subtype/Form/BBox[0 0 9 9]
  /Resources<</XObject<</X 27 0 R>>>>/Group<</S/Transparency/X(SECRET-Group)>>
  /PS 20 0 R/Subtype2/PS/LastModified(SECRET-Last)$(extras Form)") endobj
13 0 obj $(stream 'SECRET-PostScript' /Subtype/PS) endobj
14 0 obj $(stream '' "/Subtype/Form/BBox[0 0 9 9]$(extras DR)") endobj
15 0 obj <</Type/OCG/Name(layer)/Usage<</CreatorInfo<</Creator(SECRET-CI)>>
  /User<</Name(SECRET-User)>>>>/AA $(script OCG)/Metadata 20 0 R>> endobj
16 0 obj <</Type/Font/Subtype/Type3/FontBBox[0 0 9 9]/FontMatrix[1 0 0 1 0 0]
  /CharProcs<</a 28 0 R/b$(script CharProc)>>/Encoding<</Differences[97/a]>>
  /FirstChar 97/LastChar 97/Widths[9]/Resources<</XObject<</X 29 0 R>>>>>> endobj
17 0 obj $(stream '' "/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 9 9]
  /XStep 9/YStep 9/Resources<</XObject<</X 32 0 R>>>>$(extras Pattern)") endobj
18 0 obj $(stream '{0 0 0}' "/FunctionType 4/Domain[0 1]/Range[0 1 0 1 0 1]
  $(extras Function)") endobj
19 0 obj $(stream '' "/Subtype/Form/BBox[0 0 9 9]
  /Resources<</XObject<</X 33 0 R>>>>$(extras SoftMask)") endobj
20 0 obj $(stream 'SECRET-stream') endobj
22 0 obj $(stream '' "/N 3$(extras Profile)") endobj
23 0 obj $(stream '' "/BBox[0 0 9 9]/Resources<</XObject<</X 34 0 R>>>>
  $(extras Appearance)") endobj
24 0 obj $(stream '' "/BBox[0 0 9 9]$(extras StateLook)") endobj
25 0 obj $(stream '' "$(extras Globals)") endobj
26 0 obj $(stream 'a' "/Subtype/Image/Width 1/Height 1/BitsPerComponent 8
  /ColorSpace/DeviceGray$(extras ImageMask)") endobj
27 0 obj $(stream '' "/Subtype/Form/BBox[0 0 9 9]$(extras InForm)") endobj
28 0 obj $(stream '9 0 d0' "$(extras Glyph)") endobj
29 0 obj $(stream '' "/Subtype/Form/BBox[0 0 9 9]$(extras InGlyph)") endobj
30 0 obj <</Subtype/Widget/F 4/Rect[20 300 160 320]/Parent 37 0 R
  /A $(script Field)/AA<</K $(script Key)>>/TU(SECRET-TU)/TM(SECRET-TM)
  /DV(SECRET-DV)/RV(SECRET-RV)/MK<</RI 20 0 R/IX 20 0 R/X(SECRET-MK)
    /I 38 0 R>>>> endobj
31 0 obj <</Subtype/Widget/F 4/FT/Sig/T(seal)/Rect[0 0 0 0]/Lock<</X(SECRET-Lock)>>
  /V<</Filter/Adobe.PPKLite/Name(SECRET-Sig)/Contents<00>
    /Reference[<</Data 4 0 R>>]>>/SV<</X(SECRET-SV)>>>> endobj
32 0 obj $(stream '' "/Subtype/Form/BBox[0 0 9 9]$(extras InPattern)") endobj
33 0 obj $(stream '' "/Subtype/Form/BBox[0 0 9 9]$(extras InMask)") endobj
34 0 obj $(stream '' "/Subtype/Form/BBox[0 0 9 9]$(extras InLook)") endobj
35 0 obj <</FT/Tx/T(SECRET-not on a page)/V(SECRET-V)
  /AA<</C $(script Calculate)>>>> endobj
36 0 obj <</Subtype/Widget/FT/Tx/T(SECRET-there)/V(SECRET-there)
  /Rect[0 0 9 9]>> endobj
37 0 obj <</FT/Tx/T(above)/V 39 0 R/Kids[30 0 R 36 0 R]
  /AA<</C $(script Above)>>/Parent 42 0 R>> endobj
38 0 obj $(stream '' "/Subtype/Form/BBox[0 0 9 9]$(extras Icon)") endobj
39 0 obj $(stream 'kept value' "$(extras Value)") endobj
40 0 obj <</First 41 0 R/Last 41 0 R/Count 1>> endobj
41 0 obj <</Title(SECRET-Title)/Parent 40 0 R/Dest[4 0 R/Fit]
  /A $(script Outline)>> endobj
42 0 obj <</T(top)/Kids[37 0 R 36 0 R]/AA $(script Top)/Parent 37 0 R>> endobj
50 0 obj <</Subtype/FreeText/Rect[0 0 0 0]/Contents(SECRET-box)/DA(/F 9 Tf)
  /Parent 4 0 R/Kids[4 0 R]/T(SECRET-author)>> endobj
trailer <</Root 1 0 R/Size 51/Info<</Title(SECRET-Info)>>
  /Unknown<</X(SECRET-Trailer)>>>>
%%EOF
END
is 'all of it is in the hostile document' \
  "$(secrets "$dir/bare.pdf" | wc -w)" 285
is 'a document that says nothing of what it contains is accepted' \
  "$(result "$dir/bare.pdf")" 'document 1 0'
cp "$dir/body" "$dir/tame.pdf"
is 'but nothing of it is sent' "$(secrets "$dir/tame.pdf")" ''
is 'and it prints the same' "$("$same" "$dir/bare.pdf" "$dir/tame.pdf" 2>&1)" \
  same

# The form is also a profile, of which /Alternate is kept; the other profile is
# damaged.
for profiles in '6 0 R>><</DestOutputProfile 5 0 R' \
  '5 0 R>><</DestOutputProfile 6 0 R'; do
  {
    page_with_form X | sed "s|/Catalog|&/OutputIntents[<</DestOutputProfile $profiles>>]|"
    echo "5 0 obj $(stream '0 0 9 9 re f' '/Subtype/Form/BBox[0 0 9 9]
      /Alternate 7 0 R') endobj"
    echo "6 0 obj $(stream 'x' '/N 3/Filter/FlateDecode') endobj"
    echo "7 0 obj <</N 3/AA $(script Alternate)>> endobj"
  } | with_table "$dir/two.pdf"
  is "a damaged profile, and a form as a profile: $profiles" \
    "$(result "$dir/two.pdf") $(secrets "$dir/body")" 'document 1 0 '
done
has 'what a page shows is kept: words for glyphs' "$(plain "$dir/tame.pdf")" \
  'ActualText .kept text.'
has 'and the value of a field' "$(text_of "$dir/tame.pdf")" 'kept value'
section 'hostile structures'

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
for far in 1000000 2147483647; do
  with_table "$dir/far.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R/Deep $deep>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]
  /Self $far 0 R/Contents 4 0 R>> endobj
4 0 obj $(stream '20 20 40 40 re f') endobj
END
  # There can be no object behind the last number: libqpdf 12 takes it for
  # null, which nothing needs there, 11 for an error.
  case $far in
  2147483647) expected='^(refused damaged 0|document 1 0)$' ;;
  *) expected='^document 1 0$' ;;
  esac
  has "a reference to object $far costs little" "$(
    ulimit -v 400000; result "$dir/far.pdf")" "$expected"
done

# An update that adds a second object with the same number: 5 0 R and 5 1 R.
with_table "$dir/twice.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 4 0 R
  /Resources<</XObject<</A 5 0 R/B 5 1 R>>>>>> endobj
4 0 obj $(stream '/A Do /B Do') endobj
5 0 obj $(stream '' '/Subtype/Form/BBox[0 0 9 9]/AF[(SECRET-first)]') endobj
END
before=$(tail -n 2 "$dir/twice.pdf" | head -n 1)
start=$(stat -c %s "$dir/twice.pdf")
echo "5 1 obj $(stream '' '/Subtype/Form/BBox[0 0 9 9]/AF[(SECRET-other)]')
endobj" >> "$dir/twice.pdf"
table=$(stat -c %s "$dir/twice.pdf")
printf 'xref\n5 1\n%010d 00001 n \ntrailer <</Root 1 0 R/Size 6/Prev %d>>
startxref\n%d\n%%%%EOF\n' "$start" "$before" "$table" >> "$dir/twice.pdf"
# To libqpdf 12 the first one is not there.
has 'an object number that exists twice hides nothing' \
  "$(result "$dir/twice.pdf"): $(reason)" "^refused damaged 0: page 1 is damaged:\
 (two of its parts have the same number|a part of it is missing); $copy\$"

with_table "$dir/names.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/#41#41(SECRET-hex)
  /MediaBox#00(SECRET-nul)/Rotate#20Kids(SECRET-blank)/(SECRET-empty)
  /Contents 4 0 R>> endobj
4 0 obj $(stream '20 20 40 40 re f') endobj
END
is 'nor do odd names' \
  "$(result "$dir/names.pdf") $(secrets "$dir/body")" 'document 1 0 '

# A page that is also a font: whatever else it is, it is drawn.
with_table "$dir/both.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 2/Kids[3 0 R 4 0 R]
  /Resources<</Font<</F 3 0 R>>>>>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 5 0 R>> endobj
4 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 5 0 R>> endobj
5 0 obj $(stream '20 20 40 40 re f') endobj
END
is 'an object may have two roles' \
  "$(result "$dir/both.pdf") $("$same" "$dir/both.pdf" "$dir/body")" \
  'document 2 0 same'

# An action that is also the glyphs of a font, in an annotation that is also a
# list of fonts.
with_table "$dir/looks.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]/Resources<</Font<</F<</Subtype/Type3
  /CharProcs 6 0 R>>>>>>>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 4 0 R
  /Resources<</Font 5 0 R>>/Annots[5 0 R]>> endobj
4 0 obj $(stream '20 20 40 40 re f') endobj
5 0 obj <</Subtype/Link/Rect[0 0 9 9]/A 6 0 R>> endobj
6 0 obj <</S/JavaScript/JS 7 0 R>> endobj
7 0 obj $(stream 'app.beep()') endobj
END
is 'what looks like a font is sent as a font, and not as an action' \
  "$(result "$dir/looks.pdf") $(interactive "$dir/body")" 'document 1 0 '

# Forms that show each other: 2^40 paths to the last one.
{
  page_with_form A
  for n in {5..44}; do
    echo "$n 0 obj $(stream 'q' "/Subtype/Form/BBox[0 0 9 9]/Resources
      <</XObject<</A $((n % 44 + 1)) 0 R/B $((n + 1)) 0 R>>>>") endobj"
  done
  echo "45 0 obj $(stream 'q' '/Subtype/Form/BBox[0 0 9 9]') endobj"
} | with_table "$dir/ways.pdf"
is 'each object is visited once' "$(result "$dir/ways.pdf")" 'document 1 0'

section 'images'

# What the image files in a PDF contain, however they are stored in it.
image_secrets() # PDF
{
  rm -f "$dir"/image-*
  pdfimages -all "$1" "$dir/image" 2> "$dir/pdfimages"
  cat "$dir"/image-* | grep -ao 'SECRET[-A-Za-z0-9]*' | sort -u | paste -sd' '
}

hex() { od -An -v -tx1 | tr -d ' \n'; }
packed() { zlib-flate -compress=9; }
photo() # NAME: a JPEG whose metadata, and an appended image, contain it
{
  printf '\xff\xd8\xff\xe1\0\x26Exif\0\0SECRET-%-23s' "$1-place"
  printf '\xff\xfe\0\x20SECRET-%-23s' "$1-comment"
  tail -c +3 "$dir/look.jpg"
  printf '\xff\xd8\xff\xfe\0\x20SECRET-%-23s' "$1-next"
  tail -c +3 "$dir/look.jpg"
}
box() # TYPE, BYTES IN HEXADECIMAL: of a JP2 file
{
  printf '%08x%s%s' $((8 + ${#2} / 2)) "$(printf %s "$1" | hex)" "$2"
}

pdftoppm -scale-to-x 32 -scale-to-y 32 -singlefile -jpeg "$dir/plain.pdf" \
  "$dir/look"
image='/Width 32/Height 32/BitsPerComponent 8/ColorSpace/DeviceRGB'
drawn="/Type/XObject/Subtype/Image$image"
# 8 x 8 gray pixels, by OpenJPEG.
jpx=ff4fff510029000000000008000000080000000000000000000000080000000800000000000
jpx+=000000001070101ff52000c00000001000004040001ff5c00044040ff90000a00000000002
jpx+=50001ff93df1940122b67168f8f8c9d60308f68c87ccc4bcb4ccc12ffd9
jp2=$(box 'jP  ' 0d0a870a)$(box 'ftyp' 6a703220000000006a703220
  )$(box jp2h "$(box ihdr 0000000800000008000107070000
    )$(box colr 01000000000011)$(box 'xml ' "$(printf SECRET-label | hex)")"
  )$(box uuid "$(printf SECRET-J-0123456SECRET-box | hex)")$(box jp2c "$jpx"
  )$(box 'xml ' "$(printf SECRET-end | hex)")
document "$dir/photos.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents[4 0 R 5 0 R]
  /Resources<</XObject<</A 6 0 R/B 7 0 R/C 8 0 R/F 9 0 R>>>>>> endobj
4 0 obj $(stream 'q 99 0 0 99 0 0 cm /A Do Q q 99 0 0 99 100 0 cm /B Do Q
q 99 0 0 99 200 0 cm /C Do Q /F Do') endobj
5 0 obj $(stream "q 99 0 0 99 0 100 cm BI $image/F[/AHx/DCT]
/DP[null<</ColorTransform 1>>] ID $(photo inline | hex)> EI Q q 99 0 0 99 0 200
cm BI $image/Filter[/ASCIIHexDecode/Fl/DCTDecode] ID
$(photo packed-inline | packed | hex)>
EI Q") endobj
6 0 obj $(stream "$(photo hex | hex)>" "$drawn
  /Filter[/ASCIIHexDecode/DCTDecode]") endobj
7 0 obj $(stream "$(photo packed | packed | hex)>" "$drawn
  /Filter[/AHx/Fl/DCT]/DecodeParms[null null<</ColorTransform 1>>]") endobj
8 0 obj $(stream "$jp2>" '/Type/XObject/Subtype/Image/Width 8/Height 8
  /Filter[/ASCIIHexDecode/JPXDecode]') endobj
9 0 obj $(stream "q 99 0 0 99 100 200 cm BI $image/F[/AHx/DCT]/L 9999
ID $(photo form | hex)> EI Q" '/Type/XObject/Subtype/Form/BBox[0 0 300 400]') endobj
trailer <</Root 1 0 R/Size 10>>
%%EOF
END
is 'the images contain metadata' "$(image_secrets "$dir/photos.pdf" | wc -w)" 18
is 'they are sent as they look' "$(changes "$dir/photos.pdf")" ''
is 'but without metadata, and other images' "$(image_secrets "$dir/body")" ''
is 'and none of it is in the file, in digits either' \
  "$(grep -aoi "SECRET\|$(printf SECRET | hex)" "$dir/body")" ''
is 'only images are encoded, only once or as digits' "$(plain "$dir/body" |
  grep -aoE '/Filter .*|/F\[[^]]*\]' | sort | paste -sd' ')" \
  "$(echo /F'[/AHx/DCTDecode]'{,,} '/Filter '/{DCT,DCT,JPX}Decode)"

section 'pages that were not selected'

# Tags, bookmarks, links, and form fields lead to them.
document "$dir/two.pdf" << END
1 0 obj <</Type/Catalog/Pages 2 0 R/Outlines 8 0 R/AcroForm<</Fields[9 0 R]>>
  /StructTreeRoot<</K[<</S/P/Pg 4 0 R>>]>>/Dests<</two[4 0 R/Fit]>>>> endobj
2 0 obj <</Type/Pages/Count 2/Kids[3 0 R 4 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 5 0 R
  /Annots[7 0 R]>> endobj
4 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 6 0 R
  /Annots[9 0 R]>> endobj
5 0 obj $(stream '20 20 40 40 re f') endobj
6 0 obj $(stream '20 20 80 80 re f %SECRET-page') endobj
7 0 obj <</Subtype/Link/Rect[0 0 9 9]/Dest[4 0 R/Fit]>> endobj
8 0 obj <</First 10 0 R/Last 10 0 R/Count 1>> endobj
9 0 obj <</Subtype/Widget/Rect[0 0 9 9]/FT/Tx/T(x)/V(SECRET-value)
  /AP<</N 11 0 R>>>> endobj
10 0 obj <</Title(SECRET-title)/Parent 8 0 R/Dest[4 0 R/Fit]>> endobj
11 0 obj $(stream '%SECRET-look' '/Subtype/Form/BBox[0 0 9 9]') endobj
trailer <</Root 1 0 R/Size 12>>
%%EOF
END
is 'a page that can be left out' "$(secrets "$dir/two.pdf")" \
  'SECRET-look SECRET-page SECRET-title SECRET-value'
options=page-ranges=1
is 'nothing of it is sent, whatever leads to it' \
  "$(result "$dir/two.pdf") $(secrets "$dir/body")" 'document 1 0 '
options=

finish
