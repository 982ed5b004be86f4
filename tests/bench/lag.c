/*
 * lag.c - how late a result is stored, and how many calls it took to find out:
 * the real engine, spool and rate limit with a service in memory and a clock
 * that is set ahead, so that hours take seconds. Prints rows for lag.sh: one
 * scenario after the other, and 100 jobs at once.
 *
 * Calls are those that ask for the status of the source, and those that ask
 * for the result; the calls to register are the same for all alternatives.
 *
 * Processing times are lognormal, around 30 s (sigma 0.6) or around a line
 * through the pages (sigma 0.3), and the same ones for every alternative, which
 * is computed over them: a fixed wait, a wait that grows, waits by the median
 * of all times without a look at the pages, and for many jobs at once a client
 * that makes its calls in the order in which they fell due. Lag is the moment
 * at which the engine has the result minus the moment at which the service had
 * it. Every run gives the same numbers: times and jitter come from one seeded
 * generator.
 *
 * Usage: lag DIRECTORY (empty, for the spool)
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "daemon/engine/engine.h"
#include "tests/unit/fake_http.h"

#define JOBS 400    /* measured ones of each line */
#define WARM_UP 200 /* before those that are measured */
#define CHANGED 100 /* measured ones, after the service has changed */
#define AT_ONCE 100 /* of the outstanding line */
#define JOBS_MAX (WARM_UP + JOBS + 2 * AT_ONCE)
#define ALL_STARTED (JOBS + 2 * AT_ONCE) /* of the outstanding line */
#define MEDIAN_S 30.0 /* of documents of any number of pages */
#define SIGMA 0.6
#define PAGE_S 10.0 /* where they matter: of one page, */
#define PAGE_POWER 0.8
#define PAGE_SIGMA 0.3
#define PAGES_MOST 40
#define LATENCY_MS 50
#define RATE 8
#define RESULT "{\"results\":{\"status\":\"complete\"}}"

/* ---- processing times ---- */

static double times_ms[JOBS_MAX];
static int pages[JOBS_MAX];

/* xorshift64*: the same numbers on every machine. */
static double uniform(void)
{
  static uint64_t x = 88172645463325252ULL;

  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  return (double)((x * 2685821657736338717ULL) >> 11) / 9007199254740992.0;
}

static double normal(void)
{
  double r = sqrt(-2 * log(1 - uniform()));

  return r * cos(2 * M_PI * uniform());
}

/* From the change-th on, everything takes `factor` times as long. */
static void make_times(bool by_pages, size_t change, double factor)
{
  size_t i;

  for (i = 0; i < JOBS_MAX; i++) {
    double s;

    pages[i] = 1 + (int)(uniform() * PAGES_MOST);
    s = by_pages
            ? PAGE_S * pow(pages[i], PAGE_POWER) * exp(PAGE_SIGMA * normal())
            : MEDIAN_S * exp(SIGMA * normal());
    times_ms[i] = 1000 * s * (i >= change ? factor : 1);
  }
}

/* Linked in place of lib's own: its random numbers differ every time. */
double __wrap_dx_random_unit(void);
double __wrap_dx_random_unit(void)
{
  return uniform();
}

/* Nobody cuts the power here, and a thousand journals take long to sync. */
int fsync(int fd)
{
  return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

/* ---- clocks ---- */

static int64_t now_ms = 1000000;

static int64_t boot_ms(void)
{
  return now_ms;
}

static int64_t wall_ms(void)
{
  return 1700000000000 + now_ms;
}

/* ---- the service, as a transport ---- */

struct pending {
  struct dx_http_request request;
  char what;       /* 'C'reate, 'P'ut, 'S'ource, 'E'xtract */
  size_t number;   /* of the source */
  int64_t ends_ms; /* its response comes then */
  bool used;
};

static struct pending pending[256];
static int64_t ready_ms[JOBS_MAX]; /* 0: not uploaded */
static int64_t lag_ms[JOBS_MAX];
static int calls[JOBS_MAX];    /* for the source and for its result */
static size_t order[JOBS_MAX]; /* the numbers, as their results came */
static size_t result_count;
static size_t sources;

static void die(const char *what)
{
  fprintf(stderr, "lag: %s\n", what);
  exit(EXIT_FAILURE);
}

/* The number behind the last "/S" of a path, or behind "/C" of a case. */
static size_t number_in(const char *url)
{
  const char *p = strpbrk(strrchr(url, '-'), "0123456789");

  return (size_t)strtoul(p, NULL, 10);
}

enum dx_code __wrap_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *r,
                                  struct dx_http_call **ret, struct dx_err *err)
{
  struct pending *p = pending;

