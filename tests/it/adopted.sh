#!/usr/bin/env bash
#
# adopted.sh - a print job whose backend is gone for good, or that cupsd has
# forgotten: the spool owns it, and another process finishes it. What a person
# holds or cancels is not sent, what cannot be read is not replaced, and the
# spool of version 0.1.0 is adopted. Each document is sent once.
#
# docextractd looks for such jobs when it starts and every 30 seconds; SIGHUP
# makes it look at once.
. "$(dirname "$0")/lib.sh"

unfinished() { find "$spool/jobs" -name job.json; }
key_of() { unfinished | xargs -r jq -r "select(.id == \"$1\") | .key"; }
states() # KEY: of its submissions
{
  cat "$spool"/{jobs,finished}/"$1"/job.json 2> "$dir/none" |
    jq -r '.submissions[].state' | paste -sd ' '
}
owner() { jq -r .owner "$spool/jobs/$1/job.json"; } # KEY
documents() { find "$spool/jobs" "$spool/finished" -name 'document-*' | wc -l; }
state_is() { [ "$(states "$1")" = "$2" ]; } # KEY STATES
is_held() { job_is "$1" pending-held; }

daemon_says() { grep -Eq -e "$1" "$dir/daemon.new"; }
said_again() { [ "$(grep -Ec -e "$1" "$dir/daemon.new")" -gt "$2" ]; }
daemon_reloads()
{
  local before
  before=$(grep -c reloaded "$dir/daemon.new")
  kill -HUP "$DAEMON_PID"
  until_true said_again reloaded "$before"
}

daemon_looks() # after SIGHUP; all it does about a job of ours is logged
{
  local before
  before=$(grep -c 'cupsd: print job' "$dir/daemon.new")
  kill -HUP "$DAEMON_PID"
  until_true said_again 'cupsd: print job' "$before"
}

# What arrived: calls that were refused or cut off do not count.
arrived() { echo "$(calls create '.status == 201') $(calls put '.status == 200') $(n_results)"; }
arrived_is() { [ "$(arrived)" = "$1" ]; }
once() # TEXT [N]: each of N documents
{
  local n=${2:-1}
  until_true arrived_is "$n $n $n"
  is "$1: each document is sent once" "$(arrived)" "$n $n $n"
  check "$1: the job is finished" until_true nothing_is_left
}
nothing_is_left() { [ -z "$(unfinished)" ] && [ "$(documents)" = 0 ]; }

