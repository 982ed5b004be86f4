/*
 * test_rows.c - the status table of doc/policy.md, row by row, as the service
 * sees it: a response is repeated, then followed by a success. Checked are the
 * number of calls, the duration of each wait, and the outcome of the print job.
 */
#include "tests/unit/engine_fixture.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define EVER INT_MAX

/* What the next call waits for. */
enum wait {
  NO_WAIT,  /* there is none, or another test covers it */
  AT_ONCE,  /* only the rate limit */
  BACKOFF,  /* U(.5,1) * min(60 s, 2^n s) */
  LOSS,     /* a create: 5 s, doubling to 60 s */
  REFUSING, /* a PUT: at least 10 s, and the backoff */
  UNCLEAR,  /* a PUT: at once, then the backoff */
  SHARED,   /* the pause of a 429: the backoff */
  TOKEN,    /* 5 s; then as REJECTED */
  REJECTED, /* 30 s, doubling to 10 min */
  SCHEDULE  /* the next poll */
};

enum landing { LOST, LANDED, UNSENT };

struct row {
  enum dx_call_kind call;
  const char *statuses; /* one after another; "": the code below */
  enum dx_code code;
  enum landing landing;
  const char *body; /* NULL: the good one */
  const char *retry_after;
  int64_t retry_ms;
  int times;
  enum wait wait;
  enum dx_code admin; /* what the administrator is told; OK: nothing */
  enum dx_code end;
  int calls[DX_CALL_HELLO]; /* POST, PUT, GET source, GET extract */
};

#define NOT_HERE "404 410"
#define MISFITS "405 406 411 414 431 501 505"
#define REDIRECTS "300 301 302 303 304 305 307 308"
#define UNHEARD "402 407 418 451 600 999"
#define SERVER "500 502 503 504 507 508 520 599"
#define NO_URLS "{\"results\":{\"id\":\"S1\"}}"
#define TWO_URLS                                                          \
  "{\"results\":{\"id\":\"S1\",\"upload_urls\":[{\"url\":\"https://s/\"}" \
  ",{\"url\":\"https://s/\"}]}}"
#define WRONG_TYPES "{\"results\":{\"id\":1,\"status\":2,\"upload_urls\":3}}"
#define OTHER_WORD "{\"results\":{\"id\":\"S1\",\"status\":\"queued\"}}"
#define NO_CASES                                                \
  "{\"results\":{\"id\":\"S1\",\"status\":\"complete\",\"case_" \
  "ids\":null}}"
#define HALF "{\"results\":{\"status\":\"comp"
#define EXPIRED "<Error><Code>AccessDenied</Code>Request has expired</Error>"

/* clang-format off */
#define ST(statuses) statuses, DX_OK, LOST, "", NULL, 0
#define OK_AS(statuses) statuses, DX_OK, LANDED, NULL, NULL, 0
#define SAYS(statuses, body) statuses, DX_OK, LOST, body, NULL, 0
#define AFTER(statuses, seconds) \
  statuses, DX_OK, LOST, "", #seconds, (seconds) * 1000
#define ERR(code, landing) "", DX_##code, landing, NULL, NULL, 0
#define CUT(status, code) status, DX_##code, LANDED, NULL, NULL, 0
#define OK DX_OK, DX_OK
#define ADMIN(code) DX_##code, DX_OK
#define ENDS(code) DX_OK, DX_##code

