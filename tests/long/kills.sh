#!/usr/bin/env bash
#
# kills.sh - kill -9 of cupsd, of the backend, or of both at random moments,
# round after round; in the end every document was sent once and every result
# arrived. Other interruptions are in tests/it/interrupted.sh.
#
#   SEED=N ROUNDS=N tests/long/kills.sh
#
# The seed of a round makes the seed of the next one: SEED=(what a failing
# round printed) ROUNDS=1 is that round again.
#
# A cupsd that is killed starts the job again by itself. A backend that is
# killed while cupsd lives does not get that chance: cupsd 2.4 takes SIGKILL
# for a success and the job counts as completed, or stands still when documents
# were still to come. Somebody has to start it again, and here somebody does.
. "$(dirname "$0")/../it/lib.sh"

seed=${SEED:-20260117}
rounds=${ROUNDS:-50}
taken=$dir/taken
documents=2

# --- one round's job ---------------------------------------------------------

# A document of one case, and one that the service splits into two.
make_documents() # ROUND
{
  local gap='DOCEXTRACT CASE SEPARATOR'
  chart_pdf "$dir/one.pdf" Ann Ahrens "$1"
  chart_pdf "$dir/two.pdf" Bob Berg "$1" "$gap" \
    "$(mkchart Cem Can "$1" 03/07/1984 7.2 13.5)"
  expected="Ahrens Ann $1"$'\n'"Berg Bob $1"$'\n'"Can Cem $1"
}

# A consumer that takes what it sees. It may see a name twice, but never with
# other bytes.
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

# cupsd 2.4 writes its list of jobs and only then each job's own file. Killed in
# between, it calls a job that is over "pending" forever, and never starts it:
# what it goes by is the list.
listed_state()
{
  sed -n "/^<Job $job>/,/^<\/Job>/s/^State //p" "$cups/cache/job.cache"
}

is_over() # completed
{
  take_results
  [ "$(listed_state)" = 9 ] && no_backend
}

knows_the_end() { job_is "$job" 'completed|processing-stopped|aborted'; }

