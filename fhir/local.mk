# fhir/ - docextract-fhir, which converts results; it shares no code with lib/.
fhirdir = $(datadir)/docextract-fhir
fhirpackagedir = $(fhirdir)/docextract_fhir
fhirexamplesdir = $(fhirdir)/examples
dist_man_MANS += doc/docextract-fhir.1
dist_fhirpackage_DATA = \
	fhir/docextract_fhir/__init__.py \
	fhir/docextract_fhir/cli.py \
	fhir/docextract_fhir/document.py \
	fhir/docextract_fhir/failure.py \
	fhir/docextract_fhir/fhir.py \
	fhir/docextract_fhir/files.py \
	fhir/docextract_fhir/hl7.py \
	fhir/docextract_fhir/manifest.py \
	fhir/docextract_fhir/text.py \
	fhir/docextract_fhir/ucum.py \
	fhir/docextract_fhir/values.py
dist_fhirexamples_SCRIPTS = doc/examples/send-fhir.sh doc/examples/send-hl7.py

# The program that is installed, and one for the tests, which is the same but
# for the directory of the modules.
bin_SCRIPTS = fhir/installed/docextract-fhir
noinst_SCRIPTS = fhir/docextract-fhir
CLEANFILES += $(bin_SCRIPTS) $(noinst_SCRIPTS)
make_fhir = $(MKDIR_P) $(@D) && sed -e "s|@fhirdir[@]|$$dir|" \
	-e 's/@PACKAGE_VERSION[@]/$(PACKAGE_VERSION)/' \
	$(srcdir)/fhir/docextract-fhir.in > $@.new && chmod +x $@.new && \
	mv $@.new $@
fhir/installed/docextract-fhir: $(srcdir)/fhir/docextract-fhir.in Makefile
	$(AM_V_GEN)dir='$(fhirdir)'; $(make_fhir)
fhir/docextract-fhir: $(srcdir)/fhir/docextract-fhir.in Makefile
	$(AM_V_GEN)dir='$(abs_srcdir)/fhir'; $(make_fhir)

EXTRA_DIST += fhir/docextract-fhir.in tests/fhir/fhir_test.py \
	tests/fhir/fhir_test.sh tests/fhir/generate.py tests/fhir/parse_hl7.py \
	tests/fhir/validate.mjs
