/*
 * hospital.c - what a large site waits for, for hospital.sh: the time after an
 * outage, a source of very many cases, and the sweep of very many records. The
 * real engine (tests/unit/engine_fixture.h) with a service in memory and a
 * clock that is set ahead, so that hours take seconds; the sweep with a clock
 * that only computing and fsync advance, so that a figure does not depend on
 * what else this computer does.
 *
 * After an outage: all charts were printed while the service was away. Then it
 * is back, and a client waits for one of two new charts a minute, of the
 * section that has the backlog, and of another one of the same host. Times are
 * from the first good call on, without the time that the service takes to
 * process a chart. The alternative has ten charts that wait.
 *
 * Prints lines for hospital.sh, with tabs: what, unit, our numbers and theirs
 * (with spaces), the alternative, the aim; or one heading.
 *
 * Usage: hospital full|short [outage | cases | sweep]
 */
#include "tests/unit/engine_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/sweep.h"
#include "lib/base/clock.h"
#include "lib/base/policy.h"

#define SECOND 1000LL
#define MINUTE 60000LL
#define DAY 86400000LL
#define STARTING_MS 2000
#define PROCESSING_MS 30000
#define VISIBLE_MS 100
#define READY_MS \
  (STARTING_MS + PROCESSING_MS + VISIBLE_MS) /* from the upload */
#define WARM_UP 12 /* charts before it all: poll times are learned */
#define FEW 10
#define SAMPLES_MAX 200
#define FSYNC_MS 10
#define PRINTS_A_DAY 20000

static struct {
  int charts;        /* that wait */
  int64_t window_ms; /* of the time after the outage */
  size_t cases;
  size_t records, old; /* old: those of an hour */
} size = {10000, 20 * MINUTE, 10000, 100000, PRINTS_A_DAY / 24 + 1};

static struct dx_err err;

static void die(const char *what)
{
  fprintf(stderr, "hospital: %s\n", what);
  exit(EXIT_FAILURE);
}

/* ---- figures ---- */

struct figures {
  double values[SAMPLES_MAX];
  size_t count;
};

static void add(struct figures *f, double value)
{
  if (f->count < SAMPLES_MAX)
    f->values[f->count++] = value;
}

static void print_figures(const struct figures *f)
{
  size_t i;

  for (i = 0; i < f->count; i++)
    printf("%s%.3f", i > 0 ? " " : "", f->values[i]);
}

/* theirs: NULL if there is no alternative. */
static void print_row(const char *what, const char *unit,
                      const struct figures *ours, const struct figures *theirs,
                      const char *alternative, const char *aim)
{
  printf("%s\t%s\t", what, unit);
  print_figures(ours);
  printf("\t");
  if (theirs != NULL)
    print_figures(theirs);
  else
    printf("-");
  printf("\t%s\t%s\n", alternative, aim);
}

static double cpu_ms(void)
{
  struct timespec t;

  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0)
    die("there is no clock of the processor");
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* What this process has passed to write(). */
static double written_mib(void)
{
  FILE *file = fopen("/proc/self/io", "r");
  unsigned long long bytes;

  if (file == NULL || fscanf(file, "rchar: %*u wchar: %llu", &bytes) != 1)
    die("cannot read /proc/self/io");
  (void)fclose(file);
  return (double)bytes / 1048576;
}

/* ---- the engine ---- */

static double engine_cpu_ms, longest_turn_ms;

static void run_until(int64_t ms)
{
  while (fixture.now_ms < ms) {
    int64_t most_ms = ms - fixture.now_ms;
    double began = cpu_ms(), took;

    fixture_run(most_ms < MINUTE ? most_ms : MINUTE);
    took = cpu_ms() - began;
    engine_cpu_ms += took;
    longest_turn_ms = took > longest_turn_ms ? took : longest_turn_ms;
  }
}

