/*
 * load.c - reads docextract.conf: the values of directives, one function for
 * each kind; lines and sections, and where each may appear; the file as a
 * whole.
 */
#include "lib/config/config.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <cups/file.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/nearest.h"
#include "lib/base/user.h"
#include "lib/base/utf8.h"

#define BYTE_ORDER_MARK "\xEF\xBB\xBF" /* as editors of Windows write it */
#define FILE_MAX_BYTES 1048576
#define SERVICES_MAX 100
#define HOST_MAX 255
#define SOCKET_PATH_MAX 107 /* sun_path, unix(7) */

/* The state while a file is read. */
struct parser {
  const char *path;
  struct dx_config *config;
  struct dx_service *service; /* the open section; NULL outside */
  int line;
  int mistakes;
  int mistakes_before;           /* the open section */
  struct dx_err first;           /* mistake */
  struct dx_config_notes *notes; /* NULL: not wanted */
};

/* ---- mistakes ---- */

/* Notes a mistake in the line being read, with the prefix FILE:LINE; FILE alone
 * if line is 0. Reading goes on, so that all of them can be fixed at once. */
static void __attribute__((format(printf, 2, 3)))
config_bad(struct parser *p, const char *format, ...)
{
  char text[DX_ERR_TEXT_BYTES];
  struct dx_err err;
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  (void)(p->line == 0 ? dx_fail(&err, DX_E_CONFIG, 0, "%s: %s", p->path, text)
                      : dx_fail(&err, DX_E_CONFIG, 0, "%s:%d: %s", p->path,
                                p->line, text));
  if (p->mistakes++ == 0)
    p->first = err;
  if (p->notes != NULL && p->mistakes <= DX_MISTAKES_MAX)
    dx_buf_printf(&p->notes->mistakes, "%s\n", err.text);
}

/*
 * What is wrong with the owner or mode of a file, or NULL: no other user may
 * write it, and it must belong to a user that dx_user_is_trusted() accepts,
 * preferably `owner` (NULL: any). `text` holds what is returned.
 */
static const char *config_identity(const char *path, const struct stat *st,
                                   const char *owner,
                                   char text[DX_ERR_TEXT_BYTES])
{
  char other[DX_USER_BYTES];

  if (owner != NULL && !dx_user_is_trusted(st->st_uid)) {
    dx_user_name_of(st->st_uid, other);
    (void)snprintf(text, DX_ERR_TEXT_BYTES,
                   "'%s' belongs to '%s', who may change it; fix it with: "
                   "chown %s %s",
                   path, other, owner, path);
  } else if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    (void)snprintf(text, DX_ERR_TEXT_BYTES,
                   "other users may write '%s'; fix it with: chmod go-w %s",
                   path, path);
  } else {
    return NULL;
  }
  return text;
}

/* ---- one kind after the other ---- */

/* The units of each kind. */
static const struct {
  enum dx_value_kind kind;
  const char *unit;
  int64_t factor;
} units[] = {
    {DX_VALUE_DURATION, "s", 1000},    {DX_VALUE_DURATION, "m", 60000},
    {DX_VALUE_DURATION, "h", 3600000}, {DX_VALUE_DURATION, "d", 86400000},
    {DX_VALUE_SIZE, "K", 1 << 10},     {DX_VALUE_SIZE, "M", 1 << 20},
    {DX_VALUE_SIZE, "G", 1 << 30},     {DX_VALUE_COUNT, "", 1},
    {DX_VALUE_NUMBER, "", 1},
};

/* A number with a unit of the kind; -1 if it is not one. */
static double parse_amount(enum dx_value_kind kind, const char *text)
{
  size_t len =
      strspn(text, kind == DX_VALUE_NUMBER ? "0123456789." : "0123456789");
  char *end;
  double n = strtod(text, &end);
  size_t i;

  if (len == 0 || end != text + len || n > 100000000)
    return -1;
  for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
    if (units[i].kind == kind && strcmp(end, units[i].unit) == 0)
      return n * (double)units[i].factor;
  return -1;
}

int64_t dx_parse_duration(const char *text)
{
  return (int64_t)parse_amount(DX_VALUE_DURATION, text);
}

const char *dx_size_text(int64_t bytes, char text[DX_SIZE_TEXT_BYTES])
{
  int shift = bytes % (1 << 30) == 0 ? 30 : bytes % (1 << 20) == 0 ? 20 : 10;

  (void)snprintf(text, DX_SIZE_TEXT_BYTES, "%" PRId64 "%c", bytes >> shift,
                 shift == 30   ? 'G'
                 : shift == 20 ? 'M'
                               : 'K');
  return text;
}

