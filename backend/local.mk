# backend/ - the CUPS backend. cupsd runs a backend as lp if others may execute
# it, and as root if only root may.
backend_docextract_SOURCES = backend/main.c backend/arguments.c \
	backend/attend.c backend/backend.h backend/discover.c \
	backend/ending.c backend/ready.c backend/receive.c \
	backend/status.c backend/term.c
backend_docextract_LDADD = libdx.a $(SECCOMP_LIBS) $(CJSON_LIBS) $(GNUTLS_LIBS) $(CUPS_LIBS) -lm

# Installed with its final mode, because cupsd may start it at once.
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
