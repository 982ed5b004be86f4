# tests/ - unit tests, run by "make check"; everything else by ./test.sh
unit_libs = libdxd.a libdx.a $(CMOCKA_LIBS) $(CURL_LIBS) $(CJSON_LIBS) \
	$(GNUTLS_LIBS) $(OPENSSL_LIBS) $(CUPS_LIBS) -lm
EXTRA_DIST += tests/formats/1.0/bundle tests/formats/1.0/finished.json \
	tests/formats/1.0/processing.json tests/formats/1.0/received.json \
	tests/formats/1.0/extracted.job.json tests/formats/1.0/refused.job.json \
	tests/formats/1.1/finished.json tests/formats/1.1/processing.json \
	tests/formats/1.1/received.json tests/formats/1.1/waiting.json \
	doc/formats.md \
	tests/unit/unit.h tests/unit/temp_dir.h \
	tests/unit/bytes.h tests/unit/engine_fixture.h \
	tests/unit/fake_http.h tests/unit/flate.h \
	tests/unit/ipp.h tests/unit/loopback.h \
	tests/faults/list tests/faults/run.sh \
	tests/sim/sim_test.sh \
	tests/filter/lib.sh tests/filter/filter_test.sh \
	tests/filter/active_test.sh tests/filter/bmp_test.sh \
	tests/filter/check_test.sh \
	tests/filter/corpus.sh tests/filter/foreign_test.sh \
	tests/filter/locale_test.sh tests/filter/routes_test.sh \
	tests/filter/same_test.sh tests/filter/text_test.sh tests/filter/tiff_test.sh \
	tests/filter/whole_test.sh \
	tests/hostile/bundle.sh tests/hostile/client.sh \
	tests/hostile/documents.sh tests/hostile/jobs.sh \
	tests/hostile/machine.sh tests/hostile/mkhostile \
	tests/hostile/mkthirty tests/hostile/secrets.sh tests/hostile/thirty.sh

# Makes what faxes and scanners make, for tests/filter and tests/it.
check_PROGRAMS += tests/filter/mktiff
tests_filter_mktiff_SOURCES = tests/filter/mktiff.c
tests_filter_mktiff_CFLAGS = $(AM_CFLAGS) $(TIFF_CFLAGS)
tests_filter_mktiff_LDADD = $(TIFF_LIBS)

# Compares what is sent with the document, for tests/filter, tests/nightly
# and tests/fuzz.
same = tests/helper/same.c tests/helper/same.h
if TESTS_ON
check_PROGRAMS += tests/filter/same
tests_filter_same_SOURCES = tests/filter/same.c $(same)
tests_filter_same_CFLAGS = $(AM_CFLAGS) $(POPPLER_CFLAGS) $(QPDF_CFLAGS)
tests_filter_same_LDADD = $(POPPLER_LIBS) $(QPDF_LIBS) -lm
endif

# Linked before libdx: --with-user with a user whom every system has.
other_user = lib/base/user.c
with_other_user = $(AM_CPPFLAGS) -UDX_USER -DDX_USER='"games"'

# A unit test is tests/unit/NAME.c and its line here.
LDADD = $(FUZZ_ENGINE) $(unit_libs)
if TESTS_ON
# The longest first. Of those at the top, most wait.
unit_programs = \
	tests/unit/test_isolate \
	tests/model/model_one \
	tests/unit/test_token \
	tests/model/model_two \
	tests/unit/test_hello \
	tests/unit/test_print_job \
	tests/unit/test_text \
	tests/unit/test_engine \
	tests/unit/test_several \
	tests/unit/test_outage \
	tests/unit/test_flatten \
	tests/unit/test_on_result \
	tests/unit/test_http \
	tests/unit/test_api \
	tests/unit/test_arguments \
	tests/unit/test_blame \
	tests/unit/test_breaker \
	tests/unit/test_buf \
	tests/unit/test_bundle \
	tests/unit/test_causes \
	tests/unit/test_channel \
	tests/unit/test_clock \
	tests/unit/test_codecs \
	tests/unit/test_config \
	tests/unit/test_content \
	tests/unit/test_control \
	tests/unit/test_counters \
	tests/unit/test_cupsd \
	tests/unit/test_files \
	tests/unit/test_filter \
	tests/unit/test_formats \
	tests/unit/test_fs \
	tests/unit/test_journal \
	tests/unit/test_jpeg \
	tests/unit/test_json \
	tests/unit/test_json_scan \
	tests/unit/test_key_format \
	tests/unit/test_language \
	tests/unit/test_manager \
	tests/unit/test_merge \
	tests/unit/test_metrics \
	tests/unit/test_mime \
	tests/unit/test_nearest \
	tests/unit/test_once \
	tests/unit/test_order \
	tests/unit/test_pdf_file \
	tests/unit/test_permission \
	tests/unit/test_permit \
	tests/unit/test_pictures \
	tests/unit/test_png \
	tests/unit/test_poll \
	tests/unit/test_program \
	tests/unit/test_rate_limit \
	tests/unit/test_reading \
	tests/unit/test_results \
	tests/unit/test_retention \
	tests/unit/test_rows \
	tests/unit/test_sentence \
	tests/unit/test_signed_url \
	tests/unit/test_spool \
	tests/unit/test_state \
	tests/unit/test_status \
	tests/unit/test_stream \
	tests/unit/test_sweep \
	tests/unit/test_unpack \
	tests/unit/test_user \
	tests/unit/test_watch \
	tests/unit/test_windows1252
