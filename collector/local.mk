# collector/ - docextractd: a thin loop around the engine.
sbin_PROGRAMS += collector/docextractd
collector_docextractd_SOURCES = collector/collector.c collector/collector.h \
	collector/log.c collector/log.h collector/main.c collector/watch.c \
	collector/watch.h
collector_docextractd_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
collector_docextractd_LDADD = libdx.a $(SYSTEMD_LIBS) $(CURL_LIBS) \
	$(CJSON_LIBS) $(OPENSSL_LIBS) $(CUPS_LIBS) -lm

EXTRA_DIST += collector/docextractd.service.in
nodist_systemdsystemunit_DATA = collector/docextractd.service
CLEANFILES += collector/docextractd.service
collector/docextractd.service: $(srcdir)/collector/docextractd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) collector && sed \
	-e 's|@sbindir[@]|$(sbindir)|' \
	-e 's|@cups_serverroot[@]|$(cups_serverroot)|' \
	$(srcdir)/collector/docextractd.service.in > $@
