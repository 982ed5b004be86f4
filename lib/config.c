/*
 * config.c - docextract.conf. Every directive is one row of `rows`; parser,
 * listing, manual and tests are made of the rows.
 */
#include "lib/config.h"

#include <cups/cups.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fs.h"
#include "lib/utf8.h"

#define LINE_BYTES 4096
#define NAME_MAX_BYTES 64
#define FILE_MAX_BYTES (1024 * 1024)
#define SERVICES_MAX 100
#define CLAIMS_MAX 50
#define NAME_WIDTH 20     /* printed, with what is before it */
#define COMMENT_AT 28     /* behind that */
#define COMMENT_WITHIN 60 /* a longer value has its comment above */
#define WORD_MAX_BYTES 24 /* a longer word is more likely a key than a name */

enum type {
  PATH,
  KEY_PATH,
  URL,
  PROXY,
  WORD,
  TEXT,
  NUMBER,
  DURATION,
  SIZE,
  COUNT,
  COMMAND,
  CLAIM
};

/* Words a WORD may be; their index is the value of the enum. */
#define X(name) #name " "
static const char algorithm_words[] = DX_ALGORITHMS(X);
#undef X

struct row {
  struct dx_directive public;
  enum type type;
  const char *words;     /* WORD: separated by blanks */
  size_t general_offset; /* in struct dx_config */
  size_t service_offset; /* in struct dx_service */
};

#define G(field) offsetof(struct dx_config, field)
#define S(field) offsetof(struct dx_service, field)
#define NONE 0

/* clang-format off */
static const struct row rows[] = {
  {{"SpoolDir", false, true, "path", "/var/spool/docextract", NULL, NULL,
    "Folder for jobs under way; on a local disk, owned by the user that backends run as."},
    PATH, NULL, G(spool_dir), NONE},
  {{"ResultsDir", true, true, "path", NULL, NULL, NULL,
    "Folder into which results are dropped; the default is 'results' in SpoolDir. In a <Service> it holds for that service alone."},
    PATH, NULL, G(results_dir), S(results_dir)},
  {{"KeepJobs", false, true, "duration", "7d", "1h", "365d",
    "How long the records of finished jobs stay."},
    DURATION, NULL, G(keep_jobs_ms), NONE},
  {{"BaseURL", true, false, "URL", NULL, NULL, NULL,
    "Address of the service, https; http only for this computer itself."},
    URL, NULL, NONE, S(base_url)},
  {{"Token", true, false, "word", "key", NULL, NULL,
    "Where tokens come from: key, file or command."},
    WORD, "key file command ", NONE, S(token)},
  {{"TokenKeyFile", true, false, "path", NULL, NULL, NULL,
    "Key that signs tokens: the secret for HS algorithms, a PEM private key for the others."},
    KEY_PATH, NULL, NONE, S(token_key_file)},
  {{"TokenAlgorithm", true, false, "word", "HS256", NULL, NULL,
    "How tokens are signed; must fit the key."},
    WORD, algorithm_words, NONE, S(token_algorithm)},
  {{"TokenKeyID", true, false, "text", NULL, NULL, NULL,
    "The kid in the head of every token."},
    TEXT, NULL, NONE, S(token_key_id)},
  {{"TokenClaim", true, false, "claim", NULL, NULL, NULL,
    "A further claim, as NAME VALUE; may be repeated. exp, iat and jti are set by docextract."},
    CLAIM, NULL, NONE, S(claims)},
  {{"TokenLifetime", true, false, "duration", "5m", "1m", "1h",
    "How long a signed token lasts."},
    DURATION, NULL, NONE, S(token_lifetime_ms)},
  {{"TokenFile", true, false, "path", NULL, NULL, NULL,
    "File that holds the token; read again when it changes."},
    KEY_PATH, NULL, NONE, S(token_file)},
  {{"TokenCommand", true, false, "command", NULL, NULL, NULL,
    "Program, with arguments, that prints a token; run without a shell."},
    COMMAND, NULL, NONE, S(token_command)},
  {{"CAFile", true, false, "path", NULL, NULL, NULL,
    "Certificates to trust instead of the system's."},
    PATH, NULL, NONE, S(ca_file)},
  {{"Proxy", true, false, "URL", NULL, NULL, NULL,
    "Proxy to go through; the environment's is never used."},
    PROXY, NULL, NONE, S(proxy)},
  {{"APIRate", true, false, "number", "8", "0.1", "9",
    "Calls per second to the service from this host, all queues and processes together."},
    NUMBER, NULL, NONE, S(api_rate)},
  {{"Completion", true, false, "word", "extracted", NULL, NULL,
    "When a print job is done: when everything is extracted, or when docextractd has accepted it."},
    WORD, "extracted accepted ", NONE, S(completion)},
  {{"SeparatorPage", true, false, "path", NULL, NULL, NULL,
    "PDF of the page that is put between cases."},
    PATH, NULL, NONE, S(separator_page)},
  {{"OnDocumentError", true, false, "word", "hold", NULL, NULL,
    "What becomes of a print job with a refused document: hold or cancel."},
    WORD, "hold cancel ", NONE, S(on_document_error)},
  {{"ProcessingLimit", true, false, "duration", "30m", "1m", "7d",
    "How long a print job waits for its extraction before it is held."},
    DURATION, NULL, NONE, S(processing_limit_ms)},
  {{"MaxDocumentSize", true, false, "size", "1G", "1M", "100G",
    "How large a document may be, with K, M or G; a larger one is refused."},
    SIZE, NULL, NONE, S(max_document_bytes)},
  {{"MaxDocumentsPerJob", true, false, "count", "1000", "1", "1000",
    "How many documents a job may have; a job with more is refused as a whole."},
    COUNT, NULL, NONE, S(max_documents)},
  {{"FilterTimeLimit", true, false, "duration", "15m", "1s", "1d",
    "How long the filter may work on one document before it is refused."},
    DURATION, NULL, NONE, S(filter_time_limit_ms)},
  {{"FileNames", true, false, "word", "title", NULL, NULL,
    "File names the service is told: from the job's title or the document's name, or neutral ones without any of both."},
    WORD, "title neutral ", NONE, S(file_names)},
};
/* clang-format on */

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

