#!/usr/bin/env bash
#
# documents.sh - the documents agree with the sources: the status table and the
# numbers of doc/policy.md, the messages that the guide quotes, and every file and
# function that a document names. Every document and heading that a source cites
# exists. The guide converts keys as it says.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh

directories='lib backend filter cli daemon notify fhir sim ppd tests debian doc'
documents=$(printf "%s\n" *.md doc/*.md)

# --- doc/policy.md -----------------------------------------------------

# "| 405-406 | E_PROTOCOL | E_SERVER | ...", from the rows of api.c.
status_table()
{
  sed -nE 's/^ *\{ *([0-9]+), *([0-9]+), [A-Z]+\((.*)\)\},$/\1-\2,\3/p' \
    daemon/service/api.c | sed -E 's/ *, */ | /g; s/^ */| /; s/ *$/ |/
      s/^\| ([0-9]+)-\1 /| \1 /; s/^\| 0-999 /| other /'
}
is 'doc/policy.md has the status table of api.c' "$(diff \
  <(grep -E '^\| ([0-9]{3}(-[0-9]{3})?|other) \|' doc/policy.md) \
  <(status_table))" ''
is 'the status table has rows' "$(($(status_table | wc -l) > 20))" 1


# Codes of the status table and classes without a row that explains them.
unexplained()
{
  local word
  sed -n '/^| status/,/^$/p' doc/policy.md | grep -oE 'E_[A-Z_]+' | sort -u |
    while read -r word; do
      grep -qE "^\\| $word \\| [a-z]" doc/policy.md || echo "$word"
    done
  sed -nE '/^#define DX_CLASSES/,/^$/s/^ *X\([A-Z_]+, "([a-z-]+)".*/\1/p' \
    lib/base/err.h | tr - ' ' | while read -r word; do
    grep -qE "^\\| $word(,.*)? \\| [a-z]" doc/policy.md || echo "$word"
  done
}
is 'doc/policy.md explains every code of the table and every class' \
  "$(unexplained)" ''

# --- the sentences of lib/spool/sentence.h -------------------------------

rows() # TABLE PARAMETERS WHAT OF THEM: a line for each row
{
  printf '#include "lib/spool/sentence.h"\n#define X(%s) ROW %s\n%s(X)\n' \
    "$2" "$3" "$1" | gcc -E -P -I. -D_GNU_SOURCE -x c - |
    sed -n '/ROW/s/ROW/\n/gp' | sed 's/^ *//; s/ *$//' | grep '^"'
}

translation() # LANG ENGLISH
{
  awk -v want="msgid \"$2\"" 'found { print; exit } $0 == want { found = 1 }' \
    "ppd/$1.po" | sed -n 's/^msgstr "\(.*\)"$/\1/p'
}

# State reasons that print dialogs would show in English or as a keyword.
untranslated()
{
  local row keyword text language
  rows DX_STATE_REASONS 'name, keyword, text' 'keyword text' |
    sed 's/^"\([^"]*\)" "\([^"]*\)"$/\1\t\2/' | sort > "$1"
  while IFS=$'\t' read -r keyword text; do
    for language in de es fr ja; do
      row=$(translation $language "$text")
      [ -n "$row" ] && [ "$row" != "$text" ] || echo "$language: $text"
    done
  done < "$1"
}
table=$(mktemp) || exit 1
is 'every state reason is translated' "$(untranslated "$table")" ''
is 'there are state reasons' "$(($(wc -l < "$table") >= 7))" 1
is 'the driver has the state reasons of the table' "$(diff "$table" \
  <(sed -n 's,^Attribute cupsIPPReason "\([^/]*\)/\(.*\)" ""$,\1\t\2,p' \
    ppd/docextract.drv | sort))" ''
is 'docextract-backend(7) has the state reasons of the table' "$(diff \
  <(cut -f 1 "$table") <(sed -n 's/^\.It Li \(docextract-[a-z-]*\)$/\1/p' \
    doc/docextract-backend.7 | sort))" ''
rm "$table"

# --- messages that the guide quotes ---------------------------------------

