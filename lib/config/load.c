/*
 * config_read.c - the lines of docextract.conf: which directive or section
 * each is, where it may stand, and everything that can be wrong with it, told
 * with its line and what would be right. What a value means is no matter of
 * this file but of config_value.c; the directives are the rows in config.c.
 */
#include "lib/config/config_internal.h"

#include <cups/file.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NAME_MAX_BYTES 64
#define SERVICES_MAX 100
#define WORD_MAX_BYTES 24 /* a longer word is more likely a key than a name */

/* ---- mistakes ---- */

enum dx_code config_bad(const struct parser *p, struct dx_err *err,
                        const char *format, ...)
{
  char text[DX_ERR_TEXT_BYTES];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  return dx_fail(err, DX_E_CONFIG, 0, "%s:%d: %s", p->path, p->line, text);
}

/* A mistake of the administrator's is no reason to look no further: all of
 * them can be mended at once. Everything else ends the reading. */
static enum dx_code go_on(struct parser *p, enum dx_code code,
                          const struct dx_err *err)
{
  if (code != DX_E_CONFIG)
    return code;
  if (p->mistakes++ == 0)
    p->first = *err;
  if (p->notes != NULL)
    p->notes->mistake_count = p->mistakes;
  if (p->notes != NULL && p->mistakes <= DX_MISTAKES_MAX)
    dx_buf_printf(&p->notes->mistakes, "%s\n", err->text);
  return DX_OK;
}

/* ---- names ---- */

