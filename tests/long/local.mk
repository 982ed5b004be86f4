# tests/long/ - tests that take minutes, run by "make check-long" and by
# ./test.sh --long.

EXTRA_DIST += tests/long/analyzer.h tests/long/bench.sh tests/long/cases.sh \
	tests/long/class.sh tests/long/consumers.sh tests/long/documents.sh \
	tests/long/hl7.sh tests/long/hostile.sh tests/long/kills.sh \
	tests/long/large.sh tests/long/metrics.sh tests/long/model.sh \
	tests/long/network.sh tests/long/packages.sh tests/long/page.sh \
	tests/long/rate.sh tests/long/rules.yml tests/long/storm.sh \
	tests/long/systemd.sh tests/long/systems.sh tests/long/thousand.sh \
	tests/long/tidy.sh

# One after another.
check-long: all
	@$(MAKE) check TESTS=
	@wrong=; for t in $(srcdir)/tests/long/*.sh; do \
	  echo "== $$t"; \
	  DX_BUILD=$(abs_builddir) bash $$t < /dev/null || wrong="$$wrong $$t"; \
	done; \
	test -z "$$wrong" || { echo "failed:$$wrong" >&2; exit 1; }
.PHONY: check-long
