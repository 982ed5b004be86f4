#!/usr/bin/env bash
#
# sim_test.sh - tests docextract-sim from outside.
#
# Needs bash, curl, jq, openssl. Finds the program in $DX_BUILD (default: the
# top of the tree). Prints a line per case and a last line with the counts.
# Every simulator gets free ports and is ended by its process id.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
sim=${DX_BUILD:-$top}/docextract-sim
. "$top/tests/helper/count.sh"
dir=$(mktemp -d)
pid=
auth='Authorization: Bearer any'
json='Content-Type: application/json'
pdf_type='Content-Type: application/pdf'

. "$top/tests/helper/certificates.sh"
. "$top/tests/helper/wait.sh"

# --- helpers ----------------------------------------------------------------

contains() # TEXT ACTUAL PART
{
  case $2 in
  *"$3"*) ok "$1" ;;
  *) not_ok "$1" "got:      $2"$'\n'"expected: something with $3" ;;
  esac
}

start() # OPTION...: sets api, storage, pid
{
  rm -f "$dir/ready" "$dir/log"
  "$sim" --port 0 --storage-port 0 --ready-file "$dir/ready" \
    --log "$dir/log" --data-dir "$dir/data" --rate 0 --source-time 0 \
    --case-time 0 "$@" 2> "$dir/err" &
  pid=$!
  if ! until_true ready_or_gone || [ ! -e "$dir/ready" ]; then
    echo "Bail out! the simulator did not start: $(cat "$dir/err")"
    exit 1
  fi
  api=$(sed -n 's/^api //p' "$dir/ready")
  storage=$(sed -n 's/^storage //p' "$dir/ready")
}

ready_or_gone()
{
  [ -e "$dir/ready" ] || ! kill -0 "$pid" 2> /dev/null
}

stop() # leaves the exit status in $stopped
{
  stopped=none
  [ -n "$pid" ] || return 0
  kill -TERM "$pid" 2> /dev/null
  wait "$pid"
  stopped=$?
  pid=
  rm -rf "$dir/data"
  case $(cat "$dir/err") in
  *Sanitizer* | *"runtime error"*) is "no sanitizer reports an error" "$(cat "$dir/err")" "" ;;
  esac
}

finish()
{
  stop > /dev/null 2>&1
  rm -rf "$dir"
}
trap finish EXIT

faults() # LINES: the fault script from the next call on
{
  printf '%b' "$1" > "$dir/faults.new"
  mv "$dir/faults.new" "$dir/faults"
}

# --- documents -------------------------------------------------------------

# make_pdf FILE PAGE...: | separates the lines of a page; \ooo is WinAnsi.
make_pdf()
{
  local file=$1 kids="" n=3 page line stream
  shift
  {
    printf '%%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n'
    for page in "$@"; do
      stream='BT /F 10 Tf 40 800 Td '
      while IFS= read -r line; do
        stream+="($line) Tj 0 -14 Td "
      done < <(tr '|' '\n' <<< "$page")
      stream+=ET
      printf '%d 0 obj\n<</Type/Page/Parent 2 0 R/Contents %d 0 R' \
        "$n" $((n + 1))
      printf '/MediaBox[0 0 595 842]/Resources<</Font<</F<</Type/Font'
      printf '/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding'
      printf '>>>>>>>>\nendobj\n%d 0 obj\n<</Length %d>>\nstream\n%s\n' \
        $((n + 1)) ${#stream} "$stream"
      printf 'endstream\nendobj\n'
      kids+="$n 0 R "
      n=$((n + 2))
    done
    printf '2 0 obj\n<</Type/Pages/Count %d/Kids[%s]>>\nendobj\n' $# "$kids"
    printf 'trailer\n<</Root 1 0 R>>\n%%%%EOF\n'
  } > "$file"
}

chart='Patient: Jane Doe        MRN: 004711     DOB: 03/07/1984'
chart+='|WBC            7.20     10^3/uL   4.0 - 11.0'
chart+='|Hemoglobin A1c 5.6      %         4.0 - 6.0'
chart+='|Hemoglobin     013.50 L g/dL      \(12.0-15.5\)'
mark='DOCEXTRACT   CASE SEPARATOR'
make_pdf "$dir/chart.pdf" "$chart"

# --- calls -----------------------------------------------------------------

call() # CURL ARGUMENT...: body in $body, status in $status (000: none)
{
  status=$(curl -sk -m 120 -o "$dir/body" -D "$dir/head" -w '%{http_code}' \
    "$@" 2> /dev/null)
  code=$?
  body=
  [ "$status" = 204 ] || [ ! -e "$dir/body" ] || body=$(cat "$dir/body")
  rm -f "$dir/body"
}

header() # NAME: of the last response
{
  tr -d '\r' < "$dir/head" | sed -n "s/^$1: //Ip"
}

hello() { call -X POST -H "$auth" "$api/auth/hello"; }
get_source() { call -H "$auth" "$api/v1/source/$1"; }
get_case() { call -H "$auth" "$api/v1/patient_case/$1/extract"; }

create() # TYPE...: sets id and url (of the first file)
{
  local files="" t
  for t in "$@"; do
    files+="${files:+,}{\"content_type\":\"$t\",\"file_name\":\"f \\\"ü\"}"
  done
  call -H "$auth" -H "$json" -d "{\"files\":[$files]}" "$api/v1/source"
  id=$(jq -r '.results.id?' <<< "$body" 2> /dev/null)
  url=$(jq -r '.results.upload_urls[0].url?' <<< "$body" 2> /dev/null)
  urls=$body
}

url_of() { jq -r ".results.upload_urls[$1].url" <<< "$urls"; }

put() # URL FILE [TYPE]
{
  call -H "Content-Type: ${3:-application/pdf}" -H Expect: -T "$2" "$1"
}

word_of() { get_source "$1"; jq -r .results.status <<< "$body"; }
settled()
{
  case $(word_of "$1") in complete | failed) ;; *) false ;; esac
}

