# lib.sh - hostile services, for tests/hostile/service.sh and
# tests/long/hostile.sh. To be sourced by bash, after what sets dir and build.

raw_is_up_or_gone() { [ -e "$dir/ready" ] || is_gone "$1"; } # PID

start_raw() # RULE...: tests/hostile/raw-service instead of the simulator
{
  stop_sim
  rm -f "$dir/ready" "$dir/log"
  "$build/tests/hostile/raw-service" "$dir/ready" "$dir/log" "$@" &
  sim_pid=$!
  until_true raw_is_up_or_gone "$sim_pid"
  [ -e "$dir/ready" ] || bail_out 'the raw service did not start'
  api=http://127.0.0.1:$(cat "$dir/ready")
}

# Results, without manifests.
results_of_sources()
{
  find "$results" -name '*.json' ! -name '*.job.json' | wc -l
}

certificate() # NAME SUBJECT-ALT-NAME OPTION...: signed by our authority
{
  local name=$1 san=$2
  shift 2
  openssl req -newkey rsa:2048 -nodes -subj /CN=service \
    -keyout "$dir/$name.key" -out "$dir/$name.csr" 2> "$dir/openssl.err"
  openssl x509 -req -in "$dir/$name.csr" -CA "$dir/ca.pem" \
    -CAkey "$dir/ca.key" -CAcreateserial "$@" \
    -extfile <(echo "subjectAltName=$san") -out "$dir/$name.pem" \
    2> "$dir/openssl.err"
}

certificates() # ca.pem, and what it has signed: good, expired, wrong
{
  local names=IP:127.0.0.1,DNS:api.localhost,DNS:storage.localhost
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ours \
    -keyout "$dir/ca.key" -out "$dir/ca.pem" 2> "$dir/openssl.err"
  chmod 644 "$dir/ca.pem"
  certificate good "$names" -days 2
  certificate expired "$names" -days -1 || # refused by OpenSSL 3.4 and newer
    certificate expired "$names" -not_before 20200101000000Z \
      -not_after 20200102000000Z
  certificate wrong DNS:another.example -days 2
}

start_tls() { start_sim --tls-cert "$1.pem" --tls-key "$1.key"; } # NAME

# Runs the server of openssl, which sends these bytes to every client,
# regardless of the request, and then nothing.
s_server_is_up() { grep -qs '^ACCEPT' "$dir/s_server" || is_gone "$sim_pid"; }
start_s_server() # BYTES OPTION...: the bytes as for printf %b
{
  local bytes=$1
  shift
  stop_sim
  rm -f "$dir/bytes" "$dir/s_server"
  mkfifo "$dir/bytes"
  exec 8<> "$dir/bytes" # both ends: it never ends
  printf '%b' "$bytes" >&8
  openssl s_server -accept 127.0.0.1:0 -cert "$dir/good.pem" \
    -key "$dir/good.key" "$@" <&8 > "$dir/s_server" 2>&1 &
  sim_pid=$!
  until_true s_server_is_up
  exec 8>&-
  api=https://127.0.0.1:$(sed -n 's/^ACCEPT.*://p' "$dir/s_server" | head -n 1)
}
