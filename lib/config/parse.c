/*
 * parse.c - interprets the value of a directive: one function for each type of
 * row, the limits, and the defaults. load.c checks where a line may appear, and
 * which lines a section needs.
 */
#include "lib/config/config_internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/user.h"
#include "lib/base/utf8.h"

#define SOCKET_PATH_MAX 107 /* sun_path, unix(7) */

/* ---- one type after the other ---- */

/* The units of each type, the smallest first. */
static const struct {
  enum type type;
  const char *unit;
  int64_t factor;
} units[] = {
    {DURATION, "s", 1000},     {DURATION, "m", 60000}, {DURATION, "h", 3600000},
    {DURATION, "d", 86400000}, {SIZE, "K", 1 << 10},   {SIZE, "M", 1 << 20},
    {SIZE, "G", 1 << 30},      {COUNT, "", 1},
};

#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

/* A number with a unit of the type; -1 if it is not one. */
static int64_t parse_amount(enum type type, const char *text)
{
  char *end;
  size_t i;
  long n;

  errno = 0;
  n = strtol(text, &end, 10);
  if (!isdigit((unsigned char)text[0]) || errno != 0 || n > 100000000)
    return -1;
  for (i = 0; i < UNIT_COUNT; i++)
    if (units[i].type == type && strcmp(end, units[i].unit) == 0)
      return n * units[i].factor;
  return -1;
}

void config_amount_text(enum type type, int64_t amount,
                        char text[DX_SIZE_TEXT_BYTES])
{
  size_t i, best = UNIT_COUNT;

  for (i = 0; i < UNIT_COUNT; i++)
    if (units[i].type == type &&
        (best == UNIT_COUNT || amount % units[i].factor == 0))
      best = i;
  (void)snprintf(text, DX_SIZE_TEXT_BYTES, "%" PRId64 "%s",
                 amount / units[best].factor, units[best].unit);
}

int64_t dx_parse_duration(const char *text)
{
  return parse_amount(DURATION, text);
}

const char *dx_size_text(int64_t bytes, char text[DX_SIZE_TEXT_BYTES])
{
  config_amount_text(SIZE, bytes, text);
  return text;
}

static enum dx_code out_of_range(const struct parser *p, const struct row *row,
                                 struct dx_err *err)
{
  return config_bad(p, err, "%s must be between %s and %s", row->public.name,
                    row->public.least, row->public.most);
}

static enum dx_code set_amount(const struct parser *p, const struct row *row,
                               const char *value, int64_t *field,
                               struct dx_err *err)
{
  int64_t amount = parse_amount(row->type, value);
  const char *what =
      row->type == DURATION
          ? "a duration; write a number with s, m, h or d, such as"
      : row->type == SIZE
          ? "a size; write a whole number with K, M or G, such as"
          : "a whole number; write one such as";

  if (amount < 0)
    return config_bad(p, err, "%s '%s' is not %s %s", row->public.name, value,
                      what, row->public.fallback);
  if (amount < parse_amount(row->type, row->public.least) ||
      amount > parse_amount(row->type, row->public.most))
    return out_of_range(p, row, err);
  *field = amount;
  return DX_OK;
}

static enum dx_code set_number(const struct parser *p, const struct row *row,
                               const char *value, double *field,
                               struct dx_err *err)
{
  char *end;
  double n = strtod(value, &end);

  if (end == value || *end != '\0' ||
      strspn(value, "0123456789.") != strlen(value))
    return config_bad(p, err, "%s '%s' is not a number; write one such as %s",
                      row->public.name, value, row->public.fallback);
  if (n < strtod(row->public.least, NULL) || n > strtod(row->public.most, NULL))
    return out_of_range(p, row, err);
  *field = n;
  return DX_OK;
}

static enum dx_code set_word(const struct parser *p, const struct row *row,
                             const char *value, int *field, struct dx_err *err)
{
  const char *at = row->public.words;
  int i;

  for (i = 0; *at != '\0'; i++) {
    size_t len = strcspn(at, " ");

    if (strlen(value) == len && strncasecmp(at, value, len) == 0) {
      *field = i;
      return DX_OK;
    }
    at += len + 1;
  }
  if (row->service_offset == offsetof(struct dx_service, token))
    return config_bad(
        p, err, "Token is one of: %.*s; the token itself does not belong here",
        (int)strlen(row->public.words) - 1, row->public.words);
  return config_bad(p, err, "unknown %s '%s'; possible values: %.*s",
                    row->public.name, value, (int)strlen(row->public.words) - 1,
                    row->public.words);
}

struct dx_lines *config_lines_of(const struct parser *p)
{
  return p->service != NULL ? &p->service->lines : &p->config->lines;
}

enum dx_code config_set_text(const char *value, char **field,
                             struct dx_err *err)
{
  free(*field); /* NOLINT(*-core.NullDereference): every row has a place */
  *field = strdup(value);
  return *field != NULL ? DX_OK : dx_fail_nomem(err);
}

/* If root runs this, the user of keys and programs is not known yet; the
 * process of that user checks again. */