# Every literal of the programs, whole, also one that is written in parts.
literals()
{
  # shellcheck disable=SC2086
  find $directories -path tests -prune -o -name '*.[ch]' -exec cat {} + |
    gcc -fpreprocessed -dD -E -P -w -x c - 2> /dev/null | tr -s '\n ' ' ' |
    sed -E 's,\\\\,/,g; s,\\",/,g' | sed -E "s/'\"'//g" |
    sed -E 's/" *\\? *"//g' | grep -oE '"[^"]*"'
}
quotes() # DOCUMENT: outside of blocks and of `names`
{
  awk '/^ *```/ { fenced = !fenced; next } !fenced' "$1" | sed 's/`[^`]*`//g' |
    tr '\n' ' ' | grep -oE '"[^"]+"' | tr -d '"'
}
# A quote that no program says, and that is no heading of a manual page.
unsaid() # DOCUMENT
{
  local quote texts
  texts=$(literals)
  quotes "$1" | while read -r quote; do
    grep -qiF -e "$quote" <<< "$texts" ||
      grep -qxE "\.S[hs] $quote" doc/*.[1-9]* || echo "$quote"
  done
}
is 'doc/administration.md quotes what the programs say' \
  "$(unsaid doc/administration.md)" ''
is 'doc/administration.md quotes messages' \
  "$(($(quotes doc/administration.md | wc -l) >= 7))" 1

# --- the catalogs of po/ --------------------------------------------------

ids() { sed -n 's/^msgid "\(.*\)"$/\1/p' "$1"; } # CATALOG
odd_lines() # CATALOG: that lib/local.mk does not understand, or not yet checked
{
  sed '1,/^$/d' "$1" | grep -nvE '^(msgid|msgstr) "([^"\\]+)"$|^$'
}
# Whose translation does not have as many parts as the text.
odd_parts() # CATALOG
{
  awk '{ line = $0; percents = gsub(/%/, ""); $0 = line; parts = gsub(/%s/, "") }
    percents != parts || (/^msgstr/ && parts != before) { print line }
    { before = parts }' "$1"
}
strings() { grep -ohE '"[^"]*"' | tr -d '"'; }
# Reasons for a refusal, which only filter/ has.
reasons_of_filter()
{
  tr -s '\n ' ' ' < <(cat filter/*.c) |
    grep -oE '(why = |stream_damaged\(|pdf_refuse\(|drawn_fail\(|text->wrong = | wrong = |coded_expect\(| coded_[a-z_]+\[\] = )[^;]*;' |
    sed 's/" *"//g' | strings | grep ' '
}
untranslated_reasons()
{
  reasons_of_filter | sort -u | while read -r text; do
    grep -qxF "msgid \"$text\"" po/de.po || [[ $text = "'"*' has no such choice' ]] ||
      echo "$text"
  done
}
# The messages that doc/staff.md explains; "1" stands for a number.
unknown_to_staff() # HEADING CATALOG ENTRY
{
  local texts message
  texts=$(sed -n "s/^$3 \"\(.*\)\"$/\1/p" "$2")
  sed -n "/^## $1\$/,/^## /p" doc/staff.md | grep -oE '\*\*[^*]+\*\*' |
    tr -d '*' | while read -r message; do
    grep -qiF -e "${message/1/%s}" <<< "${texts//$'\u00a0'/ }" || echo "$message"
  done
}
is 'doc/staff.md: English messages are those of users' \
  "$(unknown_to_staff English po/de.po msgid)" ''
for row in Deutsch=de Español=es Français=fr 日本語=ja; do
  is "doc/staff.md: ${row%=*} messages are those of users" \
    "$(unknown_to_staff "${row%=*}" "po/${row#*=}.po" msgstr)" ''
  check "doc/staff.md: ${row%=*} has messages" \
    grep -q "^## ${row%=*}$" doc/staff.md
done
# Rows that begin with a part, before rows that do not; the first four join
# sentences.
early_parts()
{
  ids po/de.po | sed 1,5d | awk '/^%s/ { part = $0; next } part { print part }'
}
is 'rows that begin with a part are the last ones' "$(early_parts)" ''
for language in de es fr ja; do
  is "po/$language.po has the rows of all catalogs" \
    "$(diff <(ids po/de.po) <(ids "po/$language.po"))" ''
  is "po/$language.po has one line for each text" \
    "$(odd_lines "po/$language.po")" ''
  is "po/$language.po has all parts of each text" \
    "$(odd_parts "po/$language.po")" ''
  is "po/$language.po has no text twice" \
    "$(ids "po/$language.po" | sort | uniq -d)" ''
done
# A line must not break before these.
for catalog in po/fr.po ppd/fr.po; do
  is "$catalog has no-break spaces at punctuation" \
    "$(grep '^msgstr' $catalog | grep -E ' ([:;!?]|»)|« ')" ''
done
is 'there are reasons in filter/' "$(($(reasons_of_filter | wc -l) >= 30))" 1
is 'the catalogs have every reason of filter/' "$(untranslated_reasons)" ''

reason_codes()
{
  { printf '"canceled"\n"expired"\n"other"\n' &&
    rows DX_CODE_SENTENCES 'name, word, reason, text, advice' word; } |
    tr -d '"' | grep . | sort -u
}
is 'there are reason codes' "$(($(reason_codes | wc -l) >= 10))" 1
is 'docextract-results(5) has the reason codes of the table' "$(diff \
  <(sed -n '/^Reason codes:/,/^\.El/s/^\.It Li //p' doc/docextract-results.5) \
  <(reason_codes | grep -v other && echo other))" ''
is 'the JSON Schema has them, too' "$(diff <(reason_codes) \
  <(sed -n '/"reason_code": {/,/]/{p; /]/q}' doc/manifest.schema.json |
    grep -o '"[a-z-]*"' | tr -d '"' | grep -vxE 'reason_code|enum' | sort))" ''

# --- the numbers of doc/policy.md --------------------------------------

calculate() { awk "BEGIN { printf \"%.10g\", $1 }"; } # EXPRESSION

# Of all .c files, and of the headers that have no other constants.
headers='lib/base/policy.h daemon/engine/engine_internal.h
  daemon/service/rate_limit.h daemon/service/schedule.h
  daemon/service/signed_url.h'
# "NAME VALUE", in milliseconds, seconds or bytes as the name says.
numbers_of_source()
{
  local name value
  # shellcheck disable=SC2086
  find $directories -path tests -prune -o -name '*.c' -exec cat $headers {} + |
    sed -nE 's/^ *# *define (DX_[A-Z0-9_]+) +(.+)/\1 \2/p' |
    sed 's|/\*.*||' | sort | while read -r name value; do
    echo "$name $(calculate "${value//L/}")"
  done
}
numbers_of_document()
{
  local name value unit
  sed -nE 's/^\| `(DX_[A-Z0-9_]+)` \| ([^|]*) \|.*/\1 \2/p' doc/policy.md |
    sort | while read -r name value unit; do
    case $unit in
    s) value+='*1000' ;;
    min) value+='*60000' ;;
    h) value+='*3600000' ;;
    KiB) value+='*1024' ;;
    MiB) value+='*1048576' ;;
    GiB) value+='*1073741824' ;;
    esac
    [ "$name" = "${name%_S}" ] || value+='/1000'
    echo "$name $(calculate "$value")"
  done
}
is 'doc/policy.md has the numbers of the sources' \
  "$(diff <(numbers_of_document) <(numbers_of_source))" ''
