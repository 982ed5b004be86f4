# lib.sh - common functions of the integration tests: their end, and functions
# that read jobs, results, and calls. stage.sh starts the simulator and the
# private cupsd.
#
# To be sourced by bash. Tests of single features do not belong here.
. "$(dirname "${BASH_SOURCE[0]}")/../helper/count.sh"
. "$(dirname "${BASH_SOURCE[0]}")/stage.sh"
. "$top/tests/helper/calls.sh"

give_up() # TEXT: the test cannot continue
{
  not_ok "$1"
  exit 1
}

leave_out_all() # WHAT HOW TO INCLUDE IT: this machine cannot run the script
{
  leave_out "$@"
  trap - EXIT
  rm -rf "$dir"
  echo "$passed passed, $failed failed"
  exit "$failed"
}

# What our programs and cupsd logged about jobs, to explain a failure.
print_log()
{
  [ -e "$cups/log/error_log" ] || return 0
  echo '# the end of the error_log:'
  grep -aE '^[A-Z] .*(\[Job |docextract)' "$cups/log/error_log" |
    grep -avE 'argv\[|envp\[|job-sheets=|Auto-typing' | tail -n 60 | cut -c 1-300 |
    sed 's/^/# /'
}

# Without cupsd, everything else fails.
print_cupsd()
{
  [ -n "$CUPSD_PID" ] || return 0
  if is_gone "$CUPSD_PID"; then
    wait "$CUPSD_PID"
    echo "# cupsd has ended with status $?"
  else
    sed -n 's/^State:/# cupsd lives:/p' "/proc/$CUPSD_PID/status"
  fi
}

sanitizers_are_quiet()
{
  local found
  found=$(grep -raE --include='*err*' --include='*.new' --include='*.log' \
    'AddressSanitizer|LeakSanitizer|runtime error:' "$dir")
  case $? in
  0) echo "$found" && false ;;
  1) ;;
  *) false ;;
  esac
}

# In a trap it must come first, because it needs the exit status.
finish() # [COMMAND...]: which ends what else was started
{
  local status=$?
  trap - EXIT
  trap '' INT TERM HUP PIPE # once begun, it runs to the end
  [ "$failed" -eq 0 ] || print_cupsd
  "${@:-:}"
  clear_stage
  check 'no sanitizer complains' sanitizers_are_quiet
  [ "$failed" -eq 0 ] || print_log
  [ -n "${DX_KEEP-}" ] || rm -rf "$dir"
  if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
    not_ok "the test went on to its end (status $status)"
  fi
  count_is_good && [ "$passed" -gt 1 ]
  exit $? # in a trap, a bare exit keeps the status from before
}
trap finish EXIT
trap 'exit 130' INT TERM HUP PIPE

# The number of calls of a kind whose log entry matches the jq filter.
calls() # KIND [FILTER]
{
  if [ -e "$SIM_LOG" ]; then count_calls "$SIM_LOG" "$@"; else echo 0; fi
}

# The successful uploads of each source: "once", or "again" if the service was
# asked after the first, whose response a kill took away, and did not have all
# of it yet (doc/policy.md, "Exactly once").
uploads_of_sources()
{
  jq -s -r 'map(select(.call == "source" or (.call == "put" and .status == 200)))
    | group_by(.source_id)[] | sort_by(.t) | map(.call[:1]) | add |
    if test("^s*ps*$") then "once" elif test("^s*ps+ps*$") then "again"
    else . end' "$SIM_LOG" | sort
}

calls_are() { [ "$(calls "$1" "${3-}")" -ge "$2" ]; } # KIND N [FILTER]

# --- jobs ------------------------------------------------------------------

# Prints as an IPP client does that sends what lp and dialogs never would, and
# leaves the number in $job. A line is 'ATTR TAG NAME VALUE', as ipptool(1) has
# it. ipp_queue: another queue than chart.
print_ipp() # FILE TYPE [LINE OF A JOB ATTRIBUTE...]
{
  local output
  {
    printf '%s\n' '{' 'OPERATION Print-Job' 'GROUP operation-attributes-tag' \
      'ATTR charset attributes-charset utf-8' \
      'ATTR naturalLanguage attributes-natural-language en' \
      'ATTR uri printer-uri $uri' "ATTR name requesting-user-name $(id -un)" \
      "ATTR mimeMediaType document-format $2" 'GROUP job-attributes-tag' \
      "${@:3}" 'FILE $filename' '}'
  } > "$dir/print.test"
  output=$(ipptool -tv -f "$1" "$ipp/${ipp_queue-printers/chart}" "$dir/print.test" 2>&1)
  job=$(sed -n 's/^ *job-id (integer) = //p' <<< "$output")
  [ -n "$job" ] || give_up "cupsd takes the job of an IPP client: $output"
}

