# frame.sh - what the tests of the command share: a simulator, a spool, a
# configuration, documents. Run by root, the spool belongs to another user; run
# by anybody else, to him.
#
# To be sourced by bash. Finds the programs in $DX_BUILD (default: the top of
# the tree). Needs jq, openssl. Tests do not live here.
set -u

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${DX_BUILD:-$top}
sim=$build/docextract-sim
program=$build/cli/docextract
mkpdf=$top/tests/it/mkpdf
dir=$(mktemp -d)
chmod 711 "$dir"
conf=$dir/docextract.conf
spool=$dir/spool
results=$spool/results
sim_pid=
pid=
if [ "$(id -u)" = 0 ]; then owner=nobody; else owner=$(id -un); fi
group=$(id -gn "$owner")
export LC_ALL=C.UTF-8
unset CUPS_SERVERROOT

. "$top/tests/helper/count.sh"
. "$top/tests/helper/wait.sh"

# Runs the command and leaves what it said in $out and $err, its status in $rc.
dx() # ARGUMENT...
{
  "$program" -c "$conf" "$@" > "$dir/out" 2> "$dir/err"
  rc=$?
  out=$(cat "$dir/out")
  err=$(cat "$dir/err")
  no_sanitizer
}

no_sanitizer()
{
  case $(cat "$dir/err") in
  *Sanitizer* | *"runtime error"*)
    is 'no sanitizer complains' "$(cat "$dir/err")" ''
    ;;
  esac
}

# Starts the command beside us on a terminal of 24 lines; sets $pid, and what
# it shows comes to $dir/out.
on_terminal() # ARGUMENT...
{
  : > "$dir/out"
  rm -f "$dir/pid"
  printf 'stty rows 24 cols 80; echo $$ > %q\nexec' "$dir/pid" > "$dir/run"
  printf ' %q' env --default-signal=INT TERM="${TERMINAL-xterm}" "$program" \
    -c "$conf" "$@" >> "$dir/run"
  script -qfec "bash $dir/run" "$dir/typescript" < /dev/null > "$dir/out" 2>&1 &
  script_pid=$!
  until_true test -s "$dir/pid"
  pid=$(cat "$dir/pid")
}

# Waits for it; sets rc.
end_terminal()
{
  wait "$script_pid"
  rc=$?
  pid=
  out=$(cat "$dir/out")
}

# Of a command that runs beside us as $pid; to be waited for.
says() { grep -q -e "$1" "$dir/out" || is_gone "$pid"; } # PATTERN

# --- the simulator and the configuration -----------------------------------

is_gone() { ! kill -0 "$1" 2> /dev/null; }
sim_is_up_or_gone() { [ -e "$dir/ready" ] || is_gone "$sim_pid"; }

start_sim() # [OPTION...]: sets api
{
  stop_sim
  rm -f "$dir/ready"
  : > "$dir/log"
  : > "$dir/faults"
  "$sim" --port 0 --storage-port 0 --ready-file "$dir/ready" --log "$dir/log" \
    --key-file "$dir/key" --algorithm HS256 --faults "$dir/faults" \
    --source-time 0 --case-time 0 "$@" 2> "$dir/sim.err" &
  sim_pid=$!
  until_true sim_is_up_or_gone
  [ -e "$dir/ready" ] ||
    bail_out "the simulator did not start: $(cat "$dir/sim.err")"
  api=$(sed -n 's/^api //p' "$dir/ready")
}

stop_sim()
{
  [ -n "$sim_pid" ] || return 0
  kill -TERM "$sim_pid" 2> /dev/null
  wait "$sim_pid"
  sim_pid=
}

# Whatever ends a script, its last line has the counts: one that did not get to
# end() has failed.
ended=
finish()
{
  local rc=$?
  [ -z "$pid" ] || kill -KILL "$pid" 2> /dev/null
  stop_sim > /dev/null 2>&1
  rm -rf "$dir"
  [ -z "$ended" ] || exit "$rc"
  not_ok "${0##*/} runs to its end" "exit status $rc"
  count_is_good
  exit 1
}
trap finish EXIT
trap 'exit 143' TERM

bail_out() # TEXT
{
  not_ok "$1"
  exit 1
}

faults() # LINES: the running simulator takes them up at the next call
{
  printf '%b' "$1" > "$dir/faults.new"
  mv "$dir/faults.new" "$dir/faults"
}

calls() # KIND [FILTER]: how many the simulator has answered so
{
  jq -s "[.[] | select(.call == \"$1\") | select(${2:-true})] | length" \
    "$dir/log"
}

give() # PATH...: to the user who owns the spool
{
  [ "$(id -u)" != 0 ] || chown -R "$owner:$group" "$@"
}

make_key() # FILE
{
  openssl rand -hex 32 | tr -d '\n' > "$1"
  chmod 640 "$1"
  give "$1"
}

new_spool()
{
  rm -rf "$spool"
  mkdir -m 700 "$spool"
  mkdir -m 2770 "$results"
  give "$spool"
}

# Writes the configuration of one service; lines go into its section.
configure() # [LINE...]
{
  {
    echo "SpoolDir ${SPOOL:-$spool}"
    echo "ResultsDir ${RESULTS:-$results}"
    echo "<Service ${SERVICE:-default}>"
    echo "BaseURL ${URL:-$api}"
    echo "TokenKeyFile ${KEY:-$dir/key}"
    [ $# -eq 0 ] || printf '%s\n' "$@"
    echo '</Service>'
  } > "$conf"
  chmod 640 "$conf"
  give "$conf"
}

jobs() { ls "$spool/jobs" 2> /dev/null; }
journal() { cat "$spool/jobs/$(jobs)/job.json"; }

# --- documents -------------------------------------------------------------

make_documents()
{
  "$mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1|DOB: 03/07/1984'
  "$mkpdf" "$dir/b.pdf" 'Patient: Ben Bauer|MRN: 2|DOB: 03/07/1985'
  # The simulator does not look into pictures: their first bytes are enough.
  printf '\xff\xd8\xff\xe0\x00\x04ab\xff\xd9' > "$dir/c.jpg"
  printf '\x89PNG\r\n\x1a\n....' > "$dir/d.png"
  echo 'only text' > "$dir/e.txt"
  : > "$dir/empty.pdf"
}

make_key "$dir/key"
make_documents
new_spool
start_sim
configure

end() # prints the count
{
  ended=1
  count_is_good
  exit
}
