#!/usr/bin/env bash
#
# consumers.sh - the guarantees for programs that read results: manifests
# conform to their JSON Schema, and the example programs process each result
# once, even if they are killed repeatedly. Needs python3 and python3-jsonschema
# besides what lib.sh needs.
#
#   RESULTS=N tests/it/consumers.sh (100)
. "$(dirname "$0")/lib.sh"

schema=$top/doc/manifest.schema.json
examples=$top/doc/examples
jobs_n=${RESULTS:-100}

is_valid() # MANIFEST
{
  /usr/bin/python3 -W ignore -c '
import json, sys
from jsonschema import Draft7Validator
with open(sys.argv[1]) as schema, open(sys.argv[2]) as manifest:
    Draft7Validator(json.load(schema)).validate(json.load(manifest))
' "$schema" "$1" 2> "$dir/invalid" || sed 's/^/# /' "$dir/invalid" | tail -n 5
  [ ! -s "$dir/invalid" ]
}

one_manifest() { find "$results" -name '*.job.json' -newer "$dir/round"; }
says() # TEXT FIELD VALUE
{
  is "$t: $2" "$(jq -r "$2" "$(one_manifest)")" "$3"
}

start_sim --source-time 0 --case-time 0
start_cupsd
write_config
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 1

t='extracted'
touch "$dir/round"
print -d chart "$dir/a.pdf"
job_ends "$t: the print job ends" "$job" completed
check "$t: the manifest is valid" is_valid "$(one_manifest)"
says "$t" .final true
says "$t" .job.documents 1
template=$(one_manifest)

# --- every kind of manifest ------------------------------------------------------

section 'refused by the service'

t='refused by the service'
touch "$dir/round"
faults 'create 1- status 422'
print -d chart "$dir/a.pdf"
job_ends "$t: the print job is held" "$job" pending-held
check "$t: the manifest is valid" is_valid "$(one_manifest)"
says "$t" .reason_code service-refused
says "$t" .final false
faults '#'
cancel "$job"

section 'canceled'

t='canceled'
touch "$dir/round"
faults 'source * word processing'
polls=$(calls source)
print -d chart "$dir/a.pdf"
key_of() { jq -r "select(.id == \"$1\") | .key" "$spool"/jobs/*/job.json; }
until_true calls_are source $((polls + 1))
# shellcheck disable=SC2046
kill -KILL $(backends)
until_true no_backend
dx cancel "$(key_of "$job")" > "$dir/canceled" 2>&1
is "$t: it succeeds" "$?" 0
check "$t: the manifest is valid" is_valid "$(one_manifest)"
says "$t" .reason_code canceled
says "$t" .final true
faults '#'

section 'a refused document'

t='a refused document'
touch "$dir/round"
echo '%PDF-1.4' > "$dir/bad.pdf"
print -d chart "$dir/bad.pdf"
job_ends "$t: the print job is held" "$job" pending-held
check "$t: the manifest is valid" is_valid "$(one_manifest)"
says "$t" .reason_code document-refused
says "$t" '.files[0] | "\(.bytes) bytes \(.sha256)"' '0 bytes '
cancel "$job"

section 'withdrawn in CUPS'

t='canceled in CUPS'
touch "$dir/round"
faults 'source * word processing'
polls=$(calls source)
print -d chart "$dir/a.pdf"
until_true calls_are source $((polls + 1))
cancel "$job"
job_ends "$t: the print job ends" "$job" canceled
until_true no_backend
is "$t: there is no manifest" "$(one_manifest)" ''
faults '#'

section 'the schema'

t='the schema'
jq '.outcome = "maybe"' "$template" > "$dir/wrong.json"
check "$t: rejects anything else" test -n "$(is_valid "$dir/wrong.json")"

# --- the consumers ---------------------------------------------------------------

section 'each result is imported once'

# A large result takes long enough for the consumer to be killed over it.
large=$dir/large.json
{
  cat "$results/$(jq -r '.cases[0].file' "$template")"
  head -c $((100000000 / jobs_n)) /dev/zero | tr '\0' ' '
} > "$large"
sum=$(sha256sum < "$large" | cut -d ' ' -f 1)

# As delivered, of different print jobs. The manifest comes after its result.
deliver_many() # DIRECTORY
{
  perl -e '
    my ($manifest, $from, $sum, $to, $n) = @ARGV;
    local $/;
    open F, $manifest or die; my $text = <F>;
    $text =~ s/("cases".*"sha256":\s*")[^"]*/$1$sum/s;
    my ($source) = $text =~ /"source_id":\s*"([^"]*)"/;
    my ($file) = $text =~ /"file":\s*"([^"]*)"/;
    open F, $from or die; my $body = <F>;
    sub put { open F, ">$_[0].new" or die; print F $_[1]; close F;
              rename "$_[0].new", $_[0] or die }
    for (1 .. $n) {
      my $id = "S$_";
      (my $m = $text) =~ s/\Q$source\E/$id/g;
      $m =~ s/("uuid":\s*")[^"]*/$1$id/;
      (my $f = $file) =~ s/\Q$source\E/$id/;
      put("$to/$f", $body);
      put("$to/$id.job.json", $m);
    }' "$template" "$large" "$sum" "$1" "$jobs_n"
}

