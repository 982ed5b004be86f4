# lib.sh - common functions of the crash walk and the fault walk: a job of two
# documents and three cases, the backend as cupsd runs it, docextractd, a
# simulator for each worker, what happens to the job, and the conditions at the
# end.
#
# To be sourced by bash. There is no cupsd: runs with the same arguments and the
# same bundle are the same job. The walks specify the step and the process that
# fail.
. "$(dirname "${BASH_SOURCE[0]}")/../it/lib.sh"

owned_dir 711 "$dir" # backends leave their logs there
preload=$build/tests/crash/preload.so
sealed=$build/tests/helper/sealed
backend=$build/backend/docextract
WORKERS=${WORKERS:-6} # they mostly wait
SPEED=100             # times faster: two seconds become twenty milliseconds
bundle=$dir/bundle
words=$dir/words
tools=$dir/tools # in front of the system's

[ -x "$sealed" ] || give_up 'sealed is built (make tests/helper/sealed)'
[ -e "$preload" ] || give_up 'preload.so is built (make tests/crash/preload.so)'
unset CUPS_SERVER # there is no scheduler to ask about the job

# What must never be printed, whatever fails: name, record number, title.
# Numbers of milliseconds may contain any digits.
secrets='Ahrens|Berg|Czerny|secret-title|secret-name|X-Sim|Bearer|eyJ'
secrets+='|(^|[^0-9])555100[1-3]([^0-9]|$)'

# --- the job ---------------------------------------------------------------

entry() # FILE: as the filter frames it
{
  entry_header "$1" application/pdf secret-name
  cat "$1"
}

make_bundle()
{
  chart_pdf "$dir/a.pdf" Ann Ahrens 5551001 'DOCEXTRACT CASE SEPARATOR' \
    "$(mkchart Bob Berg 5551002 03/07/1984 7.2 13.5)"
  chart_pdf "$dir/b.pdf" Cem Czerny 5551003
  { entry "$dir/a.pdf" && entry "$dir/b.pdf"; } > "$bundle"
  keep_texts
}

# The simulator runs pdftotext, which takes long to start, for the same two
# documents again and again: their texts are kept.
keep_texts()
{
  local f
  mkdir "$tools"
  for f in "$dir"/[ab].pdf; do
    pdftotext -layout -q -enc UTF-8 "$f" "$f.txt"
  done
  cat > "$tools/pdftotext" << END
#!/bin/sh
for f in "$dir"/[ab].pdf; do
  ! cmp -s "\$5" "\$f" || exec cp "\$f.txt" "\$6"
done
exec $(type -P pdftotext) "\$@"
END
  chmod 755 "$tools/pdftotext"
}

# No status socket: its server is a process of docextractd's, too, in which the
# same calls would be counted and fail.
export STATUS_SOCKET=$dir/none/none/status

start_service() # [LINE OF THE CONFIGURATION...]
{
  PATH=$tools:$PATH start_sim --rate 0 --source-time 0 --case-time 0
  write_config 'APIRate 9' "$@"
}

# Every worker has its own directory and simulator.
start_worker() # NAME
{
  unset FACTS_PID # of the shell that it was started by
  owned_dir 711 "$dir/$1"
  cp -p "$dir/key" "$dir/$1"
  use_dir "$dir/$1"
  trap 'stop_daemon; stop_sim; stop_facts' EXIT
  trap 'exit 130' TERM
  start_service "${directives[@]}"
}
directives=()

