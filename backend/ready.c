/*
 * ready.c - the wait for what a print job needs on this computer, while cupsd
 * still has the documents: without the seal, filters write nothing; if they get
 * none, they fail, and cupsd runs the job again.
 */
#include "backend/backend.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/language.h"
#include "lib/base/sandbox.h"

#define READY_MS 45000 /* below DX_SEAL_WAIT_MS of the filter */
#define READY_AGAIN_MS 3000

/* ---- the conditions ---- */

static enum dx_code ready_user(struct backend *b, struct dx_err *err)
{
  *err = b->entered;
  return err->code;
}

static enum dx_code ready_uri(struct backend *b, struct dx_err *err)
{
  return backend_read_uri(b, getenv("DEVICE_URI"), err);
}

/* Reads the file again each time: an administrator may be correcting it. */
static enum dx_code ready_config(struct backend *b, struct dx_err *err)
{
  dx_spool_close(&b->spool);
  b->conf = NULL;
  dx_config_free(&b->config);
  return dx_config_load(dx_config_path(), &b->config, NULL, err);
}

static enum dx_code ready_section(struct backend *b, struct dx_err *err)
{
  b->conf = dx_config_service(b->config, b->service);
  if (b->conf != NULL)
    return DX_OK;
  return dx_fail(err, DX_E_CONFIG, 0,
                 "service '%s' is not in '%s'; add a section <Service %s>",
                 b->service, b->config->path, b->service);
}

static enum dx_code ready_spool(struct backend *b, struct dx_err *err)
{
  enum dx_code code = dx_spool_open(b->config->spool_dir, &b->spool, err);

  return code == DX_OK ? dx_fs_probe(b->config->spool_dir, err) : code;
}

static enum dx_code ready_sandbox(struct backend *b, struct dx_err *err)
{
  if (b->conf->sandbox == DX_SANDBOX_IS_OPTIONAL ||
      (dx_sandbox_test() & DX_SANDBOX_SECCOMP) != 0)
    return DX_OK;
  return dx_fail(err, DX_E_CONFIG, 0, DX_SANDBOX_MISSING);
}

/* Later it is not possible to determine which documents belong to the job. */
static enum dx_code ready_cupsd(struct backend *b, struct dx_err *err)
{
  dx_print_job_ask(b->job_id, b->uuid, b->user, BACKEND_ASK_MS, term_came,
                   &b->before);
  /* An unusual answer, unlike a hidden one, is about this job only: it is held
   * when it has arrived. */
  if (b->before.answer != DX_ANSWER_HIDDEN ||
      dx_print_job_is_unusable(&b->before))
    return DX_OK;
  return dx_fail(err, DX_E_CONFIG, 0,
                 "cupsd hides the print job from its owner; check "
                 "JobPrivateAccess and JobPrivateValues in cupsd.conf");
}

/* In this order, because each one may use what those before it have set. */
static enum dx_code (*const conditions[])(struct backend *,
                                          struct dx_err *err) = {
    ready_user,  ready_uri,     ready_config, ready_section,
    ready_spool, ready_sandbox, ready_cupsd};

static enum dx_code ready_check(struct backend *b, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < sizeof(conditions) / sizeof(conditions[0]);
       i++)
    code = conditions[i](b, err);
  if (b->config != NULL)
    dx_language_use(b->config->language);
  return code;
}

/* ---- the wait ---- */

enum dx_code backend_await_ready(struct backend *b, struct dx_err *err)
{
  struct pollfd fd = {.fd = term_wake_fd(), .events = POLLIN};
  int64_t until_ms = dx_monotonic_ms() + READY_MS;
  struct dx_err told = {.code = DX_OK};

  for (;;) {
    enum dx_code code = ready_check(b, err);

    if (term_came())
      return dx_fail(err, DX_E_STOPPED, 0, "stopped");
    if (code != DX_OK && dx_monotonic_ms() >= until_ms)
      return code;
    if (code == DX_OK && told.code == DX_OK)
      return DX_OK;
    if (code == DX_OK) {
      status_not_ready(NULL);
      return DX_OK;
    }
    if (told.code != code || strcmp(told.text, err->text) != 0)
      status_not_ready(err);
    told = *err;
    (void)poll(&fd, 1, READY_AGAIN_MS);
  }
}
