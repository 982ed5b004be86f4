#!/usr/bin/env bash
#
# machine.sh - other accounts of the print server: what they can see of our
# processes while these wait, and in core files.
. "$(dirname "$0")/../it/lib.sh"

start_all
chart_pdf "$dir/MARKFILE.pdf" Ann Ahrens 1

# --- processes ---------------------------------------------------------

arguments() { tr '\0' '\n' < "/proc/$1/cmdline"; }
shows_no_mark() { ! arguments "$1" | grep -q MARK; }
# As the user that the process runs as: nobody but root may see more.
as_the_same_user() { (as_run_user "$@") 2>&1; }

hides() # TEXT PID
{
  check "$1: no title, user, option or file is in the process list" \
    until_true shows_no_mark "$2"
  hasnt "$1: or in its names and files" "$(cat "/proc/$2/comm" \
    "/proc/$2/status"; ls -l "/proc/$2/fd" "/proc/$2/cwd" 2>&1)" MARK
  has "$1: its environment is root's" \
    "$(as_the_same_user cat "/proc/$2/environ" | tr '\0' '\n')" \
    'Permission denied'
  has "$1: its files are root's" "$(as_the_same_user ls "/proc/$2/fd")" \
    'Permission denied'
  has "$1: it leaves no core file" "$(cat "/proc/$2/limits")" \
    'Max core file size +0 +0 '
}

faults 'source * word processing'
start_daemon
print -U MARKUSER -t MARKTITLE -o MARKOPTION=1 -d chart "$dir/MARKFILE.pdf"
until_true calls_are source 1
backend=$(backends)
hides 'a backend that waits' "$backend"
is 'it shows which job it drives' "$(arguments "$backend" | head -n 2 | xargs)" \
  "docextract://default $job"
hides docextractd "$DAEMON_PID"

cd "$dir" || exit 1
ulimit -c unlimited 2> "$dir/ulimit.err"
"$docextract" -c "$config" submit --title MARKTITLE MARKFILE.pdf \
  > "$dir/submit.out" 2>&1 &
submit=$!
until_true calls_are put 2
hides 'docextract submit' "$submit"
end_process "$submit" ABRT 2> "$dir/abort.err"
is 'killed by SIGABRT, it leaves nothing' "$(ls -d core* 2> /dev/null)" ''

mkfifo "$dir/document"
for filter in checkdocextract todocextract; do
  DEVICE_URI=docextract://default CUPS_SERVERROOT=$cups/root as_run_user \
    "$build/$filter" 1 MARKUSER MARKTITLE 1 MARKOPTION=1 \
    < "$dir/document" > "$dir/filter.out" 2> "$dir/filter.err" &
  pid=$!
  exec 8> "$dir/document"
  hides "$filter" "$pid"
  exec 8>&-
  wait "$pid"
  is "$filter: it ends" $? 0
done

faults '#'
job_ends 'the job is extracted' "$job" completed
is 'with its title' "$(jq -r '"\(.job.user) \(.job.title)"' \
  "$results"/*.job.json | grep MARKUSER)" 'MARKUSER MARKTITLE'
