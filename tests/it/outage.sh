#!/usr/bin/env bash
#
# outage.sh [KIND...] - charts that are printed on two queues while the service,
# its storage, or what is between fails. No queue is stopped, no print job stays
# in CUPS while another one waits, and after the end every chart is extracted,
# once. tests/nightly/outages.sh runs all kinds, for longer.
. "$(dirname "$0")/lib.sh"

charts=${DX_OUTAGE_CHARTS:-6}
seconds=${DX_OUTAGE_S:-15}
[ $# -gt 0 ] || set -- reset 404

every() # ACTION: lines of the simulator, for all calls of the API
{
  printf "%s * $1\n" create source extract
}

faults_of() # KIND
{
  case $1 in
  connect) printf '%s * drop\n' connect connect-storage ;;
  reset) every drop && every reset && printf 'put * %s\n' drop reset ;;
  lost) every close && echo 'put * close' ;;
  hang) every hang ;;
  cut) every short ;;
  page) every garbage ;;
  page-201) every garbage && every 'status 201' ;;
  empty) every empty ;;
  no-json) every 'body {"results":' ;;
  failed) echo 'source * word failed' ;;
  wait-2) every 'status 503 Retry-After: 2' ;;
  storage-reset) echo 'connect-storage * drop' ;;
  storage-page) echo 'put * garbage' ;;
  storage-*) echo "put * status ${1#storage-}" ;;
  retry-*) every "status ${1#retry-}" ;;
  *) every "status $1" ;;
  esac
}

# With DX_PARTS, the kind is one of tests/nightly/parts.sh, and the network is the
# script's own.
begin_outage() # KIND
{
  if [ -n "${DX_PARTS-}" ]; then
    break_part "$1"
  else
    mapfile -t lines < <(faults_of "$1")
    faults "${lines[@]}"
  fi
}
end_outage() # KIND
{
  if [ -n "${DX_PARTS-}" ]; then
    repair_part "$1"
  else
    faults '#'
    [[ $1 != retry-* ]] || dx retry "odd-${jobs[0]}" > "$dir/retry.out"
  fi
}

# What the administrator is told about it.
cause_of() # KIND
{
  case $1 in
  connect | reset | lost) echo ' closed the connection ' ;;
  hang) echo 'did not respond completely within|(almost )?no data from or to ' ;;
  cut) echo 'is incomplete' ;;
  page | page-201) echo 'a web page' ;;
  empty | no-json) echo 'cannot understand the response to ' ;;
  failed) echo 'failed to extract it' ;;
  wait-2) echo 'requests fewer calls .*503' ;;
  storage-reset) echo "closed the connection" ;;
  storage-page) echo 'it is a web page' ;;
  storage-[45]*) echo "the storage .* ${1#storage-}" ;;
  refused) echo "cannot connect to 'api[^ ]*: Connection refused" ;;
  no-route) echo "cannot connect to 'api[^ ]*: No route to host" ;;
  dropped) echo "cannot connect to 'api[^ ]* within 10 s" ;;
  storage-refused) echo "cannot connect to 'storage[^ ]*: Connection refused" ;;
  storage-no-route) echo "cannot connect to 'storage[^ ]*: No route to host" ;;
  storage-dropped) echo "cannot connect to 'storage[^ ]* within 10 s" ;;
  dns-*) echo "cannot resolve 'api" ;;
  expired) echo "certificate of 'api.*: it has expired" ;;
  strange | ca) echo "certificate of 'api.*: its CA is unknown; set CAFile" ;;
  wrong-name) echo "certificate of 'api.*: it is for another name" ;;
  old-tls) echo "'api[^ ]* does not support TLS 1.2" ;;
  storage-expired) echo "certificate of 'storage.*: it has expired" ;;
  storage-strange)
    echo "certificate of 'storage.*: its CA is unknown; set StorageCAFile"
    ;;
  bad-gateway) echo 'responded with 502 .*api.*; it is a web page' ;;
  page-403) echo '403.*; it is a web page' ;;
  proxy-407) echo 'the proxy .* requires a password .*; set ProxyPasswordFile' ;;
  proxy-403) echo 'the proxy .* does not permit connections to .*403' ;;
  proxy-50*) echo "the proxy .* cannot connect to 'api.*50[23]" ;;
  proxy-refused) echo 'cannot connect to the proxy .*: Connection refused' ;;
  disk-*) echo 'less than 64 MiB are free in directory ' ;;
  storage-host) echo 'is not a StorageHost; add it' ;;
  key) echo 'the service rejected the token .*401' ;;
  key-unreadable) echo 'the TokenKeyFile .*/key.: Permission denied' ;;
  key-gone) echo 'the TokenKeyFile .*/key.: No such file' ;;
  address) echo 'the server at BaseURL does not respond like the service .*404' ;;
  *) echo "[^0-9]${1#retry-}[^0-9]" ;;
  esac
}

