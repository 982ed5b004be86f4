#!/usr/bin/env bash
#
# jobs_test.sh - jobs, retry and cancel: jobs that are stored are listed,
# continued and canceled, however early a submit ended. Print jobs are made by
# the backend, without cupsd.
#
# Prints a line per case and a last line with the counts.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/frame.sh"

# --- helpers ---------------------------------------------------------------

# Submits in the background, until the command prints PATTERN; sets key.
begin_submit() # PATTERN FILE...
{
  local pattern=$1
  shift
  start_docextractd
  : > "$dir/err" # the background shell may not have opened it yet
  env --default-signal=INT "$program" -c "$conf" submit "$@" \
    > "$dir/out" 2> "$dir/err" &
  pid=$!
  until_true says "$pattern"
  has "submit prints '$pattern'" "$(cat "$dir/out" "$dir/err")" "$pattern"
  key=$(sed -n 's/^Stored .* as job //p' "$dir/err")
}

end_submit() # SIGNAL: sets rc
{
  kill "-$1" "$pid"
  reap
  no_sanitizer
}

# A job that docextractd does not drive at the moment: both were killed.
interrupt() # PATTERN FILE...
{
  begin_submit "$@"
  end_submit KILL
  stop_docextractd KILL
}

is_finished() { [ -e "$spool/finished/$1/job.json" ]; } # KEY
retried() # ARGUMENT...: retries the job, until nothing more is to be done
{
  dx retry "$@"
  until_true is_finished "$key"
}

# A job whose submit failed, because the service refused the documents.
submit_failed() # FILE...
{
  faults 'create * status 422\n'
  dx submit "$@"
  faults ''
  key=$(sed -n 's/^Stored .* as job //p' "$dir/err")
}

# The job may be on its way to finished/.
state() # KEY
{
  local place
  for place in jobs finished jobs; do
    jq -r '[.submissions[].state] | join(" ")' "$spool/$place/$1/job.json" \
      2> /dev/null && return
  done
}

documents() # how many there are in the spool
{
  find "$spool/jobs" "$spool/finished" "$spool/incoming" -name 'document*' | wc -l
}

mrns() # of all results so far
{
  find "$results" -name '*.json' ! -name '*.job.json' -exec cat {} + |
    jq -r '.results.medical_data[].patient_mrn' | sort | xargs
}

sent() # how many sources were created, how many files uploaded
{
  echo "$(calls create .status==201) $(calls put .status==200)"
}

# Runs the backend as cupsd would, with the output of our filter.
backend() # ID FILE [OPTION OF THE CLIENT]
{
  {
    entry_header "$2" application/pdf Secretname
    cat "$2"
  } > "$dir/bundle"
  backend_with_bundle "$1" "${3-}"
}

backend_with_bundle() # ID [OPTION OF THE CLIENT]
{
  start_docextractd
  "${as_owner[@]}" env -u CUPS_SERVER DEVICE_URI=docextract://default \
    PRINTER=chart CUPS_SERVERROOT="$dir" "$build/tests/helper/sealed" \
    "$build/backend/docextract" "$1" user \
    Secrettitle 1 "${2-} job-uuid=urn:uuid:$1" < "$dir/bundle" 2> "$dir/backend.err"
}

# A process that has the lock of docextractd, and does nothing else.
play_docextractd() # [SCRIPT]
{
  stop_docextractd
  printf '%b\n\nhold\n' "${1-hold}" > "$dir/script"
  : > "$dir/played.out"
  "$top/tests/cli/docextractd_played" "$spool" "$dir/script" "$dir/played" \
    > "$dir/played.out" &
  pid=$!
  until_true test -s "$dir/played.out"
}
end_play()
{
  kill "$pid"
  reap
  rm -f "$spool/docextractd.sock"
}

listed() # OPTION...: the first characters of the keys that are listed
{
  dx jobs "$@"
  tail -n +2 <<< "$out" | cut -c 1-8 | xargs
}

another_like() # KEY: another key with the same ten digits at its beginning
{
  if [ "${1:10:1}" != 0 ]; then
    printf '%.10s%022x' "$1" 1
  else
    printf '%.10s1%021x' "$1" 1
  fi
}

fresh() # an empty spool, and a service without faults
{
  new_spool
  configure
  faults ''
  : > "$dir/log"
}

section 'the list'

fresh
dx jobs
has 'jobs: an empty spool has only a header' "$rc $out" '^0 KEY +STATE +JOB +USER +TIME'
is 'jobs: and no other line' "$(wc -l <<< "$out")$err" 1
dx jobs --json
is 'jobs: an empty spool is an empty list' "$rc $out" '0 []'

cp "$dir/a.pdf" "$dir/Secretname.pdf"
dx submit --title Secrettitle "$dir/Secretname.pdf" "$dir/b.pdf"
key=$(jobs)
dx jobs
row=$(tail -n 1 <<< "$out")
has 'jobs: a row has everything from state to cases' "$row" \
  "^${key:0:8}  extracted +- +[^ ]+ +[0-9:]+ +2/2 +2  Extracted 2 cases\$"
hasnt 'jobs: no title and no file name' "$out$err" 'Secret'

# What a reader sees if it reads jobs/ before the job is moved, and finished/
# after that.
cp -a "$spool/finished/$key" "$spool/jobs"
is 'jobs: one that is finished meanwhile is listed once' "$(listed)" "${key:0:8}"
dx show "${key:0:8}"
is 'show: and is not taken for two' "$rc $err" '0 '
rm -r "$spool/jobs/$key"
dx --verbose jobs --json
hasnt 'jobs: nor in the JSON' "$out$err" 'Secret'
is 'jobs: the JSON is complete' \
  "$(jq -c '.[0] | .received_at |= (fromdate > 1600000000) |
    .submissions |= map(.source_id |= (length > 0))' <<< "$out")" \
  "$(jq -cn --arg key "$key" '{key: $key, state: "extracted",
    queue: null, id: null, service: "default",
    received_at: true, documents: 2, extracted: 2, cases: 2,
    sentence: "Extracted 2 cases", message: null,
    retry_at: null, submissions: [{state: "extracted", source_id: true, cases: 1,
    reason: null, message: null, retry_at: null}, {state: "extracted",
    source_id: true, cases: 1, reason: null, message: null,
    retry_at: null}]}')"