/* The number of the job, from 1. */
static int print_chart(const char *section, bool is_attended)
{
  struct dx_job *job = fixture_job(1, false);

  free(job->service);
  job->service = strdup(section);
  job->attended = is_attended;
  fixture_add(job);
  return fixture.job_count;
}

static const struct dx_submission *sub_of(int job)
{
  return &fixture.jobs[job - 1]->submissions[0];
}

/* Monotonic; now if it is not extracted yet. */
static int64_t extracted_ms(int job)
{
  int64_t at = sub_of(job)->delivered_at;

  return at != 0 ? at - dx_wall_ms() + fixture.now_ms : fixture.now_ms;
}

static void open_fixture(void)
{
  if (fixture_open(NULL) != 0)
    die("cannot open the fixture");
  fixture.service_count = 2;
  fixture.processing_ms = PROCESSING_MS;
  fixture.starting_ms = STARTING_MS;
  fixture.visible_ms = VISIBLE_MS;
  fixture_begin();
}

static void warm_up(void)
{
  int i;

  for (i = 0; i < WARM_UP; i++) {
    (void)print_chart(i % 2 == 0 ? "default" : "other", false);
    run_until(fixture.now_ms + 10 * SECOND);
  }
  run_until(fixture.now_ms + 5 * MINUTE);
}

/* ---- after an outage ---- */

static bool is_away;

static bool refuse(const struct fixture_call *call,
                   struct fixture_response *ret)
{
  (void)call;
  *ret = (struct fixture_response){.code = DX_E_NET, .not_sent = true};
  return is_away;
}

struct recovery {
  struct figures used;       /* of the rate, in percent */
  struct figures calls;      /* for each result; it cannot be less than 3 */
  struct figures first;      /* result of a chart that has waited, in s */
  struct figures new, other; /* a client waits for them, in s */
  struct figures cpu;        /* of a call, in ms */
};

/* When the first call succeeds; all before it have failed. */
static int64_t first_good_ms(size_t first_call)
{
  size_t i;

  for (i = first_call; i < fixture.call_count; i++)
    if (!fixture.calls[i].is_odd)
      return fixture.calls[i].began_ms;
  return 0;
}

static int64_t run_until_good(void)
{
  size_t first_call = fixture.call_count;

  is_away = false;
  while (first_good_ms(first_call) == 0)
    run_until(fixture.now_ms + SECOND);
  return first_good_ms(first_call);
}

/* Calls of the API in that time. */
static int calls_between(int64_t from_ms, int64_t to_ms)
{
  size_t i;
  int n = 0;

  for (i = 0; i < fixture.call_count; i++)
    n += fixture.calls[i].kind != PUT && fixture.calls[i].began_ms >= from_ms &&
         fixture.calls[i].began_ms < to_ms;
  return n;
}

static void recover(int waiting, struct recovery *ret)
{
  int i, first_waiting, last_waiting = 0, attended[SAMPLES_MAX], count = 0;
  int64_t back_ms, first_ms, added_ms[SAMPLES_MAX];
  int ended;
  double cpu;

  memset(ret, 0, sizeof(*ret));
  open_fixture();
  fixture.odd = refuse;
  is_away = false;
  warm_up();
  is_away = true;
  first_waiting = fixture.job_count + 1;
  for (i = 0; i < waiting; i++)
    last_waiting = print_chart("default", false);
  run_until(fixture.now_ms + 20 * MINUTE);
  back_ms = run_until_good();
  cpu = engine_cpu_ms;
  ended = fixture.ended;
  while (fixture.now_ms < back_ms + size.window_ms) {
    added_ms[count] = fixture.now_ms;
    attended[count] = print_chart(count % 2 == 0 ? "default" : "other", true);
    count++;
    run_until(fixture.now_ms + MINUTE / 2);
  }
  i = calls_between(back_ms, fixture.now_ms);
  add(&ret->calls, (double)i / (fixture.ended - ended));
  add(&ret->cpu, (engine_cpu_ms - cpu) / i);
  add(&ret->used, 100.0 * i * SECOND / (double)(fixture.now_ms - back_ms) /
                      fixture.service.api_rate);
  run_until(fixture.now_ms + 3 * MINUTE);
  for (i = 0; i < count; i++)
    add(i % 2 == 0 ? &ret->new : &ret->other,
        (double)(extracted_ms(attended[i]) - added_ms[i] - READY_MS) / SECOND);
  first_ms = fixture.now_ms;
  for (i = first_waiting; i <= last_waiting; i++)
    first_ms = extracted_ms(i) < first_ms ? extracted_ms(i) : first_ms;
  add(&ret->first, (double)(first_ms - back_ms - READY_MS) / SECOND);
  (void)fixture_close(NULL);
}

