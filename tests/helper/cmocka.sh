# cmocka.sh - a line for each test of the unit tests that `make check` has run:
# automake hides them in one log per program. To be sourced by bash, after
# count.sh.

# cmocka prints "[ RUN      ] NAME", then "[       OK ] NAME", "[  SKIPPED ]
# NAME", "[  FAILED  ] NAME", or nothing if the program was killed.
outcomes() # LOG: lines of "ok NAME", "skipped NAME REASON", or "failed NAME WHY"
{
  awk '/^\[ RUN +\] / { if (name != "") print "failed", name; name = $NF }
    /^\[ +OK \] / { print "ok", name; name = "" }
    /^\[ +FAILED +\] / && name != "" { print "failed", name; name = "" }
    sub("^to include it: ", "") { how = $0 }
    /^\[ +SKIPPED \] / && name != "" { print "skipped", name, how; name = "" }
    END { if (name != "") print "failed", name, "(the program ended)" }' "$1"
}

one_program() # TRS
{
  local program=${1##*/} log=${1%.trs}.log outcome name how n=$failed
  program=${program%.trs}
  while read -r outcome name how; do
    case $outcome in
    ok) ok "$program: $name" ;;
    skipped) leave_out "$program: $name" "$how" ;;
    *) not_ok "$program: $name${how:+ $how}" ;;
    esac
  done < <(outcomes "$log")
  if ! grep -qx ':test-result: PASS' "$1" && [ "$failed" = "$n" ]; then
    not_ok "$program succeeds"
  fi
  [ "$failed" = "$n" ] || grep -av '\[       OK \]\|\[ RUN' "$log" | tail -n 40 |
    sed 's/^/#   /'
}

all_programs() # DIRECTORY OF A BUILD
{
  local trs
  for trs in "$1"/tests/*/*.trs; do
    [ ! -e "$trs" ] || one_program "$trs"
  done
}
