/*
 * metrics.c - counts the contents of the spool, and prints the metrics, with
 * the counters of docextractd.
 */
#include "lib/control/metrics.h"

#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/history.h"
#include "lib/base/policy.h"
#include "lib/spool/counters.h"

/* Of one service. */
struct tally {
  const char *service;       /* "": sections that no longer exist */
  int64_t jobs[DX_ST_COUNT]; /* -1: finished jobs have no such state */
  int64_t undecided;         /* not counted in jobs */
  int64_t oldest_s;          /* age of the oldest unfinished job; 0: none */
  int64_t unseen, hooks, admin;
  int64_t is_up, results_free;
  struct dx_counts counts;
};

struct round {
  struct dx_spool *spool;
  struct tally *tallies; /* one for each service, and one for the rest */
  size_t count;          /* of services */
  bool has_rest;         /* unfinished jobs of sections that no longer exist */
  int64_t is_daemon_up, damaged, finished, spool_bytes, spool_free;
};

/* ---- counting ---- */

/* The last one is for services that no longer exist. */
static struct tally *tally_of(struct round *r, const char *service)
{
  struct tally *t = r->tallies;

  while (t < r->tallies + r->count && strcmp(t->service, service) != 0)
    t++;
  return t;
}

/* A job that was moved meanwhile is skipped. */
static enum dx_code count_stored(void *ctx, enum dx_spool_part part,
                                 const char *name)
{
  struct round *r = ctx;
  struct dx_job *job = NULL;
  struct tally *t;
  enum dx_code code;
  int64_t age_s;

  if (part == DX_SPOOL_FINISHED) {
    r->finished++;
    return DX_OK;
  }
  code = dx_spool_load(r->spool, name, &job, NULL);
  r->damaged += code == DX_E_DAMAGED;
  if (code != DX_OK)
    return DX_OK;
  t = tally_of(r, job->service);
  age_s = (dx_wall_ms() - job->received_at) / 1000;
  if (dx_job_is_undecided(job))
    t->undecided++;
  else if (!dx_job_is_finished(job))
    t->jobs[dx_job_state(job)]++;
  if (t == r->tallies + r->count)
    r->has_rest |= dx_job_is_undecided(job) || !dx_job_is_finished(job);
  if (!dx_job_is_final(job) && age_s > t->oldest_s)
    t->oldest_s = age_s;
  t->unseen += dx_job_is_unseen_failure(job);
  t->hooks += dx_job_awaits_hook(job);
  t->admin += dx_job_needs_admin(job);
  dx_job_free(&job);
  return DX_OK;
}

/* The disk space of all files below a directory. Files that disappear meanwhile
 * are not counted. */
static int64_t bytes_below(int dirfd, const char *name)
{
  char path[64], *paths[] = {path, NULL};
  FTSENT *entry;
  int64_t bytes = 0;
  FTS *tree;

  (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, name);
  tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
  while (tree != NULL && (entry = fts_read(tree)) != NULL)
    if (entry->fts_level > 0 && entry->fts_info != FTS_DP &&
        entry->fts_info != FTS_NS)
      bytes += (int64_t)entry->fts_statp->st_blocks * 512;
  if (tree != NULL)
    (void)fts_close(tree);
  return bytes;
}

/* -1: not known. */
static int64_t free_bytes(int fd)
{
  struct statvfs st;

  return fd >= 0 && fstatvfs(fd, &st) == 0
             ? (int64_t)st.f_bavail * (int64_t)st.f_frsize
             : -1;
}

static enum dx_code count_spool(struct round *r, struct dx_err *err)
{
  static const char *const unfinished[] = {"jobs", "received", "incoming",
                                           "damaged"};
  enum dx_code code =
      dx_spool_each(r->spool, DX_SPOOL_RECEIVED, count_stored, r, err);
  size_t i;

