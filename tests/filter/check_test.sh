#!/usr/bin/env bash
#
# check_test.sh - todocextract-check: a raster or PostScript of which a part is
# missing is refused, and all else is passed on unchanged, or converted with all
# of its pages and words. tests/it/prefilter.sh has the same with a cupsd.
. "$(dirname "$0")/lib.sh"

check=${DX_BUILD:-$top}/todocextract-check
configure ''

# Without cupsd, there is no todocextract that a refusal could be handed to: it
# is in the log.
checked() # FILE [OPTIONS]: "whole", or the reason
{
  "$check" 7 user title 1 "${2-}" < "$1" > "$dir/made" 2> "$dir/err"
  case $? in
  0) echo whole ;;
  *) sed -n 's/^DEBUG: todocextract-check: //p' "$dir/err" ;;
  esac
}

part() # FILE NUMERATOR DENOMINATOR: so much of it
{
  head -c $(($(stat -c %s "$1") * $2 / $3)) "$1"
}

"$mkpdf" "$dir/three.pdf" 'MRN: 1' 'MRN: 2' 'MRN: 3'

section 'rasters'

# A page of 8 bits for each pixel, with rows of four runs; HEIGHT must be even.
urf_page() # WIDTH HEIGHT
{
  perl -e 'my ($w, $h) = @ARGV;
    print pack("C4 N2 N3 N2", 8, 0, 1, 4, 0, 0, $w, $h, 50, 0, 0);
    print pack("C", 1), pack("C2", $w - 5, 255), pack("C4", 254, 1, 2, 3),
      pack("C2", 0, 7) for 1 .. $h / 2' "$@"
}
pwg_page() # WIDTH HEIGHT PAGES: as stated
{
  perl -e 'my ($w, $h, $pages) = @ARGV;
    my $header = pack("a64 x208", "PwgRaster") . pack("N2", 50, 50);
    $header .= "\0" x (372 - length $header);
    $header .= pack("N2 x4 N2 N", $w, $h, 8, 8, $w) . pack("N2 x44", 0, 18);
    $header .= "\0" x (452 - length $header);
    $header .= pack("N", $pages);
    print $header, "\0" x (1796 - length $header);
    print pack("C", 1), pack("C2", $w - 5, 255), pack("C4", 254, 1, 2, 3),
      pack("C2", 0, 7) for 1 .. $h / 2' "$@"
}
urf() # PAGES: as stated
{
  perl -e 'print "UNIRAST\0", pack("N", @ARGV)' "$1"
}

{ urf 3; for _ in 1 2 3; do urf_page 100 80; done; } > "$dir/three.urf"
{ urf 0; for _ in 1 2 3; do urf_page 100 80; done; } > "$dir/unknown.urf"
{ printf RaS2; for _ in 1 2 3; do pwg_page 100 80 3; done; } > "$dir/three.pwg"
{ printf RaS2; for _ in 1 2 3; do pwg_page 100 80 0; done; } > "$dir/unknown.pwg"
for file in three.urf unknown.urf three.pwg unknown.pwg; do
  is "$file is whole" "$(checked "$dir/$file")" whole
  check "$file is passed on unchanged" cmp "$dir/$file" "$dir/made"
  for n in 1 2 3 4 5 6 7; do
    part "$dir/$file" $n 8 > "$dir/cut"
    has "$n eighths of $file are not whole" "$(checked "$dir/cut")" '^incomplete'
  done
  head -c -1 "$dir/$file" > "$dir/cut"
  has "$file without its last byte" "$(checked "$dir/cut")" \
    '^incomplete, page 3: it has only 78 of 80 rows$'
  { cat "$dir/$file"; head -c 1000 /dev/zero; } > "$dir/filled"
  is "$file, and zeros" "$(checked "$dir/filled")" whole
  { cat "$dir/$file"; printf '\0\0x'; } > "$dir/more"
  has "$file, and something else" "$(checked "$dir/more")" \
    '^incomplete, page 4: its header is missing$'
done

