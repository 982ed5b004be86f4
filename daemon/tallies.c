/*
 * tallies.c - see tallies.h.
 */
#include "daemon/tallies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct counted_section {
  LIST_ENTRY(counted_section) link;
  RB_HEAD(counted_ages, counted) ages; /* of those that are in progress */
  struct dx_tally tally;
};

struct counted_queue {
  LIST_ENTRY(counted_queue) link;
  size_t failed, undecided;
  char name[];
};

/* A job that is not in memory. */
struct stored {
  RB_ENTRY(stored) by_key;
  struct counted its;
  bool is_damaged; /* then nothing else is counted */
  char key[DX_KEY_BYTES];
};

static int compare_keys(const struct stored *a, const struct stored *b)
{
  return strcmp(a->key, b->key);
}

/* Of the same age, in any order. */
static int compare_ages(const struct counted *a, const struct counted *b)
{
  const int64_t x = a->standing.received_at, y = b->standing.received_at;

  return x != y ? (x > y) - (x < y)
                : ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* RB_GENERATE_STATIC needs a macro that glibc's headers conflict with. */
RB_GENERATE_INTERNAL(stored_jobs, stored, by_key, compare_keys, static inline)
RB_GENERATE_INTERNAL(counted_ages, counted, by_age, compare_ages, static inline)

/* ---- sections and queues ---- */

static struct counted_section *section_of(struct tallies *tallies,
                                          const char *name)
{
  struct counted_section *section;

  LIST_FOREACH (section, &tallies->sections, link)
    if (strcmp(section->tally.service, name) == 0)
      return section;
  section = calloc(1, sizeof(*section));
  if (section == NULL)
    return NULL;
  (void)snprintf(section->tally.service, sizeof(section->tally.service), "%s",
                 name);
  LIST_INSERT_HEAD(&tallies->sections, section, link);
  return section;
}

static struct counted_queue *find_queue(const struct tallies *tallies,
                                        const char *name)
{
  struct counted_queue *queue;

  LIST_FOREACH (queue, &tallies->queues, link)
    if (strcmp(queue->name, name) == 0)
      return queue;
  return NULL;
}

static struct counted_queue *queue_of(struct tallies *tallies, const char *name)
{
  struct counted_queue *queue = find_queue(tallies, name);
  size_t size = strlen(name) + 1;

  if (queue != NULL)
    return queue;
  queue = calloc(1, sizeof(*queue) + size);
  if (queue == NULL)
    return NULL;
  memcpy(queue->name, name, size);
  LIST_INSERT_HEAD(&tallies->queues, queue, link);
  return queue;
}

/* ---- one job ---- */

static void add(struct counted *its)
{
  const struct dx_standing *standing = &its->standing;

  dx_tally_add(&its->section->tally, standing, 1);
  if (!standing->is_final)
    RB_INSERT(counted_ages, &its->section->ages, its);
  if (its->queue != NULL) {
    its->queue->failed += standing->is_unseen;
    its->queue->undecided += standing->is_undecided;
  }
}

/* The reverse of add(), if anything was counted. */
static void subtract(struct counted *its)
{
  const struct dx_standing *standing = &its->standing;

  if (its->section == NULL)
    return;
  dx_tally_add(&its->section->tally, standing, -1);
  if (!standing->is_final)
    RB_REMOVE(counted_ages, &its->section->ages, its);
  if (its->queue != NULL) {
    its->queue->failed -= standing->is_unseen;
    its->queue->undecided -= standing->is_undecided;
  }
  its->section = NULL;
}

void tallies_set(struct tallies *tallies, struct counted *its,
                 const struct dx_job *job)
{
  struct counted_section *section = section_of(tallies, job->service);
  struct counted_queue *queue =
      job->queue != NULL ? queue_of(tallies, job->queue) : NULL;

  if (section == NULL || (job->queue != NULL && queue == NULL)) {
    tallies->is_broken = true;
    return;
  }
  subtract(its);
  its->section = section;
  its->queue = queue;
  its->standing = dx_standing_of(job);
  add(its);
}

/* ---- jobs that are not in memory ---- */

static struct stored *find_stored(struct tallies *tallies, const char *key)
{
  struct stored about;

  memcpy(about.key, key, sizeof(about.key));
  return RB_FIND(stored_jobs, &tallies->stored, &about);
}

/* NULL when out of memory. */
static struct stored *stored_of(struct tallies *tallies, const char *key)
{
  struct stored *stored = find_stored(tallies, key);

  if (stored != NULL)
    return stored;
  stored = calloc(1, sizeof(*stored));
  tallies->is_broken |= stored == NULL;
  if (stored == NULL)
    return NULL;
  memcpy(stored->key, key, sizeof(stored->key));
  RB_INSERT(stored_jobs, &tallies->stored, stored);
  return stored;
}

void tallies_forget(struct tallies *tallies, const char *key)
{
  struct stored *stored = find_stored(tallies, key);

  if (stored == NULL)
    return;
  subtract(&stored->its);
  tallies->damaged -= stored->is_damaged;
  RB_REMOVE(stored_jobs, &tallies->stored, stored);
  free(stored);
}

void tallies_enter(struct tallies *tallies, struct counted *its,
                   const struct dx_job *job)
{
  tallies_forget(tallies, job->key);
  tallies_set(tallies, its, job);
}

/* Nothing is left of a job that has finished. */
void tallies_leave(struct tallies *tallies, struct counted *its,
                   const char *key)
{
  struct counted last = *its;
  struct stored *stored;

  subtract(its);
  if (last.section == NULL || dx_standing_is_nothing(&last.standing))
    return;
  stored = stored_of(tallies, key);
  if (stored == NULL)
    return;
  stored->its = last;
  add(&stored->its);
}

void tallies_set_stored(struct tallies *tallies, const struct dx_job *job)
{
  struct counted its = {.section = NULL};

  tallies_enter(tallies, &its, job);
  tallies_leave(tallies, &its, job->key);
}

void tallies_set_damaged(struct tallies *tallies, const char *key)
{
  struct stored *stored;

  tallies_forget(tallies, key);
  stored = stored_of(tallies, key);
  if (stored == NULL)
    return;
  stored->is_damaged = true;
  tallies->damaged++;
}

/* ---- the numbers ---- */

void tallies_of_queue(const struct tallies *tallies, const char *queue,
                      size_t *ret_failed, size_t *ret_undecided)
{
  const struct counted_queue *its = find_queue(tallies, queue);

  *ret_failed = its != NULL ? its->failed : 0;
  *ret_undecided = its != NULL ? its->undecided : 0;
}

bool tallies_next_failure(struct tallies *tallies, char key[DX_KEY_BYTES])
{
  struct stored about, *stored;

  memcpy(about.key, key, sizeof(about.key));
  stored = RB_NFIND(stored_jobs, &tallies->stored, &about);
  if (stored != NULL && strcmp(stored->key, key) == 0)
    stored = RB_NEXT(stored_jobs, &tallies->stored, stored);
  while (stored != NULL && !stored->its.standing.is_unseen)
    stored = RB_NEXT(stored_jobs, &tallies->stored, stored);
  if (stored != NULL)
    memcpy(key, stored->key, DX_KEY_BYTES);
  return stored != NULL;
}

void tallies_release(struct tallies *tallies)
{
  struct counted_section *section;
  struct counted_queue *queue;
  struct stored *stored;

  while ((stored = RB_ROOT(&tallies->stored)) != NULL) {
    RB_REMOVE(stored_jobs, &tallies->stored, stored);
    free(stored);
  }
  while ((section = LIST_FIRST(&tallies->sections)) != NULL) {
    LIST_REMOVE(section, link);
    free(section);
  }
  while ((queue = LIST_FIRST(&tallies->queues)) != NULL) {
    LIST_REMOVE(queue, link);
    free(queue);
  }
  *tallies = (struct tallies){.damaged = 0};
}

/* ---- to another process ---- */

/* Then `count` of struct dx_tally follow. */
struct told {
  bool is_broken, is_complete;
  int64_t damaged;
  size_t count;
};

static bool send_all(int fd, const void *bytes, size_t len)
{
  return send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

static bool receive_all(int fd, void *bytes, size_t len)
{
  return recv(fd, bytes, len, MSG_WAITALL) == (ssize_t)len;
}

void tallies_send(const struct tallies *tallies, int fd)
{
  struct told told = {.is_broken = tallies->is_broken,
                      .is_complete = tallies->is_complete,
                      .damaged = tallies->damaged};
  struct counted_section *section;
  const struct counted *oldest;

  LIST_FOREACH (section, &tallies->sections, link)
    told.count++;
  if (!send_all(fd, &told, sizeof(told)))
    return;
  LIST_FOREACH (section, &tallies->sections, link) {
    oldest = RB_MIN(counted_ages, &section->ages);
    section->tally.oldest_at =
        oldest != NULL ? oldest->standing.received_at : 0;
    if (!send_all(fd, &section->tally, sizeof(section->tally)))
      return;
  }
}

enum dx_code tallies_receive(int fd, struct dx_tallies *ret_all,
                             struct dx_err *err)
{
  struct told told;

  *ret_all = (struct dx_tallies){.count = 0};
  if (!receive_all(fd, &told, sizeof(told)))
    return dx_fail(err, DX_E_NOT_YET, 0, "docextractd does not respond");
  if (told.is_broken)
    return dx_fail(err, DX_E_NOMEM, 0, "docextractd has run out of memory");
  ret_all->sections = calloc(told.count + 1, sizeof(*ret_all->sections));
  if (ret_all->sections == NULL)
    return dx_fail_nomem(err);
  if (told.count > 0 && !receive_all(fd, ret_all->sections,
                                     told.count * sizeof(*ret_all->sections))) {
    free(ret_all->sections);
    ret_all->sections = NULL;
    return dx_fail(err, DX_E_NOT_YET, 0, "docextractd does not respond");
  }
  ret_all->is_complete = told.is_complete;
  ret_all->damaged = told.damaged;
  ret_all->count = told.count;
  return DX_OK;
}
