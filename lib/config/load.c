/*
 * load.c - reads docextract.conf: opens the file, recognizes directives and
 * sections, checks where they may appear, applies defaults, and frees the
 * configuration. parse.c interprets the values of directives; mistakes.c
 * reports mistakes.
 */
#include "lib/config/config_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"

#define FILE_MAX_BYTES 1048576
#define SERVICES_MAX 100
#define SERVICE_NAME_MAX 64

/* ---- directives ---- */

static enum dx_code directive(struct parser *p, const char *name,
                              const char *value, struct dx_err *err)
{
  bool inside = p->service != NULL;
  const struct row *row = config_find_row(name, strlen(name));
  int *seen;

  if (row == NULL)
    return config_unknown(p, name, err);
  if (inside && !row->public.in_service)
    return config_bad(p, err, "%s belongs outside of <Service>",
                      row->public.name);
  if (!inside && !row->public.in_general)
    return config_bad(p, err, "%s belongs in a <Service NAME> section",
                      row->public.name);
  seen = &config_lines_of(p)->of[row - config_rows];
  if (*seen > 0 && row->type != CLAIM && row->type != HOST)
    return config_bad(p, err, "%s appears twice, first in line %d; remove one",
                      row->public.name, *seen);
  *seen = p->line;
  return config_take_value(p, row, value, err);
}

/* ---- sections ---- */

static enum dx_code check_name(const struct parser *p, const char *name,
                               struct dx_err *err)
{
  const struct dx_service *other;

  if (name == NULL || name[0] == '\0')
    return config_bad(p, err, "a section begins with <Service NAME>");
  if (strlen(name) > SERVICE_NAME_MAX ||
      strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                   "0123456789-_.") < strlen(name))
    return config_bad(p, err,
                      "the name of a service may have letters, digits, '-', "
                      "'_', and '.', at most %d",
                      SERVICE_NAME_MAX);
  other = dx_config_service(p->config, name);
  if (other != NULL)
    return config_bad(p, err,
                      "<Service %s> appears twice, first in line %d; rename or "
                      "remove one",
                      name, other->line);
  return DX_OK;
}

/* A section with an invalid name is read, too, to find its other mistakes. */
static enum dx_code open_section(struct parser *p, const char *name,
                                 struct dx_err *err)
{
  struct dx_config *config = p->config;
  enum dx_code code = DX_OK;

  if (p->service != NULL)
    code = config_bad(p, err,
                      "<Service> inside of a <Service>; close the one from "
                      "line %d with </Service>",
                      p->service->line);
  if (code == DX_OK)
    code = check_name(p, name, err);
  if (code == DX_E_CONFIG) {
    code = config_note_mistake(p, code, err);
    name = "?";
  }
  p->service = NULL;
  p->mistakes_before = p->mistakes;
  p->is_foreign = config->service_count >= SERVICES_MAX;
  if (code == DX_OK && p->is_foreign)
    return config_bad(p, err, "more than %d services; remove some",
                      SERVICES_MAX);
  if (code != DX_OK)
    return code;
  p->service = &config->services[config->service_count++];
  p->service->line = p->line;
  return config_set_text(name, &p->service->name, err);
}

static bool has_line(const struct dx_service *s, const char *directive)
{
  return s->lines
             .of[config_find_row(directive, strlen(directive)) - config_rows] !=
         0;
}

/* Checks that a section has all required lines. */
static enum dx_code check_section(const struct parser *p, struct dx_err *err)
{
  const struct dx_service *s = p->service;
  const struct dx_token_source_info *info;
  int i;

  if (s->name[0] == '?')
    return DX_OK; /* the beginning of the section is not certain */
  if (!has_line(s, "BaseURL"))
    return config_bad(p, err, "<Service %s> needs BaseURL", s->name);
  if (p->mistakes > p->mistakes_before)
    return DX_OK; /* the rest may be there, on a wrong line */
  if (has_line(s, dx_token_sources[s->token].directive))
    return DX_OK;
  /* With the directive of another source, the Token line may be missing. */
  for (i = 0; !has_line(s, "Token") && i < DX_TOKEN_SOURCE_COUNT; i++) {
    info = &dx_token_sources[i];
    if (has_line(s, info->directive))
      return config_bad(p, err,
                        "<Service %s> needs the line 'Token %s', for its %s",
                        s->name, info->word, info->directive);
  }
  return config_bad(p, err, "<Service %s> needs %s", s->name,
                    dx_token_sources[s->token].directive);
}

static enum dx_code close_section(struct parser *p, struct dx_err *err)
{
  enum dx_code code;