# MuPDF writes no media class, so that its headers begin with zeros.
sed 's/PwgRaster/\x0\x0\x0\x0\x0\x0\x0\x0\x0/' "$dir/unknown.pwg" > "$dir/mupdf.pwg"
is 'a PWG raster without a media class' "$(checked "$dir/mupdf.pwg")" whole
part "$dir/mupdf.pwg" 1 2 > "$dir/cut"
has 'half of a PWG raster without a media class' "$(checked "$dir/cut")" \
  '^incomplete, page 2: '

# Cut between two pages.
for file in three.urf three.pwg; do
  size=$(stat -c %s "$dir/$file")
  before=$((${#file} > 0 && size % 3)) # UNIRAST and the count, or RaS2
  case $file in *.urf) before=12 ;; *) before=4 ;; esac
  head -c $((before + (size - before) * 2 / 3)) "$dir/$file" > "$dir/cut"
  has "two pages of $file" "$(checked "$dir/cut")" \
    '^incomplete, page 0: it has only 2 of 3 pages$'
  head -c $((before + (size - before) * 2 / 3)) "$dir/unknown.${file#*.}" \
    > "$dir/cut"
  is "two pages of $file without a count cannot be told" \
    "$(checked "$dir/cut")" whole
done

# Runs and repetitions are exact.
urf_of() # WIDTH HEIGHT BYTES: a page with these bytes
{
  urf 1
  perl -e 'print pack("C4 N2 N3 N2", 24, 1, 1, 4, 0, 0, @ARGV, 50, 0, 0)' "$1" "$2"
  printf %b "$3"
}
while read -r text width height bytes expected; do
  urf_of "$width" "$height" "$bytes" > "$dir/t.urf"
  is "a raster with ${text//-/ }" "$(checked "$dir/t.urf")" "${expected//_/ }"
done << 'END'
a-run-of-one-pixel 1 1 \0\0abc whole
white-to-the-end-of-the-row 9 2 \1\200 whole
different-pixels 3 1 \0\376abcdefghi whole
a-run-that-is-too-long 2 1 \0\2abc damaged,_page_1:_its_row_1_is_too_long
different-pixels-that-are-too-many 2 1 \0\376abcdefghi damaged,_page_1:_its_row_1_is_too_long
a-repetition-that-is-too-long 1 2 \2\0abc damaged,_page_1:_it_has_more_than_2_rows
a-pixel-that-is-cut 1 1 \0\0ab incomplete,_page_1:_it_has_only_0_of_1_rows
no-pixels 0 1 \0\0abc damaged,_page_1:_its_header_is_invalid
END

section 'PostScript'

pdftops -q "$dir/three.pdf" "$dir/pages.ps" # "%%Pages: 3"
sed -e 's/^%%Pages: 3/%%Pages: (atend)/' -e 's/^%%Trailer/&\n%%Pages: 3/' \
  "$dir/pages.ps" > "$dir/atend.ps"
sed '/^%%Pages:/d' "$dir/pages.ps" > "$dir/eof.ps" # as Java writes it
for file in pages.ps atend.ps eof.ps; do
  is "$file is whole" "$(checked "$dir/$file")" whole
  is "$file: its words" "$(text_of "$dir/made")" 'MRN: 1 MRN: 2 MRN: 3'
  for n in 1 2 3 4 5 6 7; do
    part "$dir/$file" $n 8 > "$dir/cut"
    has "$n eighths of $file are not whole" "$(checked "$dir/cut")" '^incomplete'
  done
done
sed '/^%%Page: 3 3/,$d' "$dir/pages.ps" > "$dir/t.ps"
is 'PostScript that was cut between two pages' "$(checked "$dir/t.ps")" \
  'incomplete, page 0: it has only 2 of 3 pages'
sed '/^%%Pages: 3/d' "$dir/atend.ps" > "$dir/t.ps"
is 'PostScript whose end does not state the pages' "$(checked "$dir/t.ps")" \
  'incomplete, page 0: its end is missing'
for pages in 0 2; do
  sed "s/^%%Pages: 3/%%Pages: $pages/" "$dir/pages.ps" > "$dir/t.ps"
  is "PostScript with more pages than %%Pages: $pages" \
    "$(checked "$dir/t.ps")" whole
done
sed '/^%%EOF/d' "$dir/pages.ps" > "$dir/t.ps"
is 'PostScript with all of its pages, without %%EOF' "$(checked "$dir/t.ps")" whole
{
  sed -n '1,/^%%EndComments/p' "$dir/pages.ps" | sed 's/^%%Pages: .*/%%Pages: 1/'
  echo 'save /showpage { } def'
  printf '%%%%BeginDocument: inside\n'
  cat "$dir/pages.ps"
  printf '\n%%%%EndDocument\nrestore\n/Helvetica findfont 9 scalefont setfont '
  printf '72 72 moveto (MRN: 4) show showpage\n%%%%EOF\n'
} > "$dir/t.ps"
is 'PostScript with a document inside' "$(checked "$dir/t.ps")" whole
printf '%%!PS-Adobe-3.0 EPSF-3.0\n0 0 9 9 rectfill showpage\n' > "$dir/t.eps"
is 'an EPS file without comments' "$(checked "$dir/t.eps")" whole
printf '%%!\n0 0 9 9 rectfill showpage\n' > "$dir/t.ps"
is 'PostScript that is not structured' "$(checked "$dir/t.ps")" whole
printf '%%!\n0 0 9 9 rectfill showpage (' > "$dir/t.ps"
is 'PostScript that is not structured, cut in a string' "$(checked "$dir/t.ps")" \
  "postscript, page 0: PostScript error 'syntaxerror'"
printf '%%!\n0 0 9 9 rectfill\n' > "$dir/t.ps"
is 'PostScript without the end of its page' "$(checked "$dir/t.ps")" \
  'incomplete, page 0: its end is missing'
printf '%%!PS-Adobe-3.0 EPSF-3.0\n0 0 9 9 rectfill\n%%%%EOF\n' > "$dir/t.eps"
is 'an EPS file without the end of its page' "$(checked "$dir/t.eps")" whole
printf '%%!PS-Adobe-3.0 EPSF-3.0\n%%%%Pages: 1\n0 0 9 9 rectfill\n' > "$dir/t.eps"
is 'an EPS file that ends without a comment' "$(checked "$dir/t.eps")" whole
while IFS='|' read -r what header drawing; do
  # shellcheck disable=SC2059 # a line end is written as such
  printf "%%!PS-Adobe-3.0 EPSF-3.0\n$header\n0 0 9 9 rectfill $drawing" > "$dir/t.eps"
  is "an EPS file without comments, cut $what" "$(checked "$dir/t.eps")" \
    'postscript, page 0: its end cannot be recognized'
done << 'END'
within a line|%%%%Pages: 1|newpath
behind an operand|%%%%Pages: 1|12\n
within its own names|%%%%Pages: 1|10 dict begin\n
within a section|%%%%BeginSetup|newpath\n
before its last comment|%%%%BoundingBox: (atend)|newpath\n
END
printf '%%!PS-Adobe-3.0 EPSF-3.0\n%%%%EndComments\n' > "$dir/t.eps"
is 'an EPS file of comments' "$(checked "$dir/t.eps")" \
  'postscript, page 0: its end cannot be recognized'
{
  printf '\xC5\xD0\xD3\xC6\x24\0\0\0\x37\0\0\0%24s' ''
  printf '%%!PS-Adobe-3.0 EPSF-3.0\n20 40 60 80 rectfill\n%%%%EOF    \n'
  printf '\nshowpage ) preview'
} > "$dir/t.eps"
is 'an EPS file with a preview' "$(checked "$dir/t.eps")" whole
is 'what it draws is there' "$(qpdf --qdf "$dir/made" - | grep -ac ' re')" 1
head -c 90 "$dir/t.eps" > "$dir/cut.eps"
is 'cut before the end of its PostScript' "$(checked "$dir/cut.eps")" \
  'incomplete, page 0: its end is missing'
{
  size=$(stat -c %s "$dir/pages.ps")
  printf '\xC5\xD0\xD3\xC6\x1E\0\0\0'
  perl -e 'print pack("V", @ARGV)' "$size"
  printf '%16s\xFF\xFF' '' | tr ' ' '\0'
  cat "$dir/pages.ps"
} > "$dir/t.eps"
is 'PostScript with such a header' "$(checked "$dir/t.eps")" whole
for n in 3 5 7; do
  part "$dir/t.eps" $n 8 > "$dir/cut.eps"
  is "$n eighths of it" "$(checked "$dir/cut.eps")" \
    'incomplete, page 0: its end is missing'
done
printf '%%!\n0 0 9 9 rectfill showpage quit' > "$dir/t.ps"
is 'PostScript that ends its interpreter' "$(checked "$dir/t.ps")" whole
sed 's/^%%Trailer/quit\n&/' "$dir/pages.ps" > "$dir/t.ps"
is 'behind its last page' "$(checked "$dir/t.ps")" whole
sed 's/^%%Page: 3 3/quit\n&/' "$dir/pages.ps" > "$dir/t.ps"
is 'before its last page' "$(checked "$dir/t.ps")" \
  'incomplete, page 0: it has only 2 of 3 pages'
while IFS='|' read -r text code expected; do
  printf '%%!\n/Courier findfont 9 scalefont setfont\n72 99 moveto (1) show showpage\n%s\n' \
    "$code" > "$dir/t.ps"
  is "PostScript that is not structured, and ends $text" \
    "$(checked "$dir/t.ps")" "$expected"
done << 'END'
behind a text|72 99 moveto (2) show|postscript, page 0: its end cannot be recognized
behind operands|72 99|postscript, page 0: its end cannot be recognized
within a path|newpath 9 9 moveto 50 50 lineto|postscript, page 0: its end cannot be recognized
behind its second page|gsave 72 99 moveto (2) show grestore showpage|whole
with a dictionary|9 dict begin /a 5 def|whole
END
gs -q -dSAFER -dBATCH -dNOPAUSE -sDEVICE=ps2write -sOutputFile="$dir/own.ps" \
  "$dir/three.pdf"
is 'PostScript with an error handler of its own' "$(checked "$dir/own.ps")" whole
for n in 1 3 5; do # its handler ends Ghostscript without a status
  part "$dir/own.ps" $n 6 > "$dir/t.ps"
  has "$n sixths of it" "$(checked "$dir/t.ps")" '^incomplete'
done
printf '%%!\n(%%%%[ Error: undefined; OffendingCommand: x ]%%%%) = showpage quit' \
  > "$dir/t.ps"
is 'an error that a document reports' "$(checked "$dir/t.ps")" \
  'postscript, page 0: '
printf '%%!PS-Adobe-3.0\n%%%%Pages: 1\n%%%%EndComments\n0 0 9 9 rectfill\n' \
  > "$dir/t.ps"
is 'a single page that was cut' "$(checked "$dir/t.ps")" \
  'incomplete, page 0: its end is missing'

for before in '\004' '\r\n\004' \
  '\033%-12345X@PJL COMMENT 5%!\r\n@PJL ENTER LANGUAGE = POSTSCRIPT \n\004' \
  '\033%-12345X@PJL JOB NAME="x"\r\n@PJL ENTER LANGUAGE=POSTSCRIPT\r\n'; do
  { printf %b "$before"; cat "$dir/pages.ps"; printf '\004'; } > "$dir/t.ps"
  is "PostScript behind $before" "$(checked "$dir/t.ps")" whole
  is "PostScript behind $before: its words" "$(text_of "$dir/made")" \
    'MRN: 1 MRN: 2 MRN: 3'
done

while read -r code; do
  sed "s,^%%EndSetup,$code\n&," "$dir/pages.ps" > "$dir/t.ps"
  is "copies in PostScript: $code" \
    "$(checked "$dir/t.ps") $(pages_of "$dir/made")" 'whole 3'
done << 'END'
/#copies 2 def
<< /NumCopies 2 >> setpagedevice
statusdict begin /#copies 3 def end << /NumCopies 3 /Collate true >> setpagedevice
END

# Ghostscript shows the bytes of a font that it does not have in another one, often
# Courier, which is right for letters of the same name.
while read -r font expected; do
  printf '%%!\n/%s findfont 9 scalefont setfont 72 99 moveto <%s> show showpage\n' \
    "$font" 4D524E3A2036 > "$dir/t.ps"
  is "PostScript in $font" "$(checked "$dir/t.ps")" \
    "$expected"
done << 'END'
Nowhere-Sans whole
Nowhere-HV whole
Nowhere-90ms-RKSJ-H postscript, page 0: PostScript error 'invalidfont'
Nowhere-UniKS-UTF16-V postscript, page 0: PostScript error 'invalidfont'
Symbol whole
ZapfDingbats whole
SymbolMT whole
Courier-39 whole
Nowhere-Wingdings postscript, page 0: PostScript error 'invalidfont'
Nowhere-Wingdings-Bold postscript, page 0: PostScript error 'invalidfont'
Nowhere-Webdings postscript, page 0: PostScript error 'invalidfont'
Nowhere-ITCZapfDingbats postscript, page 0: PostScript error 'invalidfont'
Nowhere-Marlett postscript, page 0: PostScript error 'invalidfont'
Nowhere-MT-Extra postscript, page 0: PostScript error 'invalidfont'
Nowhere-IDAutomationBarcode postscript, page 0: PostScript error 'invalidfont'
Nowhere-Code39-Narrow postscript, page 0: PostScript error 'invalidfont'
Nowhere-Code128 postscript, page 0: PostScript error 'invalidfont'
END

# As a2ps and groff write it: the size of the paper is only in the comments. The
# page of the queue is Letter, 612 by 792 points.
words_at() # X Y: code of a page
{
  echo "/Courier findfont 9 scalefont setfont $1 $2 moveto (MRN: 5) show showpage"
}
while IFS='|' read -r what comments x y size; do
  {
    printf '%%!%b\n' "$comments"
    words_at "$x" "$y"
    echo '%%EOF'
  } > "$dir/t.ps"
  is "$what: nothing is cut off" \
    "$(checked "$dir/t.ps") $(text_of "$dir/made") $(pdfinfo "$dir/made" |
      sed -n 's/^Page size: *\([0-9]* x [0-9]*\).*/\1/p')" "whole MRN: 5 $size"
