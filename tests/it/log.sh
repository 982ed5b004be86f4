#!/usr/bin/env bash
#
# log.sh - every line that docextractd logs about a job names the job and its
# section, whatever goes wrong: of a thousand jobs in progress, an administrator
# finds the lines of one.
. "$(dirname "$0")/lib.sh"

# What is about no job: docextractd itself, a section, cupsd's list of jobs.
general='^(ready|the spool is swept|reloading '\''.*'\''|'
general+='the status socket: .*|the process of the status socket has exited|'
general+='service '\''[a-z]+'\'': (registrations|polls) .*|'
general+='POST http://localhost/ -> .*)$'
named='^job [0-9a-f]{32}, service '\''(default|other)'\''(, submission [0-9]+)?: .'

log_lines() { cat "$dir/daemon.err" "$dir/daemon.new"; }
unnamed() { log_lines | grep -avE "$general" | grep -avE "$named"; }

# Each is fetched again until it is delivered.
start_sim --source-time 0 --case-time 0
start_cupsd
key_of() { of_journal "$1" .key; }
program=$dir/on-result
printf '#!/bin/sh\n[ -e %s/go ]\n' "$dir" > "$program"
chmod 755 "$program"
write_config 'ProcessingLimit 60s' "OnResult $program"
sed '/^<Service/,$!d; s/default/other/' "$config" > "$dir/other"
cat "$dir/other" >> "$config"
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Ben Brown 2
add_queue chart

logged() { log_lines | grep -aqE "$1"; }
goes_wrong() # TEXT PATTERN OF ITS LINE FAULT...: then it is extracted
{
  local t=$1 pattern=$2 before
  shift 2
  before=$(n_extracted)
  faults "$@"
  print -d chart "$dir/a.pdf"
  check "$t: it is in the log" until_true logged "$pattern"
  faults '#'
  check "$t: the chart is extracted" until_true extracted $((before + 1))
}

goes_wrong 'a registration is lost' ': the response to a registration was lost' \
  'create * close'
goes_wrong 'the service is unavailable' ': POST .* -> 503' 'create * status 503'
goes_wrong 'the storage rejects an upload' ': PUT .* -> 403' 'put * status 403'
goes_wrong 'an upload is cut' ': PUT .* -> 0, ' 'put * cut 100'
goes_wrong 'the status is unknown' ': the source has an unknown status' \
  'source * word strange'
goes_wrong 'a result is invalid' ': E_.*try 2 follows' 'extract * garbage'
goes_wrong 'the token is rejected' ': E_.*retried at least' 'create * status 401'
goes_wrong 'OnResult fails' ': OnResult .*; it will be run again' '#'
touch "$dir/go"

t='the results directory cannot be written'
before=$(n_extracted)
chmod 500 "$results"
print -d chart "$dir/a.pdf"
check "$t: it is in the log" until_true logged ': E_.*; trying again in'
chmod 2770 "$results"
check "$t: the chart is extracted" until_true extracted $((before + 1))

t='a document is refused'
faults 'create * status 422'
print -d chart "$dir/a.pdf"
check "$t: it is in the log" until_true logged ': E_.*; see: docextract jobs'
faults '#'
before=$(n_extracted)
dx retry "$(key_of "$job")" --service other > "$dir/out" 2>&1 ||
  not_ok "$t: it is retried: $(cat "$dir/out")"
check "$t: retried, it is extracted" until_true extracted $((before + 1))
check "$t: and the lines name the new section" \
  logged "^job $(key_of "$job"), service 'other', submission 1: .*extracted"

t='a print job is canceled'
faults 'create * status 503'
print -d chart "$dir/b.pdf"
is_in_progress() { logged "^job $(key_of "$job"), .*503"; } # has a key then
check "$t: it is in progress" until_true is_in_progress
cancel "$job"
check "$t: it is in the log" until_true logged ': canceled with its print job'
faults '#'

t='the command submits a document'
before=$(n_extracted)
dx submit "$dir/b.pdf" > "$dir/out" 2>&1
check "$t: it is extracted" until_true extracted $((before + 1))

stop_daemon
is 'every line about a job names it and its section' "$(unnamed)" ''
is 'and there are lines of every job' \
  "$(log_lines | grep -oE '^job [0-9a-f]{32}' | sort -u | wc -l)" \
  "$(find "$spool/jobs" "$spool/finished" -name job.json | wc -l)"
is 'no line has a title, or a name of a file or patient' \
  "$(log_lines | grep -cE 'a\.pdf|b\.pdf|Ahrens|Brown')" 0