is 'there are numbers' "$(($(numbers_of_source | wc -l) > 40))" 1

# --- what the documents name -------------------------------------------

# Paths in backquotes, and links; NAME and MODULE stand for any.
named_paths() # DOCUMENT
{
  grep -oE "\`(${directories// /|})/[A-Za-z0-9_./*-]*" "$1" | tr -d '`' |
    grep -vE 'NAME|MODULE'
  grep -oE '\]\([^)#:]+\)' "$1" | sed -E 's/^\]\((.*)\)$/\1/' |
    sed "s|^|$(dirname "$1")/|"
}
named_functions() # DOCUMENT
{
  grep -oE '`[a-z_]+\(\)`' "$1" | tr -d '`()'
}
missing_names() # DOCUMENT
{
  local name
  for name in $(named_paths "$1" | sort -u); do
    compgen -G "$name" > /dev/null || echo "$name"
  done
  for name in $(named_functions "$1" | sort -u); do
    # shellcheck disable=SC2086
    grep -rqE --include='*.[ch]' "\\b$name\\(" $directories || echo "$name()"
  done
}
anchors() # DOCUMENT: of its headings, as GitHub makes them
{
  sed -nE 's/^#+ (.*)$/\L\1/p' "$1" | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}
dangling_links() # DOCUMENT
{
  local link target
  grep -oE '\]\([^)#:]*#[^)]+\)' "$1" | sed 's/^](//; s/)$//' |
    while read -r link; do
      target=${link%%#*}
      anchors "${target:+$(dirname "$1")/}${target:-$1}" |
        grep -qxF -e "${link#*#}" || echo "$link"
    done
}
for document in $documents; do
  is "$document links to headings that exist" "$(dangling_links "$document")" ''
  is "$document names what exists" "$(missing_names "$document")" ''
done

# --- keys that the guide converts ------------------------------------------

# The command in the line of this key, with FILE in $keys as its input.
convert() # TEXT
{
  local command
  command=$(tr -s '\n ' ' ' < doc/administration.md |
    grep -oE -- "- a secret $1[^:]*: \`[^\`]+\`" | sed 's/^[^`]*`//; s/`$//')
  (cd "$keys" && rm -f KEYFILE && bash -o pipefail -c "$command")
}
is_converted() # TEXT CONTENT OF FILE
{
  printf '%s' "$2" > "$keys/FILE"
  convert "$1" && cmp "$keys/secret" "$keys/KEYFILE"
}
keys=$(mktemp -d) || exit 1
head -c 64 doc/sample-chart.pdf | tr 'a-m' '\200-\214' > "$keys/secret"
base64=$(base64 -w 40 "$keys/secret")
hex=$(basenc --base16 -w 0 "$keys/secret")
jwk="{\"kty\": \"oct\", \"k\": \"$(basenc --base64url -w 0 "$keys/secret" |
  tr -d =)\"}"
