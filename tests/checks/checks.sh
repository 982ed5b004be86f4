#!/usr/bin/env bash
#
# checks.sh - what holds for the sources themselves: their form, which room
# knows which library, and that every header stands alone. Nothing is run.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh

none() { is "$1" "$2" ''; } # TEXT OUTPUT: nothing was found

rooms='lib backend filter cli collector sim doc tests'
mapfile -t sources < <(find $rooms -name '*.[ch]' | sort)

includes() # LIBRARY PATTERN, FILES THAT MAY: nobody else in lib/
{
  none "in lib/ only $2 know $1" \
    "$(grep -lE "#include <($1)" lib/*.[ch] | grep -vE "/($2)\$")"
}

foreign() # ROOM ALLOWED: "room/" includes of any other
{
  none "$1/ includes nothing but $2" \
    "$(grep -hoE '#include "[a-z_]+/' "$1"/*.[ch] | sort -u |
      grep -vE "\"($2)/")"
}

stands_alone() # HEADER
{
  gcc -std=gnu11 -D_GNU_SOURCE -I. -fsyntax-only -x c "$1" 2>&1
}

none 'the sources are formatted' \
  "$(clang-format --dry-run -Werror "${sources[@]}" 2>&1 | grep error)"

includes 'curl/' 'http\.c'
includes 'openssl/' 'digest\.c|jwt\.c'
includes 'cjson/' 'json\.c'
includes 'cups/' 'config_read\.c|config_value\.c'
foreign lib lib
foreign backend 'lib|backend'
foreign filter 'lib|filter'
foreign cli 'lib|cli'
foreign collector 'lib|collector'
foreign sim sim
foreign doc lib
none 'only pdf.c, separated.c and strip.c in filter/ know qpdf' \
  "$(grep -lE '#include <qpdf' */*.[ch] |
    grep -vE '^filter/(pdf\.c|(separated|strip)\.[ch])$')"
none 'lib/ never prints, exits or sleeps' \
  "$(grep -nE '\b(printf|puts|perror|exit|_exit|abort|u?sleep|nanosleep)\(' \
    lib/*.c)"

# configure.ac has the version; whatever else names one follows.
version=$(sed -n 's/^AC_INIT(\[docextract\], \[\(.*\)\])$/\1/p' configure.ac)
begins() # FILE PATTERN TEXT: the first line that fits names the version
{
  none "$1 begins with version $version" \
    "$(grep -m 1 "$2" "$1" | grep -qF "$3" || echo 'it does not')"
}
# test.sh runs what may be run: a test without the mode would be left out.
none 'every script may be run' "$(grep -lI -m 1 '^#!' -r tests demo.sh test.sh |
  while read -r f; do
    [ -x "$f" ] || [ "$(head -c 2 "$f")" != '#!' ] || echo "$f"
  done)"
begins CHANGES.md '^## ' "## $version ("
begins debian/changelog . "docextract ($version) "

for header in lib/*.h backend/*.h cli/*.h; do
  none "$header stands alone" "$(stands_alone "$header")"
done

count_is_good
