/*
 * config.h - docextract.conf: reading, checking, and its directives
 * (directives.def). See docextract.conf(5).
 *
 * Ownership: dx_config_load() returns an object; its services and strings are
 * valid as long as it is. It never contains secrets, only paths to them.
 * Blocking: reads one small file. Errors: E_CONFIG, with "FILE:LINE: mistake;
 * correction", for all mistakes in the content or the mode of the file;
 * E_NOMEM.
 */
#ifndef DX_CONFIG_H
#define DX_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/language.h"
#include "lib/base/policy.h"

/* The device URI of our queues, docextract://SECTION, names a section. */
#define DX_DEVICE_SCHEME "docextract://"
#define DX_SECTION_BYTES 65 /* letters, digits, '-', '_', '.', and NUL */

/* JWS algorithms, RFC 7518 section 3.1 and RFC 8037. "none" is not permitted.
 */
/* clang-format off */
#define DX_ALGORITHMS(X)                                                   \
  X(HS256) X(HS384) X(HS512) X(RS256) X(RS384) X(RS512) X(PS256) X(PS384)  \
  X(PS512) X(ES256) X(ES384) X(ES512) X(EdDSA)
/* clang-format on */

enum dx_algorithm {
#define X(name) DX_ALG_##name,
  DX_ALGORITHMS(X)
#undef X
      DX_ALG_COUNT
};

extern const char *const dx_algorithm_names[DX_ALG_COUNT];

/*
 * The only list of token sources: the parser, the manual page, struct
 * dx_service, and `docextract hello` take all information about a source from
 * its row. Besides its row, a new source needs only its reader.
 *
 *   NAME       its constant
 *   word       after Token in the configuration
 *   directive  that the source needs
 *   field      in struct dx_service: the value of the directive
 *   KIND, type of the directive, as in struct dx_directive
 *   help       for the directive: one sentence
 *   limit_s    longest wait for the source; 0: it does not wait
 *   advice     what to check when the service refuses the token
 *   reader     the function in daemon/service/token.c that gets the token
 */
/* clang-format off */
#define DX_TOKEN_SOURCES(X)                                                  \
  X(DX_TOKEN_KEY, "key", TokenKeyFile, token_key_file, KEY_PATH, "path",     \
    "The key that signs tokens: for HS algorithms, the bytes of the secret, " \
    "not its base64; for the others, a private key in PEM format.",          \
    0, "check TokenAlgorithm, TokenKeyFile, TokenKeyID, and TokenClaim; a "  \
    "shared secret that came as base64 or hex must be decoded first",        \
    token_read_key)                                                          \
  X(DX_TOKEN_FILE, "file", TokenFile, token_file, KEY_PATH, "path",          \
    "File that contains the token; it is read for each call.",               \
    0, "check the token in TokenFile",                                       \
    token_read_file)                                                         \
  X(DX_TOKEN_COMMAND, "command", TokenCommand, token_command, COMMAND,       \
    "command", "Program and arguments that print a token; run without a "    \
    "shell.",                                                                \
    DX_TOKEN_COMMAND_S, "check what TokenCommand prints",                    \
    token_read_command)
/* clang-format on */

enum dx_token_source { DX_TOKEN_SOURCES(DX_NAME_OF_ROW) DX_TOKEN_SOURCE_COUNT };

struct dx_token_source_info {
  const char *word;
  const char *directive;
  int limit_s;
  const char *advice;
};

extern const struct dx_token_source_info
    dx_token_sources[DX_TOKEN_SOURCE_COUNT];

enum dx_completion {
  DX_COMPLETION_AUTO,
  DX_COMPLETION_EXTRACTED,
  DX_COMPLETION_ACCEPTED
};
enum dx_on_error { DX_ON_ERROR_HOLD, DX_ON_ERROR_CANCEL };
enum dx_file_names { DX_FILE_NAMES_TITLE, DX_FILE_NAMES_NEUTRAL };
enum dx_sandbox { DX_SANDBOX_IS_REQUIRED, DX_SANDBOX_IS_OPTIONAL };

#define DX_CA_OF_SYSTEM "system" /* instead of the path of a CAFile */

#define DX_VALUE_BYTES 4096 /* of a word or a value, with NUL */

/* The values of a directive that may be repeated. */
#define DX_ITEMS_MAX 50
struct dx_items {
  size_t count;
  struct dx_item {
    const char *name;
    const char *value; /* NULL: only a name */
    int line;
  } items[DX_ITEMS_MAX];
};

/* The line that sets each row of dx_directive(), and its value as written;
 * 0, NULL: default. */
#define DX_DIRECTIVES_MAX 40
struct dx_lines {
  int line[DX_DIRECTIVES_MAX];
  const char *text[DX_DIRECTIVES_MAX];
};

struct dx_service {
  const char *name; /* of the section */
  int line;         /* of its section, for messages */
  struct dx_lines lines;
  char *host; /* of base_url, lower case; IPv6 without brackets */
  int port;   /* of base_url, the scheme's default when not given */
#define GENERAL(...)
#define SERVICE(name, KIND, type, c_type, field, ...) c_type field;
#define BOTH SERVICE
#include "lib/config/directives.def"
};

struct dx_config {
  char *path;            /* of the file */
  struct dx_lines lines; /* outside of sections */
#define GENERAL(name, KIND, type, c_type, field, ...) c_type field;
#define SERVICE(...)
#define BOTH GENERAL
#include "lib/config/directives.def"
  struct dx_service *services;
  size_t service_count;
  struct dx_buf text; /* of the file: the values are parts of it */
  char *default_results_dir;
};

