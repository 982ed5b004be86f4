#!/usr/bin/env bash
#
# secrets.sh - what must never be logged: markers are planted in everything that
# is secret or a patient's, every path is walked at the highest log level, and
# then everything that our programs printed is searched.
. "$(dirname "$0")/lib.sh"

# What our programs say goes through a copy: cupsd's own log holds titles too.
own=$dir/own.log
wrap() # PROGRAM
{
  mv "$1" "$1.real"
  cat > "$1" << END
#!/bin/bash
exec "$1.real" "\$@" 2> >(tee -a $own >&2)
END
  # cupsd wants the URI as argv[0]
  sed -i "s,^exec ,exec -a \"\$0\" ," "$1"
  chmod 755 "$1"
}

marks='MARK(TITLE|FILE|USER|LAST|FIRST|MRN|KEY|CLAIM|CASE|BODY)'
never() # TEXT FILE...
{
  local text=$1
  shift
  is "$text: no patient, title, name or key" "$(grep -aohE "$marks" "$@" | sort -u)" ''
  is "$text: no token" "$(grep -aohE 'eyJ[A-Za-z0-9_-]{6}|Bearer|Authorization' "$@" | sort -u)" ''
  is "$text: no signed query" "$(grep -aohE 'X-Amz-[A-Za-z]*|Signature=' "$@" | sort -u)" ''
}

# States come and go: all of them are collected.
watch_states()
{
  while sleep 0.2; do
    lpstat -p chart
    job_message "$job"
  done >> "$dir/states" 2> "$dir/watch.err"
}

printf 'MARKKEY-%s' "$(openssl rand -hex 30)" > "$dir/key"
chmod 640 "$dir/key"
[ "$(id -u)" != 0 ] || chgrp "$run_group" "$dir/key"
LOG_LEVEL=debug2
start_sim
write_config 'TokenClaim sub MARKCLAIM'
make_cups
: > "$own" && chmod 666 "$own"
wrap "$cups/bin/backend/docextract"
wrap "$cups/bin/filter/todocextract"
start_cupsd
add_queue chart
chart_pdf "$dir/MARKFILE.pdf" MARKFIRST MARKLAST MARKMRN1
qpdf --encrypt MARKKEY owner 256 -- "$dir/MARKFILE.pdf" "$dir/MARKFILE2.pdf"

try() # TEXT STATE FAULT...: one job with these faults
{
  local text=$1 state=$2
  shift 2
  clear_results
  faults "$@"
  print -U MARKUSER -t MARKTITLE -d chart "$dir/MARKFILE.pdf"
  watch_states &
  watcher=$!
  job_ends "$text" "$job" "$state"
  kill "$watcher"
  wait "$watcher" 2> /dev/null
}

try 'without errors' completed '#'
is 'the markers did travel' "$(patients)" 'MARKLAST MARKFIRST MARKMRN1'
restart() { stop_sim; start_sim; write_config 'TokenClaim sub MARKCLAIM'; }
restart
try 'with errors on the way' completed \
  'create 1 status 500' 'create 2 garbage' 'put 1 status 403' 'put 2 close' \
  'source 1 short' 'source 2 status 503' 'extract 1 body {"MARKBODY": 1}' \
  'extract 2 status 429 Retry-After: 1'
restart
try 'a refused source' pending-held 'create 1- status 400'
restart
print -U MARKUSER -t MARKTITLE -d chart "$dir/MARKFILE2.pdf"
job_ends 'a locked document' "$job" pending-held
lpstat -p chart >> "$dir/states"
job_message "$job" >> "$dir/states"
print -U MARKUSER -t MARKTITLE -d chart -o raw "$dir/MARKFILE.pdf"
job_ends 'a raw job' "$job" pending-held

has 'our programs did log' "$(cat "$own")" 'DEBUG: .*POST.*(200|201)'
never 'backend and filter' "$own"
never 'what the queue says' "$dir/states"
never "the simulator's log" <(sed 's/"names":\[[^]]*\],//' "$SIM_LOG")

faults '#'
(cd "$dir" && dx submit --title MARKTITLE MARKFILE.pdf) > "$dir/output" 2>&1
is 'docextract submit sends it' "$?" 0
never 'docextract submit' "$dir/output"
dx config > "$dir/output" 2>&1
# The claims that the administrator wrote are configuration, no secret.
never 'docextract config' <(grep -v TokenClaim "$dir/output")
dx hello > "$dir/output" 2>&1
never 'docextract hello' "$dir/output"
is 'no secret is in the spool but the signed URLs of unfinished uploads' \
  "$(grep -rlaE 'MARKKEY|eyJ[A-Za-z0-9_-]{6}' "$spool/jobs" "$spool/finished")" ''
