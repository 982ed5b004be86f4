#!/usr/bin/env bash
#
# filter_test.sh - todocextract, run as cupsd runs it.
#
# Needs what lib.sh needs. Tests with a scheduler are in tests/it; what damage is
# refused is tested in whole_test.sh.
. "$(dirname "$0")/lib.sh"

# --- what is printed -------------------------------------------------------

"$mkpdf" "$dir/five.pdf" one two three four five
"$mkpdf" "$dir/separator.pdf" SEPARATOR
"$mkpdf" "$dir/one.pdf" one
qpdf --encrypt secret owner 256 -- "$dir/five.pdf" "$dir/user-password.pdf"
qpdf --encrypt '' owner 256 --print=none -- "$dir/five.pdf" \
  "$dir/protected.pdf"
qpdf --encrypt '' owner 256 --print=low --modify=none -- "$dir/five.pdf" \
  "$dir/owner-password.pdf"
qpdf --empty "$dir/no-pages.pdf"
head -c 400 "$dir/five.pdf" > "$dir/cut.pdf"
cat > "$dir/tree.pdf" << 'END'
%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 5/MediaBox[0 0 300 400]/Rotate 90
  /Kids[3 0 R 4 0 R 5 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R>> endobj
4 0 obj <</Type/Page/Parent 2 0 R>> endobj
5 0 obj <</Type/Pages/Parent 2 0 R/Count 3/Kids[6 0 R 7 0 R 8 0 R]>> endobj
6 0 obj <</Type/Page/Parent 5 0 R>> endobj
7 0 obj <</Type/Page/Parent 5 0 R>> endobj
8 0 obj <</Type/Page/Parent 5 0 R>> endobj
trailer <</Root 1 0 R/Size 9>>
%%EOF
END
qpdf "$dir/tree.pdf" "$dir/inherits.pdf" 2> /dev/null # corrects its offsets
printf '%%PDF-1.4\nnothing of the kind\n%%%%EOF\n' > "$dir/garbage.pdf"
printf 'RIFF\032\0\0\0WEBPVP8 ' > "$dir/webp"
printf '%%!PS\n' > "$dir/postscript"
printf '#PDF-BANNER\nTemplate /etc/passwd\n' > "$dir/banner"
: > "$dir/empty"
{ printf 'some junk\n'; cat "$dir/five.pdf"; } > "$dir/late.pdf"
{ printf 'P1 1 1 0\n'; cat "$dir/five.pdf"; } > "$dir/like-a-picture.pdf"
base64 -d > "$dir/dot.png" << 'END'
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAA
AABJRU5ErkJggg==
END
base64 -d > "$dir/dot.jpg" << 'END'
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0a
HBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/wAALCAABAAEBAREA/8QAFAABAAAAAAAA
AAAAAAAAAAAAB//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP3//2Q==
END
printf 'Patient: Jane Roe\n' > "$dir/text"
printf 'P2 2 1 255 0 128\n' > "$dir/gray.pgm"
base64 -d > "$dir/dot.gif" << 'END'
R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=
END
head -c 60 "$dir/dot.png" > "$dir/cut.png"
head -c -3 "$dir/dot.jpg" > "$dir/cut.jpg"

make_many() # pages: 2000
{
  # shellcheck disable=SC2046 # one word a file
  [ -e "$dir/many.pdf" ] ||
    qpdf --empty --pages $(yes "$dir/five.pdf" | head -n 400) -- "$dir/many.pdf"
}

configure "SeparatorPage $dir/separator.pdf"

section 'one entry, whatever the input'

is 'a PDF becomes a document' "$(result "$dir/five.pdf")" 'document 5 0'
run < "$dir/five.pdf"
is 'its type is determined from its bytes' "$(field type)" application/pdf
is 'its origin is the type that was printed' "$(field origin)" text/plain
is 'its name is the title with the right extension' "$(field name)" chart.pdf
is 'it is sent separately' "$(field together)" false
is 'its checksum is that of its bytes' "$(field sha256)" \
  "$(sha256sum < "$dir/body" | cut -d' ' -f1)"
is 'there is nothing between header and bytes, or after them' \
  "$(stat -c %s "$dir/out")" \
  "$(($(head -n 1 "$dir/out" | wc -c) + $(field bytes)))"
is 'the PDF is valid' \
  "$(qpdf --check "$dir/body" > "$dir/check" 2>&1; echo $?)" 0
is 'its pages are the same' "$(text_of "$dir/body")" \
  "$(text_of "$dir/five.pdf")"
is 'only debug lines are printed' "$(grep -cv '^DEBUG: ' "$dir/err")" 0
is 'no line contains the title' "$(grep -c chart "$dir/err")" 0

cp "$dir/out" "$dir/first"
is 'the same file as an argument gives the same entry' \
  "$(run "$dir/five.pdf" < /dev/null
    cmp "$dir/out" "$dir/first" && echo same)" \
  same
