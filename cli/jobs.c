/*
 * jobs.c - `docextract jobs`: prints the jobs in the spool, once or whenever
 * something changes. list.c decides what is printed of a job.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/list.h"
#include "lib/base/buf.h"
#include "lib/base/json.h"

#define WATCH_MS 1000

/* ---- JSON ---- */

static enum dx_code make_json(struct list *list, bool pretty, char **ret_text,
                              struct dx_err *err)
{
  struct dx_json *array = dx_json_array();
  bool ok = array != NULL;
  size_t i;

  *ret_text = NULL;
  for (i = 0; ok && i < list->count; i++)
    ok = dx_json_append_take(array, &list->rows[i].json);
  if (ok)
    *ret_text = dx_json_print(array, pretty);
  dx_json_free(&array);
  return *ret_text != NULL ? DX_OK : dx_fail_nomem(err);
}

static enum dx_code print_json(struct list *list, struct dx_err *err)
{
  char *text;
  enum dx_code code = make_json(list, true, &text, err);

  if (code == DX_OK)
    printf("%s\n", text);
  free(text);
  return code;
}

/* ---- the table ---- */

struct table {
  int digits;     /* of keys */
  int width;      /* of print jobs */
  size_t columns; /* of a line, at most */
};

static const struct list_row header = {.key = "KEY",
                                       .state = "STATE",
                                       .name = "JOB",
                                       .age = "AGE",
                                       .docs = "DOCS",
                                       .cases = "CASES",
                                       .text = "MESSAGE"};

static struct table lay_out(const struct list *list)
{
  struct table table = {.digits = list->digits, .columns = SIZE_MAX};
  size_t i, width = cli_count_characters(header.name);

  for (i = 0; i < list->count; i++)
    if (cli_count_characters(list->rows[i].name) > width)
      width = cli_count_characters(list->rows[i].name);
  table.width = (int)width;
  return table;
}

static void print_row(const struct table *table, const struct list_row *row)
{
  const char *name = row->name[0] != '\0' ? row->name : "-";
  int left = table->width - (int)cli_count_characters(name);
  struct dx_buf line = {0};

  dx_buf_printf(&line, "%-*.*s  %-10s  %s%*s  %6s  %5s  %5s", table->digits,
                table->digits, row->key, row->state, name, left, "", row->age,
                row->docs, row->cases);
  if (row->text[0] != '\0')
    dx_buf_printf(&line, "  %s", row->text);
  (void)cli_print_plain(dx_buf_text(&line), table->columns);
  printf("\n");
  dx_buf_release(&line);
}

static void print_table(const struct list *list)
{
  struct table table = lay_out(list);
  size_t i;

  print_row(&table, &header);
  for (i = 0; i < list->count; i++)
    print_row(&table, &list->rows[i]);
}

static void print_damaged(const struct list *list, size_t count,
                          const char *directory)
{
  if (count > 0)
    fprintf(stderr, "%zu damaged job%s in '%s/%s'\n", count,
            count == 1 ? "" : "s", list->cli->config->spool_dir, directory);
}

static void print_left_out(const struct list *list)
{
  if (list->old > 0)
    fprintf(stderr,
            "%zu job%s finished more than a day ago; to list all: docextract "
            "jobs --all\n",
            list->old, list->old == 1 ? "" : "s");
  print_damaged(list, list->unreceived, "received");
  print_damaged(list, list->unreadable, "jobs");
  print_damaged(list, dx_spool_count_damaged(&list->cli->spool), "damaged");
}

/* ---- watching ---- */

struct watch {
  struct list now, before;
  char *json; /* of before */
  bool again; /* not the first round */
};

/* Fills the screen and no more: the newest that fit, one line each. */
static void draw(const struct list *list)
{
  struct table table = lay_out(list);
  int lines, columns;
  size_t i, fit;

  cli_screen(&lines, &columns);
  table.columns = (size_t)columns;
  fit = lines > 3 ? (size_t)lines - 3 : 1;
  i = list->count > fit ? list->count - fit : 0;
  cli_screen_clear();
  print_row(&table, &header);
  if (i > 0)
    printf("%zu older\n", i);
  for (; i < list->count; i++)
    print_row(&table, &list->rows[i]);
}

/* Ages do not count: they change all the time. */
static bool has_changed(const struct list_row *before,
                        const struct list_row *now)
{
  return before == NULL || strcmp(before->state, now->state) != 0 ||
         strcmp(before->docs, now->docs) != 0 ||
         strcmp(before->cases, now->cases) != 0 ||
         strcmp(before->text, now->text) != 0;
}

static void print_changed(struct watch *w)
{
  struct table table = lay_out(&w->now);
  size_t i;

  if (!w->again)
    print_row(&table, &header);
  for (i = 0; i < w->now.count; i++)
    if (has_changed(list_find(&w->before, w->now.rows[i].key), &w->now.rows[i]))
      print_row(&table, &w->now.rows[i]);
}

static enum dx_code print_changed_json(struct watch *w, struct dx_err *err)
{
  char *text;
  enum dx_code code = make_json(&w->now, false, &text, err);

  if (code != DX_OK)
    return code;
  if (w->json == NULL || strcmp(w->json, text) != 0)
    printf("%s\n", text);
  free(w->json);
  w->json = text;
  return DX_OK;
}

static enum dx_code look_again(struct watch *w, struct dx_err *err)
{
  enum dx_code code = list_read(&w->now, err);
  struct list swap = w->before;

  if (code != DX_OK)
    return code;
  if (w->now.json)
    code = print_changed_json(w, err);
  else if (cli_is_live())
    draw(&w->now);
  else
    print_changed(w);
  (void)fflush(stdout);
  if (!w->again)
    print_left_out(&w->now);
  w->again = true;
  w->before = w->now;
  list_sort_by_key(&w->before);
  w->now = swap;
  list_release(&w->now);
  return code;
}

/* Being stopped, or having no reader left, is no failure. */
static enum dx_code watch(const struct list *list, struct dx_err *err)
{
  struct watch w = {.now = *list, .before = *list};
  enum dx_code code;

  cli_stop_catch();
  do
    code = look_again(&w, err);
  while (code == DX_OK && cli_stop_wait(WATCH_MS));
  list_release(&w.now);
  list_release(&w.before);
  free(w.json);
  return code;
}

static enum dx_code once(struct list *list, struct dx_err *err)
{
  enum dx_code code = list_read(list, err);

  if (code == DX_OK && list->json)
    code = print_json(list, err);
  else if (code == DX_OK)
    print_table(list);
  if (code == DX_OK)
    print_left_out(list);
  list_release(list);
  return code;
}

enum dx_code verb_jobs(struct cli *cli, struct dx_err *err)
{
  struct list list = {.cli = cli, .json = cli->json};
  enum dx_code code =
      cli->seen ? cli_open_spool(cli, err) : cli_open_jobs(cli, err);

  cli->is_listing = true;
  if (code != DX_OK)
    return code;
  if (cli->seen)
    return cli_tell(cli, err, "seen");
  return cli->watch ? watch(&list, err) : once(&list, err);
}