static size_t least(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* How many letters differ (Levenshtein); part of a name differs by one. */
static size_t distance(const char *a, const char *b)
{
  size_t row[NAME_MAX_BYTES + 1];
  size_t n = strlen(b), i, j;

  if (strlen(a) > 2 && strcasestr(b, a) != NULL)
    return 1;
  for (j = 0; j <= n; j++)
    row[j] = j;
  for (i = 1; a[i - 1] != '\0'; i++) {
    size_t corner = row[0];

    row[0] = i;
    for (j = 1; j <= n; j++) {
      size_t up = row[j];
      size_t cost = strncasecmp(&a[i - 1], &b[j - 1], 1) != 0;

      row[j] = least(least(up + 1, row[j - 1] + 1), corner + cost);
      corner = up;
    }
  }
  return row[n];
}

/* NULL if none is near. */
static const char *nearest(const char *name)
{
  const char *best = config_rows[0].public.name;
  size_t i;

  for (i = 1; i < config_row_count; i++)
    if (distance(name, config_rows[i].public.name) < distance(name, best))
      best = config_rows[i].public.name;
  return distance(name, best) <= 1 + strlen(name) / 3 ? best : NULL;
}

static const struct row *find_row(const char *name, size_t len)
{
  const struct row *row;

  for (row = config_rows; row < config_rows + config_row_count; row++)
    if (strlen(row->public.name) == len &&
        strncasecmp(row->public.name, name, len) == 0)
      return row;
  return NULL;
}

static void list_possible(bool inside, char *text, size_t size)
{
  size_t i, used = 0;

  for (i = 0; i < config_row_count && used < size; i++)
    if (inside ? config_rows[i].public.in_service
               : config_rows[i].public.in_general)
      used +=
          (size_t)snprintf(text + used, size - used, "%s%s",
                           used > 0 ? ", " : "", config_rows[i].public.name);
  if (!inside && used < size)
    (void)snprintf(text + used, size - used, ", <Service NAME>");
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"

/*
 * A line may be a key that slipped into the file, and messages are read by
 * others: only what looks like the name of a directive is repeated. It may
 * have digits where it is like one that there is.
 */
static bool looks_like_a_name(const char *name)
{
  size_t len = strspn(name, LETTERS);
  size_t more = strspn(name + len, "0123456789");

  return name[len + more] == '\0' && len + more <= WORD_MAX_BYTES &&
         (more == 0 || nearest(name) != NULL);
}

static enum dx_code unknown(const struct parser *p, const char *name,
                            struct dx_err *err)
{
  size_t len = strcspn(name, "=:");
  const struct row *row = find_row(name, len);
  const char *near = looks_like_a_name(name) ? nearest(name) : NULL;
  char possible[DX_ERR_TEXT_BYTES];

  if (row != NULL)
    return config_bad(p, err, "write '%s VALUE', with a blank instead of '%c'",
                      row->public.name, name[len]);
  if (strcasecmp(name, "Service") == 0)
    return config_bad(p, err, "a section begins with <Service NAME>");
  if (near != NULL)
    return config_bad(p, err, "there is no directive '%s'; did you mean '%s'?",
                      name, near);
  list_possible(p->service != NULL, possible, sizeof(possible));
  if (looks_like_a_name(name))
    return config_bad(p, err,
                      "there is no directive '%s'; possible here are: %s", name,
                      possible);
  return config_bad(p, err, "this is no directive; possible here are: %s",
                    possible);
}

/* ---- directives ---- */

/* Of the open section, or of what stands outside. */
struct dx_lines *config_lines_of(const struct parser *p)
{
  return p->service != NULL ? &p->service->lines : &p->config->lines;
}

static enum dx_code directive(struct parser *p, const char *name,
                              const char *value, struct dx_err *err)
{
  bool inside = p->service != NULL;
  const struct row *row = find_row(name, strlen(name));
  int *seen;

  if (row == NULL)
    return unknown(p, name, err);
  if (inside && !row->public.in_service)
    return config_bad(p, err, "%s must stand outside of <Service>",
                      row->public.name);
  if (!inside && !row->public.in_general)
    return config_bad(p, err,
                      "%s must stand inside of a <Service NAME> section",
                      row->public.name);
  seen = &config_lines_of(p)->of[row - config_rows];
  if (*seen > 0 && row->type != CLAIM)
    return config_bad(p, err, "%s is there twice, first in line %d; remove one",
                      row->public.name, *seen);
  *seen = p->line;
  return config_take_value(p, row, value, err);
}

/* ---- sections ---- */

static void set_defaults(struct dx_service *service)
{
  service->token = DX_TOKEN_KEY;
  service->token_algorithm = DX_ALG_HS256;
  service->completion = DX_COMPLETION_EXTRACTED;
  service->on_document_error = DX_ON_ERROR_HOLD;
}

static enum dx_code check_name(const struct parser *p, const char *name,
                               struct dx_err *err)
{
  const struct dx_service *other;

  if (name == NULL || name[0] == '\0')
    return config_bad(p, err, "a section begins with <Service NAME>");
  if (strlen(name) > NAME_MAX_BYTES ||
      strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                   "0123456789-_.") < strlen(name))
    return config_bad(p, err,
                      "the name of a service may have letters, digits, '-', "
                      "'_' and '.', at most %d",
                      NAME_MAX_BYTES);
  other = dx_config_service(p->config, name);
  if (other != NULL)
    return config_bad(
        p, err,
        "<Service %s> is there twice, first in line %d; rename or "
        "remove one",
        name, other->line);
  return DX_OK;
}

static enum dx_code add_service(struct parser *p, const char *name,
                                struct dx_err *err)
{
  struct dx_config *config = p->config;
  struct dx_service *services;

  if (config->service_count >= SERVICES_MAX)
    return config_bad(p, err, "more than %d services; remove some",
                      SERVICES_MAX);
  services = realloc(config->services,
                     (config->service_count + 1) * sizeof(*services));
  if (services == NULL)
    return dx_fail_nomem(err);
  config->services = services;
  p->service = &services[config->service_count++];
  memset(p->service, 0, sizeof(*p->service));
  p->service->line = p->line;
  set_defaults(p->service);
  return config_set_text(name, &p->service->name, err);
}

/* A section with a wrong name is read all the same, for its other mistakes. */
static enum dx_code open_section(struct parser *p, const char *name,
                                 struct dx_err *err)
{
  enum dx_code code = DX_OK;

  if (p->service != NULL)
    code = config_bad(p, err,
                      "<Service> inside of a <Service>; close the one from "
                      "line %d with </Service>",
                      p->service->line);
  if (code == DX_OK)
    code = check_name(p, name, err);
  if (code == DX_E_CONFIG) {
    code = go_on(p, code, err);
    name = "?";
  }
  p->service = NULL;
  p->mistakes_before = p->mistakes;
  p->is_foreign = p->config->service_count >= SERVICES_MAX;
  return code == DX_OK ? add_service(p, name, err) : code;
}

/* The directive that the section still needs, or NULL. */
static const char *missing(const struct parser *p)
{
  const struct dx_service *s = p->service;

  if (s->name[0] == '?')
    return NULL; /* where the section begins is not sure */
  if (s->lines.of[find_row("BaseURL", 7) - config_rows] == 0)
    return "BaseURL";
  if (p->mistakes > p->mistakes_before)
    return NULL; /* it may be there, on a wrong line */
  if (s->token == DX_TOKEN_KEY && s->token_key_file == NULL) {
    if (s->token_file != NULL)
      return "the line 'Token file', for its TokenFile";
    if (s->token_command != NULL)
      return "the line 'Token command', for its TokenCommand";
    return "TokenKeyFile";
  }
  if (s->token == DX_TOKEN_FILE && s->token_file == NULL)
    return "TokenFile";
  if (s->token == DX_TOKEN_COMMAND && s->token_command == NULL)
    return "TokenCommand";
  return NULL;
}

static enum dx_code close_section(struct parser *p, struct dx_err *err)
{
  struct dx_service *s = p->service;
  enum dx_code code;
  const char *what;

  if (s == NULL)
    return config_bad(p, err, "</Service> without <Service NAME>");
  code = config_apply_fallbacks(p, err);
  if (code != DX_OK)
    return code;
  what = missing(p);
  p->service = NULL;
  return what == NULL
             ? DX_OK
             : config_bad(p, err, "<Service %s> needs %s", s->name, what);
}

/* Lines of a section of another kind would all seem to be in a wrong place. */
static enum dx_code foreign_section(struct parser *p, const char *name,
                                    struct dx_err *err)
{
  bool closes = name[1] == '/';

  if (closes && p->is_foreign) {
    p->is_foreign = false;
    return DX_OK;
  }
  if (closes && p->service != NULL) {
    enum dx_code code = close_section(p, err);

    code = go_on(p, code, err);
    return code == DX_OK ? config_bad(p, err, "a section ends with </Service>")
                         : code;
  }
  p->is_foreign = !closes;
  return looks_like_a_name(name + 1)
             ? config_bad(p, err,
                          "there is no section '%s'; only <Service NAME>", name)
             : config_bad(p, err,
                          "there is no such section; only <Service NAME>");
}

/* Nothing of it is repeated: what lies between such lines is skipped. */
static enum dx_code pasted_key(struct parser *p, struct dx_err *err)
{
  p->is_foreign = !p->is_foreign;
  if (!p->is_foreign)
    return DX_OK;
  return config_bad(
      p, err,
      "keys and certificates do not belong here; put them into files "
      "of their own, and name those with TokenKeyFile and CAFile");
}

/* ---- lines ---- */

static enum dx_code read_line(struct parser *p, const char *name,
                              const char *value, struct dx_err *err)
{
  if (strncmp(name, "-----", 5) == 0)
    return pasted_key(p, err);
  if (strcasecmp(name, "<Service") == 0 || strcasecmp(name, "<Service>") == 0)
    return open_section(p, value, err);
  if (name[0] == '<' && (p->is_foreign || strcasecmp(name, "</Service>") != 0))
    return foreign_section(p, name, err);
  if (name[0] == '<')
    return close_section(p, err);
  return p->is_foreign ? DX_OK : directive(p, name, value, err);
}

/* What editors put before the first line, as a rule unseen. */
static enum dx_code check_begin(const struct parser *p, const char *bytes,
                                size_t len, struct dx_err *err)
{
  if (len > 2 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0)
    return config_bad(p, err,
                      "there is a byte order mark before the first line; "
                      "save the file as UTF-8 without one");
  if (len > 1 &&
      (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0))
    return config_bad(p, err, "the file is UTF-16; save it as UTF-8");
  return DX_OK;
}

/* cupsFileGetConf() would cut such lines and go on with their rest. */
static enum dx_code check_lines(struct parser *p, int fd, struct dx_err *err)
{
  char bytes[LINE_BYTES];
  char last = '\0';
  size_t len = 0;
  off_t at = 0;
  ssize_t n, i;
  enum dx_code code;

  p->line = 1;
  while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
    code = at == 0 ? check_begin(p, bytes, (size_t)n, err) : DX_OK;
    if (code != DX_OK)
      return code;
    for (i = 0; i < n; i++) {
      if (bytes[i] == '\0')
        return config_bad(p, err, "there is a NUL byte; remove it");
      /* A line may end with CR, LF or both. */
      p->line += bytes[i] == '\r' || (bytes[i] == '\n' && last != '\r');
      len = bytes[i] == '\n' || bytes[i] == '\r' ? 0 : len + 1;
      if (len > LINE_BYTES - 2)
        return config_bad(p, err,
                          "the line is longer than %d bytes; shorten it",
                          LINE_BYTES - 2);
      last = bytes[i];
    }
    at += n;
  }
  p->line = 0;
  return n < 0 ? dx_fail_sys(err, errno, "read", p->path) : DX_OK;
}

