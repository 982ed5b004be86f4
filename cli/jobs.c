/*
 * jobs.c - `docextract jobs`: prints a row for each job in the spool, with its
 * state and message, once or after every change. Takes no lock. Does not print
 * titles.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/language.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"
#include "lib/control/connect.h"
#include "lib/spool/sentence.h"

#define KEY_DIGITS 8 /* minimum length of a key */
#define WATCH_MS 1000
#define SAID_BYTES (2 * DX_SENTENCE_BYTES) /* in any language */

struct row {
  char key[DX_KEY_BYTES];
  int64_t received_at;
  const char *state;              /* a word; static memory */
  char name[CLI_CUPS_NAME_BYTES]; /* of the print job, "chart-12" */
  char time[16];                  /* when it was received */
  char counts[80];                /* documents and cases */
  /* Untrusted: cli_print_line(). */
  char user[DX_USER_BYTES];
  char text[SAID_BYTES + 2 * DX_ERR_TEXT_BYTES + 80];
  char *json; /* with --json */
};

struct list {
  struct cli *cli;
  struct row *rows;
  size_t count;
  bool is_driven; /* docextractd is running */
  size_t unreadable;
  /* The last of them: its key, what is wrong, and what to do. */
  char unreadable_one[DX_KEY_BYTES + 1 + DX_ERR_TEXT_BYTES];
  size_t old; /* finished more than a day ago, and omitted */
  int digits; /* number of digits that distinguish the keys */
  struct {
    size_t name, user, time;
  } widths;           /* of columns */
  struct dx_err *err; /* while reading */
};

const char *cli_state_word(size_t n)
{
  if (n == 0)
    return DX_STATUS_UNDECIDED;
  return n < CLI_STATES ? dx_state_word((enum dx_state)(n - 1)) : NULL;
}

/* ---- what is shown of a job ---- */

/*
 * Formats the message for the administrator and the text in the table: first
 * the status, then the technical cause. A user whose jobs come from docextractd
 * can neither start it nor decide, and gets only the status.
 */
static void jobs_describe(const struct list *list, const struct dx_job *job,
                          const char *sentence, char message[DX_ERR_TEXT_BYTES],
                          struct row *row)
{
  const struct dx_problem *problem = dx_job_problem(job);
  time_t at = (time_t)(problem->retry_at / 1000);
  const char *known = dx_line(problem->text);
  const char *hook = ""; /* of OnResult */
  char retry[32] = "", again[64], said[SAID_BYTES];
  char both[2 * DX_ERR_TEXT_BYTES + 4];
  bool is_said; /* there is nothing to add to the sentence */
  struct tm tm;
  size_t i;

  if (dx_job_is_final(job) && !dx_job_is_finished(job) &&
      problem != &job->problem) {
    hook = known; /* what has failed comes first */
    known = "";
  }
  for (i = 0; known[0] == '\0' && i < job->submission_count; i++)
    if (dx_state_is_final(job->submissions[i].state) &&
        job->submissions[i].state != DX_ST_EXTRACTED)
      known = dx_line(job->submissions[i].reason);
  if (dx_job_is_undecided(job) && !list->cli->asks)
    (void)snprintf(message, DX_ERR_TEXT_BYTES,
                   "%.300s%sto send it: docextract retry %.8s; to cancel it: "
                   "docextract cancel %.8s",
                   known, known[0] != '\0' ? "; " : "", job->key, job->key);
  else
    (void)snprintf(message, DX_ERR_TEXT_BYTES, "%s",
                   known[0] != '\0' || list->is_driven || dx_job_is_final(job)
                       ? known
                       : dx_docextractd_is_missing(""));
  if (list->is_driven && (!dx_job_is_final(job) || problem->text != NULL) &&
      problem->retry_at > dx_wall_ms() && localtime_r(&at, &tm) != NULL)
    (void)strftime(retry, sizeof(retry), "trying again at %H:%M", &tm);
  (void)dx_translate(sentence, said, sizeof(said));
  (void)dx_translate(retry, again, sizeof(again));
  is_said = list->cli->asks || strstr(sentence, message) != NULL;
  (void)snprintf(row->text, sizeof(row->text), "%s%s%s%s%s%s%s", said,
                 is_said ? "" : ": ", is_said ? "" : message,
                 hook[0] != '\0' ? "; " : "", hook,
                 again[0] != '\0' ? "; " : "", again);
  (void)snprintf(both, sizeof(both), "%s%s%s", message,
                 message[0] != '\0' && hook[0] != '\0' ? "; " : "", hook);
  dx_utf8_copy(message, DX_ERR_TEXT_BYTES, both);
}

