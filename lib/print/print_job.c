/*
 * print_job.c - the requests to cupsd, and the identity of its process.
 */
#include "lib/print/print_job.h"

#include <cups/cups.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/words.h"

#define LOOK_S 0.1 /* how often to consider giving up on a silent cupsd */

DX_WORDS(answer, DX_ANSWERS)
DX_BY_WORD(answer)

enum dx_answer dx_answer_at(enum dx_answer state, enum dx_place place)
{
  if (place == DX_PLACE_NOT_OURS)
    return DX_ANSWER_NOT_OURS;
  if (state == DX_ANSWER_CANCELED || state == DX_ANSWER_OVER)
    return state;
  return place == DX_PLACE_OTHER     ? DX_ANSWER_OTHER_QUEUE
         : place == DX_PLACE_CHANGED ? DX_ANSWER_CHANGED
                                     : state;
}

bool dx_print_job_is_known(const struct dx_print_job *job)
{
  return job->answer != DX_ANSWER_NONE && job->answer != DX_ANSWER_HIDDEN &&
         job->answer != DX_ANSWER_UNKNOWN;
}

bool dx_print_job_is_unusable(const struct dx_print_job *job)
{
  return job->has_state && (!dx_print_job_is_known(job) || job->documents == 0);
}

/* ---- requests ---- */

/* Of a job (job-uri) or a queue (printer-uri), for these attributes. */
static ipp_t *new_request(ipp_op_t op, const char *name, const char *uri,
                          const char *user, const char *const *wanted,
                          size_t count)
{
  ipp_t *request = ippNewRequest(op);

  ippAddString(request, IPP_TAG_OPERATION, IPP_TAG_URI, name, NULL, uri);
  if (user != NULL) /* else queues that this user may not use are hidden */
    ippAddString(request, IPP_TAG_OPERATION, IPP_TAG_NAME,
                 "requesting-user-name", NULL, user);
  ippAddStrings(request, IPP_TAG_OPERATION, IPP_TAG_KEYWORD,
                "requested-attributes", (int)count, NULL, wanted);
  return request;
}

/*
 * The attributes of a job, with their types. A print client may have written
 * further ones of the same name: of number-of-documents and, when the job is
 * over, of job-preserved, the first one is cupsd's own, and of id, state, and
 * time the last one (doc/cups.md). cupsd takes the last job-uuid for the
 * arguments of the backend, and sets the first one of the others.
 */
enum job_attribute {
  JOB_ID,
  JOB_STATE,
  JOB_LISTED, /* number of those of a list of ids and states */
  JOB_CREATED = JOB_LISTED,
  JOB_UUID,
  JOB_URI,
  JOB_IDENTIFIED, /* number of those of a list of keys and queues */
  JOB_PRESERVED = JOB_IDENTIFIED,
  JOB_DOCUMENTS,
  JOB_MESSAGE,
  JOB_URI_ACTUAL,
  JOB_ATTRIBUTES
};

static const struct {
  const char *name;
  ipp_tag_t type;
  bool last_counts;
} job_attributes[JOB_ATTRIBUTES] = {
    [JOB_ID] = {"job-id", IPP_TAG_INTEGER, true},
    [JOB_STATE] = {"job-state", IPP_TAG_ENUM, true},
    [JOB_CREATED] = {"time-at-creation", IPP_TAG_INTEGER, true},
    [JOB_UUID] = {"job-uuid", IPP_TAG_URI, true},
    [JOB_PRESERVED] = {"job-preserved", IPP_TAG_BOOLEAN, false},
    [JOB_DOCUMENTS] = {"number-of-documents", IPP_TAG_INTEGER, false},
    [JOB_MESSAGE] = {"job-printer-state-message", IPP_TAG_TEXT, false},
    [JOB_URI] = {"job-printer-uri", IPP_TAG_URI, false},
    [JOB_URI_ACTUAL] = {"job-printer-uri-actual", IPP_TAG_URI, false},
};

/* For the first `count` of them. */
static ipp_t *request_of_jobs(ipp_op_t op, const char *name, const char *uri,
                              const char *user, size_t count)
{
  const char *wanted[JOB_ATTRIBUTES];
  size_t i;

  for (i = 0; i < count; i++)
    wanted[i] = job_attributes[i].name;
  return new_request(op, name, uri, user, wanted, count);
}

