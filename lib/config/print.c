/*
 * print.c - prints a loaded configuration: every value with where it came
 * from, or without anything that a person wrote. What is printed with values
 * can be read as a configuration again. Nothing is read or checked here.
 */
#include "lib/config/config_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 20     /* printed, with what is before it */
#define COMMENT_AT 28     /* after that */
#define COMMENT_WITHIN 60 /* a longer value has its comment above */

static int print_duration(FILE *out, int64_t ms)
{
  static const struct {
    char unit;
    int64_t ms;
  } units[] = {{'d', 86400000}, {'h', 3600000}, {'m', 60000}, {'s', 1000}};
  int i = 0;

  while (i < 3 && ms % units[i].ms != 0)
    i++;
  return fprintf(out, "%" PRId64 "%c", ms / units[i].ms, units[i].unit);
}

const char *dx_size_text(int64_t bytes, char text[DX_SIZE_TEXT_BYTES])
{
  static const char units[] = "KMG";
  int i = 2;

  while (i > 0 && bytes % (INT64_C(1) << (10 * (i + 1))) != 0)
    i--;
  (void)snprintf(text, DX_SIZE_TEXT_BYTES, "%" PRId64 "%c",
                 bytes >> (10 * (i + 1)), units[i]);
  return text;
}

static int print_word(FILE *out, const char *words, int n)
{
  while (n-- > 0)
    words += strcspn(words, " ") + 1;
  return fprintf(out, "%.*s", (int)strcspn(words, " "), words);
}

/* Only the first '#' of a line is special. */
static int print_text(FILE *out, const char *text)
{
  size_t len = strcspn(text, "#");

  return fprintf(out, "%.*s%s%s", (int)len, text, text[len] != '\0' ? "\\" : "",
                 text + len);
}

static int print_value(FILE *out, const struct row *row, const void *value)
{
  char size[DX_SIZE_TEXT_BYTES];

  switch (row->type) {
  case WORD:
    return print_word(out, row->public.words, *(const int *)value);
  case NUMBER:
    return fprintf(out, "%.15g", *(const double *)value);
  case DURATION:
    return print_duration(out, *(const int64_t *)value);
  case COUNT:
    return fprintf(out, "%" PRId64, *(const int64_t *)value);
  case SIZE:
    return fprintf(out, "%s", dx_size_text(*(const int64_t *)value, size));
  default:
    return print_text(out, *(char *const *)value);
  }
}

static bool is_text(const struct row *row)
{
  return row->type != WORD && row->type != NUMBER && row->type != DURATION &&
         row->type != SIZE && row->type != COUNT;
}

/* A line has one comment at most and none after a "\#": the comment of such
 * a value has a line of its own. */
static bool needs_comment_above(const char *text)
{
  return strchr(text, '#') != NULL || strlen(text) > COMMENT_WITHIN;
}

/* Blanks between a value and its comment. */
static void fill(FILE *out, int width)
{
  fprintf(out, "%*s  ", width < COMMENT_AT ? COMMENT_AT - width : 0, "");
}

/* "docextract.conf:7"; the full path is at the top. */
static void print_line_number(FILE *out, const struct dx_config *config,
                              int line)
{
  const char *slash = strrchr(config->path, '/');

  fprintf(out, "%s:%d", slash != NULL ? slash + 1 : config->path, line);
}

/* Where the value of a row came from. */
static void print_origin(FILE *out, const struct dx_config *config,
                         const struct dx_lines *lines, const struct row *row)
{
  size_t i = (size_t)(row - config_rows);

  fputs("# ", out);
  if (lines->of[i] != 0) {
    print_line_number(out, config, lines->of[i]);
  } else if (row->public.in_general && config->lines.of[i] != 0) {
    print_line_number(out, config, config->lines.of[i]);
    fputs(", for all services", out);
  } else {
    fputs("default", out);
  }
}

static const void *value_of(const struct dx_config *config,
                            const struct dx_service *service,
                            const struct row *row)
{
  return service != NULL ? (const char *)service + row->service_offset
                         : (const char *)config + row->general_offset;
}

