#!/usr/bin/env bash
#
# attend_test.sh - the command and docextractd: what is asked for, what is made
# of the response, and what happens when there is none. docextractd is played.
#
# Prints a line per case and a last line with the counts.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/frame.sh"
start_docextractd() { :; }
played=$top/tests/cli/docextractd_played

playing=
is_ready() { [ -s "$dir/played.out" ] || is_gone "$playing"; }
play() # SCRIPT: for the commands that follow
{
  printf '%b\n' "$1" > "$dir/script"
  : > "$dir/played"
  : > "$dir/played.out"
  "$played" "$spool" "$dir/script" "$dir/played" \
    > "$dir/played.out" 2> "$dir/played.err" &
  playing=$!
  until_true is_ready
}
end_play()
{
  until_true is_gone "$playing" || kill -KILL "$playing"
  wait "$playing"
  playing=
}
begin_dx() # ARGUMENT...: a command in the background
{
  "$program" -c "$conf" "$@" > "$dir/out" 2> "$dir/err" &
  pid=$!
}
end_dx() # SIGNAL: ends it, and what docextractd plays
{
  kill -"$1" "$pid"
  reap
  end_play
}
stop_play() { { kill -KILL "$playing"; wait "$playing"; } 2> "$dir/null"; playing=; }
clear_play() { [ -z "$playing" ] || kill -KILL "$playing"; }
trap 'finish clear_play' EXIT

# --- submit ----------------------------------------------------------------

note() { echo "> note $1 ${2:-OK} ${3:-1} ${4:-0} ${5:-0} ${6:-0} ${7-}"; }

play "? attend
$(note uploading OK 1 50 100)
$(note uploading OK 1 59 100)
$(note uploading OK 1 100 100)
$(note waiting OK 1)
$(note waiting OK 0 0 0 3000)
$(note down E_NET 0 0 0 7000 'cannot connect')
$(note down E_NET 0 0 0 9000 'cannot connect')
> alive
$(note up)
> sentence It was extracted
> end OK success"
dx submit "$dir/a.pdf"
end_play
key=$(sed -n 's/^Stored 1 document as job //p' <<< "$err")
receipt=$(ls "$spool/received")
is 'submit: what was stored is attended' "$(cat "$dir/played")" \
  "attend ${receipt/./ }"
is 'submit: the receipt is that of the job' "${receipt%.*}" "$key"
is 'submit: lines of progress' "$(sed 1d <<< "$err")" \
  'Uploading: 50%
Uploading: 100%
The chart is with the service; waiting for its result
The chart is with the service; the service does not respond, trying again: cannot connect
The chart is on this computer'
is 'submit: it ends with the job, without a result' "$rc $out" '0 '

new_spool
play '? attend\n> end E_REFUSED the service rejected it'
dx submit "$dir/a.pdf"
end_play
has 'submit: what failed has its status, and a way on' \
  "$rc $(tail -n 1 <<< "$err")" \
  '^65 .*docextract: the service rejected it; retry with: docextract retry [0-9a-f]{32}$'

new_spool
play "? attend
$(note admin E_CONFIG 1 0 0 0 'no such service (404); check BaseURL')
hold"
dx submit "$dir/a.pdf"
end_play
has 'submit: does not wait for an administrator' \
  "$rc $(tail -n 1 <<< "$err")" \
  '^78 .*404.*; check BaseURL; docextractd continues job '
new_spool
play "? attend\n$(note admin E_KEY 1 0 0 0 'no key')\nhold"
dx submit "$dir/a.pdf"
end_play
has 'submit: the status is that of what has to be done' \
  "$rc $(tail -n 1 <<< "$err")" '^77 .*no key'
new_spool
play "? attend\n$(note overdue)\nhold"
dx submit "$dir/a.pdf"
end_play
has 'submit: nor longer than ProcessingLimit' \
  "$rc $(tail -n 1 <<< "$err")" \
  '^75 .*longer than ProcessingLimit; docextractd continues'

new_spool
play "? attend\n$(note waiting OK 0)\n\n? attend\n> end OK success"
dx submit "$dir/a.pdf"
end_play
is 'submit: a docextractd that is started again is attended again' \
  "$rc $(sort -u "$dir/played" | wc -l) $(wc -l < "$dir/played")" '0 1 2'

# The command gives up after 10 s without docextractd, and tries once a second.
new_spool
play "greet docextractd 2 1.0\n\n$(
  yes '? attend' | head -n 11 | sed G)\n\n? attend\n> end OK success"
dx submit "$dir/a.pdf"
end_play
is 'submit: also if that happens again and again' \
  "$rc $(sort -u "$dir/played" | wc -l) $(wc -l < "$dir/played")" '0 1 12'

new_spool
play "? attend\n$(note waiting OK 0)\nhold"
: > "$dir/out"; : > "$dir/err"
env --default-signal=INT "$program" -c "$conf" submit "$dir/a.pdf" \
  > "$dir/out" 2> "$dir/err" &
