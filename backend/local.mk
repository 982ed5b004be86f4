# backend/ - the CUPS manners. install gives mode 0755, and so cupsd runs it as
# lp: without permission for others it would run as root.
cupsbackend_PROGRAMS += backend/docextract
backend_docextract_SOURCES = backend/main.c backend/adopt.c \
	backend/arguments.c backend/names.c backend/backend.h \
	backend/discover.c backend/ending.c \
	backend/queue.c backend/receive.c backend/status.c backend/term.c
backend_docextract_LDADD = libdx.a $(CURL_LIBS) $(CJSON_LIBS) \
	$(OPENSSL_LIBS) $(CUPS_LIBS) -lm
