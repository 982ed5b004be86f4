#!/usr/bin/env bash
#
# shared.sh - a queue shared by CUPS: another computer's scheduler prints to it
# through an `-m everywhere` queue. What arrives is what was chosen there, once.
# The other computer is a second private cupsd, which connects to the port of
# the first; the jobs of the first are tested in types.sh, pages.sh, and
# many.sh.
. "$(dirname "$0")/lib.sh"
. "$it/client.sh"

far() # TEXT QUEUE LP ARGUMENT...: prints there, and waits for both ends
{
  local text=$1 queue=$2
  shift 2
  clear_results
  on_client print -d "$queue" "$@"
  on_client job_ends "$text: the job ends on the other computer" "$job" completed
  check "$text: and on this one" until_true no_job_waits chart
}

chosen() # TEXT PAGES LP ARGUMENT...: what arrives, once
{
  local text=$1 pages=$2
  shift 2
  far "$text" far "$@"
  is "$text: the pages" "$(sent)" "$pages"
  is "$text: once, with a result" \
    "$(calls create) $(calls put) $(n_results) $(n_manifests)" '1 1 1 1'
}

manifest_has() { jq -c "$1" "$results/$(manifests | head -n 1)"; }

start_sim
start_cupsd_on_a_port
add_queue chart
on_client start_client
on_client add_shared far -m everywhere
"$it/mkpdf" "$dir/five.pdf" p1 p2 p3 p4 p5
"$it/mkpdf" "$dir/two.pdf" q1 q2
"$it/mkpdf" "$dir/separator.pdf" separator
chmod 644 "$dir/separator.pdf"
[ "$(id -u)" != 0 ] || chgrp "$run_group" "$dir/separator.pdf"
write_config "SeparatorPage $dir/separator.pdf"

# --- an `-m everywhere` queue ----------------------------------------------

chart_pdf "$dir/chart.pdf" José Müller 004711 'a second page'
far 'a PDF' far -t 'Befund Müller' "$dir/chart.pdf"
is 'a PDF: its values come back' "$(patients)" 'Müller José 004711'
is 'a PDF: once' "$(calls create) $(calls put) $(n_results)" '1 1 1'
is 'title, user and pages are those of the other computer' \
  "$(manifest_has '[.job.title,.job.user,.files[0].name,.files[0].pages]')" \
  "[\"Befund Müller\",\"$(id -un)\",\"Befund Müller.pdf\",2]"

chosen 'page ranges and copies' 'p2|p4|p5' -n 3 -o page-ranges=2,4-9 \
  "$dir/five.pdf"
chosen 'two pages on one, in reverse order' 'p1|p2|p3|p4|p5' -o number-up=2 \
  -o outputorder=reverse "$dir/five.pdf"
# lp sends it, although no dialog shows it there.
chosen 'separators between cases' 'p1|p2|separator|p3|p4|separator|p5' \
  -o CaseSeparators=Every2 "$dir/five.pdf"
chosen 'a job sheet is not sent' 'q1|q2' -o job-sheets=standard "$dir/two.pdf"

pdftoppm -jpeg -r 30 -singlefile "$dir/chart.pdf" "$dir/scan"
far 'a JPEG' far "$dir/scan.jpg"
is 'a JPEG: once, unchanged' "$(calls create) $(n_results) $(
  cmp "$(sent_files)" "$dir/scan.jpg" && echo same)" '1 1 same'
is 'a JPEG: its type' "$(manifest_has '.files[0]|[.name,.content_type]')" \
  '["scan.jpg","image/jpeg"]'

printf 'Patient: Jane Roe\fMRN: 815\n' > "$dir/note.txt"
far 'a text file' far "$dir/note.txt"
is 'a text file: once, as a PDF of two pages' \
  "$(calls create) $(n_results) $(manifest_has '.files[0]|[.name,.pages]')" \
  '1 1 ["note.pdf",2]'

# A job that is held here is completed there.
qpdf --encrypt secret owner 256 -- "$dir/five.pdf" "$dir/locked.pdf"
clear_results
on_client print -d far "$dir/locked.pdf"
on_client job_ends 'a locked PDF: the job leaves the other computer' "$job" \
  completed
one_is_held() { lpstat -o chart | grep -q . && queue_state chart | grep -q idle; }
until_true one_is_held
has 'a locked PDF: it is held here with a reason' \
  "$(queue_state chart)" 'password'
is 'a locked PDF: nothing is sent' "$(calls create)" 0
cancel -a chart
is 'the queue continues' "$(print -d chart "$dir/two.pdf"
  job_ends x "$job" completed)" 'ok - x'

# Of several documents, CUPS there would send only the first; printed straight
# to this computer, all of them arrive.
clear_results
print -h "localhost:$port" -d chart -o page-ranges=1-2 "$dir/five.pdf" \
  "$dir/scan.jpg" "$dir/two.pdf"
job_ends 'three documents straight to this computer' "$job" completed
is 'all of them arrive' "$(calls create) $(n_results)" '3 3'

# --- other ways to share ---------------------------------------------------

# Without a driver of its own the other computer passes on all documents, but
# gives them all the type of the first one.
on_client add_shared plain -m raw
far 'a raw queue there, two documents' plain -o page-ranges=1-2 \
  -o DocumentGrouping=Together "$dir/five.pdf" "$dir/two.pdf"
is 'the pages of both, in one source' "$(sent) $(calls create)" 'p1|p2#q1|q2 1'

# Only a raw queue forwards text as text: an `-m everywhere` queue converts it
# to a PDF from which no text can be extracted.
far 'a raw queue there, a text file' plain "$dir/note.txt"
is 'its words' "$(sent)" 'Patient: Jane Roe|MRN: 815'

# Our driver there would send bundles, which are printed as text here.
on_client add_shared ours -P "$build/ppd/docextract.ppd"
clear_results
on_client print -d ours "$dir/two.pdf"
stops() { job_is "$job" 'processing-stopped|aborted|pending-held|completed'; }
on_client until_true stops
is 'our driver on the other computer: the job stops there' \
  "$(on_client job_state "$job")" processing-stopped
# cupsd shows these words, or that a filter failed if it hears of that first.
check 'and the log there gives advice' \
  grep -qa "^W .*\[Job $job\].*-m everywhere" "$client/log/error_log"
check 'and the user is referred to the administrator' grep -qa \
  "^E .*\[Job $job\] Contact your administrator" "$client/log/error_log"
is 'nothing arrives' "$(lpstat -o) $(calls create)" ' 0'

on_client stop_cupsd
