#!/usr/bin/env bash
#
# status_test.sh - the status socket of docextractd: users get only their own
# jobs, regardless of the process that ended them, and cannot block docextractd
# or other users. If root runs it, it uses two users of this system; otherwise
# only the caller, who owns the spool and gets all jobs.
#
# Prints a line per case and a last line with the counts.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/frame.sh"

ask=$top/tests/cli/ask
if [ "$(id -u)" = 0 ]; then
  ann=games bob=man
else
  ann=$(id -un) bob=other-user
fi

# docextractd watches the directory of the configuration.
mkdir "$dir/etc"
conf=$dir/etc/docextract.conf
STATUS_SOCKET=$dir/run/status
configure

# --- helpers ---------------------------------------------------------------

as() # USER COMMAND...: in a process of that user, if root runs the test
{
  local user=$1
  shift
  [ "$(id -u)" != 0 ] || set -- setpriv --reuid="$user" --regid=users \
    --clear-groups "$@"
  "$@"
}
ask() # USER REQUEST...: without its newline
{
  as "$1" "$ask" "$STATUS_SOCKET" "$2\n"
}
single_blanks() { tr -s ' '; }
if_root() { [ "$(id -u)" = 0 ]; }

# Serves the socket, too; waits until it does.
start_serving()
{
  start_docextractd
  until_true serves_or_gone
}
serves_or_gone() { [ -S "$STATUS_SOCKET" ] || is_gone "$driver"; }
server() { pgrep -P "$driver"; } # the process that serves the socket

# A job of USER with one result; sets key and result.
job_of() # USER FILE
{
  dx submit "$2"
  key=$(sed -n 's/^Stored .* as job //p' "$dir/err")
  result=$(sed -n "s|^$results/\(.*\.json\)$|\1|p" "$dir/out")
  edit "$key" ".user = \"$1\""
}
# A job of USER that the service refused.
failed_job_of() # USER
{
  faults 'create * status 422\n'
  job_of "$1" "$dir/a.pdf"
  faults ''
}

# A watching client in the background; sets pid. Its lines are in $dir/watched.
watch_as() # USER [SINCE]
{
  : > "$dir/watched"
  as "$1" "$ask" "$STATUS_SOCKET" "watch${2:+ $2}\n" > "$dir/watched" &
  pid=$!
}
has_watched() # N: lines
{
  [ "$(wc -l < "$dir/watched")" -ge "$1" ]
}
end_watch()
{
  kill "$pid"
  reap
}
keys() { jq -r '.job.key // empty' | sort | xargs; }
make_run() # the directory of the socket
{
  mkdir -p "$dir/run"
  give "$dir/run"
}
then='print it to a new PDF, and print that, or ask the administrator'

job_of "$ann" "$dir/a.pdf"
ann_key=$key ann_result=$result
job_of "$bob" "$dir/b.pdf"
bob_key=$key bob_result=$result
[ -n "$ann_result" ] || bail_out 'the first job has a result'
chmod 644 "$conf"
# The command of a user who may not read the spool; sets out, err and rc.
dx_as() # USER ARGUMENT...
{
  as "$1" "$program" -c "$conf" "${@:2}" > "$dir/out" 2> "$dir/err"
  rc=$?
  out=$(cat "$dir/out")
  err=$(cat "$dir/err")
  no_sanitizer
}

section 'without docextractd'

if if_root; then
  for verb in jobs "show ${ann_key:0:8}"; do
    # shellcheck disable=SC2086
    dx_as "$ann" $verb
    is "$verb: without docextractd a user gets a plain sentence" "$rc $out$err" \
      "74 docextract: your print jobs cannot be looked up, because \
docextractd is not running; ask the administrator to start it"
  done
  dx_as "$ann" metrics
  is 'metrics: without docextractd a user gets that it is not up' \
    "$rc $(grep -v '^#' <<< "$out" | grep -v build_info)$err" \
    '0 docextract_daemon_up 0'
fi

section 'jobs'

make_run
start_serving
is 'everybody may connect' "$(stat -c %a "$STATUS_SOCKET")" 666
if if_root; then
  chmod 750 "$dir/run"
  dx_as "$ann" jobs
  chmod 755 "$dir/run"
  is 'but not to a directory that is closed to them' "$rc $out$err" \
    '74 docextract: you are not permitted to look up print jobs; ask the '\
'administrator of this computer'
fi

