#!/usr/bin/env bash
#
# packages.sh - the Debian packages as an administrator uses them: installed,
# used, upgraded, downgraded, removed, and purged, on a machine of their own
# (tests/helper/machine.sh). Without root it is skipped and says so; in CI that
# is a failure.
. "$(dirname "$0")/../it/lib.sh"
. "$top/tests/helper/machine.sh"

[ "$(id -u)" = 0 ] || leave_out_all 'the Debian packages' 'run it as root'
prepare_to_build
SIM_LOG=$machine/root/sim.log

in_package() # "MODE PATH" of what CUPS runs, and what that loads
{
  dpkg-deb -c "$deb_dir/docextract_${version}_$arch.deb" |
    awk '/\/cups\/(backend|filter)\/.|\.so$/ { print $1, $6 }'
}

# --- an administrator's commands ---------------------------------------------

commands=0
types() # COMMAND: one that an administrator types; counted and shown
{
  commands=$((commands + 1))
  echo "#   $commands. $1"
  on sh -c "$1" > "$dir/output" 2>&1 < /dev/null && return
  sed 's/^/#      /' "$dir/output"
  give_up "this works: $1"
}

modes() { on stat -c '%a %U:%G %n' "$@"; }

is_there() { [ "$(n_results)" -ge "$1" ]; }
state() { on systemctl is-active docextractd; }
user_of() # PID: of the process, on the machine
{
  on sh -c "id -un \$(sed -n 's/^Uid:\t\([0-9]*\).*/\1/p' /proc/$1/status)"
}
main_pid() { on systemctl show -P MainPID docextractd; }
installed() # VERSION
{
  on apt-get -qy --reinstall --allow-downgrades install \
    "/root/docextract_$1_$arch.deb" > "$dir/output" 2>&1 ||
    give_up "version $1 is installed: $(cat "$dir/output")"
}

version_there() { on dpkg-query -W -f '${Version}' docextract; }

