#!/usr/bin/env bash
#
# cpu.sh - processor time, user and system, of a print job in the backend, and
# of the script with curl and jq that does the same without keeping anything.
# Aim: a tenth.
#
# And what a program costs that only loads libcurl.
. "$(dirname "$0")/lib.sh"

runs=9
"$top/tests/it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
header "$dir/a.pdf" application/pdf > "$dir/header"
start_sim

configure "$dir/spool" "$api"
for n in $(seq "$runs"); do
  run_backend "$n" "$dir/header" "$dir/a.pdf"
  cpu >> "$dir/ours"
  run_script "$dir/a.pdf" application/pdf
  cpu >> "$dir/script"
  measured "$helpers/get" "$api/v1/source/x" > /dev/null
  cpu >> "$dir/get"
done
row 'processor time of a job' ms "$dir/ours" "$dir/script" \
  'script with curl and jq' '<= 0.1'
row '  loading libcurl' ms "$dir/get" "$dir/script" \
  'script with curl and jq' ''
