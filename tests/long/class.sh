#!/usr/bin/env bash
#
# class.sh - three servers behind one queue, which share an account: the class
# is made with the commands of doc/administration.md, and one of the servers is
# killed while charts are printed. The others print what it has not received,
# and it extracts the rest when it is running again: each chart once. A chart
# that two servers received is a duplicate for a consumer of all results.
#
# The computers are namespaces of this one, with a network. Without root this is
# skipped and says so; in CI that is a failure.
if [ "${1-}" != inside ] && unshare --net --mount --uts true 2> /dev/null; then
  exec unshare --net --mount --uts bash "$0" inside
fi
. "$(dirname "$0")/../it/lib.sh"
. "$it/gate.sh"

[ "${1-}" = inside ] || leave_out_all 'a class of servers' 'run it as root'
command -v ip > /dev/null || leave_out_all 'a class of servers' 'install ip'

N=30
stage=$dir
hosts=(a b c)
declare -A address=([a]=192.0.2.11 [b]=192.0.2.12 [c]=192.0.2.13)
declare -A computer relay cupsd daemon # process ids

# --- computers -----------------------------------------------------------------

# Runs a function for a server, in place of the computer to which users print.
at() # HOST COMMAND...
{
  local host=$1 dir=$stage/$1 cups=$stage/$1/cups spool=$stage/$1/spool status
  local results=$spool/results config=$cups/root/docextract.conf
  local CUPS_SERVER=$cups/cups.sock ipp="ipp://${cups//\//%2F}%2Fcups.sock"
  local START_CUPSD="nsenter -t ${computer[$1]} -n"
  local CUPSD_PID=${cupsd[$1]-} DAEMON_PID=${daemon[$1]-} KEY=$stage/key
  shift
  "$@"
  status=$?
  cupsd[$host]=$CUPSD_PID
  daemon[$host]=$DAEMON_PID
  return $status
}

as_run_user() # COMMAND...: of stage.sh, on the computer of the server
{
  exec $START_CUPSD setpriv --reuid "$run_user" --regid "$run_group" \
    --clear-groups "$@"
}

# The simulator listens on the loopback address only. A relay makes it appear
# at that of another computer: it listens there, and connects here.
start_relay() # HOST
{
  nsenter -t "${computer[$1]}" -n /usr/bin/python3 -c '
import ctypes, os, socket, sys, threading
ports = [int(port) for port in sys.argv[1:]]
listeners = [socket.create_server(("127.0.0.1", port)) for port in ports]
here = os.open(f"/proc/{os.getppid()}/ns/net", os.O_RDONLY)
def pump(source, to):
    try:
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
def serve(listener, port):
    if ctypes.CDLL(None).setns(here, 0) != 0:
        os._exit(1)
    while True:
        client, _ = listener.accept()
        server = socket.create_connection(("127.0.0.1", port))
        for pair in ((client, server), (server, client)):
            threading.Thread(target=pump, args=pair, daemon=True).start()
for pair in zip(listeners, ports):
    threading.Thread(target=serve, args=pair).start()
' "${SIM_API##*:}" "${SIM_STORAGE##*:}" 2>> "$stage/relay.err" &
  relay[$1]=$!
}

is_apart() # HOST
{
  [ "$(readlink "/proc/${computer[$1]}/ns/net")" != \
    "$(readlink /proc/self/ns/net)" ]
}

start_computer() # HOST
{
  unshare --net sleep infinity &
  computer[$1]=$!
  until_true is_apart "$1"
  ip link add "to-$1" type veth peer name eth0 netns "${computer[$1]}" &&
    ip link set "to-$1" master office up &&
    nsenter -t "${computer[$1]}" -n sh -c 'ip link set lo up &&
      ip addr add "$1/24" dev eth0 && ip link set eth0 up' - "${address[$1]}" ||
    give_up 'a network connects the computers'
  start_relay "$1"
}

