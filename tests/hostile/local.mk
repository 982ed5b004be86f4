# tests/hostile/ - hostile documents, responses, and users, run by test.sh.
check_PROGRAMS += tests/hostile/raw-service
tests_hostile_raw_service_SOURCES = tests/hostile/raw-service.c
tests_hostile_raw_service_LDADD =

EXTRA_DIST += tests/hostile/lib.sh tests/hostile/service.sh
