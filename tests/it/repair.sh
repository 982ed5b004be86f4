#!/usr/bin/env bash
#
# repair.sh - errors of the installation. The message of the queue refers to the
# administrator, without technical terms. The log and `docextract hello` give
# the cause and the solution. After the error is corrected, the job continues.
# Tokens are in tokens.sh, certificates in tls.sh.
. "$(dirname "$0")/lib.sh"

queue_says() { queue_state chart | grep -Eq "$1"; } # PATTERN

# The backends lose access to directories in ways that bind even their owner.
stops() # TEXT PATTERN
{
  print -d chart "$dir/a.pdf"
  until_true queue_is_stopped chart
  has "$1: the queue refers to the administrator" "$(queue_state chart)" \
    "^.Contact your administrator: [a-z ]+; nothing is lost\$"
  has "$1: the log has reason and advice" "$(job_log "$job")" \
    "^W .*E_CONFIG: .*$2.*; run .+docextract config.+; when it is fixed, run: cupsenable chart\$"
}

waits() # TEXT PATTERN UNTIL: what the queue says about that
{
  print -d chart "$dir/a.pdf"
  until_true queue_says "$3\$"
  has "$1: the queue refers to the administrator, and reports the retry" \
    "$(queue_state chart)" "^.Contact your administrator: [a-z ]+; $3\$"
  has "$1: the log has the reason" "$(job_log "$job")" "$2"
  is "$1: nothing was sent" "$(calls create)" 0
  has "$1: hello reports the same" "$(dx hello 2>&1)" "$2"
}

goes_on() # TEXT: after cupsenable
{
  cupsenable chart
  job_ends "$1: fixed, the job continues" "$job" completed
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

chmod 000 "$config"
stops 'a config that backends may not read' 'docextract\.conf.*Permission'
chmod 640 "$config"
goes_on 'a config that backends may not read'

sed -i 's/<Service default>/<Service other>/' "$config"
stops 'a section that is not there' "add a section <Service default>"
write_config
goes_on 'a section that is not there'

chmod 000 "$spool"
waits 'a spool that backends may not use' "$spool.*Permission" \
  'printing waits, nothing is lost'
cupsdisable chart
chmod 711 "$spool"
goes_on 'a spool that backends may not use'

chmod 000 "$results"
waits 'results that cannot be written' "$results.*Permission" \
  'trying again every minute, nothing is lost'
cupsdisable chart
chmod 2770 "$results"
goes_on 'results that cannot be written'
