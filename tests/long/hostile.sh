#!/usr/bin/env bash
#
# hostile.sh - print jobs, with and without a backend, and a compromised
# service: invalid responses, one byte per second, a clock in the next century,
# upload URLs to this computer. It takes four minutes, most of them waiting.
# tests/hostile/service.sh has more, for the command.
. "$(dirname "$0")/../it/lib.sh"
. "$top/tests/hostile/lib.sh"

raw_log=$dir/raw.log

start_service() # RULE...: tests/hostile/raw-service instead of the simulator
{
  stop_sim
  rm -f "$dir/ready" "$raw_log"
  setsid "$build/tests/hostile/raw-service" "$dir/ready" "$raw_log" "$@" &
  SIM_PID=$!
  until_true raw_is_up_or_gone "$SIM_PID"
  [ -e "$dir/ready" ] || give_up 'the raw service starts'
  SIM_API=http://127.0.0.1:$(cat "$dir/ready")
}

start_all
"$it/mkpdf" "$dir/a.pdf" 'Patient: Ann Ahrens|MRN: 1'
documents=()
for n in 1 2 3 4 5 6 7 8; do
  cp "$dir/a.pdf" "$dir/$n.pdf"
  documents+=("$dir/$n.pdf")
done

# --- every call goes wrong in some way ---------------------------------------

rules=(create:2=headers create:4=odd-source:tmp create:6=reset
  put:2=headers put:4=reset put:6=redirect:307 put:8=early
  source:2=interim source:4=chunk:zz source:6=cases:10001
  'source:8=body:{"results":{"status":"complete","case_ids":["../../tmp/x",
    "a/b","..",".","\u001b[2J\n\u202e"]}}'
  extract:2=headers extract:3=trailers extract:4=deep
  'extract:5=behind:Content-Length: 9' extract:6=chunk:FFFFFFFFFFFFFFFFF
  'extract:7=body:{"results":{"status":"complete","id":"another"}}')

all_are_delivered() { [ "$(n_manifests)" = "${#documents[@]}" ]; }

survives() # TEXT [LINE...]: of the configuration
{
  local text=$1
  shift
  clear_results
  start_service "${rules[@]}"
  write_config 'APIRate 9' "$@"
  print -d chart "${documents[@]}"
  WAIT_S=120 wait_job "$job" "$ended"
  is "$text: the job completes" "$(job_state "$job")" completed
  check "$text: everything is delivered" until_true all_are_delivered
  is "$text: all cases are" "$(n_results)" \
    "$(jq -s '[.[].cases[]]|length' "$results"/*.job.json)"
  is "$text: names of results are harmless" \
    "$(ls "$results" | grep -vE '^[A-Za-z0-9%_.~-]+$')" ''
  hasnt "$text: no redirect is followed" "$(cat "$raw_log")" trap
  is "$text: ids are escaped in requests" \
    "$(grep -avE '^[A-Z]+ [A-Za-z0-9%_./~-]+ HTTP/1.1$' "$raw_log")" ''
}

survives attended
survives left 'Completion accepted'

# --- one byte a second -------------------------------------------------------

clear_results
start_service put:1=drip source:1=drip extract:1=drip-body
write_config 'ProcessingLimit 1m'
begin_limit
begin=$SECONDS
print -d chart "${documents[@]:0:3}"
WAIT_S=240 wait_job "$job" "$ended"
is 'one byte a second: the print job is over' "$(job_state "$job")" completed
has 'one byte a second: it says why' "$(job_message "$job")" \
  'taking longer than usual'
is 'one byte a second: the response to the upload is waited for' \
  "$(grep '^PUT' "$raw_log" | sort | uniq -c | awk '{ print $1 }' | sort |
    xargs)" '1 1 1'
check 'one byte a second: ProcessingLimit ends the call' \
  [ $((1000 * (SECONDS - begin))) -lt "$(limit_of 200000)" ]
three_results() { [ "$(n_results)" = 3 ]; }
WAIT_S=240 until_true three_results
is 'one byte a second: all documents are extracted, the overdue one too' \
  "$(n_results) $(grep -c '^POST' "$raw_log")" '3 3'

# --- a clock in the next century ---------------------------------------------

stop_sim
clear_results
start_sim
write_config
faults 'create 1 status 401 Date: Thu, 01 Jan 2099 00:00:00 GMT'
print -d chart "$dir/a.pdf"
job_ends 'a Date of 2099 is not believed' "$job" completed
is 'the next token is accepted' \
  "$(jq -s 'map(select(.status==401))|length' "$SIM_LOG")" 1

# --- where documents go, and certificates ------------------------------------

certificates
tells() # TEXT PATTERN
{
  print -d chart "$dir/a.pdf"
  until_true queue_says chart 'Contact your administrator'
  check "$1: the queue is not stopped" not queue_is_stopped chart
  has "$1: the log says why" "$(job_log "$job")" "E_(URL|PROTOCOL|CERT): .*$2"
  is "$1: no document is sent" "$(calls put)" 0
  cancel "$job"
  until_true no_backend
}

# A job that its backend has left waits for an administrator.
said_of() # FIELD CUPS JOB ID: in its journal
{
  find "$spool/jobs" -name job.json -exec \
    jq -r "select(.id == \"$2\") | .$1" {} +
}
message_has() { said_of 'submissions[0].message' "$1" | grep -q "$2"; } # ID PATTERN
waits() # TEXT PATTERN
{
  print -d chart "$dir/a.pdf"
  job_ends "$1: the backend leaves" "$job" completed
  until_true message_has "$job" "$2"
  has "$1: docextractd says why" "$(said_of 'submissions[0].message' "$job")" "$2"
  is "$1: no document is sent then, either" "$(calls put)" 0
  dx cancel "$(said_of key "$job")" > "$dir/out" 2>&1
  is "$1: it can be canceled" "$?" 0
}

start_tls_service() # NAME [LINE...]: of the certificate; of the configuration
{
  stop_sim
  clear_results
  start_sim --tls-cert "$dir/$1.pem" --tls-key "$dir/$1.key"
  BASE_URL=https://api.localhost:${SIM_API##*:} \
    write_config "CAFile $dir/ca.pem" "${@:2}"
}

odd_urls=(http://127.0.0.1:631/ https://127.0.0.1:631/
  https://169.254.169.254/ file:///etc/passwd https://storage.localhost/)
sends_nothing() # tells|waits [LINE...]: of the configuration
{
  local url end=$1
  shift
  start_tls_service good "$@"
  for url in "${odd_urls[@]}"; do
    faults "create * edit #\"url\":\"[^\"]*\"#\"url\":\"$url\"#"
    $end "an upload URL '$url'" 'upload URL'
  done
  faults ''
  start_tls_service expired "$@"
  $end 'an expired certificate' 'it has expired'
  start_tls_service wrong "$@"
  $end 'a certificate for another name' 'it is for another name'
}
sends_nothing tells
sends_nothing waits 'Completion accepted'
