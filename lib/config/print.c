/*
 * print.c - prints a loaded configuration: each value with its origin, or
 * without any text that a user wrote. Output with values can be read as a
 * configuration again. Nothing is read or checked here.
 */
#include "lib/config/config_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 20     /* printed, with what is before it */
#define COMMENT_AT 28     /* after that */
#define COMMENT_WITHIN 60 /* a longer value has its comment above */

/* The value of a row, as it was written or could have been; NULL if there is
 * none, or a list. Words and amounts are put into `text`. */
static const char *value_text(const struct row *row, const void *value,
                              char text[DX_SIZE_TEXT_BYTES])
{
  const char *word = row->public.words;
  int i;

  switch (row->type) {
  case WORD:
    for (i = *(const int *)value; i > 0; i--)
      word += strcspn(word, " ") + 1;
    (void)snprintf(text, DX_SIZE_TEXT_BYTES, "%.*s", (int)strcspn(word, " "),
                   word);
    return text;
  case NUMBER:
    (void)snprintf(text, DX_SIZE_TEXT_BYTES, "%.15g", *(const double *)value);
    return text;
  case DURATION:
  case SIZE:
  case COUNT:
    config_amount_text(row->type, *(const int64_t *)value, text);
    return text;
  case CLAIM:
  case HOST:
    return NULL;
  default:
    return *(char *const *)value;
  }
}

/* The origin of a value: "docextract.conf:7", or the default. The full path is
 * at the top. */
static void print_origin(FILE *out, const struct dx_config *config, int line,
                         const char *more)
{
  const char *slash = strrchr(config->path, '/');

  if (line == 0)
    fputs("# default", out);
  else
    fprintf(out, "# %s:%d%s", slash != NULL ? slash + 1 : config->path, line,
            more);
}

/*
 * Only the first '#' of a line is special: it begins a comment unless it is
 * written as "\#", after which there can be no comment. Therefore the comment
 * of such a value, or of a long one, has a line of its own.
 */
static void print_line(FILE *out, const struct dx_config *config,
                       const char *indent, const char *name, const char *value,
                       int line, const char *more)
{
  size_t len = strcspn(value, "#");
  bool above = value[len] == '#' || len > COMMENT_WITHIN;

  if (above) {
    fputs(indent, out);
    print_origin(out, config, line, more);
    fputc('\n', out);
  }
  fprintf(out, "%s%-*s ", indent, NAME_WIDTH - (int)strlen(indent), name);
  if (above) {
    fprintf(out, "%.*s%s%s", (int)len, value, value[len] == '#' ? "\\" : "",
            value + len);
  } else {
    fprintf(out, "%-*s  ", COMMENT_AT, value);
    print_origin(out, config, line, more);
  }
  fputc('\n', out);
}

static void print_items(FILE *out, const struct dx_config *config,
                        const char *name, const struct dx_items *list)
{
  const struct dx_item *item = list->items;
  char text[2 * LINE_BYTES];

  for (; item < list->items + list->count; item++) {
    (void)snprintf(text, sizeof(text), "%s%s%s", item->name,
                   item->value != NULL ? " " : "",
                   item->value != NULL ? item->value : "");
    print_line(out, config, "  ", name, text, item->line, "");
  }
}

/* Prints the rows of a service, or, if it is NULL, those outside; without texts
 * that a user wrote if `is_anonymous`. */
static void print_rows(FILE *out, const struct dx_config *config,
                       const struct dx_service *service, bool is_anonymous)
{
  char text[DX_SIZE_TEXT_BYTES];
  const char *value;
  size_t i;

  for (i = 0; i < config_row_count; i++) {
    const struct row *row = &config_rows[i];
    const void *field = config_field(config, service, row);
    int general = row->public.in_general ? config->lines.of[i] : 0;
    int line = service != NULL ? service->lines.of[i] : general;
    bool is_for_all = line == 0 && general != 0;

    if (service != NULL ? !row->public.in_service : !row->public.in_general)
      continue;
    if (!is_anonymous && (row->type == CLAIM || row->type == HOST)) {
      print_items(out, config, row->public.name, field);
      continue;
    }
    value = value_text(row, field, text);
    if (is_anonymous && (value == text || line != 0))
      fprintf(out, "  %-*s %s%s\n", NAME_WIDTH, row->public.name,
              value == text ? text : "(set)", line != 0 ? "" : " (default)");
    else if (!is_anonymous && value != NULL)
      print_line(out, config, service != NULL ? "  " : "", row->public.name,
                 value, is_for_all ? general : line,
                 is_for_all ? ", for all services" : "");
  }
}

enum dx_code dx_config_print(const struct dx_config *config, FILE *out,
                             dx_config_note *each, void *ctx,
                             struct dx_err *err)
{
  const struct dx_service *service = config->services;

  fprintf(out, "# %s\n", config->path);
  print_rows(out, config, NULL, false);
  for (; service < config->services + config->service_count; service++) {
    fprintf(out, "\n<Service %s>\n", service->name);
    if (each != NULL)
      each(ctx, service, out);
    print_rows(out, config, service, false);
    fprintf(out, "</Service>\n");
  }
  return fflush(out) == 0 ? DX_OK : dx_fail_sys(err, errno, "write", "output");
}

void dx_config_print_anonymous(const struct dx_config *config, FILE *out)
{
  size_t k;

  print_rows(out, config, NULL, true);
  for (k = 0; k < config->service_count; k++) {
    fprintf(out, "  service %zu of %zu\n", k + 1, config->service_count);
    print_rows(out, config, &config->services[k], true);
  }
}
