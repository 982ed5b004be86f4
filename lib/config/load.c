/*
 * load.c - reads docextract.conf: opens the file, cuts it into lines,
 * recognizes directives and sections, checks where they may appear, and frees
 * the configuration. parse.c interprets the values of directives.
 */
#include "lib/config/config_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/utf8.h"

#define FILE_MAX_BYTES 1048576
#define SERVICES_MAX 100
#define BLANKS " \t\n\v\f\r"

/* ---- lines ---- */

static void cut_blanks(char *text)
{
  size_t len = strlen(text);

  while (len > 0 && strchr(BLANKS, text[len - 1]) != NULL)
    text[--len] = '\0';
}

/*
 * The syntax is that of CUPS's configuration files. cupsFileGetConf() of
 * libcups reads the same (tests/unit/test_config.c compares the two), but
 * truncates long lines silently, and needs libcups, with its twenty libraries,
 * in every program.
 */
char *dx_config_next_line(char **text, int *line, char **ret_value)
{
  char *name, *end, *value, *hash;
  size_t len;

  do { /* a line ends with CR, LF, or both */
    if (**text == '\0')
      return NULL;
    ++*line;
    name = *text;
    end = name + strcspn(name, "\r\n");
    *text = end + (end[0] == '\r' && end[1] == '\n') + (end[0] != '\0');
    *end = '\0';
    /* Only the first '#' is special: it begins a comment, or is the character
     * itself if it is written as "\#". */
    hash = strchr(name, '#');
    if (hash != NULL && hash > name && hash[-1] == '\\') {
      memmove(hash - 1, hash, strlen(hash) + 1);
    } else if (hash != NULL) {
      *hash = '\0';
      cut_blanks(name);
    }
    name += strspn(name, BLANKS);
  } while (*name == '\0');
  end = name + strcspn(name, BLANKS);
  value = end + strspn(end, BLANKS);
  len = strlen(value);
  *end = '\0';
  *ret_value = NULL;
  if (len == 0 || (name[0] == '<' && value[len - 1] != '>'))
    return name;
  if (name[0] == '<') /* a section */
    value[len - 1] = '\0';
  cut_blanks(value);
  *ret_value = value;
  return name;
}

/* ---- directives ---- */

/* A line may be a misplaced key, and others read the messages: its words are
 * not repeated. */
static void unknown_directive(struct parser *p, const char *name)
{
  size_t len = strcspn(name, "=:"), i;
  const struct dx_directive *row = config_find_row(name, len);
  struct dx_buf possible = {0};

  if (row != NULL) {
    config_bad(p, "write '%s VALUE', with a blank instead of '%c'", row->name,
               name[len]);
    return;
  }
  if (strcasecmp(name, "Service") == 0) {
    config_bad(p, "a section begins with <Service NAME>");
    return;
  }
  for (i = 0; (row = dx_directive(i)) != NULL; i++)
    if (p->service != NULL ? row->in_service : row->in_general)
      dx_buf_printf(&possible, "%s%s", possible.len > 0 ? ", " : "", row->name);
  config_bad(p, "unknown directive; possible here: %s%s",
             dx_buf_text(&possible),
             p->service != NULL ? "" : ", <Service NAME>");
  dx_buf_release(&possible);
}

static void read_directive(struct parser *p, const char *name, char *value)
{
  const struct dx_directive *row = config_find_row(name, strlen(name));
  int *line;

  if (row == NULL) {
    unknown_directive(p, name);
    return;
  }
  line = &config_lines_of(p)->line[row - dx_directive(0)];
  if (p->service != NULL && !row->in_service) {
    config_bad(p, "%s belongs outside of <Service>", row->name);
  } else if (p->service == NULL && !row->in_general) {
    config_bad(p, "%s belongs in a <Service NAME> section", row->name);
  } else if (*line > 0 && row->kind != DX_VALUE_CLAIM &&
             row->kind != DX_VALUE_HOST) {
    config_bad(p, "%s appears twice, first in line %d; remove one", row->name,
               *line);
  } else {
    *line = p->line;
    config_take_value(p, row, value);
  }
}

/* ---- sections ---- */