# A next version, which is the same but for its driver; and the date, by which
# CUPS knows that there is another one.
next=$version+1
make_next()
{
  local to=$dir/next
  {
    dpkg-deb -R "$deb_dir/docextract_${version}_$arch.deb" "$to" &&
      sed -i "s/^Version: .*/Version: $next/" "$to/DEBIAN/control" &&
      zcat -f "$to/usr/share/cups/model"/docextract.ppd* > "$dir/next.ppd" &&
      sed 's/^\(\*FileVersion: \).*/\1"9.9"/' "$dir/next.ppd" \
        > "$to/usr/share/cups/model/docextract.ppd" &&
      touch "$to/usr/share/cups/ppd-updaters"/* &&
      dpkg-deb -b "$to" "$dir/docextract_${next}_$arch.deb"
  } > "$dir/output" 2>&1 && debs+=("$dir/docextract_${next}_$arch.deb")
}

# Replaces the simulator with one that logs its calls.
restart_sim()
{
  on sh -c 'kill $(cat sim.pid)'
  until_true sim_is_gone
  on sh -c 'docextract-sim --ready-file ready --log sim.log --faults faults \
    > sim.err 2>&1 & echo $! > sim.pid'
  until_true sim_is_up || give_up "the simulator starts again: $(
    cat "$machine/root/sim.err")"
}
sim_is_up() { [ -e "$machine/root/ready" ]; }
sim_is_gone() { ! on sh -c 'kill -0 $(cat sim.pid)' 2> /dev/null; }
hold_back() { echo 'source * word processing' > "$machine/root/faults"; }
let_go() { : > "$machine/root/faults"; }

queue_has_new_driver()
{
  grep -q '^\*FileVersion: "9\.9"' "$machine/etc/cups/ppd/chart.ppd"
}

# Prints a chart whose backend leaves, and whose extraction is held back.
print_accepted()
{
  on lp -d chart /usr/share/doc/docextract/examples/sample-chart.pdf > /dev/null
  until_true is_left || give_up "the backend leaves the job: $(
    on docextract jobs)"
}
left() # the states of the jobs that go on without a backend
{
  find "$spool/jobs" -name job.json -exec \
    jq -r 'select(.print.backend == "left") | .submissions[].state' {} +
}
is_left()
{
  local waiting
  [ "$(left)" = processing ] && waiting=$(on lpstat -o) && [ -z "$waiting" ]
}

# --- building ----------------------------------------------------------------

text='changelog and configure.ac name the same version'
changelog=$top/debian/changelog
[ "$(dpkg-parsechangelog -l "$changelog" -S Version)" = "$version" ] ||
  give_up "$text"
ok "$text"
build_packages
is 'they are built from every file of the tree' "$(comm -23 \
  <(cd "$build" && git ls-files --full-name :/ | sort) \
  <(cd "$deb_dir/docextract" && find . -type f -printf '%P\n' | sort))" \
  $'.ci/run\n.gitignore'
is 'cupsd will run the backend as root and filters as lp' \
  "$(in_package | sort -k 2)" \
  "-rwx------ ./usr/lib/cups/backend/docextract
-rwxr-xr-x ./usr/lib/cups/filter/todocextract
-rwxr-xr-x ./usr/lib/cups/filter/todocextract-check
-rw-r--r-- ./usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/docextract/\
docextract-text.so"
is 'docextract-notify is a package of its own' "$(dpkg-deb -c \
  "$deb_dir/docextract-notify_${version}_$arch.deb" |
  grep -oE '(autostart|bin|man1)/.+')" 'autostart/docextract-notify.desktop
bin/docextract-notify
man1/docextract-notify.1.gz'
fhir=docextract-fhir_${version}_all.deb
is 'docextract-fhir is one for every architecture' \
  "$(dpkg-deb -c "$deb_dir/$fhir" | grep -oE '(bin|man1)/.+')" \
  'bin/docextract-fhir
man1/docextract-fhir.1.gz'
make_next || give_up "a package of the next version is made: $(cat "$dir/output")"

make_machine "/root/$fhir" acl
boot

# --- from nothing to the first result ----------------------------------------

echo '# from the package to the first result:'
types "apt-get -y install ./docextract_${version}_$arch.deb \
./docextract-sim_${version}_$arch.deb"
is 'directories and configuration have the right owners and modes' \
  "$(modes /etc/cups/docextract.conf /var/spool/docextract{,/jobs,/results})" \
  '644 root:root /etc/cups/docextract.conf
711 docextract:docextract /var/spool/docextract
700 docextract:docextract /var/spool/docextract/jobs
2770 docextract:docextract /var/spool/docextract/results'
is 'no queue was made' "$(on lpstat -v 2>&1 | grep docextract)" ''
is_active() { [ "$(state)" = active ]; }
check 'docextractd runs, with nothing to do' until_true is_active
is 'and starts at boot' "$(on systemctl is-enabled docextractd)" enabled
is 'as its own user' "$(user_of "$(main_pid)")" docextract
has 'an untouched configuration says what is missing' \
  "$(on docextract config 2>&1)" 'add a section <Service default>'
types 'docextract-sim > sim.out 2>&1 & echo $! > sim.pid'
types "sed -i '/<Service trial>/,/<.Service>/s/^#//' /etc/cups/docextract.conf"
types 'docextract hello'
has 'hello says that it works' "$(cat "$dir/output")" '^ok +token accepted'
types 'lpadmin -p chart -E -v docextract://trial -m docextract.ppd'
types 'lp -d chart /usr/share/doc/docextract/examples/sample-chart.pdf'
until_true is_there 1
is 'the first result is there' "$(n_results)" 1
check "after $commands commands, 6 at most" [ "$commands" -le 6 ]

inside() { echo "${1#"$machine"}"; } # PATH, as the machine has it
reads() # PATH: as somebody in the group of the results
{
  on setpriv --reuid reader --regid nogroup --init-groups cat "$(inside "$1")"
}
first=$results/$(results)
journal=$(find "$spool/jobs" "$spool/finished" -name job.json)
is 'results belong to their group' "$(modes "$(inside "$first")")" \
  "640 docextract:docextract $(inside "$first")"
on adduser --quiet --system reader 2> /dev/null
on adduser --quiet reader docextract
is 'whose members read them' "$(reads "$first")" "$(cat "$first")"
check 'the job has a journal' [ -s "$journal" ]
is 'which they do not read' "$(reads "$journal" 2> /dev/null)" ''
as_lp() { on setpriv --reuid lp --regid lp --init-groups "$@" 2>&1; }
has 'filters, which are lp, read neither results' \
  "$(as_lp cat "$(inside "$first")")" 'ermission denied'
has 'nor the spool' "$(as_lp ls /var/spool/docextract/jobs)" 'ermission denied'
check 'but the configuration' as_lp test -r /etc/cups/docextract.conf

# Others read them with an ACL, as doc/administration.md sets it.
watched() # ACTION OF FIND...: for the files of the second chart
{
  on env -C / setpriv --reuid watcher --regid nogroup --clear-groups \
    find /var/spool/docextract/results -name '*.json' -newer /tmp/mark "$@"
}
on adduser --quiet --system watcher 2> /dev/null
on apt-get -qy install acl > "$dir/output" 2>&1 ||
  give_up "acl is installed: $(cat "$dir/output")"
on setfacl -m u:watcher:x /var/spool/docextract
on setfacl -m u:watcher:rwX,d:u:watcher:r /var/spool/docextract/results
check 'with an ACL, hello succeeds' on docextract hello
on touch /tmp/mark
on lp -d chart /usr/share/doc/docextract/examples/sample-chart.pdf > /dev/null
until_true is_there 2
on docextract wait chart-2
is 'a user with an ACL reads result and manifest' \
  "$(watched -exec grep -l source_id '{}' + | wc -l)" 2
watched -delete
is 'and removes them' "$(n_results) $(n_manifests)" '1 1'

# --- a directory that the unit hides, and OnResult ------------------------------

config=/etc/cups/docextract.conf
drop_in=/etc/systemd/system/docextractd.service.d/charts.conf
delivered() { on sh -c 'ls /home/charts/*.job.json' 2> /dev/null; }
is_delivered() { [ -n "$(delivered)" ]; }
on install -d -o docextract -g docextract -m 2770 /home/charts
on sed -i '/<Service trial>/a \  ResultsDir /home/charts' $config
on systemctl restart docextractd
has 'results in a directory that the unit hides are refused' \
  "$(on docextract hello 2>&1)" 'ProtectHome=tmpfs and BindPaths=/home/charts'
has 'which docextract config says, too' "$(on docextract config 2>&1)" \
  'ProtectHome=tmpfs and BindPaths=/home/charts'
on mkdir -p "${drop_in%/*}"
printf '[Service]\nProtectHome=tmpfs\nBindPaths=/home/charts\n' \
  > "$machine$drop_in"
on systemctl daemon-reload
on systemctl restart docextractd
check 'with that drop-in they are not' on docextract hello
on apt-get -qy install "./$fhir" > "$dir/output" 2>&1 ||
  give_up "docextract-fhir is installed: $(cat "$dir/output")"
on install -d -o docextract -g docextract -m 2770 /srv/fhir
options='--syslog --output /srv/fhir --mrn-system urn:oid:1.2.3'
on sed -i "/<Service trial>/a \  OnResult /usr/bin/docextract-fhir $options" \
  $config
on systemctl reload docextractd
on lp -d chart /usr/share/doc/docextract/examples/sample-chart.pdf > /dev/null
until_true is_delivered
has 'and are delivered there' "$(delivered)" '^/home/charts/.*\.job\.json$'
is_converted() { compgen -G "$machine/srv/fhir/*.fhir.json" > /dev/null; }
check 'docextract-fhir converts them, as the user of docextractd' \
  until_true is_converted
has 'with a patient' "$(cat "$machine"/srv/fhir/*.fhir.json)" 'urn:oid:1.2.3'
is 'and only members of their group read them' \
  "$(on sh -c 'stat -c "%a %G" /srv/fhir/*.json' | sort -u)" '640 docextract'
on sed -i '/ResultsDir/d; /OnResult/d' $config
rm "$machine$drop_in"
on systemctl daemon-reload
on systemctl restart docextractd

# --- upgrading ---------------------------------------------------------------

hold_back
restart_sim
on sed -i '/<Service trial>/a \  Completion accepted' /etc/cups/docextract.conf
on systemctl reload docextractd
print_accepted
on lpadmin -p chart -o DocumentGrouping=Together
before=$(main_pid)
config_before=$(md5sum < "$machine/etc/cups/docextract.conf")
installed "$next"
is 'the new version is there' "$(version_there)" "$next"
check 'an upgrade starts docextractd again' [ "$(main_pid)" != "$before" ]
check 'and it runs' until_true is_active
is 'an edited configuration stays' "$config_before" \
  "$(md5sum < "$machine/etc/cups/docextract.conf")"
until_true queue_has_new_driver
check 'queues get the new driver' queue_has_new_driver
has 'and keep their defaults' "$(on lpoptions -p chart -l)" \
  '^DocumentGrouping/.*\*Together'
is 'the job that was under way continues' "$(left)" processing
let_go
until_true is_there 2
is 'its result arrives' "$(n_results)" 2
is 'it was sent once' "$(calls create) $(calls put)" '1 1'

# --- the earlier version again, and again -------------------------------------

hold_back
print_accepted
installed "$version"
is 'after a downgrade the earlier version is there' "$(version_there)" "$version"
check 'and runs' until_true is_active
is 'the job that was under way continues there' "$(left)" processing

# The spool is its user's, who may put a link in it.
as_docextract()
{
  on setpriv --reuid docextract --regid docextract --clear-groups "$@"
}
on install -d -m 700 /root/planted
as_docextract mv /var/spool/docextract/results /var/spool/docextract/away
as_docextract ln -s /root/planted /var/spool/docextract/results
installed "$version"
is 'the same version is installed again' \
  "$(on dpkg-query -W -f '${Status}' docextract)" 'install ok installed'
is 'no link in the spool leads the installation elsewhere' \
  "$(modes /root/planted) $(on ls -A /root/planted)" \
  '700 root:root /root/planted '
as_docextract rm /var/spool/docextract/results
as_docextract mv /var/spool/docextract/away /var/spool/docextract/results
let_go
until_true is_there 3
is 'the result of the job arrives' "$(n_results)" 3
is 'it was sent once, then, too' "$(calls create) $(calls put)" '2 2'

# --- removing ----------------------------------------------------------------

hold_back
print_accepted
kept=$(cd "$results" && md5sum ./*)
on apt-get -qy remove docextract > "$dir/output" 2>&1 ||
  give_up "it is removed: $(cat "$dir/output")"
is 'removing ends docextractd' "$(state)" inactive
check 'and its socket goes' [ ! -e "$spool/docextractd.sock" ]
check 'the backend is gone' [ ! -e "$machine/usr/lib/cups/backend/docextract" ]
check 'the configuration stays' [ -s "$machine/etc/cups/docextract.conf" ]
is 'the queue is the administrator'"'"'s' "$(on lpstat -v)" \
  'device for chart: docextract://trial'
cp "$machine/etc/cups/docextract.conf" "$dir/config"
on apt-get -qy purge docextract > "$dir/output" 2>&1 ||
  give_up "it is purged: $(cat "$dir/output")"
has 'purging says what it keeps' "$(cat "$dir/output")" \
  '/var/spool/docextract was not removed'
check 'the configuration is gone' [ ! -e "$machine/etc/cups/docextract.conf" ]
is 'results are there as they were' "$(cd "$results" && md5sum ./*)" "$kept"

# --- coming back -------------------------------------------------------------

installed "$next"
cat "$dir/config" > "$machine/etc/cups/docextract.conf"
check 'docextractd runs again' until_true is_active
let_go
until_true is_there 4
is 'a job that was under way during the purge continues' "$(n_results)" 4
is 'it was sent once, too' "$(calls create) $(calls put)" '3 3'

on apt-get -qy remove docextract > "$dir/output" 2>&1
rm -rf "$spool"/{jobs,finished}/* "$spool"/results/*
on apt-get -qy purge docextract > "$dir/output" 2>&1
check 'with no results and no jobs purging leaves no spool' [ ! -e "$spool" ]
check 'but the user, who owns the keys' on getent passwd docextract

echo "# $commands commands from the package to the first result"
