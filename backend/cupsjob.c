/*
 * cupsjob.c - what cupsd knows about this job: IPP Get-Job-Attributes.
 */
#include "backend/backend.h"

#include <cups/cups.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"

#define CHECK_S 0.1 /* how often to check whether to wait any longer */

static ipp_t *make_request(const struct backend *b)
{
  static const char *const wanted[] = {"job-uuid", "number-of-documents",
                                       "time-at-creation", "job-state",
                                       "job-printer-state-message"};
  ipp_t *request = ippNewRequest(IPP_OP_GET_JOB_ATTRIBUTES);
  char uri[128];

  (void)snprintf(uri, sizeof(uri), "ipp://localhost/jobs/%.20s", b->job_id);
  ippAddString(request, IPP_TAG_OPERATION, IPP_TAG_URI, "job-uri", NULL, uri);
  ippAddString(request, IPP_TAG_OPERATION, IPP_TAG_NAME, "requesting-user-name",
               NULL, cupsUser());
  ippAddStrings(request, IPP_TAG_OPERATION, IPP_TAG_KEYWORD,
                "requested-attributes",
                (int)(sizeof(wanted) / sizeof(wanted[0])), NULL, wanted);
  return request;
}

/* Job ids are reused: only the uuid identifies the job. */
static bool is_ours(const struct backend *b, ipp_t *response)
{
  ipp_attribute_t *uuid = ippFindAttribute(response, "job-uuid", IPP_TAG_URI);

  return uuid != NULL && b->uuid != NULL &&
         strcmp(ippGetString(uuid, 0, NULL), b->uuid) == 0;
}

static void read_response(const struct backend *b, ipp_t *response,
                          struct cups_job *ret_job)
{
  ipp_attribute_t *documents =
      ippFindAttribute(response, "number-of-documents", IPP_TAG_INTEGER);
  ipp_attribute_t *created =
      ippFindAttribute(response, "time-at-creation", IPP_TAG_INTEGER);

  ipp_attribute_t *state =
      ippFindAttribute(response, "job-state", IPP_TAG_ENUM);
  ipp_attribute_t *message =
      ippFindAttribute(response, "job-printer-state-message", IPP_TAG_TEXT);

  if (!is_ours(b, response) || created == NULL)
    return;
  ret_job->is_canceled =
      state != NULL && ippGetInteger(state, 0) == IPP_JSTATE_CANCELED;
  /* What cupsd reports for any filter of the job. */
  ret_job->filter_failed =
      message != NULL &&
      strcmp(ippGetString(message, 0, NULL), "Filter failed") == 0;
  ret_job->known = true;
  ret_job->time_at_creation = ippGetInteger(created, 0);
  ret_job->documents = documents != NULL ? ippGetInteger(documents, 0) : 0;
}

/* libcups restarts its timeout at every step, and calls this each time. */
static int is_patient(http_t *http, void *until_ms)
{
  (void)http;
  return dx_monotonic_ms() < *(const int64_t *)until_ms;
}

void cups_job_ask(const struct backend *b, int timeout_ms, bool heeds_term,
                  struct cups_job *ret_job)
{
  int64_t until_ms = dx_monotonic_ms() + timeout_ms;
  http_t *http;
  ipp_t *response = NULL;

  memset(ret_job, 0, sizeof(*ret_job));
  http = httpConnect2(cupsServer(), ippPort(), NULL, AF_UNSPEC,
                      HTTP_ENCRYPTION_IF_REQUESTED, 1, timeout_ms, NULL);
  if (http != NULL) {
    httpSetTimeout(http, CHECK_S, is_patient, &until_ms);
    if (heeds_term)
      term_ends(httpGetFd(http));
    response = cupsDoRequest(http, make_request(b), "/");
    term_ends(-1);
  }
  if (response != NULL)
    read_response(b, response, ret_job);
  if (ret_job->known)
    dx_log(DX_LOG_DEBUG, "cupsd: the job has %d documents", ret_job->documents);
  else
    dx_log(DX_LOG_DEBUG,
           "cupsd could not be asked about the job, or does "
           "not know it: %s",
           cupsLastErrorString());
  ippDelete(response);
  httpClose(http);
}