/* A section with an invalid name is read, too, to find its other mistakes. */
static void open_section(struct parser *p, const char *name)
{
  struct dx_config *config = p->config;
  const struct dx_service *other =
      name != NULL ? dx_config_service(config, name) : NULL;
  int before = p->mistakes;

  if (p->service != NULL)
    config_bad(p,
               "<Service> inside of a <Service>; close the one from line %d "
               "with </Service>",
               p->service->line);
  else if (name == NULL || name[0] == '\0')
    config_bad(p, "a section begins with <Service NAME>");
  else if (strlen(name) >= DX_SECTION_BYTES ||
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_.") < strlen(name))
    config_bad(p,
               "the name of a service may have letters, digits, '-', '_', and "
               "'.', at most %d",
               DX_SECTION_BYTES - 1);
  else if (other != NULL)
    config_bad(p,
               "<Service %s> appears twice, first in line %d; rename or remove "
               "one",
               name, other->line);
  if (p->mistakes > before)
    name = "?";
  p->service = NULL;
  p->mistakes_before = p->mistakes;
  if (config->service_count == SERVICES_MAX) {
    config_bad(p, "more than %d services; remove some", SERVICES_MAX);
    return;
  }
  p->service = &config->services[config->service_count++];
  p->service->line = p->line;
  p->service->name = name;
}

static bool has_line(const struct dx_service *s, const char *directive)
{
  const struct dx_directive *row =
      config_find_row(directive, strlen(directive));

  return s->lines.line[row - dx_directive(0)] != 0;
}

/* Checks that a section has all required lines. */
static void check_section(struct parser *p)
{
  const struct dx_service *s = p->service;
  const char *needed = dx_token_sources[s->token].directive;
  int i;

  if (s->name[0] == '?')
    return; /* the beginning of the section is not certain */
  if (!has_line(s, "BaseURL"))
    config_bad(p, "<Service %s> needs BaseURL", s->name);
  if (p->mistakes > p->mistakes_before || has_line(s, needed))
    return; /* what is missing may be there, on a wrong line */
  /* With the directive of another source, the Token line may be missing. */
  for (i = 0; !has_line(s, "Token") && i < DX_TOKEN_SOURCE_COUNT; i++)
    if (has_line(s, dx_token_sources[i].directive)) {
      config_bad(p, "<Service %s> needs the line 'Token %s', for its %s",
                 s->name, dx_token_sources[i].word,
                 dx_token_sources[i].directive);
      return;
    }
  config_bad(p, "<Service %s> needs %s", s->name, needed);
}

static void close_section(struct parser *p)
{
  if (p->service == NULL) {
    config_bad(p, "</Service> without <Service NAME>");
    return;
  }
  config_apply_fallbacks(p);
  check_section(p);
  p->service = NULL;
}

/* ---- the whole ---- */

/* Notes what no line may contain outside of comments. */
static bool config_is_text(struct parser *p, const char *text)
{
  uint32_t character;
  size_t len;

  if (strlen(text) >= LINE_BYTES) {
    config_bad(p, "the line is longer than %d bytes; shorten it",
               LINE_BYTES - 1);
    return false;
  }
  for (; *text != '\0'; text += len) {
    len = dx_utf8_char(text, &character);
    if (len == 0 || (dx_utf8_is_hidden(character) && character != '\t')) {
      config_bad(p, len == 0 ? "this is not UTF-8; save the file as UTF-8"
                             : "there is a control character, or a byte order "
                               "mark; remove it");
      return false;
    }
  }
  return true;
}

static void config_read_line(struct parser *p, const char *name, char *value)
{
  if (!config_is_text(p, name) || (value != NULL && !config_is_text(p, value)))
    return;
  if (strcasecmp(name, "<Service") == 0 || strcasecmp(name, "<Service>") == 0)
    open_section(p, value);
  else if (strcasecmp(name, "</Service>") == 0)
    close_section(p);
  else if (name[0] == '<')
    config_bad(p, "unknown section; use <Service NAME>, and </Service> at its "
                  "end");
  else if (strncmp(name, "-----", 5) == 0)
    config_bad(p, "keys and certificates do not belong here; put them into "
                  "separate files, and name these with TokenKeyFile and "
                  "CAFile");
  else
    read_directive(p, name, value);
}

/* ---- the file ---- */

static enum dx_code config_open(const char *path, int *ret_fd,
                                struct dx_err *err)
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

static enum dx_code read_file(struct parser *p, struct dx_err *err)
{
  struct dx_buf *text = &p->config->text;
  char *rest, *name, *value;
  int fd = -1;
  enum dx_code code = config_open(p->path, &fd, err);

  if (code == DX_OK)
    code = dx_fs_read_fd(fd, p->path, FILE_MAX_BYTES, text, err);
  if (fd >= 0)
    (void)close(fd);
  if (code != DX_OK)
    return code;
  dx_buf_puts(text, ""); /* an empty file */
  if (!dx_buf_ok(text))
    return dx_fail_nomem(err);
  if (strlen(text->data) < text->len)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "there is a NUL byte in '%s'; save it as UTF-8", p->path);
  rest = text->data;
  while ((name = dx_config_next_line(&rest, &p->line, &value)) != NULL)
    config_read_line(p, name, value);
  if (p->service != NULL)
    config_bad(p, "<Service %s> of line %d is not closed; add </Service>",
               p->service->name, p->service->line);
  p->service = NULL;
  p->line = 0;
  if (p->config->service_count == 0 && p->mistakes == 0)
    config_bad(p, "no service; add a section <Service default> with BaseURL "
                  "and TokenKeyFile");
  return DX_OK;
}

