/*
 * cupsd.h - information from cupsd: its queues that print to our backend, and
 * the directives of its configuration files, which are next to docextract.conf.
 *
 * Blocking: the disk; at most a few seconds for cupsd. Errors: E_NET if it does
 * not respond, E_NOMEM.
 */
#ifndef DX_CLI_CUPSD_H
#define DX_CLI_CUPSD_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

struct queue {
  char name[128];    /* chosen by the administrator */
  bool is_ours;      /* always true in the list */
  char service[72];  /* from its device URI; "" if there is none */
  char reasons[256]; /* keywords, separated by blanks */
  const char *state; /* "idle", "processing", "stopped"; static memory */
  bool accepting;
  int jobs;
};

struct queues {
  struct queue *list; /* freed by the caller */
  size_t count;
};

enum dx_code cupsd_queues(struct queues *ret_queues,
                          struct dx_err *err) DX_MUST_USE;

/* Opens a file next to our configuration, with the caller's rights; -1:
 * missing, or access is denied. */
int cupsd_open(const char *config_path, const char *name);

/* Calls `each` for every directive that has a value, in order. Reads and closes
 * fd, which may be -1. */
void cupsd_directives(int fd,
                      void (*each)(void *ctx, const char *name,
                                   const char *value),
                      void *ctx);

#endif
