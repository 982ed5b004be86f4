# session.sh - a desktop session with docextract-notify, for notify.sh and
# desktop.sh: a private D-Bus, which does not start programs.
#
# To be sourced by bash after lib.sh. The sourcing script calls clear_session at
# its end. Needs dbus-daemon.
# shellcheck disable=SC2154

BUS_PID=
NOTIFY_PID=
export XDG_STATE_HOME=$dir/state

bus_is_up() { [ -s "$dir/bus" ]; }
start_bus()
{
  cat > "$dir/bus.conf" << END
<busconfig>
  <type>session</type>
  <listen>unix:path=$dir/bus.sock</listen>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
</busconfig>
END
  dbus-daemon --config-file="$dir/bus.conf" --nofork --print-address \
    > "$dir/bus" 2> "$dir/bus.err" &
  BUS_PID=$!
  until_true bus_is_up || give_up "D-Bus starts: $(cat "$dir/bus.err")"
  DBUS_SESSION_BUS_ADDRESS=$(cat "$dir/bus")
  export DBUS_SESSION_BUS_ADDRESS
}

start_notify()
{
  "$build/notify/docextract-notify" -c "$config" --verbose \
    2>> "$dir/notify.err" &
  NOTIFY_PID=$!
}

stop_notify() # [SIGNAL]
{
  [ -z "$NOTIFY_PID" ] || end_process "$NOTIFY_PID" "${1:-TERM}"
  NOTIFY_PID=
}

clear_session()
{
  stop_notify
  [ -z "$BUS_PID" ] || end_process "$BUS_PID"
  BUS_PID=
}
