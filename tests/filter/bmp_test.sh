#!/usr/bin/env bash
#
# bmp_test.sh - BMP pictures are sent with all of their pixels, or refused. Other
# pictures that CUPS knows are refused: todocextract does not read them.
. "$(dirname "$0")/lib.sh"

configure ''

# A file of a header, masks or colors, and pixels; numbers of the header are
# little-endian. Colors and pixels in hexadecimal.
bmp() # FILE WIDTH HEIGHT BITS COMPRESSION COLORS PIXELS
{
  perl -e 'my ($w, $h, $bits, $compression, $colors, $pixels) = @ARGV;
    my $palette = pack("H*", $colors);
    my $info = pack("V l< l< v v V V V V V V", 40, $w, $h, 1, $bits,
      $compression, 0, 3937, 3937, $bits <= 8 ? length($palette) / 4 : 0, 0);
    my $body = pack("H*", $pixels);
    my $start = 14 + length($info) + length $palette;
    print "BM", pack("V V V", $start + length $body, 0, $start), $info, $palette,
      $body' "${@:2}" > "$1"
}

# "W H: RRGGBB ...": the pixels that are sent, row by row.
pixels() # FILE
{
  local kind
  kind=$(result "$1")
  if [ "$kind" != 'document 1 0' ]; then
    echo "$kind"
    return
  fi
  rm -f "$dir"/sent-*
  pdfimages "$dir/body" "$dir/sent"
  perl -0777 -ne 'my ($w, $h, $body) = /^P6\s+(\d+)\s+(\d+)\s+255\s(.*)/s or exit;
    print "$w $h: ", join " ", unpack "(H6)*", $body' "$dir"/sent-*
}

export CONTENT_TYPE=image/x-bitmap
while IFS='|' read -r text width height bits compression colors pixels expected; do
  bmp "$dir/t.bmp" "$width" "$height" "$bits" "$compression" "$colors" "$pixels"
  is "$text" "$(pixels "$dir/t.bmp")" "$expected"
  [ "${expected%% *}" != refused ] || continue
  size=$(stat -c %s "$dir/t.bmp")
  # Not the padding of the last row, or the mark for the end.
  for lost in 4 $((size / 3)) $((size - 20)); do
    head -c -"$lost" "$dir/t.bmp" > "$dir/cut.bmp"
    is "$text: without its last $lost bytes" "$(pixels "$dir/cut.bmp")" \
      'refused damaged 0'
  done
done << 'END'
24 bits, from the last row up|2|2|24|0||0000ff00ff000000ff0000ffffff0000|2 2: 0000ff ffffff ff0000 00ff00
24 bits, from the first row down|2|-2|24|0||0000ff00ff000000ff0000ffffff0000|2 2: ff0000 00ff00 0000ff ffffff
8 bits|3|1|8|0|0000ff0000ff0000|00010000|3 1: ff0000 00ff00 ff0000
4 bits|3|2|4|0|0000ff0000ff0000|0110000010000000|3 2: 00ff00 ff0000 ff0000 ff0000 00ff00 00ff00
1 bit|3|2|1|0|00000000ffffff00|a0000000e0000000|3 2: ffffff ffffff ffffff ffffff 000000 ffffff
16 bits|2|1|16|0||007c1f00|2 1: ff0000 0000ff
16 bits with masks|2|1|16|3|00f80000e00700001f000000|e0071f00|2 1: 00ff00 0000ff
32 bits|1|2|32|0||0000ff00ff000000|1 2: 0000ff ff0000
8 bits with run lengths|3|2|8|1|0000ff0000ff0000|030100000003000100000001|3 2: ff0000 00ff00 ff0000 00ff00 00ff00 00ff00
4 bits with run lengths|3|2|4|2|0000ff0000ff0000|0311000003010001|3 2: ff0000 00ff00 ff0000 00ff00 00ff00 00ff00
run lengths that end too late|3|1|8|1|0000ff0000ff0000|05010001|refused damaged 0
run lengths of too many rows|3|1|8|1|0000ff0000ff0000|0301000003010001|refused damaged 0
no pixels|0|1|24|0||00000000|refused damaged 0
a PNG inside|1|1|24|5||00000000|refused type 0
3 bits|1|1|3|0||00000000|refused type 0
END
bmp "$dir/t.bmp" 1 2 24 0 '' 0000ff0000ff00
is 'the padding of the last row may be missing' "$(pixels "$dir/t.bmp")" \
  '1 2: 00ff00 ff0000'
bmp "$dir/t.bmp" 3 1 8 1 0000ff0000ff0000 04010001
is 'runs may fill a row up to 4 pixels, as with ImageMagick' \
  "$(pixels "$dir/t.bmp")" '3 1: 00ff00 00ff00 00ff00'
bmp "$dir/t.bmp" 100 200 1 0 00000000ffffff00 "$(printf '%06400d' 0)"
run < "$dir/t.bmp"
is 'the resolution is kept' \
  "$(pdfinfo "$dir/body" | sed -n 's/^Page size: *//p')" '72 x 144 pts'

# --- what is no BMP ----------------------------------------------------------

# cupsd takes them for pictures.
export CONTENT_TYPE=image/x-bitmap
printf 'BM 24.3 kg/m\xb2 (normal)\n' > "$dir/bmi.txt"
is 'a text that begins with BM' "$(result "$dir/bmi.txt")" 'document 1 0'
is 'and its words' "$(text_of "$dir/body")" 'BM 24.3 kg/m² (normal)'
export CONTENT_TYPE=image/x-portable-bitmap
printf 'P1 Jane Roe\n' > "$dir/p1.txt"
is 'a text that begins with P1' "$(result "$dir/p1.txt")" 'document 1 0'
export CONTENT_TYPE=image/x-xbitmap
printf '#define w_width 8\n#define w_height 1\nstatic char w_bits[] = { 0x1 };\n' \
  > "$dir/t.xbm"
is 'a picture that is source code' "$(result "$dir/t.xbm")" 'refused type 0'
has 'says what to do' "$(reason)" 'open it in a program that shows it, and print it from there$'
export CONTENT_TYPE=image/x-sun-raster
printf '\x59\xa6\x6a\x95\0\0\0\x01' > "$dir/t.ras"
is 'a picture of a type that is not supported: Sun raster' "$(result "$dir/t.ras")" 'refused type 0'
finish