end_computers()
{
  local host
  for host in "${hosts[@]}"; do
    at "$host" stop_daemon
    at "$host" stop_cupsd
  done
  for host in "${hosts[@]}"; do
    end_process "${relay[$host]-}"
    end_process "${computer[$host]-}"
  done
}
trap 'finish end_computers' EXIT

# --- servers ---------------------------------------------------------------------

set_up_server() # the first time
{
  mkdir -p "$dir"
  chmod 711 "$dir"
  make_cups
  echo 'Port 631' >> "$cups/cupsd.conf"
  write_config "$completion"
  start_cupsd
  add_queue chart printer-is-shared=true
}

# Everything that runs on it.
kill_server()
{
  local p children
  local -A sessions=(["$CUPSD_PID"]=${sessions[$CUPSD_PID]})
  children=$(cups_children | cut -d ' ' -f 1)
  # shellcheck disable=SC2086
  kill -KILL "$DAEMON_PID" $children
  stop_daemon KILL
  stop_cupsd KILL
  for p in $children; do until_true is_gone "$p"; done
}

unfinished() { find "$spool"/{received,jobs} -mindepth 1 -maxdepth 1 | wc -l; }
has_unfinished() { [ "$(at "$1" unfinished)" -gt 1 ]; } # HOST

# A backend waits at the gate, and cupsd has written its job to the disk.
has_received()
{
  is_waiting_at filter && [ -e "$cups/spool/$(printf c%05d \
    "$(lpstat -o chart | sed -n 's/^chart-\([0-9]*\) .*/\1/p')")" ]
}

on_each() # COMMAND...: the sum of what it prints
{
  local host sum=0
  for host in "${hosts[@]}"; do sum=$((sum + $(at "$host" "$@"))); done
  echo $sum
}
all_extracted() { [ "$(on_each n_extracted)" -ge "$1" ]; } # N
all_finished() { [ "$(on_each unfinished)" = 0 ]; }

# --- the documented commands -------------------------------------------------------

section=$(cd "$top" && sed -n '/^### Several hosts behind one queue/,/^## /p' \
  doc/administration.md)
commands=$(awk '/^```/ { in_block = !in_block; next } in_block' <<< "$section" |
  sed "s/HOST-A/${address[a]}/; s/HOST-B/${address[b]}/; s/HOST-C/${address[c]}/")
completion=$(grep '^Completion' <<< "$commands")
commands=$(grep -v '^Completion' <<< "$commands")

ip link set lo up && ip link add office type bridge &&
  ip addr add 192.0.2.1/24 dev office && ip link set office up ||
  give_up 'there is a network'
start_sim --source-time 0 --case-time 0
SIM_STORAGE=$(sed -n 's/^storage //p' "$dir/sim.ready")
for host in "${hosts[@]}"; do
  start_computer "$host"
  at "$host" set_up_server
done
at b build_gate filter
NO_DAEMON=1
make_cups
rm "$cups/bin/backend/docextract"
cp "$(cups-config --serverbin)/backend/ipp" "$cups/bin/backend/"
start_cupsd
output=$(bash -ec "$commands" 2>&1) || give_up "the documented commands: $output"
is 'the documented commands make a class of three' \
  "$(lpstat -c charts | xargs)" 'members of class charts: chart-a chart-b chart-c'

# --- one of them dies ------------------------------------------------------------

# The documents are uploaded, but none is extracted until the server is killed.
faults 'source * word processing'
cupsdisable charts
for ((i = 1; i <= N; i++)); do
  chart_pdf "$dir/$i.pdf" Ann Ahrens $i
  print -d charts "$dir/$i.pdf"
done
cupsenable charts
WAIT_S=60 until_true has_unfinished b || not_ok 'a server has charts'
close_gate filter
WAIT_S=60 until_true at b has_received || not_ok 'it receives another chart'
at b kill_server
faults '#'
stored=$(at b unfinished)
waiting() { lpstat -o charts | wc -l; }
ok "a server is killed, with $stored charts; $(waiting) are not extracted elsewhere"
only_one_waits() { no_job_waits charts || [ "$(waiting)" = 1 ]; }
WAIT_S=120 check 'the others print what it has not received' \
  until_true only_one_waits