check_PROGRAMS += $(unit_programs)
TESTS += $(unit_programs)
# What hangs is named, and its log says in which test.
LOG_COMPILER = timeout
AM_LOG_FLAGS = -k 10 1200

# What these need besides.
tests_model_model_one_SOURCES = tests/model/model_one.c \
	tests/model/walk.c tests/model/walk.h
tests_model_model_two_SOURCES = tests/model/model_two.c \
	tests/model/walk.c tests/model/walk.h
tests_unit_test_arguments_SOURCES = tests/unit/test_arguments.c \
	backend/arguments.c
tests_unit_test_causes_SOURCES = tests/unit/test_causes.c \
	tests/unit/loopback.c tests/unit/engine_fixture.c
tests_unit_test_causes_LDFLAGS = $(fake_http) -Wl,--wrap=fstatvfs64
tests_unit_test_causes_LDADD = $(unit_libs) -lssl -lcrypto
tests_unit_test_codecs_CFLAGS = $(AM_CFLAGS) $(TIFF_CFLAGS)
tests_unit_test_codecs_LDADD = libdxf.a $(unit_libs) $(TIFF_LIBS)
tests_unit_test_http_SOURCES = tests/unit/test_http.c tests/unit/loopback.c
tests_unit_test_http_LDADD = $(unit_libs) -lssl -lcrypto
tests_unit_test_jpeg_CFLAGS = $(AM_CFLAGS) $(JPEG_CFLAGS)
tests_unit_test_jpeg_LDADD = libdxf.a $(unit_libs) $(JPEG_LIBS)
tests_unit_test_png_CFLAGS = $(AM_CFLAGS) $(JPEG_CFLAGS) $(PNG_CFLAGS)
tests_unit_test_png_LDADD = libdxf.a $(unit_libs) $(JPEG_LIBS) $(PNG_LIBS) \
	$(ZLIB_LIBS)
tests_unit_test_status_SOURCES = tests/unit/test_status.c daemon/control.c \
	daemon/status.c daemon/tallies.c
tests_unit_test_status_LDFLAGS = -Wl,--wrap=accept4 -Wl,--wrap=poll \
	-Wl,--wrap=execl
tests_unit_test_control_SOURCES = tests/unit/test_control.c \
	daemon/control.c daemon/control.h
# Faults within faults.
tests_model_model_one_CFLAGS = $(AM_CFLAGS) -Wno-shadow
tests_model_model_two_CFLAGS = $(AM_CFLAGS) -Wno-shadow
engine_fixture = tests/unit/engine_fixture.c
fake_http = -Wl,--wrap=dx_http_start -Wl,--wrap=dx_http_cancel \
	-Wl,--wrap=dx_http_run
tests_unit_test_api_LDFLAGS = $(fake_http)
tests_unit_test_cupsd_LDFLAGS = $(fake_http) -Wl,--wrap=reallocarray
tests_unit_test_engine_SOURCES = tests/unit/test_engine.c $(engine_fixture)
tests_unit_test_engine_LDFLAGS = $(fake_http) \
	-Wl,--wrap=dx_fs_check_free -Wl,--wrap=dx_check_result
tests_unit_test_fs_LDFLAGS = -Wl,--wrap=renameat2 -Wl,--wrap=readdir64
tests_unit_test_manager_SOURCES = tests/unit/test_manager.c \
	daemon/attend.c daemon/listed.c daemon/manager.c daemon/permit.c \
	daemon/tallies.c daemon/verbs.c daemon/watch.c
tests_unit_test_manager_LDFLAGS = $(fake_http)
tests_unit_test_merge_LDFLAGS = -Wl,--wrap=renameat \
	-Wl,--wrap=unlinkat -Wl,--wrap=symlinkat -Wl,--wrap=fsync \
	-Wl,--wrap=dx_cupsd_is_gone
tests_unit_test_once_SOURCES = tests/unit/test_once.c $(engine_fixture)
tests_unit_test_once_LDFLAGS = $(fake_http)
tests_unit_test_outage_SOURCES = tests/unit/test_outage.c $(engine_fixture)
tests_unit_test_outage_LDFLAGS = $(fake_http)
tests_unit_test_permit_SOURCES = tests/unit/test_permit.c \
	daemon/attend.c daemon/listed.c daemon/permit.c daemon/tallies.c