static void jobs_format_age(int64_t since_ms, char age[24])
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

/* The time of day, or the date if that is not today. */
static void jobs_format_time(int64_t wall_ms, char text[16])
{
  time_t at = (time_t)(wall_ms / 1000), now = (time_t)(dx_wall_ms() / 1000);
  struct tm tm, today;

  if (localtime_r(&at, &tm) == NULL || localtime_r(&now, &today) == NULL)
    return;
  (void)strftime(text, 16,
                 tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year
                     ? "%H:%M"
                     : "%Y-%m-%d",
                 &tm);
}

/* ---- JSON ---- */

static void jobs_put_text(struct dx_json_out *out, const char *name,
                          const char *text)
{
  dx_json_put_string(out, name, text != NULL && text[0] != '\0' ? text : NULL);
}

/* An item of the array. */
static char *jobs_item_json(const struct dx_job *job, const char *state,
                            bool pretty, const char *sentence,
                            const char *message, size_t documents,
                            size_t extracted, size_t cases)
{
  struct dx_json_out out = {.pretty = pretty, .depth = 1};
  size_t i;

  dx_json_open(&out, NULL, '{');
  dx_json_put_string(&out, "key", job->key);
  dx_json_put_string(&out, "state", state);
  jobs_put_text(&out, "queue", job->queue);
  jobs_put_text(&out, "id", job->cups_id);
  dx_json_put_string(&out, "service", job->service);
  dx_json_put_time(&out, "received_at", job->received_at);
  dx_json_put_int(&out, "documents", (int64_t)documents);
  dx_json_put_int(&out, "extracted", (int64_t)extracted);
  dx_json_put_int(&out, "cases", (int64_t)cases);
  dx_json_put_string(&out, "sentence", sentence);
  jobs_put_text(&out, "message", message);
  dx_json_put_time(&out, "retry_at", dx_job_problem(job)->retry_at);
  dx_json_open(&out, "submissions", '[');
  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];

    dx_json_open(&out, NULL, '{');
    dx_json_put_string(&out, "state", dx_state_word(sub->state));
    jobs_put_text(&out, "source_id", sub->source_id);
    dx_json_put_int(&out, "cases", (int64_t)sub->case_count);
    jobs_put_text(&out, "reason", dx_line(sub->reason));
    jobs_put_text(&out, "message", dx_line(sub->problem.text));
    dx_json_put_time(&out, "retry_at", sub->problem.retry_at);
    dx_json_close(&out, '}');
  }
  dx_json_close(&out, ']');
  dx_json_close(&out, '}');
  return dx_buf_take(&out.text);
}

/* ---- gathering ---- */

static enum dx_code jobs_add(struct list *list, const struct dx_job *job)
{
  char sentence[DX_SENTENCE_BYTES], message[DX_ERR_TEXT_BYTES] = "";
  size_t i, documents = 0, extracted = 0, cases = 0;
  char docs[48];
  const char *told;
  struct row *row = reallocarray(list->rows, list->count + 1, sizeof(*row));

