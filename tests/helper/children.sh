# children.sh - which processes are ours: what a test starts that starts others,
# such as cupsd, has a session of its own. To be sourced by bash.

# Sets `begun`: when a process was started, in clock ticks since the boot; ''
# without it. Its fields after the name begin with the state, the third.
read_begin() # PID
{
  local line fields=()
  { read -r line < "/proc/$1/stat"; } 2> /dev/null &&
    read -ra fields <<< "${line##*) }"
  begun=${fields[19]-}
}

# Sessions that are ours, by the process that began them, with the time when it
# was started. While a session has a process, no other one gets that id; after
# it, another program may get it.
declare -A sessions=()
add_session() # PID
{
  local begun
  read_begin "$1"
  sessions[$1]=$begun
}
forget_reused_sessions()
{
  local s begun
  for s in "${!sessions[@]}"; do
    read_begin "$s"
    [ -z "$begun" ] || [ "$begun" = "${sessions[$s]}" ] || unset "sessions[$s]"
  done
}

# Sets `children`, of "pid command": the processes of our sessions, even if their
# parent has changed. Tests ask again and again, so that no process is started for
# it. With a name, only those.
read_children() # [NAME]
{
  local f line name=${1-}
  children=()
  forget_reused_sessions
  for f in /proc/[0-9]*/stat; do
    { read -r line < "$f"; } 2> /dev/null || continue
    [[ -z $name || $line == *" ($name) "* ]] || continue # to split takes long
    # shellcheck disable=SC2086
    set -- ${line##*) }
    [ -n "${sessions[$4]-}" ] && [ "$1" != Z ] || continue
    line=${line%)*}
    children+=("${line%% *} ${line#*(}")
  done
}
