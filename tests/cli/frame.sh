# frame.sh - what the tests of the command share: a simulator, a spool, a
# configuration, documents. If root runs them, the spool belongs to another
# user, else to the caller.
#
# To be sourced by bash. Finds the programs in $DX_BUILD (default: the top of
# the tree). Needs jq, openssl. Contains no tests.
set -u

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${DX_BUILD:-$top}" && pwd)
sim=$build/docextract-sim
program=$build/cli/docextract
# Started by root, the installed one takes no filter from the environment.
[ $EUID != 0 ] || program=$build/tests/cli/docextract-here
mkpdf=$top/tests/it/mkpdf
. "$top/tests/helper/count.sh"
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-cli.XXXXXX")
chmod 711 "$dir"
conf=$dir/docextract.conf
spool=$dir/spool
results=$spool/results
sim_pid=
pid=
if [ $EUID = 0 ]; then owner=nobody; else owner=$(id -un); fi
group=$(id -gn "$owner")
export LC_ALL=C.UTF-8
unset CUPS_SERVERROOT
# There is no cupsd: the one of this machine may have a queue of the same name.
# A backend gets this from CUPS_SERVERROOT, because a cupsd that has started it
# and does not respond would be an error.
export CUPS_SERVER=$dir/none
echo "ServerName $CUPS_SERVER" > "$dir/client.conf"
# Where submit finds the filters.
export CUPS_SERVERBIN=$dir/bin
mkdir -p "$dir/bin/filter"
cp "$build/todocextract" "$build/docextract-text.so" "$dir/bin/filter/"

. "$top/tests/helper/wait.sh"
. "$top/tests/helper/calls.sh"

# Runs the command, with docextractd if it needs that; sets out, err and rc.
dx() # ARGUMENT...
{
  case " $* " in
  *" submit "* | *" retry "* | *" cancel "* | *" purge "* | *" hello "* | \
    *" --seen "*) start_docextractd ;;
  esac
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
    is 'no sanitizer error' "$(cat "$dir/err")" ''
    ;;
  esac
}

