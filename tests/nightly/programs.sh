#!/usr/bin/env bash
#
# programs.sh - common sources of print jobs: text and PostScript files, a
# spreadsheet and a mail merge of LibreOffice, web pages in Chromium and Firefox,
# a GTK program, a Java program, and a Windows program in Wine. For each, the
# service receives all pages and patients. A letter of LibreOffice is in office.sh,
# the characters of text files are in text.sh, and types and options are in types.sh
# and pages.sh.
#
# A program that is not installed is skipped with a message; in CI it is a
# failure.
. "$(dirname "$0")/../it/lib.sh"

is_there() # WHAT PACKAGES COMMAND...: false, with a message, if it is missing
{
  local what=$1 packages=$2
  shift 2
  "$@" > /dev/null 2>&1 && return
  leave_out "printing from $what" "apt-get install $packages"
  return 1
}

can_import() { /usr/bin/python3 -c "import $1"; }

# "SOURCES UPLOADS NAME PAGES" of what was sent since clear_results.
went()
{
  echo "$(calls create) $(calls put) $(cd "$results" &&
    jq -r '.files[]|"\(.name) \(.pages)"' $(manifests) | paste -sd '|')"
}

job=0 # the last one
newest_job() # 0: there is none
{
  { echo 0; lpstat -W all -o | sed -n 's/^[^ ]*-\([0-9]*\) .*/\1/p'; } |
    sort -n | tail -n 1
}
comes_after() { [ "$(newest_job)" -gt "$1" ]; } # ID

# The job of a program that does not report its ID.
job_comes() # TEXT
{
  until_true comes_after "$job" || not_ok "$1: there is a job"
  job=$(newest_job)
  job_ends "$1: the job is completed" "$job" completed
}

screen=
trap 'finish stop_screen' EXIT
start_screen() # sets DISPLAY
{
  rm -f "$dir/display"
  Xvfb -displayfd 3 -nolisten tcp 3> "$dir/display" > "$dir/xvfb.out" 2>&1 &
  screen=$!
  until_true test -s "$dir/display" || give_up "Xvfb starts: $(cat "$dir/xvfb.out")"
  DISPLAY=:$(cat "$dir/display")
  export DISPLAY
}
stop_screen()
{
  [ -z "$screen" ] || end_process "$screen"
  screen=
  unset DISPLAY
}

words() { pdftotext "$1" - | tr -s '\f\n ' ' '; }

# Java prints over TCP only.
start_sim
start_cupsd_on_a_port
add_queue chart
write_config "SeparatorPage $top/doc/separator-sample.pdf"

section 'a text file'

printf 'Patient: José Müller\nMRN: 4711\n\fsecond page\n' > "$dir/labor 7.txt"
print -d chart "$dir/labor 7.txt"
job_ends 'a text file: the job is completed' "$job" completed
is 'a text file: one PDF, with a page for each form feed' "$(went)" \
  '1 1 labor 7.pdf 2'
is 'a text file: its words' "$(sent)" \
  'Patient: José Müller MRN: 4711|second page'
is 'a text file: the patient' "$(patients)" 'Müller José 4711'

section 'PostScript'

cat > "$dir/chart.ps" << 'END'
%!PS-Adobe-3.0
%%Title: another title
%%Pages: 2
%%EndComments
/Helvetica findfont 12 scalefont setfont
%%Page: 1 1
72 700 moveto (Patient: Jane Roe) show 72 680 moveto (MRN: 4711) show showpage
%%Page: 2 2
/Helvetica findfont 12 scalefont setfont
72 700 moveto (second page) show showpage
%%EOF
END
clear_results
print -d chart "$dir/chart.ps"
job_ends 'PostScript: the job is completed' "$job" completed
is 'PostScript: one PDF of its pages' "$(went)" '1 1 chart.pdf 2'
is 'PostScript: the patient' "$(patients)" 'Roe Jane 4711'
clear_results
print -d chart -o page-ranges=2 "$dir/chart.ps"
job_ends 'PostScript, one page: the job is completed' "$job" completed
is 'PostScript: the selected page' "$(sent)" 'second page'
clear_results
{ head -n 6 "$dir/chart.ps"; echo 'nonsense'; } > "$dir/broken.ps"
print -d chart "$dir/broken.ps"
job_ends 'broken PostScript: the job is held' "$job" pending-held
is 'broken PostScript: nothing is sent' "$(calls create)" 0

section 'LibreOffice'

office() # ARGUMENT...: with a profile of its own
{
  HOME=$dir limited 120 "$dir/office.out" soffice --headless --norestore \
    "-env:UserInstallation=file://$dir/profile" "$@"
}

