#!/usr/bin/env bash
#
# tls.sh - a service whose certificate comes from a private authority: trusted
# if configured, otherwise never contacted.
. "$(dirname "$0")/lib.sh"

authority() # NAME
{
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" \
    -keyout "$dir/$1.key" -out "$dir/$1.pem" 2> "$dir/openssl.err"
  chmod 644 "$dir/$1.pem"
}

certificate() # AUTHORITY FILE NAMES: signed, for these alternative names
{
  openssl req -newkey rsa:2048 -nodes -subj /CN=service -keyout "$2.key" \
    -out "$2.csr" 2> "$dir/openssl.err"
  openssl x509 -req -in "$2.csr" -CA "$dir/$1.pem" -CAkey "$dir/$1.key" \
    -CAcreateserial -days 2 -extfile <(echo "subjectAltName=$3") \
    -out "$2.pem" 2> "$dir/openssl.err"
}

stops() # TEXT PATTERN: printing stops the queue, no server is contacted
{
  local before=$(jq -s length "$SIM_LOG")
  print -d chart "$dir/a.pdf"
  until_true queue_is_stopped chart
  check "$1: the queue stops" queue_is_stopped chart
  has "$1: the queue refers to the administrator" "$(queue_state chart)" \
    'Contact your administrator: '
  has "$1: the log has the reason" "$(job_log "$job")" "E_(CERT|PROTOCOL|CONFIG): .*$2"
  is "$1: the job is kept" "$(job_state "$job")" pending
  is "$1: no call was made" "$(jq -s length "$SIM_LOG")" "$before"
  cancel "$job"
  cupsenable chart
}

authority ours
authority theirs
certificate ours "$dir/server" IP:127.0.0.1
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
stops 'the wrong authority' 'certificate'
write_config
stops 'no authority named' 'certificate'
BASE_URL=${SIM_API/127.0.0.1/localhost} write_config "CAFile $dir/ours.pem"
stops 'a certificate for another name' 'certificate'
BASE_URL=http://extract.example.com write_config
stops 'no TLS beyond this machine' 'https|loopback'

write_config "CAFile $dir/ours.pem"
clear_results
print -d chart "$dir/a.pdf"
job_ends 'fixed: a print goes through' "$job" completed

# Relays connections to PORT, each after 300 ms, and prints its own port.
relay() # PORT
{
  exec perl -MIO::Socket::INET -MIO::Select -e '
    my $to = shift;
    my $in = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1");
    $| = 1;
    alarm 600; # if the test is interrupted
    $SIG{CHLD} = "IGNORE";
    print $in->sockport, "\n";
    while (my $a = $in->accept) {
      next if fork;
      select undef, undef, undef, 0.3;
      my $b = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$to") or exit;
      my $select = IO::Select->new($a, $b);
      while (1) {
        for my $from ($select->can_read) {
          sysread $from, my $bytes, 65536 or exit;
          syswrite $from == $a ? $b : $a, $bytes;
        }
      }
    }' "$1"
}

relay "${SIM_API##*:}" > "$dir/relay.port" &
relay_pid=$!
until_true test -s "$dir/relay.port"
BASE_URL=https://127.0.0.1:$(cat "$dir/relay.port") write_config \
  "CAFile $dir/ours.pem" 'APIRate 0.3'
clear_results
print -d chart "$dir/a.pdf"
WAIT_S=90 job_ends 'slow connections, and a low rate: a print goes through' \
  "$job" completed
stop_daemon
end_process "$relay_pid"
is 'each call was made once' "$(calls create) $(calls put) $(n_results)" '1 1 1'
