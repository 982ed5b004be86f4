#!/usr/bin/env bash
#
# admin.sh - problems that only an administrator can solve: a key, a section, an
# address, a whole configuration. The print job waits and says so, the queue is
# never stopped, other sections go on, and when the cause is gone everything
# continues by itself. Directories are in repair.sh, sandboxes in sandbox.sh.
. "$(dirname "$0")/lib.sh"

# A section and its queue.
add_section() # NAME [LINE...]
{
  {
    cat "$config"
    echo "<Service $1>"
    echo "BaseURL $SIM_API"
    printf '%s\n' "${@:2}" '</Service>'
  } > "$config.new"
  chmod 640 "$config.new"
  [ $EUID != 0 ] || chgrp "$run_group" "$config.new"
  mv "$config.new" "$config"
}
add_queue_of() # SECTION
{
  lpadmin -p "$1" -E -v "docextract://$1" -P "$build/ppd/docextract.ppd" \
    2>> "$dir/lpadmin.err" || give_up "lpadmin adds queue $1"
}
runs() { [ "$(starts "$1")" -ge "$2" ]; } # ID N
reason_is() { [ "$(queue_reasons "$1")" = "$2" ]; } # QUEUE REASON
hello_of() { dx hello --service "$1" 2>&1; }

trying='Contact your administrator: [a-z ]+; trying again, nothing is lost$'
printing='Contact your administrator: [a-z ]+; printing waits, nothing is lost$'

# Waits for the end of $job, which must have gone on within 6 s.
goes_on() # TEXT
{
  local begin=${EPOCHREALTIME/./} took
  begin_limit
  until_true calls_are put 1
  took=$(((${EPOCHREALTIME/./} - begin) / 1000))
  check "$1: it goes on within 6 s ($took ms)" \
    test "$took" -lt "$(limit_of 6000)"
  job_ends "$1: it is extracted" "$job" completed
}
never_stopped() { not grep -aq 'Printer .* stopped\|stopping printer' "$cups/log/error_log"; }
look_at_queues() { check 'no queue was ever stopped' never_stopped; }
trap 'finish look_at_queues' EXIT

start_sim
start_cupsd
cp -p "$dir/key" "$dir/north.key"
north=('Token key' "TokenKeyFile $dir/north.key")
write_config
add_section north "${north[@]}"
add_queue chart
add_queue_of north
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Ben Bauer 2

section 'the key of one of two sections'

t='a key that cannot be read'
chmod 000 "$dir/north.key"
clear_results
print -d north "$dir/a.pdf"
waiting=$job
until_true queue_says north "$trying"
has "$t: the queue refers to the administrator" "$(queue_state north)" "$trying"
has "$t: so does the print job" "$(job_message "$waiting")" "$trying"
has "$t: jobs gives the cause" "$(dx jobs)" \
  "$dir/north.key.*Permission.*trying again at"
output=$(dx config 2>&1)
is "$t: config fails" "$?" 78
has "$t: and gives the cause" "$output" 'north\.key.*cannot be used'
output=$(hello_of north)
is "$t: hello fails" "$?" 77
has "$t: and gives the cause" "$output" 'north\.key.*Permission'
check "$t: the other section is tested" dx hello --service default
print -d chart "$dir/b.pdf"
job_ends "$t: the other section goes on" "$job" completed
is "$t: only that chart was sent" "$(patients)" 'Bauer Ben 2'
WAIT_S=60 # three attempts take 30 s
check "$t: the state reason after three attempts" \
  until_true reason_is north docextract-config-error
WAIT_S=30
is "$t: the print job waits" "$(job_state "$waiting")" processing
has "$t: the metrics count it" "$(dx metrics)" \
  '^docextract_needs_admin_jobs\{service="north"\} 1$'
check "$t: the queue is not stopped" not queue_is_stopped north
clear_results
job=$waiting
chmod 640 "$dir/north.key"
goes_on "$t"
is "$t: its values are there" "$(patients)" 'Ahrens Ann 1'
is "$t: with the same backend" "$(starts "$job")" 1
is "$t: the state reason is cleared" "$(queue_reasons north)" none

