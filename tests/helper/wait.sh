# wait.sh - waits for conditions, with a limit: no test waits a fixed time. To
# be sourced by bash; the sourcing script sets dir.

# Limits are those of an idle machine. What takes a second there may take as many
# seconds here: so long a program may run that nothing else stops.
slowest=8

# What the machine held up, in milliseconds since the boot: how long some process
# has waited for a disk, and seven eighths of how long one has waited for a
# processor, which is all the time while tests run side by side. Sets `held_ms`;
# false where Linux does not count it.
read_held()
{
  local cpu disk
  {
    read -r _ _ _ _ cpu < /proc/pressure/cpu &&
      read -r _ _ _ _ disk < /proc/pressure/io
  } 2> /dev/null || return
  held_ms=$(((8 * ${disk#total=} + 7 * ${cpu#total=}) / 8000))
}

# There, how many processes compete for each processor at the moment is what
# there is, from 1 to 8. Sets `load`.
cores=$(nproc)
load_sum=0 loads=0 # of what was read since begin_limit
read_load()
{
  read -r _ _ _ load _ < /proc/loadavg
  load=$((1 + (${load%/*} - 1) / cores))
  load=$((load < slowest ? load : slowest))
  load_sum=$((load_sum + load)) loads=$((loads + 1))
}

# For a limit of something that begins now, and is waited for.
begin_limit()
{
  local load held_ms
  load_sum=0 loads=0
  read_load
  begin_load=$load
  if read_held; then begin_held_ms=$held_ms; fi
}
# At the end, as many as this machine may need, but no more than 16 times as many:
# what it was held up does not count. Else by the load at the beginning, at the
# end, or on average, whichever is most.
limit_of() # MS OF AN IDLE MACHINE
{
  local load held_ms ms most mean_ms
  if read_held; then
    ms=$(($1 + held_ms - begin_held_ms)) most=$((2 * slowest * $1))
    echo $((ms < most ? ms : most))
    return
  fi
  read_load
  ms=$(($1 * (load > begin_load ? load : begin_load)))
  mean_ms=$(($1 * load_sum / loads))
  echo $((ms > mean_ms ? ms : mean_ms))
}

# Runs a command for at most SECONDS of an idle machine; its output goes to a
# file, and a message says if it was stopped.
limited() # SECONDS FILE COMMAND...
{
  local limit=$(($1 * slowest)) file=$2 status
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

# Waits until a command succeeds, at most WAIT_S seconds (60) of an idle
# machine. It is run again after 20 ms, then less and less often, at least five
# times a second; if it takes long, then only a quarter of the time, or once a
# second: on a busy machine, what is awaited needs the processor.
# Only the pauses count: while the whole machine hangs, nothing that is awaited
# happens, either. What the machine was held up since the last one does not
# count, but a sixteenth of each pause does in any case; else each counts by the
# load at its end. Waiting in vain is a failure (test.sh counts it), unless
# stderr goes elsewhere.
until_true()
{
  local ms=20 seconds left=$((1000 * ${WAIT_S:-60})) load took
  local held_ms before_ms counted_ms
  local start=$SECONDS begin=${EPOCHREALTIME/./}
  read_held || held_ms=
  until "$@"; do
    took=$(((${EPOCHREALTIME/./} - begin) / 1000))
    if [ $left -le 0 ]; then
      echo "# stopped after $((SECONDS - start)) s: until_true $*" >&2
      return 1
    fi
    ms=$((ms < 200 ? ms : 200))
    ms=$((ms > 3 * took ? ms : 3 * took))
    ms=$((ms < 999 ? ms : 999))
    printf -v seconds 0.%03d $ms
    pause "$seconds"
    if [ -n "$held_ms" ]; then
      before_ms=$held_ms
      read_held
      counted_ms=$((ms - held_ms + before_ms))
      left=$((left - (16 * counted_ms > ms ? counted_ms : ms / 16)))
    else
      read_load
      left=$((left - ms / load))
    fi
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
