#!/usr/bin/env bash
#
# network.sh - printing without a driver: a second computer finds the shared
# queue with mDNS and prints to it, as phones, tablets, and other computers
# do. What arrives is what was printed, once. doc/network.md is for those who
# set them up.
#
# Both computers are namespaces of this one, with a network, a D-Bus, and an
# Avahi of their own. Without root this is skipped and says so; in CI that is a
# failure.
if [ "${1-}" != inside ] && unshare --net --mount --uts true 2> /dev/null; then
  exec unshare --net --mount --uts bash "$0" inside
fi
. "$(dirname "$0")/../it/lib.sh"

[ "${1-}" = inside ] || leave_out_all 'printing from a network' 'run it as root'
for program in avahi-daemon cups-browsed dbus-daemon driverless ip; do
  command -v $program > /dev/null || leave_out_all 'printing from a network' \
    "install $program"
done

# --- two computers -----------------------------------------------------------

ward=       # the process whose namespaces are the second computer
services=() # processes of both

on_ward() { nsenter -t "$ward" -n -m -u "$@"; }

# In the namespaces of a computer: its name, files, and directories.
prepare_computer() # NAME
{
  local d=$dir/$1
  mkdir -p "$d" /run/dbus /run/avahi-daemon
  hostname "$1"
  ip link set lo up
  printf '%s\n' '127.0.0.1 localhost' '192.0.2.1 charts.local' \
    '192.0.2.2 ward.local' > "$d/hosts"
  cp /etc/passwd /etc/shadow "$d"
  echo 'ann:x:1984:1984::/:/bin/false' >> "$d/passwd"
  echo "ann:$(openssl passwd -6 secret):20000::::::" >> "$d/shadow"
  cat > "$d/dbus.conf" << 'END'
<busconfig>
  <listen>unix:path=/run/dbus/system_bus_socket</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/><allow own="*"/>
    <allow send_destination="*"/><allow receive_type="*"/>
  </policy>
</busconfig>
END
  printf '%s\n' '[server]' "host-name=$1" use-ipv6=no allow-interfaces=eth0 \
    '[rlimits]' > "$d/avahi.conf"
  mount -t tmpfs tmpfs /run/dbus && mount -t tmpfs tmpfs /run/avahi-daemon &&
    mount --bind "$d/hosts" /etc/hosts &&
    mount --bind "$d/passwd" /etc/passwd &&
    mount --bind "$d/shadow" /etc/shadow
}

start_service() # PROGRAM...: no function, whose program would outlive it
{
  "$@" >> "$dir/services.log" 2>&1 &
  services+=($!)
}

start_services() # NAME [COMMAND TO ENTER IT]
{
  local name=$1
  shift
  start_service "$@" dbus-daemon --nofork --config-file "$dir/$name/dbus.conf"
  until_true "$@" test -S /run/dbus/system_bus_socket ||
    give_up "D-Bus starts: $(cat "$dir/services.log")"
  start_service "$@" avahi-daemon -f "$dir/$name/avahi.conf" --no-drop-root \
    --no-chroot
}

