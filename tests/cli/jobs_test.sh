#!/usr/bin/env bash
#
# jobs_test.sh - what `docextract` promises of jobs that are stored: to list
# them, to go on with them, to cancel them; after every way in which a submit
# can end too early. Print jobs are made by the backend, without cupsd.
#
# Prints a line per case and a last line with the counts.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/frame.sh"

holder=$build/tests/cli/holder
[ -x "$holder" ] || bail_out "$holder is not built (make check TESTS=)"

# --- jobs, as the cases need them ------------------------------------------

# Starts submit beside us and waits until it has said PATTERN; sets key.
begin_submit() # PATTERN FILE...
{
  local pattern=$1
  shift
  : > "$dir/out" # the shell that becomes the program may not have got there
  env --default-signal=INT "$program" -c "$conf" submit "$@" \
    > "$dir/out" 2> "$dir/err" &
  pid=$!
  until_true says "$pattern"
  has "submit says '$pattern'" "$(cat "$dir/out" "$dir/err")" "$pattern"
  key=$(sed -n 's/^Stored .* as job //p' "$dir/out")
}

leaves() # what runs beside us; sets rc
{
  { # the shell's word on it is not wanted
    until_true is_gone "$pid" || kill -KILL "$pid"
    wait "$pid"
  } 2> /dev/null
  rc=$?
  pid=
}

end_submit() # SIGNAL: sets rc
{
  kill "-$1" "$pid"
  leaves
  no_sanitizer
}

# A job whose submit failed, because the service refused the documents.
submit_failed() # FILE...
{
  faults 'create * status 400\n'
  dx submit "$@"
  faults ''
  key=$(sed -n 's/^Stored .* as job //p' "$dir/out")
}

edit() # KEY FILTER: writes another journal
{
  local f=$spool/jobs/$1/job.json
  jq "$2" "$f" > "$f.new"
  chmod 600 "$f.new"
  give "$f.new"
  mv "$f.new" "$f"
}

state() # KEY
{
  jq -r '[.submissions[].state] | join(" ")' "$spool/jobs/$1/job.json"
}

documents() # how many lie in the spool
{
  find "$spool/jobs" "$spool/incoming" -name 'document*' | wc -l
}

mrns() # what was extracted so far
{
  find "$results" -name '*.json' ! -name '*.job.json' -exec cat {} + |
    jq -r '.results.medical_data[].patient_mrn' | sort | xargs
}

sent() # how often something was registered, how often a file was taken
{
  echo "$(calls create .status==201) $(calls put .status==200)"
}

as_owner=() # before a command
[ "$(id -u)" != 0 ] ||
  as_owner=(setpriv --reuid="$owner" --regid="$group" --clear-groups)

# What cupsd runs for a job, with what our filter makes of the file.
backend() # ID FILE
{
  {
    printf '%s\n' 'DOCEXTRACT-BUNDLE 1' 'Kind: document' \
      'Type: application/pdf' 'Origin: application/pdf' 'Name: Secretname' \
      'Pages: 1' 'Grouping: separate' "Length: $(stat -c %s "$2")" \
      "SHA-256: $(sha256sum "$2" | cut -d ' ' -f 1)" ''
    cat "$2"
  } > "$dir/bundle"
  "${as_owner[@]}" env -u CUPS_SERVER DEVICE_URI=docextract://default \
    PRINTER=chart CUPS_SERVERROOT="$dir" "$build/backend/docextract" "$1" user \
    Secrettitle 1 "job-uuid=urn:uuid:$1" < "$dir/bundle" 2> "$dir/backend.err"
}

# Somebody who holds locks: docextractd, or another docextract.
locked() { grep -q locked "$dir/holder.out" || is_gone "$pid"; }
hold() # FILE...: sets pid
{
  mkfifo "$dir/holder.in"
  : > "$dir/holder.out"
  "${as_owner[@]}" "$holder" "$@" < "$dir/holder.in" > "$dir/holder.out" &
  exec 9> "$dir/holder.in"
  rm "$dir/holder.in"
  pid=$!
  until_true locked
}
let_go()
{
  exec 9>&-
  leaves
}

