/*
 * log.c - the call log: one line of JSON per finished call.
 */
#include "sim/log.h"

#include "sim/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD_BYTES_MAX 512

struct sim_log {
  int fd; /* -1: lines are dropped */
};

struct sim_log *sim_log_new(const char *path)
{
  struct sim_log *log = malloc(sizeof(*log));

  if (log == NULL)
    return NULL;
  log->fd = -1;
  if (path == NULL)
    return log;
  log->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log->fd >= 0)
    return log;
  (void)fprintf(stderr, "docextract-sim: cannot open '%s': %s\n", path,
                strerror(errno));
  free(log);
  return NULL;
}

/* Adds `,"name":"text"`, with what came from outside cut to a bound. */
static void add_text(struct sim_buf *b, const char *name, const char *text)
{
  char cut[FIELD_BYTES_MAX];

  sim_buf_addf(b, ",\"%s\":", name);
  if (text != NULL)
    (void)snprintf(cut, sizeof(cut), "%s", text);
  sim_buf_json(b, text == NULL ? NULL : cut);
}

static void add_flag(struct sim_buf *b, const char *name, bool on)
{
  sim_buf_addf(b, ",\"%s\":%s", name, on ? "true" : "false");
}

static void format(const struct sim_log_line *l, struct sim_buf *b)
{
  sim_buf_addf(b, "{\"t\":%" PRId64 ".%03d,\"n\":%" PRIu64,
               l->at_ns / 1000000000, (int)(l->at_ns / 1000000 % 1000), l->n);
  add_text(b, "call", sim_call_word(l->call));
  add_text(b, "method", l->method);
  add_text(b, "path", l->path);
  sim_buf_addf(b, ",\"status\":%u", l->status);
  add_text(b, "source_id", l->source_id);
  sim_buf_addf(b, ",\"bytes\":%" PRIu64, l->bytes);
  add_text(b, "content_type", l->content_type);
  add_text(b, "fault", l->fault);
  if (l->why != NULL)
    add_text(b, "why", l->why);
  if (l->call == SIM_CREATE)
    sim_buf_addf(b, ",\"files\":%" PRIu64, l->files);
  if (l->names != NULL)
    sim_buf_addf(b, ",\"names\":%s", l->names);
  add_text(b, "http", l->http);
  add_flag(b, "auth", l->auth);
  add_flag(b, "expect", l->expect);
  add_flag(b, "chunked", l->chunked);
  sim_buf_str(b, "}\n");
}

void sim_log_write(struct sim_log *log, const struct sim_log_line *line)
{
  struct sim_buf b = {0};

  if (log->fd < 0)
    return;
  format(line, &b);
  if (b.failed || write(log->fd, b.data, b.len) != (ssize_t)b.len)
    (void)fprintf(stderr, "docextract-sim: a line of the log was lost\n");
  sim_buf_free(&b);
}

void sim_log_free(struct sim_log *log)
{
  if (log == NULL)
    return;
  if (log->fd >= 0)
    (void)close(log->fd);
  free(log);
}
