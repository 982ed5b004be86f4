/*
 * fuzz_list.c - the list of print jobs, read page by page from a cupsd whose
 * jobs come and go between two pages. Each line of the input is what happens
 * before a page is requested:
 *
 *   + PRIORITY     a new job; the first ones are there at the beginning
 *   * PRIORITY     the same, with more attributes than can be read
 *   - PLACE        the job at this place ends
 *   ! KIND         the next page fails: no response, refused, or not readable
 *   anything else  the page
 *
 * Whatever happens: the list ends, and if it is complete, each job that was
 * there from the first page to the last is in it. A page has 4 jobs.
 */
#include "tests/fuzz/fuzz.h"

#include <cups/cups.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/cupsd.h"
#include "lib/base/clock.h"
#include "tests/unit/fake_http.h"

#define JOBS_MAX 40
#define PAGES_MAX 2000
#define INPUT_MAX 400 /* more takes long, and finds nothing else */

struct job {
  int id, priority;
  bool is_large, was_there; /* was_there: since the list was requested */
};

static struct fake {
  struct job jobs[JOBS_MAX];
  int count, last_id;
  int index, limit; /* of the open request; index 0: none */
  dx_http_done *done;
  void *ctx;
} fake;

static const struct dx_config config = {.service_count = 0};

/* ---- the transport ---- */

struct bytes {
  const char *at;
  size_t left;
};

static ssize_t take(void *ctx, ipp_uchar_t *to, size_t len)
{
  struct bytes *bytes = ctx;

  len = len < bytes->left ? len : bytes->left;
  memcpy(to, bytes->at, len);
  bytes->at += len;
  bytes->left -= len;
  return (ssize_t)len;
}

static ssize_t put(void *ctx, ipp_uchar_t *from, size_t len)
{
  dx_buf_add(ctx, from, len);
  return (ssize_t)len;
}

enum dx_code __wrap_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *request,
                                  struct dx_http_call **ret_call,
                                  struct dx_err *err)
{
  struct bytes bytes = {request->body, request->body_len};
  ipp_t *ipp = ippNew();

  (void)http;
  (void)err;
  HOLDS(fake.index == 0);
  HOLDS(ippReadIO(&bytes, take, 1, NULL, ipp) == IPP_STATE_DATA);
  HOLDS(ippGetOperation(ipp) == IPP_OP_GET_JOBS);
  fake.index =
      ippGetInteger(ippFindAttribute(ipp, "first-index", IPP_TAG_INTEGER), 0);
  fake.limit =
      ippGetInteger(ippFindAttribute(ipp, "limit", IPP_TAG_INTEGER), 0);
  HOLDS(fake.index > 0 && fake.limit > 0);
  fake.done = request->done;
  fake.ctx = request->ctx;
  ippDelete(ipp);
  *ret_call = (struct dx_http_call *)(void *)&fake;
  return DX_OK;
}

void __wrap_dx_http_cancel(struct dx_http_call **call)
{
  if (*call != NULL)
    fake.index = 0;
  *call = NULL;
}

static void respond(enum dx_code code, const struct dx_buf *bytes)
{
  struct dx_http_response response = {
      .err.code = code,
      .status = code == DX_E_NET ? 0 : 200,
      .body = bytes != NULL && bytes->data != NULL ? bytes->data : "",
      .body_len = bytes != NULL ? bytes->len : 0};

  fake.index = 0;
  fake.done(fake.ctx, &response);
}

/* The page that is requested, as cupsd sends it. */
static void respond_page(ipp_status_t status)
{
  ipp_t *ipp = ippNew();
  struct dx_buf bytes = {0};
  int i, n = 0;
  bool is_large = false;

  (void)ippSetStatusCode(ipp, status);
  for (i = fake.index - 1; i < fake.count && n < fake.limit; i++, n++) {
    if (n > 0)
      ippAddSeparator(ipp);
    ippAddInteger(ipp, IPP_TAG_JOB, IPP_TAG_INTEGER, "job-id", fake.jobs[i].id);
    ippAddInteger(ipp, IPP_TAG_JOB, IPP_TAG_ENUM, "job-state", IPP_JSTATE_HELD);
    is_large |= fake.jobs[i].is_large;
  }
  HOLDS(ippWriteIO(&bytes, put, 1, NULL, ipp) == IPP_STATE_DATA);
  ippDelete(ipp);
  respond(is_large ? DX_E_RESPONSE : DX_OK, is_large ? NULL : &bytes);
  dx_buf_release(&bytes);
}

/* ---- what happens ---- */

/* By priority, then by id, as cupsd sorts them. */
static void add(int priority, bool is_large, bool was_there)
{
  int i;

  if (fake.count == JOBS_MAX)
    return;
  for (i = fake.count; i > 0 && fake.jobs[i - 1].priority < priority; i--)
    fake.jobs[i] = fake.jobs[i - 1];
  fake.jobs[i] = (struct job){++fake.last_id, priority, is_large, was_there};
  fake.count++;
}

static void end(int place)
{
  if (fake.count == 0)
    return;
  place %= fake.count;
  memmove(&fake.jobs[place], &fake.jobs[place + 1],
          (size_t)(fake.count - place - 1) * sizeof(fake.jobs[0]));
  fake.count--;
}

/* Handles the next line; false if the input is over. */
static bool step(struct fuzz_input *in, bool *ret_is_page)
{
  char *line = fuzz_line(in);
  int number = line[0] != '\0' ? abs(atoi(line + 1)) : 0;

  *ret_is_page = false;
  switch (line[0]) {
  case '+':
  case '*':
    add(number % 101, line[0] == '*', fake.index == 0);
    break;
  case '-':
    end(number);
    break;
  case '!':
    if (fake.index != 0 && number % 3 == 0)
      respond(DX_E_NET, NULL);
    else if (fake.index != 0 && number % 3 == 1)
      respond_page(IPP_STATUS_ERROR_NOT_AUTHORIZED);
    else if (fake.index != 0)
      respond(DX_OK, NULL);
    break;
  default:
    *ret_is_page = true;
  }
  free(line);
  return in->left > 0;
}

static void check_list(const struct cupsd *cupsd)
{
  int i;

  for (i = 0; i < fake.count; i++)
    if (fake.jobs[i].was_there && cupsd->active.gaps == 0)
      HOLDS(cupsd_active_state(cupsd, fake.jobs[i].id) == IPP_JSTATE_HELD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  int64_t now = dx_monotonic_ms();
  struct cupsd cupsd;
  bool is_page = false, goes_on = size > 0 && size <= INPUT_MAX;
  int pages = 0;

  memset(&fake, 0, sizeof(fake));
  cupsd_start(&cupsd, NULL, &config);
  while (goes_on && !is_page)
    goes_on = step(&in, &is_page);
  (void)cupsd_active(&cupsd, now);
  while (fake.index != 0) {
    HOLDS(++pages < PAGES_MAX);
    is_page = true;
    if (goes_on)
      goes_on = step(&in, &is_page);
    if (is_page && fake.index != 0)
      respond_page(IPP_STATUS_OK);
  }
  if (cupsd_active(&cupsd, now) == CUPSD_LIST_KNOWN)
    check_list(&cupsd);
  cupsd_stop(&cupsd);
  return 0;
}