static void set_amount(struct parser *p, const struct dx_directive *row,
                       char *value, void *field)
{
  double amount = parse_amount(row->kind, value);

  if (amount < 0)
    config_bad(p, "%s '%s' is not a %s; write one such as %s", row->name, value,
               row->type, row->fallback);
  else if (amount < parse_amount(row->kind, row->least) ||
           amount > parse_amount(row->kind, row->most))
    config_bad(p, "%s must be between %s and %s", row->name, row->least,
               row->most);
  else if (row->kind == DX_VALUE_NUMBER)
    *(double *)field = amount;
  else
    *(int64_t *)field = (int64_t)amount;
}

static void set_word(struct parser *p, const struct dx_directive *row,
                     char *value, void *field)
{
  const char *at = row->words;
  size_t len;
  int i;

  for (i = 0; *at != '\0'; i++, at += len + 1) {
    len = strcspn(at, " ");
    if (strlen(value) == len && strncasecmp(at, value, len) == 0) {
      *(int *)field = i;
      return;
    }
  }
  if (row->service_offset == offsetof(struct dx_service, token))
    config_bad(p,
               "Token is one of: %.*s; the token itself does not belong here",
               (int)strlen(row->words) - 1, row->words);
  else
    config_bad(p, "unknown %s '%s'; possible values: %.*s", row->name, value,
               (int)strlen(row->words) - 1, row->words);
}

/* If root runs this, the user of keys and programs is not known yet; the
 * process of that user checks again. */
static const char *owner_of_others(void)
{
  return dx_user() != NULL ? dx_user() : geteuid() != 0 ? "root" : NULL;
}

const char *dx_secret_wrong(const char *path, const struct stat *st,
                            char text[DX_ERR_TEXT_BYTES])
{
  const char *wrong = config_identity(path, st, owner_of_others(), text);

  if (wrong != NULL)
    return wrong;
  if (dx_user() != NULL && (st->st_mode & (S_IRGRP | S_IROTH)) != 0)
    (void)snprintf(text, DX_ERR_TEXT_BYTES,
                   "users other than '%s' may read '%s'; fix it with: "
                   "chown %s: %s && chmod 600 %s",
                   dx_user(), path, dx_user(), path, path);
  else if ((st->st_mode & S_IROTH) != 0)
    (void)snprintf(text, DX_ERR_TEXT_BYTES,
                   "all users may read '%s'; fix it with: chmod o-rwx %s", path,
                   path);
  else
    return NULL;
  return text;
}

/*
 * A missing file of a correct line is not a mistake, but a warning: a key may
 * come from a secret store, and a directory may be on a disk that is not
 * mounted yet. A secret that others may read or change is a warning, too, so
 * that only its section is affected: no token is made with it. A ResultsDir is
 * created when it is needed, but its parent is not. e: the errno of stat(), or
 * 0.
 */
static void warn_of_path(const struct parser *p, const struct dx_directive *row,
                         const char *path, int e, const struct stat *st)
{
  bool is_dir = row->kind == DX_VALUE_DIR_PATH;
  bool is_program = row->kind == DX_VALUE_COMMAND;
  char text[DX_ERR_TEXT_BYTES];
  int len = (int)(strrchr(path, '/') - path);
  char parent[DX_VALUE_BYTES], name[DX_USER_BYTES];
  const char *wrong = NULL;

  (void)snprintf(parent, sizeof(parent), "%.*s", len, path);
  if (e == ENOENT && is_dir && row->in_service && access(parent, F_OK) == 0)
    return;
  if (e == ENOENT)
    wrong = "does not exist; create it, or fix the path";
  else if (e == ENOTDIR)
    wrong = "is below a file; move that file, or fix the path";
  else if (e == 0 && is_dir && !S_ISDIR(st->st_mode))
    wrong = "is not a directory; fix the path";
  else if (e == 0 && !is_dir && !S_ISREG(st->st_mode))
    wrong = "is not a file; fix the path";
  else if (e == 0 && is_program && (st->st_mode & 0111) == 0)
    wrong = "is not a program; fix the path, or chmod a+x";
  else if (e == 0 && !is_dir &&
           faccessat(AT_FDCWD, path, is_program ? X_OK : R_OK, AT_EACCESS) < 0)
    e = errno;
  if (wrong != NULL)
    dx_buf_printf(&p->notes->warnings, "%s:%d: %s '%s' %s\n", p->path, p->line,
                  row->name, path, wrong);
  else if (e == 0 && row->kind == DX_VALUE_KEY_PATH &&
           dx_secret_wrong(path, st, text) != NULL)
    dx_buf_printf(&p->notes->warnings, "%s:%d: %s: %s\n", p->path, p->line,
                  row->name, text);
  if (e != EACCES || !p->notes->is_user)
    return;
  dx_user_name_of(geteuid(), name);
  dx_buf_printf(&p->notes->warnings,
                "%s:%d: %s '%s' cannot be used by '%s', the user that backends "
                "run as; fix the owner or mode of the file, or of a directory "
                "above it\n",
                p->path, p->line, row->name, path, name);
}

