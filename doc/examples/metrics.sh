#!/bin/sh
# metrics.sh [DIRECTORY] - writes metrics for the textfile collector of
# node_exporter. The rename ensures that node_exporter reads only complete
# files. Run the script as root, every minute, with a timer of systemd;
# doc/administration.md, "Monitoring", has one.
set -eu
cd "${1:-/var/lib/prometheus/node-exporter}"
new=$(mktemp .docextract.XXXXXX)
trap 'rm -f "$new"' EXIT

docextract metrics > "$new"
chmod 644 "$new"
mv "$new" docextract.prom
