#!/usr/bin/env bash
#
# platforms.sh - cross-compiles for other architectures, and runs the unit tests
# of each: 32 bits (i386), arm64, and big-endian (s390x), in a minimal Debian
# each. Programs that this processor cannot run are emulated by QEMU. By hand, as
# root; some minutes each.
#
#   platforms.sh [ARCH...]
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
. tests/helper/packages.sh

# QEMU has no seccomp, starts programs differently, and is slow. What these
# programs test does not depend on the architecture.
not_emulated='model_one|model_two|test_control|test_hello|test_isolate|test_text|test_token'

# Registers QEMU with the kernel, in containers where systemd has not.
emulate() # ARCH
{
  local dir=/proc/sys/fs/binfmt_misc name=qemu-$1
  case $1 in
  i386) return ;;
  arm64) name=qemu-aarch64 ;;
  esac
  install_missing qemu-user-static &&
    { [ -e $dir/register ] || mount -t binfmt_misc none $dir; } &&
    { [ -e "$dir/$name" ] || cat "/usr/lib/binfmt.d/$name.conf" > "$dir/register"; }
}

# Only some architectures get the latest security updates, and a library must
# have the same version for both.
# shellcheck disable=SC2086
inside() # ARCH
{
  local p own='' foreign=''
  for p in $build_packages; do
    case $p in
    lib* | zlib*) foreign+=" $p:$1" ;;
    *) own+=" $p" ;;
    esac
  done
  sed -i '/ bookworm /!d' /etc/apt/sources.list &&
    dpkg --add-architecture "$1" &&
    install_missing "crossbuild-essential-$1" $own $foreign $run_packages git \
      python3 locales > /dev/null || return
  # libc-bin has C.UTF-8 in the byte order of this computer.
  if [ "$1" = s390x ]; then
    export LOCPATH=/var/tmp/locale
    mkdir $LOCPATH && localedef -c --big-endian -i C -f UTF-8 $LOCPATH/C.utf8 ||
      return
  fi
  tests/build/build.sh /var/tmp/b \
    --host="$(dpkg-architecture -a "$1" -q DEB_HOST_GNU_TYPE)" &&
    DX_BUILD=/var/tmp/b tests/build/unit.sh
}

if [ "${1-}" = --inside ]; then
  inside "$2"
  exit
fi
[ $# -gt 0 ] || set -- i386 arm64 s390x
for arch; do
  output=$(emulate "$arch" 2>&1 && tests/helper/fresh.sh bookworm \
    "tests/build/platforms.sh --inside $arch" 2>&1)
  wrong=$(grep -a '^not ok - ' <<< "$output")
  if [ "$arch" != i386 ]; then
    leave_out "$arch: ${not_emulated//|/, }" "on a computer with $arch"
    wrong=$(grep -aEv "^not ok - ($not_emulated)(:| )" <<< "$wrong")
  fi
  if [ -z "$wrong" ] && grep -aq '^ok - test_' <<< "$output"; then
    ok "$arch: $(tail -n 1 <<< "$output")"
  else
    not_ok "$arch" "$wrong"$'\n'"$(grep -a -A 3 'error:' <<< "$output")
$(tail -n 5 <<< "$output")"
  fi
done
count_is_good