for file in late like-a-picture; do
  is "junk before the header is accepted: $file" \
    "$(result "$dir/$file.pdf") $(text_of "$dir/body")" \
    'document 5 0 one two three four five'
done
is 'a JPEG becomes a document' "$(result "$dir/dot.jpg")" 'document 1 0'
is 'and is sent unchanged' \
  "$(cmp "$dir/body" "$dir/dot.jpg" && field type)" image/jpeg
is 'a PNG becomes a document' "$(result "$dir/dot.png")" 'document 1 0'
is 'and is sent unchanged' \
  "$(cmp "$dir/body" "$dir/dot.png" && field type)" image/png
is 'its name has the extension of a PNG' "$(field name)" chart.png
is 'a job sheet becomes an entry' \
  "$(export CUPS_FILETYPE=job-sheet; result "$dir/five.pdf")" 'sheet 0 0'
is 'also an empty one' \
  "$(export CUPS_FILETYPE=job-sheet; result "$dir/empty")" 'sheet 0 0'

while read -r file expected; do
  is "$file is refused: $expected" "$(result "$dir/$file")" \
    "refused $expected 0"
  is "$file: no bytes are sent" "$(field bytes) $(wc -c < "$dir/body")" '0 0'
done << 'END'
empty empty
webp type
postscript type
banner type
user-password.pdf password
protected.pdf protected
cut.pdf damaged
garbage.pdf damaged
cut.png damaged
cut.jpg damaged
no-pages.pdf no-pages
END
printf 'words\n' > "$dir/words"
is 'text that was printed as a banner is refused' "$(
  export CONTENT_TYPE=application/vnd.cups-pdf-banner; result "$dir/words")" \
  'refused type 0'
{ head -c 2000 /dev/zero | tr '\0' a; printf '\0'; } > "$dir/words"
is 'so are bytes that begin as text' "$(result "$dir/words")" 'refused type 0'
CONTENT_TYPE='a b' run < "$dir/empty"
is 'an invalid origin is omitted' "$(field origin)" ''
is 'a missing file is refused' \
  "$(run "$dir/nonexistent"; kind_of; echo "$status")" $'refused trouble\n0'

section 'passwords'

run < "$dir/protected.pdf"
is 'a PDF that may not be printed says so' "$(reason)" \
  'its author does not allow printing; ask for a copy that may be printed'
is 'a password that only restricts changes is accepted' \
  "$(result "$dir/owner-password.pdf")" 'document 5 0'
is 'what is sent is not encrypted' \
  "$(qpdf --is-encrypted "$dir/body"; echo $?)" 2
is 'and has the same pages' "$(text_of "$dir/body")" \
  "$(text_of "$dir/five.pdf")"

section 'reproducibility'

with_id() # DIGIT FILE: five.pdf with an /ID
{
  qpdf --static-id "$dir/five.pdf" "$2"
  sed -i "s/31415926535897932384626433832795/$(printf "$1%.0s" {1..32})/g" "$2"
}
with_id 1 "$dir/id1.pdf"
with_id 2 "$dir/id2.pdf"
is 'the two PDFs differ in their /ID' \
  "$(cmp -s "$dir/id1.pdf" "$dir/id2.pdf"; echo $?)" 1
