/*
 * buf.c - a growing byte string, and JSON text written into one.
 */
#include "sim/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 256u

static bool make_room(struct sim_buf *b, size_t more)
{
  size_t size = b->size == 0 ? FIRST_BYTES : b->size;
  char *data;

  if (b->failed)
    return false;
  while (size - b->len <= more)
    size *= 2;
  if (size == b->size)
    return true;
  data = realloc(b->data, size);
  if (data == NULL) {
    b->failed = true;
    return false;
  }
  b->data = data;
  b->size = size;
  return true;
}

void sim_buf_add(struct sim_buf *b, const char *data, size_t len)
{
  if (!make_room(b, len))
    return;
  if (len > 0)
    memcpy(b->data + b->len, data, len);
  b->len += len;
  b->data[b->len] = '\0';
}

void sim_buf_str(struct sim_buf *b, const char *text)
{
  sim_buf_add(b, text, strlen(text));
}

void sim_buf_addf(struct sim_buf *b, const char *format, ...)
{
  va_list ap;
  int n;

  va_start(ap, format);
  n = vsnprintf(NULL, 0, format, ap);
  va_end(ap);
  if (n < 0 || !make_room(b, (size_t)n + 1))
    return;
  va_start(ap, format);
  (void)vsnprintf(b->data + b->len, (size_t)n + 1, format, ap);
  va_end(ap);
  b->len += (size_t)n;
}

/* The smallest code point that needs so many bytes. */
static const unsigned least[5] = {0, 0, 0x80, 0x800, 0x10000};

/* The length of the well-formed UTF-8 character at `s`; 0 if there is none. */
static size_t utf8_len(const unsigned char *s)
{
  size_t n = s[0] < 0x80             ? 1
             : (s[0] & 0xe0) == 0xc0 ? 2
             : (s[0] & 0xf0) == 0xe0 ? 3
             : (s[0] & 0xf8) == 0xf0 ? 4
                                     : 0;
  unsigned c;

  if (n < 2)
    return n;
  c = s[0] & (0x7fu >> n);
  for (size_t i = 1; i < n; i++) {
    if ((s[i] & 0xc0) != 0x80)
      return 0;
    c = c << 6 | (s[i] & 0x3fu);
  }
  if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
    return 0;
  return n;
}

static void add_ascii(struct sim_buf *b, char c)
{
  if (c == '"' || c == '\\')
    sim_buf_addf(b, "\\%c", c);
  else if (c == '\n')
    sim_buf_str(b, "\\n");
  else if ((unsigned char)c < 0x20 || c == 0x7f)
    sim_buf_addf(b, "\\u%04x", (unsigned)c);
  else
    sim_buf_add(b, &c, 1);
}

void sim_buf_json(struct sim_buf *b, const char *text)
{
  if (text == NULL) {
    sim_buf_str(b, "null");
    return;
  }
  sim_buf_str(b, "\"");
  while (*text != '\0') {
    size_t n = utf8_len((const unsigned char *)text);

    if (n == 0)
      sim_buf_str(b, "\\ufffd");
    else if (n == 1)
      add_ascii(b, *text);
    else
      sim_buf_add(b, text, n);
    text += n == 0 ? 1 : n;
  }
  sim_buf_str(b, "\"");
}

char *sim_buf_take(struct sim_buf *b)
{
  char *data;

  sim_buf_add(b, "", 0); /* an empty buffer becomes an empty string */
  data = b->failed ? NULL : b->data;
  if (b->failed)
    free(b->data);
  *b = (struct sim_buf){0};
  return data;
}

void sim_buf_free(struct sim_buf *b)
{
  free(b->data);
  *b = (struct sim_buf){0};
}
