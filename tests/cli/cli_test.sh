#!/usr/bin/env bash
#
# cli_test.sh - the command `docextract`: command line, config, hello, submit.
# Stored jobs are in jobs_test.sh.
#
# Prints a line per case and a last line with the counts.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/frame.sh"
. "$top/tests/helper/certificates.sh"

# --- what several sections need ----------------------------------------------

cp "$dir/a.pdf" "$dir/Secretname.pdf"
printf 'Patient: M\x81ller\n' > "$dir/cp850.txt"
: > "$dir/file"

make_certificate() # of the simulator
{
  [ -e "$dir/tls.pem" ] || authority tls IP:127.0.0.1
}

section 'the command line'

dx frobnicate
is 'an unknown command is a usage error' "$rc" 64
has 'the possible commands are listed' \
  "$err" "unknown command 'frobnicate'; possible commands: .*hello.*submit"

dx sumbit x
is 'a mistyped command: the one that was probably meant' "$rc $err" \
  "64 docextract: unknown command 'sumbit'; did you mean 'submit'?
try 'docextract --help' for more information"

dx ''
is 'an ambiguous abbreviation is a usage error' "$rc" 64
has 'the commands it could mean are listed' \
  "$err" 'ambiguous.*possible commands: .*hello'
dx re
has 'and no others' "$rc $err" "^64 .*'re'; possible commands: report retry$"

start_docextractd
dx hel
is 'an unambiguous abbreviation is accepted' "$rc" 0

dx
is 'a missing command is a usage error' "$rc" 64

dx hello --title x
is 'an option of another command is refused' "$rc" 64
has 'and the message names it' "$err" "hello.*--title"

dx submit
is 'a missing argument is refused' "$rc" 64
has 'the message names what the command takes' "$err" 'FILE\.\.\.'

dx config more
is 'an extra argument is refused' "$rc" 64

dx --no-such-option hello
has 'an unknown option is refused' "$rc $err" \
  "^64 docextract: unknown option '--no-such-option'$"
dx jobs --jsno
has 'a mistyped option: the one that was probably meant' "$rc $err" \
  "^64 docextract: unknown option '--jsno'; did you mean '--json'\?$"
dx jobs --s
has 'an ambiguous option is refused' "$rc $err" \
  "^64 docextract: ambiguous option '--s'$"
dx jobs --json=yes
has 'an option without a value does not take one' "$rc $err" \
  "^64 docextract: option '--json' takes no value$"
dx jobs --state
has 'an option with a value requires it' "$rc $err" \
  "^64 docextract: option '--state' requires a value$"
dx jobs -x
has 'an unknown letter is refused' "$rc $err" "^64 docextract: unknown option '-x'$"
for options in 'JOB --watch' 'JOB --seen' 'JOB --state failed' \
  '--seen --all' '--seen --queue chart' '--seen --json'; do
  # shellcheck disable=SC2086
  dx jobs ${options/JOB/chart-1}
  is "jobs: '$options' do not fit together" "$rc $(head -n 1 <<< "$err")" \
    "64 docextract: $(cut -d ' ' -f 1 <<< "$options") and $(
      cut -d ' ' -f 2 <<< "$options") cannot be combined"
done
dx show --json --html chart-1
has 'show: one form only' "$rc $err" \
  '^64 docextract: --json and --html cannot be combined$'
dx jobs --state fialed
has 'a mistyped state: the one that was probably meant' "$rc $err" \
  "^64 docextract: unknown state 'fialed'; did you mean 'failed'\?$"
dx submit --text-encoding Windows1252 "$dir/none"
has 'a mistyped encoding: the one that was probably meant' "$rc $err" \
  "^64 docextract: unknown encoding 'Windows1252'; did you mean 'Windows-1252'\?$"

dx --help
is '--help needs no command' "$rc" 0
help=$out
dx -h
is '-h prints the same' "$rc $out" "0 $help"
dx help
is "so does 'help'" "$rc $out" "0 $help"
dx help help
is "and the help of 'help'" "$rc $out" "0 $help"
is '--help fits on a screen' "$(fold -w 80 <<< "$help" | tail -n +25)" ''
# The rows of CLI_VERBS, in their order.
verbs=$(sed -n 's/^  X(\([a-z]*\),.*/\1/p' "$top/cli/cli.h")
is '--help fits in its width' "$(grep -E '.{81}' <<< "$help")" ''
is '--help lists every verb' "$(sed -n 's/^  \([a-z]*\) .*/\1/p' <<< "$help")" \
  "$verbs"
has 'there are rows' "$verbs" '^hello$'
for verb in $verbs; do
  dx "$verb" --help
  has "$verb --help prints its usage" "$rc $out" "^0 Usage: .* $verb"
  page=$out
  dx "$verb" -h
  is "$verb -h prints the same" "$rc $out" "0 $page"
  dx help "$verb"
  is "help $verb prints the same" "$rc $out" "0 $page"
  is "$verb --help fits in its width" "$(grep -E '.{81}' <<< "$out")" ''
  is "$verb --help fits on a screen" \
    "$(fold -w 80 <<< "$out" | tail -n +25)" ''
done

dx jobs --help
has 'jobs --help lists the states' "$out" '^STATE is one of: undecided stored .*'

