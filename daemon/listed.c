/*
 * listed.c - the list of the few jobs about which cupsd may be asked, so that
 * no turn goes through the thousands that may wait.
 */
#include "daemon/manager.h"

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