static void set_text(struct parser *p, const struct dx_directive *row,
                     char *value, void *field)
{
  (void)p;
  (void)row;
  *(const char **)field = value;
}

static void set_path(struct parser *p, const struct dx_directive *row,
                     char *value, void *field)
{
  bool is_program = row->kind == DX_VALUE_COMMAND;
  bool warns =
      p->notes != NULL && p->line > 0 && row->kind != DX_VALUE_SOCKET_PATH;
  int e = 0, before = p->mistakes;
  char path[DX_VALUE_BYTES], text[DX_ERR_TEXT_BYTES];
  const char *wrong;
  struct stat st;

  /* Of a command, its first word. */
  (void)snprintf(path, sizeof(path), "%.*s",
                 (int)strcspn(value, is_program ? " \t" : ""), value);
  /* Other paths, such as ResultsDir on a server that does not respond, would
   * delay backends, which do not use them. */
  if (is_program || warns)
    e = stat(path, &st) < 0 ? errno : 0;
  if (value[0] != '/' && row->kind == DX_VALUE_KEY_PATH)
    config_bad(p,
               "%s must be the absolute path of a file; the secret itself does "
               "not belong here",
               row->name);
  else if (value[0] != '/' && is_program)
    config_bad(p, "%s must begin with the absolute path of a program",
               row->name);
  else if (value[0] != '/')
    config_bad(p, "%s '%s' must be an absolute path, beginning with '/'",
               row->name, value);
  else if (row->kind == DX_VALUE_SOCKET_PATH && strlen(value) > SOCKET_PATH_MAX)
    config_bad(p, "%s must be at most %d characters long", row->name,
               SOCKET_PATH_MAX);
  else if (is_program && e == 0 &&
           /* A user who may change it gets the rights of this process. */
           (wrong = config_identity(path, &st, owner_of_others(), text)) !=
               NULL)
    config_bad(p, "%s", wrong);
  if (p->mistakes > before)
    return;
  set_text(p, row, value, field);
  if (warns)
    warn_of_path(p, row, path, e, &st);
}

static void set_ca(struct parser *p, const struct dx_directive *row,
                   char *value, void *field)
{
  if (strcmp(value, DX_CA_OF_SYSTEM) == 0)
    set_text(p, row, value, field);
  else
    set_path(p, row, value, field);
}

bool dx_host_is_loopback(const char *host)
{
  struct in_addr address;

  return strcasecmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
         strcmp(host, "[::1]") == 0 ||
         (inet_pton(AF_INET, host, &address) == 1 &&
          ntohl(address.s_addr) >> 24 == 127);
}

/*
 * Splits host and port off (RFC 3986, section 3.2); false if it is not such a
 * URL. Nothing is decoded: "%00" would truncate the host, and "%0a" would be
 * printed in listings.
 */
static bool split_url(const char *value, bool *is_https,
                      char host[HOST_MAX + 1], int *port)
{
  int len = 0, more = 0;

  *is_https = strncmp(value, "https://", 8) == 0;
  *port = *is_https ? 443 : 80;
  if (!*is_https && strncmp(value, "http://", 7) != 0)
    return false;
  value += *is_https ? 8 : 7;
  (void)(value[0] == '[' ? sscanf(value, "[%255[0-9a-fA-F:.]]%n", host, &len)
                         : sscanf(value, "%255[0-9a-zA-Z._-]%n", host, &len));
  if (len == 0)
    return false;
  value += len;
  if (value[0] == ':') {
    if (!isdigit((unsigned char)value[1]) ||
        sscanf(value, ":%5d%n", port, &more) != 1 || *port < 1 || *port > 65535)
      return false;
    value += more;
  }
  if (value[0] != '\0' && value[0] != '/')
    return false;
  for (; *value != '\0'; value++)
    if (*value <= ' ' || *value > '~' ||
        (*value == '%' && (!isxdigit((unsigned char)value[1]) ||
                           !isxdigit((unsigned char)value[2]))))
      return false;
  return true;
}

