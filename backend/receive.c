/*
 * receive.c - stores stdin in a directory below incoming/. Nothing is committed
 * here.
 */
#include "backend/backend.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <unistd.h>

#include "lib/base/policy.h"
#include "lib/base/sandbox.h"
#include "lib/spool/sentence.h"

#ifndef DX_SILENCE_MS       /* tests build with a short one */
#define DX_SILENCE_MS 60000 /* nothing on stdin, beyond the filter's time */
#endif

/* Waits for data: E_STOPPED after SIGTERM; E_MISSING after a timeout. */
static enum dx_code wait_for_data(void *ctx, int fd, struct dx_err *err)
{
  struct backend *b = ctx;
  struct pollfd fds[2] = {{.fd = fd, .events = POLLIN},
                          {.fd = term_wake_fd(), .events = POLLIN}};
  /* Both the conversion and the filter may take up to the time limit. */
  int64_t silent_ms =
      DX_SILENCE_MS + 2 * (b->conf != NULL ? b->conf->filter_time_limit_ms
                                           : DX_FILTER_LIMIT_MS);
  int n;

  do
    n = term_came() ? 1 : poll(fds, 2, (int)silent_ms);
  while (n < 0 && errno == EINTR);
  if (term_came())
    return dx_fail(err, DX_E_STOPPED, 0, "stopped while receiving");
  if (n > 0)
    return DX_OK;
  b->silent = true;
  return dx_fail(err, DX_E_MISSING, 0,
                 "no data was received for %lld minutes; print the job again, "
                 "or look for the filter that hangs in the error_log of CUPS",
                 (long long)silent_ms / 60000);
}

void backend_drain(struct backend *b)
{
  char buffer[8192];
  struct dx_err err;

  while (b->in_fd >= 0 && !b->silent) {
    ssize_t n;

    if (wait_for_data(b, b->in_fd, &err) != DX_OK)
      return;
    n = read(b->in_fd, buffer, sizeof(buffer));
    if (n == 0 || (n < 0 && errno != EINTR))
      break;
  }
  b->eof = true;
}

static enum dx_code not_filtered(struct dx_err *err)
{
  return dx_fail(err, DX_E_RAW, 0,
                 "the job did not come through todocextract: the queue has no "
                 "driver, or that of an earlier version");
}

enum dx_code backend_receive(struct backend *b, struct dx_err *err)
{
  struct dx_bundle_reader *reader;
  struct dx_entry entry;
  enum dx_code code;

  if (b->is_raw)
    return not_filtered(err);
  code = dx_spool_receive(&b->spool, &b->job, err);
  if (code != DX_OK)
    return code;
  reader = dx_bundle_reader_new(b->in_fd, b->seal, wait_for_data, b);
  if (reader == NULL)
    return dx_fail_nomem(err);
  while (code == DX_OK && !b->eof) {
    code = dx_bundle_next(reader, &entry, &b->eof, err);
    if ((code == DX_E_BUNDLE || code == DX_E_RAW) &&
        b->job->document_count == 0)
      code = not_filtered(err);
    if (code != DX_OK || b->eof)
      break;
    /* Such a job is probably a mistake, and is refused as a whole. */
    if ((int64_t)backend_count_documents(b->job) +
            (entry.kind != DX_KIND_SHEET) >
        b->conf->max_documents) {
      code =
          dx_fail(err, DX_E_TOO_MANY, 0,
                  "the job has more documents than MaxDocumentsPerJob (%" PRId64
                  "); nothing was sent, print fewer at a time",
                  b->conf->max_documents);
    } else if (entry.reason == DX_REASON_SANDBOX) {
      code = dx_fail(err, DX_E_CONFIG, 0, DX_SANDBOX_MISSING);
    } else {
      status_say("INFO", DX_SAY_RECEIVING, b->job->document_count + 1);
      code = dx_spool_add_document(b->job, &entry, reader, err);
    }
  }
  dx_bundle_reader_free(&reader);
  return code;
}
