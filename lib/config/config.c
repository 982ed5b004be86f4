/*
 * config.c - the table of directives, and lookups in a loaded configuration.
 * The parser, the listing, the manual page, and tests use the rows; to add a
 * directive, add a row here and its field to struct dx_service or dx_config.
 * (The directives of token sources are in config.h.) Nothing is read, checked
 * or printed here.
 */
#include "lib/config/config_internal.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* The words of a WORD; their index is the value of the enum. */
#define X(name) #name " "
static const char algorithm_words[] = DX_ALGORITHMS(X);
#undef X
#define X(NAME, word, ...) word " "
static const char token_words[] = DX_TOKEN_SOURCES(X);
#undef X

#define X(name, word) word " "
static const char language_words[] = DX_LANGUAGES(X);
#undef X

#define NEEDS(NAME, word, directive, ...) " '" word "' needs " #directive "."

/* Where a directive may appear, and its field there. */
#define GENERAL(name, KIND, type, field, ...)                                 \
  {                                                                           \
    name, false, true, DX_VALUE_##KIND, offsetof(struct dx_config, field), 0, \
        type, __VA_ARGS__                                                     \
  }
#define SERVICE(name, KIND, type, field, ...)                                  \
  {                                                                            \
    name, true, false, DX_VALUE_##KIND, 0, offsetof(struct dx_service, field), \
        type, __VA_ARGS__                                                      \
  }
#define BOTH(name, KIND, type, field, ...)                                \
  {                                                                       \
    name, true, true, DX_VALUE_##KIND, offsetof(struct dx_config, field), \
        offsetof(struct dx_service, field), type, __VA_ARGS__             \
  }

/* Default, least and greatest value, words. */
#define NO_DEFAULT NULL, NULL, NULL, NULL
#define DEFAULT(value) value, NULL, NULL, NULL
#define RANGE(value, least, most) value, least, most, NULL
#define WORDS(value, words) value, NULL, NULL, words

