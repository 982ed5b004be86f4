#!/usr/bin/env bash
#
# transfers.sh - print jobs whose sender was interrupted, at every tenth of the
# transfer: what CUPS started without its last document is held, and not sent
# until it is released; it, and what CUPS dropped, is shown to the administrator.
# What arrived completely is extracted.
. "$(dirname "$0")/lib.sh"

DOCEXTRACTD=tests/it/docextractd-quick
[ -x "$build/$DOCEXTRACTD" ] || give_up 'the programs are built (make check TESTS=)'

# "STATE ID" of the print jobs in a state.
jobs_in() # STATE...
{
  local state
  for state; do
    dx jobs --json --state "$state" 2> "$dir/jobs.err" |
      jq -r '.[] | "\(.state) \(.id)"'
  done | sort -k 2n
}
# What must be shown of the jobs of ipp-cut: all but those of tenth 5, which
# arrive, and those of tenth 7, which are canceled.
expected()
{
  awk 'NF == 3 && $3 != 5 && $3 != 7 { print $2 == 1 ? "lost" : "incomplete", $1 }' "$dir/cut"
}
all_stall() { [ "$(jobs_in stalled | wc -l)" = 20 ]; }
all_are_sent() { contains_line "$dir/cut" ready; }
all_are_shown() { [ "$(jobs_in stalled lost incomplete)" = "$(expected)" ]; }
looks() { grep -c 'successful-ok for CUPS-Get-Printers' "$cups/log/error_log"; }
looked_again() { [ "$(looks)" -gt $(($1 + 2)) ]; } # BEFORE: two looks have ended
counted() # STATE
{
  dx metrics | sed -n "s/^docextract_transfers{service=\"default\",state=\"$1\"} //p"
}

start_sim --source-time 0 --case-time 0
CUPSD_CONF='MultipleOperationTimeout 2'
start_cupsd_on_a_port
add_queue chart
lpadmin -p chart -u allow:ann # not the user of docextractd, unless it is root
chart_pdf "$dir/a.pdf" Ann Ahrens 1

lp -U ann -d chart -H hold "$dir/a.pdf" > "$dir/lp.out" # it is listed each time

t='transfers in progress'
mkfifo "$dir/go"
"$it/ipp-cut" "$port" chart "$dir/a.pdf" < "$dir/go" > "$dir/cut" 2> "$dir/cut.err" &
sender=$!
exec 9> "$dir/go"
until_true all_are_sent || give_up "$t: they begin: $(cat "$dir/cut.err")"
check "$t: they are shown when they stall" until_true all_stall
is "$t: and counted" "$(counted stalled) $(counted incomplete) $(counted lost)" \
  '20 0 0'
has "$t: for people, too" "$(dx jobs --state stalled)" \
  ' stalled .* chart-2 .* CUPS is receiving this print job, '

t='interrupted transfers'
# shellcheck disable=SC2046
cancel $(awk 'NF == 3 && $3 == 7 { print "chart-" $1 }' "$dir/cut")
echo go >&9
exec 9>&-
wait "$sender"
is "$t: the others end" "$? $(cat "$dir/cut.err")" '0 '
check "$t: each is shown" until_true all_are_shown ||
  diff <(expected) <(jobs_in stalled lost incomplete) | sed 's/^/# /'
is "$t: and counted" "$(counted stalled) $(counted incomplete) $(counted lost)" \
  '0 8 8'
check "$t: what arrived completely is extracted" until_true extracted 3
mapfile -t held < <(awk 'NF == 3 && $2 == 2 && $3 != 5 && $3 != 7 { print $1 }' "$dir/cut")
for job in "${held[@]}"; do
  job_ends "$t: print job $job is held" "$job" pending-held
done
is "$t: nothing of them is sent" "$(calls create) $(n_results)" '3 3'
has "$t: their message says what to do" "$(job_message "${held[0]}")" \
  'The chart was not extracted: the last document of the print job did not arrive, and nothing was sent; print it again, or release it to send what arrived$'
has "$t: so does docextract jobs" "$(dx jobs --state refused)" \
  "^[0-9a-f]* *refused .* chart-${held[0]} .* CUPS started the print job without its last document"
is "$t: their manifests name the reason" \
  "$(jq -r '.reason_code // empty' "$results"/*.job.json | sort | uniq -c | xargs)" \
  '8 job-incomplete'
is "$t: job and print job have the same key" "$(dx jobs --json |
  jq -r --arg id "${held[0]}" '.[] | select(.id == $id) | .key' |
  sort | uniq -c | awk '{ print $1 }')" 2
