#!/usr/bin/env bash
#
# kills.sh - kill -9 of cupsd, of the backend, of docextractd, or of all of them
# at random moments, round after round, and in the end every document was sent
# once and every result arrived. Ordered interruptions are in
# tests/it/interrupted.sh.
#
#   SEED=N ROUNDS=N tests/long/kills.sh
#
# The seed of a round makes the seed of the next one: SEED=(what a failing
# round printed) ROUNDS=1 repeats that round.
#
# cupsd and docextractd are restarted, as by systemd, and all stored jobs are
# finished without any other action. Rounds have two modes: the print job waits
# for the results (extracted), or ends when it is stored (accepted).
#
# One case cannot be handled automatically. If only the backend is killed before
# it has stored the job, cupsd 2.4 stops the job if a filter was still writing.
# If not, it considers the job completed and deletes its own copy, or waits
# forever if more documents were to follow. Nothing was sent in that case, so a
# user who misses the results restarts the job or cupsd, or prints again, and so
# does this test.
. "$(dirname "$0")/../it/lib.sh"

seed=${SEED:-20260117}
rounds=${ROUNDS:-50}
taken=$dir/taken

# --- one round's jobs --------------------------------------------------------

# A document of one case, and one that the service splits into two.
make_documents() # ROUND
{
  local gap='DOCEXTRACT CASE SEPARATOR'
  chart_pdf "$dir/one.pdf" Ann Ahrens "$1"
  chart_pdf "$dir/two.pdf" Bob Berg "$1" "$gap" \
    "$(mkchart Cem Can "$1" 03/07/1984 7.2 13.5)"
  expected="Ahrens Ann $1"$'\n'"Berg Bob $1"$'\n'"Can Cem $1"
  documents=2
}

print_documents()
{
  print -d chart "$dir/one.pdf" "$dir/two.pdf"
  until_true has_started || wrong+='no backend began'$'\n'
}
has_started() { [ "$(starts "$job")" -gt 0 ]; }

# A consumer that takes away what it sees. It may see a name twice, but never
# with different bytes.
take_results()
{
  local f to
  for f in "$results"/*.json; do
    [ -e "$f" ] || continue
    to=$taken/${f##*/}
    if [ -e "$to" ] && ! cmp -s "$f" "$to"; then
      wrong+="${f##*/} was seen with different bytes"$'\n'
    fi
    mv "$f" "$to"
  done
}

# cupsd 2.4 writes its list of jobs and only then the record of each job. Killed
# in between, it reports a finished job as "pending" forever, but never starts
# it: it goes by the list.
listed_state()
{
  sed -n "/^<Job $job>/,/^<\/Job>/s/^State //p" "$cups/cache/job.cache"
}

