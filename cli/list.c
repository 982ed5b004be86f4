/*
 * list.c - the jobs in the spool as rows, for the verbs that list or count
 * them. No lock is taken. Titles and names of people stay in the journals.
 */
#include "cli/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/policy.h"
#include "lib/spool/sentence.h"

#define KEY_DIGITS 8 /* shown, at least */
#define RETRY_BYTES 32

/* ---- what is shown of a job ---- */

const char *list_state(size_t n)
{
  if (n > DX_ST_COUNT)
    return NULL;
  return n == 0 ? DX_STATUS_UNDECIDED : dx_state_word((enum dx_state)(n - 1));
}

static void count_documents(const struct dx_job *job, size_t *ret_done,
                            size_t *ret_all)
{
  size_t i;

  *ret_done = 0;
  *ret_all = 0;
  for (i = 0; i < job->submission_count; i++) {
    *ret_all += job->submissions[i].file_count;
    if (job->submissions[i].state == DX_ST_EXTRACTED)
      *ret_done += job->submissions[i].file_count;
  }
}

static size_t count_cases(const struct dx_job *job)
{
  size_t i, count = 0;

  for (i = 0; i < job->submission_count; i++)
    count += job->submissions[i].case_count;
  return count;
}

static const char *first_reason(const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (dx_state_is_final(job->submissions[i].state) &&
        job->submissions[i].state != DX_ST_EXTRACTED)
      return job->submissions[i].reason;
  return "";
}

/* "; trying again at 14:05"; "" if nobody does, or at once. */
static void describe_retry(const struct list *list, const struct dx_job *job,
                           char text[RETRY_BYTES])
{
  time_t at = (time_t)(job->retry_at / 1000);
  struct tm tm;

  text[0] = '\0';
  if (list->is_driven && job->retry_at > dx_wall_ms() &&
      localtime_r(&at, &tm) != NULL)
    (void)strftime(text, RETRY_BYTES, "; trying again at %H:%M", &tm);
}

/* An outage first in plain words, then its cause in those of libcurl. From
 * docextractd an ordinary user gets only the plain words, without a code. */
static void describe_in_table(const struct list *list, const struct dx_job *job,
                              struct list_row *row)
{
  bool is_outage = dx_class_of(job->message_code) == DX_CL_TRANSIENT;
  char retry[RETRY_BYTES];

  describe_retry(list, job, retry);
  (void)snprintf(row->text, sizeof(row->text), "%s%s%s%s",
                 is_outage ? dx_code_sentence(job->message_code) : "",
                 is_outage ? ": " : "", row->message, retry);
}

/* Its queue was stopped: what an administrator fixes there makes the service
 * respond again, but only the next run of the print job sends. */
static bool is_queue_stopped(const struct dx_job *job)
{
  enum dx_class cls = dx_class_of(job->message_code);

  return job->queue != NULL && job->print.backend == DX_BACKEND_ENDED &&
         !dx_job_is_final(job) && (cls == DX_CL_CONFIG || cls == DX_CL_TOKEN);
}

/* A user who asks docextractd can neither start it nor decide. */
static void describe(const struct list *list, const struct dx_job *job,
                     char message[DX_ERR_TEXT_BYTES])
{
  const char *known =
      job->message[0] != '\0' ? job->message : first_reason(job);

  if (dx_job_is_undecided(job) && !list->cli->asks)
    (void)snprintf(message, DX_ERR_TEXT_BYTES,
                   "%.300s%sto send it: docextract retry %.8s; to give it up: "
                   "docextract cancel %.8s",
                   known, known[0] != '\0' ? "; " : "", job->key, job->key);
  else if (is_queue_stopped(job) && !list->cli->asks)
    (void)snprintf(message, DX_ERR_TEXT_BYTES,
                   "%.300s; when it is fixed, run: cupsenable %.120s", known,
                   job->queue);
  else if (known[0] != '\0')
    (void)snprintf(message, DX_ERR_TEXT_BYTES, "%s", known);
  else
    (void)snprintf(message, DX_ERR_TEXT_BYTES, "%s",
                   list->is_driven || dx_job_is_final(job)
                       ? ""
                       : "docextractd is not running");
}

