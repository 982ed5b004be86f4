# lib/ - everything that can be tested without a scheduler
noinst_LIBRARIES += libdx.a
libdx_a_SOURCES = \
	lib/api.c lib/api.h lib/buf.c lib/buf.h lib/bundle.c lib/bundle.h \
	lib/clock.c lib/clock.h lib/config.c lib/config.h lib/config_parts.h \
	lib/config_print.c lib/config_read.c lib/config_value.c lib/digest.c \
	lib/digest.h lib/drop.c lib/drop.h lib/engine.c lib/engine.h lib/engine_call.c \
	lib/engine_fetch.c lib/engine_parts.h lib/engine_upload.c lib/err.c \
	lib/err.h lib/fs.c lib/fs.h lib/http.c lib/http.h lib/job.c lib/job.h \
	lib/journal.c lib/jwt.c lib/jwt.h lib/json.c lib/json.h lib/kind.c lib/kind.h lib/log.c lib/log.h \
	lib/name.c lib/name.h lib/pace.c \
	lib/pace.h lib/policy.h lib/poll.c lib/poll.h lib/shared.c lib/shared.h \
	lib/spool.c lib/spool.h \
	lib/states.c lib/states.h lib/times.c lib/times.h lib/token.c lib/token.h lib/utf8.c \
	lib/utf8.h