both=$(printf '%s\n' "$ann_key" "$bob_key" | sort | xargs)
for request in jobs 'jobs all'; do
  is "$request: root or the owner of the spool sees all" \
    "$(ask "$(id -un)" "$request" | keys)" "$both"
  if if_root; then
    is "$request: the owner of the spool sees all" \
      "$(ask "$owner" "$request" | keys)" "$both"
    is "$request: a user sees their own" "$(ask "$ann" "$request" | keys)" "$ann_key"
    is "$request: and another theirs" "$(ask "$bob" "$request" | keys)" "$bob_key"
    is "$request: and another none" "$(ask mail "$request" | keys)" ''
    is "$request: a group counts only if docextract has its own" \
      "$(setpriv --reuid="$ann" --regid="$group" --clear-groups \
        "$ask" "$STATUS_SOCKET" "$request\n" | keys)" "$ann_key"
  fi
done
is 'jobs: the last line says that there are no more' \
  "$(ask "$ann" jobs | tail -n 1)" '{"end":true}'
hasnt 'jobs: no upload URL' "$(ask "$(id -un)" jobs)" '"url":"h'
if if_root; then
  has 'a uid without an account learns nothing' "$(ask 54321 jobs)" \
    '^{"error":"E_ACCESS","message":".*no login name"}$'
  has 'metrics: are for administrators' "$(ask "$ann" metrics)" \
    '^{"error":"E_ACCESS","message":"metrics are for administrators '
fi

section 'show'

make_run
start_serving
shown() { ask "$1" "show $2 $3" | tail -n +2 | cmp -s - "$results/$3"; }
check 'show: the result as the service sent it' shown "$ann" "$ann_key" "$ann_result"
head=$(ask "$ann" "show $ann_key $ann_result" | head -n 1)
is 'show: its size first' "$head" \
  "{\"bytes\":$(stat -c %s "$results/$ann_result")}"
no='^{"error":"E_JOB","message":"result not found"}$'
has 'show: only results of that job' "$(ask "$ann" "show $ann_key $bob_result")" "$no"
has 'show: no manifest' \
  "$(ask "$ann" "show $ann_key ${ann_result%%-*}.job.json")" "$no"