clean_sheet() # before every case
{
  stop_daemon
  rm -rf "$spool" "${SIM_DATA:?}"/* "$dir/seen"
  owned_dir 700 "$spool"
  : > "$SIM_LOG"
  contains_line "$dir/faults" '#' || faults '#'
  kills=0
}

# --- the backend -----------------------------------------------------------

# Becomes a program of ours with preload.so in front, as the user of backends;
# killed after that many seconds, unless 0. run_by: what starts it.
preloaded() # SECONDS PLAN LOG PROGRAM [ARGUMENT...]
{
  local limit=$1 plan=$2 log=$3
  shift 3
  [ "$limit" = 0 ] || limit="timeout -s KILL $limit"
  # shellcheck disable=SC2086
  as_run_user ${run_by-} ${limit#0} env CUPS_SERVERROOT="$cups/root" \
    DEVICE_URI=docextract://default PRINTER=chart \
    LD_PRELOAD="$preload" DX_WALK="$plan" DX_WALK_LOG="$log" \
    DX_WALK_SPEED=$SPEED MALLOC_PERTURB_=165 "$@"
}

# A log of a program that has ended; its owner is the user of backends.
empty() { [ ! -e "$1" ] || : > "$1"; } # FILE

# The backend, with the arguments of the one job there is.
print_it() # SECONDS PLAN LOG
{
  run_by=$sealed preloaded "$@" "$backend" 7 ann secret-title 1 \
    'job-uuid=urn:uuid:crash job-originating-host-name=here' < "$bundle"
}

# Runs it once with a plan for preload.so; its stderr goes to $dir/err, its exit
# status to $status.
run_backend() # [PLAN]
{
  local begin=$SECONDS limit
  limit=$((60 * slowest))
  empty "$dir/walk.log"
  { # bash would report every kill
    (print_it "$limit" "${1:-count $counted}" "$dir/walk.log") \
      > "$dir/out" 2> "$dir/err"
    status=$?
  } 2> /dev/null
  [ $((SECONDS - begin)) -lt $limit ] ||
    echo "# stopped after $limit s: the backend, ${1:-undisturbed}"
}

happened() # killed, stopped, failed [LOG]
{
  contains_line "${2-$dir/walk.log}" "$1"
}

# Runs it again until it succeeds, as cupsd does.
run_to_the_end() # [RUNS]
{
  local i
  for ((i = 1; i <= ${1:-4}; i++)); do
    run_backend
    [ "$status" != 0 ] || break
  done
  [ "$status" = 0 ] ||
    wrong "ends in the end: exit $status: $(grep ERROR "$dir/err")"
  until_true is_finished ||
    wrong "docextractd ends it: $(journal) $(tail -n 3 "$dir/daemon.new")"
}

is_finished() # starts no process, because it is asked often
{
  ! compgen -G "$spool/jobs/*" && ! compgen -G "$spool/received/*" &&
    compgen -G "$spool/finished/*"
} > /dev/null

# --- docextractd -------------------------------------------------------------

# It may be gone again: killed, or by a fault.
start_walked_daemon() # [PLAN [LOG]]
{
  : > "$dir/daemon.new"
  empty "$dir/daemon.log"
  CUPS_SERVER=$dir/none \
    preloaded 0 "${1:-count journal}" "${2:-$dir/daemon.log}" \
    "$build/daemon/docextractd" -c "$config" > "$dir/daemon.new" 2>&1 &
  DAEMON_PID=$!
  until_true daemon_is_up_or_gone
}

is_killed() { happened killed "$dir/daemon.log"; }

# Makes everything that was left two hours old.
grow_old()
{
  find "$spool" -depth -newermt '1 hour ago' \
    \( -path '*/incoming/*' -o -name '.*' -o -name swept \) \
    -exec touch -h -d '2 hours ago' {} +
}

# --- what happens to the job -------------------------------------------------

# A scene starts with docextractd, and comes to its end although docextractd is
# killed and started again meanwhile. before_SCENE is not disturbed.
scene=printed

printed() { run_to_the_end 1; }

# The service refuses both documents, and the print job is held.
refused()
{
  faults 'create * status 422'
  run_backend
  same 'it is held' "$status" 3
  same 'it has failed' "$(documents_that_are failed)" 2
  faults '#'
}

released()
{
  refused
  run_to_the_end 1
}

retried()
{
  refused
  until_true command_succeeds retry || wrong "retry: $(cat "$dir/command")"
  until_true is_finished || wrong "retried, it ends: $(journal)"
}

# Needs a print job that ends when it is stored: of another one, docextractd
# refuses this, because it is for cupsd to cancel.
canceled()
{
  faults 'extract * status 409'
  run_backend
  same 'the print job ends' "$status" 0
  until_true both_are_complete
  until_true command_succeeds cancel || wrong "cancel: $(cat "$dir/command")"
  until_true is_finished || wrong "canceled, it ends: $(journal)"
}

both_are_complete() { [ "$(documents_that_are complete)" = 2 ]; }

documents_that_are() # STATE, in the journal; jq takes long to start
{
  grep -c $'^\t\t\t"state":\t"'"$1\",$" $(journals)
}

# OnResult is run for both manifests, and once more at most for each kill.
hooked() { run_to_the_end 1; }
hooks_are_run()
{
  local runs
  runs=$(grep -c . "$spool/hooks")
  same 'OnResult is run for each manifest' "$(sort -u "$spool/hooks")" \
    "$(cd "$results" && manifests)"
  [ "$runs" -le $((2 + kills)) ] || wrong "OnResult is run $runs times"
}

# A job that has failed is older than KeepUnfinished.
before_expired()
{
  refused
  stop_daemon
  touch -d '31 days ago' $(journals)
}
expired() { until_true is_finished || wrong "it expires: $(journal)"; }

command_succeeds() # VERB; or docextractd was killed after it
{
  local key
  key=$(journals)
  key=${key%/job.json}
  dx "$1" "${key##*/}" > "$dir/command" 2>&1 || is_finished
}

