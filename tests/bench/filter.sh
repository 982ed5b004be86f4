#!/usr/bin/env bash
#
# filter.sh - the processor time of a document in todocextract, qpdf, and
# pdftopdf, which CUPS runs in other queues. All three take turns, each in one
# run per round. The limit, computed from qpdf in the same round:
#
#   text      2.2 times `qpdf in out`
#   pictures  2 times `qpdf --stream-data=preserve in out`, and 4 ms for each MB
#             of unpacked pixels
#
# qpdf unpacks and packs what is not a picture; todocextract also unpacks
# pictures, stores what arrives, computes a SHA-256, and writes to a pipe.
# What a process costs before it has read a byte is shown first.
. "$(dirname "$0")/lib.sh"

export PPD=$build/ppd/docextract.ppd CONTENT_TYPE=application/pdf
pdftopdf=$(cups-config --serverbin)/filter/pdftopdf
configure "$dir/spool" http://127.0.0.1

text_pages() # FILE PAGES: as Ghostscript writes them
{
  gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite -o "$1" -c "
    /Times-Roman findfont 10 scalefont setfont /t 20 string def
    1 1 $2 { /p exch def 0 1 45 { dup 15 mul 60 add 60 exch moveto
      (Page ) show p t cvs show ( line ) show t cvs show
      ( hemoglobin 13.5 g/dL, range 12.0 to 15.5, leukocytes 7.2) show
    } for showpage } for quit"
}

# What the program prints goes through a pipe, as to the backend.
sample() # LABEL COMMAND...: a line each in LABEL.cpu and LABEL.mib
{
  local label=$dir/$1
  shift
  measured "$@" 2> "$dir/err" | cat > /dev/null
  cpu >> "$label.cpu"
  peak_mib >> "$label.mib"
}

rows() # DOCUMENT FACTOR MS_MORE: from the samples; without a limit: "-"
{
  row "$1" ms "$dir/ours.cpu" "$dir/qpdf.cpu" qpdf ''
  if [ "$2" != - ]; then
    awk -v factor="$2" -v more="$3" '{ print factor * $1 + more }' \
      "$dir/qpdf.cpu" > "$dir/limit"
    row '    and the limit' ms "$dir/ours.cpu" "$dir/limit" \
      "$2 x qpdf + $3 ms" '<= 1'
  fi
  row '    and pdftopdf' ms "$dir/ours.cpu" "$dir/pdftopdf.cpu" pdftopdf ''
  row '    peak memory' MiB "$dir/ours.mib" "$dir/qpdf.mib" qpdf ''
  row '    and pdftopdf' MiB "$dir/ours.mib" "$dir/pdftopdf.mib" pdftopdf ''
  rm -f "$dir"/*.cpu "$dir"/*.mib
}

document() # NAME FILE ROUNDS FACTOR MS_MORE [OPTION OF QPDF]
{
  "$build/todocextract" 1 user title 1 '' "$2" > "$dir/entry" 2> "$dir/err"
  grep -qa '"kind":"document"' "$dir/entry" || {
    echo "filter.sh: todocextract refuses the document of $1" >&2
    exit 1
  }
  rm "$dir/entry"
  for _ in $(seq "$3"); do
    sample ours "$build/todocextract" 1 user title 1 '' "$2"
    sample qpdf qpdf ${6:+"$6"} "$2" "$dir/out.pdf"
    sample pdftopdf "$pdftopdf" 1 user title 1 '' "$2"
  done
  rm "$dir/out.pdf"
  rows "$1" "$4" "$5"
}

scans() # KIND MB ROUNDS
{
  local pages mb
  read -r pages mb < <("$helpers/scans" "$1" "$2" "$dir/scans.pdf")
  document "  scans, $1: $pages" "$dir/scans.pdf" "$3" 2 $((mb * 4)) \
    --stream-data=preserve
  rm "$dir/scans.pdf"
}

echo 'processor time of the filter'
for _ in $(seq "$(size 15 1)"); do
  sample ours "$build/todocextract" --version
  sample qpdf qpdf --version
  sample pdftopdf "$pdftopdf" # without arguments it ends at once
done
rows '  only started' -
for n in 1 10 $(size "200 2000" ""); do
  text_pages "$dir/text.pdf" "$n"
  document "  pages of text: $n" "$dir/text.pdf" "$(size $((n < 200 ? 15 : n < 2000 ? 7 : 3)) 1)" \
    2.2 0
done
for kind in dct flate ccitt; do scans "$kind" "$(size 100 5)" "$(size 3 1)"; done