WAIT_S=60 check 'what was handed over to it waits' \
  until_true all_extracted $((N - stored - 1))
is 'it is not extracted by another one' "$(on_each n_extracted)" \
  $((N - stored - 1))
open_gate filter
at b start_cupsd
at b start_daemon
cupsenable chart-b
WAIT_S=60 check 'the server is started: all print jobs end' \
  until_true no_job_waits charts
WAIT_S=60 check 'each chart is extracted' until_true all_extracted $N
check 'nothing is left' until_true all_finished
is 'each was sent once' \
  "$(calls put '.status == 200') $(on_each n_extracted)" "$N $N"

# --- what a consumer gets ----------------------------------------------------------

# Of the charts of both directories, by their numbers.
numbers() # DIRECTORY
{
  (cd "$1" && find . -maxdepth 1 -name '*.json' ! -name '*.job.json' \
    -exec jq -r '.results.medical_data[].patient_mrn' {} + | sort -n | xargs)
}
deliver_to() # INBOX: what the program of doc/examples/ takes from each server
{
  local host
  mkdir "$1"
  for host in "${hosts[@]}"; do
    rm -rf "$dir/taken"
    cp -r "$stage/$host/spool/results" "$dir/taken"
    "$top/doc/examples/${1##*/}" "$dir/taken" "$1" > "$dir/consumer" 2>&1 ||
      not_ok "${1##*/}: it succeeds" "$(cat "$dir/consumer")"
  done
}
t='a chart that was handed over to two servers'
uuid=urn:uuid:6d8b4ae2-7c34-4f4e-8f0a-2f4f0f5a1c12
chart_pdf "$dir/twice.pdf" Ann Ahrens $((N + 1))
for queue in chart-a chart-b; do
  print -d $queue -o "job-uuid=$uuid" "$dir/twice.pdf"
  job_ends "$t: its print job ends" "$job" completed
done
WAIT_S=60 check "$t: both extract it" until_true all_extracted $((N + 2))
for program in consume.py consume.sh; do
  deliver_to "$dir/$program"
  is "$program: it gets each chart once" "$(numbers "$dir/$program")" \
    "$(seq -s ' ' $((N + 1)))"
  is "$program: the duplicate is apart" "$(numbers "$dir/$program/duplicates")" \
    $((N + 1))
done

# --- the account -------------------------------------------------------------------

t='each server receives ten charts at once'
print_ten() # they begin together, later
{
  local n
  cupsdisable chart
  for n in {1..10}; do print -d chart "$dir/../$n.pdf"; done
}
for host in "${hosts[@]}"; do at "$host" print_ten; done
: > "$SIM_LOG"
for host in "${hosts[@]}"; do at "$host" cupsenable chart; done
WAIT_S=90 check "$t: all are extracted" until_true all_extracted $((N + 2 + 30))
is "$t: each was sent once" \
  "$(calls put '.status == 200') $(on_each n_extracted)" "30 $((N + 2 + 30))"
n_calls=$(grep -vc '"call":"put"' "$SIM_LOG")
refused=$(grep -c '"status":429' "$SIM_LOG")
check "$t: few calls are refused ($refused of $n_calls)" \
  [ $((refused * 6)) -lt "$n_calls" ]
most=$(jq -r 'select(.call != "put") | .t * 1000 | floor' "$SIM_LOG" | sort -n |
  awk '{ t[NR] = $1; while (t[NR] - t[first + 1] > 1000) first++
    if (NR - first > most) most = NR - first } END { print most + 0 }')
check "$t: each makes fewer than 10 in any second (all: $most)" \
  [ "$most" -le $((9 * 3)) ]