static void to_lower(char *text)
{
  for (; *text != '\0'; text++)
    *text = (char)tolower((unsigned char)*text);
}

static void set_url(struct parser *p, const struct dx_directive *row,
                    char *value, void *field)
{
  char host[HOST_MAX + 1];
  size_t len = strlen(value);
  bool is_https;
  int port;

  if (!split_url(value, &is_https, host, &port) ||
      strpbrk(value, "?#@ \t\\") != NULL) {
    config_bad(p,
               "BaseURL must look like https://host or https://host:port/path, "
               "without user name, '?', '#', or blanks");
    return;
  }
  if (!is_https && !dx_host_is_loopback(host)) {
    config_bad(p, "BaseURL must begin with https://; http:// is for this "
                  "computer itself (127.0.0.1, localhost) only");
    return;
  }
  while (len > 0 && value[len - 1] == '/')
    value[--len] = '\0';
  to_lower(host);
  set_text(p, row, value, field);
  p->service->port = port;
  p->service->host = strdup(host);
}

static void set_proxy(struct parser *p, const struct dx_directive *row,
                      char *value, void *field)
{
  char host[HOST_MAX + 1];
  bool is_https;
  int port;

  if (split_url(value, &is_https, host, &port))
    set_text(p, row, value, field);
  else
    config_bad(p, "Proxy must look like http://host:port, without user name "
                  "and password, which belong in a ProxyPasswordFile");
}

/* Quotes would become part of the value. */
static bool is_quoted(const char *value)
{
  size_t len = strlen(value);

  return len > 1 && (value[0] == '"' || value[0] == '\'') &&
         value[len - 1] == value[0];
}

/* Adds to the values of a directive that may be repeated. */
static void add_item(struct parser *p, const struct dx_directive *row,
                     struct dx_items *list, const char *name, const char *value)
{
  size_t i;

  for (i = 0; i < list->count; i++)
    if (strcmp(list->items[i].name, name) == 0) {
      config_bad(p, "%s '%s' appears twice; remove one", row->name, name);
      return;
    }
  if (list->count == DX_ITEMS_MAX)
    config_bad(p, "more than %d %ss; remove some", DX_ITEMS_MAX, row->name);
  else
    list->items[list->count++] = (struct dx_item){name, value, p->line};
}

static void add_claim(struct parser *p, const struct dx_directive *row,
                      char *value, void *claims)
{
  static const char *const ours[] = {"exp", "iat", "jti", "nbf"};
  size_t len = strcspn(value, " \t"), i;
  char *text = value + len + strspn(value + len, " \t");

  value[len] = '\0';
  if (len == 0 || *text == '\0') {
    config_bad(p, "TokenClaim needs a name and a value: TokenClaim NAME VALUE");
    return;
  }
  if (is_quoted(text)) {
    config_bad(p, "TokenClaim takes its value without quotes");
    return;
  }
  for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
    if (strcmp(ours[i], value) == 0) {
      config_bad(p, "the claim '%s' is set by docextract; remove the line",
                 ours[i]);
      return;
    }
  add_item(p, row, claims, value, text);
}

/* Accepts only what curl would parse as a host, with nothing around it. */
static void add_host(struct parser *p, const struct dx_directive *row,
                     char *value, void *hosts)
{
  size_t len = strlen(value);

  if (value[0] == '[' && value[len - 1] == ']') {
    value[len - 1] = '\0';
    value++;
  }
  to_lower(value);
  if (value[0] == '\0' || len > HOST_MAX ||
      strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-_.:") <
          strlen(value) ||
      (strchr(value, ':') != NULL && strchr(value, ':') == strrchr(value, ':')))
    config_bad(p, "StorageHost is the name of a host, such as "
                  "storage.example.com, without https://, port, or path");
  else
    add_item(p, row, hosts, value, NULL);
}