static void print_row(FILE *out, const struct dx_config *config,
                      const struct dx_service *service, const struct row *row)
{
  const void *value = value_of(config, service, row);
  const struct dx_lines *lines =
      service != NULL ? &service->lines : &config->lines;
  const char *indent = service != NULL ? "  " : "";
  bool above;
  int width;

  if (is_text(row) && *(char *const *)value == NULL)
    return;
  above = is_text(row) && needs_comment_above(*(char *const *)value);
  if (above) {
    fputs(indent, out);
    print_origin(out, config, lines, row);
    fputc('\n', out);
  }
  fprintf(out, "%s%-*s ", indent, NAME_WIDTH - (int)strlen(indent),
          row->public.name);
  width = print_value(out, row, value);
  if (!above) {
    fill(out, width);
    print_origin(out, config, lines, row);
  }
  fputc('\n', out);
}

static void print_claims(FILE *out, const struct dx_config *config,
                         const struct dx_service *service)
{
  size_t i;

  for (i = 0; i < service->claim_count; i++) {
    const struct dx_claim *claim = &service->claims[i];
    int width;
    bool above =
        needs_comment_above(claim->name) || needs_comment_above(claim->value);

    fputs("  ", out);
    if (above) {
      fputs("# ", out);
      print_line_number(out, config, claim->line);
      fputs("\n  ", out);
    }
    fprintf(out, "%-*s ", NAME_WIDTH - 2, "TokenClaim");
    width = print_text(out, claim->name) + 1;
    fputc(' ', out);
    if (strchr(claim->name, '#') == NULL)
      width += print_text(out, claim->value);
    else
      fputs(claim->value, out);
    if (!above) {
      fill(out, width);
      fputs("# ", out);
      print_line_number(out, config, claim->line);
    }
    fputc('\n', out);
  }
}

static void print_hosts(FILE *out, const struct dx_config *config,
                        const struct dx_service *service)
{
  size_t i;

  for (i = 0; i < service->storage_host_count; i++) {
    const struct dx_host *host = &service->storage_hosts[i];

    fprintf(out, "  %-*s ", NAME_WIDTH - 2, "StorageHost");
    fill(out, fprintf(out, "%s", host->name));
    fputs("# ", out);
    print_line_number(out, config, host->line);
    fputc('\n', out);
  }
}

enum dx_code dx_config_print(const struct dx_config *config, FILE *out,
                             dx_config_note *each, void *ctx,
                             struct dx_err *err)
{
  size_t i, k;

  fprintf(out, "# %s\n", config->path);
  for (i = 0; i < config_row_count; i++)
    if (config_rows[i].public.in_general)
      print_row(out, config, NULL, &config_rows[i]);
  for (k = 0; k < config->service_count; k++) {
    const struct dx_service *service = &config->services[k];

    fprintf(out, "\n<Service %s>\n", service->name);
    if (each != NULL)
      each(ctx, service, out);
    for (i = 0; i < config_row_count; i++) {
      if (config_rows[i].type == CLAIM)
        print_claims(out, config, service);
      else if (config_rows[i].type == HOST)
        print_hosts(out, config, service);
      else if (config_rows[i].public.in_service)
        print_row(out, config, service, &config_rows[i]);
    }
    fprintf(out, "</Service>\n");
  }
  return fflush(out) == 0 ? DX_OK : dx_fail_sys(err, errno, "write", "output");
}

static void print_anonymous(FILE *out, const struct dx_config *config,
                            const struct dx_service *service,
                            const struct row *row)
{
  const struct dx_lines *lines =
      service != NULL ? &service->lines : &config->lines;
  bool is_set = lines->of[row - config_rows] != 0;

  if (is_text(row) && !is_set)
    return;
  fprintf(out, "  %-*s ", NAME_WIDTH, row->public.name);
  if (is_text(row))
    fputs("(set)", out);
  else
    (void)print_value(out, row, value_of(config, service, row));
  fputs(is_set ? "\n" : " (default)\n", out);
}

void dx_config_print_anonymous(const struct dx_config *config, FILE *out)
{
  size_t i, k;

  for (i = 0; i < config_row_count; i++)
    if (config_rows[i].public.in_general)
      print_anonymous(out, config, NULL, &config_rows[i]);
  for (k = 0; k < config->service_count; k++) {
    fprintf(out, "  service %zu of %zu\n", k + 1, config->service_count);
    for (i = 0; i < config_row_count; i++)
      if (config_rows[i].public.in_service)
        print_anonymous(out, config, &config->services[k], &config_rows[i]);
  }
}
