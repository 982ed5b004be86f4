/*
 * err.c - the rows of err.h, and the only place where messages are formatted.
 */
#include "lib/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/utf8.h"

static const struct {
  const char *name;
  enum dx_class cls;
} codes[DX_CODE_COUNT] = {
#define X(name, class) {&#name[3], class}, /* without the prefix */
    DX_CODES(X)
#undef X
};

static const char *const class_words[] = {DX_CLASSES(DX_WORD_OF_ROW)};

enum dx_code dx_fail(struct dx_err *err, enum dx_code code, int sys_errno,
                     const char *format, ...)
{
  char text[DX_ERR_TEXT_BYTES + 4]; /* an argument may be err->text itself */
  va_list args;

  if (err == NULL)
    return code;
  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  err->code = code;
  err->sys_errno = sys_errno;
  dx_utf8_copy(err->text, sizeof(err->text), text);
  dx_utf8_make_plain(err->text);
  return code;
}

static enum dx_code code_of_errno(int sys_errno)
{
  switch (sys_errno) {
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
    return DX_E_SPACE;
  case EACCES:
  case EPERM:
  case EROFS:
    return DX_E_ACCESS;
  case EMFILE:
  case ENFILE:
    return DX_E_FDS;
  case ENOMEM:
    return DX_E_NOMEM;
  case ENOENT:
    return DX_E_NOT_FOUND;
  case EEXIST:
  case ENOTEMPTY:
    return DX_E_EXISTS;
  default:
    return DX_E_IO;
  }
}

enum dx_code dx_fail_sys(struct dx_err *err, int sys_errno, const char *step,
                         const char *subject)
{
  return dx_fail(err, code_of_errno(sys_errno), sys_errno, "cannot %s '%s': %s",
                 step, subject, strerror(sys_errno));
}

enum dx_code dx_fail_advice(struct dx_err *err, const char *format, ...)
{
  const struct dx_err what = *err;
  char advice[DX_ERR_TEXT_BYTES];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(advice, sizeof(advice), format, args);
  va_end(args);
  if (strstr(what.text, advice) != NULL)
    return what.code;
  return dx_fail(err, what.code, what.sys_errno, "%s; %s", what.text, advice);
}

enum dx_code dx_fail_nomem(struct dx_err *err)
{
  return dx_fail(err, DX_E_NOMEM, ENOMEM, "out of memory");
}

enum dx_class dx_class_of(enum dx_code code)
{
  return codes[code].cls;
}

const char *dx_code_name(enum dx_code code)
{
  return codes[code].name;
}

const char *dx_class_word(enum dx_class cls)
{
  return class_words[cls];
}

enum dx_code dx_code_by_name(const char *name)
{
  int i;

  for (i = 0; i < DX_CODE_COUNT; i++)
    if (strcmp(codes[i].name, name) == 0)
      return (enum dx_code)i;
  return DX_CODE_COUNT;
}