for consumer in consume.py consume.sh; do
  t=$consumer
  rm -rf "$dir/out" "$dir/inbox"
  mkdir "$dir/out" "$dir/inbox"
  deliver_many "$dir/out" &
  deliver=$!
  kills=0 ms=4 # each run gets longer, however fast this computer is
  while kill -0 $deliver 2> "$dir/none" || [ -n "$(ls "$dir/out")" ]; do
    timeout -s KILL "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))" \
      "$examples/$t" "$dir/out" "$dir/inbox" > "$dir/consumer" 2>&1
    [ $? -ne 137 ] || kills=$((kills + 1)) ms=$((ms * 3 / 2))
  done 2> "$dir/none"
  wait $deliver
  check "$t: it was killed" test $kills -gt 2
  is "$t: every manifest and result was imported" \
    "$(find "$dir/inbox" -name '*.job.json' | wc -l) $(find "$dir/inbox" \
      -name '*.json' ! -name '*.job.json' | wc -l)" "$jobs_n $jobs_n"
  is "$t: each with its bytes" "$(find "$dir/inbox" -name '*.json' \
    ! -name '*.job.json' -exec sha256sum {} + | cut -d ' ' -f 1 | sort -u)" \
    "$sum"
done

section 'what is not imported'

t='a result that was tampered with'
rm -rf "$dir/out" "$dir/inbox"
mkdir "$dir/out" "$dir/inbox"
cp "$template" "$dir/out"
echo '{}' > "$dir/out/$(jq -r '.cases[0].file' "$template")"
for consumer in consume.py consume.sh; do
  "$examples/$consumer" "$dir/out" "$dir/inbox" > "$dir/consumer" 2>&1
  is "$consumer: $t is not imported" "$(($? != 0)) $(ls "$dir/inbox")" '1 '
done

t='a manifest that cannot be read'
rm -rf "$dir/out" "$dir/inbox"
mkdir "$dir/out" "$dir/inbox"
echo '{' > "$dir/out/S.job.json"
for consumer in consume.py consume.sh; do
  "$examples/$consumer" "$dir/out" "$dir/inbox" > "$dir/consumer" 2>&1
  is "$consumer: $t stays" "$(($? != 0)) $(ls "$dir/inbox")" '1 '
done

# What the group of the directory can put there, and what is not refused.
one_result() # one manifest with its result, and a second manifest
{
  local file
  rm -rf "$dir/out" "$dir/inbox"
  mkdir "$dir/out" "$dir/inbox"
  file=$(jq -r '.cases[0].file' "$template")
  cp "$template" "$results/$file" "$dir/out"
  jq '.source_id = "Z" | .job.uuid = "z" | .cases = []' "$template" \
    > "$dir/out/Z.job.json"
  manifest=$dir/out/$(basename "$template") result=$dir/out/$file
}
edit() { # FILTER: of the manifest
  jq "$1" "$manifest" > "$dir/edited"
  cat "$dir/edited" > "$manifest"
}
by_another() { chown 1:1 "$1"; } # FILE
by_link() # FILE
{
  mv "$1" "$dir/elsewhere"
  ln -s "$dir/elsewhere" "$1"
}
by_fifo() { rm "$1" && mkfifo "$1"; } # FILE
named() # NAME: the name of the result in the manifest; the file exists
{
  cp "$result" "$dir/out/$1" 2> "$dir/none"
  edit ".cases[0].file = \"$1\""
}
refused() # TEXT COMMAND...: after the command, only the other one is imported
{
  local consumer t=$1
  shift
  for consumer in consume.py consume.sh; do
    one_result
    "$@"
    timeout 60 "$examples/$consumer" "$dir/out" "$dir/inbox" \
      > "$dir/consumer" 2>&1
    is "$consumer: $t is not imported, but the other one is" \
      "$? $(ls "$dir/inbox")" '1 Z.job.json'
    has "$consumer: $t is named" "$(cat "$dir/consumer")" \
      "^$(basename "$manifest") is not imported"
    is "$consumer: $t stays" "$(ls "$dir/out" | grep -cxF "$(basename "$manifest")")" 1
  done
}
file_of() { eval "$1 \"\$$2\""; } # COMMAND VARIABLE
for what in manifest result; do
  refused "a $what that is a link" file_of by_link "$what"
  refused "a $what that is a FIFO" file_of by_fifo "$what"
  [ "$(id -u)" != 0 ] ||
    refused "a $what of another user" file_of by_another "$what"
done
refused 'a result with a slash in its name' named ../secret.json
refused 'a result with a dot at the start of its name' named .secret.json
refused 'a manifest of another schema' edit '.schema = 3'
refused 'a manifest of no schema' edit 'del(.schema)'
refused 'a damaged result' edit '.cases[0].sha256 = "0"'