first_case() # sets case_id and waits for the extract
{
  until_true settled "$id"
  get_source "$id"
  case_id=$(jq -r '.results.case_ids[0]' <<< "$body")
  until_true extracted "$case_id"
}

extracted() { get_case "$1"; [ "$status" = 200 ]; }

logged() # JQ FILTER over the lines of the log
{
  jq -sc "$1" "$dir/log"
}

# --- a complete run--------------------------------------------------------

test_complete_run()
{
  local n=24

  start
  hello
  is 'hello: 200' "$status" 200
  contains 'hello: a greeting' "$(jq -r .results.auth_info <<< "$body")" 'Hello, '
  contains 'debug_info has a delta' "$(jq -r .debug_info.delta <<< "$body")" ms

  create application/pdf
  is 'create: 201' "$status $(jq .status <<< "$body")" '201 201'
  is 'ids have 26 characters' "${#id}" 26
  is 'the object is named after the source' \
    "$(jq -r '.results.upload_urls[0].object_name' <<< "$body")" \
    "images/$id/SOURCE_FILES/${id}_1"
  is 'the file name comes back' \
    "$(jq -r '.results.upload_urls[0].file_name' <<< "$body")" 'f "ü'
  get_source "$id"
  is 'a new source is pending_upload' "$(jq -c .results <<< "$body")" \
    "{\"id\":\"$id\",\"status\":\"pending_upload\",\"expected_file_count\":1,\"uploaded_file_count\":0,\"case_ids\":null}"

  put "$url" "$dir/chart.pdf"
  is 'the upload: 200 without a body' "$status$body" 200
  is 'the uploaded bytes are kept' \
    "$(cmp "$dir/chart.pdf" "$dir/data/${id}_1" && echo same)" same
  first_case
  get_source "$id"
  is 'the source is complete' \
    "$(jq -c '[.results|.status,.uploaded_file_count,(.case_ids|length)]' \
      <<< "$body")" '["complete",1,1]'
  get_case "$case_id"
  is 'the result names case and source' \
    "$(jq -r '.results|"\(.status) \(.id) \(.source_id) \(.case_name)"' \
      <<< "$body")" "complete $case_id $id Doe, Jane"
  contains 'the values come back with every digit' "$body" \
    '{"patient_first_name":"Jane","patient_last_name":"Doe","patient_mrn":"004711","patient_dob":"3/7/1984","wbc_count":{"value":7.20,"measurement_unit":"10^3/uL","range":{"min":4.0,"max":11.0}},"hemoglobin":{"value":13.50,"measurement_unit":"g/dL","range":{"min":12.0,"max":15.5}}}'
  is 'the response is JSON' "$(jq -r .status <<< "$body")" 200

  put "$url" "$dir/chart.pdf"
  get_source "$id"
  is 'a second PUT changes nothing' \
    "$(jq -c '[.results.status,.results.uploaded_file_count]' <<< "$body")" \
    '["complete",1]'

  is 'the log has the calls' \
    "$(logged '[.[0:4][].call]')" '["hello","create","source","put"]'
  is 'the log counts each call' \
    "$(logged '[.[]|select(.call=="put").n]')" '[1,2]'
  is 'the log has what was sent' \
    "$(logged '[.[]|select(.call=="put")][0]|[.path,.status,.source_id,.bytes,.fault,.auth,.expect,.chunked]')" \
    "[\"/images/$id/SOURCE_FILES/${id}_1\",200,\"$id\",$(stat -c %s "$dir/chart.pdf"),null,false,false,false]"
  is 'the log has number and names of files' \
    "$(logged '[.[]|select(.call=="create")][0]|[.files,.names,.auth]')" \
    '[1,["f \"ü"],true]'
  is 'the log has no query, token or patient' \
    "$(grep -c -e Signature -e Bearer -e Doe "$dir/log")" 0
  stop
  is 'SIGTERM ends it with 0' "$stopped" 0
  is 'the ready file is removed' "$(ls "$dir/ready" 2> /dev/null)" ''
}

