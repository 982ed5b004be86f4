#!/usr/bin/env bash
#
# repair.sh - errors of the installation. The message of the queue refers to the
# administrator, without technical terms. The log and `docextract hello` give
# the cause and the solution. After the error is corrected, the job continues.
# More of that is in admin.sh; tokens are in tokens.sh, certificates in tls.sh.
. "$(dirname "$0")/lib.sh"

# The backends lose access to directories in ways that bind even their owner.
waits() # TEXT PATTERN UNTIL: what the queue says about that
{
  print -d chart "$dir/a.pdf"
  until_true queue_says chart "$3\$"
  has "$1: the queue refers to the administrator, and reports the retry" \
    "$(queue_state chart)" "^.Contact your administrator: [a-z ]+; $3\$"
  has "$1: the log has the reason" "$(job_log "$job")" "$2"
  is "$1: nothing was sent" "$(calls create)" 0
}
hello_says() # TEXT PATTERN
{
  has "$1: hello reports the same" "$(dx hello 2>&1)" "$2"
}
before='printing waits, nothing is lost'

goes_on() # TEXT
{
  job_ends "$1: fixed, the job continues" "$job" completed
  is "$1: with the same backend" "$(starts "$job")" 1
  clear_results
}

start_all
chart_pdf "$dir/a.pdf" Ann Ahrens 1

# A job without a backend: only CUPS determines whether it gets one again.
faults 'source * hang'
print -d chart "$dir/a.pdf"
is_waiting() { [ "$(calls put)" = 1 ]; }
until_true is_waiting
has 'an active job: no hint' "$(dx jobs)" " chart-$job .* 0  The chart is [^:]*$"
cancel "$job"
job_ends 'a job is canceled' "$job" canceled
until_true no_backend
is_shown() { dx jobs | grep -Eq " canceled +chart-$job "; }
check 'jobs: it is shown as canceled' until_true is_shown
faults ''
clear_results

t='a config that backends may not read'
chmod 000 "$config"
waits "$t" 'E_CONFIG: .*docextract\.conf.*Permission' "$before"
hello_says "$t" 'docextract\.conf.*Permission'
chmod 640 "$config"
goes_on "$t"

t='a section that is not there'
sed -i 's/<Service default>/<Service other>/' "$config"
waits "$t" 'E_CONFIG: .*add a section <Service default>' "$before"
write_config
goes_on "$t"

t='a spool that backends may not use'
chmod 000 "$spool"
waits "$t" "$spool.*Permission" "$before"
hello_says "$t" "$spool.*Permission"
chmod 711 "$spool"
goes_on "$t"

t='results that cannot be written'
chmod 000 "$results"
waits "$t" "$results.*Permission" 'trying again every minute, nothing is lost'
hello_says "$t" "$results.*Permission"
cupsdisable chart # instead of the minute
chmod 2770 "$results"
cupsenable chart
job_ends "$t: fixed, the job continues" "$job" completed
