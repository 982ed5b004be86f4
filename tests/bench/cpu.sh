#!/usr/bin/env bash
#
# cpu.sh - processor time, user and system, of a print job in the backend, and
# of the script with curl and jq that does the same without keeping anything.
# Aim: a tenth.
#
# Twice: with the spool on the disk, and in memory, where the same calls cost
# next to nothing. The difference is what 17 fsyncs and 13 new files cost on
# this file system. And what a program costs that only loads libcurl.
. "$(dirname "$0")/lib.sh"

runs=9
"$top/tests/it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
header "$dir/a.pdf" application/pdf > "$dir/header"
start_sim

compare() # LABEL SPOOL
{
  local n
  configure "$2" "$api"
  for n in $(seq "$runs"); do
    run_backend "$n" "$dir/header" "$dir/a.pdf"
    cpu >> "$dir/$1-ours"
    run_script "$dir/a.pdf" application/pdf
    cpu >> "$dir/$1-script"
    measured "$helpers/get" "$api/v1/source/x" > /dev/null
    cpu >> "$dir/$1-get"
  done
}

compare disk "$dir/spool"
row 'processor time of a job' ms "$dir/disk-ours" "$dir/disk-script" \
  'script with curl and jq' '<= 0.1'
row '  loading libcurl' ms "$dir/disk-get" "$dir/disk-script" \
  'script with curl and jq' ''
[ -n "$memory" ] || exit 0
compare memory "$memory/spool"
row '  spool in memory' ms "$dir/memory-ours" "$dir/memory-script" \
  'script with curl and jq' ''