fresh() # an empty spool, and a service that does as it is told
{
  new_spool
  configure
  faults ''
  : > "$dir/log"
}

# --- a list of jobs --------------------------------------------------------

fresh
dx jobs
has 'jobs: an empty spool has a header only' "$rc $out" '^0 KEY +STATE +OWNER'
is 'jobs: and not a line more' "$(wc -l <<< "$out")$err" 1
dx jobs --json
is 'jobs: an empty spool is an empty list' "$rc $out" '0 []'

cp "$dir/a.pdf" "$dir/Secretname.pdf"
dx submit --title Secrettitle "$dir/Secretname.pdf" "$dir/b.pdf"
key=$(jobs)
dx jobs
row=$(tail -n 1 <<< "$out")
has 'jobs: a job is told from state to cases' "$row" \
  "^${key:0:8}  extracted +command +[0-9]+ s +2/2 +2\$"
hasnt 'jobs: no title and no file name' "$out$err" 'Secret'
dx --verbose jobs --json
hasnt 'jobs: not in the JSON either' "$out$err" 'Secret'
is 'jobs: the JSON has everything' \
  "$(jq -c '.[0] | .received_at |= (fromdate > 1600000000) |
    .submissions |= map(.source_id |= (length > 0))' <<< "$out")" \
  "$(jq -cn --arg key "$key" '{key: $key, state: "extracted",
    owner: "command", queue: null, id: null, service: "default",
    received_at: true, documents: 2, extracted: 2, cases: 2, message: null,
    pid: null, submissions: [{state: "extracted", source_id: true, cases: 1,
    reason: null}, {state: "extracted", source_id: true, cases: 1,
    reason: null}]}')"

submit_failed "$dir/a.pdf" "$dir/b.pdf"
failed_key=$key
edit "$key" '.received_at = "2020-01-01T00:00:00Z"'
dx jobs
has 'jobs: the oldest comes first' "$(sed -n 2p <<< "$out")" \
  "^${key:0:8}  failed +command +[0-9]+ d +0/2 +0  .*refused"
has 'jobs: the newest comes last' "$(sed -n 3p <<< "$out")" 'extracted'

# One that agrees with it in ten digits.
alike=${key:0:10}$(printf '%022x' 1)
[ "${key:10:1}" != 0 ] || alike=${key:0:10}1$(printf '%021x' 1)
cp -a "$spool/jobs/$key" "$spool/jobs/$alike"
edit "$alike" ".key = \"$alike\" | .submissions[0].state = \"extracted\" |
  .submissions[0].source_id = \"s\""
dx jobs
is 'jobs: keys have as many digits as tell them apart' \
  "$(sed -n '2,3s/ .*//p' <<< "$out" | sort)" \
  "$(printf '%.11s\n' "$key" "$alike" | sort)"
has 'jobs: what went wrong is told of the whole' \
  "$(grep "^${alike:0:11}" <<< "$out")" 'failed +command .* 1/2'

edit "$alike" '.submissions[1].state = "stored"'
dx jobs
has 'jobs: what nobody goes on with waits, and how to go on is told' \
  "$(grep "^${alike:0:11}" <<< "$out")" \
  "waiting +command .*docextract retry ${alike:0:8}"
edit "$alike" '.owner = "collector"'
dx jobs
has 'jobs: of what was handed over docextractd is missing' \
  "$(grep "^${alike:0:11}" <<< "$out")" \
  'waiting +docextractd .*docextractd is not running'