static enum dx_code read_lines(struct parser *p, cups_file_t *file,
                               struct dx_err *err)
{
  char line[LINE_BYTES];
  char *value;
  enum dx_code code = DX_OK;

  while (code == DX_OK &&
         cupsFileGetConf(file, line, sizeof(line), &value, &p->line) != NULL)
    code = go_on(p, read_line(p, line, value, err), err);
  return code;
}

/* Mistakes that show at the end only. */
static enum dx_code end_lines(struct parser *p, struct dx_err *err)
{
  enum dx_code code = DX_OK;

  if (p->service != NULL)
    code = config_bad(p, err,
                      "<Service %s> of line %d is not closed; add </Service>",
                      p->service->name, p->service->line);
  else if (p->config->service_count == 0 && p->mistakes == 0)
    code = dx_fail(err, DX_E_CONFIG, 0,
                   "%s: no service; add a section <Service default> with "
                   "BaseURL and TokenKeyFile",
                   p->path);
  code = go_on(p, code, err);
  if (code == DX_OK && p->mistakes > 0) {
    *err = p->first;
    code = DX_E_CONFIG;
  }
  return code;
}

enum dx_code config_read(struct parser *p, int fd, struct dx_err *err)
{
  enum dx_code code = check_lines(p, fd, err);
  cups_file_t *file = code == DX_OK ? cupsFileOpenFd(fd, "r") : NULL;

  if (file == NULL) {
    (void)close(fd);
    return code == DX_OK ? dx_fail_nomem(err) : code;
  }
  code = read_lines(p, file, err);
  if (code == DX_OK)
    code = end_lines(p, err);
  (void)cupsFileClose(file);
  return code;
}