tests_unit_test_results_LDFLAGS = -Wl,--wrap=dx_fs_write
tests_unit_test_rows_SOURCES = tests/unit/test_rows.c $(engine_fixture)
tests_unit_test_rows_LDFLAGS = $(fake_http)
tests_unit_test_several_SOURCES = tests/unit/test_several.c $(engine_fixture)
tests_unit_test_several_LDFLAGS = $(fake_http)
tests_unit_test_spool_LDFLAGS = -Wl,--wrap=renameat \
	-Wl,--wrap=unlinkat -Wl,--wrap=fsync -Wl,--wrap=faccessat \
	-Wl,--wrap=readlinkat
tests_unit_test_isolate_SOURCES = tests/unit/test_isolate.c \
	filter/isolate.c
nodist_EXTRA_tests_unit_test_isolate_SOURCES = filter/none.cc
tests_unit_test_isolate_CPPFLAGS = $(AM_CPPFLAGS) -DDX_PARSE_CPU_S=1
tests_unit_test_isolate_LDFLAGS = -Wl,--wrap=seccomp_load -Wl,--wrap=syscall
tests_unit_test_isolate_LDADD = $(filter_libs) $(unit_libs)
tests_unit_test_filter_LDADD = libdxf.a $(unit_libs)
nodist_EXTRA_tests_unit_test_mime_SOURCES = filter/none.cc
tests_unit_test_mime_LDADD = $(filter_libs) $(unit_libs)
tests_unit_test_pdf_file_LDADD = libdxf.a $(unit_libs)
tests_unit_test_flatten_CFLAGS = $(AM_CFLAGS) $(QPDF_CFLAGS)
nodist_EXTRA_tests_unit_test_flatten_SOURCES = filter/none.cc
tests_unit_test_flatten_LDADD = $(filter_libs) $(unit_libs)
# The module as it was built.
tests_unit_test_text_SOURCES = tests/unit/test_text.c filter/text_module.c
tests_unit_test_text_CPPFLAGS = $(AM_CPPFLAGS) -DDX_PKGLIBDIR='"$(abs_builddir)"'
tests_unit_test_text_LDADD = $(unit_libs) $(SECCOMP_LIBS)
EXTRA_tests_unit_test_text_DEPENDENCIES = docextract-text.so
tests_unit_test_content_LDADD = libdxf.a $(unit_libs)
tests_unit_test_stream_CFLAGS = $(AM_CFLAGS) $(QPDF_CFLAGS) $(JPEG_CFLAGS)
tests_unit_test_stream_LDADD = libdxf.a $(unit_libs) $(QPDF_LIBS) $(JPEG_LIBS) \
	$(TIFF_LIBS) $(DEFLATE_LIBS) $(ZLIB_LIBS)
nodist_EXTRA_tests_unit_test_stream_SOURCES = filter/none.cc
tests_unit_test_unpack_LDADD = libdxf.a $(unit_libs) $(DEFLATE_LIBS) \
	$(ZLIB_LIBS)
tests_unit_test_reading_SOURCES = tests/unit/test_reading.c filter/reading.c \
	filter/windows1252.c
tests_unit_test_windows1252_SOURCES = tests/unit/test_windows1252.c \
	filter/windows1252.c
tests_unit_test_user_SOURCES = tests/unit/test_user.c $(other_user)
tests_unit_test_user_CPPFLAGS = $(with_other_user)
tests_unit_test_user_LDFLAGS = -Wl,--wrap=getpwnam -Wl,--wrap=initgroups
tests_unit_test_watch_SOURCES = tests/unit/test_watch.c daemon/watch.c
tests_unit_test_watch_LDFLAGS = -Wl,--wrap=dx_http_start \
	-Wl,--wrap=dx_http_cancel
tests_unit_test_program_LDADD = libdxf.a $(unit_libs)
tests_unit_test_pictures_LDADD = libdxf.a $(unit_libs) $(GIF_LIBS) $(ZLIB_LIBS)
endif

# The backend with a bundle that a test made, as if a filter had written it.
check_PROGRAMS += tests/helper/sealed
tests_helper_sealed_LDADD =

# A kernel without seccomp.
check_PROGRAMS += tests/helper/noseccomp
tests_helper_noseccomp_LDADD = $(SECCOMP_LIBS)

include tests/crash/local.mk
include tests/fuzz/local.mk
include tests/hostile/local.mk
include tests/it/local.mk
include tests/long/local.mk
include tests/nightly/local.mk
include tests/bench/local.mk

# Formatting, spelling, includes, documents, manual pages, Python, and the shell
# scripts that are installed, in one command.
lint: all
	$(srcdir)/tests/checks/checks.sh
	$(srcdir)/tests/checks/lint.sh
	$(srcdir)/tests/checks/documents.sh
	DX_BUILD=$(abs_builddir) bash $(srcdir)/tests/doc/man.sh
.PHONY: lint
