#!/usr/bin/env bash
#
# chown_test.sh - `docextract chown`: what belonged to the user of the backends
# (nobody here, usually lp) is given to a user of our own (games), and nothing
# else is, whatever the old user has planted. Only root can give files away; run
# by anybody else, this checks that the command says so.
#
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/frame.sh"
start_docextractd() { :; } # it runs as another user
owned=$build/tests/cli/docextract-owned
[ -x "$owned" ] || bail_out "$owned is not built (make check TESTS=)"

dx chown
has 'without a user of its own it does nothing' "$rc $err" \
  '^78 .*without a user of its own'
program=$owned
if [ "$(id -u)" != 0 ]; then
  dx chown
  has 'only root can give files away' "$rc $err" '^74 .*as root$'
  end
fi

# --- hello and the daemon say what to do ---------------------------------------

start_sim
configure
chmod 644 "$conf"
chown games: "$dir/key" && chmod 600 "$dir/key"
dx hello
has 'hello: a spool of the old user is an error' "$out" '^FAILED +user'
has 'hello: and says what to do' "$rc $err" \
  "^74 .*belongs to 'nobody', but .* run as 'games'; .*: docextract chown"

# --- what is there, and what its user planted -------------------

as_nobody() { setpriv --reuid nobody --regid nogroup --clear-groups "$@"; }
owners() { stat -c '%U:%G %a' "$@"; }

mkdir "$dir/site" "$dir/roots"
chown nobody:mail "$dir/site" && chmod 2770 "$dir/site"
echo '{}' > "$dir/site/a.json" && chown nobody:mail "$dir/site/a.json"
chmod 640 "$dir/site/a.json"
echo root > "$dir/roots/file" && chmod 600 "$dir/roots/file"
cp "$dir/key" "$dir/key.lp" && chgrp nogroup "$dir/key.lp"
chown root "$dir/key.lp" && chmod 640 "$dir/key.lp"
chown root:nogroup "$conf"
chmod 640 "$conf"
{
  cat "$conf"
  printf '<Service site>\nResultsDir %s\nTokenKeyFile %s\n</Service>\n' \
    "$dir/site" "$dir/link/key.lp"
  echo 'Wrong line'
} > "$dir/conf.new"
sed -i "s,^TokenKeyFile $dir/key\$,TokenKeyFile $dir/key.lp," "$dir/conf.new"
cat "$dir/conf.new" > "$conf"
ln -s . "$dir/link"
key=0123456789abcdef0123456789abcdef
as_nobody mkdir -m 700 "$spool"/{jobs,finished,history}
as_nobody mkdir -m 777 "$spool/jobs/$key"
as_nobody sh -c "echo {} > $spool/jobs/$key/job.json
  : > $spool/docextractd.lock; chmod 666 $spool/jobs/$key/job.json
  ln -s $dir/roots/file $spool/jobs/$key/document-1
  ln -s $dir/roots $spool/finished/$key
  mkfifo $spool/history/fifo
  echo mine > $results/mine.json"
cp /bin/sh "$spool/history/sh" && chown nobody "$spool/history/sh"
chmod 6755 "$spool/history/sh"
echo member > "$results/member.json" && chown mail: "$results/member.json"
ln "$dir/roots/file" "$spool/history/hard"

# docextractd runs as the old user: it is asked to end, but stays stopped until
# that has been seen. Whoever holds its lock can play it.
python3 -c "import fcntl, signal
lock = open('$spool/docextractd.lock', 'w')
fcntl.lockf(lock, fcntl.LOCK_EX)
print('locked', flush=True)
signal.pause()" > "$dir/holder.out" &
pid=$!
locked() { grep -q locked "$dir/holder.out" || is_gone "$pid"; }
until_true locked
kill -STOP "$pid"
is_asked() { grep -q '^ShdPnd:.*4000$' "/proc/$pid/status"; }
{
  until_true is_asked
  owners "$conf" "$dir/key.lp" "$spool/jobs" > "$dir/asked"
  kill -CONT "$pid"
} &
dx chown
wait $!
is 'it succeeds' "$rc $err" '0 '
is 'what a backend reads that cupsd runs again at once comes before the spool' \
  "$(cat "$dir/asked")" \
  'root:nogroup 644
games:games 600
nobody:nogroup 700'
reap
is 'the docextractd of the old user was asked to end' "$rc" 143

# --- what became of it ----------------------------------------------------------

is 'the spool is that of the own user' "$(owners "$spool" \
  "$spool"/{jobs,finished,history} "$spool/jobs/$key"{,/job.json} "$spool/docextractd.lock")" \
  'games:games 700
games:games 700
games:games 700
games:games 700
games:games 700
games:games 600
games:games 600'
is 'nobody can run its programs as it' "$(owners "$spool/history/sh")" \
  'games:root 600'
is 'results keep the group that an administrator gave them' \
  "$(owners "$dir/site"{,/a.json})" $'games:mail 2770\ngames:mail 640'
is 'but not that of the old user' "$(owners "$results"{,/mine.json})" \
  $'games:games 2770\ngames:games 640'
is 'a file of somebody else stays' "$(owners "$results/member.json")" \
  'mail:mail 644'
is 'no link is followed' "$(owners "$dir/roots" "$dir/roots/file")" \
  $'root:root 755\nroot:root 600'
is 'and the links are still those of the old user' "$(stat -c %U \
  "$spool/jobs/$key/document-1" "$spool/finished/$key" "$spool/history/fifo" |
  sort -u)" nobody
has 'it counts what it has left' "$out" '^5 were left as they are'
is 'only the own user can read the key' "$(owners "$dir/key.lp")" \
  'games:games 600'
has 'a key that a link leads to is left, and that is said' "$out" \
  "'$dir/link/key.lp' was left as it is"
is 'everybody can read the configuration' "$(owners "$conf")" 'root:nogroup 644'

# --- what is as it should be ------------------------------------------------------

sed -i '/^<Service site>/,$d' "$conf"
mkdir -p "$CUPS_SERVERBIN/backend"
cp /bin/true "$CUPS_SERVERBIN/backend/docextract"
dx hello
has 'hello: nobody else runs as the user' "$out" '^ok +user +games, the owner of SpoolDir$'
has 'hello: a backend that cupsd does not run as root is a warning' "$out" \
  "^warning: cupsd does not run the backend as 'games'; .* chmod 700 "
chmod 700 "$CUPS_SERVERBIN/backend/docextract"
dx hello
is 'hello: one that it does is none' "$(grep warning <<< "$out")" ''

all() { find "$spool" "$dir/site" "$dir/key.lp" "$conf" -printf '%p %u %m %C@\n'; }
before=$(all)
dx chown
is 'a second time nothing changes' "$rc $out $(all)" \
  "0 0 files and directories belong to 'games' now $before"
end
