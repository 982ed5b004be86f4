/*
 * test_outage.c - a service that is down, asks for fewer calls, or refuses the
 * token: doc/policy.md, "Classes", over days of the fixture's time.
 */
#include "tests/unit/engine_fixture.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/history.h"

static struct dx_err err;

/* ---- a day without the service ---- */

static struct outage {
  enum dx_call_kind kind; /* starts with the first call of this kind */
  struct fixture_response first, then;
  int64_t from_ms, to_ms; /* 0: not yet */
  int64_t for_ms;
} outage;

static bool by_outage(const struct fixture_call *call,
                      struct fixture_response *ret)
{
  if (call->began_ms < outage.from_ms ||
      (outage.to_ms != 0 && call->began_ms >= outage.to_ms) ||
      (outage.to_ms == 0 && call->kind != outage.kind))
    return false;
  *ret = outage.to_ms == 0 ? outage.first : outage.then;
  if (outage.to_ms == 0) {
    outage.from_ms = call->began_ms;
    outage.to_ms = call->began_ms + outage.for_ms;
  }
  return true;
}

static int after_it(enum dx_call_kind kind)
{
  size_t i;
  int n = 0;

  for (i = 0; i < fixture.call_count; i++)
    n += fixture.calls[i].kind == kind &&
         fixture.calls[i].began_ms >= outage.to_ms;
  return n;
}

static void begin_outage(enum dx_call_kind kind, struct fixture_response first,
                         struct fixture_response then)
{
  assert_int_equal(fixture_close(NULL), 0);
  assert_int_equal(fixture_open(NULL), 0);
  memset(&outage, 0, sizeof(outage));
  outage.kind = kind;
  outage.first = first;
  outage.then = then;
  outage.for_ms = FIXTURE_DAY_MS;
  fixture.odd = by_outage;
  fixture.processing_ms = 5 * S;
}

/* From the end of each call during the outage to the next one of this kind. */
static int64_t longest_gap_ms(void)
{
  const struct fixture_call *last = NULL;
  int64_t gap_ms = 0;
  size_t i;

  for (i = 0; i < fixture.call_count; i++) {
    const struct fixture_call *call = &fixture.calls[i];

    if (call->began_ms < outage.from_ms)
      continue;
    if (last != NULL && fixture_gap_ms(last, call) > gap_ms)
      gap_ms = fixture_gap_ms(last, call);
    if (call->began_ms >= outage.to_ms)
      break;
    last = call;
  }
  return gap_ms;
}

struct bounds {
  int64_t for_ms;     /* the outage */
  int least, most;    /* calls in it */
  int64_t longest_ms; /* between two of them */
};

/* One document, at most one more registration, one upload, one result; and few
 * calls meanwhile. */
static void survive(enum dx_call_kind kind, struct fixture_response first,
                    struct fixture_response then, struct bounds bounds)
{
  int calls;

  begin_outage(kind, first, then);
  outage.for_ms = bounds.for_ms;
  (void)fixture_job(1, false);
  if (fixture_drive_to_end() != DX_OK) {
    (void)dx_job_outcome(fixture.jobs[0], &err);
    fail_msg("call of kind %d: %s", (int)kind, err.text);
  }
  calls = fixture_calls_between(outage.from_ms, outage.to_ms);
  if (calls < bounds.least || calls > bounds.most)
    fail_msg("%d calls of kind %d, not %d to %d", calls, (int)kind,
             bounds.least, bounds.most);
  assert_in_range(longest_gap_ms(), bounds.longest_ms - 5 * S,
                  bounds.longest_ms + SLACK_MS);
  assert_in_range(after_it(POST), 0, 1);
  assert_in_range(after_it(PUT), 0, 1);
  assert_int_equal(after_it(EXTRACT), 1);
  assert_int_equal(fixture_processed(), 1);
  assert_int_equal(fixture_result_count(), 2);
  assert_int_equal(fixture.notes[DX_NOTE_OVERDUE], 0);
  /* Up to two checks of the source, and 30 s, before it is registered again. */
  assert_true(fixture.now_ms < outage.to_ms + bounds.longest_ms + 3 * MIN);
}

/* A single submission has its own backoff: 1 to 2 s, doubling to 30 to 60 s,
 * 45 s on average. */
static const struct bounds a_day = {FIXTURE_DAY_MS, 1870, 1980, MIN};
static const struct bounds three_hours = {180 * MIN, 220, 265, MIN};
/* As the service asks for. */
static const struct bounds hourly = {FIXTURE_DAY_MS, 24, 25, 60 * MIN};

static void every_state_recovers_from_a_day_without_network(void **state)
{
  const struct fixture_response unsent = {.code = DX_E_NET, .not_sent = true};
  const struct fixture_response lost = {.code = DX_E_NET, .landed = true};
  int kind;

  (void)state;
  for (kind = POST; kind <= (int)EXTRACT; kind++) {
    survive((enum dx_call_kind)kind, unsent, unsent, a_day);
    survive((enum dx_call_kind)kind, lost, unsent, three_hours);
    assert_true(fixture.notes[DX_NOTE_DOWN] > 0);
    assert_true(fixture.notes[DX_NOTE_UP] > 0);
  }
}

static void job_recovers_from_hours_of_server_errors(void **state)
{
  const struct fixture_response down = {.status = 503};

  (void)state;
  survive(POST, down, down, three_hours);
  survive(SOURCE, down, down, three_hours);
  survive(EXTRACT, down, down, three_hours);
}

