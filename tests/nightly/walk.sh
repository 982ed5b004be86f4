#!/usr/bin/env bash
#
# walk.sh - the complete crash walk: tests/crash/walk.sh for every step.
exec bash "$(dirname "$0")/../crash/walk.sh" --all
