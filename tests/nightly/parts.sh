# parts.sh - what is between docextract and the service, of parts that others
# made, in a network of its own: dnsmasq, squid behind haproxy, nginx with TLS, a
# packet filter, small disks; and the files that an administrator writes.
# break_part and repair_part begin and end an outage.
#
# To be sourced by bash, inside `unshare --net --mount`, after tests/it/lib.sh.
# Nothing is tested here.
# shellcheck disable=SC2154
. "$top/tests/hostile/lib.sh"

api_address=192.0.2.1
storage_address=192.0.2.2
proxy_address=192.0.2.3
declare -A parts=() # the process of each part
declare -A with=()  # what a part does otherwise during an outage

end_parts()
{
  local p
  for p in "${parts[@]}"; do end_process "$p"; done
  umount -l /etc/resolv.conf
  ! mountpoint -q "$results" || umount -l "$results"
  ! mountpoint -q "$spool" || umount -l "$spool"
}

start_part() # NAME COMMAND...
{
  local name=$1
  shift
  [ -z "${parts[$name]-}" ] || end_process "${parts[$name]}"
  "$@" >> "$dir/$name.out" 2>&1 &
  parts[$name]=$!
}

tcp_answers() { (: < "/dev/tcp/$1/$2") 2> /dev/null; } # ADDRESS PORT
answers_or_give_up() # NAME ADDRESS PORT
{
  WAIT_S=20 until_true tcp_answers "$2" "$3" ||
    give_up "$1 starts: $(cat "$dir/$1.out")"
}

# --- the parts ---------------------------------------------------------------

# With --address, every name below clinic.test exists, or none does.
start_dns() # OPTION...
{
  start_part dnsmasq dnsmasq --keep-in-foreground --conf-file=/dev/null \
    --no-resolv --no-hosts --listen-address=127.0.0.1 --bind-interfaces \
    --user=root --pid-file= "$@"
  answers_or_give_up dnsmasq 127.0.0.1 53
}

start_right_dns()
{
  start_dns "--address=/api.clinic.test/$api_address" \
    "--address=/storage.clinic.test/$storage_address"
}

start_squid()
{
  printf '%s\n' 'http_port 127.0.0.1:3128' 'cache deny all' \
    'http_access allow all' 'access_log none' "cache_log $dir/squid.log" \
    'pid_filename none' 'shutdown_lifetime 0 seconds' 'pinger_enable off' \
    "coredump_dir $dir" 'cache_mem 8 MB' 'dns_nameservers 127.0.0.1' \
    > "$dir/squid.conf"
  : > "$dir/squid.log"
  chmod 666 "$dir/squid.log"
  start_part squid squid -N -f "$dir/squid.conf"
  answers_or_give_up squid 127.0.0.1 3128
}

# In front of squid: with[proxy] is a line for all requests.
start_haproxy()
{
  cat > "$dir/haproxy.cfg" << END
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend proxy
  bind $proxy_address:3128
  ${with[proxy]-}
  default_backend squid
backend squid
  server squid 127.0.0.1:3128
END
  start_part haproxy haproxy -db -f "$dir/haproxy.cfg"
  answers_or_give_up haproxy "$proxy_address" 3128
}

# with[api] and with[storage] are other certificates; with[sim], where nothing
# listens; with[api_line], a line for the API.
start_nginx()
{
  local storage
  storage=$(sed -n 's,^storage http://,,p' "$dir/sim.ready")
  cat > "$dir/nginx.conf" << END
daemon off;
master_process off;
pid $dir/nginx.pid;
error_log $dir/nginx.err;
events {}
http {
  access_log off;
  client_body_temp_path $dir/nginx-body;
  proxy_temp_path $dir/nginx-proxy;
  fastcgi_temp_path $dir/nginx-1;
  uwsgi_temp_path $dir/nginx-2;
  scgi_temp_path $dir/nginx-3;
  client_max_body_size 0;
  server {
    listen $api_address:443 ssl http2;
    ssl_certificate $dir/${with[api]-good}.pem;
    ssl_certificate_key $dir/${with[api]-good}.key;
    ${with[api_line]-}
    location / {
      proxy_pass http://${with[sim]-${SIM_API#http://}};
    }
  }
  server {
    listen $storage_address:443 ssl http2;
    ssl_certificate $dir/${with[storage]-good}.pem;
    ssl_certificate_key $dir/${with[storage]-good}.key;
    location / {
      proxy_pass http://${with[sim]-$storage};
      proxy_set_header Host $storage;
    }
  }
}
END
  start_part nginx nginx -c "$dir/nginx.conf"
  answers_or_give_up nginx "$api_address" 443
}

