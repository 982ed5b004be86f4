# tests/hostile/ - hostile documents, responses, and users, run by test.sh.
check_PROGRAMS += tests/hostile/raw-service
tests_hostile_raw_service_SOURCES = tests/hostile/raw-service.c
tests_hostile_raw_service_LDADD =

# todocextract with a fifth of the processor time, for documents.sh.
check_PROGRAMS += tests/hostile/todocextract-quick
tests_hostile_todocextract_quick_SOURCES = filter/isolate.c
nodist_EXTRA_tests_hostile_todocextract_quick_SOURCES = filter/none.cc
tests_hostile_todocextract_quick_CPPFLAGS = $(libdxf_a_CPPFLAGS) \
	-DDX_PARSE_CPU_S=5
tests_hostile_todocextract_quick_LDADD = $(todocextract_OBJECTS) $(filter_libs)

EXTRA_DIST += tests/hostile/lib.sh tests/hostile/service.sh
