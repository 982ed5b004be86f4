# docextract-sim, the stand-in for the service. It shares no code with lib/.
bin_PROGRAMS += docextract-sim

docextract_sim_SOURCES = \
  sim/api.c sim/api.h \
  sim/buf.c sim/buf.h \
  sim/call.h \
  sim/clock.c sim/clock.h \
  sim/fault.c sim/fault.h \
  sim/field.c sim/field.h \
  sim/file.c sim/file.h \
  sim/http.c sim/http.h \
  sim/id.c sim/id.h \
  sim/log.c sim/log.h \
  sim/main.c \
  sim/net.c sim/net.h \
  sim/options.c sim/options.h \
  sim/pdf.c sim/pdf.h \
  sim/rate.c sim/rate.h \
  sim/read.c sim/read.h \
  sim/sign.c sim/sign.h \
  sim/storage.c sim/storage.h \
  sim/store.c sim/store.h \
  sim/token.c sim/token.h
docextract_sim_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)
docextract_sim_CFLAGS = $(AM_CFLAGS) $(MHD_CFLAGS) $(CJSON_CFLAGS) \
  $(OPENSSL_CFLAGS)
docextract_sim_LDADD = $(MHD_LIBS) $(CJSON_LIBS) $(OPENSSL_LIBS) -lpthread -lm