run < "$dir/id1.pdf"
cp "$dir/out" "$dir/first"
run < "$dir/id2.pdf"
is 'the old /ID is removed' \
  "$(cmp "$dir/out" "$dir/first" && echo same)" same
# What becomes a PDF here has no date in it either.
for file in text gray.pgm dot.gif; do
  run < "$dir/$file"
  cp "$dir/out" "$dir/first"
  run < "$dir/$file"
  is "the same every time: $file" \
    "$(kind_of) $(cmp "$dir/out" "$dir/first" && echo same)" 'document 1 same'
done

section 'options'

options='DocumentGrouping=Together'
run < "$dir/five.pdf"
is 'documents can be sent together' "$(field together)" true
options='DocumentGrouping=Some'
is 'an unknown choice is refused' "$(result "$dir/five.pdf")" \
  'refused options 0'
options=
sed -i.orig 's/^\*DefaultDocumentGrouping.*/*DefaultDocumentGrouping: Together/
  ' "$PPD"
run < "$dir/five.pdf"
is "without an option the default of the queue is used" \
  "$(field together)" true
mv "$PPD.orig" "$PPD"
is 'without a PPD the document is refused' \
  "$(export PPD=$dir/nonexistent; result "$dir/five.pdf")" 'refused options 0'

section 'pages'

while read -r options pages text; do
  is "$options: pages" "$(result "$dir/five.pdf") $(text_of "$dir/body")" \
    "document $pages 0 $text"
done << 'END'
page-ranges=2 1 two
page-ranges=2-3,5 3 two three five
page-ranges=5,2-3,2 3 two three five
page-ranges=4-9 2 four five
page-ranges=-2 2 one two
page-ranges=4- 2 four five
page-set=even 2 two four
page-set=odd 3 one three five
page-set=all 5 one two three four five
outputorder=reverse 5 one two three four five
number-up=2 5 one two three four five
booklet=true 5 one two three four five
mirror=true 5 one two three four five
END
while IFS='|' read -r options pages text; do
  is "$options: pages" "$(result "$dir/five.pdf") $(text_of "$dir/body")" \
    "document $pages 0 $text"
done << 'END'
page-ranges=1-2 page-ranges=4|1|four
page-set=even page-set=odd|3|one three five
page-ranges=2-4 page-set=even|2|two four
page-ranges=2-3 number-up=2|2|two three
END
for options in number-up=4 landscape orientation-requested=4 fit-to-page \
  scaling=50 mirror=true; do
  run < "$dir/five.pdf"
  is "$options: pages stay as they are" "$("$same" "$dir/five.pdf" "$dir/body")" \
    same
done
without='print it without that option, or ask the administrator'
while IFS='|' read -r options reason why; do
  is "$options: refused" "$(result "$dir/five.pdf"): $(reason)" \
    "refused $reason 0: $why"
done << END
page-ranges=7-9|no-pages|'page-ranges' selects none of its pages; check which pages are selected
page-ranges=1 page-set=even|no-pages|'page-ranges' and 'page-set' selects none of its pages; check which pages are selected
page-ranges=3-1|options|'page-ranges' is not a list of pages; $without
page-ranges=0|options|'page-ranges' is not a list of pages; $without
page-ranges=abc|options|'page-ranges' is not a list of pages; $without
page-ranges=1,|options|'page-ranges' is not a list of pages; $without
page-set=some|options|'page-set' has no such choice; $without
END
for file in dot.png dot.jpg dot.gif gray.pgm text; do
  options='page-ranges=1'
  is "$file: it is page 1" "$(result "$dir/$file")" 'document 1 0'
  options='page-ranges=2'
  is "$file: and no other" "$(result "$dir/$file")" 'refused no-pages 0'
