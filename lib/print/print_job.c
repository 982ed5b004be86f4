/*
 * print_job.c - two requests to cupsd; knows nothing else of CUPS.
 */
#include "lib/print/print_job.h"

#include <cups/cups.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"

#define LOOK_S 0.1 /* how often to consider giving up on a silent cupsd */

static const char *const words[DX_PJ_COUNT] = {
#define X(name, word) [DX_PJ_##name] = word,
    DX_PRINT_JOB_STATES(X)
#undef X
};

const char *dx_print_job_word(enum dx_print_job_state state)
{
  return words[state];
}

bool dx_print_job_is_known(const struct dx_print_job *job)
{
  return job->state != DX_PJ_NOBODY && job->state != DX_PJ_UNKNOWN;
}

static ipp_t *new_request(ipp_op_t op, const char *name, const char *uri)
{
  ipp_t *request = ippNewRequest(op);

  ippAddString(request, IPP_TAG_OPERATION, IPP_TAG_URI, name, NULL, uri);
  ippAddString(request, IPP_TAG_OPERATION, IPP_TAG_NAME, "requesting-user-name",
               NULL, cupsUser());
  return request;
}

static ipp_t *make_request(const char *cups_id)
{
  static const char *const wanted[] = {"job-uuid", "number-of-documents",
                                       "time-at-creation", "job-state",
                                       "job-printer-state-message"};
  ipp_t *request;
  char uri[128];

  (void)snprintf(uri, sizeof(uri), "ipp://localhost/jobs/%.20s", cups_id);
  request = new_request(IPP_OP_GET_JOB_ATTRIBUTES, "job-uri", uri);
  ippAddStrings(request, IPP_TAG_OPERATION, IPP_TAG_KEYWORD,
                "requested-attributes",
                (int)(sizeof(wanted) / sizeof(wanted[0])), NULL, wanted);
  return request;
}

static enum dx_print_job_state state_of(int job_state)
{
  switch (job_state) {
  case IPP_JSTATE_PENDING:
  case IPP_JSTATE_PROCESSING:
    return DX_PJ_WAITING;
  case IPP_JSTATE_HELD:
  case IPP_JSTATE_STOPPED:
    return DX_PJ_HELD;
  case IPP_JSTATE_CANCELED:
    return DX_PJ_CANCELED;
  default:
    return DX_PJ_OVER;
  }
}

static int integer_of(ipp_t *response, const char *name, ipp_tag_t tag)
{
  ipp_attribute_t *attribute = ippFindAttribute(response, name, tag);

  return attribute != NULL ? ippGetInteger(attribute, 0) : 0;
}

static void read_response(ipp_t *response, const char *uuid,
                          struct dx_print_job *ret_job)
{
  ipp_attribute_t *its = ippFindAttribute(response, "job-uuid", IPP_TAG_URI);
  ipp_attribute_t *said =
      ippFindAttribute(response, "job-printer-state-message", IPP_TAG_TEXT);
  int created = integer_of(response, "time-at-creation", IPP_TAG_INTEGER);
  int state = integer_of(response, "job-state", IPP_TAG_ENUM);

  ret_job->state = DX_PJ_UNKNOWN;
  if (its == NULL || uuid == NULL ||
      strcmp(ippGetString(its, 0, NULL), uuid) != 0 || created == 0 ||
      state == 0)
    return;
  ret_job->state = state_of(state);
  ret_job->time_at_creation = created;
  ret_job->documents =
      integer_of(response, "number-of-documents", IPP_TAG_INTEGER);
  /* cupsd's own words, whichever filter of the job it was. */
  ret_job->filter_failed =
      said != NULL && strcmp(ippGetString(said, 0, NULL), "Filter failed") == 0;
}

/* libcups restarts its timeout at every step, and asks here each time. */
static int is_patient(http_t *http, void *until_ms)
{
  (void)http;
  return dx_monotonic_ms() < *(const int64_t *)until_ms;
}

static ipp_t *send_request(http_t *http, ipp_t *request, int64_t *until_ms,
                           void (*connected)(int fd))
{
  ipp_t *response;

  httpSetTimeout(http, LOOK_S, is_patient, until_ms);
  if (connected != NULL)
    connected(httpGetFd(http));
  response = cupsDoRequest(http, request, "/");
  if (connected != NULL)
    connected(-1);
  return response;
}

/* Frees the request. NULL if cupsd does not respond. */
static ipp_t *ask(ipp_t *request, int timeout_ms, void (*connected)(int fd))
{
  int64_t until_ms = dx_monotonic_ms() + timeout_ms;
  http_t *http =
      httpConnect2(cupsServer(), ippPort(), NULL, AF_UNSPEC,
                   HTTP_ENCRYPTION_IF_REQUESTED, 1, timeout_ms, NULL);
  ipp_t *response = NULL;

  if (http != NULL)
    response = send_request(http, request, &until_ms, connected);
  else
    ippDelete(request);
  httpClose(http);
  return response;
}

void dx_print_job_ask(const char *cups_id, const char *uuid, int timeout_ms,
                      void (*connected)(int fd), struct dx_print_job *ret_job)
{
  ipp_t *response = ask(make_request(cups_id), timeout_ms, connected);

  memset(ret_job, 0, sizeof(*ret_job));
  ret_job->state = DX_PJ_NOBODY;
  if (response != NULL &&
      ippGetStatusCode(response) == IPP_STATUS_ERROR_NOT_FOUND)
    ret_job->state = DX_PJ_UNKNOWN;
  else if (response != NULL &&
           ippGetStatusCode(response) < IPP_STATUS_ERROR_BAD_REQUEST)
    read_response(response, uuid, ret_job);
  dx_log(DX_LOG_DEBUG, "cupsd: print job %.20s: %s, %d documents%s%s", cups_id,
         dx_print_job_word(ret_job->state), ret_job->documents,
         response == NULL ? "; " : "",
         response == NULL ? cupsLastErrorString() : "");
  ippDelete(response);
}

bool dx_print_job_waits(const char *queue, bool is_class, int timeout_ms)
{
  ipp_t *request, *response;
  char uri[512];
  bool waits;

  (void)httpAssembleURIf(HTTP_URI_CODING_ALL, uri, sizeof(uri), "ipp", NULL,
                         "localhost", 0, "/%s/%s",
                         is_class ? "classes" : "printers", queue);
  request = new_request(IPP_OP_GET_JOBS, "printer-uri", uri);
  ippAddString(request, IPP_TAG_OPERATION, IPP_TAG_KEYWORD, "which-jobs", NULL,
               "pending");
  ippAddInteger(request, IPP_TAG_OPERATION, IPP_TAG_INTEGER, "limit", 1);
  ippAddString(request, IPP_TAG_OPERATION, IPP_TAG_KEYWORD,
               "requested-attributes", NULL, "job-id");
  response = ask(request, timeout_ms, NULL);
  waits = ippFindAttribute(response, "job-id", IPP_TAG_INTEGER) != NULL;
  ippDelete(response);
  return waits;
}