test_refusals()
{
  local big

  start
  call -X POST "$api/auth/hello"
  is 'no token: 401' "$status" 401
  call -X POST -H 'Authorization: Basic eA==' "$api/auth/hello"
  is 'no bearer token: 401' "$status" 401
  get_source 01ARZ3NDEKTSV4RRFFQ69G5FAV
  is 'unknown source: 404' "$status $body" '404 {"status":404}'
  get_case 01ARZ3NDEKTSV4RRFFQ69G5FAV
  is 'unknown case: 404' "$status" 404
  get_source %2e%2e%2fx
  is 'a malformed ID: 404' "$status" 404
  call -H "$auth" "$api/v1/source"
  is 'wrong method: 405' "$status $(header Allow)" '405 POST'
  call -H "$auth" "$api/v2/other"
  is 'unknown path: 404' "$status" 404
  for bad in '{' '[]' '{"files":[]}' '{"files":[{"file_name":"a"}]}' \
    '{"files":[{"content_type":"text/plain","file_name":"a"}]}' \
    '{"files":[{"content_type":"image/png","file_name":7}]}' '{"files":1} x'; do
    call -H "$auth" -H "$json" -d "$bad" "$api/v1/source"
    is "create refuses $bad" "$status" 400
  done
  call -H "$auth" -d '{"files":[{"content_type":"image/png","file_name":"a"}]}' \
    "$api/v1/source"
  is 'create requires Content-Type application/json' "$status" 400
  big=$dir/big.json
  head -c 1100000 /dev/zero | tr '\0' ' ' > "$big"
  call -H "$auth" -H "$json" -H Expect: --data-binary "@$big" "$api/v1/source"
  is 'a body over 1 MiB: 413' "$status" 413
  contains 'Date is sent' "$(header Date)" GMT
  stop
}

# --- reading ---------------------------------------------------------------

# documents FILE: the medical_data of each case, without document ids
documents()
{
  local c
  create application/pdf
  put "$url" "$1"
  first_case > /dev/null
  get_source "$id"
  for c in $(jq -r '.results.case_ids[]' <<< "$body"); do
    get_case "$c"
    jq -cS '[.results.medical_data[]]' <<< "$body"
  done
}

test_reading()
{
  start
  make_pdf "$dir/cases.pdf" "$mark" 'MRN: 1' 'second page' "$mark" "$mark" \
    "before|$mark|after" 'MRN: 2' "$mark"
  is 'separator pages split cases and belong to none; empty cases are omitted' \
    "$(documents "$dir/cases.pdf" | tr '\n' ' ')" \
    '[{"patient_mrn":"1"}] [{"patient_mrn":"2"}] '

  make_pdf "$dir/docs.pdf" 'MRN: A1' 'WBC 5.5' 'MRN: B2|Name: Roe, Max Ole' \
    'Hb: 14.1 g/dL' 'MRN A1|DOB: 1950-12-31'
  is 'a different record number begins a document' \
    "$(documents "$dir/docs.pdf")" \
    '[{"patient_dob":"12/31/1950","patient_mrn":"A1","wbc_count":{"value":5.5}},{"hemoglobin":{"measurement_unit":"g/dL","value":14.1},"patient_first_name":"Max Ole","patient_last_name":"Roe","patient_mrn":"B2"}]'

  make_pdf "$dir/forms.pdf" \
    'Physician name: Dr. No|FIRST NAME: J\374rgen  Last name: M\374ller-L\374denscheidt|Medical record number: 12-34/A|Date of birth: 3/7/1984|White blood cells: 4,5 x|WBC2 99.5|Leukocytes  011.25 H  10^9/L 4.5 \226 11.5|Haemoglobin \(Hb\): .... 9.9 \(12.5 16.5\) g/dL *'
  is 'other wordings are recognized, umlauts preserved' \
    "$(documents "$dir/forms.pdf")" \
    '[{"hemoglobin":{"measurement_unit":"g/dL","range":{"max":16.5,"min":12.5},"value":9.9},"patient_dob":"3/7/1984","patient_first_name":"Jürgen","patient_last_name":"Müller-Lüdenscheidt","patient_mrn":"12-34/A","wbc_count":{"measurement_unit":"10^9/L","range":{"max":11.5,"min":4.5},"value":11.25}}]'

  make_pdf "$dir/born.pdf" 'Patient: Max Born MRN: 7 Born: 2001-02-03'
  is 'labels may be close; a name may look like a label' \
    "$(documents "$dir/born.pdf")" \
    '[{"patient_dob":"2/3/2001","patient_first_name":"Max","patient_last_name":"Born","patient_mrn":"7"}]'

  make_pdf "$dir/quote.pdf" 'Name: O"Neil\\, Pat'
  is 'quotes and backslashes are escaped' "$(documents "$dir/quote.pdf")" \
    '[{"patient_first_name":"Pat","patient_last_name":"O\"Neil\\"}]'

  create application/pdf image/jpeg image/png
  printf x > "$dir/picture"
  put "$(url_of 2)" "$dir/picture" image/png
  get_source "$id"
  is 'a source with missing files stays pending_upload' \
    "$(jq -c '[.results.status,.results.uploaded_file_count]' <<< "$body")" \
    '["pending_upload",1]'
  put "$(url_of 0)" "$dir/chart.pdf"
  put "$(url_of 1)" "$dir/picture" image/jpeg
  first_case
  get_source "$id"
  is 'several files make several cases, in file order' \
    "$(for c in $(jq -r '.results.case_ids[]' <<< "$body"); do
      get_case "$c"
      jq -c '[.results.medical_data[].patient_mrn]' <<< "$body"
    done | tr '\n' ' ')" '["004711"] [null] [null] '

  create application/pdf
  put "$url" "$dir/picture"
  until_true settled "$id"
  get_source "$id"
  is 'an invalid PDF fails' \
    "$(jq -c '[.results.status,.results.case_ids]' <<< "$body")" \
    '["failed",null]'
  stop
}