static const struct row rows[] = {
  /* call    response                     times wait      told, end    calls */
  /* S */
  {POST,    OK_AS("200 201 202"),            1, AT_ONCE,  OK, {1, 1, 1, 1}},
  {PUT,     OK_AS("200"),                    1, NO_WAIT,  OK, {1, 1, 1, 1}},
  {SOURCE,  OK_AS("200"),                    1, AT_ONCE,  OK, {1, 1, 1, 1}},
  {EXTRACT, OK_AS("200"),                    1, NO_WAIT,  OK, {1, 1, 1, 1}},

  /* 200 201 202 without an id or with another number of URLs, not JSON */
  {POST,    SAYS("200 201 202", "{}"),       8, LOSS,     OK, {9, 1, 1, 1}},
  {POST,    SAYS("200 201 202", NO_URLS),    3, LOSS,     OK, {4, 1, 1, 1}},
  {POST,    SAYS("201", TWO_URLS),           3, LOSS,     OK, {4, 1, 1, 1}},
  {POST,    SAYS("201", WRONG_TYPES),        3, LOSS,     OK, {4, 1, 1, 1}},
  {POST,    SAYS("201", "<html>"),           3, LOSS,     OK, {4, 1, 1, 1}},
  {SOURCE,  SAYS("200", "<html>"),          12, BACKOFF,  OK, {1, 1, 13, 1}},
  {SOURCE,  SAYS("200", WRONG_TYPES),       12, BACKOFF,  OK, {1, 1, 13, 1}},
  {SOURCE,  SAYS("200", NO_CASES),          12, BACKOFF,  OK, {1, 1, 13, 1}},
  {EXTRACT, SAYS("200", "<html>"),          12, BACKOFF,  OK, {1, 1, 1, 13}},
  {EXTRACT, SAYS("200", HALF),              12, BACKOFF,  OK, {1, 1, 1, 13}},
  {EXTRACT, SAYS("200", ""),                12, BACKOFF,  OK, {1, 1, 1, 13}},
  {EXTRACT, SAYS("200", OTHER_WORD),        12, BACKOFF,  OK, {1, 1, 1, 13}},
  /* over the size limit */
  {POST,    CUT("201", E_RESPONSE),          3, LOSS,     OK, {4, 1, 1, 1}},
  {SOURCE,  CUT("200", E_RESPONSE),         12, BACKOFF,  OK, {1, 1, 13, 1}},
  {EXTRACT, CUT("200", E_RESPONSE),         12, BACKOFF,  OK, {1, 1, 1, 13}},
  /* truncated */
  {POST,    CUT("200 201", E_NET),           8, LOSS,     OK, {9, 1, 1, 1}},
  {PUT,     CUT("200", E_NET),               5, UNCLEAR,  OK, {1, 6, 1, 1}},
  {SOURCE,  CUT("200", E_NET),              12, BACKOFF,  OK, {1, 1, 13, 1}},
  {EXTRACT, CUT("200", E_NET),              12, BACKOFF,  OK, {1, 1, 1, 13}},
  /* an unknown status word */
  {SOURCE,  SAYS("200", OTHER_WORD),         9, SCHEDULE, OK, {1, 1, 10, 1}},

  /* 201 202 204: for an upload, only a 200 shows that the file is whole */
  {POST,    ST("204"),                      12, BACKOFF,  OK, {13, 1, 1, 1}},
  {PUT,     OK_AS("201 202 204"),            1, UNCLEAR,  OK, {1, 2, 1, 1}},
  {PUT,     ST("201 202 204"),               5, UNCLEAR,  OK, {1, 6, 1, 1}},
  {SOURCE,  ST("201 202 204"),               9, SCHEDULE, OK, {1, 1, 10, 1}},
  {EXTRACT, ST("202 204"),                   9, SCHEDULE, OK, {1, 1, 1, 10}},

  /* 3xx: never followed */
  {POST,    ST(REDIRECTS), 7, REJECTED, ADMIN(E_PROTOCOL), {8, 1, 1, 1}},
  {PUT,     ST(REDIRECTS),                   5, BACKOFF,  OK, {1, 6, 1, 1}},
  {SOURCE,  ST(REDIRECTS), 7, REJECTED, ADMIN(E_PROTOCOL), {1, 1, 8, 1}},
  {EXTRACT, ST(REDIRECTS), 7, REJECTED, ADMIN(E_PROTOCOL), {1, 1, 1, 8}},

  /* 400 */
  {POST,    ST("400"),     7, REJECTED, ADMIN(E_REJECTED), {8, 1, 1, 1}},
  {PUT,     ST("400"),                       5, BACKOFF,  OK, {1, 6, 1, 1}},
  {SOURCE,  ST("400"),                      12, BACKOFF,  OK, {1, 1, 13, 1}},
  {EXTRACT, ST("400"),                      12, BACKOFF,  OK, {1, 1, 1, 13}},

  /* 401 403 */
  {POST,    ST("401 403"), 7, TOKEN,    ADMIN(E_TOKEN),    {8, 1, 1, 1}},
  {PUT,     ST("401 403"),                   2, REFUSING, OK, {1, 3, 1, 1}},
  {SOURCE,  ST("401 403"), 7, TOKEN,    ADMIN(E_TOKEN),    {1, 1, 8, 1}},
  {EXTRACT, ST("401 403"), 7, TOKEN,    ADMIN(E_TOKEN),    {1, 1, 1, 8}},
  {POST,    AFTER("403", 90), 3, TOKEN, ADMIN(E_TOKEN),    {4, 1, 1, 1}},

  /* 404 410 */
  {POST,    ST(NOT_HERE),  7, REJECTED, ADMIN(E_PROTOCOL), {8, 1, 1, 1}},
  {PUT,     ST(NOT_HERE),                    2, REFUSING, OK, {1, 3, 1, 1}},
  {SOURCE,  ST(NOT_HERE),                    3, BACKOFF,  OK, {1, 1, 4, 1}},
  {EXTRACT, ST(NOT_HERE),                    5, SCHEDULE, OK, {1, 1, 1, 6}},

  /* 405 406 411 414 431 501 505 */
  {POST,    ST(MISFITS),   7, REJECTED, ADMIN(E_PROTOCOL), {8, 1, 1, 1}},
  {PUT,     ST(MISFITS),                     5, BACKOFF,  OK, {1, 6, 1, 1}},
  {SOURCE,  ST(MISFITS),   7, REJECTED, ADMIN(E_PROTOCOL), {1, 1, 8, 1}},
  {EXTRACT, ST(MISFITS),   7, REJECTED, ADMIN(E_PROTOCOL), {1, 1, 1, 8}},

  /* 408 425 */
  {POST,    ST("408 425"),                  12, BACKOFF,  OK, {13, 1, 1, 1}},
  {PUT,     ST("408 425"),                   5, BACKOFF,  OK, {1, 6, 1, 1}},
  {SOURCE,  ST("408 425"),                  12, BACKOFF,  OK, {1, 1, 13, 1}},
  {EXTRACT, ST("408 425"),                  12, BACKOFF,  OK, {1, 1, 1, 13}},

  /* 409 423 */
  {POST,    ST("409 423"), 7, REJECTED, ADMIN(E_REJECTED), {8, 1, 1, 1}},
  {PUT,     ST("409 423"),                   5, BACKOFF,  OK, {1, 6, 1, 1}},
  {SOURCE,  ST("409 423"),                   9, SCHEDULE, OK, {1, 1, 10, 1}},
  {EXTRACT, ST("409 423"),                   9, SCHEDULE, OK, {1, 1, 1, 10}},

  /* 413 415 422: the only ones that are about the document */
  {POST,    ST("413"),     EVER, NO_WAIT,  ENDS(E_TOO_BIG), {1, 0, 0, 0}},
  {POST,    ST("415 422"), EVER, NO_WAIT,  ENDS(E_REFUSED), {1, 0, 0, 0}},
  {PUT,     ST("413 415 422"),               2, REFUSING, OK, {1, 3, 1, 1}},
  {PUT,     ST("413"),     EVER, REFUSING, ENDS(E_TOO_BIG), {1, 3, 0, 0}},
  {PUT,     ST("415 422"), EVER, REFUSING, ENDS(E_REFUSED), {1, 3, 0, 0}},
  {SOURCE,  ST("413 415 422"),              12, BACKOFF,  OK, {1, 1, 13, 1}},
  {EXTRACT, ST("413 415 422"),              12, BACKOFF,  OK, {1, 1, 1, 13}},

  /* unforeseen */
  {POST,    ST(UNHEARD),   7, REJECTED, ADMIN(E_REJECTED), {8, 1, 1, 1}},
  {PUT,     ST(UNHEARD),                     5, BACKOFF,  OK, {1, 6, 1, 1}},
  {SOURCE,  ST(UNHEARD),                    12, BACKOFF,  OK, {1, 1, 13, 1}},
  {EXTRACT, ST(UNHEARD),                    12, BACKOFF,  OK, {1, 1, 1, 13}},
  {SOURCE,  AFTER("400 422", 90),            3, BACKOFF,  OK, {1, 1, 4, 1}},
  {EXTRACT, AFTER("400 422", 90),            3, BACKOFF,  OK, {1, 1, 1, 4}},

  /* 429 */
  {POST,    ST("429"),                      12, SHARED,   OK, {13, 1, 1, 1}},
  {PUT,     ST("429"),                       5, BACKOFF,  OK, {1, 6, 1, 1}},
  {SOURCE,  ST("429"),                      12, SHARED,   OK, {1, 1, 13, 1}},
  {EXTRACT, ST("429"),                      12, SHARED,   OK, {1, 1, 1, 13}},
  {POST,    AFTER("429 503", 90),            5, SHARED,   OK, {6, 1, 1, 1}},
  {PUT,     AFTER("429 503", 90),            5, BACKOFF,  OK, {1, 6, 1, 1}},
  {SOURCE,  AFTER("429 503", 90),            5, SHARED,   OK, {1, 1, 6, 1}},
  {EXTRACT, AFTER("429 503", 90),            5, SHARED,   OK, {1, 1, 1, 6}},

  /* 5xx; Retry-After is honored */
  {POST,    ST(SERVER),                     12, BACKOFF,  OK, {13, 1, 1, 1}},
  {PUT,     ST(SERVER),                      5, BACKOFF,  OK, {1, 6, 1, 1}},
  {SOURCE,  ST(SERVER),                     12, BACKOFF,  OK, {1, 1, 13, 1}},
  {EXTRACT, ST(SERVER),                     12, BACKOFF,  OK, {1, 1, 1, 13}},
  {POST,    AFTER("500 502", 90),            3, BACKOFF,  OK, {4, 1, 1, 1}},
  {SOURCE,  AFTER("500 408", 90),            3, BACKOFF,  OK, {1, 1, 4, 1}},
  {EXTRACT, AFTER("500 425", 90),            3, BACKOFF,  OK, {1, 1, 1, 4}},
  {EXTRACT, AFTER("204 202", 90),            3, SCHEDULE, OK, {1, 1, 1, 4}},
  {SOURCE,  AFTER("204", 90),                3, SCHEDULE, OK, {1, 1, 4, 1}},

  /* DNS, refused, unreachable: nothing has left; timeout, reset, short body:
   * it may have arrived */
  {POST,    ERR(E_NET, UNSENT),             12, BACKOFF,  OK, {13, 1, 1, 1}},
  {PUT,     ERR(E_NET, UNSENT),              5, UNCLEAR,  OK, {1, 6, 1, 1}},
  {SOURCE,  ERR(E_NET, UNSENT),             12, BACKOFF,  OK, {1, 1, 13, 1}},
  {EXTRACT, ERR(E_NET, UNSENT),             12, BACKOFF,  OK, {1, 1, 1, 13}},
  {POST,    ERR(E_NET, LANDED),             12, LOSS,     OK, {13, 1, 1, 1}},
  {PUT,     ERR(E_NET, LOST),                5, UNCLEAR,  OK, {1, 6, 1, 1}},
  {PUT,     ERR(E_NET, LANDED),              5, UNCLEAR,  OK, {1, 6, 1, 1}},
  {SOURCE,  ERR(E_NET, LANDED),             12, BACKOFF,  OK, {1, 1, 13, 1}},
  {EXTRACT, ERR(E_NET, LANDED),             12, BACKOFF,  OK, {1, 1, 1, 13}},

  /* certificate not trusted or wrong name; no TLS 1.2 */
  {POST,    ERR(E_CERT, UNSENT),     7, REJECTED, ADMIN(E_CERT), {8, 1, 1, 1}},
  {PUT,     ERR(E_CERT, UNSENT),     4, REJECTED, ADMIN(E_CERT), {1, 5, 1, 1}},
  {SOURCE,  ERR(E_CERT, UNSENT),     7, REJECTED, ADMIN(E_CERT), {1, 1, 8, 1}},
  {EXTRACT, ERR(E_CERT, UNSENT),     7, REJECTED, ADMIN(E_CERT), {1, 1, 1, 8}},
  {POST,    ERR(E_PROTOCOL, UNSENT), 7, REJECTED, ADMIN(E_PROTOCOL),
                                                             {8, 1, 1, 1}},
};
/* clang-format on */