start_daemon_of_scene() # [PLAN]
{
  if [ "$scene" != expired ]; then
    start_walked_daemon "$@"
  else
    touch -d '2 hours ago' "$spool/swept"
    SPEED=1 start_walked_daemon "$@" # at this speed the sweep has enough time
  fi
}

begin_scene() # [PLAN]
{
  if [ "$(type -t "before_$scene")" = function ]; then
    start_walked_daemon
    "before_$scene"
    stop_daemon
  fi
  start_daemon_of_scene "$@"
}

# --- what must hold ----------------------------------------------------------

# Workers report errors in $dir/wrong.
case_name=undisturbed
wrong() { echo "$case_name: $1" >> "$dir/wrong"; }

same() # TEXT ACTUAL EXPECTED
{
  [ "$2" = "$3" ] ||
    wrong "$1"$'\n'"got:      ${2//$'\n'/ }"$'\n'"expected: ${3//$'\n'/ }"
}

# Of the one job there is.
journals() { find "$spool/jobs" "$spool/finished" -name job.json; }

states='[.submissions[] | [.state, (.files[].put),
  (.cases[].state)]]'
journal() { jq -c "$states" $(journals) 2>&1; }

# What there is to know of the job, by kind, from one jq that answers again and
# again, because it takes long to start. It reads the files, each kind of them
# after a word:
#   found    what consumers find, without ids and times
#   named    the files that the manifests name, with their checksums
#   sent     registrations, and how often each source with files got them
#   lost     lost responses to registrations
#   ends     how many documents did not succeed, by the journal
#   told     how many of them have a manifest
#   journal  the states
#   job      the journal, but which run and which file it was
#   all      all of these
declare -A fact
mkdir "$words"
for word in call job json end; do
  echo "\"$word\"" > "$words/$word"
done

start_facts()
{
  coproc FACTS {
    exec jq -nr --unbuffered "def states: $states;"'
      foreach inputs as $in ({};
        if .word == "end" then {} else . end |
        if ($in | type) == "string" then .word = $in else .[.word] += [$in] end;
        select(.word == "end")) |
      [.json[]? | select(has("outcome"))] as $manifests |
      "found " + ([$manifests[] | [.schema, .outcome, .reason, .service,
        .job.queue, .job.title, [.files[] | [.document, .pages, .bytes, .sha256]],
        (.cases | length)] | tojson] | sort[]),
      "found " + ([.json[]? | select(has("outcome") | not) |
        [.results.status, [.results.medical_data[] |
        .patient_last_name, .patient_first_name, .patient_mrn]] | tojson] |
        sort[]),
      "named " + ([$manifests[].cases[]] | sort_by(.file)[] |
        "\(.sha256)  \(.file)"),
      "sent " + ([.call[]? | select(.call == "create" and .status < 300)] |
        length | tojson) + " " + ([.call[]? |
        select(.call == "put" and .status == 200) | .source_id] | group_by(.) |
        map(length) | tojson),
      "ends \([.job[]?.submissions[].state | select(. == "failed" or
        . == "canceled" or . == "expired")] | length)",
      "told \([$manifests[] | select(.outcome == "failed")] | length)",
      (.job[]? | "lost " + ([.submissions[].lost_creates] | add | tostring),
        "journal " + (states | tojson), "job " + (del(.print, .file_id) | tojson)),
      "end"'
  }
}
stop_facts() { [ -z "${FACTS_PID-}" ] || end_process "$FACTS_PID"; }

