/*
 * jobs.c - `docextract jobs`: what lies in the spool, and how far it is. Looks
 * only: no lock is taken. Titles and people's names are in the journals, and
 * stay there.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/json.h"
#include "lib/utf8.h"

#define KEY_DIGITS 8 /* shown, at least */

struct row {
  char key[DX_KEY_BYTES];
  int64_t received_at;
  const char *state;
  char owner[CLI_CUPS_NAME_BYTES];
  char age[24], docs[48], cases[24];
  char message[DX_ERR_TEXT_BYTES];
  struct dx_json *json; /* with --json only */
};

struct list {
  struct cli *cli;
  struct dx_spool spool;
  struct row *rows;
  size_t count, room;
  size_t unreadable;
  struct dx_err *err;
};

/* ---- what there is to say of a job ---- */

/* One word for all: what is under way comes first, the least advanced of it;
 * then what went wrong. */
static enum dx_state state_of(const struct dx_job *job)
{
  static const enum dx_state order[] = {
      DX_ST_STORED,   DX_ST_REGISTERED, DX_ST_UPLOADED, DX_ST_PROCESSING,
      DX_ST_COMPLETE, DX_ST_FAILED,     DX_ST_REFUSED};
  size_t i;

  for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
    if (dx_job_count(job, order[i]) > 0)
      return order[i];
  return DX_ST_EXTRACTED;
}

/* Ours, unfinished, and nobody there to finish it. Of a job of CUPS's it is
 * CUPS that knows. */
static bool is_waiting(const struct dx_job *job, pid_t holder)
{
  return holder == 0 && job->owner != DX_OWNER_CUPS && !dx_job_is_final(job);
}

