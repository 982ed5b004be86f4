# tests/long/ - tests that take minutes, run by ./test.sh --long.
EXTRA_DIST += tests/long/cases.sh tests/long/class.sh tests/long/documents.sh \
	tests/long/hl7.sh tests/long/hostile.sh \
	tests/long/kills.sh tests/long/metrics.sh tests/long/network.sh \
	tests/long/packages.sh tests/long/rate.sh tests/long/rules.yml \
	tests/long/systemd.sh
