/*
 * outages.c - what the engine does while the service, the network, or the
 * storage fails, and after that: the real engine (tests/unit/engine_fixture.h)
 * with a service in memory and a clock that is set ahead, so that days take
 * seconds. Prints a row for each scenario, and what is worse than the bounds of
 * doc/policy.md; then its exit status is 1.
 *
 * Each scenario begins with a good day: some charts are extracted. Then come
 * charts that are in progress when the outage begins, and those that are
 * printed while it lasts, evenly. Every run gives the same numbers.
 *
 * Usage: outages [short | all | KIND [SCOPE [LENGTH-S [CHARTS [restart]]]]]
 * Without an argument a selection that takes up to two minutes; short: one that
 * takes seconds; all: hours. KIND, or what is wrong with some charts (then
 * SCOPE is their number): only this scenario, with its calls.
 *
 * Columns: of: the calls that the outage has. From the return of the service to
 * the first call, to the first good call of the chart that comes last, and to
 * the last extraction. Lost creates of a chart, at most, and in any hour. Calls
 * of the API and uploads during the outage; calls in a minute at its end; calls
 * in any second. Charts that have ended without an extraction; that have not
 * ended after two days; that are overdue when the service returns; uploads to a
 * second source after another one was processed. Delay: with bad charts, that
 * of the others because of them; with two sections, the slowest chart of the
 * one that has no outage.
 */
#include "tests/unit/engine_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define SECOND 1000LL
#define MINUTE 60000LL
#define HOUR 3600000LL
#define QUIET_MS (10 * MINUTE) /* before the outage */
#define PROCESSING_MS (30 * SECOND)
#define ALL_PROCESSES 2 /* at the same time */
#define JOBS_MAX (FIXTURE_JOBS_MAX + 1)
#define URL_LIFE_S 900
#define PROCESSING_LIMIT_MS (30 * MINUTE) /* of the fixture */
#define WARM_UP 12 /* charts before it all: poll times are learned */
#define ROW_BYTES 65536

/* ---- the bounds ---- */

#define PROBES_MINUTE 2.1 /* with the breakers at their limit */
#define LOST_HOUR 100
#define CALLS_SECOND 9
#define DELAY_MS 1000

/* How soon everything goes on when it is over. */
enum soon { SOON, SOON_HANG, SOON_REJECTED, SOON_FAILED };

/* ---- what goes wrong ---- */

enum scope { ALL, CREATES, GETS, SECTION, STORAGE, SCOPES };
static const char *const scope_words[SCOPES] = {"all", "creates", "gets",
                                                "section", "storage"};

struct kind {
  const char *name;
  struct fixture_response response;
  bool cut;       /* the response begins, and its body is cut */
  bool on_put;    /* also uploads, if everything is concerned */
  bool failed;    /* sources end as failed; no response is odd */
  int url_life_s; /* no response is odd, but URLs live that long */
  int put_ms;     /* nor here: uploads take that long */
  enum soon soon;
};

#define NETWORK(name_, soon_, ...)                                  \
  {                                                                 \
    .name = (name_), .soon = (soon_), .on_put = true, .response = { \
      __VA_ARGS__                                                   \
    }                                                               \
  }
#define STATUS(name_, soon_, ...)                                 \
  {                                                               \
    .name = (name_), .soon = (soon_), .response = { __VA_ARGS__ } \
  }

