# tests/crash/ - the crash walk and the fault walk: the backend is disturbed at
# one step after the other, by a library that is put in front of the C library.
# Not libtool's: it is never installed, and nothing is linked with it.
if TESTS_ON
check_DATA = tests/crash/preload.so
tests/crash/preload.so: $(srcdir)/tests/crash/preload.c
	@$(MKDIR_P) tests/crash
	$(AM_V_CCLD)$(CC) -std=gnu11 -D_GNU_SOURCE $(DX_WARNINGS) -O2 -g -fPIC \
		-shared -o $@ $(srcdir)/tests/crash/preload.c -ldl
endif
CLEANFILES += tests/crash/preload.so

EXTRA_DIST += tests/crash/faults.sh tests/crash/large.sh tests/crash/lib.sh \
	tests/crash/order.awk tests/crash/order.sh tests/crash/power-cut \
	tests/crash/power.sh tests/crash/preload.c tests/crash/walk.sh
