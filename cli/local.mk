# cli/ - the command `docextract`, one file per verb.
bin_PROGRAMS += cli/docextract
cli_docextract_SOURCES = cli/cli.h cli/config.c \
	cli/docextractd.c cli/error.c cli/hello.c \
	cli/job.c cli/jobs.c cli/load.c cli/main.c cli/metrics.c \
	cli/purge.c cli/report.c \
	cli/result.c cli/retry.c cli/show.c cli/spool.c cli/stop.c cli/submit.c cli/term.c \
	cli/wait.c cli/waiting.c
cli_docextract_LDADD = libdx.a $(CUPS_LIBS) $(CJSON_LIBS) $(GNUTLS_LIBS) \
	$(SECCOMP_LIBS) -lm

EXTRA_DIST += tests/cli/ask tests/cli/attend_test.sh tests/cli/cli_test.sh \
	tests/cli/docextractd_played tests/cli/frame.sh \
	tests/cli/jobs_test.sh tests/cli/owned_test.sh tests/cli/show_test.sh \
	tests/cli/status_test.sh tests/cli/wait_test.sh

# The beginning of the page of `show --html` as strings, with variables between
# them. It contains the hash of its style, which tests/cli/show_test.sh compares.
EXTRA_DIST += cli/show.html
CLEANFILES += cli/show.html.inc
cli/show.html.inc: cli/show.html
	$(AM_V_GEN)$(MKDIR_P) cli && \
	sed 's/"/\\"/g; s/.*/"&\\n"/; s/@\([a-z]*\)@/", \1, "/' \
	  $(srcdir)/cli/show.html > $@
cli/result.$(OBJEXT): cli/show.html.inc

# As configured with a separate user.
check_PROGRAMS += tests/cli/docextract-owned
tests_cli_docextract_owned_SOURCES = $(other_user)
tests_cli_docextract_owned_CPPFLAGS = $(with_other_user) -DDX_TRUST_ENVIRONMENT
tests_cli_docextract_owned_LDADD = $(cli_docextract_OBJECTS) \
	$(cli_docextract_LDADD)
# Uses CUPS_SERVERBIN for root, too. Built by default: it takes a second, and
# scripts must not use an old one.
noinst_PROGRAMS += tests/cli/docextract-here
tests_cli_docextract_here_SOURCES = lib/base/user.c
tests_cli_docextract_here_CPPFLAGS = $(AM_CPPFLAGS) -DDX_TRUST_ENVIRONMENT
tests_cli_docextract_here_LDADD = $(cli_docextract_OBJECTS) \
	$(cli_docextract_LDADD)
# A network that never responds.
check_PROGRAMS += tests/cli/silent
tests_cli_silent_LDADD =

if TESTS_ON
check_PROGRAMS += tests/unit/test_cli
TESTS += tests/unit/test_cli
tests_unit_test_cli_SOURCES = tests/unit/test_cli.c cli/cli.h cli/error.c \
	cli/term.c
endif
