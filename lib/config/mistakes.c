/*
 * mistakes.c - messages for the administrator: mistakes with file and line, the
 * list of all mistakes, and warnings about files that do not exist. load.c and
 * parse.c detect the mistakes.
 */
#include "lib/config/config_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/user.h"

#define WORD_MAX_BYTES 24 /* a longer word is more likely a key than a name */

enum dx_code config_bad(const struct parser *p, struct dx_err *err,
                        const char *format, ...)
{
  char text[DX_ERR_TEXT_BYTES];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (p->line == 0)
    return dx_fail(err, DX_E_CONFIG, 0, "%s: %s", p->path, text);
  return dx_fail(err, DX_E_CONFIG, 0, "%s:%d: %s", p->path, p->line, text);
}

enum dx_code config_note_mistake(struct parser *p, enum dx_code code,
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

/* ---- names ---- */

static void list_possible(bool inside, char *text, size_t size)
{
  size_t i, used = 0;

  for (i = 0; i < config_row_count && used < size; i++)
    if (inside ? config_rows[i].public.in_service
               : config_rows[i].public.in_general)
      used +=
          (size_t)snprintf(text + used, size - used, "%s%s",
                           used > 0 ? ", " : "", config_rows[i].public.name);
  if (!inside && used < size)
    (void)snprintf(text + used, size - used, ", <Service NAME>");
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"

/* A line may be a misplaced key, and others read the messages: only a word that
 * looks like the name of a directive is repeated. */
bool config_is_repeatable(const char *name)
{
  return strlen(name) <= WORD_MAX_BYTES && name[strspn(name, LETTERS)] == '\0';
}

enum dx_code config_unknown(const struct parser *p, const char *name,
                            struct dx_err *err)
{
  size_t len = strcspn(name, "=:");
  const struct row *row = config_find_row(name, len);
  char possible[DX_ERR_TEXT_BYTES];

  if (row != NULL)
    return config_bad(p, err, "write '%s VALUE', with a blank instead of '%c'",
                      row->public.name, name[len]);
  if (strcasecmp(name, "Service") == 0)
    return config_bad(p, err, "a section begins with <Service NAME>");
  list_possible(p->service != NULL, possible, sizeof(possible));
  if (config_is_repeatable(name))
    return config_bad(p, err, "unknown directive '%s'; possible here: %s", name,
                      possible);
  return config_bad(p, err, "not a directive; possible here: %s", possible);
}

/* ---- who may change a file ---- */

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

/* ---- what a correct line names ---- */

/* The problem with the file, program, or directory at a path; NULL if there is
 * none, or if it cannot be determined here. `text` may hold what is returned.
 */
static const char *what_is_wrong(const struct parser *p, const struct row *row,
                                 const char *path, char text[DX_ERR_TEXT_BYTES])
{
  bool is_program = row->type == COMMAND;
  char name[DX_USER_BYTES];
  struct stat st;
  int e = stat(path, &st) < 0 ? errno : 0;

  if (e == ENOENT || e == ENOTDIR)
    return "does not exist; create it, or fix the path";
  if (e == 0 && row->type == DIR_PATH)
    return S_ISDIR(st.st_mode) ? NULL : "is not a directory; fix the path";
  if (e == 0 && !S_ISREG(st.st_mode))
    return "is not a file; fix the path";
  if (e == 0 && is_program && (st.st_mode & 0111) == 0)
    return "is not a program; fix the path, or chmod a+x";
  if (e == 0 &&
      faccessat(AT_FDCWD, path, is_program ? X_OK : R_OK, AT_EACCESS) < 0)
    e = errno;
  if (e != EACCES || !p->notes->is_user)
    return NULL;
  dx_user_name_of(geteuid(), name);
  (void)snprintf(text, DX_ERR_TEXT_BYTES,
                 "cannot be used by '%s', the user that backends run as; fix "
                 "the owner or mode of the file, or of a directory above it",
                 name);
  return text;
}

/*
 * A missing file of a correct line is not a mistake, but a warning: a key may
 * come from a secret store, and a directory may be on a disk that is not
 * mounted yet. A ResultsDir is created when it is needed, but its parent is
 * not.
 */
void config_look_for(const struct parser *p, const struct row *row,
                     const char *value)
{
  char path[LINE_BYTES], parent[LINE_BYTES], text[DX_ERR_TEXT_BYTES];
  const char *wrong;
  struct stat st;

  if (row->type != DIR_PATH && row->type != FILE_PATH &&
      row->type != KEY_PATH && row->type != COMMAND)
    return;
  (void)snprintf(path, sizeof(path), "%.*s",
                 row->type == COMMAND ? (int)strcspn(value, " \t") : INT_MAX,
                 value);
  (void)snprintf(parent, sizeof(parent), "%.*s",
                 (int)(strrchr(path, '/') - path), path);
  if (row->type == DIR_PATH && row->public.in_service && parent[0] != '\0' &&
      stat(path, &st) < 0 && errno == ENOENT && stat(parent, &st) == 0)
    return;
  wrong = what_is_wrong(p, row, path, text);
  if (wrong != NULL)
    dx_buf_printf(&p->notes->warnings, "%s:%d: %s '%s' %s\n", p->path, p->line,
                  row->public.name, path, wrong);
}

void dx_config_notes_release(struct dx_config_notes *notes)
{
  dx_buf_release(&notes->mistakes);
  dx_buf_release(&notes->warnings);
}
