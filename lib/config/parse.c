/*
 * parse.c - interprets the value of a directive: one function for each kind of
 * value, the limits, and the defaults. load.c checks where a line may appear,
 * and which lines a section needs.
 */
#include "lib/config/config_internal.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/base/user.h"

#define SOCKET_PATH_MAX 107 /* sun_path, unix(7) */

/* ---- mistakes ---- */

void config_bad(struct parser *p, const char *format, ...)
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

const char *config_identity(const char *path, const struct stat *st,
                            const char *owner, char text[DX_ERR_TEXT_BYTES])
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
                       const char *value, void *field)
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
                     const char *value, int *field)
{
  const char *at = row->words;
  size_t len;
  int i;

  for (i = 0; *at != '\0'; i++, at += len + 1) {
    len = strcspn(at, " ");
    if (strlen(value) == len && strncasecmp(at, value, len) == 0) {
      *field = i;
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

/* Checks who owns a secret, and who may read it; and who owns a program,
 * because a user who may change it gets the rights of this process. */
static void check_owner(struct parser *p, const struct dx_directive *row,
                        const char *path, const struct stat *st)
{
  char text[DX_ERR_TEXT_BYTES];
  bool is_key = row->kind == DX_VALUE_KEY_PATH;
  const char *wrong = config_identity(path, st, owner_of_others(), text);

  if (is_key && !S_ISREG(st->st_mode))
    config_bad(p, "%s '%s' is not a file; fix the path", row->name, path);
  else if (wrong != NULL)
    config_bad(p, "%s", wrong);
  else if (is_key && (st->st_mode & S_IROTH) != 0)
    config_bad(p, "all users may read '%s'; fix it with: chmod o-rwx %s", path,
               path);
  else if (is_key && dx_user() != NULL && (st->st_mode & S_IRGRP) != 0)
    config_bad(p,
               "users other than '%s' may read '%s'; fix it with: "
               "chown %s: %s && chmod 600 %s",
               dx_user(), path, dx_user(), path, path);
}

/*
 * A missing file of a correct line is not a mistake, but a warning: a key may
 * come from a secret store, and a directory may be on a disk that is not
 * mounted yet. A ResultsDir is created when it is needed, but its parent is
 * not. e: the errno of stat(), or 0.
 */
static void warn_of_path(const struct parser *p, const struct dx_directive *row,
                         const char *path, int e, const struct stat *st)
{
  bool is_dir = row->kind == DX_VALUE_DIR_PATH;
  bool is_program = row->kind == DX_VALUE_COMMAND;
  int len = (int)(strrchr(path, '/') - path);
  char parent[LINE_BYTES], name[DX_USER_BYTES];
  const char *wrong = NULL;

  (void)snprintf(parent, sizeof(parent), "%.*s", len, path);
  if (e == ENOENT && is_dir && row->in_service && access(parent, F_OK) == 0)
    return;
  if (e == ENOENT || e == ENOTDIR)
    wrong = "does not exist; create it, or fix the path";
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
  if (e != EACCES || !p->notes->is_user)
    return;
  dx_user_name_of(geteuid(), name);
  dx_buf_printf(&p->notes->warnings,
                "%s:%d: %s '%s' cannot be used by '%s', the user that backends "
                "run as; fix the owner or mode of the file, or of a directory "
                "above it\n",
                p->path, p->line, row->name, path, name);
}

static void set_path(struct parser *p, const struct dx_directive *row,
                     const char *value, const char **field)
{
  bool has_owner =
      row->kind == DX_VALUE_KEY_PATH || row->kind == DX_VALUE_COMMAND;
  bool warns =
      p->notes != NULL && p->line > 0 && row->kind != DX_VALUE_SOCKET_PATH;
  int e = 0, before = p->mistakes;
  char path[LINE_BYTES];
  struct stat st;

  /* Of a command, its first word. */
  (void)snprintf(
      path, sizeof(path), "%.*s",
      (int)strcspn(value, row->kind == DX_VALUE_COMMAND ? " \t" : ""), value);
  /* Other paths, such as ResultsDir on a server that does not respond, would
   * delay backends, which do not use them. */
  if (has_owner || warns)
    e = stat(path, &st) < 0 ? errno : 0;
  if (value[0] != '/' && row->kind == DX_VALUE_KEY_PATH)
    config_bad(p,
               "%s must be the absolute path of a file; the secret itself does "
               "not belong here",
               row->name);
  else if (value[0] != '/' && row->kind == DX_VALUE_COMMAND)
    config_bad(p, "%s must begin with the absolute path of a program",
               row->name);
  else if (value[0] != '/')
    config_bad(p, "%s '%s' must be an absolute path, beginning with '/'",
               row->name, value);
  else if (row->kind == DX_VALUE_SOCKET_PATH && strlen(value) > SOCKET_PATH_MAX)
    config_bad(p, "%s must be at most %d characters long", row->name,
               SOCKET_PATH_MAX);
  else if (has_owner && e == 0)
    check_owner(p, row, path, &st);
  if (p->mistakes > before)
    return;
  *field = value;
  if (warns)
    warn_of_path(p, row, path, e, &st);
}

bool dx_host_is_loopback(const char *host)
{
  struct in_addr address;

  return strcasecmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
         strcmp(host, "[::1]") == 0 ||
         (inet_pton(AF_INET, host, &address) == 1 &&
          ntohl(address.s_addr) >> 24 == 127);
}

#define HOST_MAX 255

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

static void set_url(struct parser *p, char *value, struct dx_service *service)
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
  service->base_url = value;
  service->port = port;
  service->host = strdup(host);
}

static void set_proxy(struct parser *p, const char *value, const char **field)
{
  char host[HOST_MAX + 1];
  bool is_https;
  int port;

  if (split_url(value, &is_https, host, &port))
    *field = value;
  else
    config_bad(p, "Proxy must look like http://host:port, without user name "
                  "and password");
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
                      char *value, struct dx_items *claims)
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
                     char *value, struct dx_items *hosts)
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
  void *field = config_field(p->config, p->service, row);

  switch (row->kind) {
  case DX_VALUE_DIR_PATH:
  case DX_VALUE_FILE_PATH:
  case DX_VALUE_KEY_PATH:
  case DX_VALUE_SOCKET_PATH:
  case DX_VALUE_COMMAND:
    set_path(p, row, value, field);
    break;
  case DX_VALUE_URL:
    set_url(p, value, p->service);
    break;
  case DX_VALUE_PROXY:
    set_proxy(p, value, field);
    break;
  case DX_VALUE_TEXT:
    *(const char **)field = value;
    break;
  case DX_VALUE_CLAIM:
    add_claim(p, row, value, field);
    break;
  case DX_VALUE_HOST:
    add_host(p, row, value, field);
    break;
  case DX_VALUE_WORD:
    set_word(p, row, value, field);
    break;
  default:
    set_amount(p, row, value, field);
  }
}

/* ---- any of them ---- */

struct dx_lines *config_lines_of(const struct parser *p)
{
  return p->service != NULL ? &p->service->lines : &p->config->lines;
}

void config_take_value(struct parser *p, const struct dx_directive *row,
                       char *value)
{
  int before = p->mistakes;

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
    config_lines_of(p)->text[row - dx_directive(0)] = value;
}

/* Numbers and durations come from the rows themselves. */
void config_apply_fallbacks(struct parser *p)
{
  const struct dx_directive *row;
  size_t i;

  for (i = 0; (row = dx_directive(i)) != NULL; i++)
    if (row->fallback != NULL && config_lines_of(p)->text[i] == NULL &&
        (p->service != NULL ? row->in_service : row->in_general))
      set_value(p, row, (char *)(uintptr_t)row->fallback);
}
