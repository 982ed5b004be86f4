# wait.sh - waits for conditions, with a limit: no test waits a fixed time. To
# be sourced by bash; the sourcing script sets dir.

# How many processes compete for each processor at the moment, from 1 to 8: what
# takes a second on an idle machine may take that many seconds.
cores=$(nproc)
machine_load()
{
  local running
  read -r _ _ _ running _ < /proc/loadavg
  running=$((1 + (${running%/*} - 1) / cores))
  echo $((running < 8 ? running : 8))
}

# How long some process has waited for a disk since the boot; 0: not counted.
disk_ms()
{
  { cat /proc/pressure/io || echo 'some total=0'; } 2> /dev/null |
    awk -F = '/^some/ { printf "%d\n", $NF / 1000 }'
}

# For a limit of something that begins now.
begin_limit()
{
  begin_load=$(machine_load)
  begin_disk_ms=$(disk_ms)
}
limit_of() # MS OF AN IDLE MACHINE: at the end, as many as this machine may need
{
  local load
  load=$(machine_load)
  echo $(($1 * (load > begin_load ? load : begin_load) + $(disk_ms) -
    begin_disk_ms))
}

# Runs a command for at most SECONDS of an idle machine; its output goes to a
# file, and a message says if it was stopped.
limited() # SECONDS FILE COMMAND...
{
  local limit=$(($1 * $(machine_load))) file=$2 status
  shift 2
  timeout -k 10 "$limit" "$@" > "$file" 2>&1
  status=$?
  case $status in
  124 | 137) echo "# stopped after $limit s: $*" ;;
  esac
  return $status
}

# What `sleep` does, without a process: nothing is ever written to the pipe.
pause() # SECONDS
{
  [ -p "$dir/pause" ] || mkfifo -m 600 "$dir/pause"
  read -rt "$1" <> "$dir/pause"
}

# What `grep -qx` does, without a process.
contains_line() # FILE LINE
{
  local text=
  { IFS= read -rd '' text < "$1"; } 2> /dev/null
  [[ $'\n'$text == *$'\n'"$2"$'\n'* ]]
}

# Waits until a command succeeds, at most WAIT_S seconds (30) of an idle
# machine. It is run again after 20 ms, then less and less often, at least five
# times a second; of commands that take long, two thirds of the time are pauses.
# Only the pauses count: while the whole machine hangs, nothing that is awaited
# happens, either. Waiting in vain is a failure (test.sh counts it), unless
# stderr goes elsewhere.
until_true()
{
  local limit= ms=20 seconds left begin=${EPOCHREALTIME/./} took
  until "$@"; do
    took=$(((${EPOCHREALTIME/./} - begin) / 1000))
    if [ -z "$limit" ]; then # often there is nothing to wait for
      limit=$((${WAIT_S:-30} * $(machine_load)))
      left=$((1000 * limit))
    elif [ $left -le 0 ]; then
      echo "# stopped after $limit s: until_true $*" >&2
      return 1
    fi
    ms=$((ms > 2 * took ? ms : 2 * took))
    ms=$((ms < 200 ? ms : 200))
    printf -v seconds 0.%03d $ms
    pause $seconds
    left=$((left - ms))
    ms=$((ms * 5 / 4))
    begin=${EPOCHREALTIME/./}
  done
}

# The header of a bundle's entry, as the filter writes it before the document.
entry_header() # FILE TYPE NAME [SEAL]
{
  printf 'DOCEXTRACT-BUNDLE 1 {%s"kind":"document","type":"%s","origin":"%s",' \
    "${4:+\"seal\":\"$4\",}" "$2" "$2"
  printf '"name":"%s","pages":1,"together":false,"bytes":%s,' "$3" \
    "$(stat -c %s "$1")"
  printf '"sha256":"%s","reason":"","reason_text":""}\n' \
    "$(sha256sum "$1" | cut -d ' ' -f 1)"
}
