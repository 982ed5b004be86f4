/*
 * metrics.c - counting what is in the spool, and printing it with what
 * docextractd has counted.
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
#include "lib/spool/failures.h"

/* Of one service. */
struct tally {
  const char *service; /* "": of no existing section */
  int64_t jobs[DX_ST_COUNT];
  int64_t undecided; /* not among those */
  int64_t oldest_ms; /* wall clock; 0: none is unfinished */
  int64_t unseen, announcing;
  struct dx_counts counts;
  bool is_up;
  int64_t results_free;
};

struct round {
  const struct dx_config *config;
  struct dx_spool *spool;
  struct tally *tallies; /* one for each service, and one for what has none */
  size_t count;
  int64_t damaged, finished, spool_bytes;
  struct dx_buf *text;
};

/* ---- counting ---- */

static struct tally *tally_of(const struct round *r, const char *service)
{
  size_t i;

  for (i = 0; i + 1 < r->count; i++)
    if (strcmp(r->tallies[i].service, service) == 0)
      break;
  return &r->tallies[i];
}

static void count_job(const struct round *r, const struct dx_job *job)
{
  struct tally *t = tally_of(r, job->service);

  if (dx_job_is_undecided(job))
    t->undecided++;
  else if (!dx_job_is_finished(job))
    t->jobs[dx_job_state(job)]++;
  if (!dx_job_is_final(job) &&
      (t->oldest_ms == 0 || job->received_at < t->oldest_ms))
    t->oldest_ms = job->received_at;
  t->unseen += dx_job_is_unseen_failure(job);
  t->announcing += dx_job_is_announcing(job);
}

/* What is gone was finished, or picked up, meanwhile. */
static enum dx_code count_loaded(struct round *r, enum dx_code code,
                                 struct dx_job *job)
{
  r->damaged += code == DX_E_DAMAGED;
  if (code == DX_OK)
    count_job(r, job);
  dx_job_free(&job);
  return DX_OK;
}

static enum dx_code look_at(void *ctx, const char *key)
{
  struct round *r = ctx;
  struct dx_job *job = NULL;
  enum dx_code code = dx_spool_load(r->spool, key, &job, NULL);

  return count_loaded(r, code, job);
}

static enum dx_code look_at_receipt(void *ctx, const char *name)
{
  struct round *r = ctx;
  struct dx_job *job = NULL;
  enum dx_code code = dx_spool_load_received(r->spool, name, &job, NULL);

  return count_loaded(r, code, job);
}

static enum dx_code count_one(void *ctx, const char *key)
{
  struct round *r = ctx;

  (void)key;
  r->finished++;
  return DX_OK;
}

/* What the files of a directory, and of those below it, occupy on the disk.
 * What disappears meanwhile does not count. */
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
  struct dx_spool *spool = r->spool;
  enum dx_code code = dx_spool_each(spool, look_at, r, err);

  if (code == DX_OK)
    code = dx_spool_each_new(spool, look_at_receipt, r, err);
  if (code == DX_OK)
    code = dx_spool_each_finished(spool, count_one, r, err);
  r->damaged += (int64_t)dx_spool_count_damaged(spool);
  r->spool_bytes = bytes_below(spool->dirfd, "jobs") +
                   bytes_below(spool->dirfd, "received") +
                   bytes_below(spool->dirfd, "incoming") +
                   bytes_below(spool->dirfd, "damaged");
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

static int64_t results_free(const struct dx_service *service)
{
  int fd = dx_fs_open_dir(service->results_dir, NULL);
  int64_t bytes = free_bytes(fd);

  if (fd >= 0)
    (void)close(fd);
  return bytes;
}