submit_failed "$dir/a.pdf" "$dir/b.pdf"
failed_key=$key
edit "$key" '.received_at = "2020-01-01T00:00:00Z"'
dx jobs
has 'jobs: the oldest comes first' "$(sed -n 2p <<< "$out")" \
  "^${key:0:8}  failed +- +[^ ]+ +[0-9-]+ +0/2 +0  .*rejected"
has 'jobs: the newest comes last' "$(sed -n 3p <<< "$out")" 'extracted'
edit "$key" '.submissions[0] += {hook_ms: 1, message: "OnResult failed"}'
dx jobs
has 'jobs: an OnResult that failed is listed after what has failed' \
  "$(grep "^${key:0:8}" <<< "$out")" 'rejected.*; OnResult failed$'
dx jobs --json
has 'jobs --json: also in its message' \
  "$(jq -r ".[] | select(.key == \"$key\").message" <<< "$out")" \
  "^the service responded with 422 .*; OnResult failed$"
edit "$key" '.submissions[0] |= (.hook_ms = 0 | .message = "")'

# A second job whose key has the same ten digits at its beginning.
alike=$(another_like "$key")
cp -a "$spool/jobs/$key" "$spool/jobs/$alike"
edit "$alike" ".key = \"$alike\" | .file_id = \"\" | .submissions[0].state = \"extracted\" |
  .submissions[0].source_id = \"s\" | .submissions[0].section = \"default\" |
  .submissions[0].base_url = .base_url"
dx jobs
is 'jobs: keys have as many digits as distinguish them' \
  "$(sed -n '2,3s/ .*//p' <<< "$out" | sort)" \
  "$(printf '%.11s\n' "$key" "$alike" | sort)"
has 'jobs: the worst state counts' \
  "$(grep "^${alike:0:11}" <<< "$out")" 'failed +- .* 1/2'

edit "$alike" '.submissions[1].state = "stored"'
dx jobs
has 'jobs: a job that nobody drives waits for docextractd' \
  "$(grep "^${alike:0:11}" <<< "$out")" \
  "stored +- .*: $missing\$"

damaged="the job file is damaged; to move it to '$spool/damaged', run: docextract cancel"
echo '{' > "$spool/jobs/$alike/job.json"
dx jobs
is 'jobs: a damaged job is counted, the others are listed' \
  "$rc $(wc -l <<< "$out") $err" "0 3 damaged job $alike: $damaged $alike"
is 'jobs: it is not moved' "$(jobs | grep -c "$alike")" 1
dx show "$alike"
is 'show: of a damaged job, says what to do' "$err" \
  "docextract: $damaged $alike"
mv "$spool/jobs/$alike" "$spool/damaged/"
mkdir "$spool/damaged/another"
dx jobs --json
is 'jobs: jobs in damaged/ are counted' \
  "$rc $(jq length <<< "$out") $err" \
  "0 2 2 damaged jobs in '$spool/damaged'; delete what is no longer needed"

section 'naming a job'

no_job() # TEXT NAME PATTERN
{
  local verb
  for verb in retry cancel; do
    dx "$verb" "$2"
    has "$verb, $1" "$rc $err" "^65 .*$3"
  done
}
fresh
submit_failed "$dir/a.pdf" "$dir/b.pdf"
failed_key=$key
alike=$(another_like "$key")
no_job 'three digits are too few' \
  "${failed_key:0:3}" 'at least its first 4 digits'
no_job 'an unknown job' ffffffffffffffff \
  "no job 'ffffffffffffffff'.*docextract jobs"
no_job 'a path is not a key' ../../etc 'not a job: give its key'
no_job 'too many digits' "${failed_key}0" 'not a job: give its key'
cp -a "$spool/jobs/$failed_key" "$spool/jobs/$alike"
no_job 'an ambiguous key lists the candidates' "${failed_key:0:8}" \
  "possible jobs: ($failed_key, $alike|$alike, $failed_key)"
rm -rf "${spool:?}/jobs/$alike"
stop_docextractd
mkdir "$spool/jobs/${failed_key:0:8}"{1..6}00000000000000000000000
dx show "${failed_key:0:8}"
has 'show, many candidates: five are listed' "$rc $err" \
  '^65 .*; possible jobs: ([0-9a-f]{32}, ){5}\.\.\.$'
rmdir "$spool/jobs/${failed_key:0:8}"?00000000000000000000000
dx retry $'cha\033rt-12' "${failed_key}0"
has 'retry: control characters in one of several names are not printed' \
  "$rc $err" '^65 docextract: not a job: give its key'

section 'retry: what the service refused'

fresh
dx submit "$dir/a.pdf" "$dir/b.pdf" # a job whose results stay
submit_failed "$dir/a.pdf" "$dir/b.pdf"
failed_key=$key
: > "$dir/log"
retried "${failed_key:0:6}"
is 'retry: a refused job is retried' "$rc $err $out" \
  "0  Retrying job $key; check with: docextract jobs"
is 'retry: it is extracted' "$(state "$failed_key") $(mrns)" \
  'extracted extracted 1 1 2 2'
is 'retry: the documents are deleted' "$(documents)" 0

: > "$dir/log"
dx retry "$failed_key"
has 'retry: an extracted job is reported as such' \
  "$rc $out" '^0 .*already been extracted'
is 'retry: and nothing is sent' "$(wc -l < "$dir/log")" 0

fresh
start_sim
configure
faults 'create 2 status 422\n'
dx submit "$dir/a.pdf" "$dir/b.pdf"
key=$(jobs)
faults ''
: > "$dir/log"
retried "$key"
is 'retry: only what failed is sent again' "$rc $(sent) $(mrns)" '0 1 1 1 2'

