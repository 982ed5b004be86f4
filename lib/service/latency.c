/*
 * latency.c - the only reader and writer of these files.
 */
#include "lib/service/latency.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/policy.h"
#include "lib/base/shared.h"

struct dx_latency {
  int fd; /* -1: this process learns alone */
  struct dx_poll_history history[DX_PHASE_COUNT];
};

static bool is_sane(const struct dx_poll_history *h)
{
  return isfinite(h->median_ms) && h->median_ms >= 0 &&
         h->median_ms <= DX_POLL_MEDIAN_MAX_MS && h->seen >= 0;
}

static void read_text(struct dx_latency *latency, const char *text)
{
  struct dx_poll_history *s = &latency->history[DX_PHASE_SOURCE];
  struct dx_poll_history *e = &latency->history[DX_PHASE_EXTRACT];

  if (sscanf(text, "source %lf %" SCNd64 " extract %lf %" SCNd64, &s->median_ms,
             &s->seen, &e->median_ms, &e->seen) != 4 ||
      !is_sane(s) || !is_sane(e))
    memset(latency->history, 0, sizeof(latency->history));
}

static void write_text(const struct dx_latency *latency,
                       char text[DX_SHARED_BYTES + 1])
{
  const struct dx_poll_history *s = &latency->history[DX_PHASE_SOURCE];
  const struct dx_poll_history *e = &latency->history[DX_PHASE_EXTRACT];

  (void)snprintf(text, DX_SHARED_BYTES + 1,
                 "source %15.0f %20" PRId64 "\nextract %15.0f %20" PRId64 "\n",
                 s->median_ms, s->seen, e->median_ms, e->seen);
}

struct dx_latency *dx_latency_new(int dirfd, const char *host, int port)
{
  struct dx_latency *latency = calloc(1, sizeof(*latency));
  char text[DX_SHARED_BYTES + 1];

  if (latency == NULL)
    return NULL;
  latency->fd = dx_shared_open(dirfd, host, port, "_times");
  if (latency->fd >= 0) {
    dx_shared_begin(latency->fd, text);
    dx_shared_end(latency->fd, NULL);
    read_text(latency, text);
  }
  return latency;
}

void dx_latency_free(struct dx_latency **latency)
{
  if (*latency == NULL)
    return;
  if ((*latency)->fd >= 0)
    (void)close((*latency)->fd);
  free(*latency);
  *latency = NULL;
}

const struct dx_poll_history *
dx_latency_history(const struct dx_latency *latency, enum dx_phase phase)
{
  return &latency->history[phase];
}

void dx_latency_learn(struct dx_latency *latency, enum dx_phase phase,
                      int64_t not_yet_ms, int64_t done_ms)
{
  char text[DX_SHARED_BYTES + 1];

  if (latency->fd >= 0) {
    dx_shared_begin(latency->fd, text);
    read_text(latency, text);
  }
  dx_poll_learn(&latency->history[phase], not_yet_ms, done_ms);
  if (latency->fd >= 0) {
    write_text(latency, text);
    dx_shared_end(latency->fd, text);
  }
}
