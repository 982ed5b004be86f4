#!/usr/bin/env bash
#
# prefilter.sh - rasters and PostScript that ended early, as after the end of a
# client's filter: todocextract-check refuses them, before a converter of CUPS
# takes the part for the whole. With the rules of this system, and with rules
# like those of cups-filters 2.
. "$(dirname "$0")/lib.sh"

held() # TEXT PATTERN LP ARGUMENT...: nothing is sent, and users read the reason
{
  clear_results
  print -d chart "${@:3}"
  job_ends "$1: the job is held" "$job" pending-held
  is "$1: nothing is sent" "$(calls create) $(n_results)" '0 0'
  has "$1: the queue reports the reason" "$(queue_message "$job")" "$2"
}

completed() # TEXT PAGES LP ARGUMENT...
{
  clear_results
  print -d chart "${@:3}"
  job_ends "$1: the job is completed" "$job" completed
  is "$1: all pages are sent" \
    "$(jq -c '[.files[].pages]' "$results"/*.job.json)" "[$2]"
}

part() # FILE NUMERATOR DENOMINATOR: so much of it
{
  head -c $(($(stat -c %s "$1") * $2 / $3)) "$1"
}

nothing_is_left() { [ -z "$(find "$cups/spool/tmp" -name '*docextract*')" ]; }

start_all
"$it/mkpdf" "$dir/three.pdf" 'MRN: 1' 'MRN: 2' 'MRN: 3'
pdftops -q "$dir/three.pdf" "$dir/three.ps"
for device in pwgraster:pwg urf:urf; do
  gs -q -dNOPAUSE -dBATCH -r50 -sDEVICE="${device%:*}" -dLastPage=3 \
    -dcupsColorSpace=18 -dcupsBitsPerColor=8 -dcupsBitsPerPixel=8 \
    -sOutputFile="$dir/three.${device#*:}" "$dir/three.pdf" 2> "$dir/gs.err"
done

# --- each third --------------------------------------------------------------

for type in pwg:image/pwg-raster urf:image/urf ps:application/postscript; do
  file=three.${type%%:*}
  for n in 1 3 5; do
    part "$dir/$file" $n 6 > "$dir/cut"
    held "$n sixths of $file" \
      'incomplete: .*(of 585 rows|header is missing|end is missing|of 3 pages).*; print it again' \
      -o "document-format=${type#*:}" "$dir/cut"
  done
done
check 'no file is left' nothing_is_left

# --- the other side ----------------------------------------------------------

completed 'a whole PWG raster' 3 "$dir/three.pwg"
{ cat "$dir/three.pwg"; head -c 4096 /dev/zero; } > "$dir/filled.pwg"
completed 'a PWG raster that fills a block' 3 "$dir/filled.pwg"
completed 'a whole URF raster' 3 "$dir/three.urf"
completed 'whole PostScript' 3 "$dir/three.ps"
is 'whole PostScript: its words' "$(sent)" 'MRN: 1|MRN: 2|MRN: 3'
{ printf '\004'; cat "$dir/three.ps"; printf '\004'; } > "$dir/ctrl-d.ps"
completed 'PostScript behind a Ctrl-D' 3 "$dir/ctrl-d.ps"
{
  printf '\033%%-12345X@PJL JOB\r\n@PJL ENTER LANGUAGE=POSTSCRIPT\r\n'
  cat "$dir/three.ps"
  printf '\004\033%%-12345X@PJL EOJ\r\n\033%%-12345X'
} > "$dir/pjl.ps"
completed 'PostScript behind commands of a printer' 3 "$dir/pjl.ps"
for file in three.ps three.pwg; do
  gzip -k "$dir/$file"
  completed "$file.gz" 3 "$dir/$file.gz"
  # gziptoany passes on what it could unpack, and reports no error.
  part "$dir/$file.gz" 1 2 > "$dir/cut.gz"
  held "one half of $file.gz" \
    'incomplete: .*(of 585 rows|header is missing|end is missing|of 3 pages).*; print it again' \
    "$dir/cut.gz"