check 'doc/administration.md converts base64' \
  is_converted 'in base64' "$base64"
check 'with the line ends of an e-mail, too' \
  is_converted 'in base64' "${base64//$'\n'/$'\r\n'}"$'\r\n'
check 'hexadecimal' is_converted 'in hexadecimal' "$hex"
check 'hexadecimal, in lower case, from Windows' \
  is_converted 'in hexadecimal' "${hex,,}"$'\r\n'
check 'a JWK' is_converted 'as a JWK' "$jwk"
check 'a JWK Set' is_converted 'as a JWK' "{\"keys\": [$jwk]}"
echo text > "$keys/secret"
check 'text from Windows' is_converted 'that is text' $'text\r\n'
rm -r "$keys"

# --- blocks of commands ------------------------------------------------

# Every block is fenced, and the line before it says what tests/nightly/guide.sh
# does with it: "run", "file PATH", or "not run: REASON".
unmarked() # DOCUMENT
{
  awk -v name="$1" '
    function indent(text) { match(text, /^ */); return RLENGTH }
    /^ *```/ {
      fenced = !fenced
      if (fenced &&
          before !~ /^ *<!-- (run|file \/[^ ]+|not run: [^ ].*) -->$/)
        print name ":" NR ": " before
      before = $0
      next
    }
    !fenced && /^ *([-*]|[0-9]+\.) / {
      match($0, /^ *([-*]|[0-9]+\.) +/)
      item = RLENGTH
    }
    !fenced && /^[^ ]/ && !/^([-*]|[0-9]+\.) / { item = 0 }
    !fenced && before ~ /^ *$/ && /[^ ]/ && indent($0) >= item + 4 &&
      !/^ *([-*]|[0-9]+\.) / { print name ":" NR ": it is indented" }
    { before = $0 }' "$1"
}
is 'every block of commands is fenced and marked' \
  "$(for page in README.md doc/*.md; do unmarked "$page"; done)" ''
is 'there are blocks to run' \
  "$(($(cat README.md doc/*.md | grep -c '^ *<!-- run -->$') > 10))" 1

# --- what the sources cite ---------------------------------------------

# 'doc/policy.md, "Tokens", "Classes"', on one line each, wherever the comment
# breaks.
citations()
{
  local file
  # shellcheck disable=SC2086
  grep -rlIE '[A-Za-z]\.md\b' $directories ./*.sh ./*.ac Makefile.am .ci |
    grep -v '^doc/.*\.md$' | while read -r file; do
    sed -E 's/^[ *#]+//' "$file" | tr '\n' ' ' |
      grep -oE '[A-Za-z0-9_/-]+\.md\b(, "[^"]+")*' | sed "s|^|$file: |"
  done
}
dangling()
{
  local file cited document heading
  while IFS= read -r cited; do
    file=${cited%%: *} cited=${cited#*: }
    document=${cited%%, *}
    if [ ! -e "$document" ]; then
      echo "$file: $document"
      continue
    fi
    while read -r heading; do
      [ -z "$heading" ] || grep -qE "^##* $heading\$" "$document" ||
        echo "$file: $document, \"$heading\""
    done < <(grep -oE '"[^"]+"' <<< "$cited" | tr -d '"')
  done < <(citations)
}
is 'every document and heading that a source cites exists' "$(dangling)" ''
is 'there are citations' "$(($(citations | wc -l) > 30))" 1
# shellcheck disable=SC2086
is 'no source cites a document without its name' "$(grep -rnIwE \
  'interface document|cups-facts|design document' $directories |
  grep -v '^tests/checks/')" ''

count_is_good