t='a key that all users may read'
chmod 644 "$dir/north.key"
clear_results
print -d north "$dir/a.pdf"
until_true queue_says north "$trying"
has "$t: jobs gives the solution" "$(dx jobs)" "chmod o-rwx $dir/north.key"
output=$(dx config 2>&1)
has "$t: config reports it" "$? $(grep warning <<< "$output")" \
  "^78 warning: .*TokenKeyFile: all users may read"
check "$t: the other section is tested" dx hello --service default
chmod 640 "$dir/north.key"
goes_on "$t"

section 'the service rejects'

t='an address that is not the service'
clear_results
faults 'create * status 404'
print -d chart "$dir/a.pdf"
until_true reason_is chart docextract-config-error
has "$t: the queue refers to the administrator" "$(queue_state chart)" "$trying"
has "$t: so does the print job" "$(job_message "$job")" "$trying"
check "$t: the queue is not stopped" not queue_is_stopped chart
faults '#'
dx retry "chart-$job" > "$dir/out" 2>&1
has "$t: retry tries at once" "$(cat "$dir/out")" '^Retrying job'
job_ends "$t: it is extracted" "$job" completed

section 'a program that replaces the token'

t='a token that is replaced during an upload'
echo a-token > "$dir/token"
chmod 640 "$dir/token"
[ $EUID != 0 ] || chgrp "$run_group" "$dir/token"
stop_sim
SIM_AUTH=none start_sim --token-file "$dir/token"
write_config
add_section north 'Token file' "TokenFile $dir/token"
clear_results
faults 'put * delay 8000'
print -d north "$dir/a.pdf"
is_sending() { of_journal "$job" '.submissions[0].files[0].put' | grep -qx sending; }
until_true is_sending
cp -p "$dir/token" "$dir/token.new" && mv "$dir/token.new" "$dir/token"
job_ends "$t: it is extracted" "$job" completed
is "$t: the upload is not interrupted" "$(calls put)" 1
faults '#'
stop_sim
start_sim
write_config
add_section north "${north[@]}"

section 'the configuration'

t='a configuration that is invalid'
clear_results
cp -p "$config" "$dir/valid"
faults 'create * hang'
print -d chart "$dir/a.pdf"
stored=$job
until_true is_calling "$stored"
sed -i 's/TokenKeyFile/TokenKey/' "$config"
stop_daemon
start_daemon
until_true queue_says chart "$trying"
has "$t: a chart that is stored waits" "$(queue_state chart)" "$trying"
has "$t: jobs gives the cause" "$(dx jobs 2>&1)" 'docextract.conf:.*unknown directive'
print -d north "$dir/b.pdf"
until_true queue_says north "$printing"
has "$t: a chart that is printed waits" "$(queue_state north)" "$printing"
is "$t: neither has ended" "$(job_state "$stored") $(job_state "$job")" \
  'processing processing'
check "$t: no queue is stopped" not all_are_stopped
faults '#'
cp -p "$dir/valid" "$config"
job_ends "$t: what was printed is extracted" "$job" completed
job_ends "$t: so is what was stored" "$stored" completed
is "$t: with the same backends" "$(starts "$job") $(starts "$stored")" '1 1'
hasnt "$t: whose connections were not refused" "$(job_log "$stored")" \
  'docextractd: .*unknown directive'

t='a section that is missing for more than 45 s'
clear_results
add_queue_of east
print -d east "$dir/a.pdf" "$dir/b.pdf"
until_true queue_says east "$printing"
has "$t: the print job refers to the administrator" "$(job_message "$job")" \
  "$printing"
is "$t: the queue has a state reason" "$(queue_reasons east)" \
  docextract-config-error
WAIT_S=70 until_true runs "$job" 2
check "$t: the print job is run again" runs "$job" 2
has "$t: the log has the cause and advice" "$(job_log "$job")" \
  '^W .*E_CONFIG: .*add a section <Service east>.*; run .+docextract config'
until_true queue_says east "$printing"
check "$t: the queue is not stopped" not queue_is_stopped east
is "$t: nothing was sent" "$(calls create)" 0
add_section east 'Token key' "TokenKeyFile $dir/key"
job_ends "$t: added, the job completes" "$job" completed
is "$t: both documents were extracted" "$(patients | xargs)" \
  'Ahrens Ann 1 Bauer Ben 2'
