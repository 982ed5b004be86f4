#!/usr/bin/env bash
#
# tiff_test.sh - a TIFF is converted to a PDF of all its pages: files of faxes
# and scanners are identical pixel for pixel, and damaged files are refused.
#
# Needs what lib.sh needs, and tests/filter/mktiff of the build.
. "$(dirname "$0")/lib.sh"

mktiff=${DX_BUILD:-$top}/tests/filter/mktiff
separator=$dir/separator.pdf
"$mkpdf" "$separator" SEPARATOR
configure "SeparatorPage $separator"
export CONTENT_TYPE=image/tiff

make_tiff() # [KEY=VALUE...]: t.tif
{
  "$mktiff" "$dir/t.tif" pages=3 unit=inch "$@"
}

# The images in body that differ from what was stored by more than `most` of 255
# in any color.
differences() # MOST
{
  local i
  pdfimages "$dir/body" "$dir/image" || echo 'not a PDF'
  for i in 0 1 2; do
    if [ -e "$dir/image-00$i.pbm" ]; then
      cmp "$dir/t.tif.$((i + 1)).pbm" "$dir/image-00$i.pbm" 2>&1
    else
      cmp -l "$dir/t.tif.$((i + 1)).ppm" "$dir/image-00$i.ppm" 2>&1 |
        wrong_values "$1"
    fi
  done
  rm -f "$dir"/image-*
}

wrong_values() # MOST < DIFFERENCES IN OCTAL
{
  awk -v most="$1" '
    function number(o) {
      return int(o / 100) * 64 + int(o / 10) % 10 * 8 + o % 10
    }
    NF != 3 { print; exit }
    { d = number($2) - number($3); if (d > most || -d > most) wrong++ }
    END { if (wrong) print wrong " values" }'
}

section 'every page, pixel for pixel'

while read -r most keys; do
  # shellcheck disable=SC2086 # one word a key
  make_tiff $keys
  is "$keys: all pages" "$(result "$dir/t.tif")" 'document 3 0'
  is "$keys: pixel for pixel" "$(differences "$most")" ''
done << 'END'
0 pack=g4
0 pack=g4 rows=16
0 pack=g4 kind=black
0 pack=g4 lsb=1
0 pack=g3
0 pack=g3 lsb=1 rows=32
0 pack=g32d kind=black
0 pack=rle
0 pack=none
0 pack=packbits rows=8 kind=black
0 pack=lzw
0 pack=deflate big=1
0 pack=g4 tile=64
0 kind=gray2 pack=lzw
0 kind=gray4 pack=none
0 kind=gray pack=deflate rows=32
0 kind=gray pack=lzw tile=16
0 kind=gray16 pack=lzw
0 kind=rgb pack=none
0 kind=rgb pack=lzw rows=1
0 kind=rgb pack=packbits planes=1
0 kind=rgb pack=deflate tile=128
0 kind=alpha pack=deflate
0 kind=alpha pack=deflate extra=0
0 kind=alpha pack=lzw extra=0 tile=64
0 kind=alpha pack=none extra=0 planes=1
0 kind=alpha pack=none extra=-1
0 kind=gray pack=lzw format=1
0 kind=gray16 pack=none format=4
0 kind=glass pack=lzw
0 kind=smoke pack=lzw
0 kind=palette pack=lzw rows=100
0 kind=palette8 pack=lzw
0 kind=palette8 pack=deflate rows=32
0 kind=palette pack=lzw rows=2000000000
0 kind=cmyk pack=lzw
2 kind=gray pack=jpeg
2 kind=gray pack=jpeg rows=16
150 kind=ycbcr pack=jpeg
150 kind=ycbcr pack=jpeg rows=16
150 kind=ycbcr pack=jpeg tile=64
9 kind=rgb pack=jpeg
END

for keys in 'kind=glass tile=64' 'kind=smoke planes=1' 'kind=glass16' \
  'kind=tint'; do
  # shellcheck disable=SC2086 # one word a key
  make_tiff pack=lzw $keys
  is "$keys: libtiff would change it" "$(result "$dir/t.tif")" 'refused type 0'
done

for keys in 'kind=gray format=2' 'kind=gray16 format=2' 'kind=rgb format=2' \
  'kind=gray16 format=5'; do
  # shellcheck disable=SC2086 # one word a key
  make_tiff pack=lzw $keys
  is "$keys: not unsigned, as libtiff reads it" "$(result "$dir/t.tif")" \
    'refused type 0'
