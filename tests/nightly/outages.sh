#!/usr/bin/env bash
#
# outages.sh [KIND...] - tests/it/outage.sh for every kind of outage, each with a
# scheduler of its own: 20 charts on two queues, for 75 s (DX_OUTAGE_S). Many at
# once, because they mostly wait. In the second list, parts of others fail, which
# parts.sh has, in a network of their own.
set -u
. "$(dirname "$0")/../helper/count.sh"
export DX_OUTAGE_S=${DX_OUTAGE_S:-75} DX_OUTAGE_CHARTS=${DX_OUTAGE_CHARTS:-20}
export PATH=$PATH:/usr/sbin

one=$(dirname "$0")/../it/outage.sh
simulated=(failed hang connect reset lost cut page page-201 empty no-json wait-2
  302 400 401 402 403 404 405 407 409 418 421 423 426 429 451 500 502 503 504
  retry-403 storage-reset storage-page storage-403 storage-500)
real=(refused no-route dropped dns-silent dns-gone dns-no-name
  expired strange wrong-name old-tls bad-gateway page-403
  storage-refused storage-no-route storage-dropped storage-expired
  storage-strange storage-host
  proxy-407 proxy-403 proxy-502 proxy-503 proxy-refused
  key key-unreadable key-gone ca address disk-spool disk-results)

may_run_real()
{
  local one
  unshare --net --mount true 2> /dev/null || {
    leave_out 'outages of real parts' 'run it as root'
    return 1
  }
  for one in nft:nftables dnsmasq:dnsmasq-base ip:iproute2 mkfs.ext4:e2fsprogs \
    squid:squid nginx:nginx-light haproxy:haproxy; do
    command -v "${one%:*}" > /dev/null && continue
    leave_out 'outages of real parts' "apt-get install ${one#*:}"
    return 1
  done
}

is_real() { [[ " ${real[*]} " = *" $1 "* ]]; } # KIND

run() # KIND
{
  if is_real "$1"; then
    DX_PARTS=1 unshare --net --mount bash "$one" "$1"
  else
    bash "$one" "$1"
  fi
}

if [ $# = 0 ]; then
  set -- "${simulated[@]}"
  ! may_run_real || set -- "$@" "${real[@]}"
fi
out=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-outages.XXXXXX")
trap 'rm -rf "$out"' EXIT

for kind; do
  while [ "$(jobs -rp | wc -l)" -ge $((8 * $(nproc))) ]; do wait -n; done
  run "$kind" > "$out/$kind" 2>&1 < /dev/null &
done
wait
for kind; do
  # Counted here; the last line has the counts of that run.
  while IFS= read -r line; do
    case $line in
    'ok - no sanitizer complains') ;;
    'ok - '*) ok "${line#ok - }" ;;
    'not ok - '*) not_ok "${line#not ok - }" ;;
    '#'*) echo "$line" ;;
    esac
  done < "$out/$kind"
  has "an outage ($kind): the script ends" "$(tail -n 1 "$out/$kind")" \
    '^[0-9]+ passed, 0 failed$'
done
count_is_good
