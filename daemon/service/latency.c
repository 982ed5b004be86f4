/*
 * latency.c - the only reader and writer of these files: a line that says what
 * it is, then as many lines for each phase as there may be times, newest first,
 * each with pages and milliseconds; "0 0" where there is none yet.
 */
#include "daemon/service/latency.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/shared.h"

#define HEADER "docextract-times 2\n"
#define LINE_BYTES 15
_Static_assert(sizeof(HEADER) + DX_PHASE_COUNT * DX_POLL_TIMES * LINE_BYTES <=
                   DX_SHARED_BYTES,
               "all times fit into the file");

struct dx_latency {
  int fd; /* -1: this process learns alone */
  struct dx_poll_history history[DX_PHASE_COUNT];
};

/* Moves *at past the line. False if it is neither a time nor room for one. */
static bool read_time(const char **at, struct dx_poll_history *h)
{
  struct dx_poll_time t;
  int len = 0;

  if (sscanf(*at, "%" SCNd32 " %" SCNd64 "%n", &t.pages, &t.ms, &len) != 2 ||
      (*at)[len] != '\n' || t.pages < 0 || t.pages > DX_POLL_PAGES_MAX ||
      t.ms < 0 || t.ms > DX_POLL_MEDIAN_MAX_MS)
    return false;
  *at += len + 1;
  if (t.ms > 0)
    h->times[h->count++] = t;
  return true;
}

static bool read_times(struct dx_latency *latency, const char *text)
{
  size_t phase, i;

  if (strncmp(text, HEADER, strlen(HEADER)) != 0)
    return false;
  text += strlen(HEADER);
  for (phase = 0; phase < DX_PHASE_COUNT; phase++)
    for (i = 0; i < DX_POLL_TIMES; i++)
      if (!read_time(&text, &latency->history[phase]))
        return false;
  return true;
}

static void read_text(struct dx_latency *latency, const char *text)
{
  memset(latency->history, 0, sizeof(latency->history));
  if (!read_times(latency, text))
    memset(latency->history, 0, sizeof(latency->history));
}

static void write_text(const struct dx_latency *latency,
                       char text[DX_SHARED_BYTES + 1])
{
  const struct dx_poll_history *h = latency->history;
  int len = snprintf(text, DX_SHARED_BYTES + 1, HEADER);
  size_t i;

  for (; h < latency->history + DX_PHASE_COUNT; h++)
    for (i = 0; i < DX_POLL_TIMES; i++) /* after the count there are zeros */
      len += snprintf(text + len, DX_SHARED_BYTES + 1 - (size_t)len,
                      "%5" PRId32 " %8" PRId64 "\n", h->times[i].pages,
                      h->times[i].ms);
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

struct dx_poll_forecast dx_latency_predict(const struct dx_latency *latency,
                                           enum dx_phase phase, int pages)
{
  return dx_poll_predict(&latency->history[phase], pages);
}

void dx_latency_learn(struct dx_latency *latency, enum dx_phase phase,
                      int pages, int64_t not_yet_ms, int64_t done_ms)
{
  char text[DX_SHARED_BYTES + 1];

  if (latency->fd >= 0) {
    dx_shared_begin(latency->fd, text);
    read_text(latency, text);
  }
  dx_poll_learn(&latency->history[phase], pages, not_yet_ms, done_ms);
  if (latency->fd >= 0) {
    write_text(latency, text);
    dx_shared_end(latency->fd, text);
  }
}
