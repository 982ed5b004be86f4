#!/usr/bin/env bash
#
# wait_test.sh - `docextract wait`: ends with the outcome of the job, for the
# owner of the spool and for the user who printed it, also if docextractd is
# restarted meanwhile.
#
# Prints a line per case and a last line with the counts.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/frame.sh"

if_root() { [ "$(id -u)" = 0 ]; }
if if_root; then ann=games bob=man; else ann=$(id -un) bob=other-user; fi
mkdir -p "$dir/socket"
give "$dir/socket"
STATUS_SOCKET=$dir/socket/status configure
chmod 644 "$conf"

# --- jobs --------------------------------------------------------------------

submitted() { dx submit "$@"; key=$(sed -n 's/^Stored .* as job //p' "$dir/err"); }

# A job that the service processes until `faults ''`; sets key.
begin_job() # FILE
{
  faults 'source * word processing\n'
  start_docextractd
  : > "$dir/out"
  : > "$dir/err"
  "$program" -c "$conf" submit "$1" > "$dir/out" 2> "$dir/err" &
  pid=$!
  until_true says 'waiting for its result'
  kill -TERM "$pid"
  reap
  key=$(sed -n 's/^Stored .* as job //p' "$dir/err")
}

# Waits in the background on a terminal; see on_terminal().
on_terminal_until() # PATTERN ARGUMENT...
{
  on_terminal "${@:2}"
  until_true grep -q -e "$1" "$dir/out"
}

submitted "$dir/a.pdf"
extracted=$key
faults 'create * status 422\n'
submitted "$dir/b.pdf"
rejected=$key status=$rc message=$(tail -n 1 <<< "$err")
faults ''

section 'what has ended'

dx wait "$extracted"
is 'extracted: success, without a word' "$rc $out$err" '0 '
stop_docextractd
dx wait "$extracted"
is 'extracted: also without docextractd' "$rc $out$err" '0 '
is 'failed: submit ends with this status' "$status" 65
dx wait "$rejected"
is 'failed: wait ends as submit did' "$rc $out$err" "$status $message"
has 'failed: the message says how to retry it' "$err" \
  "; retry with: docextract retry $rejected\$"
dx wait "$extracted" "$rejected"
has 'several: each failure has the name of its job' "$rc $(xargs <<< "$err")" \
  "^65 docextract: $rejected: .* docextract: 1 of 2 failed\$"
dx wait "$extracted" "$extracted"
is 'several: success if all were extracted' "$rc $out$err" '0 '
dx wait 99999999
has 'an unknown job: what lists jobs' "$rc $err" \
  "^65 docextract: no job '99999999'; to list jobs, run: docextract jobs --all\$"
dx wait
has 'without a job: what it takes' "$rc $err" "^64 .*'wait' takes JOB\.\.\."

section 'what goes on'

begin_job "$dir/a.pdf"
on_terminal_until 'waiting' wait "$key"
has 'on a terminal: the status is printed' "$(cat "$dir/out")" \
  '^The chart is with the service; waiting for its result'
faults ''
end_terminal
is 'on a terminal: it ends with the job' "$rc" 0
is 'on a terminal: each status is printed once' \
  "$(grep -c 'waiting for its result' <<< "$out")" 1

begin_job "$dir/b.pdf"
"$program" -c "$conf" wait "$key" > "$dir/quiet" 2>&1 &
quiet=$!
on_terminal_until 'waiting' wait "$key" "$extracted"
has 'several on a terminal: with the name of the job' "$(cat "$dir/out")" \
  "^$key: The chart is with the service"
faults ''
end_terminal
is 'several on a terminal: success' "$rc" 0
wait "$quiet"
is 'elsewhere: nothing is printed' "$? $(cat "$dir/quiet")" '0 '

begin_job "$dir/a.pdf"
on_terminal wait "$key" --quiet
faults ''
end_terminal
is '--quiet: nothing is printed' "$rc $out" '0 '

begin_job "$dir/b.pdf"
on_terminal_until 'waiting' wait "$key"
"$program" -c "$conf" cancel "$key" > "$dir/null"
end_terminal
has 'canceled meanwhile: that is no success' "$rc $(tail -n 1 <<< "$out")" \
  '^65 docextract: .*canceled'
hasnt 'canceled meanwhile: nor is it to be retried' "$out" 'retry with'

begin_job "$dir/a.pdf"
on_terminal_until 'waiting' wait "$key"
kill -INT "$pid"
end_terminal
has 'a signal ends it, not the job' "$rc $(tail -n 1 <<< "$out")" \
  "^75 docextract: stopped; docextractd continues job $key"

# It sleeps between two looks.
sleeps() { sed -n 's/^voluntary_ctxt_switches:\t//p' "/proc/$pid/status"; }
has_looked() { is_gone "$pid" || [ "$(sleeps)" -gt $(($1 + 1)) ]; } # BEFORE
on_terminal_until 'waiting' wait "$key"
stop_docextractd
until_true has_looked "$(sleeps)"
faults ''
start_docextractd
end_terminal
is 'a restart of docextractd does not end it' "$rc" 0

begin_job "$dir/b.pdf"
stop_docextractd
dx wait "$key"
has 'without docextractd: what starts it' "$rc $out$err" \
  "^78 docextract: job $key waits: $missing"
if if_root; then
  edit "$key" ".user = \"$ann\""
  as_ann() { setpriv --reuid="$ann" --regid=users --clear-groups "$@"; }
  as_ann "$program" -c "$conf" wait "$key" > "$dir/out" 2> "$dir/err"
  has 'a user, without docextractd: whom to ask' "$? $(cat "$dir/err")" \
    '^74 docextract: your print jobs .*not running; ask the administrator'
  start_docextractd
  until_true test -S "$dir/socket/status"
  as_ann "$program" -c "$conf" wait "$key" > "$dir/out" 2> "$dir/err" &
  pid=$!
  until_true test -e "/proc/$pid"
  faults ''
  until_true is_gone "$pid"
  wait "$pid"
  is 'a user: waits for their own job' "$? $(cat "$dir/out" "$dir/err")" '0 '
  pid=
  edit "$rejected" ".user = \"$ann\""
  start_docextractd
  until_true as_ann "$program" -c "$conf" jobs > "$dir/null"
  as_ann "$program" -c "$conf" wait "$rejected" > "$dir/out" 2> "$dir/err"
  is 'a user: the outcome in words for users' "$? $(cat "$dir/err")" \
    '65 docextract: The chart was not extracted: the service rejected it; print it to a new PDF, and print that, or ask the administrator'
  as_ann "$program" -c "$conf" wait "$extracted" > "$dir/out" 2> "$dir/err"
  has 'a user: not for the job of another user' "$? $(cat "$dir/err")" \
    '^65 .*no job'
fi

section 'what needs a decision'

begin_job "$dir/a.pdf"
edit "$key" '.queue = "chart" | .id = "12" | .print.undecided = true |
  .print.backend = "ended"'
dx wait "$key"
has 'undecided: how to decide' "$rc $err" \
  "^75 docextract: job $key needs a decision; to send it: docextract retry ${key:0:8}; to cancel it: docextract cancel ${key:0:8}\$"

section 'submit --quiet'

faults ''
dx submit --quiet "$dir/a.pdf"
has 'submit --quiet: prints the results only' "$rc $err$out" \
  "^0 $results/[^ ]*\.json\$"
dx submit "$dir/a.pdf"
has 'submit: results on standard output, progress on standard error' \
  "$out|$err" "^$results/[^ ]*\.json\|Stored .*"

end
