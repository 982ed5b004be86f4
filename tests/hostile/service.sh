#!/usr/bin/env bash
#
# service.sh - a compromised service or storage: how docextractd handles invalid
# responses, and what the command reports. Tests that take minutes, and tests
# with print jobs, are in tests/long/hostile.sh.
. "$(dirname "$0")/../cli/frame.sh"
. "$top/tests/hostile/lib.sh"

# The command with docextractd, its output in $dir/both.
ask() # SECONDS ARGUMENT...
{
  start_docextractd
  limited "$1" "$dir/both" "$program" -c "$conf" "${@:2}"
}

make_certificates() { [ -e "$dir/ca.pem" ] || certificates; }

section 'hello: every response is wrong'

one_line() { tr '\n' ' ' < "$dir/both"; }
greets() # TEXT RULE STATUS PATTERN
{
  start_raw "hello:*=$2"
  configure
  ask 30 hello
  has "hello: $1" "$? $(one_line)" "^$3 .*$4"
  hasnt "hello: $1: nothing else is sent" "$(cat "$dir/log")" trap
}

crlf=$'\r\n'
greets 'headers without end' headers 75 'headers of the response are larger than'
greets 'a header without end' header 75 'docextract: '
greets '103 without end' interim 75 'headers of the response are larger than'
greets 'trailers without end' trailers 75 'headers of the response are larger than'
greets 'a body without end' deep 75 'the response is larger than'
greets 'interim responses and a good one' early 0 Hello
greets 'a length that is too short' 'behind:Content-Length: 5' 75 \
  'cannot understand'
greets 'a length that is too long' 'behind:Content-Length: 99999' 75 ''
greets 'a negative length' 'behind:Content-Length: -5' 75 ''
greets 'an immense length' \
  'behind:Content-Length: 99999999999999999999999999' '(0|75)' ''
greets 'two lengths' "behind:Content-Length: 3${crlf}Content-Length: 4" 75 ''
greets 'a chunk that is too long' chunk:FFFFFFFFFFFFFFFFFF 75 ''
greets 'a chunk of length zz' chunk:zz 75 ''
greets 'a body that is said to be compressed' \
  "behind:Content-Encoding: gzip${crlf}Connection: close" 0 Hello
greets 'no status line' 'raw:<html>' 75 'the response is not HTTP'
greets 'an impossible status' 'raw:HTTP/1.1 99999 X' 75 ''
greets 'an unknown version' 'raw:HTTP/7.3 200 X' 75 ''
greets 'a NUL in a header' nul 75 ''
greets 'a reset' reset 75 ''
for status in 301 302 307 308; do
  greets "a redirect by $status" "redirect:$status" 78 'check BaseURL'
done
greets 'a Date of the next century' 'date:Thu, 01 Jan 2099 00:00:00 GMT' 77 \
  'clock of this computer is [0-9]{10} s behind'
greets 'a greeting that writes on the terminal' \
  'body:{"results":{"auth_info":"\u001b[2J\u202ecba\u200b\u2028"}}' 0 \
  '[?][[]2J[?]cba[?][?]'

section 'submit: every call goes wrong in some way'

documents=()
for n in 1 2 3 4 5 6 7 8 9 10; do
  cp "$dir/d.png" "$dir/d$n.png"
  documents+=("$dir/d$n.png")
done
start_raw create:2=headers create:4=odd-source:tmp create:6=reset \
  'create:8=behind:Content-Length: 9999' \
  put:2=headers put:4=reset put:6=redirect:307 put:8=early \
  put:10=status:201 source:2=interim source:4=chunk:zz \
  'source:6=body:{"results":{"status":"complete","case_ids":["C\u0000"]}}' \
  'source:7=body:{"results":{"status":"complete","case_ids":["a","a"]}}' \
  'source:8=body:{"results":{"status":"complete","case_ids":["../../tmp/x",
    "a/b","..",".","\u001b[2J\n\u202e","'"$(printf '%0999d' 7)"'"]}}' \
  source:9=cases:10001 \
  extract:2=headers extract:3=trailers \
  'extract:4=behind:Content-Length: 9' extract:5=chunk:FFFFFFFFFFFFFFFFF \
  extract:6=deep extract:7=early \
  'extract:8=body:{"results":{"status":"complete","id":"another"}}' \
  'extract:9=body:{"results":{"status":"complete","id":"C1","id":"C1"}}' \
  'extract:10=body:{"results":{"status":"complete"}} {}' \
  $'extract:11=body:{"results":{"status":"complete","x":"\xff"}}'