fresh
submit_failed "$dir/a.pdf" "$dir/b.pdf"
rm "$spool/jobs/$key/document-0001"
: > "$dir/log"
dx retry "$key"
has 'retry: a missing document must be submitted again' "$rc $err" \
  '^0 docextract: document 1 is no longer in the spool .*submitted again'
is_state() { [ "$(state "$key" 2> "$dir/null")" = "$1" ]; } # WORDS
check 'retry: the other document is extracted' \
  until_true is_state 'failed extracted'
is 'retry: it alone was sent' "$(sent) $(mrns)" '1 1 2'
dx retry "$key"
has 'retry: says when nothing can be retried' "$rc $(tail -n 1 <<< "$err")" \
  '^65 .*nothing in job .* can be retried'
has 'retry: and why' "$err" '^docextract: document 1 is no longer in the spool'
is 'retry: nothing is sent then' "$(sent)" '1 1'

section 'a job that was interrupted'

is_extracted() # TEXT SENT
{
  check "$1: it is extracted" until_true is_finished "$key"
  is "$1: its result is there" "$(state "$key") $(mrns)" 'extracted 1'
  is "$1: it was sent once" "$(sent)" "$2"
  is "$1: the document is deleted" "$(documents)" 0
  dx jobs
  has "$1: it has the message of the outcome" "$out" 'extracted .* 1/1 +1  Extracted 1 case$'
}

for signal in KILL INT; do
  fresh
  faults 'source * word processing\n'
  begin_submit '^The chart is with the service; waiting' "$dir/a.pdf"
  end_submit $signal
  faults ''
  is_extracted "SIG$signal to submit" '1 1'
done

for signal in KILL TERM; do
  for step in '^The chart is with the service; waiting:source * word processing' \
    '^Uploading:put * hang'; do
    fresh
    faults "${step#*:}\n"
    begin_submit "${step%%:*}" "$dir/a.pdf"
    stop_docextractd $signal
    faults ''
    start_docextractd
    reap
    is "SIG$signal to docextractd, ${step#*:}: submit follows the next one" \
      "$rc $(not_progress)" '0 '
    is_extracted "SIG$signal to docextractd, ${step#*:}" '1 1'
  done
done

# Patient data may be in it, and a signed URL.
fresh
faults 'source * word processing\n'
begin_submit '^The chart is with the service; waiting' "$dir/a.pdf"
stop_docextractd KILL
echo half > "$spool/jobs/$key/.job.json.0123456789abcdef"
start_docextractd
check 'what a killed docextractd was writing is removed' \
  until_true test ! -e "$spool/jobs/$key/.job.json.0123456789abcdef"
faults ''
reap
is_extracted 'after that' '1 1'

has_message() # PATTERN: in the list
{
  dx jobs
  grep -qE "^${key:0:8} .*$1" <<< "$out"
}

# The simulator gets another port, as if BaseURL had been corrected.
stop_sim
fresh
begin_submit '^The chart is .*; the service does not respond' "$dir/a.pdf"
until_true has_message 'trying again' # the journal is written after the note
dx jobs --json
is 'jobs: when a job was received, and when it is tried again' \
  "$(jq '.[0] | (.received_at[:4] == .retry_at[:4])' <<< "$out")" true
dx jobs
has 'jobs: the reason for waiting is shown' "$out" \
  ' stored +- .*the service does not respond, trying again: .*connect'
dx retry "$key"
is 'retry: a job that docextractd works on is tried again at once' \
  "$rc $out$err" "0 Retrying job $key; check with: docextract jobs"
end_submit KILL
start_sim
configure
retried "$key"
is 'retry: a job that was not sent follows BaseURL' "$rc $(mrns)" '0 1'

fresh
faults 'source * word processing\n'
interrupt '^The chart is with the service; waiting' "$dir/a.pdf"
URL=http://127.0.0.1:9 configure
start_docextractd
check 'a job that was sent keeps its BaseURL, and says so' \
  until_true has_message 'BaseURL of <Service default> was changed'
dx retry "$key" --service default
has 'retry: also if it is moved there' "$rc $err" \
  "^78 .*another BaseURL.*: docextract cancel $key$"
has 'retry: nothing is asked there' "$(state "$key")" '^(uploaded|processing)$'
configure
faults ''
start_docextractd
check 'the job continues once BaseURL is restored' \
  until_true is_finished "$key"
is 'it was sent once' "$(sent)" '1 1'

fresh
faults 'source * word processing\n'
interrupt '^The chart is with the service; waiting' "$dir/a.pdf"
faults ''
SERVICE=renamed configure
start_docextractd
check 'a job whose section is gone says how to go on' \
  until_true has_message 'docextract retry [0-9a-f]+ --service NAME'
dx retry "$key" --service none
has 'retry: not with a section that is not there' "$rc $err" \
  '^78 .*configured services: renamed'
dx jobs --service renamed
is 'jobs: until then it belongs to the old one' "$(wc -l <<< "$out")" 1
retried "$key" --service renamed
is 'retry: it goes on in the section that was renamed' \
  "$rc $(sent) $(mrns)" '0 1 1 1'
is 'jobs: to which it belongs now' "$(listed --service renamed)" "${key:0:8}"
configure

fresh
faults 'create * status 404\n'
dx submit "$dir/a.pdf"
key=$(jobs)
has 'submit, another server: its status, and what happens next' \
  "$rc $(tail -n 1 <<< "$err")" '^78 .*404.*docextractd continues job '
until_true has_message 404
dx jobs
has 'jobs: the reason is shown' "$out" "stored .*404"
faults ''
retried "$key"
is 'retry: it is sent at once, when BaseURL is right' "$rc $(mrns)" '0 1'

section 'retry: what failed after its upload'

failed_uploaded() # KEY
{
  edit "$1" '.submissions[0] |= (.state = "failed" | .code = "E_GONE" |
    .reason = "gone" | .cases = [] | .verify = false)'
}

