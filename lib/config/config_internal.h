/*
 * config_internal.h - what the files of lib/config/ share. Each uses only
 * those above it:
 *
 *   config.c  the directives, and looking things up
 *   parse.c   the value of one directive, and how mistakes are reported
 *   print.c   printing a loaded configuration
 *   load.c    the file: lines, directives, sections, the whole
 *   unit.c    what the protection of docextractd.service hides
 */
#ifndef DX_CONFIG_INTERNAL_H
#define DX_CONFIG_INTERNAL_H

#include <sys/stat.h>

#include "lib/config/config.h"

#define LINE_BYTES 4096 /* of a word or a value, with NUL */

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

/* ---- config.c ---- */

/* The row of that name, `len` bytes long, in any case; NULL if none. */
const struct dx_directive *config_find_row(const char *name, size_t len);

/* The field of a row: in a service, or, if it is NULL, outside. */
void *config_field(const struct dx_config *config,
                   const struct dx_service *service,
                   const struct dx_directive *row);

/* ---- parse.c ---- */

/* Notes a mistake in the line being read, with the prefix FILE:LINE; FILE alone
 * if line is 0. Reading goes on, so that all of them can be fixed at once. */
void config_bad(struct parser *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * What is wrong with the owner or mode of a file, or NULL: no other user may
 * write it, and it must belong to a user that dx_user_is_trusted() accepts,
 * preferably `owner` (NULL: any). `text` holds what is returned.
 */
const char *config_identity(const char *path, const struct stat *st,
                            const char *owner, char text[DX_ERR_TEXT_BYTES]);

/* Lines of the open section, or of what is outside of sections. */
struct dx_lines *config_lines_of(const struct parser *p);

/* Checks what was written after a directive (NULL: nothing), makes it the value
 * of the row, and warns if there are notes. The text is modified, and must
 * remain. */
void config_take_value(struct parser *p, const struct dx_directive *row,
                       char *value);

/* Gives the default to every row that has no correct line, in the open section
 * or outside of sections. */
void config_apply_fallbacks(struct parser *p);

#endif