/* What docextractd knows of a service. */
static void read_history(const struct round *r, size_t i)
{
  const struct dx_service *service = &r->config->services[i];
  struct tally *t = &r->tallies[i];
  struct dx_pause pause;

  dx_counts_read(r->spool->history_dirfd, service->name, &t->counts);
  dx_pause_read(r->spool->history_dirfd, service->host, service->port, &pause);
  t->is_up = pause.down_ms == 0;
  t->results_free = results_free(service);
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

/* Begins a line of a service; label and word: a second label, or NULL. */
static void print_name(const struct round *r, const struct tally *t,
                       const char *name, const char *label, const char *word)
{
  dx_buf_printf(r->text, "docextract_%s{service=\"%s\"", name, t->service);
  if (label != NULL)
    dx_buf_printf(r->text, ",%s=\"%s\"", label, word);
  dx_buf_puts(r->text, "} ");
}

static void print(const struct round *r, const struct tally *t,
                  const char *name, const char *label, const char *word,
                  int64_t value)
{
  print_name(r, t, name, label, word);
  dx_buf_printf(r->text, "%" PRId64 "\n", value);
}

static void print_seconds(const struct round *r, const struct tally *t,
                          const char *name, const char *label, const char *word,
                          int64_t ms)
{
  print_name(r, t, name, label, word);
  dx_buf_printf(r->text, "%" PRId64 ".%03" PRId64 "\n", ms / 1000, ms % 1000);
}

/* Jobs whose section is gone have lines only if there are any. */
static bool is_shown(const struct round *r, const struct tally *t)
{
  size_t i;

  if (t != &r->tallies[r->count - 1])
    return true;
  for (i = 0; i < DX_ST_COUNT; i++)
    if (t->jobs[i] != 0)
      return true;
  return t->undecided != 0;
}

static void print_jobs(const struct round *r)
{
  const struct tally *t;
  int state;

  describe(r, "jobs", "gauge",
           "Jobs that are not finished, by state; undecided: nothing is sent "
           "until a person decides.");
  for (t = r->tallies; t < r->tallies + r->count; t++) {
    for (state = 0; is_shown(r, t) && state < DX_ST_COUNT; state++)
      if (!dx_state_is_settled((enum dx_state)state))
        print(r, t, "jobs", "state", dx_state_word((enum dx_state)state),
              t->jobs[state]);
    if (is_shown(r, t))
      print(r, t, "jobs", "state", DX_STATUS_UNDECIDED, t->undecided);
  }
}

/* A gauge of all services: the member at `offset`. */
static void print_gauge(const struct round *r, const char *name, size_t offset,
                        const char *help)
{
  const struct tally *t;
  int64_t value;

  describe(r, name, "gauge", help);
  for (t = r->tallies; t < r->tallies + r->count; t++) {
    memcpy(&value, (const char *)t + offset, sizeof(value));
    if (is_shown(r, t))
      print(r, t, name, NULL, NULL, value);
  }
}

static void print_oldest(const struct round *r)
{
  int64_t now = dx_wall_ms();
  const struct tally *t;

  describe(r, "oldest_unfinished_seconds", "gauge",
           "Age of the oldest job that is under way; 0 if there is none.");
  for (t = r->tallies; t < r->tallies + r->count; t++)
    if (is_shown(r, t))
      print(r, t, "oldest_unfinished_seconds", NULL, NULL,
            t->oldest_ms != 0 && t->oldest_ms < now
                ? (now - t->oldest_ms) / 1000
                : 0);
}

/* The services that there are; a loop over `t`. */
#define EACH_SERVICE(r, t) \
  for (t = (r)->tallies; t + 1 < (r)->tallies + (r)->count; t++)

static void print_services(const struct round *r)
{
  const struct tally *t;
  char help[160];

  (void)snprintf(help, sizeof(help),
                 "0 after %d failed calls in a row, until one succeeds; it "
                 "stays as it is while nothing is sent.",
                 DX_DOWN_AFTER_TRIES);
  describe(r, "service_up", "gauge", help);
  EACH_SERVICE(r, t)
  print(r, t, "service_up", NULL, NULL, t->is_up);
  describe(r, "results_free_bytes", "gauge",
           "Free space of the results directory.");
  EACH_SERVICE(r, t)
  if (t->results_free >= 0)
    print(r, t, "results_free_bytes", NULL, NULL, t->results_free);
}

static void print_calls(const struct round *r)
{
  const struct tally *t;
  int class;

  describe(r, "calls_total", "counter",
           "Calls of the service and its storage, by class of the outcome.");
  EACH_SERVICE(r, t)
  for (class = 0; class < DX_CL_COUNT; class ++)
    print(r, t, "calls_total", "class", dx_class_word((enum dx_class) class),
          t->counts.calls[class]);
  describe(r, "manifests_total", "counter",
           "Submissions that have ended, by outcome.");
  EACH_SERVICE(r, t)
  {
    print(r, t, "manifests_total", "outcome", "extracted", t->counts.extracted);
    print(r, t, "manifests_total", "outcome", "failed", t->counts.failed);
  }
}

static void print_times(const struct round *r)
{
  static const char *const phases[DX_PHASE_COUNT] = {
      [DX_PHASE_SOURCE] = "source", [DX_PHASE_EXTRACT] = "extract"};
  const struct tally *t;
  int i;

  describe(r, "lag_seconds", "summary",
           "How late what was ready was found, at most.");
  EACH_SERVICE(r, t)
  for (i = 0; i < DX_PHASE_COUNT; i++) {
    print_seconds(r, t, "lag_seconds_sum", "phase", phases[i],
                  t->counts.late_ms[i]);
    print(r, t, "lag_seconds_count", "phase", phases[i], t->counts.found[i]);
  }
  describe(r, "extraction_seconds", "summary", "From upload to results.");
  EACH_SERVICE(r, t)
  {
    print_seconds(r, t, "extraction_seconds_sum", NULL, NULL,
                  t->counts.extraction_ms);
    print(r, t, "extraction_seconds_count", NULL, NULL, t->counts.extracted);
  }
}

static void print_spool(const struct round *r)
{
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

static void print_all(const struct round *r)
{
  describe(r, "build_info", "gauge", "The version of docextract.");
  dx_buf_printf(r->text, "docextract_build_info{version=\"%s\"} 1\n",
                PACKAGE_VERSION);
  print_jobs(r);
  print_oldest(r);
  print_gauge(r, "unseen_failures", offsetof(struct tally, unseen),
              "Jobs that failed after their print jobs had ended, until "
              "somebody has seen it.");
  print_gauge(r, "announcing_jobs", offsetof(struct tally, announcing),
              "Jobs for which OnResult has not succeeded yet.");
  print_services(r);
  print_calls(r);
  print_times(r);
  print_spool(r);
}

enum dx_code dx_metrics_text(const struct dx_config *config,
                             struct dx_spool *spool, struct dx_buf *text,
                             struct dx_err *err)
{
  struct round r = {.config = config,
                    .spool = spool,
                    .count = config->service_count + 1,
                    .text = text};
  enum dx_code code;
  size_t i;

  r.tallies = calloc(r.count, sizeof(*r.tallies));
  if (r.tallies == NULL)
    return dx_fail_nomem(err);
  r.tallies[config->service_count].service = "";
  for (i = 0; i < config->service_count; i++) {
    r.tallies[i].service = config->services[i].name;
    read_history(&r, i);
  }
  code = count_spool(&r, err);
  if (code == DX_OK)
    print_all(&r);
  free(r.tallies);
  return code == DX_OK && !dx_buf_ok(text) ? dx_fail_nomem(err) : code;
}
