#!/usr/bin/env bash
#
# notify.sh - docextract-notify: the outcome of a user's charts is shown on the
# desktop of that user, once, even if programs are restarted meanwhile. The
# desktop is a program that prints what it is to show; a real one is in
# desktop.sh.
. "$(dirname "$0")/lib.sh"
. "$it/session.sh"
end_desktop()
{
  hasnt 'nothing identifies the patient' "$(cat "$dir/desktop")" \
    'Ahrens|Ann|4711|a\.pdf'
  stop_desktop
  clear_session
}
trap 'finish end_desktop' EXIT

DESKTOP_PID=
: > "$dir/desktop"
has_said_again() { [ "$(grep -cx "$1" "$dir/desktop")" -gt "$2" ]; } # WORD BEFORE
says_again() # WORD COMMAND...: after it, the desktop prints the word
{
  local word=$1 before
  before=$(grep -cx "$1" "$dir/desktop")
  "${@:2}"
  until_true has_said_again "$word" "$before" ||
    give_up "the desktop: $(cat "$dir/desktop.err")"
}
start_desktop() { says_again ready run_desktop; }
run_desktop()
{
  "$build/tests/it/notified" >> "$dir/desktop" 2> "$dir/desktop.err" &
  DESKTOP_PID=$!
}
stop_desktop()
{
  [ -z "$DESKTOP_PID" ] || end_process "$DESKTOP_PID"
  DESKTOP_PID=
}

shown() # JOB: all that was shown about it, without ID
{
  grep -E "(Print job|Druckauftrag) chart-$1:" "$dir/desktop" | cut -d ' ' -f 2-
}
is_shown() { [ -n "$(shown "$1")" ]; }
has_shown() { shown "$1" | grep -Eq -e "$2"; } # JOB PATTERN

job_shows() # TEXT JOB LINE
{
  until_true is_shown "$2"
  is "$1" "$(shown "$2")" "$3"
}

# Ends are shown in their order: once another one is shown, nothing more can
# come of this one.
another_is_shown()
{
  print -d chart "$dir/a.pdf"
  until_true is_shown "$job" || not_ok "$t: another chart is shown"
}

nothing_is_twice() # TEXT
{
  another_is_shown # and nothing more of the others
  is "$1: nothing was shown twice" "$(grep -F '|' "$dir/desktop" |
    cut -d '|' -f 3 | sort | uniq -d)" ''
}

has_result() { [ "$(n_results)" -gt "$1" ]; }
has_finished() { [ "$(find "$spool/finished" -name job.json | wc -l)" = "$1" ]; }

extracted='1 printer|Chart extracted|Print job chart'
ask='If you need help, ask your administrator.'

chart_pdf "$dir/a.pdf" Ann Ahrens 4711
qpdf --encrypt secret owner 256 -- "$dir/a.pdf" "$dir/locked.pdf"
start_sim --source-time 0 --case-time 0
start_cupsd
write_config
add_queue chart
start_daemon
start_bus
start_desktop
start_notify
state=$dir/state/docextract/shown-$(uname -n)
until_true test -e "$state" # until it runs, a signal would meet this shell

section 'kinds of charts'

t='a chart'
print -d chart -t Ahrens-4711 "$dir/a.pdf"
job_shows "$t: it is shown" "$job" "$extracted-$job: Extracted 1 case"

t='the chart of another user'
print -d chart -U another "$dir/a.pdf"
other=$job
another_is_shown
is "$t: it is not shown" "$(shown "$other")" ''

t='a chart that was submitted without CUPS'
before=$(grep -cF '|' "$dir/desktop")
dx submit "$dir/a.pdf" > "$dir/submit" 2>&1
another_is_shown
is "$t: it is not shown" "$(grep -cF '|' "$dir/desktop")" $((before + 1))

t='a refused chart'
print -d chart "$dir/locked.pdf"
until_true is_shown "$job"
has "$t: it is shown with the reason, until it is closed" "$(shown "$job")" \
  "^2 printer-error\|Chart refused\|.*-$job: The chart .*: it is .*password.* $ask\$"

t='a canceled chart'
cancel "$job"
canceled=$job
another_is_shown
is "$t: it is not shown again" "$(shown "$canceled" | wc -l)" 1

t='a job of several documents'
faults "extract $(($(calls extract) + 2))- status 204"
print -d chart "$dir/a.pdf" "$dir/a.pdf" "$dir/locked.pdf"
several=$job
two_have_ended()
{
  dx jobs --json | jq -e --arg id "$several" '.[] | select(.id == $id) |
    .submissions | any(.state == "extracted") and any(.state == "refused")' \
    > "$dir/null"
}
until_true two_have_ended || not_ok "$t: two of them have ended"
is "$t: nothing is shown before the last one has ended" "$(shown "$several")" ''
faults '#'
until_true is_shown "$several" || not_ok "$t: it is shown"
has "$t: it is shown once" "$(shown "$several")" \
  "^2 printer-error\|Chart refused\|.*-$several: 2 of 3 documents extracted; document 3: it is .*password.* $ask\$"
cancel "$several"