done
options='page-set=even'
is 'the only page is no even one' "$(result "$dir/one.pdf"): $(reason)" \
  "refused no-pages 0: 'page-set' selects none of its pages; check which pages are selected"
options='page-ranges=2-4 CaseSeparators=Every2'
is 'separator pages are inserted between the selected pages' \
  "$(result "$dir/five.pdf") $(text_of "$dir/body")" \
  'document 4 0 two three SEPARATOR four'
options=

section 'the program that made it'

gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite -sOutputFile="$dir/made.pdf" \
  "$dir/one.pdf"
qpdf --encrypt '' owner 256 --print=none -- "$dir/made.pdf" "$dir/no-print.pdf"
is 'a PDF that must not be printed is refused' "$(result "$dir/no-print.pdf")" \
  'refused protected 0'
has 'the entry has its producer' "$(field program)" '^GPL Ghostscript [0-9.]+$'
hasnt 'but not the reason, which the user reads' "$(reason)" Ghostscript
is 'a PDF that is sent' "$(result "$dir/made.pdf")" 'document 1 0'
is 'has none' "$(field program)" ''
{
  head -c 33 "$dir/dot.png"
  printf '\0\0\0\x0FtEXtSoftware\0Scan 2----'
} > "$dir/made.png"
is 'a truncated PNG is refused' "$(result "$dir/made.png")" 'refused damaged 0'
is 'the entry has its software' "$(field program)" 'Scan 2'
has 'and it is to be scanned again' "$(reason)" '; scan it again, or ask for'
qpdf --object-streams=disable "$dir/made.pdf" "$dir/plain.pdf"
sed 's/GPL Ghostscript/Roe, Jane 00471/' "$dir/plain.pdf" > "$dir/named.pdf"
qpdf --encrypt '' owner 256 --print=none -- "$dir/named.pdf" "$dir/odd.pdf"
is 'a producer that looks like no program: refused' "$(result "$dir/odd.pdf")" \
  'refused protected 0'
is 'and it is left out' "$(field program)" ''

section 'separators'

while read -r choice pages text; do
  options="CaseSeparators=$choice"
  is "$choice: number of pages" "$(result "$dir/five.pdf")" \
    "document $pages 0"
  is "$choice: order of pages" "$(text_of "$dir/body")" "$text"
done << 'END'
None 5 one two three four five
Every1 9 one SEPARATOR two SEPARATOR three SEPARATOR four SEPARATOR five
Every2 7 one two SEPARATOR three four SEPARATOR five
Every5 5 one two three four five
Custom.3 6 one two three SEPARATOR four five
Every10 5 one two three four five
END
options=CaseSeparators=Every2
run < "$dir/five.pdf"
is 'a PDF with separators is valid' \
  "$(qpdf --check "$dir/body" > "$dir/check" 2>&1; echo $?)" 0
cp "$dir/out" "$dir/first"
run < "$dir/five.pdf"
is 'and the same every time' \
  "$(cmp "$dir/out" "$dir/first" && echo same)" same
sed 's/^%PDF-.*/&\n%/' "$dir/five.pdf" > "$dir/broken.pdf"
is 'so is one with a wrong table, also with an empty separator' "$(
  qpdf --empty --pages "$dir/inherits.pdf" 1 -- "$dir/bare.pdf"
  configure "SeparatorPage $dir/bare.pdf"; result "$dir/broken.pdf"
  configure "SeparatorPage $dir/separator.pdf")" 'document 7 0'
is 'an encrypted PDF gets separators, too' \
  "$(result "$dir/owner-password.pdf")" 'document 7 0'
is 'images need none, and the page is not required' \
  "$(export CUPS_SERVERROOT=$dir/nonexistent; result "$dir/dot.png")" \
  'document 1 0'
sizes=
for page in own own sep own own sep own; do
  [ $page = sep ] && sizes+='595 842 0 ' || sizes+='300 400 90 '
done
is 'pages with inherited attributes get separators' "$(result "$dir/inherits.pdf")" \
  'document 7 0'
