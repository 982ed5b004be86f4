# doc/ - manual pages, the completion of bash, a configuration to begin with.
# The directives of docextract.conf(5) are printed by a program made of
# the rows of lib/config/directives.def.
dist_man_MANS = doc/docextract.1 doc/docextract-sim.1 \
	doc/docextract-results.5 doc/docextract-backend.7 doc/todocextract.7 \
	doc/docextractd.8
nodist_man_MANS = doc/docextract.conf.5
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = doc/completion/docextract
dist_pkgdata_DATA += doc/docextract.conf doc/manifest.schema.json
dist_pkgdata_SCRIPTS = packaging/new-config
examplesdir = $(pkgdatadir)/examples
dist_examples_SCRIPTS = doc/examples/consume.py doc/examples/consume.sh \
	doc/examples/metrics.sh
dist_examples_DATA = doc/examples/docextract.rules.yml
EXTRA_DIST += doc/docextract.conf.5.in doc/administration.md doc/architecture.md \
	doc/cups.md doc/cups3.md doc/network.md doc/policy.md \
	doc/security.md doc/staff.md \
	doc/service-interface.md tests/doc/man.sh \
	doc/images/add-printer.png doc/images/finished.png doc/images/held.png \
	doc/images/notify.png doc/images/options.png doc/images/show.png
CLEANFILES += doc/docextract.conf.5 doc/directives.mdoc

noinst_PROGRAMS += doc/directives
doc_directives_SOURCES = doc/directives.c
doc_directives_LDADD = libdx.a $(GNUTLS_LIBS)

doc/docextract.conf.5: $(srcdir)/doc/docextract.conf.5.in \
		doc/directives$(EXEEXT)
	$(AM_V_GEN)doc/directives$(EXEEXT) > doc/directives.mdoc && \
	sed -e '/^\.\\" @directives@$$/{' -e 'r doc/directives.mdoc' -e d -e '}' \
	$(srcdir)/doc/docextract.conf.5.in > $@.new && mv $@.new $@