static void job_recovers_from_a_day_of_rate_limits(void **state)
{
  const struct fixture_response rate = {.status = 429, .retry_after = "3600"};

  (void)state;
  survive(POST, rate, rate, hourly);
  survive(SOURCE, rate, rate, hourly);
  survive(EXTRACT, rate, rate, hourly);
}

/* An outage does not count towards ProcessingLimit; the time after it does. */
static void slow_extraction_is_overdue_after_an_outage_too(void **state)
{
  const struct fixture_response unsent = {.code = DX_E_NET, .not_sent = true};

  (void)state;
  begin_outage(SOURCE, unsent, unsent);
  fixture.processing_ms = 28 * FIXTURE_DAY_MS;
  (void)fixture_job(1, false);
  assert_int_equal(fixture_attend(NULL), DX_E_OVERDUE);
  assert_in_range(fixture.now_ms - outage.to_ms, 25 * MIN, 40 * MIN);
}

/* A response that cannot be parsed still counts as a response. */
static void invalid_responses_are_retried_until_the_limit(void **state)
{
  const struct fixture_response rubbish = {.status = 200, .body = "<html>"};

  (void)state;
  begin_outage(EXTRACT, rubbish, rubbish);
  (void)fixture_job(1, false);
  assert_int_equal(fixture_attend(NULL), DX_E_OVERDUE);
  assert_in_range(fixture.now_ms - FIXTURE_BEGIN_MS, 30 * MIN, 36 * MIN);
}

/* Once a minute, in the end: creates, or GETs. */
static void check_probes(enum dx_call_kind kind)
{
  const struct fixture_call *last = NULL;
  int probes = 0;
  size_t i;

  for (i = 0; i < fixture.call_count; i++) {
    const struct fixture_call *call = &fixture.calls[i];

    if (call->kind == PUT || (call->kind == POST) != (kind == POST) ||
        call->began_ms < outage.from_ms + 5 * MIN ||
        call->began_ms >= outage.to_ms)
      continue;
    if (last != NULL)
      assert_in_range(fixture_gap_ms(last, call), MIN, MIN + SLACK_MS);
    last = call;
    probes++;
  }
  assert_in_range(probes, (outage.for_ms - 5 * MIN) / (MIN + SLACK_MS),
                  (outage.for_ms - 5 * MIN) / MIN + 1);
}

/* Many documents make no more calls than one a minute. */
static void one_job_tests_the_service_for_all_during_an_outage(void **state)
{
  static const struct {
    enum dx_call_kind kind;
    struct fixture_response response;
  } rows[] = {
      {POST, {.code = DX_E_NET, .not_sent = true}},
      {POST, {.code = DX_E_NET}},                /* reset, or too late */
      {POST, {.code = DX_E_NET, .status = 201}}, /* the body is cut */
      {POST, {.status = 200, .body = "<html>"}},
      {POST, {.status = 502}},
      {SOURCE, {.code = DX_E_NET}},
      {SOURCE, {.code = DX_E_NET, .status = 200}},
      {EXTRACT, {.status = 408}},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    begin_outage(rows[i].kind, rows[i].response, rows[i].response);
    if (i > 0)
      outage.for_ms = 180 * MIN;
    fixture.url_life_s = 2 * FIXTURE_DAY_MS / S;
    (void)fixture_job(10, false);
    assert_int_equal(fixture_drive_to_end(), DX_OK);
    check_probes(rows[i].kind);
    assert_int_equal(fixture_processed(), 10);
    assert_int_equal(fixture_result_count(), 20);
    assert_true(fixture.now_ms < outage.to_ms + 2 * MIN);
  }
}

/* Three errors, a good response, three errors, ... */
static bool three_of_four(const struct fixture_call *call,
                          struct fixture_response *ret)
{
  ret->status = 500;
  return call->kind == SOURCE && call->nth % 4 != 0;
}

static void response_resets_the_backoff(void **state)
{
  int i;

  (void)state;
  fixture.odd = three_of_four;
  fixture.processing_ms = 3 * MIN;
  (void)fixture_job(1, false);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_true(fixture.count[SOURCE] > 12);
  for (i = 1; i < fixture.count[SOURCE]; i++)
    if (i % 4 != 0)
      assert_in_range(
          fixture_gap_ms(fixture_nth(SOURCE, i), fixture_nth(SOURCE, i + 1)),
          500 << i % 4, (1000 << i % 4) + SLACK_MS);
}

static bool five_fail(const struct fixture_call *call,
                      struct fixture_response *ret)
{
  ret->status = 500;
  return call->kind == POST && call->nth <= 5;
}

/* Although other documents are ready. */
static void creates_pause_after_five_failures_of_several(void **state)
{
  int64_t down_ms;
  size_t i;

  (void)state;
  fixture.odd = five_fail;
  fixture.accept_ms = 500; /* another call is already connecting */
  (void)fixture_job(12, false);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  down_ms = fixture_nth(POST, 5)->ended_ms;
  for (i = 0; i < fixture.call_count; i++)
    if (fixture.calls[i].kind != PUT && fixture.calls[i].began_ms > down_ms)
      assert_true(fixture.calls[i].began_ms >= down_ms + 5 * S);
}

