#!/usr/bin/env bash
#
# swift.sh - uploads to an object storage of others: OpenStack Swift, with its
# TempURLs and its S3 API. storage.py is the service, and has the fronts that
# cut, redirect, or delay an upload.
. "$(dirname "$0")/../cli/frame.sh"
. "$top/tests/hostile/lib.sh"
. "$top/tests/helper/picture.sh"

export PATH=$PATH:/usr/sbin
for one in swift-ring-builder:swift swift-proxy-server:swift-proxy \
  swift-account-server:swift-account swift-container-server:swift-container \
  swift-object-server:swift-object memcached:memcached haproxy:haproxy; do
  command -v "${one%:*}" > /dev/null && continue
  leave_out 'OpenStack Swift' "apt-get install ${one#*:}"
  end
done
stop_sim

servers=() # process ids
end_servers()
{
  {
    [ -z "${servers[*]}" ] || kill "${servers[@]}"
    wait "${servers[@]}"
  } 2> /dev/null
}
trap 'finish end_servers' EXIT

free_port()
{
  /usr/bin/python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

listens() { (: < "/dev/tcp/127.0.0.1/$1") 2> /dev/null; } # PORT
listens_or_gone() { listens "$1" || is_gone "${servers[-1]}"; }

start() # NAME PORT COMMAND...
{
  local name=$1 port=$2
  shift 2
  "$@" > "$dir/$name.out" 2>&1 &
  servers+=($!)
  until_true listens_or_gone "$port"
  listens "$port" || bail_out "$name starts: $(cat "$dir/$name.out")"
}

# --- Swift: one node, one replica, a directory as the device ----------------

swift=$dir/swift
mkdir -p "$swift/devices/d1"

swift_conf() # PORT LINE...: of each server
{
  printf '%s\n' '[DEFAULT]' 'bind_ip = 127.0.0.1' "bind_port = $1" \
    'workers = 0' "user = $(id -un)" "swift_dir = $swift" \
    "devices = $swift/devices" 'mount_check = false' '[pipeline:main]' "${@:2}"
}

filters='catch_errors gatekeeper proxy-logging cache listing_formats tempurl
s3api tempauth copy slo dlo versioned_writes proxy-logging'
cache=$(free_port)
start memcached "$cache" memcached -l 127.0.0.1 -p "$cache" -U 0 -u "$(id -un)"
for one in account container object; do
  port=$(free_port)
  for step in 'create 4 1 0' "add r1z1-127.0.0.1:$port/d1 1" rebalance; do
    # shellcheck disable=SC2086
    swift-ring-builder "$swift/$one.builder" $step >> "$dir/rings.out" 2>&1
  done
  swift_conf "$port" "pipeline = $one-server" "[app:$one-server]" \
    "use = egg:swift#$one" > "$swift/$one.conf"
  start "swift-$one" "$port" "swift-$one-server" "$swift/$one.conf" -v
done
storage=$(free_port)
{
  swift_conf "$storage" "pipeline = ${filters//$'\n'/ } proxy-server" \
    '[app:proxy-server]' 'use = egg:swift#proxy' 'account_autocreate = true'
  for one in $filters; do
    [ "$one" = proxy-logging ] ||
      printf '[filter:%s]\nuse = egg:swift#%s\n' "$one" "$one"
    case $one in
    cache) echo "memcache_servers = 127.0.0.1:$cache" ;;
    tempauth) echo 'user_charts_service = sesame .admin' ;;
    esac
  done
  printf '[filter:proxy-logging]\nuse = egg:swift#proxy_logging\n'
} | sed 's/swift#cache$/swift#memcache/' > "$swift/proxy.conf"
start swift-proxy "$storage" swift-proxy-server "$swift/proxy.conf" -v

token=$(curl -si -H 'X-Storage-User: charts:service' \
  -H 'X-Storage-Pass: sesame' "http://127.0.0.1:$storage/auth/v1.0" |
  sed -n 's/\r//; s/^X-Auth-Token: //p')
