#!/usr/bin/env bash
#
# text_test.sh - text files of old programs: what printers obey, what is printed
# over something else, and encodings. A file is sent with the text that its
# program printed, or refused with the line and what to do. The rules have tables
# of their own (tests/unit/test_reading.c, test_windows1252.c); text with a cupsd
# is in tests/it/text.sh.
. "$(dirname "$0")/lib.sh"

configure ''

# "sent", and the words; or the reason and the text.
outcome() # FILE
{
  case $(result "$1") in
  'document 1 0') echo "sent $(text_of "$dir/body")" ;;
  *) echo "$(field reason) $(reason)" ;;
  esac
}

rest_of_codes='; print it as a PDF, or with a generic text-only driver'
rest_of_encodings='; select it with the option TextEncoding, or print it as a PDF'
codes() # LINE
{
  echo "printer-codes it cannot be sent: line $1 has a printer command$rest_of_codes"
}
unknown() # LINE
{
  echo "encoding it cannot be sent: the encoding of line $1 is unknown$rest_of_encodings"
}

printf 'LAB REPORT\r\nWBC 5.40\r\nHemoglobin \eE13.20\eF g/dL\r\n' > "$dir/bold.txt"
"$mkpdf" "$dir/one.pdf" one

section 'layout'

back() { printf '\b%.0s' $(seq "$1"); } # N
long=$(printf 'x%.0s' $(seq 75))
printf 'Jane Roe 250 000%s________________\n_\bA_\b _\bB\n' "$(back 16)" \
  > "$dir/words.txt"
is 'an underlined blank separates two words' "$(outcome "$dir/words.txt")" \
  'sent Jane Roe 250 000 A B'
printf '%s^PLT|138|10*3/uL\n' "$long" > "$dir/value.txt"
is 'a number is not divided at the end of a line' "$(outcome "$dir/value.txt")" \
  "sent $long^PLT| 138|10*3/uL"
printf '%s PLT 250\xc2\xa0000 /ul\n' "${long:3}" > "$dir/group.txt"
is 'nor its groups' "$(outcome "$dir/group.txt")" "sent ${long:3} PLT 250 000 /ul"
printf 'AB\xe3\x80\x80\xe3\x80\x80C\n123456C\n' > "$dir/wide.txt"
result "$dir/wide.txt" > "$dir/null"
is 'a blank of Japan is two columns wide' \
  "$(pdftotext -bbox "$dir/body" - | sed -n 's/.*xMax="\([0-9.]*\)".*C<.*/\1/p' | uniq | wc -l)" 1
printf 'WBC 5.40\r\n\f \r\n' > "$dir/blanks.txt"
is 'blanks behind the last page are no page' \
  "$(result "$dir/blanks.txt") $(pdfinfo "$dir/body" | sed -n 's/^Pages: *//p')" \
  'document 1 0 1'
{
  printf 'first\f\r'
  for ((i = 1; i <= 60; i++)); do printf '%s\r\r\n' "$i"; done
} > "$dir/returns.txt"
is 'a carriage return that moves nothing is no line' \
  "$(result "$dir/returns.txt") $(pdfinfo "$dir/body" | sed -n 's/^Pages: *//p')" \
  'document 2 0 2'

section 'commands for printers'

printf '\e@\eMLAB REPORT\r\nWBC \e45.40\e5\r\n' > "$dir/escp.txt"
printf 'Platelets \e-1250\e-0\r\n' > "$dir/underlined.txt"
printf '\eE\e&l0O\e(s0p10H\e&k2GWBC 5.40\r\n\f\eE' > "$dir/pcl.txt"
printf 'WBC \e(s3B5.40\e(s0B\r\n' > "$dir/pcl-bold.txt"
printf '\e@WBC 5.40\n\x1dV\x41\x03' > "$dir/escpos.txt"
{
  for ((i = 0; i < 100; i++)); do echo "a line of plain text, number $i"; done
  printf 'WBC \e45.40\e5\n'
} > "$dir/late.txt"
printf 'WBC 5.40\x1f10 - 11\n' > "$dir/separated.txt"
while read -r file line; do
  is "$file: a command refuses it" "$(outcome "$dir/$file.txt")" "$(codes "$line")"