static bool is_down(void)
{
  struct dx_pause pause;

  dx_pause_read(fixture.spool.history_dirfd, fixture.service.host,
                fixture.service.port, &pause);
  return pause.is_down != 0;
}

static bool is_down_after_three(const struct fixture_call *call,
                                struct fixture_response *ret)
{
  assert_true(is_down() ==
              (call->kind == POST && call->nth >= 4 && call->nth <= 6));
  return five_fail(call, ret);
}

/* What `docextract metrics` calls service_up. */
static void service_is_down_from_the_third_failure_to_a_success(void **state)
{
  (void)state;
  fixture.odd = is_down_after_three;
  (void)fixture_job(1, false);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[POST], 6);
  assert_false(is_down());
}

/* The user who printed gets the message for this code. */
static void problem_is_stored_with_its_code(void **state)
{
  const struct fixture_response unsent = {.code = DX_E_NET, .not_sent = true};
  struct dx_job *job;

  (void)state;
  begin_outage(POST, unsent, unsent);
  job = fixture_job(1, false);
  fixture_drive(fixture.now_ms + MIN);
  assert_int_equal(dx_job_problem(job)->code, DX_E_NET);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(dx_job_problem(job)->code, DX_OK);
}

/* Also if docextractd was restarted meanwhile. */
static void next_outage_starts_with_short_waits(void **state)
{
  const struct fixture_response down = {.status = 503};
  int first;

  (void)state;
  begin_outage(POST, down, down);
  (void)fixture_job(1, false);
  fixture_drive(fixture.now_ms + 120 * MIN);
  outage.to_ms = fixture.now_ms;
  fixture_restart();
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  outage.from_ms = outage.to_ms = 0;
  first = fixture.count[POST] + 1;
  (void)fixture_job(1, false);
  fixture_restart();
  fixture_drive(fixture.now_ms + 5 * MIN);
  assert_true(fixture.count[POST] > first + 5);
  assert_in_range(fixture_gap_ms(fixture_nth(POST, first + 4),
                                 fixture_nth(POST, first + 5)),
                  16 * S, 32 * S + SLACK_MS);
}

/* ---- fewer calls ---- */

static struct {
  enum dx_call_kind kind;
  int nth;
  const char *retry_after;
  int status; /* 0: 429 */
} asking;

static bool asks_once(const struct fixture_call *call,
                      struct fixture_response *ret)
{
  if (call->kind != asking.kind || call->nth != asking.nth)
    return false;
  ret->status = asking.status != 0 ? asking.status : 429;
  ret->retry_after = asking.retry_after;
  return true;
}

static void retry_after_is_honored_in_all_its_forms(void **state)
{
  static const struct {
    const char *text; /* NULL: a date, 90 s after the response's */
    int64_t least_ms, most_ms;
  } forms[] = {
      {"120", 120 * S, 120 * S}, {"30.5", 30500, 30500},
      {NULL, 89 * S, 90 * S},    {"-5", 1 * S, 2 * S},
      {"0", 1 * S, 2 * S},       {"7200", 60 * MIN, 60 * MIN},
      {"soon", 1 * S, 2 * S},
  };
  char date[64];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
    time_t then;
    struct tm tm;

    assert_int_equal(fixture_close(NULL), 0);
    assert_int_equal(fixture_open(NULL), 0);
    fixture.clock_off_ms =
        -FIXTURE_DAY_MS; /* only the Date of the response can be used */
    then = (time_t)((dx_wall_ms() + fixture.clock_off_ms) / 1000 + 90);
    assert_non_null(gmtime_r(&then, &tm));
    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    asking.kind = POST;
    asking.nth = 1;
    asking.retry_after = forms[i].text != NULL ? forms[i].text : date;
    fixture.odd = asks_once;
    (void)fixture_job(1, false);
    assert_int_equal(fixture_drive_to_end(), DX_OK);
    assert_in_range(fixture_gap_ms(fixture_nth(POST, 1), fixture_nth(POST, 2)),
                    forms[i].least_ms, forms[i].most_ms + SLACK_MS);
  }
}

static void check_pause(int asked_with)
{
  const struct fixture_call *call;
  size_t i;

  fixture.odd = asks_once;
  asking.kind = POST;
  asking.nth = 3;
  asking.retry_after = "600";
  asking.status = asked_with;
  fixture.latency_ms = 400; /* others are ready meanwhile, */
  fixture.accept_ms = 300;  /* or are connecting */
  (void)fixture_job(12, false);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  asking.status = 0;
  call = fixture_nth(POST, 3);
  for (i = 0; i < fixture.call_count; i++)
    if (fixture.calls[i].kind != PUT &&
        fixture.calls[i].began_ms > call->ended_ms &&
        fixture.calls[i].began_ms < call->ended_ms + 600 * S)
      fail_msg("a call %lld ms after the service asked for a pause",
               (long long)(fixture.calls[i].began_ms - call->ended_ms));
  assert_int_equal(fixture_processed(), 12);
}

static void a_429_is_a_pause_for_all(void **state)
{
  (void)state;
  check_pause(429);
}

static void a_503_with_retry_after_is_a_pause_for_all(void **state)
{
  (void)state;
  check_pause(503);
}