# Asked again and again, these start no process.
print_job_is_over() # it is listed as completed
{
  local text=
  { IFS= read -rd '' text < "$cups/cache/job.cache"; } 2> /dev/null
  [[ $text =~ "<Job $job>"$'\n'([^<]*$'\n')?"State 9"$'\n' ]] && no_backend
}
all_is_finished()
{
  local f
  for f in "$spool"/{jobs,received}/*; do
    [ ! -e "$f" ] || return
  done
}

is_over()
{
  take_results
  print_job_is_over && all_is_finished
}

begin_round() # ROUND MODE
{
  killed=()
  wrong=
  log_start=$(($(stat -c %s "$cups/log/error_log") + 1))
  rm -rf "${taken:?}"
  mkdir "$taken"
  : > "$SIM_LOG"
  touch "$dir/round"
  write_config "Completion $2"
  make_documents "$1"
}

ms_since() # EPOCHREALTIME OF THEN
{
  local now=${EPOCHREALTIME/./}
  echo $(((now - ${1/./}) / 1000))
}

# --- the kill ----------------------------------------------------------------

is_stored() # also what docextractd has not looked at yet, so that first
{
  find "$spool/received" -name job.json -exec cat {} + 2> "$dir/moved" |
    jq -r .id | grep -qx "$job" || [ -n "$(of_journal "$job" .id)" ]
}

# The states of both submissions in the journal.
journal_state()
{
  local states
  states=$(of_journal "$job" '[.submissions[] | .state +
      (if .state == "registered" and any(.files[]; .put == "sending") then
        "(PUT)"
      elif .state == "complete" then
        "(" + ([.cases[].state] | join("+")) + ")"
      else "" end)] | join(" ")')
  if [ -n "$states" ]; then
    echo "$states"
  elif [ -n "$(ls "$spool/incoming")" ]; then
    echo receiving
  else
    echo 'not begun'
  fi
}

kill_backends()
{
  local p
  for p in $(backends); do
    kill -KILL "$p" 2> /dev/null && killed+=("$p")
  done
  until_true no_backend || wrong+='the backend survived'$'\n'
}

kill_it() # cupsd, backend, daemon, both (cupsd and backend) or all
{
  case $1 in cupsd | both | all) stop_cupsd KILL ;; esac
  case $1 in backend | both | all) kill_backends ;; esac
  case $1 in daemon | all) stop_daemon KILL ;; esac
  state=$(journal_state)
}

# --- afterwards --------------------------------------------------------------

knows_the_end() { job_is "$job" 'completed|aborted|canceled|processing-stopped'; }

# The backend was killed before it had stored anything, and cupsd survived.
print_again()
{
  if ! WAIT_S=5 until_true knows_the_end 2> "$dir/waited"; then
    stop_cupsd
    start_cupsd
  elif job_is "$job" processing-stopped; then
    lp -i "$job" -H restart
  else
    print_documents
  fi
}

start_again()
{
  if [ -z "$CUPSD_PID" ]; then
    start_cupsd
  elif [ ${#killed[@]} -gt 0 ] && ! is_stored; then
    print_again
  fi
  start_daemon
}

# --- what must be true then --------------------------------------------------

must() # TEXT ACTUAL EXPECTED
{
  [ "$2" = "$3" ] || wrong+="$1: got '$2', expected '$3'"$'\n'
}

# Only a kill may leave a source without a file, one per document.
check_calls() # KILLS
{
  local n uploads
  n=$(calls create '.status < 300')
  [ "$n" -ge $documents ] && [ "$n" -le $((documents * (1 + $1))) ] ||
    wrong+="$n sources were registered for $documents documents"$'\n'
  uploads=$(uploads_of_sources)
  [ "$1" = 0 ] || uploads=${uploads/again/once}
  must 'a successful PUT for each document, a source for each' \
    "$uploads" "$(yes once | head -n $documents)"
}

check_results()
{
  local here
  take_results
  must 'each case arrived once' "$(results=$taken patients)" "$expected"
  must 'each result has a name of its own' "$(results=$taken n_results)" \
    $((documents + 1))
  here=$(cd "$taken" && jq -s -c 'map(select(.outcome == "extracted")) |
    map(.source_id) | unique | length' $(results=$taken manifests))
  must 'each source has its manifest' "$here" $documents
}

check_spool()
{
  must 'the job file and nothing more is kept' \
    "$(find "$spool/finished" -type f ! -name job.json)" ''
  must 'no job is left' "$(ls "$spool/jobs")" ''
  must 'nothing is damaged' "$(ls "$spool/damaged")" ''
}

check_queue()
{
  has_line "$(queue_state chart)" 'is idle\..*enabled' ||
    wrong+="the queue: $(queue_state chart)"$'\n'
  must 'no print job is left' "$(lpstat -o || echo 'cupsd does not answer')" ''
}
has_line() { grep -Eq "$2" <<< "$1"; }

check_all() # KILLS
{
  check_results
  check_calls "$1"
  check_spool
  check_queue
}

# What killed processes could not clear away.
leavings() { find "$spool/incoming" "$results" -mindepth 1 -maxdepth 1; }

# Hours pass, and the next one sweeps.
let_hours_pass()
{
  find "$spool/incoming" "$results" -mindepth 1 \
    -exec touch -d '2 hours ago' {} +
  touch -d '2 hours ago' "$spool/swept"
}

# --- rounds ------------------------------------------------------------------

tell_round() # SEED TEXT
{
  not_ok "$2" "SEED=$1 ROUNDS=1 runs it again"$'\n'"$wrong"
  echo '# the calls:'
  jq -r '"\(.t) \(.call) \(.source_id) \(.status)"' "$SIM_LOG" | sed 's/^/# /'
  echo '# docextractd:'
  cat "$dir/daemon.err" "$dir/daemon.new" | tail -n 20 | sed 's/^/# /'
  echo '# the log, without what every job says:'
  tail -c "+$log_start" "$cups/log/error_log" |
    sed -nE 's/^(. )\[[^ ]*:(..:..) [^]]*\] (\[Job [0-9]+\] .*)/# \1\2 \3/p' |
    grep -aE 'Started|PID|STATE|Retry|Set job|Loading|Unloading|^# [EWN]' |
    cut -c 1-160
}

undisturbed() # ROUND MODE: nobody is killed
{
  begin_round "$1" "$2"
  print_documents
  local begun=$EPOCHREALTIME
  until_true is_over || wrong+="the job is $(job_state "$job")"$'\n'
  took_ms[$2]=$(ms_since "$begun")
  check_all 0
}

one_round() # ROUND
{
  local this=$seed modes=(extracted accepted) mode
  local kinds=(cupsd backend both daemon all) kind delay text
  RANDOM=$seed
  mode=${modes[RANDOM % 2]}
  kind=${kinds[RANDOM % ${#kinds[@]}]}
  delay=$((RANDOM * took_ms[$mode] / 32767))
  # Most of a job's time is waiting: half of the kills look at its beginning.
  [ $((RANDOM % 2)) = 0 ] || delay=$((delay / 3))
  seed=$((RANDOM << 15 | RANDOM))
  begin_round "$1" "$mode"
  print_documents
  sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))" # the moment
  kill_it "$kind"
  start_again
  WAIT_S=90 until_true is_over ||
    wrong+="the job is $(job_state "$job") (listed as $(listed_state)): $(
      job_message "$job")"$'\n'
  check_all 1
  text="round $1, $mode: $kind killed after $delay ms, journal: $state"
  seen+="$mode, $kind: $state"$'\n'
  if [ -z "$wrong" ]; then ok "$text"; else tell_round "$this" "$text"; fi
}

declare -A took_ms
mkdir "$taken"
seen=
start_all
# A slow network: the moments between call and response count.
faults 'create * delay 300' 'put * delay 200' 'source * delay 100' \
  'extract * delay 300'
for mode in extracted accepted; do
  undisturbed 0 $mode
  [ -z "$wrong" ] || { tell_round "$seed" "an undisturbed job, $mode"; exit 1; }
  ok "an undisturbed job, $mode, takes ${took_ms[$mode]} ms"
done
for ((round = 1; round <= rounds; round++)); do
  one_round "$round"
  [ -z "$wrong" ] || break # the next one would find what is left
done
stop_daemon
let_hours_pass
start_daemon
undisturbed 0 extracted
is 'after all that an undisturbed job leaves nothing behind' \
  "$wrong$(leavings)" ''

echo '# where the kills hit:'
sort <<< "${seen%$'\n'}" | uniq -c | sed 's/^/# /'
