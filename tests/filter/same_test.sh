#!/usr/bin/env bash
#
# same_test.sh - differences that the comparison of two PDFs
# (tests/helper/same.h) reports, and differences that it permits. Each case
# changes a seed of the fuzz target `same`.
. "$(dirname "$0")/lib.sh"

seeds=$top/tests/fuzz/corpus/same

# "same", "words", "pixels", ... for a seed and what sed makes of it.
word_of() # SEED SCRIPT
{
  sed "$2" "$seeds/$1" > "$dir/changed.pdf"
  "$same" "$seeds/$1" "$dir/changed.pdf" 2> /dev/null | sed 's/:.*//'
}

is 'a seed is the same as itself' "$(word_of field '')" same
is 'a word of the content is lost' \
  "$(word_of comment 's/(Hemoglobin 13.5/(Hemoglobin     /')" words

# Two documents whose pages have different contents, in place of a line.
content_of() # CONTENT CONTENT
{
  local line content file=before
  line=$(grep '(Hemoglobin' "$seeds/comment")
  for content; do
    sed "s@^BT.*Hemoglobin.*@$(printf "%-${#line}s" "$content")@" \
      "$seeds/comment" > "$dir/$file.pdf"
    file=after
  done
  "$same" "$dir/before.pdf" "$dir/after.pdf" 2> /dev/null | sed 's/:.*//'
}
is 'invisible text is lost' \
  "$(content_of 'BT 3 Tr /F 12 Tf 20 150 Td (by OCR) Tj ET' '')" words
is 'a full stop, drawn as a square, is lost' \
  "$(content_of '50 50 .7 .7 re f' '')" pixels
is 'a hundredth of a pixel is no difference' \
  "$(content_of '50 50 20 20 re f' '50.01 50 20 20 re f')" same
is 'white space between words is none' \
  "$(content_of 'BT /F 9 Tf 20 150 Td (a b) Tj ET' \
    'BT /F 9 Tf 20 150 Td (a b ) Tj ET')" same
is 'a comment is lost' "$(word_of comment 's/.Annots.6 0 R./              /')" \
  words
is 'a comment is in another place' \
  "$(word_of comment 's/20 80 120 100/20 81 120 101/')" pixels
is 'a comment that is not printed may go' \
  "$(word_of comment-hidden 's/Annots\[6 0 R 8 0 R 9 0 R\]/Annots[9 0 R            ]/')" same
is 'one that is only printed may not' \
  "$(word_of comment-hidden 's/Annots\[6 0 R 8 0 R 9 0 R\]/Annots[6 0 R 8 0 R      ]/')" words
is 'links, notes, and popups may go' \
  "$(word_of link-and-note 's/.Annots.6 0 R 7 0 R 8 0 R./                          /')" same
is 'a layer that is not printed may go' \
  "$(word_of layers-printed 's/(layer A) Tj/            Tj/;s/Td  *Tj/Td () Tj        /')" same
is 'one that is printed may not' \
  "$(word_of layers-printed 's/(layer B)/(       )/')" words
is 'a value without an appearance has to be in its field' \
  "$(word_of field-without-appearance 's/(Jane Roe)/(        )/')" value
is 'it may look different there' \
  "$(word_of field-without-appearance 's/V(Jane Roe)\(.*\)F 10 Tf 0 g/V(Jane Roe)\1F 12 Tf 1 g/')" same
is 'but nothing else may' \
  "$(word_of field-without-appearance 's/Td (Hemo/Td (Heno/')" words
is 'a value with an appearance looks the same' \
  "$(word_of field 's/2 5 Td (Jane/3 5 Td (Jane/')" pixels
is 'a page has another size' \
  "$(word_of comment 's/0 0 200 200/0 0 200 201/')" pages
is 'a page is turned' "$(word_of comment-turned 's/Rotate 90/Rotate 270/')" \
  pixels
finish