static void pause_outlives_a_restart(void **state)
{
  const struct fixture_call *call;
  size_t before;

  (void)state;
  fixture.odd = asks_once;
  asking.kind = SOURCE;
  asking.nth = 1;
  asking.retry_after = "600";
  (void)fixture_job(1, false);
  fixture_drive(fixture.now_ms + 10 * S);
  call = fixture_nth(SOURCE, 1);
  before = fixture.call_count;
  (void)fixture_job(1, false);
  fixture_restart(); /* it knows only the files in the spool */
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_true(fixture_gap_ms(call, &fixture.calls[before]) >= 600 * S);
}

/* The storage is another host: its 429 does not stop calls of the API. */
static void pause_of_the_storage_does_not_stop_the_api(void **state)
{
  (void)state;
  fixture.odd = asks_once;
  asking.kind = PUT;
  asking.nth = 1;
  asking.retry_after = "300";
  (void)fixture_job(2, false);
  fixture_drive(fixture.now_ms + MIN);
  assert_int_equal(fixture.count[POST], 2);
  assert_int_equal(fixture.count[EXTRACT], 1);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_in_range(fixture.now_ms - FIXTURE_BEGIN_MS, 300 * S, 310 * S);
}

/* Whatever response has it. */
static bool pauses_between(const struct fixture_call *call,
                           struct fixture_response *ret)
{
  ret->landed = true;
  ret->retry_after = "40";
  return call->kind == POST || call->kind == SOURCE;
}

static void no_poll_comes_before_a_retry_after(void **state)
{
  int i;

  (void)state;
  fixture.odd = pauses_between;
  fixture.processing_ms = 100 * S;
  (void)fixture_job(1, false);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_true(fixture_gap_ms(fixture_nth(POST, 1), fixture_nth(SOURCE, 1)) >=
              40 * S);
  for (i = 1; i < fixture.count[SOURCE]; i++)
    assert_true(fixture_gap_ms(fixture_nth(SOURCE, i),
                               fixture_nth(SOURCE, i + 1)) >= 40 * S);
  assert_true(fixture_gap_ms(fixture_nth(SOURCE, i), fixture_nth(EXTRACT, 1)) >=
              40 * S);
  assert_true(fixture_gap_ms(fixture_nth(POST, 1), fixture_nth(PUT, 1)) < S);
}

/* ---- tokens ---- */

static char key_path[80];

static void write_key(const char *key)
{
  assert_int_equal(dx_fs_write(fixture.spool.dirfd, "key", key, strlen(key),
                               0600, false, &err),
                   DX_OK);
}

#define OLD_KEY "an old key of thirty-two bytes at least"
#define NEW_KEY "a new key of thirty-two bytes at the least"

static int open_with_key(void **state)
{
  static char key_id[] = "2026-01";

  if (fixture_open(state) != 0)
    return -1;
  (void)snprintf(key_path, sizeof(key_path), "%s/key", fixture.dir);
  write_key(OLD_KEY);
  fixture.service.token = DX_TOKEN_KEY;
  fixture.service.token_key_file = key_path;
  fixture.service.token_algorithm = DX_ALG_HS256;
  fixture.service.token_key_id = key_id;
  fixture.service.token_lifetime_ms = 5 * MIN;
  (void)fixture_job(1, false);
  return 0;
}

/* The payload of a JWT; base64url without padding. */
static void payload(const char *jwt, char *text, size_t size)
{
  const char *p = strchr(jwt, '.') + 1;
  size_t len = strcspn(p, "."), i;
  char padded[2048];
  int n;

  assert_true(len + 4 < sizeof(padded) && size >= sizeof(padded));
  for (i = 0; i < len; i++)
    padded[i] = p[i] == '-' ? '+' : p[i] == '_' ? '/' : p[i];
  while (i % 4 != 0)
    padded[i++] = '=';
  n = EVP_DecodeBlock((unsigned char *)text, (unsigned char *)padded, (int)i);
  assert_true(n > 0);
  text[n] = '\0';
}

static int64_t claim_s(const char *text, const char *name)
{
  const char *p = strstr(text, name);

  assert_non_null(p);
  return strtoll(p + strlen(name), NULL, 10);
}

/* By the clock of the service. */
static bool wants_its_own_time(const struct fixture_call *call,
                               struct fixture_response *ret)
{
  int64_t now_s = (dx_wall_ms() + fixture.clock_off_ms) / 1000;
  char text[2048];

  if (call->kind == PUT)
    return false;
  payload(fixture.bearer, text, sizeof(text));
  ret->status = 401;
  return claim_s(text, "\"iat\":") > now_s || claim_s(text, "\"exp\":") < now_s;
}

static void wrong_clock_is_compensated(void **state)
{
  static const int64_t off_s[] = {86400, -86400, 600, -600};
  size_t i, k;

  for (i = 0; i < sizeof(off_s) / sizeof(off_s[0]); i++) {
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(open_with_key(state), 0);
    fixture.odd = wants_its_own_time;
    fixture.clock_off_ms = off_s[i] * S;
    fixture.processing_ms = 20 * MIN; /* some tokens */
    assert_int_equal(fixture_attend(NULL), DX_OK);
    assert_int_equal(fixture.calls[0].status, 401);
    for (k = 1; k < fixture.call_count; k++)
      assert_int_not_equal(fixture.calls[k].status, 401);
    assert_in_range(fixture_gap_ms(&fixture.calls[0], &fixture.calls[1]), 5 * S,
                    5 * S + SLACK_MS);
  }
}