is "$t: the queue can be selected" "$(dx jobs --json --queue other)" '[]'
is "$t: the user is not known" "$(dx jobs --json --user ann --state lost)" '[]'
has "$t: docextractd logs them" "$(cat "$dir/daemon.new")" \
  '^print job chart-2: lost: '

t='docextractd starts again'
stop_daemon
check "$t: they are still shown" all_are_shown
start_daemon
check "$t: and afterwards" all_are_shown

t='the administrator has seen them'
is "$t: their number" "$(dx jobs --seen)" 'Acknowledged 16 failed jobs'
is "$t: they are no longer shown" "$(jobs_in stalled lost incomplete)" ''
is "$t: nor counted" "$(counted incomplete) $(counted lost)" '0 0'
before=$(looks)
until_true looked_again "$before" || not_ok "$t: docextractd looks again"
is "$t: nor later" "$(jobs_in stalled lost incomplete)" ''

t='the user or the administrator decides'
is "$t: until then, nothing is sent" "$(calls create)" 3
release "${held[0]}"
is "$t: a release sends what arrived" \
  "$(job_state "${held[0]}") $(calls create) $(n_results)" 'completed 4 4'
dx retry "chart-${held[1]}" > "$dir/retry.out" 2>&1
check "$t: so does docextract retry" until_true extracted 5
release "${held[1]}"
is "$t: it is sent once" "$(job_state "${held[1]}") $(calls create)" 'completed 5'
has "$t: docextract cancel withdraws it" "$(dx cancel "chart-${held[2]}" 2>&1)" \
  'Canceled'
is "$t: then it is canceled" \
  "$(dx jobs --json --all | jq -r --arg id "${held[2]}" '.[] | select(.id == $id) | .state')" canceled
is "$t: nothing else is sent" "$(calls create) $(n_results)" '5 5'

t='a held print job is canceled'
state_of() { of_journal "$1" '.submissions[0].state'; } # ID
is_canceled() { [ "$(state_of "$1")" = canceled ]; }
files_of() { find "$spool/jobs" "$spool/finished" -path "*/$(of_journal "$1" .key)/*" -printf '%f '; }
is "$t: before, its documents are kept" "$(state_of "${held[3]}") $(
  files_of "${held[3]}" | tr ' ' '\n' | sort | xargs)" 'refused document-0001 job.json'
lpadmin -p chart -v docextract://renamed
before=$(looks)
until_true looked_again "$before" || not_ok "$t: docextractd looks again"
lpadmin -p chart -v docextract://default
is "$t: also if its queue has another section for a while" \
  "$(state_of "${held[3]}")" refused
before=$(looks)
until_true looked_again "$before" || not_ok "$t: docextractd looks once more"
cancel "chart-${held[3]}"
check "$t: so is its job" until_true is_canceled "${held[3]}"
is "$t: its documents are removed" "$(files_of "${held[3]}")" 'job.json '
is "$t: nothing is sent" "$(calls create)" 5

t='a held print job that was sent twice is canceled'
faults 'create * status 422'
for key in first second; do
  print -U ann -d chart -o job-uuid=urn:uuid:6d8b4ae2-7c34-4f4e-8f0a-2f4f0f5a1c12 \
    "$dir/a.pdf"
  job_ends "$t: the $key one is held" "$job" pending-held
  read -r "$key" <<< "$job"
done
# shellcheck disable=SC2154 # first, second
cancel "chart-$first"
before=$(looks)
until_true looked_again "$before" || not_ok "$t: docextractd looks again"
is "$t: the second one still counts" "$(state_of "$second")" failed
cancel "chart-$second"
check "$t: then the job is canceled" until_true is_canceled "$second"

t='a record that cannot be read'
faults 'source * word processing'
polls=$(calls source)
print -U ann -d chart "$dir/a.pdf"
until_true calls_are source $((polls + 1)) || not_ok "$t: it is uploaded"
before=$(looks)
until_true looked_again "$before" || not_ok "$t: docextractd has seen it"
kill -STOP "$DAEMON_PID"
kill -KILL "$(backends)"
job_ends "$t: the print job ends" "$job" completed
mv "$spool/jobs" "$spool/away"
ln -s jobs "$spool/jobs"
before=$(looks)
kill -CONT "$DAEMON_PID"
until_true looked_again "$before" || not_ok "$t: docextractd looks again"
rm "$spool/jobs"
mv "$spool/away" "$spool/jobs"
faults '#'
check "$t: then it is extracted" until_true extracted 6
hasnt "$t: it was not lost" "$(cat "$dir/daemon.new")" "print job chart-$job: lost"

t='a waiting print job is removed from CUPS'
before=$(looks)
cancel -a -x chart
until_true looked_again "$before" || not_ok "$t: docextractd looks again"
is "$t: it is not lost" "$(jobs_in stalled lost incomplete)" ''

finish
