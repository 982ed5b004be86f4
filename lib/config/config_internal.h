/*
 * config_internal.h - what the files of lib/config/ share. Each uses only
 * those above it:
 *
 *   config.c    the table of directives, and looking things up
 *   lines.c     cutting text into names and values
 *   mistakes.c  how mistakes and warnings are worded and collected
 *   parse.c     the value of one directive
 *   print.c     printing a loaded configuration
 *   load.c      the file: directives, sections, the whole
 *   unit.c      what the protection of docextractd.service hides
 */
#ifndef DX_CONFIG_INTERNAL_H
#define DX_CONFIG_INTERNAL_H

#include <sys/stat.h>

#include "lib/config/config.h"

#define LINE_BYTES 4096 /* of the file, with its end */

/* How the value of a row is read and printed. */
enum type {
  DIR_PATH,
  FILE_PATH,
  KEY_PATH, /* of a file with a secret */
  SOCKET_PATH,
  URL,
  PROXY,
  WORD,
  TEXT,
  NUMBER,
  DURATION,
  SIZE,
  COUNT,
  COMMAND,
  CLAIM, /* these two may be repeated: struct dx_items */
  HOST
};

/* One directive. */
struct row {
  struct dx_directive public;
  enum type type;
  size_t general_offset; /* in struct dx_config */
  size_t service_offset; /* in struct dx_service */
};

/* The state while a file is read. */
struct parser {
  const char *path;
  struct dx_config *config;
  struct dx_service *service; /* the open section; NULL outside */
  bool takes_mistakes;        /* collects them, and continues */
  bool is_foreign;            /* inside a key, or another type of section */
  int line;
  int mistakes;
  int mistakes_before;           /* the open section */
  struct dx_err first;           /* mistake */
  struct dx_config_notes *notes; /* NULL: not wanted */
};

/* ---- config.c ---- */

extern const struct row config_rows[];
extern const size_t config_row_count;

/* The row of that name, `len` bytes long, in any case; NULL if none. */
const struct row *config_find_row(const char *name, size_t len);

/* The field of a row: in a service, or, if it is NULL, outside. */
void *config_field(const struct dx_config *config,
                   const struct dx_service *service, const struct row *row);

/* ---- mistakes.c ---- */

/* A mistake in the line being read: E_CONFIG, with the prefix FILE:LINE; FILE
 * alone if line is 0, as for a default that is out of range. */
enum dx_code config_bad(const struct parser *p, struct dx_err *err,
                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Remembers a mistake and returns DX_OK, so that reading goes on and all of
 * them can be fixed at once. Every code but E_CONFIG is returned as it is. */
enum dx_code config_note_mistake(struct parser *p, enum dx_code code,
                                 const struct dx_err *err);

/* The mistake of a line with an unknown directive. */
enum dx_code config_unknown(const struct parser *p, const char *name,
                            struct dx_err *err);

/* False if the word may be a misplaced secret, which no message may repeat. */
bool config_is_repeatable(const char *name);

/*
 * What is wrong with the owner or mode of a file, or NULL: no other user may
 * write it, and it must belong to a user that dx_user_is_trusted() accepts,
 * preferably `owner` (NULL: any). `text` holds what is returned.
 */
const char *config_identity(const char *path, const struct stat *st,
                            const char *owner, char text[DX_ERR_TEXT_BYTES]);

/* Adds a warning to p->notes if the file or directory of a value does not
 * exist. */
void config_look_for(const struct parser *p, const struct row *row,
                     const char *value);

/* ---- parse.c ---- */

/* Lines of the open section, or of what is outside of sections. */
struct dx_lines *config_lines_of(const struct parser *p);

/* Checks what was written after a directive (NULL: nothing), stores it in the
 * field of the row, and warns if there are notes. */
enum dx_code config_take_value(const struct parser *p, const struct row *row,
                               const char *value, struct dx_err *err);

/* Stores the default of every row that had no line, in the open section or
 * outside of sections. */
enum dx_code config_apply_fallbacks(struct parser *p, struct dx_err *err);

/* An amount of a DURATION, SIZE, or COUNT as it would be written. */
void config_amount_text(enum type type, int64_t amount,
                        char text[DX_SIZE_TEXT_BYTES]);

/* Replaces a string with a copy of `value`. */
enum dx_code config_set_text(const char *value, char **field,
                             struct dx_err *err);

#endif