  (void)http;
  (void)err;
  while (p->used)
    p++;
  memset(p, 0, sizeof(*p));
  p->used = true;
  p->request = *r;
  p->ends_ms = now_ms + LATENCY_MS;
  if (strcmp(r->method, "POST") == 0) {
    p->what = 'C';
    p->number = sources++;
  } else {
    p->what = strcmp(r->method, "PUT") == 0        ? 'P'
              : strstr(r->url, "/extract") != NULL ? 'E'
                                                   : 'S';
    p->number = number_in(r->url);
  }
  *ret = (struct dx_http_call *)(void *)p;
  return DX_OK;
}

void __wrap_dx_http_cancel(struct dx_http_call **call)
{
  ((struct pending *)(void *)*call)->used = false;
  *call = NULL;
}

static void fill_body(struct pending *p, char *body, size_t size)
{
  size_t n = p->number;

  switch (p->what) {
  case 'C':
    (void)snprintf(body, size,
                   "{\"results\":{\"id\":\"S-%zu\",\"upload_urls\":[{"
                   "\"url\":\"https://s.example/o-%zu\"}]}}",
                   n, n);
    break;
  case 'P':
    ready_ms[n] = now_ms + (int64_t)times_ms[n];
    break;
  case 'S':
    calls[n]++;
    (void)snprintf(body, size,
                   now_ms < ready_ms[n]
                       ? "{\"results\":{\"status\":\"processing\"}}"
                       : "{\"results\":{\"status\":\"complete\","
                         "\"case_ids\":[\"C-%zu\"]}}",
                   n);
    break;
  default:
    calls[n]++;
    lag_ms[n] = now_ms - ready_ms[n];
    order[result_count++] = n;
    if (p->request.sink(p->request.ctx, RESULT, strlen(RESULT), NULL) != DX_OK)
      die("cannot take a result");
    break;
  }
}

static void response(struct pending *p)
{
  struct dx_http_request r = p->request;
  struct dx_http_response a;
  char body[256] = "";

  memset(&a, 0, sizeof(a));
  fill_body(p, body, sizeof(body));
  p->used = false;
  a.status = 200;
  a.body = body;
  a.body_len = strlen(body);
  a.date_ms = wall_ms();
  a.retry_after_ms = -1;
  a.was_sent = true;
  a.sent_bytes = r.body_fd >= 0 ? r.body_bytes : 0;
  r.done(r.ctx, &a);
}

/* The response that comes first; NULL if none is under way. */
static struct pending *first_pending(void)
{
  struct pending *best = NULL;
  size_t i;

  for (i = 0; i < sizeof(pending) / sizeof(pending[0]); i++)
    if (pending[i].used && (best == NULL || pending[i].ends_ms < best->ends_ms))
      best = &pending[i];
  return best;
}

enum dx_code __wrap_dx_http_run(struct dx_http *http, int64_t timeout_ms,
                                const int *wake, size_t wake_count,
                                struct dx_err *err)
{
  struct pending *p = first_pending();

  (void)http;
  (void)wake;
  (void)wake_count;
  (void)err;
  if (p == NULL || p->ends_ms > now_ms + timeout_ms) {
    now_ms += timeout_ms;
    return DX_OK;
  }
  if (p->ends_ms > now_ms)
    now_ms = p->ends_ms;
  response(p);
  return DX_OK;
}

/* ---- jobs ---- */

static struct dx_spool spool;
static size_t ended;

static struct dx_job *new_job(size_t number)
{
  struct dx_job *job = NULL;
  struct dx_entry *e;
  struct dx_err err;
  char file[DX_FILE_NAME_BYTES];

  if (dx_spool_receive(&spool, &job, &err) != DX_OK)
    die(err.text);
  job->documents = calloc(1, sizeof(*job->documents));
  job->service = strdup("default");
  job->base_url = strdup("https://a.example");
  if (job->documents == NULL || job->service == NULL || job->base_url == NULL)
    die("out of memory");
  job->document_count = 1;
  job->documents[0].is_here = true;
  e = &job->documents[0].entry;
  (void)strcpy(e->type, "application/pdf");
  (void)strcpy(e->origin, "application/pdf");
  (void)strcpy(e->name, "chart.pdf");
  e->pages = pages[number];
  e->length = 3;
  dx_sha256_of("PDF", 3, e->sha256);
  (void)snprintf(job->key, sizeof(job->key), "%032zx", number);
  dx_document_file(0, file);
  if (dx_fs_write(job->dirfd, file, "PDF", 3, 0600, true, &err) != DX_OK ||
      dx_job_plan(job, &err) != DX_OK ||
      dx_spool_commit(&spool, job, &err) != DX_OK)
    die(err.text);
  return job;
}