test_times()
{
  start --source-time 600000
  create application/pdf
  put "$url" "$dir/chart.pdf"
  get_source "$id"
  is 'a source is processing for --source-time' "$(jq -r .results.status <<< "$body")" \
    processing
  is 'no case IDs while processing' "$(jq .results.case_ids <<< "$body")" null
  stop

  start --case-time 600000
  create application/pdf
  put "$url" "$dir/chart.pdf"
  until_true settled "$id"
  get_source "$id"
  get_case "$(jq -r '.results.case_ids[0]' <<< "$body")"
  is 'a case that is not ready: 204, empty' "$status$(header Content-Type)" 204
  stop

  start --source-time 300 --case-time 300
  create application/pdf
  put "$url" "$dir/chart.pdf"
  first_case
  is 'a case that is ready: 200' "$status" 200
  is 'but not before both times have passed' \
    "$(logged '(([.[]|select(.call=="extract" and .status==200)][0].t) - ([.[]|select(.call=="put")][0].t)) >= 0.6')" true
  stop
}

# --- storage ---------------------------------------------------------------

test_storage()
{
  local client

  start
  create application/pdf
  put "$url" "$dir/chart.pdf" image/png
  is 'a different Content-Type: 403' "$status" 403
  contains 'with the reason' "$body" '<Code>SignatureDoesNotMatch</Code>'
  put "${url%?}$(tr 0-9A-Z 1-9A-Z0 <<< "${url: -1}")" "$dir/chart.pdf"
  is 'a forged signature: 403' "$status" 403
  put "${url/Expires=900/Expires=90000}" "$dir/chart.pdf"
  contains 'an extended lifetime: 403' "$status $body" '403 <?xml'
  put "${url/_1?/_2?}" "$dir/chart.pdf"
  is 'a different object: 403' "$status" 403
  put "${url%%\?*}" "$dir/chart.pdf"
  is 'no signature: 403' "$status" 403
  # The sanitizers notice if it is taken for an id.
  put "${url%%/images/*}/$(printf '%024d' 0)" "$dir/chart.pdf"
  is 'a path one byte shorter than an id: 403' "$status" 403
  call -H "$auth" -H "$pdf_type" -T "$dir/chart.pdf" "$url"
  is 'an Authorization header: 400' "$status" 400
  call -H "$pdf_type" -H 'Transfer-Encoding: chunked' -T "$dir/chart.pdf" "$url"
  is 'chunked: 411' "$status" 411
  is 'chunked is logged' "$(logged '[.[-1]|.chunked,.status]')" '[true,411]'
  call -X POST -H "$pdf_type" -d x "$url"
  is 'a POST: 405' "$status" 405
  get_source "$id"
  is 'none of these counted' \
    "$(jq .results.uploaded_file_count <<< "$body")" 0
  is 'none of these left a file' "$(ls -A "$dir/data")" ''
  head -c 90000 /dev/zero > "$dir/slow"
  curl -sk --limit-rate 1000 -H "$pdf_type" -T "$dir/slow" "$url" &
  client=$!
  until_true has_file
  kill "$client"
  wait "$client" 2> /dev/null
  until_true put_logged 0
  is 'an interrupted upload is logged, leaves no file and does not count' \
    "$(ls -A "$dir/data")$(word_of "$id")" pending_upload
  put "$url" "$dir/chart.pdf"
  is 'a correct upload counts' "$status" 200
  stop

  start --url-lifetime 0
  create application/pdf
  put "$url" "$dir/chart.pdf"
  is 'expired: 403' "$status" 403
  contains 'with the reason' "$body" \
    '<Code>AccessDenied</Code><Message>Request has expired</Message>'
  contains 'the query has the lifetime' "$url" 'X-Amz-Expires=0&'
  stop
}

has_file() { [ -n "$(ls -A "$dir/data")" ]; }

put_logged() # STATUS: of the last call
{
  [ "$(logged '.[-1]|[.call,.status]')" = "[\"put\",$1]" ]
}

test_large_upload()
{
  local peak

  start
  # Of another type, because pdftotext would search all of it for a PDF.
  create image/png
  truncate -s 512M "$dir/huge"
  put "$url" "$dir/huge" image/png
  peak=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status")
  is '512 MiB arrive' "$status $(stat -c %s "$dir/data/${id}_1")" \
    '200 536870912'
  is "memory stays flat" "$([ "$peak" -lt 200000 ] && echo flat)" flat
  rm -f "$dir/huge"
  stop
}

# --- tokens ----------------------------------------------------------------

b64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

# make_token ALG SECRET-OR-KEY [PAYLOAD [HEADER]]
make_token()
{
  local alg=$1 key=$2 now payload head data
  now=$(date +%s)
  payload=${3:-"{\"iat\":$((now - 60)),\"exp\":$((now + 240)),\"jti\":\"j\",\"iss\":\"clinic\"}"}
  head=${4:-"{\"alg\":\"$alg\",\"typ\":\"JWT\",\"kid\":\"k1\"}"}
  data=$(printf %s "$head" | b64url).$(printf %s "$payload" | b64url)
  printf %s "$data" > "$dir/signed"
  printf '%s.%s' "$data" "$(sign "$alg" "$key" | b64url)"
}

