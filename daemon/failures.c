/*
 * failures.c - see failures.h.
 */
#include "daemon/failures.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct failure {
  char key[DX_KEY_BYTES]; /* first: compare_failures() */
  char *queue;            /* NULL: none */
  LIST_ENTRY(failure) link;
};

static int compare_failures(const void *a, const void *b)
{
  return strcmp(a, b);
}

static void release_failure(struct failure *failure)
{
  if (failure != NULL)
    free(failure->queue);
  free(failure);
}

bool failures_add(struct failures *failures, const struct dx_job *job)
{
  struct failure *failure;

  if (!dx_job_is_unseen_failure(job))
    return true;
  failures_remove(failures, job->key);
  failure = calloc(1, sizeof(*failure));
  if (failure == NULL)
    return false;
  memcpy(failure->key, job->key, sizeof(failure->key));
  failure->queue = job->queue != NULL ? strdup(job->queue) : NULL;
  if ((job->queue != NULL && failure->queue == NULL) ||
      tsearch(failure, &failures->tree, compare_failures) == NULL) {
    release_failure(failure);
    return false;
  }
  LIST_INSERT_HEAD(&failures->list, failure, link);
  return true;
}

void failures_remove(struct failures *failures, const char *key)
{
  struct failure *const *at = tfind(key, &failures->tree, compare_failures);
  struct failure *failure = at != NULL ? *at : NULL;

  if (failure == NULL)
    return;
  (void)tdelete(key, &failures->tree, compare_failures);
  LIST_REMOVE(failure, link);
  release_failure(failure);
}

void failures_release(struct failures *failures)
{
  char key[DX_KEY_BYTES];

  while (failures_first(failures, key))
    failures_remove(failures, key);
}

size_t failures_count(const struct failures *failures, const char *queue)
{
  const struct failure *failure;
  size_t count = 0;

  LIST_FOREACH (failure, &failures->list, link)
    count += failure->queue != NULL && strcmp(failure->queue, queue) == 0;
  return count;
}

bool failures_first(const struct failures *failures, char key[DX_KEY_BYTES])
{
  const struct failure *failure = LIST_FIRST(&failures->list);

  if (failure != NULL)
    memcpy(key, failure->key, DX_KEY_BYTES);
  return failure != NULL;
}