/* ---- one row ---- */

static const struct row *row; /* of the service's script */
static int status;

static bool by_row(const struct fixture_call *call,
                   struct fixture_response *ret)
{
  if (call->kind != row->call || call->nth > row->times)
    return false;
  ret->status = status;
  ret->code = row->code;
  ret->body = row->body;
  ret->retry_after = row->retry_after;
  ret->landed = row->landing == LANDED;
  ret->not_sent = row->landing == UNSENT;
  return true;
}

static int64_t most_backoff_ms(int nth)
{
  return nth < 6 ? 1000LL << nth : 60000;
}

/* first_ms, doubling. */
static int64_t doubling_ms(int nth, int64_t first_ms, int64_t max_ms)
{
  int64_t ms = first_ms << (nth < 10 ? nth - 1 : 9);

  return ms < max_ms ? ms : max_ms;
}

/* The minimum and maximum after the nth response. */
static void bounds(int nth, int64_t *ret_least, int64_t *ret_most)
{
  int64_t least = 0, most = 0;

  switch (row->wait) {
  case BACKOFF:
  case REFUSING:
  case SHARED:
    most = most_backoff_ms(nth);
    least = most / 2;
    break;
  case UNCLEAR:
    most = nth == 1 ? 0 : most_backoff_ms(nth);
    least = most / 2;
    break;
  case LOSS:
    least = most = doubling_ms(nth, 5 * S, 60 * S);
    break;
  case TOKEN:
    least = most = nth == 1 ? 5 * S : doubling_ms(nth - 1, 30 * S, 10 * MIN);
    break;
  case REJECTED:
    least = most = doubling_ms(nth, 30 * S, 10 * MIN);
    break;
  case SCHEDULE: /* 2 s, growing by 1.25 up to 15 s, 10 % more or less */
    least = 1800;
    most = 16500;
    break;
  default:
    break;
  }
  if (row->wait == REFUSING && least < 10000)
    least = 10000;
  if (row->retry_ms > least)
    least = row->retry_ms;
  *ret_least = least;
  *ret_most = (least > most ? least : most) + SLACK_MS;
}

