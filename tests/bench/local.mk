# tests/bench/ - measured lines beside an alternative; tests/nightly/bench.sh runs
# them with small numbers.
EXTRA_PROGRAMS += tests/bench/first-byte tests/bench/get \
	tests/bench/hospital tests/bench/hosts tests/bench/lag tests/bench/outages \
	tests/bench/scans
CLEANFILES += $(EXTRA_PROGRAMS)
tests_bench_first_byte_LDADD =
# Also for tests/hostile/documents.sh.
check_PROGRAMS += tests/bench/measure
tests_bench_measure_LDADD =
tests_bench_get_SOURCES = tests/bench/get.c
tests_bench_get_LDADD = $(CURL_LIBS)
tests_bench_lag_SOURCES = tests/bench/lag.c
tests_bench_lag_LDADD = libdxd.a libdx.a $(CURL_LIBS) $(CJSON_LIBS) $(GNUTLS_LIBS) \
	$(OPENSSL_LIBS) $(CUPS_LIBS) -lm
tests_bench_lag_LDFLAGS = $(AM_LDFLAGS) $(fake_http) -Wl,--wrap=dx_random_unit
tests_bench_hospital_SOURCES = tests/bench/hospital.c $(engine_fixture)
tests_bench_hospital_CPPFLAGS = $(AM_CPPFLAGS) -DFIXTURE_JOBS_MAX=10200 \
	-DFIXTURE_CASES_MAX=10000
tests_bench_hospital_LDADD = $(unit_libs)
tests_bench_hospital_LDFLAGS = $(AM_LDFLAGS) $(fake_http) \
	-Wl,--wrap=dx_random_unit
tests_bench_hosts_LDADD = libdxd.a libdx.a $(GNUTLS_LIBS) -lm
tests_bench_hosts_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=dx_random_unit
tests_bench_outages_SOURCES = tests/bench/outages.c $(engine_fixture)
tests_bench_outages_LDADD = $(unit_libs)
tests_bench_outages_LDFLAGS = $(AM_LDFLAGS) $(fake_http) \
	-Wl,--wrap=dx_random_unit

tests_bench_scans_CFLAGS = $(AM_CFLAGS) $(TIFF_CFLAGS)
tests_bench_scans_LDADD = $(TIFF_LIBS) $(ZLIB_LIBS)

EXTRA_DIST += tests/bench/cpu.sh tests/bench/curl-jq.sh \
	tests/bench/disk.sh tests/bench/filter.sh tests/bench/first_byte.sh \
	tests/bench/first_call.sh tests/bench/hospital.sh tests/bench/hosts.sh tests/bench/lag.sh \
	tests/bench/large.sh tests/bench/lib.sh tests/bench/many.sh \
	tests/bench/outages.sh tests/bench/queue.sh tests/bench/relay.py tests/bench/run.sh tests/bench/size.sh \
	tests/bench/thousand.sh tests/bench/throughput.sh \
	tests/bench/waiting.sh tests/bench/watch.py

bench: all tests/bench/first-byte$(EXEEXT) tests/bench/measure$(EXEEXT) \
	tests/bench/get$(EXEEXT) tests/bench/hospital$(EXEEXT) \
	tests/bench/hosts$(EXEEXT) \
	tests/bench/lag$(EXEEXT) tests/bench/outages$(EXEEXT) \
	tests/bench/scans$(EXEEXT) \
	tests/crash/preload.so tests/helper/sealed$(EXEEXT)
	@DX_BUILD=$(abs_builddir) $(srcdir)/tests/bench/run.sh
.PHONY: bench
