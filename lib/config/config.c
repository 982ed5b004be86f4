/*
 * config.c - docextract.conf as a whole: the table of its directives, loading
 * it, its life and its services. Every directive is one row of `config_rows`;
 * parser, listing, manual and tests are made of the rows. What a line or a
 * value means is told elsewhere: see config_parts.h.
 */
#include "lib/config/config_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"

#define FILE_MAX_BYTES (1024 * 1024)

/* Words a WORD may be; their index is the value of the enum. */
#define X(name) #name " "
static const char algorithm_words[] = DX_ALGORITHMS(X);
#undef X

#define G(field) offsetof(struct dx_config, field)
#define S(field) offsetof(struct dx_service, field)
#define NONE 0

/* clang-format off */
const struct row config_rows[] = {
  {{"SpoolDir", false, true, "path", "/var/spool/docextract", NULL, NULL,
    "Directory for unfinished jobs, on a local disk; owned by the user that runs backends."},
    PATH, NULL, G(spool_dir), NONE},
  {{"ResultsDir", true, true, "path", NULL, NULL, NULL,
    "Directory for results; the default is 'results' in SpoolDir. In a <Service> it applies to that service only."},
    PATH, NULL, G(results_dir), S(results_dir)},
  {{"KeepJobs", false, true, "duration", "7d", "1h", "365d",
    "How long finished jobs are kept."},
    DURATION, NULL, G(keep_jobs_ms), NONE},
  {{"BaseURL", true, false, "URL", NULL, NULL, NULL,
    "URL of the service: https, or http for this computer only."},
    URL, NULL, NONE, S(base_url)},
  {{"Token", true, false, "word", "key", NULL, NULL,
    "Where tokens come from."},
    WORD, "key file command ", NONE, S(token)},
  {{"TokenKeyFile", true, false, "path", NULL, NULL, NULL,
    "The key that signs tokens: a secret for HS algorithms, a private key in PEM format for the others."},
    KEY_PATH, NULL, NONE, S(token_key_file)},
  {{"TokenAlgorithm", true, false, "word", "HS256", NULL, NULL,
    "The algorithm that signs tokens; it must match the key."},
    WORD, algorithm_words, NONE, S(token_algorithm)},
  {{"TokenKeyID", true, false, "text", NULL, NULL, NULL,
    "The kid in the header of each token."},
    TEXT, NULL, NONE, S(token_key_id)},
  {{"TokenClaim", true, false, "claim", NULL, NULL, NULL,
    "An additional claim, NAME VALUE; may be repeated. exp, iat and jti are set by docextract."},
    CLAIM, NULL, NONE, S(claims)},
  {{"TokenLifetime", true, false, "duration", "5m", "1m", "1h",
    "How long a signed token is valid."},
    DURATION, NULL, NONE, S(token_lifetime_ms)},
  {{"TokenFile", true, false, "path", NULL, NULL, NULL,
    "File that contains the token; read again when it changes."},
    KEY_PATH, NULL, NONE, S(token_file)},
  {{"TokenCommand", true, false, "command", NULL, NULL, NULL,
    "Program and arguments that print a token; run without a shell."},
    COMMAND, NULL, NONE, S(token_command)},
  {{"CAFile", true, false, "path", NULL, NULL, NULL,
    "CA certificates to trust instead of those of the system."},
    PATH, NULL, NONE, S(ca_file)},
  {{"Proxy", true, false, "URL", NULL, NULL, NULL,
    "Proxy to use; environment variables are ignored."},
    PROXY, NULL, NONE, S(proxy)},
  {{"APIRate", true, false, "number", "8", "0.1", "9",
    "Maximum calls per second to the service from this host, all queues and processes together."},
    NUMBER, NULL, NONE, S(api_rate)},
  {{"Completion", true, false, "word", "extracted", NULL, NULL,
    "When a print job completes: when everything has been extracted, or when docextractd has accepted it."},
    WORD, "extracted accepted ", NONE, S(completion)},
  {{"SeparatorPage", true, false, "path", NULL, NULL, NULL,
    "PDF file with the page to insert between cases."},
    PATH, NULL, NONE, S(separator_page)},
  {{"OnDocumentError", true, false, "word", "hold", NULL, NULL,
    "What to do with a print job if a document is refused."},
    WORD, "hold cancel ", NONE, S(on_document_error)},
  {{"ProcessingLimit", true, false, "duration", "30m", "1m", "7d",
    "How long a print job waits for the extraction before it is held."},
    DURATION, NULL, NONE, S(processing_limit_ms)},
  {{"MaxDocumentSize", true, false, "size", "1G", "1M", "100G",
    "Maximum size of a document; larger ones are refused."},
    SIZE, NULL, NONE, S(max_document_bytes)},
  {{"MaxDocumentsPerJob", true, false, "count", "1000", "1", "1000",
    "Maximum number of documents per job; a job with more is refused as a whole."},
    COUNT, NULL, NONE, S(max_documents)},
  {{"FilterTimeLimit", true, false, "duration", "15m", "1s", "1d",
    "How long the filter may process a document before it is refused."},
    DURATION, NULL, NONE, S(filter_time_limit_ms)},
  {{"FileNames", true, false, "word", "title", NULL, NULL,
    "File names sent to the service: the title of the job or the name of the document, or neutral ones."},
    WORD, "title neutral ", NONE, S(file_names)},
};
/* clang-format on */

