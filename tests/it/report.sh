#!/usr/bin/env bash
#
# report.sh - `docextract report` prints no personal data: all free text
# contains markers, and none of them is in the report. `docextract config` names
# the queues, but no secret.
. "$(dirname "$0")/lib.sh"

printf 'MARKKEY-%s' "$(openssl rand -hex 30)" > "$dir/key"
chmod 640 "$dir/key"
[ "$(id -u)" != 0 ] || chgrp "$run_group" "$dir/key"
LOG_LEVEL=debug2
start_sim
write_config 'TokenClaim sub MARKCLAIM' 'TokenKeyID MARKKEYID' \
  'TokenCommand /bin/true MARKCOMMAND' 'FilterTimeLimit 14m'
start_cupsd
add_queue MARKQUEUE
chart_pdf "$dir/MARKFILE.pdf" MARKFIRST MARKLAST MARKMRN1
print -d MARKQUEUE -U MARKUSER -t MARKTITLE "$dir/MARKFILE.pdf"
job_ends 'a job is printed' "$job" completed
faults 'create * status 422 X-Body: MARKBODY'
echo '%PDF-1.4' > "$dir/MARKBAD.pdf"
print -d MARKQUEUE -U MARKUSER -t MARKTITLE "$dir/MARKBAD.pdf"
job_ends 'a damaged one is refused' "$job" pending-held
print -d MARKQUEUE -U MARKUSER -t 'MARKTITLE -> 200, 1 ms' "$dir/MARKFILE.pdf"
job_ends 'another one is refused' "$job" pending-held
dx submit --title MARKTITLE "$dir/MARKFILE.pdf" > "$dir/submit" 2>&1
faults ''
# What another program of the job could log.
echo "D [21/Nov/2026:10:00:00 +0000] [Job 3] job 0123456789abcdef0123456789abcdef, service 'a', submission 1: x, MARKLAST -> y
D [21/Nov/2026:10:00:00 +0000] [Job 3] Patient MARKLAST
D [21/Nov/2026:10:00:00 +0000] [Job 3] PID 1 (/MARKFILE) stopped with status 1." \
  >> "$cups/log/error_log"
echo "ErrorLog $cups/log/error_log" > "$cups/root/cups-files.conf"

report() { CUPS_SERVERBIN=$cups/bin "$docextract" -c "$config" report; }
output=$(report 2> "$dir/report.err")
is 'report: succeeds' "$? $(cat "$dir/report.err")" '0 '
is 'report: no text that a user wrote' \
  "$(grep -aoE 'MARK[A-Z]*' <<< "$output" | sort -u)" ''
is 'report: no path, address, host or token' \
  "$(grep -aoE "$dir|127\.0\.0\.1|://|$(hostname)|eyJ[A-Za-z0-9_-]{6}" \
    <<< "$output" | sort -u)" ''
has 'report: our version' "$output" '^  docextract [0-9]+\.[0-9]'
has 'report: the version of the filter, with qpdf' "$output" \
  '^  todocextract [0-9.]+ \(qpdf [0-9.]+\)$'
has 'report: the version of libcups' "$output" '^  libCUPS/[0-9.]+$'
# Where it is installed: in a build directory, nowhere.
has 'report: the version of docextractd' "$output" \
  '^  docextractd ([0-9.]+ \(libcurl/|was not found$)'
has 'docextractd: its version, with libcurl' \
  "$("$build/daemon/docextractd" --version)" \
  '^docextractd [0-9.]+ \(libcurl/[0-9.]+ '
has 'report: the system' "$output" '^  Linux [0-9]'
has 'report: a value that is a number' "$output" '^  FilterTimeLimit +14m$'
has 'report: a default' "$output" '^  APIRate +8 \(default\)$'
has 'report: only whether a text is set' "$output" \
  '^  TokenKeyID +\(set\)$'
has 'report: the queue' "$output" \
  '^  queue 1: idle, accepting, [0-9]+ job.*service 1'
has 'report: jobs by state' "$output" '^  extracted +1$'
has 'report: failed jobs' "$output" '^  failed +2$'
has 'report: and their codes' "$output" '^  ended with E_REFUSED \(refused\) 2$'
has 'report: docextractd' "$output" '^  running$'
has 'report: the directories' "$(grep -cE '^  (SpoolDir|ResultsDir 1|/var/tmp) +ok, [0-9]+ MiB free$' \
  <<< "$output")" 3
has 'report: error codes of the backend, with the time' "$output" \
  '^  [0-9]{2}/[A-Z][a-z]{2}/[^ ]+ [-+0-9]+ \[Job [0-9]+\] E_REFUSED$'
has 'report: how our programs ended' "$output" \
  '\[Job [0-9]+\] todocextract exited$'
has 'report: how states changed' "$output" \
  'submission 1: stored -> refused$'

output=$(dx config)
add_queue lost
lpadmin -p lost -v docextract://nowhere
has 'report: a queue without a section' "$(report 2>&1)" \
  '^  queue 1: .*, a service that is not configured$'
lpadmin -x lost
output=$(dx config)
is 'config: no secret' "$(grep -c MARKKEY- <<< "$output")" 0

