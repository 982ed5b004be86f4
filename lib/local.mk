# lib/ - what two programs share, each part of which can be tested without a
# scheduler. tests/checks/checks.sh proves which directory may include which.
noinst_LIBRARIES += libdx.a
libdx_a_SOURCES = \
	lib/base/buf.c lib/base/buf.h lib/base/clock.c lib/base/clock.h \
	lib/base/digest.c lib/base/digest.h lib/base/err.c lib/base/err.h \
	lib/base/fields.c lib/base/fields.h \
	lib/base/fs.c lib/base/fs.h lib/base/history.c lib/base/history.h \
	lib/base/json.c lib/base/json.h \
	lib/base/json_scan.c lib/base/language.c lib/base/language.h \
	lib/base/log.c lib/base/log.h lib/base/nearest.c lib/base/nearest.h \
	lib/base/policy.h lib/base/process.c lib/base/process.h \
	lib/base/sandbox.c lib/base/sandbox.h \
	lib/base/user.c lib/base/user.h lib/base/utf8.c \
	lib/base/utf8.h lib/base/words.h \
	\
	lib/config/config.c lib/config/config.h lib/config/directives.def \
	lib/config/load.c lib/config/print.c lib/config/unit.c \
	\
	lib/print/bundle.c lib/print/bundle.h \
	lib/print/print_job.c lib/print/print_job.h \
	lib/print/text_encoding.c lib/print/text_encoding.h \
	\
	lib/spool/counters.c \
	lib/spool/counters.h \
	lib/spool/filename.c lib/spool/filename.h lib/spool/job.c \
	lib/spool/job.h lib/spool/journal.c \
	lib/spool/merge.c lib/spool/merge.h \
	lib/spool/permission.c lib/spool/permission.h \
	lib/spool/results.c lib/spool/results.h lib/spool/retention.c \
	lib/spool/retention.h lib/spool/sentence.c \
	lib/spool/sentence.h lib/spool/spool.c lib/spool/spool.h \
	lib/spool/state.c lib/spool/state.h \
	lib/spool/tally.c lib/spool/tally.h \
	\
	lib/control/channel.c lib/control/channel.h \
	lib/control/metrics.c lib/control/metrics.h \
	lib/control/connect.c lib/control/connect.h \
	lib/control/status.c \
	lib/control/status.h

# The catalogs as C arrays, in which adjacent strings of a row are one. Without
# locales, and without libraries that search for them.
catalogs = po/de.po po/es.po po/fr.po po/ja.po
EXTRA_DIST += $(catalogs)
CLEANFILES += lib/base/catalogs.inc
lib/base/catalogs.inc: $(catalogs)
	$(AM_V_GEN)$(MKDIR_P) lib/base && \
	for language in de es fr ja; do \
	  echo "static const struct language_row language_$$language[] = {" && \
	  sed -n '/^msgid "[^"]/,$$ { s/^msgid /{/p; s/^msgstr \(.*\)/, \1},/p; }' \
	    $(srcdir)/po/$$language.po && \
	  echo '{NULL, NULL}};'; \
	done > $@
lib/base/language.$(OBJEXT): lib/base/catalogs.inc
