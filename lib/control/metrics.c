/*
 * metrics.c - prints the metrics: what docextractd has counted, or the contents
 * of the spool, with the counters of docextractd.
 */
#include "lib/control/metrics.h"

#include <dirent.h>
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
  struct dx_tally its; /* "": sections that no longer exist */
  int64_t oldest_s;    /* age of the oldest unfinished job; 0: none */
  int64_t is_up, results_free;
  struct dx_counts counts;
};

struct round {
  struct dx_spool *spool;
  struct tally *tallies; /* one for each service, and one for the rest */
  size_t count;          /* of services */
  bool has_rest;         /* unfinished jobs of sections that no longer exist */
  int64_t is_daemon_up, is_loading, damaged, spool_free;
  struct dx_sizes sizes;
};

/* ---- counting jobs ---- */

/* The last one is for services that no longer exist. */
static struct tally *tally_of(struct round *r, const char *service)
{
  struct tally *t = r->tallies;

  while (t < r->tallies + r->count && strcmp(t->its.service, service) != 0)
    t++;
  return t;
}

static void count_age(struct dx_tally *its, int64_t received_at)
{
  if (its->oldest_at == 0 || received_at < its->oldest_at)
    its->oldest_at = received_at;
}

/* A job that was moved meanwhile is skipped. */
static void count_journal(struct round *r, const char *name)
{
  struct dx_standing standing;
  struct dx_job *job = NULL;
  enum dx_code code = dx_spool_load(r->spool, name, &job, NULL);

  r->damaged += code == DX_E_DAMAGED;
  if (code != DX_OK)
    return;
  standing = dx_standing_of(job);
  dx_tally_add(&tally_of(r, job->service)->its, &standing, 1);
  if (!standing.is_final)
    count_age(&tally_of(r, job->service)->its, standing.received_at);
  dx_job_free(&job);
}

