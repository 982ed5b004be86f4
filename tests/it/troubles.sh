#!/usr/bin/env bash
#
# troubles.sh - a table of troubles, each planted, with what the administrator or
# the user is told, and the action that this names. The action is carried out as
# it is written, and then the chart is extracted. The other scripts here test
# what happens in each trouble; this one only whether the messages lead out of it.
. "$(dirname "$0")/lib.sh"
. "$top/tests/helper/certificates.sh"
. "$it/relay.sh"

# --- what is read, and done ---------------------------------------------------

docextract() { dx "$@"; } # in commands of messages

to_do() { dx jobs "$1" 2>&1 | sed -n 's/^To do  *//p'; } # JOB
to_do_has() { to_do "$1" | grep -Eq "$2"; }              # JOB PATTERN

# Runs the command in a text. What stands for a file is replaced.
carry_out() # TEXT PATTERN OF THE COMMAND [FILE NEWFILE]
{
  local command
  command=$(grep -oE -e "$2" <<< "$1" | head -n 1)
  if [ $# -gt 2 ]; then
    command=${command/NEWFILE/$4} command=${command/FILE/$3}
  fi
  [ -n "$command" ] && eval "$command" > "$dir/carried.out" 2>&1
}

# --- the table of sections ------------------------------------------------------
#
# Each trouble has a section and a queue of its own, so that all of them wait side
# by side. What `docextract hello` says about it, and the solution: a line of the
# section that replaces those of that directive, or a command.

names=()
declare -A says solution job_of
lines() { mkdir -p "$dir/sections" && printf '%s\n' "$@" >> "$dir/sections/$name"; }
set_line() # NAME DIRECTIVE VALUE: no value removes it
{
  sed -i "/^$2 /d" "$dir/sections/$1"
  [ -z "$3" ] || echo "$2 $3" >> "$dir/sections/$1"
}
trouble() # NAME LINE PATTERN SOLUTION
{
  local name=$1
  names+=("$name")
  lines "BaseURL $SIM_API" "CAFile $dir/ours.pem" "TokenKeyFile $dir/key"
  set_line "$name" "${2%% *}" "${2#* }"
  says[$name]=$3
  solution[$name]=$4
}
write_sections()
{
  local name
  write_config "CAFile $dir/ours.pem"
  for name in "${names[@]}"; do
    echo "<Service $name>" && cat "$dir/sections/$name" && echo '</Service>'
  done > "$dir/added"
  cp -p "$config" "$config.new" && cat "$dir/added" >> "$config.new"
  mv "$config.new" "$config"
}
secret() # FILE: as readable as the key
{
  cat > "$1"
  chmod 640 "$1"
  [ $EUID != 0 ] || chgrp "$run_group" "$1"
}
convert() # NAME FILE PATTERN: with the command in what hello says
{
  secret "$2.new" < /dev/null
  carry_out "${told[$1]}" "$3" "$2" "$2.new" && set_line "$1" TokenKeyFile "$2.new"
}

authority ours
authority theirs
certificate ours server IP:127.0.0.1

# A proxy that requires a password.
relay 'my ($request, $byte) = ("");
  while ($request !~ /Proxy-Authorization: Basic YW5uOnNlY3JldA==\r/i) {
    syswrite $a, "HTTP/1.1 407 No\r\nContent-Length: 0\r\n" .
      "Proxy-Authenticate: Basic realm=\"x\"\r\n\r\n" if $request;
    $request = "";
    while ($request !~ /\r\n\r\n$/) {
      sysread $a, $byte, 1 or exit;
      $request .= $byte;
    }
  }
  syswrite $a, "HTTP/1.1 200 OK\r\n\r\n";
  my ($to) = $request =~ /^CONNECT (\S+)/;
  IO::Socket::INET->new(PeerAddr => $to)' > "$dir/proxy.port" &
proxy_pid=$!
trap 'finish end_process $proxy_pid' EXIT
until_true test -s "$dir/proxy.port"
proxy=http://127.0.0.1:$(cat "$dir/proxy.port")

SIM_TLS=(--tls-cert "$dir/server.pem" --tls-key "$dir/server.key")
start_sim "${SIM_TLS[@]}" --rate 0 --source-time 0 --case-time 0
echo ann:secret | secret "$dir/login"
make_key "$dir/other"
openssl genpkey -algorithm RSA 2> "$dir/openssl.err" | secret "$dir/rsa.pem"
sed 's/$/\r/' "$dir/key" | secret "$dir/windows"
printf '{"kty":"oct","k":"%s"}' "$(basenc --base64url -w 0 "$dir/key" | tr -d =)" |
  secret "$dir/jwk"
owned_dir 500 "$dir/closed"
chart_pdf "$dir/a.pdf" Ann Ahrens 1

trouble refused 'BaseURL https://127.0.0.1:1' \
  'cannot connect to 127.0.0.1 port 1: Connection refused; check BaseURL' \
  "BaseURL $SIM_API"
trouble unknown-host 'BaseURL https://extract.invalid' \
  'cannot resolve extract.invalid; check BaseURL' "BaseURL $SIM_API"
trouble wrong-path "BaseURL $SIM_API/v1" '404 .*; check BaseURL' \
  "BaseURL $SIM_API"
trouble unknown-ca "CAFile $dir/theirs.pem" 'its CA is unknown; set CAFile' \
  "CAFile $dir/ours.pem"
trouble wrong-host "BaseURL ${SIM_API/127.0.0.1/localhost}" \
  'it is for another name; check the name in BaseURL' "BaseURL $SIM_API"
trouble proxy-password "Proxy $proxy" \
  'requires a password \(407\); set ProxyPasswordFile' \
  "ProxyPasswordFile $dir/login"
trouble proxy-away 'Proxy http://127.0.0.1:1' \
  "cannot connect to the proxy .*; check Proxy" 'Proxy '
trouble storage-host 'StorageHost storage.example.com' \
  "'127.0.0.1', is not a StorageHost; add it" 'StorageHost 127.0.0.1'
trouble wrong-key "TokenKeyFile $dir/other" \
  'rejected the token .*401\); check TokenAlgorithm, TokenKeyFile' \
  "TokenKeyFile $dir/key"
trouble no-key "TokenKeyFile $dir/missing" \
  "'$dir/missing': No such file or directory; put it there, or fix the path" \
  'cp -p $dir/key $dir/missing'
trouble other-algorithm 'TokenAlgorithm RS256' \
  "does not match RS256: it contains no .*PEM" 'TokenAlgorithm HS256'
trouble pem-as-secret "TokenKeyFile $dir/rsa.pem" \
  'it is a PEM file; .* or use the shared secret' "TokenKeyFile $dir/key"
trouble jwk "TokenKeyFile $dir/jwk" \
  'it is a JWK or JWK Set; to convert its first key, run: jq' \
  "convert jwk $dir/jwk 'jq .*NEWFILE'"
trouble windows "TokenKeyFile $dir/windows" \
  'its line ends are those of Windows; to convert it, run: tr' \
  "convert windows $dir/windows 'tr .*NEWFILE'"
trouble results-closed "ResultsDir $dir/closed" \
  "$dir/closed.: Permission denied; '$run_user' must be able to write there" \
  'chmod 2770 $dir/closed'
trouble results-missing "ResultsDir $dir/no/results" \
  "$dir/no/results.*; create the directory that contains it, or fix ResultsDir" \
  'owned_dir 2770 $dir/no'
trouble results-file "ResultsDir $dir/a.pdf" \
  'Not a directory; move or rename the existing file, or fix ResultsDir$' \
  "ResultsDir $results"

NO_DAEMON=1 start_cupsd
add_queue chart
write_sections
start_daemon
for name in "${names[@]}"; do
  lpadmin -p "$name" -E -v "docextract://$name" -P "$build/ppd/docextract.ppd" \
    2>> "$dir/lpadmin.err" || give_up "lpadmin adds queue $name"
  print -d "$name" "$dir/a.pdf"
  job_of[$name]=$job
done
declare -A told next
for name in "${names[@]}"; do
  print_job=$name-${job_of[$name]}
  until_true to_do_has "$print_job" 'docextract hello'
  next[$name]=$(to_do "$print_job")
  carry_out "${next[$name]}" 'docextract hello --service [^ ;]*'
  check "$name: the job names the command that tests it" test $? -ne 127
  told[$name]=$(cat "$dir/carried.out")
  has "$name: it says what to do" "${told[$name]}" "${says[$name]}"
done
for name in "${names[@]}"; do
  case ${solution[$name]} in
  [A-Z]*) set_line "$name" "${solution[$name]%% *}" "${solution[$name]#* }" ;;
  *) check "$name: that can be done" eval "${solution[$name]}" ;;
  esac