static void after_an_outage(void)
{
  static struct recovery ours, theirs;
  const char *few = "10 charts wait";

  recover(FEW, &theirs);
  recover(size.charts, &ours);
  printf("after an outage, %d charts wait\n", size.charts);
  print_row("the rate is used", "%", &ours.used, NULL, "-", ">= 98");
  print_row("calls for each result", "n", &ours.calls, &theirs.calls, few, "");
  print_row("CPU of a call", "ms", &ours.cpu, &theirs.cpu, few, "");
  print_row("first result, and processing", "s", &ours.first, &theirs.first,
            few, "<= 15");
  print_row("a client waits", "s", &ours.new, &theirs.new, few, "<= 15");
  print_row("  of another section", "s", &ours.other, &theirs.other, few,
            "<= 15");
}

/* ---- many cases ---- */

#define LARGE "large.pdf"

static size_t large_cases;

static size_t cases_of(const char *name)
{
  return strcmp(name, LARGE) == 0 ? large_cases : 1;
}

struct reading {
  struct figures written; /* MiB */
  struct figures late;    /* results of others, in s */
  struct figures turn;    /* the longest one, in ms of the processor */
};

/* From when the service has the result until docextractd has it. */
static double lateness_s(size_t job)
{
  int64_t landed_ms = 0, read_ms = 0;
  size_t i;

  for (i = 0; i < fixture.call_count; i++)
    if (fixture.calls[i].job == job && fixture.calls[i].kind == PUT)
      landed_ms = fixture.calls[i].ended_ms;
    else if (fixture.calls[i].job == job && fixture.calls[i].kind == EXTRACT)
      read_ms = fixture.calls[i].ended_ms;
  return (double)(read_ms - landed_ms - READY_MS) / SECOND;
}

static void read_cases(size_t count, struct reading *ret)
{
  size_t job, first;
  double written;
  int64_t until_ms;

  memset(ret, 0, sizeof(*ret));
  large_cases = count;
  open_fixture();
  fixture.cases = cases_of;
  warm_up();
  longest_turn_ms = 0;
  written = written_mib();
  fixture_add(fixture_named(LARGE));
  first = (size_t)fixture.job_count + 1;
  /* About as long as the large one takes. */
  until_ms =
      fixture.now_ms + READY_MS +
      (int64_t)((double)(size.cases * SECOND) / fixture.service.api_rate);
  while (fixture.now_ms < until_ms) {
    (void)print_chart("default", false);
    run_until(fixture.now_ms + 10 * SECOND);
  }
  while (fixture.ended < fixture.job_count)
    run_until(fixture.now_ms + SECOND);
  add(&ret->written, written_mib() - written);
  for (job = first; job <= (size_t)fixture.job_count; job++)
    add(&ret->late, lateness_s(job));
  add(&ret->turn, longest_turn_ms);
  (void)fixture_close(NULL);
}

static void many_cases(void)
{
  static struct reading ours, theirs;
  const char *few = "a source of one case";

  read_cases(1, &theirs);
  read_cases(size.cases, &ours);
  printf("a source of %zu cases\n", size.cases);
  print_row("written", "MiB", &ours.written, &theirs.written, few, "<= 200");
  print_row("others: results are late", "s", &ours.late, &theirs.late, few,
            "<= +1");
  print_row("CPU of the longest turn", "ms", &ours.turn, &theirs.turn, few,
            "<= 1000");
}