/* By our clock. */
static bool wants_our_time(const struct fixture_call *call,
                           struct fixture_response *ret)
{
  int64_t now_s = dx_wall_ms() / 1000;
  char text[2048];

  if (call->kind == PUT)
    return false;
  payload(fixture.bearer, text, sizeof(text));
  assert_true(claim_s(text, "\"iat\":") <= now_s);
  assert_in_range(claim_s(text, "\"exp\":"), now_s, now_s + 5 * MIN / S);
  ret->status = 401;
  return call->nth == 1; /* its Date is that of fixture.clock_off_ms */
}

static void implausible_date_is_not_used(void **state)
{
  static const int64_t off_s[] = {86401, -86401, 80LL * 365 * 86400,
                                  -20LL * 365 * 86400};
  size_t i;

  for (i = 0; i < sizeof(off_s) / sizeof(off_s[0]); i++) {
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(open_with_key(state), 0);
    fixture.odd = wants_our_time;
    fixture.clock_off_ms = off_s[i] * S;
    assert_int_equal(fixture_drive_to_end(), DX_OK);
  }
}

static bool refuses(const struct fixture_call *call,
                    struct fixture_response *ret)
{
  ret->status = 401;
  return call->kind != PUT;
}

static void message_about_a_refused_token_contains_key_and_clock(void **state)
{
  (void)state;
  fixture.odd = refuses;
  fixture.clock_off_ms = -600 * S;
  assert_int_equal(fixture_attend(&err), DX_E_TOKEN);
  assert_non_null(strstr(err.text, "'2026-01'"));
  assert_non_null(strstr(err.text, "600 s"));
  assert_non_null(strstr(err.text, "run 'docextract hello'"));
  assert_int_equal(fixture.call_count, 2);
}

static void implausible_clock_difference_is_reported(void **state)
{
  (void)state;
  fixture.odd = refuses;
  fixture.clock_off_ms = 80 * 365 * FIXTURE_DAY_MS;
  assert_int_equal(fixture_attend(&err), DX_E_TOKEN);
  assert_non_null(strstr(err.text, "2522880000 s"));
}

static bool is_signed_with(const char *key)
{
  const char *dot = strrchr(fixture.bearer, '.');
  unsigned char mac[EVP_MAX_MD_SIZE];
  char text[128];
  unsigned int len = 0;
  size_t i;

  assert_non_null(HMAC(EVP_sha256(), key, (int)strlen(key),
                       (const unsigned char *)fixture.bearer,
                       (size_t)(dot - fixture.bearer), mac, &len));
  assert_true(EVP_EncodeBlock((unsigned char *)text, mac, (int)len) > 0);
  for (i = 0; text[i] != '\0' && text[i] != '='; i++)
    text[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
  text[i] = '\0';
  return strcmp(dot + 1, text) == 0;
}

static bool wants_the_new_key(const struct fixture_call *call,
                              struct fixture_response *ret)
{
  ret->status = 403;
  return call->kind != PUT && !is_signed_with(NEW_KEY);
}

static void key_replaced_while_a_job_waits_is_used(void **state)
{
  (void)state;
  fixture.odd = wants_the_new_key;
  fixture_drive(fixture.now_ms + 20 * S);
  assert_int_equal(fixture.call_count, 2);
  assert_true(is_signed_with(OLD_KEY));
  write_key(NEW_KEY);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[POST], 3);
  assert_true(fixture.notes[DX_NOTE_ADMIN] > 0);
}

/* No token, no call; it is read again after 5 s, 30 s, doubling to 10 min. */
static void unusable_key_waits_for_the_administrator(void **state)
{
  (void)state;
  write_key("short");
  assert_int_equal(fixture_attend(NULL), DX_E_KEY);
  fixture_drive(FIXTURE_BEGIN_MS + 60 * MIN);
  assert_int_equal(fixture.call_count, 0);
  assert_int_equal(fixture.notes[DX_NOTE_TOKEN], 1);
  assert_int_equal(fixture.notes[DX_NOTE_ADMIN], 10);
  write_key(NEW_KEY);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_true(fixture.now_ms < FIXTURE_BEGIN_MS + 71 * MIN);
}

static void key_fixed_in_time_is_used(void **state)
{
  (void)state;
  write_key("short");
  fixture_drive(fixture.now_ms + 20 * S);
  assert_int_equal(fixture.call_count, 0);
  write_key(NEW_KEY);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[POST], 1);
}

static bool rejects_two_of_three(const struct fixture_call *call,
                                 struct fixture_response *ret)
{
  ret->status = 401;
  return call->kind == SOURCE && call->nth % 3 != 0;
}

/* The next one after a rejection is new, and may only have expired before. */
static void accepted_token_resets_the_waits(void **state)
{
  int i;

  (void)state;
  fixture.odd = rejects_two_of_three;
  fixture.processing_ms = 3 * MIN;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_true(fixture.count[SOURCE] >= 9);
  for (i = 1; i < fixture.count[SOURCE]; i++)
    if (i % 3 != 0)
      assert_in_range(
          fixture_gap_ms(fixture_nth(SOURCE, i), fixture_nth(SOURCE, i + 1)),
          i % 3 == 1 ? 5 * S : 30 * S,
          (i % 3 == 1 ? 5 * S : 30 * S) + SLACK_MS);
}

