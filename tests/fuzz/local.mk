# tests/fuzz/ - fuzz targets. In a normal build each is a test that passes the
# files of tests/fuzz/corpus/TARGET; "make fuzz" has libFuzzer make up more
# (tests/fuzz/README.md). A target is tests/fuzz/fuzz_TARGET.c, its two lines
# here, and at least one seed.
fuzz_programs = \
	tests/fuzz/fuzz_arguments \
	tests/fuzz/fuzz_bundle \
	tests/fuzz/fuzz_channel \
	tests/fuzz/fuzz_codecs \
	tests/fuzz/fuzz_config \
	tests/fuzz/fuzz_cupsd \
	tests/fuzz/fuzz_document \
	tests/fuzz/fuzz_history \
	tests/fuzz/fuzz_http \
	tests/fuzz/fuzz_journal \
	tests/fuzz/fuzz_json \
	tests/fuzz/fuzz_list \
	tests/fuzz/fuzz_name \
	tests/fuzz/fuzz_options \
	tests/fuzz/fuzz_raster \
	tests/fuzz/fuzz_response \
	tests/fuzz/fuzz_same \
	tests/fuzz/fuzz_seal \
	tests/fuzz/fuzz_status \
	tests/fuzz/fuzz_text \
	tests/fuzz/fuzz_time \
	tests/fuzz/fuzz_token \
	tests/fuzz/fuzz_url \
	tests/fuzz/fuzz_verbs
fuzz_common = tests/fuzz/fuzz.c tests/fuzz/fuzz.h
if FUZZING
EXTRA_PROGRAMS += $(fuzz_programs)
else
fuzz_common += tests/fuzz/replay.c
check_PROGRAMS += $(fuzz_programs)
TESTS += $(fuzz_programs)
endif

tests_fuzz_fuzz_arguments_SOURCES = tests/fuzz/fuzz_arguments.c $(fuzz_common) \
	backend/arguments.c
tests_fuzz_fuzz_bundle_SOURCES = tests/fuzz/fuzz_bundle.c $(fuzz_common)
tests_fuzz_fuzz_channel_SOURCES = tests/fuzz/fuzz_channel.c $(fuzz_common)
tests_fuzz_fuzz_codecs_SOURCES = tests/fuzz/fuzz_codecs.c $(fuzz_common)
tests_fuzz_fuzz_codecs_LDADD = $(FUZZ_ENGINE) libdxf.a $(unit_libs) $(JPEG_LIBS) \
	$(PNG_LIBS) $(ZLIB_LIBS)
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c $(fuzz_common)
tests_fuzz_fuzz_cupsd_SOURCES = tests/fuzz/fuzz_cupsd.c $(fuzz_common)
tests_fuzz_fuzz_document_SOURCES = tests/fuzz/fuzz_document.c $(fuzz_common)
tests_fuzz_fuzz_history_SOURCES = tests/fuzz/fuzz_history.c $(fuzz_common)
tests_fuzz_fuzz_http_SOURCES = tests/fuzz/fuzz_http.c $(fuzz_common)
tests_fuzz_fuzz_journal_SOURCES = tests/fuzz/fuzz_journal.c $(fuzz_common)
tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c $(fuzz_common)
tests_fuzz_fuzz_list_SOURCES = tests/fuzz/fuzz_list.c $(fuzz_common) \
	daemon/cupsd.c
tests_fuzz_fuzz_list_CPPFLAGS = $(AM_CPPFLAGS) -DLIST_LIMIT=4
tests_fuzz_fuzz_list_LDFLAGS = -Wl,--wrap=dx_http_start \
	-Wl,--wrap=dx_http_cancel
tests_fuzz_fuzz_name_SOURCES = tests/fuzz/fuzz_name.c $(fuzz_common)
tests_fuzz_fuzz_options_SOURCES = tests/fuzz/fuzz_options.c $(fuzz_common)
tests_fuzz_fuzz_options_LDADD = $(FUZZ_ENGINE) libdxf.a $(unit_libs)
tests_fuzz_fuzz_raster_SOURCES = tests/fuzz/fuzz_raster.c $(fuzz_common)
tests_fuzz_fuzz_response_SOURCES = tests/fuzz/fuzz_response.c $(fuzz_common)
tests_fuzz_fuzz_same_SOURCES = tests/fuzz/fuzz_same.c $(fuzz_common) \
	$(same)
tests_fuzz_fuzz_seal_SOURCES = tests/fuzz/fuzz_seal.c $(fuzz_common)
tests_fuzz_fuzz_status_SOURCES = tests/fuzz/fuzz_status.c $(fuzz_common)
tests_fuzz_fuzz_text_SOURCES = tests/fuzz/fuzz_text.c $(fuzz_common)
tests_fuzz_fuzz_time_SOURCES = tests/fuzz/fuzz_time.c $(fuzz_common)
tests_fuzz_fuzz_token_SOURCES = tests/fuzz/fuzz_token.c $(fuzz_common)
tests_fuzz_fuzz_url_SOURCES = tests/fuzz/fuzz_url.c $(fuzz_common)
tests_fuzz_fuzz_verbs_SOURCES = tests/fuzz/fuzz_verbs.c $(fuzz_common) \
	daemon/attend.c daemon/listed.c daemon/manager.c daemon/permit.c \
	daemon/tallies.c daemon/verbs.c daemon/watch.c
tests_fuzz_fuzz_verbs_LDFLAGS = -Wl,--wrap=dx_http_start \
	-Wl,--wrap=dx_http_cancel -Wl,--wrap=dx_http_run
tests_fuzz_fuzz_document_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_raster_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_same_CFLAGS = $(AM_CFLAGS) $(POPPLER_CFLAGS) $(QPDF_CFLAGS)
tests_fuzz_fuzz_same_LDADD = $(fuzz_libs) $(POPPLER_LIBS)
tests_fuzz_fuzz_text_LDADD = $(fuzz_libs)
nodist_EXTRA_tests_fuzz_fuzz_document_SOURCES = filter/none.cc
nodist_EXTRA_tests_fuzz_fuzz_raster_SOURCES = filter/none.cc
nodist_EXTRA_tests_fuzz_fuzz_same_SOURCES = filter/none.cc
nodist_EXTRA_tests_fuzz_fuzz_text_SOURCES = filter/none.cc

# The text module, linked instead of loaded.
check_LIBRARIES = tests/fuzz/libtext.a
tests_fuzz_libtext_a_SOURCES = $(text_sources)
tests_fuzz_libtext_a_CFLAGS = $(AM_CFLAGS) $(TEXT_CFLAGS)
fuzz_libs = $(FUZZ_ENGINE) tests/fuzz/libtext.a $(filter_libs) $(TEXT_LIBS)

EXTRA_DIST += tests/fuzz/README.md tests/fuzz/corpus tests/fuzz/qpdf.sh \
	tests/fuzz/run.sh

# Each target for so many seconds.
SECONDS = 60
fuzz: ppd/docextract.ppd
	@bash $(srcdir)/tests/fuzz/run.sh $(SECONDS)
.PHONY: fuzz