has 'show: no journal' "$(ask "$ann" "show $ann_key job.json")" "$no"
has 'show: no job that does not exist' \
  "$(ask "$ann" "show ${ann_key//[0-9]/a} $ann_result")" "$no"
set_in_journal() # MEMBER VALUE: in that of the first job, while docextractd runs
{
  jq --arg value "$2" "$1 = \$value" \
    "$spool/finished/$ann_key/job.json" > "$dir/json"
  cat "$dir/json" > "$spool/finished/$ann_key/job.json"
}
set_in_journal '.submissions[0].cases[0].state' stored
has 'show: no result that was not delivered' \
  "$(ask "$ann" "show $ann_key $ann_result")" "$no"
set_in_journal '.submissions[0].cases[0].state' delivered
section=$(jq -r .service "$spool/finished/$ann_key/job.json")
set_in_journal .service renamed
set_in_journal '.submissions[0].section' "$section"
check 'show: a result of a job that was retried with another section' \
  shown "$ann" "$ann_key" "$ann_result"
has 'show: no other file' "$(ask "$ann" "show $ann_key ../$ann_result")" \
  '^{"error":"E_ARG"'
if if_root; then
  has 'show: not the job of another user, in the same words' \
    "$(ask "$ann" "show $bob_key $bob_result")" "$no"
  check 'show: root sees it' shown root "$bob_key" "$bob_result"
  user=$(jq -r .user "$spool/finished/$ann_key/job.json")
  set_in_journal 'del(.user) | .title' ''
  has 'show: a record without its user is for administrators' \
    "$(ask "$ann" "show $ann_key $ann_result")" "$no"
  is 'jobs: so it is' "$(ask "$ann" 'jobs all' | keys)" ''
  set_in_journal .user "$user"
fi
mv "$results/$ann_result" "$dir/taken"
has 'show: says that it was taken' \
  "$(ask "$(id -un)" "show $ann_key $ann_result")" \
  '"E_NOT_FOUND".* has moved or deleted it'
if if_root; then
  has 'show: to a user without the name of a file' \
    "$(ask "$ann" "show $ann_key $ann_result")" \
    '"E_NOT_FOUND","message":"the result was moved or deleted by '
fi
ln -s "$dir/key" "$results/$ann_result"
has 'show: follows no link' "$(ask "$ann" "show $ann_key $ann_result")" \
  '^{"error":"E_IO"'
if if_root; then
  has 'show: to a user without the name of a directory' \
    "$(ask "$ann" "show $ann_key $ann_result")" \
    '"message":"Contact your administrator: the result cannot be read"'
fi
rm "$results/$ann_result"
mkfifo "$results/$ann_result"
has 'show: opens no FIFO' "$(ask "$ann" "show $ann_key $ann_result")" \
  '^{"error":"E_DAMAGED"'
rm "$results/$ann_result"
mv "$dir/taken" "$results/$ann_result"

section 'the command'

make_run
start_serving
if if_root; then
  dx jobs
  all=$out
  dx_as "$ann" jobs
  is 'jobs: a user sees their own, in the same table' \
    "$rc $(single_blanks <<< "$out")" \
    "0 $(grep -E "^KEY|^${ann_key:0:8}" <<< "$all" | single_blanks)"
  dx_as "$ann" jobs --json
  is 'jobs --json: likewise' "$(jq -c '[.[] | .key, .state, .cases]' <<< "$out")" \
    "[\"$ann_key\",\"extracted\",1]"
  dx_as "$bob" jobs --json
  is 'jobs: and another theirs' "$(jq -r '.[].key' <<< "$out")" "$bob_key"
  dx_as mail jobs
  is 'jobs: and another none' "$(tail -n +2 <<< "$out")" ''
  dx show "$ann_key"
  all=$out
  dx_as "$ann" show "${ann_key:0:8}"
  is 'show: a user sees the values of their own' "$rc $out" "0 $all"
  dx_as "$ann" show "$ann_key" --json
  check 'show --json: as the service sent it' cmp -s "$dir/out" \
    "$results/$ann_result"
  dx_as "$ann" show "$bob_key"
  has 'show: not those of another user' "$rc $err" '^65 .*no job'
  touch -d '2 days ago' "$spool/finished/$ann_key/job.json"
  dx_as "$ann" jobs
  is 'jobs: what finished more than a day ago is left out' \
    "$(tail -n +2 <<< "$out")" ''
  dx_as "$ann" jobs --all
  has 'jobs --all: and listed with it' "$out" "^${ann_key:0:8} "
  dx_as "$ann" show "${ann_key:0:8}"
  is 'show: it needs no option' "$rc $out" "0 $all"
  dx_as "$ann" jobs --seen
  has 'jobs --seen: is not for users' "$rc $err" '^7[48] docextract: '
  chmod o-r "$conf"
  dx_as "$ann" jobs
  has 'jobs: a configuration that they may not read is named' "$rc $err" \
    "^7[48] .*docextract.conf.*; run this command as root$"
  chmod o+r "$conf"
fi

section 'watch'

make_run
# If root runs the test: as a user who gets only their own jobs; otherwise as
# the owner, who gets all jobs.
failed_job_of "$bob"
another=$key
failed_job_of "$ann"
start_serving
ask "$ann" jobs > "$dir/null"
watch_as "$ann" 2026-01-01T00:00:00Z
n=$(if_root && echo 2 || echo 4)
until_true has_watched "$n"
if if_root; then
  as "$bob" "$ask" "$STATUS_SOCKET" 'watch\n' > "$dir/null" &
  second=$!
  # Besides stderr: the spool, and two sockets; one more for each client, whose
  # process has exited.
  have_own_files()
  {
    local p
    files=$(for p in $(server) $(pgrep -P "$(server)"); do
      find "/proc/$p/fd" -mindepth 1 | wc -l
    done | xargs)
    [ "$files" = 7 ]
  }
  until_true have_own_files
  is 'watch: one process, without open files of others' "$files" 7
  kill $second
  wait $second
fi
is 'watch: what ended since then' \
  "$(jq -r '.job.submissions[0].state' "$dir/watched" | sort -u | xargs)" \
  'extracted failed'
faults 'create * status 422\n'
dx retry "$key"
until_true has_watched $((n + 1))
is 'watch: what failed, and why' "$(tail -n 1 "$dir/watched" |
  jq -c '[.job.key, .job.submissions[0].state, .sentence]')" \
  "[\"$key\",\"failed\",\"The chart was not extracted: the service rejected it; $then\"]"
faults ''
if_root && dx retry "$another"
has_ended() { [ -e "$spool/finished/$1" ]; } # KEY
if_root && until_true has_ended "$another"
dx retry "$key"
until_true has_watched $((n + 2))
is 'watch: what was extracted, at once' \
  "$(tail -n 1 "$dir/watched" |
    jq -c '[.job.key, .job.submissions[0].state, .sentence]')" \
  "[\"$key\",\"extracted\",\"Extracted 1 case\"]"
if_root && is 'watch: nothing of another user' \
  "$(grep -c "\"$another\"" "$dir/watched")" 0
