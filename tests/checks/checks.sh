#!/usr/bin/env bash
#
# checks.sh - static checks of the sources: their format and spelling, the
# libraries that each directory may use, that includes and calls run one way, and
# that every header compiles alone. No program is run.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh

none() { is "$1" "$2" ''; } # TEXT OUTPUT: nothing was found

# What grep finds; a grep that fails is no proof that there is nothing.
found() # ARGUMENT...
{
  grep "$@" 2>&1
  [ $? -le 1 ] || echo "grep $* failed"
}

directories=(lib backend filter cli daemon notify fhir sim doc tests)
mapfile -t sources < <(find "${directories[@]}" -name '*.[ch]' | sort)

includes() # LIBRARY PATTERN, FILES THAT MAY: no other file of lib/
{
  none "only $2 know $1" \
    "$(found -lE "#include <($1)" {lib,daemon}/*/*.[ch] | grep -vE "/($2)\$")"
}

may_include() # DIRECTORY PATTERN: what its files include of ours
{
  none "$1/ includes nothing but $2" \
    "$(found -hoE '#include "[a-z_]+/([a-z_]+/)?' "$1"/*.[ch] | sort -u |
      grep -vE "\"($2)/$")"
}

stands_alone() # HEADER
{
  gcc -std=gnu11 -D_GNU_SOURCE -I. -fsyntax-only -x c "$1" 2>&1
}

# Every version of clang-format formats differently: this is the one to use.
formatter=14
version=$(clang-format --version 2>&1 | sed -n 's/.* version \([0-9]*\)\..*/\1/p')
if [ "$version" = $formatter ]; then
  none 'the sources are formatted' \
    "$(clang-format --dry-run -Werror "${sources[@]}" 2>&1 || echo 'they are not')"
else
  echo "left out: the form of the sources (to include it: clang-format" \
    "$formatter, this is ${version:-none})"
fi

# words.txt has the terms and deliberate mistakes that only look like misspellings.
none 'all words are spelled correctly' \
  "$(find "${directories[@]}" ppd debian .ci ./*.md ./*.sh configure.ac Makefile.am \
    -type f -not -name '*.po' -not -path doc/staff.md -not -path '*/corpus/*' \
    -not -path '*/formats/*' \
    -exec codespell -q 3 -I tests/checks/words.txt {} + 2>&1)"

includes 'curl/' 'service/http\.c|service/signed_url\.c'
includes 'gnutls/' 'base/digest\.c'
includes 'openssl/' 'service/jwt\.c'
includes 'cjson/' 'base/json\.h'
includes 'seccomp\.h' 'base/sandbox\.c'
includes 'cups/' 'config/load\.c|print/print_job\.c'
# The layers of lib/: there can be no circle, because none includes what is
# listed below it.
may_include lib/base lib/base
may_include lib/config 'lib/(base|config)'
may_include lib/print 'lib/(base|print)'
may_include lib/spool 'lib/(base|config|print|spool)'
may_include lib/control 'lib/(base|config|spool|control)'
may_include daemon/service 'lib/(base|config)|daemon/service'
may_include daemon/engine 'lib/[a-z]+|daemon/(service|engine)'
may_include backend 'lib/[a-z]+|backend'
may_include filter 'lib/(base|config|print|spool)|filter'
may_include cli 'lib/[a-z]+|cli'
may_include daemon 'lib/[a-z]+|daemon(/[a-z]+)?'
may_include notify 'lib/(base|config|control|spool)|notify'
may_include sim sim
may_include doc 'lib/[a-z]+'
none 'includes and calls run one way, and static names are unique' \
  "$(tests/checks/arrows.py 2>&1)"
none 'internal headers stay in their directory' \
  "$(found -rE '#include "(lib|daemon)/[a-z]+/[a-z_]+_internal\.h"' --include=*.[ch] . |
    grep -vE '^\./((lib|daemon)/[a-z]+/)[a-z_]+\.[ch]:#include "\1')"
none 'only six files of filter/ know qpdf' \
  "$(found -lE '#include <qpdf' */*.[ch] |
    grep -vE '^filter/(pdf\.c|(drawn|flatten|qpdf|stream)\.[ch])$')"
none 'only one file of filter/ knows libtiff' \
  "$(found -lE '#include <tiff' */*.[ch] | grep -vxF filter/tiff.c)"
none 'only one file of filter/ knows libjpeg' \
  "$(found -lE '#include <(jpeglib|jerror)' {lib/*,backend,cli,daemon,daemon/*,filter}/*.[ch] |
    grep -vxF filter/jpeg.c)"
none 'only one file of filter/ knows libpng' \
  "$(found -lE '#include <png' {lib/*,backend,cli,daemon,daemon/*,filter}/*.[ch] |
    grep -vxF filter/png.c)"
none 'only one file of filter/ knows giflib' \
  "$(found -lE '#include <gif' */*.[ch] | grep -vxF filter/gif.c)"
none 'only one file is C++' \
  "$(find "${directories[@]}" -name '*.cc' | grep -vxF filter/qpdf.cc)"
none 'only one file of filter/ knows the libraries of text' \
  "$(found -lE '#include <(cairo|fontconfig|fribidi|ft2build)' */*.[ch] |
    grep -vxF filter/text.c)"
none 'lib/ never prints, exits or sleeps' \
  "$(found -nE '\b(printf|puts|perror|exit|_exit|abort|u?sleep|nanosleep)\(' \
    {lib,daemon}/*/*.c |
    grep -v '^lib/base/sandbox\.c:[0-9]*: *_exit((int)dx_sandbox_enter())')" # of a child

# configure.ac has the version; everything else must agree.
version=$(sed -n 's/^AC_INIT(\[docextract\], \[\(.*\)\])$/\1/p' configure.ac)
begins() # FILE PATTERN TEXT: the first line that fits names the version
{
  none "$1 begins with version $version" \
    "$(grep -m 1 "$2" "$1" | grep -qF "$3" || echo 'it does not')"
}
# test.sh runs what may be run: a test without the mode would be left out.
none 'every script may be run' "$(found -lI -m 1 '^#!' -r tests demo.sh test.sh |
  while read -r f; do
    [ -x "$f" ] || [ "$(head -c 2 "$f")" != '#!' ] || echo "$f"
  done)"
begins CHANGES.md '^## ' "## $version "
begins debian/changelog . "docextract ($version) "
begins packaging/docextract.spec '^Version:' " $version"

for header in {lib/*,daemon/*,backend,cli,daemon,filter}/*.h; do
  none "$header stands alone" "$(stands_alone "$header")"
done

count_is_good
