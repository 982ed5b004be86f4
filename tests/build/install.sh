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

refuses() # OPTION
{
  ! env -C "$owned" "$PWD/configure" -q "$1" 2> "$owned/err" &&
    grep -q 'needs the name of a user' "$owned/err"
}
installs() { (umask 077 && make -C "${DX_BUILD:-.}" -j1 install DESTDIR="$root"); }
check 'make install succeeds' installs
is 'others may run backend and filters' "$(
  cd "$root$serverbin" && stat -c '%a %n' backend/* filter/*)" \
  '755 backend/docextract
755 filter/todocextract
755 filter/todocextract-check'
module=/usr/local/lib/docextract/docextract-text.so
is 'others may load the text module' "$(stat -c %a "$root$module")" 644
check 'where the filter looks for it' \
  grep -aqF "$module" "$root$serverbin/filter/todocextract"
check 'the PPD is there' [ -s "$root$datadir/model/docextract.ppd" ]
check 'the driver is there' \
  [ -s "$root/usr/local/share/docextract/docextract.drv" ]
has 'docextract-notify starts with every desktop session' \
  "$(cat "$root"/usr/local/etc/xdg/autostart/docextract-notify.desktop)" \
  '^Exec=/usr/local/bin/docextract-notify$'
new_config() # [LINE...]: its language; where the computer sets its own
{
  printf '%s\n' "$@" > "$root/locale"
  (umask 077 && sh "$root/usr/local/share/docextract/new-config" \
    "$root/locale" "$root/conf")
  sed -n 's/^Language //p' "$root/conf"
  cmp -s <(sed 's/^Language .*/#Language en/' "$root/conf") doc/docextract.conf ||
    echo 'and more than that'
}
is 'a new configuration has the language of the computer' "$(
  new_config LANG=de_AT.UTF-8
  new_config '# any' 'LANG="fr_FR@euro"'
  new_config LANG=ja_JP.UTF-8 LC_MESSAGES=es)" "$(printf '%s\n' de fr es)"
is 'or it is in English' "$(
  new_config
  new_config LANG=C.UTF-8
  new_config LANG=den_DK.UTF-8
  new_config LANG=pt_BR.UTF-8
  rm "$root/locale" && sh "$root/usr/local/share/docextract/new-config" \
    "$root/locale" "$root/conf" && grep ^Language "$root/conf")" \
  "$(printf '%s\n' en en en en 'Language en')"
is 'and others may read it' "$(stat -c %a "$root/conf")" 644
check 'the command is there' [ -x "$root/usr/local/bin/docextract" ]
is 'docextract-fhir is there, and others may run it' "$(
  stat -c %a "$root/usr/local/bin/docextract-fhir"
  stat -c %a "$root"/usr/local/share/docextract-fhir/docextract_fhir/*.py | sort -u
  sed "s|'/usr/|'$root/usr/|" "$root/usr/local/bin/docextract-fhir" |
    /usr/bin/python3 -I - --version)" \
  "755
644
docextract-fhir $(sed -n 's/^AC_INIT(.*\[\(.*\)\])$/\1/p' configure.ac)"
is 'and so are the programs that send what it writes' "$(
  cd "$root/usr/local/share/docextract-fhir/examples" && stat -c '%a %n' *)" \
  '755 send-fhir.sh
755 send-hl7.py'
# Nothing but docextractd reads a key or calls the service.
loaded() # FILE: the libraries of HTTP and signatures that it names
{
  readelf -d "$1" | sed -n 's/.*(NEEDED).*\[lib\(curl[^.]*\|crypto\|ssl\)\..*/\1/p' |
    sort | xargs
}
for program in "$root$serverbin"/{backend/docextract,filter/todocextract{,-check}} \
  "$root"/usr/local/bin/docextract{,-notify}; do
  is "${program#"$root"} loads neither libcurl nor OpenSSL" \
    "$(loaded "$program")" ''
done
is 'docextractd loads both' \
  "$(loaded "$root/usr/local/sbin/docextractd" | sed 's/curl[^ ]*/curl/')" \
  'crypto curl'

# With a user of its own: configured only, which is enough to see what the
# compiler would be given. What is installed in the end is empty.
owned=$root/owned
mkdir "$owned"
check 'configure --with-user succeeds' env -C "$owned" "$PWD/configure" -q \
  --with-user=dx-owner --without-notify
hasnt 'without libnotify there is no docextract-notify' \
  "$(make -s -C "$owned" -n install-binPROGRAMS install-man)" docextract-notify
make -s -C "$owned" daemon/docextractd.service > "$owned/log"
is 'and docextractd runs as that user' \
  "$(grep -E '^(User|Group)=' "$owned/daemon/docextractd.service" | xargs)" \
  'User=dx-owner Group=dx-owner'
has 'as the programs do' "$(make -C "$owned" -n lib/base/user.o)" \
  "-DDX_USER='\"dx-owner\"'"
is 'as without the option they do not' "$(
  make -C "${DX_BUILD:-.}" -n -W "$PWD/lib/base/user.c" -W lib/base/user.c \
    lib/base/user.o | grep -o -e 'DX_USER' -e '-o lib/base/user\.o')" \
  '-o lib/base/user.o'
# One step after the other, as without -j.
make -s -C "$owned" -k -t all > "$owned/log" 2>&1
check 'make install succeeds with a user of its own' \
  make -s -C "$owned" -j1 install DESTDIR="$owned/dest"
is 'only root may run the backend then' \
  "$(stat -c %a "$owned/dest$serverbin/backend/docextract")" 700
# Without any library: they are all reported at once.
has 'configure names all missing packages' "$(env -C "$owned" \
  CUPS_CONFIG= PKG_CONFIG_LIBDIR="$owned" "$PWD/configure" -q 2>&1)" \
  'install libcurl4-openssl-dev libcjson-dev .* libcmocka-dev .*\(Debian'
uninstalls() { make -C "${DX_BUILD:-.}" -j1 uninstall DESTDIR="$root"; }
check 'make uninstall succeeds' uninstalls
is 'and removes every file and every directory of docextract' \
  "$(find "$root/usr" "$root$serverbin" ! -type d -o -name '*docextract*')" ''
for user in yes root 'a b' -c ''; do
  check "configure --with-user='$user' is refused" \
    refuses "--with-user=$user"
done
count_is_good