done << 'END'
a page for A4, without comments||72|830|612 x 842
a page for A3|PS-Adobe-3.0\n%%DocumentMedia: A3 842 1191 0 () ()|700|1180|842 x 1191
a large page|PS-Adobe-3.0\n%%BoundingBox: 0 0 1000 1000|900|990|1000 x 1000
also if that is said at the end|PS-Adobe-3.0\n%%BoundingBox: (atend)\n%%EndComments\n%%Trailer\n%%BoundingBox: 10.5 20.5 999.5 999.5|900|990|1000 x 1000
a figure|PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: -200 -90 50 0|-190|-80|612 x 842
a large figure|PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: -500 -500 500 500|-490|-490|1000 x 1000
a document that sets its size|PS-Adobe-3.0\n%%BoundingBox: 0 0 900 900\n<</PageSize[300 200]>>setpagedevice|9|190|300 x 200
END
{
  printf '%%!PS-Adobe-3.0 EPSF-3.0\n%%%%BoundingBox: (atend)\n%%%%EndComments\n'
  words_at 9 9 | sed 's/showpage//'
} > "$dir/t.eps"
is 'a figure whose size is missing' "$(checked "$dir/t.eps")" \
  'postscript, page 0: its end cannot be recognized'

section 'what Ghostscript may do'

# Its messages go to a file without a name; what it could do becomes a page.
may() # TEXT CODE: which leaves true or false
{
  printf '%%!\n{ %s } stopped { clear } { { 0 0 9 9 rectfill showpage } if } ifelse\n' \
    "$2" > "$dir/t.ps"
  is "PostScript may not $1" "$(checked "$dir/t.ps")" \
    'incomplete, page 0: its end is missing'
}
echo secret > "$dir/secret"
may 'read other files' "($dir/secret) (r) file closefile true"
may 'write files' "($dir/written) (w) file closefile true"
check 'and has not' [ ! -e "$dir/written" ]
may 'run programs' "(%pipe%id) (r) file closefile true"
may 'read the environment' '(DEVICE_URI) getenv'
is 'no temporary file is left' "$(ls -A "$dir/tmp")" ''

section 'other types'

is 'a PDF that is declared as another type' "$(checked "$dir/three.pdf")" whole
check 'is passed on' cmp "$dir/three.pdf" "$dir/made"
is 'nothing is passed on' "$(checked /dev/null) $(stat -c %s "$dir/made")" \
  'whole 0'
echo text > "$dir/text"
is 'text that is declared as a raster' "$(checked "$dir/text")" 'type, page 0: '
finish