  if (row == NULL)
    return dx_fail_nomem(list->err);
  list->rows = row;
  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];

    documents += sub->file_count;
    extracted += sub->state == DX_ST_EXTRACTED ? sub->file_count : 0;
    cases += sub->case_count;
  }
  row += list->count++;
  memset(row, 0, sizeof(*row));
  memcpy(row->key, job->key, sizeof(row->key));
  row->received_at = job->received_at;
  row->state = dx_job_status(job);
  cli_cups_name(job, row->name);
  dx_utf8_copy(row->user, sizeof(row->user),
               job->user != NULL ? job->user : "");
  jobs_format_time(job->received_at, row->time);
  (void)snprintf(docs, sizeof(docs), "%zu/%zu", extracted, documents);
  (void)snprintf(row->counts, sizeof(row->counts), "%5s  %5zu", docs, cases);
  /* docextractd knows more than a user is told in the job. */
  told = list->cli->asks
             ? dx_json_string(dx_json_get(list->cli->job, "sentence"))
             : NULL;
  if (told != NULL)
    (void)snprintf(sentence, sizeof(sentence), "%s", told);
  else
    dx_job_sentence(job, sentence);
  jobs_describe(list, job, sentence, message, row);
  if (!list->cli->json)
    return DX_OK;
  row->json = jobs_item_json(job, row->state, !list->cli->watch, sentence,
                             message, documents, extracted, cases);
  return row->json != NULL ? DX_OK : dx_fail_nomem(list->err);
}

/* Of finished jobs, reads only the recent ones, because there may be many. */
static enum dx_code jobs_visit(void *ctx, enum dx_spool_part part,
                               const char *name)
{
  struct list *list = ctx;
  struct dx_job *job;
  enum dx_code code;
  int64_t age;

  if (part == DX_SPOOL_FINISHED && !list->cli->all) {
    age = dx_spool_finished_ms(&list->cli->spool, name);
    if (age > DX_STATUS_RECENT_MS && age != INT64_MAX) {
      list->old++;
      return DX_OK;
    }
  }
  code = cli_read_job(list->cli, name, &job, list->err);
  if (code == DX_E_NOT_FOUND) /* removed or picked up meanwhile */
    return DX_OK;
  if (code == DX_E_DAMAGED) {
    list->unreadable++;
    (void)snprintf(list->unreadable_one, sizeof(list->unreadable_one),
                   "%.32s: %s", name, list->err->text);
    return DX_OK;
  }
  if (code == DX_OK && cli_is_wanted(list->cli, job))
    code = jobs_add(list, job);
  dx_job_free(&job);
  return code;
}

static int jobs_by_key(const void *a, const void *b)
{
  const struct row *x = a, *y = b;

  return strcmp(x->key, y->key);
}

static int jobs_by_time(const void *a, const void *b)
{
  const struct row *x = a, *y = b;

  if (x->received_at != y->received_at)
    return x->received_at < y->received_at ? -1 : 1;
  return jobs_by_key(a, b);
}

static void jobs_sort(struct list *list,
                      int (*order)(const void *, const void *))
{
  if (list->count > 0)
    qsort(list->rows, list->count, sizeof(*list->rows), order);
}

static const struct row jobs_header = {.key = "KEY",
                                       .state = "STATE",
                                       .name = "JOB",
                                       .user = "USER",
                                       .time = "TIME",
                                       .counts = " DOCS  CASES",
                                       .text = "MESSAGE"};

static bool jobs_are_driven(const struct cli *cli)
{
  return cli->asks || dx_spool_daemon(cli->spool.dirfd) != 0;
}

static void jobs_widen(size_t *width, const char *text)
{
  size_t columns = cli_count_columns(text);

  if (columns > *width)
    *width = columns;
}

static void jobs_widen_all(struct list *list, const struct row *row)
{
  jobs_widen(&list->widths.name, row->name);
  jobs_widen(&list->widths.user, row->user);
  jobs_widen(&list->widths.time, row->time);
}

/* Reads the current jobs, and sorts them, newest last. */
static enum dx_code jobs_read(struct list *list, struct dx_err *err)
{
  size_t i, kept = 0;
  enum dx_code code;

  list->err = err;
  list->is_driven = jobs_are_driven(list->cli);
  code = cli_each_job(list->cli, jobs_visit, list, err);
  jobs_sort(list, jobs_by_key);
  list->digits = KEY_DIGITS;
  jobs_widen_all(list, &jobs_header);
  for (i = 0; i < list->count; i++) {
    struct row *row = &list->rows[i];
    struct row *before = kept > 0 ? &list->rows[kept - 1] : NULL;

    if (before != NULL &&
        jobs_by_key(before, row) == 0) { /* it was moved meanwhile */
      free(row->json);
      continue;
    }
    while (before != NULL && strcmp(before->key, row->key) != 0 &&
           strncmp(before->key, row->key, (size_t)list->digits) == 0)
      list->digits++;
    jobs_widen_all(list, row);
    list->rows[kept++] = *row;
  }
  list->count = kept;
  jobs_sort(list, jobs_by_time);
  return code;
}

