#!/usr/bin/env bash
#
# systemd.sh - docextractd as a service: ten charts are under way while
# docextractd, cupsd, or both are stopped, killed, or restarted, while the
# computer is restarted or loses its power, and while the package is installed
# again, the key replaced, the section renamed, and the spool moved to a disk;
# each chart is extracted once. Then the disk is missing, docextractd is stopped
# by an administrator, its configuration is wrong, and what its unit must permit
# is used.
#
# The machine (tests/helper/machine.sh) is set up as doc/administration.md says,
# with the packages, which tests/long/packages.sh tests. The simulator runs
# outside of it, and has the network that both use: it outlives the machine.
# Without root this is skipped and says so; in CI that is a failure.
. "$(dirname "$0")/../it/lib.sh"
. "$top/tests/helper/machine.sh"

[ "$(id -u)" = 0 ] || leave_out_all 'docextractd under systemd' 'run it as root'
prepare_to_build iproute2

# --- the machine -------------------------------------------------------------

config=$machine/etc/cups/docextract.conf

start_network()
{
  cat > "$dir/sim" << END
#!/bin/sh
exec unshare --net sh -c 'ip link set lo up && exec "\$@"' - \
  "$build/docextract-sim" "\$@"
END
  chmod 755 "$dir/sim"
  sim_program=$dir/sim
  start_sim
}

# Here, too, cupsd is the one of the machine.
start_machine()
{
  boot "--network-namespace-path=/proc/$SIM_PID/ns/net"
  CUPS_SERVER=/proc/$(first_process)/root/run/cups/cups.sock
  export CUPS_SERVER
  ipp=ipp://${CUPS_SERVER//\//%2F}
}
await_cupsd()
{
  until_true cupsd_answers || give_up 'cupsd of the machine responds'
}
cupsd_answers() { lpstat -r 2> /dev/null | grep -q 'is running'; }

set_up()
{
  on apt-get -qy install "/root/docextract_${version}_$arch.deb" \
    > "$dir/output" 2>&1 ||
    give_up "docextract is installed: $(cat "$dir/output")"
  cp "$dir/key" "$machine/etc/cups/docextract.key"
  on chown docextract: /etc/cups/docextract.key
  on chmod 600 /etc/cups/docextract.key
  cat > "$config" << END
<Service default>
  BaseURL $SIM_API
  TokenAlgorithm $CIPHER
  TokenKeyFile /etc/cups/docextract.key
</Service>
END
  echo 'DirtyCleanInterval 0' >> "$machine/etc/cups/cupsd.conf"
  echo 'SyncOnClose Yes' >> "$machine/etc/cups/cups-files.conf"
  on systemctl restart cups
  await_cupsd
  until_true hello_succeeds || give_up "hello succeeds: $(hello)"
  on lpadmin -p chart -E -v docextract://default -m docextract.ppd \
    -o printer-error-policy=retry-job 2> "$dir/output" ||
    give_up "a queue is added: $(cat "$dir/output")"
}
hello() { on docextract hello 2>&1; }
hello_succeeds() { hello > "$dir/output"; }

is_active() { [ "$(on systemctl is-active docextractd)" = active ]; }

# --- ten charts --------------------------------------------------------------

N=10

# Some of them are with the service, one is being sent, and the others wait.
print_charts()
{
  local i
  clear_results
  faults 'source * word processing' 'put * delay 700'
  jobs=()
  for ((i = 0; i < N; i++)); do
    print -d chart "$dir/$i.pdf"
    jobs+=("$job")
  done
  until_true calls_are put 4 || not_ok "$t: charts are under way"
}

all_are_over() { no_job_waits && extracted "$N"; }
with_a_file() # sources
{
  jq -s '[.[] | select(.call == "put") | .source_id] | unique | length' \
    "$SIM_LOG"
}
each() # FUNCTION: what it says of each print job, every value once
{
  for job in "${jobs[@]}"; do "$1" "$job"; done | sort -u
}