static void set_value(struct parser *p, const struct dx_directive *row,
                      char *value)
{
  static void (*const setters[])(struct parser * p,
                                 const struct dx_directive *row, char *value,
                                 void *field) = {
      [DX_VALUE_DIR_PATH] = set_path,    [DX_VALUE_FILE_PATH] = set_path,
      [DX_VALUE_CA_PATH] = set_ca,       [DX_VALUE_KEY_PATH] = set_path,
      [DX_VALUE_SOCKET_PATH] = set_path, [DX_VALUE_URL] = set_url,
      [DX_VALUE_PROXY] = set_proxy,      [DX_VALUE_TEXT] = set_text,
      [DX_VALUE_COMMAND] = set_path,     [DX_VALUE_CLAIM] = add_claim,
      [DX_VALUE_HOST] = add_host,        [DX_VALUE_WORD] = set_word,
      [DX_VALUE_NUMBER] = set_amount,    [DX_VALUE_DURATION] = set_amount,
      [DX_VALUE_SIZE] = set_amount,      [DX_VALUE_COUNT] = set_amount};

  setters[row->kind](p, row, value,
                     dx_directive_field(row, p->config, p->service));
}

/* Gives the defaults to the open section, or to what is outside of sections.
 * They are in the form in which an administrator would write them. */
static void set_defaults(struct parser *p)
{
  const struct dx_directive *row;
  size_t i;

  for (i = 0; (row = dx_directive(i)) != NULL; i++)
    if (row->fallback != NULL &&
        (p->service != NULL ? row->in_service : row->in_general))
      set_value(p, row, (char *)(uintptr_t)row->fallback);
}

/* ---- directives ---- */

/* The row of that name, `len` bytes long, in any case; NULL if none. */
static const struct dx_directive *config_find_row(const char *name, size_t len)
{
  const struct dx_directive *row;
  size_t i;

  for (i = 0; (row = dx_directive(i)) != NULL; i++)
    if (strlen(row->name) == len && strncasecmp(row->name, name, len) == 0)
      break;
  return row;
}

/* A line may be a misplaced key, and others read the messages: its words are
 * not repeated, unless it is almost a directive. */
static void unknown_directive(struct parser *p, const char *name)
{
  size_t len = strcspn(name, "=:"), i;
  const struct dx_directive *row = config_find_row(name, len);
  struct dx_nearest nearest = {.word = name};
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
    if (p->service != NULL ? row->in_service : row->in_general) {
      dx_buf_printf(&possible, "%s%s", possible.len > 0 ? ", " : "", row->name);
      dx_nearest_try(&nearest, row->name);
    }
  if (nearest.found != NULL)
    config_bad(p, "unknown directive '%s'; did you mean '%s'?", name,
               nearest.found);
  else
    config_bad(p, "unknown directive; possible here: %s%s",
               dx_buf_text(&possible),
               p->service != NULL ? "" : ", <Service NAME>");
  dx_buf_release(&possible);
}