static ipp_t *request_job(const char *cups_id, const char *user)
{
  char uri[128];

  (void)snprintf(uri, sizeof(uri), "ipp://localhost/jobs/%.20s", cups_id);
  return request_of_jobs(IPP_OP_GET_JOB_ATTRIBUTES, "job-uri", uri, user,
                         JOB_ATTRIBUTES);
}

static ipp_t *request_of_queue(ipp_op_t op, const char *queue, bool is_class,
                               const char *const *wanted, size_t count)
{
  char uri[512];

  (void)httpAssembleURIf(HTTP_URI_CODING_ALL, uri, sizeof(uri), "ipp", NULL,
                         "localhost", 0, "/%s/%s",
                         is_class ? "classes" : "printers", queue);
  return new_request(op, "printer-uri", uri, NULL, wanted, count);
}

static ssize_t to_buf(void *buf, ipp_uchar_t *bytes, size_t len)
{
  dx_buf_add(buf, bytes, len);
  return (ssize_t)len;
}

/* Frees the request. */
static bool write_request(ipp_t *request, struct dx_buf *bytes)
{
  bool ok = request != NULL &&
            ippWriteIO(bytes, to_buf, 1, NULL, request) == IPP_STATE_DATA &&
            dx_buf_ok(bytes);

  ippDelete(request);
  return ok;
}

bool dx_print_job_request(const char *cups_id, const char *user,
                          struct dx_buf *bytes)
{
  return write_request(request_job(cups_id, user), bytes);
}

static const char *const queue_wanted[] = {"printer-name",
                                           "device-uri",
                                           "printer-state",
                                           "printer-state-reasons",
                                           "printer-is-accepting-jobs",
                                           "queued-job-count"};
#define QUEUE_WANTED (sizeof(queue_wanted) / sizeof(queue_wanted[0]))

static ipp_t *request_queues(void)
{
  return new_request(IPP_OP_CUPS_GET_PRINTERS, "printer-uri",
                     "ipp://localhost/", NULL, queue_wanted, QUEUE_WANTED);
}

bool dx_queues_request(const char *queue, struct dx_buf *bytes)
{
  return write_request(
      queue == NULL ? request_queues()
                    : request_of_queue(IPP_OP_GET_PRINTER_ATTRIBUTES, queue,
                                       false, queue_wanted, QUEUE_WANTED),
      bytes);
}

/* Of those that are not over, the first `count` attributes. */
static ipp_t *request_jobs(size_t count)
{
  ipp_t *request = request_of_jobs(IPP_OP_GET_JOBS, "printer-uri",
                                   "ipp://localhost/", NULL, count);

  ippAddString(request, IPP_TAG_OPERATION, IPP_TAG_KEYWORD, "which-jobs", NULL,
               "not-completed");
  return request;
}

bool dx_print_jobs_request(int index, int limit, struct dx_buf *bytes)
{
  ipp_t *request = request_jobs(JOB_LISTED);

  ippAddInteger(request, IPP_TAG_OPERATION, IPP_TAG_INTEGER, "first-index",
                index);
  ippAddInteger(request, IPP_TAG_OPERATION, IPP_TAG_INTEGER, "limit", limit);
  return write_request(request, bytes);
}

/* ---- responses ---- */

struct bytes {
  const char *at;
  size_t left;
};

static ssize_t from_bytes(void *from, ipp_uchar_t *to, size_t len)
{
  struct bytes *bytes = from;

  if (len > bytes->left)
    len = bytes->left;
  memcpy(to, bytes->at, len);
  bytes->at += len;
  bytes->left -= len;
  return (ssize_t)len;
}

/* NULL if it is not a whole response; the caller deletes it. */
static ipp_t *print_job_of_bytes(const char *at, size_t len)
{
  struct bytes bytes = {at, len};
  ipp_t *response = ippNew();

  if (response != NULL &&
      ippReadIO(&bytes, from_bytes, 1, NULL, response) == IPP_STATE_DATA)
    return response;
  ippDelete(response);
  return NULL;
}