sign() # ALG KEY: the raw signature of $dir/signed
{
  local bits=${1#??}
  case $1 in
  HS*) openssl dgst "-sha$bits" -mac HMAC \
    -macopt "hexkey:$(printf %s "$2" | od -An -tx1 | tr -d ' \n')" -binary \
    "$dir/signed" ;;
  RS*) openssl dgst "-sha$bits" -sign "$2" "$dir/signed" ;;
  PS*) openssl dgst "-sha$bits" -sign "$2" -sigopt rsa_padding_mode:pss \
    -sigopt rsa_pss_saltlen:digest "$dir/signed" ;;
  ES*) openssl dgst "-sha$bits" -sign "$2" "$dir/signed" | raw_ecdsa "$bits" ;;
  EdDSA) openssl pkeyutl -sign -rawin -inkey "$2" -in "$dir/signed" ;;
  esac
}

raw_ecdsa() # BITS: turns DER into r||s
{
  local n=$((($1 == 512 ? 521 : $1) / 4 + ($1 == 512 ? 2 : 0))) hex
  hex=$(openssl asn1parse -inform DER |
    sed -n 's/.*INTEGER *:\(.*\)/\1/p' |
    while read -r x; do
      x=$(printf "%${n}s" "$x" | tr ' ' 0)
      printf %s "${x: -n}"
    done)
  printf %b "$(sed 's/../\\x&/g' <<< "$hex")"
}

hello_with() # TOKEN
{
  call -X POST -H "Authorization: Bearer $1" "$api/auth/hello"
}

make_secret()
{
  printf 'a secret of more than 32 bytes, so it is\n' > "$dir/secret"
}

make_keys()
{
  [ ! -e "$dir/RSA.pub" ] || return 0
  openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 \
    -out "$dir/RSA"
  openssl genpkey -quiet -algorithm ED25519 -out "$dir/Ed"
  for c in 256 384 521; do
    openssl genpkey -quiet -algorithm EC -pkeyopt "ec_paramgen_curve:P-$c" \
      -out "$dir/P$c"
  done
  for k in RSA Ed P256 P384 P521; do
    openssl pkey -in "$dir/$k" -pubout -out "$dir/$k.pub"
  done
} 2> /dev/null

key_of() # ALG
{
  case $1 in
  HS*) echo "$dir/secret" ;;
  RS* | PS*) echo "$dir/RSA" ;;
  ES512) echo "$dir/P521" ;;
  ES*) echo "$dir/P${1#ES}" ;;
  EdDSA) echo "$dir/Ed" ;;
  esac
}

test_algorithms()
{
  local alg key file token

  make_keys
  make_secret
  for alg in HS256 HS384 HS512 RS256 RS384 RS512 PS256 PS384 PS512 \
    ES256 ES384 ES512 EdDSA; do
    key=$(key_of $alg)
    file=$key.pub
    case $alg in HS*)
      file=$key
      key=$(cat "$key")
      ;;
    esac
    start --key-file "$file" --algorithm $alg
    token=$(make_token $alg "$key")
    hello_with "$token"
    is "$alg is verified" "$status" 200
    hello_with "${token%?????}AAAAA"
    is "$alg with a wrong signature: 401" "$status" 401
    stop
  done
}

claims() # IAT EXP MORE: seconds from now
{
  local now
  now=$(date +%s)
  printf '{"iat":%d,"exp":%d%s}' $((now + $1)) $((now + $2)) "$3"
}

refused() # WHAT PAYLOAD WHY [HEADER]
{
  hello_with "$(make_token HS256 "$(cat "$dir/secret")" "$2" "${4:-}")"
  is "$1" "$status $(logged '.[-1].token_error')" "401 \"$3\""
}

test_claims()
{
  local secret

  make_secret
  secret=$(cat "$dir/secret")
  start --key-file "$dir/secret" --algorithm HS256 --key-id k1 \
    --claim iss=clinic
  hello_with "$(make_token HS256 "$secret" \
    "$(claims -300 -1 ',"jti":"a","iss":"clinic"')")"
  is 'expired within the leeway' "$status" 200
  refused 'expired' "$(claims -300 -60 ',"jti":"a","iss":"clinic"')" expired
  refused 'issued in the future' \
    "$(claims 90 300 ',"jti":"a","iss":"clinic"')" 'issued in the future'
  refused 'a lifetime over an hour' \
    "$(claims -60 3700 ',"jti":"a","iss":"clinic"')" \
    'valid for more than an hour'
  refused 'no jti' "$(claims -60 60 ',"iss":"clinic"')" 'no jti'
  refused 'no exp' '{"jti":"a","iss":"clinic"}' 'no exp or iat'
  refused 'a different claim' "$(claims -60 60 ',"jti":"a","iss":"other"')" \
    'a claim is missing or different'
  refused 'a different key ID' "$(claims -60 60 ',"jti":"a","iss":"clinic"')" \
    'wrong key ID' '{"alg":"HS256","kid":"k2"}'
  refused 'algorithm none' "$(claims -60 60 ',"jti":"a","iss":"clinic"')" \
    'wrong algorithm' '{"alg":"none","kid":"k1"}'
  hello_with x.y
  is 'not a token' "$status" 401
  stop

  start --key-file "$dir/secret" --algorithm HS256 --skew 3600
  hello_with "$(make_token HS256 "$secret")"
  is 'a skewed clock refuses a good token' "$status" 401
  is 'Date shows the skew' \
    "$(($(date -d "$(header Date)" +%s) - $(date +%s) > 3500))" 1
  stop

  printf 'fixed-token\n' > "$dir/token"
  start --token-file "$dir/token"
  hello_with fixed-token
  is 'the fixed token is accepted' "$status" 200
  hello_with fixed-tokem
  is 'any other token is not' "$status" 401
  stop
}

