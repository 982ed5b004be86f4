# filter/local.mk - todocextract, which makes one document one entry of a bundle,
# the module that it loads to write text, and todocextract-check, which runs
# before the converters of CUPS.
# What converts a document is a library, for the tests.
noinst_LIBRARIES += libdxf.a
libdxf_a_SOURCES = filter/bmp.c filter/ccitt.c \
	filter/coded.c filter/coded.h filter/codecs.h \
	filter/content.c filter/content.h \
	filter/document.c filter/document.h filter/drawn.c filter/drawn.h \
	filter/exif.c filter/exif.h \
	filter/flatten.c filter/flatten.h filter/gif.c \
	filter/handover.c filter/handover.h \
	filter/image_pdf.c filter/image_pdf.h \
	filter/isolate.c filter/isolate.h filter/jbig2.c filter/jpeg.c \
	filter/jpx.c \
	filter/options.c filter/options.h \
	filter/pdf.c filter/pdf.h filter/pdf_file.c filter/pdf_file.h \
	filter/png.c \
	filter/pnm.c filter/postscript.c filter/postscript.h \
	filter/program.c filter/program.h \
	filter/qpdf.cc filter/qpdf.h filter/raster.c filter/raster.h \
	filter/receive.c filter/receive.h \
	filter/stream.c filter/stream.h filter/task.h \
	filter/text.h filter/text_module.c filter/tiff.c \
	filter/unpack.c filter/unpack.h
libdxf_a_CPPFLAGS = $(AM_CPPFLAGS) -DDX_PKGLIBDIR='"$(pkglibdir)"' \
	-DDX_GHOSTSCRIPT='"$(GHOSTSCRIPT)"'
libdxf_a_CFLAGS = $(AM_CFLAGS) $(QPDF_CFLAGS) $(TIFF_CFLAGS) $(JPEG_CFLAGS) \
	$(PNG_CFLAGS)
libdxf_a_CXXFLAGS = $(AM_CXXFLAGS) $(QPDF_CFLAGS)

cupsfilter_PROGRAMS += todocextract
todocextract_SOURCES = filter/todocextract.c
# Links with $(CXX), because of qpdf.cc.
nodist_EXTRA_todocextract_SOURCES = filter/none.cc
# Whatever a library loads costs each document time: only what is needed.
filter_libs = libdxf.a libdx.a $(CJSON_LIBS) $(QPDF_LIBS) $(GNUTLS_LIBS) $(SECCOMP_LIBS) \
	$(ZLIB_LIBS) $(DEFLATE_LIBS) $(CUPS_LIBS) $(TIFF_LIBS) $(JPEG_LIBS) $(PNG_LIBS) \
	$(GIF_LIBS) -lm
todocextract_LDADD = $(filter_libs)

cupsfilter_PROGRAMS += todocextract-check
todocextract_check_SOURCES = filter/check.c
nodist_EXTRA_todocextract_check_SOURCES = filter/none.cc
todocextract_check_LDADD = $(filter_libs)

# A module that is loaded only for text (filter/text.h). For Automake it is a
# program, but a library is installed without the right to be run.
text_sources = filter/reading.c filter/reading.h filter/text.c filter/text.h \
	filter/windows1252.c filter/windows1252.h
textmoduledir = $(pkglibdir)
textmodule_DATA = docextract-text.so
EXTRA_PROGRAMS += docextract-text.so
CLEANFILES += docextract-text.so
docextract_text_so_SOURCES = $(text_sources)
docextract_text_so_CFLAGS = $(AM_CFLAGS) $(TEXT_CFLAGS) -fPIC
docextract_text_so_LDFLAGS = -shared $(DX_HARDENING_MODULE)
docextract_text_so_LDADD = $(TEXT_LIBS) -lm