static bool print_job_is_ok(ipp_t *response)
{
  return response != NULL &&
         ippGetStatusCode(response) < IPP_STATUS_ERROR_BAD_REQUEST;
}

/* True if an attribute has this type, and one value. */
static bool is_one(ipp_attribute_t *attribute, ipp_tag_t type)
{
  return ippGetValueTag(attribute) == type && ippGetCount(attribute) == 1;
}

#define TEXT_MAX_BYTES 1023 /* as libcups limits names, texts, and URIs */

/* NULL if it is not reported. */
static const char *text_of(ipp_attribute_t *attribute)
{
  const char *text =
      attribute != NULL ? ippGetString(attribute, 0, NULL) : NULL;

  return text != NULL && strlen(text) <= TEXT_MAX_BYTES ? text : NULL;
}

/* 0 if it is not reported. */
static int number_of(ipp_attribute_t *attribute)
{
  int number = attribute != NULL ? ippGetInteger(attribute, 0) : 0;

  return number > 0 ? number : 0;
}

static int state_of(ipp_attribute_t *attribute)
{
  int state = number_of(attribute);

  return state >= IPP_JSTATE_PENDING && state <= IPP_JSTATE_COMPLETED ? state
                                                                      : 0;
}

/* The last part of the path of a printer's URI, as cupsd names the queue. */
static void name_of(ipp_attribute_t *uri, char name[DX_QUEUE_BYTES],
                    bool *ret_is_class)
{
  char scheme[32], user[64], host[256], path[1024];
  const char *text = text_of(uri);
  const char *last;
  int port;

  name[0] = '\0';
  *ret_is_class = false;
  if (text == NULL ||
      httpSeparateURI(HTTP_URI_CODING_ALL, text, scheme, sizeof(scheme), user,
                      sizeof(user), host, sizeof(host), &port, path,
                      sizeof(path)) < HTTP_URI_STATUS_OK)
    return;
  last = strrchr(path, '/'); /* "ipp:x" has none */
  if (last == NULL || strlen(last + 1) >= DX_QUEUE_BYTES)
    return;
  (void)snprintf(name, DX_QUEUE_BYTES, "%s", last + 1);
  *ret_is_class = strncmp(path, "/classes/", 9) == 0;
}

/* Finds the attributes of the next job; NULL: not reported. False at the end.
 */
static bool next_job(ipp_t *response, ipp_attribute_t **at,
                     ipp_attribute_t *found[JOB_ATTRIBUTES])
{
  ipp_attribute_t *a = *at;
  bool is_job;
  size_t i;

  for (i = 0; i < JOB_ATTRIBUTES; i++)
    found[i] = NULL;
  while (a != NULL && ippGetGroupTag(a) != IPP_TAG_JOB)
    a = ippNextAttribute(response);
  is_job = a != NULL;
  for (; a != NULL && ippGetGroupTag(a) == IPP_TAG_JOB;
       a = ippNextAttribute(response)) {
    const char *name = ippGetName(a);

    for (i = 0; name != NULL && i < JOB_ATTRIBUTES; i++)
      if (strcmp(name, job_attributes[i].name) == 0 &&
          is_one(a, job_attributes[i].type) &&
          (found[i] == NULL || job_attributes[i].last_counts))
        found[i] = a;
  }
  *at = a;
  return is_job;
}

/* The answer about a job of which cupsd sent attributes. */
static enum dx_answer answer_of(int state, const char *its_uuid,
                                int64_t created, const char *uuid)
{
  if (its_uuid == NULL || created == 0 || state == 0)
    return DX_ANSWER_HIDDEN;
  if (uuid == NULL || strcmp(its_uuid, uuid) != 0)
    return DX_ANSWER_UNKNOWN; /* another job has this id */
  switch (state) {
  case IPP_JSTATE_PENDING:
  case IPP_JSTATE_PROCESSING:
    return DX_ANSWER_ACTIVE;
  case IPP_JSTATE_HELD:
  case IPP_JSTATE_STOPPED:
    return DX_ANSWER_HELD;
  case IPP_JSTATE_CANCELED:
    return DX_ANSWER_CANCELED;
  default:
    return DX_ANSWER_OVER;
  }
}