static int wrong; /* things, in all rows */

static void complain(const char *what, long long is, long long least,
                     long long most)
{
  static const char *const calls[] = {"POST source", "PUT", "GET source",
                                      "GET extract"};

  print_error("%s: %d (%s)%s%s, %d times: %s %lld, not %lld to %lld\n",
              calls[row->call], status, dx_code_name(row->code),
              row->body != NULL && row->body[0] != '\0' ? " with " : "",
              row->body != NULL ? row->body : "", row->times, what, is, least,
              most);
  wrong++;
}

static void check_waits(void)
{
  size_t i;

  for (i = 0; row->wait != NO_WAIT && i + 1 < fixture.call_count; i++) {
    const struct fixture_call *call = &fixture.calls[i];
    int64_t least, most, is = call[1].began_ms - call->ended_ms;

    if (call->kind != row->call || call->nth > row->times)
      continue;
    bounds(call->nth, &least, &most);
    if (is < least || is > most)
      complain("wait", is, least, most);
  }
}

static void check_results(enum dx_code outcome)
{
  int results = fixture_result_count();
  const char *manifest = fixture.count[POST] > 1 ? NULL : "S1.job.json";

  if (outcome == DX_OK) {
    if (results != 2)
      complain("files", results, 2, 2);
    if (manifest != NULL && !fixture_result_holds(manifest, "\"extracted\""))
      complain("manifest", 0, 1, 1);
  }
  /* No document is ever extracted twice. */
  if (fixture_processed() > 1)
    complain("sources processed", fixture_processed(), 0, 1);
}