end_watch
until_true has_ended "$key"
watch_as "$ann" "$(jq -r '.submissions[0].delivered_at' \
  "$spool/finished/$key/job.json")"
is_told() { grep -q "$key" "$dir/watched"; }
check 'watch: what ended at that time' until_true is_told
end_watch
failed_job_of "$ann"
start_serving
from=$(($(date +%s) + 3))
watch_as "$ann" "$(date -u -d "@$from" +%FT%TZ)"
has_begun() { [ "$(date +%s)" -gt "$from" ]; }
until_true has_begun
dx retry "$key"
check 'watch: what ends after a time that is still to come' until_true is_told
end_watch

section 'the words'

make_run
if if_root; then
  failed_job_of "$ann"
  start_serving
  dx jobs
  has 'words: the administrator reads what the service responded' \
    "$(grep "^${key:0:8}" <<< "$out")" ' 0  .* responded with 422 to '
  dx_as "$ann" jobs
  has 'words: a user reads the sentence of their print job' \
    "$(grep "^${key:0:8}" <<< "$out")" " 0  The chart was not extracted: the service rejected it; $then\$"
  dx_as "$ann" show "$key"
  has 'words: show, too' "$err" \
    "^docextract: document 1: failed: The service rejected it; $then\$"
  is 'words: and so do their programs' \
    "$(ask "$ann" 'jobs all' | grep -c "400 to")" 0
  watch_as "$ann" 2026-01-01T00:00:00Z
  is_watched() { grep -q "\"$key\"" "$dir/watched"; }
  until_true is_watched
  is 'words: and who watches' "$(jq -r --arg key "$key" \
    'select(.job.key == $key).job.submissions[0].reason' "$dir/watched")" \
    "The service rejected it; $then"
  end_watch

  stop_sim
  dx retry "$key"
  says_to() # USER PATTERN: the list, of the job
  {
    dx_as "$1" jobs
    grep "^${key:0:8}" <<< "$out" | grep -Eq "$2"
  }
  check 'words: that the service is away, and when it is tried again' \
    until_true says_to "$ann" \
    ' 0  The chart is .*; the service does not respond, trying again; trying again at [0-9]+:[0-9]+$'
  printf '#!/bin/sh\nexit 7\n' > "$dir/mint"
  chmod 755 "$dir/mint"
  configure 'Token command' "TokenCommand $dir/mint"
  chmod 644 "$conf"
  start_serving
  check 'words: what the administrator has to do' until_true says_to "$ann" \
    ' 0  Contact your administrator: this printer cannot sign in to the service'
  hasnt 'words: but not how' "$(ask "$ann" jobs)" 'TokenCommand'
  has 'words: the owner reads that' "$(ask "$owner" jobs)" 'TokenCommand'
fi

section 'what a user can do'

# How its backend has ended; there is no cupsd to ask, and no service.
of_cups() # BACKEND STATE CODE [UNCLEAR_MS]
{
  edit "$key" ".queue = \"chart\" | .id = \"12\" | .print.backend = \"$1\" |
    .print.unclear_ms = ${4:-0} |
    .uuid = \"urn:uuid:12\" | .submissions[0].state = \"$2\" |
    .submissions[0].code = $3"
  start_serving
}
make_run
if if_root; then
  start_sim
  configure
  chmod 644 "$conf"
  failed_job_of "$ann"
  stop_sim
  of_cups ended failed '"E_REFUSED"'
  dx_as "$ann" retry chart-12
  is 'retry: a user learns how to release their print job' "$rc $out$err" \
    '65 docextract: this is print job chart-12; if CUPS holds it: '\