static void read_print_job(ipp_t *response, const char *uuid,
                           struct dx_print_job *job)
{
  ipp_attribute_t *found[JOB_ATTRIBUTES];
  ipp_attribute_t *at = ippFirstAttribute(response);
  const char *text;
  int state;

  (void)next_job(response, &at, found);
  state = state_of(found[JOB_STATE]);
  job->has_state = state != 0;
  job->time_at_creation = number_of(found[JOB_CREATED]);
  job->answer =
      answer_of(state, text_of(found[JOB_UUID]), job->time_at_creation, uuid);
  if (!dx_print_job_is_known(job)) /* the rest may be about another job */
    return;
  job->may_run_again =
      state < IPP_JSTATE_CANCELED ||
      (found[JOB_PRESERVED] != NULL && ippGetBoolean(found[JOB_PRESERVED], 0));
  job->documents = number_of(found[JOB_DOCUMENTS]);
  /* cupsd's message, for any filter of the job */
  text = text_of(found[JOB_MESSAGE]);
  job->filter_failed = text != NULL && strcmp(text, "Filter failed") == 0;
  name_of(found[JOB_URI], job->queue, &job->is_class);
  /* The member of the class that was chosen last. It stays when the job is
   * moved elsewhere, so it is used only with a class. */
  if (job->is_class && found[JOB_URI_ACTUAL] != NULL)
    name_of(found[JOB_URI_ACTUAL], job->queue, &job->is_class);
}

/* A response of NULL: cupsd did not answer. */
static void read_response(ipp_t *response, const char *uuid,
                          struct dx_print_job *ret_job)
{
  ipp_status_t status =
      response != NULL ? ippGetStatusCode(response) : IPP_STATUS_OK;

  *ret_job =
      (struct dx_print_job){.answer = DX_ANSWER_NONE, .may_run_again = true};
  if (print_job_is_ok(response))
    read_print_job(response, uuid, ret_job);
  else if (status == IPP_STATUS_ERROR_NOT_FOUND)
    ret_job->answer = DX_ANSWER_UNKNOWN;
  else if (status == IPP_STATUS_ERROR_FORBIDDEN ||
           status == IPP_STATUS_ERROR_NOT_AUTHENTICATED ||
           status == IPP_STATUS_ERROR_NOT_AUTHORIZED)
    ret_job->answer = DX_ANSWER_HIDDEN;
}

void dx_print_job_read(const char *bytes, size_t len, const char *uuid,
                       struct dx_print_job *ret_job)
{
  ipp_t *response = print_job_of_bytes(bytes, len);

  read_response(response, uuid, ret_job);
  ippDelete(response);
}

bool dx_print_jobs_read(const char *bytes, size_t len, dx_print_jobs_each *each,
                        void *ctx, bool *ret_refused)
{
  ipp_t *response = print_job_of_bytes(bytes, len);
  bool ok = print_job_is_ok(response);
  ipp_attribute_t *at = ok ? ippFirstAttribute(response) : NULL;
  ipp_attribute_t *found[JOB_ATTRIBUTES];

  *ret_refused = response != NULL && !ok;
  while (next_job(response, &at, found))
    each(ctx, number_of(found[JOB_ID]), state_of(found[JOB_STATE]));
  ippDelete(response);
  return ok;
}

/* Values that are not keywords (RFC 8011, section 5.1.4) are skipped. */
static void add_reasons(struct dx_queue *queue, ipp_attribute_t *attribute)
{
  size_t len = 0;
  int i;

  for (i = 0; i < ippGetCount(attribute); i++) {
    const char *word = ippGetString(attribute, i, NULL);

    if (word == NULL || strcmp(word, "none") == 0 ||
        word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-_.")] != '\0' ||
        len + strlen(word) + 2 > sizeof(queue->reasons))
      continue;
    len += (size_t)snprintf(queue->reasons + len, sizeof(queue->reasons) - len,
                            "%s%s", len > 0 ? " " : "", word);
  }
}

