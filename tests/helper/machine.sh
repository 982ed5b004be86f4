# machine.sh - Debian on a machine of its own, with systemd and the system's
# cupsd, for tests of what is installed. The machine is the directory $machine,
# in which systemd-nspawn starts Debian; it reaches no network. It needs root,
# 1.5 GB in TMPDIR and a mirror of Debian in apt's configuration.
#
# To be sourced by bash, after tests/it/lib.sh.
# shellcheck disable=SC2034,SC2154
. "$top/tests/helper/packages.sh"
. "$top/tests/helper/debian.sh"

machine=$dir/machine
spool=$machine/var/spool/docextract
results=$spool/results
nspawn=
groups=
version=$(sed -n 's/^AC_INIT(\[docextract\], \[\(.*\)\])$/\1/p' \
  "$top/configure.ac")
arch=$(dpkg --print-architecture)

# --- building ----------------------------------------------------------------

# What packages and machines are made with. Two scripts may need it at the same
# time, and apt works for one of them.
prepare_to_build() # [PACKAGE...]
{
  (
    flock 9
    install_missing build-essential debhelper debootstrap systemd-container \
      util-linux "$@" &&
      as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq build-dep -y \
        --no-install-recommends "$top" > "$dir/build-dep.log" 2>&1
  ) 9< "$build" || give_up 'everything needed is installed'
}

# What the scripts of a run of test.sh need is made by the one that comes first.
shared=${DX_SHARED:-$dir}
once() # NAME COMMAND...: which makes $shared/NAME
{
  (
    flock 9
    [ -e "$shared/$1.made" ] || { "${@:2}" && touch "$shared/$1.made"; }
  ) 9> "$shared/$1.lock"
}

# As they are released, from what `make dist` would pack.
debs=()
deb_dir=$shared/packages
build_packages()
{
  once packages build_once > "$dir/build.log" 2>&1 || {
    tail -n 20 "$dir/build.log" | sed 's/^/# /'
    give_up 'packages are built'
  }
  ok 'packages are built'
  debs+=("$deb_dir"/docextract*.deb)
}
build_once()
{
  rm -rf "$deb_dir"
  mkdir "$deb_dir" &&
    make -C "$build" distdir distdir="$deb_dir/docextract" &&
    cd "$deb_dir/docextract" &&
    DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage -us -uc
}

# --- the machine -------------------------------------------------------------

# With all packages built, in /root, and what they depend on: while the machine
# is only a directory it can use this machine's network.
make_machine() # [PACKAGE...]: to be installed later, too
{
  {
    once pristine make_pristine &&
      cp -a "$shared/pristine" "$machine" &&
      cp "${debs[@]}" "$machine/root" &&
      chroot "$machine" env LC_ALL=C apt-get -qy install --download-only \
        "/root/docextract_${version}_$arch.deb" \
        "/root/docextract-sim_${version}_$arch.deb" "$@"
  } > "$dir/machine.log" 2>&1 ||
    give_up "a machine is made: $(tail -n 5 "$dir/machine.log")"
}
make_pristine()
{
  local suite
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  rm -rf --one-file-system "$shared/pristine"
  make_debian "$suite" "$shared/pristine" systemd dbus &&
    echo 'APT::Install-Recommends "false";' \
      >> "$shared/pristine/etc/apt/apt.conf.d/50mirror" &&
    chroot "$shared/pristine" apt-get -q update
}

# systemd leaves its control groups behind: they lie below groups of our own.
make_groups()
{
  local id kind path at
  while IFS=: read -r id kind path; do
    case $id:$kind in
    0:)
      at=/sys/fs/cgroup$path
      [ -e "$at/cgroup.procs" ] || at=/sys/fs/cgroup/unified$path
      ;;
    *:name=systemd) at=/sys/fs/cgroup/systemd$path ;;
    *) continue ;;
    esac
    mkdir "$at/docextract-test.$$" && groups+=" $at/docextract-test.$$"
  done < /proc/self/cgroup
}

remove_groups()
{
  local g
  for g in $groups; do
    find "$g" -depth -type d -exec rmdir {} + || return
  done
  groups=
}

boot() # [OPTION OF THE NETWORK]
{
  make_groups
  (
    for g in $groups; do echo "$BASHPID" > "$g/cgroup.procs"; done
    exec systemd-nspawn -q -D "$machine" -b "${1:---private-network}" \
      --register=no --keep-unit --machine="docextract-$$" --console=pipe
  ) > "$dir/console" 2>&1 < /dev/null &
  nspawn=$!
  WAIT_S=60 until_true is_booted || {
    tail -n 20 "$dir/console"
    give_up 'the machine starts'
  }
}
is_booted()
{
  on systemctl is-system-running 2> /dev/null | grep -Eqx 'running|degraded'
}

first_process() # systemd's, as seen from here
{
  local pid=
  read -r pid _ < "/proc/$nspawn/task/$nspawn/children"
  [ -n "$pid" ] && echo "$pid"
}

# Runs a command on the machine, as its root.
on() # COMMAND...
{
  local leader
  leader=$(first_process) 2> /dev/null || return
  nsenter -t "$leader" -m -u -i -n -p -r -w env -i -C /root \
    HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

has_ended() { [ -z "$nspawn" ] || is_gone "$nspawn"; }
end_machine()
{
  [ -z "$nspawn" ] || end_process "$nspawn"
  nspawn=
  WAIT_S=10 until_true remove_groups 2> /dev/null
}

clear_stage() # called at the end, whatever happens
{
  if [ -n "$nspawn" ] && [ "$failed" -ne 0 ]; then
    on journalctl -q --no-pager -u docextractd -n 20 | sed 's/^/# /'
  fi
  end_machine
  stop_sim
}