  if (p->service == NULL)
    return config_bad(p, err, "</Service> without <Service NAME>");
  code = config_apply_fallbacks(p, err);
  if (code == DX_OK)
    code = check_section(p, err);
  p->service = NULL;
  return code;
}

/* Skips a section of another type, whose lines would all be reported. */
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

    code = config_note_mistake(p, code, err);
    return code == DX_OK ? config_bad(p, err, "a section ends with </Service>")
                         : code;
  }
  p->is_foreign = !closes;
  return config_is_repeatable(name + 1)
             ? config_bad(p, err, "unknown section '%s'; use <Service NAME>",
                          name)
             : config_bad(p, err, "unknown section; use <Service NAME>");
}

/* ---- lines ---- */

static enum dx_code read_line(struct parser *p, const char *name,
                              const char *value, struct dx_err *err)
{
  if (strncmp(name, "-----", 5) == 0) {
    /* Skip everything between such lines: no message may repeat a key. */
    p->is_foreign = !p->is_foreign;
    return p->is_foreign
               ? config_bad(p, err,
                            "keys and certificates do not belong here; put "
                            "them into files of their own, and name those with "
                            "TokenKeyFile and CAFile")
               : DX_OK;
  }
  if (strcasecmp(name, "<Service") == 0 || strcasecmp(name, "<Service>") == 0)
    return open_section(p, value, err);
  if (name[0] == '<' && (p->is_foreign || strcasecmp(name, "</Service>") != 0))
    return foreign_section(p, name, err);
  if (name[0] == '<')
    return close_section(p, err);
  return p->is_foreign ? DX_OK : directive(p, name, value, err);
}

/* Checks that the content is text, with lines that a user may have written. */
static enum dx_code check_bytes(struct parser *p, const struct dx_buf *content,
                                struct dx_err *err)
{
  const char *bytes = content->data;
  size_t len = 0, i;

  p->line = 1;
  /* A byte order mark, which some editors add invisibly. */
  if (content->len > 2 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0)
    return config_bad(p, err,
                      "there is a byte order mark before the first line; "
                      "save the file as UTF-8 without one");
  if (content->len > 1 &&
      (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0))
    return config_bad(p, err, "the file is UTF-16; save it as UTF-8");
  for (i = 0; i < content->len; i++) {
    if (bytes[i] == '\0')
      return config_bad(p, err, "there is a NUL byte; remove it");
    /* A line may end with CR, LF or both. */
    p->line += bytes[i] == '\r' ||
               (bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r'));
    len = bytes[i] == '\n' || bytes[i] == '\r' ? 0 : len + 1;
    if (len > LINE_BYTES - 2)
      return config_bad(p, err, "the line is longer than %d bytes; shorten it",
                        LINE_BYTES - 2);
  }
  p->line = 0;
  return DX_OK;
}

/* Mistakes that are known only at the end. */
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
  code = config_note_mistake(p, code, err);
  if (code == DX_OK && p->mistakes > 0 && !p->takes_mistakes) {
    *err = p->first;
    code = DX_E_CONFIG;
  }
  return code;
}

static enum dx_code read_file(struct parser *p, int fd, struct dx_err *err)
{
  struct dx_buf content = {0};
  enum dx_code code = dx_fs_read_fd(fd, p->path, FILE_MAX_BYTES, &content, err);
  char *text = content.data, *name, *value;

  if (code == DX_OK && content.len > 0)
    code = check_bytes(p, &content, err);
  while (code == DX_OK && text != NULL &&
         (name = dx_config_next_line(&text, &p->line, &value)) != NULL)
    code = config_note_mistake(p, read_line(p, name, value, err), err);
  if (code == DX_OK)
    code = end_lines(p, err);
  dx_buf_release(&content);
  return code;
}

/* ---- the file ---- */

static enum dx_code open_file(const char *path, int *ret_fd, struct dx_err *err)
{
  char text[DX_ERR_TEXT_BYTES];
  const char *wrong;
  struct stat st;
  enum dx_code code;
  int e;

  *ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*ret_fd < 0) {
    e = errno;
    code = dx_fail_sys(err, e, "open", path);
    /* Temporary errors do not need the administrator. */
    if (code == DX_E_FDS || code == DX_E_NOMEM || code == DX_E_IO)
      return code;
    return dx_fail(err, DX_E_CONFIG, e, "cannot open '%s': %s%s", path,
                   strerror(e),
                   e == ENOENT ? "; write one as in docextract.conf(5)" : "");
  }
  if (fstat(*ret_fd, &st) < 0)
    return dx_fail_sys(err, errno, "stat", path);
  if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX_BYTES)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "'%s' is not a configuration file: name a regular file of "
                   "at most %d bytes",
                   path, FILE_MAX_BYTES);
  wrong = config_identity(path, &st, "root", text);
  return wrong == NULL ? DX_OK : dx_fail(err, DX_E_CONFIG, 0, "%s", wrong);
}

