#!/usr/bin/env bash
#
# corpus.sh - PDFs made by others, from Debian packages and their sources, through
# foreign.py: each is sent, and prints the same afterwards, or it is refused, and
# other programs cannot show it either, or the reason is known here. Without N,
# 150 of them, evenly spread; 0: all.
#
#   corpus.sh [N]
#
# The packages are always those of Debian 12, so that the collection stays the
# same. About 120 MB are downloaded to a directory below TMPDIR (or DX_CORPUS),
# which is kept for the next run; nothing is installed. For other collections, run
# foreign.py.
#
# PDFs that are made by the test are in tests/filter/corpus.sh.
cache=${DX_CORPUS:-${TMPDIR:-/tmp}/docextract-corpus}
. "$(dirname "$0")/../filter/lib.sh"
. "$top/tests/helper/debian.sh"
build=${DX_BUILD:-$top}
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
# file.
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
  local to=$cache/pdf/$1 root=$cache/apt/root file
  [ ! -e "$to" ] || return 0
  apt_is_ready || return
  rm -rf "$root" "$cache/apt/here"
  mkdir -p "$root" "$cache/apt/here" "$cache/pdf"
  if [ -n "${2-}" ]; then
    aptly source --download-only "$1" || return
  else
    aptly download "$1" || return
  fi
  for file in "$cache"/apt/here/*; do
    case $file in
    *.asc) ;; # a signature
    *.deb) dpkg-deb -x "$file" "$root" ;;
    *.tar.*z*) tar xf "$file" -C "$root" ;;
    esac
  done
  rm -f "$cache"/apt/here/*
  find "$root" -name '*.pdf.gz' -type f -exec gunzip -f {} +
  find "$root" ! -type d \( ! -iname '*.pdf' -o -type l \) -delete
  mv "$root" "$to"
}

for package in $(awk '{ print $1 }' <<< "$packages"); do
  fetch "$package" ||
    is "$package can be downloaded" "$(cat "$dir/apt")" ''
done
for package in $sources; do
  fetch "$package" source ||
    is "the source of $package can be downloaded" "$(cat "$dir/apt")" ''
done

is 'there are at least 300 PDFs' \
  "$(($(find "$cache/pdf" -iname '*.pdf' | wc -l) >= 300))" 1
echo "$accepted" > "$dir/accepted"
chmod 755 "$dir" # the filters run as lp
DX_BUILD=$build "$top/tests/nightly/foreign.py" -n "$most" \
  --accepted "$dir/accepted" --cache "$cache/verdicts" "$cache/pdf"
is 'each is sent as it is, or is refused, and rightly' "$?" 0
finish
