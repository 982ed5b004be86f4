#!/usr/bin/env bash
#
# platforms.sh - builds for other architectures, and runs the unit tests there:
# 32 bits (i386), arm64, and big-endian (s390x), in a minimal Debian each. By
# hand, as root: emulation takes more than an hour for each of the last two.
#
#   platforms.sh [ARCH...]
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh

# shellcheck disable=SC2016
inside='. tests/helper/packages.sh &&
  install_missing $build_packages $run_packages git python3 > /dev/null &&
  tests/build/build.sh /var/tmp/b && DX_BUILD=/var/tmp/b tests/build/unit.sh'

# QEMU has no seccomp, starts programs differently, and is slow. What these
# programs test does not depend on the architecture.
not_emulated='model_one|model_two|test_control|test_hello|test_isolate|test_text|test_token'

[ $# -gt 0 ] || set -- i386 arm64 s390x
for arch; do
  output=$(tests/helper/fresh.sh --arch "$arch" bookworm "$inside" 2>&1)
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
