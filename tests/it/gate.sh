# gate.sh - a gate before the filter, and one before the backend. While a gate
# is closed, the program waits, so that a test can keep a job in a state for as
# long as needed.
#
# To be sourced by bash after lib.sh; gates are built before jobs are printed. A
# gate is a lock that the test holds; the waiting child has none of the job's
# pipes open.
# shellcheck disable=SC2154

gate=$dir/gate

gate_of() # filter or backend: its descriptor, and what it stops
{
  case $1 in
  filter) echo 8 filter/todocextract ;;
  backend) echo 7 backend/docextract ;;
  esac
}

build_gate() # filter or backend
{
  local fd whom to=$cups/bin/behind-$1
  read -r fd whom < <(gate_of "$1")
  mkdir -p "$gate" "$to"
  chmod 777 "$gate"
  chmod 755 "$to"
  : > "$gate/$1.lock"
  chmod 644 "$gate/$1.lock"
  eval "exec $fd< '$gate/$1.lock'"
  mv "$cups/bin/$whom" "$to/"
  cat > "$cups/bin/$whom" << END
#!/bin/bash
exec 9< $gate/$1.lock
flock -n -s 9 || {
  : > $gate/$1.\$\$
  flock -s 9 < /dev/null > /dev/null 2>&1
}
exec 9<&- $to/${whom##*/} "\$@"
END
  chmod 755 "$cups/bin/$whom"
}

close_gate() # filter or backend
{
  local fd
  read -r fd _ < <(gate_of "$1")
  rm -f "$gate/$1".[0-9]*
  flock -x "$fd"
}

open_gate() # for those that wait, and all that come later
{
  local fd
  read -r fd _ < <(gate_of "$1")
  flock -u "$fd"
}

is_waiting_at() { compgen -G "$gate/$1.[0-9]*" > /dev/null; }

# The backend is reading: its signal handlers were set long before.
is_receiving() { [ -n "$(ls "$spool/incoming")" ]; }
