#!/usr/bin/env bash
#
# storm.sh - many print jobs through four queues with four services, while two
# percent of the calls fail in every way that the simulator supports, and kill
# -9 hits backends, docextractd and cupsd at random. In the end each document
# was sent once, and each result is what the service has, byte for byte;
# docextractd has not grown.
#
#   JOBS=N SEED=N SPEED=N tests/nightly/storm.sh
#
# 600 jobs take less than two minutes on two idle cores, 5000 less than twelve.
# The seed is that of the faults and of the kills.
#
# Two of the queues have Completion accepted. The other two print one job after
# the other, and no job takes less than two seconds there: time runs SPEED times
# faster for our programs (tests/crash/preload.c), and so do the four rate limits
# of 8 calls a second. The jobs are pictures, which only our filter looks at.
. "$(dirname "$0")/../it/lib.sh"

jobs=${JOBS:-600}
seed=${SEED:-20260117}
speed=${SPEED:-4}
preload=$cups/bin/preload.so
START_DAEMON="env LD_PRELOAD=$preload DX_WALK_SPEED=$speed"
queues=4
manifests_dir=$results
sims=()
submitters=()
declare -A kills=([backend]=0 [docextractd]=0 [cupsd]=0)

[ -e "$build/tests/crash/preload.so" ] ||
  give_up 'preload.so is built (make tests/crash/preload.so)'

# --- the stage -----------------------------------------------------------------

sim_dir() { echo "$dir/service$1"; } # QUEUE

# Two percent of the calls of each kind, in all the ways that leave the document
# to be sent: a refusal would hold the job until a user releases it. A call
# without response takes a minute, and is for the queues that do not wait for
# each job. The last line makes a result the same whenever it is fetched.
make_faults() # QUEUE
{
  awk -v seed="$((seed + $1))" -v jobs="$jobs" -v accepted="$(is_accepted "$1" &&
    echo 1)" '
    function add(call, actions,   list, n, i) {
      n = split(actions, list, ",")
      for (i = 1; i <= 2 * jobs; i++)
        if (rand() < 0.02)
          print call, i, list[int(rand() * n) + 1]
      if (accepted)
        print call, 3 + int(rand() * jobs / 16), "hang"
    }
    BEGIN {
      srand(seed)
      all = "status 500,status 503 Retry-After: 1,status 429 Retry-After: 1," \
        "after-status 502,header Retry-After: 1,close,drop,delay 700"
      json = ",short,drip 2,garbage,body {}"
      add("create", all json ",edit /\"[a-z_]*id\":/\"other\":/")
      add("put", all ",status 403,status 404")
      add("source", all json ",status 404,status 422,word processing,word odd")
      add("extract", all json ",status 404,status 422," \
        "edit /\"source_id\":\"[^\"]*\"/\"source_id\":\"another\"/")
    }'
  echo "$same_each_time"
}
same_each_time='extract * edit /"delta":"[0-9]*ms"/"delta":"0ms"/'

is_accepted() { [ "$1" -le 2 ]; } # QUEUE

start_service() # QUEUE
{
  local SIM_DATA SIM_LOG home
  home=$(sim_dir "$1")
  mkdir -p "$home"
  SIM_DATA=$home/data SIM_LOG=$home/log
  # shellcheck disable=SC2097,SC2098
  dir=$home start_sim --rate 0 --source-time 0 --case-time 0 \
    --token-file "$dir/token" --faults "$home/faults"
  sims[$1]=$SIM_PID
  apis[$1]=$SIM_API
  SIM_PID=
}

section() # QUEUE: of the configuration
{
  echo "</Service>"
  echo "<Service service$1>"
  echo "BaseURL ${apis[$1]}"
  echo 'Token file'
  echo "TokenFile $dir/token"
  ! is_accepted "$1" || echo 'Completion accepted'
}

# The backend as cupsd runs it, with time running faster.
hasten_backend()
{
  install -m 755 "$build/tests/crash/preload.so" "$preload"
  mkdir "$cups/bin/real"
  mv "$cups/bin/backend/docextract" "$cups/bin/real/docextract"
  cat > "$cups/bin/backend/docextract" << END
#!/bin/sh
exec env LD_PRELOAD=$preload DX_WALK_SPEED=$speed $cups/bin/real/docextract "\$@"
END
  chmod 755 "$cups/bin/backend/docextract"
}

clear_stage()
{
  local p
  for p in "${submitters[@]}"; do
    kill "$p" 2> /dev/null
    wait "$p" 2> /dev/null
  done
  stop_daemon
  stop_cupsd
  end_children
  for p in "${sims[@]}"; do end_process "$p"; done
}

# --- the jobs ------------------------------------------------------------------

