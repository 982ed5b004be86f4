#!/usr/bin/env bash
#
# fresh.sh - runs a command in a clean clone of HEAD, in a new minimal Debian,
# so that it must install everything that it needs. All files are in a temporary
# directory, in its own mount and process namespaces, and are removed.
#
#   fresh.sh [--user] CODENAME COMMAND
#
#   --user   as an ordinary user, for whom sudo asks for a password once
#
# Needs root, debootstrap (installed if missing), a mirror of Debian in apt's
# configuration, and 4 GB in TMPDIR (/var/tmp). CI is passed on.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/debian.sh
. tests/helper/packages.sh

fail() # TEXT
{
  echo "fresh.sh: $1" >&2
  exit 1
}

user=
if [ "${1-}" = --user ]; then
  user=tester
  shift
fi
[ $# = 2 ] || fail 'usage: fresh.sh [--user] CODENAME COMMAND'
codename=$1
command=$2
[ "$(id -u)" = 0 ] || fail 'it must be run by root'
install_missing debootstrap git util-linux || exit

dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-fresh.XXXXXX")
# Killing unshare, which blocks SIGTERM, ends everything inside.
leave()
{
  [ ! -s "$dir/pid" ] || kill -KILL "$(cat "$dir/pid")"
  rm -rf --one-file-system "$dir"
}
trap leave EXIT
trap 'exit 130' INT TERM HUP
machine=$dir/machine
log=$dir/log
chmod 755 "$dir"

make_debian "$codename" "$machine" ca-certificates ${user:+sudo} \
  > "$log" 2>&1 || fail "debootstrap cannot make a Debian: $(tail -n 5 "$log")"
# Registries may be reached through a proxy that this machine trusts.
if compgen -G '/usr/local/share/ca-certificates/*.crt' > /dev/null; then
  cp /usr/local/share/ca-certificates/*.crt \
    "$machine/usr/local/share/ca-certificates/" &&
    env -u TMPDIR chroot "$machine" update-ca-certificates > "$log" 2>&1 ||
    fail "the certificates of this machine cannot be added: $(cat "$log")"
fi
git -c safe.directory='*' clone -q . "$machine/srv/docextract" ||
  fail 'git cannot clone the tree'
home=/root
if [ -n "$user" ]; then
  home=/home/$user
  chroot "$machine" useradd -m -s /bin/bash -G sudo "$user" &&
    echo "$user:secret" | chroot "$machine" chpasswd &&
    chroot "$machine" chown -R "$user:" /srv/docextract ||
    fail 'the user cannot be made'
fi

# Runs inside the namespaces, and leaves them no other root directory:
# systemd-nspawn, for one, does not start in a mere chroot.
enter() # MACHINE HOME USER COMMAND
{
  local as=()
  mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc &&
    mount --rbind /dev dev && mount --rbind /sys sys &&
    mkdir -p .outside && pivot_root . .outside || return
  [ -z "$3" ] || as=(setpriv --reuid "$3" --regid "$3" --init-groups)
  # shellcheck disable=SC2016
  exec chroot . bash -c 'umount -l /.outside && rmdir /.outside; exec "$@"' _ \
    "${as[@]}" env -i HOME="$2" LANG=C.UTF-8 TERM=dumb \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${CI:+CI="$CI"} bash -c "cd /srv/docextract && $4"
}
export -f enter

# shellcheck disable=SC2016
inside=(bash -c 'echo $$ > "$1/pid" && shift && exec "$@"' _ "$dir"
  unshare --mount --pid --fork --kill-child bash -c 'enter "$@"' enter
  "$machine" "$home" "$user" "$command")

# Shows what a terminal would show, and types the password when prompted.
on_terminal() # COMMAND...
{
  local LC_ALL=C pid in out line='' c
  coproc terminal {
    SHELL=/bin/bash exec script -qefc "$(printf '%q ' "$@")" /dev/null
  }
  pid=$terminal_PID
  exec {in}<&"${terminal[0]}" {out}>&"${terminal[1]}"
  while IFS= read -rn 1 -u "$in" c; do
    [ "$c" = $'\r' ] || printf '%s' "${c:-$'\n'}"
    if [ -n "$c" ]; then line+=$c; else line=; fi
    if [[ $line = '[sudo] password for '*': ' ]]; then
      echo secret >&"$out"
      line=
    fi
  done
  wait "$pid"
}

if [ -n "$user" ]; then
  on_terminal "${inside[@]}"
else
  "${inside[@]}" < /dev/null &
  wait $!
fi
status=$?
rm "$dir/pid"
exit $status