  r->damaged += (int64_t)dx_spool_count_damaged(r->spool);
  for (i = 0; i < sizeof(unfinished) / sizeof(unfinished[0]); i++)
    r->spool_bytes += bytes_below(r->spool->dirfd, unfinished[i]);
  for (i = 0; i < (r->count + 1) * DX_ST_COUNT; i++)
    if (dx_state_is_settled((enum dx_state)(i % DX_ST_COUNT)))
      r->tallies[i / DX_ST_COUNT].jobs[i % DX_ST_COUNT] = -1;
  r->spool_free = free_bytes(r->spool->dirfd);
  r->is_daemon_up = dx_spool_daemon(r->spool->dirfd) != 0;
  return code;
}

/* ---- printing ---- */

#define OF(type, member) offsetof(struct type, member)
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define TRIES TEXT(DX_DOWN_AFTER_TRIES)

/* The samples of one metric and label; a row with a help text begins a metric.
 * Times are in milliseconds, and printed in seconds. */
static const struct row {
  enum { OF_JOBS, OF_SERVICE, OF_SPOOL, TIME_OF_SERVICE, NO_SAMPLE } kind;
  const char *name;
  size_t offset;     /* of an int64_t in struct tally; OF_SPOOL: struct round */
  const char *label; /* the second one, with a comma before it */
  const char *type, *help;
} rows[] = {
    {OF_JOBS, "jobs", OF(tally, undecided),
     ",state=\"" DX_STATUS_UNDECIDED "\"", "gauge",
     "Jobs that are not finished, by state; undecided: nothing is sent until "
     "the administrator decides."},
#define X(name, word, is_final) \
  {OF_JOBS, "jobs", OF(tally, jobs[name]), ",state=\"" word "\"", NULL, NULL},
    DX_STATES(X)
#undef X
        {OF_JOBS, "oldest_unfinished_seconds", OF(tally, oldest_s), "", "gauge",
         "Age of the oldest job in progress; 0 if there is none."},
    {OF_JOBS, "needs_admin_jobs", OF(tally, admin), "", "gauge",
     "Jobs that wait until the administrator has fixed something, such as a "
     "key "
     "or the configuration."},
    {OF_JOBS, "unseen_failures", OF(tally, unseen), "", "gauge",
     "Jobs that failed after their print jobs had ended, until they are "
     "acknowledged."},
    {OF_JOBS, "hook_pending_jobs", OF(tally, hooks), "", "gauge",
     "Jobs for which OnResult has neither succeeded nor been acknowledged."},
    {OF_SERVICE, "service_up", OF(tally, is_up), "", "gauge",
     "0 after " TRIES
     " consecutive failed or rejected calls, until a call succeeds; it does "
     "not change while nothing is sent."},
    {OF_SERVICE, "results_free_bytes", OF(tally, results_free), "", "gauge",
     "Free space of the results directory."},
    {NO_SAMPLE, "calls_total", 0, "", "counter",
     "Calls of the service and its storage, by class of the outcome."},
#define X(name, word)             \
  {OF_SERVICE,                    \
   "calls_total",                 \
   OF(tally, counts.calls[name]), \
   ",class=\"" word "\"",         \
   NULL,                          \
   NULL},
    DX_CLASSES(X)
#undef X
        {OF_SERVICE, "manifests_total", OF(tally, counts.extracted),
         ",outcome=\"extracted\"", "counter",
         "Submissions that have ended, by outcome."},
    {OF_SERVICE, "manifests_total", OF(tally, counts.failed),
     ",outcome=\"failed\"", NULL, NULL},
    {NO_SAMPLE, "lag_seconds", 0, "", "summary",
     "Upper bound of the delay until an available result was found."},
    {TIME_OF_SERVICE, "lag_seconds_sum",
     OF(tally, counts.late_ms[DX_PHASE_SOURCE]), ",phase=\"source\"", NULL,
     NULL},
    {OF_SERVICE, "lag_seconds_count", OF(tally, counts.found[DX_PHASE_SOURCE]),
     ",phase=\"source\"", NULL, NULL},
    {TIME_OF_SERVICE, "lag_seconds_sum",
     OF(tally, counts.late_ms[DX_PHASE_EXTRACT]), ",phase=\"extract\"", NULL,
     NULL},
    {OF_SERVICE, "lag_seconds_count", OF(tally, counts.found[DX_PHASE_EXTRACT]),
     ",phase=\"extract\"", NULL, NULL},
    {NO_SAMPLE, "extraction_seconds", 0, "", "summary",
     "From upload to results."},
    {TIME_OF_SERVICE, "extraction_seconds_sum", OF(tally, counts.extraction_ms),
     "", NULL, NULL},
    {OF_SERVICE, "extraction_seconds_count", OF(tally, counts.extracted), "",
     NULL, NULL},
    {OF_SPOOL, "daemon_up", OF(round, is_daemon_up), "", "gauge",
     "1 while docextractd is running."},
    {OF_SPOOL, "finished_jobs", OF(round, finished), "", "gauge",
     "Jobs that are finished, until KeepJobs."},
    {OF_SPOOL, "damaged_jobs", OF(round, damaged), "", "gauge",
     "Jobs whose job file cannot be read."},
    {OF_SPOOL, "spool_bytes", OF(round, spool_bytes), "", "gauge",
     "Space that unfinished jobs take."},
    {OF_SPOOL, "spool_free_bytes", OF(round, spool_free), "", "gauge",
     "Free space of the spool."},
};