hold "$spool/docextractd.lock" "$spool/jobs/$alike/lock"
dx jobs --json
is 'jobs: who drives a job is told' \
  "$(jq -c ".[] | select(.key == \"$alike\") | [.state, .owner, .pid]" \
    <<< "$out")" "[\"stored\",\"collector\",$pid]"
let_go

echo '{' > "$spool/jobs/$alike/job.json"
dx jobs
is 'jobs: a damaged one is counted, the others are listed' \
  "$rc $(wc -l <<< "$out") $err" "0 3 1 damaged job in '$spool/jobs'"
is 'jobs: it stays where it is' "$(jobs | grep -c "$alike")" 1
mv "$spool/jobs/$alike" "$spool/damaged/"
mkdir "$spool/damaged/another"
dx jobs --json
is 'jobs: what was set aside is counted' \
  "$rc $(jq length <<< "$out") $err" "0 2 2 damaged jobs in '$spool/damaged'"

# --- naming a job ----------------------------------------------------------

no_job() # TEXT NAME PATTERN
{
  local verb
  for verb in retry cancel; do
    dx "$verb" "$2"
    has "$verb, $1" "$rc $err" "^65 .*$3"
  done
}
no_job 'three digits are too few' "${failed_key:0:3}" 'at least its first 4 digits'
no_job 'an unknown job' ffffffffffffffff \
  "no job 'ffffffffffffffff'.*docextract jobs"
no_job 'a path is no key' ../../etc 'not a job key'
no_job 'what is longer than a key is none' "${failed_key}0" 'not a job key'
cp -a "$spool/jobs/$failed_key" "$spool/jobs/$alike"
no_job 'of two the possibilities are told' "${failed_key:0:8}" \
  "possible jobs: ($failed_key, $alike|$alike, $failed_key)"
rm -rf "${spool:?}/jobs/$alike"

# --- retry: what failed ----------------------------------------------------

: > "$dir/log"
dx retry "${failed_key:0:6}"
is 'retry: what was refused is tried again' "$rc $err" '0 '
is 'retry: it is extracted' "$(state "$failed_key") $(mrns)" \
  'extracted extracted 1 1 2 2'
has 'retry: the last line is the file of the result' \
  "$(tail -n 1 <<< "$out")" "^$results/.*\\.json\$"
is 'retry: no document stays' "$(documents)" 0

: > "$dir/log"
dx retry "$failed_key"
has 'retry: of what is extracted it says so' "$rc $out" '^0 .*already been extracted'
is 'retry: and sends nothing' "$(wc -l < "$dir/log")" 0

fresh
start_sim
configure
faults 'create 2 status 400\n'
dx submit "$dir/a.pdf" "$dir/b.pdf"
key=$(jobs)
faults ''
: > "$dir/log"
dx retry "$key"
is 'retry: only what failed is sent again' "$rc $(sent) $(mrns)" '0 1 1 1 2'

fresh
submit_failed "$dir/a.pdf" "$dir/b.pdf"
rm "$spool/jobs/$key/document-0001"
: > "$dir/log"
dx retry "$key"
has 'retry: a document that is gone must be sent anew' "$rc $err" \
  '^65 .*document 1 is no longer here .*submitted again'
is 'retry: the other one is extracted' "$(sent) $(mrns)" '1 1 2'
dx retry "$key"
has 'retry: with nothing left to try it says so' "$rc $err" \
  'nothing in job .* can be retried'
is 'retry: nothing is sent then' "$(sent)" '1 1'

# --- retry: after a submit that ended too early ----------------------------

goes_on() # TEXT SENT: with the interrupted job
{
  dx jobs
  has "retry, $1: until then it waits" "$out" \
    "^${key:0:8}  waiting .*retry ${key:0:8}"
  dx retry "$key"
  is "retry, $1: it is extracted" "$rc $err $(state "$key") $(mrns)" \
    '0  extracted 1'
  is "retry, $1: it was sent once" "$(sent)" "$2"
  is "retry, $1: no document stays" "$(documents)" 0
  dx jobs
  has "retry, $1: nothing is wrong any more" "$out" 'extracted .* 1/1 +1$'
}

for signal in KILL INT; do
  fresh
  faults 'source * word processing\n'
  begin_submit '^Waiting for extraction' "$dir/a.pdf"
  end_submit $signal
  faults ''
  goes_on "SIG$signal during the wait" '1 1'

  fresh
  faults 'put * hang\n'
  begin_submit '^Uploading' "$dir/a.pdf"
  end_submit $signal
  faults ''
  goes_on "SIG$signal during the upload" '1 1'
done

# Another port, as after the address was set right.
stop_sim
fresh
begin_submit '^The service has been unreachable' "$dir/a.pdf"
dx jobs
has 'jobs: why a job waits is told' "$out" ' stored +command .*connect'
dx retry "$key"
has 'retry: what somebody works on is left to him' "$rc $out" \
  "^0 .*docextract is working on job $key .process $pid"
end_submit KILL
start_sim
configure
dx retry "$key"
is 'retry: nothing was sent, so it follows BaseURL' "$rc $(mrns)" '0 1'

fresh
faults 'source * word processing\n'
begin_submit '^Waiting for extraction' "$dir/a.pdf"
end_submit KILL
URL=http://127.0.0.1:9 configure
dx retry "$key"
has 'retry: what was sent keeps its BaseURL' "$rc $err" \
  "^78 .*BaseURL .*continue with: docextract retry $key"
dx jobs
has 'jobs: and says that it does' "$out" "waiting .*BaseURL"
configure
faults ''
dx retry "$key"
is 'retry: when it is set back the job goes on' "$rc $(sent)" '0 1 1'

fresh
faults 'create * status 404\n'
dx submit "$dir/a.pdf"
key=$(jobs)
is 'submit, not the service: its status' "$rc" 78
dx jobs
has 'jobs: the reason is told' "$out" "waiting .*404"
faults ''
dx retry "$key"
is 'retry: after the address was mended it is sent' "$rc $(mrns)" '0 1'

# --- retry: jobs of others -------------------------------------------------

fresh
faults 'create * status 400\n'
backend 12 "$dir/a.pdf"
faults ''
key=$(jobs)
dx jobs
has 'jobs: a print job has its name in CUPS' "$out" \
  "^${key:0:8}  failed +chart-12 .*refused"
hasnt 'jobs: and not its title' "$out" Secret
dx retry "$key"
has 'retry: a print job is CUPS'"'"'s, the command is told' "$rc $err" \
  '^65 .*lp -i chart-12 -H resume'
is 'retry: nothing is sent then' "$(sent)" '0 0'
edit "$key" '.queue = "ch\u001b[31mart"'
dx jobs
has 'jobs: control characters do no harm' "$out" ' ch\?\[31mart-12 '
edit "$key" '.queue = "chart"'
hold "$spool/jobs/$key/lock"
dx retry "$key"
has 'retry: a print job that runs is told to run' "$rc $err" \
  "^65 .*process $pid is working on it.*lp -i chart-12"
let_go
backend 12 "$dir/a.pdf"
dx retry "$key"
has 'retry: an extracted print job is extracted' "$rc $out" \
  '^0 .*already been extracted'

fresh
submit_failed "$dir/a.pdf"
edit "$key" '.owner = "collector"'
dx retry "$key"
is 'retry: without docextractd its job is driven here' "$rc $(mrns)" '0 1'
is 'retry: it stays its own' "$(jq -r .owner "$spool/jobs/$key/job.json")" \
  collector

fresh
submit_failed "$dir/a.pdf"
edit "$key" '.owner = "collector"'
"${as_owner[@]}" touch -d 2020-01-01 "$spool/jobs/$key/cancel" \
  "$spool/jobs/$key"
hold "$spool/docextractd.lock"
dx retry "$key"
has 'retry: with docextractd its job is handed over' "$rc $out" \
  '^0 .*over to docextractd'
is 'retry: ready to be taken' \
  "$(state "$key") $(ls "$spool/jobs/$key" | xargs) $(sent)" \
  'stored document-0001 job.json lock 0 0'
is 'retry: docextractd can see that' \
  "$(find "$spool/jobs/$key" -maxdepth 0 -newermt 2021-01-01 | wc -l)" 1
let_go
hold "$spool/docextractd.lock" "$spool/jobs/$key/lock"
dx retry "$key"
has 'retry: what docextractd drives is left to it' "$rc $out" \
  "^0 docextractd is working on job $key"
let_go

# --- cancel ----------------------------------------------------------------

manifest() # the outcome and the reason of the only one
{
  jq -r '"\(.outcome): \(.reason)"' "$results"/*.job.json
}

stop_sim
fresh
begin_submit '^The service has been unreachable' "$dir/a.pdf"
end_submit KILL
dx cancel "${key:0:8}"
has 'cancel: a job that nobody drives' "$rc $out" "^0 Canceled job $key"
has 'cancel: that nothing was sent is told' "$out" '^None of .* uploaded'
is 'cancel: no document stays' "$(documents)" 0
is 'cancel: who takes results is told' "$(manifest)" 'failed: canceled'
dx jobs
has 'cancel: it is listed as canceled' "$out" "^${key:0:8}  failed .*canceled"
dx cancel "$key"
has 'cancel: again it says that it is over' "$rc $out" '^0 .*already finished'
start_sim
configure
dx retry "$key"
has 'cancel: it cannot be tried again' "$rc $err" '^65 .*submitted again: canceled'
is 'cancel: nothing of it is ever sent' "$(wc -l < "$dir/log")" 0

fresh
faults 'source * word processing\n'
begin_submit '^Waiting for extraction' "$dir/a.pdf"
dx cancel "$key"
has 'cancel: a job that submit drives' "$rc $out" "^0 Canceled job $key"
has 'cancel: that the service has it is told' "$out" \
  '^The service already has 1 document; no results .* fetched'
leaves
is 'cancel: submit lets go of it' "$rc" 75
faults ''
is 'cancel: it is canceled' "$(state "$key") $(documents) $(manifest)" \
  'failed 0 failed: canceled'
: > "$dir/log"
dx retry "$key"
is 'cancel: nothing of it is fetched' "$rc $(wc -l < "$dir/log") $(mrns)" \
  '65 0 '

fresh
faults 'put * hang\n'
begin_submit '^Uploading' "$dir/a.pdf"
end_submit KILL
faults ''
dx cancel "$key"
has 'cancel: that something may have arrived is told' "$rc $out" \
  '^The service may have 1 document;'

fresh
faults 'source * word processing\n'
begin_submit '^Waiting for extraction' "$dir/a.pdf" "$dir/b.pdf"
end_submit KILL
faults ''
first=$(jq -r '.submissions[0].source_id' "$spool/jobs/$key/job.json")
edit "$key" '.submissions[0].state = "extracted"'
touch "$results/$first-kept.json"
dx cancel "$key"
has 'cancel: what was extracted stays' "$rc $out" \
  '^Earlier results stay'
is 'cancel: in the journal too' \
  "$(state "$key") $(ls "$results" | grep -c "$first-kept.json")" \
  'extracted failed 1'

fresh
dx submit "$dir/a.pdf"
dx cancel "$(jobs)"
has 'cancel: what is extracted is over' "$rc $out" \
  '^0 .*already finished: everything is extracted'
is 'cancel: and keeps its result' "$(mrns)" 1

fresh
submit_failed "$dir/a.pdf"
dx cancel "$key"
has 'cancel: what failed is over' "$rc $out" '^0 .*already finished: 0 of 1'
is 'cancel: nobody wants its document any more' "$(documents)" 0

fresh
faults 'source * word processing\n'
begin_submit '^Waiting for extraction' "$dir/a.pdf"
end_submit KILL
faults ''
SERVICE=other configure
dx cancel "$key"
has 'cancel: it works without the service in the configuration' "$rc $out" \
  "^0 Canceled job $key"
has 'cancel: that the manifest is missing is told' "$err" \
  "no manifest .*service 'default' is not in"

fresh
faults 'create * status 400\n'
backend 13 "$dir/a.pdf"
faults ''
key=$(jobs)
dx cancel "$key"
has 'cancel: a print job is CUPS'"'"'s, the command is told' "$rc $err" \
  '^65 .*: cancel chart-13$'
hold "$spool/jobs/$key/lock"
dx cancel "$key"
kill -0 "$pid"
is 'cancel: its backend is left alone' "$? $rc" '0 65'
let_go

# --- cancel: what docextractd drives ---------------------------------------

handed_over() # a job that docextractd drives; we are docextractd
{
  fresh
  submit_failed "$dir/a.pdf"
  edit "$key" '.owner = "collector" | .submissions[0].state = "stored" |
    .submissions[0].code = null | .submissions[0].reason = ""'
  hold "$spool/docextractd.lock" "$spool/jobs/$key/lock"
}
is_asked() { [ -e "$spool/jobs/$key/cancel" ]; }

handed_over
(
  until_true is_asked
  edit "$key" '.submissions[0].state = "failed" |
    .submissions[0].code = "E_CANCELED" |
    .submissions[0].reason = "canceled"'
  rm "$spool/jobs/$key/cancel"
) &
other=$!
dx cancel "$key"
wait "$other"
has 'cancel: docextractd is asked and does it' "$rc $out" \
  "^0 Canceled job $key"
kill -0 "$pid"
is 'cancel: docextractd itself goes on' "$?" 0
let_go

handed_over
dx cancel "$key"
has 'cancel: that docextractd does not answer is told' "$rc $err" \
  "^75 .*process $pid has not released job $key"
is 'cancel: its job is left alone' "$(state "$key") $(documents)" 'stored 1'
let_go
hold "$spool/jobs/$key/lock"
dx cancel "$key"
has 'cancel: a retry that drives it is ended' "$rc $out" \
  "^0 Canceled job $key"
leaves
is 'cancel: by a signal' "$rc" 143
exec 9>&-

fresh
submit_failed "$dir/a.pdf"
edit "$key" '.owner = "collector" | .submissions[0].state = "stored"'
"${as_owner[@]}" touch "$spool/jobs/$key/cancel"
dx cancel "$key"
has 'cancel: without docextractd it is done here' "$rc $out" \
  "^0 Canceled job $key"
is 'cancel: no mark is left for later' "$(is_asked && echo asked)" ''

# --- watching --------------------------------------------------------------

watch() # ARGUMENT...: beside us, into a pipe that is a file
{
  : > "$dir/out"
  env --default-signal=INT "$program" -c "$conf" jobs --watch "$@" \
    > "$dir/out" 2> "$dir/err" &
  pid=$!
}

fresh
submit_failed "$dir/a.pdf"
watch
until_true says "^${key:0:8} .* failed"
edit "$key" '.message = "something new"'
until_true says 'something new'
kill -INT "$pid"
leaves
is 'jobs --watch: ends well when interrupted' "$rc $(cat "$dir/err")" '0 '
is 'jobs --watch: a line for the header, a job and a change' \
  "$(cut -d ' ' -f 1 "$dir/out" | xargs)" "KEY ${key:0:8} ${key:0:8}"
hasnt 'jobs --watch: nothing for a terminal in a pipe' "$(cat "$dir/out")" \
  $'\033'

watch --json
until_true says 'something new'
edit "$key" '.message = "something else"'
until_true says 'something else'
kill -TERM "$pid"
leaves
is 'jobs --watch --json: a line for every change, each the whole list' \
  "$rc $(jq -c 'map(.message)' "$dir/out" | xargs)" \
  '0 [something new] [something else]'

"$program" -c "$conf" jobs --watch 2> "$dir/err" | head -n 1 > "$dir/out"
is 'jobs --watch: ends when nobody reads on' "${PIPESTATUS[0]}" 0

drawn() # N: so many screens
{
  [ "$(grep -o $'\033\\[H\033\\[J' "$dir/out" | wc -l)" -ge "$1" ] ||
    is_gone "$pid"
}
for i in $(seq 30); do
  copy=$(printf '%032x' "$i")
  cp -a "$spool/jobs/$key" "$spool/jobs/$copy"
  edit "$copy" ".key = \"$copy\" | .message = \"$(printf 'long %.0s' {1..40})\""
done
on_terminal jobs --watch
until_true drawn 2
kill -INT "$pid"
end_terminal
is 'jobs --watch: ends well on a terminal' "$rc" 0
# shellcheck disable=SC2016
screen=$(awk -v RS='\033\\[H\033\\[J' 'NR == 2' "$dir/out" | tr -d '\r')
is 'jobs --watch: a screen holds what is drawn' \
  "$(grep -c . <<< "$screen") $(grep -E '.{81}' <<< "$screen")" '23 '
has 'jobs --watch: what does not fit is counted' "$screen" '^10 older$'

TERMINAL=dumb on_terminal jobs --watch
until_true says older\|"${key:0:8}"
kill -INT "$pid"
end_terminal
hasnt 'jobs --watch: TERM=dumb is no terminal' "$out" $'\033'

end