static void format_age(int64_t since_ms, char age[24])
{
  static const struct {
    int64_t seconds;
    const char *unit;
  } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  int64_t seconds = (dx_wall_ms() - since_ms) / 1000;
  size_t i = 0;

  if (seconds < 0)
    seconds = 0;
  while (i < 3 && seconds < units[i].seconds)
    i++;
  (void)snprintf(age, 24, "%" PRId64 " %s", seconds / units[i].seconds,
                 units[i].unit);
}

/* ---- JSON ---- */

static struct dx_json *made(struct dx_json *json, bool ok)
{
  if (!ok)
    dx_json_free(&json);
  return json;
}

static bool put_text(struct dx_json *json, const char *name, const char *text)
{
  return dx_json_put_string(json, name,
                            text != NULL && text[0] != '\0' ? text : NULL);
}

static bool put_time(struct dx_json *json, const char *name, int64_t wall_ms)
{
  char text[DX_TIME_BYTES] = "";

  if (wall_ms != 0)
    dx_format_time(wall_ms, text);
  return put_text(json, name, text);
}

static struct dx_json *submission_json(const struct dx_submission *sub)
{
  struct dx_json *json = dx_json_object();

  return made(
      json, json != NULL &&
                dx_json_put_string(json, "state", dx_state_word(sub->state)) &&
                put_text(json, "source_id", sub->source_id) &&
                dx_json_put_int(json, "cases", (int64_t)sub->case_count) &&
                put_text(json, "reason", sub->reason));
}

static bool put_submissions(struct dx_json *json, const struct dx_job *job)
{
  struct dx_json *list = dx_json_array();
  bool ok = list != NULL;
  size_t i;

  for (i = 0; ok && i < job->submission_count; i++) {
    struct dx_json *item = submission_json(&job->submissions[i]);

    ok = item != NULL && dx_json_append_take(list, &item);
    dx_json_free(&item);
  }
  ok = ok && dx_json_put_take(json, "submissions", &list);
  dx_json_free(&list);
  return ok;
}

static struct dx_json *job_json(const struct dx_job *job,
                                const struct list_row *row)
{
  struct dx_json *json = dx_json_object();
  size_t done, all;

  count_documents(job, &done, &all);
  return made(json,
              json != NULL && dx_json_put_string(json, "key", job->key) &&
                  dx_json_put_string(json, "state", row->state) &&
                  put_text(json, "queue", job->queue) &&
                  put_text(json, "id", job->cups_id) &&
                  dx_json_put_string(json, "service", job->service) &&
                  put_time(json, "received_at", job->received_at) &&
                  dx_json_put_int(json, "documents", (int64_t)all) &&
                  dx_json_put_int(json, "extracted", (int64_t)done) &&
                  dx_json_put_int(json, "cases", (int64_t)count_cases(job)) &&
                  put_text(json, "message", row->message) &&
                  put_time(json, "retry_at", job->retry_at) &&
                  put_submissions(json, job));
}

/* ---- gathering ---- */

static struct list_row *new_row(struct list *list)
{
  if (list->count == list->room) {
    size_t room = list->room != 0 ? 2 * list->room : 64;
    struct list_row *rows = realloc(list->rows, room * sizeof(*rows));

    if (rows == NULL)
      return NULL;
    list->rows = rows;
    list->room = room;
  }
  memset(&list->rows[list->count], 0, sizeof(*list->rows));
  return &list->rows[list->count++];
}

static enum dx_code add(struct list *list, const struct dx_job *job)
{
  struct list_row *row = new_row(list);
  size_t done, all;

  if (row == NULL)
    return dx_fail_nomem(list->err);
  count_documents(job, &done, &all);
  memcpy(row->key, job->key, sizeof(row->key));
  row->received_at = job->received_at;
  row->state = dx_job_status(job);
  cli_cups_name(job, row->name);
  format_age(job->received_at, row->age);
  (void)snprintf(row->docs, sizeof(row->docs), "%zu/%zu", done, all);
  (void)snprintf(row->cases, sizeof(row->cases), "%zu", count_cases(job));
  describe(list, job, row->message);
  describe_in_table(list, job, row);
  if (!list->json)
    return DX_OK;
  row->json = job_json(job, row);
  return row->json != NULL ? DX_OK : dx_fail_nomem(list->err);
}

