#!/usr/bin/env bash
#
# faults.sh - the complete fault walk: tests/crash/faults.sh for every call.
exec bash "$(dirname "$0")/../crash/faults.sh" --all