as_admin() # METHOD PATH [OPTION...]
{
  curl -sfX "$1" -H "X-Auth-Token: $token" "${@:3}" \
    "http://127.0.0.1:$storage/v1/AUTH_charts$2"
}
check 'Swift runs, and has an account' \
  as_admin POST '' -H 'X-Account-Meta-Temp-URL-Key: sesame'

# --- the service --------------------------------------------------------------

cases=(s3 tempurl large signature account late bucket cut lost slow redirect
  created)
mode() # CASE WORD...
{
  echo "${*:2}" > "$dir/mode"
  mv "$dir/mode" "$dir/served/$1"
}
mkdir "$dir/served"
for one in "${cases[@]}"; do
  mode "$one"
  [ "$one" = bucket ] || as_admin PUT "/charts-$one"
done
/usr/bin/python3 "$top/tests/nightly/storage.py" "$dir/served" "$storage" \
  "${cases[@]}" > "$dir/ports" 2> "$dir/storage.err" &
servers+=($!)
service_is_up_or_gone()
{
  contains_line "$dir/ports" ready || is_gone "${servers[-1]}"
}
until_true service_is_up_or_gone
api=http://127.0.0.1:$(sed -n 's/^api //p' "$dir/ports")

# TLS in front of Swift. It responds to an upload with 201, and the interface
# requires 200.
certificates
cat "$dir/good.pem" "$dir/good.key" > "$dir/both.pem"
front=$(free_port)
cat > "$dir/haproxy.cfg" << END
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend storage
  bind 127.0.0.1:$front ssl crt $dir/both.pem alpn h2,http/1.1
  http-response set-status 200 if { status 201 }
  default_backend swift
backend swift
  server swift 127.0.0.1:$storage
END
start haproxy "$front" haproxy -db -f "$dir/haproxy.cfg"
mode tempurl sign=tempurl "base=https://127.0.0.1:$front"

{
  echo "SpoolDir $spool"
  echo "ResultsDir $results"
  echo "StatusSocket $spool/status"
  for one in "${cases[@]}"; do
    printf '%s\n' "<Service $one>" "BaseURL $api/$one" \
      "TokenKeyFile $dir/key" "CAFile $dir/ca.pem" 'MaxDocumentSize 512M' \
      '</Service>'
  done
} > "$conf"

# --- documents ---------------------------------------------------------------

for one in "${cases[@]}"; do
  picture "$dir/$one.png" 1
done
picture "$dir/large.png" 286 # 300 MB

declare -A submits
submit() # CASE: in the background
{
  "$program" -c "$conf" submit --service "$1" "$dir/$1.png" \
    > "$dir/$1.out" 2>&1 &
  submits[$1]=$!
}

# What the storage has in the bucket of a case: size and MD5 of each object.
objects() # CASE
{
  as_admin GET "/charts-$1?format=json" | jq -r '.[] | "\(.bytes) \(.hash)"'
}

found() # CASE JQ-FILTER: how often the service or the front has found this
{
  jq -s "[.[] | select(.case == \"$1\") | select($2)] | length" \
    "$dir/served/log"
}

says() # CASE PATTERN: what `docextract jobs` shows
{
  "$program" -c "$conf" jobs --service "$1" > "$dir/jobs.$1" 2>&1
  grep -Eq -e "$2" "$dir/jobs.$1"
}

# Until it is extracted: an upload that fails for good waits for two checks that
# are a minute apart.
extracted() # CASE TEXT CREATES
{
  local size md5 sha256
  WAIT_S=400 until_true is_gone "${submits[$1]}" ||
    kill "${submits[$1]}" 2> /dev/null
  wait "${submits[$1]}"
  is "$2: the chart is extracted, once" \
    "$? $(jq -r .service "$results"/*.job.json | grep -cx "$1")" '0 1'
  has "$2: jobs says so" \
    "$("$program" -c "$conf" jobs --service "$1" 2>&1)" extracted
  size=$(stat -c %s "$dir/$1.png")
  md5=$(md5sum "$dir/$1.png" | cut -d ' ' -f 1)
  sha256=$(sha256sum "$dir/$1.png" | cut -d ' ' -f 1)
  is "$2: the storage has the document once, with its bytes" \
    "$(objects "$1")" "$size $md5"
  is "$2: nothing else was ever in the storage" "$(jq -r "
    select(.case == \"$1\" and .status == 200) | .sha256" \
    "$dir/served/log" | sort -u)" "$sha256"
  is "$2: sources that were registered" "$(found "$1" '.call == "create"')" "$3"
}

