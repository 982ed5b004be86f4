#!/usr/bin/env bash
#
# filter.sh - todocextract and qpdf with the same PDFs, in turns. qpdf does the
# same work: it leaves the streams as they are, with an ID that depends on
# the content. Aims: 1.2 times the time, 1.5 times the memory. todocextract also
# stores what arrives, computes a SHA-256, and writes to a pipe. What a process
# costs before it has read a byte is shown apart: it loads libcups and libtiff
# besides libqpdf. The large one has 2,000 pages with pictures, 300 MB.
#
# A PDF passes checkdocextract first: the processor time of both is compared
# with that of two runs of qpdf. Aim: 1.5 times for ten pages.
. "$(dirname "$0")/lib.sh"

export PPD=$build/ppd/docextract.ppd
configure "$dir/spool" http://127.0.0.1
qpdf='qpdf --stream-data=preserve --deterministic-id'

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
sample() # LABEL COMMAND...: a line each in LABEL.ms, LABEL.cpu and LABEL.mib
{
  local label=$dir/$1
  shift
  measured "$@" 2> "$dir/err" | cat > /dev/null
  wall >> "$label.ms"
  cpu >> "$label.cpu"
  peak_mib >> "$label.mib"
}

one() # LABEL FILE RUNS
{
  rm -f "$dir"/*.ms "$dir"/*.cpu "$dir"/*.mib
  "$build/todocextract" 1 user title 1 '' "$2" > "$dir/entry" 2> "$dir/err"
  grep -qa '^Kind: document' "$dir/entry" || {
    echo "filter.sh: todocextract refuses the document of $1" >&2
    exit 1
  }
  rm "$dir/entry"
  for _ in $(seq "$3"); do
    sample ours "$build/todocextract" 1 user title 1 '' "$2"
    # shellcheck disable=SC2086
    sample qpdf $qpdf "$2" "$dir/out.pdf"
  done
  row "filter, $1" ms "$dir/ours.ms" "$dir/qpdf.ms" "$qpdf" '<= 1.2'
  row '  processor time' ms "$dir/ours.cpu" "$dir/qpdf.cpu" "$qpdf" ''
  row '  peak memory' MiB "$dir/ours.mib" "$dir/qpdf.mib" "$qpdf" '<= 1.5'
}

# One after the other, on the same file: pdftopdf, between them, changes little.
both() # LABEL FILE RUNS
{
  rm -f "$dir"/*.ms "$dir"/*.cpu "$dir"/*.mib
  for _ in $(seq "$3"); do
    sample check "$build/checkdocextract" 1 user title 1 '' "$2"
    sample to "$build/todocextract" 1 user title 1 '' "$2"
    for n in 1 2; do sample "qpdf$n" qpdf "$2" "$dir/out.pdf"; done
  done
  sums check to > "$dir/ours.sums"
  sums qpdf1 qpdf2 > "$dir/theirs.sums"
  row "both filters, $1, cpu" ms "$dir/ours.sums" "$dir/theirs.sums" \
    'qpdf twice' '<= 1.5'
}

sums() # LABEL LABEL: of the processor times, run by run
{
  paste "$dir/$1.cpu" "$dir/$2.cpu" | awk '{ print $1 + $2 }'
}

for _ in $(seq 15); do
  sample start-ours "$build/todocextract" --version
  sample start-qpdf qpdf --version
done
row 'filter, only started' ms "$dir/start-ours.ms" "$dir/start-qpdf.ms" qpdf ''
for n in 10 200 2000; do
  text_pages "$dir/$n.pdf" "$n"
done
"$top/tests/it/mkpictures" "$dir/large.pdf" 2000 150000
both '10 pages' "$dir/10.pdf" 15
one '10 pages' "$dir/10.pdf" 15
one '200 pages' "$dir/200.pdf" 15
one '2000 pages' "$dir/2000.pdf" 7
one '2000 pages, 300 MB' "$dir/large.pdf" 3