static const char *word_of(const struct dx_job *job, pid_t holder)
{
  return is_waiting(job, holder) ? "waiting" : dx_state_word(state_of(job));
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

static void describe(const struct list *list, const struct dx_job *job,
                     pid_t holder, char message[DX_ERR_TEXT_BYTES])
{
  const char *said = job->message[0] != '\0' ? job->message : first_reason(job);

  if (said[0] != '\0' || !is_waiting(job, holder))
    (void)snprintf(message, DX_ERR_TEXT_BYTES, "%s", said);
  else if (job->owner == DX_OWNER_COMMAND)
    (void)snprintf(message, DX_ERR_TEXT_BYTES,
                   "interrupted; go on with: docextract retry %.8s", job->key);
  else
    (void)snprintf(message, DX_ERR_TEXT_BYTES, "%s",
                   cli_daemon_runs(list->cli->config->spool_dir)
                       ? "docextractd has not taken it yet"
                       : "docextractd does not run");
}

static void name_owner(const struct dx_job *job,
                       char owner[CLI_CUPS_NAME_BYTES])
{
  if (job->owner == DX_OWNER_CUPS)
    cli_cups_name(job, owner);
  else
    (void)snprintf(owner, CLI_CUPS_NAME_BYTES, "%s",
                   job->owner == DX_OWNER_COLLECTOR ? "docextractd"
                                                    : "command");
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

static struct dx_json *job_json(const struct dx_job *job, pid_t holder,
                                const struct row *row)
{
  struct dx_json *json = dx_json_object();
  size_t done, all;

  count_documents(job, &done, &all);
  return made(
      json, json != NULL && dx_json_put_string(json, "key", job->key) &&
                dx_json_put_string(json, "state", row->state) &&
                dx_json_put_string(json, "owner", dx_owner_word(job->owner)) &&
                put_text(json, "queue", job->queue) &&
                put_text(json, "id", job->cups_id) &&
                dx_json_put_string(json, "service", job->service) &&
                put_time(json, "received_at", job->received_at) &&
                dx_json_put_int(json, "documents", (int64_t)all) &&
                dx_json_put_int(json, "extracted", (int64_t)done) &&
                dx_json_put_int(json, "cases", (int64_t)count_cases(job)) &&
                put_text(json, "message", row->message) &&
                (holder > 0 ? dx_json_put_int(json, "pid", holder)
                            : dx_json_put_string(json, "pid", NULL)) &&
                put_submissions(json, job));
}

static enum dx_code print_json(struct list *list, struct dx_err *err)
{
  struct dx_json *array = dx_json_array();
  bool ok = array != NULL;
  char *text = NULL;
  size_t i;

  for (i = 0; ok && i < list->count; i++)
    ok = dx_json_append_take(array, &list->rows[i].json);
  if (ok)
    text = dx_json_print(array, true);
  dx_json_free(&array);
  if (text == NULL)
    return dx_fail_nomem(err);
  printf("%s\n", text);
  free(text);
  return DX_OK;
}

/* ---- the table ---- */

/* Queues and reasons are text from outside: no control characters. Returns how
 * many characters it has. */
static size_t print_plain(const char *text)
{
  size_t count = 0;

  for (; *text != '\0'; count++) {
    uint32_t c;
    size_t len = dx_utf8_char(text, &c);

    if (len == 0 || dx_utf8_is_control(c))
      (void)putchar('?');
    else
      (void)fwrite(text, len, 1, stdout);
    text += len > 0 ? len : 1;
  }
  return count;
}

static size_t count_characters(const char *text)
{
  size_t count = 0;

  for (; *text != '\0'; count++) {
    size_t len = dx_utf8_char(text, NULL);

    text += len > 0 ? len : 1;
  }
  return count;
}

/* How many digits tell all the keys apart. The rows are sorted by key. */
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

static void print_row(int digits, int width, const struct row *row)
{
  int left = width;

  printf("%-*.*s  %-10s  ", digits, digits, row->key, row->state);
  left -= (int)print_plain(row->owner);
  printf("%*s  %6s  %5s  %5s", left, "", row->age, row->docs, row->cases);
  if (row->message[0] != '\0') {
    printf("  ");
    (void)print_plain(row->message);
  }
  printf("\n");
}

static void print_table(const struct list *list, int digits)
{
  static const struct row header = {.key = "KEY",
                                    .state = "STATE",
                                    .owner = "OWNER",
                                    .age = "AGE",
                                    .docs = "DOCS",
                                    .cases = "CASES",
                                    .message = "MESSAGE"};
  size_t i, width = count_characters(header.owner);

  for (i = 0; i < list->count; i++)
    if (count_characters(list->rows[i].owner) > width)
      width = count_characters(list->rows[i].owner);
  print_row(digits, (int)width, &header);
  for (i = 0; i < list->count; i++)
    print_row(digits, (int)width, &list->rows[i]);
}

/* ---- gathering ---- */

static struct row *new_row(struct list *list)
{
  if (list->count == list->room) {
    size_t room = list->room != 0 ? 2 * list->room : 64;
    struct row *rows = realloc(list->rows, room * sizeof(*rows));

    if (rows == NULL)
      return NULL;
    list->rows = rows;
    list->room = room;
  }
  memset(&list->rows[list->count], 0, sizeof(*list->rows));
  return &list->rows[list->count++];
}

static enum dx_code add(struct list *list, const struct dx_job *job,
                        pid_t holder)
{
  struct row *row = new_row(list);
  size_t done, all;

  if (row == NULL)
    return dx_fail_nomem(list->err);
  count_documents(job, &done, &all);
  memcpy(row->key, job->key, sizeof(row->key));
  row->received_at = job->received_at;
  row->state = word_of(job, holder);
  name_owner(job, row->owner);
  format_age(job->received_at, row->age);
  (void)snprintf(row->docs, sizeof(row->docs), "%zu/%zu", done, all);
  (void)snprintf(row->cases, sizeof(row->cases), "%zu", count_cases(job));
  describe(list, job, holder, row->message);
  if (!list->cli->json)
    return DX_OK;
  row->json = job_json(job, holder, row);
  return row->json != NULL ? DX_OK : dx_fail_nomem(list->err);
}

static enum dx_code look_at(void *ctx, const char *key)
{
  struct list *list = ctx;
  struct dx_job *job;
  pid_t holder;
  enum dx_code code =
      dx_spool_peek(&list->spool, key, &job, &holder, list->err);

  if (code == DX_E_NOT_FOUND) /* swept just now */
    return DX_OK;
  if (code == DX_E_DAMAGED) {
    list->unreadable++;
    return DX_OK;
  }
  if (code != DX_OK)
    return code;
  code = add(list, job, holder);
  dx_job_free(&job);
  return code;
}

static void tell_damaged(const struct list *list, size_t count,
                         const char *folder)
{
  if (count > 0)
    fprintf(stderr, "%zu damaged job%s in '%s/%s'\n", count,
            count == 1 ? "" : "s", list->cli->config->spool_dir, folder);
}

static int by_key(const void *a, const void *b)
{
  const struct row *x = a, *y = b;

  return strcmp(x->key, y->key);
}

static int by_time(const void *a, const void *b)
{
  const struct row *x = a, *y = b;

  if (x->received_at != y->received_at)
    return x->received_at < y->received_at ? -1 : 1;
  return by_key(a, b);
}

static void sort(struct list *list,
                 int (*compare)(const void *a, const void *b))
{
  if (list->count > 0)
    qsort(list->rows, list->count, sizeof(*list->rows), compare);
}

static enum dx_code print(struct list *list, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  int digits;

  sort(list, by_key);
  digits = count_digits(list);
  sort(list, by_time);
  if (list->cli->json)
    code = print_json(list, err);
  else
    print_table(list, digits);
  tell_damaged(list, list->unreadable, "jobs");
  tell_damaged(list, dx_spool_count_damaged(&list->spool), "damaged");
  return code;
}

enum dx_code verb_jobs(struct cli *cli, size_t count, char **args,
                       struct dx_err *err)
{
  struct list list = {.cli = cli, .spool = {-1, -1}, .err = err};
  enum dx_code code = cli_open_spool(cli, &list.spool, err);
  size_t i;

  (void)count;
  (void)args;
  if (code == DX_OK)
    code = dx_spool_each(&list.spool, look_at, &list, err);
  if (code == DX_OK)
    code = print(&list, err);
  for (i = 0; i < list.count; i++)
    dx_json_free(&list.rows[i].json);
  free(list.rows);
  dx_spool_close(&list.spool);
  return code;
}