# Starts the command in the background on a terminal, which is copied to
# $dir/out; sets pid. The terminal has $COLUMNS_THERE columns, if that is set.
on_terminal() # ARGUMENT...
{
  : > "$dir/out"
  rm -f "$dir/pid"
  printf '%s\necho $$ > %q\nexec' \
    "${COLUMNS_THERE:+stty cols $COLUMNS_THERE}" "$dir/pid" > "$dir/run"
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

# What `submit` has printed to standard error besides its progress.
not_progress() { grep -vE '^(Stored|Uploading:|The chart is) ' "$dir/err"; }

# True once the background process $pid has printed PATTERN, or is gone.
says() { grep -q -e "$1" "$dir/out" "$dir/err" || is_gone "$pid"; } # PATTERN

# --- docextractd -------------------------------------------------------------

# Functions that change a file that docextractd has read end it first. It is not
# started with an unusable configuration or spool, because it would keep
# waiting.
driver=
DRIVER_UNDER=() # words before its command line
# What those say that find none, wherever the tests run.
missing='docextractd is not running; (run: systemctl restart docextractd|restart its service, or run: docextractd)'
driver_is_up_or_gone()
{
  contains_line "$dir/driver.out" ready ||
    contains_line "$dir/driver.err" ready || is_gone "$driver"
}
start_docextractd()
{
  [ -z "$driver" ] || return 0
  grep -qx "SpoolDir $spool" "$conf" && [ -d "$spool" ] || return 0
  "${as_owner[@]}" test -w "$spool" || return 0
  "${as_owner[@]}" "$program" -c "$conf" config 2> /dev/null | grep -q . ||
    return 0
  : > "$dir/driver.out"
  : > "$dir/driver.err"
  # Without the descriptors of a test: a test may wait for their end.
  # shellcheck disable=SC2086
  "${as_owner[@]}" "${DRIVER_UNDER[@]}" "$build/daemon/docextractd" \
    -c "$conf" ${DRIVER_OPTIONS-} \
    > "$dir/driver.out" 2> "$dir/driver.err" 8>&- 9>&- &
  driver=$!
  until_true driver_is_up_or_gone
}
stop_docextractd() # [SIGNAL]
{
  [ -n "$driver" ] || return 0
  {
    kill "-${1:-TERM}" "$driver"
    wait "$driver"
  } 2> /dev/null
  driver=
}

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

# However a script ends, its last line has the counts: one that did not reach
# end() has failed. In a trap it must come first, because it needs the exit
# status.
ended=
finish() # [COMMAND...]: which ends what else was started
{
  local rc=$?
  "${@:-:}"
  [ -z "$pid" ] || kill -KILL "$pid" 2> /dev/null
  stop_docextractd KILL
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

faults() # LINES: in effect from the next call on
{
  printf '%b' "$1" > "$dir/faults.new"
  mv "$dir/faults.new" "$dir/faults"
}

calls() { count_calls "$dir/log" "$@"; } # KIND [FILTER]: that are logged

give() # PATH...: to the user who owns the spool
{
  [ $EUID != 0 ] || chown -R "$owner:$group" "$@"
}

make_key() # FILE
{
  openssl rand -hex 32 | tr -d '\n' > "$1"
  chmod 640 "$1"
  give "$1"
}

new_spool()
{
  stop_docextractd
  rm -rf "$spool"
  mkdir -m 700 "$spool"
  mkdir -m 2770 "$results"
  give "$spool"
}

# Writes a configuration with one service; LINEs go into its section.
configure() # [LINE...]
{
  stop_docextractd
  {
    echo "SpoolDir ${SPOOL:-$spool}"
    echo "ResultsDir ${RESULTS:-$results}"
    [ -z "${STATUS_SOCKET-}" ] || echo "StatusSocket $STATUS_SOCKET"
    echo "<Service ${SERVICE:-default}>"
    echo "BaseURL ${URL:-$api}"
    echo "TokenKeyFile ${KEY:-$dir/key}"
    [ $# -eq 0 ] || printf '%s\n' "$@"
    echo '</Service>'
  } > "$conf"
  chmod 640 "$conf"
  [ $EUID != 0 ] || chown "root:$group" "$conf"
}

# A job is in jobs/ until it is finished.
job_dir() { find "$spool/jobs" "$spool/finished" -mindepth 1 -name "$1"; } # KEY
jobs()
{
  find "$spool/jobs" "$spool/finished" -mindepth 1 -maxdepth 1 -printf '%f\n' |
    sort -u # on its way it may be seen in both
}
journal() { cat "$(job_dir "$(jobs)")/job.json"; }

# Changes the journal, which is docextractd's while it runs. Another file in its
# place would be a copy.
edit() # KEY FILTER
{
  local f
  stop_docextractd
  f=$(job_dir "$1")/job.json
  jq "$2" "$f" > "$dir/edited"
  cat "$dir/edited" > "$f"
}

as_owner=() # in front of a command
[ $EUID != 0 ] ||
  as_owner=(setpriv --reuid="$owner" --regid="$group" --clear-groups)

reap() # the background process; sets rc
{
  { # without the shell's message about a signal
    until_true is_gone "$pid" || kill -KILL "$pid"
    wait "$pid"
  } 2> /dev/null
  rc=$?
  pid=
}

# --- documents -------------------------------------------------------------

make_documents()
{
  "$mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1|DOB: 03/07/1984'
  "$mkpdf" "$dir/b.pdf" 'Patient: Ben Bauer|MRN: 2|DOB: 03/07/1985'
  # The simulator does not read images: one pixel is enough.
  base64 -d > "$dir/c.jpg" << 'END'
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0a
HBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/wAALCAABAAEBAREA/8QAFAABAAAAAAAA
AAAAAAAAAAAAB//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP3//2Q==
END
  base64 -d > "$dir/d.png" << 'END'
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAA
AABJRU5ErkJggg==
END
  echo 'only text' > "$dir/e.txt"
  printf 'RIFF\x1a\0\0\0WEBPVP8L' > "$dir/f.webp"
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
