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

static const void *value_of(const struct dx_config *config,
                            const struct dx_service *service,
                            const struct row *row)
{
  return service != NULL ? (const char *)service + row->service_offset
                         : (const char *)config + row->general_offset;
}

/* The value of a row, as it was written or could have been; NULL if none. Words
 * and amounts are put into `text`. */
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
  default:
    return *(char *const *)value;
  }
}

/* ---- with everything ---- */

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

static void print_row(FILE *out, const struct dx_config *config,
                      const struct dx_service *service, const struct row *row)
{
  size_t i = (size_t)(row - config_rows);
  int general = row->public.in_general ? config->lines.of[i] : 0;
  int line = service != NULL ? service->lines.of[i] : general;
  bool is_for_all = line == 0 && general != 0;
  char text[DX_SIZE_TEXT_BYTES];
  const char *value = value_text(row, value_of(config, service, row), text);

  if (value != NULL)
    print_line(out, config, service != NULL ? "  " : "", row->public.name,
               value, is_for_all ? general : line,
               is_for_all ? ", for all services" : "");
}

static void print_service(FILE *out, const struct dx_config *config,
                          const struct dx_service *service)
{
  char claim[2 * LINE_BYTES];
  size_t i, k;

  for (i = 0; i < config_row_count; i++) {
    const struct row *row = &config_rows[i];

    if (row->type == CLAIM) {
      for (k = 0; k < service->claim_count; k++) {
        (void)snprintf(claim, sizeof(claim), "%s %s", service->claims[k].name,
                       service->claims[k].value);
        print_line(out, config, "  ", row->public.name, claim,
                   service->claims[k].line, "");
      }
    } else if (row->type == HOST) {
      for (k = 0; k < service->storage_host_count; k++)
        print_line(out, config, "  ", row->public.name,
                   service->storage_hosts[k].name,
                   service->storage_hosts[k].line, "");
    } else if (row->public.in_service) {
      print_row(out, config, service, row);
    }
  }
}

enum dx_code dx_config_print(const struct dx_config *config, FILE *out,
                             dx_config_note *each, void *ctx,
                             struct dx_err *err)
{
  const struct dx_service *service = config->services;
  size_t i;

  fprintf(out, "# %s\n", config->path);
  for (i = 0; i < config_row_count; i++)
    if (config_rows[i].public.in_general)
      print_row(out, config, NULL, &config_rows[i]);
  for (; service < config->services + config->service_count; service++) {
    fprintf(out, "\n<Service %s>\n", service->name);
    if (each != NULL)
      each(ctx, service, out);
    print_service(out, config, service);
    fprintf(out, "</Service>\n");
  }
  return fflush(out) == 0 ? DX_OK : dx_fail_sys(err, errno, "write", "output");
}

/* ---- with nothing that a user wrote ---- */

static void print_anonymous(FILE *out, const struct dx_config *config,
                            const struct dx_service *service,
                            const struct row *row)
{
  const struct dx_lines *lines =
      service != NULL ? &service->lines : &config->lines;
  bool is_set = lines->of[row - config_rows] != 0;
  char text[DX_SIZE_TEXT_BYTES];
  bool is_text = value_text(row, value_of(config, service, row), text) != text;

  if (!is_text || is_set)
    fprintf(out, "  %-*s %s%s\n", NAME_WIDTH, row->public.name,
            is_text ? "(set)" : text, is_set ? "" : " (default)");
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