charts_arrive()
{
  faults '#'
  check "$t: every chart is extracted" until_true all_are_over
  is "$t: once" "$(patients)" "$expected"
  is "$t: and was sent once" "$(with_a_file)" "$N"
  is "$t: the print jobs are completed" "$(each job_state)" completed
}

# What is over in a few seconds calls for no administrator.
not_alarming()
{
  hasnt "$t: no message calls for the administrator" "$(each job_message)" \
    administrator
}

interrupted() # TEXT COMMAND...
{
  t=$1
  shift
  print_charts
  "$@" || not_ok "$t: $*"
  charts_arrive
}

stop_and_start()
{
  on systemctl stop docextractd
  on systemctl start docextractd
}
restart_in_turn() # UNIT...
{
  for unit; do on systemctl restart "$unit" || return; done
}
start_again()
{
  end_machine
  start_machine
  await_cupsd
}
lose_power()
{
  kill -KILL "$(first_process)"
  until_true has_ended || give_up 'the machine is gone'
  end_machine
  rm -f "$machine"/var/spool/cups/c*.N # as stop_cupsd in tests/it/stage.sh
  start_machine
  await_cupsd
}

# --- maintenance, as doc/administration.md describes it ------------------------

install_again()
{
  on apt-get -qy --reinstall install "/root/docextract_${version}_$arch.deb" \
    > "$dir/output" 2>&1
}

replace_key()
{
  on install -m 600 -o docextract /etc/cups/docextract.key \
    /etc/cups/docextract-2.key &&
    on sed -i 's/docextract\.key/docextract-2.key/' /etc/cups/docextract.conf &&
    hello_succeeds && on rm /etc/cups/docextract.key
}

# The charts that are still in the queue use the new section.
rename_section()
{
  on sh -c 'sed "s/Service default/Service main/" /etc/cups/docextract.conf \
    > /root/main && cat /root/main >> /etc/cups/docextract.conf' &&
    on docextract hello --service main > "$dir/output" 2>&1 &&
    on lpadmin -p chart -v docextract://main 2> "$dir/output"
}
remove_old_section()
{
  on sh -c 'cat /root/main > /etc/cups/docextract.conf'
}

# To a disk, which is the directory /disk: systemd mounts it, as any other. From
# outside, the mount is not visible.
mount_disk()
{
  on mkdir /disk /srv/charts &&
    on sh -c 'echo "/disk /srv/charts none bind 0 0" >> /etc/fstab' &&
    on systemctl daemon-reload && on mount /srv/charts
}
move_spool()
{
  mount_disk &&
    on systemctl stop cups.socket cups.path cups docextractd &&
    on findmnt /srv/charts > "$dir/output" &&
    on cp -a /var/spool/docextract /srv/charts/ &&
    on sed -i '1i SpoolDir /srv/charts/docextract' /etc/cups/docextract.conf &&
    require_mount /srv/charts/docextract &&
    on docextract config > "$dir/output" 2>&1 &&
    on systemctl start docextractd cups.socket cups.path cups && await_cupsd &&
    on rm -r /var/spool/docextract
  spool=$machine/disk/docextract
  results=$spool/results
}
require_mount() # DIRECTORY: what `systemctl edit` writes
{
  on mkdir -p /etc/systemd/system/docextractd.service.d &&
    printf '[Unit]\nRequiresMountsFor=%s\n' "$1" > \
      "$machine/etc/systemd/system/docextractd.service.d/override.conf" &&
    on systemctl daemon-reload
}

# --- building ----------------------------------------------------------------

build_packages
make_machine python3
start_network
start_machine
set_up
expected=
for ((i = 0; i < N; i++)); do
  chart_pdf "$dir/$i.pdf" Ann Ahrens $i
  expected+="${expected:+$'\n'}Ahrens Ann $i"
done

