/*
 * latency.c - the only reader and writer of these files: as many lines for each
 * phase as there may be times, newest first, each with pages and milliseconds;
 * "0 0" where there is none yet.
 */
#include "daemon/service/latency.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/history.h"

#define TIMES_VERSION "docextract-times 3"
#define SUFFIX "_times"
#define LINE_BYTES 15
_Static_assert(sizeof(TIMES_VERSION) +
                       DX_PHASE_COUNT * DX_POLL_TIMES * LINE_BYTES <=
                   DX_HISTORY_BYTES,
               "all times fit into the file");

struct dx_latency {
  size_t users;
  int history_dirfd;
  char name[DX_HISTORY_NAME_BYTES];
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

  for (phase = 0; phase < DX_PHASE_COUNT; phase++)
    for (i = 0; i < DX_POLL_TIMES; i++)
      if (!read_time(&text, &latency->history[phase]))
        return false;
  return true;
}

static void save(const struct dx_latency *latency)
{
  const struct dx_poll_history *h = latency->history;
  char text[DX_HISTORY_BYTES + 1];
  size_t i, len = 0;

  for (; h < latency->history + DX_PHASE_COUNT; h++)
    for (i = 0; i < DX_POLL_TIMES; i++) /* after the count there are zeros */
      len += (size_t)snprintf(text + len, sizeof(text) - len,
                              "%" PRId32 " %" PRId64 "\n", h->times[i].pages,
                              h->times[i].ms);
  dx_history_write(latency->history_dirfd, latency->name, TIMES_VERSION, text);
}

struct dx_latency *dx_latency_new(int history_dirfd, const char *host, int port)
{
  struct dx_latency *latency = calloc(1, sizeof(*latency));
  char text[DX_HISTORY_BYTES + 1];

  if (latency == NULL)
    return NULL;
  latency->users = 1;
  latency->history_dirfd = history_dirfd;
  dx_history_name(host, port, SUFFIX, latency->name);
  if (dx_history_read(history_dirfd, latency->name, TIMES_VERSION, text) &&
      !read_times(latency, text))
    memset(latency->history, 0, sizeof(latency->history));
  return latency;
}

struct dx_latency *dx_latency_share(struct dx_latency *latency)
{
  latency->users++;
  return latency;
}

void dx_latency_free(struct dx_latency **latency)
{
  if (*latency != NULL && --(*latency)->users == 0)
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
  dx_poll_learn(&latency->history[phase], pages, not_yet_ms, done_ms);
  save(latency);
}
