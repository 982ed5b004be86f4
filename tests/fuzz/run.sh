#!/usr/bin/env bash
#
# run.sh - runs fuzz targets with libFuzzer, one after another. To be called in
# a build directory; everything that it makes is in fuzz/ there:
#
#   build/     the targets, built with clang
#   corpus/    inputs that reach something new; kept for the next run
#   findings/  inputs with which a target failed
#
#   run.sh SECONDS [TARGET...]
#
# If tests/fuzz/qpdf.sh has built libqpdf in fuzz/qpdf, that is what the targets
# are linked with. Prints a line for each target. Ends with 1 after a finding.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
here=$PWD/fuzz
CC=${CC:-clang}
CXX=${CXX:-clang++}
seconds=${1:?'usage: run.sh SECONDS [TARGET...]'}
shift

die()
{
  echo "run.sh: $*" >&2
  exit 1
}

has_fuzzer()
{
  echo 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n)
    { (void)p; return n > 1000000; }' |
    "$CC" -fsanitize=fuzzer,address,undefined -x c -o "$here/try" - \
      2> /dev/null && rm "$here/try"
}

configured()
{
  [ ! -e Makefile ] || return 0
  qpdf=$here/qpdf
  if [ -e "$qpdf/lib/libqpdf.a" ]; then
    export QPDF_CFLAGS="-I$qpdf/include"
    export QPDF_LIBS="$qpdf/lib/libqpdf.a -lstdc++ -ljpeg -lz -lcrypto -lm"
  fi
  "$source/configure" -q --enable-fuzzing CC="$CC" CXX="$CXX" \
    CFLAGS='-g -O1' CXXFLAGS='-g -O1'
}

built() # TARGET...
{
  mkdir -p "$here/build" && cd "$here/build" && configured > log 2>&1 &&
    make -j"$(nproc)" ppd/docextract.ppd "${@/#/tests/fuzz/fuzz_}" >> log 2>&1
}

figure() # NAME LOG: the last that libFuzzer printed
{
  grep -aoE "$1: *[0-9]+" "$2" | tail -n 1 | grep -oE '[0-9]+'
}

# What is 4 GB for libFuzzer is mostly AddressSanitizer's.
run() # TARGET
{
  local log=$here/$1.log corpus=$here/corpus/$1 findings
  mkdir -p "$corpus" "$here/findings"
  ASAN_OPTIONS=detect_leaks=1 nice -n 19 \
    "./tests/fuzz/fuzz_$1" -max_total_time="$seconds" -timeout=20 \
    -rss_limit_mb=4096 -use_value_profile=1 -print_final_stats=1 \
    -artifact_prefix="$here/findings/$1-" \
    "$corpus" "$source/tests/fuzz/corpus/$1" > "$log" 2>&1 < /dev/null
  findings=$(find "$here/findings" -name "$1-*" | wc -l)
  printf '%-10s %12s %8s %8s %8s\n' "$1" \
    "$(figure stat::number_of_executed_units "$log")" \
    "$(figure cov "$log")" "$(figure ft "$log")" "$findings"
  [ "$findings" = 0 ] && grep -aq '^stat::' "$log" && return
  tail -n 30 "$log" >&2
  return 1
}

mkdir -p "$here"
has_fuzzer ||
  die "$CC has no libFuzzer; install clang and libclang-rt-dev (Debian," \
    "Ubuntu) or clang and compiler-rt (Fedora)"
[ $# -gt 0 ] ||
  for f in "$source"/tests/fuzz/fuzz_*.c; do
    f=${f##*/fuzz_}
    set -- "$@" "${f%.c}"
  done
[ -e "$here/qpdf/lib/libqpdf.a" ] ||
  echo 'libqpdf is not instrumented (to fuzz it, too: tests/fuzz/qpdf.sh)'
built "$@" || die "cannot build the targets: $(tail -n 20 "$here/build/log")"
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm # no disk is that fast

status=0
printf '%-10s %12s %8s %8s %8s\n' target executions edges features findings
for target; do run "$target" || status=1; done
exit $status