facts() # sets fact[KIND]; subshells have no access to the jq
{
  local kind value
  fact=([found]='' [named]='' [sent]='' [lost]='' [ends]='' [told]='' [journal]=''
    [job]='' [all]='')
  [ -n "${FACTS_PID-}" ] || start_facts
  {
    # shellcheck disable=SC2261
    cat "$words/call" "$SIM_LOG" "$words/job" "$spool"/{jobs,finished}/*/job.json \
      "$words/json" "$results"/*.json "$words/end" 2> /dev/null >&"${FACTS[1]}"
    while read -r kind value && [ "$kind" != end ]; do
      fact[$kind]="${fact[$kind]:+${fact[$kind]}$'\n'}$value"
      fact[all]+=$kind$value
    done
  } <&"${FACTS[0]}"
  [ "$kind" = end ] || wrong 'jq understands every file'
}

sums_of_results()
{
  (cd "$results" && GLOBIGNORE='.*:*.job.json' && sha256sum -- *.json 2> /dev/null)
}

leftovers() # in the directories of jobs
{
  find "$spool/jobs" "$spool/finished" -mindepth 2 ! -name job.json \
    -printf '%P\n'
}

printed_secrets()
{
  grep -aE "$secrets" "$dir/err" "$dir/out"
}

# Whatever a consumer can see never changes, but for the manifest of a failure.
remember() { rm -rf "$dir/seen" && cp -a "$results" "$dir/seen" 2> /dev/null; }
was_final()
{
  local f
  for f in "$dir"/seen/*.json; do
    [ ! -e "$f" ] || cmp -s "$f" "$results/${f##*/}" ||
      grep -q '"outcome":[[:space:]]*"failed"' "$f" ||
      wrong "${f##*/} was seen with other bytes, or taken back"
  done
}

# What a journal calls an end has a manifest.
ends_are_told()
{
  [ "$((fact[ends]))" -le "$((fact[told]))" ] ||
    wrong "${fact[ends]} ends in the journal, ${fact[told]} manifests"
}

# Everything after the end; $kills runs were killed or disturbed before. The
# responses to $lost_puts uploads, 0 or 1, may be lost: such an upload is
# repeated.
lost_puts=0
check_end()
{
  local creates puts before mode
  facts
  same 'results and manifests are those of an undisturbed run' \
    "${fact[found]}" "$expected_found"
  same 'manifests name every result with its sum' \
    "${fact[named]}" "$(sums_of_results)"
  read -r creates puts <<< "${fact[sent]}"
  [ "$lost_puts" = 0 ] || puts=${puts/2/1}
  same 'sources got their file once' "$puts" "$expected_puts"
  # Only a lost response or a kill may leave an orphan, the latter one per
  # document.
  [ "$creates" -le $((2 + fact[lost] + 2 * kills)) ] ||
    wrong "$creates registrations, ${fact[lost]} responses lost, $kills runs \
disturbed"
  same 'the journal says so' "${fact[journal]}" "$expected_journal"
  same 'nothing else is kept of the job' "$(leftovers)" ''
  mode=$(stat -c %A "$results")
  same 'the directory of results is for its group' "${mode:4:2}${mode:7}" rw---
  same 'results are for their group' \
    "$(stat -c %a "$results"/*.json | sort -u)" 640
  was_final
  ends_are_told
  [ "$scene" != hooked ] || hooks_are_run
  before=${fact[all]}$(files_now)
  stop_daemon
  grow_old
  SPEED=1 start_walked_daemon # at this speed the sweep has enough time
  case $scene in
  canceled | expired) ;; # printed again, it would be sent
  *)
    SPEED=1 run_backend
    same 'run again: exit 0' "$status" 0
    ;;
  esac
  until_true is_finished || wrong 'run again: it comes to its end'
  facts
  same 'run again: nothing is sent, nothing changes' \
    "${fact[all]}$(files_now)" "$before"
  until_true is_swept || wrong "left behind, and not swept: $(left_behind)"
  stop_daemon
}