static void read_directive(struct parser *p, const char *name, char *value)
{
  struct dx_lines *lines =
      p->service != NULL ? &p->service->lines : &p->config->lines;
  const struct dx_directive *row = config_find_row(name, strlen(name));
  size_t n = row != NULL ? (size_t)(row - dx_directive(0)) : 0;
  int before = p->mistakes;

  if (row == NULL) {
    unknown_directive(p, name);
  } else if (p->service != NULL && !row->in_service) {
    config_bad(p, "%s belongs outside of <Service>", row->name);
  } else if (p->service == NULL && !row->in_general) {
    config_bad(p, "%s belongs in a <Service NAME> section", row->name);
  } else if (lines->line[n] > 0 && row->kind != DX_VALUE_CLAIM &&
             row->kind != DX_VALUE_HOST) {
    config_bad(p, "%s appears twice, first in line %d; remove one", row->name,
               lines->line[n]);
  } else {
    lines->line[n] = p->line;
    if (value == NULL || value[0] == '\0')
      config_bad(p,
                 row->fallback != NULL ? "%s needs a value, such as %s"
                                       : "%s needs a value (%s)",
                 row->name,
                 row->fallback != NULL         ? row->fallback
                 : row->kind == DX_VALUE_CLAIM ? "NAME VALUE"
                                               : row->type);
    else if (value[0] == '=')
      config_bad(p, "write '%s VALUE', without '='", row->name);
    else if (is_quoted(value))
      config_bad(p, "%s takes its value without quotes", row->name);
    else
      set_value(p, row, value);
    if (p->mistakes == before)
      lines->text[n] = value;
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
  set_defaults(p);
}

static bool has_line(const struct dx_service *s, const char *directive)
{
  const struct dx_directive *row =
      config_find_row(directive, strlen(directive));

  return s->lines.line[row - dx_directive(0)] != 0;
}

/* Checks that the section has all required lines. */
static void close_section(struct parser *p)
{
  const struct dx_service *s = p->service;
  const char *needed = dx_token_sources[s->token].directive;
  int i;

  p->service = NULL;
  if (s->name[0] == '?')
    return; /* the beginning of the section is not certain */
  if (!has_line(s, "BaseURL"))
    config_bad(p, "<Service %s> needs BaseURL", s->name);
  if (has_line(s, "ProxyPasswordFile") && !has_line(s, "Proxy"))
    config_bad(p, "<Service %s> needs Proxy, for its ProxyPasswordFile",
               s->name);
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

/* ---- the whole ---- */

/* Notes what no line may contain outside of comments. */
static bool config_is_text(struct parser *p, const char *text)
{
  uint32_t character;
  size_t len;

  if (strlen(text) >= DX_VALUE_BYTES) {
    config_bad(p, "the line is longer than %d bytes; shorten it",
               DX_VALUE_BYTES - 1);
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
  else if (strcasecmp(name, "</Service>") == 0 && p->service == NULL)
    config_bad(p, "</Service> without <Service NAME>");
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

/* Opens the file, and checks all but its lines. Its bytes are read for that,
 * too: libcups truncates a line silently at a NUL. */
static enum dx_code config_open(const char *path, struct dx_buf *bytes,
                                int *ret_fd, struct dx_err *err)
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
  if (wrong != NULL)
    return dx_fail(err, DX_E_CONFIG, 0, "%s", wrong);
  code = dx_fs_read_fd(*ret_fd, path, FILE_MAX_BYTES, bytes, err);
  if (code == DX_OK && memchr(dx_buf_text(bytes), '\0', bytes->len) != NULL)
    code = dx_fail(err, DX_E_CONFIG, 0,
                   "there is a NUL byte in '%s'; save it as UTF-8", path);
  return code;
}

/* The words and values of the lines replace the bytes of the file in its
 * buffer: they have the same length, or are shorter. */
static enum dx_code read_file(struct parser *p, struct dx_err *err)
{
  struct dx_buf *text = &p->config->text;
  cups_file_t *file = NULL;
  char *at, *name, *value;
  size_t begin = 0;
  int fd = -1;
  enum dx_code code = config_open(p->path, text, &fd, err);

  dx_buf_puts(text, ""); /* an empty file */
  if (strncmp(dx_buf_text(text), BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
    begin = strlen(BYTE_ORDER_MARK);
  if (code == DX_OK && lseek(fd, (off_t)begin, SEEK_SET) < 0)
    code = dx_fail_sys(err, errno, "read", p->path);
  if (code == DX_OK &&
      (!dx_buf_ok(text) || (file = cupsFileOpenFd(fd, "r")) == NULL))
    code = dx_fail_nomem(err);
  if (code != DX_OK) {
    if (fd >= 0)
      (void)close(fd);
    return code;
  }
  set_defaults(p);
  at = text->data;
  while (
      (name = cupsFileGetConf(file, at, text->room - (size_t)(at - text->data),
                              &value, &p->line)) != NULL) {
    at = value != NULL ? value : name;
    at += strlen(at) + 1;
    config_read_line(p, name, value);
  }
  /* After an error, the lines end without one. */
  if (cupsFileTell(file) != (off_t)(text->len - begin))
    code = dx_fail(err, DX_E_IO, 0, "cannot read '%s' completely", p->path);
  (void)cupsFileClose(file);
  if (code != DX_OK)
    return code;
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

enum dx_code dx_config_load(const char *path, struct dx_config **ret_config,
                            struct dx_config_notes *notes, struct dx_err *err)
{
  struct dx_config *config = calloc(1, sizeof(*config));
  struct parser p = {.path = path, .config = config, .notes = notes};
  enum dx_code code;

  if (config == NULL)
    return dx_fail_nomem(err);
  config->path = strdup(path);
  config->services = calloc(SERVICES_MAX, sizeof(*config->services));
  code = config->path == NULL || config->services == NULL ? dx_fail_nomem(err)
                                                          : read_file(&p, err);
  if (code == DX_OK)
    code = finish(&p, err);
  if (code == DX_OK)
    *ret_config = config;
  else
    dx_config_free(&config);
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