t='a chart that fails after its print job has ended'
write_config 'Completion accepted'
faults "create $(($(calls create) + 1)) status 422"
print -d chart "$dir/a.pdf" "$dir/a.pdf"
failed_job=$job
until_true is_shown "$job" || not_ok "$t: it is shown"
has "$t: it is shown with advice" "$(shown "$job")" \
  "^2 printer-error\|Chart not extracted\|.*-$job: 1 of 2 documents extracted; document [12]: the service .* $ask\$"
job_ends "$t: the print job is completed" "$job" completed
faults '#'

t='a chart that is retried'
dx retry "chart-$failed_job" > "$dir/retry" 2>&1
until_true has_shown "$failed_job" "Chart extracted.*-$failed_job: Extracted 2 cases" ||
  not_ok "$t: what happens then is shown" "$(cat "$dir/retry")"

section 'restarts'

t='docextractd is killed'
write_config
faults 'source * word processing'
polls=$(calls source)
print -d chart "$dir/a.pdf"
until_true calls_are source $((polls + 1))
stop_daemon KILL
faults '#'
is "$t: nothing is shown" "$(shown "$job")" ''
start_daemon
job_shows "$t: it is shown when docextractd runs again" "$job" \
  "$extracted-$job: Extracted 1 case"

# Killed before what was shown is saved, it shows it again.
t='docextract-notify is killed, and the clock was ahead'
until_true grep -q "$(of_journal "$job" .key)" "$state"
stop_notify KILL
echo '4102444800000 begin' >> "$state"
results_before=$(n_results)
print -d chart "$dir/a.pdf"
until_true has_result "$results_before"
start_notify
job_shows "$t: what ended meanwhile is shown" "$job" "$extracted-$job: Extracted 1 case"

t='the desktop is started late'
stop_desktop
before=$(grep -c 'cannot show' "$dir/notify.err")
cannot_show() { [ "$(grep -c 'cannot show' "$dir/notify.err")" -gt "$before" ]; }
print -d chart "$dir/a.pdf"
until_true cannot_show || not_ok "$t: a notification is not shown"
start_desktop
job_shows "$t: it is shown then" "$job" "$extracted-$job: Extracted 1 case"

t='twice in a session'
first=$NOTIFY_PID
start_notify
second=$NOTIFY_PID
another_is_shown
is "$t: one shows it" "$(shown "$job")" "$extracted-$job: Extracted 1 case"
end_process "$first"
another_is_shown
is "$t: then the other one does" "$(shown "$job")" "$extracted-$job: Extracted 1 case"
nothing_is_twice "$t"

section 'another language'

t='a user of another language'
stop_notify
LC_MESSAGES=de_DE.UTF-8 LC_ALL='' start_notify
print -d chart "$dir/locked.pdf"
job_shows "$t: the notification is in it" "$job" "2 printer-error|Dokument \
abgelehnt|Druckauftrag chart-$job: Das Dokument wurde nicht ausgelesen – es ist \
mit einem Kennwort geschützt; bitte öffnen Sie es mit dem Kennwort und drucken \
Sie es von dort. Wenn Sie Hilfe brauchen, fragen Sie Ihren Administrator."
cancel "$job"

nothing_is_twice "$t"

section 'several at once'

# In whatever order docextractd reports them.
t='a desktop that fails after one of several charts'
stop_notify
stop_desktop
rm -rf "$spool"/finished/*
jobs=()
for hours in 1 2 3 4; do
  results_before=$(n_results)
  print -d chart "$dir/a.pdf"
  jobs+=("$job")
  until_true has_result "$results_before"
  until_true has_finished "$hours"
done
hours=0
for journal in "$spool"/finished/*/job.json; do
  hours=$((hours + 1))
  at=$(date -u -d "$hours hours ago" +%FT%TZ)
  jq --arg at "$at" '.submissions[0].delivered_at = $at' "$journal" > "$dir/new"
  cat "$dir/new" > "$journal"
done
printf '%s000 begin\n' "$(date -d '9 hours ago' +%s)" > "$state"
before=$(grep -c 'cannot show' "$dir/notify.err")
DX_LIMIT=1 start_desktop
start_notify
until_true cannot_show || not_ok "$t: a notification is not shown"
stop_desktop
start_desktop
for job in "${jobs[@]}"; do
  job_shows "$t: chart $job is shown" "$job" "$extracted-$job: Extracted 1 case"
done
stop_notify
check "$t: it exits on SIGTERM" [ -z "$NOTIFY_PID" ]

section 'ends of the last minute'

# Ends are requested since a minute before the last one, in whole seconds.
t='an end in the second in which the last minute begins'
stop_notify
rm -rf "$spool"/finished/*
print -d chart "$dir/a.pdf"
until_true has_finished 1
journal=$(echo "$spool"/finished/*/job.json)
at=$(date -d '2 hours ago' +%s)
jq --arg at "$(date -u -d "@$at" +%FT%TZ)" \
  '.submissions[0].delivered_at = $at' "$journal" > "$dir/new"
cat "$dir/new" > "$journal"
key=${journal%/*}
printf '%s\n' "${at}000 ${key##*/}" "$((at + 60))900 begin" \
  > "$state"
shown_once=$job
start_notify
another_is_shown
is "$t: it is not shown again" "$(shown "$shown_once")" ''
stop_notify
