#!/usr/bin/env bash
#
# lint.sh - for `make lint`: what pyflakes3 and mypy find in programs in Python,
# and shellcheck in shell scripts.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh

none() { is "$1" "$2" ''; } # TEXT OUTPUT: nothing was found

for package in shellcheck mypy pyflakes3; do
  command -v $package > /dev/null && continue
  echo "$package is missing: apt-get install $package" >&2
  exit 1
done

mapfile -t python < <(
  find debian doc fhir tests -type f -name '*.py'
  grep -rlI -m 1 '^#!.*python' debian doc tests --exclude='*.py' \
    --exclude='*.sh')
none 'pyflakes3 finds nothing' "$(pyflakes3 "${python[@]}" 2>&1)"
# The package by itself: fhir_test.py replaces functions of it, and takes it as
# untyped.
mapfile -t programs < <(printf '%s\n' "${python[@]}" | grep -v '^fhir/')
strict=(mypy --strict --scripts-are-modules --cache-dir=/dev/null)
has 'mypy finds nothing in docextract_fhir' \
  "$("${strict[@]}" fhir/docextract_fhir 2>&1)" '^Success: '
has 'mypy finds nothing in the other programs' \
  "$("${strict[@]}" "${programs[@]}" 2>&1)" '^Success: '
mapfile -t scripts < <(
  find doc tests -name '*.sh'
  grep -rlI -m 1 '^#!.*sh$' .ci debian packaging tests --exclude='*.sh'
  ls ./*.sh)
none 'shellcheck finds nothing' "$(shellcheck "${scripts[@]}" 2>&1)"
count_is_good