static void jobs_release(struct list *list)
{
  size_t i;

  for (i = 0; i < list->count; i++)
    free(list->rows[i].json);
  free(list->rows);
  *list = (struct list){.cli = list->cli};
}

/* ---- the table ---- */

static void jobs_put_column(struct dx_buf *line, const char *text, size_t width)
{
  const char *shown = text[0] != '\0' ? text : "-";

  dx_buf_printf(line, "%s%*s  ", shown, (int)(width - cli_count_columns(shown)),
                "");
}

static void jobs_print_row(const struct list *list, const struct row *row)
{
  struct dx_buf line = {0};

  dx_buf_printf(&line, "%-*.*s  %-10s  ", list->digits, list->digits, row->key,
                row->state);
  jobs_put_column(&line, row->name, list->widths.name);
  jobs_put_column(&line, row->user, list->widths.user);
  jobs_put_column(&line, row->time, list->widths.time);
  dx_buf_printf(&line, "%s%s%s", row->counts, row->text[0] != '\0' ? "  " : "",
                row->text);
  cli_print_line(dx_buf_text(&line));
  dx_buf_release(&line);
}

static void jobs_print_left_out(const struct list *list)
{
  size_t damaged = dx_spool_count_damaged(&list->cli->spool);

  if (list->old > 0)
    fprintf(stderr,
            "%zu job%s finished more than a day ago; to list all: docextract "
            "jobs --all\n",
            list->old, list->old == 1 ? "" : "s");
  if (list->unreadable > 1)
    fprintf(stderr, "%zu damaged jobs, such as %s\n", list->unreadable,
            list->unreadable_one);
  else if (list->unreadable == 1)
    fprintf(stderr, "damaged job %s\n", list->unreadable_one);
  if (damaged > 0)
    fprintf(stderr,
            "%zu damaged job%s in '%s/damaged'; delete what is no longer "
            "needed\n",
            damaged, damaged == 1 ? "" : "s", list->cli->config->spool_dir);
}

/* What CUPS has not handed over yet, and what to do. */
static void jobs_print_waiting(struct cli *cli)
{
  struct cli_waiting *queues = NULL;
  size_t i, count = 0;
  char age[24];

  if (cli->asks || !cli_waiting(cli, &queues, &count))
    return;
  for (i = 0; i < count; i++) {
    const struct cli_waiting *q = &queues[i];

    if (q->count == 0 ||
        (cli->queue != NULL && strcasecmp(cli->queue, q->queue) != 0) ||
        (cli->service != NULL && strcmp(cli->service, q->service) != 0))
      continue;
    jobs_format_age(q->oldest_s * 1000, age);
    fprintf(stderr,
            "%zu print job%s in queue '%s' %s not in the spool yet, the oldest "
            "for %s; ",
            q->count, q->count == 1 ? "" : "s", q->queue,
            q->count == 1 ? "is" : "are", age);
    if (q->service[0] == '\0')
      fprintf(stderr,
              "its section is missing; to see what to do: docextract config\n");
    else if (q->is_stopped)
      fprintf(stderr, "the queue is stopped; to start it: cupsenable %s\n",
              q->queue);
    else if (q->held == q->count)
      fprintf(stderr, "held; to release one: lp -i %s-%d -H resume\n", q->queue,
              q->held_id);
    else
      fprintf(stderr, "to list them: lpstat -o %s\n", q->queue);
  }
  free(queues);
}

/* ---- once, or watching ---- */

struct watch {
  struct list now, before;
  char *json; /* of before */
  bool again; /* not the first round */
};

