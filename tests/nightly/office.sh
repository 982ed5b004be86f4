#!/usr/bin/env bash
#
# office.sh - a letter written with LibreOffice, printed from LibreOffice. Needs
# soffice with CUPS support. If it is not installed, the test is skipped with a
# message; in CI, this is a failure.
. "$(dirname "$0")/../it/lib.sh"

command -v soffice > /dev/null || leave_out_all 'printing from LibreOffice' \
  'apt-get install libreoffice-writer libreoffice-gtk3'

office() # ARGUMENT...: with a profile of its own
{
  HOME=$dir limited 120 "$dir/office.out" soffice --headless \
    "-env:UserInstallation=file://$dir/profile" "$@"
}

start_all
letter='Patient: Jane Roe
MRN: 4711
WBC 7.2 10^3/uL 4.0 - 11.0
José Müller Łukasz Żółć, Ωμέγα, Кириллица, ½ µg/dl, 37.5 °C, ≤ 5 ± 0.1 €'
printf '%s\n' "$letter" > "$dir/letter.txt"
office --infilter='Text (encoded):UTF8,LF' --convert-to odt --outdir "$dir" \
  "$dir/letter.txt"
check 'LibreOffice makes a letter' test -s "$dir/letter.odt"
office --pt chart "$dir/letter.odt"
job_known() { [ -n "$(job_state 1)" ]; }
until_true job_known
job_ends 'a letter printed by LibreOffice is extracted' 1 completed
is 'its values are there' "$(patients)" 'Roe Jane 4711'
is 'every character is there' "$(pdftotext "$(sent_files)" - | bare)" \
  "$(bare <<< "$letter")"
is 'it went as one PDF' "$(calls create '.files==1') $(calls put)" '1 1'