static bool rejects_seven(const struct fixture_call *call,
                          struct fixture_response *ret)
{
  ret->status = call->nth % 2 ? 401 : 404;
  return call->kind == POST && call->nth <= 7;
}

/* Whatever the reasons are. */
static void rejected_job_waits_longer_each_time(void **state)
{
  static const int64_t waits[] = {5 * S,   30 * S,  MIN,     2 * MIN,
                                  4 * MIN, 8 * MIN, 10 * MIN};
  int i;

  (void)state;
  fixture.odd = rejects_seven;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[POST], 8);
  assert_true(fixture.notes[DX_NOTE_ADMIN] > 0);
  for (i = 1; i < 8; i++)
    assert_in_range(
        fixture_gap_ms(fixture_nth(POST, i), fixture_nth(POST, i + 1)),
        waits[i - 1], waits[i - 1] + SLACK_MS);
}

/* Also one that has made no call itself: the section pauses. */
static void every_job_of_the_service_is_notified(void **state)
{
  struct dx_job *late;
  int i;

  (void)state;
  fixture.odd = refuses;
  (void)fixture_job(1, false);
  fixture_drive(FIXTURE_BEGIN_MS + 20 * S);
  assert_int_equal(fixture.call_count, 4); /* each one, and after 5 s */
  late = fixture_job(1, false);
  fixture_add(late);
  fixture_drive(FIXTURE_BEGIN_MS + 31 * S);
  assert_int_equal(fixture.call_count, 4);
  for (i = 0; i < 3; i++) {
    assert_int_equal(dx_job_problem(fixture.jobs[i])->code, DX_E_TOKEN);
    assert_non_null(
        strstr(dx_line(dx_job_problem(fixture.jobs[i])->text), "(401)"));
  }
  fixture.odd = NULL;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_true(fixture.now_ms < FIXTURE_BEGIN_MS + MIN);
}

/* Who prints after the key was replaced does not wait for ten minutes. */
static void new_job_is_tried_immediately(void **state)
{
  (void)state;
  fixture.odd = refuses;
  assert_int_equal(fixture_attend(NULL), DX_E_TOKEN);
  fixture.odd = NULL;
  assert_int_equal(fixture.count[POST], 2);
  fixture_add(fixture_job(1, false));
  fixture_drive(fixture.now_ms + S);
  assert_int_equal(fixture.count[POST], 3);
  assert_int_equal(fixture.count[PUT], 1);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
}

/* The time counts for a working service only. */
static void waiting_for_the_administrator_is_not_overdue(void **state)
{
  (void)state;
  fixture.processing_ms = MIN;
  fixture_drive(FIXTURE_BEGIN_MS + 10 * S);
  assert_int_equal(fixture.count[PUT], 1);
  fixture.odd = refuses;
  fixture_drive(FIXTURE_BEGIN_MS + FIXTURE_DAY_MS);
  assert_int_equal(fixture.notes[DX_NOTE_OVERDUE], 0);
  fixture.odd = NULL;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
}

/* It is shown as overdue, and polled after a tenth of its age. */
static void job_waits_longer_than_the_limit(void **state)
{
  int64_t wait_ms;
  int last;

  (void)state;
  fixture.processing_ms = 10 * 60 * MIN;
  fixture_drive(FIXTURE_BEGIN_MS + 5 * 60 * MIN);
  assert_string_equal(dx_line(dx_job_problem(fixture.jobs[0])->text),
                      "the extraction is taking longer than ProcessingLimit");
  assert_int_equal(dx_job_problem(fixture.jobs[0])->code, DX_E_OVERDUE);
  assert_int_equal(fixture.notes[DX_NOTE_OVERDUE], 1);
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  last = fixture.count[SOURCE];
  wait_ms =
      fixture_gap_ms(fixture_nth(PUT, 1), fixture_nth(SOURCE, last - 1)) / 10;
  assert_in_range(wait_ms, 54 * MIN, 60 * MIN);
  assert_in_range(
      fixture_gap_ms(fixture_nth(SOURCE, last - 1), fixture_nth(SOURCE, last)),
      wait_ms, wait_ms + SLACK_MS);
}

/* ---- a source belongs to its section, its BaseURL, and its key ---- */

/* With the first document uploaded. */
static void upload_one(void)
{
  fixture.processing_ms = 5 * MIN;
  fixture_drive(FIXTURE_BEGIN_MS + 10 * S);
  assert_int_equal(fixture.count[PUT], 1);
  dx_engine_free(&fixture.engine);
}

static void source_has_its_section_and_base_url(void **state)
{
  const struct dx_submission *sub;

  (void)state;
  upload_one();
  fixture_restart();
  sub = &fixture.jobs[0]->submissions[0];
  assert_string_equal(sub->section, "default");
  assert_string_equal(sub->base_url, fixture.service.base_url);
  assert_string_equal(sub->key_id, "2026-01");
}

static void job_waits_for_a_renamed_section(void **state)
{
  static char other[] = "other", name[] = "default";
  size_t calls;

  (void)state;
  upload_one();
  calls = fixture.call_count;
  fixture.service.name = other;
  fixture_restart();
  assert_int_equal(fixture_attend(&err), DX_E_CONFIG);
  assert_non_null(strstr(err.text, "<Service default>"));
  assert_non_null(strstr(err.text, "run 'docextract retry "));
  assert_non_null(strstr(err.text, " --service NAME'"));
  fixture_drive(fixture.now_ms + 60 * MIN);
  assert_int_equal(fixture.notes[DX_NOTE_ADMIN], 7);
  assert_int_equal(fixture.call_count, calls);
  fixture.service.name = name;
  fixture_restart();
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[POST], 1);
}