/* Queue names are case-insensitive, as in CUPS. */
static bool is_wanted(const struct list *list, const struct dx_job *job)
{
  const struct cli *cli = list->cli;

  return (cli->state == NULL || strcmp(cli->state, dx_job_status(job)) == 0) &&
         (cli->queue == NULL ||
          (job->queue != NULL && strcasecmp(cli->queue, job->queue) == 0)) &&
         (cli->user == NULL ||
          (job->user != NULL && strcmp(cli->user, job->user) == 0)) &&
         (cli->service == NULL || strcmp(cli->service, job->service) == 0);
}

static enum dx_code look_at(void *ctx, const char *name)
{
  struct list *list = ctx;
  struct dx_job *job;
  enum dx_code code = cli_read_job(list->cli, name, &job, list->err);

  if (code == DX_E_NOT_FOUND) /* just removed, or picked up */
    return DX_OK;
  if (code == DX_E_DAMAGED) {
    ++*(dx_is_key(name) ? &list->unreadable : &list->unreceived);
    return DX_OK;
  }
  if (code != DX_OK)
    return code;
  if (is_wanted(list, job))
    code = add(list, job);
  dx_job_free(&job);
  return code;
}

/* However many there are, only the recent ones are read. */
static enum dx_code look_at_finished(void *ctx, const char *key)
{
  struct list *list = ctx;
  int64_t age = dx_spool_finished_ms(&list->cli->spool, key);

  if (!list->cli->all && age > DX_STATUS_RECENT_MS && age != INT64_MAX) {
    list->old++;
    return DX_OK;
  }
  return look_at(ctx, key);
}

/* ---- order ---- */

static int by_key(const void *a, const void *b)
{
  const struct list_row *x = a, *y = b;

  return strcmp(x->key, y->key);
}

static int by_time(const void *a, const void *b)
{
  const struct list_row *x = a, *y = b;

  if (x->received_at != y->received_at)
    return x->received_at < y->received_at ? -1 : 1;
  return by_key(a, b);
}

void list_sort_by_key(struct list *list)
{
  if (list->count > 0)
    qsort(list->rows, list->count, sizeof(*list->rows), by_key);
}

const struct list_row *list_find(const struct list *list, const char *key)
{
  struct list_row wanted;

  if (list->count == 0)
    return NULL;
  memcpy(wanted.key, key, sizeof(wanted.key));
  return bsearch(&wanted, list->rows, list->count, sizeof(*list->rows), by_key);
}

/* The rows are sorted by key. */
static int count_digits(const struct list *list)
{
  int digits = KEY_DIGITS;
  size_t i;

  for (i = 1; i < list->count; i++)
    while (digits < DX_KEY_BYTES - 1 &&
           strncmp(list->rows[i - 1].key, list->rows[i].key, (size_t)digits) ==
               0)
      digits++;
  return digits;
}

/* ---- all ---- */

/* A job that leaves jobs/ meanwhile is read again, in finished/. The rows are
 * sorted by key. */
static void remove_repeated(struct list *list)
{
  size_t i, kept = 0;

  for (i = 0; i < list->count; i++)
    if (kept > 0 && by_key(&list->rows[kept - 1], &list->rows[i]) == 0)
      dx_json_free(&list->rows[i].json);
    else
      list->rows[kept++] = list->rows[i];
  list->count = kept;
}

enum dx_code list_read(struct list *list, struct dx_err *err)
{
  enum dx_code code;

  list->err = err;
  list->is_driven =
      list->cli->asks || dx_spool_daemon(list->cli->spool.dirfd) != 0;
  code = cli_each_job(list->cli, look_at, look_at_finished, list, err);
  list_sort_by_key(list);
  remove_repeated(list);
  list->digits = count_digits(list);
  if (list->count > 0)
    qsort(list->rows, list->count, sizeof(*list->rows), by_time);
  return code;
}

void list_release(struct list *list)
{
  size_t i;

  for (i = 0; i < list->count; i++)
    dx_json_free(&list->rows[i].json);
  free(list->rows);
  list->rows = NULL;
  list->count = 0;
  list->room = 0;
  list->unreadable = 0;
  list->unreceived = 0;
  list->old = 0;
}
