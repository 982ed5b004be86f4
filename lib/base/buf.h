/*
 * buf.h - a growing string, and the escapes of this project.
 *
 * Begin with `struct dx_buf b = {0};`. After the first addition, data is
 * NUL-terminated. After a failed addition, `failed` is set and later additions
 * do nothing: build the whole text, then call dx_buf_ok() once.
 *
 * Ownership: the buffer owns data; dx_buf_release() frees it and makes the
 * buffer empty again. It may contain secrets: memory is wiped before it is
 * freed.
 */
#ifndef DX_BUF_H
#define DX_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct dx_buf {
  char *data;
  size_t len;
  size_t room;
  bool failed;
};

void dx_buf_add(struct dx_buf *buf, const void *bytes, size_t len);
void dx_buf_puts(struct dx_buf *buf, const char *text);
void dx_buf_printf(struct dx_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Adds text percent-encoded: letters, digits, '-', '_', and the bytes of `keep`
 * stay; everything else becomes %XX. RFC 3986, section 2.
 */
void dx_buf_percent(struct dx_buf *buf, const char *text, const char *keep);

/* False after any failed addition, or if nothing could be allocated. */
bool dx_buf_ok(const struct dx_buf *buf);

/* The text, "" when empty. Borrowed until the next addition. */
const char *dx_buf_text(const struct dx_buf *buf);

/* Returns the text, which the caller frees, and empties the buffer; NULL if an
 * addition failed. */
char *dx_buf_take(struct dx_buf *buf);

void dx_buf_release(struct dx_buf *buf);

#endif