/* ---- the sweep ---- */

static int64_t waited_ms; /* between the turns of a sweep */

static double sweep_ms(void)
{
  return cpu_ms() + (double)fixture.syncs * FSYNC_MS;
}

static int64_t sweep_boot_ms(void)
{
  return (int64_t)sweep_ms() + waited_ms;
}

static int64_t sweep_wall_ms(void)
{
  return (int64_t)time(NULL) * 1000;
}

static struct dx_job *held(void *ctx, const char *key)
{
  (void)ctx;
  (void)key;
  return NULL;
}

static void expire(void *ctx, struct dx_job *job)
{
  (void)ctx;
  dx_job_free(&job);
  die("a record is not finished");
}

static enum dx_rerun rerun;

static enum dx_rerun may_rerun(void *ctx, const char *cups_id, const char *uuid,
                               const char *user, const char *key)
{
  (void)ctx;
  (void)cups_id;
  (void)uuid;
  (void)user;
  (void)key;
  return rerun;
}

static char *record; /* the journal of a finished job */
static char record_key[DX_KEY_BYTES];

/* Removes what a copy cannot have. */
static void make_record(void)
{
  struct dx_job *job = fixture_job(1, false);
  struct dx_buf text = {0};
  char *id, *end;

  job->queue = strdup("chart");
  job->cups_id = strdup("17");
  job->uuid = strdup("urn:uuid:8c1a2f5e-7d70-3c4a-6b0f-1a2b3c4d5e6f");
  job->user = strdup("ann");
  job->title = strdup("chart.pdf");
  job->submissions[0].state = DX_ST_EXTRACTED;
  job->submissions[0].source_id = strdup("S1");
  memcpy(record_key, job->key, sizeof(record_key));
  if (dx_submission_set_place(&job->submissions[0], "default", job->base_url,
                              NULL, &err) != DX_OK ||
      dx_job_save(job, &err) != DX_OK ||
      dx_fs_read(job->dirfd, "job.json", 100000, &text, &err) != DX_OK ||
      (record = dx_buf_take(&text)) == NULL)
    die("cannot make a record");
  id = strstr(record, "\"file_id\":\"");
  if (id != NULL) {
    id += strlen("\"file_id\":\"");
    end = strchr(id, '"');
    memmove(id, end, strlen(end) + 1);
  }
  dx_spool_discard(&fixture.spool, &fixture.jobs[--fixture.job_count]);
}

static void set_age(int dirfd, const char *name, int64_t age_ms)
{
  struct timespec times[2] = {{.tv_sec = time(NULL) - age_ms / 1000}};

  times[1] = times[0];
  if (utimensat(dirfd, name, times, 0) < 0)
    die("cannot set the time of a file");
}

static void add_record(size_t n, int64_t age_ms)
{
  char path[DX_JOB_PATH_BYTES], key[DX_KEY_BYTES], *p;
  int dirfd = fixture.spool.dirfd, fd;
  size_t len = strlen(record);

  (void)snprintf(key, sizeof(key), "e%031zx", n);
  while ((p = strstr(record, record_key)) != NULL)
    memcpy(p, key, strlen(key));
  memcpy(record_key, key, sizeof(key));
  (void)snprintf(path, sizeof(path), "finished/%s", key);
  if (mkdirat(dirfd, path, 0700) < 0)
    die("cannot make a directory");
  (void)snprintf(path, sizeof(path), "finished/%s/job.json", key);
  fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, record, len) != (ssize_t)len)
    die("cannot write a record");
  (void)close(fd);
  set_age(dirfd, path, age_ms);
  /* By its content, it has another name. */
  (void)snprintf(path, sizeof(path), "aliases/f%s", key + 1);
  if (symlinkat(key, dirfd, path) < 0)
    die("cannot make an alias");
}