/* Checks and defaults that depend on the whole file. */
static enum dx_code finish(struct parser *p, struct dx_err *err)
{
  bool takes_mistakes = p->notes != NULL && p->notes->takes_mistakes;
  struct dx_config *config = p->config;
  struct dx_service *s = config->services;
  const char *unfit;

  config_apply_fallbacks(p);
  if (asprintf(&config->default_results_dir, "%s/results", config->spool_dir) <
      0) {
    config->default_results_dir = NULL;
    return dx_fail_nomem(err);
  }
  if (config->results_dir == NULL)
    config->results_dir = config->default_results_dir;
  for (; s < config->services + config->service_count; s++) {
    if (s->base_url != NULL && s->host == NULL)
      return dx_fail_nomem(err);
    if (s->results_dir == NULL)
      s->results_dir = config->results_dir;
  }
  unfit = dx_fs_unfit(config->spool_dir);
  if (unfit != NULL) {
    p->line = config->lines.line[0]; /* SpoolDir's */
    config_bad(p, "SpoolDir '%s' is on %s; choose a directory on a local disk",
               config->spool_dir, unfit);
  }
  if (p->mistakes == 0 || (takes_mistakes && unfit == NULL))
    return DX_OK;
  *err = p->first;
  return DX_E_CONFIG;
}

static enum dx_code read_config(struct parser *p, struct dx_config **ret_config,
                                struct dx_err *err)
{
  struct dx_config *config = calloc(1, sizeof(*config));
  enum dx_code code;

  if (config == NULL)
    return dx_fail_nomem(err);
  p->config = config;
  config->path = strdup(p->path);
  config->services = calloc(SERVICES_MAX, sizeof(*config->services));
  code = config->path == NULL || config->services == NULL ? dx_fail_nomem(err)
                                                          : read_file(p, err);
  if (code == DX_OK)
    code = finish(p, err);
  if (code == DX_OK)
    *ret_config = config;
  else
    dx_config_free(&config);
  return code;
}

enum dx_code dx_config_load(const char *path, struct dx_config **ret_config,
                            struct dx_config_notes *notes, struct dx_err *err)
{
  struct parser p = {.path = path, .notes = notes};
  enum dx_code code = read_config(&p, ret_config, err);

  if (notes != NULL)
    notes->mistake_count = p.mistakes;
  else if (p.mistakes > 1)
    (void)dx_fail(err, code, 0,
                  "%s (the first of %d errors; see docextract config)",
                  err->text, p.mistakes);
  return code;
}

void dx_config_notes_release(struct dx_config_notes *notes)
{
  dx_buf_release(&notes->mistakes);
  dx_buf_release(&notes->warnings);
}

void dx_config_free(struct dx_config **config_at)
{
  struct dx_config *config = *config_at;
  size_t i;

  if (config == NULL)
    return;
  for (i = 0; i < config->service_count; i++)
    free(config->services[i].host);
  free(config->services);
  free(config->default_results_dir);
  dx_buf_release(&config->text);
  free(config->path);
  free(config);
  *config_at = NULL;
}

const char *dx_config_path(void)
{
  static char path[PATH_MAX];
  const char *root = getenv("CUPS_SERVERROOT");

  (void)snprintf(path, sizeof(path), "%s/docextract.conf",
                 root != NULL && root[0] == '/' ? root : DX_SERVERROOT);
  return path;
}
