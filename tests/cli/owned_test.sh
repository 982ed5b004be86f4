#!/usr/bin/env bash
#
# owned_test.sh - the command with a user of its own (games), where spool and
# key still belong to another one (nobody; usually lp): it says what to do, and
# works once that was done. Only root can give files away.
#
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/frame.sh"
start_docextractd() { :; } # it runs as another user
program=$build/tests/cli/docextract-owned
[ -x "$program" ] || bail_out "$program is not built (make check TESTS=)"
if [ "$(id -u)" != 0 ]; then
  dx hello
  has 'what belongs to another user is an error' "$rc $err" \
    "^(74|78) .*(SpoolDir|users other than 'games')"
  end
fi

# --- hello says what to do ------------------------------------------------------

start_sim
configure
chmod 644 "$conf"
chown games: "$dir/key" && chmod 600 "$dir/key"
dx hello
has 'hello: a spool of the old user is an error' "$out" '^FAILED +user'
has 'hello: and says what to do' "$rc $err" \
  "^74 .*belongs to 'nobody', but .* run as 'games'; .*: chown -R games: '$spool/'"
eval "${err##*fix it with: }"
is 'the command it names hands over the spool and its results' \
  "$? $(find "$spool" -printf '%u:%g\n' | sort -u)" '0 games:games'

# --- what is as it should be ------------------------------------------------------

mkdir -p "$CUPS_SERVERBIN/backend"
cp /bin/true "$CUPS_SERVERBIN/backend/docextract"
dx hello
has 'hello: the command runs as the user' "$out" '^ok +user +games, the owner of SpoolDir$'
has 'hello: a backend that cupsd does not run as root is a warning' "$out" \
  "^warning: cupsd does not run the backend as 'games'; .* chmod 700 "
chmod 700 "$CUPS_SERVERBIN/backend/docextract"
dx hello
is 'hello: one that it does is none' "$(grep warning <<< "$out")" ''
end
