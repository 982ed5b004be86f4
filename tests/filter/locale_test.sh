#!/usr/bin/env bash
#
# locale_test.sh - in a locale that writes 1,5 instead of 1.5, the filter reads
# and writes the same numbers: cupsd gives it the locale of the user.
. "$(dirname "$0")/lib.sh"

cat > "$dir/comma" << 'EOF'
comment_char %
escape_char /
LC_NUMERIC
decimal_point ","
thousands_sep "."
grouping 3;3
END LC_NUMERIC
EOF
# It warns of the categories that are missing.
localedef -c -i "$dir/comma" -f ANSI_X3.4-1968 "$dir/xx_XX" 2> "$dir/err"
in_comma() { LOCPATH=$dir LC_ALL=xx_XX "$@"; }
is 'the locale has a comma' "$(in_comma /usr/bin/printf '%.1f' 1,5)" 1,5

seeds=$top/tests/fuzz/corpus/same
printf 'WBC 5.40\f7.25\n' > "$dir/text.txt"
"${filter%/*}/tests/filter/mktiff" "$dir/page.tif" pages=1 pack=g4 unit=inch dpi=204
options='cpi=12.5 lpi=6.25 page-left=36.5 page-ranges=1'
for file in "$dir/text.txt" "$dir/page.tif" "$seeds"/*; do
  run < "$file"
  mv "$dir/out" "$dir/point"
  in_comma run < "$file" 2> "$dir/bash.err" # bash has no such locale
  check "${file##*/}: the same bytes" cmp "$dir/point" "$dir/out"
done
run < "$dir/text.txt"
is 'a text is converted' "$(kind_of)" 'document 1'
finish