ward_is_apart()
{
  [ "$(readlink "/proc/$ward/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

start_computers()
{
  unshare --net --mount --uts sleep infinity &
  ward=$!
  services+=("$ward")
  until_true ward_is_apart
  prepare_computer charts || give_up 'the first computer is prepared'
  export dir
  export -f prepare_computer
  on_ward bash -c 'prepare_computer ward' ||
    give_up 'the second computer is prepared'
  ip link add eth0 type veth peer name eth0 netns "$ward" &&
    ip addr add 192.0.2.1/24 dev eth0 && ip link set eth0 up &&
    on_ward ip addr add 192.0.2.2/24 dev eth0 && on_ward ip link set eth0 up ||
    give_up 'a network connects them'
  start_services charts
  start_services ward nsenter -t "$ward" -n -m -u
}

# Killed: they use each other, and may not end while they wait for one that has.
end_computers()
{
  local p
  for p in "${services[@]}"; do end_process "$p" KILL; done
}
trap 'finish end_computers' EXIT

# The second computer has its own cupsd.
client=$dir/client
client_pid=

at_client() # COMMAND...: with the cupsd of the second computer
{
  local cups=$client CUPSD_PID=$client_pid CUPS_SERVER=$client/cups.sock
  local ipp=ipp://${client//\//%2F}%2Fcups.sock
  "$@"
}

start_client()
{
  local b START_CUPSD="nsenter -t $ward -n -m -u" NO_DAEMON=1
  make_cups
  rm "$cups/bin/backend/docextract"
  for b in ipp ipps implicitclass; do
    cp "$(cups-config --serverbin)/backend/$b" "$cups/bin/backend/"
  done
  start_cupsd
  client_pid=$CUPSD_PID
}

share() # DIRECTIVE...: what cupsctl --share-printers sets, and more
{
  [ -d "$cups/bin" ] || make_cups
  mkdir -p "$cups/root/ssl"
  printf '%s\n' 'Port 631' 'Browsing On' 'BrowseLocalProtocols dnssd' "$@" \
    >> "$cups/cupsd.conf"
}

# --- what is printed, and what arrives ---------------------------------------

# Three pages, each with a number and a box of its own color and width.
make_pages()
{
  local device suffix options
  cat > "$dir/pages.ps" << 'END'
%!PS
/page { % NUMBER RED GREEN BLUE
  setrgbcolor dup cvi 150 mul 60 60 3 -1 roll 200 rectfill
  0 setgray /Helvetica-Bold findfont 400 scalefont setfont
  180 350 moveto show showpage
} def
<< /PageSize [595 842] >> setpagedevice
(1) 1 0 0 page (2) 0 0.6 0 page (3) 0 0 1 page
END
  draw pdfwrite pdf && draw jpeg color.jpg -r100 -dLastPage=1 &&
    draw jpeggray gray.jpg -r100 -dLastPage=1 || return
  while read -r device suffix options; do
    # shellcheck disable=SC2086
    draw "$device" "$suffix" -dDuplex -dcupsBitsPerColor=8 $options || return
  done << 'END'
pwgraster color.300.pwg -r300 -dcupsColorSpace=19
pwgraster gray.600.pwg -r600 -dcupsColorSpace=18
appleraster color.600.urf -r600 -dcupsColorSpace=19
appleraster gray.300.urf -r300 -dcupsColorSpace=18
END
  mkdir "$dir/known"
  small "$dir/pages.pdf" "$dir/known/color"
  small -gray "$dir/pages.pdf" "$dir/known/gray"
}
draw() # DEVICE SUFFIX [OPTION...]
{
  gs -q -sDEVICE="$1" "${@:3}" -o "$dir/pages.$2" "$dir/pages.ps" \
    2> "$dir/draw.err"
}

# A picture of every page, of 24 by 34 points.
small() { pdftoppm -scale-to-x 24 -scale-to-y 34 "$@"; } # OPTION... PDF ROOT

# What each page of the file that arrived shows: "color-1 color-2" if it is like
# these pages of the original, '?' if it is like none.
seen()
{
  local file
  file=$(sent_files)
  [ -n "$file" ] || return
  rm -rf "$dir/seen"
  mkdir "$dir/seen"
  # rastertopdf writes a color profile that Poppler ignores, with a warning.
  small "$file" "$dir/seen/page" 2> "$dir/seen.err" && perl -e '
    sub picture {
      open my $f, "<:raw", shift or die; local $/; my $d = <$f>;
      $d =~ s/^P([56])\s+24\s+34\s+255\s// or die;
      map { my $v = $_; $1 == 5 ? ($v, $v, $v) : $v } unpack "C*", $d;
    }
    my %known = map { /([^\/]+)\.p.m$/; $1 => [picture($_)] } glob "known/*";
    for (sort glob "seen/*") {
      my @page = picture($_);
      my ($name, $least) = ("?", 30);
      for my $k (sort keys %known) {
        my $sum = 0;
        $sum += abs($page[$_] - $known{$k}[$_]) for 0 .. $#page;
        ($name, $least) = ($k, $sum / @page) if $sum / @page < $least;
      }
      push @names, $name;
    }
    print "@names";'
}

arrived() # TEXT PAGES SEEN: once, with so many pages counted
{
  is "$1: it arrives once, with a result" \
    "$(calls create) $(calls put) $(n_results) $(n_manifests)" '1 1 1 1'
  is "$1: its pages are counted" \
    "$(jq -c '[.files[].pages]' "$results"/*.job.json)" "[$2]"
  is "$1: its pages are those that were printed" "$(cd "$dir" && seen)" "$3"
}

# As print_ipp does, with two requests, as phones send a job.
send_ipp() # FILE TYPE [LINE OF A JOB ATTRIBUTE...]
{
  local output common
  common=$(printf '%s\n' 'GROUP operation-attributes-tag' \
    'ATTR charset attributes-charset utf-8' \
    'ATTR naturalLanguage attributes-natural-language en' \
    'ATTR uri printer-uri $uri' 'ATTR name requesting-user-name ann')
  printf '%s\n' '{' 'OPERATION Create-Job' "$common" \
    'ATTR name job-name chart' 'ATTR boolean ipp-attribute-fidelity false' \
    'GROUP job-attributes-tag' "${@:3}" \
    'EXPECT job-id OF-TYPE integer WITH-VALUE >0' '}' \
    '{' 'OPERATION Send-Document' "$common" 'ATTR integer job-id $job-id' \
    "ATTR mimeMediaType document-format $2" 'ATTR boolean last-document true' \
    'FILE $filename' 'STATUS successful-ok' '}' > "$dir/send.test"
  output=$(ipptool -tv -f "$1" "$ipp/printers/chart" "$dir/send.test" 2>&1)
  job=$(sed -n 's/^ *job-id (integer) = //p' <<< "$output" | tail -n 1)
  [ -n "$job" ] || give_up "cupsd takes the job of an IPP client: $output"
}

from_ward() # TEXT COMMAND...: prints with it over the network, and waits
{
  local text=$1 ipp=ipp://charts.local
  shift
  clear_results
  "$@"
  job_ends "$text: the job ends" "$job" completed
}

# Print jobs may leave before their results are there, if others wait.
nothing_waits()
{
  no_job_waits chart && [ "$(n_manifests)" -ge "$(calls create)" ]
}

from_queue() # TEXT LP ARGUMENT...: prints to a queue of the second computer
{
  local text=$1
  shift
  clear_results
  at_client on_ward_print "$@"
  at_client job_ends "$text: the job ends there" "$job" completed
  check "$text: and here" until_true nothing_waits
}
on_ward_print()
{
  lp() { on_ward lp "$@"; }
  print "$@"
  unset -f lp
}

# --- both computers start ----------------------------------------------------

start_computers
start_sim
share 'DefaultAuthType Basic' 'ServerAlias alias' \
  "$(sed -n '/^<Policy authenticated>/,/^<\/Policy>/p' \
    /usr/share/cups/cupsd.conf.default)"
start_cupsd
add_queue chart printer-is-shared=true
make_pages || give_up 'Ghostscript draws the pages'

# --- it is found -------------------------------------------------------------

finds() { on_ward ippfind -T 1 "$@" > "$dir/found"; }
check 'a computer finds the queue' until_true finds _ipp._tcp
is 'its address' "$(cat "$dir/found")" ipp://charts.local:631/printers/chart
check 'with TLS, too' until_true finds _ipps._tcp
is 'its address with TLS' "$(cat "$dir/found")" \
  ipps://charts.local:631/printers/chart
for service in _ipp _ipps; do
  check "a phone finds it by $service" \
    until_true finds "$service._tcp,_universal"
done
check 'its description is found' until_true finds _ipp._tcp -x sh -c \
  'env | grep IPPFIND_' ';'
for type in application/pdf image/jpeg image/pwg-raster image/urf; do
  has "it says that it prints $type" "$(cat "$dir/found")" \
    "^IPPFIND_TXT_PDL=(.*,)?$type(,|\$)"
done
has 'it says which raster of AirPrint' "$(cat "$dir/found")" \
  '^IPPFIND_TXT_URF=.*SRGB24'

# --- it speaks IPP -----------------------------------------------------------

# ipptool's tests print samples that Debian does not have. Those of PWG raster
# are left out: the next section prints its own.
cp -r /usr/share/cups/ipptool "$dir"
sed -i '/^# Test printing all sample documents/,$d' \
  "$dir/ipptool/ipp-everywhere.test"
for f in a4 letter; do
  cp "$dir/pages.pdf" "$dir/ipptool/document-$f.pdf"
  cp "$dir/pages.ps" "$dir/ipptool/document-$f.ps"
done
cp "$dir/pages.color.jpg" "$dir/ipptool/color.jpg"
cp "$dir/pages.gray.jpg" "$dir/ipptool/gray.jpg"
on_ward ipptool -tI -f "$dir/pages.pdf" -d filetype=application/pdf \
  ipp://charts.local/printers/chart "$dir/ipptool/ipp-everywhere.test" \
  > "$dir/everywhere" 2>&1
suite() # NAME: the lines of one of the tests that it includes
{
  awk -v name="/$1\"" '/^"/ { on = index($0, name) } on' "$dir/everywhere"
}
failures() # NAME
{
  suite "$1" | sed -nE 's/^ +(.*[^ ]) +\[FAIL\]$/\1/p
    s/^ +EXPECTED: ([^ ]*).*/  \1/p' | uniq
}
has 'ipp-1.1.test runs' "$(suite ipp-1.1.test | grep -c '\[PASS\]')" \
  '^[4-9][0-9]$'
is 'and passes' "$(failures ipp-1.1.test)" ''
# What cupsd does not answer.
is 'ipp-2.0.test passes, with two exceptions' "$(failures ipp-2.0.test)" \
  'PWG 5100.12 section 6.2 - Required Printer Description Attributes
  media-size-supported
  media-type-supported'
is 'ipp-everywhere.test passes, with these exceptions' \
  "$(failures ipp-everywhere.test)" \
  'PWG 5100.14 section 5.1/5.2 - Required Operations and Attributes
  operations-supported
  identify-actions-default
  identify-actions-supported
  ipp-features-supported
  preferred-attributes-supported
  media-source-supported
  media-type-supported
  overrides-supported
  print-content-optimize-default
  print-content-optimize-supported
  print-rendering-intent-default
  print-rendering-intent-supported
  printer-supply
  printer-supply-description
  printer-supply-info-uri
  pwg-raster-document-sheet-back'
WAIT_S=60 check 'their jobs end' until_true nothing_waits
is 'none of them is held or aborted' \
  "$(lpstat -W completed -l chart | grep -cE 'aborted|held')" 0

# --- phones, tablets, and other computers ------------------------------------

sheet=('ATTR keyword media iso_a4_210x297mm'
  'ATTR keyword sides two-sided-long-edge')
from_ward 'PDF' print_ipp "$dir/pages.pdf" application/pdf "${sheet[@]}"
arrived 'PDF' 3 'color-1 color-2 color-3'
for m in color gray; do
  from_ward "JPEG, $m" send_ipp "$dir/pages.$m.jpg" image/jpeg "${sheet[@]}"
  is "JPEG, $m: once, unchanged" "$(calls create) $(n_results) $(
    cmp "$(sent_files)" "$dir/pages.$m.jpg" && echo same)" '1 1 same'
done
while read -r m r f type; do
  t="$type, $m, $r dpi"
  from_ward "$t" send_ipp "$dir/pages.$m.$r.$f" "$type" \
    "ATTR keyword print-color-mode $m" \
    "ATTR resolution printer-resolution ${r}dpi" "${sheet[@]}"
  arrived "$t" 3 "$m-1 $m-2 $m-3"
done << 'END'
color 300 pwg image/pwg-raster
gray 600 pwg image/pwg-raster
color 600 urf image/urf
gray 300 urf image/urf
END

# --- a Linux computer --------------------------------------------------------

three='color-1 color-2 color-3'
at_client start_client
discovered() { at_client on_ward lpstat -e | grep -qx "$1"; }
check 'a computer lists the queue, though it was not added' \
  until_true discovered chart_charts
from_queue 'not added' -d chart_charts "$dir/pages.pdf"
arrived 'not added' 3 "$three"

at_client lpadmin -p far -E -v ipps://charts.local/printers/chart \
  -m everywhere 2> "$dir/lpadmin.err" ||
  give_up "lpadmin adds far: $(cat "$dir/lpadmin.err")"
from_queue 'lpadmin -m everywhere, with TLS' -d far "$dir/pages.pdf"
arrived 'lpadmin -m everywhere, with TLS' 3 "$three"

check 'driverless makes a driver' at_client on_ward sh -c \
  'driverless ipp://charts.local/printers/chart > "$1"' - "$dir/driverless.ppd"
at_client lpadmin -p made -E -v ipp://charts.local/printers/chart \
  -P "$dir/driverless.ppd" 2> "$dir/lpadmin.err" ||
  give_up "lpadmin adds made: $(cat "$dir/lpadmin.err")"
from_queue 'with the driver of driverless' -d made "$dir/pages.pdf"
arrived 'with the driver of driverless' 3 "$three"

mkdir "$dir/browsed"
printf '%s\n' "CacheDir $dir/browsed" "LogDir $dir/browsed" \
  'DebugLogging file' 'BrowseRemoteProtocols dnssd' > "$dir/browsed.conf"
added() { at_client lpstat -v | grep -q '^device for chart_charts: implicit'; }
at_client start_service nsenter -t "$ward" -n -m -u \
  cups-browsed -c "$dir/browsed.conf"
check 'cups-browsed adds it' until_true added
from_queue 'with cups-browsed' -d chart_charts "$dir/pages.pdf"
arrived 'with cups-browsed' 3 "$three"

# --- names and passwords -----------------------------------------------------

status_of() # HOST
{
  on_ward curl -s -o /dev/null -w "$1 %{http_code}" -H "Host: $1:631" \
    http://192.0.2.1:631/printers/chart
}
for name in 192.0.2.1 charts charts.local alias; do
  is 'cupsd responds to its address, names, and alias' "$(status_of $name)" \
    "$name 200"
done
is 'but to no other name' "$(status_of other)" 'other 400'

print_as() # USER OF THE ADDRESS: without a terminal no password is asked for
{
  on_ward setsid -w ipptool -t -f "$dir/pages.pdf" \
    -d filetype=application/pdf "ipp://$1charts.local/printers/chart" \
    print-job.test 2>&1
}
lpadmin -p chart -o printer-op-policy=authenticated
clear_results
has 'without a password nothing is printed' "$(print_as '')" FAIL
has 'with it, a job is printed' "$(print_as ann:secret@)" PASS
has 'its connection was encrypted' "$(grep -aB 9 'Authorized as "ann"' \
  "$cups/log/error_log")" 'Connection now encrypted'
check 'it ends' until_true extracted 1
is 'its user is the one with the password' \
  "$(jq -r .job.user "$results"/*.job.json)" ann
is 'it is the only one' "$(calls create)" 1
at_client stop_cupsd