# --- interruptions -----------------------------------------------------------

interrupted 'docextractd is stopped and started' stop_and_start
not_alarming
interrupted 'docextractd is restarted' on systemctl restart docextractd
not_alarming
interrupted 'docextractd is killed' on systemctl kill -s KILL docextractd
not_alarming
interrupted 'cupsd is restarted' on systemctl restart cups
interrupted 'both are restarted' restart_in_turn docextractd cups
interrupted 'both are restarted, cupsd first' restart_in_turn cups docextractd
not_alarming
interrupted 'the computer is restarted' start_again
interrupted 'the power fails' lose_power
interrupted 'the package is installed again' install_again
not_alarming
interrupted 'the key is replaced' replace_key
not_alarming
interrupted 'the section is renamed' rename_section
not_alarming
is "$t: both sections have sent charts" \
  "$(on docextract jobs --all --json | jq -r '.[].service' | sort -u | xargs)" \
  'default main'
remove_old_section
interrupted 'the spool is moved' move_spool
check "$t: nothing is written to the old directory" \
  [ ! -e "$machine/var/spool/docextract" ]

t='the disk of the spool is missing'
clear_results
on systemctl stop docextractd
on umount /srv/charts
on sh -c 'mv /disk /away && touch /disk' # which cannot be mounted there
check "$t: docextractd does not start" \
  not on systemctl start docextractd 2> "$dir/output"
print -d chart "$dir/0.pdf"
check "$t: the print job waits" until_true queue_says chart .
is "$t: and nothing is stored in its place" "$(on ls -A /srv/charts)" ''
on sh -c 'rm /disk && mv /away /disk'
check "$t: when it is back, docextractd starts" on systemctl start docextractd
job_ends "$t: and the print job goes on" "$job" completed
is "$t: once" "$(calls create) $(calls put) $(n_results)" '1 1 1'

# --- stopped -----------------------------------------------------------------

t='docextractd is stopped by an administrator'
clear_results
on systemctl stop docextractd
print -d chart "$dir/0.pdf"
check "$t: the queue names the command" \
  until_true queue_says chart 'systemctl restart docextractd'
has "$t: the chart is stored" "$(on docextract jobs)" "^[^ ]+ +stored +chart-$job "
has "$t: a command names it, too" "$(hello)" 'systemctl restart docextractd'
has "$t: so does the list of jobs" "$(on docextract jobs)" \
  ': docextractd is not running; run: systemctl restart docextractd$'
is "$t: nothing is sent" "$(calls create)" 0
on systemctl restart docextractd
job_ends "$t: started, it goes on" "$job" completed
is "$t: the chart is sent and extracted once" \
  "$(calls create) $(calls put) $(n_results)" '1 1 1'

# --- a wrong configuration ---------------------------------------------------

t='the configuration is wrong'
nothing_is_left() # by the backends
{
  ! find "$spool/jobs" -name job.json -exec jq -r .print.backend {} + |
    grep -qx left
}
wrong="unknown directive 'TokenKey'; did you mean "
print_charts
cp "$config" "$dir/config"
sed -i 's/TokenKeyFile/TokenKey/' "$config"
on systemctl restart docextractd
check "$t: docextractd runs" is_active
logs() { on journalctl -q --no-pager -u docextractd -n 5 | grep -q "$1"; }
check "$t: and logs what is wrong" until_true logs "$wrong"
has "$t: hello says it" "$(hello)" "$wrong"
has "$t: and so does jobs" "$(on docextract jobs 2>&1)" "$wrong"
check "$t: the queue says why" until_true queue_says chart \
  'printer is not set up correctly'
check "$t: and is not stopped" not queue_is_stopped chart
faults '#'
cat "$dir/config" > "$config"
check "$t: corrected, what was stored goes on" until_true nothing_is_left
charts_arrive

# --- what the unit must permit -----------------------------------------------

