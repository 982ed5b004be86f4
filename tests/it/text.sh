#!/usr/bin/env bash
#
# text.sh - every character of a text file can be extracted, in order, from the
# PDF that the service receives, or the file is refused. The text is printed with
# lp, as a file and from a pipe, as IPP clients and old programs send it, and with
# `docextract submit`. The layout of pages is tested in test_text.c, what is
# refused in tests/filter/text_test.sh.
. "$(dirname "$0")/lib.sh"

# Each mode of pdftotext orders the words in its own way.
arrived() # TEXT EXPECTED
{
  is "$1: one PDF" \
    "$(calls create) $(calls put) $(jq -r '.files[].content_type' \
      "$results"/*.job.json)" '1 1 application/pdf'
  is "$1: every character" "$(pdftotext "$(sent_files)" - | bare)" "$2"
  is "$1: every character, in columns" \
    "$(pdftotext -layout "$(sent_files)" - | bare)" "$2"
}

printed() # TEXT EXPECTED
{
  job_ends "$1: the job is completed" "$job" completed
  arrived "$@"
  is "$1: only todocextract read it" "$(filters_of "$job")" todocextract
  clear_results
}

start_all

# --- the files ---------------------------------------------------------------

# Alphabets, marks over letters, symbols, boxes, letters of two columns, both
# directions, lines that are longer than the page, tabs, several pages, and all
# of Latin-1, of which each line is in Unicode's order. Blanks separate letters
# with accents, which no language has in a row.
latin1()
{
  local i
  for i in {32..126} {160..255}; do
    printf %b "\\x$(printf %x "$i")"
    [ "$i" -lt 160 ] || printf ' '
    [ $((i % 16)) != 15 ] || printf ' \n'
  done
}
{
  printf 'Patient: José Müller\r\nMRN:\t4711\r\n\r\n'
  printf 'Łukasz Żółć, Ωμέγα, Кириллица, ½ µg/dl, 37.5 °C, ≤ 5 ± 0.1 €\n'
  printf 'Jose\u0301 A\u030A o\u0323 a\u0323\u0302, “quoted”, – and —, fi ﬁ ffl\n'
  printf '┌──┐ ╔═╗ █▓▒░ ✓ ☐ → ← 😀 😷\n└──┘\n'
  printf 'Na-\n140 mmol/l -\nwell-\nknown\n'
  printf 'מטופל: 12345, גיל 45.\nName: שלום, next 5 mg %%7\nمرحبا بالعالم 123\n'
  printf 'a very long line %.0s' {1..40}
  printf '%s' w{1..300}
  printf '\n\fsecond page\n\f\fpage 4\n'
  latin1 | iconv -f LATIN1 -t UTF-8
  printf 'result %s\n' {1..200}
  printf 'no newline at the end'
} > "$dir/utf8.txt"
{
  printf 'Patient: Jos\xE9 M\xFCller\nMRN: 4711\n'
  latin1
  printf '\fsecond page, 5 \xB5g\n'
} > "$dir/latin1.txt"
utf8=$(bare < "$dir/utf8.txt")
latin1=$(iconv -f LATIN1 -t UTF-8 "$dir/latin1.txt" | bare)

section 'every way in'

for file in utf8 latin1; do
  print -d chart "$dir/$file.txt"
  printed "$file by lp" "${!file}"
  print -d chart -o cpi=17 -o lpi=8 -o media=A5 -o page-left=36 -o landscape \
    "$dir/$file.txt"
  printed "$file with other pitches, on another page" "${!file}"
  print -d chart < "$dir/$file.txt"
  printed "$file by lp, from a pipe" "${!file}"
  for type in text/plain 'text/plain;charset=utf-8' application/octet-stream; do
    print_ipp "$dir/$file.txt" "$type"
    printed "$file by IPP as $type" "${!file}"
  done
  dx submit "$dir/$file.txt" > "$dir/submit.out" 2>&1
  is "$file by submit: it is extracted" "$?" 0
  arrived "$file by submit" "${!file}"
  is "$file by submit: the patient" "$(patients)" 'Müller José 4711'
  clear_results
done

section 'an old program'

# It prints letters over letters for bold ones and lines, ends lines in all ways,
# uses the characters of Windows and, later, commands of a printer: then cupsd
# must be told the type.
{
  printf 'LABORATORY REPORT\r-----------------\r\n'
  printf 'Patient: M\bM\xFC\b\xFCller \x93Jos\xE9\x94\r\n'
  printf 'WBC 7\n\r_\bN_\ba 140 \x80\x0C'
  printf 'page 2\x1A'
} > "$dir/old.prn"
old='LABORATORYREPORT-----------------Patient:Müller“José”WBC7Na140€page2'
print -d chart < "$dir/old.prn"
printed 'an old program' "$old"
sed -i 's/page 2/\x0Fpage \x122\x07/' "$dir/old.prn"
print -d chart -o document-format=text/plain < "$dir/old.prn"
printed 'an old program with commands' "$old"

section 'encodings and commands, every way in'

held() # TEXT PATTERN
{
  job_ends "$1: the job is held" "$job" pending-held
  has "$1: the message says what to do" "$(job_message "$job")" "$2"
  is "$1: nothing is sent" "$(calls create)" 0
  clear_results
}