static void release(struct dx_job *job)
{
  struct dx_drive *drive = job->drive;

  dx_job_free(&job);
  free(drive);
  ended++;
}

static struct dx_engine *new_engine(const struct dx_config *config)
{
  struct dx_engine *engine = dx_engine_new(config, &spool, NULL, -1);

  if (engine == NULL)
    die("out of memory");
  return engine;
}

/* No print job is canceled here. */
static int64_t turn(struct dx_engine *engine)
{
  int64_t next_ms = dx_engine_turn(engine);
  struct dx_news news;
  struct dx_job *job;
  struct dx_err err;

  while ((job = dx_engine_news(engine, &news)) != NULL) {
    if (news.asks) {
      job->drive->permit =
          (struct dx_permit){.until_ms = INT64_MAX, .stands = true};
      dx_engine_wake(job);
      next_ms = 0;
    }
    if (news.ended && dx_job_outcome(job, &err) != DX_OK)
      die(err.text);
    if (news.released)
      release(job);
  }
  return next_ms;
}

static void add_job(struct dx_engine *engine, size_t number)
{
  struct dx_drive *drive = calloc(1, sizeof(*drive));
  struct dx_err err;

  if (drive == NULL)
    die("out of memory");
  if (dx_engine_add(engine, drive, new_job(number), &err) != DX_OK)
    die(err.text);
}

/* Until that many have ended in total. */
static void drive(struct dx_engine *engine, size_t until)
{
  struct dx_err err;

  while (ended < until) {
    int64_t wait_ms = turn(engine) - dx_monotonic_ms();

    wait_ms = wait_ms < 0 ? 0 : wait_ms < 60000 ? wait_ms : 60000;
    if (dx_http_run(NULL, wait_ms, NULL, 0, &err) != DX_OK)
      die(err.text);
  }
}

/* ---- lines ---- */

struct figures {
  double lag_s, part, calls; /* part: of the processing time */
};

/* Of `count` jobs, from the one whose result came as the from-th on. */
static struct figures mean(size_t from, size_t count)
{
  struct figures f = {0, 0, 0};
  double t = 0;
  size_t i;

  for (i = from; i < from + count; i++) {
    f.lag_s += (double)lag_ms[order[i]] / 1000;
    t += times_ms[order[i]] / 1000;
    f.calls += calls[order[i]];
  }
  f.part = f.lag_s / t;
  f.lag_s /= (double)count;
  f.calls /= (double)count;
  return f;
}

/* What a client would see if it asked after `first`, then waited `factor` times
 * as long each time, and fetched the result at once. */
static struct figures schedule(size_t from, size_t count, double first,
                               double factor)
{
  struct figures f = {0, 0, 0};
  double total = 0;
  size_t i;

  for (i = from; i < from + count; i++) {
    double at = 0, wait = first;

    do {
      at += wait + LATENCY_MS;
      wait *= factor;
      f.calls++;
    } while (at < times_ms[i]);
    f.calls++;
    f.lag_s += (at + LATENCY_MS - times_ms[i]) / 1000;
    total += times_ms[i] / 1000;
  }
  f.part = f.lag_s / total;
  f.lag_s /= (double)count;
  f.calls /= (double)count;
  return f;
}

/* ---- by the median alone ---- */

/* A first poll at 0.45 of the median, then one every 0.14 of it; the median is
 * learned with a weight of a tenth. */
struct median {
  double ms;
  int64_t seen;
};

static double limited(double value, double least, double most)
{
  return fmin(fmax(value, least), most);
}

static double median_wait(const struct median *m, double age, double last)
{
  double step = limited(0.14 * m->ms, 1000, 20000);

  if (m->seen < 5)
    return last <= 0 ? 2000 : fmin(last * 1.25, age > 300000 ? 60000 : 15000);
  if (last <= 0)
    return fmax(2000, 0.45 * m->ms);
  return age > 2.5 * m->ms ? fmin(fmax(last, step) * 1.25, 60000) : step;
}

