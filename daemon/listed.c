/*
 * listed.c - lists of the few jobs about which something is to be asked or
 * told, so that no turn goes through the thousands that may wait.
 */
#include "daemon/manager.h"

#include <string.h>

void listed_as_watched(struct managed *managed)
{
  managed->manager->watch_ms = 0;
  if (!managed->in_watched)
    LIST_INSERT_HEAD(&managed->manager->watched, managed, watched);
  managed->in_watched = true;
}

void listed_as_unwatched(struct managed *managed)
{
  if (managed->in_watched)
    LIST_REMOVE(managed, watched);
  managed->in_watched = false;
}

void listed_as_undecided(struct managed *managed)
{
  if (managed->in_undecided || !dx_job_is_undecided(managed->job))
    return;
  LIST_INSERT_HEAD(&managed->manager->undecided, managed, undecided);
  managed->in_undecided = true;
}

static void listed_as_decided(struct managed *managed)
{
  if (managed->in_undecided)
    LIST_REMOVE(managed, undecided);
  managed->in_undecided = false;
}

size_t listed_count_undecided(struct manager *manager, const char *queue)
{
  struct managed *managed = LIST_FIRST(&manager->undecided), *next;
  size_t count = 0;

  for (; managed != NULL; managed = next) {
    next = LIST_NEXT(managed, undecided);
    if (!dx_job_is_undecided(managed->job))
      listed_as_decided(managed);
    else
      count += managed->job->queue != NULL &&
               strcmp(managed->job->queue, queue) == 0;
  }
  return count;
}

void listed_forget(struct managed *managed)
{
  listed_as_unwatched(managed);
  listed_as_decided(managed);
}