done

section 'what arrives'

pictures() { pdfimages -list "$dir/body" | awk 'NR > 2 { print $9 }' | xargs; }
make_tiff pack=g3
run < "$dir/t.tif"
is 'it is sent as a PDF' "$(field type) $(field name)" \
  'application/pdf chart.pdf'
is 'its origin remains known' "$(field origin)" image/tiff
is 'the PDF is valid' \
  "$(qpdf --check "$dir/body" > "$dir/check" 2>&1; echo $?)" 0
is 'nothing but debug lines is printed' "$(grep -cv '^DEBUG: ' "$dir/err")" 0
cp "$dir/out" "$dir/first"
run "$dir/t.tif"
is 'the same bytes every time' "$(cmp "$dir/out" "$dir/first" && echo same)" same
make_tiff kind=ycbcr pack=jpeg
run < "$dir/t.tif"
is 'a JPEG in one piece stays what it is' "$(pictures)" 'jpeg jpeg jpeg'
make_tiff kind=rgb pack=jpeg
run < "$dir/t.tif"
is 'but not one of red, green, and blue, which viewers do not expect' \
  "$(pictures)" 'image image image'
make_tiff pack=g4
sed -i 's/\x28\x01\(\x03\x00\x01\x00\x00\x00\x02\)/\xe8\xfd\1/' "$dir/t.tif"
is 'a tag of a program does not matter' \
  "$(result "$dir/t.tif") $(differences 0)" 'document 3 0 '
make_tiff pack=g4
sed -i 's/\x28\x01\x03\x00\x01\x00\x00\x00\x02/\xe6\x84\x07\x00\x00\x00\x00\x00\x02/' \
  "$dir/t.tif"
is 'nor an empty one' "$(result "$dir/t.tif") $(differences 0)" 'document 3 0 '
orientation='\x12\x01\x03\x00\x01\x00\x00\x00'
make_tiff pack=g4 orientation=6
sed -i "s/$orientation\x06/$orientation\x00/" "$dir/t.tif"
is 'an orientation of 0 is that of a page which is upright' \
  "$(result "$dir/t.tif") $(differences 0)" 'document 3 0 '
make_tiff pack=g4 orientation=6
sed -i "s/$orientation\x06/$orientation\x09/" "$dir/t.tif"
is 'one that does not exist is damaged' "$(result "$dir/t.tif")" \
  'refused damaged 0'
for kind in palette palette8; do
  make_tiff kind=$kind pack=lzw
  sed -i 's/\x40\x01\x03\x00/\x49\x01\x03\x00/' "$dir/t.tif"
  is "a $kind without its colors: libtiff would make it black" \
    "$(result "$dir/t.tif")" 'refused damaged 0'
done
make_tiff kind=ycbcr pack=jpeg spoil=comment
run < "$dir/t.tif"
is 'without its comment' "$(pictures) $(grep -c SECRET "$dir/body")" \
  'jpeg jpeg jpeg 0'
is 'pixel for pixel' "$(differences 150)" ''
make_tiff pack=g4 thumbnail=2
is 'masks are no pages' "$(result "$dir/t.tif")" 'document 3 0'
make_tiff pack=g4 thumbnail=1
is 'thumbnails are no pages' "$(result "$dir/t.tif")" 'document 3 0'
zeros='\x00\x00\x00'
sed "s/\xFE\x00\x04\x00\x01$zeros\x01$zeros/\xFF\x00\x03\x00\x01$zeros\x02$zeros/g" \
  "$dir/t.tif" > "$dir/m.tif"
cmp -s "$dir/t.tif" "$dir/m.tif" && echo 'not ok - the tag was not replaced'
is 'thumbnails that an old tag names' "$(result "$dir/m.tif")" 'document 3 0'
# What is marked as reduced, but is none of a page beside it, is a page.
while read -r expected keys; do
  # shellcheck disable=SC2086 # one word a key
  make_tiff pack=g4 $keys
  is "reduced images: $keys" "$(result "$dir/t.tif")" "document $expected 0"