static void median_learn(struct median *m, double low, double high)
{
  double mean = log(fmax(m->ms, 1));
  double target = limited(mean, log(fmax(low, 1)), log(high));

  if (low <= 0)
    target = (m->seen > 0 ? fmin(mean, log(high)) : log(high)) - 0.1;
  else if (high / low <= 1.6 || m->seen == 0)
    target = (log(low) + log(high)) / 2;
  m->ms = exp(mean + fmax(0.1, 1.0 / (double)(m->seen + 1)) * (target - mean));
  m->seen++;
}

static struct figures by_median(size_t from, size_t count, bool is_cold)
{
  struct figures f = {0, 0, 0};
  struct median m = {0, 0};
  double total = 0;
  size_t i;

  for (i = 0; i < from + count; i++) {
    double at = 0, wait = 0, low = 0;
    bool is_measured = i >= from;

    if (is_cold)
      m.seen = 0;
    do {
      low = at;
      wait = median_wait(&m, at, wait) * (0.95 + 0.1 * uniform());
      at += wait + LATENCY_MS;
      f.calls += is_measured;
    } while (at < times_ms[i]);
    median_learn(&m, low, at);
    f.calls += is_measured;
    f.lag_s += is_measured ? (at + LATENCY_MS - times_ms[i]) / 1000 : 0;
    total += is_measured ? times_ms[i] / 1000 : 0;
  }
  f.part = f.lag_s / total;
  f.lag_s /= (double)count;
  f.calls /= (double)count;
  return f;
}

/* For lag.sh: what, unit, ours, theirs, the alternative, the aim (0: none). */
static void print_row(const char *name, const char *what, const char *unit,
                      double ours, double theirs, const char *alternative,
                      double aim)
{
  printf("%s, %s\t%s\t%.3f\t%.3f\t%s\t", name, what, unit, ours, theirs,
         alternative);
  printf(aim > 0 ? "%.3g\n" : "\n", aim);
}

struct scenario {
  const char *name;
  bool by_pages;              /* processing times grow with them */
  bool is_cold;               /* nothing is ever learned */
  double factor;              /* from the first measured one on */
  size_t count;               /* measured ones */
  double aim_part, aim_calls; /* 0: none */
};

/* "Plain" times do not depend on the pages. */
static const struct scenario scenarios[] = {
    {"by pages", true, false, 1, JOBS, 0.05, 5},
    {"plain", false, false, 1, JOBS, 0.08, 7},
    {"by pages, cold", true, true, 1, JOBS, 0, 0},
    {"plain, cold", false, true, 1, JOBS, 0.16, 8},
    {"by pages, T x 0.3", true, false, 0.3, CHANGED, 0, 0},
    {"by pages, T x 3", true, false, 3, CHANGED, 0, 0},
    {"plain, T x 0.3", false, false, 0.3, CHANGED, 0, 0},
    {"plain, T x 3", false, false, 3, CHANGED, 0, 0},
};

static void print_lag(const struct scenario *s)
{
  const struct {
    const char *name;
    struct figures figures;
  } others[] = {
      {"every 5 s", schedule(WARM_UP, s->count, 5000, 1)},
      {"1 s, 1.5 times longer each", schedule(WARM_UP, s->count, 1000, 1.5)},
      {"by the median alone", by_median(WARM_UP, s->count, s->is_cold)}};
  struct figures ours = mean(WARM_UP, s->count);
  size_t i;

  for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
    print_row(s->name, "lag by time", "%", ours.part * 100,
              others[i].figures.part * 100, others[i].name, s->aim_part * 100);
    print_row(s->name, "calls a job", "n", ours.calls, others[i].figures.calls,
              others[i].name, s->aim_calls);
  }
}

static void begin(void)
{
  memset(calls, 0, sizeof(calls));
  memset(ready_ms, 0, sizeof(ready_ms));
  sources = 0;
  result_count = 0;
  ended = 0;
}

/* What the last engine has learned: without it there was nothing to measure. */
static void forget_times(void)
{
  if (unlinkat(spool.history_dirfd, "a-example_443_times", 0) < 0)
    die("cannot remove the file of times");
}

static void clear_jobs(const char *path)
{
  struct dx_err err;

  dx_spool_close(&spool);
  if (dx_fs_remove_tree(AT_FDCWD, path, &err) != DX_OK ||
      mkdir(path, 0700) < 0 || dx_spool_open(path, &spool, &err) != DX_OK)
    die("cannot empty the directory");
}

