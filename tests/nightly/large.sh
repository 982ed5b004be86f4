#!/usr/bin/env bash
#
# large.sh - a PDF of 2,000 pages and 300 MB goes through the filter in bounded
# memory, with and without separator pages, and the time grows with the
# number of pages and not faster. Needs 1.5 GB in TMPDIR.
. "$(dirname "$0")/../filter/lib.sh"

mkpictures=$top/tests/it/mkpictures
"$mkpdf" "$dir/separator.pdf" SEPARATOR
configure "SeparatorPage $dir/separator.pdf"

# All that a process may have, shared libraries too: the document, which is mapped,
# and 80 MB more.
bounded() # FILE
{
  (
    ulimit -v $(($(stat -c %s "$1") / 1024 + 80000))
    result "$1"
  )
}

"$mkpictures" "$dir/large.pdf" 2000 150000
is 'it is as large as it should be' \
  "$(($(stat -c %s "$dir/large.pdf") / 1000000))" 300
is '300 MB in 80 MB of memory' "$(bounded "$dir/large.pdf")" \
  'document 2000 0'
options=CaseSeparators=Every1
is 'with separator pages too' "$(bounded "$dir/large.pdf")" 'document 3999 0'
rm "$dir/large.pdf" "$dir/out" "$dir/body"

# Milliseconds of processor time.
cost() # FILE
{
  local TIMEFORMAT='%3U %3S'
  { time run < "$1"; } 2>&1 | awk '{ printf "%d", ($1 + $2) * 1000 }'
}

"$mkpictures" "$dir/some.pdf" 2000 100
"$mkpictures" "$dir/more.pdf" 20000 100
some=$(cost "$dir/some.pdf")
more=$(cost "$dir/more.pdf")
echo "# 2,000 pages: $some ms, 20,000 pages: $more ms"
is 'ten times the pages take less than twenty times as long' \
  "$((more < 20 * some))" 1
finish
