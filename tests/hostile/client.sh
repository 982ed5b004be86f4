#!/usr/bin/env bash
#
# client.sh - hostile titles, names, and options, and a full disk: no document
# is lost, no command is run, and no control character reaches a log, a message,
# the terminal, the service, or programs that read the results. A job of a
# thousand documents is in tests/long/documents.sh.
#
# Most jobs are passed to the filter and the backend without cupsd, which would
# reject some of the data; time runs faster for them (tests/crash/preload.c).
. "$(dirname "$0")/../it/lib.sh"

preload=$build/tests/crash/preload.so
sealed=$build/tests/helper/sealed
[ -x "$sealed" ] || give_up 'sealed is built (make tests/helper/sealed)'
[ -e "$preload" ] || give_up 'preload.so is built (make tests/crash/preload.so)'

# --- what people write -----------------------------------------------------

colors=$'\033[31mred\033[0m\a\b'
lines=$'a\nERROR: forged\r\nSTATE: +forged-error\nATTR: forged=1'
c1=$'CSI \u009b31m NEL \u0085'
bidi=$'chart\u202efdp.exe\u2066x\u2069\u200f'
bytes=$'M\xfcller \xff\xfe \xc3 \xed\xa0\x80 \xf8\x88\x80\x80\x80'
shell="\$(touch $dir/ran) \`touch $dir/ran\`; touch $dir/ran #\"'|&<>\\"
paths='../../../../etc/cron.d/x /etc/passwd ..\..\x'
formats='%s%s%s%n%n%99999d'
markup='</Service> {"outcome":"extracted"} <script>'
long=$(printf 'long%.0s' {1..512})
texts=("$colors" "$lines" "$c1" "$bidi" "$bytes" "$shell" "$paths" "$formats"
  "$markup" "$long" '' '-o' ' ')

# Lines with bytes other than printable ASCII, which logs must not have.
unprintable() { LC_ALL=C grep -an '[^ -~	]' "$@"; }

# What is wrong with a text for people: not UTF-8, or control characters.
bad_text() # FILE...
{
  local f
  for f; do
    iconv -f UTF-8 -t UTF-8 "$f" > "$dir/iconv" 2>&1 || echo "$f: no UTF-8"
    LC_ALL=C grep -aP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$f"
  done
}

start_sim --rate 0 --source-time 0 --case-time 0
write_config 'APIRate 9'
start_daemon
owned_dir 755 "$dir/tmp"
chart_pdf "$dir/chart.pdf" Ann Ahrens 1
: > "$dir/filter.err"
: > "$dir/backend.err"
pdftoppm -png -r 9 -gray -singlefile "$dir/chart.pdf" "$dir/dot"

section 'without cupsd'

filtered() # ID USER TITLE OPTIONS FILE: to $dir/bundle
{
  env -u CUPS_SERVER PPD="$build/ppd/docextract.ppd" TMPDIR="$dir/tmp" \
    CUPS_SERVERROOT="$cups/root" DEVICE_URI=docextract://default \
    "$build/todocextract" "$1" "$2" "$3" 1 "$4" "$5" \
    > "$dir/bundle" 2>> "$dir/filter.err"
}

# In a process of its own, which becomes the user of the backends.
received() # ID USER TITLE OPTIONS: from $dir/bundle
{
  (
    ulimit -f "${FILE_KIB:-unlimited}"
    as_run_user "$sealed" env -u CUPS_SERVER PRINTER=chart \
      CUPS_SERVERROOT="$cups/root" DEVICE_URI=docextract://default \
      LD_PRELOAD="$preload" DX_WALK_SPEED=200 \
      "$build/backend/docextract" "$1" "$2" "$3" 1 \
      "job-uuid=urn:uuid:$1 $4" < "$dir/bundle"
  ) 2>> "$dir/backend.err"
}

# The options as cupsd passes them on: blanks and quotes with a backslash.
escaped() { sed 's/[^A-Za-z0-9]/\\&/g' <<< "${1//$'\n'/ }"; }

# Two documents with that text everywhere; the exit statuses of filter and
# backend.
printed() # ID TEXT
{
  local text options
  text=$(escaped "$2")
  options="job-originating-host-name=$text document-name-supplied=$text.pdf"
  options+=" document-name-supplied=x$text.pdf $2"
  filtered "$1" "$2" "$2" "$options" "$dir/chart.pdf"
  echo -n "$? "
  cat "$dir/bundle" "$dir/bundle" > "$dir/two"
  mv "$dir/two" "$dir/bundle"
  received "$1" "$2" "$2" "$options"
  echo $?
}

n=0
for text in "${texts[@]}"; do
  n=$((n + 2))
  is "a job is extracted with: $(head -c 60 <<< "$text" | tr -cd ' -~')" \
    "$(printed $n "$text")" '0 0'
done
is 'every job has its result and its manifest' "$(n_results) $(n_manifests)" \
  "$n $n"
