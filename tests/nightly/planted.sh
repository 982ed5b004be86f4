#!/usr/bin/env bash
#
# planted.sh - each fault of tests/faults/list is noticed by its test.
exec bash "$(dirname "$0")/../faults/run.sh"
