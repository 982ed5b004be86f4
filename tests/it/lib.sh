# lib.sh - what the integration tests share: the count of checks, a simulator,
# a private cupsd with our backend and filter, queues, jobs, results.
#
# To be sourced by bash. Every test has a folder of its own ($dir) and starts
# everything itself; all of it is ended by process id when the test leaves.
# Nothing waits by sleeping a fixed time: until_true polls, with a bound. Tests
# of single features do not live here.
#
# DX_BUILD is where the programs were built (default: the top of the tree).
set -u

it=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$it/../.." && pwd)
build=${DX_BUILD:-$top}
sim_program=$build/docextract-sim
docextract=$build/cli/docextract
export LC_ALL=C.UTF-8
PATH=$PATH:/usr/sbin:/sbin

dir=$(mktemp -d "${TMPDIR:-/tmp}/dx-it.XXXXXX")
chmod 711 "$dir" # the scheduler's user must get through
cups=$dir/cups
spool=$dir/spool
results=$spool/results
config=$cups/root/docextract.conf
SIM_LOG=$dir/sim.log
SIM_DATA=$dir/sim-data
SIM_API=
SIM_PID=
CUPSD_PID=
sessions=
CIPHER=HS256
passed=0
failed=0
: > "$dir/faults"

# Backends run as this user.
if [ "$(id -u)" = 0 ]; then
  run_user=lp
  run_group=lp
else
  run_user=$(id -un)
  run_group=$(id -gn)
fi

# --- the count -------------------------------------------------------------

ok() # TEXT
{
  passed=$((passed + 1))
  echo "ok - $1"
}

not_ok() # TEXT [DETAIL]
{
  failed=$((failed + 1))
  echo "not ok - $1"
  [ -z "${2-}" ] || sed 's/^/#   /' <<< "$2"
}

check() # TEXT COMMAND...: true when the command succeeds
{
  local text=$1 said
  shift
  if said=$("$@" 2>&1); then ok "$text"; else not_ok "$text" "$* $said"; fi
}

is() # TEXT ACTUAL EXPECTED
{
  if [ "$2" = "$3" ]; then
    ok "$1"
  else
    not_ok "$1" "got:      $2"$'\n'"expected: $3"
  fi
}

has() # TEXT ACTUAL PATTERN: true when the extended pattern is found
{
  if grep -Eq -e "$3" <<< "$2"; then
    ok "$1"
  else
    not_ok "$1" "got:      $2"$'\n'"expected: $3"
  fi
}

bail() # TEXT: the test cannot go on
{
  not_ok "$1"
  exit 1
}

# Waits until a command succeeds, at most WAIT_S seconds (30).
until_true()
{
  local end=$((SECONDS + ${WAIT_S:-30}))
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}

# --- ending ----------------------------------------------------------------

# The processes that were started by our schedulers, wherever they hang now:
# each scheduler has a session of its own. Lines of "pid command".
cups_children()
{
  local f line
  for f in /proc/[0-9]*/stat; do
    { read -r line < "$f"; } 2> /dev/null || continue
    set -- ${line##*) }
    case " $sessions " in
    *" $4 "*)
      line=${line%)*}
      [ "$1" = Z ] || echo "${line%% *} ${line#*(}"
      ;;
    esac
  done
}

backends() # the ids of our backend's processes
{
  cups_children | sed -n 's/ docextract$//p'
}

is_gone() { ! kill -0 "$1" 2> /dev/null; }
no_children() { [ -z "$(cups_children)" ]; }
one_backend() { [ "$(backends | wc -w)" = 1 ]; }
no_backend() { [ -z "$(backends)" ]; }

end_process() # PID [SIGNAL]: a child of this shell
{
  kill "-${2:-TERM}" "$1" 2> /dev/null
  WAIT_S=20 until_true is_gone "$1" || kill -KILL "$1" 2> /dev/null
  wait "$1" 2> /dev/null
}

stop_sim()
{
  [ -z "$SIM_PID" ] || end_process "$SIM_PID"
  SIM_PID=
}

