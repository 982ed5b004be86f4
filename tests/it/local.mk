# tests/it/ - integration tests, run by test.sh with the programs of a build.
#
# docextract-quick is a backend with three different constants: a limit of three
# seconds without data on stdin, and of twelve seconds without a line from
# docextractd, for silence.sh; and a change of a state reason every second, for
# patience.sh. docextractd-quick looks all the time whether a held print job was
# canceled, for withdrawn.sh and attributes.sh.
check_PROGRAMS += tests/it/docextract-quick
tests_it_docextract_quick_SOURCES = $(backend_docextract_SOURCES)
tests_it_docextract_quick_CPPFLAGS = $(AM_CPPFLAGS) -DDX_SILENCE_MS=3000 \
	-DDX_TOGGLE_MS=1000 -DDX_ALIVE_LIMIT_MS=12000
tests_it_docextract_quick_LDADD = $(backend_docextract_LDADD)
check_PROGRAMS += tests/it/docextractd-quick
tests_it_docextractd_quick_SOURCES = $(daemon_docextractd_SOURCES)
tests_it_docextractd_quick_CPPFLAGS = $(daemon_docextractd_CPPFLAGS) \
	-DDX_WATCH_LOOK_MS=200
tests_it_docextractd_quick_LDADD = $(daemon_docextractd_LDADD)

# Backend and filters with a user of its own, for owner.sh.
check_PROGRAMS += tests/it/docextract-owned \
	tests/it/todocextract-owned
tests_it_docextract_owned_SOURCES = $(other_user)
tests_it_docextract_owned_CPPFLAGS = $(with_other_user)
tests_it_docextract_owned_LDADD = $(backend_docextract_OBJECTS) \
	$(backend_docextract_LDADD)
tests_it_todocextract_owned_SOURCES = $(other_user)
tests_it_todocextract_owned_CPPFLAGS = $(with_other_user)
tests_it_todocextract_owned_LINK = $(CXXLINK)
tests_it_todocextract_owned_LDADD = $(todocextract_OBJECTS) \
	$(todocextract_LDADD) -lstdc++

# What a print dialog shows of the driver, for languages.sh.
check_PROGRAMS += tests/it/ppdtext
tests_it_ppdtext_SOURCES = tests/it/ppdtext.c
tests_it_ppdtext_LDADD = $(CUPS_LIBS)

EXTRA_DIST += tests/it/accepted.sh tests/it/admin.sh tests/it/again.sh \
	tests/it/attributes.sh tests/it/auto.sh tests/it/browser.sh \
	tests/it/client.sh tests/it/consumers.sh tests/it/discovery.sh tests/it/gate.sh \
	tests/it/interrupted.sh tests/it/killed.sh tests/it/language.sh \
	tests/it/languages.sh tests/it/lib.sh tests/it/log.sh \
	tests/it/many.sh tests/it/metrics.sh tests/it/mixed.sh tests/it/mkpdf \
	tests/it/mkpictures tests/it/notify.sh tests/it/on_result.sh \
	tests/it/orphans.sh tests/it/outage.sh tests/it/owner.sh \
	tests/it/pages.sh tests/it/patience.sh tests/it/prefilter.sh \
	tests/it/private.sh tests/it/relay.sh tests/it/repair.sh tests/it/report.sh \
	tests/it/reruns.sh tests/it/restored.sh tests/it/rows.sh \
	tests/it/sandbox.sh tests/it/session.sh tests/it/shared.sh \
	tests/it/sigterm.sh tests/it/silence.sh tests/it/stage.sh \
	tests/it/stages.sh tests/it/stopped.sh tests/it/text.sh \
	tests/it/tls.sh tests/it/tokens.sh tests/it/troubles.sh \
	tests/it/types.sh tests/it/unknown.sh tests/it/waiting.sh \
	tests/it/wanted.sh tests/it/withdrawn.sh
