/*
 * status_ends.c - compares each journal that changed with what was known.
 */
#include "daemon/status_ends.h"

#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/control/status.h"

#define LOOK_MS 5000 /* between two looks, where inotify does not help */
#define NEW_MS 60000 /* a job that appears may have ended this long ago */
#define NEVER INT64_MAX

/* A job in jobs/, and when each of its submissions ended. */
struct tracked {
  char key[DX_KEY_BYTES];
  int wd; /* -1: not watched */
  bool is_there;
  int64_t *ended_at; /* 0: it has not */
  size_t count;
};

/* ---- the list ---- */

static struct tracked *find(struct ends *ends, const char *key)
{
  size_t i;

  for (i = 0; i < ends->count; i++)
    if (strcmp(ends->jobs_seen[i].key, key) == 0)
      return &ends->jobs_seen[i];
  return NULL;
}

static struct tracked *find_by_watch(struct ends *ends, int wd)
{
  size_t i;

  for (i = 0; i < ends->count; i++)
    if (ends->jobs_seen[i].wd == wd)
      return &ends->jobs_seen[i];
  return NULL;
}

/* Of jobs/, or of a job in it; -1: it is not watched. */
static int watch(const struct ends *ends, const char *key, uint32_t events)
{
  struct dx_buf path = {0};
  int wd = -1;

  dx_buf_printf(&path, "%s/jobs/%s", ends->spool_dir, key);
  if (ends->fd >= 0 && dx_buf_ok(&path))
    wd = inotify_add_watch(ends->fd, dx_buf_text(&path), events | IN_ONLYDIR);
  dx_buf_release(&path);
  return wd;
}

static struct tracked *track(struct ends *ends, const char *key)
{
  struct tracked *jobs = ends->jobs_seen, *job;

  if (ends->count == ends->room) {
    size_t room = ends->room != 0 ? 2 * ends->room : 64;

    jobs = realloc(jobs, room * sizeof(*jobs));
    if (jobs == NULL)
      return NULL;
    ends->jobs_seen = jobs;
    ends->room = room;
  }
  job = &jobs[ends->count++];
  memset(job, 0, sizeof(*job));
  memcpy(job->key, key, DX_KEY_BYTES);
  job->wd = watch(ends, key, IN_MOVED_TO);
  ends->unwatched += job->wd < 0;
  return job;
}

static void forget(struct ends *ends, struct tracked *job)
{
  if (job->wd >= 0)
    (void)inotify_rm_watch(ends->fd, job->wd);
  ends->unwatched -= job->wd < 0;
  free(job->ended_at);
  *job = ends->jobs_seen[--ends->count];
}

/* ---- comparing ---- */

static bool make_room(struct tracked *seen, size_t count)
{
  int64_t *ended_at;

  if (count <= seen->count)
    return true;
  ended_at = realloc(seen->ended_at, count * sizeof(*ended_at));
  if (ended_at == NULL)
    return false;
  memset(ended_at + seen->count, 0, (count - seen->count) * sizeof(*ended_at));
  seen->ended_at = ended_at;
  seen->count = count;
  return true;
}

/* Reports what ended at from_ms or later and was not known. */
static void compare(struct ends *ends, struct tracked *seen,
                    const struct dx_job *job, int64_t from_ms)
{
  size_t i;

  if (!make_room(seen, job->submission_count))
    return;
  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];
    int64_t ended_at = dx_submission_ended_at(sub);

    if (ended_at != 0 && ended_at != seen->ended_at[i] && ended_at >= from_ms)
      ends->on_end(ends->ctx, sub);
    seen->ended_at[i] = ended_at;
  }
}

/* A job that comes back from finished/ has ends that were reported long ago. */
static void look_at(struct ends *ends, const char *key, int64_t from_ms)
{
  struct tracked *seen = find(ends, key);
  struct dx_job *job = NULL;

  if (seen == NULL)
    seen = track(ends, key); /* watched before it is read */
  else
    from_ms = 0;
  if (seen == NULL)
    return;
  seen->is_there = true;
  if (dx_spool_load(ends->spool, key, &job, NULL) == DX_OK)
    compare(ends, seen, job, from_ms);
  dx_job_free(&job);
}

static void look_at_new(struct ends *ends, const char *key)
{
  look_at(ends, key, dx_wall_ms() - NEW_MS);
}

static void look_at_last(struct ends *ends, const char *key)
{
  struct tracked *seen;

  look_at_new(ends, key);
  seen = find(ends, key);
  if (seen != NULL)
    forget(ends, seen);
}

/* ---- all ---- */

struct look {
  struct ends *ends;
  int64_t from_ms;
};

static enum dx_code look_at_each(void *ctx, const char *key)
{
  const struct look *look = ctx;

  look_at(look->ends, key, look->from_ms);
  return DX_OK;
}

static void look_at_all(struct ends *ends, int64_t from_ms)
{
  struct look look = {ends, from_ms};
  size_t i;

  for (i = 0; i < ends->count; i++)
    ends->jobs_seen[i].is_there = false;
  if (dx_spool_each(ends->spool, look_at_each, &look, NULL) != DX_OK)
    return;
  for (i = ends->count; i > 0; i--)
    if (!ends->jobs_seen[i - 1].is_there)
      look_at_last(ends, ends->jobs_seen[i - 1].key);
}

/* ---- events ---- */

static void take_event(struct ends *ends, const struct inotify_event *event)
{
  const struct tracked *seen;

  if (event->mask & IN_Q_OVERFLOW) {
    ends->look_ms = 0;
  } else if (event->wd == ends->jobs) {
    if (event->len > 0 && dx_is_key(event->name))
      (event->mask & IN_MOVED_FROM ? look_at_last : look_at_new)(ends,
                                                                 event->name);
  } else if (event->len > 0 && strcmp(event->name, "job.json") == 0) {
    seen = find_by_watch(ends, event->wd);
    if (seen != NULL)
      look_at(ends, seen->key, 0);
  }
}

static void read_events(struct ends *ends)
{
  char bytes[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
  ssize_t n;

  while ((n = read(ends->fd, bytes, sizeof(bytes))) > 0) {
    const char *p = bytes;

    while (p < bytes + n) {
      const struct inotify_event *event = (const void *)p;

      take_event(ends, event);
      p += sizeof(*event) + event->len;
    }
  }
}

void ends_start(struct ends *ends, struct dx_spool *spool,
                const char *spool_dir)
{
  ends->spool = spool;
  ends->spool_dir = spool_dir;
  ends->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  ends->jobs = watch(ends, "", IN_MOVED_TO | IN_MOVED_FROM);
  if (ends->fd >= 0 && ends->jobs < 0) {
    (void)close(ends->fd);
    ends->fd = -1;
  }
  look_at_all(ends, NEVER);
  ends->look_ms = dx_monotonic_ms() + LOOK_MS;
}

void ends_look(struct ends *ends)
{
  if (ends->fd >= 0)
    read_events(ends);
  if (dx_monotonic_ms() < ends->look_ms)
    return;
  look_at_all(ends, dx_wall_ms() - NEW_MS);
  ends->look_ms =
      ends->fd < 0 || ends->unwatched > 0 ? dx_monotonic_ms() + LOOK_MS : NEVER;
}