stop_cupsd() # [SIGNAL]
{
  [ -z "$CUPSD_PID" ] || end_process "$CUPSD_PID" "${1:-TERM}"
  CUPSD_PID=
}

end_children()
{
  local p
  for p in $(cups_children | cut -d ' ' -f 1); do
    kill -KILL "$p" 2> /dev/null
  done
  WAIT_S=10 until_true no_children
}

# What our programs and cupsd said about jobs, for whoever reads a failure.
tell_log()
{
  [ -e "$cups/log/error_log" ] || return 0
  echo '# the end of the error_log:'
  grep -aE '^[A-Z] .*(\[Job |docextract)' "$cups/log/error_log" |
    grep -avE 'argv\[|envp\[|job-sheets=|Auto-typing' | tail -n 60 | cut -c 1-300 |
    sed 's/^/# /'
}

sanitizers_are_quiet()
{
  ! grep -aE 'AddressSanitizer|LeakSanitizer|runtime error:' \
    "$cups/log/error_log" "$dir/sim.err" 2> /dev/null
}

finish()
{
  local status=$?
  trap - EXIT
  stop_cupsd
  end_children
  stop_sim
  check 'no sanitizer complains' sanitizers_are_quiet
  [ "$failed" -eq 0 ] || tell_log
  [ -n "${DX_KEEP-}" ] || rm -rf "$dir"
  if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
    not_ok "the test went on to its end (status $status)"
  fi
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 1 ]
  exit
}
trap finish EXIT
trap 'exit 130' INT TERM

# --- the simulator ---------------------------------------------------------

make_key() # FILE: a secret, as the manual recommends it
{
  (umask 077 && openssl rand -hex 32 | tr -d '\n' > "$1")
  chmod 640 "$1"
  [ "$(id -u)" != 0 ] || chgrp "$run_group" "$1"
}

sim_is_up_or_gone() { [ -e "$dir/sim.ready" ] || is_gone "$SIM_PID"; }

# Later options win over those given here.
start_sim() # [OPTION...]
{
  local auth=()
  [ -e "$dir/key" ] || make_key "$dir/key"
  [ "${SIM_AUTH:-key}" != key ] ||
    auth=(--key-file "$dir/key" --algorithm "$CIPHER")
  rm -f "$dir/sim.ready"
  mkdir -p "$SIM_DATA"
  "$sim_program" --port 0 --storage-port 0 --ready-file "$dir/sim.ready" \
    --log "$SIM_LOG" --log-names --data-dir "$SIM_DATA" \
    --faults "$dir/faults" --source-time 300 --case-time 200 \
    "${auth[@]}" "$@" 2>> "$dir/sim.err" &
  SIM_PID=$!
  until_true sim_is_up_or_gone
  [ -e "$dir/sim.ready" ] ||
    bail "the simulator starts: $(cat "$dir/sim.err")"
  SIM_API=$(sed -n 's/^api //p' "$dir/sim.ready")
}

faults() # LINE...: the running simulator takes them up at the next call
{
  printf '%s\n' "$@" > "$dir/faults.new"
  mv "$dir/faults.new" "$dir/faults"
}

# How many calls of a kind were answered as the jq filter says.
calls() # KIND [FILTER]
{
  [ -e "$SIM_LOG" ] || { echo 0; return; }
  jq -s "[.[] | select(.call == \"$1\") | select(${2:-true})] | length" \
    "$SIM_LOG"
}

calls_are() { [ "$(calls "$1" "${3:-true}")" -ge "$2" ]; } # KIND N [FILTER]

# The command, with our configuration.
dx() { "$docextract" -c "$config" "$@"; }

# --- the private scheduler -------------------------------------------------

folder() # MODE PATH: owned by the user of the backends
{
  mkdir -p "$2"
  [ "$(id -u)" != 0 ] || chown "$run_user:$run_group" "$2"
  chmod "$1" "$2"
}