is 'and keep what they inherited' \
  "$(pdfinfo -l 7 "$dir/body" |
    awk '/^Page .*size/ { printf "%s %s ", $4, $6 }
         /^Page .*rot/ { printf "%s ", $4 }')" "$sizes"
make_many
options=CaseSeparators=Every1
qpdf --empty --pages "$dir/five.pdf" 1 "$dir/inherits.pdf" 1 "$dir/five.pdf" 2 \
  "$dir/inherits.pdf" 1 -- "$dir/sizes.pdf"
result "$dir/sizes.pdf" > "$dir/kind"
is 'each page keeps its size, and so does the separator' \
  "$(pdfinfo -l 9 "$dir/body" | awk '/^Page .*size/ { printf "%s ", $4 }')" \
  '595 595 300 595 595 595 300 '
is '2000 pages with 1999 separators' "$(result "$dir/many.pdf")" \
  'document 3999 0'
while IFS='|' read -r what line; do
  configure "$line"
  is "refused: $what" "$(result "$dir/five.pdf")" 'refused no-separator 0'
done << END
no SeparatorPage|
a missing SeparatorPage|SeparatorPage $dir/nonexistent.pdf
a SeparatorPage that is not a PDF|SeparatorPage $dir/dot.png
a SeparatorPage with five pages|SeparatorPage $dir/five.pdf
a SeparatorPage with a password|SeparatorPage $dir/user-password.pdf
a configuration with an error|SeparatorPag $dir/separator.pdf
END
configure "SeparatorPage $dir/separator.pdf"
is 'refused: a service that is not configured' \
  "$(export DEVICE_URI=docextract://other; result "$dir/five.pdf")" \
  'refused no-separator 0'
is 'refused: no configuration at all' \
  "$(export CUPS_SERVERROOT=$dir/nonexistent; result "$dir/five.pdf")" \
  'refused no-separator 0'

section 'limits'

options=
{ cat "$dir/dot.png"; head -c 1048576 /dev/zero; } > "$dir/large.png"
configure 'MaxDocumentSize 1M'
is 'larger than MaxDocumentSize: refused' "$(result "$dir/large.png")" \
  'refused too-large 0'
is 'and the reason names the limit' "$(reason)" \
  'it is larger than MaxDocumentSize (1M): raise that, or print fewer pages at a time'
is 'a small one is accepted' "$(result "$dir/five.pdf")" 'document 5 0'
configure 'MaxDocumentSize 2M'
is 'so is a large one if it is allowed' "$(result "$dir/large.png")" \
  'document 1 0'
{
  echo '%PDF-1.4'
  echo '1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj'
  echo '2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj'
  echo '3 0 obj <</Type/Page/Parent 2 0 R/Contents 4 0 R'
  echo '/MediaBox[0 0 9 9]>> endobj'
  echo "4 0 obj <</Length 1048577>>"
  printf 'stream\n%%%1048576s\nendstream endobj\n' ''
  printf 'trailer <</Root 1 0 R/Size 5>>\n%%%%EOF\n'
} > "$dir/heavy.pdf"
configure $'MaxDocumentSize 1M\nSeparatorPage '"$dir/heavy.pdf"
options=CaseSeparators=Every1
is 'the size that would be sent counts' "$(result "$dir/five.pdf")" \
  'refused too-large 0'
options=
is 'a slash after the service in the URI is ignored' \
  "$(export DEVICE_URI=docextract://default/; result "$dir/large.png")" \
  'refused too-large 0'
with_much_to_read "$dir/huge.pdf"
configure "FilterTimeLimit 1s
  SeparatorPage $dir/separator.pdf"
options=CaseSeparators=Every1
is 'longer than FilterTimeLimit: refused' "$(result "$dir/huge.pdf")" \
  'refused too-slow 0'
is 'and the reason names the limit in seconds' "$(reason)" \
  'processing it took longer than FilterTimeLimit (1 s): raise that, or print fewer pages at a time'