static const struct kind kinds[] = {
    {.name = "none"},
    NETWORK("refused", SOON, .code = DX_E_NET, .not_sent = true),
    NETWORK("no route", SOON, .code = DX_E_NET, .not_sent = true,
            .took_ms = 10 * SECOND),
    NETWORK("dns", SOON, .code = DX_E_NET, .not_sent = true,
            .took_ms = 5 * SECOND),
    NETWORK("reset before", SOON, .code = DX_E_NET, .not_sent = true,
            .took_ms = 20),
    NETWORK("reset after", SOON, .code = DX_E_NET),
    NETWORK("response lost", SOON, .code = DX_E_NET, .landed = true),
    NETWORK("hang", SOON_HANG, .code = DX_E_NET, .took_ms = 60 * SECOND),
    NETWORK("hang, done", SOON_HANG, .code = DX_E_NET, .landed = true,
            .took_ms = 60 * SECOND),
    {.name = "cut body",
     .cut = true,
     .response = {.code = DX_E_NET, .landed = true}},
    NETWORK("html 200", SOON, .status = 200, .body = "<html>sign in</html>"),
    NETWORK("html 201", SOON, .status = 201, .body = "<html>sign in</html>"),
    NETWORK("empty 200", SOON, .status = 200, .body = ""),
    STATUS("bad json", SOON, .body = "{\"results\":{", .landed = true),
    NETWORK("500", SOON, .status = 500, .body = ""),
    NETWORK("502", SOON, .status = 502, .body = ""),
    STATUS("503", SOON, .status = 503, .body = ""),
    STATUS("503, after 30 s", SOON, .status = 503, .retry_after = "30"),
    STATUS("504", SOON, .status = 504, .body = ""),
    STATUS("429", SOON, .status = 429, .body = ""),
    STATUS("429, after 30 s", SOON, .status = 429, .retry_after = "30"),
    STATUS("400", SOON_REJECTED, .status = 400, .body = "{}"),
    STATUS("401", SOON_REJECTED, .status = 401, .body = "{}"),
    STATUS("402", SOON_REJECTED, .status = 402, .body = "{}"),
    STATUS("403", SOON_REJECTED, .status = 403, .body = "{}"),
    STATUS("404", SOON_REJECTED, .status = 404, .body = "{}"),
    STATUS("405", SOON_REJECTED, .status = 405, .body = "{}"),
    STATUS("407", SOON_REJECTED, .status = 407, .body = "{}"),
    STATUS("421", SOON_REJECTED, .status = 421, .body = "{}"),
    STATUS("426", SOON_REJECTED, .status = 426, .body = "{}"),
    STATUS("451", SOON_REJECTED, .status = 451, .body = "{}"),
    STATUS("302", SOON_REJECTED, .status = 302, .body = "{}"),
    STATUS("certificate", SOON_REJECTED, .code = DX_E_CERT, .not_sent = true,
           .took_ms = 20),
    {.name = "failed", .failed = true, .soon = SOON_FAILED},
    /* For the storage. */
    NETWORK("403 denied", SOON_REJECTED, .status = 403,
            .body = "<Code>AccessDenied</Code>"),
    NETWORK("403 signature", SOON_REJECTED, .status = 403,
            .body = "<Code>SignatureDoesNotMatch</Code>"),
    {.name = "URLs of 30 s", .url_life_s = 30},
    {.name = "URLs of 5 s", .url_life_s = 5},
    {.name = "URLs of 90 s, PUTs of 4 s", .url_life_s = 90, .put_ms = 4000},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* A few charts for which nothing ever works, beside others. */
enum bad { NO_BAD, BAD_REJECTED, BAD_FAILED, BAD_RESULT, BAD_STATUS, BAD_POLL };
static const char *const bad_words[] = {
    "",
    "always 400",
    "always failed",
    "result is no JSON",
    "result is not complete",
    "source is no JSON",
};

struct scenario {
  const struct kind *kind;
  enum scope scope;
  int64_t length_ms;
  int charts;
  enum bad bad;
  int bad_count;
  bool restarts; /* docextractd is restarted in the middle */
};
static struct scenario now;
static int64_t begin_ms, end_ms;
/* The run that is compared with: the bad ones are well, or, if it is their
 * results that are bad, take forever, so that as many poll times are learned.
 */
static bool without_bad;

/* ---- the service ---- */

/* Jobs after the first ones, evenly among the others. */
static bool is_bad(size_t job)
{
  size_t n = job - WARM_UP;

  return now.bad != NO_BAD && job > WARM_UP && n <= (size_t)now.bad_count;
}

static bool is_other_section(size_t job)
{
  return now.scope == SECTION && job % 2 == 0;
}

static bool take_forever(const struct fixture_call *call,
                         struct fixture_response *ret)
{
  static char body[128];

  if (now.bad == BAD_POLL && call->kind == SOURCE) {
    (void)snprintf(body, sizeof(body),
                   "{\"results\":{\"id\":\"S%zu\",\"status\":\"processing\","
                   "\"expected_file_count\":1,\"uploaded_file_count\":1}}",
                   call->source);
    *ret = (struct fixture_response){.status = 200, .body = body};
    return true;
  }
  *ret = (struct fixture_response){.status = 204, .body = ""};
  return now.bad >= BAD_RESULT && call->kind == EXTRACT;
}

static bool spoil(const struct fixture_call *call, struct fixture_response *ret)
{
  bool is_get = call->kind == SOURCE || call->kind == EXTRACT;

  if (!is_bad(call->job))
    return false;
  if (without_bad)
    return take_forever(call, ret);
  if (now.bad == BAD_REJECTED && call->kind == POST)
    *ret = (struct fixture_response){.status = 400, .body = "{}"};
  else if (now.bad == BAD_RESULT && call->kind == EXTRACT)
    *ret = (struct fixture_response){.status = 200, .body = "{\"results\":"};
  else if (now.bad == BAD_STATUS && call->kind == EXTRACT)
    *ret = (struct fixture_response){
        .status = 200, .body = "{\"results\":{\"status\":\"error\"}}"};
  else if (now.bad == BAD_POLL && is_get)
    *ret = (struct fixture_response){.status = 200, .body = "<html>"};
  else
    return false;
  return true;
}

static bool odd(const struct fixture_call *call, struct fixture_response *ret)
{
  bool is_put = call->kind == PUT, is_get = !is_put && call->kind != POST;
  const struct kind *k = now.kind;

  if (spoil(call, ret))
    return true;
  if (call->began_ms < begin_ms || call->began_ms >= end_ms || k->failed ||
      (now.scope == ALL && is_put && !k->on_put && k->put_ms == 0) ||
      (now.scope == CREATES && call->kind != POST) ||
      (now.scope == GETS && !is_get) || (now.scope == STORAGE && !is_put) ||
      (now.scope == SECTION && (is_put || !is_other_section(call->job))))
    return false;
  *ret = k->response;
  if (k->cut)
    ret->status = call->kind == POST ? 201 : 200;
  if (k->put_ms != 0 && is_put)
    *ret = (struct fixture_response){.landed = true, .took_ms = k->put_ms};
  return k->put_ms != 0 ? is_put : k->url_life_s == 0 && k != &kinds[0];
}

static bool fails(const char *name, int64_t at_ms)
{
  size_t job = strtoul(name + strlen("chart-"), NULL, 10);

  if (now.bad == BAD_FAILED && is_bad(job))
    return !without_bad;
  return now.kind->failed && at_ms >= begin_ms && at_ms < end_ms &&
         (now.scope != SECTION || is_other_section(job));
}

/* Linked in place of lib's own. Without jitter where runs are compared. */
double __wrap_dx_random_unit(void);
double __wrap_dx_random_unit(void)
{
  static unsigned short seed[3] = {1, 2, 3};

  return now.bad != NO_BAD ? 0.5 : erand48(seed);
}

/* ---- charts ---- */

static struct chart {
  int64_t added_ms;
  int64_t goes_on_ms; /* its first good call after the return; 0: none */
  bool is_waiting;    /* when the service returns */
  bool is_overdue;    /* then */
} charts[JOBS_MAX];
static int64_t took_without_ms[JOBS_MAX];

static void die(const char *what)
{
  fprintf(stderr, "outages: %s\n", what);
  exit(EXIT_FAILURE);
}

static struct dx_submission *sub_of(int job)
{
  return &fixture.jobs[job - 1]->submissions[0];
}

/* Monotonic; 0: not extracted. */
static int64_t extracted_ms(int job)
{
  int64_t at = sub_of(job)->delivered_at;

  return at != 0 ? at - dx_wall_ms() + fixture.now_ms : 0;
}

static void run_until(int64_t ms)
{
  if (fixture.ended < fixture.job_count)
    fixture_drive(ms);
  if (fixture.now_ms < ms)
    fixture.now_ms = ms;
}

static void print_chart(int64_t at_ms)
{
  struct dx_job *job;

  run_until(at_ms);
  job = fixture_job(1, false);
  if (is_other_section((size_t)fixture.job_count)) {
    free(job->service);
    job->service = strdup("other");
  }
  charts[fixture.job_count] = (struct chart){.added_ms = fixture.now_ms};
  fixture_add(job);
}

static int early_charts(void)
{
  return now.charts >= 1000 ? 20 : now.charts >= 20 ? 5 : now.charts / 2;
}

static void play(void)
{
  int64_t length_ms = end_ms - begin_ms, limit_ms;
  int i, early = early_charts(), late = now.charts - early;

  fixture_begin();
  for (i = 0; i < WARM_UP; i++)
    print_chart(begin_ms - QUIET_MS + i * 10 * SECOND);
  for (i = 0; i < early; i++)
    print_chart(begin_ms - 40 * SECOND + i * 40 * SECOND / early);
  for (i = 0; i < late; i++) {
    int64_t at = begin_ms + (2 * i + 1) * length_ms / (2 * late);

    if (now.restarts && at >= begin_ms + length_ms / 2 &&
        fixture.now_ms < begin_ms + length_ms / 2) {
      run_until(begin_ms + length_ms / 2);
      fixture_restart();
    }
    print_chart(at);
  }
  run_until(end_ms);
  for (i = 1; i <= fixture.job_count; i++) {
    charts[i].is_waiting = !dx_state_is_final(sub_of(i)->state);
    charts[i].is_overdue = charts[i].is_waiting && sub_of(i)->overdue;
  }
  limit_ms = end_ms + 2 * FIXTURE_DAY_MS;
  while (fixture.ended < fixture.job_count && fixture.now_ms < limit_ms)
    fixture_drive(fixture.now_ms + HOUR);
}

/* ---- figures ---- */

struct figures {
  int64_t first_ms, goes_on_ms, extracted_ms; /* after the return; -1: never */
  int64_t other_ms;    /* the slowest chart of the other section */
  int64_t delay_ms;    /* the largest one of others because of bad ones */
  int64_t lost_most;   /* creates of a chart */
  int lost_hour;       /* in any hour */
  int calls, puts;     /* during the outage */
  double calls_minute; /* at its end; < 0: it is too short to tell */
  int creates_most;    /* of a chart */
  int second_most;     /* calls in any second */
  int person, stuck, overdue, twice;
};

/* In the order in which they began. */
static int64_t times[FIXTURE_CALLS_MAX];

static int compare_times(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

  return (x > y) - (x < y);
}

/* The most of those times within a window. */
static int most_within(size_t count, int64_t window_ms)
{
  size_t i, from = 0, most = 0;

  qsort(times, count, sizeof(times[0]), compare_times);
  for (i = 0; i < count; i++) {
    while (times[i] - times[from] >= window_ms)
      from++;
    most = i - from + 1 > most ? i - from + 1 : most;
  }
  return (int)most;
}

static bool is_lost(const struct fixture_call *call)
{
  return call->kind == POST && call->is_odd && call->was_sent &&
         (call->status < 300 || now.kind->cut);
}

static int most_calls_in_a_second(void)
{
  size_t i, n = 0;

  for (i = 0; i < fixture.call_count; i++)
    if (fixture.calls[i].kind != PUT)
      times[n++] = fixture.calls[i].began_ms;
  return most_within(n, SECOND);
}

static int most_lost_in_an_hour(void)
{
  size_t i, n = 0;

  for (i = 0; i < fixture.call_count; i++)
    if (is_lost(&fixture.calls[i]))
      times[n++] = fixture.calls[i].began_ms;
  return most_within(n, HOUR);
}

static void count_calls(struct figures *f)
{
  int64_t length_ms = end_ms - begin_ms;
  int64_t part_ms = now.restarts ? length_ms / 4 : length_ms / 2;
  int64_t last_ms = part_ms < HOUR ? part_ms : HOUR;
  static int creates[JOBS_MAX];
  size_t i;
  int n = 0;

  memset(creates, 0, sizeof(creates));
  f->first_ms = -1;
  for (i = 0; i < fixture.call_count; i++) {
    const struct fixture_call *c = &fixture.calls[i];
    bool is_in = c->began_ms >= begin_ms && c->began_ms < end_ms;
    bool is_good = !c->is_odd && c->status >= 200 && c->status < 300;

    f->calls += is_in && c->kind != PUT;
    f->puts += is_in && c->kind == PUT;
    n +=
        is_in && c->is_odd && c->kind != PUT && c->began_ms >= end_ms - last_ms;
    if (c->kind == POST && ++creates[c->job] > f->creates_most)
      f->creates_most = creates[c->job];
    if (c->began_ms < end_ms || !charts[c->job].is_waiting)
      continue;
    if (now.scope == SECTION && !is_other_section(c->job))
      continue;
    if (f->first_ms < 0)
      f->first_ms = c->began_ms - end_ms;
    if (is_good && charts[c->job].goes_on_ms == 0)
      charts[c->job].goes_on_ms = c->began_ms;
  }
  f->calls_minute =
      length_ms >= 20 * MINUTE ? (double)n * MINUTE / (double)last_ms : -1;
}

static void count_chart(struct figures *f, int job)
{
  const struct dx_submission *sub = sub_of(job);
  const struct chart *c = &charts[job];
  int64_t done = extracted_ms(job), took = done - c->added_ms;
  bool is_concerned = now.scope != SECTION || is_other_section((size_t)job);

  f->person += dx_state_is_final(sub->state) && sub->state != DX_ST_EXTRACTED;
  f->stuck += !dx_state_is_final(sub->state);
  f->overdue += c->is_overdue;
  if (sub->lost_creates > f->lost_most)
    f->lost_most = sub->lost_creates;
  if (is_bad((size_t)job) || done == 0)
    return;
  if (!is_concerned && took > f->other_ms)
    f->other_ms = took;
  if (!without_bad && now.bad != NO_BAD && job > WARM_UP + now.bad_count &&
      took - took_without_ms[job] > f->delay_ms)
    f->delay_ms = took - took_without_ms[job];
  if (!c->is_waiting || !is_concerned)
    return;
  if (c->goes_on_ms - end_ms > f->goes_on_ms)
    f->goes_on_ms = c->goes_on_ms - end_ms;
  if (done - end_ms > f->extracted_ms)
    f->extracted_ms = done - end_ms;
}

static void count_all(struct figures *f)
{
  int i;

  *f = (struct figures){0};
  count_calls(f);
  for (i = 1; i <= fixture.job_count; i++)
    count_chart(f, i);
  f->second_most = most_calls_in_a_second();
  f->lost_hour = most_lost_in_an_hour();
  f->twice = fixture.second_uploads;
}

/* ---- rows ---- */

static const char *time_text(int64_t ms, char text[16])
{
  if (ms < 0)
    (void)strcpy(text, "never");
  else if (ms < 600 * SECOND)
    (void)snprintf(text, 16, "%.1f s", (double)ms / SECOND);
  else if (ms < 10 * HOUR)
    (void)snprintf(text, 16, "%.1f min", (double)ms / MINUTE);
  else
    (void)snprintf(text, 16, "%.1f h", (double)ms / HOUR);
  return text;
}

static const char *length_text(char text[16])
{
  int64_t s = now.length_ms / SECOND;

  if (s < 120)
    (void)snprintf(text, 16, "%d s", (int)s);
  else if (s < 7200)
    (void)snprintf(text, 16, "%d min", (int)(s / 60));
  else
    (void)snprintf(text, 16, "%d h", (int)(s / 3600));
  return text;
}

static void print_heading(void)
{
  printf("%-24s %-8s %7s %6s %8s %9s %9s %6s %6s %6s %6s %6s %3s %6s %5s %7s "
         "%5s %9s\n",
         "outage", "of", "length", "charts", "1st call", "all go on",
         "extracted", "lost/c", "lost/h", "calls", "PUTs", "c./min", "max",
         "person", "stuck", "overdue", "twice", "delay");
}

static void print_row(const struct figures *f)
{
  char t[5][16], name[40], minute[16] = "-", delay[16] = "-";

  (void)snprintf(name, sizeof(name), "%s%s",
                 now.bad != NO_BAD ? bad_words[now.bad] : now.kind->name,
                 now.restarts ? ", restart" : "");
  if (f->calls_minute >= 0)
    (void)snprintf(minute, sizeof(minute), "%.1f", f->calls_minute);
  if (now.bad != NO_BAD || now.scope == SECTION)
    (void)time_text(now.bad != NO_BAD ? f->delay_ms : f->other_ms, delay);
  (void)snprintf(t[4], sizeof(t[4]), "%d of", now.bad_count);
  printf("%-24s %-8s %7s %6d %8s %9s %9s %6d %6d %6d %6d %6s %3d %6d %5d %7d "
         "%5d %9s",
         name, now.bad != NO_BAD ? t[4] : scope_words[now.scope],
         length_text(t[0]), now.charts, time_text(f->first_ms, t[1]),
         time_text(f->goes_on_ms, t[2]), time_text(f->extracted_ms, t[3]),
         (int)f->lost_most, f->lost_hour, f->calls, f->puts, minute,
         f->second_most, f->person, f->stuck, f->overdue, f->twice, delay);
}

/* An answer to a GET that concerns its source or case only: each submission has
 * a backoff of its own, of at most 60 s, and the time counts towards
 * ProcessingLimit (doc/policy.md, "Classes"). */
static bool is_bad_result(const struct kind *kind)
{
  int status = kind->response.status;

  return now.scope != CREATES && now.scope != STORAGE && !kind->cut &&
         kind->response.code == DX_OK && !kind->failed && kind->put_ms == 0 &&
         kind->url_life_s == 0 && kind != &kinds[0] &&
         (status < 300 || status == 400 || status == 402 || status == 407 ||
          status == 421 || status == 426 || status == 451);
}

/* The storage confirms uploads, and has no file. If this lasts longer than the
 * URL is valid, nothing is registered again before `docextract retry`, because
 * the service may process the file later (doc/policy.md, "Exactly once"). */
static bool needs_retry(void)
{
  return now.scope == STORAGE && strcmp(now.kind->name, "empty 200") == 0 &&
         now.length_ms > URL_LIFE_S * SECOND;
}

/* When all must go on; many charts take their time, at 8 calls a second. */
static int64_t bound_ms(void)
{
  static const int64_t bounds[] = {70 * SECOND, 130 * SECOND, 600 * SECOND};
  int64_t wait_ms = now.length_ms, many_ms = now.charts * 650LL;
  int64_t bound = bounds[0];

  if (now.kind->soon == SOON_FAILED) { /* "Who is to blame" */
    if (wait_ms < 10 * MINUTE)         /* the first wait of one at a time */
      wait_ms = 10 * MINUTE;
    return (wait_ms < 4 * HOUR ? wait_ms : 4 * HOUR) + 130 * SECOND + many_ms;
  }
  bound = bounds[now.kind->soon];
  /* Overdue: polled after a tenth of its age, at most an hour ("Classes"). */
  if (is_bad_result(now.kind) && now.length_ms > PROCESSING_LIMIT_MS) {
    wait_ms = (now.length_ms + MINUTE) / 10;
    bound = wait_ms < HOUR ? wait_ms : HOUR;
  }
  /* Two checks, and the wait before registering again, up to 10 min ("Exactly
   * once"). */
  if (now.scope == STORAGE && now.length_ms > URL_LIFE_S * SECOND)
    bound = 600 * SECOND + 120 * SECOND;
  return bound + many_ms;
}

/* Calls of the API in a minute, at the end of the outage. */
static double bound_of_calls(void)
{
  int polled = now.scope == GETS ? now.charts : early_charts();

  return PROBES_MINUTE + (is_bad_result(now.kind) ? 2 * polled : 0);
}

/* The slowest chart of the section that has no outage. A Retry-After is a pause
 * of the host, so that each of its three calls may wait for one ("Classes").
 * Other outages do not delay it. */
static int64_t other_bound_ms(void)
{
  bool pauses = now.kind->response.retry_after != NULL ||
                now.kind->response.status == 429;

  return PROCESSING_MS + (pauses ? 130 * SECOND : 20 * SECOND) +
         now.charts * 650LL;
}

/* The largest delay of other charts because of bad ones: not at all, unless the
 * first two are rejected one after the other; then the section pauses once
 * ("Problems that need an administrator"). */
static int64_t delay_bound_ms(void)
{
  switch (now.bad) {
  case BAD_REJECTED:
    return 60 * SECOND;
  case BAD_FAILED:
    return 10 * SECOND;
  default:
    return DELAY_MS;
  }
}

static int broken;

static void must(bool holds, const char *what)
{
  if (holds)
    return;
  printf("%s%s", broken++ == 0 ? "  BROKEN: " : ", ", what);
}

static void judge(const struct figures *f)
{
  bool may_end = now.bad == BAD_REJECTED || now.bad == BAD_FAILED;
  int unfinished = f->person + f->stuck;

  must(f->goes_on_ms <= bound_ms(), "goes on late");
  must(f->extracted_ms <= bound_ms() + 8 * MINUTE, "extracted late");
  must(now.bad != NO_BAD || f->calls_minute <= bound_of_calls(),
       "too many probes");
  must(f->lost_hour <= LOST_HOUR, "too many lost creates");
  must(f->second_most <= CALLS_SECOND, "too many calls in a second");
  must(f->person <= (may_end ? now.bad_count : 0), "needs a person");
  must(needs_retry() ? f->stuck <= now.charts
                     : f->stuck <= (now.bad != NO_BAD ? now.bad_count : 0),
       "stuck");
  must(needs_retry() || unfinished == (now.bad != NO_BAD ? now.bad_count : 0),
       "not all ended as they should");
  must(f->overdue == 0 || now.bad != NO_BAD || is_bad_result(now.kind),
       "overdue because of the outage");
  must(f->twice == 0, "uploaded twice");
  must(now.scope != SECTION || f->other_ms <= other_bound_ms(),
       "the other section waited");
  must(f->delay_ms <= delay_bound_ms(), "others waited");
  must(now.kind->put_ms == 0 || f->creates_most <= 2, "too many creates");
  printf("\n");
}

static void print_calls(void)
{
  static const char *const words[] = {"create", "PUT", "source", "extract"};
  size_t i;
  int n = 0;

  for (i = 0; i < fixture.call_count; i++) {
    const struct fixture_call *c = &fixture.calls[i];

    if (c->began_ms < begin_ms - SECOND)
      continue;
    if (++n > 400 && c->began_ms < end_ms - 5 * MINUTE)
      continue;
    if (c->began_ms > end_ms + HOUR)
      break;
    printf("  %9.2f %9.2f  chart %zu, source %zu: %s %d%s\n",
           (double)(c->began_ms - begin_ms) / SECOND,
           (double)(c->began_ms - end_ms) / SECOND, c->job, c->source,
           words[c->kind], c->status, c->is_odd ? " odd" : "");
  }
  for (i = 1; i <= (size_t)fixture.job_count; i++)
    printf("  chart %zu: %s, added %.1f, took %.1f, %s; %s\n", i,
           dx_state_word(sub_of((int)i)->state),
           (double)(charts[i].added_ms - begin_ms) / SECOND,
           (double)(extracted_ms((int)i) - charts[i].added_ms) / SECOND,
           dx_line(sub_of((int)i)->reason),
           dx_line(sub_of((int)i)->problem.text));
}

/* ---- running them ---- */

static void open_fixture(void)
{
  if (fixture_open(NULL) != 0)
    die("cannot open the fixture");
  memset(charts, 0, sizeof(charts));
  fixture.service_count = now.scope == SECTION ? 2 : 1;
  fixture.processing_ms = PROCESSING_MS;
  fixture.starting_ms = 2 * SECOND;
  fixture.visible_ms = 100;
  fixture.url_life_s =
      now.kind->url_life_s != 0 ? now.kind->url_life_s : URL_LIFE_S;
  fixture.odd = odd;
  fixture.fails = fails;
  begin_ms = FIXTURE_BEGIN_MS + QUIET_MS + SECOND;
  end_ms = begin_ms + now.length_ms;
}

/* Returns the exit status. */
static int run(const struct scenario *scenario, bool shows_calls)
{
  struct figures f;
  int i;

  now = *scenario;
  if (now.bad != NO_BAD) {
    without_bad = true;
    open_fixture();
    play();
    for (i = 1; i <= fixture.job_count; i++)
      took_without_ms[i] = extracted_ms(i) - charts[i].added_ms;
    (void)fixture_close(NULL);
    without_bad = false;
  }
  open_fixture();
  play();
  count_all(&f);
  print_row(&f);
  judge(&f);
  if (shows_calls)
    print_calls();
  (void)fixture_close(NULL);
  return broken > 0;
}

static struct process {
  pid_t pid;
  int fd;
} processes[ALL_PROCESSES];
static size_t started, finished;
static int bad_rows;

/* Prints what the oldest process has printed. */
static void finish_one(void)
{
  struct process *p = &processes[finished++ % ALL_PROCESSES];
  static char text[ROW_BYTES];
  ssize_t n;
  int status;

  while ((n = read(p->fd, text, sizeof(text))) > 0)
    (void)fwrite(text, 1, (size_t)n, stdout);
  (void)fflush(stdout);
  (void)close(p->fd);
  if (waitpid(p->pid, &status, 0) < 0 || !WIFEXITED(status) ||
      WEXITSTATUS(status) > 1)
    printf("  BROKEN: the scenario has ended early\n");
  bad_rows += status != 0;
}

/* In a process of its own: a broken invariant of the fixture ends it. */
static void start(const struct scenario *s)
{
  struct process *p;
  int fds[2];

  if (started - finished == ALL_PROCESSES)
    finish_one();
  p = &processes[started++ % ALL_PROCESSES];
  if (pipe(fds) < 0)
    die("cannot make a pipe");
  (void)fflush(stdout);
  p->fd = fds[0];
  p->pid = fork();
  if (p->pid < 0)
    die("cannot start a process");
  if (p->pid > 0) {
    (void)close(fds[1]);
    return;
  }
  if (dup2(fds[1], STDOUT_FILENO) < 0 || dup2(fds[1], STDERR_FILENO) < 0)
    die("cannot use the pipe");
  exit(run(s, false));
}

/* ---- which ones ---- */

static const struct kind *kind_named(const char *name)
{
  size_t i;

  for (i = 0; i < KINDS; i++)
    if (strcmp(kinds[i].name, name) == 0)
      return &kinds[i];
  die("there is no such kind of outage");
  return NULL;
}

static void outage(const char *name, enum scope scope, int64_t length_ms,
                   int count)
{
  start(&(struct scenario){.kind = kind_named(name),
                           .scope = scope,
                           .length_ms = length_ms,
                           .charts = count});
}

/* Every kind of outage that has all calls, or those of one kind. */
static void every_kind(enum scope scope, int64_t length_ms, int count)
{
  size_t i;

  for (i = 0; i < KINDS && strcmp(kinds[i].name, "403 denied") != 0; i++)
    if (!kinds[i].failed || scope == ALL || scope == SECTION)
      outage(kinds[i].name, scope, length_ms, count);
}

static const char *const main_kinds[] = {
    "refused", "response lost", "hang, done", "html 200", "503, after 30 s",
    "429",     "400",           "401",        "404",      "certificate"};
#define MAIN_KINDS (sizeof(main_kinds) / sizeof(main_kinds[0]))

static void main_kinds_of(enum scope scope, int64_t length_ms, int count)
{
  size_t i;

  for (i = 0; i < MAIN_KINDS; i++)
    outage(main_kinds[i], scope, length_ms, count);
}

static void storages(int64_t length_ms, int count)
{
  static const char *const names[] = {
      "refused", "response lost", "hang, done",    "html 200",   "empty 200",
      "500",     "403 denied",    "403 signature", "certificate"};
  size_t i;

  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    outage(names[i], STORAGE, length_ms, count);
  outage("URLs of 30 s", ALL, length_ms, count);
  outage("URLs of 5 s", ALL, length_ms, count);
}

static void bad_charts(enum bad bad, int bad_count, int64_t length_ms,
                       int count)
{
  start(&(struct scenario){.kind = &kinds[0],
                           .length_ms = length_ms,
                           .charts = count,
                           .bad = bad,
                           .bad_count = bad_count});
}

static void all_bad_charts(void)
{
  enum bad bad;

  for (bad = BAD_REJECTED; bad <= BAD_POLL; bad++) {
    bad_charts(bad, 1, 2 * HOUR, 1);
    bad_charts(bad, 1, 2 * HOUR, 60);
    bad_charts(bad, 2, 2 * HOUR, 60);
    bad_charts(bad, 20, 8 * HOUR, 60);
  }
}

static void restarts(int64_t length_ms, int count)
{
  size_t i;

  for (i = 0; i < MAIN_KINDS; i++)
    start(&(struct scenario){.kind = kind_named(main_kinds[i]),
                             .length_ms = length_ms,
                             .charts = count,
                             .restarts = true});
}

static void selection(void)
{
  enum scope scope;

  every_kind(ALL, 75 * SECOND, 20);
  every_kind(ALL, 20 * MINUTE, 20);
  main_kinds_of(ALL, SECOND, 20);
  main_kinds_of(ALL, 40 * SECOND, 2);
  main_kinds_of(ALL, 75 * SECOND, 1);
  main_kinds_of(ALL, 8 * HOUR, 20);
  outage("failed", ALL, 75 * SECOND, 1);
  outage("failed", ALL, 75 * SECOND, 2);
  outage("failed", ALL, 8 * HOUR, 1);
  outage("failed", ALL, 8 * HOUR, 20);
  outage("failed", ALL, 8 * HOUR, 480);
  for (scope = CREATES; scope <= SECTION; scope++) {
    main_kinds_of(scope, 75 * SECOND, 20);
    main_kinds_of(scope, 20 * MINUTE, 20);
  }
  outage("failed", SECTION, 20 * MINUTE, 20);
  storages(75 * SECOND, 20);
  storages(20 * MINUTE, 20);
  restarts(20 * MINUTE, 20);
  all_bad_charts();
  outage("503", GETS, 8 * HOUR, 60);
  outage("401", GETS, 8 * HOUR, 60);
  outage("html 200", GETS, 8 * HOUR, 20);
  outage("500", STORAGE, 8 * HOUR, 20);
  outage("401", ALL, 72 * HOUR, 20);
  outage("URLs of 90 s, PUTs of 4 s", ALL, 20 * MINUTE, 400);
  outage("response lost", CREATES, 8 * HOUR, 1000);
  outage("hang, done", ALL, 20 * MINUTE, 1000);
  outage("html 200", GETS, 20 * MINUTE, 200);
  outage("400", CREATES, 20 * MINUTE, 1000);
}

static void everything(void)
{
  static const int64_t lengths[] = {SECOND,      40 * SECOND, 75 * SECOND,
                                    20 * MINUTE, 8 * HOUR,    72 * HOUR};
  static const int counts[] = {1, 2, 20, 1000};
  enum scope scope;
  size_t i, k;

  for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
    for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
      for (scope = ALL; scope <= SECTION; scope++)
        if (counts[k] < 1000)
          every_kind(scope, lengths[i], counts[k]);
        else
          main_kinds_of(scope, lengths[i], counts[k]);
      storages(lengths[i], counts[k]);
    }
  restarts(8 * HOUR, 20);
  all_bad_charts();
}

