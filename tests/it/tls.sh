#!/usr/bin/env bash
#
# tls.sh - a service whose certificate comes from a private authority: trusted
# if configured, otherwise never contacted.
. "$(dirname "$0")/lib.sh"
. "$top/tests/helper/certificates.sh"
. "$it/relay.sh"

waits() # TEXT PATTERN: the print job waits, no server is contacted
{
  local before
  before=$(jq -s length "$SIM_LOG")
  print -d chart "$dir/a.pdf"
  until_true queue_says chart 'Contact your administrator'
  has "$1: the queue refers to the administrator" "$(queue_state chart)" \
    'Contact your administrator: .*(trying again|printing waits), nothing is lost$'
  has "$1: the log has the reason" "$(job_log "$job")" "E_(CERT|PROTOCOL|CONFIG): .*$2"
  is "$1: the job is kept" "$(job_state "$job")" processing
  is "$1: no call was made" "$(jq -s length "$SIM_LOG")" "$before"
  cancel "$job"
  job_ends "$1: it can be canceled" "$job" canceled
  until_true no_backend
}
authority ours
authority theirs
certificate ours server IP:127.0.0.1
start_sim --tls-cert "$dir/server.pem" --tls-key "$dir/server.key"
: > "$SIM_LOG"
write_config "CAFile $dir/ours.pem"
start_cupsd
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1

has 'the simulator uses TLS' "$SIM_API" '^https://'
check 'hello trusts the private authority' dx hello
check 'a proxy of the environment is not used' env \
  https_proxy=http://127.0.0.1:1 ALL_PROXY=http://127.0.0.1:1 \
  "$docextract" -c "$config" hello
print -d chart "$dir/a.pdf"
job_ends 'a print goes through' "$job" completed
is 'the values are there' "$(patients)" 'Ahrens Ann 1'
is 'API and upload went over TLS' "$(calls create) $(calls put)" '1 1'

write_config "CAFile $dir/theirs.pem"
waits 'the wrong authority' 'certificate'
write_config
waits 'no authority named' 'certificate'
BASE_URL=${SIM_API/127.0.0.1/localhost} write_config "CAFile $dir/ours.pem"
waits 'a certificate for another name' 'certificate'
BASE_URL=http://extract.example.com write_config
waits 'no TLS beyond this machine' 'https|loopback'

write_config "CAFile $dir/ours.pem"
clear_results
print -d chart "$dir/a.pdf"
job_ends 'fixed: a print goes through' "$job" completed

# The storage has a certificate of another authority.
certificate theirs storage IP:127.0.0.1
cat "$dir/storage.pem" "$dir/storage.key" > "$dir/storage.both"
stop_daemon
stop_sim
start_sim --tls-cert "$dir/server.pem" --tls-key "$dir/server.key" \
  --storage-tls "$dir/storage.both"
storage=$(sed -n 's,^storage https://,,p' "$dir/sim.ready")
write_config "CAFile $dir/ours.pem"
start_daemon
clear_results
print -d chart "$dir/a.pdf"
reports() { job_log "$job" | grep -q "$1"; }
check 'a storage of another authority: the storage is named' until_true reports \
  "E_CERT.*the certificate of .*$storage.* cannot be trusted.*set StorageCAFile"
is 'a storage of another authority: no upload was made' "$(calls put)" 0
has 'hello tests the certificate of the storage' "$(dx hello 2>&1)" \
  "the certificate of '$storage' cannot be trusted.*set StorageCAFile"
write_config "CAFile $dir/ours.pem" "StorageCAFile $dir/theirs.pem"
cupsenable chart
job_ends 'StorageCAFile: a print goes through' "$job" completed
has 'hello names the storage' "$(dx hello 2>&1)" \
  "^ok +storage +$storage, certificate trusted"
: > "$SIM_LOG"

# Each connection takes 300 ms.
relay 'select undef, undef, undef, 0.3;
  IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ARGV[0]")' "${SIM_API##*:}" \
  > "$dir/relay.port" &
relay_pid=$!
until_true test -s "$dir/relay.port"
BASE_URL=https://127.0.0.1:$(cat "$dir/relay.port") write_config \
  "CAFile $dir/ours.pem" "StorageCAFile $dir/theirs.pem" 'APIRate 0.3'
clear_results
print -d chart "$dir/a.pdf"
WAIT_S=90 job_ends 'slow connections, and a low rate: a print goes through' \
  "$job" completed
stop_daemon
end_process "$relay_pid"
is 'each call was made once' "$(calls create) $(calls put) $(n_results)" '1 1 1'