t='OnResult in the unit'
clear_results
on apt-get -qy install python3 > "$dir/output" 2>&1 ||
  give_up "python3 is installed: $(cat "$dir/output")"
on addgroup --quiet --system records
on adduser --quiet docextract records
on mkdir /srv/records /srv/moved
on mount -t tmpfs tmpfs /srv/moved
on chown root:records /srv/records /srv/moved
on chmod 2770 /srv/records /srv/moved
cat > "$machine/usr/local/bin/collect" << 'END'
#!/usr/bin/env python3
import json, os, subprocess, sys
with open(sys.argv[1]) as manifest:
    files = [case['file'] for case in json.load(manifest)['cases']]
there = os.path.dirname(sys.argv[1])
os.makedirs('/srv/moved/today', exist_ok=True)
os.chmod('/srv/moved/today', 0o2770)
subprocess.run(['mv', *(os.path.join(there, name) for name in files),
                sys.argv[1], '/srv/moved/today'], check=True)
END
chmod 755 "$machine/usr/local/bin/collect"
sed -i '/BaseURL/a \  ResultsDir /srv/records/charts\n  OnResult /usr/local/bin/collect' \
  "$config"
on systemctl restart docextractd
moved() { on sh -c 'ls /srv/moved/today'; }
is_moved() # and not only copied
{
  moved | grep -q '\.job\.json$' && [ -z "$(on ls -A /srv/records/charts)" ]
}
mode_of() { on stat -c '%a %U %G' "$1"; }
print -d chart "$dir/0.pdf"
check "$t: python3 moves a manifest from /srv to another file system" \
  until_true is_moved
is "$t: and the result" "$(moved | wc -l)" 2
is "$t: ResultsDir was created for the group of the directory above it" \
  "$(mode_of /srv/records/charts)" '2770 docextract records'
is "$t: and the program may create such directories, too" \
  "$(mode_of /srv/moved/today)" '2770 docextract records'

t='another user of the computer'
on adduser --quiet --disabled-password --gecos '' ann > "$dir/output" 2>&1
as_ann() { on setpriv --reuid ann --regid ann --init-groups "$@"; }
as_ann sh -c 'echo chart | lp -d chart' > "$dir/output" 2>&1
ann_has() { as_ann docextract jobs 2> /dev/null | grep -q " $1 .* chart-"; }
check "$t: the status socket shows their chart" until_true ann_has extracted
is "$t: and no other" "$(as_ann docextract jobs | grep -c ' chart-')" 1

t='print jobs that are lost'
forget_jobs() # systemd starts cupsd again as soon as it is killed
{
  on systemctl kill -s STOP cups &&
    on sh -c 'rm -f /var/spool/cups/[cd]*' &&
    on sed -i '/^<Job /,/^<\/Job>/d' /var/cache/cups/job.cache &&
    on systemctl kill -s KILL cups &&
    on systemctl start cups && await_cupsd
}
state_of() { on docextract jobs --all | awk -v j="chart-$1" '$3 == j { print $2 }'; }
is_in_state() { [ "$(state_of "$1")" = "$2" ]; }
on systemctl stop docextractd
print -d chart "$dir/1.pdf"
check "$t: the chart is stored" until_true is_in_state "$job" stored
forget_jobs
on systemctl start docextractd
check "$t: with their cupsd, the chart is sent" \
  until_true is_in_state "$job" extracted
on systemctl stop docextractd
print -d chart "$dir/2.pdf"
check "$t: the next chart is stored" until_true is_in_state "$job" stored
on cancel -x "chart-$job"
on systemctl start docextractd
check "$t: without it, they were canceled" \
  until_true is_in_state "$job" canceled

systemd_says=$(on systemd-analyze security --no-pager docextractd | tail -n 1)
echo "# $systemd_says"
has 'systemd finds little to close in the unit' "$systemd_says" \
  'docextractd.service: (0|1)\.[0-9] OK'