done << 'END'
3 reduced=1
3 reduced=2
3 reduced=3
3 thumbnail=1 across=102 down=150
6 thumbnail=1 across=102 down=155
6 thumbnail=1 across=16 down=1
6 thumbnail=1 across=208 down=304
6 thumbnail=1 across=304 down=208
END
make_tiff pack=g4 reduced=2
run < "$dir/t.tif"
is 'each page of its own' "$(differences 0)" ''
colors() { pdfimages -list "$dir/body" 2> /dev/null | awk 'NR > 2 { print $6 }' | xargs; }
while read -r expected keys; do
  # shellcheck disable=SC2086 # one word a key
  make_tiff icc=1 $keys
  run < "$dir/t.tif"
  is "$keys: color profile" "$(colors)" "$expected $expected $expected"
done << 'END'
icc kind=gray pack=lzw
icc kind=rgb pack=none
icc kind=ycbcr pack=jpeg
icc kind=palette pack=lzw
rgb kind=cmyk pack=lzw
END
make_tiff icc=1 kind=gray pack=lzw
run < "$dir/t.tif"
is 'pages share a profile' \
  "$(qpdf --qdf --object-streams=disable "$dir/body" - | grep -ac '^  /N 1')" 1

sizes() # of the pages, in points
{
  pdfinfo -l 3 "$dir/body" |
    awk '/^Page .*size/ { printf "%s%s", $4, $6 == "" ? "" : "x" $6 " " }'
}
while read -r expected keys; do
  # shellcheck disable=SC2086 # one word a key
  make_tiff pack=g4 $keys
  run < "$dir/t.tif"
  is "page size of $keys" "$(sizes)" "$expected $expected $expected "
done << 'END'
149.76x218.88 unit=inch dpi=100
73.41x223.35 unit=inch dpi=204 ydpi=98
190.2x277.98 unit=cm dpi=31
49.92x72.96 unit=none dpi=1
49.92x145.92 unit=none dpi=2 ydpi=1
49.92x72.96 unit=
49.92x72.96 unit=inch dpi=1
49.92x72.96 unit=inch dpi=100000
218.88x149.76 unit=inch dpi=100 orientation=6
END

# A mirrored or turned page is shown upright.
corners() # of the page as shown: its size, and the gray of the four corners
{
  local width height
  pdftoppm -r 72 -f 3 -l 3 -singlefile -gray "$dir/body" "$dir/shown"
  read -r width height < <(sed -n 2p "$dir/shown.pgm")
  tail -n +4 "$dir/shown.pgm" | od -An -v -tu1 -w"$width" |
    awk -v h="$height" 'NR == 10 || NR == h - 10 {
      shown = shown " " $10 " " $(NF - 10) } END { print NF "x" NR shown }'
}
while read -r orientation expected; do
  for kind in gray gray16; do
    make_tiff kind=$kind pack=lzw orientation="$orientation"
    run < "$dir/t.tif"
    is "$kind: orientation $orientation is upright" "$(corners)" "$expected"
  done
done << 'END'
1 208x304 0 255 170 85
2 208x304 255 0 85 170
3 208x304 85 170 255 0
4 208x304 170 85 0 255
5 304x208 0 170 255 85
6 304x208 170 0 85 255
7 304x208 85 255 170 0
8 304x208 255 85 0 170
END

section 'which pages'

bars() # the bars on each page of body: the number of the page that was stored
{
  local page
  pdftoppm -r 72 -gray "$dir/body" "$dir/shown"
  for page in "$dir"/shown-*.pgm; do
    tail -n +4 "$page" | od -An -v -tu1 -w208 | sed -n 128p | tr -s ' ' '\n' |
      uniq | grep -c '^0$'
  done | xargs
  rm -f "$dir"/shown-*.pgm
}
make_tiff pages=6 kind=gray pack=lzw
while read -r options expected; do
  run < "$dir/t.tif"
  is "$options: pages" "$(kind_of) of $(bars)" "document $expected"
done << 'END'
page-ranges=2 1 of 2
page-ranges=2-4 3 of 2 3 4
page-ranges=1,5-6 3 of 1 5 6
page-ranges=5- 2 of 5 6
page-ranges=-2 2 of 1 2
page-ranges=4-9 3 of 4 5 6
page-set=even 3 of 2 4 6
page-set=odd 3 of 1 3 5
page-set=all 6 of 1 2 3 4 5 6
END
for options in page-ranges=7 page-ranges=8-9; do
  is "$options: nothing is left" "$(result "$dir/t.tif")" 'refused no-pages 0'