done
write_sections
for name in "${names[@]}"; do
  # The others continue by themselves.
  [[ ${next[$name]} != *'docextract retry'* ]] ||
    check "$name: the command that continues it runs" carry_out \
      "${next[$name]}" 'docextract retry [^ ;]*'
done
for name in "${names[@]}"; do
  job_ends "$name: then the chart is extracted" "${job_of[$name]}" completed
done
has 'hello without a section: it names those that it did not test' \
  "$(dx hello)" "^Only service 'default' was tested; .* --service: refused unknown-host "
for name in "${names[@]}"; do lpadmin -x "$name"; done
write_config "CAFile $dir/ours.pem"

# --- one after the other ----------------------------------------------------------

message_is() { job_message "$1" | grep -Eq "$2"; } # ID PATTERN
is_extracted() # TEXT ID
{
  job_ends "$1: then the chart is extracted" "$2" completed
}
nothing_waits() { [ -z "$(lpstat -o)" ]; }
is_over() { check "$1: no print job is left" until_true nothing_waits; } # TEXT

# The user does what the message says, and the administrator ends the held job.
refused() # TEXT PATTERN LP ARGUMENT... -- LP ARGUMENT...
{
  local text=$1 pattern=$2 first=()
  shift 2
  while [ "$1" != -- ]; do
    first+=("$1")
    shift
  done
  print -d chart "${first[@]}"
  job_ends "$text: the print job is held" "$job" pending-held
  has "$text: the user is told what to do" "$(job_message "$job")" "$pattern"
  action=$(to_do "chart-$job")
  print -d chart "${@:2}"
  is_extracted "$text" "$job"
  check "$text: the held print job is ended" carry_out "$action" 'cancel chart-[0-9]+'
  is_over "$text"
}
qpdf --encrypt user owner 256 -- "$dir/a.pdf" "$dir/password.pdf"
qpdf --password=user --decrypt "$dir/password.pdf" "$dir/opened.pdf"
head -c 700 "$dir/a.pdf" > "$dir/cut.pdf"
printf 'MRN: 4711 M\204rz\nM\201ller, gr\224\341er\n' > "$dir/dos.txt"
refused password 'open it with its password, and print it from there' \
  "$dir/password.pdf" -- "$dir/opened.pdf"