/* The path of the default file: $CUPS_SERVERROOT/docextract.conf if cupsd has
 * set that variable, else below the built-in server root. Static memory. */
const char *dx_config_path(void);

/* What the caller wants to know about a file, and gets, in lines
 * "FILE:LINE: ...". Begin with {0}. */
struct dx_config_notes {
  bool is_user; /* backends run as the user of this process: warn about files
                   that it cannot read */
  bool takes_mistakes;    /* only paths are needed: read the correct lines of an
                             incorrect file */
  struct dx_buf mistakes; /* the first DX_MISTAKES_MAX */
  int mistake_count;
  struct dx_buf warnings; /* files of correct lines do not exist */
};
#define DX_MISTAKES_MAX 20

void dx_config_notes_release(struct dx_config_notes *notes);

/*
 * Reads and checks `path` (docextract.conf(5)). The message describes the first
 * mistake; without notes (NULL), it contains the number of mistakes, and no
 * warnings are made. It does not repeat words that may be a misplaced secret.
 */
enum dx_code dx_config_load(const char *path, struct dx_config **ret_config,
                            struct dx_config_notes *notes,
                            struct dx_err *err) DX_MUST_USE;
void dx_config_free(struct dx_config **config);

/*
 * What is wrong with the owner or mode of a file that contains a secret, or
 * NULL: it must belong to a user that dx_user_is_trusted() accepts, no other
 * user may write it, and only its group may read it; with a separate user, only
 * that user. `text` holds what is returned. The caller that uses the secret
 * must call this: dx_config_load() only warns.
 */
const char *dx_secret_wrong(const char *path, const struct stat *st,
                            char text[DX_ERR_TEXT_BYTES]);

/*
 * Finds the next SpoolDir, ResultsDir, or OnResult, from *at (begin with 0),
 * that the installed docextractd.service hides or protects; `text` gets the
 * problem, with the line that a drop-in must have. mountinfo:
 * "/proc/self/mountinfo", to check the mounts of this process, including
 * existing drop-ins; NULL, to check the unit without drop-ins. False: no more.
 */
bool dx_config_drop_in(const struct dx_config *config, const char *mountinfo,
                       size_t *at, char text[DX_ERR_TEXT_BYTES]);

/* The service of that name, borrowed; NULL when there is none. */
const struct dx_service *dx_config_service(const struct dx_config *config,
                                           const char *name);

/* Sets the name of the section, or ""; false if the device URI (may be NULL)
 * has another form. Accepts a slash at the end, which some dialogs add. */
bool dx_section_of_uri(const char *uri, char ret_section[DX_SECTION_BYTES]);

/* True for the device URI of a queue of docextract, whether or not it has the
 * form that names a section. */
bool dx_is_our_uri(const char *uri);

/* The file with the CAs to trust for the API, or for the storage; NULL: the CAs
 * of the system. Borrowed. */
const char *dx_ca_file(const struct dx_service *service, bool is_storage);

/*
 * True if `host` (without brackets) is the loopback: 127.0.0.0/8 as four
 * numbers, ::1, or "localhost".
 */
bool dx_host_is_loopback(const char *host);

/* A size as it would be written, "500M"; returns `text`. */
#define DX_SIZE_TEXT_BYTES 24
const char *dx_size_text(int64_t bytes, char text[DX_SIZE_TEXT_BYTES]);

/* "90s", "5m", "1h", "7d" in milliseconds; -1 if it is not one. */
int64_t dx_parse_duration(const char *text);

/*
 * Prints the effective configuration, readable as a configuration again: each
 * value has a comment with its origin. The output contains no secrets.
 */
enum dx_code dx_config_print(const struct dx_config *config, FILE *out,
                             struct dx_err *err) DX_MUST_USE;

/* The same without any text that a user wrote, for a report that is sent to
 * others. Only words and numbers are printed with values; other directives are
 * printed as set. Services are numbered. */
void dx_config_print_anonymous(const struct dx_config *config, FILE *out);

/* How the value of a directive is read. */
enum dx_value_kind {
  DX_VALUE_DIR_PATH,
  DX_VALUE_FILE_PATH,
  DX_VALUE_CA_PATH,  /* of a file, or "system" */
  DX_VALUE_KEY_PATH, /* of a file with a secret */
  DX_VALUE_SOCKET_PATH,
  DX_VALUE_URL,
  DX_VALUE_PROXY,
  DX_VALUE_TEXT,
  DX_VALUE_COMMAND,
  DX_VALUE_CLAIM, /* these two may be repeated: struct dx_items */
  DX_VALUE_HOST,
  DX_VALUE_WORD, /* from here on, an amount, or a word of a list */
  DX_VALUE_NUMBER,
  DX_VALUE_DURATION,
  DX_VALUE_SIZE,
  DX_VALUE_COUNT
};

/* One row of the table. */
struct dx_directive {
  const char *name;
  bool in_service; /* may appear inside <Service> */
  bool in_general; /* may appear outside */
  enum dx_value_kind kind;
  size_t general_offset; /* of its field in struct dx_config */
  size_t service_offset; /* in struct dx_service */
  const char *type;      /* for the manual: "path", "duration", ... */
  const char *fallback;  /* the default as it would be written, or NULL */
  const char *least;     /* as written, or NULL */
  const char *most;
  const char *words; /* of WORD: each with a blank after it */
  const char *help;
};

/* The n-th row, or NULL after the last one. Static memory. */
const struct dx_directive *dx_directive(size_t n);

/* The field of a row: in a service, or, if it is NULL, outside. */
void *dx_directive_field(const struct dx_directive *row,
                         const struct dx_config *config,
                         const struct dx_service *service);

#endif