spreadsheet()
{
  local rows
  rows=$(seq -f 'day %.0f,7.2,13.5' 90)
  printf 'Patient: Jane Roe\nMRN: 4711\nday,WBC,HGB\n%s\n' "$rows" \
    > "$dir/values.csv"
  office --convert-to ods --outdir "$dir" "$dir/values.csv"
  office --convert-to pdf --outdir "$dir" "$dir/values.ods"
  clear_results
  office --pt chart "$dir/values.ods"
  job_comes 'a spreadsheet'
  is 'a spreadsheet: one PDF of as many pages as when exported' "$(went)" \
    "1 1 values.pdf $(qpdf --show-npages "$dir/values.pdf")"
  is 'a spreadsheet: the same words' "$(words "$(sent_files)")" \
    "$(words "$dir/values.pdf")"
  is 'a spreadsheet: the patient' "$(patients)" 'Roe Jane 4711'
}

# Three letters in one job. LibreOffice begins each on an odd page, and the
# queue's option for separators applies.
mail_merge()
{
  local pipe=${dir##*/} output
  mkdir "$dir/merge"
  printf '%s\n' first,last,mrn Ann,Ahrens,1 Bob,Berg,2 Cem,Can,3 \
    > "$dir/merge/patients.csv"
  add_queue letters CaseSeparators=Every2
  lpadmin -d letters
  clear_results
  office "--accept=pipe,name=$pipe;urp" &
  limited 90 "$dir/merge.out" "$top/tests/nightly/office-merge" "$pipe" "$dir/merge"
  is 'a mail merge: LibreOffice prints it' "$? $(cat "$dir/merge.out")" '0 '
  wait $!
  job_comes 'a mail merge'
  is 'a mail merge: one job, one PDF' "$(went)" '1 1 Untitled.pdf 7'
  is 'a mail merge: every letter is a case' \
    "$(n_results) $(patients | paste -sd '|')" \
    '3 Ahrens Ann 1|Berg Bob 2|Can Cem 3'
}

calc=/usr/lib/libreoffice/program/libsclo.so
if is_there 'LibreOffice' 'libreoffice-calc libreoffice-gtk3' \
  test -x "$(command -v soffice)" -a -e "$calc"; then
  spreadsheet
  ! is_there 'mail merge of LibreOffice' \
    'libreoffice-writer libreoffice-base libreoffice-base-drivers python3-uno' \
    can_import uno ||
    mail_merge
fi

section 'Chromium'

web_page()
{
  printf '%s' '<!DOCTYPE html><meta charset="utf-8"><title>x</title>' \
    '<script>document.title = "Report"</script>' \
    '<p>Patient: José Müller<p>MRN: 4711' \
    '<p style="break-before: page">second page' > "$dir/page.html"
  HOME=$dir limited 90 "$dir/chromium.out" chromium --headless --no-sandbox \
    --disable-gpu --user-data-dir="$dir/chromium" --no-pdf-header-footer \
    --print-to-pdf="$dir/web.pdf" "file://$dir/page.html"
  clear_results
  print -d chart -t 'https://lab.example/report?id=7' "$dir/web.pdf"
  job_ends 'a web page: the job is completed' "$job" completed
  has 'a web page: one PDF of two pages, with a plain name' "$(went)" \
    '^1 1 https[^/]*\.pdf 2$'
  is 'a web page: its words' "$(sent)" \
    'Patient: José Müller MRN: 4711|second page'
  is 'a web page: the patient' "$(patients)" 'Müller José 4711'
}

! is_there Chromium chromium command -v chromium || web_page

section 'a GTK program'

gtk_prints() # COPIES TITLE PAGE...
{
  start_screen
  HOME=$dir limited 60 "$dir/gtk.out" \
    "$top/tests/nightly/gtk-print" chart "$@"
  is 'a GTK program: it can print' "$?" 0
  stop_screen
}

gtk_program()
{
  clear_results
  gtk_prints 3 'Befund Müller' 'Patient: José Müller|MRN: 4711' 'second page'
  job_comes 'a GTK program'
  is 'a GTK program: one PDF of its pages, however many copies' "$(went)" \
    '1 1 Befund Müller.pdf 2'
  is 'a GTK program: its words' "$(sent)" \
    'Patient: José Müller MRN: 4711|second page'
  is 'a GTK program: the patient' "$(patients)" 'Müller José 4711'
}

! is_there 'a GTK program' \
  'python3-gi python3-gi-cairo gir1.2-gtk-3.0 xvfb' \
  can_import gi,cairo || ! is_there Xvfb xvfb command -v Xvfb || gtk_program

section 'a Java program'

java_program()
{
  cat > "$dir/Chart.java" << 'END'
  import java.awt.Graphics;
  import java.awt.print.PageFormat;
  import java.awt.print.PrinterJob;
  import javax.print.PrintService;
  import javax.print.PrintServiceLookup;

  class Chart {
    static int draw(Graphics g, PageFormat format, int page) {
      String[][] pages = {{"Patient: José Müller", "MRN: 4711"}, {"second page"}};
      if (page == pages.length)
        return java.awt.print.Printable.NO_SUCH_PAGE;
      for (int i = 0; i < pages[page].length; i++)
        g.drawString(pages[page][i], 100, 100 + 20 * i);
      return java.awt.print.Printable.PAGE_EXISTS;
    }

    public static void main(String[] args) throws Exception {
      PrinterJob job = PrinterJob.getPrinterJob();
      for (PrintService s : PrintServiceLookup.lookupPrintServices(null, null))
        if (s.getName().equals(args[0]))
          job.setPrintService(s);
      job.setJobName("Befund 7");
      job.setPrintable(Chart::draw);
      job.print();
    }
  }
END
  clear_results
  CUPS_SERVER=localhost:$port limited 120 "$dir/java.out" java \
    -Djava.awt.headless=true -Dfile.encoding=UTF-8 "$dir/Chart.java" chart
  is 'a Java program: it can print' "$? $(grep -m 3 . "$dir/java.out")" '0 '
  job_comes 'a Java program'
  has 'a Java program: one PDF of two pages' "$(went)" '^1 1 .*\.pdf 2$'
  is 'a Java program: its words' "$(sent)" \
    'Patient: José Müller MRN: 4711|second page'
  is 'a Java program: the patient' "$(patients)" 'Müller José 4711'
}

! is_there 'a Java program' 'default-jdk-headless libharfbuzz0b cups-bsd' \
  test -x "$(command -v javac)" -a -x "$(command -v lpr)" || java_program

section 'Firefox'

# It prints through GTK, without a dialog, to the printer that a user chose last,
# as programs for kiosks set it up.
firefox_prints()
{
  local profile=$dir/firefox browser
  mkdir "$profile"
  cat > "$profile/user.js" << 'END'
user_pref("print.always_print_silent", true);
user_pref("print_printer", "chart");
user_pref("print.printer_chart.print_headerleft", "");
user_pref("print.printer_chart.print_headerright", "");
user_pref("print.printer_chart.print_footerleft", "");
user_pref("print.printer_chart.print_footerright", "");
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
END
  printf '%s' '<!DOCTYPE html><meta charset="utf-8"><title>Befund 7</title>' \
    '<body onload="print()"><p>Patient: José Müller<p>MRN: 4711' \
    '<p style="break-before: page">second page' > "$dir/print.html"
  clear_results
  start_screen
  HOME=$dir firefox-esr --no-remote --profile "$profile" \
    "file://$dir/print.html" > "$dir/firefox.out" 2>&1 &
  browser=$!
  job_comes Firefox
  end_process "$browser"
  stop_screen
  is 'Firefox: one PDF of two pages' "$(went)" '1 1 Befund 7.pdf 2'
  is 'Firefox: its words' "$(sent)" \
    'Patient: José Müller MRN: 4711|second page'
  is 'Firefox: the patient' "$(patients)" 'Müller José 4711'
}

! is_there Firefox 'firefox-esr xvfb' command -v firefox-esr ||
  ! is_there Xvfb xvfb command -v Xvfb || firefox_prints

section 'a Windows program'

# Notepad of Wine, with the option by which Windows programs let another one print
# a document. It shows its dialog first, with the default printer. It lacks /pt,
# which names a printer. Wine's 32-bit programs are not needed.
in_wine() # COMMAND...
{
  HOME=$dir WINEPREFIX=$dir/wine WINEDEBUG=-all \
    WINEDLLOVERRIDES='mscoree,mshtml=' "$@" > "$dir/wine.out" 2>&1
}

asks() { xdotool search --onlyvisible --name '^Print$' > "$dir/windows" 2>&1; }

windows_program()
{
  printf 'Patient: José Müller\r\nMRN: 4711\r\n' |
    iconv -t WINDOWS-1252 > "$dir/befund.txt"
  lpadmin -d chart
  clear_results
  start_screen
  in_wine wine notepad /p "Z:${dir//\//\\}\\befund.txt" &
  WAIT_S=240 until_true asks ||
    not_ok 'Notepad: it asks' "$(cat "$dir/wine.out" "$dir/windows")"
  xdotool key Return
  job_comes Notepad
  in_wine wineserver -k
  wait $!
  stop_screen
  has 'Notepad: one PDF of one page' "$(went)" '^1 1 .*befund.*\.pdf 1$'
  has 'Notepad: its words, between the name and the page number' "$(sent)" \
    'befund\.txt Patient: José Müller MRN: 4711 Page 1$'
  is 'Notepad: the patient' "$(patients)" 'Müller José 4711'
}

! is_there 'a Windows program' wine command -v wine ||
  ! is_there xdotool xdotool command -v xdotool ||
  ! is_there Xvfb xvfb command -v Xvfb || windows_program