filter_packets() # RULE...: what becomes of packets that arrive
{
  local rule
  nft flush ruleset
  [ $# -gt 0 ] || return 0
  nft add table inet t
  nft add chain inet t in '{ type filter hook input priority 0; }'
  for rule; do nft add rule inet t in "$rule"; done
}

unroute() # ADDRESS...
{
  local a
  for a; do ip route replace unreachable "$a" table local; done
}
route() # ADDRESS...
{
  local a
  for a; do
    ip route replace local "$a" dev lo table local proto kernel scope host \
      src "$a"
  done
}

small_disk() # DIRECTORY
{
  local image=$dir/disk.${1##*/}
  truncate -s 200M "$image"
  mkfs.ext4 -q "$image"
  mkdir -p "$1"
  mount -o loop "$image" "$1" || give_up "mounting $image"
  rmdir "$1/lost+found"
}

# The simulator must run, and no cupsd yet.
start_parts() # KIND
{
  local names=DNS:api.clinic.test,DNS:storage.clinic.test
  ip link set lo up
  ip addr add "$api_address/32" dev lo
  ip addr add "$storage_address/32" dev lo
  ip addr add "$proxy_address/32" dev lo
  echo 'nameserver 127.0.0.1' > "$dir/resolv.conf"
  mount --bind "$dir/resolv.conf" /etc/resolv.conf || give_up 'mounting'
  certificates
  certificate ca good "$names"
  expired_certificate "$names"
  authority strange "$names" # of an unknown CA
  start_right_dns
  start_squid
  start_haproxy
  start_nginx
  BASE_URL=https://api.clinic.test
  case $1 in
  disk-spool) small_disk "$spool" ;;
  disk-results)
    owned_dir 711 "$spool"
    small_disk "$results"
    ;;
  esac
}

# The line of a fault script with which upload URLs lead to nginx.
storage_line()
{
  local storage
  storage=$(sed -n 's,^storage ,,p' "$dir/sim.ready")
  echo "create * edit |$storage/|https://storage.clinic.test/|"
}

lines_of_parts() # KIND: of the section
{
  echo "CAFile $dir/ca.pem"
  case $1 in
  proxy-*) echo "Proxy http://$proxy_address:3128" ;;
  esac
}

# --- outages -----------------------------------------------------------------

nginx_with() # NAME VALUE
{
  with[$1]=$2
  start_nginx
}

haproxy_with() # LINE
{
  with[proxy]=$1
  start_haproxy
}

fill() # DIRECTORY
{
  fallocate -l "$(df --output=avail -B 1 "$1" | tail -n 1)" "$1/.full"
}

break_part() # KIND
{
  local both="{ $api_address, $storage_address }"
  case $1 in
  refused) filter_packets "ip daddr $both tcp dport 443 reject with tcp reset" ;;
  dropped) filter_packets "ip daddr $both drop" ;;
  no-route) unroute "$api_address" "$storage_address" ;;
  storage-refused)
    filter_packets \
      "ip daddr $storage_address tcp dport 443 reject with tcp reset"
    ;;
  storage-dropped) filter_packets "ip daddr $storage_address drop" ;;
  storage-no-route) unroute "$storage_address" ;;
  dns-silent) filter_packets 'udp dport 53 drop' 'tcp dport 53 drop' ;;
  dns-gone) end_process "${parts[dnsmasq]}" ;;
  dns-no-name) start_dns --address=/clinic.test/ ;;
  expired | strange) nginx_with api "$1" ;;
  wrong-name) nginx_with api wrong ;;
  old-tls) nginx_with api_line 'ssl_protocols TLSv1.1;' ;;
  storage-expired | storage-strange) nginx_with storage "${1#storage-}" ;;
  bad-gateway) nginx_with sim 127.0.0.1:9 ;;
  page-403) nginx_with api_line 'deny all;' ;;
  proxy-407)
    haproxy_with "http-request return status 407 content-type text/html \
string '<html>' hdr Proxy-Authenticate 'Basic realm=x'"
    ;;
  proxy-403 | proxy-502)
    haproxy_with "http-request deny deny_status ${1#proxy-}"
    ;;
  proxy-503) end_process "${parts[squid]}" ;;
  proxy-refused)
    filter_packets "ip daddr $proxy_address tcp dport 3128 reject with tcp reset"
    ;;
  disk-spool) fill "$spool" ;;
  disk-results) fill "$results" ;;
  key)
    cp -p "$dir/key" "$dir/key.good"
    openssl rand -hex 32 | tr -d '\n' > "$dir/key"
    ;;
  key-unreadable) chown root:root "$dir/key" ;;
  key-gone) mv "$dir/key" "$dir/key.good" ;;
  ca)
    mv "$dir/ca.pem" "$dir/ca.good"
    cp "$dir/strange.pem" "$dir/ca.pem"
    ;;
  address) sed -i 's,^BaseURL .*,&/nowhere,' "$config" ;;
  storage-host) sed -i 's,^CAFile,StorageHost other.clinic.test\n&,' "$config" ;;
  *) give_up "unknown outage $1" ;;
  esac
}

repair_part() # KIND
{
  with=()
  case $1 in
  *refused | *dropped | dns-silent) filter_packets ;;
  *no-route) route "$api_address" "$storage_address" ;;
  dns-*) start_right_dns ;;
  proxy-503) start_squid ;;
  proxy-*) start_haproxy ;;
  disk-spool) rm "$spool/.full" ;;
  disk-results) rm "$results/.full" ;;
  key-unreadable) chgrp "$run_group" "$dir/key" ;;
  key | key-gone) mv "$dir/key.good" "$dir/key" ;;
  ca) mv "$dir/ca.good" "$dir/ca.pem" ;;
  address) sed -i 's,/nowhere$,,' "$config" ;;
  storage-host) sed -i '/^StorageHost/d' "$config" ;;
  *) start_nginx ;;
  esac
}
