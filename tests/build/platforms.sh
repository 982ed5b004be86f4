#!/usr/bin/env bash
#
# platforms.sh - builds for other architectures, and runs the unit tests there:
# 32 bits (i386), arm64, and big-endian (s390x), in a minimal Debian each. By
# hand, as root: emulation takes about half an hour for each of the last two.
#
#   platforms.sh [ARCH...]
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh

# shellcheck disable=SC2016
inside='. tests/helper/packages.sh &&
  install_missing $build_packages $run_packages git python3 > /dev/null &&
  tests/build/build.sh /var/tmp/b && DX_BUILD=/var/tmp/b tests/build/unit.sh'

[ $# -gt 0 ] || set -- i386 arm64 s390x
for arch; do
  if output=$(tests/helper/fresh.sh --arch "$arch" bookworm "$inside" 2>&1); then
    ok "$arch: $(tail -n 1 <<< "$output")"
  else
    not_ok "$arch" "$(grep -a -B 3 -A 20 -e '^not ok' -e 'error:' <<< "$output" | head -n 200)
$(tail -n 5 <<< "$output")"
  fi
  grep -a '^left out: ' <<< "$output" | sed "s/^left out: /# $arch: /"
done
count_is_good