# Writes the configuration; lines of the service come as arguments.
write_config() # [LINE...]
{
  folder 700 "$spool"
  chmod 711 "$spool"
  folder 2770 "$results"
  {
    echo "SpoolDir $spool"
    echo "ResultsDir $results"
    [ -z "${GENERAL-}" ] || echo "$GENERAL"
    echo '<Service default>'
    echo "BaseURL ${BASE_URL:-$SIM_API}"
    if [ -z "${NO_TOKEN-}" ]; then
      echo 'Token key'
      echo "TokenKeyFile ${KEY:-$dir/key}"
      echo "TokenAlgorithm $CIPHER"
    fi
    [ $# -eq 0 ] || printf '%s\n' "$@"
    echo '</Service>'
  } > "$config.new"
  chmod 640 "$config.new"
  [ "$(id -u)" != 0 ] || chgrp "$run_group" "$config.new"
  mv "$config.new" "$config"
}

make_cups()
{
  local room
  mkdir -p "$cups"/{root/ppd,log,doc,bin/backend}
  # Other backends are none of our business, and some look for devices.
  for room in filter daemon driver notifier; do
    cp -a "/usr/lib/cups/$room" "$cups/bin/"
  done
  install -m 755 "$build/backend/docextract" "$cups/bin/backend/docextract"
  install -m 755 "$build/todocextract" "$cups/bin/filter/todocextract"
  folder 710 "$cups/spool"
  folder 1770 "$cups/spool/tmp"
  folder 755 "$cups/state"
  folder 770 "$cups/cache"
  chmod 755 "$cups" "$cups/root"
  cat > "$cups/cups-files.conf" << END
ServerRoot $cups/root
ServerBin $cups/bin
DataDir ${DATA_DIR:-/usr/share/cups}
DocumentRoot $cups/doc
StateDir $cups/state
CacheDir $cups/cache
RequestRoot $cups/spool
TempDir $cups/spool/tmp
AccessLog $cups/log/access_log
ErrorLog $cups/log/error_log
PageLog $cups/log/page_log
User $run_user
Group $run_group
SystemGroup ${DX_SYSTEM_GROUP:-$(system_group)}
${CUPS_FILES-}
END
  cat > "$cups/cupsd.conf" << END
LogLevel ${LOG_LEVEL:-debug}
MaxLogSize 0
PageLogFormat %p %j %{job-media-sheets-completed} %P %C
Listen $cups/cups.sock
Browsing No
WebInterface No
DirtyCleanInterval 0
DefaultAuthType None
ErrorPolicy retry-job
<Location />
Order allow,deny
Allow all
</Location>
<Policy default>
JobPrivateAccess all
JobPrivateValues none
SubscriptionPrivateAccess all
SubscriptionPrivateValues none
<Limit All>
Order deny,allow
</Limit>
</Policy>
END
}

system_group()
{
  if [ "$(id -u)" = 0 ]; then echo root; else id -gn; fi
}

cupsd_is_up_or_gone() { lpstat -r 2> /dev/null | grep -q 'is running' || is_gone "$CUPSD_PID"; }

# The first start makes its folders; a later one finds its jobs again.
start_cupsd()
{
  [ -d "$cups/bin" ] || make_cups
  [ -e "$config" ] || write_config
  export CUPS_SERVER=$cups/cups.sock
  setsid cupsd -f -c "$cups/cupsd.conf" -s "$cups/cups-files.conf" \
    2>> "$dir/cupsd.err" &
  CUPSD_PID=$!
  sessions+=" $CUPSD_PID"
  until_true cupsd_is_up_or_gone
  ! is_gone "$CUPSD_PID" || bail "cupsd starts: $(cat "$dir/cupsd.err"
    tail -n 5 "$cups/log/error_log")"
}

add_queue() # NAME [OPTION=VALUE...]
{
  local name=$1 o=()
  shift
  for arg in "$@"; do o+=(-o "$arg"); done
  lpadmin -p "$name" -E -v docextract://default -P "$build/ppd/docextract.ppd" \
    "${o[@]}" 2>> "$dir/lpadmin.err" || bail "lpadmin adds queue $name: $(cat "$dir/lpadmin.err")"
}

start_all() # a simulator, a cupsd and the queue chart
{
  start_sim "$@"
  start_cupsd
  add_queue chart
}

# --- jobs ------------------------------------------------------------------