# --- rate ------------------------------------------------------------------

test_rate()
{
  local i urls=()

  start --rate 3
  for i in 1 2 3 4 5 6; do urls+=(-o /dev/null "$api/auth/hello"); done
  until_true exceeds_rate # unless a second passes in between
  contains 'calls over the rate: 429' "$(cat "$dir/codes")" 429
  contains 'with Retry-After' "$(cat "$dir/codes")" '429 1'
  until_true let_through
  is 'later calls are let through' "$status" 200
  is 'no second has more than three' \
    "$(logged '[.[]|select(.status==200).t]|[range(length-3) as $i|.[$i+3]-.[$i]]|all(.>=0.999)')" \
    true
  stop

  start --rate 1
  create application/pdf
  put "$url" "$dir/chart.pdf"
  is 'uploads do not count' "$status" 200
  stop
}

exceeds_rate()
{
  curl -s -w '%{http_code} %header{retry-after}\n' -X POST -H "$auth" \
    "${urls[@]}" > "$dir/codes"
  grep -q '^429' "$dir/codes"
}
let_through() { hello; [ "$status" = 200 ]; }

# --- faults ----------------------------------------------------------------

test_faults()
{
  : > "$dir/faults"
  start --faults "$dir/faults"

  faults '# comment\n\nhello 2-3 status 401\nhello 1 status 503 Retry-After: 7\n'
  hello
  is 'status with a header' "$status $(header Retry-After)" '503 7'
  is 'the log names the fault' "$(logged '.[-1].fault')" '"status"'
  hello
  is 'a range of calls' "$status" 401
  hello
  hello
  is 'no fault after the range' "$status $(logged '.[-1].fault')" '200 null'

  faults 'hello * garbage\n'
  hello
  is 'garbage: 200, not JSON' "$status $(jq . <<< "$body" 2> /dev/null)" '200 '
  faults 'hello 6- body {"status":200, "x": "#1"}\n'
  hello
  is 'body' "$status $body" '200 {"status":200, "x": "#1"}'
  faults 'hello * short\n'
  hello
  is 'short: curl sees a partial response' "$code $status" '18 200'
  faults 'hello * drop\n'
  hello
  is 'drop: no response' "$code $status" '52 000'
  faults 'hello * header Date: Thu, 01 Jan 2099 00:00:00 GMT\n'
  hello
  is 'a header replaces our own' "$status $(header Date)" \
    '200 Thu, 01 Jan 2099 00:00:00 GMT'
  faults 'hello * edit /"(auth)_info":"[^"]*"/"\\1":1e400/\n'
  hello
  is 'an edit changes the body' "$(jq -r .status <<< "$body") $(
    grep -o '"results":{[^}]*}' <<< "$body")" '200 "results":{"auth":1e400}'
  faults 'hello * edit /no match/x/\n'
  hello
  contains 'an edit without a match changes nothing' "$body" '"auth_info"'
  faults 'hello * status 401 X-A: b\nany * body {"x":1}\nhello * header X-C: d\n'
  hello
  is 'all lines that match apply' \
    "$status $body $(header X-A) $(header X-C)" '401 {"x":1} b d'
  faults 'any * delay 300\n'
  hello
  is 'delay, then as usual' "$status" 200
  is 'it took at least that long' "$(curl -s -o /dev/null -w '%{time_total}' -X POST \
    -H "$auth" "$api/auth/hello" | awk '{print ($1 >= 0.3)}')" 1
  faults 'hello * body 1234567890\nhello * drip 40\n'
  hello
  is 'drip: the whole body' "$status $body" '200 1234567890'
  is 'byte by byte' "$(curl -s -o /dev/null -w '%{time_total}' -X POST \
    -H "$auth" "$api/auth/hello" | awk '{print ($1 >= 0.4)}')" 1
  faults 'hello * hang\n'
  until_true gives_up
  is 'hang: the client gives up' "$code $status" '28 000'
  is 'and is logged then' "$(logged '.[-1]|[.fault,.status]')" '["hang",0]'

  faults 'create * after-status 500\n'
  create application/pdf
  is 'after-status replaces the response' "$status" 500
  id=$(logged '.[-1].source_id' | jq -r .)
  is 'but the call was performed' "$(word_of "$id")" pending_upload
  faults 'create * close\n'
  create application/pdf
  is 'close: no response' "$code" 52
  id=$(logged '.[-1].source_id' | jq -r .)
  is 'but the call was performed, too' "$(word_of "$id")" pending_upload
  faults 'create * drop\n'
  create application/pdf
  is 'a dropped create makes no source' "$(logged '.[-1].source_id')" null

  faults ''
  create application/pdf
  faults 'put * status 200\n'
  put "$url" "$dir/chart.pdf"
  is 'a PUT that is acknowledged but not performed' \
    "$status $(word_of "$id") $(ls -A "$dir/data" | grep -c -e "$id" -e put)" \
    '200 pending_upload 0'
  faults 'put * status 503\n'
  put "$url" "$dir/chart.pdf"
  is 'a PUT that is refused is not performed' \
    "$status $(word_of "$id")" '503 pending_upload'
  faults 'put * close\nsource 1- word resting\n'
  put "$url" "$dir/chart.pdf"
  is 'a PUT performed without a response' "$code" 52
  get_source "$id"
  is 'word: another status' "$(jq -r .results.status <<< "$body")" resting
  is 'without case IDs' "$(jq .results.case_ids <<< "$body")" null
  faults ''
  first_case
  is 'the file had been stored' "$status" 200
  faults 'source * edit /("case_ids":.)("[^"]*")/\\1\\2,\\2/\n'
  get_source "$id"
  is 'a case ID twice' "$(jq -c .results.case_ids <<< "$body")" \
    "[\"$case_id\",\"$case_id\"]"

  faults 'hello * status 503\nhello * nonsense\n'
  hello
  contains 'an invalid line is reported' "$(cat "$dir/err")" \
    "$dir/faults:2: invalid ACTION"
  is 'and then no fault is injected' "$status" 200
  test_quick_end 'hello * hang' 'a client hangs' \
    -X POST -H "$auth" "$api/auth/hello"
  start --faults "$dir/faults"
  create application/pdf
  test_quick_end 'put * delay 60000' 'a response is delayed' \
    -H "$pdf_type" -T "$dir/chart.pdf" "$url"
  start --faults "$dir/faults"
  test_quick_end 'create * delay 60000' 'a source is not created yet' \
    -X POST -H "$auth" -H 'Content-Type: application/json' \
    -d '{"files":[{"content_type":"application/pdf","file_name":"a"}]}' \
    "$api/v1/source"
  start --faults "$dir/faults"
  test_quick_end 'hello * drip 60000' 'a response drips' \
    -X POST -H "$auth" "$api/auth/hello"
}