done
has 'and the reason says so' "$(reason)" "^'page-ranges' selects none of its pages;"
for options in page-ranges=x page-ranges=3-1 page-ranges=0-2 'page-ranges=1,,' \
  page-set=some; do
  is "$options: refused" "$(result "$dir/t.tif")" 'refused options 0'
done
options='page-ranges=2-4 CaseSeparators=Every2'
run < "$dir/t.tif"
is 'separator pages are inserted between the chosen pages' \
  "$(kind_of) $(text_of "$dir/body" | xargs)" 'document 4 SEPARATOR'
configure ''
is 'without a SeparatorPage: refused' "$(result "$dir/t.tif")" \
  'refused no-separator 0'
options=

section 'damage'

make_tiff pack=g4 rows=100
size=$(stat -c %s "$dir/t.tif")
wrong=
for ((n = 5; n < size; n += 29)); do # shorter, it would be a text
  head -c $n "$dir/t.tif" > "$dir/m.tif"
  kind=$(result "$dir/m.tif")
  [[ $kind == 'refused '* ]] || wrong+="$n: $kind "
done
is 'wherever it is truncated: refused' "$wrong" ''
for keys in 'pack=g3' 'pack=lzw kind=gray' 'pack=deflate kind=rgb' \
  'pack=packbits' 'pack=jpeg kind=ycbcr' 'pack=jpeg kind=gray rows=16' \
  'pack=lzw kind=palette' 'pack=none tile=16'; do
  # shellcheck disable=SC2086 # one word a key
  make_tiff $keys
  size=$(stat -c %s "$dir/t.tif")
  for part in 30 60 90; do
    head -c $((size * part / 100)) "$dir/t.tif" > "$dir/m.tif"
    is "$keys, truncated at $part%" "$(result "$dir/m.tif")" 'refused damaged 0'
  done
done

# The last strip or tile is not what it should be: libtiff warns, or goes on.
while read -r keys; do
  for spoil in none count outside rows; do
    case $keys in *tile=*) [ $spoil != rows ] || continue ;; esac
    # shellcheck disable=SC2086 # one word a key
    make_tiff $keys spoil=$spoil
    expected='refused damaged 0'
    [ $spoil != none ] || expected='document 3 0'
    is "$keys: $spoil" "$(result "$dir/t.tif")" "$expected"
  done
done << 'END'
pack=none
pack=none kind=gray
pack=none kind=gray rows=16
pack=none kind=rgb tile=64
pack=packbits
pack=lzw kind=gray
pack=lzw kind=palette rows=16
pack=deflate
pack=deflate kind=rgb tile=64
pack=g3
pack=g32d
pack=g4
pack=g4 tile=64
pack=jpeg kind=gray
pack=jpeg kind=ycbcr
pack=jpeg kind=ycbcr rows=16
pack=jpeg kind=rgb
END
make_tiff pack=g4 spoil=rows
run < "$dir/t.tif"
has 'the user reads what to do' "$(reason)" \
  '^page 1 is damaged: .*; scan page 1 again, or ask for a new copy of it$'

# A length of 0: up to the end of the data.
for keys in 'pack=none' 'pack=g4' 'pack=g3' 'pack=lzw kind=gray' \
  'pack=deflate kind=rgb' 'pack=jpeg kind=ycbcr'; do
  # shellcheck disable=SC2086 # one word a key
  make_tiff $keys spoil=zero
  is "$keys: without a length" "$(result "$dir/t.tif")" 'document 3 0'
  size=$(stat -c %s "$dir/t.tif")
  head -c $((size - 300)) "$dir/t.tif" > "$dir/m.tif"
  is "$keys: and cut" "$(result "$dir/m.tif")" 'refused damaged 0'
done
make_tiff pack=lzw kind=gray rows=16 spoil=zero
is 'of several strips, each must have one' "$(result "$dir/t.tif")" \
  'refused damaged 0'

# A fax that was received with errors: all rows, and of the good ones at most
# those behind the bad ones are not there.
lines_of() { tail -n +3 "$1" | od -An -v -tx1 -w26; }
lost_rows() # of the first page
{
  pdfimages -l 1 "$dir/body" "$dir/image"
  diff <(lines_of "$dir/t.tif.1.pbm") <(lines_of "$dir/image-000.pbm") |
    grep -c '^<'
  rm -f "$dir"/image-*
}
while read -r expected keys; do
  # shellcheck disable=SC2086 # one word a key
  make_tiff $keys
  if [ "$expected" = refused ]; then
    is "fax, $keys" "$(result "$dir/t.tif")" 'refused damaged 0'
  else
    is "fax, $keys: all pages" "$(result "$dir/t.tif")" 'document 3 0'
    is "fax, $keys: at most $expected lost rows" \
      "$(($(lost_rows) <= expected))" 1
  fi
