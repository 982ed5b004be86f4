#!/usr/bin/env bash
#
# discovery.sh - the printer is found and set up by the standard tools: lpinfo,
# the driver by its device id, only the scheme if no service is configured.
. "$(dirname "$0")/lib.sh"

backend=$cups/bin/backend/docextract
list() { env -i CUPS_SERVERROOT="$cups/root" PATH="$PATH" "$backend"; }

# The system's data, and our driver as the package installs it.
DATA_DIR=$cups/data
mkdir -p "$DATA_DIR/model" "$cups/root"
for f in /usr/share/cups/*; do
  case ${f##*/} in model | drv) ;; *) ln -s "$f" "$DATA_DIR/" ;; esac
done
cp "$build/ppd/docextract.ppd" "$DATA_DIR/model/"

make_key "$dir/key"
SIM_API=http://127.0.0.1:9
make_cups
write_config
start_cupsd

id='MFG:docextract;MDL:Document Extraction Service;CMD:PDF,JPEG,PNG;'
has 'lpinfo lists the service' "$(lpinfo -v)" '^network docextract://default$'
has 'lpinfo lists the device id' "$(lpinfo -l -v)" "device-id = $id"
has 'the device id finds the driver' "$(lpinfo --device-id "$id" -m)" \
  'docextract.ppd Document Extraction Service'
# cupstestppd looks for the filters below a root, and wants root to own them.
if [ "$(id -u)" = 0 ]; then
  install -D -m 755 -t "$dir/root/usr/lib/cups/filter" \
    "$build/todocextract" "$build/todocextract-check"
  output=$(cupstestppd -R "$dir/root" "$build/ppd/docextract.ppd")
else
  output=$(cupstestppd -I filters "$build/ppd/docextract.ppd")
fi
is 'the PPD passes cupstestppd' "$? $(grep -cE 'FAIL|WARN' <<< "$output")" '0 0'

output=$(list)
is 'without arguments the backend lists one device' "$? $output" \
  "0 network docextract://default \"Document Extraction Service\" \"Document Extraction Service (127.0.0.1)\" \"$id\" \"\""

{
  echo '<Service second>'
  echo 'BaseURL https://extract.example.com'
  echo 'Token key'
  echo "TokenKeyFile $dir/key"
  echo '</Service>'
} >> "$config"
output=$(list)
is 'one device for each service' "$? $(cut -d ' ' -f 2 <<< "$output" | xargs)" \
  '0 docextract://default docextract://second'
is 'they can be told apart' "$(cut -d '"' -f 4 <<< "$output")" \
  'Document Extraction Service default (127.0.0.1)
Document Extraction Service second (extract.example.com)'

echo 'Nonsense yes' >> "$config"
output=$(list 2> "$dir/err")
is 'with a wrong configuration: the bare scheme' "$? $(cut -d ' ' -f 1,2 <<< "$output")" \
  '0 network docextract'
has 'and what is wrong with it' "$(cat "$dir/err")" \
  "docextract.conf:$(wc -l < "$config"): unknown directive"
has 'lpinfo lists the bare scheme' "$(lpinfo -v)" '^network docextract$'
rm "$config"
output=$(list 2> "$dir/err")
is 'without a configuration: the bare scheme' "$? $(cut -d ' ' -f 1,2 <<< "$output")" \
  '0 network docextract'
write_config

# cupsd discards what it has not read when a backend fails.
# A raw job of a section that exists is held at once.
raw() { env DEVICE_URI=docextract://default CUPS_SERVERROOT="$cups/root" "$backend" 1 ann title 1 '' /dev/null; }
milliseconds() # COMMAND...
{
  local begin=${EPOCHREALTIME/./}
  "$@"
  echo $(((${EPOCHREALTIME/./} - begin) / 1000))
}
mkfifo "$dir/unread"
exec 9<> "$dir/unread"
took=$(milliseconds raw 2>&9)
check "it waits a second for a reader of its last lines ($took ms)" \
  test "$took" -ge 1000
exec 8< "$dir/unread" 9>&-
has 'and they are there' "$(cat <&8)" '^ERROR: '
exec 8<&-

chart_pdf "$dir/a.pdf" Ann Ahrens 1
for uri in docextract://nobody docextract://default/x \
  'docextract://default?host=evil.example' docextract://evil@default \
  docextract://default:99; do
  lpadmin -p odd -E -v "$uri" -P "$build/ppd/docextract.ppd" 2> "$dir/err" ||
    give_up "lpadmin takes $uri"
  print -d odd "$dir/a.pdf"
  until_true queue_says odd 'is not set up correctly'
  has "$uri: the queue says why" "$(queue_state odd)" 'is not set up correctly'
  check "$uri: the queue is not stopped" not queue_is_stopped odd
  cancel "$job"
  until_true no_backend
  lpadmin -x odd
done
