#!/usr/bin/env bash
#
# routes_test.sh - which programs cupsd runs for each type of document: with the
# conversion rules of this system, which are the same in Debian 12 and 13, and
# with those of cups-filters 2, where one filter, "universal", converts from any
# type to any other. Other scripts test todocextract itself.
#
# cupsfilter chooses the filters with the code of cupsd, but does not show those
# of cupsPreFilter, which do not change a route: tests/it/prefilter.sh has them. Programs that are not
# installed have no routes, so this test creates each program that the rules
# name.
. "$(dirname "$0")/lib.sh"

PATH=$PATH:/usr/sbin
datadir=$(cups-config --datadir)
mkdir -p "$dir"/{serverroot,bin/filter,system/mime,universal/mime,both/mime}
cp "$datadir"/mime/*.types "$datadir"/mime/*.convs "$dir/system/mime/"

# --- the rules of cups-filters 2 ---------------------------------------------

# CUPS's own rules, and the types of cups-filters 1 with those that are new.
cp "$datadir"/mime/mime.* "$datadir/mime/cupsfilters.types" \
  "$dir/universal/mime/"
cat > "$dir/universal/mime/more.types" << 'END'
image/jxl jxl string(0,<0000000C4A584C20>) string(0,<FF0A>)
application/PCLm
application/vnd.universal-input
END
{
  for type in x-cshell x-csource x-perl x-shell; do
    echo "application/$type text/plain 0 -"
  done
  echo 'text/html text/plain 0 -'
  echo 'text/css text/plain 0 -'
  for type in image/jpeg image/jxl image/png image/tiff image/pwg-raster \
    application/vnd.cups-pdf image/urf application/pdf text/plain \
    application/PCLm application/vnd.cups-pdf-banner application/postscript \
    application/vnd.cups-postscript application/vnd.adobe-reader-postscript; do
    echo "$type application/vnd.universal-input 0 -"
  done
  for type in application/pdf application/vnd.cups-pdf \
    application/vnd.cups-postscript application/postscript \
    application/vnd.cups-raster image/pwg-raster image/urf application/PCLm; do
    echo "application/vnd.universal-input $type 0 universal"
  done
} > "$dir/universal/mime/universal.convs"

# The same with its separate filters in addition, a choice of the distributor.
cp "$dir"/universal/mime/* "$dir/both/mime/"
cat > "$dir/both/mime/individual.convs" << 'END'
application/pdf application/vnd.cups-pdf 66 pdftopdf
text/plain application/pdf 32 texttopdf
image/pwg-raster application/pdf 32 pwgtopdf
image/urf application/pdf 0 pwgtopdf
image/png application/vnd.cups-pdf 65 imagetopdf
image/jpeg application/vnd.cups-pdf 65 imagetopdf
image/jxl application/vnd.cups-pdf 65 imagetopdf
image/tiff application/vnd.cups-pdf 65 imagetopdf
application/vnd.cups-pdf-banner application/pdf 32 bannertopdf
application/postscript application/pdf 0 gstopdf
application/vnd.cups-pdf application/vnd.cups-postscript 100 pdftops
application/vnd.adobe-reader-postscript application/vnd.cups-postscript 66 pstops
application/vnd.cups-postscript application/vnd.cups-raster 175 gstoraster
application/vnd.cups-pdf application/vnd.cups-raster 99 gstoraster
application/vnd.cups-pdf image/pwg-raster 99 gstoraster
application/vnd.cups-pdf image/urf 99 gstoraster
application/vnd.cups-pdf application/PCLm 99 gstoraster
application/PCLm application/vnd.cups-raster 32 pclmtoraster
image/png application/vnd.cups-raster 100 imagetoraster
image/jpeg application/vnd.cups-raster 100 imagetoraster
image/jxl application/vnd.cups-raster 100 imagetoraster
image/tiff application/vnd.cups-raster 100 imagetoraster
image/pwg-raster application/vnd.cups-raster 100 pwgtoraster
image/urf application/vnd.cups-raster 100 pwgtoraster
image/pwg-raster image/urf 100 pwgtoraster
image/urf image/pwg-raster 100 pwgtoraster
image/pwg-raster application/PCLm 100 pwgtopclm
image/urf application/PCLm 100 pwgtopclm
END

# --- what is chosen ----------------------------------------------------------

words_of_rules() # DIRECTORY FILES: the rules without comments and continuations
{
  cat "$dir/$1"/mime/*."$2" | sed -e :a -e '/\\$/{N;s/\\\n//;ba' -e '}' |
    grep -v '^#'
}

program() # NAME
{
  printf '#!/bin/sh\n' > "$dir/bin/filter/$1"
  chmod 755 "$dir/bin/filter/$1"
}
program todocextract
for rules in system universal both; do
  for name in $(words_of_rules $rules convs | awk '$4 != "-" { print $4 }'); do
    [ -e "$dir/bin/filter/$name" ] || program "$name"
  done
  printf 'DataDir %s\nServerBin %s\nServerRoot %s\n' "$dir/$rules" \
    "$dir/bin" "$dir/serverroot" > "$dir/$rules.conf"
done

# "-": cupsd has no route, and does not accept the type. "unfiltered": the backend
# gets the bytes as they are, and cannot receive the documents behind them.
route_of() # RULES TYPE
{
  local filters
  if filters=$(cupsfilter -c "$dir/$1.conf" -e -p "$PPD" --list-filters \
    -i "$2" -m printer/chart 2> "$dir/cupsfilter.err"); then
    echo "${filters:-unfiltered}" | xargs
  else
    echo -
  fi
}

known_types() # RULES
{
  {
    words_of_rules "$1" types | awk '{ print $1 }'
    words_of_rules "$1" convs | awk '{ print $1; print $2 }'
  } | grep / | sort -u
}

# Every type with a route; the others are in unrouted.
routes_of() # RULES
{
  local type route
  : > "$dir/unrouted"
  for type in $(known_types "$1"); do
    route=$(route_of "$1" "$type")
    if [ "$route" = - ]; then
      echo "$type" >> "$dir/unrouted"
    else
      echo "$type $route"
    fi
  done
}

lists() # RULES TEXT < EXPECTED: each type by itself, and no other
{
  local type route
  routes_of "$1" > "$dir/routes"
  while read -r type route; do
    is "$2: $type" \
      "$(awk -v type="$type" '$1 == type { $1 = ""; print substr($0, 2) }' \
        "$dir/routes")" "$route"
    echo "$type" >> "$dir/$1.listed"
  done
  is "$2: no other type has a route" \
    "$(cut -d ' ' -f 1 "$dir/routes" | grep -vxFf "$dir/$1.listed")" ''
  has "$2: types without a route are known" "$(cat "$dir/unrouted")" \
    '^application/vnd.cups-ppd$'
}

ours='application/pdf
application/vnd.adobe-reader-postscript
application/vnd.cups-pdf-banner
application/x-cshell
application/x-csource
application/x-perl
application/x-shell
image/gif
image/jpeg
image/png
image/tiff
image/x-bitmap
image/x-photocd
image/x-portable-anymap
image/x-portable-bitmap
image/x-portable-graymap
image/x-portable-pixmap
image/x-sgi-rgb
image/x-sun-raster
image/x-xbitmap
image/x-xpixmap
image/x-xwindowdump
text/css
text/html
text/plain'

lists system 'this system' << END
$(sed 's/$/ todocextract/' <<< "$ours")
application/octet-stream todocextract
application/postscript gstopdf todocextract
application/vnd.cups-pdf todocextract
application/vnd.cups-postscript gstoraster rastertopwg rastertopdf todocextract
application/vnd.cups-raster rastertopwg rastertopdf todocextract
application/vnd.cups-raw todocextract
image/pwg-raster rastertopdf todocextract
image/urf rastertopdf todocextract
END

# What has no other route than "universal" gets no pdftopdf: the filter makes the
# cheapest of the types that the driver names and that it can make, and runs
# pdftopdf for all of them but application/pdf.
universal='application/PCLm universal todocextract
application/octet-stream todocextract
application/vnd.cups-pdf universal todocextract
application/vnd.cups-postscript universal todocextract
application/vnd.cups-raster rastertopwg universal todocextract
application/vnd.cups-raw todocextract
application/vnd.universal-input universal todocextract
image/jxl todocextract
image/pwg-raster universal todocextract'

lists universal 'cups-filters 2' << END
$(sed 's/$/ todocextract/' <<< "$ours")
$universal
application/postscript universal todocextract
image/urf universal todocextract
END

lists both 'cups-filters 2 with separate filters' << END
$(sed 's/$/ todocextract/' <<< "$ours")
$universal
application/postscript gstopdf todocextract
image/urf pwgtopdf todocextract
END

is 'universal makes application/pdf' \
  "$(sed -n 's/^\*cupsFilter: "\(.*\)"$/\1/p' "$PPD" | awk '
    $1 ~ "^application/(pdf|postscript|PCLm|vnd[.]cups-(pdf|postscript|raster))$" ||
    $1 ~ "^image/(pwg-raster|urf)$" { print $2, $1 }' |
    sort -n | head -n 1)" '10 application/pdf'
# Or they would not be preferred to the route of raw documents.
hasnt 'no line of the driver names an output type' "$(cat "$PPD")" cupsFilter2

finish
