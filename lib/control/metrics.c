/*
 * metrics.c - counts the contents of the spool, and prints the metrics, with
 * the counters of docextractd.
 */
#include "lib/control/metrics.h"

#include <dirent.h>
#include <fcntl.h>
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
  const char *service; /* "": sections that no longer exist */
  int64_t jobs[DX_ST_COUNT];
  int64_t undecided; /* not counted in jobs */
  int64_t oldest_at; /* wall clock; 0: no unfinished job */
  int64_t oldest_s;  /* its age */
  int64_t unseen, hooks;
  int64_t is_up, results_free;
  struct dx_counts counts;
};

struct round {
  struct dx_spool *spool;
  struct tally *tallies; /* one for each service, and one for the rest */
  size_t count;          /* of services */
  size_t shown;          /* number of tallies to print, from the first */
  int64_t damaged, finished, spool_bytes;
  struct dx_buf *text;
};

/* ---- counting ---- */

static void count_job(struct round *r, const struct dx_job *job)
{
  struct tally *t = r->tallies;

  while (t < r->tallies + r->count && strcmp(t->service, job->service) != 0)
    t++;
  if (dx_job_is_undecided(job))
    t->undecided++;
  else if (!dx_job_is_finished(job))
    t->jobs[dx_job_state(job)]++;
  if (!dx_job_is_final(job) &&
      (t->oldest_at == 0 || job->received_at < t->oldest_at))
    t->oldest_at = job->received_at;
  t->unseen += dx_job_is_unseen_failure(job);
  t->hooks += dx_job_awaits_hook(job);
}

/* Counts a job of jobs/ or received/. A job that was moved meanwhile is
 * skipped. */
static enum dx_code count_stored(void *ctx, const char *name)
{
  struct round *r = ctx;
  struct dx_job *job = NULL;
  enum dx_code code = dx_is_key(name)
                          ? dx_spool_load(r->spool, name, &job, NULL)
                          : dx_spool_load_received(r->spool, name, &job, NULL);

  r->damaged += code == DX_E_DAMAGED;
  if (code == DX_OK)
    count_job(r, job);
  dx_job_free(&job);
  return DX_OK;
}

static enum dx_code count_finished(void *ctx, const char *key)
{
  struct round *r = ctx;

  (void)key;
  r->finished++;
  return DX_OK;
}

/* The disk space of all files below a directory. Files that disappear meanwhile
 * are not counted. */
