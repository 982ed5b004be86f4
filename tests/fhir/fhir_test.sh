#!/usr/bin/env bash
#
# fhir_test.sh - the unit tests of docextract-fhir, in $DX_BUILD.
here=$(cd "$(dirname "$0")" && pwd)
PYTHONPATH=$here/../../fhir exec /usr/bin/python3 -B "$here/fhir_test.py" \
  "${DX_BUILD:-$here/../..}/fhir/docextract-fhir"
