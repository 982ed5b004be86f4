/*
 * buf.c - growing strings.
 */
#include "lib/base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool grow(struct dx_buf *buf, size_t more)
{
  size_t room = buf->room != 0 ? buf->room : 64;
  char *data;

  if (buf->failed || more > SIZE_MAX / 8 - buf->len) {
    buf->failed = true;
    return false;
  }
  while (room < buf->len + more + 1)
    room *= 2;
  if (room == buf->room)
    return true;
  /* Not realloc: it could leave a copy of a secret in freed memory. */
  data = malloc(room);
  if (data == NULL) {
    buf->failed = true;
    return false;
  }
  if (buf->len > 0)
    memcpy(data, buf->data, buf->len);
  if (buf->data != NULL)
    explicit_bzero(buf->data, buf->room);
  free(buf->data);
  buf->data = data;
  buf->room = room;
  return true;
}

void dx_buf_add(struct dx_buf *buf, const void *bytes, size_t len)
{
  if (!grow(buf, len))
    return;
  if (len > 0)
    memcpy(buf->data + buf->len, bytes, len);
  buf->len += len;
  buf->data[buf->len] = '\0';
}

void dx_buf_puts(struct dx_buf *buf, const char *text)
{
  dx_buf_add(buf, text, strlen(text));
}

void dx_buf_printf(struct dx_buf *buf, const char *format, ...)
{
  va_list args;
  int n;

  va_start(args, format);
  n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n < 0) {
    buf->failed = true;
    return;
  }
  if (!grow(buf, (size_t)n))
    return;
  va_start(args, format);
  (void)vsnprintf(buf->data + buf->len, (size_t)n + 1, format, args);
  va_end(args);
  buf->len += (size_t)n;
}

void dx_buf_percent(struct dx_buf *buf, const char *text, const char *keep)
{
  static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

  for (; *text != '\0'; text++) {
    if (strchr(plain, *text) != NULL || strchr(keep, *text) != NULL)
      dx_buf_add(buf, text, 1);
    else
      dx_buf_printf(buf, "%%%02X", (unsigned char)*text);
  }
}

bool dx_buf_ok(const struct dx_buf *buf)
{
  return !buf->failed;
}

const char *dx_buf_text(const struct dx_buf *buf)
{
  return buf->data != NULL ? buf->data : "";
}

char *dx_buf_take(struct dx_buf *buf)
{
  char *data = NULL;

  if (grow(buf, 0)) { /* an empty text is not NULL */
    buf->data[buf->len] = '\0';
    data = buf->data;
    buf->data = NULL;
  }
  dx_buf_release(buf);
  return data;
}

void dx_buf_release(struct dx_buf *buf)
{
  if (buf->data != NULL)
    explicit_bzero(buf->data, buf->room);
  free(buf->data);
  memset(buf, 0, sizeof(*buf));
}