static int64_t bytes_below(int dirfd, const char *name)
{
  int fd = dx_fs_open_dir_at(dirfd, name, NULL);
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
  struct dirent *entry;
  struct stat st;
  int64_t bytes = 0;

  if (dir == NULL && fd >= 0)
    (void)close(fd);
  while (dir != NULL && (entry = readdir(dir)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
        fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
      continue;
    bytes += (int64_t)st.st_blocks * 512;
    if (S_ISDIR(st.st_mode))
      bytes += bytes_below(fd, entry->d_name);
  }
  if (dir != NULL)
    (void)closedir(dir);
  return bytes;
}

static enum dx_code count_spool(struct round *r, struct dx_err *err)
{
  static const char *const unfinished[] = {"jobs", "received", "incoming",
                                           "damaged"};
  int64_t now = dx_wall_ms();
  enum dx_code code =
      dx_spool_each(r->spool, DX_SPOOL_JOBS, count_stored, r, err);
  struct tally *t;
  size_t i;

  if (code == DX_OK)
    code = dx_spool_each(r->spool, DX_SPOOL_NEW, count_stored, r, err);
  if (code == DX_OK)
    code = dx_spool_each(r->spool, DX_SPOOL_FINISHED, count_finished, r, err);
  r->damaged += (int64_t)dx_spool_count_damaged(r->spool);
  for (i = 0; i < sizeof(unfinished) / sizeof(unfinished[0]); i++)
    r->spool_bytes += bytes_below(r->spool->dirfd, unfinished[i]);
  for (t = r->tallies; t <= r->tallies + r->count; t++)
    if (t->oldest_at != 0 && t->oldest_at < now)
      t->oldest_s = (now - t->oldest_at) / 1000;
  t = &r->tallies[r->count];
  r->shown = r->count + (t->undecided != 0);
  for (i = 0; i < DX_ST_COUNT; i++)
    if (t->jobs[i] != 0)
      r->shown = r->count + 1;
  return code;
}

/* -1: not known. */
static int64_t free_bytes(int fd)
{
  struct statvfs st;

  return fd >= 0 && fstatvfs(fd, &st) == 0
             ? (int64_t)st.f_bavail * (int64_t)st.f_frsize
             : -1;
}

/* Reads the counters of a service, and the free space for its results. */
static void read_service(const struct round *r, struct tally *t,
                         const struct dx_service *service)
{
  int fd = dx_fs_open_dir(service->results_dir, NULL);
  struct dx_pause pause;

  t->service = service->name;
  dx_counts_read(r->spool->history_dirfd, service->name, &t->counts);
  dx_pause_read(r->spool->history_dirfd, service->host, service->port, &pause);
  t->is_up = pause.down_ms == 0;
  t->results_free = free_bytes(fd);
  if (fd >= 0)
    (void)close(fd);
}

/* ---- printing ---- */

static void describe(const struct round *r, const char *name, const char *type,
                     const char *help)
{
  dx_buf_printf(r->text, "# HELP docextract_%s %s\n# TYPE docextract_%s %s\n",
                name, help, name, type);
}

static void print_one(const struct round *r, const char *name, const char *help,
                      int64_t value)
{
  describe(r, name, "gauge", help);
  dx_buf_printf(r->text, "docextract_%s %" PRId64 "\n", name, value);
}

static int64_t member_of(const struct tally *t, size_t offset)
{
  int64_t value;

  memcpy(&value, (const char *)t + offset, sizeof(value));
  return value;
}

/* Prints the member at `offset` for every service; negative values are unknown,
 * and omitted. label and word: a second label, or NULL. */
static void print(const struct round *r, const char *name, const char *label,
                  const char *word, size_t offset)
{
  const struct tally *t;

  for (t = r->tallies; t < r->tallies + r->shown; t++) {
    if (member_of(t, offset) < 0)
      continue;
    dx_buf_printf(r->text, "docextract_%s{service=\"%s\"", name, t->service);
    if (label != NULL)
      dx_buf_printf(r->text, ",%s=\"%s\"", label, word);
    dx_buf_printf(r->text, "} %" PRId64 "\n", member_of(t, offset));
  }
}

/* Prints the two lines of a summary; the sum is in milliseconds. */
static void print_summary(const struct round *r, const char *name,
                          const char *label, size_t sum, size_t count)
{
  const struct tally *t;

  for (t = r->tallies; t < r->tallies + r->shown; t++)
    dx_buf_printf(r->text,
                  "docextract_%s_sum{service=\"%s\"%s} %" PRId64 ".%03" PRId64
                  "\ndocextract_%s_count{service=\"%s\"%s} %" PRId64 "\n",
                  name, t->service, label, member_of(t, sum) / 1000,
                  member_of(t, sum) % 1000, name, t->service, label,
                  member_of(t, count));
}

static void print_gauge(const struct round *r, const char *name, size_t offset,
                        const char *help)
{
  describe(r, name, "gauge", help);
  print(r, name, NULL, NULL, offset);
}

#define MEMBER(member) offsetof(struct tally, member)
#define ELEMENT(member, i) (MEMBER(member) + (size_t)(i) * sizeof(int64_t))

/* Job metrics; removed sections have lines only if they have jobs. */
static void print_jobs(const struct round *r)
{
  int state;

  describe(r, "jobs", "gauge",
           "Jobs that are not finished, by state; undecided: nothing is sent "
           "until the administrator decides.");
  for (state = 0; state < DX_ST_COUNT; state++)
    if (!dx_state_is_settled((enum dx_state)state))
      print(r, "jobs", "state", dx_state_word((enum dx_state)state),
            ELEMENT(jobs, state));
  print(r, "jobs", "state", DX_STATUS_UNDECIDED, MEMBER(undecided));
  print_gauge(r, "oldest_unfinished_seconds", MEMBER(oldest_s),
              "Age of the oldest job that is under way; 0 if there is none.");
  print_gauge(r, "unseen_failures", MEMBER(unseen),
              "Jobs that failed after their print jobs had ended, until "
              "they are acknowledged.");
  print_gauge(r, "hook_pending_jobs", MEMBER(hooks),
              "Jobs for which OnResult has not succeeded yet.");
}

/* Metrics of the configured services, with the counters of docextractd. */
static void print_services(const struct round *r)
{
  char help[160];
  int i;

  (void)snprintf(help, sizeof(help),
                 "0 after %d failed calls in a row, until one succeeds; it "
                 "stays as it is while nothing is sent.",
                 DX_DOWN_AFTER_TRIES);
  print_gauge(r, "service_up", MEMBER(is_up), help);
  print_gauge(r, "results_free_bytes", MEMBER(results_free),
              "Free space of the results directory.");
  describe(r, "calls_total", "counter",
           "Calls of the service and its storage, by class of the outcome.");
  for (i = 0; i < DX_CL_COUNT; i++)
    print(r, "calls_total", "class", dx_class_word((enum dx_class)i),
          ELEMENT(counts.calls, i));
  describe(r, "manifests_total", "counter",
           "Submissions that have ended, by outcome.");
  print(r, "manifests_total", "outcome", "extracted", MEMBER(counts.extracted));
  print(r, "manifests_total", "outcome", "failed", MEMBER(counts.failed));
  describe(r, "lag_seconds", "summary",
           "How late what was ready was found, at most.");
  print_summary(r, "lag_seconds", ",phase=\"source\"",
                ELEMENT(counts.late_ms, DX_PHASE_SOURCE),
                ELEMENT(counts.found, DX_PHASE_SOURCE));
  print_summary(r, "lag_seconds", ",phase=\"extract\"",
                ELEMENT(counts.late_ms, DX_PHASE_EXTRACT),
                ELEMENT(counts.found, DX_PHASE_EXTRACT));
  describe(r, "extraction_seconds", "summary", "From upload to results.");
  print_summary(r, "extraction_seconds", "", MEMBER(counts.extraction_ms),
                MEMBER(counts.extracted));
}

static void print_all(struct round *r)
{
  describe(r, "build_info", "gauge", "The version of docextract.");
  dx_buf_printf(r->text, "docextract_build_info{version=\"%s\"} 1\n",
                PACKAGE_VERSION);
  print_jobs(r);
  r->shown = r->count;
  print_services(r);
  print_one(r, "daemon_up", "1 while docextractd is running.",
            dx_spool_daemon(r->spool->dirfd) != 0);
  print_one(r, "finished_jobs", "Jobs that are finished, until KeepJobs.",
            r->finished);
  print_one(r, "damaged_jobs", "Jobs whose job file cannot be read.",
            r->damaged);
  print_one(r, "spool_bytes", "Space that unfinished jobs take.",
            r->spool_bytes);
  print_one(r, "spool_free_bytes", "Free space of the spool.",
            free_bytes(r->spool->dirfd));
}

enum dx_code dx_metrics_text(const struct dx_config *config,
                             struct dx_spool *spool, struct dx_buf *text,
                             struct dx_err *err)
{
  struct round r = {
      .spool = spool, .count = config->service_count, .text = text};
  enum dx_code code;
  size_t i;

  r.tallies = calloc(r.count + 1, sizeof(*r.tallies));
  if (r.tallies == NULL)
    return dx_fail_nomem(err);
  r.tallies[r.count].service = "";
  for (i = 0; i < r.count; i++)
    read_service(&r, &r.tallies[i], &config->services[i]);
  code = count_spool(&r, err);
  if (code == DX_OK)
    print_all(&r);
  free(r.tallies);
  return code == DX_OK && !dx_buf_ok(text) ? dx_fail_nomem(err) : code;
}