pid=$!
until_true says '; waiting'
end_dx INT
has 'submit: a signal ends it, not the job' "$rc $(tail -n 1 "$dir/err")" \
  '^75 .*stopped; docextractd continues .*: docextract cancel [0-9a-f]{32}$'
is 'submit: the job stays' "$(ls "$spool/received" | wc -l)" 1

new_spool
play 'greet docextractd 999 9.0'
dx submit "$dir/a.pdf"
end_play
has 'submit: another version is no reason to lose anything' \
  "$rc $(tail -n 1 <<< "$err")" \
  '^75 docextract: job [0-9a-f]{32} is stored, and waits: '
is 'submit: nothing is lost' "$(ls "$spool/received" | wc -l)" 1

# --- requests --------------------------------------------------------------

key=$(ls "$spool/received") key=${key%.*}
dx jobs
has 'jobs: what nobody has picked up is stored' "$out" \
  "^${key:0:8}  stored +- +.* 0/1 +0  The chart is on this computer: $missing\$"
dx show "$key"
has 'show: and has no results yet' "$rc $err" \
  '^75 .*has no results yet; to see its status, run: docextract jobs$'

asks() # TEXT REQUEST ARGUMENT...: the command sends the request
{
  local text=$1 request=$2
  shift 2
  play "? ${request%% *}\n> line first\n> done last"
  dx "$@"
  end_play
  is "$text" "$rc $out $(cat "$dir/played")" "0 first
last $request"
}
asks 'retry: is asked for' "retry $key" retry "${key:0:8}"
asks 'retry: with a section' "retry $key default" retry "$key" --service default
asks 'cancel: is asked for' "cancel $key" cancel "$key"
asks 'jobs --seen: is asked for' seen jobs --seen
dx retry "$key" --service none
has 'retry: the section must be there' "$rc $err" '^78 .*configured services'
dx purge "$key"
has 'purge: not what is not finished' "$rc $err" '^65 .*not finished'

play '? cancel\n> error E_JOB it cannot be'
dx cancel "$key"
end_play
is 'an error is that of the response' "$rc $err" '65 docextract: it cannot be'
play '? retry\n> warn a document is gone\n> done'
dx retry "$key"
end_play
is 'a warning, too' "$rc $out $err" '0  docextract: a document is gone'
play '? cancel'
dx cancel "$key"
end_play
has 'one that ends before it responds' "$rc $err" '^75 .*try again$'

# Two commands that wait for their responses, and a signal.
play "? cancel\nhold"
begin_dx cancel "$key" "${key:0:8}"
until_true test -s "$dir/played"
caught=0x$(sed -n 's/^SigCgt:\t//p' "/proc/$pid/status")
is 'nohup: an ignored SIGINT stays so, SIGTERM is handled' \
  $((caught & 1 << 1)),$((caught & 1 << 14)) 0,16384
end_dx TERM
has 'a signal stops all that the command has to do' "$rc $(xargs < "$dir/err")" \
  "^75 docextract: $key: stopped docextract: stopped; 1 of 2 were not processed\$"
is 'and nothing more is asked' "$(wc -l < "$dir/played")" 1

play '? attend\n> end OK success'
dx submit "$dir/b.pdf"
end_play
play '? cancel\nhold'
begin_dx cancel --all
until_true test -s "$dir/played"
end_dx TERM
has 'cancel --all: a signal stops it' "$rc $(tail -n 1 "$dir/err")" \
  '^75 docextract: stopped; not all jobs were processed$'
is 'cancel --all: and nothing more is asked' "$(wc -l < "$dir/played")" 1

play '> ignored'
is_driven() { "$program" -c "$conf" report | grep -A 1 '^docextractd$'; }
stop_play
has 'report: says whether docextractd runs' "$(is_driven)" 'not running$'
play ''
has 'report: or does' "$(is_driven)" ' running$'
stop_play

# --- hello -----------------------------------------------------------------

play 'hold\n\n? hello
> step ok spool           /x
> warn waiting for a name server
> step FAILED name
> error E_NET no such host'
dx hello
end_play
is 'hello: asks for the service' "$(cat "$dir/played")" 'hello default'
has 'hello: its own steps come first' "$(sed -n '1,4p' <<< "$out" |
  awk '{ print $1 $2 }' | xargs)" 'okconfiguration oksandbox okuser okdocextractd'
is 'hello: then those of docextractd' "$(sed -n '5,6p' <<< "$out")" \
  'ok     spool           /x
FAILED name'
is 'hello: the error is the last line' "$rc $err" \
  '75 docextract: waiting for a name server
docextract: no such host'

play 'hold\n\n? hello
> step ok spool           /x'
dx hello
end_play
is 'hello: the end of the connection is an error' "$rc $err" \
  '75 docextract: docextractd was stopped or reloaded its configuration before it responded; try again'
end
