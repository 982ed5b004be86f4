# size.sh - how much is measured: tests/nightly/bench.sh sets DX_BENCH_SHORT, and
# proves with small numbers that every benchmark runs. To be sourced.
size() # FULL SHORT
{
  if [ -n "${DX_BENCH_SHORT-}" ]; then echo "$2"; else echo "$1"; fi
}