# --- the cause of a problem is in the report -------------------------------

blames() # WHAT PATTERN
{
  output=$(report 2>&1 | tr '\n' '/')
  has "report: $1" "$output" "$2"
  hasnt "report: $1, without text that a user wrote" "$output" 'MARK|127\.0\.0\.1'
}
settings=('TokenClaim sub MARKCLAIM' 'TokenKeyID MARKKEYID')

cp "$dir/key" "$dir/right-key"
openssl rand -hex 30 > "$dir/key"
write_config "${settings[@]}"
blames 'a wrong key' 'FAILED token accepted/  E_TOKEN'
cat "$dir/right-key" > "$dir/key"
stop_sim
start_sim --skew 3600
write_config "${settings[@]}"
blames 'a clock that is off' 'the clock is 3(59[89]|600) s behind'
stop_sim
start_sim
write_config "${settings[@]}"
dx submit "$dir/MARKFILE.pdf" > "$dir/submit" 2>&1 # to its storage
write_config "${settings[@]}" # docextractd reads it again
blames 'nothing' 'docextractd/  running/.*ok     response/  ok     token accepted/  ok     storage//cupsd'

faults 'put * drop'
print -d MARKQUEUE -U MARKUSER -t MARKTITLE "$dir/MARKFILE.pdf"
is_waiting() { dx jobs --json | jq -e '.[] | select(.message != "" and
  .state == "registered")' > /dev/null; }
until_true is_waiting
blames 'a storage that does not respond' '/  storage: E_NET \(transient\) 1/'
faults ''
job_ends 'the job continues' "$job" completed

stop_daemon
export LD_PRELOAD=$build/tests/crash/preload.so
START_DAEMON="env DX_WALK_LOG=$dir/walk.log" DX_WALK='fail write 1 999999 ENOSPC' \
  start_daemon
unset LD_PRELOAD
blames 'a full disk' 'FAILED spool/.*  E_SPACE'
stop_daemon
blames 'docextractd that is not running' 'docextractd/  not running/.*Test of service 1/  E_CONFIG '
start_daemon

if may_mount; then
  run_report=$(declare -f report)
  mounted() # MOUNT COMMAND: for one report
  {
    docextract=$docextract config=$config cups=$cups unshare --mount bash -c \
      "$run_report; $1 && report"
  }
  is_full="mount -t tmpfs -o size=1m,uid=$(id -u "$run_user") tmpfs '$results'"
  has 'report: a full directory is named' "$(mounted "$is_full" | xargs)" \
    ' SpoolDir ok, [0-9]+ MiB free ResultsDir 1 E_SPACE \(local\): No space left on device, 1 MiB free '

  mkdir "$dir/systemd"
  cat > "$dir/systemd/systemctl" << 'END'
#!/bin/sh
[ "$*" = 'show docextractd -p LoadState,ActiveState,Result,ExecMainStatus' ] &&
  printf 'Result=exit-code\nExecMainStatus=74\nActiveState=failed\n'
END
  cat > "$dir/systemd/journalctl" << 'END'
#!/bin/sh
echo '2026-11-24T10:00:00+0100 MARKHOST systemd[1]: Started MARKNAME.
2026-11-24T10:00:01+0100 MARKHOST docextractd[7]: ready
2026-11-24T10:00:02+0100 MARKHOST docextractd[7]: job 1f: E_NET: MARKTEXT
2026-11-24T10:00:03+0100 MARKHOST docextractd[7]: MARKTEXT E_MARKCODE: no code
2026-11-24T10:00:04+0100 MARKHOST docextractd[7]: E_SPACE: cannot write MARKFILE'
END
  chmod 755 "$dir/systemd"/*
  output=$(mounted \
    "mount -t overlay -o 'lowerdir=$dir/systemd:/usr/bin' overlay /usr/bin")
  has 'report: the unit and the errors in its log' \
    "$(sed -n '/^docextractd$/,/^$/p' <<< "$output" | xargs)" \
    '^docextractd running Result=exit-code ExecMainStatus=74 ActiveState=failed 2026-11-24T10:00:02\+0100 E_NET 2026-11-24T10:00:04\+0100 E_SPACE$'
  hasnt 'report: no text of the log' "$output" MARK
else
  leave_out 'report with other file systems' "$to_mount"
fi

chmod 000 "$config"
hasnt 'report: no queue is reported for that' \
  "$(as_run_user "$docextract" -c "$config" report)" 'service.*not configured'
chmod 640 "$config"

stop_cupsd
output=$(report)
has 'report: without cupsd too' "$? $output" '  cupsd does not respond$'
chmod 000 "$config"
output=$(as_run_user "$docextract" -c "$config" report)
has 'report: without permission to read the configuration it gives advice' "$output" \
  '  cannot be used: E_CONFIG; run this command as root'
chmod 640 "$config"
echo 'Nonsense MARKNONSENSE' >> "$config"
output=$(report 2>&1)
has 'report: with a wrong configuration too' "$? $output" \
  '  cannot be used: E_CONFIG'
hasnt 'report: and no text that a user wrote' "$output" MARK