#define ROW_COUNT (sizeof(config_rows) / sizeof(config_rows[0]))

const size_t config_row_count = ROW_COUNT;

_Static_assert(ROW_COUNT <= DX_DIRECTIVES_MAX, "struct dx_lines is too small");

static const struct dx_directive *table;

const struct dx_directive *dx_directives(size_t *ret_count)
{
  static struct dx_directive list[ROW_COUNT];
  size_t i;

  if (table == NULL) {
    for (i = 0; i < ROW_COUNT; i++)
      list[i] = config_rows[i].public;
    table = list;
  }
  *ret_count = ROW_COUNT;
  return table;
}

const char *dx_directive_words(const struct dx_directive *directive)
{
  size_t i = 0;

  while (i < ROW_COUNT &&
         strcmp(config_rows[i].public.name, directive->name) != 0)
    i++;
  return i < ROW_COUNT ? config_rows[i].words : NULL;
}

const char *dx_algorithm_name(enum dx_algorithm algorithm)
{
#define X(name) #name,
  static const char *const names[] = {DX_ALGORITHMS(X)};
#undef X

  return names[algorithm];
}

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

/* What only the whole file can tell. */
static enum dx_code finish(struct parser *p, struct dx_err *err)
{
  struct dx_config *config = p->config;
  struct dx_buf results = {0};
  enum dx_code code = config_apply_fallbacks(p, err);
  size_t i;

  if (code != DX_OK)
    return code;
  if (config->results_dir == NULL) {
    dx_buf_printf(&results, "%s/results", config->spool_dir);
    config->results_dir = dx_buf_take(&results);
  }
  for (i = 0; config->results_dir != NULL && i < config->service_count; i++)
    if (config->services[i].results_dir == NULL &&
        config_set_text(config->results_dir, &config->services[i].results_dir,
                        err) != DX_OK)
      return DX_E_NOMEM;
  if (config->results_dir == NULL)
    return dx_fail_nomem(err);
  p->line = config->lines.of[0]; /* SpoolDir's */
  if (dx_fs_is_network(config->spool_dir))
    return config_bad(p, err,
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

/* With its path alone. */
static enum dx_code make_config(struct parser *p, struct dx_err *err)
{
  p->config = calloc(1, sizeof(*p->config));
  if (p->config != NULL)
    p->config->path = strdup(p->path);
  return p->config != NULL && p->config->path != NULL ? DX_OK
                                                      : dx_fail_nomem(err);
}

enum dx_code dx_config_check(const char *path, struct dx_config **ret_config,
                             struct dx_config_notes *notes, struct dx_err *err)
{
  struct parser p = {.path = path, .notes = notes};
  struct dx_err why;
  int fd = -1;
  enum dx_code code = make_config(&p, &why);

  if (code == DX_OK)
    code = open_file(path, &fd, &why);
  if (code == DX_OK)
    code = config_read(&p, fd, &why);
  if (code == DX_OK)
    code = finish(&p, &why);
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