static bool has_job(const struct round *r, const char *receipt)
{
  char path[DX_JOB_PATH_BYTES];

  (void)snprintf(path, sizeof(path), "jobs/%.*s", DX_KEY_BYTES - 1, receipt);
  return faccessat(r->spool->dirfd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum dx_code count_journals(struct round *r, enum dx_spool_part part,
                                   struct dx_err *err)
{
  char *names = dx_spool_names(r->spool, part, err);
  const char *name;

  if (names == NULL)
    return err->code;
  for (name = names; *name != '\0'; name = dx_next_name(name))
    if (part != DX_SPOOL_RECEIVED || !has_job(r, name))
      count_journal(r, name);
  free(names);
  return DX_OK;
}

static void count_told(struct round *r, const struct dx_tallies *all)
{
  size_t i, k;

  r->is_loading = !all->is_complete;
  r->damaged += all->damaged;
  for (i = 0; i < all->count; i++) {
    const struct dx_tally *from = &all->sections[i];
    struct dx_tally *to = &tally_of(r, from->service)->its;

    for (k = 0; k < DX_ST_COUNT; k++)
      to->jobs[k] += from->jobs[k];
    to->undecided += from->undecided;
    to->unseen += from->unseen;
    to->hooks += from->hooks;
    to->admin += from->admin;
    if (from->oldest_at != 0)
      count_age(to, from->oldest_at);
  }
}

/* Receipts first: a job that moves meanwhile is counted twice, but not missed.
 */
static enum dx_code count_jobs(struct round *r,
                               const struct dx_metrics_source *source,
                               struct dx_err *err)
{
  struct dx_tallies all = {.count = 0};
  enum dx_code code = count_journals(r, DX_SPOOL_RECEIVED, err);

  if (code == DX_OK && source == NULL)
    code = count_journals(r, DX_SPOOL_JOBS, err);
  else if (code == DX_OK)
    code = source->jobs(source->ctx, &all, err);
  if (code == DX_OK && source != NULL)
    count_told(r, &all);
  free(all.sections);
  return code;
}

/* What is not printed is negative. */
static void finish_counting(struct round *r)
{
  int64_t now = dx_wall_ms();
  size_t i, k;

  for (i = 0; i <= r->count; i++) {
    struct tally *t = &r->tallies[i];

    if (t->its.oldest_at != 0 && t->its.oldest_at < now)
      t->oldest_s = (now - t->its.oldest_at) / 1000;
    if (i == r->count)
      r->has_rest = t->its.undecided > 0;
    for (k = 0; k < DX_ST_COUNT; k++) {
      if (i == r->count)
        r->has_rest |= t->its.jobs[k] > 0;
      if (dx_state_is_settled((enum dx_state)k))
        t->its.jobs[k] = -1;
    }
  }
  if (r->is_loading)
    r->damaged = -1;
}

/* ---- sizes ---- */

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

void dx_metrics_measure(struct dx_spool *spool, struct dx_sizes *ret_sizes)
{
  static const char *const unfinished[] = {"jobs", "received", "incoming",
                                           "damaged"};
  DIR *finished = dx_spool_open_part(spool, DX_SPOOL_FINISHED, NULL);
  char key[DX_KEY_BYTES];
  size_t i;

  *ret_sizes =
      (struct dx_sizes){.damaged = (int64_t)dx_spool_count_damaged(spool)};
  while (finished != NULL && dx_spool_next_key(finished, key, NULL) == DX_OK)
    ret_sizes->finished++;
  if (finished != NULL)
    (void)closedir(finished);
  for (i = 0; i < sizeof(unfinished) / sizeof(unfinished[0]); i++)
    ret_sizes->bytes += bytes_below(spool->dirfd, unfinished[i]);
}

/* -1: not known. */
static int64_t free_bytes(int fd)
{
  struct statvfs st;

  return fd >= 0 && fstatvfs(fd, &st) == 0
             ? (int64_t)st.f_bavail * (int64_t)st.f_frsize
             : -1;
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
    {OF_JOBS, "jobs", OF(tally, its.undecided),
     ",state=\"" DX_STATUS_UNDECIDED "\"", "gauge",
     "Jobs that are not finished, by state; undecided: nothing is sent until "
     "the administrator decides."},
#define X(name, word, is_final)                                       \
  {OF_JOBS, "jobs", OF(tally, its.jobs[name]), ",state=\"" word "\"", \
   NULL,    NULL},
    DX_STATES(X)
#undef X
        {OF_JOBS, "oldest_unfinished_seconds", OF(tally, oldest_s), "", "gauge",
         "Age of the oldest job in progress; 0 if there is none."},
    {OF_JOBS, "needs_admin_jobs", OF(tally, its.admin), "", "gauge",
     "Jobs that wait until the administrator has fixed something, such as a "
     "key "
     "or the configuration."},
    {OF_JOBS, "unseen_failures", OF(tally, its.unseen), "", "gauge",
     "Jobs that failed after their print jobs had ended, until they are "
     "acknowledged."},
    {OF_JOBS, "hook_pending_jobs", OF(tally, its.hooks), "", "gauge",
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
     "1 if docextractd responds."},
    {OF_SPOOL, "loading", OF(round, is_loading), "", "gauge",
     "1 after the start of docextractd, until it has read all jobs; until "
     "then, "
     "the metrics that count jobs are missing."},
    {OF_SPOOL, "finished_jobs", OF(round, sizes.finished), "", "gauge",
     "Jobs that are finished, until KeepJobs."},
    {OF_SPOOL, "damaged_jobs", OF(round, damaged), "", "gauge",
     "Jobs whose job file cannot be read."},
    {OF_SPOOL, "spool_bytes", OF(round, sizes.bytes), "", "gauge",
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

  if (r->is_loading && row->kind == OF_JOBS)
    return;
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
      dx_buf_printf(text, "{service=\"%s\"%s}", t->its.service, row->label);
    if (row->kind == TIME_OF_SERVICE)
      dx_buf_printf(text, " %" PRId64 ".%03" PRId64 "\n", value / 1000,
                    value % 1000);
    else
      dx_buf_printf(text, " %" PRId64 "\n", value);
  }
}

static void put_version(struct dx_buf *text)
{
  dx_buf_puts(text,
              "# HELP docextract_build_info The version of docextract.\n"
              "# TYPE docextract_build_info gauge\n"
              "docextract_build_info{version=\"" PACKAGE_VERSION "\"} 1\n");
}

void dx_metrics_put_down(struct dx_buf *text)
{
  const struct round nothing = {.is_daemon_up = 0};
  size_t i;

  put_version(text);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if (strcmp(rows[i].name, "daemon_up") == 0)
      print_row(&nothing, &rows[i], text);
}

enum dx_code dx_metrics_text(const struct dx_config *config,
                             struct dx_spool *spool,
                             const struct dx_metrics_source *source,
                             struct dx_buf *text, struct dx_err *err)
{
  struct round r = {.spool = spool, .count = config->service_count};
  enum dx_code code;
  size_t i;

  r.tallies = calloc(r.count + 1, sizeof(*r.tallies));
  if (r.tallies == NULL)
    return dx_fail_nomem(err);
  for (i = 0; i < r.count; i++) {
    const struct dx_service *service = &config->services[i];
    struct tally *t = &r.tallies[i];
    struct dx_pause pause;
    int fd = dx_fs_open_dir(AT_FDCWD, service->results_dir, NULL);

    (void)snprintf(t->its.service, sizeof(t->its.service), "%s", service->name);
    dx_counts_read(spool->history_dirfd, service->name, &t->counts);
    dx_pause_read(spool->history_dirfd, service->host, service->port, &pause);
    t->is_up = pause.is_down == 0;
    t->results_free = free_bytes(fd);
    if (fd >= 0)
      (void)close(fd);
  }
  code = count_jobs(&r, source, err);
  if (code == DX_OK && source != NULL)
    source->sizes(source->ctx, &r.sizes);
  else if (code == DX_OK)
    dx_metrics_measure(spool, &r.sizes);
  r.damaged += r.sizes.damaged;
  r.spool_free = free_bytes(spool->dirfd);
  r.is_daemon_up = source != NULL;
  finish_counting(&r);
  put_version(text);
  for (i = 0; code == DX_OK && i < sizeof(rows) / sizeof(rows[0]); i++)
    print_row(&r, &rows[i], text);
  free(r.tallies);
  return code == DX_OK && !dx_buf_ok(text) ? dx_fail_nomem(err) : code;
}
