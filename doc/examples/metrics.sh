#!/bin/sh
# metrics.sh [DIRECTORY] - writes metrics for the textfile collector of
# node_exporter. The rename ensures that node_exporter reads only complete
# files. Run the script as root, every minute, with a timer of systemd;
# doc/administration.md, "Monitoring", has one.
set -eu
cd "${1:-/var/lib/prometheus/node-exporter}"
trap 'rm -f docextract.prom.$$' EXIT

docextract metrics > docextract.prom.$$
chmod 644 docextract.prom.$$
mv docextract.prom.$$ docextract.prom
