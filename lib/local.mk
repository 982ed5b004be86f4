# lib/ - everything that can be tested without a scheduler, in five layers.
# A directory may include itself and what is listed before it here, as
# tests/checks/checks.sh proves: base; config; service and job, which do not
# know each other; engine.
noinst_LIBRARIES += libdx.a
libdx_a_SOURCES = \
	lib/base/buf.c lib/base/buf.h lib/base/clock.c lib/base/clock.h \
	lib/base/digest.c lib/base/digest.h lib/base/err.c lib/base/err.h \
	lib/base/fs.c lib/base/fs.h lib/base/json.c lib/base/json.h \
	lib/base/json_scan.c lib/base/json_scan.h \
	lib/base/log.c lib/base/log.h lib/base/policy.h \
	lib/base/process.c lib/base/process.h lib/base/sandbox.c \
	lib/base/sandbox.h lib/base/shared.c lib/base/shared.h \
	lib/base/user.c lib/base/user.h lib/base/utf8.c lib/base/utf8.h \
	\
	lib/config/config.c lib/config/config.h lib/config/config_internal.h \
	lib/config/lines.c lib/config/lines.h lib/config/load.c lib/config/mistakes.c \
	lib/config/parse.c lib/config/print.c lib/config/token_source.h \
	\
	lib/service/address.c lib/service/address.h lib/service/api.c \
	lib/service/api.h lib/service/counters.c lib/service/counters.h \
	lib/service/http.c lib/service/http.h \
	lib/service/jwt.c lib/service/jwt.h \
	lib/service/latency.c lib/service/latency.h lib/service/poll.c \
	lib/service/poll.h lib/service/predict.c lib/service/rate_limit.c lib/service/rate_limit.h \
	lib/service/result_check.c lib/service/result_check.h \
	lib/service/signed_url.c lib/service/signed_url.h \
	lib/service/token.c lib/service/token.h \
	lib/service/token_command.c lib/service/token_input.c \
	lib/service/token_internal.h \
	\
	lib/job/adopt.c lib/job/adopt.h lib/job/announce.c \
	lib/job/announce.h lib/job/bundle.c lib/job/bundle.h \
	lib/job/failures.c lib/job/failures.h lib/job/filename.c \
	lib/job/filename.h lib/job/job.c lib/job/job.h lib/job/journal.c \
	lib/job/manifest.c lib/job/manifest.h lib/job/merge.c lib/job/merge.h lib/job/mime.c \
	lib/job/mime.h lib/job/print_job.c lib/job/print_job.h \
	lib/job/results.c lib/job/results.h lib/job/seal.c lib/job/seal.h \
	lib/job/sentence.c lib/job/sentence.h \
	lib/job/spool.c lib/job/spool.h lib/job/spool_internal.h lib/job/state.c \
	lib/job/state.h lib/job/status.c lib/job/status.h \
	lib/job/status_client.c lib/job/status_client.h \
	lib/job/sweep.c lib/job/sweep.h \
	\
	lib/engine/call.c lib/engine/engine.c lib/engine/engine.h \
	lib/engine/engine_internal.h lib/engine/fetch.c lib/engine/metrics.c \
	lib/engine/metrics.h lib/engine/report.c \
	lib/engine/upload.c
