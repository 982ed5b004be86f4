#!/usr/bin/env bash
#
# thousand.sh - a thousand jobs outstanding in docextractd: the rate is used and
# never exceeded, nothing is lost or duplicated, memory stays small. JOBS can be
# set in the environment.
#
# The backend stores the jobs, one after another, as cupsd would run it. cupsd
# does not have these jobs, and reports that to docextractd.
. "$(dirname "$0")/../it/lib.sh"

n=${JOBS:-1000}
rate=8
longest=2 # seconds, of a source and a case together

arrived_at() # the moments of all API calls in the simulator, in milliseconds
{
  jq -r 'select(.call == "create" or .call == "source" or
    .call == "extract") | .t * 1000' "$SIM_LOG"
}
latest() # how late a call came, beside the quickest one, in ms: 100 are allowed for
{
  paste <(left_at | sort -n) <(arrived_at | sort -n) | awk '
    { took = $2 - $1
      if (NR == 1 || took < least) least = took
      if (NR == 1 || took > most) most = took }
    END { printf "%d", most - least }'
}
store() # NUMBER
{
  env -i PATH="$PATH" DEVICE_URI=docextract://default PRINTER=chart \
    CUPS_SERVERROOT="$cups/root" \
    setpriv ${lp_rights[@]+"${lp_rights[@]}"} \
    "$build/tests/helper/sealed" "$build/backend/docextract" "$1" somebody chart 1 \
    "job-uuid=urn:uuid:00000000-0000-0000-0000-$(printf %012d "$1")" \
    < "$dir/bundle" 2>> "$dir/backend.err"
}

all_extracted() { [ "$(n_manifests)" -ge "$n" ]; }

lp_rights=()
[ "$(id -u)" != 0 ] ||
  lp_rights=(--reuid "$run_user" --regid "$run_group" --clear-groups)
start_sim --source-time 1000 --case-time 1000
write_config 'Completion accepted' "APIRate $rate"
chart_pdf "$dir/a.pdf" Ann Ahrens 1
PPD=$build/ppd/docextract.ppd CUPS_SERVERROOT=$cups/root \
  "$build/todocextract" 1 somebody chart 1 '' "$dir/a.pdf" \
  > "$dir/bundle" 2> "$dir/filter.err" || give_up 'the filter makes a bundle'
start_cupsd
start_daemon
began=$(date +%s)
stored=0
for ((i = 1; i <= n; i++)); do
  store "$i" && stored=$((stored + 1))
done
is 'every job is stored' "$stored" "$n"
storing=$(($(date +%s) - began))

# A job takes three calls; docextractd began with the first job.
bound=$((3 * n * 102 / 100 / rate + longest))
WAIT_S=$((bound + 60)) until_true all_extracted ||
  not_ok 'all results arrive' "$(n_manifests) of $n"
took=$(($(date +%s) - began))
check "all results within $bound s ($took s, storing took $storing s)" \
  test "$took" -le "$bound"
is 'sent once, all of them' "$(calls create) $(calls put) $(n_results)" \
  "$n $n $n"
sent=$(left_at | most_in_a_second)
came=$(arrived_at | most_in_a_second)
check "at most 9 calls in any second where they are sent ($sent)" \
  test "$sent" -le 9
check "at most 9 calls in any second where they come in ($came, the latest $(latest) ms late)" \
  test "$came" -le 9
# A connection may break after a call was sent.
check 'every call is in the log' test "$(left_at | wc -l)" -ge \
  "$(arrived_at | wc -l)"
peak=$(awk '/^VmHWM/ { print $2 }' "/proc/$DAEMON_PID/status")
check "peak memory of docextractd below 24 MiB ($peak KiB)" \
  test "$peak" -lt 24576
echo "# $(arrived_at | wc -l) calls for $n jobs in $took s"
stop_daemon
stop_cupsd