/* The scenario that the arguments describe. */
static int run_one(int argc, char **argv)
{
  struct scenario s = {.kind = NULL, .length_ms = 75 * SECOND, .charts = 20};
  size_t i;

  for (i = 1; i < sizeof(bad_words) / sizeof(bad_words[0]); i++)
    if (strcmp(argv[1], bad_words[i]) == 0) {
      s.kind = &kinds[0];
      s.bad = (enum bad)i;
      s.bad_count = argc > 2 ? atoi(argv[2]) : 1;
    }
  if (s.kind == NULL)
    s.kind = kind_named(argv[1]);
  for (i = 0; argc > 2 && i < SCOPES; i++)
    if (strcmp(argv[2], scope_words[i]) == 0)
      s.scope = (enum scope)i;
  if (argc > 3)
    s.length_ms = atoll(argv[3]) * SECOND;
  if (argc > 4)
    s.charts = atoi(argv[4]);
  s.restarts = argc > 5;
  if (s.charts < 1 || s.charts + WARM_UP > FIXTURE_JOBS_MAX)
    die("that many charts are not possible");
  print_heading();
  return run(&s, true);
}

int main(int argc, char **argv)
{
  struct rlimit files;

  /* Each job has its directory open. */
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
  }
  if (argc > 1 && strcmp(argv[1], "all") != 0 && strcmp(argv[1], "short") != 0)
    return run_one(argc, argv);
  print_heading();
  if (argc == 1) {
    selection();
  } else if (strcmp(argv[1], "all") == 0) {
    everything();
  } else {
    every_kind(ALL, 75 * SECOND, 2);
  }
  while (finished < started)
    finish_one();
  printf("%zu scenarios, %d with a broken bound\n", started, bad_rows);
  return bad_rows > 0;
}