created=0 # so far: the simulator counts from its start
new_sheet()
{
  faults '#'
  created=$((created + $(calls create)))
  clear_results
  rm -rf "${spool:?}"/finished/*
}

print_chart() { print -d "${queue:-chart}" "$dir/a.pdf" "$@"; }

to_the_wait() # [LP ARGUMENT...]: prints; the extraction is awaited
{
  new_sheet
  faults 'source * word processing'
  print_chart "$@"
  until_true calls_are source $(($# + 1)) || not_ok "$t: the extraction is awaited"
  key=$(key_of "$job")
}

to_the_create() # prints; the document is stored, but cannot be registered
{
  new_sheet
  faults 'create * status 503'
  print_chart
  until_true calls_are create 1 || not_ok "$t: creating is tried"
  key=$(key_of "$job")
}

kill_backend() # cupsd is there to see it, and takes it for a success
{
  kill -KILL "$(backends)"
  job_ends "$t: cupsd counts the print job as completed" "$job" completed
}

leaves() # the backend, on SIGTERM from somebody or at its own end
{
  WAIT_S=10 until_true no_backend || not_ok "$t: the backend leaves"
}

forget() # cupsd is killed, and does not know its last job when it comes back
{
  stop_cupsd KILL
  rm -f "$cups"/spool/[cd]0* "$cups"/cache/job.cache*
}

SIM_AUTH=none start_sim --source-time 0 --case-time 0
start_cupsd
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1
chart_pdf "$dir/b.pdf" Bob Berg 2

# --- only the backend is killed --------------------------------------------

t='killed while waiting, docextractd runs'
start_daemon
to_the_wait
kill_backend
faults '#'
daemon_looks
once "$t"

t='killed while uploading, docextractd comes later'
stop_daemon
new_sheet
faults 'put * delay 600000'
print_chart
uploading()
{
  [ "$(unfinished | xargs -r jq -r '.submissions[].files[].put')" = sending ]
}
until_true uploading || not_ok "$t: it is uploaded"
kill_backend
faults '#'
start_daemon
once "$t"

t='killed while waiting, a backend comes'
stop_daemon
to_the_wait
kill_backend
first=$key
print_chart
until_true calls_are create 2
source=$(jq -r .submissions[].source_id "$spool/jobs/$(key_of "$job")/job.json")
faults "source * edit /(\"id\":\"$source\".*\"status\":)\"[a-z]*\"/\\1\"processing\"/"
until_true state_is "$first" extracted
is "$t: it is extracted while the other job waits" \
  "$(states "$first") $(job_state "$job")" 'extracted processing'
faults '#'
wait_job "$job" "$ended"
is "$t: both are sent once" "$(arrived)" '2 2 2'
check "$t: both are finished" until_true nothing_is_left

t='killed while waiting, docextract retry'
to_the_wait
kill_backend
faults '#'
dx retry "$key" > "$dir/retry" 2>&1
is "$t: it does it" "$?" 0
once "$t"

# --- cupsd has forgotten the job -------------------------------------------

adopted() # TEXT: while another job runs, most likely with the same number
{
  start_cupsd
  faults '#'
  print_chart
  until_true arrived_is '2 2 2'
  wait_job "$job" "$ended"
  until_true nothing_is_left
  is "$1: it is adopted, and sent once" "$(arrived) $(states "$key")" \
    '2 2 2 extracted'
}

t='cupsd forgets, SIGTERM'
to_the_create
forget
kill -TERM "$(backends)"
leaves
is "$t: the document stays" "$(states "$key") $(documents)" 'stored 1'
start_daemon
adopted "$t"

t='cupsd forgets, the queue would be stopped'
to_the_create
forget
faults 'create * status 404'
leaves
is "$t: the document stays" "$(states "$key") $(documents)" 'stored 1'
adopted "$t"

# --- held ------------------------------------------------------------------

t='held, one document is not sent'
new_sheet
faults "create $((created + 2))- status 503" 'source * word processing'
print_chart "$dir/b.pdf"
until_true calls_are source 1
key=$(key_of "$job")
lp -i "$job" -H hold
leaves
faults '#'
daemon_looks
check "$t: docextractd asks cupsd" daemon_says "cupsd: print job $job: held"
is "$t: it is left alone" "$(owner "$key") $(arrived)" 'cups 1 1 0'
release "$job"
is "$t: released, it is completed" "$(job_state "$job")" completed
once "$t" 2

t='held, everything is sent'
to_the_wait
lp -i "$job" -H hold
leaves
faults '#'
daemon_looks
once "$t"
release "$job"
is "$t: released, it is completed" "$(job_state "$job")" completed
once "$t, and released"

# --- canceled --------------------------------------------------------------

canceled() # TEXT: nothing was or will be sent
{
  until_true state_is "$key" canceled
  faults '#'
  daemon_reloads
  is "$1: the job is canceled" "$(states "$key")" canceled
  is "$1: nothing is sent, and nothing kept" "$(arrived) $(documents)" '0 0 0 0'
  check "$1: the job is finished" until_true nothing_is_left
}

t='canceled after its backend was killed'
to_the_create
kill_backend
daemon_looks
until_true calls_are create 2
dx cancel "$key" > "$dir/cancel"
is "$t: docextract cancel does it" "$?" 0
canceled "$t"

t='canceled while no backend runs'
to_the_create
cupsdisable chart
leaves
cancel "$job"
daemon_looks
canceled "$t"
cupsenable chart

t='canceled during the hand-over'
new_sheet
write_config 'Completion accepted'
install -m 755 "$build/tests/crash/preload.so" "$cups/bin/"
mv "$cups/bin/backend/docextract" "$cups/bin/"
cat > "$cups/bin/backend/docextract" << END
#!/bin/sh
LD_PRELOAD=$cups/bin/preload.so DX_WALK='stop journal 3 after'
export LD_PRELOAD DX_WALK
exec $cups/bin/docextract "\$@"
END
chmod 755 "$cups/bin/backend/docextract"
print_chart
handed_over()
{
  key=$(key_of "$job")
  [ -n "$key" ] && [ "$(owner "$key")" = collector ]
}
until_true handed_over || not_ok "$t: the journal says whose it is"
cancel "$job"
kill -CONT "$(backends)"
leaves
canceled "$t"
is "$t: CUPS says so, too" "$(job_state "$job")" canceled
mv "$cups/bin/docextract" "$cups/bin/backend/"
write_config
daemon_reloads

# --- failed, and printed again ---------------------------------------------

t='failed when nobody waited, and printed again'
to_the_create
kill_backend
faults 'create * status 400'
daemon_looks
until_true state_is "$key" failed
faults '#'
before=$(starts "$job")
lp -i "$job" -H restart
until_true started_again "$job" "$before"
wait_job "$job" "$ended"
is "$t: it is completed" "$(job_state "$job")" completed
once "$t"

# --- a job file that cannot be read ----------------------------------------

unreadable() # TEXT COMMAND...: what it prints becomes the job file
{
  t=$1
  shift
  to_the_create
  lp -i "$job" -H hold
  leaves
  "$@" > "$dir/job.json"
  cat "$dir/job.json" > "$spool/jobs/$key/job.json"
  faults '#'
  daemon_reloads
  release "$job"
  is "$t: the print job is held" "$(job_state "$job") $(arrived)" \
    'pending-held 0 0 0'
  has "$t: and says who has to act" "$(queue_message "$job")" \
    'administrator has to look at this: .* no longer knows whether'
  has "$t: the log says what to do" "$(job_log "$job")" "docextract cancel $key"
  dx cancel "$key" > "$dir/cancel"
  is "$t: which moves it away" \
    "$? $(find "$spool/damaged" -name "$key-*" | wc -l) $(documents)" '0 1 0'
  release "$job"
  is "$t: released, it is completed" "$(job_state "$job")" completed
  once "$t"
}

half() { head -c 200 "$spool/jobs/$key/job.json"; }
newer() { jq '.schema = 99' "$spool/jobs/$key/job.json"; }

unreadable 'a damaged job file' half
unreadable 'a newer job file' newer

# --- another name ----------------------------------------------------------

rename_section() # FROM TO
{
  sed "s/<Service $1>/<Service $2>/" "$config" > "$config.new"
  chmod 640 "$config.new"
  [ "$(id -u)" != 0 ] || chgrp "$run_group" "$config.new"
  mv "$config.new" "$config"
  lpadmin -p chart -v "docextract://$2"
}

t='the section is renamed'
stop_daemon
to_the_wait
lp -i "$job" -H hold
leaves
rename_section default lab
faults '#'
release "$job"
is "$t: the print job is completed" "$(job_state "$job")" completed
once "$t"
rename_section lab default
before=$(starts "$job")
lp -i "$job" -H restart
until_true started_again "$job" "$before"
wait_job "$job" "$ended"
once "$t back, and printed again"

# --- the spool of version 0.1.0 --------------------------------------------

# tests/it/old-spool/STATE.json are job files written by the programs of 0.1.0,
# with @NAME@ for what differs each time. All jobs are in jobs/, and their keys
# depend on the name of the service.
old_key() # CUPS ID
{
  printf 'default\0%s\0%s\0%s' "$(job_value "$1" job-uuid)" "$1" \
    "$(job_value "$1" time-at-creation | tr -dc 0-9)" | sha256sum | head -c 32
}

old_job() # STATE KEY UUID [SOURCE URL]: its directory
{
  local to=$spool/jobs/$2
  owned_dir 700 "$to"
  sed -e "s,@KEY@,$2,; s,@UUID@,$3,; s,@ID@,$job,; s,@API@,$SIM_API," \
    -e "s,@BYTES@,$(stat -c %s "$dir/sent.pdf"),; s,@SOURCE@,${4-old}," \
    -e "s,@SHA256@,$(sha256sum < "$dir/sent.pdf" | cut -d ' ' -f 1)," \
    -e "s,@URL@,$(sed 's/&/\\&/g' <<< "${5-old}")," \
    -e "s,@UNTIL@,$(date +%s -d '10 minutes')000," \
    -e "s,@NOW@,$(date -u +%FT%TZ)," "$it/old-spool/$1.json" > "$to/job.json"
  : > "$to/lock"
  chmod 600 "$to"/*
  case $1 in
  registered | handed) cp "$dir/sent.pdf" "$to/document-0001" ;;
  esac
  [ "$(id -u)" != 0 ] || chown -R "$run_user:$run_group" "$to"
}

old_print_job() # STATE [SOURCE URL]: one that waits in its queue
{
  print_chart
  printed+=" $job"
  old_job "$1" "$(old_key "$job")" "$(job_value "$job" job-uuid)" "${@:2}"
}

register() # a source, as the old version did: "ID URL"
{
  curl -sS -H 'Authorization: Bearer old' \
    -H 'Content-Type: application/json' -d "$(jq -n \
    '{files: [{content_type: "application/pdf", file_name: "a.pdf"}]}')" \
    "$SIM_API/v1/source" | jq -r '.results | "\(.id) \(.upload_urls[0].url)"'
}

t='the spool of 0.1.0'
cp "$SIM_DATA"/* "$dir/sent.pdf"
new_sheet
cupsdisable chart
printed=
old_print_job extracted
read -r id url <<< "$(register)"
old_print_job registered "$id" "$url"
read -r id url <<< "$(register)"
curl -sS -H 'Content-Type: application/pdf' -T "$dir/sent.pdf" "$url"
old_print_job processing "$id" "$url"
old_print_job failed
old_job handed 0123456789abcdef0123456789abcdef urn:uuid:old
start_daemon
until_true arrived_is '3 2 1'
is "$t: what was handed over is sent, and nothing else" "$(arrived)" '3 2 1'
cupsenable chart
for job in $printed; do
  job_ends "$t: print job $job of$printed is completed" "$job" completed
done
once "$t" 4
is "$t: every job is found under its old key" \
  "$(find "$spool/finished" -name job.json | wc -l)" 5
