#!/usr/bin/env bash
#
# cpu.sh - processor time, user and system, of a print job: in the filter, in the
# backend, and in docextractd, which runs all the time; and that of the script
# with curl and jq that sends the same without checking or keeping anything.
# Aim for backend and docextractd: a twentieth.
#
# And what a program costs that only loads libcurl.
. "$(dirname "$0")/lib.sh"

runs=$(size 9 2)
"$top/tests/it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
header "$dir/a.pdf" application/pdf > "$dir/header"
start_sim

export PPD=$build/ppd/docextract.ppd CONTENT_TYPE=application/pdf
configure "$dir/spool" "$api"
start_daemon
for n in $(seq "$runs"); do
  mapfile -t a < <(arguments "$n")
  measured "$build/todocextract" "${a[@]}" "$dir/a.pdf" 2> "$dir/filter.err" \
    > "$dir/filtered"
  cpu >> "$dir/filter"
  before=$(daemon_cpu)
  run_backend "$n" "$dir/header" "$dir/a.pdf"
  cpu >> "$dir/backend"
  difference "$before" "$(daemon_cpu)" >> "$dir/daemon"
  run_script "$dir/a.pdf" application/pdf
  cpu >> "$dir/script"
  measured "$helpers/get" "$api/v1/source/x" > /dev/null
  cpu >> "$dir/get"
done
paste "$dir/backend" "$dir/daemon" | awk '{ print $1 + $2 }' > "$dir/sent"
paste "$dir/sent" "$dir/filter" | awk '{ print $1 + $2 }' > "$dir/ours"
row 'processor time of a job' ms "$dir/ours" "$dir/script" \
  'script with curl and jq' ''
row '  without the filter' ms "$dir/sent" "$dir/script" \
  'script with curl and jq' '<= 0.05'
row '  filter' ms "$dir/filter" - '' ''
row '  backend' ms "$dir/backend" - '' ''
row '  docextractd' ms "$dir/daemon" - '' ''
row '  loading libcurl' ms "$dir/get" "$dir/script" \
  'script with curl and jq' ''
