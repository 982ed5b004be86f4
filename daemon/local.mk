# daemon/ - docextractd: a thin loop around the engine.
# What moves the jobs is a library, for the unit tests.
noinst_LIBRARIES += libdxd.a
libdxd_a_SOURCES = daemon/cupsd.c daemon/cupsd.h \
	daemon/service/address.c daemon/service/address.h daemon/service/api.c \
	daemon/service/breaker.c daemon/service/breaker.h \
	daemon/service/api.h daemon/service/http.c daemon/service/http.h \
	daemon/service/jwt.c daemon/service/jwt.h \
	daemon/service/key_format.c daemon/service/key_format.h \
	daemon/service/schedule.c daemon/service/schedule.h \
	daemon/service/rate_limit.c \
	daemon/service/rate_limit.h \
	daemon/service/signed_url.c \
	daemon/service/signed_url.h daemon/service/token.c \
	daemon/service/token.h \
	\
	daemon/engine/blame.c daemon/engine/blame.h daemon/engine/call.c \
	daemon/engine/common.c daemon/engine/deliver.c \
	daemon/engine/engine.c daemon/engine/engine.h \
	daemon/engine/engine_internal.h daemon/engine/fetch.c \
	daemon/engine/hello.c daemon/engine/next.c daemon/engine/on_result.c \
	daemon/engine/order.c daemon/engine/order.h \
	daemon/engine/poll.c daemon/engine/register.c \
	daemon/engine/rest.c daemon/engine/steps.c daemon/engine/upload.c \
	\
	daemon/files.c daemon/files.h daemon/sweep.c daemon/sweep.h

sbin_PROGRAMS += daemon/docextractd
daemon_docextractd_SOURCES = daemon/attend.c daemon/control.c \
	daemon/control.h daemon/main.c \
	daemon/listed.c daemon/manager.c daemon/manager.h daemon/permit.c \
	daemon/status.c daemon/status.h daemon/tallies.c daemon/tallies.h \
	daemon/verbs.c \
	daemon/watch.c daemon/watch.h
daemon_docextractd_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
daemon_docextractd_LDADD = libdxd.a libdx.a $(SYSTEMD_LIBS) $(CURL_LIBS) \
	$(CJSON_LIBS) $(GNUTLS_LIBS) $(OPENSSL_LIBS) $(CUPS_LIBS) -lm

EXTRA_DIST += daemon/docextractd.service.in
nodist_systemdsystemunit_DATA = daemon/docextractd.service
CLEANFILES += $(nodist_systemdsystemunit_DATA)
$(nodist_systemdsystemunit_DATA): daemon/%: $(srcdir)/daemon/%.in Makefile
	$(AM_V_GEN)$(MKDIR_P) daemon && sed \
	-e 's|@sbindir[@]|$(sbindir)|' \
	-e 's|@cups_serverroot[@]|$(cups_serverroot)|' \
	-e 's|@DX_SERVICE_USER[@]|$(DX_SERVICE_USER)|' \
	$(srcdir)/$@.in > $@
