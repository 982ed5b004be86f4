/*
 * cupsd.h - what cupsd knows: its queues that print to our backend, and the
 * directives of its configuration files, which are next to docextract.conf.
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
  bool is_ours;      /* in this list all are */
  char service[72];  /* of its device URI; "" if that names none */
  char reasons[256]; /* keywords, separated by blanks */
  const char *state; /* "idle", "processing", "stopped"; static memory */
  bool accepting;
  int jobs;
};

struct queues {
  struct queue *list; /* the caller's to free */
  size_t count;
};

enum dx_code cupsd_queues(struct queues *ret_queues,
                          struct dx_err *err) DX_MUST_USE;

/* The same from printers.conf, for when cupsd does not run: names and services
 * only. What cannot be read is left out. Reads and closes fd. */
void cupsd_read_printers(int fd, struct queues *ret_queues);

/* Opens a file beside our configuration with the caller's rights; -1: there is
 * none, or access is denied. */
int cupsd_open(const char *config_path, const char *name);

/* Calls `each` for every directive that has a value, in order. Reads and closes
 * fd. */
void cupsd_directives(int fd,
                      void (*each)(void *ctx, const char *name,
                                   const char *value),
                      void *ctx);

#endif
