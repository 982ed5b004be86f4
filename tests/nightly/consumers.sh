#!/usr/bin/env bash
#
# consumers.sh - tests/it/consumers.sh with 1,000 results.
RESULTS=1000 exec bash "$(dirname "$0")/../it/consumers.sh"
