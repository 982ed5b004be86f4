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
	tests/fuzz/fuzz_document \
	tests/fuzz/fuzz_history \
	tests/fuzz/fuzz_http \
	tests/fuzz/fuzz_journal \
	tests/fuzz/fuzz_json \
	tests/fuzz/fuzz_name \
	tests/fuzz/fuzz_options \
	tests/fuzz/fuzz_response \
	tests/fuzz/fuzz_same \
	tests/fuzz/fuzz_text \
	tests/fuzz/fuzz_time \
	tests/fuzz/fuzz_token \
	tests/fuzz/fuzz_url
fuzz_common = tests/fuzz/fuzz.c tests/fuzz/fuzz.h
fuzz_text = filter/text.c
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
tests_fuzz_fuzz_codecs_SOURCES = tests/fuzz/fuzz_codecs.c $(fuzz_common) \
	filter/codecs.c filter/codecs.h filter/jpeg.c filter/png.c
tests_fuzz_fuzz_codecs_CFLAGS = $(AM_CFLAGS) $(JPEG_CFLAGS) $(PNG_CFLAGS)
tests_fuzz_fuzz_codecs_LDADD = $(FUZZ_ENGINE) $(unit_libs) $(JPEG_LIBS) \
	$(PNG_LIBS) $(ZLIB_LIBS)
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c $(fuzz_common)
tests_fuzz_fuzz_document_SOURCES = tests/fuzz/fuzz_document.c $(fuzz_common) \
	$(filter_shared) $(fuzz_text)
tests_fuzz_fuzz_history_SOURCES = tests/fuzz/fuzz_history.c $(fuzz_common)
tests_fuzz_fuzz_http_SOURCES = tests/fuzz/fuzz_http.c $(fuzz_common)
tests_fuzz_fuzz_journal_SOURCES = tests/fuzz/fuzz_journal.c $(fuzz_common)
tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c $(fuzz_common)
tests_fuzz_fuzz_name_SOURCES = tests/fuzz/fuzz_name.c $(fuzz_common)
tests_fuzz_fuzz_options_SOURCES = tests/fuzz/fuzz_options.c $(fuzz_common) \
	filter/options.c
tests_fuzz_fuzz_response_SOURCES = tests/fuzz/fuzz_response.c $(fuzz_common)
tests_fuzz_fuzz_same_SOURCES = tests/fuzz/fuzz_same.c $(fuzz_common) \
	$(filter_shared) $(fuzz_text) $(same)
tests_fuzz_fuzz_text_SOURCES = tests/fuzz/fuzz_text.c $(fuzz_common) \
	$(filter_shared) $(fuzz_text)
tests_fuzz_fuzz_time_SOURCES = tests/fuzz/fuzz_time.c $(fuzz_common)
tests_fuzz_fuzz_token_SOURCES = tests/fuzz/fuzz_token.c $(fuzz_common)
tests_fuzz_fuzz_url_SOURCES = tests/fuzz/fuzz_url.c $(fuzz_common)
tests_fuzz_fuzz_document_CPPFLAGS = $(filter_cppflags)
tests_fuzz_fuzz_document_CFLAGS = $(filter_cflags) $(TEXT_CFLAGS)
tests_fuzz_fuzz_document_LDADD = $(FUZZ_ENGINE) $(filter_libs) $(TEXT_LIBS)
tests_fuzz_fuzz_same_CPPFLAGS = $(filter_cppflags)
tests_fuzz_fuzz_same_CFLAGS = $(filter_cflags) $(TEXT_CFLAGS) $(POPPLER_CFLAGS)
tests_fuzz_fuzz_same_LDADD = $(FUZZ_ENGINE) $(filter_libs) $(TEXT_LIBS) \
	$(POPPLER_LIBS)
tests_fuzz_fuzz_text_CPPFLAGS = $(filter_cppflags)
tests_fuzz_fuzz_text_CFLAGS = $(filter_cflags) $(TEXT_CFLAGS)
tests_fuzz_fuzz_text_LDADD = $(FUZZ_ENGINE) $(filter_libs) $(TEXT_LIBS)

EXTRA_DIST += tests/fuzz/README.md tests/fuzz/corpus tests/fuzz/qpdf.sh \
	tests/fuzz/run.sh

# Each target for so many seconds.
SECONDS = 60
fuzz: ppd/docextract.ppd
	@bash $(srcdir)/tests/fuzz/run.sh $(SECONDS)
.PHONY: fuzz