# CASE TEXT PATTERN: the reason in `docextract jobs`, which names the host.
shows()
{
  until_true says "$1" "$3"
  has "$2: jobs says why" "$(cat "$dir/jobs.$1")" "$3"
}
front_says() { [ "$(found "$1" '.call == "front"')" != 0 ]; } # CASE
front_found() # CASE TEXT STATUS: of the object, after each connection
{
  until_true front_says "$1"
  is "$2" "$(jq "select(.case == \"$1\" and .call == \"front\") | .status" \
    "$dir/served/log" | sort -u)" "$3"
}

start_docextractd
[ -n "$driver" ] ||
  bail_out "docextractd starts: $("$program" -c "$conf" config 2>&1)"

# --- uploads that fail --------------------------------------------------------

mode signature secret=wrong
mode account sign=tempurl secret=wrong
mode late front=late life=6
mode cut front=cut
mode lost front=lost
mode slow front=slow
mode redirect front=redirect
mode created sign=tempurl life=40
for one in signature account late bucket cut lost slow redirect created; do
  submit "$one"
done
at='127.0.0.1:[0-9]+'

shows signature 'wrong signature, S3 API' \
  "signature of the upload URL is wrong \\($at: 403 SignatureDoesNotMatch\\)"
mode signature
shows account 'wrong signature, TempURL' \
  "the storage rejected the upload \\($at: 401\\)"
mode account sign=tempurl "base=https://127.0.0.1:$front" # 200
shows bucket 'no bucket' \
  "not have the bucket of the upload URL \\($at: 404 NoSuchBucket\\)"
as_admin PUT /charts-bucket
shows slow SlowDown "it requests fewer uploads \\($at: 503 SlowDown\\)"
front_found slow 'SlowDown: nothing is in the storage' 404
mode slow
shows redirect redirect \
  "redirects the upload, which is not followed \\($at: 307\\)"
front_found redirect 'redirect: nothing is in the storage' 404
mode redirect
shows cut 'cut in the middle' "'$at' (closed|reset)"
front_found cut 'cut in the middle: nothing is in the storage' 404
mode cut
shows lost 'lost response' "'$at' (closed|reset)"
front_found lost 'lost response: the document is in the storage' 200
mode lost
shows late 'expired URL' "upload URL has expired \\($at: 403 AccessDenied\\)"
mode late
shows created '201' "did not confirm the upload \\($at: 201\\)"

# --- uploads that succeed, while others wait ----------------------------------

submit s3
extracted s3 'S3 API' 1
submit tempurl
extracted tempurl 'TempURL, with TLS' 1
begin=$SECONDS
submit large
extracted large '300 MB' 1
echo "# 300 MB: $((SECONDS - begin)) s"

# --- and the others, after the end of the problem ----------------------------

extracted bucket 'no bucket' 1
extracted slow SlowDown 1
extracted redirect redirect 1
extracted cut 'cut in the middle' 1
extracted lost 'lost response' 1
extracted created 201 1
# At once, and after 1, 2, 4, 8, and 16 s, or half of that.
check '201: the upload is repeated with a backoff, while its URL is valid' \
  test "$(grep -c 'did not confirm the upload' "$dir/driver.err")" -le 10
extracted late 'expired URL' 2
extracted signature 'wrong signature, S3 API' 2
extracted account 'wrong signature, TempURL' 2

for one in "${cases[@]}"; do
  cat "$dir/$one.out" "$dir/jobs.$one"
done > "$dir/shown" 2> /dev/null
hasnt 'no signed URL is shown or logged' \
  "$(cat "$dir/shown" "$dir/driver.err")" 'Signature=|temp_url|Credential'

end