refused 'a file that was cut' 'ask for a new copy of it' \
  "$dir/cut.pdf" -- "$dir/a.pdf"
refused 'a DOS text' 'select it with the option TextEncoding' \
  "$dir/dos.txt" -- -o TextEncoding=CP850 "$dir/dos.txt"
refused 'a raw print job' 'print it without that setting' \
  -o raw "$dir/a.pdf" -- "$dir/a.pdf"

t='no separator page'
print -d chart -o CaseSeparators=Every1 "$dir/a.pdf"
job_ends "$t: the print job is held" "$job" pending-held
has "$t: the administrator is told what to set" "$(dx jobs)" \
  'no SeparatorPage is configured; print without them, or set it'
action=$(to_do "chart-$job")
"$it/mkpdf" "$dir/separator.pdf" 'DOCEXTRACT CASE SEPARATOR'
write_config "CAFile $dir/ours.pem" "SeparatorPage $dir/separator.pdf"
check "$t: the print job is released" carry_out "$action" 'lp -i chart-[0-9]+ -H resume'
is_extracted "$t" "$job"

t='a document that the service rejects'
faults 'create * status 413'
print -d chart "$dir/a.pdf"
job_ends "$t: the print job is held" "$job" pending-held
faults '#'
check "$t: the print job is released" carry_out "$(to_do "chart-$job")" \
  'lp -i chart-[0-9]+ -H resume'