/* One attribute. Administrators set them, and cupsd. */
static void read_queue(struct dx_queue *queue, const char *name,
                       ipp_attribute_t *a)
{
  const char *text;
  int number;

  if (strcmp(name, "printer-state-reasons") == 0) {
    add_reasons(queue, a);
    return;
  }
  if (ippGetCount(a) != 1)
    return;
  text = text_of(a);
  number = number_of(a);
  if (strcmp(name, "printer-name") == 0 && text != NULL)
    (void)snprintf(queue->name, sizeof(queue->name), "%s", text);
  else if (strcmp(name, "device-uri") == 0 && text != NULL)
    (void)snprintf(queue->uri, sizeof(queue->uri), "%s", text);
  else if (strcmp(name, "printer-state") == 0 && number >= IPP_PSTATE_IDLE &&
           number <= IPP_PSTATE_STOPPED)
    queue->state = ippEnumString(name, number);
  else if (strcmp(name, "printer-is-accepting-jobs") == 0)
    queue->is_accepting = ippGetBoolean(a, 0) != 0;
  else if (strcmp(name, "queued-job-count") == 0)
    queue->jobs = number;
}

/* Reads the attributes of each queue, in any order. */
static void read_queues(ipp_t *response, dx_queues_each *each, void *ctx)
{
  static const struct dx_queue none = {.state = "unknown"};
  struct dx_queue queue = none;
  ipp_attribute_t *a = ippFirstAttribute(response);

  for (; a != NULL; a = ippNextAttribute(response)) {
    const char *name = ippGetName(a);

    if (ippGetGroupTag(a) != IPP_TAG_PRINTER) { /* between two queues */
      if (queue.uri[0] != '\0')
        each(ctx, &queue);
      queue = none;
    } else if (name != NULL) {
      read_queue(&queue, name, a);
    }
  }
  if (queue.uri[0] != '\0')
    each(ctx, &queue);
}

bool dx_queues_read(const char *bytes, size_t len, dx_queues_each *each,
                    void *ctx)
{
  ipp_t *response = print_job_of_bytes(bytes, len);
  bool ok = print_job_is_ok(response);

  if (ok)
    read_queues(response, each, ctx);
  ippDelete(response);
  return ok;
}

/* ---- asking, and waiting ---- */

struct patience {
  int64_t until_ms;
  bool (*stops)(void); /* NULL: never */
};

/* libcups restarts its timeout at every step, and calls this each time. */
static int is_patient(http_t *http, void *ctx)
{
  const struct patience *patience = ctx;

  (void)http;
  return dx_monotonic_ms() < patience->until_ms &&
         (patience->stops == NULL || !patience->stops());
}

/* Frees the request. NULL if cupsd does not respond. */
static ipp_t *ask(ipp_t *request, int timeout_ms, bool (*stops)(void))
{
  struct patience patience = {dx_monotonic_ms() + timeout_ms, stops};
  http_t *http =
      httpConnect2(cupsServer(), ippPort(), NULL, AF_UNSPEC,
                   HTTP_ENCRYPTION_IF_REQUESTED, 1, timeout_ms, NULL);
  ipp_t *response;

  if (http == NULL) {
    ippDelete(request);
    return NULL;
  }
  httpSetTimeout(http, LOOK_S, is_patient, &patience);
  response = cupsDoRequest(http, request, "/");
  httpClose(http);
  return response;
}

void dx_print_job_ask(const char *cups_id, const char *uuid, const char *user,
                      int timeout_ms, bool (*stops)(void),
                      struct dx_print_job *ret_job)
{
  ipp_t *response = ask(request_job(cups_id, user), timeout_ms, stops);

  read_response(response, uuid, ret_job);
  dx_log(DX_LOG_DEBUG, "cupsd: print job %.20s: %s, %d documents%s%s", cups_id,
         dx_answer_word(ret_job->answer), ret_job->documents,
         response == NULL ? "; " : "",
         response == NULL ? cupsLastErrorString() : "");
  ippDelete(response);
}

bool dx_print_job_waits(const char *queue, bool is_class, int timeout_ms)
{
  static const char *const wanted = "job-id";
  ipp_t *request =
      request_of_queue(IPP_OP_GET_JOBS, queue, is_class, &wanted, 1);
  ipp_t *response;
  bool waits;

  ippAddString(request, IPP_TAG_OPERATION, IPP_TAG_KEYWORD, "which-jobs", NULL,
               "pending");
  ippAddInteger(request, IPP_TAG_OPERATION, IPP_TAG_INTEGER, "limit", 1);
  response = ask(request, timeout_ms, NULL);
  waits = ippFindAttribute(response, "job-id", IPP_TAG_INTEGER) != NULL;

  ippDelete(response);
  return waits;
}

