# count.sh - counting checks, the same in every test script: each check prints
# "ok - TEXT" or "not ok - TEXT" with the difference, and count_is_good prints
# the last line, "N passed, N failed".
#
# To be sourced by bash before anything is made that must be removed: with
# DX_ONLY, the script begins again.
# shellcheck disable=SC2034

# Begins a section of a test, which makes what it needs, so that it can be run
# alone: DX_ONLY=NAME FILE runs the section whose name begins with this.
section() { :; } # NAME

if [ -n "${DX_ONLY-}" ]; then
  only=$(awk -v name="$DX_ONLY" \
    -f "${BASH_SOURCE[0]%/*}/section.awk" "$0") || {
    echo "there is no section '$DX_ONLY' in $0, but:" >&2
    sed -n "s/^section '\(.*\)'$/  \1/p" "$0" >&2
    exit 2
  }
  unset DX_ONLY
  exec bash -c "$only" "$0" "$@"
fi

passed=0
failed=0

ok() # TEXT
{
  passed=$((passed + 1))
  echo "ok - $1"
}

not_ok() # TEXT [DETAIL]
{
  failed=$((failed + 1))
  echo "not ok - $1"
  [ -z "${2-}" ] || sed 's/^/#   /' <<< "$2"
}

check() # TEXT COMMAND...: true when the command succeeds
{
  local text=$1 output
  shift
  if output=$("$@" 2>&1); then ok "$text"; else not_ok "$text" "$* $output"; fi
}

is() # TEXT ACTUAL EXPECTED
{
  if [ "$2" = "$3" ]; then
    ok "$1"
  else
    not_ok "$1" "got:      $2"$'\n'"expected: $3"
  fi
}

has() # TEXT ACTUAL PATTERN: true when the extended pattern is in a line
{
  if grep -Eq -e "$3" <<< "$2"; then
    ok "$1"
  else
    not_ok "$1" "got:      $2"$'\n'"expected: something with $3"
  fi
}

hasnt() # TEXT ACTUAL PATTERN
{
  if grep -Eq -e "$3" <<< "$2"; then
    not_ok "$1" "got:      $2"$'\n'"expected: nothing with $3"
  else
    ok "$1"
  fi
}

# What this machine cannot test. In CI nothing may be left out.
leave_out() # WHAT HOW TO INCLUDE IT
{
  if [ -n "${CI-}" ]; then
    not_ok "$1 is not left out in CI" "to include it: $2"
  else
    echo "left out: $1 (to include it: $2)"
  fi
}

# Whether file systems can be mounted for some processes only.
may_mount() { unshare --mount true 2> /dev/null; }
to_mount='as root, not in a chroot'

count_is_good()
{
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
