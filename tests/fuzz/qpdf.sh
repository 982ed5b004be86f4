#!/usr/bin/env bash
#
# qpdf.sh - builds libqpdf from the source package of this Debian, with the
# instrumentation of libFuzzer, in fuzz/qpdf of the build directory in which it
# is called, for tests/fuzz/run.sh. Takes minutes; needs clang, cmake,
# dpkg-dev, libjpeg-dev, and the network. Nothing is installed.
set -eu
to=$PWD/fuzz/qpdf
CC=${CC:-clang}
CXX=${CXX:-${CC/clang/clang++}}
. /etc/os-release
flags='-g1 -O1 -fno-omit-frame-pointer
  -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
  -fno-sanitize=vptr,function'

mkdir -p "$to/apt/lists/partial" "$to/build" "$to/lib"
cd "$to"
echo "deb-src http://deb.debian.org/debian $VERSION_CODENAME main" > apt/list
apt()
{
  apt-get -q -o Dir::Etc::sourcelist="$to/apt/list" \
    -o Dir::Etc::sourceparts=/nonexistent -o Dir::State::lists="$to/apt/lists" \
    -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= "$@"
}
apt update
rm -rf qpdf-*/
apt source qpdf
cd build
# shellcheck disable=SC2086
cmake -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
  -DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=OFF -DBUILD_STATIC_LIBS=ON \
  -DREQUIRE_CRYPTO_OPENSSL=ON -DUSE_IMPLICIT_CRYPTO=OFF \
  -DCMAKE_C_FLAGS="${flags//$'\n'/}" -DCMAKE_CXX_FLAGS="${flags//$'\n'/}" \
  ../qpdf-*/
make libqpdf
rm -rf ../include
cp -r ../qpdf-*/include ..
cp libqpdf/libqpdf.a ../lib
