#!/usr/bin/env bash
#
# corpus.sh - PDFs made by others, from Debian packages and their sources: each
# passes through todocextract with its pages, and is printed the same afterwards
# (tests/helper/same.h), or is refused for a reason that is known here. Without
# N, 150 of them, evenly spread; 0: all.
#
#   corpus.sh [N]
#
# The packages are always those of Debian 12, so that the collection stays the
# same. About 120 MB are downloaded to a directory below TMPDIR (or DX_CORPUS),
# which is kept for the next run; nothing is installed. Other collections: name
# their directory in DX_FOREIGN, and nothing is downloaded.
#
# PDFs that are made by the test are in tests/filter/corpus.sh.
cache=${DX_CORPUS:-${TMPDIR:-/tmp}/docextract-corpus}
. "$(dirname "$0")/../filter/lib.sh"
. "$top/tests/helper/debian.sh"
most=${1:-150}

# The programs that made their PDFs, at the time of writing.
packages='
  asymptote-doc         pdfTeX, AFPL Ghostscript 8
  cups-filters          LibreOffice 4, Ghostscript 9, cairo
  debian-policy         Apache FOP, xdvipdfmx
  fonts-sil-abyssinica  Acrobat Distiller, LibreOffice 7
  fonts-sil-andika      cairo
  fonts-sil-charis      cairo, Word
  fonts-sil-padauk      LibreOffice 7
  gnuplot-doc           pdfTeX
  groff                 gropdf, ImageMagick, Ghostscript 10
  libcfitsio-doc        pdfTeX, dvipdfm
  libsuitesparse-doc    pdfTeX, MiKTeX, Mac OS X
  libtasn1-doc          pdfTeX
  maint-guide           xdvipdfmx
  mpich-doc             dvipdfm
  ngspice-doc           pdfTeX
  pari-doc              PARI, pdfTeX
  pstoedit              pdfTeX
  python-reportlab-doc  ReportLab
  r-cran-survival       pdfTeX
  r-doc-pdf             pdfTeX
  texlive-lang-cjk      dvipdfmx, Ghostscript
  xfig-doc              HTMLDOC, Ghostscript 9
'
# Their tests have PDFs of users and of many programs: Acrobat, LiveCycle, Word,
# Print To PDF, Quartz, iText, Corel, Scribus, scanners, img2pdf, Haru, Prawn.
sources='cups diffoscope libimage-exiftool-perl libpdf-api2-perl
  libpdfbox2-java okular pdfminer pikepdf pypdf tracker-miners'

# Refused, and rightly so, or printed differently, and poppler is wrong: the
# beginning of the SHA-256; the reason, or the word of same.h; what is in the
# file. A password, or that printing is not allowed, is confirmed by poppler and
# needs no row.
accepted='
  9489d9466084fcbd not-drawn  a text comment that is printed has no appearance
  77ccc84e027d4392 damaged    a color profile is a byte shorter than its header
                              says, and its checksum is wrong
  c8d1717fa8ac4737 damaged    its table of objects has 30 of 35 bytes; neither
                              qpdf nor poppler can read it
  38d44f66e92eef7f damaged    line endings were changed, also in packed data;
                              poppler shows an empty page
  640168ad8f5ec872 not-drawn  a rectangle that is printed has no appearance
  2e899e8b5c11eee4 damaged    its page shows one form, which only shows itself
  f0459a8d0a6cab8e damaged    an image has 1,250 bytes and needs 1,300: its rows
                              are not padded
  89033fc982a60bfe damaged    the checksum of the content of a page is wrong
  19bd84be7fb78a9b damaged    an inline image, said to be packed, has one byte
  6359fc2e8f040702 pixels     two forms were merged; Ghostscript shows check
                              boxes that poppler does not
  a21f0df056bbd133 damaged    written by hand, without a table and its offset
  1a86f259208896a6 damaged    likewise
'
is_accepted() # FILE REASON
{
  grep -q "^ *$(sha256sum "$1" | cut -c -16) $2 " <<< "$accepted"
}

# apt with the packages of Debian 12, whatever this machine has.
aptly() # ARGUMENT...
{
  (cd "$cache/apt/here" && TMPDIR=/tmp apt-get -qq \
    -o Dir::Etc::sourcelist="$cache/apt/list" \
    -o Dir::Etc::sourceparts=/nonexistent \
    -o Dir::State::lists="$cache/apt/lists" -o APT::Sandbox::User=root \
    -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= "$@") > "$dir/apt" 2>&1
}

