#!/usr/bin/env bash
#
# demo.sh - demonstrates every step from printing to the result: installs what is
# missing, builds in ./build, starts the simulator, a private cupsd, and
# docextractd, adds the queue, prints a sample chart with lp, and shows what was
# extracted. Everything else is in a temporary directory, and nothing is left
# running.
#
#   ./demo.sh          the demonstration
#   ./demo.sh --keep   leaves all three running, to try more
#
# The service is simulated: nothing leaves this machine.
set -u
cd "$(dirname "$0")" || exit 1

case ${1-} in
'' | --keep) keep=${1-} ;;
*)
  sed -n '3,/^set/s/^#\( \|$\)//p' demo.sh
  [ "$1" = --help ] || exit 64
  exit 0
  ;;
esac

give_up() # TEXT
{
  echo "demo.sh: failed: $1" >&2
  exit 1
}

# --- building --------------------------------------------------------------

build_it() # in ./build, or in the tree itself if that was configured
{
  if [ -e config.status ]; then
    DX_BUILD=$PWD
  else
    DX_BUILD=$PWD/build
    [ -e configure ] || autoreconf -fi || return
    mkdir -p build
    [ -e build/Makefile ] || (cd build && ../configure) || return
  fi
  make -C "$DX_BUILD" -j"$(nproc)" all
}

. tests/helper/packages.sh
# shellcheck disable=SC2086
install_missing $build_packages $run_packages || give_up 'installing packages'
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo 'Building (a minute the first time) ...'
build_it > "$log" 2>&1 || {
  tail -n 30 "$log" >&2
  give_up 'building'
}
rm -f "$log"

# --- starting --------------------------------------------------------------

. tests/it/stage.sh
leave()
{
  local status=$?
  trap - EXIT
  trap '' INT TERM HUP PIPE # once begun, it runs to the end
  clear_stage
  rm -rf "$dir"
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT TERM HUP PIPE

start_sim --source-time 2500 --case-time 1000
start_cupsd_on_a_port
add_queue chart
echo "The simulator listens at $SIM_API, the scheduler at localhost:$port."
echo 'The queue was added with:'
echo '  lpadmin -p chart -E -v docextract://default -P docextract.ppd'

# --- printing --------------------------------------------------------------

show_message() # unless it was the last one
{
  local message
  message=$(job_message "$job")
  [ "$message" = "$last" ] || echo "  ${message:-waiting}"
  last=$message
}

progress() # follows the job's message, as a print dialog shows it
{
  local last=
  until job_is "$job" 'completed|canceled|aborted|pending-held' || all_are_stopped; do
    show_message
    sleep 0.1
  done
  show_message
  job_is "$job" completed
}

echo
echo 'lp -d chart doc/sample-chart.pdf'
print -d chart doc/sample-chart.pdf
progress || give_up 'the job did not end well'
for arguments in jobs "show chart-$job"; do
  echo
  echo "docextract $arguments"
  # shellcheck disable=SC2086
  dx $arguments | sed 's/./  &/'
done

[ -n "$keep" ] || {
  cat << END

What to try next:
  ./demo.sh --keep   leaves all this running, so that you can print your own PDF
  README.md          "Install and print" sets it up on this computer
END
  exit 0
}

# --- leaving it running ----------------------------------------------------

cat > "$dir/stop" << END
#!/bin/sh
# Ends what demo.sh --keep has left running, and removes this directory.
kill $CUPSD_PID $DAEMON_PID $SIM_PID
for pid in $CUPSD_PID $DAEMON_PID $SIM_PID; do
  while kill -0 \$pid 2> /dev/null; do sleep 0.1; done
done
rm -rf '$dir'
END
chmod 755 "$dir/stop"
trap - EXIT INT TERM HUP PIPE
disown -a
cat << END

Still running. To print your own PDF, and to see what was extracted from it:
  CUPS_SERVER=localhost:$port lp -d chart FILE
  $build/cli/docextract -c $config jobs
  $build/cli/docextract -c $config show chart-$((job + 1))
The results are in  $results
The simulator is at $SIM_API
To stop it:         $dir/stop
END