# Gives a queue a driver without a filter for raw documents, as 1.0.0 had: they
# reach the backend.
use_older_driver() # QUEUE
{
  grep -v application/vnd.cups-raw "$build/ppd/docextract.ppd" > "$dir/older.ppd"
  lpadmin -p "$1" -P "$dir/older.ppd" 2> "$dir/lpadmin.err" ||
    give_up "lpadmin changes the driver of $1: $(cat "$dir/lpadmin.err")"
}

# A stopped queue gets nowhere: no need to wait for it. While a job is processed,
# its queue is not stopped.
job_is_or_stuck() # ID PATTERN: sets `value`
{
  read_job_value "$1" job-state
  [[ $value =~ ^($2)$ ]] ||
    { [ "$value" != processing ] && all_are_stopped; }
}
wait_job() # ID PATTERN: canceled, completed, pending-held... Sets `value`
{
  until_true job_is_or_stuck "$1" "$2"
  [[ $value =~ ^($2)$ ]] && return
  echo "# job $1 is '$value': $(job_message "$1")"
  return 1
}

ended='canceled|aborted|completed|pending-held'

# Waits for a job to end and checks that it ended in this state.
job_ends() # TEXT ID STATE
{
  local value=
  wait_job "$2" "$ended"
  is "$1" "$value" "$3"
}

# The last message of the queue, which users see at the end of the job that
# ran last. The job's own message keeps the first error of any stage.
queue_message() # ID
{
  local queue
  queue=$(job_value "$1" job-printer-uri)
  queue_state "${queue##*/}" | tail -n +2
}

# The log lines of a job, for the administrator. The user who printed sees only
# the messages.
job_log() { grep -a "\[Job $1\]" "$cups/log/error_log"; } # ID

# The programs that made of its documents what the backend got.
filters_of() # ID
{
  job_log "$1" | sed -n 's,.*Started filter .*/\([^/ ]*\) (PID .*,\1,p' | xargs
}

# How often cupsd has started a backend for a job.
starts() # ID
{
  grep -ac "\[Job $1\] Started backend" "$cups/log/error_log"
}
started_again() { [ "$(starts "$1")" -gt "$2" ]; } # ID BEFORE

release() # ID: releases a held job and waits for its end
{
  local before
  before=$(starts "$1")
  lp -i "$1" -H resume
  until_true started_again "$1" "$before"
  wait_job "$1" "$ended"
}

# Without an answer of cupsd, lpstat prints no job, either, but fails.
no_job_waits() # [QUEUE]
{
  local waiting
  waiting=$(lpstat -o "$@" 2> /dev/null) && [ -z "$waiting" ]
}

queue_state() # NAME: what lpstat says about it
{
  lpstat -p "$1" 2>&1
}

queue_is_stopped() { queue_state "$1" | grep -q disabled; }
queue_says() { queue_state "$1" | grep -Eq "$2"; } # NAME PATTERN
queue_reasons() # NAME: its state reasons
{
  lpoptions -p "$1" | sed -n 's/.*printer-state-reasons=\([^ ]*\).*/\1/p'
}
not() { ! "$@"; }

# What the journals say, all of them. A job may move while they are read, and jq
# loses the file that follows one that is gone.
all_journals()
{
  local text
  for _ in {1..20}; do
    text=$(find "$spool/jobs" "$spool/finished" -name job.json \
      -exec cat {} + 2> /dev/null) && break
  done
  printf '%s\n' "$text"
}

of_journal() # CUPS JOB ID, JQ FILTER
{
  all_journals | jq -r --arg id "$1" "select(.id == \$id) | $2"
}

key_of() { of_journal "$1" .key; } # CUPS JOB ID

