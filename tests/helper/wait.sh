# wait.sh - waits for conditions, with a limit: no test waits a fixed time. To
# be sourced by bash; the sourcing script sets dir.

# How many processes compete for each processor at the moment, from 1 to 8: what
# takes a second on an idle machine may take that many seconds. Sets `load`.
cores=$(nproc)
load_sum=0 loads=0 # of what was read since begin_limit
read_load()
{
  read -r _ _ _ load _ < /proc/loadavg
  load=$((1 + (${load%/*} - 1) / cores))
  load=$((load < 8 ? load : 8))
  load_sum=$((load_sum + load)) loads=$((loads + 1))
}
machine_load()
{
  local load
  read_load
  echo $load
}

# How long some process has waited for a disk since the boot; 0: not counted.
disk_ms()
{
  { cat /proc/pressure/io || echo 'some total=0'; } 2> /dev/null |
    awk -F = '/^some/ { printf "%d\n", $NF / 1000 }'
}

# For a limit of something that begins now, and is waited for.
begin_limit()
{
  load_sum=0 loads=0
  begin_load=$(machine_load)
  begin_disk_ms=$(disk_ms)
}
# At the end, as many as this machine may need: by the load at the beginning, at
# the end, or on average, whichever is most.
limit_of() # MS OF AN IDLE MACHINE
{
  local load ms mean_ms
  read_load
  ms=$(($1 * (load > begin_load ? load : begin_load)))
  mean_ms=$(($1 * load_sum / loads))
  echo $(((ms > mean_ms ? ms : mean_ms) + $(disk_ms) - begin_disk_ms))
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
# happens, either; and each counts by the load at its end. Waiting in vain is a
# failure (test.sh counts it), unless stderr goes elsewhere.
until_true()
{
  local ms=20 seconds left=$((1000 * ${WAIT_S:-30})) load took
  local start=$SECONDS begin=${EPOCHREALTIME/./}
  until "$@"; do
    took=$(((${EPOCHREALTIME/./} - begin) / 1000))
    if [ $left -le 0 ]; then
      echo "# stopped after $((SECONDS - start)) s: until_true $*" >&2
      return 1
    fi
    ms=$((ms > 2 * took ? ms : 2 * took))
    ms=$((ms < 200 ? ms : 200))
    printf -v seconds 0.%03d $ms
    pause $seconds
    read_load
    left=$((left - ms / load))
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
