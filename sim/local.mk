# docextract-sim, the simulator of the service. It shares no code with lib/.
bin_PROGRAMS += docextract-sim

docextract_sim_SOURCES = sim/sim.h \
  sim/extract.c sim/fault.c sim/main.c sim/options.c sim/request.c \
  sim/service.c sim/token.c sim/util.c

docextract_sim_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)
docextract_sim_CFLAGS = $(AM_CFLAGS) $(MHD_CFLAGS) $(CJSON_CFLAGS) \
  $(OPENSSL_CFLAGS)
docextract_sim_LDADD = $(MHD_LIBS) $(CJSON_LIBS) $(OPENSSL_LIBS) -lpthread