# An API call for the job has left since docextractd was started; of one that
# hangs, the simulator logs nothing.
is_calling() # CUPS JOB ID
{
  local key
  key=$(key_of "$1")
  [ -n "$key" ] &&
    grep -q "^job $key, .*: sending a request" "$dir/daemon.new"
}

# --- results ---------------------------------------------------------------

# Names in the directory of results that match a pattern, sorted.
named() # PATTERN [PATTERN OF OTHERS]
(
  cd "$results" 2> /dev/null || exit
  shopt -s nullglob
  GLOBIGNORE=".*:${2-}"
  # shellcheck disable=SC2086
  set -- $1
  [ $# = 0 ] || printf '%s\n' "$@"
)

results() { named '*.json' '*.job.json'; } # the names of extraction results
manifests() { named '*.job.json'; }

n_results() { results | wc -l; }
n_manifests() { manifests | wc -l; }
n_extracted() # submissions whose results have all arrived
{
  (cd "$results" && manifests |
    xargs -r grep -l '^[[:space:]]"outcome":[[:space:]]*"extracted",$' | wc -l)
}
extracted() { [ "$(n_extracted)" = "$1" ]; } # N

# All values extracted so far, one line "LAST FIRST MRN" per document.
patients()
{
  (cd "$results" && results | xargs -r jq -r '.results.medical_data[] |
    "\(.patient_last_name) \(.patient_first_name) \(.patient_mrn)"' | sort)
}

left_at() # the moments at which API calls left docextractd, in milliseconds
{
  sed -n 's/^.*sending a request at \([0-9]*\) ms$/\1/p' \
    "$dir/daemon.err" "$dir/daemon.new"
}
most_in_a_second() # of such moments
{
  sort -n | awk '{ t[NR] = $1; while (t[NR] - t[first + 1] > 1000) first++
    if (NR - first > most) most = NR - first } END { print most + 0 }'
}

uploads() # the files that the simulator has received, sorted
{
  find "$SIM_DATA" -type f -printf '%f\n' | sort
}

sent_files() # the same as paths, in the order of the documents
{
  local f sum
  local -A with=()
  while read -r sum f; do
    with[$sum]+=$f$'\n'
  done < <(uploads | sed "s,^,$SIM_DATA/," | xargs -r -d '\n' sha256sum)
  jq -r '.files[] | select((.sha256 // "") != "") | "\(.document) \(.sha256)"' \
    "$results"/*.job.json | sort -n |
    while read -r _ sum; do printf '%s' "${with[$sum]-}"; done
}

# The words of each page, pages apart with '|', documents apart with '#'.
sent()
{
  local f page words all=
  for f in $(sent_files); do
    all+="${all:+#}"
    while read -rd $'\f' page; do
      read -rd '' -a words <<< "$page"
      all+="${words[*]}|"
    done < <(pdftotext "$f" -)
    all=${all%|}
  done
  echo "$all"
}

# A text without white space and what no page shows, composed characters as one.
bare()
{
  perl -CSD -MUnicode::Normalize -0777 -pe '
    $_ = NFC($_); s/[\s\p{Cc}\p{Bidi_Control}\x{FEFF}]//g'
}

clear_results() # a clean slate for the next case
{
  rm -f "$results"/*.json
  rm -rf "${SIM_DATA:?}"/*
  : > "$SIM_LOG"
}

# --- documents -------------------------------------------------------------

# The text of a chart's page, for mkpdf.
mkchart() # FIRST LAST MRN DOB WBC HGB
{
  printf '%s' "Northside Clinic - Laboratory report||Patient: $1 $2|\
MRN: $3|DOB: $4||WBC          $5    10^3/uL    4.0 - 11.0|\
Hemoglobin   $6    g/dL       12.0 - 15.5"
}

chart_pdf() # FILE FIRST LAST MRN [EXTRA PAGE...]
{
  local file=$1 first=$2 last=$3 mrn=$4
  shift 4
  "$it/mkpdf" "$file" "$(mkchart "$first" "$last" "$mrn" 03/07/1984 7.2 13.5)" \
    "$@"
}

[ -x "$sim_program" ] || give_up "docextract-sim is built in $build"
[ -x "$build/backend/docextract" ] || give_up "the backend is built in $build"