test_quick_end() # SCRIPT WHAT CURL ARGUMENT...
{
  local script=$1 what=$2 client before

  shift 2
  faults "$script\n"
  curl -s -m 120 "$@" > /dev/null &
  client=$!
  until_true waiting
  before=$SECONDS
  stop
  is "it does not wait although $what" \
    "$stopped $((SECONDS - before < 50))" '0 1'
  wait "$client"
}

# Whether a connection has a thread, beside main and two listeners.
waiting() { [ "$(ls "/proc/$pid/task" | wc -l)" -gt 3 ]; }

# Half a second may not be enough to send the request.
gives_up()
{
  call -m 0.5 -X POST -H "$auth" "$api/auth/hello"
  [ "$(logged '.[-1].fault')" = '"hang"' ]
}

invalid_script() # WHAT LINE PART
{
  printf 'hello 1 drop\n%b\n' "$2" > "$dir/wrong"
  is "$1" "$(exit_of --port 0 --storage-port 0 --faults "$dir/wrong") $(
    cat "$dir/err")" "69 docextract-sim: $dir/wrong:2: invalid $3; the form \
is CALL WHICH ACTION [ARGUMENT]"
}

test_outages()
{
  : > "$dir/faults"
  start --faults "$dir/faults"
  faults 'hello * empty\n'
  hello
  is 'empty: a status without a body' "$status$body" 200
  faults 'create * empty\ncreate * status 201\n'
  create application/pdf
  is 'empty: with another status' "$status$body" 201
  is 'empty: the call was not performed' "$(logged '.[-1].source_id')" null
  faults 'hello * drop\nhello * reset\n'
  hello
  is 'reset: curl sees it' "$code $status" '56 000'
  faults 'create * close\ncreate * reset\n'
  create application/pdf
  is 'close: with a reset, too' "$code $status" '56 000'
  id=$(logged '.[-1].source_id' | jq -r .)
  is 'close with a reset: the call was performed' "$(word_of "$id")" \
    pending_upload
  faults 'connect 1- drop\n'
  hello
  has 'connect: a new connection is closed' "$code $status" '^(52|56) 000'
  faults 'connect-storage * drop\n'
  create application/pdf
  is 'connect-storage: the service responds' "$status" 201
  put "$url" "$dir/chart.pdf"
  has 'connect-storage: the storage does not' "$code $status" '^(52|55|56) 000'
  faults 'put 1 status 403\nput 1 body <Error><Code>NoSuchBucket</Code></Error>\n'
  put "$url" "$dir/chart.pdf"
  is 'body: an error document of a storage' "$status $(header Content-Type)" \
    '403 application/xml'

  head -c 100000 /dev/zero > "$dir/zero"
  create image/png
  faults 'put * cut 40000\n'
  put "$url" "$dir/zero" image/png
  has 'cut: the connection ends' "$code $status" '^(52|55|56) 000'
  is 'cut: nothing was stored' "$(word_of "$id")" pending_upload
  faults 'put * cut 40000\nput * keep\n'
  put "$url" "$dir/zero" image/png
  until_true settled "$id"
  is 'keep: the fragment is processed' \
    "$(word_of "$id") $(stat -c %s "$dir/data/${id}_1")" 'complete 40000'
  faults 'put * cut 100000\n'
  put "$url" "$dir/zero" image/png
  is 'cut: a smaller file arrives' \
    "$status $(stat -c %s "$dir/data/${id}_1")" '200 100000'
  stop
}