done

# --- what else users read ----------------------------------------------------

printf '%%!\n72 72 moveto (MRN: 1) no-such-operator showpage\n' > "$dir/wrong.ps"
held 'PostScript with an error' \
  "cannot be sent: PostScript error 'undefined'; print it as a PDF" \
  "$dir/wrong.ps"
sed 's/^%%EndSetup/&\n\/#copies 2 def << \/NumCopies 2 >> setpagedevice/' \
  "$dir/three.ps" > "$dir/copies.ps"
completed 'copies in PostScript' 3 -n 2 "$dir/copies.ps"

# Other documents of a job are sent, in their places.
part "$dir/three.urf" 1 2 > "$dir/cut.urf"
part "$dir/three.ps" 1 2 > "$dir/cut.ps"
clear_results
print -d chart "$dir/cut.ps" "$dir/three.ps" "$dir/cut.urf" "$dir/three.urf"
job_ends 'a mixed job: it is held' "$job" pending-held
is 'a mixed job: the whole documents are sent' \
  "$(jq -sc 'map([.files[0].document,.files[0].pages,.outcome])|sort' \
    "$results"/*.job.json)" \
  '[[1,0,"failed"],[2,3,"extracted"],[3,0,"failed"],[4,3,"extracted"]]'
check 'a mixed job: no file is left' nothing_is_left

# A canceled job leaves nothing of its document behind.
printf '%%!\n(MRN: 1) { } loop\n' > "$dir/loop.ps"
print -d chart "$dir/loop.ps"
gs_runs() { cups_children | grep -q ' gs$'; }
no_gs() { ! gs_runs; }
check 'Ghostscript runs' until_true gs_runs
cancel "$job"
job_ends 'a canceled conversion: the job is canceled' "$job" canceled
check 'a canceled conversion: Ghostscript has ended' until_true no_gs
check 'a canceled conversion: no file is left' until_true nothing_is_left

# --- with rules like those of cups-filters 2 ---------------------------------

# One filter converts from each type to each, so the driver's line for image/urf
# does not apply.
stop_cupsd
DATA_DIR=$dir/data
mkdir -p "$DATA_DIR/mime"
for f in /usr/share/cups/*; do
  [ "${f##*/}" = mime ] || ln -s "$f" "$DATA_DIR/"
done
cp /usr/share/cups/mime/mime.* /usr/share/cups/mime/cupsfilters.types \
  "$DATA_DIR/mime/"
echo application/vnd.universal-input > "$DATA_DIR/mime/universal.types"
for type in image/pwg-raster image/urf application/postscript application/pdf; do
  echo "$type application/vnd.universal-input 0 -"
  echo "application/vnd.universal-input $type 0 universal"
done > "$DATA_DIR/mime/universal.convs"
sed -i "s,^DataDir .*,DataDir $DATA_DIR," "$cups/cups-files.conf"
chmod -R a+rX "$DATA_DIR"
cat > "$cups/bin/filter/universal" << 'END'
#!/bin/sh
case $CONTENT_TYPE in
*/postscript) exec "$CUPS_SERVERBIN/filter/gstopdf" "$@" ;;
*) exec "$CUPS_SERVERBIN/filter/rastertopdf" "$@" ;;
esac
END
chmod 755 "$cups/bin/filter/universal"
start_cupsd
for file in three.pwg three.urf three.ps; do
  completed "universal: a whole $file" 3 "$dir/$file"
  is "universal: the programs that read $file" "$(filters_of "$job")" \
    'todocextract-check universal todocextract'
  part "$dir/$file" 1 2 > "$dir/${file/three/cut}"
  held "universal: a part of $file" 'incomplete: .*; print it again' \
    "$dir/${file/three/cut}"
done
finish
