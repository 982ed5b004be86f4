#!/usr/bin/env bash
#
# power.sh - every power cut: tests/crash/power.sh for every operation.
exec bash "$(dirname "$0")/../crash/power.sh" --all
