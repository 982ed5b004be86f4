# tests/ - unit tests, run by "make check"; everything else by ./test.sh
unit_libs = libdx.a $(CMOCKA_LIBS) $(CURL_LIBS) $(CJSON_LIBS) \
	$(OPENSSL_LIBS) $(CUPS_LIBS) -lm
EXTRA_DIST += tests/unit/unit.h tests/unit/engine_stage.h \
	tests/sim/sim_test.sh \
	tests/filter/lib.sh tests/filter/filter_test.sh \
	tests/filter/active_test.sh tests/filter/check_test.sh \
	tests/filter/corpus.sh

if TESTS_ON
unit_programs = tests/unit/test_states tests/unit/test_bundle \
	tests/unit/test_filter tests/unit/test_api \
	tests/unit/test_pace tests/unit/test_spool
include tests/unit/a.mk
include tests/unit/b.mk
check_PROGRAMS += $(unit_programs)
TESTS += $(unit_programs)

tests_unit_test_states_SOURCES = tests/unit/test_states.c
tests_unit_test_states_LDADD = $(unit_libs)
tests_unit_test_api_SOURCES = tests/unit/test_api.c
tests_unit_test_api_LDADD = $(unit_libs)
tests_unit_test_pace_SOURCES = tests/unit/test_pace.c
tests_unit_test_pace_LDADD = $(unit_libs)
tests_unit_test_spool_SOURCES = tests/unit/test_spool.c
tests_unit_test_spool_LDADD = $(unit_libs)
tests_unit_test_bundle_SOURCES = tests/unit/test_bundle.c
tests_unit_test_bundle_LDADD = $(unit_libs)
tests_unit_test_filter_SOURCES = tests/unit/test_filter.c \
	filter/image.c filter/options.c
tests_unit_test_filter_LDADD = $(unit_libs) $(ZLIB_LIBS)
endif

include tests/crash/local.mk
include tests/it/local.mk
include tests/long/local.mk
include tests/bench/local.mk
