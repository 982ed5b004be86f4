/*
 * config_parts.h - what the files of the configuration share, and nobody else
 * may include. config.c has the table of directives, loads a file as a whole
 * and lets go of it. config_read.c knows lines and sections, and finds their
 * mistakes. config_value.c knows what the value of each type means.
 * config_print.c prints what was understood, with its origin.
 */
#ifndef DX_CONFIG_PARTS_H
#define DX_CONFIG_PARTS_H

#include "lib/config/config.h"

#define LINE_BYTES 4096 /* of the file, with its end */

/* How the value of a row is read and printed. */
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

/* One directive. */
struct row {
  struct dx_directive public;
  enum type type;
  const char *words;     /* WORD: separated by blanks */
  size_t general_offset; /* in struct dx_config */
  size_t service_offset; /* in struct dx_service */
};

/* What is known while a file is read. */
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

/* ---- config.c: the table ---- */

extern const struct row config_rows[];
extern const size_t config_row_count;

/* ---- config_read.c: lines, sections and their mistakes ---- */

/* A mistake in the line that is read: E_CONFIG, with FILE:LINE before it. */
enum dx_code config_bad(const struct parser *p, struct dx_err *err,
                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Of the open section, or of what stands outside. */
struct dx_lines *config_lines_of(const struct parser *p);
/* Reads all lines into p->config, which is there already. Closes `fd`. */
enum dx_code config_read(struct parser *p, int fd, struct dx_err *err);

/* ---- config_value.c: what a value means ---- */

/* What a person wrote behind a directive: checked, kept where its row says,
 * and what it names looked for if there are notes. NULL: nothing. */
enum dx_code config_take_value(const struct parser *p, const struct row *row,
                               const char *value, struct dx_err *err);
/* For every row that had no line, here or in the open section. */
enum dx_code config_apply_fallbacks(struct parser *p, struct dx_err *err);
/* Replaces a string by a copy of `value`. */
enum dx_code config_set_text(const char *value, char **field,
                             struct dx_err *err);

#endif