fresh
faults 'source * word processing\n'
interrupt '^The chart is with the service; waiting' "$dir/a.pdf"
faults ''
failed_uploaded "$key"
retried "$key"
is 'retry: what was uploaded is asked about, not sent again' \
  "$rc $(sent) $(mrns)" '0 1 1 1'

fresh
faults 'source * word processing\n'
interrupt '^The chart is with the service; waiting' "$dir/a.pdf"
faults ''
failed_uploaded "$key"
rm "$spool/jobs/$key"/document-*
retried "$key"
is 'retry: its document is not needed for that' "$rc $(sent) $(mrns)" '0 1 1 1'

fresh
backend 12 "$dir/a.pdf"
key=$(jobs)
rm "$results"/*.json
failed_uploaded "$key"
backend 12 "$dir/a.pdf"
is 'retry: nor is a released print job sent again' \
  "$(state "$key") $(sent) $(mrns)" 'extracted 1 1 1'

section 'print jobs'

fresh
backend 12 "$dir/a.pdf" job-uuid=urn:uuid:forged
is 'print jobs: of an option that appears twice, the last is of cupsd' \
  "$(journal | jq -r .uuid)" urn:uuid:12

fresh
faults 'create * status 422\n'
backend 12 "$dir/a.pdf"
faults ''
key=$(jobs)
dx jobs
has 'jobs: a print job has its name in CUPS' "$out" \
  "^${key:0:8}  failed +chart-12 .*rejected"
hasnt 'jobs: and not its title' "$out" Secret
edit "$key" '.queue = "ch\u001b[31mart"'
dx jobs
has 'jobs: control characters do no harm' "$out" ' ch\?\[31mart-12 '
edit "$key" '.queue = "chart"'
mv "$spool/jobs/$key/document-0001" "$dir/kept"
dx retry chart-12
is 'retry: a print job with nothing here: how CUPS prints it again' \
  "$rc $out $(tail -n 1 <<< "$err")" \
  '65  docextract: this is print job chart-12; if CUPS holds it: '\
'lp -i chart-12 -H resume; if its queue is stopped: cupsenable chart'
is 'retry: nothing is sent then' "$(sent)" '0 0'
is 'retry: and nothing is changed' "$(state "$key")" failed
mv "$dir/kept" "$spool/jobs/$key/document-0001"
retried chart-12
is 'retry: one whose documents are here is sent' "$rc $(sent) $(mrns)" '0 1 1 1'
backend 12 "$dir/a.pdf"
is 'retry: and not again when CUPS releases it' "$? $(sent)" '0 1 1'
dx retry "$key"
has 'retry: an extracted print job is reported as such' "$rc $out" \
  '^0 .*already been extracted'

# CUPS may print only its job sheets, if the client did not send its document.
fresh
printf '%s' 'DOCEXTRACT-BUNDLE 1 {"kind":"sheet","type":"","origin":"",' \
  '"name":"","pages":0,"together":false,"bytes":0,"sha256":"","reason":"",' \
  $'"reason_text":""}\n' > "$dir/bundle"
backend_with_bundle 12
is 'print job: without a document it is held, and not stored' \
  "$? $(find "$spool" -name job.json)" '3 '

# A print job with a backend in the background.
begin_backend() # ID FILE PATTERN: waits for the message
{
  start_docextractd
  backend "$1" "$2" &
  pid=$!
  key=
  until_true is_listed "$3"
}
is_listed() { dx jobs; grep -qE "$1" <<< "$out" && key=$(jobs); } # PATTERN
fresh
faults 'source * word processing\n'
begin_backend 12 "$dir/a.pdf" 'processing +chart-12'
dx retry chart-12
has 'retry: a print job whose backend is there is left to docextractd' \
  "$rc $out" "^0 docextractd is processing job $key; nothing to do"
dx cancel chart-12
is 'cancel: is left to its queue, with the right command' "$rc $out$err" \
  '65 docextract: this is print job chart-12, which is being processed; '\
'cancel it with: cancel chart-12'
check 'cancel: its backend is left alone' kill -0 "$pid"
faults ''
reap
is 'and ends with the result' "$rc $(state "$key") $(mrns)" '0 extracted 1'

# Nobody says whether this print job is still wanted: its cupsd has given no
# answer for two days.
undecided()
{
  fresh
  faults 'create * status 422\n'
  backend 12 "$dir/a.pdf"
  faults ''
  : > "$dir/log"
  key=$(jobs)
  edit "$key" '.submissions[0].state = "stored" | .submissions[0].code = null |
    .submissions[0].reason = "" | .print.backend = "ended" |
    .print.unclear_ms = (now * 1000 - 172800000 | floor)'
  start_docextractd
  until_true is_listed '^[0-9a-f]+ +undecided +chart-12'
}
undecided
dx jobs
has 'undecided: the list has both commands' "$out" \
  "to send it: docextract retry ${key:0:8}; to cancel it: docextract cancel ${key:0:8}$"
is 'undecided: it can be selected' "$(listed --state undecided)" "${key:0:8}"
dx show chart-12
has 'undecided: show has them, too' "$rc $(tail -n 1 <<< "$err")" \
  "^75 .*needs a decision.*docextract retry ${key:0:8}.*docextract cancel ${key:0:8}"
dx metrics
has 'undecided: the metrics count it' "$out" '^docextract_.*undecided.* 1$'
stop_docextractd
has "undecided: it stays so without docextractd" "$(listed --state undecided)" \
  "${key:0:8}"
is 'undecided: nothing is sent' "$(sent) $(documents)" '0 0 1'
retried chart-12
is 'undecided: retry sends it' "$rc $(sent) $(mrns)" '0 1 1 1'
undecided
dx cancel chart-12
has 'undecided: cancel gives it up' "$rc $out" "^0 Canceled job $key"
is 'undecided: nothing of it was sent' "$(sent) $(documents)" '0 0 0'

section 'all of them'

undecided
undecided_key=$key
submit_failed "$dir/b.pdf"
failed_key=$key
: > "$dir/log"
dx retry --all
is 'retry --all: only what failed' "$rc $out$err" \
  '0 Retrying 1 job; check with: docextract jobs'
check 'retry --all: it is extracted' until_true is_finished "$failed_key"
is 'retry --all: it alone is sent' "$(sent) $(state "$undecided_key")" \
  '1 1 stored'
dx cancel --all
is 'cancel --all: not what needs a decision' \
  "$rc $out $(state "$undecided_key")" '0 Canceled 0 jobs stored'
dx retry --all --state undecided --service other
is 'retry --all: another section has none' "$rc $out" '0 Retrying 0 jobs'
dx retry --all --state undecided --queue CHART
is 'retry --all: decides if that state is given' "$rc $out" \
  '0 Retrying 1 job; check with: docextract jobs'
check 'retry --all: then it is extracted' until_true is_finished "$undecided_key"
undecided
submit_failed "$dir/b.pdf"
rm "$spool/jobs/$key/document-0001"
dx retry --all
is 'retry --all: not what has no documents' "$rc $out" '0 Retrying 0 jobs'
dx retry --all --state failed
has 'retry --all: unless it is asked for' "$rc $out" '^65 Retrying 0 jobs$'
has 'retry --all: each error has its job' "$err" \
  "^docextract: $key: nothing in job .* can be retried"
has 'retry --all: and the last one the count' "$(tail -n 1 <<< "$err")" \
  '^docextract: 1 of 1 failed$'
dx cancel --all --state failed
is 'cancel --all: all in a state' "$rc $out $(state "$key")" \
  '0 Canceled 1 job canceled'
dx cancel --all --state undecided
is 'cancel --all: decides if that state is given' "$rc $out $(documents)" \
  '0 Canceled 1 job 0'
does_not_fit() # PATTERN ARGUMENT...
{
  dx "${@:2}"
  has "'${*:2}' is refused" "$rc $err" "^64 docextract: $1\$"
}
does_not_fit "'retry' takes JOB..., or --all for all jobs" retry
does_not_fit "'cancel' takes either JOB... or --all" cancel --all chart-12
does_not_fit '--state selects jobs, and requires --all' \
  retry chart-12 --state failed
does_not_fit '--queue selects jobs, and requires --all' \
  cancel chart-12 --queue chart
does_not_fit '--service selects jobs, and requires --all' \
  cancel chart-12 --service default
does_not_fit "jobs in state 'extracted' have finished; there is nothing to retry" \
  retry --all --state extracted
does_not_fit "unknown state 'lost'; possible states: .*" retry --all --state lost
does_not_fit "'retry' does not accept --user" retry --all --user ann

section 'cancel'

manifest() # outcome and reason of the only one
{
  jq -r '"\(.outcome): \(.reason)"' "$results"/*.job.json
}

stop_sim
fresh
interrupt '^The chart is .*; the service does not respond' "$dir/a.pdf"
dx cancel "${key:0:8}"
has 'cancel: a job that waits' "$rc $out" "^0 Canceled job $key"
has 'cancel: says that nothing was sent' "$out" '^None of .* uploaded'
is 'cancel: the document is deleted' "$(documents)" 0
is 'cancel: the manifest says so' "$(manifest)" 'failed: canceled'
dx jobs
has 'cancel: it is listed as canceled' "$out" \
  "^${key:0:8}  canceled +- +[^ ]+ +[0-9:]+ +0/1 +0  [^:]*: it was canceled\$"
dx cancel "$key"
has 'cancel: a second time the job has already finished' \
  "$rc $out" '^0 .*already finished'
start_sim
configure
dx retry "$key"
has 'cancel: it cannot be retried' "$rc $err" '^65 .*nothing in job .* can be retried'
is 'cancel: nothing of it is ever sent' "$(wc -l < "$dir/log")" 0

fresh
faults 'source * word processing\n'
begin_submit '^The chart is with the service; waiting' "$dir/a.pdf"
dx cancel "$key"
has 'cancel: a job that submit follows' "$rc $out" "^0 Canceled job $key"
has 'cancel: says that the service has it' "$out" \
  '^The service already has 1 document; no results .* fetched'
reap
has 'cancel: submit ends' "$rc" '^[1-9]'
hasnt 'cancel: and offers no retry' "$(cat "$dir/err")" retry
is 'cancel: it is canceled' "$(state "$key") $(documents) $(manifest)" \
  'canceled 0 failed: canceled'
faults ''
: > "$dir/log"
dx retry "$key"
is 'cancel: no result is fetched' "$rc $(wc -l < "$dir/log") $(mrns)" \
  '65 0 '

fresh
faults 'put * hang\n'
interrupt '^Uploading' "$dir/a.pdf"
dx cancel "$key"
has 'cancel: says that the service may have it' "$rc $out" \
  '^The service may have 1 document;'
faults ''

fresh
faults 'source * word processing\n'
interrupt '^The chart is with the service; waiting' "$dir/a.pdf" "$dir/b.pdf"
first=$(jq -r '.submissions[0].source_id' "$(job_dir "$key")/job.json")
edit "$key" '.submissions[0].state = "extracted"'
touch "$results/$first-kept.json"
dx cancel "$key"
has 'cancel: results stay' "$rc $out" \
  '^Earlier results stay'
is 'cancel: also in the journal' \
  "$(state "$key") $(ls "$results" | grep -c "$first-kept.json")" \
  'extracted canceled 1'
faults ''

fresh
dx submit "$dir/a.pdf"
dx cancel "$(jobs)"
has 'cancel: an extracted job has already finished' "$rc $out" \
  '^0 .*already finished: everything is extracted'
is 'cancel: and its result stays' "$(mrns)" 1

fresh
submit_failed "$dir/a.pdf"
dx cancel "$key"
has 'cancel: a failed job is given up' "$rc $out" "^0 Canceled job $key"
is 'cancel: its document is deleted' "$(documents)" 0

fresh
faults 'source * word processing\n'
interrupt '^The chart is with the service; waiting' "$dir/a.pdf"
faults ''
SERVICE=other configure
dx cancel "$key"
has 'cancel: works without the service in the configuration' "$rc $out" \
  "^0 Canceled job $key"
has 'cancel: says that the manifest is missing' "$out$err" \
  "no manifest .*service 'default' is not in"
configure

fresh
faults 'create * status 422\n'
backend 13 "$dir/a.pdf"
faults ''
key=$(jobs)
dx cancel chart-13
has 'cancel: a print job that failed is given up' "$rc $out" \
  "^0 Canceled job $key"
is 'cancel: its document is deleted' "$(state "$key") $(documents)" 'canceled 0'

fresh
submit_failed "$dir/a.pdf"
stop_docextractd
echo '{' > "$spool/jobs/$key/job.json"
dx cancel "$key"
is 'cancel: a job that cannot be read is moved aside' \
  "$rc $out $(ls "$spool/damaged" | wc -l) $(jobs)" \
  "0 Moved job $key, whose job file cannot be read, to '$spool/damaged' 1 "
stop_docextractd
play_docextractd # and does not respond
mkdir "$spool/received/$key.0123456789abcdef"
give "$spool/received"
dx jobs
is 'jobs: a receipt that cannot be read is counted' "$rc $err" \
  "0 damaged job $key: the job file is missing; to move it to '$spool/damaged', run: docextract cancel $key
1 damaged job in '$spool/damaged'; delete what is no longer needed"
end_play

section 'no docextractd runs'

# The commands that read do without it.
fresh
submit_failed "$dir/a.pdf"
stop_docextractd
for verb in jobs "show $key" metrics config 'purge --dry-run'; do
  # shellcheck disable=SC2086
  "$program" -c "$conf" $verb > "$dir/out" 2> "$dir/err"
  hasnt "$verb: needs no docextractd" "$(cat "$dir/err")" 'not running'
done
for verb in "retry $key" "cancel $key" 'jobs --seen' hello; do
  # shellcheck disable=SC2086
  "$program" -c "$conf" $verb > "$dir/out" 2> "$dir/err"
  has "$verb: names what starts it" "$? $(cat "$dir/err")" "^78 docextract: .*$missing\$"
done
is 'and the job is as it was' "$(state "$key")" failed
edit "$key" '.submissions[0].state = "stored"'
has 'jobs JOB: what to do is to start it' \
  "$("$program" -c "$conf" jobs "$key" 2>&1)" "^To do +$missing\$"

section 'docextractd loads its configuration'

# To clients, a spool that is not locked is one without docextractd.
start_docextractd
perl -MFcntl -e '
  open my $lock, "+<", $ARGV[0] or die;
  for ($free = 0; ! -e $ARGV[1];) {
    fcntl($lock, F_GETLK, my $who = pack("s s x![q] q q i x![q]", F_WRLCK)) or
      die;
    $free++ if unpack("s", $who) == F_UNLCK;
  }
  print $free' "$spool/docextractd.lock" "$dir/reloaded" > "$dir/free" &
watcher=$!
loads() { grep -cx ready "$dir/driver.err"; }
has_loaded() { [ "$(loads)" -gt "$before" ]; }
for _ in {1..60}; do
  before=$(loads)
  kill -HUP "$driver"
  until_true has_loaded
done
touch "$dir/reloaded"
wait "$watcher"
is 'the spool stays locked while docextractd loads its configuration' \
  "$? $(cat "$dir/free")" '0 0'

section 'a print job by its name, and several jobs'

fresh
backend 12 "$dir/a.pdf"
printed=$(jobs)
dx show chart-12
has 'a print job is found by its name' "$rc $out" '^Patient: Ann Ahrens'
dx show CHART-12
is 'as in CUPS, in capital letters, too' "$rc" 0
for name in chart-1 chart-123 hart-12; do
  dx retry "$name"
  has "but not as $name" "$rc $err" "^65 .*no job '$name'"
done
for name in chart- -12 12 chart-1x 'cha/rt-12' $'cha\033rt-12'; do
  dx retry -- "$name"
  has "$(printf '%q' "$name") is no name of a job" "$rc $err" \
    '^65 .*not a job: give its key'
done

submit_failed "$dir/b.pdf"
dx show "${printed:0:8}" "$key" chart-12
is 'show: what can be shown of several jobs is' \
  "$(grep -c '^Patient: Ann' <<< "$out")" 2
has 'show: what cannot is named' "$err" "^docextract: $key: job .* no results"
has 'show: and counted' "$rc $(tail -n 1 <<< "$err")" '^65 .*: 1 of 3 failed$'
edit "$key" '.submissions[0].state = "stored" | .submissions[0].reason = ""'
dx show "$key" chart-12
is 'several jobs: one that may still succeed' "$rc" 75
for several in "$key fffff" "fffff $key"; do
  # shellcheck disable=SC2086
  dx show $several
  is "several jobs: what will not succeed counts" "$rc" 65
done
edit "$key" '.submissions[0].state = "failed"'

again=$(printf '%032x' 1)
cp -a "$spool/finished/$printed" "$spool/finished/$again"
edit "$again" ".key = \"$again\" | .received_at = \"2026-01-31T12:00:00Z\""
dx show chart-12
has 'a number that CUPS has used again is ambiguous' "$rc $err" \
  '^65 .*reused this number; possible jobs: '
has 'the jobs are listed, each with its time' "$err" \
  " $again .2026-01-31T12:00:00Z."
rm -r "${spool:?}/finished/$again"

retried chart-12 "$key"
has 'retry: several jobs' "$rc $out" "^0 Everything in job $printed"
has 'retry: the second one, too' "$out" "^Retrying job $key"
is 'retry: it is extracted' "$(state "$key")" extracted
submit_failed "$dir/b.pdf"
dx cancel fffff "$key"
has 'cancel: goes on after a job that is not there' "$rc $out" \
  "^65 Canceled job $key"
has 'cancel: it is listed as canceled' "$(listed --state canceled)" "${key:0:8}"

dx purge --dry-run "$key"
is 'purge JOB: would remove a canceled job' "$rc $out $(job_dir "$key")" \
  "0 Would remove job $key $spool/finished/$key"
edit "$key" '.submissions[0].hook_ms = 1'
dx purge --dry-run "$key"
has 'purge JOB: not one whose OnResult is pending' "$rc $err" \
  '^65 .*not finished'
edit "$key" '.submissions[0].hook_ms = 0'
dx purge --older-than 1h "$key"
has 'purge JOB: not one that is too recent' "$rc $err" '^65 .*is not older than --older-than'
dx purge "$key" chart-12
is 'purge JOB: removes them' "$rc $(grep -c '^Removed job' <<< "$out")" '0 2'
is 'purge JOB: and no result' "$(job_dir "$key")$(job_dir "$printed") $(mrns)" \
  ' 1 2'
submit_failed "$dir/b.pdf"
dx purge "$key"
has 'purge JOB: not one that failed' "$rc $err" \
  "^65 .*not finished; .* docextract cancel $key"
is 'purge JOB: it is kept' "$(job_dir "$key")" "$spool/jobs/$key"
dx cancel "$key"
play_docextractd \
  '? purge\n> error E_JOB it is retried\n\n? purge\n> error E_BUSY it is used'
"$program" -c "$conf" purge --older-than 0s > "$dir/out" 2> "$dir/err"
is 'purge: what has changed meanwhile is kept' \
  "$? $(cat "$dir/err") $(xargs < "$dir/out")" \
  '0  Removed 0 finished jobs Kept 2: unfinished'
end_play
touch -d '8 days ago' "$spool/finished/$key/job.json"
dx purge
has 'purge: removes canceled jobs' "$rc $out" '^0 Removed [0-9]+ finished job'
is 'purge: this one' "$(job_dir "$key")" ''

section 'jobs: which, and in which order'

fresh
backend 12 "$dir/a.pdf"
printed=$(jobs)
submit_failed "$dir/a.pdf"
failed_key=$key
dx submit "$dir/b.pdf"
submitted=$(jobs | grep -v "$printed\|$failed_key")
edit "$printed" '.user = "ann" | .received_at = "2026-01-31T12:00:00.200Z"'
edit "$failed_key" '.received_at = "2026-01-31T12:00:00.300Z"'
edit "$submitted" '.received_at = "2026-01-31T12:00:00.100Z"'
is 'jobs: the order is right within a second' "$(listed)" \
  "${submitted:0:8} ${printed:0:8} ${failed_key:0:8}"
is 'jobs --state: only jobs in this state' "$(listed --state failed)" \
  "${failed_key:0:8}"
is 'jobs --queue: only jobs of this queue, in any case' \
  "$(listed --queue Chart)" "${printed:0:8}"
is 'jobs --user: only jobs of this user' "$(listed --user ann)" \
  "${printed:0:8}"
is 'jobs --user: who submitted it' "$(listed --user "$(id -un)")" \
  "${submitted:0:8} ${failed_key:0:8}"
is 'jobs --service: only jobs of this service' \
  "$(listed --service default | wc -w) $(listed --service other | wc -w)" '3 0'
is 'jobs: all filters count' \
  "$(listed --queue chart --state failed) $(listed --queue chart --user ann)" \
  " ${printed:0:8}"
dx jobs --json --user ann
is 'jobs --json: filtered, too, without the user' \
  "$(jq -r '.[].key' <<< "$out") $(grep -c '"ann"' <<< "$out")" "$printed 0"
dx jobs --state 'done'
has 'jobs --state: an unknown state is a usage error that lists all' "$rc $err" \
  "^64 docextract: unknown state 'done'; possible states: undecided stored .* expired\$"

touch -d '2 days ago' "$spool"/{jobs,finished}/*/job.json
is 'jobs: what was finished more than a day ago is left out' "$(listed)" \
  "${failed_key:0:8}"
