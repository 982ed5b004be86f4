# tests/long/ - tests that take minutes, run by "make check-long" and by
# ./test.sh --long.
check_PROGRAMS += tests/long/pace-caller
tests_long_pace_caller_SOURCES = tests/long/pace-caller.c
tests_long_pace_caller_LDADD = libdx.a -lm

EXTRA_DIST += tests/long/pace.sh tests/long/thousand.sh