done << 'END'
escp 1
bold 3
underlined 1
pcl 1
pcl-bold 1
escpos 2
late 101
separated 1
END
is 'a command after 1,024 bytes is found' \
  "$(($(head -n 100 "$dir/late.txt" | wc -c) > 1024))" 1

printf '\e@\r\nWBC 5.40\r\n\f\e@' > "$dir/reset.txt"
printf '\eE\x0fWBC \x125.40\x14\n\eE\x1a' > "$dir/narrow.txt"
printf 'WBC \e[1;31m5.40\e[0m\n' > "$dir/colors.txt"
printf '\x0bWBC|5.40\r\x1c\r' > "$dir/mllp.txt"
while IFS='|' read -r file words; do
  is "$file: it is sent" "$(outcome "$dir/$file.txt")" "sent $words"
done << 'END'
reset|WBC 5.40
narrow|WBC 5.40
colors|WBC 5.40
END
is 'an HL7 message with its frame is sent' "$(outcome "$dir/mllp.txt")" \
  'sent WBC|5.40'
printf 'WBC \e[1;31m5.40\e[2J\n' > "$dir/screen.txt"
printf 'WBC 5.40\n\e@Platelets 250\n' > "$dir/between.txt"
is 'other commands of a terminal refuse it' "$(outcome "$dir/screen.txt")" "$(codes 1)"
is 'so does a reset between two lines' "$(outcome "$dir/between.txt")" "$(codes 2)"

printf 'WBC 5.41\x7f0\n' > "$dir/deleted.txt"
printf 'WBC\n\e[8m9.99\e[0m 5.40\n' > "$dir/hidden.txt"
printf 'WBC 5.40\n\x13WBC 9.99\n\x11' > "$dir/deselected.txt"
printf 'WBC 5.40\n\x1aWBC 9.99\n' > "$dir/behind.txt"
while read -r file line; do
  is "$file: text that is not printed refuses it" \
    "$(outcome "$dir/$file.txt")" "$(codes "$line")"
done << 'END'
deleted 1
hidden 2
deselected 2
behind 2
END
printf '\x05\x021H|5.40\r\x03E5\r\n\x022R|WBC\x03\r\n\x04' > "$dir/frames.txt"
is 'frames that begin and end a line are no text' "$(outcome "$dir/frames.txt")" \
  'sent 1H|5.40 E5 2R|WBC'
printf 'WBC 5.40\r\n\x02Hb 13.2\x0317\r\n' > "$dir/checksum.txt"
is 'a checksum is no part of a value' "$(outcome "$dir/checksum.txt")" "$(codes 2)"
printf 'WBC 5.40\r\n\x1a\x1a\x1a' > "$dir/filled.txt"
is 'the ends of a DOS file are no text' "$(outcome "$dir/filled.txt")" \
  'sent WBC 5.40'

# For cupsd, a file that begins with a command was printed raw.
raw_outcome() { (CONTENT_TYPE=application/vnd.cups-raw; outcome "$1"); }
is 'a reset first is text, although it is raw for cupsd' \
  "$(raw_outcome "$dir/reset.txt")" 'sent WBC 5.40'
is 'commands first are reported' "$(raw_outcome "$dir/escp.txt")" "$(codes 1)"
printf '\e%%-12345X@PJL JOB\r\n@PJL ENTER LANGUAGE=PCL\r\n\eEWBC 5.40' \
  > "$dir/pjl.txt"
is 'so are those of PJL' "$(raw_outcome "$dir/pjl.txt")" "$(codes 1)"
printf '\e@\eD\x08\x10\0WBC\t5.40\r\n' > "$dir/tabs.txt"
printf 'WBC 5.40\r\n\eA\0Hb 13.2\r\n' > "$dir/spacing.txt"
for file in tabs spacing; do
  is "$file: a command may have a NUL" "$(outcome "$dir/$file.txt")" \
    'printer-codes it has commands for a printer; print it as a PDF, or with a generic text-only driver'
