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

. "${BASH_SOURCE[0]%/*}/../helper/certificates.sh"

certificates() # ca.pem, and what it has signed: good, expired, wrong
{
  local names=IP:127.0.0.1,DNS:api.localhost,DNS:storage.localhost
  authority ca
  certificate ca good "$names"
  expired_certificate "$names"
  certificate ca wrong DNS:another.example
}
expired_certificate() # NAMES
{
  certificate ca expired "$1" -days -1 || # refused by OpenSSL 3.4 and newer
    certificate ca expired "$1" -not_before 20200101000000Z \
      -not_after 20200102000000Z
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