done << 'END'
2 pack=g3 spoil=lines
2 pack=g3 spoil=lines lsb=1
3 pack=g32d spoil=lines
4 pack=g3 spoil=lines lines=2
6 pack=g3 spoil=lines lines=3 apart=20
refused pack=g3 spoil=lines lines=3
refused pack=g3 spoil=lines lines=4 apart=20
refused pack=g3 spoil=lines cut=1
END
# Without EOLs, one bit changes all rows that follow.
for pack in g4 rle; do
  sent=
  for at in 40 60 80 100; do
    make_tiff pack=$pack spoil=flip at=$at
    [ "$(result "$dir/t.tif")" = 'refused damaged 0' ] || sent+="$at "
  done
  is "$pack, a bit is wrong: refused" "$sent" ''
done
# The rows may include the code that ends a page.
for more in 1 5; do
  make_tiff pack=g3 rtc=1 spoil=rows more=$more
  is "fax, $more rows more" "$(result "$dir/t.tif")" 'document 3 0'
  make_tiff pack=g3 spoil=rows more=$more
  is "fax, $more rows more, without an end" "$(result "$dir/t.tif")" \
    'refused damaged 0'
  make_tiff pack=g4 spoil=rows more=$more
  is "group 4, $more rows more" "$(result "$dir/t.tif")" 'refused damaged 0'
done
make_tiff pack=g3 rtc=1 spoil=rows more=7
is 'fax, 7 rows more' "$(result "$dir/t.tif")" 'refused damaged 0'

for keys in 'pack=deflate' 'pack=deflate kind=palette rows=100' \
  'pack=deflate kind=rgb tile=64'; do
  # shellcheck disable=SC2086 # one word a key
  make_tiff $keys spoil=sum
  is "$keys: wrong checksum" "$(result "$dir/t.tif")" 'refused damaged 0'
done
for keys in 'kind=ycbcr' 'kind=rgb' 'kind=gray rows=16'; do
  # shellcheck disable=SC2086 # one word a key
  make_tiff pack=jpeg $keys spoil=eoi
  is "$keys: a JPEG that ends early" "$(result "$dir/t.tif")" \
    'refused damaged 0'
done
make_tiff pack=jpeg kind=ycbcr rows=16 spoil=tall
is 'the last strip may have more rows than the page' \
  "$(result "$dir/t.tif")" 'document 3 0'
make_tiff pack=jpeg kind=ycbcr spoil=tall
is 'and so may the only one' "$(result "$dir/t.tif")" 'document 3 0'
make_tiff pack=jpeg kind=ycbcr spoil=twice
is 'but not the first one of two' "$(result "$dir/t.tif")" 'refused damaged 0'
options='page-ranges=2-3'
make_tiff pack=deflate spoil=sum
is 'damage of a page that is not chosen does not matter' \
  "$(result "$dir/t.tif")" 'document 2 0'
options=

section 'limits'

little_endian() # BYTES NUMBER
{
  local i
  for ((i = 0; i < $1; i++)); do
    # shellcheck disable=SC2059
    printf "\\x$(printf %02x $(($2 >> 8 * i & 255)))"
  done
}