static void job_waits_for_a_changed_base_url(void **state)
{
  static char elsewhere[] = "https://b.example";
  const char *before = fixture.service.base_url;
  size_t calls;

  (void)state;
  upload_one();
  calls = fixture.call_count;
  fixture.service.base_url = elsewhere;
  fixture_restart();
  assert_int_equal(fixture_attend(&err), DX_E_CONFIG);
  assert_non_null(strstr(err.text, before));
  assert_int_equal(fixture.call_count, calls);
  fixture.service.base_url = before;
  fixture_restart();
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[POST], 1);
}

/* What was not registered goes where the section is now. */
static void job_without_a_source_uses_its_current_section(void **state)
{
  (void)state;
  fixture.service_count = 0;
  assert_int_equal(fixture_attend(&err), DX_E_CONFIG);
  assert_int_equal(fixture.call_count, 0);
  dx_engine_free(&fixture.engine);
  free(fixture.jobs[0]->base_url);
  fixture.jobs[0]->base_url = strdup("https://before.example");
  fixture.service_count = 1;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
}

/* Without a section there is nowhere to deliver to; it can be given up. */
static void job_without_a_section_can_be_canceled(void **state)
{
  (void)state;
  fixture.service_count = 0;
  assert_int_equal(fixture_attend(&err), DX_E_CONFIG);
  dx_job_end(fixture.jobs[0], DX_EV_CANCEL);
  assert_int_equal(fixture_drive_to_end(), DX_E_CANCELED);
}

static int denial;

/* The first source is invisible to the account of another key. */
static bool denies_the_first(const struct fixture_call *call,
                             struct fixture_response *ret)
{
  ret->status = denial;
  return denial != 0 && call->source == 1 &&
         (call->kind == SOURCE || call->kind == EXTRACT);
}

static void denial_with_another_key_is_not_final(void **state)
{
  static const int denials[] = {401, 403, 404, 410};
  static char id[] = "2026-02";
  size_t i;

  for (i = 0; i < sizeof(denials) / sizeof(denials[0]); i++) {
    assert_int_equal(fixture_close(state), 0);
    assert_int_equal(open_with_key(state), 0);
    fixture.odd = denies_the_first;
    upload_one();
    denial = denials[i];
    fixture.service.token_key_id = id;
    (void)fixture_job(1, false); /* the others go on */
    fixture_restart();
    fixture_drive(fixture.now_ms + FIXTURE_DAY_MS);
    assert_int_equal(fixture.admin, DX_E_DENIED);
    assert_non_null(strstr(fixture.note_text, "'2026-01'"));
    assert_non_null(strstr(fixture.note_text, "'2026-02'"));
    assert_int_equal(fixture.ended, 1);
    assert_int_equal(fixture.count[POST], 2);
    assert_int_equal(fixture.notes[DX_NOTE_OVERDUE], 0);
    assert_int_equal(dx_job_problem(fixture.jobs[1])->code, DX_OK);
    denial = 0;
    assert_int_equal(fixture_drive_to_end(), DX_OK);
    assert_int_equal(fixture.count[POST], 2);
  }
}

/* After a restart with another key; the source is denied for a day. */
static void check_denied_as_missing(enum dx_state was)
{
  static char id[] = "2026-02";

  dx_engine_free(&fixture.engine);
  denial = 404;
  fixture.service.token_key_id = id;
  fixture_restart();
  assert_int_equal(fixture.jobs[0]->submissions[0].state, was);
  fixture_drive(fixture.now_ms + FIXTURE_DAY_MS);
  assert_int_equal(fixture.admin, DX_E_DENIED);
  assert_int_equal(fixture.count[POST], 1);
  denial = 0;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[POST], 1);
  assert_int_equal(fixture_processed(), 1);
}

static bool loses_the_response(const struct fixture_call *call,
                               struct fixture_response *ret)
{
  if (call->kind != PUT)
    return denies_the_first(call, ret);
  ret->code = DX_E_NET;
  ret->landed = true;
  return true;
}

/* It is not there for this key: it may be processed for the other one. */
static void uncertain_upload_is_not_repeated_with_another_key(void **state)
{
  (void)state;
  denial = 404;
  fixture.odd = loses_the_response;
  while (fixture.count[PUT] == 0)
    fixture_drive(fixture.now_ms + 10);
  fixture_drive(fixture.now_ms + S);
  check_denied_as_missing(DX_ST_REGISTERED);
}

static void denied_case_is_not_missing(void **state)
{
  (void)state;
  denial = 0;
  fixture.odd = denies_the_first;
  fixture.case_ms[0] = 5 * MIN;
  fixture_drive(fixture.now_ms + 10 * S);
  check_denied_as_missing(DX_ST_COMPLETE);
}

static bool denies_three(const struct fixture_call *call,
                         struct fixture_response *ret)
{
  ret->status = 403;
  return call->source >= 1 && call->source <= 3 &&
         (call->kind == SOURCE || call->kind == EXTRACT);
}

/* What was sent with the old key waits, but not what is sent with the new one.
 */