/* Checks and defaults that depend on the whole file. */
static enum dx_code finish(struct parser *p, struct dx_err *err)
{
  struct dx_config *config = p->config;
  enum dx_code code = config_apply_fallbacks(p, err);
  const char *unfit;
  size_t i;

  if (code == DX_OK && config->results_dir == NULL &&
      asprintf(&config->results_dir, "%s/results", config->spool_dir) < 0) {
    config->results_dir = NULL;
    return dx_fail_nomem(err);
  }
  for (i = 0; code == DX_OK && i < config->service_count; i++)
    if (config->services[i].results_dir == NULL)
      code = config_set_text(config->results_dir,
                             &config->services[i].results_dir, err);
  if (code != DX_OK)
    return code;
  p->line = config->lines.of[0]; /* SpoolDir's */
  unfit = dx_fs_unfit(config->spool_dir);
  if (unfit != NULL)
    return config_bad(
        p, err, "SpoolDir '%s' is on %s; choose a directory on a local disk",
        config->spool_dir, unfit);
  return DX_OK;
}

const char *dx_config_path(void)
{
  static char path[PATH_MAX];
  const char *root = getenv("CUPS_SERVERROOT");

  (void)snprintf(path, sizeof(path), "%s/docextract.conf",
                 root != NULL && root[0] == '/' ? root : DX_SERVERROOT);
  return path;
}

enum dx_code dx_config_load(const char *path, struct dx_config **ret_config,
                            struct dx_err *err)
{
  return dx_config_check(path, ret_config, NULL, err);
}

static enum dx_code read_config(struct parser *p, struct dx_config **ret_config,
                                struct dx_err *err)
{
  int fd = -1;
  enum dx_code code;

  p->config = calloc(1, sizeof(*p->config));
  if (p->config == NULL)
    return dx_fail_nomem(err);
  p->config->path = strdup(p->path);
  p->config->services = calloc(SERVICES_MAX, sizeof(*p->config->services));
  code = p->config->path == NULL || p->config->services == NULL
             ? dx_fail_nomem(err)
             : open_file(p->path, &fd, err);
  if (code == DX_OK)
    code = read_file(p, fd, err);
  if (fd >= 0)
    (void)close(fd);
  if (code == DX_OK)
    code = finish(p, err);
  if (code == DX_OK)
    *ret_config = p->config;
  else
    dx_config_free(&p->config);
  return code;
}

enum dx_code dx_config_check(const char *path, struct dx_config **ret_config,
                             struct dx_config_notes *notes, struct dx_err *err)
{
  struct parser p = {.path = path, .notes = notes};
  struct dx_err why = {DX_OK, 0, ""};
  enum dx_code code = read_config(&p, ret_config, &why);

  if (code == DX_OK)
    return DX_OK;
  if (notes == NULL && p.mistakes > 1)
    return dx_fail(err, code, 0,
                   "%s (the first of %d errors; see docextract config)",
                   why.text, p.mistakes);
  return dx_fail(err, code, why.sys_errno, "%s", why.text);
}

enum dx_code dx_config_read_anyway(const char *path,
                                   struct dx_config **ret_config,
                                   struct dx_err *err)
{
  struct parser p = {.path = path, .takes_mistakes = true};

  return read_config(&p, ret_config, err);
}

/* Frees the values of a service, or, if it is NULL, those outside. */
static void release_values(struct dx_config *config, struct dx_service *service)
{
  const struct row *row = config_rows;
  struct dx_items *list;

  for (; row < config_rows + config_row_count; row++) {
    if (service != NULL ? !row->public.in_service : !row->public.in_general)
      continue;
    switch (row->type) {
    case WORD:
    case NUMBER:
    case DURATION:
    case SIZE:
    case COUNT:
      break;
    case CLAIM:
    case HOST:
      list = config_field(config, service, row);
      for (; list->count > 0; list->count--) {
        free(list->items[list->count - 1].name);
        free(list->items[list->count - 1].value);
      }
      break;
    default:
      free(*(char **)config_field(config, service, row));
    }
  }
}

void dx_config_free(struct dx_config **config_at)
{
  struct dx_config *config = *config_at;
  struct dx_service *service;

  if (config == NULL)
    return;
  for (service = config->services;
       service < config->services + config->service_count; service++) {
    release_values(config, service);
    free(service->name);
    free(service->host);
  }
  release_values(config, NULL);
  free(config->services);
  free(config->path);
  free(config);
  *config_at = NULL;
}
