#!/usr/bin/env bash
#
# secrets.sh - secrets and patient data are never logged: all of them contain
# markers, every path is run at the highest log level, and then all output of
# the programs and all remaining files are searched. machine.sh tests the
# process list.
. "$(dirname "$0")/../it/lib.sh"

# What our programs print is copied: cupsd's own log holds titles, too.
own=$dir/own.log
wrap() # PROGRAM
{
  local real=$cups/bin/real/${1##*/}
  mkdir -p "${real%/*}"
  mv "$1" "$real"
  # cupsd wants the URI as argv[0]
  cat > "$1" << END
#!/bin/bash
exec -a "\$0" "$real" "\$@" 2> >(tee -a $own >&2)
END
  chmod 755 "$1"
}

marks='MARK(TITLE|FILE|USER|OPTION|LAST|FIRST|MRN|KEY|CLAIM|TOKEN|QUERY|BODY|HEADER)'
never() # TEXT FILE...
{
  local text=$1
  shift
  is "$text: no patient, title, name or key" \
    "$(grep -aohE "$marks" "$@" 2>&1 | sort -u)" ''
  is "$text: no token" \
    "$(grep -aohE 'eyJ[A-Za-z0-9_-]{6}|Bearer|Authorization' "$@" | sort -u)" ''
  is "$text: no signed query" \
    "$(grep -aohE 'X-Amz-[A-Za-z]*|Signature=' "$@" | sort -u)" ''
}

# Messages, and names of open files and environments, come and go: all of them
# are collected.
look()
{
  local p
  lpstat -p chart
  job_message "$job"
  for p in $(backends) $DAEMON_PID; do
    ls -l "/proc/$p/fd"
    cat "/proc/$p/environ" "/proc/$p/comm"
  done 2> "$dir/look.err" | tr '\0' '\n'
}
watch()
{
  while sleep 0.2; do look; done >> "$dir/seen" 2> "$dir/watch.err"
}
watched() # COMMAND...: with somebody watching
{
  local watcher
  watch &
  watcher=$!
  "$@"
  kill "$watcher"
  wait "$watcher" 2> /dev/null
  look >> "$dir/seen" 2>&1
}

configure() { write_config 'TokenClaim sub MARKCLAIM' "$@"; }
print_marked() # LP ARGUMENT...
{
  print -U MARKUSER -t MARKTITLE -o MARKOPTION=1 -d chart "$@"
}
files=("$dir/MARKFILE.pdf")
try() # TEXT STATE FAULT...: one job with these faults
{
  local text=$1 state=$2
  shift 2
  clear_results
  faults "$@"
  print_marked "${files[@]}"
  watched job_ends "$text" "$job" "$state"
}
restart() { stop_sim; start_sim; configure; }

printf 'MARKKEY-%s' "$(openssl rand -hex 30)" > "$dir/key"
chmod 640 "$dir/key"
[ "$(id -u)" != 0 ] || chgrp "$run_group" "$dir/key"
LOG_LEVEL=debug2
start_sim
configure
make_cups
: > "$own" && chmod 666 "$own"
wrap "$cups/bin/backend/docextract"
wrap "$cups/bin/filter/todocextract"
start_cupsd
add_queue chart
chart_pdf "$dir/MARKFILE.pdf" MARKFIRST MARKLAST MARKMRN1
qpdf --encrypt MARKKEY owner 256 -- "$dir/MARKFILE.pdf" "$dir/MARKFILE2.pdf"
head -c 300 "$dir/MARKFILE.pdf" > "$dir/MARKFILE3.pdf"

# --- print jobs ----------------------------------------------------------

try 'without errors' completed '#'
is 'the markers did travel' "$(patients)" 'MARKLAST MARKFIRST MARKMRN1'
restart
# Several at once: each of them waits before it is tried again.
files=("$dir/MARKFILE.pdf" "$dir/MARKFILE.pdf" "$dir/MARKFILE.pdf")
try 'with errors on the way' completed \
  'create 1 status 500 MARKHEADER: MARKHEADER' 'create 2 garbage' \
  'put 1 status 403 MARKHEADER: MARKHEADER' \
  'put 1 body <Code>AccessDenied</Code><Message>MARKBODY</Message>' \
  'put 2 close' 'source 1 short' 'source 2 status 503' \
  'source 3 body {"MARKBODY": 1}' 'extract 1 body {"MARKBODY": 1}' \
  'extract 2 status 429 Retry-After: 1' 'extract 3 body MARKBODY'
restart
files=("$dir/MARKFILE.pdf")
try 'a refused source' pending-held 'create 1- status 422' \
  'create 1- body {"message": "MARKBODY"}'
faults '#'
watched release "$job"
is 'released, it is extracted' "$(job_state "$job")" completed
for file in MARKFILE2 MARKFILE3; do
  print_marked "$dir/$file.pdf"
  watched job_ends "a document that cannot be sent" "$job" pending-held
done
print_marked -o raw "$dir/MARKFILE.pdf"
job_ends 'a raw job' "$job" pending-held
restart
clear_results
faults \
  'create * edit #"http[^"?]*[?]#"ftp://MARKQUERY.example/MARKQUERY?MARKQUERY#'
print_marked "${files[@]}"
watched until_true queue_says chart 'Contact your administrator'
check 'a URL that is not used' queue_says chart 'Contact your administrator'
cancel "$job"
until_true no_backend
lpadmin -x chart
add_queue chart

# --- docextractd -----------------------------------------------------------

# Not by their number: docextractd may have gone on with other jobs, too.
is_extracted()
{
  cat "$results"/*.job.json 2> /dev/null | jq -es --arg id "$job" \
    'any(.[]; .job.id == $id and .outcome == "extracted")'
}
restart
clear_results
start_daemon
faults 'source * word processing'
print_marked "$dir/MARKFILE.pdf"
until_true calls_are source 1
kill -KILL "$(backends)"
job_ends 'a backend is killed' "$job" completed
faults '#'
kill -HUP "$DAEMON_PID"
check 'its job goes on' until_true is_extracted
configure 'Completion accepted'
kill -HUP "$DAEMON_PID"
print_marked "$dir/MARKFILE.pdf"
watched job_ends 'a backend leaves' "$job" completed
check 'and its job is extracted' until_true is_extracted

# Only root can read memory. docextractd has a token by now, and starts the
# process of the status socket again.
server() { pgrep -P "$DAEMON_PID"; }
# The address sanitizer reserves terabytes, which hold nothing of the program.
secrets_of() # PID: those that are in memory that it can write to
{
  local range from to
  while read -r range _; do
    from=$((16#${range%-*})) to=$((16#${range#*-}))
    [ $((to - from)) -lt $((1 << 30)) ] || continue
    dd "if=/proc/$1/mem" bs=4096 skip=$((from / 4096)) status=none \
      count=$(((to - from) / 4096))
  done < <(grep '^[^ ]* rw' "/proc/$1/maps") | tr '\0' '\n' |
    grep -aoE 'MARKKEY|eyJ[A-Za-z0-9_-]{6}' | sort -u
}
if [ "$(id -u)" = 0 ]; then
  serves()
  {
    "$top/tests/cli/ask" "$dir/run/status" 'jobs\n' 2> "$dir/ask.err" |
      grep -qx '{"end":true}' && server | grep -qvx "${first:-none}"
  }
  first=
  until_true serves
  first=$(server)
  kill -KILL "$first"
  check 'the status socket has a new process' until_true serves
  has 'a token is found in the memory of docextractd' \
    "$(secrets_of "$DAEMON_PID")" eyJ
  is 'and none in that of the process of the status socket' \
    "$(secrets_of "$(server)")" ''
fi
stop_daemon

# --- the command -------------------------------------------------------------

cd "$dir" || exit 1
out=$dir/command.out
command_says() # TEXT STATUS ARGUMENT...
{
  local text=$1 status=$2
  shift 2
  start_daemon
  dx --verbose "$@" >> "$out" 2>&1
  has "$text" "$? $(tail -n 1 "$out")" "^$status "
}
configure
command_says 'submit' 0 submit --title MARKTITLE MARKFILE.pdf
faults 'create * status 422' 'create * body MARKBODY'
command_says 'submit of what cannot be sent' 65 submit --title MARKTITLE \
  MARKFILE2.pdf
command_says 'submit, refused by the service' 65 submit MARKFILE.pdf
faults '#'
key=$(jq -r 'select(.id == null).key' "$spool"/jobs/*/job.json)
out=$dir/jobs.out command_says 'jobs' 0 jobs
command_says 'retry' 0 retry "$key"
command_says 'hello' 0 hello
command_says 'report' 0 report
printf '#!/bin/sh\necho MARKTOKEN >&2\nexit 1\n' > "$dir/command"
chmod 755 "$dir/command"
NO_TOKEN=1 configure 'Token command' "TokenCommand $dir/command"
sed -i /TokenClaim/d "$config"
command_says 'hello without a token' 77 hello
printf '#!/bin/sh\necho MARKTOKEN MARKTOKEN\n' > "$dir/command"
command_says 'hello with a token of two words' 77 hello
printf '#!/bin/sh\necho MARKTOKEN\n' > "$dir/command"
command_says 'hello with a token that is refused' 77 hello
configure
stop_sim
command_says 'hello without a service' 75 hello
dx config > "$dir/config.out" 2>&1

# --- what they have printed and left -------------------------------------------

stop_daemon # it would make files while they are listed
has 'our programs did log' "$(cat "$own")" 'DEBUG: cupsd: print job 1: '
cat "$dir/daemon.new" >> "$dir/daemon.err"
has 'docextractd did log' "$(cat "$dir/daemon.err")" 'POST.*(200|201)'
never 'backend and filters' "$own"
never 'what the queue says, and /proc' "$dir/seen"
never docextractd "$dir/daemon.err"
never 'the docextract command' "$out"
has 'the list of jobs says who printed' "$(cat "$dir/jobs.out")" MARKUSER
sed 's/MARKUSER//' "$dir/jobs.out" > "$dir/jobs.rest"
never 'the rest of the list' "$dir/jobs.rest"
# The claims that the administrator wrote are configuration, no secret.
never 'docextract config' <(grep -v TokenClaim "$dir/config.out")
never "the simulator's log" <(sed 's/"names":\[[^]]*\],//' "$SIM_LOG")
is 'no secret is in the spool but the signed URLs of unfinished uploads' \
  "$(grep -rlaE 'MARKKEY|MARKTOKEN|eyJ[A-Za-z0-9_-]{6}' "$spool")" ''
is 'no name of a file is a person'"'"'s' "$(find "$spool" "$cups/spool/tmp" \
  -name '*MARK*')" ''
is 'the spool is its user'"'"'s alone' "$(find "$spool" -mindepth 1 \
  -path "$results" -prune -o -type d ! -perm 700 -print \
  -o -type f ! -perm 600 -print)" ''
is 'results are for their group, and nobody else' "$(find "$results" \
  -type d ! -perm 2770 -o -type f ! -perm 640)" ''
is 'all belongs to one user' "$(find "$spool" -mindepth 1 ! -user "$run_user")" ''