static void denied_sources_do_not_pause_their_section(void **state)
{
  static char id[] = "2026-02";

  (void)state;
  (void)fixture_job(1, false);
  (void)fixture_job(1, false);
  fixture.odd = denies_three;
  fixture.processing_ms = 5 * MIN;
  fixture_drive(FIXTURE_BEGIN_MS + 10 * S);
  assert_int_equal(fixture.count[PUT], 3);
  dx_engine_free(&fixture.engine);
  fixture.service.token_key_id = id;
  fixture.processing_ms = 0;
  (void)fixture_job(1, false);
  fixture_restart();
  fixture_drive(fixture.now_ms + 25 * S);
  assert_int_equal(fixture.ended, 1);
}

static void time_of_a_denial_does_not_count(void **state)
{
  static char id[] = "2026-02";

  (void)state;
  fixture.odd = denies_the_first;
  upload_one();
  fixture.processing_ms = 80 * MIN;
  denial = 403;
  fixture.service.token_key_id = id;
  fixture_restart();
  fixture_drive(fixture.now_ms + 60 * MIN);
  denial = 0;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.notes[DX_NOTE_OVERDUE], 0);
}

/* 30 s, doubling: the old key may be restored. */
static void denied_source_is_polled_again(void **state)
{
  static const int64_t waits[] = {30 * S, MIN, 2 * MIN, 4 * MIN};
  static char id[] = "2026-02";
  int from, i;

  (void)state;
  fixture.odd = denies_the_first;
  upload_one();
  denial = 401;
  fixture.service.token_key_id = id;
  from = fixture.count[SOURCE] + 1;
  fixture_restart();
  while (fixture.count[SOURCE] < from + 3)
    fixture_drive(fixture.now_ms + S);
  denial = 0;
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[POST], 1);
  for (i = 0; i < 3; i++)
    assert_in_range(fixture_gap_ms(fixture_nth(SOURCE, from + i),
                                   fixture_nth(SOURCE, from + i + 1)),
                    waits[i], waits[i] + SLACK_MS);
}

/* A replaced key is used for existing sources. */
static void replaced_key_is_used_for_the_source(void **state)
{
  static char id[] = "2026-02";

  (void)state;
  upload_one();
  fixture.service.token_key_id = id;
  fixture_restart();
  assert_int_equal(fixture_drive_to_end(), DX_OK);
  assert_int_equal(fixture.count[POST], 1);
}

int main(void)
{
#define OUTAGE(test) \
  cmocka_unit_test_setup_teardown(test, fixture_open, fixture_close)
#define WITH_KEY(test) \
  cmocka_unit_test_setup_teardown(test, open_with_key, fixture_close)
  const struct CMUnitTest tests[] = {
      OUTAGE(every_state_recovers_from_a_day_without_network),
      OUTAGE(job_recovers_from_hours_of_server_errors),
      OUTAGE(job_recovers_from_a_day_of_rate_limits),
      OUTAGE(slow_extraction_is_overdue_after_an_outage_too),
      OUTAGE(invalid_responses_are_retried_until_the_limit),
      OUTAGE(one_job_tests_the_service_for_all_during_an_outage),
      OUTAGE(response_resets_the_backoff),
      OUTAGE(creates_pause_after_five_failures_of_several),
      OUTAGE(service_is_down_from_the_third_failure_to_a_success),
      OUTAGE(problem_is_stored_with_its_code),
      OUTAGE(next_outage_starts_with_short_waits),
      OUTAGE(retry_after_is_honored_in_all_its_forms),
      OUTAGE(a_429_is_a_pause_for_all),
      OUTAGE(a_503_with_retry_after_is_a_pause_for_all),
      OUTAGE(pause_outlives_a_restart),
      OUTAGE(pause_of_the_storage_does_not_stop_the_api),
      OUTAGE(no_poll_comes_before_a_retry_after),
      WITH_KEY(wrong_clock_is_compensated),
      WITH_KEY(implausible_date_is_not_used),
      WITH_KEY(message_about_a_refused_token_contains_key_and_clock),
      WITH_KEY(implausible_clock_difference_is_reported),
      WITH_KEY(key_replaced_while_a_job_waits_is_used),
      WITH_KEY(unusable_key_waits_for_the_administrator),
      WITH_KEY(key_fixed_in_time_is_used),
      WITH_KEY(accepted_token_resets_the_waits),
      WITH_KEY(rejected_job_waits_longer_each_time),
      WITH_KEY(every_job_of_the_service_is_notified),
      WITH_KEY(new_job_is_tried_immediately),
      WITH_KEY(waiting_for_the_administrator_is_not_overdue),
      WITH_KEY(job_waits_longer_than_the_limit),
      WITH_KEY(source_has_its_section_and_base_url),
      WITH_KEY(job_waits_for_a_renamed_section),
      WITH_KEY(job_waits_for_a_changed_base_url),
      WITH_KEY(job_without_a_source_uses_its_current_section),
      WITH_KEY(job_without_a_section_can_be_canceled),
      WITH_KEY(denial_with_another_key_is_not_final),
      WITH_KEY(uncertain_upload_is_not_repeated_with_another_key),
      WITH_KEY(denied_case_is_not_missing),
      WITH_KEY(denied_sources_do_not_pause_their_section),
      WITH_KEY(time_of_a_denial_does_not_count),
      WITH_KEY(denied_source_is_polled_again),
      WITH_KEY(replaced_key_is_used_for_the_source),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
