# client.sh - another computer: a second private cupsd, which prints to a queue of
# the first one through the port of that.
#
# To be sourced by bash, after lib.sh.

client=$dir/client
client_pid=

on_client() # COMMAND...: with the other scheduler in place of ours
{
  local cups=$client CUPSD_PID=$client_pid CUPS_SERVER=$client/cups.sock
  local ipp=ipp://${client//\//%2F}%2Fcups.sock
  "$@"
}

start_client()
{
  local LISTEN=
  make_cups
  install -m 755 "$(cups-config --serverbin)/backend/ipp" "$cups/bin/backend/"
  rm "$cups/bin/backend/docextract"
  start_cupsd
  client_pid=$CUPSD_PID
}

add_shared() # NAME LPADMIN ARGUMENT...
{
  lpadmin -p "$1" -E -v "ipp://localhost:$port/printers/chart" "${@:2}" \
    2> "$dir/lpadmin.err" || give_up "lpadmin adds $1: $(cat "$dir/lpadmin.err")"
}
