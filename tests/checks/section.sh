#!/usr/bin/env bash
#
# section.sh - DX_ONLY runs one section of a test (tests/helper/count.sh).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-section.XXXXXX")
trap 'rm -rf "$dir"' EXIT

cat > "$dir/test.sh" << END
. $PWD/tests/helper/count.sh
END
cat >> "$dir/test.sh" << 'END'
before=yes

section 'one'

echo one
count() # N
{
  echo "$0: $before $*"
}
twice() { count "$1"; count "$1"; }
while true; do echo endless; done

section 'two words'

twice 2

section 'two more'

count 3
ok 'that is all'

count_is_good
END
only() # NAME: what it prints, and its status
{
  DX_ONLY=$1 bash "$dir/test.sh" 2>&1
  echo $?
}
t="$dir/test.sh"

is 'the section, with what is before the first one, and all functions' \
  "$(only 'two words')" "$t: yes 2
$t: yes 2
0 passed, 0 failed
1"
is 'the beginning of a name suffices, for several sections, too' \
  "$(only two)" "$t: yes 2
$t: yes 2
$t: yes 3
ok - that is all
1 passed, 0 failed
0"
is 'another name: which there are' "$(only three)" \
  "there is no section 'three' in $t, but:
  one
  two words
  two more
2"
count_is_good