struct parser {
  const char *path;
  struct dx_config *config;
  struct dx_service *service; /* the open section; NULL outside */
  bool is_foreign;            /* in something else: a key, another section */
  int line;
  int mistakes;
  int mistakes_before;           /* the open section */
  struct dx_err first;           /* mistake */
  struct dx_config_notes *notes; /* NULL: nobody wants to know */
};

_Static_assert(ROW_COUNT <= DX_DIRECTIVES_MAX, "struct dx_lines is too small");

static const struct dx_directive *table;

const struct dx_directive *dx_directives(size_t *ret_count)
{
  static struct dx_directive list[ROW_COUNT];
  size_t i;

  if (table == NULL) {
    for (i = 0; i < ROW_COUNT; i++)
      list[i] = rows[i].public;
    table = list;
  }
  *ret_count = ROW_COUNT;
  return table;
}

const char *dx_directive_words(const struct dx_directive *directive)
{
  size_t i = 0;

  while (i < ROW_COUNT && strcmp(rows[i].public.name, directive->name) != 0)
    i++;
  return i < ROW_COUNT ? rows[i].words : NULL;
}

const char *dx_algorithm_name(enum dx_algorithm algorithm)
{
#define X(name) #name,
  static const char *const names[] = {DX_ALGORITHMS(X)};
#undef X

  return names[algorithm];
}

/* ---- values ---- */

