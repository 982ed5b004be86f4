/*
 * print.c - prints a loaded configuration: each value with its origin, or
 * without any text that a user wrote. Output with values can be read as a
 * configuration again. Nothing is read or checked here.
 */
#include "lib/config/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 20     /* printed, with what is before it */
#define COMMENT_AT 28     /* after that */
#define COMMENT_WITHIN 60 /* a longer value has its comment above */

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
static void config_print_line(FILE *out, const struct dx_config *config,
                              const char *indent, const char *name,
                              const char *value, int line, const char *more)
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
  char text[2 * DX_VALUE_BYTES];

  for (; item < list->items + list->count; item++) {
    (void)snprintf(text, sizeof(text), "%s%s%s", item->name,
                   item->value != NULL ? " " : "",
                   item->value != NULL ? item->value : "");
    config_print_line(out, config, "  ", name, text, item->line, "");
  }
}

/* Prints the rows of a service, or, if it is NULL, those outside; without texts
 * that a user wrote if `is_anonymous`. */
static void print_rows(FILE *out, const struct dx_config *config,
                       const struct dx_service *service, bool is_anonymous)
{
  const struct dx_directive *row;
  size_t i;

  for (i = 0; (row = dx_directive(i)) != NULL; i++) {
    const struct dx_lines *lines =
        service != NULL ? &service->lines : &config->lines;
    int general = row->in_general ? config->lines.line[i] : 0;
    int line = lines->line[i];
    bool is_for_all = line == 0 && general != 0;
    const void *field;
    const char *value;

    if (service != NULL ? !row->in_service : !row->in_general)
      continue;
    field = dx_directive_field(row, config, service);
    value = row->kind < DX_VALUE_CLAIM ? *(char *const *)field
            : lines->text[i] != NULL   ? lines->text[i]
                                       : row->fallback;
    if (is_anonymous && row->kind >= DX_VALUE_WORD)
      fprintf(out, "  %-*s %s%s\n", NAME_WIDTH, row->name, value,
              line != 0 ? "" : " (default)");
    else if (is_anonymous && line != 0)
      fprintf(out, "  %-*s (set)\n", NAME_WIDTH, row->name);
    else if (!is_anonymous && row->kind >= DX_VALUE_CLAIM &&
             row->kind < DX_VALUE_WORD)
      print_items(out, config, row->name, field);
    else if (!is_anonymous && value != NULL)
      config_print_line(out, config, service != NULL ? "  " : "", row->name,
                        value, is_for_all ? general : line,
                        is_for_all ? ", for all services" : "");
  }
}

enum dx_code dx_config_print(const struct dx_config *config, FILE *out,
                             struct dx_err *err)
{
  const struct dx_service *service = config->services;

  fprintf(out, "# %s\n", config->path);
  print_rows(out, config, NULL, false);
  for (; service < config->services + config->service_count; service++) {
    fprintf(out, "\n<Service %s>\n", service->name);
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