'lp -i chart-12 -H resume; if its queue is stopped, ask the administrator'
  dx_as "$ann" cancel chart-12
  is 'cancel: how to cancel it' "$rc $out$err" \
    '65 docextract: this is print job chart-12; cancel it with: cancel chart-12'
  dx_as "$ann" jobs chart-12
  has 'jobs: what to do about a failed job' "$out" \
    '^To do +what the message says; if that does not help, ask your administrator$'
  of_cups ended refused '"E_DOCUMENT"'
  dx_as "$ann" retry chart-12
  has 'retry: a refused document would be refused again' "$rc $out$err" \
    '^65 docextract: correct the refused document, and print it again$'
  of_cups ended stored null
  dx_as "$ann" retry chart-12
  has 'retry: also while it is unfinished' "$rc $out$err" \
    '^65 .*print job chart-12; .*lp -i chart-12 -H resume'
  of_cups left stored null
  dx_as "$ann" retry chart-12
  has 'retry: docextractd tries it anyway' "$rc $out$err" \
    "^0 docextractd is processing job $key"
  dx_as "$ann" cancel chart-12
  is 'cancel: otherwise, what to ask the administrator for' "$rc $out$err" \
    "74 docextract: only the administrator can cancel this job; ask them to run: \
docextract cancel ${key:0:8}"
  of_cups ended stored null "$(($(date +%s) - 172800))000"
  is_undecided() { dx_as "$ann" jobs --state undecided; [[ $out = *chart-12* ]]; }
  check 'jobs: a user sees that their job needs a decision' until_true is_undecided
  hasnt 'jobs: but no command that they cannot use' "$out" 'docextract retry'
  dx_as "$ann" show chart-12
  has 'show: likewise' "$rc $err" 'needs a decision of the administrator$'
  dx_as "$ann" cancel chart-12
  has 'cancel: the administrator decides' "$rc $err" \
    "^74 .*ask them to run: docextract cancel ${key:0:8}"
  dx_as "$ann" retry chart-12
  is 'retry: likewise' "$rc $out$err" \
    "74 docextract: only the administrator can retry this job; ask them to run: \
docextract retry ${key:0:8}"
  dx_as "$bob" cancel chart-12
  has 'cancel: nothing about the job of another user' "$rc $out$err" \
    "^65 docextract: no job 'chart-12'"
  dx_as "$ann" cancel chart-13
  has 'cancel: where a print job is that has not come so far' "$rc $err" \
    "^65 .*no job 'chart-13'; to list jobs that wait in CUPS, run: lpstat -o; all others: docextract jobs --all"
  dx_as "$ann" retry "$ann_key"
  has 'retry: what is extracted is extracted' "$rc $out$err" \
    '^0 Job .* has already finished: Extracted '
  dx_as "$ann" cancel "$ann_key"
  has 'cancel: it has finished' "$rc $out$err" '^0 Job .* has already finished'
  is 'and nothing was changed by that' \
    "$(jq -r '.submissions[0].state' "$spool/jobs/$key/job.json")" stored
  dx cancel "$key"
  dx_as "$ann" retry "$key"
  is 'retry: nothing is left of a canceled job' "$rc $out$err" \
    '65 docextract: the job is canceled; print it again, if it is still needed'
  dx_as "$ann" jobs "$key"
  has 'jobs: what to do about a canceled job' "$out" \
    '^To do +print it again, if it is still needed$'
fi

section 'a hostile client'

make_run
start_sim
configure
chmod 644 "$conf"
failed_job_of "$bob"
start_serving

# Two clients that are too slow, until the end of the test.
cp "$results/$ann_result" "$dir/whole"
head -c 4M /dev/zero >> "$results/$ann_result"
"$ask" "$STATUS_SOCKET" --deaf "show $ann_key $ann_result" > "$dir/deaf" &
deaf=$!
is_sending() { [ -s "$dir/deaf" ]; }
until_true is_sending
"$ask" "$STATUS_SOCKET" job > "$dir/null" &
slow=$!
"$ask" "$STATUS_SOCKET" 'watch 2000-01-01T00:00:00Z\n' > "$dir/long" &
long=$!
until_true test -s "$dir/long"
# Before there are too many; who watches needs no process.
are_served() { [ "$(pgrep -cP "$(server)")" = 2 ]; }
until_true are_served
mv "$dir/whole" "$results/$ann_result"
give "$results/$ann_result"