/* clang-format off */
const struct dx_directive config_rows[] = {
  GENERAL("SpoolDir", DIR_PATH, "path", spool_dir,
    DEFAULT("/var/spool/docextract"),
    "Directory for unfinished jobs, on a local disk (not tmpfs, FUSE, or a network); owned by the user that runs backends."),
  BOTH("ResultsDir", DIR_PATH, "path", results_dir, NO_DEFAULT,
    "Directory for results; the default is 'results' in SpoolDir. In a <Service> it applies to that service only."),
  GENERAL("KeepJobs", DURATION, "duration", keep_jobs_ms,
    RANGE("7d", "1h", "365d"),
    "How long finished jobs are kept."),
  GENERAL("StatusSocket", SOCKET_PATH, "path", status_socket,
    DEFAULT(DX_RUNTIME_DIR "/status"),
    "Socket of docextractd that provides local users with the status of their print jobs."),
  GENERAL("Language", WORD, "word", language,
    WORDS("auto", language_words),
    "Language of the messages of print jobs and queues: English, German, Spanish, French, or Japanese; with auto, that of the locale of docextractd."),
  SERVICE("BaseURL", URL, "URL", base_url, NO_DEFAULT,
    "URL of the service: https, or http for this computer only."),
  SERVICE("Token", WORD, "word", token, WORDS("key", token_words),
    "Where tokens come from." DX_TOKEN_SOURCES(NEEDS)),
#define X(NAME, word, directive, field, KIND, type, help, ...)                 \
  SERVICE(#directive, KIND, type, field, NO_DEFAULT, help),
  DX_TOKEN_SOURCES(X)
#undef X
  SERVICE("TokenAlgorithm", WORD, "word", token_algorithm,
    WORDS("HS256", algorithm_words),
    "The algorithm that signs tokens; it must match the key."),
  SERVICE("TokenKeyID", TEXT, "text", token_key_id, NO_DEFAULT,
    "The kid in the header of each token."),
  SERVICE("TokenClaim", CLAIM, "claim", claims, NO_DEFAULT,
    "An additional claim, NAME VALUE; may be repeated. exp, iat, jti, and nbf are set by docextract."),
  SERVICE("TokenLifetime", DURATION, "duration", token_lifetime_ms,
    RANGE("5m", "1m", "1h"),
    "How long a signed token is valid."),
  SERVICE("CAFile", FILE_PATH, "path", ca_file, NO_DEFAULT,
    "CA certificates to trust instead of those of the system."),
  SERVICE("Proxy", PROXY, "URL", proxy, NO_DEFAULT,
    "Proxy to use; environment variables are ignored."),
  SERVICE("StorageHost", HOST, "host", storage_hosts, NO_DEFAULT,
    "A host to which documents may be uploaded; may be repeated. Without it, any host that the service specifies."),
  SERVICE("APIRate", NUMBER, "number", api_rate, RANGE("8", "0.1", "9"),
    "Maximum calls per second to the service from this host, all queues and processes together."),
  SERVICE("Completion", WORD, "word", completion,
    WORDS("auto", "auto extracted accepted "),
    "When a print job completes: with its results (extracted), as soon as it is stored (accepted), or with its results unless another job waits in the queue (auto)."),
  SERVICE("OnResult", COMMAND, "command", on_result, NO_DEFAULT,
    "Program and arguments to run for each result; the path of its manifest is appended. It is run without a shell, and repeated until it succeeds."),
  SERVICE("SeparatorPage", FILE_PATH, "path", separator_page, NO_DEFAULT,
    "PDF file with the page to insert between cases."),
  SERVICE("OnDocumentError", WORD, "word", on_document_error,
    WORDS("hold", "hold cancel "),
    "What to do with a print job if a document is refused."),
  SERVICE("ProcessingLimit", DURATION, "duration", processing_limit_ms,
    RANGE("30m", "1m", "7d"),
    "How long a print job waits for the extraction; then it completes, and the result is delivered later."),
  SERVICE("KeepUnfinished", DURATION, "duration", keep_unfinished_ms,
    RANGE("30d", "1d", "365d"),
    "How long the documents of a job that failed or was abandoned are kept."),
  SERVICE("MaxDocumentSize", SIZE, "size", max_document_bytes,
    RANGE("1G", "1M", "100G"),
    "Maximum size of a document; larger ones are refused."),
  SERVICE("MaxResultSize", SIZE, "size", max_result_bytes,
    RANGE("256M", "1M", "1G"),
    "Maximum size of a result; larger ones are not delivered."),
  SERVICE("MaxDocumentsPerJob", COUNT, "count", max_documents,
    RANGE("1000", "1", "1000"),
    "Maximum number of documents per job; a job with more is refused as a whole."),
  SERVICE("FilterTimeLimit", DURATION, "duration", filter_time_limit_ms,
    RANGE("15m", "1s", "1d"),
    "Maximum time to wait for each part of a document, and maximum time to process it; a slower document is refused."),
  SERVICE("FileNames", WORD, "word", file_names,
    WORDS("title", "title neutral "),
    "File names sent to the service: the title of the job or the name of the document, or neutral ones."),
  SERVICE("Sandbox", WORD, "word", sandbox,
    WORDS("required", "required optional "),
    "Whether documents are parsed only in a sandbox, which needs a kernel with seccomp filters. With optional, a kernel without them parses documents unprotected; the author of a document could then take control of the account of the filters."),
};
/* clang-format on */

#define ROW_COUNT (sizeof(config_rows) / sizeof(config_rows[0]))

const size_t config_row_count = ROW_COUNT;

_Static_assert(ROW_COUNT <= DX_DIRECTIVES_MAX, "struct dx_lines is too small");

const struct dx_directive *dx_directive(size_t n)
{
  return n < ROW_COUNT ? &config_rows[n] : NULL;
}

const struct dx_directive *config_find_row(const char *name, size_t len)
{
  const struct dx_directive *row;

  for (row = config_rows; row < config_rows + ROW_COUNT; row++)
    if (strlen(row->name) == len && strncasecmp(row->name, name, len) == 0)
      return row;
  return NULL;
}

void *config_field(const struct dx_config *config,
                   const struct dx_service *service,
                   const struct dx_directive *row)
{
  return service != NULL ? (char *)service + row->service_offset
                         : (char *)config + row->general_offset;
}

const struct dx_token_source_info dx_token_sources[DX_TOKEN_SOURCE_COUNT] = {
#define X(NAME, word, directive, field, KIND, type, help, limit_s, advice, \
          ...)                                                             \
  {word, #directive, limit_s, advice},
    DX_TOKEN_SOURCES(X)
#undef X
};

const char *const dx_algorithm_names[DX_ALG_COUNT] = {
#define X(name) #name,
    DX_ALGORITHMS(X)
#undef X
};

const struct dx_service *dx_config_service(const struct dx_config *config,
                                           const char *name)
{
  size_t i;

  for (i = 0; i < config->service_count; i++)
    if (strcmp(config->services[i].name, name) == 0)
      return &config->services[i];
  return NULL;
}
