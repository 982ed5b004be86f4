# fhir/ - docextract-fhir, which converts results; it shares no code with lib/.
bin_SCRIPTS = fhir/docextract-fhir
dist_man_MANS += doc/docextract-fhir.1
fhirdir = $(datadir)/docextract-fhir
fhirexamplesdir = $(fhirdir)/examples
dist_fhirexamples_SCRIPTS = doc/examples/send-fhir.sh doc/examples/send-hl7.py
CLEANFILES += $(bin_SCRIPTS)
fhir/docextract-fhir: $(srcdir)/fhir/docextract-fhir.in Makefile
	$(AM_V_GEN)$(MKDIR_P) fhir && \
	sed 's/@PACKAGE_VERSION[@]/$(PACKAGE_VERSION)/' $(srcdir)/$@.in \
	> $@.new && chmod +x $@.new && mv $@.new $@
EXTRA_DIST += fhir/docextract-fhir.in tests/fhir/fhir_test.py \
	tests/fhir/fhir_test.sh tests/fhir/generate.py tests/fhir/parse_hl7.py \
	tests/fhir/validate.mjs
