#!/usr/bin/env bash
#
# proxies.sh - docextract behind proxies, and a service behind load balancers,
# as others make them: squid and tinyproxy with and without a password; nginx and
# haproxy with TLS and HTTP/2, which are restarted while charts wait, or reject
# calls over their rate.
. "$(dirname "$0")/../cli/frame.sh"
. "$top/tests/hostile/lib.sh"
. "$top/tests/helper/picture.sh"

front= # the proxy or load balancer
end_front()
{
  [ -n "$front" ] || return 0
  {
    kill "$front"
    wait "$front"
  } 2> /dev/null
  front=
}
trap 'finish end_front' EXIT

for one in squid:squid tinyproxy:tinyproxy-bin nginx:nginx-light haproxy:haproxy \
  htpasswd:apache2-utils; do
  PATH=$PATH:/usr/sbin command -v "${one%:*}" > /dev/null && continue
  leave_out 'proxies and load balancers' "apt-get install ${one#*:}"
  end
done
export PATH=$PATH:/usr/sbin

free_port()
{
  /usr/bin/python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

listens() { (: < "/dev/tcp/127.0.0.1/$1") 2> /dev/null; } # PORT
listens_or_gone() { listens "$1" || is_gone "$front"; }

start_front() # PORT COMMAND...
{
  local port=$1
  shift
  end_front
  "$@" > "$dir/front.out" 2>&1 &
  front=$!
  until_true listens_or_gone "$port"
  listens "$port" || bail_out "$1 starts: $(cat "$dir/front.out")"
}

secret() # FILE TEXT: as the key of a service
{
  printf '%s\n' "$2" > "$1"
  chmod 600 "$1"
  [ $EUID != 0 ] || chown "$owner" "$1"
}

submits() # TEXT FILE...
{
  local text=$1
  shift
  new_spool
  dx submit "$@"
  is "$text: charts are extracted" \
    "$rc $(find "$results" -name '*.job.json' | wc -l)" "0 $#"
}

certificates
start_tls "$dir/good"
secret "$dir/login" 'ann:se:cret'
secret "$dir/wrong" 'ann:other'

# --- squid and tinyproxy ---------------------------------------------------

port=$(free_port)
through=("CAFile $dir/ca.pem" "Proxy http://127.0.0.1:$port")
htpasswd -bc "$dir/users" ann se:cret 2> "$dir/htpasswd.err"
printf 'ann:test:%s\n' "$(printf 'ann:test:se:cret' | md5sum | cut -d ' ' -f 1)" \
  > "$dir/digests"
chmod 644 "$dir/users" "$dir/digests"

start_squid() # LINE...
{
  {
    printf '%s\n' "http_port 127.0.0.1:$port" "$@" 'cache deny all' \
      'http_access deny all' 'access_log none' "cache_log $dir/squid.log" \
      'pid_filename none' 'shutdown_lifetime 0 seconds' 'pinger_enable off' \
      "coredump_dir $dir" 'cache_mem 8 MB' 'forwarded_for off'
  } > "$dir/squid.conf"
  : > "$dir/squid.log"
  chmod 666 "$dir/squid.log"
  start_front "$port" squid -N -f "$dir/squid.conf"
}

start_tinyproxy() # LINE...
{
  printf '%s\n' "Port $port" 'Listen 127.0.0.1' 'Timeout 60' 'MaxClients 50' \
    'Allow 127.0.0.1' "$@" > "$dir/tinyproxy.conf"
  start_front "$port" tinyproxy -d -c "$dir/tinyproxy.conf"
}

# NAME: it requires a password.
requires_password()
{
  configure "${through[@]}"
  dx hello
  has "$1, no password: hello names the proxy, and what to do" "$rc $out $err" \
    "proxy '127.0.0.1:$port' requires a password \\(407\\); set ProxyPasswordFile"
  configure "${through[@]}" "ProxyPasswordFile $dir/wrong"
  dx hello
  has "$1, wrong password: hello names the proxy" "$rc $out $err" \
    "proxy '127.0.0.1:$port' rejects the user or password of ProxyPasswordFile"
  hasnt "$1, wrong password: it is not shown" "$out$err$(cat "$dir"/driver.*)" \
    'other'
  configure "${through[@]}" "ProxyPasswordFile $dir/login"
  dx hello
  is "$1, right password: hello" "$rc$err" 0
  submits "$1, right password" "$dir/d.png"
  hasnt "$1: the password is not shown" \
    "$out$err$(cat "$dir"/driver.*)$(dx config; cat "$dir/out")" 'se:cret|sesame'
}

start_squid 'http_access allow all'
configure "${through[@]}"
dx hello
is 'squid: hello' "$rc$err" 0
submits squid "$dir/d.png"
configure "${through[@]}" "ProxyPasswordFile $dir/login"
dx hello
is 'squid, a password that it does not require: hello' "$rc$err" 0
URL=https://127.0.0.1:1 configure "${through[@]}"
dx hello
has 'squid, the service is away: the status is that of the proxy' "$rc $err" \
  "the proxy '127.0.0.1:$port' cannot connect to '127.0.0.1:1' \\(503\\)"

start_squid
configure "${through[@]}"
dx hello
has 'squid, not permitted: the status is that of the proxy' "$rc $err" \
  "the proxy '127.0.0.1:$port' does not permit connections to .* \\(403\\)"

basic=(/usr/lib/squid/basic_ncsa_auth /usr/lib64/squid/basic_ncsa_auth)
[ -x "${basic[0]}" ] || basic=("${basic[@]:1}")
start_squid "auth_param basic program ${basic[0]} $dir/users" \
  'acl known proxy_auth REQUIRED' 'http_access allow known'
requires_password 'squid, Basic'
start_squid \
  "auth_param digest program ${basic[0]%/*}/digest_file_auth -c $dir/digests" \
  'auth_param digest realm test' \
  'acl known proxy_auth REQUIRED' 'http_access allow known'
requires_password 'squid, Digest'

start_tinyproxy
configure "${through[@]}"
dx hello
is 'tinyproxy: hello' "$rc$err" 0
submits tinyproxy "$dir/d.png"
secret "$dir/login" 'ann:sesame' # a colon is not possible there
start_tinyproxy 'BasicAuth ann sesame'
requires_password tinyproxy
start_tinyproxy 'ConnectPort 563'
configure "${through[@]}"
dx hello
has 'tinyproxy, not permitted: the status is that of the proxy' "$rc $err" \
  "the proxy '127.0.0.1:$port' does not permit connections to .* \\(403\\)"
end_front

# --- nginx and haproxy -----------------------------------------------------

# The simulator names its own port for uploads; the load balancer has another.
front_api=$(free_port)
front_storage=$(free_port)
start_sim --source-time 2000 --data-dir "$dir/data"
storage=$(sed -n 's,^storage http://,,p' "$dir/ready")
faults "create * edit |http://$storage/|https://127.0.0.1:$front_storage/|\n"
cat "$dir/good.pem" "$dir/good.key" > "$dir/both.pem"

start_nginx() # LINE IN THE SERVER OF THE API...
{
  cat > "$dir/nginx.conf" << END
daemon off;
master_process off;
pid $dir/nginx.pid;
error_log $dir/nginx.err;
events {}
http {
  log_format short '\$request_method \$server_protocol \$status';
  access_log $dir/nginx.log short;
  client_body_temp_path $dir/nginx-body;
  proxy_temp_path $dir/nginx-proxy;
  fastcgi_temp_path $dir/nginx-1;
  uwsgi_temp_path $dir/nginx-2;
  scgi_temp_path $dir/nginx-3;
  client_max_body_size 0;
  limit_req_zone \$binary_remote_addr zone=calls:1m rate=2r/s;
  ssl_certificate $dir/good.pem;
  ssl_certificate_key $dir/good.key;
  server {
    listen 127.0.0.1:$front_api ssl http2;
    location / {
      proxy_pass $api;
      $*
    }
  }
  server {
    listen 127.0.0.1:$front_storage ssl http2;
    location / {
      proxy_pass http://$storage;
      proxy_set_header Host $storage;
    }
  }
}
END
  start_front "$front_api" nginx -c "$dir/nginx.conf"
}

start_haproxy()
{
  cat > "$dir/haproxy.cfg" << END
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend api
  bind 127.0.0.1:$front_api ssl crt $dir/both.pem alpn h2,http/1.1
  default_backend api
frontend storage
  bind 127.0.0.1:$front_storage ssl crt $dir/both.pem alpn h2,http/1.1
  default_backend storage
backend api
  server sim ${api#http://}
backend storage
  server sim $storage
END
  start_front "$front_api" haproxy -db -f "$dir/haproxy.cfg"
}

URL=https://127.0.0.1:$front_api
configure_behind() { configure "CAFile $dir/ca.pem"; }

charts=()
for n in 1 2 3 4; do
  cp "$dir/d.png" "$dir/chart$n.png"
  printf '%s' "$n" >> "$dir/chart$n.png"
  charts+=("$dir/chart$n.png")
done

uploads() { calls put '.status==200'; }
is_uploaded() { [ "$(uploads)" -ge "$1" ]; } # N

# NAME: restarts while charts are with the service.
restart() # NAME FUNCTION
{
  local before
  before=$(uploads)
  new_spool
  start_docextractd
  "$program" -c "$conf" submit "$dir/d.png" > "$dir/out" 2> "$dir/err" &
  pid=$!
  until_true is_uploaded $((before + 1))
  end_front
  "$2"
  wait "$pid"
  is "$1, restarted: the chart is extracted" \
    "$? $(find "$results" -name '*.job.json' | wc -l)" '0 1'
  pid=
  is "$1, restarted: it was uploaded once" \
    "$(uploads)" $((before + 1))
}

# nginx first receives all of a document, in a file without a name.
nginx_has_a_part()
{
  find "/proc/$front/fd" -lname "$dir/nginx-body/*" | grep -q .
}
storage_has_a_part() { find "$dir/data" -name '.put-*' -size +1M | grep -q .; }

# NAME FUNCTION CONDITION: restarts when a part of the document has arrived.
restart_in_upload()
{
  local name=$1 creates before file
  creates=$(calls create) before=$(uploads)
  new_spool
  start_docextractd
  touch "$dir/begin"
  "$program" -c "$conf" submit "$dir/large.png" > "$dir/out" 2> "$dir/err" &
  pid=$!
  until_true "$3"
  end_front
  is "$name, restarted in an upload: it was not complete" "$(uploads)" "$before"
  "$2"
  wait "$pid"
  is "$name, restarted in an upload: the chart is extracted" \
    "$? $(find "$results" -name '*.job.json' | wc -l)" '0 1'
  pid=
  is "$name, restarted in an upload: it was completed once, in the same source" \
    "$(uploads) $(calls create)" "$((before + 1)) $((creates + 1))"
  file=$(find "$dir/data" -type f -newer "$dir/begin")
  check "$name, restarted in an upload: the storage has all of it" \
    cmp "$file" "$dir/large.png"
  rm -f "$file"
}

: > "$dir/nginx.log"
chmod 711 "$dir"
picture "$dir/large.png" 200
chmod 644 "$dir/large.png"
start_nginx
configure_behind
new_spool # hello would test the storage of the last upload
dx hello
is 'nginx: hello' "$rc$err" 0
submits nginx "$dir/chart1.png"
has 'nginx: the API is called with HTTP/2' "$(cat "$dir/nginx.log")" \
  '^POST HTTP/2.0 201'
has 'nginx: documents are uploaded with HTTP/1.1' "$(cat "$dir/nginx.log")" \
  '^PUT HTTP/1.1 200'
restart nginx start_nginx
restart_in_upload nginx start_nginx nginx_has_a_part
for status in 429 503; do
  : > "$dir/nginx.log"
  start_nginx 'limit_req zone=calls;' "limit_req_status $status;"
  configure_behind
  submits "nginx, limit_req with $status" "${charts[@]}"
  has "nginx, limit_req with $status: calls were rejected" \
    "$(cat "$dir/nginx.log")" " $status\$"
done

start_haproxy
configure_behind
dx hello
is 'haproxy: hello' "$rc$err" 0
submits haproxy "$dir/chart2.png"
restart haproxy start_haproxy
restart_in_upload haproxy start_haproxy storage_has_a_part

end
