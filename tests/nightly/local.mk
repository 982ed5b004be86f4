# tests/nightly/ - tests that take hours together, that need more of the network
# than packages of Debian, servers that are not part of a print server, or the
# programs that people print from; run by ./test.sh --nightly.
EXTRA_DIST += tests/nightly/analyzer.h tests/nightly/bench.sh \
	tests/nightly/cases.sh \
	tests/nightly/consumers.sh \
	tests/nightly/corpus.sh tests/nightly/desktop.sh \
	tests/nightly/distcheck.sh \
	tests/nightly/faults.sh tests/nightly/fhir.sh \
	tests/nightly/foreign.py tests/nightly/gtk-print \
	tests/nightly/guide.sh tests/nightly/large.sh tests/nightly/model.sh \
	tests/nightly/office-merge tests/nightly/office.sh \
	tests/nightly/office_pdf.sh \
	tests/nightly/outages.sh tests/nightly/overbooked.sh \
	tests/nightly/page.sh tests/nightly/parts.sh \
	tests/nightly/planted.sh \
	tests/nightly/power.sh tests/nightly/programs.sh \
	tests/nightly/proxies.sh tests/nightly/release.sh \
	tests/nightly/storage.py tests/nightly/storm.sh \
	tests/nightly/swift.sh tests/nightly/systems.sh \
	tests/nightly/thousand.sh tests/nightly/tidy.sh \
	tests/nightly/sections.sh tests/nightly/valgrind.sh \
	tests/nightly/walk.sh tests/nightly/web.sh