# Many connections, until their input ends.
mkfifo "$dir/hold"
as "$ann" "$ask" "$STATUS_SOCKET" --hold 1000 < "$dir/hold" > "$dir/holding" &
exec 8> "$dir/hold"
until_true test -s "$dir/holding"
if if_root; then
  is 'hostile: a user has 16 connections' "$(cat "$dir/holding")" 16
  has 'hostile: and no more' \
    "$(ask "$ann" jobs)" '^{"error":"E_BUSY"'
  is 'hostile: others are served' "$(ask "$bob" jobs | tail -n 1)" \
    '{"end":true}'
  is 'hostile: and the owner of the spool' "$(ask "$owner" jobs | tail -n 1)" \
    '{"end":true}'
else
  # The owner's are limited only by the total.
  has 'hostile: there are so many connections and no more' \
    "$(ask "$ann" jobs)" '^{"error":"E_BUSY"'
fi
dx retry "$key"
is_extracted() { [ -e "$spool/finished/$key" ]; }
check 'hostile: docextractd does its work' until_true is_extracted
exec 8>&-
no='^{"error":"E_ARG","message":"not a request of the status socket"}$'
has 'hostile: a line without an end' "$(ask "$ann" "$(printf '%0600d' 0)")" "$no"
has 'hostile: bytes that are no text' "$(ask "$ann" 'jobs\0\377')" "$no"
for request in job JOBS ' jobs' 'jobs\r' 'jobs\tall' 'jobs none' 'jobs all all' \
  'jobs  all' 'metrics all' 'watch now' 'watch 2026-01-31' show "show $ann_key" \
  "show 01234567 $ann_result" "show ../../etc $ann_result" \
  "show $ann_key ../../etc/passwd" "show $ann_key a/b" "show $ann_key $ann_result more" \
  'seen' "cancel $ann_key" "done " 'GET / HTTP/1.1' "$(printf '%03000d' 0)"; do
  has "hostile: '${request:0:60}' is not a request" "$(ask "$ann" "$request")" \
    "$no"
done
is 'hostile: no request at all' "$(as "$ann" "$ask" "$STATUS_SOCKET" '\n' | wc -l)" 1
for _ in {1..50}; do # gone before the response is made
  as "$ann" timeout 0.01 "$ask" "$STATUS_SOCKET" 'jobs all\n' > "$dir/null"
done
is 'hostile: no client waits for a response' "$(ask "$ann" jobs | tail -n 1)" \
  '{"end":true}'

check 'hostile: a request has to arrive in time' until_true is_gone "$slow"
# The socket takes a part of it, and then nothing: that is noticed after 30 s.
WAIT_S=40 check 'hostile: a response has to be read in time' \
  until_true is_gone "$deaf"
is 'but who watches may wait' "$(is_gone "$long" || echo watches)" watches

section 'the process that serves it'

make_run
start_serving
kill -KILL "$(server)"
is_served() { [ "$(ask "$ann" jobs 2> "$dir/null" | tail -n 1)" = '{"end":true}' ]; }
check 'a server that was killed is started again' until_true is_served
has 'and the log says so' "$(cat "$dir/driver.err")" 'process .* has exited'
old=$(server)
stop_docextractd KILL
check 'it ends with docextractd' until_true is_gone "$old"
start_docextractd
check 'the next docextractd takes the place of its socket' is_served
mv "$spool" "$spool.moved"
sed -i "s|^SpoolDir .*|SpoolDir $spool.moved|" "$conf"
has_reloaded() { [ "$(grep -cx ready "$dir/driver.err")" = 2 ]; }
until_true has_reloaded
check 'it serves a spool that was moved' until_true is_served
stop_docextractd
mv "$spool.moved" "$spool"
sed -i "s|^SpoolDir .*|SpoolDir $spool|" "$conf"
is 'at its end docextractd removes the socket' "$(ls "$dir/run")" ''
start_serving
rm "$STATUS_SOCKET"
touch "$STATUS_SOCKET"
stop_docextractd
check 'but not what has replaced it' rm "$STATUS_SOCKET"
rmdir "$dir/run"
start_docextractd
if if_root; then
  is 'without a directory for it there is none, and the log says so once' \
    "$(grep -c 'there is no status socket' "$dir/driver.err")" 1
else
  check 'the directory is created where that is possible' is_served
fi
stop_docextractd
rm -rf "$dir/run"
mkdir "$dir/elsewhere"
give "$dir/elsewhere"
ln -s elsewhere "$dir/run"
start_serving
check 'its directory may be a link' is_served
stop_docextractd
end