left_behind()
{
  find "$results" "$spool/incoming" "$spool/damaged" "$spool/received" \
    -mindepth 1 \( ! -path "$results/*" -o -name '.*' \)
}
is_swept() { [ -z "$(left_behind)" ]; }

# Results and manifests, and the logs of all calls and of OnResult, which grow.
files_now()
{
  stat -c '%n %i %y %s' "$results"/*.json "$SIM_LOG" "$spool/hooks" 2> /dev/null
}

configure() # [LINE OF THE SERVICE...]: from now on, the workers, too
{
  directives=("$@")
  write_config 'APIRate 9' "$@"
}

# From now on the print job ends when it is stored, and docextractd does the
# rest.
accept() { configure 'Completion accepted'; }

# How many steps of a group there are when nothing disturbs a scene:
# $of_backend, $of_daemon.
count() # GROUP
{
  local counted=$1
  clean_sheet
  begin_scene "count $1"
  $scene
  until_true is_finished || not_ok 'a job that nobody disturbs is finished'
  stop_daemon
  of_backend=$(grep -c . "$dir/walk.log")
  of_daemon=$(grep -c . "$dir/daemon.log")
}
counted=journal

# What an undisturbed scene leaves behind.
learn()
{
  clean_sheet
  begin_scene
  $scene
  until_true is_finished
  is "undisturbed, nothing is wrong: $scene" "$(cat "$dir/wrong" 2> /dev/null)" ''
  facts
  expected_found=${fact[found]}
  expected_journal=${fact[journal]}
  read -r _ expected_puts <<< "${fact[sent]}"
}

learn_expected()
{
  local done='"extracted","done","delivered"'
  start_service
  learn
  is 'an undisturbed run succeeds' "$status" 0
  [ "$status" = 0 ] || exit 1
  is 'it has three results and two manifests' \
    "$(n_results) $(n_manifests)" '3 2'
  is 'its manifests name its results' "${fact[named]}" \
    "$(sums_of_results)"
  is 'it registers two sources and sends each once' "${fact[sent]}" \
    '2 [1,1]'
  is 'every state is the last one' "$expected_journal" \
    "[[$done,\"delivered\"],[$done]]"
  is 'it keeps no documents' "$(leftovers)" ''
}

# --- the workers -----------------------------------------------------------

# Ending a walk ends its workers, and they end their simulators.
clear_stage()
{
  if [ ${#workers[@]} -gt 0 ]; then
    kill "${workers[@]}" 2> /dev/null
    wait "${workers[@]}"
  fi
  stop_daemon
  stop_sim
  stop_facts
}
workers=()

# Splits a list of cases, one per line, among the workers; work CASE... is run
# for each line. Prints a check for what went wrong.
in_parallel() # TEXT WORK < CASES
{
  local text=$1 work=$2 i cases n
  cases=$(cat)
  n=$(grep -c . <<< "$cases")
  if [ "$n" = 0 ]; then
    not_ok "$text: there are cases"
    return
  fi
  for ((i = 0; i < WORKERS && i < n; i++)); do
    (
      workers=()
      start_worker "w$round-$i"
      while read -r case_name; do
        [ -n "$case_name" ] || continue
        clean_sheet
        # shellcheck disable=SC2086
        $work $case_name < /dev/null
      done < <(sed -n "$((i + 1))~${WORKERS}p" <<< "$cases")
      : > "$dir/done"
    ) &
    workers+=($!)
  done
  wait "${workers[@]}"
  workers=()
  [ "$(find "$dir"/w"$round"-* -name 'done' | wc -l)" = "$i" ] ||
    not_ok "$text: every worker comes to its end"
  report "$text ($n cases)"
  round=$((round + 1))
}
round=0

report() # TEXT
{
  local all
  all=$(cat "$dir"/w"$round"-*/wrong 2> /dev/null)
  is "$1" "$all" ''
}
