#!/usr/bin/env bash
#
# web.sh - the web interface of CUPS, clicked through in a real browser: add
# the printer, choose how cases are separated, print, read the outcome.
#
#   SCREENSHOTS=doc/images tests/nightly/web.sh   also makes the screenshots
#
# Without a browser, the test is skipped with a message; in CI, this is a
# failure.
. "$(dirname "$0")/../it/lib.sh"
. "$it/browser.sh"

command -v chromedriver > /dev/null || leave_out_all \
  'the web interface in a browser' 'apt-get install chromium chromium-driver'

# Ours among the drivers that CUPS brings.
make_data()
{
  local f
  DATA_DIR=$dir/data
  mkdir -p "$DATA_DIR/model"
  for f in /usr/share/cups/*; do
    [ "${f##*/}" = model ] || ln -s "$f" "$DATA_DIR/"
  done
  cp "$build/ppd/docextract.ppd" "$DATA_DIR/model/"
  chmod 755 "$DATA_DIR" "$DATA_DIR/model"
}

# What users who print see. Asked at the port: the response has the address
# from which the driver is fetched.
default_of() # OPTION
{
  CUPS_SERVER=localhost:$port lpoptions -p chart -l |
    sed -n "s/^$1\/.* \*\([^ ]*\).*/\1/p"
}

options_page()
{
  open_page "$site/printers/chart"
  choose OP set-printer-options
  follow 'Document extraction' # CUPS does not translate it here
}

# CUPS reports success, and goes back to the page of the printer.
is_set() { shows 'has been set successfully' || shows 'Accepting Jobs'; }

set_separators() # CHOICE [PAGES]
{
  options_page
  choose CaseSeparators "$1"
  [ $# -lt 2 ] || type_into CaseSeparators.Pages "$2"
  picture options
  click "//div[@id='Extraction']//input[@type='SUBMIT']"
  until_true is_set || give_up "options can be set: $(page_text)"
}

trap 'finish stop_browser' EXIT
make_data
start_sim
WEB_INTERFACE=Yes start_cupsd_on_a_port
site=http://localhost:$port
"$it/mkpdf" "$dir/separator.pdf" 'DOCEXTRACT CASE SEPARATOR'
chmod 644 "$dir/separator.pdf"
write_config "SeparatorPage $dir/separator.pdf"
start_browser

# --- adding the printer ----------------------------------------------------

open_page "$site"
follow Administration
press 'Add Printer'
until_true shows 'Document Extraction Service (127.0.0.1)'
has 'the service is listed among the printers' "$(page_text)" \
  'Document Extraction Service \(127.0.0.1\) \(Document Extraction Service\)'
device="@name='DEVICE_URI' and starts-with(@value, 'docextract://default|')"
click "//input[$device]"
picture add-printer
press Continue
type_into PRINTER_NAME chart
press Continue
seek "//select[@name='PPD_NAME']"
check 'the driver is chosen already' is_there \
  "//select[@name='PPD_NAME']/option[@selected and @value='docextract.ppd']"
press 'Add Printer'
check 'the printer is added' until_true shows 'has been added'
is 'the queue accepts jobs' "$(lpstat -a chart | grep -c accepting)" 1

# --- its options -----------------------------------------------------------

set_separators Every2
is 'a separator page after every 2 pages is the default' \
  "$(default_of CaseSeparators)" Every2

pages=()
for name in Ahrens Berg Can Dorn; do
  pages+=("$(mkchart A "$name" 1 03/07/1984 7.2 13.5)")
done
"$it/mkpdf" "$dir/four.pdf" "${pages[@]}"
print -d chart -U reception -t 'Two charts' "$dir/four.pdf"
job_ends 'four pages are extracted' "$job" completed
is 'four pages are two cases' "$(n_results)" 2

set_separators Custom 3
is 'so is one after any number of pages' "$(default_of CaseSeparators)" \
  Custom.INTEGER
options_page
is 'the page shows the number on the next visit' \
  "$(value_of CaseSeparators) $(value_of CaseSeparators.Pages)" 'Custom 3'
clear_results
print -d chart -U reception -t 'Two charts' "$dir/four.pdf"
job_ends 'they are extracted' "$job" completed
is 'a case of three pages and one of the fourth' "$(n_results)" 2

# --- the outcome -----------------------------------------------------------

open_page "$site/printers/chart?which_jobs=completed"
check 'the page of the printer reports the outcome' \
  until_true shows '"Extracted 2 cases"'
picture finished

faults 'source * word processing'
print -d chart "$dir/four.pdf"
waits() { [[ $(job_message "$job") = *'waiting for its result'* ]]; }
until_true waits # the page does not change by itself
open_page "$site/printers/chart"
check 'and the reason why a job waits' until_true shows \
  'The chart is with the service; waiting for its result'
faults '#'
job_ends 'it continues' "$job" completed

qpdf --encrypt secret secret 256 -- "$dir/four.pdf" "$dir/locked.pdf"
print -d chart -U reception -t 'A locked chart' "$dir/locked.pdf"
job_ends 'a document with a password is held' "$job" pending-held
why='The chart was not extracted: it is password-protected'
open_page "$site/jobs"
check 'the page of jobs has the reason' until_true shows "$why"
picture held
open_page "$site/printers"
check 'so does the list of printers' until_true shows "$why"

# --- in another language ---------------------------------------------------

stop_browser
start_browser de
options_page
has 'a German sees German words' "$(page_text)" \
  'Trennblatt zwischen den Fällen'
