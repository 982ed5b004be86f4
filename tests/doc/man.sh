#!/usr/bin/env bash
#
# man.sh - the manual pages describe all options and commands, are well-formed,
# and are installed; bash completion offers all commands and options. Needs
# mandoc, gcc, and make, and the programs that frame.sh needs.
#
# Prints a line per case and a last line with the counts.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../cli/frame.sh"

pages='docextract.1 docextract-sim.1 docextract.conf.5 docextract-results.5
docextract-backend.7 todocextract.7 docextract-fhir.1 docextract-notify.1
docextractd.8'

source_of() # PAGE: one is made while building
{
  if [ -e "$build/doc/$1" ]; then
    echo "$build/doc/$1"
  else
    echo "$top/doc/$1"
  fi
}

# As plain text, in lines of any length, with ASCII for dashes and quotes, and
# without the backspaces that make letters bold.
text_of() # PAGE
{
  mandoc -T ascii -O width=500 "$(source_of "$1")" | sed $'s/.\b//g'
}

# Every word is explained in the page: it heads an entry of a list, maybe with
# others, as in "--one n, --two x".
explains_all() # WHAT PAGE WORD...
{
  looks_for_all "$1" "$2" '^ *([^ ]+ [^ ]+, )*' '([ ,]|$)' "${@:3}"
}

says_all() { looks_for_all "$1" "$2" '\<' '\>' "${@:3}"; } # likewise

looks_for_all() # WHAT PAGE BEFORE AFTER WORD...
{
  local what=$1 page=$2 before=$3 after=$4 text word missing=
  shift 4
  text=$(text_of "$page")
  for word; do
    grep -qE -e "$before$word$after" <<< "$text" || missing+=" $word"
  done
  is "$page: $what" "$# words, missing:$missing" "$# words, missing:"
  is "$page: $what, and there are some" "$(($# > 0))" 1
}

# --- form --------------------------------------------------------------

# Other manual pages need not be installed.
for page in $pages; do
  is "$page is well-formed" "$(mandoc -T lint -W all "$(source_of "$page")" \
    2> /dev/null | grep -v 'referenced manual not found')" ''
  for section in NAME DESCRIPTION FILES EXAMPLES 'SEE ALSO' \
    'SECURITY CONSIDERATIONS'; do
    has "$page has $section" "$(text_of "$page")" "^$section\$"
  done
done

# --- nothing is missing ------------------------------------------------

