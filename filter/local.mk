# filter/local.mk - todocextract, one document in, one entry of a bundle out.
cupsfilter_PROGRAMS += todocextract
todocextract_SOURCES = filter/todocextract.c filter/pdf.c filter/pdf.h \
	filter/separated.c filter/separated.h filter/strip.c filter/strip.h \
	filter/image.c filter/image.h \
	filter/options.c filter/options.h
todocextract_CFLAGS = $(AM_CFLAGS) $(QPDF_CFLAGS)
todocextract_LDADD = libdx.a $(QPDF_LIBS) $(CUPS_LIBS) $(CJSON_LIBS) \
	$(OPENSSL_LIBS) $(ZLIB_LIBS)