apt_is_ready()
{
  [ ! -e "$cache/apt/done" ] || return 0
  mkdir -p "$cache/apt/lists/partial" "$cache/apt/here"
  debian_sources bookworm |
    awk '$2 == "bookworm" && $3 == "main" {
      print "deb", $0; print "deb-src", $0 }' > "$cache/apt/list"
  aptly update && touch "$cache/apt/done"
}

# A package or, with `source`, the files that it is made of.
fetch() # PACKAGE [source]: its PDFs, into a directory of the cache
{
  local to=$cache/$1 file
  [ ! -e "$to/done" ] || return 0
  apt_is_ready || return
  rm -rf "$to" "$cache/apt/here"
  mkdir -p "$to/root" "$cache/apt/here"
  if [ -n "${2-}" ]; then
    aptly source --download-only "$1" || return
  else
    aptly download "$1" || return
  fi
  for file in "$cache"/apt/here/*; do
    case $file in
    *.asc) ;; # a signature
    *.deb) dpkg-deb -x "$file" "$to/root" ;;
    *.tar.*z*) tar xf "$file" -C "$to/root" ;;
    esac
  done
  rm -f "$cache"/apt/here/*
  find "$to/root" -name '*.pdf.gz' -type f -exec gunzip -f {} +
  find "$to/root" ! -type d \( ! -iname '*.pdf' -o -type l \) -delete
  touch "$to/done"
}

producer_of() # PDF: the program, without its version
{
  pdfinfo "$1" 2> /dev/null | sed -n 's/^Producer: *//p' |
    sed -E 's/^(AFPL|GPL|ESP) //; s/[-( ]*[0-9].*//
      s/ [Vv]ersion.*//; s/ PDF Library.*//; s/ *$//'
}

# Prints nothing if the PDF is printed the same, or refused rightly.
verdict() # FILE
{
  local kind
  kind=$(result "$1")
  case $kind in
  'document '*' 0')
    (ulimit -v 4000000 && limited 120 "$dir/same" "$same" -n 20 "$1" \
      "$dir/body" 2> /dev/null) ||
      is_accepted "$1" "$(sed 's/:.*//' "$dir/same")" ||
      echo "printed differently: $(cat "$dir/same")"
    ;;
  'refused password 0')
    # Encryption for a certificate has a security handler, and no password.
    pdfinfo "$1" 2>&1 | grep -Eq 'Incorrect password|security handler' ||
      echo 'refused, but poppler needs no password'
    ;;
  'refused protected 0')
    pdfinfo "$1" 2> /dev/null | grep -q '^Encrypted: .*print:no' ||
      echo 'refused, but poppler may print it'
    ;;
  *)
    is_accepted "$1" "$(field reason)" ||
      echo "$(field reason) $(reason) ($(sha256sum "$1" | cut -c -16))"
    ;;
  esac
}

if [ -n "${DX_FOREIGN-}" ]; then
  cache=$DX_FOREIGN
else
  for package in $(awk '{ print $1 }' <<< "$packages"); do
    fetch "$package" ||
      is "$package can be downloaded" "$(cat "$dir/apt")" ''
  done
  for package in $sources; do
    fetch "$package" source ||
      is "the source of $package can be downloaded" "$(cat "$dir/apt")" ''
  done
fi

find "$cache" -type f -iname '*.pdf' -print0 | sort -z | xargs -0 sha256sum |
  awk '!seen[$1]++ { print substr($0, 67) }' > "$dir/all"
count=$(wc -l < "$dir/all")
[ "$most" != 0 ] || most=$count
awk -v n="$count" -v most="$most" \
  'int(NR * most / n) != int((NR - 1) * most / n)' "$dir/all" > "$dir/some"
while read -r file; do
  is "${file#"$cache"/}" "$(verdict "$file")" ''
  producer_of "$file" >> "$dir/producers"
done < "$dir/some"

echo "# $(wc -l < "$dir/some") of $count PDFs, of"
sort "$dir/producers" | uniq -c | sort -rn | sed 's/^/# /'
if [ -z "${DX_FOREIGN-}" ]; then
  is 'there are at least 300 PDFs' "$((count >= 300))" 1
  is 'of at least ten producers' \
    "$(($(sort -u "$dir/producers" | grep -c .) >= 10))" 1
fi
finish