section 'killed at each line'

# Killed before every third line in turn, or every line, and started again.
step=$((jobs_n < 1000 ? 3 : 1))
cat > "$dir/killed.py" << 'END'
import os, runpy, signal, sys
lines = int(sys.argv.pop(1))
del sys.argv[0]
def trace(frame, event, _):
    global lines
    if frame.f_code.co_filename == sys.argv[0] and event == "line":
        lines -= 1
        if lines == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return trace
sys.settrace(trace)
runpy.run_path(sys.argv[0], run_name="__main__")
END
cat > "$dir/killed.sh" << 'END'
lines=$1 script=$2
shift 2
set -T
trap '[ $((lines -= 1)) != 0 ] || kill -KILL $$' DEBUG
. "$script"
END
killed_at() # LINE CONSUMER: true if it was killed
{
  case $2 in
    *.py) set -- /usr/bin/python3 "$dir/killed.py" "$1" "$2" ;;
    *) set -- bash "$dir/killed.sh" "$1" "$2" ;;
  esac
  "$@" "$dir/out" "$dir/inbox" > "$dir/consumer" 2>&1
  [ $? = 137 ]
} 2> "$dir/none"
one_result
rm "$dir/out/Z.job.json"
mv "$dir/out" "$dir/delivered"
imports() # CONSUMER: what is in the inbox then, and what is left
{
  case $1 in *.py) set -- /usr/bin/python3 "$1" ;; esac
  "$@" "$dir/out" "$dir/inbox" 2>&1
  (cd "$dir/inbox" && find . ! -name .new | sort && cat ./*.json) | sha256sum
  ls -A "$dir/out"
}
for consumer in consume.py consume.sh; do
  wanted='' differences='' line=0
  while
    rm -rf "$dir/out" "$dir/inbox"
    cp -r "$dir/delivered" "$dir/out"
    mkdir "$dir/inbox"
    [ $line = 0 ] || killed_at $line "$examples/$consumer"
  do
    got=$(imports "$examples/$consumer")
    wanted=${wanted:-$got}
    [ "$got" = "$wanted" ] || differences+="line $line: $got"
    line=$((line + step))
  done
  check "$consumer: it was killed at its lines" [ $line -gt 25 ]
  is "$consumer: started again, it imports the same" "$differences" ''
done

section 'two servers'

t='a chart that two servers have sent'
server_delivers() # SERVER [JQ FILTER]: its own source, and no results
{
  mkdir -p "$dir/$1"
  jq "$2 | .source_id = \"$1\" | .cases = []" "$template" \
    > "$dir/$1/$1.job.json"
}
imported() # CONSUMER: of each server in turn; the names that it has imported
{
  local server
  rm -rf "$dir/inbox"
  mkdir "$dir/inbox"
  for server in A B C; do
    "$examples/$1" "$dir/$server" "$dir/inbox" > "$dir/consumer" 2>&1 ||
      echo "failed: $(cat "$dir/consumer")"
  done
  (cd "$dir/inbox" && find . -name '*.json' | sort | xargs)
}
for consumer in consume.py consume.sh; do
  server_delivers A .
  server_delivers B .
  server_delivers C '.job.uuid = "another"'
  is "$consumer: $t is imported once" "$(imported "$consumer")" \
    './A.job.json ./C.job.json ./duplicates/B.job.json'
  server_delivers A '.outcome = "failed"'
  server_delivers B '.files[0].sha256 = "another"'
  server_delivers C '.files[0].document = 2'
  is "$consumer: other charts of a print job are not duplicates" \
    "$(imported "$consumer")" './A.job.json ./B.job.json ./C.job.json'
  for server in A B C; do server_delivers $server '.job.uuid = null'; done
  is "$consumer: nor are those without a print job" \
    "$(imported "$consumer")" './A.job.json ./B.job.json ./C.job.json'
done

# Two consumers at the same moment: the one of server B makes the link first.
mkdir "$dir/faster"
cat > "$dir/faster/ln" << 'END'
#!/bin/sh
/bin/ln -s B.job.json "$3"
exec /bin/ln "$@"
END
chmod +x "$dir/faster/ln"
cat > "$dir/faster/sitecustomize.py" << 'END'
import os
symlink = os.symlink
def faster(target, link, *rest, **more):
    symlink("B.job.json", link)
    symlink(target, link, *rest, **more)
os.symlink = faster
END
for consumer in consume.py consume.sh; do
  rm -rf "$dir/inbox"
  mkdir "$dir/inbox"
  server_delivers A .
  PATH=$dir/faster:$PATH PYTHONPATH=$dir/faster \
    "$examples/$consumer" "$dir/A" "$dir/inbox" > "$dir/consumer" 2>&1
  is "$consumer: another consumer may be faster" \
    "$? $(cd "$dir/inbox" && find . -name '*.json')" '0 ./duplicates/A.job.json'
done
