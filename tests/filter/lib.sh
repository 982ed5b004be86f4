# lib.sh - for the tests of the filters: runs them as cupsd would, and reads their
# output. To be sourced by bash; nothing is tested here.
#
# Needs bash, qpdf, poppler-utils, and ppdc. Finds the programs in $DX_BUILD
# (default: the top of the tree).
set -u
export LC_ALL=C

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
filter=${DX_BUILD:-$top}/todocextract
same=${DX_BUILD:-$top}/tests/filter/same # two PDFs are printed the same
mkpdf=$top/tests/it/mkpdf
. "$top/tests/helper/count.sh"
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-filter.XXXXXX")
trap 'rm -rf "$dir"' EXIT

. "$top/tests/helper/wait.sh"

# Runs the filter on stdin: out (the entry), body (its bytes), status, err.
title=chart.odt
options=
run() # [FILE]
{
  "$filter" 7 user "$title" 1 "$options" "$@" > "$dir/out" 2> "$dir/err"
  status=$?
  read_header
  if [ "${value[bytes]-}" = 0 ]; then # most are refused
    : > "$dir/body"
  else
    tail -c "${value[bytes]-}" "$dir/out" > "$dir/body"
  fi
}

# Sets `value` to the fields of the header of out. jq takes three times as long
# as the filter: it reads only what has escapes in it, or is not as expected.
string='"([^"\[:cntrl:]]*)"'
plain_field='"([a-z0-9_]+)":('$string'|-?[0-9]+|true|false|null)'
read_header()
{
  local line='' rest
  IFS= read -r line < "$dir/out"
  line=${line#DOCEXTRACT-BUNDLE 1 }
  declare -gA value=()
  if [[ $line =~ ^\{$plain_field(,$plain_field)*\}$ ]]; then
    rest=$line
    while [[ $rest =~ ^[\{,]$plain_field ]]; do
      value[${BASH_REMATCH[1]}]=${BASH_REMATCH[3]}
      [[ ${BASH_REMATCH[2]} = \"* ]] ||
        value[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
      rest=${rest:${#BASH_REMATCH[0]}}
    done
  else
    . <(jq -r '"value=(", (to_entries[] | "[\(.key)]=\(.value | @sh)"), ")"' \
      <<< "$line")
  fi
}

field() # NAME
{
  read_header
  [ ${#value[@]} = 0 ] || echo "${value[$1]-null}"
}

# Sets `kind`: "document 3", "sheet 0", "refused password": the kind, and pages or
# reason. Thousands of tests ask for it.
read_kind()
{
  read_header
  case ${value[kind]-} in
  '') kind='' ;;
  refused) kind="refused ${value[reason]}" ;;
  *) kind="${value[kind]} ${value[pages]}" ;;
  esac
}
kind_of()
{
  local kind
  read_kind
  [ -z "$kind" ] || echo "$kind"
}

# What users read about a refused document.
reason() { field reason_text; }

# Kind and exit status.
result() # FILE
{
  local kind
  run < "$1"
  read_kind
  echo "$kind $status"
}

text_of() # PDF: the text of all pages
{
  pdftotext "$1" - | tr -s '\n\f' '  ' | sed 's/ $//'
}

# Objects as text, with a correct cross-reference table; numbered from 1 without
# a gap, object 1 is the catalog.
with_table() # FILE < OBJECTS
{
  perl -0777 -ne '
    $_ = "%PDF-1.7\n$_";
    push @at, [$1, $-[0]] while /^(\d+) 0 obj/mg;
    $n = @at + 1;
    print $_, "xref\n0 $n\n0000000000 65535 f \n";
    printf "%010d 00000 n \n", $_->[1] for sort { $a->[0] <=> $b->[0] } @at;
    print "trailer <</Root 1 0 R/Size $n>>\nstartxref\n", length, "\n%%EOF\n";
  ' > "$1"
}

# Quick to make, but slow to read page by page: 3000 pages that share 4 MB of
# blanks.
with_much_to_read() # FILE
{
  {
    echo '1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj'
    echo '2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj'
    echo '3 0 obj <</Type/Page/Parent 2 0 R/Contents 4 0 R'
    echo '/MediaBox[0 0 9 9]>> endobj'
    echo '4 0 obj <</Length 4194304>>'
    printf 'stream\n%4194304s\nendstream endobj\n' ''
  } | with_table "$dir/much.pdf"
  qpdf --compression-level=9 --compress-streams=y \
    "$dir/much.pdf" "$dir/blanks.pdf"
  # shellcheck disable=SC2046 # one word a file
  qpdf --empty --pages $(yes "$dir/blanks.pdf" | head -n 3000) -- "$1"
}

# --- whole documents -------------------------------------------------------

pages_of() { qpdf --show-npages "$1" 2> /dev/null; }
words_of() { pdftotext "$1" - 2> /dev/null; } # with a form feed a page
same_words() # FILE FILE
{
  [ "$(words_of "$1" | sha256sum)" = "$(words_of "$2" | sha256sum)" ]
}

# Prints nothing if a PDF is sent with the same pages, look and text as it prints
# with, and is valid; else the differences.
changes() # FILE
{
  local kind
  kind=$(result "$1")
  [ "$kind" = "document $(pages_of "$1") 0" ] ||
    echo "$kind instead of $(pages_of "$1") pages"
  [ "$(pages_of "$dir/body")" = "$(field pages)" ] ||
    echo "$(pages_of "$dir/body") pages instead of $(field pages)"
  "$same" -n 20 "$1" "$dir/body" 2>&1 | grep -vx same
  qpdf --check "$dir/body" > "$dir/check" 2>&1 || echo 'not valid'
}

# Encrypted and damaged versions of a PDF: each is sent completely, or refused
# with the correct reason.
mistreat() # TEXT FILE
{
  qpdf --encrypt secret owner 256 -- "$2" "$dir/m.pdf" 2> /dev/null
  is "$1, with a password" "$(result "$dir/m.pdf")" 'refused password 0'
  qpdf --allow-weak-crypto --encrypt '' owner 128 --use-aes=n -- "$2" \
    "$dir/m.pdf" 2> /dev/null
  is "$1, with a password that restricts changes" "$(changes "$dir/m.pdf")" ''
  qpdf --linearize "$2" "$dir/whole.pdf" 2> /dev/null
  is "$1, linearized" "$(changes "$dir/whole.pdf")" ''
  qpdf --object-streams=generate "$2" "$dir/m.pdf" 2> /dev/null
  is "$1, with object streams" "$(changes "$dir/m.pdf")" ''
  for part in 10 50 90 99; do
    for way in linearized plain; do
      [ $way = linearized ] || cp "$2" "$dir/whole.pdf"
      head -c $(($(stat -c %s "$dir/whole.pdf") * part / 100)) \
        "$dir/whole.pdf" > "$dir/m.pdf"
      is "$1, $way, truncated at $part%" "$(whole_or_refused "$2")" ''
    done
  done
}

# The truncated m.pdf is refused, or nothing of the original is lost.
whole_or_refused() # ORIGINAL
{
  case $(result "$dir/m.pdf") in
  'refused damaged 0' | 'refused no-pages 0') ;;
  "document $(pages_of "$1") 0")
    same_words "$dir/body" "$1" || echo 'text is lost'
    ;;
  *) kind_of ;;
  esac
}

# --- the environment -------------------------------------------------------

mkdir "$dir/tmp" "$dir/root"
export TMPDIR=$dir/tmp
export CUPS_SERVERROOT=$dir/root
export DEVICE_URI=docextract://default
export CONTENT_TYPE=text/plain
export PPD=$dir/docextract.ppd
unset CUPS_FILETYPE
ppdc -d "$dir" "$top/ppd/docextract.drv" > "$dir/ppdc" 2>&1 ||
  cat "$dir/ppdc" >&2

configure() # SEPARATOR: a line of the configuration, or nothing
{
  {
    echo '<Service default>'
    echo '  BaseURL https://extract.example.com'
    echo '  Token file'
    echo "  TokenFile $dir/token"
    echo "  $1"
    echo '</Service>'
  } > "$dir/root/docextract.conf"
  chmod 600 "$dir/root/docextract.conf"
}
echo token > "$dir/token"
chmod 600 "$dir/token"

finish() # the last line of a test
{
  is 'no file was left in the temporary directory' "$(ls -A "$dir/tmp")" ''
  count_is_good
}