static void one_by_one(const struct scenario *s, const struct dx_config *config)
{
  size_t i;

  begin();
  make_times(s->by_pages, WARM_UP, s->factor);
  for (i = 0; i < WARM_UP + s->count; i++) {
    struct dx_engine *engine = new_engine(config);

    add_job(engine, i);
    drive(engine, i + 1);
    dx_engine_free(&engine);
    if (s->is_cold)
      forget_times();
  }
  print_lag(s);
}

/* ---- many at once ---- */

/* A client that calls in the order in which calls fell due, every 5 s a job,
 * at the same rate. Our rate limit is written again here on purpose, as simple
 * as in such clients. */
static void naive(double *ret_lag_s, double *ret_jobs_s)
{
  static double due[AT_ONCE], ready[AT_ONCE];
  static int step[AT_ONCE]; /* 0: register, 1: ask, 2: fetch */
  static size_t number[AT_ONCE];
  double now = 0, lag = 0, began = 0;
  size_t i, next = AT_ONCE, done = 0;

  for (i = 0; i < AT_ONCE; i++)
    number[i] = i;
  while (done < AT_ONCE + JOBS) {
    size_t best = 0;

    for (i = 1; i < AT_ONCE; i++)
      if (due[i] < due[best])
        best = i;
    now = fmax(now + 1000.0 / RATE, due[best]);
    if (step[best] == 0) {
      ready[best] = now + times_ms[number[best] % JOBS_MAX];
      step[best] = 1;
      due[best] = now + 5000;
    } else if (step[best] == 1) {
      step[best] = now >= ready[best] ? 2 : 1;
      due[best] = now >= ready[best] ? now : now + 5000;
    } else {
      if (done++ == AT_ONCE)
        began = now;
      if (done > AT_ONCE)
        lag += now - ready[best];
      step[best] = 0;
      number[best] = next++;
      due[best] = now;
    }
  }
  *ret_lag_s = lag / JOBS / 1000;
  *ret_jobs_s = JOBS / (now - began) * 1000;
}

static void outstanding(const struct dx_config *config)
{
  struct dx_engine *engine = new_engine(config);
  double naive_lag, naive_jobs;
  int64_t began = now_ms, took;
  struct figures ours;
  size_t i;

  begin();
  for (i = 0; i < AT_ONCE; i++)
    add_job(engine, i);
  for (; i < ALL_STARTED; i++) { /* AT_ONCE of them all the time */
    if (i == 2 * AT_ONCE)
      began = now_ms;
    drive(engine, i - AT_ONCE + 1);
    add_job(engine, i);
  }
  took = now_ms - began;
  ours = mean(AT_ONCE, JOBS);
  naive(&naive_lag, &naive_jobs);
  print_row("100 at once", "lag", "s", ours.lag_s, naive_lag,
            "in the order of falling due", 13);
  print_row("100 at once", "time a job", "s", (double)took / 1000 / JOBS,
            1 / naive_jobs, "in the order of falling due", 1 / 1.9);
  dx_engine_free(&engine);
}

int main(int argc, char **argv)
{
  static const struct dx_clock simulated = {boot_ms, wall_ms};
  static char name[] = "default", url[] = "https://a.example",
              host[] = "a.example";
  struct dx_service service = {.name = name, .base_url = url, .host = host};
  struct dx_config config = {0};
  char token[512], results[512];
  struct dx_err err;
  size_t i;
  int fd;

  if (argc != 2)
    die("usage: lag DIRECTORY");
  dx_clock_use(&simulated);
  (void)snprintf(results, sizeof(results), "%s.results", argv[1]);
  (void)snprintf(token, sizeof(token), "%s.token", argv[1]);
  if (mkdir(results, 0700) < 0 || dx_spool_open(argv[1], &spool, &err) != DX_OK)
    die("cannot use the directory");
  fd = open(token, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, "TOKEN\n", 6) != 6 || close(fd) < 0)
    die("cannot write the token");
  service.port = 443;
  service.api_rate = RATE;
  service.token = DX_TOKEN_FILE;
  service.token_file = token;
  service.results_dir = results;
  service.processing_limit_ms = 86400000;
  service.max_result_bytes = 1048576;
  config.services = &service;
  config.service_count = 1;
  for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
    one_by_one(&scenarios[i], &config);
    clear_jobs(argv[1]);
  }
  make_times(false, 0, 1);
  outstanding(&config);
  dx_spool_close(&spool);
  return EXIT_SUCCESS;
}
