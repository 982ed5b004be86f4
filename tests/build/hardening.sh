#!/usr/bin/env bash
#
# hardening.sh - installed programs were built with the protections of compiler
# and linker: PIE, full RELRO, stack canaries, checked string functions, no
# memory that is both written to and executed, and CET where there is any.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
export LC_ALL=C
build=$(cd "${DX_BUILD:-.}" && pwd)
root=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-hardening.XXXXXX")
trap 'rm -rf "$root"' EXIT

programs() # the paths of those that are installed
{
  find "$root" -type f \( -perm /111 -o -name '*.so' \) | while read -r f; do
    [ "$(head -c 4 "$f")" != $'\x7fELF' ] || echo "$f"
  done
}

hardened() # FILE
{
  local name=${1##*/} header dynamic segments symbols
  header=$(readelf -hW "$1")
  dynamic=$(readelf -dW "$1")
  segments=$(readelf -lW "$1")
  symbols=$(readelf --dyn-syms -W "$1")
  [[ $name == *.so ]] ||
    has "$name is a position-independent executable" "$dynamic" 'FLAGS_1.* PIE'
  has "$name can be placed anywhere" "$header" 'Type: +DYN '
  has "$name resolves all symbols at its start" "$dynamic" 'FLAGS_1.* NOW'
  has "$name then makes their addresses read-only" "$segments" ' GNU_RELRO '
  has "$name has a stack that is not executed" "$segments" \
    ' GNU_STACK .* RW  *0x'
  hasnt "$name has no memory that is written to and executed" "$segments" \
    ' (LOAD|GNU_STACK) .* RWE '
  has "$name has stack canaries" "$symbols" ' __stack_chk_fail'
  has "$name calls checked string functions" "$symbols" ' __v?snprintf_chk'
  hasnt "$name has no search path for libraries" "$dynamic" 'R(UN)?PATH'
}

# The linker marks a program only if all of it is protected, also what the C
# library adds at its start, which in Debian is not: so look at our objects.
unprotected() # the names of those without CET
{
  local f
  (cd "$build" && find lib backend filter cli daemon notify sim -name '*.o') |
    while read -r f; do
      readelf -nW "$build/$f" | grep -Eq 'IBT, SHSTK|BTI' || echo "$f"
    done
}

compiler() { sed -n 's/^CC = //p' "$build/Makefile"; }
has_cet()
{
  local flag
  case $(uname -m) in
  x86_64) flag=-fcf-protection=full ;;
  aarch64) flag=-mbranch-protection=standard ;;
  *) return 1 ;;
  esac
  # shellcheck disable=SC2046
  $(compiler) $flag -x c -c -o "$root/try.o" /dev/null 2> /dev/null
}

check 'make install succeeds' make -C "$build" -j1 install DESTDIR="$root"
is 'eight programs are installed' "$(programs | wc -l)" 8
while read -r program; do hardened "$program"; done < <(programs)
! has_cet || is 'calls and returns are checked by the processor' \
  "$(unprotected)" ''
count_is_good
