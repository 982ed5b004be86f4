/*
 * queues.h - the queues of cupsd that print to our backend, as cupsd tells.
 *
 * Ownership: the array is the caller's; free(). Blocking: at most a few
 * seconds for cupsd. Errors: E_NET if it cannot be asked, E_NOMEM.
 */
#ifndef DX_CLI_QUEUES_H
#define DX_CLI_QUEUES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

struct queue {
  char name[128]; /* chosen by a person */
  char service[72];
  char reasons[256]; /* keywords, a blank between two */
  const char *state; /* "idle", "processing", "stopped"; static memory */
  bool accepting;
  int jobs;
};

enum dx_code queues_read(struct queue **ret_queues, size_t *ret_count,
                         struct dx_err *err) DX_MUST_USE;

#endif