configure
start_docextractd
before=$(find "$dir" -type f | grep -v "^$spool" | sort)
ask 120 submit "${documents[@]}"
is 'submit: all documents are extracted in the end' \
  "$? $(find "$results" -name '*.job.json' | wc -l)" '0 10'
is 'submit: and all their cases' "$(results_of_sources)" "$(
  jq -s '[.[].cases[]]|length' "$results"/*.job.json)"
is 'submit: the six odd cases, too' \
  "$(jq -s 'map(.cases|length)|max' "$results"/*.job.json)" 6
is 'submit: names of results are harmless' \
  "$(find "$results" -type f -printf '%f\n' | grep -vE '^[A-Za-z0-9%_.~-]+$')" ''
is 'submit: every result is JSON' "$(for f in "$results"/*.json; do
  jq -e . "$f" > /dev/null || echo "$f"; done)" ''
is 'submit: nothing was written elsewhere' \
  "$(find "$dir" -type f | grep -v "^$spool" | grep -vE '/(both|log|ready)$' |
    sort)" "$(grep -vE '/(both|log|ready)$' <<< "$before")"
hasnt 'submit: no redirect was followed' "$(cat "$dir/log")" trap
is 'submit: ids are escaped in requests' \
  "$(grep -avE '^[A-Z]+ [A-Za-z0-9%_./~-]+ HTTP/1.1$' "$dir/log")" ''
# Four of the responses to an upload were not clear, or a refusal; one document
# may have got several of them.
is 'submit: no document was sent again after a 200' \
  "$(grep -ac '^PUT' "$dir/log") $(grep -a '^PUT' "$dir/log" | sort -u | wc -l)" \
  '14 10'

section 'results: size'

new_spool
start_raw extract:1=numbers
configure
ulimit -S -v 500000 # as a tree it takes 2.4 GB
start_docextractd
ulimit -S -v unlimited
ask 60 submit "$dir/d.png"
is 'a result of 60 MB of small numbers needs no memory' \
  "$? $(find "$results" -size +50M -name '*.json' | wc -l)" '0 1'

new_spool
start_raw 'extract:*=numbers'
configure 'MaxResultSize 1M'
submit_until() # CONDITION...: in the background, then SIGTERM
{
  start_docextractd
  "$program" -c "$conf" submit "$dir/d.png" > "$dir/out" 2> "$dir/err" &
  pid=$!
  until_true "$@" > "$dir/waited"
  kill -TERM "$pid"
  reap
}
message_has() { "$program" -c "$conf" jobs --json | grep -q "$1"; }
has_message() { "$program" -c "$conf" jobs --json | jq -e '.[0].message'; }
submit_until message_has 'larger than MaxResultSize (1M)'
is 'a result over MaxResultSize is not stored' \
  "$rc $(find "$spool" -size +2M)" '75 '

new_spool
start_raw source:1=cases:10000
configure 'APIRate 9'
cases() { "$program" -c "$conf" jobs --json | jq '.[0].cases'; }
some_results()
{
  [ "$(find "$spool" -name 'result*' | wc -l)" -ge 3 ] && [ "$(cases)" = 10000 ]
}
submit_until some_results
is '10,000 cases: the job can be interrupted' "$rc $(cases)" '75 10000'
dx cancel "$(jobs)"
is '10,000 cases: and canceled' "$rc" 0

section 'the storage reads an upload slowly, or not all of it'

new_spool
{
  echo '%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Count 1/Kids[3 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]
  /Resources<</XObject<</I 4 0 R>>>>>> endobj
4 0 obj <</Subtype/Image/Width 2000/Height 1000/BitsPerComponent 8
  /ColorSpace/DeviceGray/Length 2000000>> stream'
  head -c 2000000 /dev/zero
  printf '\nendstream endobj\ntrailer <</Root 1 0 R>>\nstartxref\n0\n%%%%EOF\n'
} > "$dir/large.pdf"
start_raw 'put:1=trickle'
configure
ask 120 submit "$dir/large.pdf"
is 'an upload in a trickle is ended, and tried again' \
  "$? $(results_of_sources)" '0 1'

new_spool
start_raw 'put:1=hasty'
configure
ask 120 submit "$dir/large.pdf"
is 'an upload that is confirmed before all was sent is repeated' \
  "$? $(results_of_sources) $(grep -ac '^PUT' "$dir/log")" '0 1 2'

section 'where documents go'

make_certificates
# curl resolves *.localhost without DNS; by its name it is not a loopback.
start_tls "$dir/good"
api=https://api.localhost:${api##*:}
new_spool

refuses() # TEXT URL PATTERN [LINE...]: of the configuration
{
  local text=$1 url=$2 pattern=$3
  shift 3
  faults "create * edit #\"url\":\"[^\"]*\"#\"url\":\"$url\"#\n"
  configure "CAFile $dir/ca.pem" "$@"
  ask 30 submit "$dir/d.png"
  has "upload URL: $text" "$? $(one_line)" "^78 .*$pattern"
}

for url in http://127.0.0.1:631/ http://localhost/ http://192.0.2.1/ \
  http://storage.example/ ftp://127.0.0.1/ file:///etc/passwd gopher://a/ \
  dict://127.0.0.1:1/ ldap://a/ smb://a/b telnet://a/ javascript:a \
  unix:///run/cups/cups.sock //a/b '' https://u:p@127.0.0.1/; do
  refuses "'$url' is refused" "$url" 'the upload URL is not (valid|https)'
done
# shellcheck disable=SC2102
for url in https://127.0.0.1:631/ https://[::1]/ https://0/ https://2130706433/ \
  https://localhost/ https://169.254.169.254/latest/meta-data/ \
  https://[fe80::1]/ https://[::ffff:169.254.169.254]/ \
  https://[fd00:ec2::254]/latest/ https://[fd20:ce::254]/ \
  https://storage.localhost:${api##*:}/; do
  refuses "'$url' is refused" "$url" 'a loopback or link-local address'
done
is 'not one of them was tried' "$(calls put)" 0
new_spool # sources that cannot be filled prevent others
refuses 'a StorageHost that it is not' https://storage.example/ \
  'not a StorageHost' 'StorageHost 127.0.0.1'

for host in 127.0.0.1 storage.localhost; do
  configure "CAFile $dir/ca.pem" "StorageHost $host"
  new_spool # docextractd does not run, nor try again what was refused
  : > "$dir/log"
  faults "create * edit #https://127.0.0.1:#https://$host:#\n"
  ask 30 submit "$dir/d.png"
  is "the StorageHost $host may be on this computer" "$? $(calls put)" '0 1'
done

section 'TLS'

shakes_hands() # TEXT STATUS PATTERN
{
  configure "CAFile $dir/ca.pem"
  ask 30 hello
  has "hello: $1" "$? $(one_line)" "^$2 .*$3"
}

make_certificates
start_tls "$dir/expired"
shakes_hands 'an expired certificate' 78 'it has expired'
start_tls "$dir/wrong"
shakes_hands 'a certificate for another name' 78 'it is for another name'
is 'no token was sent to either' "$(calls hello)" 0

start_s_server '' -tls1_1 -cipher DEFAULT@SECLEVEL=0
shakes_hands 'TLS 1.1 only' 78 'TLS 1.2'

settings='\0\0\0\4\0\0\0\0\0'
while IFS='|' read -r text frame; do
  start_s_server "$settings$frame" -alpn h2
  new_spool
  configure "CAFile $dir/ca.pem"
  WAIT_S=90 submit_until has_message # without a response a call may take 60 s
  is "submit: HTTP/2: $text: tried again later" "$rc" 75
done << 'END'
the stream is reset|\0\0\4\3\0\0\0\0\1\0\0\0\1
the server goes away|\0\0\010\7\0\0\0\0\0\0\0\0\0\0\0\0\1
a frame that is too long|\377\377\377\0\0\0\0\0\1
data for a stream that nobody opened|\0\0\1\0\0\0\0\0\7x
END

end
