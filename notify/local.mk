# notify/ - docextract-notify, a program of the desktop session.
if WITH_NOTIFY
bin_PROGRAMS += notify/docextract-notify
notify_docextract_notify_SOURCES = notify/main.c
notify_docextract_notify_CFLAGS = $(AM_CFLAGS) $(NOTIFY_CFLAGS)
notify_docextract_notify_LDADD = libdx.a $(NOTIFY_LIBS) $(CJSON_LIBS) \
	$(GNUTLS_LIBS) $(CUPS_LIBS) -lm
nodist_man_MANS += doc/docextract-notify.1

autostartdir = $(sysconfdir)/xdg/autostart
nodist_autostart_DATA = notify/docextract-notify.desktop
CLEANFILES += $(nodist_autostart_DATA)
notify/docextract-notify.desktop: $(srcdir)/notify/docextract-notify.desktop.in \
		Makefile
	$(AM_V_GEN)$(MKDIR_P) notify && sed -e 's|@bindir[@]|$(bindir)|' \
	$(srcdir)/$@.in > $@

# Prints what a desktop would show, for tests/it/notify.sh.
check_PROGRAMS += tests/it/notified
tests_it_notified_SOURCES = tests/it/notified.c
tests_it_notified_CFLAGS = $(AM_CFLAGS) $(NOTIFY_CFLAGS)
tests_it_notified_LDADD = $(NOTIFY_LIBS)
endif
EXTRA_DIST += doc/docextract-notify.1 notify/docextract-notify.desktop.in