# PNGs of a row of pixels, which nothing is taken out of. Their checksums go to
# $dir/documents, one line "NUMBER SUM" each.
make_pictures()
{
  mkdir "$dir/pictures"
  python3 - "$dir/pictures" "$jobs" > "$dir/documents" << 'END'
import hashlib, struct, sys, zlib

def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

for n in range(1, int(sys.argv[2]) + 1):
    png = (b"\x89PNG\r\n\x1a\n"
           + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 1, 8, 0, 0, 0, 0))
           + chunk(b"IDAT", zlib.compress(b"\0%08d" % n))
           + chunk(b"IEND", b""))
    open(f"{sys.argv[1]}/{n}", "wb").write(png)
    print(n, hashlib.sha256(png).hexdigest())
END
}

# cupsd is not killed while it accepts a job: that it may forget accepted ones
# is not tested here. There is always a submitter with the lock, so the kill of
# cupsd asks them to wait.
print_picture() # QUEUE NUMBER
{
  until [ ! -e "$dir/lp.wait" ] &&
    flock -s "$dir/lp.lock" lp -d "chart$1" -t "chart $2" \
      -o document-format=image/png "$dir/pictures/$2" > "$dir/lp.$1" 2>&1; do
    sleep 0.2
  done
}

submit() # QUEUE: its share
{
  local n
  for ((n = $1; n <= jobs; n += queues)); do
    print_picture "$1" "$n"
  done
}

# A process killed after the last write of the journal leaves a job that only
# has to be moved: the next sweep does that.
n_unfinished()
{
  find "$spool/jobs" "$spool/received" -name job.json -exec jq -r \
    'select(any(.submissions[]; .state != "extracted")) | .key' {} + | wc -l
}
nothing_is_left()
{
  ! ls "$spool/jobs" "$spool/incoming" "$spool/received" | grep -qv '^$\|:'
}
all_submitted() { ! jobs -r -p | grep -Fxq "$(printf '%s\n' "${submitters[@]}")"; }
is_quiet() { no_job_waits && [ "$(n_unfinished)" = 0 ]; }

# Documents without a manifest, as numbers.
missing()
{
  find "$manifests_dir" -name '*.job.json' -exec jq -r '
    select(.outcome == "extracted") | .files[].sha256' {} + | sort -u > "$dir/have"
  sort -k 2 "$dir/documents" | join -1 2 -2 1 -v 1 - "$dir/have" | cut -d ' ' -f 2
}

# --- the kills -----------------------------------------------------------------

# A backend that is killed before it has the document leaves nothing, and cupsd
# takes it for a success: only those that have it are killed.
kill_backend()
{
  local p victims=()
  for p in $(backends); do
    [[ "$(readlink /proc/"$p"/fd/* 2> /dev/null)" =~ $spool/(received|jobs|finished)/ ]] &&
      victims+=("$p")
  done
  [ ${#victims[@]} -gt 0 ] || return 0
  kill -KILL "${victims[RANDOM % ${#victims[@]}]}" 2> /dev/null &&
    kills[backend]=$((kills[backend] + 1))
}

kill_daemon()
{
  [ "$(n_manifests)" -lt $((jobs * 3 / 4)) ] || return 0 # the last one may grow
  { stop_daemon KILL; } 2> /dev/null # bash would report every kill
  start_daemon
  kills[docextractd]=$((kills[docextractd] + 1))
}

# The record of a job is written after the list of jobs.
is_written()
{
  local id
  for id in $(lpstat -o | sed 's/^[^ ]*-\([0-9]*\) .*/\1/'); do
    [ -e "$cups/spool/$(printf c%05d "$id")" ] || return
  done
}

kill_cupsd()
{
  [ "$(n_manifests)" -lt $((jobs * 3 / 4)) ] || return 0
  touch "$dir/lp.wait"
  exec 9> "$dir/lp.lock"
  flock 9
  until_true is_written
  { stop_cupsd KILL; } 2> /dev/null
  start_cupsd 9>&-
  exec 9>&-
  rm "$dir/lp.wait"
  kills[cupsd]=$((kills[cupsd] + 1))
}

kill_something()
{
  case $((RANDOM % 10)) in
  [0-5]) kill_backend ;;
  [6-8]) kill_daemon ;;
  9) kill_cupsd ;;
  esac
}

# --- the end -------------------------------------------------------------------

