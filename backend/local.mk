# backend/ - the CUPS manners. cupsd runs a backend as lp if others may run it,
# which is how it is installed, and as root if only root may.
backend_docextract_SOURCES = backend/main.c backend/arguments.c \
	backend/attend.c backend/names.c backend/backend.h backend/discover.c \
	backend/ending.c backend/receive.c backend/status.c \
	backend/term.c
backend_docextract_LDADD = libdx.a $(CJSON_LIBS) $(GNUTLS_LIBS) $(CUPS_LIBS) -lm

# With its mode from the beginning: cupsd may start it while it is installed.
if WITH_USER
noinst_PROGRAMS += backend/docextract
install-exec-local:
	$(MKDIR_P) "$(DESTDIR)$(cupsbackenddir)"
	$(INSTALL_PROGRAM) -m 0700 backend/docextract \
	  "$(DESTDIR)$(cupsbackenddir)"
uninstall-local:
	rm -f "$(DESTDIR)$(cupsbackenddir)/docextract"
else
cupsbackend_PROGRAMS += backend/docextract
endif
