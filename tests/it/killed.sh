#!/usr/bin/env bash
#
# killed.sh - on another computer, the filter that converts a document is killed
# in each third of its output, as if memory ran out there. CUPS there sends the
# part, and its print job is completed; here, the part is held, and nothing of it
# is sent. Of each format that CUPS can make there.
. "$(dirname "$0")/lib.sh"
. "$it/client.sh"

killed=$dir/killed
mkdir -m 777 "$killed"
filters=$(cups-config --serverbin)/filter

# The last filter of each conversion: of cups-filters 1, and of 2. What is not to
# be killed stores its output.
replace_filters()
{
  local name
  cat > "$killed/filter" << END
#!/bin/bash
name=\${0##*/}
read -r victim bytes < "$killed/victim"
if [ "\$name" != "\$victim" ]; then
  "$filters/\$name" "\$@" | tee "$killed/\$name"
  exit "\${PIPESTATUS[0]}"
fi
exec {in}<&0 {from}< <(exec "$filters/\$name" "\$@" <&"\$in")
filter=\$!
head -c "\$bytes" <&"\$from"
kill -KILL "\$filter" \$\$
END
  for name in texttopdf gstopdf pdftops gstoraster rastertopwg universal; do
    [ -e "$filters/$name" ] || continue
    rm "$client/bin/filter/$name"
    install -m 755 "$killed/filter" "$client/bin/filter/$name"
  done
}

one_is_held() { lpstat -o chart | grep -q . && queue_state chart | grep -q idle; }

far() # TEXT QUEUE FILE VICTIM BYTES
{
  echo "$4 $5" > "$killed/victim"
  clear_results
  on_client print -d "$2" "$3"
  on_client job_ends "$1: the job is completed there" "$job" completed
}

conversion() # QUEUE FILE
{
  local last size third text
  far "$1" "$1" "$2" - -
  until_true extracted 1
  check "$1: the whole leaves this computer, too" until_true no_job_waits chart
  is "$1: all pages are sent" \
    "$(jq -c '[.files[].pages]' "$results"/*.job.json)" '[3]'
  last=$(on_client filters_of "$job")
  last=${last##* }
  size=$(stat -c %s "$killed/$last")
  for third in 1 2 3; do
    text="$1: $last is killed in its third $third"
    far "$text" "$1" "$2" "$last" $((size * (2 * third - 1) / 6))
    check "$text: the job is held here" until_true one_is_held
    has "$text: the queue reports the reason" "$(queue_state chart)" \
      'is (damaged|incomplete): .*(end|header) is missing|only .* of .* rows'
    is "$text: nothing is sent" "$(calls create) $(n_results)" '0 0'
    cancel -a chart
  done
}

start_sim
start_cupsd_on_a_port
add_queue chart
on_client start_client
replace_filters
on_client add_shared pdf -m everywhere
until_true test -s "$client/root/ppd/pdf.ppd" # cupsd asks the printer first
while read -r queue conversion; do
  {
    grep -v '^\*cupsFilter' "$client/root/ppd/pdf.ppd"
    echo "*cupsFilter2: \"$conversion 0 -\""
  } > "$dir/$queue.ppd"
  on_client add_shared "$queue" -P "$dir/$queue.ppd"
done << END
ps application/vnd.cups-postscript application/postscript
pwg application/vnd.cups-raster image/pwg-raster
urf image/urf image/urf
END

"$it/mkpdf" "$dir/three.pdf" 'MRN: 1' 'MRN: 2' 'MRN: 3'
pdftops -q "$dir/three.pdf" "$dir/three.ps"
printf 'MRN: 1\fMRN: 2\fMRN: 3\n' > "$dir/three.txt"
conversion pdf "$dir/three.txt"
conversion pdf "$dir/three.ps"
for queue in ps pwg urf; do conversion "$queue" "$dir/three.pdf"; done

on_client stop_cupsd
