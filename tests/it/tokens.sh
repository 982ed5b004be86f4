#!/usr/bin/env bash
#
# tokens.sh - every source of tokens, with a service that verifies them: a valid
# token is accepted, and with an invalid one the queue gives a plain reason.
# `docextract hello` reports the step that fails. Certificates are in tls.sh.
. "$(dirname "$0")/lib.sh"

make_pair() # ALGORITHM: private in $dir/ALG.key, what verifies in $dir/ALG.pub
{
  local key=$dir/$1.key pub=$dir/$1.pub
  case $1 in
  HS*)
    openssl rand -hex 64 | tr -d '\n' > "$key"
    cp "$key" "$pub"
    ;;
  RS* | PS*)
    openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$key"
    ;;
  ES256) ec_key "$key" P-256 ;;
  ES384) ec_key "$key" P-384 ;;
  ES512) ec_key "$key" P-521 ;;
  EdDSA) openssl genpkey -algorithm ed25519 -out "$key" ;;
  esac 2> "$dir/openssl.err"
  [ -e "$pub" ] || openssl pkey -in "$key" -pubout -out "$pub"
  chmod 640 "$key"
  [ "$(id -u)" != 0 ] || chgrp "$run_group" "$key"
}
ec_key()
{
  openssl genpkey -algorithm EC -pkeyopt "ec_paramgen_curve:$2" -out "$1"
}

# A simulator that verifies with a key of this kind, and the matching config.
serve() # ALGORITHM [SIMULATOR OPTION...]
{
  local alg=$1
  shift
  stop_sim
  [ -e "$dir/$alg.key" ] || make_pair "$alg"
  SIM_AUTH=none start_sim --key-file "$dir/$alg.pub" --algorithm "$alg" "$@"
  CIPHER=$alg KEY=$dir/$alg.key write_config
}

start_sim
start_cupsd
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1

section 'what is accepted'

for alg in HS256 HS384 HS512 RS256 RS384 RS512 PS256 PS384 PS512 \
  ES256 ES384 ES512 EdDSA; do
  serve "$alg"
  output=$(dx hello 2>&1)
  is "$alg: the service greets" "$? $(calls hello '.status==200')" '0 1'
  has "$alg: the greeting is shown" "$output" Hello
  : > "$SIM_LOG"
done

echo a-token-from-somewhere > "$dir/token"
chmod 640 "$dir/token"
[ "$(id -u)" != 0 ] || chgrp "$run_group" "$dir/token"
stop_sim
SIM_AUTH=none start_sim --token-file "$dir/token"
NO_TOKEN=1 write_config 'Token file' "TokenFile $dir/token"
check 'Token file: the service greets' dx hello

cat > "$dir/mint" << END
#!/bin/sh
echo '{"token": "a-token-from-somewhere", "expires": "2099-01-01T00:00:00Z"}'
END
chmod 755 "$dir/mint"
NO_TOKEN=1 write_config 'Token command' "TokenCommand $dir/mint"
check 'Token command: the service greets' dx hello

for alg in RS256 ES256; do
  serve "$alg" --key-id 2026-01 --claim iss=clinic-7
  CIPHER=$alg KEY=$dir/$alg.key write_config 'TokenKeyID 2026-01' \
    'TokenClaim iss clinic-7'
  clear_results
  print -d chart "$dir/a.pdf"
  job_ends "$alg, key id and claim: a print is extracted" "$job" completed
  is "$alg: no token was refused" "$(
    jq -s 'map(select(.status==401))|length' "$SIM_LOG")" 0
done

section 'what is not'

says() # TEXT PATTERN: hello fails and reports it
{
  local output status
  output=$(dx hello 2>&1)
  status=$?
  has "$1: hello reports it" "$output" "$2"
  is "$1: hello fails" "$([ "$status" -ge 64 ] && echo "64 or more")" \
    '64 or more'
}

serve HS256 --skew 7200
output=$(dx hello 2>&1)
has 'a wrong clock: hello reports the difference' "$output" '(71[0-9]{2}|7200) s|2 h'

serve HS256
BASE_URL=https://no-such-host.invalid write_config
says 'a wrong name' 'no-such-host\.invalid.*(name|resolve|address)|(name|resolve).*no-such-host'
BASE_URL=http://127.0.0.1:1 write_config
says 'no server' 'connect'
BASE_URL=https://${SIM_API#http://} write_config
says 'no TLS there' 'TLS|SSL|certificate|connect'
KEY=$dir/nothing write_config
says 'no key' 'nothing'
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 \
  -out "$dir/short.key" 2> "$dir/openssl.err"
chmod 640 "$dir/short.key"
[ "$(id -u)" != 0 ] || chgrp "$run_group" "$dir/short.key"
CIPHER=RS256 KEY=$dir/short.key write_config
says 'a key of 1024 bits' '2048'
make_key "$dir/other.key"
KEY=$dir/other.key write_config
says 'the wrong key' 'token'

clear_results
print -d chart "$dir/a.pdf"
until_true calls_are create 3 # which takes 35 s
has 'the wrong key: the queue reports it from the first attempt on' "$(job_log "$job")" \
  'Contact your administrator: the service rejected the .*; trying again, nothing is lost'
logs_it() { job_log "$job" | grep -Eq 'E_TOKEN: the service rejected the token \(.*: 401\).*run .+docextract hello'; }
check 'the wrong key: the log has the response and advice' until_true logs_it
has 'the wrong key: the queue reports the reason' "$(queue_state chart)" \
  'Contact your administrator: the service rejected the credentials of this printer; trying again'
is 'the wrong key: so does a state reason' "$(queue_reasons chart)" docextract-config-error
has 'the wrong key: so does jobs' "$(dx jobs)" \
  'the service rejected the token \(.*: 401\).*trying again at'
is 'the wrong key: nothing was sent' \
  "$(calls create '.status<400') $(calls put)" '0 0'
is 'the wrong key: the job waits' "$(job_state "$job")" processing
check 'the wrong key: the queue is not stopped' not queue_is_stopped chart

KEY=$dir/HS256.key write_config
job_ends 'with the right key the job is extracted' "$job" completed
is 'the state reason is cleared' "$(queue_reasons chart)" none
is 'and its values are there' "$(patients)" 'Ahrens Ann 1'

section 'another account'

t='denied while no backend is connected'
serve HS256
says_denied() { grep -q 'E_DENIED' "$dir/daemon.new"; }
clear_results
KEY=$dir/HS256.key write_config 'TokenKeyID 2026-01'
faults 'source * word processing'
print -d chart "$dir/a.pdf"
until_true calls_are source 1 || not_ok "$t: the extraction is awaited"
backend=$(backends)
kill -STOP "$backend"
faults 'source * status 403'
KEY=$dir/HS256.key write_config 'TokenKeyID 2026-02'
check "$t: the job waits for the administrator" until_true says_denied
faults '#'
kill -CONT "$backend"
job_ends "$t: it is tried again, and completes" "$job" completed
is "$t: sent once" "$(calls create) $(calls put) $(n_results)" '1 1 1'