printf 'Patient: Müller, José\nWBC 5,40 µl ±0,2 37,5°C\n' |
  iconv -f UTF-8 -t CP850 > "$dir/cp850.txt"
cp850='Patient:Müller,JoséWBC5,40µl±0,237,5°C'
{ seq -f 'line %g of a plain text' 100 && printf 'WBC \e45.40\e5\n'; } \
  > "$dir/late.txt"
printf 'Report\n\e&l0OWBC \e(s3B5.40\e(s0B\n' > "$dir/pcl.txt"
printf 'Patient: José\nλ 5 µm\n' | iconv -f UTF-8 -t UTF-16 > "$dir/utf16.txt"
utf16='Patient:Joséλ5µm'
unknown='the encoding of line 1 is unknown; select it with the option TextEncoding'
command='line [0-9]+ has a printer command; print it as a PDF, or with a generic text-only driver'
add_queue dos TextEncoding=CP850

print -d chart "$dir/cp850.txt"
held 'CP850 by lp' "$unknown"
print -d chart -o TextEncoding=CP850 "$dir/cp850.txt"
printed 'CP850 by lp, with TextEncoding' "$cp850"
print -d dos "$dir/cp850.txt"
printed 'CP850 by lp, in a queue with this default' "$cp850"
print -d dos -o TextEncoding=auto "$dir/cp850.txt"
held 'CP850 in this queue, with Auto' "$unknown"
print -d chart "$dir/utf16.txt"
printed 'UTF-16 by lp' "$utf16"
for file in late pcl; do
  print -d chart "$dir/$file.txt"
  held "commands of $file by lp" "$command"
  print -d chart < "$dir/$file.txt"
  held "commands of $file by lp, from a pipe" "$command"
done
for type in text/plain application/octet-stream; do
  print_ipp "$dir/cp850.txt" "$type"
  held "CP850 by IPP as $type" "$unknown"
  print_ipp "$dir/cp850.txt" "$type" 'ATTR name TextEncoding CP850'
  printed "CP850 by IPP as $type, with TextEncoding" "$cp850"
  for file in late pcl; do
    print_ipp "$dir/$file.txt" "$type"
    held "commands of $file by IPP as $type" "$command"
  done
done
print_ipp "$dir/utf16.txt" text/plain
printed 'UTF-16 by IPP as text/plain' "$utf16"
for file in cp850 late pcl; do
  output=$(dx submit "$dir/$file.txt" 2>&1)
  has "$file by submit: it is refused" "$? $(xargs <<< "$output")" \
    "^65 .*($unknown|$command)"
  is "$file by submit: nothing is sent" "$(calls create)" 0
done
dx submit --text-encoding cp850 "$dir/cp850.txt" > "$dir/submit.out" 2>&1
is 'CP850 by submit: it is extracted' "$?" 0
arrived 'CP850 by submit' "$cp850"
clear_results

# cupsd takes such files for raw ones, and does not know the type of the last.
printf '\e@WBC 5.40\r\n\f\e@' > "$dir/reset.txt"
print -d chart "$dir/reset.txt"
printed 'a reset first, without a type' 'WBC5.40'
print -d chart -o document-format=text/plain "$dir/reset.txt"
printed 'a reset first, as text/plain' 'WBC5.40'
printf '\e@\eMLAB\r\nWBC \e45.40\e5\r\n' > "$dir/escp.txt"
print -d chart "$dir/escp.txt"
held 'commands first, without a type' "$command"
print -d chart -o document-format=text/plain "$dir/escp.txt"
held 'commands first, as text/plain' "$command"
print -d chart -o raw "$dir/late.txt"
held 'a text that is printed raw' 'it was printed raw'
printf 'WBC \x0f5.40\x12\n' > "$dir/narrow.txt"
print -d chart "$dir/narrow.txt"
printed 'a narrow text, without a type' 'WBC5.40'
print -d chart < "$dir/narrow.txt"
printed 'a narrow text from a pipe' 'WBC5.40'
printf 'Patient: José\nλ 5 µm\n' | iconv -f UTF-8 -t UTF-16 > "$dir/noname"
print -d chart "$dir/noname"
printed 'UTF-16 without an extension' "$utf16"

section 'what no font has'

# OpenSymbol has some for private use, but not the last ones.
printf 'Patient: Jane Roe\nprivate: \U10FFFD\n' > "$dir/private.txt"
print -d chart "$dir/private.txt"
job_ends 'a character that no font has: the job is held' "$job" pending-held
has 'a character that no font has: the message names it' \
  "$(job_message "$job")" 'no font has the character U[+]10FFFD; open it in a program that shows them, and print it from there'
is 'a character that no font has: nothing is sent' "$(calls create)" 0
output=$(dx submit "$dir/private.txt" 2>&1)
has 'submit names it, too' "$? $(xargs <<< "$output")" \
  '^65 .*no font has the character U[+]10FFFD'
is 'and sends nothing' "$(calls create)" 0

printf '\f \t\r\n' > "$dir/blank.txt"
print -d chart "$dir/blank.txt"
job_ends 'a text of nothing but blanks: the job is held' "$job" pending-held
has 'a text of nothing but blanks: the message reports it' \
  "$(job_message "$job")" 'it is empty'