# shellcheck disable=SC2046,SC2086
{
  help=$("$program" --help)
  verbs=$(awk '/^  [a-z]/ { print $1 }' <<< "$help")
  options=$(grep -ohE -e '--[a-z-]+' <<< "$help
$(for v in $verbs; do "$program" "$v" --help; done)" | sort -u)
  explains_all 'every command' docextract.1 $verbs
  explains_all 'every option' docextract.1 -c $options
  explains_all 'every state' docextract.1 undecided \
    $(sed -n 's/^  X([A-Z_]*, "\([a-z]*\)", [a-z]*).*/\1/p' "$top/lib/spool/state.h")
  explains_all 'every option' docextractd.8 -c \
    $("$build/daemon/docextractd" --help | grep -oE -e '^  --[a-z-]+')
  explains_all 'every option' docextract-notify.1 -c \
    $("$build/notify/docextract-notify" --help | grep -oE -e '^  --[a-z-]+')
  explains_all 'every option' docextract-fhir.1 \
    $("$build/fhir/docextract-fhir" --help | grep -oE -e '^  --[a-z0-9-]+')
  explains_all 'every option' docextract-sim.1 \
    $("$sim" --help | grep -oE -e '^  --[a-z-]+')
  explains_all 'every fault' docextract-sim.1 $(sed -n \
    's/^  X([A-Z_]*, "\([a-z-]*\)", [A-Z]*).*/\1/p' "$top/sim/sim.h")
  explains_all 'every directive' docextract.conf.5 \
    $(sed -nE -e 's/^(GENERAL|SERVICE|BOTH)\("([A-Za-z]+)", .*/\2/p' \
      -e 's/^  X\([A-Z_]+, "[a-z]+", ([A-Za-z]+), .*/\1/p' \
      "$top"/lib/config/{directives.def,config.h})
  says_all 'every algorithm' docextract.conf.5 $(sed -n \
    '/^#define DX_ALGORITHMS/,/^$/s/X(\([A-Za-z0-9]*\))/\1/gp' \
    "$top/lib/config/config.h" | grep -o '[A-Za-z0-9]*')
  says_all 'every option of the driver' todocextract.7 \
    $(sed -nE 's/.*(Option|Choice) "([A-Za-z0-9]*)\/.*/\2/p' \
      "$top/ppd/docextract.drv")
  explains_all 'every reason of a refusal' todocextract.7 \
    $(sed -nE '/define DX_REASONS/,/^$/s/^  X\([A-Z_]*, "([a-z-]+)",.*/\1/p' \
      "$top/lib/print/bundle.h")
  explains_all 'every state reason' docextract-backend.7 \
    $(grep -ohE 'docextract-[a-z-]+-(report|warning|error)' \
      "$top/ppd/docextract.drv" "$top/backend/status.c" | sort -u)
}

# The synopsis has a line a command, with its options.
for verb in $verbs; do
  line=$(text_of docextract.1 |
    grep -m 1 -E "^ *docextract \[-c file\] .* $verb( |\$)")
  for word in $("$program" "$verb" --help | sed '/^[A-Z]/!b;/^Usage/!Q' |
    grep -oE -e '--[a-z-]+'); do
    has "docextract.1: the synopsis has $verb $word" "$line" "\[$word"
  done
  has "docextract.1: the synopsis has $verb" "$line" .
done

# Defaults and limits are those of the rows.
text=$(text_of docextract.conf.5)
has 'a directive has its default and its limits' \
  "$(grep -A 3 '^ *TokenLifetime ' <<< "$text")" \
  'Default 5m, range 1m to 1h\.'
has 'a directive has its words' \
  "$(grep -A 3 '^ *OnDocumentError ' <<< "$text")" \
  'hold, cancel\. +Default hold'
is 'one that may stand in two places is in both lists' \
  "$(grep -c '^ *ResultsDir path' <<< "$text")" 2

# --- exit statuses -----------------------------------------------------

# The names that a source uses are in the page, each with its number.
statuses() # PAGE PREFIX HEADER SOURCE...
{
  local page=$1 prefix=$2 header=$3 text name number
  shift 3
  text=$(text_of "$page")
  # shellcheck disable=SC2013
  for name in $(grep -ohE "\\b${prefix}[A-Z_]+" "$@" | sort -u); do
    printf '#include <%s>\n#include <stdio.h>\nint main(void) {%s}\n' \
      "$header" "return !printf(\"%d\", $name);" > "$dir/number.c"
    number=$(gcc -o "$dir/number" "$dir/number.c" && "$dir/number")
    has "$page: exit status $name is $number" "$text" "^ *$number $name( |\$)"
  done
}
statuses docextract.1 EX_ sysexits.h "$top"/cli/*.c
statuses docextractd.8 EX_ sysexits.h "$top"/daemon/*.c
statuses docextract-fhir.1 EX_ sysexits.h "$top"/fhir/docextract_fhir/*.py
statuses docextract-notify.1 EX_ sysexits.h "$top"/notify/*.c
statuses docextract-sim.1 EX_ sysexits.h "$top"/sim/*.c
statuses docextract-backend.7 CUPS_BACKEND_ cups/backend.h "$top"/backend/*.c

# --- installed ---------------------------------------------------------

make -C "$build" install-man install-dist_bashcompletionDATA \
  DESTDIR="$dir/root" prefix=/usr datarootdir=/usr/share \
  mandir=/usr/share/man datadir=/usr/share > "$dir/install.log" 2>&1
is 'the pages are installed' "$?" 0
for page in $pages; do
  at=$dir/root/usr/share/man/man${page##*.}/$page
  is "$page is installed" "$(cat "$at")" "$(cat "$(source_of "$page")")"
done
completion=$dir/root/usr/share/bash-completion/completions/docextract
is 'the completion is installed' "$([ -s "$completion" ] && echo yes)" yes

# --- completion --------------------------------------------------------

cd "$dir" || exit # files of the current directory complete some words
# shellcheck disable=SC1090
. "$completion"

completes() # WHAT EXPECTED WORD...: the last one is what is being typed
{
  local what=$1 expected=$2
  shift 2
  COMP_WORDS=("$program" "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _docextract "$program"
  is "completion: $what" \
    "$(printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' ')" "$expected"
}

has 'completion: bash knows it' "$(complete -p docextract)" '-F _docextract '
completes 'all commands' "$(sort <<< "$verbs" | paste -sd' ')" ''
completes 'the beginning of a command' 'hello' he
completes 'options before a command' '--help' --h
completes 'the options of a command' '--text-encoding --title --together' \
  submit --t
completes 'an encoding' 'Shift_JIS' submit --text-encoding Sh
completes 'those of an abbreviated one' '--json' jo --j
completes 'not those of another command' '' jobs --title

SERVICE=north configure 'APIRate 5'
completes 'services of the configuration' 'north' \
  -c "$conf" submit --service ''
completes 'services behind an equals sign' 'north' \
  -c "$conf" submit --service =
completes 'the beginning of one there' 'north' \
  -c "$conf" submit --service = no
completes 'services that begin so' '' -c "$conf" submit --service x
completes 'nothing for a free text' '' -c "$conf" submit --title ''
completes 'files' "$dir/a.pdf" -c "$conf" submit "$dir/a.p"
completes 'files after files' "$dir/b.pdf" \
  -c "$conf" submit --together "$dir/a.pdf" "$dir/b.p"
completes 'a configuration' "$conf" -c "$dir/docextract.co"

dx submit "$dir/a.pdf"
key=$(jobs)
completes 'keys of jobs' "${key:0:8}" -c "$conf" retry ''
completes 'keys that begin so' "${key:0:8}" -c "$conf" cancel "${key:0:3}"
completes 'jobs after jobs' "${key:0:8}" -c "$conf" cancel "$key" ''
completes 'jobs that may be left out' "${key:0:8}" -c "$conf" purge ''
completes 'states' 'canceled complete' -c "$conf" jobs --state c
edit "$key" '.queue = "chart" | .id = "12"'
completes 'print jobs' 'chart-12' -c "$conf" show ch
completes 'nothing where there are no arguments' '' -c "$conf" metrics ''
completes 'nothing without a configuration' '' -c "$dir/none.conf" retry ''

end