struct sweeping {
  struct figures block; /* the longest ones, in ms */
  double blocked_ms;
};

static void sweep_all(struct sweeping *ret)
{
  struct dx_service service = fixture.service;
  struct dx_config config = {
      .keep_jobs_ms = 7 * DAY, .services = &service, .service_count = 1};
  struct dx_sweep sweep = {
      .config = &config, .held = held, .expire = expire, .rerun = may_rerun};
  double longest = 0;

  (void)close(openat(fixture.spool.dirfd, "swept",
                     O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  set_age(fixture.spool.dirfd, "swept", 2 * DX_SWEEP_GAP_MS);
  service.keep_unfinished_ms = DAY;
  ret->blocked_ms = 0;
  do {
    double began = sweep_ms(), took;
    int64_t wait_ms = dx_spool_sweep(&fixture.spool, &sweep);

    took = sweep_ms() - began;
    waited_ms += wait_ms;
    ret->blocked_ms += took;
    longest = took > longest ? took : longest;
  } while (dx_sweep_is_active(&sweep));
  add(&ret->block, longest);
}

static void the_sweep(void)
{
  static const struct dx_clock measured = {sweep_boot_ms, sweep_wall_ms};
  static struct sweeping removed, cleaned;
  static struct figures removing, cleaning;
  size_t i;
  int syncs;

  if (fixture_open(NULL) != 0)
    die("cannot open the fixture");
  dx_clock_use(&measured);
  make_record();
  for (i = 1; i <= size.records; i++)
    add_record(i, i <= size.old ? 8 * DAY : DAY);
  rerun = DX_RERUN_MAY;
  syncs = fixture.syncs;
  sweep_all(&cleaned);
  if (fixture.syncs - syncs < (int)size.old)
    die("the personal data is not removed");
  for (i = 1; i <= size.old; i++) {
    char path[DX_JOB_PATH_BYTES];

    (void)snprintf(path, sizeof(path), "finished/e%031zx/job.json", i);
    set_age(fixture.spool.dirfd, path, 8 * DAY);
  }
  rerun = DX_RERUN_NO;
  sweep_all(&removed);
  if (count_entries(fixture.spool.dirfd, "finished") != size.records - size.old)
    die("the old records are not removed");
  printf("%zu finished records, %d ms for each fsync\n", size.records,
         FSYNC_MS);
  add(&removing, removed.blocked_ms / SECOND);
  add(&cleaning, cleaned.blocked_ms / SECOND);
  print_row("a sweep blocks", "ms", &removed.block, NULL, "-", "<= 20");
  print_row("  all of an hourly sweep", "s", &removing, NULL, "-", "<= 3600");
  print_row("one that keeps them blocks", "ms", &cleaned.block, NULL, "-",
            "<= 20");
  print_row("  all of an hourly sweep", "s", &cleaning, NULL, "-", "<= 3600");
  free(record);
  (void)fixture_close(NULL);
}

/* Linked in place of lib's own: every run gives the same numbers. */
double __wrap_dx_random_unit(void);
double __wrap_dx_random_unit(void)
{
  static unsigned short seed[3] = {1, 2, 3};

  return erand48(seed);
}

int main(int argc, char **argv)
{
  struct rlimit files;

  if (argc < 2 || argc > 3)
    die("usage: hospital full|short [outage | cases | sweep]");
  if (strcmp(argv[1], "short") == 0) {
    size.charts = 30;
    size.window_ms = 2 * MINUTE;
    size.cases = 20;
    size.records = 200;
    size.old = 20;
  }
  (void)setvbuf(stdout, NULL, _IOLBF, 0);
  /* The fixture has the directory of each job open. */
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
  }
  if (argc == 2 || strcmp(argv[2], "outage") == 0)
    after_an_outage();
  if (argc == 2 || strcmp(argv[2], "cases") == 0)
    many_cases();
  if (argc == 2 || strcmp(argv[2], "sweep") == 0)
    the_sweep();
  return EXIT_SUCCESS;
}
