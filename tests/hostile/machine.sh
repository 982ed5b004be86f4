#!/usr/bin/env bash
#
# machine.sh - other accounts of the print server: the information that they can
# read about waiting processes, and the files that a member of the group can
# create in the results directory.
. "$(dirname "$0")/../it/lib.sh"

start_all
chart_pdf "$dir/MARKFILE.pdf" Ann Ahrens 1

# --- processes ---------------------------------------------------------

arguments() { tr '\0' '\n' < "/proc/$1/cmdline"; }
# Once it is our program, and no longer the shell that started it.
shows_no_mark()
{
  grep -q docextract "/proc/$1/comm" && ! arguments "$1" | grep -q MARK
}
# As the user that the process runs as: only root may see more.
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
CUPS_SERVERBIN=$cups/bin "$docextract" -c "$config" submit --title MARKTITLE MARKFILE.pdf \
  > "$dir/submit.out" 2>&1 &
submit=$!
until_true calls_are put 2
hides 'docextract submit' "$submit"
end_process "$submit" ABRT 2> "$dir/abort.err"
is 'killed by SIGABRT, it leaves nothing' "$(ls -d core* 2> /dev/null)" ''

mkfifo "$dir/document"
for filter in todocextract todocextract-check; do
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
check 'and that of the killed command, too' until_true extracted 2
is 'with its title' "$(jq -r '"\(.job.user) \(.job.title)"' \
  "$results"/*.job.json | grep MARKUSER)" 'MARKUSER MARKTITLE'

# --- the results directory -----------------------------------------------

# As a user who may write there, but is not the user of the backends.
member()
{
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid nobody --regid "$run_group" --clear-groups "$@"
  else
    "$@"
  fi
}
plant() { member sh -c "umask 0; cd '$results' && $1"; } # COMMAND
journal() # FILTER: of the print job
{
  jq -r "select(.id == \"$job\") | $1" "$spool"/{jobs,finished}/*/job.json \
    2> "$dir/jq.err"
}
names() { journal '.submissions[] | "\(.source_id) \(.cases[0].id)"'; }
all_have_cases() { [ "$(names | grep -vc null)" = 3 ]; }

clear_results
write_config
for n in 1 2 3; do chart_pdf "$dir/$n.pdf" Ann "Ahrens$n" "$n"; done
faults 'extract * status 204'
print -d chart "$dir/1.pdf" "$dir/2.pdf" "$dir/3.pdf"
until_true all_have_cases
for n in 0 1 2; do read -r 'source[n]' 'case[n]'; done < <(names)
echo precious > "$dir/precious"
chmod 666 "$dir/precious"
plant "ln -s '$dir/precious' '${source[0]}-${case[0]}.json'"
plant "mkdir '${source[0]}.job.json' && touch '${source[0]}.job.json/inside'"
plant "mkfifo '${source[1]}-${case[1]}.json'"
plant "ln -s '$dir/new' '${source[1]}.job.json'"
as_the_same_user sh -c "echo '{}' > '$results/${source[2]}-${case[2]}.json'"
faults '#'
job_ends 'a job whose names are taken is held' "$job" pending-held
has 'the reason calls the administrator' "$(queue_message "$job")" \
  'Contact your administrator: .* another file has the name of'
has 'who reads the name of the file' "$(dx jobs)" \
  "another file '${source[2]}-${case[2]}.json'"
is 'what another service has delivered stays' \
  "$(cat "$results/${source[2]}-${case[2]}.json")" '{}'
is 'what links lead to stays' "$(cat "$dir/precious" && ls "$dir/new" 2>&1 |
  grep -c 'No such file')" $'precious\n1'
is 'everything planted is moved out of the way' "$(find "$results" \
  -regextype posix-extended -regex '.*\.json\.[0-9a-f]{16}' ! -type f | wc -l)" 4
is 'the other results are files of ours' "$(cd "$results" && stat -c '%F %a' \
  "${source[0]}"{-"${case[0]}",.job}.json "${source[1]}"{-"${case[1]}",.job}.json |
  sort | uniq -c | xargs)" '4 regular file 640'
mv "$results/${source[2]}-${case[2]}.json" "$dir/moved"
release "$job"
is 'released, it is extracted' "$(job_state "$job")" completed
is 'nothing is sent again' "$(calls create) $(calls put)" '3 3'
is 'every result is there' "$(find "$results" -name '*.json' -type f | wc -l)" 6