dx --version
version=${out#docextract }
has '--version prints the version' "$rc $out" '^0 docextract [0-9]'
for other in docextract-sim daemon/docextractd todocextract; do
  has "$other --version prints the same" "$("$build/$other" --version)" \
    "^${other##*/} $version( |\$)"
done
is 'the backend prints the same' \
  "$("$build/backend/docextract" --version)" "docextract-backend $version"

section 'config'

configure 'APIRate 5'
dx config
is 'config: a valid configuration is printed' "$rc" 0
has 'config: with the values that were set' "$out" 'APIRate +5'
has 'config: with the defaults' "$out" 'TokenLifetime +5m'
hasnt 'config: without the secret' "$out" "$(cat "$dir/key")"

echo "$out" > "$dir/again.conf"
chmod 644 "$dir/again.conf"
values() { sed 's/ *#.*//' | grep .; } # of what config printed, without comments
is 'config: the output is a valid configuration' \
  "$("$program" -c "$dir/again.conf" config | values)" "$(values <<< "$out")"

has 'config: the line that set a value is named' "$out" \
  '^  APIRate +5 +# docextract\.conf:6$'
has 'config: a default is marked' "$out" '^  TokenLifetime +5m +# default$'
has 'config: so is a value that applies to all services' "$out" \
  "^  ResultsDir +$results +# docextract\.conf:2, for all services\$"
has 'config: the file is named' "$out" "^# $conf\$"
has 'config: and whether docextractd runs' "$out" \
  '^# docextractd: (not )?running'
out=$(CUPS_SERVERROOT=$dir "$program" config)
has 'config: CUPS_SERVERROOT is its directory' "$out" "^# $conf\$"

configure 'APIRat 5'
dx config
is 'config: an invalid line is a configuration error' "$rc" 78
has 'config: file and line are named' "$err" "docextract.conf:6: .*APIRat"
dx submit "$dir/a.pdf"
is 'submit: an invalid line is a configuration error' "$rc" 78

configure 'APIRat 5' 'Completion now' "Token $(cat "$dir/key")"
dx config
is 'config: each of several errors has a line, and they are counted' \
  "$rc $(sed -E 's/^docextract: ([^ ]*:([678]): .*|(found 3) err.*)/\2\3/' \
    <<< "$err" | xargs)" '78 6 7 8 found 3'
hasnt 'config: a misplaced secret is not printed' "$out$err" \
  "$(cat "$dir/key")"

configure 'CAFile /nowhere/ca.pem' "TokenCommand $dir/a.pdf"
dx config
is 'config: with a missing file print jobs will fail' \
  "$rc $(wc -l <<< "$err") $(tail -n 1 <<< "$err")" \
  '78 3 docextract: 2 warnings: some print jobs cannot be processed'
has 'config: the values are printed all the same' "$out" '^  BaseURL'
has 'config: the missing file is named' "$err" \
  "^warning: .*conf:6: CAFile '/nowhere/ca.pem' does not exist"
has 'config: so is a command that is not a program' "$err" \
  "^warning: .*conf:7: TokenCommand '.*a.pdf' is not a program"

if [ "$(id -u)" = 0 ]; then
  install -m 600 "$dir/key" "$dir/roots.key"
  install -m 700 /bin/true "$dir/roots.mint"
  KEY=$dir/roots.key configure "TokenCommand $dir/roots.mint"
  dx config
  is 'config: what only root can use is not enough' "$rc" 78
  has 'config: it is named' "$err" \
    "^warning: .*conf:5: .*roots.key' cannot be used by '$owner'.*; fix the owner"
  has 'config: so is a command' "$err" \
    "^warning: .*conf:6: TokenCommand .*roots.mint' cannot be used by '$owner'"
  setpriv --reuid=1 --regid="$group" --clear-groups "$program" -c "$conf" \
    config > /dev/null 2> "$dir/err"
  is 'config: what other users cannot use is no problem' \
    "$? $(cat "$dir/err")" '0 '
fi

# Only root can write there.
closed=$dir/closed
mkdir -m 500 "$closed"
give "$closed"
for path in "$closed" "$closed/results"; do
  RESULTS=$path configure 'APIRate 5' '</Service>' '<Service other>' \
    "BaseURL $api" "TokenKeyFile $dir/key"
  dx --service default hello
  has "hello: results that cannot be written, $path" "$out" \
    "^warning: results cannot be written, so nothing will be sent: \
.*'$path': Permission denied; '$owner' must be able to write there\$"
done
is 'hello: nothing is created' "$(ls "$closed")" ''
RESULTS=$closed/none/results configure
dx config
is 'config: a directory that is not there is reported once' \
  "$rc $(wc -l <<< "$err") $(tail -n 1 <<< "$err")" \
  '78 2 docextract: 1 warning: some print jobs cannot be processed'
configure
chmod 500 "$spool"
dx hello
is 'hello: a spool that cannot be written' "$rc $err" \
  "74 docextract: cannot write in directory '$spool': Permission denied; \
'$owner' must be able to write there"
chmod 700 "$spool"
if [ "$(id -u)" = 0 ]; then
  echo 'User daemon' > "$dir/cups-files.conf"
  dx config
  has 'config: so is a spool of another user than the backends' "$rc $err" \
    "^78 warning: .*belongs to '$owner'.* run as 'daemon'; .* chown -R daemon:"
  rm "$dir/cups-files.conf"
fi

in_memory() # PATH COMMAND...: runs it with the path on a tmpfs
{
  # shellcheck disable=SC2016
  unshare --mount sh -e -c 'd=$1
    until [ -d "$d" ]; do d=${d%/*}; done
    mount -t tmpfs tmpfs "$d"
    mkdir -p "$1"
    shift
    exec "$@"' in_memory "$@"
}

configure
sed -i '/^SpoolDir/d' "$conf"
default=$("$program" -c "$conf" config | awk '$1 == "SpoolDir" { print $2 }')
if may_mount; then
  in_memory "$default" "$program" -c "$conf" config > /dev/null 2> "$dir/err"
  has 'config: a default that does not fit has no line' "$(cat "$dir/err")" \
    "^docextract: $conf: SpoolDir '$default' is on a file system in memory"
else
  leave_out 'a default on a file system in memory' "$to_mount"
fi
for line in 'CAFile' 'SeparatorPage' 'TokenKeyFile' 'TokenFile' \
  'TokenCommand'; do
  if [ "$line" = TokenKeyFile ]; then
    KEY=$dir/nothing configure
  else
    configure "$line $dir/nothing"
  fi
  dx config
  has "config: a missing $line is reported" "$rc $(xargs <<< "$err")" \
    "^78 warning: .*: $line .* does not exist; create it, or fix the path"
done
SPOOL=$dir/nothing configure
dx config
has 'config: so is a missing spool' "$rc $err" "^78 warning: .*:1: SpoolDir "
configure
dx config
is 'config: there is nothing to warn of' "$rc $err" '0 '

conf=$dir/nowhere.conf dx config
has 'config: a missing configuration is a configuration error' \
  "$rc $err" '^78 .*nowhere.conf'

configure
chmod 644 "$conf"
dx config
is 'config: all users may read it' "$rc $err" '0 '
chmod 664 "$conf"
dx config
has 'config: one that others may write is refused' "$rc $err" '^78 .*chmod go-w'

section 'hello: before the connection'

new_spool
configure
: > "$dir/log"
dx hello
is 'hello: succeeds' "$rc $(calls hello .status==200)" '0 1'
for step in configuration sandbox user docextractd spool token name connection certificate \
  response 'token accepted'; do
  has "hello: the step '$step' is printed" "$out" "^ok +$step( |\$)"
done
has 'hello: what confines the parser of documents is printed' "$out" \
  '^ok +sandbox +(seccomp and Landlock|seccomp)$'
has 'hello: the greeting is printed' "$out" '^Hello'
is 'hello: the last line says that it is ready' "$(tail -n 1 <<< "$out")" \
  "Ready: documents for service 'default' are sent to $api"
is 'hello: stderr is empty' "$(grep -v '^docextract: waiting for' <<< "$err")" ''
has 'hello: who else runs as the user is printed' "$out" \
  "^ok +user +$owner, .*runs the filters of all printers"
hasnt 'hello: no color in a pipe' "$out" $'\033'

fails() # TEXT STEP STATUS PATTERN
{
  dx hello
  has "hello, $1: the step is named" "$out" "^FAILED +$2( |\$)"
  is "hello, $1: its status" "$rc" "$3"
  has "hello, $1: the message says what to do" "$err" "$4"
  is "hello, $1: nothing would be sent" "$(tail -n 1 <<< "$out")" \
    'Not ready: no documents are sent until this is solved'
}

configure 'Bad line'
fails 'an invalid line' configuration 78 'docextract.conf:6'
configure
dx hello --service other
has 'hello: an unknown service is an error' "$rc $err" \
  "^78 docextract: unknown service 'other'; configured services: default$"

configure
chmod 602 "$conf"
fails 'a configuration that others can write' configuration 78 'chmod go-w'
configure
chmod 644 "$dir/key"
fails 'a key that everybody can read' token 77 'chmod o-rwx'
chmod 640 "$dir/key"

# A directory of root's as the spool of another user.
mkdir -p "$dir/roots"
SPOOL=$(if [ "$(id -u)" = 0 ]; then echo "$dir/roots"; else echo /; fi) configure
chmod 640 "$conf"
out=$("${as_owner[@]}" "$program" -c "$conf" hello 2> "$dir/err")
is "hello, another user's spool: its status" "$?" 74
has "hello, another user's spool: the step is named" "$out" '^FAILED +user'
has "hello, another user's spool: the message says what to do" \
  "$(cat "$dir/err")" \
  "run this command as root or as 'root'"
"${as_owner[@]}" "$program" -c "$conf" submit "$dir/a.pdf" \
  > "$dir/out" 2> "$dir/err"
is "submit, another user's spool: its status" "$?" 74
has "submit, another user's spool: the message says what to do" \
  "$(cat "$dir/err")" \
  "run this command as root"
mkdir -m 000 "$dir/shut"
SPOOL=$dir/shut/spool configure
"${as_owner[@]}" "$program" -c "$conf" submit "$dir/a.pdf" \
  > "$dir/out" 2> "$dir/err"
is 'submit: a spool in a directory that is closed to the user' \
  "$? $(cat "$dir/err")" "74 docextract: no permission to use SpoolDir \
'$dir/shut/spool'; run this command as root"
SPOOL=$dir/nothing configure
fails 'a missing spool' user 74 'create the directory'

configure
chmod 500 "$spool"
if [ "$(id -u)" = 0 ]; then
  fails 'a spool that cannot be written' docextractd 74 'ermission denied'
else
  dx hello
  has 'hello: a spool that cannot be written' "$out" '^FAILED +docextractd'
fi
chmod 700 "$spool"

KEY=$dir/no-key configure
fails 'a missing key' token 77 'no-key.*put it there, or fix the path'
if [ "$(id -u)" = 0 ]; then
  install -m 600 -o root "$dir/key" "$dir/roots-key"
  KEY=$dir/roots-key configure
  fails 'a key that only root may read' token 77 \
    "roots-key.*docextractd runs as '$owner', which must be able to use it"
  configure
  chown root: "$conf"
  chmod 600 "$conf"
  fails 'a configuration that only root may read' user 78 \
    "; fix it with: chmod a\+r $dir/docextract.conf\$"
fi

# With a sudo rule, root must not run a program that another user can write.
if [ "$(id -u)" = 0 ]; then
  printf '#!/bin/sh\nid > %q\necho token\n' "$dir/ran" > "$dir/mint"
  chmod 755 "$dir/mint"
  chmod 777 "$dir"
  for command in hello "submit $dir/a.pdf" "show $dir/e.txt" config; do
    configure 'Token command' "TokenCommand $dir/mint"
    chown daemon "$conf"
    # shellcheck disable=SC2086
    dx $command
    has "root, $command: the configuration of another user is refused" \
      "$rc $err" "^78 .*belongs to 'daemon'.*chown root"
  done
  check 'and its TokenCommand is not run' [ ! -e "$dir/ran" ]
  configure
  dx hello
  is "root: its own is accepted" "$rc" 0
  chmod 711 "$dir"
fi

URL=https://no-such-host.invalid configure
fails 'an unknown host name' name 75 'no-such-host.invalid.*BaseURL'

configure 'Token file' "TokenFile $dir/no-token"
fails 'a missing token file' token 77 'no-token.*fix the path'
cp "$dir/e.txt" "$dir/no-program"
chmod 644 "$dir/no-program"
configure 'Token command' "TokenCommand $dir/no-program"
fails 'a TokenCommand that is not a program' token 77 \
  "no-program.*'$owner', which must be able to use it"

configure
echo 'user daemon' > "$dir/cups-files.conf" # as in cupsd, in any case
fails 'a spool of another user than the backends' user 74 \
  "belongs to '$owner'.* run as 'daemon'; .* chown -R daemon: '$spool/'"
dx jobs
has 'jobs: nor is it used' "$rc $err" "^74 .*belongs to '$owner'.* run as 'daemon'"
echo "User $owner # as it should be" > "$dir/cups-files.conf"
dx hello
has "hello: accepts a spool of the backends' user" "$rc $out" "user +$owner,"
echo '#User root' > "$dir/cups-files.conf"
if [ "$(id -u)" = 0 ]; then
  chown root "$spool"
  fails 'a spool owned by root' user 74 "belongs to 'root'.*chown -R lp: "
  chown "$owner" "$spool"
fi
dx hello
has 'hello: cupsd may be built for another user' "$rc $out" "user +$owner,"
rm "$dir/cups-files.conf"

mkdir -p "$CUPS_SERVERBIN/backend"
for mode in 755 720 700; do
  install -m "$mode" /bin/true "$CUPS_SERVERBIN/backend/docextract"
  dx hello
  is "hello: warns of a backend that cupsd runs as root, mode $mode" \
    "$rc $(grep -c "^warning: cupsd does not run the backend as .*chmod 755" \
      <<< "$out")" "0 $((mode == 700))"
done
rm -r "$CUPS_SERVERBIN/backend"

section 'report runs programs for their versions'

bin=$CUPS_SERVERBIN
export CUPS_SERVERBIN=$dir/programs
mkdir -p "$dir/programs/filter"
printf '#!/bin/sh\necho todocextract of user $(id -u)\n' \
  > "$dir/programs/filter/todocextract"
chmod -R 755 "$dir/programs"
if [ "$(id -u)" = 0 ]; then
  SPOOL=$dir/nothing configure
  dx report
  has 'report: without a spool, programs run as nobody' "$rc $out" \
    '^  todocextract of user 65534$'
  mkdir "$dir/roots-spool"
  SPOOL=$dir/roots-spool configure
  dx report
  has 'report: with a spool of root, programs run as nobody' "$rc $out" \
    '^  todocextract of user 65534$'
  configure
  dx report
  has 'report: with a spool, programs run as its owner' "$rc $out" \
    "^  todocextract of user $(id -u "$owner")\$"
  hasnt 'report: as root, the caller does not choose the programs' \
    "$("$build/cli/docextract" -c "$conf" report 2>&1)" 'todocextract of user'
fi
cat > "$dir/programs/filter/todocextract" << 'END'
#!/usr/bin/perl
# Writes a line in two parts: the second one after the first was read.
syswrite(STDOUT, 'todocextract ');
do {
  ioctl(STDOUT, 0x541b, my $unread = pack('L', 0)) or die; # FIONREAD
  select(undef, undef, undef, 0.01);
  $left = unpack('L', $unread);
} while ($left > 0);
syswrite(STDOUT, "of two parts\n");
END
configure
dx report
has 'report: a version that arrives in two parts is complete' "$rc $out" \
  '^  todocextract of two parts$'
printf '#!/bin/sh\nread line < %q\n' "$dir/never" \
  > "$dir/programs/filter/todocextract"
mkfifo -m 666 "$dir/never"
dx report
has 'report: a program that hangs is ended' "$rc $out" \
  '^  todocextract does not print its version$'
export CUPS_SERVERBIN=$bin

section 'hello: the connection'

# A port on which nothing listens: the simulator has just closed it.
stop_sim
configure
fails 'nothing listens' connection 75 'refused.*BaseURL'
URL=https://${api#http://} configure "Proxy $api"
fails 'no proxy listens' connection 75 'check Proxy'

start_sim
URL=https://${api#http://} configure
dx hello
has 'hello, no TLS: the step is named' "$out" '^FAILED +certificate'
has 'hello, no TLS: the message says what to do' "$err" \
  'port of BaseURL supports HTTPS'
hasnt 'hello, no TLS: does not blame the certificate' "$err" 'certificate'

make_certificate
start_sim --tls-cert "$dir/tls.pem" --tls-key "$dir/tls.key"
configure
fails 'an unknown certificate authority' certificate 78 'CAFile'
has 'hello, an unknown certificate authority: the connection is named' "$out" \
  '^ok +connection +127\.0\.0\.1 port [0-9]+$'
configure "CAFile $dir/tls.pem"
dx hello
has 'hello: CAFile makes it trusted' "$rc $out" 'certificate +trusted'
authority other IP:127.0.0.2
start_sim --tls-cert "$dir/other.pem" --tls-key "$dir/other.key"
configure "CAFile $dir/other.pem"
fails 'a certificate for another name' certificate 78 'name in BaseURL'
new_key "$dir/old.key" -subj /CN=localhost \
  -addext 'subjectAltName=IP:127.0.0.1' -out "$dir/old.csr"
openssl x509 -req -in "$dir/old.csr" -key "$dir/old.key" -days 0 \
  -copy_extensions copy -out "$dir/old.pem" 2>> "$dir/openssl.err"
chmod 644 "$dir/old.pem"
has_expired() { ! openssl x509 -in "$1" -noout -checkend 0 > /dev/null; }
until_true has_expired "$dir/old.pem"
start_sim --tls-cert "$dir/old.pem" --tls-key "$dir/old.key"
configure "CAFile $dir/old.pem"
fails 'an expired certificate' certificate 78 'expired'
configure "CAFile $dir/nothing.pem"
fails 'a missing CAFile' certificate 78 'CAFile cannot be read'

start_sim
configure
faults 'hello * status 404\n'
fails 'another server' response 78 '404.*check BaseURL'
faults 'hello * status 500\n'
fails 'an error of the service' response 75 '500.*try again later'
faults 'hello * garbage\n'
fails 'a malformed response' response 75 'cannot understand'
faults 'hello * status 307 Location: http://127.0.0.1:9/\n'
fails 'a redirect' response 78 'BaseURL'
faults 'hello * body {"status":200,"results":{"auth_info":"a\\u001b[31mb\\u202ec"}}\n'
dx hello
has 'hello: control characters in a greeting are replaced' \
  "$rc $out" 'a\?\[31mb\?c'
faults 'hello * status 429 Retry-After: 10\n'
fails 'too many requests' response 75 'fewer calls'
faults ''
dx hello
is 'hello: the next one waits' "$rc" 0
is 'hello: and says so, once' \
  "$(grep -c '^docextract: waiting for the end of the pause.*, [0-9]* s$' <<< "$err")" 1

make_key "$dir/other-key"
KEY=$dir/other-key configure
fails 'a wrong key' 'token accepted' 77 'TokenKeyFile.* base64 or hex must be decoded'
start_sim --skew 7200
configure
fails 'a clock that is behind' 'token accepted' 77 '7[0-2][0-9]{2} s behind'
start_sim --skew 100
configure
dx hello
has 'hello: a clock that is slightly off causes a warning' "$rc $out" \
  'warning: the clock .*([6-9][0-9]|100) s behind'

section 'hello: no response'

mkfifo "$dir/silent.in"
"$build/tests/cli/silent" < "$dir/silent.in" > "$dir/silent.out" &
silent_pid=$!
exec 8> "$dir/silent.in"
has_ports() { grep -q ' ' "$dir/silent.out" || is_gone "$silent_pid"; }
until_true has_ports
read -r hole mute < "$dir/silent.out"

has_printed() { grep -q "^docextract: waiting for $1\$" "$dir/err" || is_gone "$pid"; }
waits_for() # TEXT PATTERN STEP: printed while the step is still running
{
  : > "$dir/err" # the background shell may not have opened it yet
  start_docextractd
  "$program" -c "$conf" hello > "$dir/out" 2> "$dir/err" 8>&- &
  pid=$!
  until_true has_printed "$2"
  has "hello, $1: says what it waits for, and how long" \
    "$(cat "$dir/err")" "^docextract: waiting for $2\$"
  hasnt "hello, $1: is still waiting then" "$(cat "$dir/out")" "$3|FAILED"
  kill -TERM "$pid"
  wait "$pid"
  pid=
}
URL=http://127.0.0.1:$hole configure
waits_for 'a network that drops every packet' \
  "a connection to 127.0.0.1 port $hole, at most 10 s" connection
URL=https://127.0.0.1:$mute configure
waits_for 'a service that never responds' \
  "a connection to 127.0.0.1 port $mute, at most 10 s" certificate
printf '#!/bin/sh\nexec sleep 30\n' > "$dir/slow"
chmod 755 "$dir/slow"
configure 'Token command' "TokenCommand $dir/slow"
waits_for 'a slow TokenCommand' 'TokenCommand, at most 10 s' token
faults 'hello * hang\n'
configure
waits_for 'a slow response' "the response of '127.0.0.1', at most 60 s" response
faults ''
exec 8>&-
wait "$silent_pid"
is 'the silent network ends' "$?" 0

section 'hello: warnings'

start_sim
configure
printf 'LogLevel debug2\nPageLogFormat %%p %%u %%{job-name}\n' \
  > "$dir/cupsd.conf"
dx hello
is 'hello: a warning is not a failure' "$rc" 0
has 'hello: a log with titles causes a warning' "$out" '^warning: .*LogLevel'
has 'hello: so does a page log with titles' "$out" '^warning: .*PageLogFormat'
printf '#LogLevel debug\nLogLevel warn\nPageLogFormat %%p %%j\n' \
  > "$dir/cupsd.conf"
dx hello
hasnt 'hello: logs without titles do not' "$out" '^warning'
for bad in 'PreserveJobFiles No' 'PreserveJobHistory Off' 'MaxJobs 20' \
  'MultipleOperationTimeout 4m' 'JobPrivateValues job-name job-uuid' \
  'MaxJobTime 29m' 'MaxJobTime 1799' 'MaxJobTime 1'; do
  echo "$bad" > "$dir/cupsd.conf"
  dx hello
  has "hello: '$bad' can lose print jobs" "$out" "^warning: '$bad' is set"
done
printf '%s\n' 'PreserveJobFiles 0' 'preservejobhistory no' 'MaxJobs 499' \
  'MultipleOperationTimeout 299' 'JobPrivateValues all' > "$dir/cupsd.conf"
mkdir "$dir/link"
ln -s "$conf" "$dir/link/docextract.conf"
conf=$dir/link/docextract.conf dx hello
is 'hello: every other form can, too, whose file is a link' \
  "$(sed -nE "s/^warning: '(.*)' is set in cupsd.conf: .*/\1/p" <<< "$out")" \
  "$(cat "$dir/cupsd.conf")"
printf '%s\n' 'PreserveJobFiles 7d' 'PreserveJobHistory Yes' 'MaxJobs 0' \
  'MaxJobs 500' 'MultipleOperationTimeout 300' \
  'MultipleOperationTimeout 15m' 'MultipleOperationTimeout 1h' \
  'JobPrivateValues default' 'MaxJobTime 0' 'MaxJobTime 30m' \
  'MaxJobTime 1800' 'MaxJobTime 3h' > "$dir/cupsd.conf"
dx hello
hasnt 'hello: other values cannot' "$out" '^warning'
rm "$dir/cupsd.conf"

RESULTS=$dir/file configure
dx hello
has 'hello: results that cannot be written are named' "$out" \
  'warning: results cannot be written'
is 'hello: then nothing would be sent' "$rc $(tail -n 1 <<< "$out") $err" \
  '74 Not ready: no documents are sent until this is solved docextract: results cannot be written; see the warning'

if [ "$(id -u)" = 0 ]; then
  install -d -m 700 "$dir/roots"
  RESULTS=$dir/roots configure
  dx hello
  has 'hello: which says who must be able to' "$out" \
    "^warning: results .*roots': .*; '$owner' must be able to write there\$"
fi

section 'submit: what is sent'

new_spool
configure
: > "$dir/log"
dx submit "$dir/a.pdf"
is 'submit: a PDF is extracted' "$rc" 0
has 'submit: progress is printed on standard error' "$err" '^Uploading: 100%'
is 'submit: and nothing else' "$(not_progress)" ''
result=$out
is 'submit: standard output is the path of the result' \
  "$(jq -r '.results.medical_data[].patient_last_name' "$result")" Ahrens
is 'submit: with a manifest beside it' \
  "$(jq -r '"\(.outcome) \(.job.title) \(.files[0].name)"' \
    "$results"/*.job.json)" 'extracted a.pdf a.pdf'
is 'submit: the spool stays its owner'"'"'s' \
  "$(find "$spool" ! -user "$owner" | wc -l)" 0
is 'submit: the document is removed from the spool' \
  "$(find "$spool/jobs" "$spool/finished" "$spool/incoming" -name 'document*' | wc -l)" 0

new_spool
: > "$dir/log"
dx submit "$dir/a.pdf" "$dir/c.jpg" "$dir/d.png"
is 'submit: PDF, JPEG and PNG are three sources' \
  "$rc $(calls create) $(calls put .status==200)" '0 3 3'
is 'submit: each with its own type' \
  "$(jq -r '.files[].content_type' "$results"/*.job.json | sort | xargs)" \
  'application/pdf image/jpeg image/png'

new_spool
start_sim --source-time 200
configure
faults 'put 2 status 500\nput 4 status 500\n'
dx submit "$dir/a.pdf" "$dir/b.pdf" "$dir/c.jpg"
percents=$(sed -n 's/^Uploading: \(.*\)%$/\1/p' <<< "$err")
is 'submit: an upload that is repeated does not jump back' \
  "$rc $(tail -n 1 <<< "$percents") $percents" \
  "0 100 $(sort -nu <<< "$percents")"
is 'submit: it waits after the uploads' \
  "$(grep -n '; waiting\|^Uploading' <<< "$err" | grep -A 9 '; waiting' |
    grep -c Uploading)" 0
start_sim
configure

new_spool
: > "$dir/log"
dx submit --together --title 'Visit of May' "$dir/a.pdf" "$dir/b.pdf"
is 'submit: --together is one source' \
  "$rc $(calls create) $(calls put .status==200)" '0 1 2'
is 'submit: --title is the title' \
  "$(jq -r .job.title "$results"/*.job.json)" 'Visit of May'

new_spool
: > "$dir/log"
dx submit --text-encoding cp850 "$dir/cp850.txt" "$dir/a.pdf"
is 'submit: --text-encoding is the encoding of text files' \
  "$rc $(calls put .status==200)" '0 2'

new_spool
(cd "$dir" && cp a.pdf -- '-x.pdf')
start_docextractd
(cd "$dir" && "$program" -c "$conf" submit -- -x.pdf > /dev/null)
is 'submit: a file name can begin with -' \
  "$? $(jq -r .job.title "$results"/*.job.json)" '0 -x.pdf'

new_spool
cp "$dir/a.pdf" "$dir/$(printf 'M\xfcller\n.pdf')"
dx submit "$dir/$(printf 'M\xfcller\n.pdf')"
is 'submit: an invalid file name is made UTF-8' \
  "$rc $(jq -r .job.title "$results"/*.job.json)" '0 M ller.pdf'
dx submit --title "$(printf 'M\xfcller')" "$dir/a.pdf"
has 'submit: a title that is not UTF-8 is refused' "$rc $err" '^65 .*UTF-8'

new_spool
configure 'FileNames neutral'
dx submit "$dir/a.pdf" "$dir/c.jpg"
is 'submit: FileNames neutral sends number and type only' \
  "$rc $(jq -r '.files[].name' "$results"/*.job.json | sort | xargs)" \
  '0 document-1.pdf document-2.jpg'
configure

if [ "$(id -u)" = 0 ]; then
  new_spool
  mkdir -m 700 "$dir/private"
  cp "$dir/a.pdf" "$dir/private/"
  chmod 600 "$dir/private/a.pdf"
  dx submit "$dir/private/a.pdf"
  is "submit: files are opened with root's rights" "$rc" 0
fi

new_spool
: > "$dir/log"
DRIVER_OPTIONS=--verbose dx --verbose submit --title Secrettitle \
  "$dir/Secretname.pdf"
is 'submit: docextractd --verbose logs every call' \
  "$rc $(grep -c ' -> 20[0-9]' "$dir/driver.err")" "0 $(wc -l < "$dir/log")"
hasnt 'submit: names and titles are never printed' \
  "$out$err$(cat "$dir"/driver.*)" 'Secret'
stop_docextractd

section 'hello on a terminal'

new_spool
start_docextractd
NO_COLOR='' on_terminal hello
end_terminal
has 'hello on a terminal: in color' "$out" $'\033\\[32mok'
NO_COLOR=1 on_terminal hello
end_terminal
hasnt 'hello on a terminal: NO_COLOR is respected' "$out" $'\033'
TERMINAL=dumb on_terminal hello
end_terminal
hasnt 'hello on a terminal: TERM=dumb is respected' "$out" $'\033'

section 'submit: refused before anything is sent'

new_spool
: > "$dir/log"
refused() # TEXT STATUS PATTERN ARGUMENT...
{
  local text=$1 status=$2 pattern=$3
  shift 3
  dx submit "$@"
  is "submit, $text: its status" "$rc" "$status"
  has "submit, $text: why" "$err" "$pattern"
  is "submit, $text: nothing is sent or kept" \
    "$(calls create) $(jobs | wc -l) $(find "$spool" -name 'document*' | wc -l)" \
    '0 0 0'
}
refused 'another type' 65 \
  'file 1 cannot be sent: it is of a type that cannot be extracted; open it' \
  "$dir/f.webp"
refused 'an invalid file after a valid one' \
  65 'file 2' "$dir/a.pdf" "$dir/f.webp"
refused 'an empty file' 65 'file 1 is empty' "$dir/empty.pdf"
qpdf --encrypt secret owner 256 -- "$dir/a.pdf" "$dir/locked.pdf"
head -c 500 "$dir/b.pdf" > "$dir/cut.pdf"
head -c 60 "$dir/d.png" > "$dir/cut.png"
refused 'a locked PDF' 65 'file 1 cannot be sent: it is password-protected; open it' \
  "$dir/locked.pdf"
hasnt 'submit, a locked PDF: a retry could not succeed' "$err" 'retry'
refused 'a truncated PDF' 65 \
  'file 2 cannot be sent: it is damaged: its end is missing; ask for a new copy' \
  "$dir/a.pdf" "$dir/cut.pdf"
refused 'a truncated picture' 65 'file 1 cannot be sent: it is damaged' \
  "$dir/cut.png"
refused 'one of two, together' 65 'file 2 cannot be sent' --together \
  "$dir/a.pdf" "$dir/locked.pdf"
refused 'two of three' 65 '^docextract: 2 of 3 files cannot be sent; nothing' \
  "$dir/locked.pdf" "$dir/a.pdf" "$dir/cut.png"
has 'submit, two of three: each has its reason' "$(xargs <<< "$err")" \
  'file 1 cannot be sent: it is password.* file 3 cannot be sent: it is damaged'
refused 'a text in an unknown encoding' 65 \
  'file 1 .* line 1 is unknown; select it .*or print it as a PDF [(]here: --text-encoding[)]$' \
  "$dir/cp850.txt"
refused 'a text in another encoding than selected' 65 \
  "line 1 is not valid in the encoding 'UTF-8'" --text-encoding utf-8 \
  "$dir/cp850.txt"
refused 'an encoding that does not exist' 64 \
  "unknown encoding 'EBCDIC'; possible encodings: Auto UTF-8$" --text-encoding EBCDIC \
  "$dir/cp850.txt"
printf 'WBC \e45.40\e5\n' > "$dir/codes.txt"
refused 'a text with printer commands' 65 'line 1 has a printer command' \
  --text-encoding cp850 "$dir/codes.txt"
refused 'a missing file' 65 'cannot open file 1' "$dir/none.pdf"
refused 'a directory' 65 'not a regular file' "$dir"
mkfifo "$dir/fifo"
refused 'a fifo' 65 'not a regular file' "$dir/fifo"
configure 'MaxDocumentsPerJob 1'
refused 'too many files' 65 'more files than MaxDocumentsPerJob [(]1[)];' \
  "$dir/a.pdf" "$dir/b.pdf"
refused 'as many files as are allowed' 65 'file 1 cannot be sent: it is of a type' \
  "$dir/f.webp"
configure 'MaxDocumentSize 1M'
{ cat "$dir/a.pdf"; head -c 1048576 /dev/zero; } > "$dir/large.pdf"
refused 'a large file' 65 'file 2 is larger than MaxDocumentSize [(]1M[)]' \
  "$dir/a.pdf" "$dir/large.pdf"
head -c 1048576 /dev/zero > "$dir/large.pdf"
refused 'a file of exactly this size' 65 'file 1 cannot be sent: it is of a type' \
  "$dir/large.pdf"
RESULTS=$dir/file configure
refused 'results that cannot be written' 74 'file' "$dir/a.pdf"
SPOOL=$dir/nothing configure
refused 'a missing spool' 74 'create the directory' "$dir/a.pdf"
configure
chmod 500 "$spool"
refused 'a spool that cannot be written' 74 'ermission' "$dir/a.pdf"
chmod 700 "$spool"

section 'submit: the filter'

start_sim --data-dir "$dir/data"
configure
cat > "$dir/objects" << 'END'
%PDF-1.7
1 0 obj <</Type/Catalog/Pages 2 0 R
  /OpenAction<</S/JavaScript/JS(SECRET)>>>> endobj
2 0 obj <</Type/Pages/Count 2/Kids[3 0 R 4 0 R]>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>> endobj
4 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>> endobj
trailer <</Root 1 0 R/Size 5>>
%%EOF
END
qpdf --static-id "$dir/objects" "$dir/active.pdf" 2> "$dir/qpdf.err"
new_spool
dx submit "$dir/active.pdf"
is 'submit: pages are counted' \
  "$rc $(jq -r '.files[].pages' "$results"/*.job.json)" '0 2'
is 'submit: scripts are removed' \
  "$(grep -c SECRET "$dir/active.pdf") $(cat "$dir"/data/* | grep -c SECRET)" \
  '1 0'
new_spool
"$build/tests/filter/mktiff" "$dir/fax.tif" pages=3
dx submit "$dir/fax.tif"
is 'submit: a fax becomes a PDF with all its pages' \
  "$rc $(jq -c '[.files[]|.name,.content_type,.pages]' "$results"/*.job.json)" \
  '0 ["fax.pdf","application/pdf",3]'
new_spool
rm -f "$dir"/data/*
printf 'Müller\tŁucja\n\fend\n' > "$dir/notes.txt"
dx submit "$dir/notes.txt"
is 'submit: a text becomes a PDF with its pages' \
  "$rc $(jq -c '[.files[]|.name,.content_type,.pages]' "$results"/*.job.json)" \
  '0 ["notes.pdf","application/pdf",2]'
is 'submit: every character of it can be read' \
  "$(pdftotext "$dir"/data/* - | tr -s ' \f\n' ' ')" 'Müller Łucja end '
is 'submit: the filter leaves nothing in the spool' \
  "$(ls -A "$spool/incoming")" ''

new_spool
: > "$dir/log"
"$top/tests/hostile/mkhostile" bomb "$dir/bomb.pdf" 4600
refused 'a page that takes gigabytes' 65 'too complex to check' "$dir/bomb.pdf"
CUPS_SERVERBIN=$dir/nowhere refused 'no filter' 74 'cannot run .*todocextract' \
  "$dir/a.pdf"
# One that does not do what it should.
other_filter() # < SCRIPT
{
  mkdir -p "$dir/other/filter"
  cat > "$dir/other/filter/todocextract"
  chmod 755 "$dir/other/filter/todocextract"
}
touch "$dir/seen" && give "$dir/seen"
other_filter << END
#!/usr/bin/perl
open(my \$seen, '>', '$dir/seen');
\$seen->autoflush(1);
for my \$fd (glob('/proc/self/fd/*')) {
  printf \$seen "%o %s -> %s\n", (lstat(\$fd))[2] & 0777, \$fd =~ /(\d+)\$/,
    readlink(\$fd);
}
print \$seen "\$_=\$ENV{\$_}\n" for keys(%ENV);
print \$seen "group \$\$ ", getpgrp(), "\n@ARGV\n", \`id\`, \`cat /proc/self/status\`;
print STDERR 'WARNING: ends after ', alarm(0), " s\n";
exit(1);
END
CUPS_SERVERBIN=$dir/other refused 'a filter that fails' 74 \
  'todocextract failed' --title Secrettitle "$dir/Secretname.pdf"
hasnt 'submit: the filter gets no names and no title' \
  "$(grep -v ' 0 -> ' "$dir/seen")" Secret
has 'submit: the filter gets the configuration' "$(cat "$dir/seen")" \
  '^DOCEXTRACT_CONF=/proc/self/fd/3$'
is 'submit: the filter gets no other descriptor' \
  "$(grep -cE ' ([4-9]|[1-9][0-9]) -> (pipe|socket|/memfd|/var/tmp/docextract)' \
    "$dir/seen")" 0
has 'submit: the filter cannot read its output, which has other files, too' \
  "$(cat "$dir/seen")" '^300 1 -> /var/tmp/docextract-.*\(deleted\)$'
has 'submit: the filter is ended a minute after FilterTimeLimit' "$err" \
  '^warning: file 1: ends after 9[56][0-9] s$'
if [ "$(id -u)" = 0 ]; then
  has "root, submit: the filter runs as a user who owns nothing" \
    "$(cat "$dir/seen")" '^uid=65534[^0-9].*gid=65534[^0-9].*groups=65534[^,]*$'
  CUPS_SERVERBIN=$dir/other "$build/cli/docextract" -c "$conf" submit \
    "$dir/a.pdf" > "$dir/out" 2> "$dir/err"
  hasnt 'root, submit: CUPS_SERVERBIN is ignored' "$(cat "$dir/err")" "$dir"
fi
has 'submit: the filter gets no signals of the terminal' \
  "$(cat "$dir/seen")" '^group ([0-9]+) \1$'
has 'submit: the filter cannot gain rights' "$(cat "$dir/seen")" \
  '^NoNewPrivs:.1$'
other_filter << 'END'
#!/bin/sh
echo 'DOCEXTRACT-BUNDLE 1 {"seal":"","kind":"refused","type":"","origin":"",' \
  '"name":"","pages":0,"together":false,"bytes":0,"sha256":"",' \
  '"reason":"trouble","reason_text":"not today"}'
END
CUPS_SERVERBIN=$dir/other refused 'a problem of this computer' 74 \
  'file 1 cannot be sent: not today' "$dir/a.pdf"
other_filter << 'END'
#!/bin/sh
kill -ALRM $$
END
CUPS_SERVERBIN=$dir/other refused 'a filter that does not end' 74 \
  'todocextract did not respond within 9[56][0-9] s$' "$dir/a.pdf"
printf '#!/bin/sh\necho $$ > %s\nexec sleep 600\n' "$dir/seen" | other_filter
filter_runs() { ! grep -qx x "$dir/seen" && [ -s "$dir/seen" ] || is_gone "$pid"; }
filter_is_gone() { is_gone "$(cat "$dir/seen")"; }
end_with_filter() # SIGNAL: while the filter runs
{
  echo x > "$dir/seen"
  CUPS_SERVERBIN=$dir/other env --default-signal=INT "$program" -c "$conf" \
    submit "$dir/a.pdf" > "$dir/out" 2> "$dir/err" &
  pid=$!
  until_true filter_runs
  kill "-$1" "$pid"
  reap
}
end_with_filter KILL
check 'submit, SIGKILL while the filter runs: it is ended, too' \
  until_true filter_is_gone
end_with_filter INT
is 'submit, SIGINT while the filter runs: nothing is submitted' \
  "$rc $(cat "$dir/err")" '75 docextract: stopped; nothing was submitted'
until_true filter_is_gone
check 'submit, SIGINT while the filter runs: it is ended, too' filter_is_gone
is 'submit, SIGINT while the filter runs: nothing is kept' \
  "$(jobs | wc -l) $(ls -A "$spool/incoming")" '0 '

section 'a kernel without seccomp'

with_seccomp=$program
printf '#!/bin/sh\nexec %q %q "$@"\n' "$build/tests/helper/noseccomp" \
  "$with_seccomp" > "$dir/without-seccomp"
chmod 755 "$dir/without-seccomp"
program=$dir/without-seccomp
configure
new_spool
: > "$dir/log"
fails 'no seccomp' sandbox 78 "CONFIG_SECCOMP_FILTER.*'Sandbox optional'"
refused 'no seccomp' 78 "CONFIG_SECCOMP_FILTER.*'Sandbox optional'" "$dir/a.pdf"
configure 'Sandbox optional'
dx hello
has 'hello, Sandbox optional: goes on' "$out" \
  '^ok +sandbox +(Landlock|none); Sandbox optional is set'
has 'hello, Sandbox optional: warns' "$out" "^warning: 'Sandbox optional' is set"
dx --verbose submit "$dir/a.pdf"
has 'submit, Sandbox optional: parses, and logs it' "$rc $err" \
  "^0 .*'Sandbox optional' is set"
program=$with_seccomp

new_spool
SERVICE=left configure
dx submit --service left "$dir/a.pdf"
is 'submit: --service chooses the section' "$rc" 0
{ cat "$conf" && sed -n '/^<S/,/^<.S/{s/left/right/;p;}' "$conf"; } > "$dir/two"
cat "$dir/two" > "$conf"
dx submit "$dir/a.pdf"
has 'submit: with two services one must be chosen' "$rc $err" \
  '^78 .*--service NAME; configured services: left, right'

stop_docextractd
sed 's/right/default/' "$dir/two" > "$conf"
dx hello
has 'hello: the service default need not be chosen' "$out" \
  "^ok +configuration .*, service 'default'\$"

section 'submit: errors on the way'

new_spool
configure
faults 'create * status 422\n'
dx submit "$dir/a.pdf"
is 'submit, refused by the service: its status' "$rc" 65
has 'submit, refused by the service: why, and what to do' "$err" \
  'responded with 422.*docextract retry [0-9a-f]{32}$'
is 'submit, refused by the service: the document is kept' \
  "$(find "$spool/jobs" "$spool/finished" -name 'document*' | wc -l)" 1
faults ''

start_sim
new_spool
configure
faults 'create 2 status 422\n'
dx submit "$dir/a.pdf" "$dir/b.pdf"
is 'submit, one of two refused: its status' "$rc" 65
is 'submit, one of two refused: the other result is printed' \
  "$(jq -r '.results.medical_data[].patient_mrn' \
    "$(grep '^/' <<< "$out")")" 1
faults ''

make_certificate
start_sim --tls-cert "$dir/tls.pem" --tls-key "$dir/tls.key"
new_spool
configure
dx submit "$dir/a.pdf"
is 'submit, an unknown certificate authority: its status' "$rc" 78

# Runs submit in the background, and signals it once it has printed PATTERN.
stopped() # TEXT SIGNAL PATTERN
{
  local key
  : > "$dir/err" # the background shell may not have opened it yet
  start_docextractd
  env --default-signal=INT "$program" -c "$conf" submit "$dir/a.pdf" \
    > "$dir/out" 2> "$dir/err" &
  pid=$!
  until_true says "$3"
  has "submit, $1: is waiting" "$(cat "$dir/err")" "$3"
  kill "-$2" "$pid"
  wait "$pid"
  is "submit, $1: its status" "$?" 75
  pid=
  no_sanitizer
  key=$(jobs)
  has "submit, $1: says that it goes on, and how to cancel it" \
    "$(cat "$dir/err")" \
    "stopped; docextractd continues the job; .*: docextract cancel $key\$"
}

start_sim --source-time 600000
new_spool
configure
stopped 'SIGTERM while waiting' TERM '^The chart is with the service; waiting'
has 'submit, SIGTERM while waiting: the journal knows the source' \
  "$(jq -r '.submissions[0].state' "$spool"/jobs/*/job.json)" \
  'uploaded|processing'
new_spool
stopped 'SIGINT while waiting' INT '^The chart is with the service; waiting'

stop_sim
new_spool
stopped 'nothing listens' TERM '^The chart is .*; the service does not respond'
is 'submit, nothing listens: the document is kept' \
  "$(find "$spool/jobs" "$spool/finished" -name 'document*' | wc -l)" 1
has 'submit, nothing listens: the journal names host and port' \
  "$(jq -r ".submissions[0].message" "$spool"/jobs/*/job.json)" \
  "^cannot connect to '127\\.0\\.0\\.1:[0-9]+': [A-Z]"

end
