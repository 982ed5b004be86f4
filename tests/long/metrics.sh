#!/usr/bin/env bash
#
# metrics.sh - Prometheus accepts the output of `docextract metrics`, and the
# alerts of doc/examples/docextract.rules.yml are correct. Needs promtool of the
# package prometheus.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
build=$(cd "${DX_BUILD:-.}" && pwd)
dir=$(mktemp -d /var/tmp/dx-metrics.XXXXXX)
trap 'rm -rf "$dir"' EXIT
mkdir -m 700 "$dir/spool"
(umask 077 && head -c 40 /dev/urandom | base64 > "$dir/key")
for name in one two; do
  printf '<Service %s>\nBaseURL https://%s.example\nTokenKeyFile %s\n</Service>\n' \
    "$name" "$name" "$dir/key"
done > "$dir/docextract.conf"
echo "SpoolDir $dir/spool" >> "$dir/docextract.conf"

"$build/cli/docextract" -c "$dir/docextract.conf" metrics > "$dir/metrics"
is 'there are metrics' "$?" 0
is 'promtool finds nothing wrong' "$(promtool check metrics < "$dir/metrics" 2>&1)" ''
sed 's/ counter$/ gauge/' "$dir/metrics" > "$dir/wrong"
has 'and would find something' \
  "$(promtool check metrics < "$dir/wrong" 2>&1)" 'calls_total'

cp doc/examples/docextract.rules.yml tests/long/rules.yml "$dir"
check 'the rules are correct' promtool check rules "$dir/docextract.rules.yml"
check 'every alert fires when it should' promtool test rules "$dir/rules.yml"
count_is_good
