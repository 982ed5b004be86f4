# docextract-sim, the simulator of the service. It shares no code with lib/.
bin_PROGRAMS += docextract-sim

docextract_sim_SOURCES = \
  sim/api.c \
  sim/extract.c sim/extract.h \
  sim/fault.c sim/fault.h \
  sim/fields.c sim/fields.h \
  sim/main.c \
  sim/options.c sim/options.h \
  sim/request.c sim/request.h \
  sim/storage.c \
  sim/store.c sim/store.h \
  sim/token.c sim/token.h \
  sim/util.c sim/util.h
docextract_sim_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)
docextract_sim_CFLAGS = $(AM_CFLAGS) $(MHD_CFLAGS) $(CJSON_CFLAGS) \
  $(OPENSSL_CFLAGS)
docextract_sim_LDADD = $(MHD_LIBS) $(CJSON_LIBS) $(OPENSSL_LIBS) -lpthread