dx jobs
is 'jobs: and counted' "$rc $err" '0 2 jobs finished more than a day ago; '"\
to list all: docextract jobs --all"
is 'jobs --all: everything is listed' "$(listed --all)" \
  "${submitted:0:8} ${printed:0:8} ${failed_key:0:8}"
dx jobs --all
is 'jobs --all: and nothing counted' "$rc $err" '0 '

dx jobs --all
has 'jobs: a job has its name in CUPS' "$out" \
  "^${printed:0:8}  extracted +chart-12 .* 1/1 +1  Extracted 1 case$"
edit "$printed" '.received_at = "2026-01-31T14:05:00Z" | .user = "ann"'
edit "$submitted" '.received_at = (now | todate) | .user = "山田太郎"'
edit "$failed_key" '.user = "ben"'
touch -d '2 days ago' "$spool"/{jobs,finished}/*/job.json
TZ=UTC0 dx jobs --all
has 'jobs: the user, and the date' "$out" \
  "^${printed:0:8}  extracted   chart-12  ann +2026-01-31 +1/1 "
has 'jobs: or the time of today' "$out" \
  "^${submitted:0:8} .* 山田太郎 +[0-2][0-9]:[0-5][0-9] +"
is 'jobs: columns line up' \
  "$(sed 's/山田太郎/12345678/' <<< "$out" | cut -c 31-33,41-43,53-54 |
    grep -cE '^  [^ ]  [^ ]  $')" 4
longest() { tr -d '\r' < "$dir/out" | wc -L; }
COLUMNS_THERE=60 on_terminal jobs --all
end_terminal
is 'jobs: on a terminal, rows are cut to its width' "$rc $(longest)" '0 60'
has 'jobs: and that is shown' "$out" $'\u2026'
COLUMNS_THERE=500 on_terminal jobs --all
end_terminal
hasnt 'jobs: no row is cut that fits' "$out" $'\u2026'
rm "$(job_dir "$printed")/job.json"
dx jobs
has 'jobs: one without its journal is damaged, not old' "$rc $(xargs <<< "$err")" \
  '^0 1 job finished more than a day ago; .* damaged job [0-9a-f]*: the job file is missing; '

fresh
submit_failed "$dir/a.pdf"
# docextractd has its lock, and leaves the journal to us.
edit "$key" '.submissions[0].state = "stored" | .message = "no connection" |
  .retry_at = "2999-01-31T14:05:00Z"'
play_docextractd
TZ=UTC0 dx jobs
has 'jobs: says when a job is tried again, in local time' "$out" \
  '0  The chart is on this computer: no connection; trying again at 14:05$'
TZ=XXX-2 dx jobs
has 'jobs: in another time zone, too' "$out" ' at 16:05$'
edit "$key" '.message_code = "E_NET"'
TZ=UTC0 dx jobs
has 'jobs: an outage as the user reads it, and its cause' "$out" \
  "0  The chart is on this computer; the service does not respond, \
trying again: no connection; trying again at 14:05$"
edit "$key" '.message_code = null'
dx jobs --json
is 'jobs --json: the message and the time are two values' \
  "$(jq -c '.[0] | [.message, .retry_at]' <<< "$out")" \
  '["no connection","2999-01-31T14:05:00Z"]'
edit "$key" '.retry_at = "2026-01-31T14:05:00Z"'
dx jobs
has 'jobs: no time that has passed' "$out" '0  The chart is on this computer: no connection$'
edit "$key" '.retry_at = "2999-01-31T14:05:00Z"'
end_play
dx jobs
has 'jobs: nor one if it is not tried again' "$out" '0  The chart is on this computer: no connection$'

section 'jobs JOB: one in detail'

fresh
dx submit --title Ahrens-4711 "$dir/a.pdf"
other_key=$(sed -n 's/^Stored .* as job //p' "$dir/err")
time='[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}'
dx jobs "${other_key:0:8}"
is 'jobs JOB: an extracted job is shown' "$rc $err" '0 '
has 'jobs JOB: its key' "$out" "^Key +$other_key$"
has 'jobs JOB: its service' "$out" '^Service +default$'
has 'jobs JOB: its state' "$out" '^State +extracted$'
for step in Registered Uploaded Processed Extracted Delivered; do
  has "jobs JOB: when it was: $step" "$out" "^  $step +$time$"
done
has 'jobs JOB: where its results are' "$out" "^  Results +$results$"
has 'jobs JOB: what to do then' "$out" \
  "^To do +look at the values: docextract show ${other_key:0:8}$"
hasnt 'jobs JOB: no title' "$out" Ahrens
submit_failed "$dir/a.pdf"
dx jobs "$key"
has 'jobs JOB: a failed one' "$out" '^State +failed$'
has 'jobs JOB: its document' "$out" '^Document +1: failed, 1 page$'
has 'jobs JOB: why' "$out" '^  Reason +.*422'
has 'jobs JOB: when' "$out" "^  Failed +$time$"
has 'jobs JOB: what to do about it' "$out" \
  "^To do +fix the cause, then send it again: docextract retry ${key:0:8}$"
dx jobs "$key" "$other_key"
is 'jobs JOB: several' "$(grep -c '^Key ' <<< "$out")" 2
dx jobs --json "$key"
is 'jobs JOB --json: only this one' "$rc $(jq -r '.[].key' <<< "$out")" "0 $key"
dx jobs --all "$key"
has 'jobs JOB: not with --all' "$rc $err" \
  '^64 docextract: JOB and --all cannot be combined$'
dx jobs 00000000
has 'jobs JOB: one that does not exist' "$rc $err" '^[1-9].*00000000'

section 'jobs --watch'

# A reader must never find half of it. Another file would be that of a copy.
replace() # KEY FILTER
{
  local f=$spool/jobs/$1/job.json
  jq "($2) | .file_id = \"\"" "$f" > "$dir/edited"
  chown --reference="$f" "$dir/edited"
  chmod --reference="$f" "$dir/edited"
  mv "$dir/edited" "$f"
}

watch() # ARGUMENT...: in the background, into a file
{
  : > "$dir/out"
  env --default-signal=INT "$program" -c "$conf" jobs --watch "$@" \
    > "$dir/out" 2> "$dir/err" &
  pid=$!
}

fresh
submit_failed "$dir/a.pdf"
other_key=$key
submit_failed "$dir/a.pdf"
replace "$other_key" '.received_at = "2020-01-01T00:00:00Z"'
watch
until_true says "^${key:0:8} .* failed"
replace "$key" '.message = "something new"'
until_true says 'something new'
kill -INT "$pid"
reap
is 'jobs --watch: exits with 0 when interrupted' "$rc $(cat "$dir/err")" '0 '
is 'jobs --watch: prints the header, the jobs and a change' \
  "$(cut -d ' ' -f 1 "$dir/out" | xargs)" \
  "KEY ${other_key:0:8} ${key:0:8} ${key:0:8}"
hasnt 'jobs --watch: no escape sequences in a pipe' "$(cat "$dir/out")" \
  $'\033'

watch --json
until_true says 'something new'
replace "$key" '.message = "something else"'
until_true says 'something else'
kill -TERM "$pid"
reap
is 'jobs --watch --json: prints the whole list for every change, on a line' \
  "$rc $(wc -l < "$dir/out") $(jq -c 'map(.message)[1]' "$dir/out" | xargs)" \
  '0 2 something new something else'

"$program" -c "$conf" jobs --watch 2> "$dir/err" | head -n 1 > "$dir/out"
is 'jobs --watch: ends when its reader is gone' "${PIPESTATUS[0]}" 0
watch
until_true says 'something else'
mv "$spool/jobs" "$dir/away"
reap
has 'jobs --watch: and when the spool is' "$rc $(cat "$dir/err")" '^74 .*jobs'

end