is 'the filter logs printable ASCII' "$(unprintable "$dir/filter.err")" ''
is 'the backend logs printable ASCII' "$(unprintable "$dir/backend.err")" ''
is 'no line of the log is forged' "$(grep -a forged "$dir"/*.err)" ''
is 'manifests and journals are text without control characters' \
  "$(bad_text "$results"/*.job.json $(find "$spool" -name job.json))" ''
is 'manifests are JSON' "$(jq -s 'map(select(.outcome == "extracted")) |
  length' "$results"/*.job.json)" "$n"
is 'a long title is whole' "$(jq -r .job.title "$results"/*.job.json |
  grep -cx "$long")" 2
jq -r '.names[]?' "$SIM_LOG" > "$dir/names"
is 'the service gets every name' "$(wc -l < "$dir/names")" "$n"
is 'names for the service are text without control characters' \
  "$(bad_text "$dir/names")" ''
is 'names for the service are names' "$(grep -E '[/\\]|^\.|^$' "$dir/names")" ''
dx jobs > "$dir/jobs" 2>&1
dx jobs --json > "$dir/jobs.json" 2>&1
dx report > "$dir/report" 2>&1
is 'jobs and report print text without control characters' \
  "$(bad_text "$dir/jobs" "$dir/jobs.json" "$dir/report")" ''
check 'nothing that was written is run' [ ! -e "$dir/ran" ]

section 'a full disk'

# To the process, a limit on the size of files is a full disk.
{
  echo '%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]
  /Resources<</XObject<</I 4 0 R>>>>>> endobj
4 0 obj <</Subtype/Image/Width 600/Height 500/BitsPerComponent 8
  /ColorSpace/DeviceGray/Length 300000>> stream'
  head -c 300000 /dev/urandom
  printf '\nendstream endobj\ntrailer <</Root 1 0 R>>\nstartxref\n0\n%%%%EOF\n'
} > "$dir/large.pdf"
clear_results
(ulimit -f 64 && filtered 1 ann title '' "$dir/large.pdf")
is 'a full disk, filter: it goes on' "$?" 0
has 'a full disk, filter: the document is refused' \
  "$(head -n 1 "$dir/bundle")" \
  '"reason":"trouble","reason_text":"it could not be read, or could not be stored'
is 'a full disk, filter: no file is left' "$(ls -A "$dir/tmp")" ''
filtered 1 ann title '' "$dir/large.pdf"
FILE_KIB=128 received 2000 ann title ''
is 'a full disk, backend: the job is run again' "$?" 7
has 'a full disk, backend: it says where, and what to do' \
  "$(tail -n 4 "$dir/backend.err")" \
  "^WARNING: E_SPACE: cannot write '$spool/.*; free space there; the job then resumes"
is 'a full disk, backend: nothing is sent or kept' \
  "$(calls create) $(ls -A "$spool/jobs" "$spool/incoming" | grep -v :)" '0 '
received 2000 ann title ''
is 'when there is room again, the job is extracted' "$? $(n_results)" '0 1'
clear_results
owned_dir 755 "$cups/bin/filter"
cp "$build/todocextract" "$cups/bin/filter/"
(ulimit -f 128 && dx submit "$dir/large.pdf") > "$dir/submit" 2>&1
is 'a full disk, submit: an error of this computer' "$?" 74
has 'a full disk, submit: it says where' "$(cat "$dir/submit")" \
  "in the temporary directory '/.*', which must exist and have space"
is 'a full disk, submit: nothing is sent or kept' \
  "$(calls create) $(ls -A "$spool/jobs" "$spool/incoming" | grep -v :)" '0 '

section 'with cupsd'

stop_daemon
stop_sim
rm -rf "${spool:?}" "${cups:?}/bin"
start_sim --source-time 0 --case-time 0
write_config
start_cupsd
add_queue chart
odd=$dir/$'a\u202e\033[31m\n$(touch ran).pdf'
cp "$dir/chart.pdf" "$odd"
print -d chart -U "$shell" -t "$bidi $shell" -o "job-originating-host-name=$bidi" \
  "$odd" "$dir/dot.png"
job_ends 'a job with all of it is completed' "$job" completed
is 'a job with all of it has its results' "$(n_results) $(n_manifests)" '2 2'
is 'its manifests are text without control characters' \
  "$(bad_text "$results"/*.job.json)" ''
job_message "$job" > "$dir/messages"
queue_state chart >> "$dir/messages"
print -d chart -t "$lines" -o "CaseSeparators=Custom.$shell" "$dir/chart.pdf"
job_ends 'options that mean nothing: the job is held' "$job" pending-held
has 'options that mean nothing: the reason is shown' "$(queue_message "$job")" \
  "'CaseSeparators' has no such choice"
has 'options that mean nothing: the administrator reads which' "$(dx jobs)" \
  "'CaseSeparators' has no such choice"
job_message "$job" >> "$dir/messages"
queue_state chart >> "$dir/messages"
is 'messages are printable' "$(unprintable "$dir/messages")" ''
check 'nothing that was written is run' \
  [ ! -e "$dir/ran" -a ! -e "$dir/cups/root/ran" -a ! -e ran ]
