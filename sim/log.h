/*
 * log.h - the call log: one line of JSON per finished call.
 *
 * A line is appended with one write(), before the answer leaves, so whoever
 * has the answer also finds the line. Never in it: tokens, queries, bodies,
 * patient data; file names only where --log-names asks for them.
 *
 * Threads: any number.
 */
#ifndef SIM_LOG_H
#define SIM_LOG_H

#include "sim/call.h"

#include <stdbool.h>
#include <stdint.h>

struct sim_log_line {
  int64_t at_ns; /* monotonic: when the request arrived */
  uint64_t n;
  enum sim_call call;
  const char *method;
  const char *path;
  unsigned status;          /* 0: no answer was sent */
  const char *source_id;    /* NULL: none, or not well formed */
  uint64_t bytes;           /* of the request's body */
  const char *content_type; /* may be NULL */
  const char *fault;        /* may be NULL */
  const char *why;          /* why a token was refused; may be NULL */
  uint64_t files;           /* create only */
  const char *names;        /* create: a JSON array; may be NULL */
  const char *http;         /* "1.1" */
  bool auth;
  bool expect;
  bool chunked;
};

struct sim_log;

/* Opens the log; a NULL path makes one that drops its lines. */
struct sim_log *sim_log_new(const char *path);

void sim_log_write(struct sim_log *log, const struct sim_log_line *line);

void sim_log_free(struct sim_log *log);

#endif