bool dx_queues_ask(int timeout_ms, dx_queues_each *each, void *ctx)
{
  ipp_t *response = ask(request_queues(), timeout_ms, NULL);
  bool ok = print_job_is_ok(response) ||
            (response != NULL && ippGetStatusCode(response) ==
                                     IPP_STATUS_ERROR_NOT_FOUND); /* no queue */

  if (ok)
    read_queues(response, each, ctx);
  ippDelete(response);
  return ok;
}

bool dx_print_jobs_ask(int timeout_ms, dx_print_jobs_listed *each, void *ctx)
{
  ipp_t *response = ask(request_jobs(JOB_IDENTIFIED), timeout_ms, NULL);
  bool ok = print_job_is_ok(response);
  ipp_attribute_t *at = ok ? ippFirstAttribute(response) : NULL;
  ipp_attribute_t *found[JOB_ATTRIBUTES];

  while (next_job(response, &at, found)) {
    struct dx_listed_job job = {.id = number_of(found[JOB_ID]),
                                .state = state_of(found[JOB_STATE]),
                                .time_at_creation =
                                    number_of(found[JOB_CREATED])};
    const char *uuid = text_of(found[JOB_UUID]);
    bool is_class;

    if (uuid != NULL && strlen(uuid) < sizeof(job.uuid))
      memcpy(job.uuid, uuid, strlen(uuid) + 1);
    name_of(found[JOB_URI], job.queue, &is_class);
    each(ctx, &job);
  }
  ippDelete(response);
  return ok;
}

/* ---- which cupsd ---- */

void dx_cupsd_address(struct dx_cupsd_address *ret_address)
{
  const char *server;

  /* libcups checks only once whether the socket exists. */
  cupsSetServer(NULL);
  server = cupsServer();
  (void)snprintf(ret_address->host, sizeof(ret_address->host), "%s", server);
  ret_address->port = server[0] == '/' ? 0 : ippPort();
}

#define STAT_BYTES_MAX 4096
#define SKIP_5 "%*s%*s%*s%*s%*s"

/* The start time of a process, in ticks since boot, as the kernel prints it: a
 * process id is reused, but not with the same start time. "" if there is no
 * such process, or /proc hides it. */
static void start_of(pid_t pid, char start[24])
{
  struct dx_buf text = {0};
  struct dx_err err;
  const char *rest;
  char path[32];

  start[0] = '\0';
  (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
  /* Field 22 of proc(5); field 2, in parentheses, may contain blanks. */
  if (dx_fs_read(AT_FDCWD, path, STAT_BYTES_MAX, &text, &err) == DX_OK &&
      (rest = strrchr(text.data, ')')) != NULL)
    (void)sscanf(rest + 1, SKIP_5 SKIP_5 SKIP_5 "%*s%*s%*s%*s %23s", start);
  dx_buf_release(&text);
}

char *dx_cupsd_name(pid_t cupsd)
{
  char start[24], boot[DX_BOOT_ID_BYTES], *name;

  start_of(cupsd, start);
  dx_boot_id(boot);
  return asprintf(&name, "%d %s %s", (int)cupsd, start[0] != '\0' ? start : "-",
                  boot) < 0
             ? NULL
             : name;
}

bool dx_cupsd_is_gone(const char *name)
{
  char start[24], boot[DX_BOOT_ID_BYTES], its_start[24], its_boot[64];
  int pid;

  if (name == NULL ||
      sscanf(name, "%d %23s %63s", &pid, its_start, its_boot) != 3 || pid <= 0)
    return false;
  dx_boot_id(boot);
  if (strcmp(boot, its_boot) != 0)
    return strcmp(boot, "-") != 0 && strcmp(its_boot, "-") != 0;
  start_of(pid, start);
  if (start[0] == '\0') /* kill() also sees what /proc may hide */
    return kill(pid, 0) != 0 && errno == ESRCH;
  return its_start[0] != '-' && strcmp(start, its_start) != 0;
}
