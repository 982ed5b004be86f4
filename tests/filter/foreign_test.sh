#!/usr/bin/env bash
#
# foreign_test.sh - what tests/nightly/foreign.py finds in a filter that loses a
# word, refuses what others can show, or never ends, and that it finds nothing
# else.
. "$(dirname "$0")/lib.sh"

PATH=$PATH:/usr/sbin
files=$dir/files
build=$dir/build
mkdir -p "$files/first" "$files/second" "$build/ppd" "$build/tests/filter"
cp "$PPD" "$build/ppd/"
cp "$same" "$build/tests/filter/same"
chmod 755 "$dir"

# A filter that does what the document says.
make_filter() # SCRIPT OF SED: what is lost
{
  cat > "$build/todocextract" << END
#!/bin/bash
body=\$TMPDIR/\$\$
cat \${6+"\$6"} > "\$body"
kind=document reason= text=
case \$(pdftotext "\$body" - 2> /dev/null) in
*sleep*) sleep 1000 ;;
*refuse* | '') kind=refused reason=damaged text='page 2 is damaged; and so on' ;;
esac
sed -i '$1' "\$body"
[ \$kind = document ] || : > "\$body"
printf 'DOCEXTRACT-BUNDLE 1 {"kind":"%s","type":"application/pdf","origin":"application/pdf","name":"","pages":1,"bytes":%d,"reason":"%s","reason_text":"%s"}\n' \
  \$kind "\$(stat -c %s "\$body")" "\$reason" "\$text"
cat "\$body"
rm "\$body"
END
  chmod 755 "$build/todocextract"
}

# Its tables without those that have no row.
tables() # ARGUMENT...
{
  "$top/tests/nightly/foreign.py" --build "$build" --cache "$dir/verdicts" -j 2 \
    "$@" "$files" > "$dir/tables" 2>&1
  status=$?
}
lines() { sed -n "/^$1: /,/^\$/{/^  /s/^ *//p}" "$dir/tables"; } # TITLE

"$mkpdf" "$files/first/whole.pdf" 'Patient: Ann Ahrens|WBC 5.40'
"$mkpdf" "$files/second/refused.pdf" 'refuse this'
head -c 300 "$files/second/refused.pdf" > "$files/second/damaged.pdf"
make_filter ''
tables
is 'a refusal is listed, with who made the file; one of a damaged file is not' \
  "$(lines 'refused, and two other programs show it')" \
  'damaged: page N is damaged  second/refused.pdf  -'
is 'it is an error' "$status" 1
is 'each collection has a line' \
  "$(grep -E '^(first|second|all) ' "$dir/tables" | awk '{ print $1, $2, $3, $4 }' |
    xargs)" 'first 1 1 0 second 2 0 2 all 3 1 2'
is 'nothing differs' "$(lines 'sent, and not the same')" ''

echo " $(sha256sum "$files/second/refused.pdf" | cut -c -16) damaged  why" \
  > "$dir/accepted"
tables --accepted "$dir/accepted"
is 'what was looked at is not listed' "$(lines 'refused, and two .*')$status" 0

cp -r "$build" "$dir/old"
make_filter 's/5\.40/5.4 /'
tables --accepted "$dir/accepted" --before "$dir/old"
has 'a lost digit is listed' "$(lines 'sent, and not the same')" \
  '^words: page 1: .*first/whole.pdf'
is 'and that it is new' "$(lines changed | grep -c 'first/whole.pdf')" 1
is 'it is an error' "$status" 1

"$mkpdf" "$files/first/slow.pdf" 'sleep well'
make_filter ''
tables -t 3
has 'what never ends has a time limit' "$(lines 'refused, and two .*')" \
  '^too slow for this test  first/slow.pdf'
finish