static void try_row(void)
{
  struct dx_err err;
  enum dx_code outcome;
  int i;

  assert_int_equal(fixture_open(NULL), 0);
  fixture.odd = by_row;
  (void)fixture_job(1, false);
  outcome = fixture_drive_to_end();
  if (outcome != row->end) {
    complain("end", outcome, row->end, row->end);
    (void)dx_job_outcome(fixture.jobs[0], &err);
    print_error("  (%s)\n", err.text);
  }
  if (fixture.admin != row->admin)
    complain("told", fixture.admin, row->admin, row->admin);
  for (i = 0; i < DX_CALL_HELLO; i++)
    if (fixture.count[i] != row->calls[i])
      complain("calls", 10000 * (i + 1) + fixture.count[i],
               10000 * (i + 1) + row->calls[i],
               10000 * (i + 1) + row->calls[i]);
  check_waits();
  check_results(outcome);
  assert_int_equal(fixture_close(NULL), 0);
}

static void every_row_is_correct(void **state)
{
  size_t i;

  (void)state;
  wrong = 0;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const char *p = rows[i].statuses;
    char *end;

    row = &rows[i];
    do {
      status = (int)strtol(p, &end, 10);
      p = end;
      try_row();
    } while (*p != '\0');
  }
  assert_int_equal(wrong, 0);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_teardown(test, fixture_close)
  const struct CMUnitTest tests[] = {
      ROW(every_row_is_correct),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