# From the end of the outage until everything continues.
patience_of() # KIND
{
  case $1 in
  hang | *dropped) echo 130 ;;
  failed) echo $((seconds > 450 ? 2 * seconds : 900)) ;;
  key* | ca | address | storage-host | retry-*) echo 30 ;; # the first call, sooner
  *expired | *strange | wrong-name | old-tls | page-403 | proxy-40*) echo 620 ;;
  302 | 40[0-79] | 418 | 42[136] | 451 | storage-40*) echo 620 ;;
  *) echo 75 ;;
  esac
}

# Until the first call, if the administrator has corrected a file, or has not
# waited.
first_call_s() # KIND
{
  case $1 in
  retry-*) echo 1 ;;
  *) echo 6 ;;
  esac
}

called() { calls_are create $((before + 1)); }
queue_of() { [ $(($1 % 2)) = 0 ] && echo even || echo odd; } # NUMBER
outage_is_over() { [ "${EPOCHREALTIME%.*}" -ge "$over_at" ]; }
are_completed() # CUPS JOB ID...
{
  local id
  for id; do [ "$(job_state "$id")" = completed ] || return 1; done
}

start_sim --source-time 0 --case-time 0
if [ -n "${DX_PARTS-}" ]; then
  . "$top/tests/nightly/parts.sh"
  start_parts "$1"
  trap 'finish end_parts' EXIT
  faults "$(storage_line)"
  mapfile -t lines < <(lines_of_parts "$1")
  write_config "${lines[@]}"
fi
start_cupsd
add_queue even
add_queue odd
start_daemon
for ((i = 1; i <= charts; i++)); do
  chart_pdf "$dir/$i.pdf" "First$i" "Last$i" "$i"
done

for kind; do
  t="an outage ($kind)"
  clear_results
  jobs=()
  begin_outage "$kind"
  over_at=$((${EPOCHREALTIME%.*} + seconds))
  for ((i = 1; i <= charts; i++)); do
    print -d "$(queue_of $i)" "$dir/$i.pdf"
    jobs+=("$job")
  done
  WAIT_S=$((seconds + 60)) until_true outage_is_over
  case $kind in
  disk-*) ;; # charts cannot be stored: they wait in CUPS
  *)
    check "$t: the queues become free" until_true are_completed \
      "${jobs[@]::charts-2}" # the last one of each queue may wait
    ;;
  esac
  for queue in even odd; do
    check "$t: queue $queue is not stopped" not queue_is_stopped $queue
    has "$t: and says what is wrong" "$(queue_state $queue)" \
      'The chart is|Contact your administrator'
  done
  case $kind in
  disk-spool) ;; # there is no job
  *) has "$t: so does jobs" "$(dx jobs)" "$(cause_of "$kind")" ;;
  esac
  begin_limit
  ended=$EPOCHREALTIME
  before=$(calls create)
  end_outage "$kind"
  case $kind in
  key* | ca | address | storage-host | retry-*)
    WAIT_S=$(patience_of "$kind") until_true called
    took=$(((${EPOCHREALTIME/./} - ${ended/./}) / 1000))
    check "$t: it goes on within $(first_call_s "$kind") s ($took ms)" \
      test "$took" -lt "$(limit_of $(($(first_call_s "$kind") * 1000)))"
    ;;
  esac
  WAIT_S=$(patience_of "$kind") until_true extracted "$charts"
  took=$(((${EPOCHREALTIME/./} - ${ended/./}) / 1000))
  check "$t: everything is extracted within $(patience_of "$kind") s ($took ms)" \
    test "$took" -lt "$(limit_of $(($(patience_of "$kind") * 1000)))"
  is "$t: once" "$(patients | sort -u | wc -l) $(n_results)" "$charts $charts"
  check "$t: every print job completes" until_true are_completed "${jobs[@]}"
done
