# backend/ - the CUPS manners
cupsbackend_PROGRAMS += backend/docextract
backend_docextract_SOURCES = backend/main.c backend/backend.h \
	backend/cupsjob.c backend/discover.c backend/ending.c \
	backend/receive.c backend/status.c backend/term.c
backend_docextract_LDADD = libdx.a $(CURL_LIBS) $(CJSON_LIBS) \
	$(OPENSSL_LIBS) $(CUPS_LIBS) -lm

# cupsd runs a backend as lp only if others may execute it.
install-exec-hook:
	chmod 0755 $(DESTDIR)$(cupsbackenddir)/docextract
