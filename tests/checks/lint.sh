#!/usr/bin/env bash
#
# lint.sh - for `make lint`: what pyflakes3 finds in Python, mypy in the programs
# in Python that are installed, and shellcheck in shell scripts.
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
for program in fhir/docextract_fhir doc/examples/*.py; do
  has "mypy finds nothing in $program" \
    "$(mypy --strict --cache-dir=/dev/null "$program" 2>&1)" '^Success: '
done
mapfile -t scripts < <(
  find doc tests -name '*.sh'
  grep -rlI -m 1 '^#!.*sh$' .ci debian packaging tests --exclude='*.sh'
  ls ./*.sh)
none 'shellcheck finds nothing' "$(shellcheck "${scripts[@]}" 2>&1)"
count_is_good