is_extracted "$t" "$job"

t='a chart that is no longer wanted'
faults 'create * hang'
print -d chart "$dir/a.pdf"
until_true to_do_has "chart-$job" 'to cancel it'
check "$t: it is canceled" carry_out "$(to_do "chart-$job")" \
  'cancel chart-[0-9]+'
job_ends "$t: the print job is over" "$job" canceled
faults '#'

t='a stopped queue'
cupsdisable chart
print -d chart "$dir/a.pdf"
check "$t: it is started" carry_out "$(dx jobs 2>&1)" 'cupsenable [a-z]+'
is_extracted "$t" "$job"

t='a held print job'
print -d chart -H hold "$dir/a.pdf"
check "$t: it is released" carry_out "$(dx jobs 2>&1)" 'lp -i [^ ]* -H resume'
is_extracted "$t" "$job"

t='OnResult, which is not executable'
printf '#!/bin/sh\n: > %s\n' "$dir/run/imported" > "$dir/import"
write_config "CAFile $dir/ours.pem" "OnResult $dir/import"
print -d chart "$dir/a.pdf"
is_extracted "$t, not waiting for it" "$job"
until_true to_do_has "chart-$job" OnResult
action=$(to_do "chart-$job")
has "$t: config says what to do" "$(dx config 2>&1)" \
  "OnResult '$dir/import' is not a program; .*chmod a\\+x"
chmod a+x "$dir/import"
check "$t: it is run again" carry_out "$action" 'docextract retry [^ ]*'
check "$t: then it has run" until_true test -e "$dir/run/imported"

t='no spool'
stop_daemon
mv "$spool" "$spool.old"
print -d chart "$dir/a.pdf"
has "$t: hello says what to do" "$(dx hello 2>&1)" \
  "SpoolDir '$spool': .*; create the directory and give it to the user"
owned_dir 711 "$spool"
owned_dir 2770 "$results"
start_daemon
is_extracted "$t" "$job"

# --- what was mistyped -------------------------------------------------------------

t='a mistyped section'
write_config "CAFile $dir/ours.pem"
sed -i 's/<Service default>/<Service dfault>/' "$config"
print -d chart "$dir/a.pdf"
has "$t: the printer refers to the administrator" "$(
  until_true queue_says chart administrator
  queue_state chart)" 'Contact your administrator: .*printing waits'
check "$t: hello names the command that changes the queue" carry_out \
  "$(dx hello 2>&1)" 'lpadmin -p chart -v docextract://dfault'
print -d chart "$dir/a.pdf"
is_extracted "$t" "$job"
write_config "CAFile $dir/ours.pem"
lpadmin -p chart -v docextract://default

t='a mistyped directive'
sed -i 's/^TokenKeyFile/TokenKeyFlie/' "$config"
meant=$(dx config 2>&1 | sed -n "s/.*TokenKeyFlie.*did you mean '\([^']*\)'.*/\1/p")
sed -i "s/^TokenKeyFlie/$meant/" "$config"
print -d chart "$dir/a.pdf"
is_extracted "$t" "$job"

mistyped() # ARGUMENT...: the last one, in which something is mistyped
{
  local output
  output=$(dx "$@" 2>&1)
  meant=$(sed -n "s/.*did you mean '\([^']*\)'.*/\1/p" <<< "$output")
  check "docextract $*: what was probably meant works" dx "${@:1:$#-1}" "$meant"
}
mistyped jbos
mistyped jobs --state extrcted
mistyped hello --service dfault
