# stage.sh - a simulator, a private cupsd with our backend and filter, and a
# queue, for the integration tests and demo.sh.
#
# To be sourced by bash; the sourcing script defines give_up TEXT, sets an EXIT
# trap that calls clear_stage, and may set the capitals below. All files are in
# one directory ($dir), and processes are ended by id. Nothing is tested
# here, and nothing waits for a fixed time: until_true polls, with a limit.
#
# DX_BUILD is where the programs were built (default: the top of the tree).
set -u

it=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$it/../.." && pwd)
build=${DX_BUILD:-$top}
sim_program=$build/docextract-sim
docextract=$build/cli/docextract
# Started by root, the installed one takes no filter from the environment.
[ $EUID != 0 ] || docextract=$build/tests/cli/docextract-here
export LC_ALL=C.UTF-8
. "$top/tests/helper/wait.sh"
. "$top/tests/helper/children.sh"
PATH=$PATH:/usr/sbin:/sbin

use_dir() # PATH: nothing runs in it yet
{
  dir=$1
  cups=$dir/cups
  spool=$dir/spool
  results=$spool/results
  config=$cups/root/docextract.conf
  SIM_LOG=$dir/sim.log
  SIM_DATA=$dir/sim-data
  SIM_API=
  SIM_PID=
  : > "$dir/faults"
}

use_dir "$(mktemp -d "${TMPDIR:-/var/tmp}/dx-it.XXXXXX")"
chmod 711 "$dir" # the scheduler's user must get through
export CUPS_SERVER=$cups/cups.sock # not the one of this machine
CUPSD_PID=
DAEMON_PID=
CIPHER=HS256

# Backends run as this user.
if [ $EUID = 0 ]; then
  run_user='lp'
  run_group='lp'
else
  run_user=$(id -un)
  run_group=$(id -gn)
fi

# --- ending ----------------------------------------------------------------