directory() # NEXT "TAG VALUE [TYPE COUNT]"...
{
  local next=$1 entry tag value type count
  little_endian 2 $(($# - 1))
  for entry in "${@:2}"; do
    read -r tag value type count <<< "$entry"
    little_endian 2 "$tag"
    little_endian 2 "${type:-4}"
    little_endian 4 "${count:-1}"
    little_endian 4 "$value"
  done
  little_endian 4 "$next"
}

# One page in one strip, whose size need not be true.
raw_tiff() # WIDTH HEIGHT BITS SAMPLES PHOTOMETRIC COMPRESSION STRIP-FILE [NEXT]
{
  printf 'II*\0'
  little_endian 4 8
  directory "${8-0}" "256 $1" "257 $2" "258 $3" "259 $6" "262 $5" '273 122' \
    "277 $4" "278 $2" "279 $(stat -c %s "$7")"
  cat "$7"
}

pixels='256 8|257 8|258 8|259 1|262 1|273 8|277 1|278 8|279 64'
IFS='|' read -ra pixels <<< "$pixels"
{
  printf 'II*\0'
  little_endian 4 8
  directory 146 '254 1' '256 4' '257 4' "${pixels[@]:2}" '33432 9999 2 100'
  directory 0 "${pixels[@]}"
} > "$dir/m.tif"
is 'a tag of a thumbnail that is outside does not matter' \
  "$(result "$dir/m.tif")" 'document 1 0'
{
  printf 'II+\0'
  little_endian 4 8
  little_endian 8 16
  little_endian 8 9
  for tag in '256 8' '257 8' '258 8' '259 7' '262 1' '273 -16' '277 1' '278 8' \
    '279 32'; do
    little_endian 2 "${tag% *}"
    little_endian 2 16
    little_endian 8 1
    little_endian 8 "${tag#* }"
  done
  little_endian 8 0
} > "$dir/m.tif"
has 'a strip that begins before the file: refused' \
  "$(result "$dir/m.tif") $(reason)" \
  '^refused damaged 0 page 1 is damaged: a part of its image is missing;'

head -c 125000 /dev/zero | tr '\0' '\377' > "$dir/white" # rows like the last
head -c 100 "$dir/white" > "$dir/rows" # 800 of them
head -c 2000000 /dev/urandom > "$dir/noise"
while read -r expected text what; do
  # shellcheck disable=SC2086 # one word an argument
  raw_tiff $what > "$dir/m.tif"
  is "$text" "$(result "$dir/m.tif")" "refused $expected 0"
done << END
too-complex a_page_with_more_columns_than_any_scan 900000000 2 1 1 0 1 $dir/noise
too-complex a_page_that_needs_too_much_memory 100000 100000 8 4 5 8 $dir/noise
type pixels_that_are_not_known 10 10 32 1 1 1 $dir/noise
too-complex a_page_that_unpacks_to_too_much 1000000 1000000 1 1 0 4 $dir/white
type inks_with_16_bits 10 10 16 4 5 1 $dir/noise
type colors_with_4_bits 10 10 4 3 2 1 $dir/noise
damaged inks_that_end_early 100 100 8 4 5 1 $dir/rows
type an_unknown_compression 100 100 8 1 1 4711 $dir/noise
damaged less_than_it_claims 10000 10000 1 1 0 1 $dir/noise
damaged a_fax_that_lacks_rows 1000 1000 1 1 0 4 $dir/rows
END
# Six columns: two bits of each row are padding. What was in memory must not be
# sent, and the same image gives the same bytes.
printf '\377\0\020\001' > "$dir/rows"
raw_tiff 6 8 1 1 0 4 "$dir/rows" > "$dir/t.tif"
for n in 1 90 255; do
  MALLOC_PERTURB_=$n run < "$dir/t.tif"
  sha256sum < "$dir/body"
done | sort -u > "$dir/sums"
is 'padding of rows is zero' "$(kind_of) $(wc -l < "$dir/sums")" 'document 1 1'
# Tiles whose size is no multiple of 1024, which libtiff refuses to read.
{
  printf 'II*\0'
  little_endian 4 8
  directory 0 '256 16' '257 16' '258 8' '259 1' '262 1' '277 1' '322 16' \
    '323 16' '324 134' '325 256'
  head -c 256 "$dir/noise"
} > "$dir/t.tif"
is 'small tiles without compression' "$(result "$dir/t.tif")" 'document 1 0'
pdfimages "$dir/body" "$dir/image"
is 'pixel for pixel' "$(cmp \
  <(tail -c 768 "$dir/image-000.ppm" | od -An -v -tx1 -w3 | cut -c1-3) \
  <(head -c 256 "$dir/noise" | od -An -v -tx1 -w1) && echo same)" same
# A raw photo has a reduced image first, and the photo in a subordinate list.
{
  printf 'II*\0'
  little_endian 4 8
  directory 0 '254 1' "${pixels[@]}" '330 8'
} > "$dir/t.tif"
is 'a preview is no page' "$(result "$dir/t.tif")" 'refused no-pages 0'

wrong=
for compression in 6 32766 32771 32809 32908 32909 34661 34676 34677 34712 \
  34887 34892 34925 34933 34934 50000 50001 50002; do
  raw_tiff 100 100 8 1 1 $compression "$dir/noise" > "$dir/m.tif"
  kind=$(result "$dir/m.tif")
  [ "$kind" = 'refused type 0' ] || wrong+="$compression: $kind "
done
is 'compressions of neither scanners nor fax: refused' "$wrong" ''

raw_tiff 100 100 8 1 1 1 "$dir/noise" 8 > "$dir/m.tif"
is 'a list of pages without end: refused' "$(result "$dir/m.tif")" \
  'refused damaged 0'
awk 'function number(bytes, n) {
    for (; bytes > 0; bytes--) { printf "%c", n % 256; n = int(n / 256) } }
  function tag(name, value) {
    number(2, name); number(2, 4); number(4, 1); number(4, value) }
  BEGIN { printf "II*"; number(1, 0); number(4, 8)
    for (i = 1; i <= 10001; i++) {
      number(2, 8); tag(256, 1); tag(257, 1); tag(258, 8); tag(259, 1)
      tag(262, 1); tag(273, 8); tag(278, 1); tag(279, 1)
      number(4, i < 10001 ? 8 + 102 * i : 0) } }' > "$dir/m.tif"
is 'too many pages: refused' "$(result "$dir/m.tif")" 'refused too-complex 0'
configure 'MaxDocumentSize 1M'
raw_tiff 2000 1000 8 1 1 1 "$dir/noise" > "$dir/m.tif"
is 'the size of the PDF counts' "$(result "$dir/m.tif")" 'refused too-large 0'
configure 'FilterTimeLimit 1s'
raw_tiff 90000 90000 1 1 0 4 "$dir/white" > "$dir/m.tif"
is 'longer than FilterTimeLimit' "$(result "$dir/m.tif")" 'refused too-slow 0'
configure ''

section 'old-style JPEG'

# Old-style JPEG, which libtiff does not write: a JPEG that tags of its own name,
# with a strip or without, behind the list of pages or before it.
"$mkpdf" "$dir/page.pdf" 'MRN: 1'
pdftoppm -r 50 -singlefile -jpeg "$dir/page.pdf" "$dir/page"
len=$(stat -c %s "$dir/page.jpg")
old_style() # FIRST-BYTE-OF-THE-LIST FIRST-BYTE-OF-THE-JPEG [TAG VALUE]...
{
  printf 'II*\0'
  little_endian 4 "$1"
  [ "$1" = 8 ] || cat "$dir/page.jpg"
  directory 0 '256 414' "257 ${rows-585}" '258 8' '259 6' '262 6' \
    "${@:3:1}" '277 3' "${@:4}" '512 1' "513 $2" "514 ${bytes-$len}"
  [ "$1" != 8 ] || cat "$dir/page.jpg"
}
old_style $((8 + len)) 8 > "$dir/list-behind.tif"
old_style 8 122 > "$dir/no-strip.tif"
old_style 8 158 '273 158' '278 585' "279 $len" > "$dir/strip.tif"
bytes=0 old_style $((8 + len)) 8 > "$dir/no-length.tif"
for name in list-behind no-strip strip no-length; do
  is "$name: sent" "$(result "$dir/$name.tif")" 'document 1 0'
  run "$dir/$name.tif"
  pdfimages -j "$dir/body" "$dir/image"
  is "$name: as it is" \
    "$(cmp "$dir/image-000.jpg" "$dir/page.jpg" && echo same)" same
  rm -f "$dir"/image-*
  for part in 20 50 80 99; do
    head -c $(($(stat -c %s "$dir/$name.tif") * part / 100)) \
      "$dir/$name.tif" > "$dir/m.tif"
    has "$name, truncated at $part%: refused" \
      "$(result "$dir/m.tif")" '^refused (type|damaged) 0$'
  done
done
rows=500 old_style 8 122 > "$dir/other-size.tif"
bytes=20 old_style 8 158 '273 178' '278 585' "279 $((len - 20))" \
  > "$dir/tables.tif"
for name in other-size tables; do
  is "$name: refused" "$(result "$dir/$name.tif")" \
    'refused type 0'
  has "$name: the user reads what to do" "$(reason)" \
    'cannot be extracted; open it in a program that shows it, and print it'
done

finish