options=
rm "$dir/huge.pdf" "$dir/large.png"
configure "SeparatorPage $dir/separator.pdf"

section 'local errors'

make_many
options=
is 'no temporary directory: refused' \
  "$(export TMPDIR=$dir/nonexistent; result "$dir/five.pdf")" \
  'refused trouble 0'
has 'the reason names it' "$(reason)" \
  "in the temporary directory '$dir/nonexistent', which must exist"
is 'no room for the input: refused' \
  "$(ulimit -f 8; result "$dir/many.pdf")" 'refused trouble 0'
head -c 300000 /dev/zero | tr '\0' ' ' > "$dir/blanks"
is 'an earlier filter can always write all of its output' \
  "$({ cat "$dir/blanks" && echo written > "$dir/flag"; } |
    TMPDIR=$dir/nonexistent "$filter" 7 u t 1 '' > "$dir/out" 2> /dev/null
    cat "$dir/flag")" written

# With the separators, only the output exceeds the limit, and not the input.
# Limits are in KiB and apply to the entry on stdout, too, hence the pipe.
limited() # KIB
{
  (
    ulimit -f "$1"
    "$filter" 7 u t 1 CaseSeparators=Every1 < "$dir/many.pdf" 2> /dev/null
  ) | cat > "$dir/out"
  kind_of
}
options=CaseSeparators=Every1
run < "$dir/many.pdf"
length=$(field bytes)
is 'no room for the output: refused' \
  "$(limited $(($(stat -c %s "$dir/many.pdf") / 1024 + 1)))" 'refused trouble'
is 'no room for its last bytes: refused' \
  "$(limited $(((length - 1) / 1024)))" 'refused trouble'
is 'just enough room: a document' \
  "$(limited $((length / 1024 + 1)))" 'document 3999'

section 'exit status'

make_many
"$filter" > "$dir/out" 2> "$dir/err" < /dev/null
is 'invalid arguments exit with 1' "$? $(wc -c < "$dir/out")" '1 0'
is 'with the backend of another driver nothing is written' "$(
  export DEVICE_URI=ipp://localhost/printers/chart
  "$filter" 7 u t 1 '' < "$dir/five.pdf" > "$dir/out" 2> "$dir/err"
  echo "$? $(wc -c < "$dir/out") $(grep -c '^WARNING:.*everywhere' "$dir/err")" \
    "$(grep -c '^ERROR: .* without its driver on this computer' "$dir/err")"
)" '1 0 1 1'
said_to_a_german() # PATTERN: how often the message has it
{
  DEVICE_URI=ipp://127.0.0.1/printers/chart LANG=de.UTF-8 LC_ALL='' \
    LC_MESSAGES='' "$filter" 7 u t 1 '' < "$dir/five.pdf" 2>&1 |
    grep -c "^ERROR: $1"
}
is 'its message is in the language of the site' \
  "$(said_to_a_german 'Contact your administrator')" 1
is 'or of the user, if there is no configuration' \
  "$(export CUPS_SERVERROOT=$dir/nonexistent
  said_to_a_german 'Bitte dem Administrator melden')" 1
"$filter" 7 u t 1 '' < "$dir/five.pdf" > /dev/full 2> /dev/null
is 'a full stdout exits with 1' "$?" 1
is 'so does a closed one' "$(
  "$filter" 7 u t 1 '' < "$dir/many.pdf" 2> /dev/null | true
  echo "${PIPESTATUS[0]}")" 1

mkfifo "$dir/fifo"
"$filter" 7 u t 1 '' < "$dir/fifo" > "$dir/out" 2> /dev/null &
pid=$!
exec 9> "$dir/fifo"
cat "$dir/many.pdf" >&9 # more than a pipe holds: the filter is reading
kill "$pid"
wait "$pid"
is 'SIGTERM terminates it at once' "$?" 143
exec 9>&-
is 'and nothing is written' "$(wc -c < "$dir/out")" 0

finish
