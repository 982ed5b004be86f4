#!/usr/bin/env bash
#
# languages.sh - the texts of a print dialog in the language of the user: every
# text of the driver is translated, none is truncated, and other languages get
# English. The catalogs are assumed to be correct.
. "$(dirname "$0")/lib.sh"

ppd=$build/ppd/docextract.ppd
mapfile -t reasons < <(sed -n 's/^\*cupsIPPReason \([a-z-]*\)\/.*/\1/p' "$ppd")

# Dialogs do not show PageRegion, and have their own names for the group of
# libcups and for custom sizes.
dialog() # LANG: its lines, in an order that the language does not change
{
  LC_ALL=$1 LANG=$1 "$build/tests/it/ppdtext" "$ppd" "${reasons[@]}" |
    grep -Ev $'^(PageRegion|General\t|PageSize Custom)'
}

catalog() # LANG: its lines "ENGLISH<tab>TEXT"
{
  sed -n 's/^msgid "\(.*\)"$/\1/p' "$top/ppd/$1.po" | sed 1d > "$dir/ids"
  sed -n 's/^msgstr "\(.*\)"$/\1/p' "$top/ppd/$1.po" | sed 1d > "$dir/strs"
  paste "$dir/ids" "$dir/strs"
}

# Where the dialog does not show what it should.
wrong() # LANG CATALOG
{
  local keyword english shown want
  while IFS=$'\t' read -r keyword english shown; do
    [ -n "$english" ] || continue
    want=$(awk -F '\t' -v e="$english" '$1 == e { print $2 }' "$dir/catalog")
    [ "$shown" = "$want" ] ||
      echo "$keyword: '$shown' for '$english', not '$want'"
  done < <(paste "$dir/english" <(dialog "$1" | cut -f 2))
}

dialog C > "$dir/english"
is 'the number of pages is set'"'"'s own has a name in English' \
  "$(sed -n 's/^CaseSeparators Custom\t//p' "$dir/english")" \
  'After a custom number of pages'
is 'there are state reasons' "$((${#reasons[@]} >= 5))" 1
is 'every text is there in English' "$(awk -F '\t' '$2 == ""' "$dir/english")" ''

for language in de es fr ja; do
  catalog "$language" > "$dir/catalog"
  is "$language: every text is as the catalog has it" "$(wrong "$language")" ''
  is "$language: also with a country code" \
    "$(dialog "${language}_XX.UTF-8")" "$(dialog "$language")"
  is "$language: the catalog has no unused texts" "$(comm -23 \
    <(cut -f 1 "$dir/catalog" | sort -u) \
    <({ cut -f 2 "$dir/english"; sed -n 's/.*"".*//; s/^\*[A-Za-z]*Name: "\(.*\)"$/\1/p; s/^\*OpenUI \*PageSize\/\(.*\): PickOne$/\1/p' "$ppd"; } | sort -u))" ''
done
is 'other languages get English' "$(dialog it_IT.UTF-8)" "$(dialog C)"
