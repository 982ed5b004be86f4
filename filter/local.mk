# filter/local.mk - the filters: todocextract makes one document one entry of a
# bundle; checkdocextract checks a PDF before that.
cupsfilter_PROGRAMS += checkdocextract todocextract
filter_shared = filter/allowed.c filter/allowed.h filter/budget.c \
	filter/budget.h filter/common.c filter/common.h filter/isolate.c \
	filter/isolate.h filter/libc.c filter/libc.h \
	filter/pdf.c filter/pdf.h filter/separated.c filter/separated.h \
	filter/strip.c filter/strip.h filter/tail.c filter/tail.h \
	filter/walk.c filter/walk.h filter/whole.c filter/whole.h
# Whatever a library loads costs each document time: only what is needed.
filter_libs = libdx.a $(QPDF_LIBS) $(GNUTLS_LIBS) $(SECCOMP_LIBS) $(ZLIB_LIBS)
checkdocextract_SOURCES = filter/checkdocextract.c $(filter_shared) \
	filter/image.c filter/image.h
checkdocextract_CFLAGS = $(AM_CFLAGS) $(QPDF_CFLAGS)
checkdocextract_LDADD = $(filter_libs)
todocextract_SOURCES = filter/todocextract.c $(filter_shared) \
	filter/image.c filter/image.h \
	filter/image_pdf.c filter/image_pdf.h \
	filter/options.c filter/options.h \
	filter/tiff.c filter/tiff.h
todocextract_CFLAGS = $(AM_CFLAGS) $(QPDF_CFLAGS) $(TIFF_CFLAGS)
todocextract_LDADD = $(filter_libs) $(CUPS_LIBS) $(TIFF_LIBS)