static enum dx_code bad(const struct parser *p, struct dx_err *err,
                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum dx_code bad(const struct parser *p, struct dx_err *err,
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

int64_t dx_parse_duration(const char *text)
{
  static const struct {
    char unit;
    int64_t ms;
  } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};
  char *end;
  long n;
  size_t i;

  errno = 0;
  n = strtol(text, &end, 10);
  if (end == text || errno != 0 || n < 0 || n > 100000000 || text[0] == '+' ||
      text[0] == ' ')
    return -1;
  for (i = 0; i < 4; i++)
    if (end[0] == units[i].unit && end[1] == '\0')
      return n * units[i].ms;
  return -1;
}

static enum dx_code set_duration(const struct parser *p, const struct row *row,
                                 const char *value, int64_t *field,
                                 struct dx_err *err)
{
  int64_t ms = dx_parse_duration(value);

  if (ms < 0)
    return bad(p, err,
               "%s '%s' is not a duration; write a number with s, m, "
               "h or d, such as %s",
               row->public.name, value, row->public.fallback);
  if (ms < dx_parse_duration(row->public.least) ||
      ms > dx_parse_duration(row->public.most))
    return bad(p, err, "%s must be between %s and %s", row->public.name,
               row->public.least, row->public.most);
  *field = ms;
  return DX_OK;
}

/* "64K", "500M", "1G"; -1 if it is none. Bytes. */
static int64_t parse_size(const char *text)
{
  static const char units[] = "KMG";
  const char *unit;
  char *end;
  long n;

  errno = 0;
  n = strtol(text, &end, 10);
  if (end == text || errno != 0 || n < 0 || n > 1000000 || text[0] == '+' ||
      text[0] == ' ' || end[0] == '\0' || end[1] != '\0')
    return -1;
  unit = strchr(units, end[0]);
  return unit != NULL ? (int64_t)n << (10 * (unit - units + 1)) : -1;
}

static enum dx_code set_size(const struct parser *p, const struct row *row,
                             const char *value, int64_t *field,
                             struct dx_err *err)
{
  int64_t bytes = parse_size(value);

  if (bytes < 0)
    return bad(p, err,
               "%s '%s' is not a size; write a whole number with K, M or G, "
               "such as %s",
               row->public.name, value, row->public.fallback);
  if (bytes < parse_size(row->public.least) ||
      bytes > parse_size(row->public.most))
    return bad(p, err, "%s must be between %s and %s", row->public.name,
               row->public.least, row->public.most);
  *field = bytes;
  return DX_OK;
}

static enum dx_code set_count(const struct parser *p, const struct row *row,
                              const char *value, int64_t *field,
                              struct dx_err *err)
{
  char *end;
  long n;

  errno = 0;
  n = strtol(value, &end, 10);
  if (end == value || *end != '\0' || errno != 0 ||
      strspn(value, "0123456789") != strlen(value))
    return bad(p, err, "%s '%s' is not a whole number; write one such as %s",
               row->public.name, value, row->public.fallback);
  if (n < atol(row->public.least) || n > atol(row->public.most))
    return bad(p, err, "%s must be between %s and %s", row->public.name,
               row->public.least, row->public.most);
  *field = n;
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
    return bad(p, err, "%s '%s' is not a number; write one such as %s",
               row->public.name, value, row->public.fallback);
  if (n < strtod(row->public.least, NULL) || n > strtod(row->public.most, NULL))
    return bad(p, err, "%s must be between %s and %s", row->public.name,
               row->public.least, row->public.most);
  *field = n;
  return DX_OK;
}

static enum dx_code set_word(const struct parser *p, const struct row *row,
                             const char *value, int *field, struct dx_err *err)
{
  const char *at = row->words;
  int i;

  for (i = 0; *at != '\0'; i++) {
    size_t len = strcspn(at, " ");

    if (strlen(value) == len && strncasecmp(at, value, len) == 0) {
      *field = i;
      return DX_OK;
    }
    at += len + 1;
  }
  if (row->service_offset == S(token))
    return bad(p, err,
               "Token is one of: %.*s; the token itself does not belong here",
               (int)strlen(row->words) - 1, row->words);
  return bad(p, err, "%s '%s' is not known; possible are: %.*s",
             row->public.name, value, (int)strlen(row->words) - 1, row->words);
}

static enum dx_code set_text(const char *value, char **field,
                             struct dx_err *err)
{
  free(*field);
  *field = strdup(value);
  return *field != NULL ? DX_OK : dx_fail_nomem(err);
}

static enum dx_code set_path(const struct parser *p, const struct row *row,
                             const char *value, char **field,
                             struct dx_err *err)
{
  struct stat st;

  if (value[0] != '/' && row->type == KEY_PATH)
    return bad(p, err,
               "%s must be the whole path of a file, beginning with '/'; the "
               "secret itself does not belong here",
               row->public.name);
  if (value[0] != '/')
    return bad(p, err, "%s '%s' must be a whole path, beginning with '/'",
               row->public.name, value);
  if (row->type != KEY_PATH || stat(value, &st) < 0)
    return set_text(value, field, err);
  if (!S_ISREG(st.st_mode))
    return bad(p, err, "%s '%s' is not a file; mend the path", row->public.name,
               value);
  if ((st.st_mode & S_IROTH) != 0)
    return bad(p, err, "everybody may read '%s'; mend it with: chmod o-rwx %s",
               value, value);
  return set_text(value, field, err);
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

/* A "%00" would cut the host short for us, and "%0a" go into listings. */
static bool is_host_escaped(const char *value)
{
  const char *host = strstr(value, "://");

  return host != NULL && memchr(host + 3, '%', strcspn(host + 3, "/")) != NULL;
}

/* Splits scheme, host and port off; false if it is not such a URL. */
static bool split_url(const char *value, char *scheme, char *host, int *port)
{
  char user[256], resource[1024], name[32];
  http_uri_status_t status;

  status = httpSeparateURI(HTTP_URI_CODING_MOST, value, name, sizeof(name),
                           user, sizeof(user), host, 256, port, resource,
                           sizeof(resource));
  (void)snprintf(scheme, 32, "%s", name);
  return (status == HTTP_URI_STATUS_OK ||
          status == HTTP_URI_STATUS_MISSING_RESOURCE) &&
         user[0] == '\0' && host[0] != '\0' && !is_host_escaped(value) &&
         strpbrk(host, ";,!$&'()*+=<>|{}^`~\"") == NULL &&
         (strcmp(scheme, "https") == 0 || strcmp(scheme, "http") == 0);
}

static enum dx_code set_url(const struct parser *p, const char *value,
                            struct dx_service *service, struct dx_err *err)
{
  char scheme[32], host[256];
  size_t len = strlen(value);
  int port;
  enum dx_code code;

  if (!split_url(value, scheme, host, &port) ||
      strpbrk(value, "?#@ \t\\") != NULL)
    return bad(p, err,
               "BaseURL must look like https://host or "
               "https://host:port/path, without user, '?', '#' or blanks");
  if (strcmp(scheme, "http") == 0 && !dx_host_is_loopback(host))
    return bad(p, err,
               "BaseURL must begin with https://; http:// is for this "
               "computer itself (127.0.0.1, localhost) only");
  code = set_text(value, &service->base_url, err);
  if (code == DX_OK)
    code = set_text(host, &service->host, err);
  if (code != DX_OK)
    return code;
  while (len > 0 && service->base_url[len - 1] == '/')
    service->base_url[--len] = '\0';
  for (len = 0; service->host[len] != '\0'; len++)
    if (service->host[len] >= 'A' && service->host[len] <= 'Z')
      service->host[len] = (char)(service->host[len] + 'a' - 'A');
  /* httpSeparateURI() says 80 or 443 when there is no port. */
  service->port = port;
  return DX_OK;
}

static enum dx_code set_proxy(const struct parser *p, const char *value,
                              char **field, struct dx_err *err)
{
  char scheme[32], host[256];
  int port;

  if (!split_url(value, scheme, host, &port))
    return bad(p, err,
               "Proxy must look like http://host:port, without user "
               "and password");
  return set_text(value, field, err);
}

/* Quotes would become part of the value. */
static bool is_quoted(const char *value)
{
  size_t len = strlen(value);

  return len > 1 && (value[0] == '"' || value[0] == '\'') &&
         value[len - 1] == value[0];
}

static enum dx_code add_claim(const struct parser *p, const char *value,
                              struct dx_service *service, struct dx_err *err)
{
  static const char *const ours[] = {"exp", "iat", "jti"};
  size_t len = strcspn(value, " \t");
  const char *text = value + len + strspn(value + len, " \t");
  struct dx_claim *claims;
  size_t i;

  if (len == 0 || *text == '\0')
    return bad(p, err,
               "TokenClaim needs a name and a value: TokenClaim NAME "
               "VALUE");
  if (is_quoted(text))
    return bad(p, err, "TokenClaim takes its value without quotes");
  for (i = 0; i < 3; i++)
    if (strlen(ours[i]) == len && strncmp(ours[i], value, len) == 0)
      return bad(p, err, "the claim '%s' is set by docextract; remove the line",
                 ours[i]);
  for (i = 0; i < service->claim_count; i++)
    if (strlen(service->claims[i].name) == len &&
        strncmp(service->claims[i].name, value, len) == 0)
      return bad(p, err, "the claim '%.*s' is there twice; remove one",
                 (int)len, value);
  if (service->claim_count >= CLAIMS_MAX)
    return bad(p, err, "more than %d claims; remove some", CLAIMS_MAX);
  claims =
      realloc(service->claims, (service->claim_count + 1) * sizeof(*claims));
  if (claims == NULL)
    return dx_fail_nomem(err);
  service->claims = claims;
  claims[service->claim_count].name = strndup(value, len);
  claims[service->claim_count].value = strdup(text);
  claims[service->claim_count].line = p->line;
  service->claim_count++;
  return claims[service->claim_count - 1].name != NULL &&
                 claims[service->claim_count - 1].value != NULL
             ? DX_OK
             : dx_fail_nomem(err);
}

static enum dx_code set_value(const struct parser *p, const struct row *row,
                              const char *value, struct dx_err *err)
{
  char *base = p->service != NULL ? (char *)p->service + row->service_offset
                                  : (char *)p->config + row->general_offset;
  void *field = base;

  switch (row->type) {
  case PATH:
  case KEY_PATH:
    return set_path(p, row, value, field, err);
  case COMMAND:
    return value[0] == '/'
               ? set_text(value, field, err)
               : bad(p, err,
                     "TokenCommand must begin with the whole path of "
                     "a program");
  case URL:
    return set_url(p, value, p->service, err);
  case PROXY:
    return set_proxy(p, value, field, err);
  case WORD:
    return set_word(p, row, value, field, err);
  case NUMBER:
    return set_number(p, row, value, field, err);
  case DURATION:
    return set_duration(p, row, value, field, err);
  case SIZE:
    return set_size(p, row, value, field, err);
  case COUNT:
    return set_count(p, row, value, field, err);
  case CLAIM:
    return add_claim(p, value, p->service, err);
  case TEXT:
    break;
  }
  return set_text(value, field, err);
}

/* ---- around the file ---- */

static void note(const struct parser *p, const struct row *row,
                 const char *path, const char *what)
{
  dx_buf_printf(&p->notes->warnings, "%s:%d: %s '%s' %s\n", p->path, p->line,
                row->public.name, path, what);
}

static void look_at_file(const struct parser *p, const struct row *row,
                         const char *path)
{
  struct stat st;

  if (stat(path, &st) < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      note(p, row, path, "is not there; make it, or mend the path");
  } else if (!S_ISREG(st.st_mode)) {
    note(p, row, path, "is not a file; mend the path");
  } else if (row->type == COMMAND &&
             (st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0) {
    note(p, row, path, "is no program; mend the path, or chmod a+x");
  }
}

/* A ResultsDir is made when it is needed, the folder that it lies in is not. */
static void look_at_folder(const struct parser *p, const struct row *row,
                           char *path)
{
  struct stat st;
  char *slash = strrchr(path, '/');
  bool is_there = stat(path, &st) == 0;

  if (is_there && !S_ISDIR(st.st_mode)) {
    note(p, row, path, "is not a folder; mend the path");
  } else if (!is_there && errno == ENOENT && row->public.in_service &&
             slash > path) {
    *slash = '\0';
    is_there = stat(path, &st) == 0;
    *slash = '/';
  }
  if (!is_there && (errno == ENOENT || errno == ENOTDIR))
    note(p, row, path, "is not there; make the folder, or mend the path");
}

/*
 * What a right line names may come later, and is no mistake: a key from a
 * store of secrets, a folder of a disk that is not there yet. Nothing works
 * before, though.
 */
static void look_around(const struct parser *p, const struct row *row,
                        const char *value)
{
  char path[LINE_BYTES];

  (void)snprintf(path, sizeof(path), "%.*s",
                 row->type == COMMAND ? (int)strcspn(value, " \t")
                                      : LINE_BYTES - 1,
                 value);
  if (row->public.in_general)
    look_at_folder(p, row, path);
  else
    look_at_file(p, row, path);
}

/* ---- lines ---- */

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
  const char *best = rows[0].public.name;
  size_t i;

  for (i = 1; i < ROW_COUNT; i++)
    if (distance(name, rows[i].public.name) < distance(name, best))
      best = rows[i].public.name;
  return distance(name, best) <= 1 + strlen(name) / 3 ? best : NULL;
}

static const struct row *find_row(const char *name, size_t len)
{
  const struct row *row;

  for (row = rows; row < rows + ROW_COUNT; row++)
    if (strlen(row->public.name) == len &&
        strncasecmp(row->public.name, name, len) == 0)
      return row;
  return NULL;
}

static void list_possible(bool inside, char *text, size_t size)
{
  size_t i, used = 0;

  for (i = 0; i < ROW_COUNT && used < size; i++)
    if (inside ? rows[i].public.in_service : rows[i].public.in_general)
      used += (size_t)snprintf(text + used, size - used, "%s%s",
                               used > 0 ? ", " : "", rows[i].public.name);
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
    return bad(p, err, "write '%s VALUE', with a blank instead of '%c'",
               row->public.name, name[len]);
  if (strcasecmp(name, "Service") == 0)
    return bad(p, err, "a section begins with <Service NAME>");
  if (near != NULL)
    return bad(p, err, "there is no directive '%s'; did you mean '%s'?", name,
               near);
  list_possible(p->service != NULL, possible, sizeof(possible));
  if (looks_like_a_name(name))
    return bad(p, err, "there is no directive '%s'; possible here are: %s",
               name, possible);
  return bad(p, err, "this is no directive; possible here are: %s", possible);
}

/* What is wrong with any value whatever. */
static enum dx_code check_text(const struct parser *p, const struct row *row,
                               const char *value, struct dx_err *err)
{
  const char *name = row->public.name;

  if (value == NULL || value[0] == '\0')
    return row->public.fallback != NULL
               ? bad(p, err, "%s needs a value, such as %s", name,
                     row->public.fallback)
               : bad(p, err, "%s needs a value (%s)", name,
                     row->type == CLAIM ? "NAME VALUE" : row->public.type);
  if (value[0] == '=')
    return bad(p, err, "write '%s VALUE', without '='", name);
  if (is_quoted(value))
    return bad(p, err, "%s takes its value without quotes", name);
  for (; *value != '\0';) {
    uint32_t character;
    size_t len = dx_utf8_char(value, &character);

    if (len == 0)
      return bad(p, err, "%s is not UTF-8; save the file as UTF-8", name);
    if (dx_utf8_is_control(character) && character != '\t')
      return bad(p, err, "there is a control character behind %s; remove it",
                 name);
    value += len;
  }
  return DX_OK;
}

/* Of the open section, or of what stands outside. */
static struct dx_lines *lines_of(const struct parser *p)
{
  return p->service != NULL ? &p->service->lines : &p->config->lines;
}

static enum dx_code directive(struct parser *p, const char *name,
                              const char *value, struct dx_err *err)
{
  bool inside = p->service != NULL;
  const struct row *row = find_row(name, strlen(name));
  enum dx_code code;
  int *seen;

  if (row == NULL)
    return unknown(p, name, err);
  if (inside && !row->public.in_service)
    return bad(p, err, "%s must stand outside of <Service>", row->public.name);
  if (!inside && !row->public.in_general)
    return bad(p, err, "%s must stand inside of a <Service NAME> section",
               row->public.name);
  seen = &lines_of(p)->of[row - rows];
  if (*seen > 0 && row->type != CLAIM)
    return bad(p, err, "%s is there twice, first in line %d; remove one",
               row->public.name, *seen);
  *seen = p->line;
  code = check_text(p, row, value, err);
  if (code == DX_OK)
    code = set_value(p, row, value, err);
  if (code == DX_OK && p->notes != NULL &&
      (row->type == PATH || row->type == KEY_PATH || row->type == COMMAND))
    look_around(p, row, value);
  return code;
}

static void set_defaults(struct dx_service *service)
{
  service->token = DX_TOKEN_KEY;
  service->token_algorithm = DX_ALG_HS256;
  service->completion = DX_COMPLETION_EXTRACTED;
  service->on_document_error = DX_ON_ERROR_HOLD;
}

/* Numbers and durations come from the rows themselves. */
static enum dx_code apply_fallbacks(struct parser *p, struct dx_err *err)
{
  bool inside = p->service != NULL;
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < ROW_COUNT; i++) {
    const struct row *row = &rows[i];

    if (row->public.fallback != NULL && lines_of(p)->of[i] == 0 &&
        (inside ? row->public.in_service : row->public.in_general))
      code = set_value(p, row, row->public.fallback, err);
  }
  return code;
}

static enum dx_code check_name(const struct parser *p, const char *name,
                               struct dx_err *err)
{
  const struct dx_service *other;

  if (name == NULL || name[0] == '\0')
    return bad(p, err, "a section begins with <Service NAME>");
  if (strlen(name) > NAME_MAX_BYTES ||
      strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                   "0123456789-_.") < strlen(name))
    return bad(p, err,
               "the name of a service may have letters, digits, '-', "
               "'_' and '.', at most %d",
               NAME_MAX_BYTES);
  other = dx_config_service(p->config, name);
  if (other != NULL)
    return bad(p, err,
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
    return bad(p, err, "more than %d services; remove some", SERVICES_MAX);
  services = realloc(config->services,
                     (config->service_count + 1) * sizeof(*services));
  if (services == NULL)
    return dx_fail_nomem(err);
  config->services = services;
  p->service = &services[config->service_count++];
  memset(p->service, 0, sizeof(*p->service));
  p->service->line = p->line;
  set_defaults(p->service);
  return set_text(name, &p->service->name, err);
}

/* A section with a wrong name is read all the same, for its other mistakes. */
static enum dx_code open_section(struct parser *p, const char *name,
                                 struct dx_err *err)
{
  enum dx_code code = DX_OK;

  if (p->service != NULL)
    code = bad(p, err,
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
  if (s->lines.of[find_row("BaseURL", 7) - rows] == 0)
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
    return bad(p, err, "</Service> without <Service NAME>");
  code = apply_fallbacks(p, err);
  if (code != DX_OK)
    return code;
  what = missing(p);
  p->service = NULL;
  return what == NULL ? DX_OK
                      : bad(p, err, "<Service %s> needs %s", s->name, what);
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
    return code == DX_OK ? bad(p, err, "a section ends with </Service>") : code;
  }
  p->is_foreign = !closes;
  return looks_like_a_name(name + 1)
             ? bad(p, err, "there is no section '%s'; only <Service NAME>",
                   name)
             : bad(p, err, "there is no such section; only <Service NAME>");
}

/* Nothing of it is repeated: what lies between such lines is skipped. */
static enum dx_code pasted_key(struct parser *p, struct dx_err *err)
{
  p->is_foreign = !p->is_foreign;
  if (!p->is_foreign)
    return DX_OK;
  return bad(p, err,
             "keys and certificates do not belong here; put them into files "
             "of their own, and name those with TokenKeyFile and CAFile");
}

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

/* ---- the file ---- */

/* What passes by itself is no reason to call for the administrator. */
static enum dx_code cannot_open(const char *path, int e, struct dx_err *err)
{
  enum dx_code code = dx_fail_sys(err, e, "open", path);

  if (code == DX_E_FDS || code == DX_E_NOMEM || code == DX_E_IO)
    return code;
  return dx_fail(err, DX_E_CONFIG, e, "cannot open '%s': %s%s", path,
                 strerror(e),
                 e == ENOENT ? "; write one as in docextract.conf(5)" : "");
}

static enum dx_code open_file(const char *path, int *ret_fd, struct dx_err *err)
{
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

  if (fd < 0)
    return cannot_open(path, errno, err);
  if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
      st.st_size > FILE_MAX_BYTES) {
    (void)close(fd);
    return dx_fail(err, DX_E_CONFIG, 0,
                   "'%s' is not a configuration file: name a regular file of "
                   "at most %d bytes",
                   path, FILE_MAX_BYTES);
  }
  if ((st.st_mode & S_IROTH) != 0) {
    (void)close(fd);
    return dx_fail(err, DX_E_CONFIG, 0,
                   "everybody may read '%s'; mend it with: chmod o-rwx %s",
                   path, path);
  }
  *ret_fd = fd;
  return DX_OK;
}

