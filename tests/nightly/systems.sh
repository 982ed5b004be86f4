#!/usr/bin/env bash
#
# systems.sh - packaging for systems that cannot be started here, with their own
# tools: the RPM package is built and rpmlint accepts it, the SELinux module is
# compiled, and the AppArmor profiles are parsed: ours, and that of cupsd, which
# doc/administration.md describes. Without root it is skipped and says so; in CI
# that is a failure.
. "$(dirname "$0")/../it/lib.sh"
. "$top/tests/helper/machine.sh"

[ "$(id -u)" = 0 ] || leave_out_all 'other systems' 'run it as root'
prepare_to_build rpm rpmlint checkpolicy semodule-utils apparmor

files=$top/packaging

# --- RPM ---------------------------------------------------------------------

make -C "$build" dist > "$dir/dist.log" 2>&1 ||
  give_up "make dist: $(tail -n 3 "$dir/dist.log")"
mkdir -p "$dir/rpm/SOURCES"
mv "$build/docextract-$version.tar.xz" "$dir/rpm/SOURCES/"
# The macros of systemd are in a package of Fedora. Dependencies have the names
# of its packages.
rpm_build()
{
  rpmbuild --nodeps --define "_topdir $dir/rpm" --define 'systemd_requires %nil' \
    --define '_unitdir /usr/lib/systemd/system' \
    --define 'systemd_post() systemctl --no-reload preset %{*} || :' \
    --define 'systemd_preun() systemctl --no-reload disable --now %{*} || :' \
    --define 'systemd_postun_with_restart() systemctl try-restart %{*} || :' \
    -ta "$dir/rpm/SOURCES/docextract-$version.tar.xz"
}
rpms() { find "$dir/rpm/RPMS" -name '*.rpm'; }
check 'RPM packages are built from the tarball' rpm_build
is 'four of them' "$(rpms | wc -l)" 4
check 'rpmlint accepts the specification' rpmlint "$files/docextract.spec"
contents=$(rpms | xargs rpm -qlp)
for f in /usr/bin/docextract /usr/sbin/docextractd \
  /usr/lib/cups/backend/docextract /usr/lib/cups/filter/todocextract \
  /usr/lib/cups/filter/todocextract-check \
  /usr/share/cups/model/docextract.ppd; do
  has "$f is in them" "$contents" "^$f$"
done
has 'only root runs the backend, so that cupsd starts it as root' \
  "$(rpms | xargs -n 1 rpm -qlvp | grep backend/docextract)" '^-rwx------ .* root '

# --- SELinux and AppArmor ----------------------------------------------------

module()
{
  checkmodule -M -m -o "$dir/docextract.mod" "$files/docextract.te" &&
    semodule_package -o "$dir/docextract.pp" -m "$dir/docextract.mod" \
      -f "$files/docextract.fc"
}
check 'the SELinux module is compiled' module
check 'the AppArmor profile is parsed' \
  /usr/sbin/apparmor_parser -QK "$files/usr.sbin.docextractd"

# The one of cups-daemon, as Debian installs it.
profile=/etc/apparmor.d/usr.sbin.cupsd
is "Debian's profile of cupsd runs backends and filters of others freely" \
  "$(sed -nE 's,^ *(/usr/lib/cups/(backend|filter)/\*+ .*),\1,p' $profile)" \
  '/usr/lib/cups/backend/* Cx -> third_party,
/usr/lib/cups/filter/** Cxr -> third_party,'
guide=doc/administration.md
grep '^/usr/lib/cups/.*third_party,$' "$top/$guide" > "$dir/lines"
sed -e "/<local\/usr.sbin.cupsd>/r $dir/lines" \
  -e '/<local\/usr.sbin.cupsd>/d' $profile > "$dir/profile"
is "the lines of $guide are in it" \
  "$(grep -cFf "$dir/lines" "$dir/profile")" 3
check 'with them, it is parsed' /usr/sbin/apparmor_parser -QK "$dir/profile"
finish
