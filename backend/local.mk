# backend/ - the CUPS manners. cupsd runs a backend as lp if others may run it,
# which is how it is installed, and as root if only root may.
cupsbackend_PROGRAMS += backend/docextract
backend_docextract_SOURCES = backend/main.c backend/arguments.c \
	backend/attend.c backend/names.c backend/backend.h backend/discover.c \
	backend/ending.c backend/queue.c backend/receive.c backend/status.c \
	backend/term.c
backend_docextract_LDADD = libdx.a $(CJSON_LIBS) $(GNUTLS_LIBS) $(CUPS_LIBS) -lm

if WITH_USER
install-data-hook:
	chmod 0700 $(DESTDIR)$(cupsbackenddir)/docextract
endif
