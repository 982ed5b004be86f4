#!/usr/bin/env bash
#
# corpus.sh - PDFs made by others, from Debian packages: each passes through
# todocextract with its pages, look and text unchanged. One of every producer is
# also encrypted and truncated. About 45 MB are downloaded to a directory below
# TMPDIR that is kept for the next run; nothing is installed.
#
# PDFs that are made by the test are in tests/filter/corpus.sh.
cache=${DX_CORPUS:-${TMPDIR:-/tmp}/docextract-corpus}
. "$(dirname "$0")/../filter/lib.sh"
looked=yes

# The programs that made their PDFs, at the time of writing.
packages='
  asymptote-doc         pdfTeX, AFPL Ghostscript 8
  cups-filters          LibreOffice 4, Ghostscript 9, cairo
  debian-policy         Apache FOP, xdvipdfmx
  fonts-sil-abyssinica  Acrobat Distiller, LibreOffice 7
  fonts-sil-andika      cairo
  fonts-sil-padauk      LibreOffice 7
  freedoom              Asciidoctor PDF (Prawn)
  gnuplot-doc           pdfTeX
  groff                 gropdf, ImageMagick, Ghostscript 10
  libtasn1-doc          pdfTeX
  maint-guide           xdvipdfmx
  mpich-doc             dvipdfm
  ngspice-doc           pdfTeX
  pstoedit              pdfTeX
  python-reportlab-doc  ReportLab
  xfig-doc              HTMLDOC, Ghostscript 9
'

fetch() # PACKAGE: its PDFs, into a directory of the cache
{
  local to=$cache/$1
  [ ! -e "$to/done" ] || return 0
  rm -rf "$to"
  mkdir -p "$to/deb" "$to/root"
  (cd "$to/deb" && TMPDIR=/tmp apt-get -qq download "$1") \
    > "$dir/apt" 2>&1 || return 1
  dpkg-deb -x "$to"/deb/*.deb "$to/root"
  rm -rf "$to/deb"
  find "$to/root" -name '*.pdf.gz' -type f -exec gunzip {} +
  find "$to/root" ! -type d ! -name '*.pdf' -delete
  touch "$to/done"
}

producer_of() # PDF: the program, without its version
{
  pdfinfo "$1" 2> /dev/null | sed -n 's/^Producer: *//p' |
    sed -E 's/^(AFPL|GPL) //; s/[-( ]*[0-9].*//
      s/ [Vv]ersion.*//; s/ PDF Library.*//'
}

producers=
count=0
for package in $(awk '{ print $1 }' <<< "$packages"); do
  if ! fetch "$package"; then
    is "$package can be downloaded" "$(cat "$dir/apt")" ''
    continue
  fi
  while read -r file; do
    text="$package: ${file##*/}"
    count=$((count + 1))
    is "$text" "$(changes "$file")" ''
    producer=$(producer_of "$file")
    if [ -n "$producer" ] && ! grep -qxF "$producer" <<< "$producers"; then
      producers+=$producer$'\n'
      mistreat "$producer, $text" "$file"
    fi
  done < <(find "$cache/$package/root" -type f -name '*.pdf' | sort)
done

n=$(grep -c . <<< "$producers")
echo "# $count PDFs of $n producers: $(paste -sd, <<< "${producers%?}")"
is 'PDFs of at least 8 producers' "$((n >= 8))" 1
finish