done
for text in 'P1 Jane Roe' 'P3\tJane' 'P6\n\nJane' 'P2 1 of 2' 'P1'; do
  printf '%b\nWBC 5.40\n' "$text" > "$dir/begins.txt"
  is "a text that begins with '$text' is no picture" \
    "$(outcome "$dir/begins.txt")" \
    "sent $(printf %b "$text" | tr -s '\t\n' ' ') WBC 5.40"
done
printf '%s\n' '{\rtf1 M\u252?ller WBC 5.40}' > "$dir/rich.txt"
has 'the codes of RTF are no text' "$(outcome "$dir/rich.txt")" '^type '
for text in '\n%!PS-Adobe-3.0' '\x04\x04%!' '\r\n{\\rtf1' 'IN;SP1;' '^XA^FO50'; do
  printf '%b\nWBC 5.40\n' "$text" > "$dir/source.txt"
  has "what begins with '$text' is no text" "$(outcome "$dir/source.txt")" '^type '
done
printf ' %%! WBC 5.40\nINR; ^X\n' > "$dir/source.txt"
has 'so is what only blanks precede' "$(outcome "$dir/source.txt")" '^type '
printf 'INR; %%! ^XA\n' > "$dir/words.txt"
is 'such words in a text are words' "$(outcome "$dir/words.txt")" 'sent INR; %! ^XA'
printf 'WBC\0\e@5.40\n' > "$dir/binary.txt"
has 'a NUL before a command is of another type' "$(outcome "$dir/binary.txt")" \
  '^type '
for file in bold.txt one.pdf; do
  has "$file was printed raw" "$(raw_outcome "$dir/$file")" '^raw it was printed raw'
done

section 'characters over others'

printf 'Patient\nWBC 5.40\b\b\b\b9.99\n' > "$dir/over.txt"
printf 'WBC 5.40\b \n' > "$dir/erased.txt"
printf 'WBC 0\b/ 5\n' > "$dir/slashed.txt"
while read -r file line; do
  is "$file: one character over another refuses it" "$(outcome "$dir/$file.txt")" \
    "printer-codes it cannot be sent: line $line has characters printed over others$rest_of_codes"
done << 'END'
over 2
erased 1
slashed 1
END
printf 'W\bWB\bBC\bC 5.40\b\b\b\b____\n' > "$dir/bold-underlined.txt"
printf '____\b\b\b\b5.40\n' > "$dir/form.txt"
printf 'WBC     \b\b\b\b5.40\n' > "$dir/blanks.txt"
is 'bold and underlined characters are sent once' \
  "$(outcome "$dir/bold-underlined.txt")" 'sent WBC 5.40'
is 'so are those over an underline' "$(outcome "$dir/form.txt")" 'sent 5.40'
is 'and over blanks' "$(outcome "$dir/blanks.txt")" 'sent WBC 5.40'

section 'encodings'

values='Patient: Müller, José WBC 5,40 µl ±0,2 37,5°C'
echo "${values/WBC/$'\n'WBC}" > "$dir/utf8.txt"
for name in WINDOWS-1252 CP437 CP850 UTF-16; do
  iconv -f UTF-8 -t "$name" "$dir/utf8.txt" > "$dir/$name.txt"
done
echo 'Patient: Łukasz Żółć, WBC 5,40' | iconv -f UTF-8 -t CP852 > "$dir/CP852.txt"
echo 'Пациент: Иванов, WBC 5,40' | iconv -f UTF-8 -t KOI8-R > "$dir/KOI8-R.txt"
echo '患者: 山田太郎, WBC 5.40' | iconv -f UTF-8 -t SHIFT_JIS > "$dir/Shift_JIS.txt"
printf 'plain\r\nM\x81ller\r\n' > "$dir/second.txt"
for name in utf8 WINDOWS-1252 UTF-16; do
  is "$name is read" "$(outcome "$dir/$name.txt")" "sent $values"
done
for name in CP437 CP850 CP852 KOI8-R Shift_JIS; do
  is "$name is refused" "$(outcome "$dir/$name.txt")" "$(unknown 1)"