cups_children() # prints them
{
  local children
  read_children
  [ ${#children[@]} = 0 ] || printf '%s\n' "${children[@]}"
}

read_backends() # sets `pids`, of our backend's processes
{
  local children
  read_children docextract
  pids=("${children[@]%% *}")
}
backends() # prints them
{
  local pids
  read_backends
  [ ${#pids[@]} = 0 ] || printf '%s\n' "${pids[@]}"
}

is_gone() # PID: or ended, and not waited for yet
{
  local line
  { read -r line < "/proc/$1/stat"; } 2> /dev/null || return 0
  [[ ${line##*) } = Z* ]]
}
no_children()
{
  local children
  read_children
  [ ${#children[@]} = 0 ]
}
n_backends_are() # N
{
  local pids
  read_backends
  [ ${#pids[@]} = "$1" ]
}
one_backend() { n_backends_are 1; }
no_backend() { n_backends_are 0; }

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

# Killed while it saved a job, its next run has the job twice, and may hang. Only
# tests/it/interrupted.sh looks at that.
forget_half_saved() { rm -f "$1"/spool/c*.N; } # DIRECTORY OF THE SCHEDULER

stop_cupsd() # [SIGNAL]
{
  [ -z "$CUPSD_PID" ] || end_process "$CUPSD_PID" "${1:-TERM}"
  CUPSD_PID=
  forget_half_saved "$cups"
}

stop_daemon() # [SIGNAL]
{
  [ -z "$DAEMON_PID" ] || end_process "$DAEMON_PID" "${1:-TERM}"
  DAEMON_PID=
}

end_children()
{
  local p
  for p in $(cups_children | cut -d ' ' -f 1); do
    kill -KILL "$p" 2> /dev/null
  done
  WAIT_S=10 until_true no_children
}

clear_stage()
{
  stop_daemon
  stop_cupsd
  end_children
  stop_sim
}

# --- the simulator ---------------------------------------------------------

make_key() # FILE: a secret, as the manual recommends it
{
  (umask 077 && openssl rand -hex 32 | tr -d '\n' > "$1")
  chmod 640 "$1"
  [ $EUID != 0 ] || chgrp "$run_group" "$1"
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
  setsid "$sim_program" --port 0 --storage-port 0 --ready-file "$dir/sim.ready" \
    --log "$SIM_LOG" --data-dir "$SIM_DATA" \
    --faults "$dir/faults" --source-time 300 --case-time 200 \
    "${auth[@]}" "$@" >> "$dir/sim.err" 2>&1 &
  SIM_PID=$!
  until_true sim_is_up_or_gone
  [ -e "$dir/sim.ready" ] ||
    give_up "the simulator starts: $(cat "$dir/sim.err")"
  SIM_API=$(sed -n 's/^api //p' "$dir/sim.ready")
}

faults() # LINE...: the running simulator takes them up at the next call
{
  printf '%s\n' "$@" > "$dir/faults.new"
  mv "$dir/faults.new" "$dir/faults"
}

# --- docextractd ------------------------------------------------------------

as_run_user()
{
  if [ $EUID = 0 ]; then
    exec setpriv --reuid "$run_user" --regid "$run_group" --clear-groups "$@"
  fi
  exec "$@"
}

daemon_is_up_or_gone()
{
  contains_line "$dir/daemon.new" ready || is_gone "$DAEMON_PID"
}

# What it has printed since its start is in daemon.new, and what earlier ones
# have printed is in daemon.err. It writes to the file itself: a program in
# between could be late. One that runs is left alone.
start_daemon()
{
  if [ -n "$DAEMON_PID" ] && ! is_gone "$DAEMON_PID"; then return; fi
  touch "$dir/daemon.new"
  cat "$dir/daemon.new" >> "$dir/daemon.err"
  : > "$dir/daemon.new"
  # shellcheck disable=SC2086
  as_run_user ${START_DAEMON-} "$build/${DOCEXTRACTD:-daemon/docextractd}" -c "$config" --verbose \
    >> "$dir/daemon.new" 2>&1 &
  DAEMON_PID=$!
  until_true daemon_is_up_or_gone
  ! is_gone "$DAEMON_PID" ||
    give_up "docextractd starts: $(cat "$dir/daemon.new")"
}

# The command, with our configuration.
dx() { CUPS_SERVERBIN=$cups/bin "$docextract" -c "$config" "$@"; }

# --- the private scheduler -------------------------------------------------

owned_dir() # MODE PATH: owned by the user of the backends
{
  local owner=()
  [ $EUID != 0 ] || owner=(-o "$run_user" -g "$run_group")
  install -d -m "$1" "${owner[@]}" "$2"
}

# Writes the configuration; lines of the service come as arguments.
write_config() # [LINE...]
{
  mkdir -p "${config%/*}"
  owned_dir 700 "$spool"
  chmod 711 "$spool"
  owned_dir 2770 "$results"
  owned_dir 755 "$dir/run"
  {
    echo "SpoolDir $spool"
    echo "ResultsDir $results"
    echo "StatusSocket ${STATUS_SOCKET:-$dir/run/status}"
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
  # For programs that no cupsd has started: this machine may have one, too.
  echo "ServerName $cups/cups.sock" > "$cups/root/client.conf"
  chmod 640 "$config.new"
  [ $EUID != 0 ] || chgrp "$run_group" "$config.new"
  mv "$config.new" "$config"
}

make_cups()
{
  local part
  mkdir -p "$cups"/{root/ppd,log,bin/backend}
  # Other backends are none of our business, and some look for devices.
  for part in filter daemon driver notifier cgi-bin; do
    cp -a "/usr/lib/cups/$part" "$cups/bin/"
  done
  install -m 755 "$build/backend/docextract" "$cups/bin/backend/docextract"
  install -m 755 "$build/todocextract" "$build/todocextract-check" \
    "$build/docextract-text.so" "$cups/bin/filter/"
  owned_dir 710 "$cups/spool"
  owned_dir 1770 "$cups/spool/tmp"
  owned_dir 755 "$cups/state"
  owned_dir 770 "$cups/cache"
  chmod 755 "$cups" "$cups/root"
  cat > "$cups/cups-files.conf" << END
ServerRoot $cups/root
ServerBin $cups/bin
DataDir ${DATA_DIR:-/usr/share/cups}
DocumentRoot /usr/share/cups/doc-root
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
${LISTEN-}
${CUPSD_CONF-}
Browsing No
WebInterface ${WEB_INTERFACE:-No}
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
  if [ $EUID = 0 ]; then echo root; else id -gn; fi
}

cupsd_is_up_or_gone() { lpstat -r 2> /dev/null | grep -q 'is running' || is_gone "$CUPSD_PID"; }

# The first start makes its directories; a later one finds its jobs again.
start_cupsd()
{
  [ -d "$cups/bin" ] || make_cups
  [ -e "$config" ] || write_config
  export CUPS_SERVER=$cups/cups.sock
  # shellcheck disable=SC2086
  setsid ${START_CUPSD-} cupsd -f -c "$cups/cupsd.conf" -s "$cups/cups-files.conf" \
    >> "$dir/cupsd.err" 2>&1 &
  CUPSD_PID=$!
  add_session "$CUPSD_PID"
  until_true cupsd_is_up_or_gone
  ! is_gone "$CUPSD_PID" || give_up "cupsd starts: $(cat "$dir/cupsd.err"
    tail -n 5 "$cups/log/error_log")"
  [ -n "${NO_DAEMON-}" ] || start_daemon
}

free_port() # one that the kernel has just chosen
{
  perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1,
    LocalAddr => "127.0.0.1")->sockport'
}
port_answers() { lpstat -h "localhost:$port" -r 2> /dev/null | grep -q 'is running'; }

# The same, also at localhost:$port. Another process may take the port before
# cupsd does.
start_cupsd_on_a_port()
{
  for _ in 1 2 3 4 5; do
    port=$(free_port)
    LISTEN="Listen localhost:$port"
    rm -rf "${cups:?}/bin"
    start_cupsd
    WAIT_S=3 until_true port_answers 2> "$dir/port.err" && return
    stop_cupsd
  done
  give_up 'finding a free port for cupsd'
}

add_queue() # NAME [OPTION=VALUE...]
{
  local name=$1 o=()
  shift
  for arg in "$@"; do o+=(-o "$arg"); done
  lpadmin -p "$name" -E -v docextract://default -P "$build/ppd/docextract.ppd" \
    "${o[@]}" 2>> "$dir/lpadmin.err" || give_up "lpadmin adds queue $name: $(cat "$dir/lpadmin.err")"
}

start_all() # a simulator, a cupsd and the queue chart
{
  start_sim "$@"
  start_cupsd
  add_queue chart
}

# --- jobs, as CUPS sees them ------------------------------------------------

# Prints with lp and leaves the number in $job.
print() # LP ARGUMENT...
{
  local output
  output=$(lp "$@" 2>&1)
  job=$(sed -n 's/.*request id is [^ ]*-\([0-9]*\) .*/\1/p' <<< "$output")
  [ -n "$job" ] || give_up "lp $* takes the job: $output"
}

# Written once: several may ask at the same time.
cat > "$dir/job.test" << 'END'
{
OPERATION Get-Job-Attributes
GROUP operation-attributes-tag
ATTR charset attributes-charset utf-8
ATTR naturalLanguage attributes-natural-language en
ATTR uri job-uri $uri
ATTR name requesting-user-name root
ATTR keyword requested-attributes $attribute
}
END
# In a subshell, which becomes ipptool: tests ask again and again. To read all
# of the attributes takes twice as long as all of the rest.
job_attribute() # ID ATTRIBUTE
{
  exec ipptool -tv -d attribute="$2" "$ipp/jobs/$1" "$dir/job.test" 2> /dev/null
}

# The host of an IPP address may be a socket's path.
ipp=ipp://$(sed 's,/,%2F,g' <<< "$cups/cups.sock")

# Sets `value`.
read_job_value() # ID ATTRIBUTE
{
  local text
  text=$(job_attribute "$@")
  text=${text#*status-code}
  value=${text#*" $2 ("}
  if [ "$value" = "$text" ]; then
    value=
    return 1
  fi
  value=${value#*') = '}
  value=${value%%$'\n'*}
}

job_value() # ID ATTRIBUTE
{
  local value
  ! read_job_value "$@" || echo "$value"
}

job_state() { job_value "$1" job-state; }
job_message() { job_value "$1" job-printer-state-message; }

job_is() # ID PATTERN
{
  local value
  read_job_value "$1" job-state
  [[ $value =~ ^($2)$ ]]
}

all_are_stopped()
{
  local line queues=
  while IFS= read -r line; do
    [[ $line != printer* ]] || queues+=${line/*disabled*/d}
  done < <(exec lpstat -p)
  [[ $queues =~ ^d+$ ]]
}