/* Negative values are unknown, and omitted. */
static void print_row(const struct round *r, const struct row *row,
                      struct dx_buf *text)
{
  size_t i, count = row->kind == NO_SAMPLE  ? 0
                    : row->kind == OF_SPOOL ? 1
                    : row->kind == OF_JOBS  ? r->count + r->has_rest
                                            : r->count;

  if (row->help != NULL)
    dx_buf_printf(text, "# HELP docextract_%s %s\n# TYPE docextract_%s %s\n",
                  row->name, row->help, row->name, row->type);
  for (i = 0; i < count; i++) {
    const struct tally *t = &r->tallies[i];
    const void *values = row->kind == OF_SPOOL ? (const void *)r : t;
    int64_t value;

    memcpy(&value, (const char *)values + row->offset, sizeof(value));
    if (value < 0)
      continue;
    dx_buf_printf(text, "docextract_%s", row->name);
    if (row->kind != OF_SPOOL)
      dx_buf_printf(text, "{service=\"%s\"%s}", t->service, row->label);
    if (row->kind == TIME_OF_SERVICE)
      dx_buf_printf(text, " %" PRId64 ".%03" PRId64 "\n", value / 1000,
                    value % 1000);
    else
      dx_buf_printf(text, " %" PRId64 "\n", value);
  }
}

enum dx_code dx_metrics_text(const struct dx_config *config,
                             struct dx_spool *spool, struct dx_buf *text,
                             struct dx_err *err)
{
  struct round r = {.spool = spool, .count = config->service_count};
  enum dx_code code;
  size_t i;

  r.tallies = calloc(r.count + 1, sizeof(*r.tallies));
  if (r.tallies == NULL)
    return dx_fail_nomem(err);
  r.tallies[r.count].service = "";
  for (i = 0; i < r.count; i++) {
    const struct dx_service *service = &config->services[i];
    struct tally *t = &r.tallies[i];
    struct dx_pause pause;
    int fd = dx_fs_open_dir(AT_FDCWD, service->results_dir, NULL);

    t->service = service->name;
    dx_counts_read(spool->history_dirfd, service->name, &t->counts);
    dx_pause_read(spool->history_dirfd, service->host, service->port, &pause);
    t->is_up = pause.is_down == 0;
    t->results_free = free_bytes(fd);
    if (fd >= 0)
      (void)close(fd);
  }
  code = count_spool(&r, err);
  dx_buf_puts(text,
              "# HELP docextract_build_info The version of docextract.\n"
              "# TYPE docextract_build_info gauge\n"
              "docextract_build_info{version=\"" PACKAGE_VERSION "\"} 1\n");
  for (i = 0; code == DX_OK && i < sizeof(rows) / sizeof(rows[0]); i++)
    print_row(&r, &rows[i], text);
  free(r.tallies);
  return code == DX_OK && !dx_buf_ok(text) ? dx_fail_nomem(err) : code;
}
