# daemon/ - docextractd: a thin loop around the engine.
sbin_PROGRAMS += daemon/docextractd
daemon_docextractd_SOURCES = daemon/driver.c daemon/driver.h \
	daemon/main.c daemon/status.c daemon/status.h \
	daemon/status_ends.c daemon/status_ends.h daemon/status_server.c \
	daemon/status_server.h daemon/watch.c daemon/watch.h
daemon_docextractd_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
daemon_docextractd_LDADD = libdx.a $(SYSTEMD_LIBS) $(CURL_LIBS) \
	$(CJSON_LIBS) $(GNUTLS_LIBS) $(OPENSSL_LIBS) $(CUPS_LIBS) -lm

EXTRA_DIST += daemon/docextractd.path.in daemon/docextractd.service.in
nodist_systemdsystemunit_DATA = daemon/docextractd.path \
	daemon/docextractd.service
CLEANFILES += $(nodist_systemdsystemunit_DATA)
$(nodist_systemdsystemunit_DATA): daemon/%: $(srcdir)/daemon/%.in Makefile
	$(AM_V_GEN)$(MKDIR_P) daemon && sed \
	-e 's|@sbindir[@]|$(sbindir)|' \
	-e 's|@cups_serverroot[@]|$(cups_serverroot)|' \
	-e 's|@DX_SERVICE_USER[@]|$(DX_SERVICE_USER)|' \
	$(srcdir)/$@.in > $@