# Prints with lp and leaves the number in $job.
print() # LP ARGUMENT...
{
  local said
  said=$(lp "$@" 2>&1)
  job=$(sed -n 's/.*request id is [^ ]*-\([0-9]*\) .*/\1/p' <<< "$said")
  [ -n "$job" ] || bail "lp $* takes the job: $said"
}

job_attributes() # ID: all of them, as ipptool shows them
{
  cat > "$dir/job.test" << 'END'
{
OPERATION Get-Job-Attributes
GROUP operation-attributes-tag
ATTR charset attributes-charset utf-8
ATTR naturalLanguage attributes-natural-language en
ATTR uri job-uri $uri
ATTR name requesting-user-name root
}
END
  ipptool -tv "$ipp/jobs/$1" "$dir/job.test" 2> /dev/null |
    sed '1,/status-code/d'
}

# The host of an IPP address may be a socket's path.
ipp=ipp://$(sed 's,/,%2F,g' <<< "$cups/cups.sock")

job_value() # ID ATTRIBUTE
{
  job_attributes "$1" | sed -n "s/^ *$2 ([^)]*) = //p"
}

job_state() { job_value "$1" job-state; }
job_message() { job_value "$1" job-printer-state-message; }

job_is() # ID PATTERN
{
  grep -Eqx "$2" <<< "$(job_state "$1")"
}

# A stopped queue gets nowhere: no need to wait for it.
job_is_or_stuck() { job_is "$1" "$2" || all_are_stopped; }
all_are_stopped()
{
  [ -n "$(lpstat -p)" ] && ! lpstat -p | grep '^printer' | grep -qv disabled
}

wait_job() # ID PATTERN: canceled, completed, pending-held...
{
  until_true job_is_or_stuck "$1" "$2"
  job_is "$1" "$2" && return
  echo "# job $1 is '$(job_state "$1")': $(job_message "$1")"
  return 1
}

ended='canceled|aborted|completed|pending-held'

# Waits for the end of a job and checks that it is the right one.
job_ends() # TEXT ID STATE
{
  wait_job "$2" "$ended"
  is "$1" "$(job_state "$2")" "$3" 
}

# What a person is told about a job: its own message, else the last error.
told() # ID
{
  local said
  said=$(job_message "$1")
  [ -n "$said" ] || said=$(grep -aE "^E .*\[Job $1\] " "$cups/log/error_log" |
    tail -n 1)
  echo "$said"
}

# How often cupsd has started a backend for a job.
starts() # ID
{
  grep -ac "\[Job $1\] Started backend" "$cups/log/error_log"
}
started_again() { [ "$(starts "$1")" -gt "$2" ]; } # ID BEFORE

release() # ID: lets a held job run once more, to its end
{
  local before
  before=$(starts "$1")
  lp -i "$1" -H resume
  until_true started_again "$1" "$before"
  wait_job "$1" "$ended"
}

queue_state() # NAME: what lpstat says of it
{
  lpstat -p "$1" 2>&1
}

queue_is_stopped() { queue_state "$1" | grep -q disabled; }

# --- results ---------------------------------------------------------------

results() # the names of extraction answers, sorted
{
  find "$results" -maxdepth 1 -name '*.json' ! -name '*.job.json' \
    ! -name '.*' -printf '%f\n' | sort
}

manifests()
{
  find "$results" -maxdepth 1 -name '*.job.json' ! -name '.*' -printf '%f\n' |
    sort
}

n_results() { results | wc -l; }
n_manifests() { manifests | wc -l; }

# All values extracted so far, one line "LAST FIRST MRN" a document.
patients()
{
  local f
  for f in $(results); do
    jq -r '.results.medical_data[] |
      "\(.patient_last_name) \(.patient_first_name) \(.patient_mrn)"' \
      "$results/$f"
  done | sort
}

uploads() # the files the simulator has got, sorted
{
  find "$SIM_DATA" -type f -printf '%f\n' | sort
}

clear_results() # a clean sheet for the next case
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

[ -x "$sim_program" ] || bail "docextract-sim is built in $build"
[ -x "$build/backend/docextract" ] || bail "the backend is built in $build"
