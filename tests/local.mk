# tests/ - unit tests, run by "make check"; everything else by ./test.sh
unit_libs = libdx.a $(CMOCKA_LIBS) $(CURL_LIBS) $(CJSON_LIBS) \
	$(OPENSSL_LIBS) $(CUPS_LIBS) -lm
EXTRA_DIST += tests/unit/unit.h tests/sim/sim_test.sh

if TESTS_ON
unit_programs = tests/unit/test_states
check_PROGRAMS += $(unit_programs)
TESTS += $(unit_programs)

tests_unit_test_states_SOURCES = tests/unit/test_states.c
tests_unit_test_states_LDADD = $(unit_libs)
endif

include tests/it/local.mk