static const char *owner_of_others(void)
{
  return dx_user() != NULL ? dx_user() : geteuid() != 0 ? "root" : NULL;
}

/* Checks who owns a secret, and who may read it. */
static enum dx_code check_key(const struct parser *p, const struct row *row,
                              const char *path, struct dx_err *err)
{
  char text[DX_ERR_TEXT_BYTES];
  const char *wrong;
  struct stat st;

  if (stat(path, &st) < 0)
    return DX_OK; /* it may come later */
  if (!S_ISREG(st.st_mode))
    return config_bad(p, err, "%s '%s' is not a file; fix the path",
                      row->public.name, path);
  wrong = config_identity(path, &st, owner_of_others(), text);
  if (wrong != NULL)
    return config_bad(p, err, "%s", wrong);
  if ((st.st_mode & S_IROTH) != 0)
    return config_bad(p, err,
                      "all users may read '%s'; fix it with: chmod o-rwx %s",
                      path, path);
  if (dx_user() != NULL && (st.st_mode & S_IRGRP) != 0)
    return config_bad(p, err,
                      "users other than '%s' may read '%s'; fix it with: chown "
                      "%s: %s && chmod 600 %s",
                      dx_user(), path, dx_user(), path, path);
  return DX_OK;
}

static enum dx_code set_path(const struct parser *p, const struct row *row,
                             const char *value, char **field,
                             struct dx_err *err)
{
  enum dx_code code;

  if (value[0] != '/' && row->type == KEY_PATH)
    return config_bad(p, err,
                      "%s must be the absolute path of a file; "
                      "the secret itself does not belong here",
                      row->public.name);
  if (value[0] != '/')
    return config_bad(p, err,
                      "%s '%s' must be an absolute path, beginning with '/'",
                      row->public.name, value);
  if (row->type == SOCKET_PATH && strlen(value) > SOCKET_PATH_MAX)
    return config_bad(p, err, "%s must be at most %d characters long",
                      row->public.name, SOCKET_PATH_MAX);
  code = config_set_text(value, field, err);
  return code == DX_OK && row->type == KEY_PATH ? check_key(p, row, value, err)
                                                : code;
}

/* A user who may change the program gets the rights of this process. */
static enum dx_code set_command(const struct parser *p, const struct row *row,
                                const char *value, char **field,
                                struct dx_err *err)
{
  char path[LINE_BYTES], text[DX_ERR_TEXT_BYTES];
  const char *wrong = NULL;
  struct stat st;

  if (value[0] != '/')
    return config_bad(p, err,
                      "%s must begin with the absolute path of a program",
                      row->public.name);
  (void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(value, " \t"), value);
  if (stat(path, &st) == 0) /* else it may come later */
    wrong = config_identity(path, &st, owner_of_others(), text);
  return wrong != NULL ? config_bad(p, err, "%s", wrong)
                       : config_set_text(value, field, err);
}

