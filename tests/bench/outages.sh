#!/usr/bin/env bash
#
# outages.sh - what docextractd does in an outage, and how soon it goes on after
# it; outages.c says how it is simulated. Unlike the other benchmarks it judges:
# exit status 1 if a bound is broken. Arguments: see outages.c.
set -eu

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$bench/size.sh"
outages=${DX_BUILD:-$bench/../..}/tests/bench/outages
if [ $# -gt 0 ] || [ "$(size full short)" = full ]; then
  exec "$outages" "$@"
fi
exec "$outages" short
