#!/usr/bin/env bash
#
# filter.sh - todocextract and `qpdf in out` with the same PDFs, in turns: wall
# time and peak memory. Aims: 1.2 times the time, 1.5 times the memory. What a
# process costs before it has read a byte is shown apart: todocextract loads
# libcups and libcrypto besides libqpdf. The large one has 2,000 pages with
# pictures, 300 MB.
. "$(dirname "$0")/lib.sh"

export PPD=$build/ppd/docextract.ppd
configure http://127.0.0.1

text_pages() # FILE PAGES: as Ghostscript writes them
{
  gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite -o "$1" -c "
    /Times-Roman findfont 10 scalefont setfont /t 20 string def
    1 1 $2 { /p exch def 0 1 45 { dup 15 mul 60 add 60 exch moveto
      (Page ) show p t cvs show ( line ) show t cvs show
      ( hemoglobin 13.5 g/dL, range 12.0 to 15.5, leukocytes 7.2) show
    } for showpage } for quit"
}

# A line "WHAT WALL_MS CPU_MS PEAK_KIB"; what the program says is thrown away.
measured() # WHAT COMMAND...
{
  local what=$1
  shift
  "$helpers/measure" "$dir/cost" "$@" > "$dir/out" 2> "$dir/err" || true
  echo "$what $(cat "$dir/cost")"
}

one() # LABEL FILE RUNS: a JSON object
{
  local n costs=$dir/costs ours qpdf
  : > "$costs"
  "$build/todocextract" 1 user title 1 '' "$2" > "$dir/entry" 2> "$dir/err"
  grep -qa '^Kind: document' "$dir/entry" || {
    echo "filter.sh: todocextract refuses the document of $1" >&2
    exit 1
  }
  rm "$dir/entry"
  for n in $(seq "$3"); do
    measured ours "$build/todocextract" 1 user title 1 '' "$2" >> "$costs"
    measured qpdf qpdf "$2" "$dir/out.pdf" >> "$costs"
  done
  value() { sed -n "s/^$1 //p" "$costs" | cut -d ' ' -f "$2" | median; }
  jq -nc --arg document "$1" --argjson runs "$3" \
    --argjson ours "$(value ours 1)" --argjson qpdf "$(value qpdf 1)" \
    --argjson ours_cpu "$(value ours 2)" \
    --argjson qpdf_cpu "$(value qpdf 2)" \
    --argjson ours_kib "$(value ours 3)" \
    --argjson qpdf_kib "$(value qpdf 3)" '{
      document: $document, runs: $runs, filter_ms: $ours, qpdf_ms: $qpdf,
      time_ratio: ($ours / $qpdf * 1000 | round / 1000),
      cpu_ratio: ($ours_cpu / $qpdf_cpu * 1000 | round / 1000),
      filter_kib: $ours_kib, qpdf_kib: $qpdf_kib,
      memory_ratio: ($ours_kib / $qpdf_kib * 1000 | round / 1000)
    }'
}

for n in 10 200 2000; do
  text_pages "$dir/$n.pdf" "$n"
done
"$top/tests/it/mkpictures" "$dir/large.pdf" 2000 150000
start() # COMMAND...: what it takes to do nothing
{
  local n
  for n in $(seq 20); do measured start "$@"; done |
    cut -d ' ' -f 2 | median
}

{
  one '10 pages' "$dir/10.pdf" 20
  one '200 pages' "$dir/200.pdf" 20
  one '2000 pages' "$dir/2000.pdf" 7
  one '2000 pages, 300 MB' "$dir/large.pdf" 3
} | jq -sc --argjson ours "$(start "$build/todocextract")" \
  --argjson qpdf "$(start qpdf --version)" '{
    bench: "filter", aim_time: 1.2, aim_memory: 1.5, filter_start_ms: $ours,
    qpdf_start_ms: $qpdf, documents: .
  }'