clear_round()
{
  rm -rf "${taken:?}" "$spool"/{jobs,finished}/*
  mkdir "$taken"
  clear_results
}

ms_since() # EPOCHREALTIME OF THEN
{
  local now=${EPOCHREALTIME/./}
  echo $(((now - ${1/./}) / 1000))
}

# --- the kill ----------------------------------------------------------------

# The states of both submissions, as far as the journal knows.
journal_state()
{
  local j
  j=$(find "$spool/jobs" "$spool/finished" -name job.json)
  if [ -n "$j" ]; then
    jq -r '[.submissions[] | .state +
      (if .registering then "(POST)"
      elif .state == "registered" and any(.files[]; .put == "sending") then
        "(PUT)"
      elif .state == "complete" then
        "(" + ([.cases[].state] | join("+")) + ")"
      else "" end)] | join(" ")' "$j"
  elif [ -n "$(ls "$spool/incoming")" ]; then
    echo receiving
  else
    echo 'not begun'
  fi
}

kill_it() # cupsd, backend or both
{
  local p
  case $1 in cupsd | both) stop_cupsd KILL ;; esac
  case $1 in
  backend | both)
    for p in $(backends); do
      kill -KILL "$p" && killed+=("$p")
    done
    until_true no_backend || wrong+='the backend survived'$'\n'
    ;;
  esac
  state=$(journal_state)
}

start_again()
{
  local before
  if [ -z "$CUPSD_PID" ]; then
    start_cupsd
  elif [ ${#killed[@]} -gt 0 ]; then
    until_true knows_the_end ||
      wrong+="cupsd noticed nothing: $(job_state "$job")"$'\n'
    before=$(starts "$job")
    lp -i "$job" -H restart
    until_true started_again "$job" "$before" ||
      wrong+='the job was not started again'$'\n'
  fi
}

# --- what must be true afterwards --------------------------------------------

must() # TEXT ACTUAL EXPECTED
{
  [ "$2" = "$3" ] || wrong+="$1: got '$2', expected '$3'"$'\n'
}

# What a killed backend could not clear away: an unfinished reception, a hidden
# file that was not renamed yet.
leavings_now()
{
  find "$spool/incoming" "$results" -mindepth 1 -maxdepth 1
}

# Makes them an hour old, so that the next backend removes them.
age_leavings()
{
  mapfile -t leavings < <(leavings_now)
  [ ${#leavings[@]} -eq 0 ] ||
    find "${leavings[@]}" -exec touch -d '1 hour ago' {} +
}

check_calls() # KILLS
{
  local n
  n=$(calls create '.status < 300')
  [ "$n" -ge $documents ] && [ "$n" -le $((documents + $1)) ] ||
    wrong+="$n sources were registered for $documents documents"$'\n'
  must 'a successful PUT for each document, a source for each' "$(jq -s -c \
    'map(select(.call == "put" and .status == 200)) | group_by(.source_id) |
    map(length)' "$SIM_LOG")" '[1,1]'
}

check_results()
{
  local here
  take_results
  must 'each case arrived once' "$(results=$taken patients)" "$expected"
  must 'each result has its own name' "$(results=$taken n_results)" 3
  here=$(cd "$taken" && jq -s -c 'map(select(.outcome == "extracted")) |
    map(.source_id) | unique | length' $(results=$taken manifests))
  must 'each source has its manifest' "$here" $documents
}

check_leavings()
{
  local f n
  must 'the journal and nothing else is kept' "$(find "$spool/jobs" "$spool/finished" -type f \
    -printf '%f\n' | sort | paste -sd' ')" 'job.json lock'
  must 'nothing is damaged' "$(ls "$spool/damaged")" ''
  for f in "${leavings[@]}"; do
    [ ! -e "$f" ] || wrong+="$f was not cleared away"$'\n'
  done
  n=$(leavings_now | wc -l)
  [ "$n" -le "${#killed[@]}" ] || wrong+="left: $(leavings_now)"$'\n'
}

check_queue()
{
  has_line "$(queue_state chart)" 'is idle\..*enabled' ||
    wrong+="the queue: $(queue_state chart)"$'\n'
  must 'no job is left' "$(lpstat -o)" ''
}
has_line() { grep -Eq "$2" <<< "$1"; }

# --- rounds ------------------------------------------------------------------

tell_round() # SEED TEXT
{
  not_ok "$2" "SEED=$1 ROUNDS=1 runs it again"$'\n'"$wrong"
  echo '# the calls:'
  jq -r '"\(.t) \(.call) \(.source_id) \(.status)"' "$SIM_LOG" | sed 's/^/# /'
  echo '# the log, without what every job says:'
  tail -c "+$log_start" "$cups/log/error_log" |
    sed -nE 's/^(. )\[[^ ]*:(..:..) [^]]*\] (\[Job [0-9]+\] .*)/# \1\2 \3/p' |
    grep -aE 'Started|PID|STATE|Retry|Set job|Loading|Unloading|^# [EWN]' |
    cut -c 1-160
}

undisturbed() # ROUND: prints and waits; nobody is killed
{
  killed=()
  wrong=
  clear_round
  make_documents "$1"
  print -d chart "$dir/one.pdf" "$dir/two.pdf"
  until_true one_backend
  local begun=$EPOCHREALTIME
  until_true is_over || wrong+="the job is $(job_state "$job")"$'\n'
  took_ms=$(ms_since "$begun")
  check_results
  check_calls 0
  check_leavings
  check_queue
  age_leavings
}

one_round() # ROUND
{
  local this=$seed kinds=(cupsd backend both) kind delay text
  RANDOM=$seed
  kind=${kinds[RANDOM % 3]}
  delay=$((RANDOM * took_ms / 32767))
  # Most of a job's time is waiting: half of the kills look at its beginning.
  [ $((RANDOM % 2)) = 0 ] || delay=$((delay / 3))
  seed=$((RANDOM << 15 | RANDOM))
  killed=()
  wrong=
  log_start=$(($(stat -c %s "$cups/log/error_log") + 1))
  clear_round
  make_documents "$1"
  print -d chart "$dir/one.pdf" "$dir/two.pdf"
  until_true one_backend || wrong+='no backend began'$'\n'
  sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))" # the moment
  kill_it "$kind"
  start_again
  WAIT_S=60 until_true is_over ||
    wrong+="the job is $(job_state "$job") (listed as $(listed_state)): $(
      job_message "$job")"$'\n'
  check_results
  check_calls 1
  check_leavings
  check_queue
  text="round $1: $kind killed after $delay ms, journal: $state"
  seen+="$kind: $state"$'\n'
  if [ -z "$wrong" ]; then ok "$text"; else tell_round "$this" "$text"; fi
  age_leavings
}

mkdir "$taken"
seen=
leavings=()
start_all
# A slow network: the time between call and response counts.
faults 'create * delay 300' 'put * delay 200' 'source * delay 100' \
  'extract * delay 300'
undisturbed 0
log_start=1
[ -z "$wrong" ] || { tell_round "$seed" 'an undisturbed job'; exit 1; }
ok "an undisturbed job takes $took_ms ms"
for ((round = 1; round <= rounds; round++)); do
  one_round "$round"
done
log_start=1
undisturbed 0
is 'after all that an undisturbed job leaves nothing behind' "$wrong" ''

echo '# where the kills hit:'
sort <<< "${seen%$'\n'}" | uniq -c | sed 's/^/# /'
