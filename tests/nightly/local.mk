# tests/nightly/ - tests that take hours together, that need more of the network
# than packages of Debian, or servers that are not part of a print server; run by
# ./test.sh --nightly.
EXTRA_DIST += tests/nightly/corpus.sh tests/nightly/faults.sh \
	tests/nightly/fhir.sh tests/nightly/foreign.py \
	tests/nightly/outages.sh \
	tests/nightly/parts.sh tests/nightly/power.sh \
	tests/nightly/proxies.sh tests/nightly/release.sh \
	tests/nightly/storage.py tests/nightly/swift.sh \
	tests/nightly/valgrind.sh tests/nightly/walk.sh
