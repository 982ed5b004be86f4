#!/usr/bin/env bash
#
# cases.sh - tests/long/cases.sh with 4,000 cases.
CASES=4000 exec bash "$(dirname "$0")/../long/cases.sh"
