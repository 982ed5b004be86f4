#!/usr/bin/env bash
#
# release.sh - what a release consists of: the tarball and the Debian packages
# are the same bytes whoever builds them, where, when, and in which locale and
# time zone; lintian and blhc find nothing; every file has a license; and the
# software bill of materials is complete. Without root it is skipped and says
# so; in CI that is a failure.
. "$(dirname "$0")/../it/lib.sh"
. "$top/tests/helper/machine.sh"

[ "$(id -u)" = 0 ] || leave_out_all 'the release' 'run it as root'
prepare_to_build lintian blhc reuse faketime locales
mkdir "$dir/locales" && localedef -i de_DE -f UTF-8 "$dir/locales/de_DE.UTF-8" ||
  give_up 'there is a locale with a decimal comma'

# Another user, umask, home, locale, time zone, and day.
elsewhere() # COMMAND...
{
  (
    umask 0027
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/nonexistent \
      LC_ALL=de_DE.UTF-8 LOCPATH="$dir/locales" TZ=Pacific/Apia \
      setpriv --reuid=nobody --regid=nogroup --clear-groups faketime '+400 days' "$@"
  )
}

unpacked() # DIRECTORY: there, from the tarball
{
  mkdir -p "$1" && tar -xf "$tarball" -C "$1" --strip-components=1
}

# OPTIONS: of DEB_BUILD_OPTIONS; COMMAND: what runs the build.
build_in() # DIRECTORY LOG OPTIONS [COMMAND...]: packages, beside the directory
{
  local at=$1 log=$2 options=$3
  shift 3
  (cd "$at" && "$@" env DEB_BUILD_OPTIONS="parallel=2 $options" \
    dpkg-buildpackage -us -uc) > "$log" 2>&1 || {
    { grep '^FAIL' "$log"; tail -n 20 "$log"; } | sed 's/^/# /'
    give_up "packages are built in ${at##*/}"
  }
}

different() # FILE...: those in $there that differ from those in $here
{
  local f
  for f in "$@"; do
    cmp -s "$here/$f" "$there/$f" || echo "$f"
  done
}

# --- twice -------------------------------------------------------------------

make -C "$build" dist > "$dir/dist.log" 2>&1 ||
  give_up "make dist: $(tail -n 3 "$dir/dist.log")"
tarball=$dir/docextract-$version.tar.xz
mv "$build/${tarball##*/}" "$tarball"
here=$dir/here
there=$dir/there/where/paths/are/longer
unpacked "$here/docextract" && unpacked "$there/docextract"
chmod 755 "$dir"
chown -R nobody:nogroup "$dir/there"

(cd "$there/docextract" && elsewhere ./configure -q &&
  elsewhere make -s dist) > "$dir/again.log" 2>&1 ||
  give_up "make dist from the tarball: $(tail -n 3 "$dir/again.log")"
check 'the tarball makes the same tarball, elsewhere' \
  cmp "$tarball" "$there/docextract/${tarball##*/}"
elsewhere make -s -C "$there/docextract" distclean > "$dir/again.log" 2>&1
rm "$there/docextract/${tarball##*/}"

build_in "$here/docextract" "$dir/here.log" ''
has 'the unit tests pass in the build of the packages, too' \
  "$(grep '^# PASS: ' "$dir/here.log")" ' [1-9]'
build_in "$there/docextract" "$dir/there.log" nocheck elsewhere
mapfile -t packages < <(cd "$here" && ls ./*.deb ./*.dsc ./*.tar.xz)
has 'there are packages and sources' "${#packages[@]}" '^[4-9]$'
is 'they are the same, built elsewhere' "$(different "${packages[@]}")" ''

# --- checked -----------------------------------------------------------------

is 'lintian finds nothing wrong' "$(lintian --fail-on none \
  --display-level '>=warning' "$here"/*.changes 2> /dev/null)" ''
# Only tests use preload.so.
is 'every file was compiled with the protections of Debian' "$(blhc --all \
  --debian --ignore-line '.* -o tests/crash/preload\.so .*' "$dir/here.log")" ''
has 'every file has a copyright and a license' \
  "$(cd "$here/docextract" && reuse lint 2> /dev/null)" 'project is compliant'

# --- the bill of materials ---------------------------------------------------

sbom=$dir/sbom.json
"$top/debian/sbom" "$here"/*.changes > "$sbom"
is 'the bill of materials is the same, elsewhere' \
  "$("$top/debian/sbom" "$there"/*.changes)" "$(cat "$sbom")"
needed()
{
  local deb
  for deb in "$here"/docextract*.deb; do
    [[ $deb == *-dbgsym_* ]] ||
      dpkg-deb -f "$deb" Depends | tr ',' '\n' | sed 's/^ *//; s/ .*//'
  done | sort -u
}
listed() { jq -r '.packages[].name' "$sbom" | sort; }
is 'it lists everything that a package depends on' \
  "$(comm -23 <(needed) <(listed))" ''
is 'and each package, with its checksum' "$(jq -r '.packages[] |
  select(.checksums) | "\(.checksums[0].checksumValue)  \(.packageFileName)"' \
  "$sbom" | (cd "$here" && sha256sum -c --quiet && echo good) 2>&1)" good
is 'and the version of each library' "$(jq -r '.packages[] |
  select((.name | startswith("lib")) and .versionInfo == null) | .name' \
  "$sbom")" ''