bool dx_host_is_loopback(const char *host)
{
  unsigned a, b, c, d;
  char rest;

  if (strcasecmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
      strcmp(host, "[::1]") == 0)
    return true;
  return strspn(host, "0123456789.") == strlen(host) &&
         sscanf(host, "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &rest) == 4 &&
         a == 127 && b < 256 && c < 256 && d < 256;
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

static enum dx_code set_url(const struct parser *p, const char *value,
                            struct dx_service *service, struct dx_err *err)
{
  char host[HOST_MAX + 1];
  size_t len = strlen(value);
  bool is_https;
  int port;
  enum dx_code code;

  if (!split_url(value, &is_https, host, &port) ||
      strpbrk(value, "?#@ \t\\") != NULL)
    return config_bad(
        p, err,
        "BaseURL must look like https://host or https://host:port/path, "
        "without user name, '?', '#', or blanks");
  if (!is_https && !dx_host_is_loopback(host))
    return config_bad(p, err,
                      "BaseURL must begin with https://; http:// is for this "
                      "computer itself (127.0.0.1, localhost) only");
  code = config_set_text(value, &service->base_url, err);
  if (code == DX_OK)
    code = config_set_text(host, &service->host, err);
  if (code != DX_OK)
    return code;
  while (len > 0 && service->base_url[len - 1] == '/')
    service->base_url[--len] = '\0';
  to_lower(service->host);
  service->port = port;
  return DX_OK;
}

/* Quotes would become part of the value. */
static bool is_quoted(const char *value)
{
  size_t len = strlen(value);

  return len > 1 && (value[0] == '"' || value[0] == '\'') &&
         value[len - 1] == value[0];
}

/* Adds to the values of a directive that may be repeated. */
static enum dx_code add_item(const struct parser *p, const struct row *row,
                             struct dx_items *list, const char *name,
                             size_t len, const char *value, struct dx_err *err)
{
  struct dx_item *item = list->items;

  for (; item < list->items + list->count; item++)
    if (strlen(item->name) == len && strncmp(item->name, name, len) == 0)
      return config_bad(p, err, "%s '%.*s' appears twice; remove one",
                        row->public.name, (int)len, name);
  if (list->count >= DX_ITEMS_MAX)
    return config_bad(p, err, "more than %d %ss; remove some", DX_ITEMS_MAX,
                      row->public.name);
  *item = (struct dx_item){strndup(name, len),
                           value != NULL ? strdup(value) : NULL, p->line};
  list->count++;
  return item->name != NULL && (value == NULL || item->value != NULL)
             ? DX_OK
             : dx_fail_nomem(err);
}

static enum dx_code add_claim(const struct parser *p, const struct row *row,
                              const char *value, struct dx_items *claims,
                              struct dx_err *err)
{
  static const char *const ours[] = {"exp", "iat", "jti", "nbf"};
  size_t len = strcspn(value, " \t");
  const char *text = value + len + strspn(value + len, " \t");
  size_t i;

  if (len == 0 || *text == '\0')
    return config_bad(p, err,
                      "TokenClaim needs a name and a value: TokenClaim NAME "
                      "VALUE");
  if (is_quoted(text))
    return config_bad(p, err, "TokenClaim takes its value without quotes");
  for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
    if (strlen(ours[i]) == len && strncmp(ours[i], value, len) == 0)
      return config_bad(p, err,
                        "the claim '%s' is set by docextract; remove the line",
                        ours[i]);
  return add_item(p, row, claims, value, len, text, err);
}

/* Accepts only what curl would parse as a host, with nothing around it. */
static enum dx_code add_host(const struct parser *p, const struct row *row,
                             const char *value, struct dx_items *hosts,
                             struct dx_err *err)
{
  bool is_bracketed = value[0] == '[' && value[strlen(value) - 1] == ']';
  char name[256];

  (void)snprintf(name, sizeof(name), "%.*s",
                 (int)strlen(value) - 2 * is_bracketed, value + is_bracketed);
  to_lower(name);
  if (name[0] == '\0' || strlen(value) >= sizeof(name) ||
      strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.:") < strlen(name) ||
      (strchr(name, ':') != NULL && strchr(name, ':') == strrchr(name, ':')))
    return config_bad(p, err,
                      "StorageHost is the name of a host, such as "
                      "storage.example.com, without https://, port, or path");
  return add_item(p, row, hosts, name, strlen(name), NULL, err);
}

static enum dx_code set_value(const struct parser *p, const struct row *row,
                              const char *value, struct dx_err *err)
{
  void *field = config_field(p->config, p->service, row);
  char host[HOST_MAX + 1];
  bool is_https;
  int port;

  switch (row->type) {
  case DIR_PATH:
  case FILE_PATH:
  case KEY_PATH:
  case SOCKET_PATH:
    return set_path(p, row, value, field, err);
  case COMMAND:
    return set_command(p, row, value, field, err);
  case URL:
    return set_url(p, value, p->service, err);
  case PROXY:
    if (!split_url(value, &is_https, host, &port))
      return config_bad(
          p, err,
          "Proxy must look like http://host:port, without user name "
          "and password");
    break;
  case WORD:
    return set_word(p, row, value, field, err);
  case NUMBER:
    return set_number(p, row, value, field, err);
  case DURATION:
  case SIZE:
  case COUNT:
    return set_amount(p, row, value, field, err);
  case CLAIM:
    return add_claim(p, row, value, field, err);
  case HOST:
    return add_host(p, row, value, field, err);
  case TEXT:
    break;
  }
  return config_set_text(value, field, err);
}

/* ---- any of them ---- */

enum dx_code config_take_value(const struct parser *p, const struct row *row,
                               const char *value, struct dx_err *err)
{
  const char *name = row->public.name, *at;
  enum dx_code code;
  uint32_t character;
  size_t len;

  if (value == NULL || value[0] == '\0')
    return row->public.fallback != NULL
               ? config_bad(p, err, "%s needs a value, such as %s", name,
                            row->public.fallback)
               : config_bad(p, err, "%s needs a value (%s)", name,
                            row->type == CLAIM ? "NAME VALUE"
                                               : row->public.type);
  if (value[0] == '=')
    return config_bad(p, err, "write '%s VALUE', without '='", name);
  if (is_quoted(value))
    return config_bad(p, err, "%s takes its value without quotes", name);
  for (at = value; *at != '\0'; at += len) {
    len = dx_utf8_char(at, &character);
    if (len == 0)
      return config_bad(p, err, "%s is not UTF-8; save the file as UTF-8",
                        name);
    if (dx_utf8_is_control(character) && character != '\t')
      return config_bad(
          p, err, "there is a control character after %s; remove it", name);
  }
  code = set_value(p, row, value, err);
  if (code == DX_OK && p->notes != NULL)
    config_look_for(p, row, value);
  return code;
}

/* Numbers and durations come from the rows themselves. */
enum dx_code config_apply_fallbacks(struct parser *p, struct dx_err *err)
{
  bool inside = p->service != NULL;
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < config_row_count; i++) {
    const struct row *row = &config_rows[i];

    if (row->public.fallback != NULL && config_lines_of(p)->of[i] == 0 &&
        (inside ? row->public.in_service : row->public.in_general))
      code = set_value(p, row, row->public.fallback, err);
  }
  return code;
}
