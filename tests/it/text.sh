#!/usr/bin/env bash
#
# text.sh - every character of a text file can be extracted, in order, from the
# PDF that the service receives. The text is printed with lp, as a file and from
# a pipe, as IPP clients and old programs send it, and with `docextract submit`.
# The layout of pages is tested in test_text.c.
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
# of Latin-1, of which each line is in Unicode's order.
latin1()
{
  local i
  for i in {32..126} {160..255}; do
    printf "\\x$(printf %x "$i")"
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

# --- every way in --------------------------------------------------------------

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

# --- an old program -------------------------------------------------------------

# It prints letters over letters for bold ones and lines, ends lines in all ways,
# uses the characters of Windows and, later, commands of a printer: then cupsd
# must be told the type.
{
  printf 'LABORATORY REPORT\r-----------------\r\n'
  printf 'Patient: M\bM\x81\b\xFCller \x93Jos\xE9\x94\r\n'
  printf 'WBC 7\n\r_\bN_\ba 140 \x80\x0C'
  printf 'page 2\x1A'
} > "$dir/old.prn"
old='LABORATORYREPORT-----------------Patient:Müller“José”WBC7Na140€page2'
print -d chart < "$dir/old.prn"
printed 'an old program' "$old"
sed -i 's/page 2/\x0Fpage \x122\x07/' "$dir/old.prn"
print -d chart -o document-format=text/plain < "$dir/old.prn"
printed 'an old program with commands' "$old"

# --- what no font has -----------------------------------------------------------

# OpenSymbol has some for private use, but not the last ones.
printf 'Patient: Jane Roe\nprivate: \U10FFFD\n' > "$dir/private.txt"
print -d chart "$dir/private.txt"
job_ends 'a character that no font has: the job is held' "$job" pending-held
has 'a character that no font has: the message names it' \
  "$(job_message "$job")" 'no font has the character U[+]10FFFD; print it as a PDF'
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