open_files() # not connections
{
  readlink /proc/"$DAEMON_PID"/fd/* | sed '/^socket:/d; s/:\[[0-9]*\]$//' | sort
}

memory_kib() # FIELD
{
  awk -v f="$1:" '$1 == f { print $2 }' "/proc/$DAEMON_PID/status"
}

# What the services have, as a consumer would fetch it: lines "SUM FILE".
fetch_again()
{
  local q
  for ((q = 1; q <= queues; q++)); do
    echo "$same_each_time" > "$(sim_dir "$q")/faults"
    mkdir -p "$dir/again"
    find "$manifests_dir" -name '*.job.json' -exec jq -r --arg s "service$q" \
      --arg api "${apis[$q]}" --arg to "$dir/again" '
      select(.service == $s) | .cases[] |
      "url = \($api)/v1/patient_case/\(.case_id)/extract\noutput = \($to)/\(.file)"' \
      {} + > "$dir/curl"
    printf 'header = "Authorization: Bearer %s"\n' "$(cat "$dir/token")" \
      >> "$dir/curl"
    curl -sS -f -K "$dir/curl" || not_ok "service $q still has its results"
  done
}

sums() # DIRECTORY
{
  (cd "$1" && find . -name '*.json' ! -name '*.job.json' ! -name '.*' \
    -printf '%P\0' | sort -z | xargs -0 -r sha256sum)
}

make_pictures
declare -a apis
(umask 027 && echo storm-token > "$dir/token")
[ "$(id -u)" != 0 ] || chgrp "$run_group" "$dir/token"
for ((q = 1; q <= queues; q++)); do
  mkdir -p "$(sim_dir "$q")"
  make_faults "$q" > "$(sim_dir "$q")/faults"
  SIM_AUTH=none start_service "$q"
done
SIM_API=${apis[1]} NO_TOKEN=1 write_config 'Token file' "TokenFile $dir/token" \
  "$(for ((q = 1; q <= queues; q++)); do section "$q"; done)"
LOG_LEVEL=warn make_cups
hasten_backend
printf 'MaxJobs 0\nPreserveJobFiles No\n' >> "$cups/cupsd.conf"
start_cupsd # and docextractd
for ((q = 1; q <= queues; q++)); do
  lpadmin -p "chart$q" -E -v "docextract://service$q" \
    -P "$build/ppd/docextract.ppd" 2> "$dir/lpadmin.err" ||
    give_up "lpadmin adds queue $q: $(cat "$dir/lpadmin.err")"
done
idle=$(open_files)
RANDOM=$((seed % 32768))
echo "# SEED=$seed JOBS=$jobs SPEED=$speed"

began=$SECONDS
for ((q = 1; q <= queues; q++)); do
  submit "$q" &
  submitters+=($!)
done
limit=$(((60 + jobs / 5) * slowest + SECONDS))
while [ "$(n_manifests)" -lt "$jobs" ] && [ $SECONDS -lt $limit ]; do
  sleep "$((RANDOM % 2)).$((RANDOM % 10))"
  kill_something
  if all_submitted && is_quiet; then break; fi
done
wait "${submitters[@]}"
submitters=()
check 'every job comes to its end' until_true is_quiet
took=$((SECONDS - began))

check 'backends and docextractd were killed' \
  test "${kills[backend]}" -gt 0 -a "${kills[docextractd]}" -gt 0
is 'no document is lost' "$(missing | paste -sd' ')" ''
is 'each was sent once' \
  "$(find "$dir"/service*/data -type f -exec sha256sum {} + | cut -d ' ' -f 1 |
    sort | cksum)" "$(cut -d ' ' -f 2 "$dir/documents" | sort | cksum)"
is 'each has one manifest that says so' \
  "$(find "$manifests_dir" -name '*.job.json' -exec jq -r '
    select(.outcome == "extracted") | .files[].sha256' {} + | sort | cksum)" \
  "$(cut -d ' ' -f 2 "$dir/documents" | sort | cksum)"
is 'each manifest names its result with its checksum' \
  "$(cd "$results" && find . -name '*.job.json' -exec jq -r '
    .cases[] | "\(.sha256)  \(.file)"' {} + | sort | cksum)" \
  "$(sums "$results" | sort | cksum)"
calls=$(cat "$dir"/service*/log | wc -l)
fetch_again
is 'each result is what the service has, byte for byte' \
  "$(sums "$results" | cksum)" "$(sums "$dir/again" | cksum)"
is 'docextractd has the same open files as at its start' "$(open_files)" "$idle"
peak=$(memory_kib VmHWM)
check "peak memory of docextractd at most 64 MiB ($peak KiB)" \
  test "$peak" -le 65536
stop_daemon
find "$spool/swept" "$spool/incoming" -depth -exec touch -d '2 hours ago' {} +
start_daemon
check 'the next sweep leaves nothing behind' until_true nothing_is_left
is 'no queue is stopped' "$(lpstat -p | grep -c disabled)" 0

echo "# $jobs jobs in $took s; killed: ${kills[backend]} backends," \
  "docextractd ${kills[docextractd]} times, cupsd ${kills[cupsd]} times"
echo "# $calls calls, without any disturbance $((4 * jobs)); load" \
  "$(cut -d ' ' -f 1-3 /proc/loadavg)"
