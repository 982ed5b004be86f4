#!/usr/bin/env bash
#
# install.sh - `make install` puts every file where CUPS looks for it, with
# modes that do not depend on the umask.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh

root=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-install.XXXXXX")
trap 'rm -rf "$root"' EXIT
serverbin=$(cups-config --serverbin)
datadir=$(cups-config --datadir)

installs() { (umask 077 && make -C "${DX_BUILD:-.}" -j1 install DESTDIR="$root"); }
check 'make install succeeds' installs
is 'others may run backend and filters' "$(
  cd "$root$serverbin" && stat -c '%a %n' backend/* filter/*)" \
  '755 backend/docextract
755 filter/checkdocextract
755 filter/todocextract'
check 'the PPD is there' [ -s "$root$datadir/model/docextract.ppd" ]
check 'the driver is there' \
  [ -s "$root/usr/local/share/docextract/docextract.drv" ]
check 'the command is there' [ -x "$root/usr/local/bin/docextract" ]
count_is_good
