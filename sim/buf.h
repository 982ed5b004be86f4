/*
 * buf.h - a growing byte string, and JSON text written into one.
 *
 * Errors are sticky: when memory runs out the buffer remembers it and ignores
 * what follows; look at `failed` once, at the end.
 *
 * Ownership: sim_buf_free() releases; sim_buf_take() hands the bytes over.
 * Blocking:  never.
 */
#ifndef SIM_BUF_H
#define SIM_BUF_H

#include <stdbool.h>
#include <stddef.h>

/* All zeros is an empty buffer. data[len] is NUL once anything was added. */
struct sim_buf {
  char *data;
  size_t len;
  size_t size;
  bool failed;
};

void sim_buf_add(struct sim_buf *b, const char *data, size_t len);
void sim_buf_str(struct sim_buf *b, const char *text);
void sim_buf_addf(struct sim_buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Adds `text` as a JSON string with its quotes, or null for NULL. Bytes that
 * are no UTF-8 become U+FFFD, so that the answer always is JSON.
 */
void sim_buf_json(struct sim_buf *b, const char *text);

/* The bytes, to be freed by the caller; NULL if memory ran out. */
char *sim_buf_take(struct sim_buf *b);

void sim_buf_free(struct sim_buf *b);

#endif