/* What editors put before the first line, as a rule unseen. */
static enum dx_code check_begin(const struct parser *p, const char *bytes,
                                size_t len, struct dx_err *err)
{
  if (len > 2 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0)
    return bad(p, err,
               "there is a byte order mark before the first line; save the "
               "file as UTF-8 without one");
  if (len > 1 &&
      (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0))
    return bad(p, err, "the file is UTF-16; save it as UTF-8");
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
        return bad(p, err, "there is a NUL byte; remove it");
      /* A line may end with CR, LF or both. */
      p->line += bytes[i] == '\r' || (bytes[i] == '\n' && last != '\r');
      len = bytes[i] == '\n' || bytes[i] == '\r' ? 0 : len + 1;
      if (len > LINE_BYTES - 2)
        return bad(p, err, "the line is longer than %d bytes; shorten it",
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
    code = bad(p, err, "<Service %s> of line %d is not closed; add </Service>",
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

/* What only the whole file can tell. */
static enum dx_code finish(struct parser *p, struct dx_err *err)
{
  struct dx_config *config = p->config;
  struct dx_buf results = {0};
  enum dx_code code = apply_fallbacks(p, err);
  size_t i;

  if (code != DX_OK)
    return code;
  if (config->results_dir == NULL) {
    dx_buf_printf(&results, "%s/results", config->spool_dir);
    config->results_dir = dx_buf_take(&results);
  }
  for (i = 0; config->results_dir != NULL && i < config->service_count; i++)
    if (config->services[i].results_dir == NULL &&
        set_text(config->results_dir, &config->services[i].results_dir, err) !=
            DX_OK)
      return DX_E_NOMEM;
  if (config->results_dir == NULL)
    return dx_fail_nomem(err);
  p->line = config->lines.of[0]; /* SpoolDir's */
  if (dx_fs_is_network(config->spool_dir))
    return bad(p, err,
               "SpoolDir '%s' is on a network file system, where locks "
               "cannot be relied on; choose a local folder",
               config->spool_dir);
  return DX_OK;
}

char *dx_config_path(bool trust_env)
{
  const char *root = trust_env ? getenv("CUPS_SERVERROOT") : NULL;
  struct dx_buf path = {0};

  dx_buf_printf(&path, "%s/docextract.conf",
                root != NULL && root[0] == '/' ? root : DX_SERVERROOT);
  return dx_buf_take(&path);
}

enum dx_code dx_config_load(const char *path, struct dx_config **ret_config,
                            struct dx_err *err)
{
  return dx_config_check(path, ret_config, NULL, err);
}

void dx_config_notes_release(struct dx_config_notes *notes)
{
  dx_buf_release(&notes->mistakes);
  dx_buf_release(&notes->warnings);
}

static enum dx_code parse(struct parser *p, int fd, struct dx_err *err)
{
  cups_file_t *file = cupsFileOpenFd(fd, "r");
  enum dx_code code;

  if (file == NULL) {
    (void)close(fd);
    return dx_fail_nomem(err);
  }
  p->config = calloc(1, sizeof(*p->config));
  if (p->config != NULL)
    p->config->path = strdup(p->path);
  code =
      p->config != NULL && p->config->path != NULL ? DX_OK : dx_fail_nomem(err);
  if (code == DX_OK)
    code = read_lines(p, file, err);
  if (code == DX_OK)
    code = end_lines(p, err);
  if (code == DX_OK)
    code = finish(p, err);
  (void)cupsFileClose(file);
  return code;
}

enum dx_code dx_config_check(const char *path, struct dx_config **ret_config,
                             struct dx_config_notes *notes, struct dx_err *err)
{
  struct parser p = {.path = path, .notes = notes};
  struct dx_err why;
  int fd = -1;
  enum dx_code code = open_file(path, &fd, &why);

  if (code == DX_OK) {
    code = check_lines(&p, fd, &why);
    if (code == DX_OK)
      code = parse(&p, fd, &why);
    else
      (void)close(fd);
  }
  if (code == DX_OK) {
    *ret_config = p.config;
    return DX_OK;
  }
  dx_config_free(&p.config);
  if (notes == NULL && p.mistakes > 1)
    return dx_fail(err, code, 0,
                   "%s (one of %d mistakes; see docextract config)", why.text,
                   p.mistakes);
  return dx_fail(err, code, why.sys_errno, "%s", why.text);
}

static void release_service(struct dx_service *s)
{
  size_t i;

  for (i = 0; i < s->claim_count; i++) {
    free(s->claims[i].name);
    free(s->claims[i].value);
  }
  free(s->claims);
  free(s->name);
  free(s->base_url);
  free(s->host);
  free(s->token_key_file);
  free(s->token_key_id);
  free(s->token_file);
  free(s->token_command);
  free(s->ca_file);
  free(s->proxy);
  free(s->separator_page);
  free(s->results_dir);
}

void dx_config_free(struct dx_config **config_at)
{
  struct dx_config *config = *config_at;
  size_t i;

  if (config == NULL)
    return;
  for (i = 0; i < config->service_count; i++)
    release_service(&config->services[i]);
  free(config->services);
  free(config->path);
  free(config->spool_dir);
  free(config->results_dir);
  free(config);
  *config_at = NULL;
}

const struct dx_service *dx_config_service(const struct dx_config *config,
                                           const char *name)
{
  size_t i;

  for (i = 0; i < config->service_count; i++)
    if (strcmp(config->services[i].name, name) == 0)
      return &config->services[i];
  return NULL;
}

/* ---- printing ---- */

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

/*
 * Only the first '#' of a line is special to cupsFileGetConf(): it begins a
 * comment, or is the character itself if it is written as "\#".
 */
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
    return print_word(out, row->words, *(const int *)value);
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

/* A line has one comment at most and none behind a "\#": the comment of such
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

/* "docextract.conf:7"; the whole path stands at the top. */
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
  size_t i = (size_t)(row - rows);

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

enum dx_code dx_config_print(const struct dx_config *config, FILE *out,
                             dx_config_note *each, void *ctx,
                             struct dx_err *err)
{
  size_t i, k;

  fprintf(out, "# %s\n", config->path);
  for (i = 0; i < ROW_COUNT; i++)
    if (rows[i].public.in_general)
      print_row(out, config, NULL, &rows[i]);
  for (k = 0; k < config->service_count; k++) {
    const struct dx_service *service = &config->services[k];

    fprintf(out, "\n<Service %s>\n", service->name);
    if (each != NULL)
      each(ctx, service, out);
    for (i = 0; i < ROW_COUNT; i++) {
      if (rows[i].type == CLAIM)
        print_claims(out, config, service);
      else if (rows[i].public.in_service)
        print_row(out, config, service, &rows[i]);
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
  bool is_set = lines->of[row - rows] != 0;

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

  for (i = 0; i < ROW_COUNT; i++)
    if (rows[i].public.in_general)
      print_anonymous(out, config, NULL, &rows[i]);
  for (k = 0; k < config->service_count; k++) {
    fprintf(out, "  service %zu of %zu\n", k + 1, config->service_count);
    for (i = 0; i < ROW_COUNT; i++)
      if (rows[i].public.in_service)
        print_anonymous(out, config, &config->services[k], &rows[i]);
  }
}