test_invalid_scripts()
{
  invalid_script 'unknown call' 'hallo 1 drop' CALL
  invalid_script 'invalid range' 'hello 4-2 drop' WHICH
  invalid_script 'action that does not apply' 'hello 1 word x' ACTION
  invalid_script 'another action of a connection' 'connect 1 hang' ACTION
  invalid_script 'a cut that is not an upload' 'create 1 cut 5' ACTION
  invalid_script 'incomplete line' 'hello 1' 'number of words'
  invalid_script 'invalid status' 'hello 1 status 99' ARGUMENT
  invalid_script 'invalid header' 'hello 1 status 500 Retry' ARGUMENT
  invalid_script 'header without a name' 'hello 1 header x' ARGUMENT
  invalid_script 'unexpected argument' 'hello 1 drop 5' ARGUMENT
  invalid_script 'missing argument' 'hello 1 body' ARGUMENT
  invalid_script 'invalid edit' 'hello 1 edit /(/x/' ARGUMENT
  invalid_script 'invalid delay' 'hello 1 delay soon' ARGUMENT
}

# --- the rest --------------------------------------------------------------

test_tls()
{
  authority tls IP:127.0.0.1
  start --tls-cert "$dir/tls.pem" --tls-key "$dir/tls.key"
  contains 'URLs are https' "$api $storage" \
    "https://127.0.0.1:${api##*:} https://127.0.0.1:"
  is 'hello over TLS, certificate verified' \
    "$(curl -s -o /dev/null -w '%{http_code}' --cacert "$dir/tls.pem" \
      -X POST -H "$auth" "$api/auth/hello")" 200
  create application/pdf
  put "$url" "$dir/chart.pdf"
  first_case
  is 'a result over TLS' "$status ${url%%:*}" '200 https'
  stop
  authority storage IP:127.0.0.1
  cat "$dir/storage.pem" "$dir/storage.key" > "$dir/both.pem"
  start --tls-cert "$dir/tls.pem" --tls-key "$dir/tls.key" \
    --storage-tls "$dir/both.pem"
  is 'the service keeps its certificate' \
    "$(curl -s -o /dev/null -w '%{http_code}' --cacert "$dir/tls.pem" \
      -X POST -H "$auth" "$api/auth/hello")" 200
  is 'the storage has its own' \
    "$(curl -s -o /dev/null -w '%{http_code}' --cacert "$dir/storage.pem" \
      "$storage/x")" 405
  stop
}

exit_of()
{
  timeout $((10 * slowest)) "$sim" "$@" > "$dir/out" 2> "$dir/err"
  echo $?
}

test_options()
{
  local option

  make_keys
  is '--help exits 0' "$(exit_of --help)" 0
  contains 'help says what it is for' "$(tr '\n' ' ' < "$dir/out")" \
    'Not for patient data'
  is '--help fits a terminal' \
    "$(awk 'length > 80' "$dir/out") $(($(wc -l < "$dir/out") < 24))" ' 1'
  for option in port storage-port ready-file tls-cert tls-key \
    storage-tls key-file \
    algorithm key-id claim token-file skew source-time case-time rate \
    url-lifetime data-dir log faults help version; do
    grep -q -e "^  --$option " "$dir/out" || is "help has --$option" no yes
  done
  is '--version exits 0' "$(exit_of --version)" 0
  contains 'and names the program' "$(cat "$dir/out")" 'docextract-sim '
  is 'an unknown option: 64' "$(exit_of --nonsense)" 64
  is 'an invalid number: 64' "$(exit_of --port 70000)" 64
  is 'an unexpected argument: 64' "$(exit_of x)" 64
  is 'a certificate without a key: 64' "$(exit_of --tls-cert x)" 64
  is 'a certificate of the storage alone: 64' \
    "$(exit_of --storage-tls x)" 64
  is 'a key without its algorithm: 64' "$(exit_of --key-file x)" 64
  is 'a key and a fixed token: 64' \
    "$(exit_of --key-file x --algorithm HS256 --token-file x)" 64
  is 'a claim of a fixed token: 64' \
    "$(exit_of --claim a=b --token-file x)" 64
  is 'a key that does not match the algorithm' \
    "$(exit_of --port 0 --storage-port 0 --key-file "$dir/RSA.pub" \
      --algorithm ES256) $(cat "$dir/err")" \
    '69 docextract-sim: token check: the key does not match the algorithm'
  start
  is 'a port in use is refused' \
    "$(exit_of --port "${api##*:}" --storage-port 0) $(cat "$dir/err")" \
    "69 docextract-sim: cannot listen on port ${api##*:}; choose a free port"
  stop
}

[ -x "$sim" ] || {
  echo "not ok - no program at $sim"
  echo '0 passed, 1 failed'
  exit 1
}

section 'a complete run'
test_complete_run

section 'refusals'
test_refusals

section 'reading'
test_reading

section 'times'
test_times

section 'storage'
test_storage

section 'a large upload'
test_large_upload

section 'algorithms'
test_algorithms

section 'claims'
test_claims

section 'rate'
test_rate

section 'faults'
test_faults

section 'outages'
test_outages

section 'invalid scripts'
test_invalid_scripts

section 'TLS'
test_tls

section 'options'
test_options

count_is_good