/* Prints all jobs first, then changed ones. Changes of the age are ignored. */
static void jobs_print_changed(const struct watch *w)
{
  const struct row *row = w->now.rows, *end = row + w->now.count,
                   *before = NULL;

  if (!w->again)
    jobs_print_row(&w->now, &jobs_header);
  for (; row < end; row++) {
    if (w->before.count > 0)
      before = bsearch(row, w->before.rows, w->before.count, sizeof(*row),
                       jobs_by_key);
    if (before == NULL || strcmp(before->state, row->state) != 0 ||
        strcmp(before->counts, row->counts) != 0 ||
        strcmp(before->text, row->text) != 0)
      jobs_print_row(&w->now, row);
  }
}

/* NULL: out of memory. */
static char *jobs_array_json(const struct list *list)
{
  struct dx_json_out out = {.pretty = !list->cli->watch};
  size_t i;

  dx_json_open(&out, NULL, '[');
  for (i = 0; i < list->count; i++)
    dx_json_put_raw(&out, NULL, list->rows[i].json);
  dx_json_close(&out, ']');
  return dx_buf_take(&out.text);
}

static enum dx_code jobs_print(struct watch *w, struct dx_err *err)
{
  const struct cli *cli = w->now.cli;
  char *text;
  enum dx_code code = jobs_read(&w->now, err);

  if (code != DX_OK)
    return code;
  if (cli->json) {
    text = jobs_array_json(&w->now);
    if (text == NULL)
      return dx_fail_nomem(err);
    if (w->json == NULL || strcmp(w->json, text) != 0)
      printf("%s\n", text);
    free(w->json);
    w->json = text;
  } else {
    jobs_print_changed(w);
  }
  (void)fflush(stdout);
  if (!w->again) {
    if (w->now.count == 0)
      cli_check_selection(cli);
    jobs_print_left_out(&w->now);
    jobs_print_waiting(w->now.cli);
  }
  w->again = true;
  jobs_sort(&w->now, jobs_by_key);
  jobs_release(&w->before);
  w->before = w->now;
  w->now = (struct list){.cli = w->before.cli};
  return code;
}

/* ---- one job ---- */

/* A job that a user names. */
static enum dx_code jobs_show_one(void *ctx, const char *text,
                                  struct dx_err *err)
{
  struct list *list = ctx;
  char key[DX_KEY_BYTES];
  struct dx_job *job = NULL;
  enum dx_code code = cli_find_job(list->cli, text, key, &job, err);

  list->err = err;
  if (code == DX_E_NOT_YET)
    code = dx_fail(err, DX_E_NOT_YET, 0,
                   "job %s is being received; try again in a moment", text);
  if (code == DX_OK)
    code = jobs_add(list, job);
  if (code == DX_OK && !list->cli->json) {
    if (list->count > 1)
      printf("\n");
    cli_print_job(list->cli, job, list->rows[list->count - 1].text,
                  list->is_driven);
  }
  dx_job_free(&job);
  return code;
}

static enum dx_code jobs_show(struct cli *cli, struct dx_err *err)
{
  struct list list = {.cli = cli};
  char *text = NULL;
  enum dx_code code;

  list.is_driven = jobs_are_driven(cli);
  code = cli_each_argument(cli, jobs_show_one, &list, err);
  if (cli->json)
    text = jobs_array_json(&list);
  if (text != NULL)
    printf("%s\n", text);
  free(text);
  jobs_release(&list);
  return code;
}

enum dx_code verb_jobs(struct cli *cli, struct dx_err *err)
{
  struct watch w = {.now.cli = cli, .before.cli = cli};
  enum dx_code code =
      cli->seen ? cli_open_spool(cli, err) : cli_open_jobs(cli, err);

  cli->is_listing = cli->arg_count == 0;
  if (code != DX_OK)
    return code;
  if (cli->arg_count > 0)
    return jobs_show(cli, err);
  if (cli->seen)
    return cli_request(cli, CLI_PATIENCE_MS, NULL, NULL, err, "seen");
  if (cli->watch)
    cli_stop_catch();
  do /* a signal, or a closed stdout, is not an error */
    code = jobs_print(&w, err);
  while (code == DX_OK && cli->watch && cli_stop_wait(WATCH_MS));
  jobs_release(&w.now);
  jobs_release(&w.before);
  free(w.json);
  return code;
}