done
is 'the message has the line' "$(outcome "$dir/second.txt")" "$(unknown 2)"
head -c -1 "$dir/UTF-16.txt" > "$dir/cut.txt"
is 'half a character of UTF-16 is refused' "$(outcome "$dir/cut.txt")" \
  "encoding it cannot be sent: line 2 is not valid in the encoding 'UTF-16'$rest_of_encodings"
iconv -f UTF-8 -t UTF-32 "$dir/utf8.txt" > "$dir/UTF-32.txt"
is 'UTF-32 is refused' "$(outcome "$dir/UTF-32.txt")" \
  "encoding it cannot be sent: line 1 is not valid in the encoding 'UTF-16'$rest_of_encodings"

options=TextEncoding=CP850
is 'in the selected encoding, it is read' "$(outcome "$dir/CP850.txt")" "sent $values"
options=TextEncoding=cp437
is 'whatever the case of its name' "$(outcome "$dir/CP437.txt")" "sent $values"
options=TextEncoding=CP852
is 'with the letters of this encoding' "$(outcome "$dir/CP852.txt")" \
  'sent Patient: Łukasz Żółć, WBC 5,40'
options=TextEncoding=CP850
is 'a byte order mark has precedence' "$(outcome "$dir/UTF-16.txt")" "sent $values"
is 'a command for a printer refuses it in each encoding' \
  "$(outcome "$dir/bold.txt")" "$(codes 3)"
options=TextEncoding=Shift_JIS
printf 'plain\nJos\xe9' > "$dir/half.txt"
is 'what is not valid in it is refused' "$(outcome "$dir/half.txt")" \
  "encoding it cannot be sent: line 2 is not valid in the encoding 'Shift_JIS'$rest_of_encodings"
options=TextEncoding=ISO-8859-1
printf 'plain\n\x93quoted\x94\n' > "$dir/quoted.txt"
is 'so are its control characters' "$(outcome "$dir/quoted.txt")" \
  "encoding it cannot be sent: line 2 is not valid in the encoding 'ISO-8859-1'$rest_of_encodings"
options=TextEncoding=EBCDIC
is 'an unknown name refuses a text' "$(outcome "$dir/utf8.txt")" \
  "options 'TextEncoding' has no such choice; print it without that option, or ask the administrator"
is 'and nothing else' "$(outcome "$dir/one.pdf")" 'sent one'
options=

# The default of the queue; a driver of an older version has no such option.
sed 's/^\*DefaultTextEncoding: Auto/*DefaultTextEncoding: CP850/' "$PPD" > "$dir/cp850.ppd"
sed '/TextEncoding/d' "$PPD" > "$dir/older.ppd"
is 'the queue has a default' \
  "$(PPD=$dir/cp850.ppd; outcome "$dir/CP850.txt")" "sent $values"
is 'which the job overrides' \
  "$(PPD=$dir/cp850.ppd options=TextEncoding=Auto; outcome "$dir/WINDOWS-1252.txt")" \
  "sent $values"
is 'an older driver reads text automatically' \
  "$(PPD=$dir/older.ppd; outcome "$dir/utf8.txt")" "sent $values"
is 'and refuses what is unknown' \
  "$(PPD=$dir/older.ppd; outcome "$dir/CP850.txt")" "$(unknown 1)"
is 'and has the option' \
  "$(PPD=$dir/older.ppd options=TextEncoding=CP850; outcome "$dir/CP850.txt")" \
  "sent $values"

# The driver, the manual page, and the program have the same names.
names() { sed -n 's/^  X(DX_TEXT_[A-Z0-9_]*, "\([^"]*\)".*/\1/p' "$top/lib/print/text_encoding.h"; }
is 'there are names' "$(names | wc -l)" 16
is 'the driver has all of them' \
  "$(sed -n 's/^\*TextEncoding \([^/]*\).*/\1/p' "$PPD")" "$(names)"
is 'so has todocextract(7)' \
  "$(sed -n '/^\.It Ic TextEncoding/,/^see/s/^\.Li \([^ ]*\).*/\1/p' "$top/doc/todocextract.7")" \
  "$(names)"

finish
