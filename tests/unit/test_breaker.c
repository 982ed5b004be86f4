/*
 * test_breaker.c - when the calls of one kind pause for everybody, which call
 * is the probe, and what its end changes: doc/policy.md, "Breakers".
 */
#include "tests/unit/unit.h"

#include "daemon/service/breaker.h"

#define ALICE 1
#define BOB 2
#define CAROL 3

#define AFTER 3
#define FIRST 5000
#define MAX 60000

static const struct dx_breaker_rule rule = {AFTER, FIRST, MAX, INT64_MAX};

/* ---- a script of what happens to one breaker ---- */

enum what {
  END,     /* of the script */
  BEGIN,   /* the call of `caller` begins */
  FAIL,    /* it fails */
  SUCCEED, /* it succeeds */
  DROP,    /* it ends without showing either */
  HURRY    /* with a gap of `gap_ms` */
};

struct step {
  enum what what;
  int64_t now_ms;
  uint64_t caller;
  int64_t gap_ms;
  bool changes; /* FAIL: this opens it; SUCCEED: this closes it */
  bool is_open; /* after the step */
  int64_t next_ms;
};

#define NEVER INT64_MAX
#define STEPS_MAX 16

struct script {
  const char *name;
  struct step steps[STEPS_MAX];
};

/* clang-format off */
static const struct script scripts[] = {
  {"opens after several failures in a row, of two callers", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, ALICE, 0, true,  true,  3000 + FIRST},
  }},
  {"does not open for a single caller", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, ALICE, 0, false, false, 0},
    {FAIL,    3000, ALICE, 0, false, false, 0},
    {FAIL,    4000, ALICE, 0, false, false, 0},
    {FAIL,    5000, ALICE, 0, false, false, 0},
    {FAIL,    6000, BOB,   0, true,  true,  6000 + FIRST},
  }},
  {"a later failure of the first caller does not hide the second", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {SUCCEED, 3000, BOB,   0, false, false, 0},
    {FAIL,    4000, BOB,   0, false, false, 0},
    {FAIL,    5000, BOB,   0, false, false, 0},
    {FAIL,    6000, BOB,   0, false, false, 0},
    {FAIL,    7000, ALICE, 0, true,  true,  7000 + FIRST},
  }},
  {"a success ends the row", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {SUCCEED, 2500, CAROL, 0, false, false, 0},
    {FAIL,    3000, ALICE, 0, false, false, 0},
    {FAIL,    4000, BOB,   0, false, false, 0},
    {FAIL,    5000, CAROL, 0, true,  true,  5000 + FIRST},
  }},
  {"a call that begins while it is closed is no probe", {
    {BEGIN,   1000, ALICE, 0, false, false, 0},
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, CAROL, 0, true,  true,  3000 + FIRST},
  }},
  {"failures of calls that had left before count for nothing", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, CAROL, 0, true,  true,  8000},
    {FAIL,    3500, ALICE, 0, false, true,  8000},
    {FAIL,    9000, BOB,   0, false, true,  8000},
    {BEGIN,   9100, CAROL, 0, false, true,  NEVER},
    {FAIL,    9200, ALICE, 0, false, true,  NEVER},
    {FAIL,    9300, CAROL, 0, false, true,  9300 + 2 * FIRST},
  }},
  {"a success of a call that had left before closes it", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, CAROL, 0, true,  true,  8000},
    {SUCCEED, 3500, ALICE, 0, true,  false, 0},
    {FAIL,    4000, ALICE, 0, false, false, 0},
  }},
  {"also while a probe is in progress, which then counts as any call", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, CAROL, 0, true,  true,  8000},
    {BEGIN,   8000, BOB,   0, false, true,  NEVER},
    {SUCCEED, 8500, ALICE, 0, true,  false, 0},
    {FAIL,    9000, BOB,   0, false, false, 0},
    {FAIL,    9100, BOB,   0, false, false, 0},
    {FAIL,    9200, ALICE, 0, true,  true,  9200 + FIRST},
  }},
  {"each pause is twice as long as the last one, up to the longest", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, ALICE, 0, true,  true,  8000},
    {BEGIN,   8000, ALICE, 0, false, true,  NEVER},
    {FAIL,    9000, ALICE, 0, false, true,  9000 + 10000},
    {BEGIN,  19000, BOB,   0, false, true,  NEVER},
    {FAIL,   20000, BOB,   0, false, true,  20000 + 20000},
    {BEGIN,  40000, ALICE, 0, false, true,  NEVER},
    {FAIL,   41000, ALICE, 0, false, true,  41000 + 40000},
    {BEGIN,  90000, BOB,   0, false, true,  NEVER},
    {FAIL,   91000, BOB,   0, false, true,  91000 + MAX},
    {BEGIN, 151000, BOB,   0, false, true,  NEVER},
    {FAIL,  152000, BOB,   0, false, true,  152000 + MAX},
  }},
  {"closed, it starts again with the first pause", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, ALICE, 0, true,  true,  8000},
    {BEGIN,   8000, ALICE, 0, false, true,  NEVER},
    {FAIL,    9000, ALICE, 0, false, true,  19000},
    {BEGIN,  19000, ALICE, 0, false, true,  NEVER},
    {SUCCEED, 20000, ALICE, 0, true, false, 0},
    {SUCCEED, 20100, BOB,  0, false, false, 0},
    {FAIL,   21000, ALICE, 0, false, false, 0},
    {FAIL,   22000, BOB,   0, false, false, 0},
    {FAIL,   23000, ALICE, 0, true,  true,  23000 + FIRST},
  }},
  {"a probe that shows nothing makes room for the next one", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, ALICE, 0, true,  true,  8000},
    {BEGIN,   8000, ALICE, 0, false, true,  NEVER},
    {DROP,    8500, BOB,   0, false, true,  NEVER},
    {DROP,    8600, ALICE, 0, false, true,  8000},
    {BEGIN,   8700, BOB,   0, false, true,  NEVER},
    {FAIL,    8800, ALICE, 0, false, true,  NEVER},
    {FAIL,    9000, BOB,   0, false, true,  19000},
    {DROP,    9100, BOB,   0, false, true,  19000},
  }},
  {"dropping a call while it is closed changes nothing", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {DROP,    1500, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, ALICE, 0, true,  true,  8000},
  }},
  {"hurried, the next probe may be made now", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, ALICE, 0, true,  true,  8000},
    {HURRY,   4000, 0,     0, false, true,  4000},
    {BEGIN,   4000, ALICE, 0, false, true,  NEVER},
    {FAIL,    4100, ALICE, 0, false, true,  4100 + 2 * FIRST},
  }},
  {"but not within the gap after the last failure", {
    {FAIL,    1000, ALICE, 0,    false, false, 0},
    {FAIL,    2000, BOB,   0,    false, false, 0},
    {FAIL,    3000, ALICE, 0,    true,  true,  8000},
    {HURRY,   3500, 0,     2000, false, true,  5000},
    {HURRY,   3600, 0,     2000, false, true,  5000},
    {HURRY,   3700, 0,     9000, false, true,  5000},
  }},
  {"nor later than without", {
    {FAIL,    1000, ALICE, 0,    false, false, 0},
    {FAIL,    2000, BOB,   0,    false, false, 0},
    {FAIL,    3000, ALICE, 0,    true,  true,  8000},
    {HURRY,   3500, 0,     9000, false, true,  8000},
    {HURRY,   9000, 0,     0,    false, true,  8000},
  }},
  {"hurrying does not add a second probe", {
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, ALICE, 0, true,  true,  8000},
    {BEGIN,   8000, ALICE, 0, false, true,  NEVER},
    {HURRY,   8100, 0,     0, false, true,  NEVER},
    {FAIL,    8200, ALICE, 0, false, true,  8200 + 2 * FIRST},
  }},
  {"hurrying a closed one does nothing", {
    {HURRY,    500, 0,     0, false, false, 0},
    {FAIL,    1000, ALICE, 0, false, false, 0},
    {HURRY,   1500, 0,     0, false, false, 0},
    {FAIL,    2000, BOB,   0, false, false, 0},
    {FAIL,    3000, ALICE, 0, true,  true,  8000},
  }},
};
/* clang-format on */

static bool take(struct dx_breaker *breaker, const struct step *step)
{
  switch (step->what) {
  case BEGIN:
    dx_breaker_begin(breaker, step->caller, step->now_ms);
    return false;
  case FAIL:
    return dx_breaker_fail(breaker, &rule, step->caller, step->now_ms);
  case SUCCEED:
    return dx_breaker_succeed(breaker);
  case DROP:
    dx_breaker_drop(breaker, step->caller);
    return false;
  default:
    dx_breaker_hurry(breaker, step->gap_ms, step->now_ms);
    return false;
  }
}

static void every_step_has_its_effect(void **state)
{
  int wrong = 0;
  size_t i, k;

  (void)state;
  for (i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
    struct dx_breaker breaker = {0};

    for (k = 0; k < STEPS_MAX && scripts[i].steps[k].what != END; k++) {
      const struct step *step = &scripts[i].steps[k];
      bool changes = take(&breaker, step);

      if (changes == step->changes &&
          dx_breaker_is_open(&breaker) == step->is_open &&
          dx_breaker_next_ms(&breaker) == step->next_ms)
        continue;
      print_error("'%s', step %zu: changes %d, open %d, next %lld\n",
                  scripts[i].name, k + 1, changes, dx_breaker_is_open(&breaker),
                  (long long)dx_breaker_next_ms(&breaker));
      wrong++;
    }
  }
  assert_int_equal(wrong, 0);
}

static void closed_breaker_is_all_zeros(void **state)
{
  static const struct dx_breaker zeros;
  struct dx_breaker breaker = {0};
  int i;

  (void)state;
  for (i = 0; i < AFTER; i++)
    (void)dx_breaker_fail(&breaker, &rule, i % 2 == 0 ? ALICE : BOB, 1000);
  assert_true(dx_breaker_is_open(&breaker));
  dx_breaker_begin(&breaker, ALICE, 6000);
  (void)dx_breaker_succeed(&breaker);
  assert_memory_equal(&breaker, &zeros, sizeof(zeros));
  dx_breaker_begin(&breaker, ALICE, 6000); /* no probe without a pause */
  dx_breaker_hurry(&breaker, 0, 5000);
  assert_memory_equal(&breaker, &zeros, sizeof(zeros));
}

/* As often as the longest pause permits, for a day. */
static void longest_pause_is_kept_for_a_day(void **state)
{
  struct dx_breaker breaker = {0};
  int64_t now_ms = 0;
  int i, probes = 0;

  (void)state;
  for (i = 0; i < AFTER; i++)
    (void)dx_breaker_fail(&breaker, &rule, i % 2 == 0 ? ALICE : BOB, now_ms);
  while (dx_breaker_next_ms(&breaker) < 86400000) {
    now_ms = dx_breaker_next_ms(&breaker);
    dx_breaker_begin(&breaker, BOB, now_ms);
    assert_false(dx_breaker_fail(&breaker, &rule, BOB, now_ms));
    assert_true(breaker.pause_ms <= MAX);
    probes++;
  }
  /* After 5, 10, 20, and 40 s, and then every 60 s. */
  assert_int_equal(probes, 4 + (86400 - 75 - 1) / 60);
}

/* Two failures are enough for the section, and for sources that fail. */
static void rule_decides_after_how_many_failures(void **state)
{
  static const struct dx_breaker_rule two = {2, 30000, 40000, 7000};
  struct dx_breaker breaker = {0};

  (void)state;
  assert_false(dx_breaker_fail(&breaker, &two, ALICE, 0));
  assert_false(dx_breaker_fail(&breaker, &two, ALICE, 0));
  assert_true(dx_breaker_fail(&breaker, &two, BOB, 1000));
  assert_int_equal(dx_breaker_next_ms(&breaker), 31000);
  dx_breaker_begin(&breaker, ALICE, 31000);
  assert_false(dx_breaker_fail(&breaker, &two, ALICE, 31000));
  assert_int_equal(dx_breaker_next_ms(&breaker), 71000);
}

/* A result may take long to arrive: that is not waited for, but it counts. */
static void slow_probe_is_followed_by_another_one(void **state)
{
  static const struct dx_breaker_rule two = {2, 30000, 40000, 7000};
  struct dx_breaker breaker = {0};

  (void)state;
  (void)dx_breaker_fail(&breaker, &two, ALICE, 0);
  (void)dx_breaker_fail(&breaker, &two, BOB, 0);
  dx_breaker_begin(&breaker, ALICE, 30000);
  assert_int_equal(dx_breaker_next_ms(&breaker), 37000);
  dx_breaker_begin(&breaker, BOB, 37000);
  assert_false(dx_breaker_fail(&breaker, &two, ALICE, 38000));
  assert_int_equal(dx_breaker_next_ms(&breaker), 44000);
  assert_true(dx_breaker_succeed(&breaker));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_step_has_its_effect),
      cmocka_unit_test(closed_breaker_is_all_zeros),
      cmocka_unit_test(longest_pause_is_kept_for_a_day),
      cmocka_unit_test(rule_decides_after_how_many_failures),
      cmocka_unit_test(slow_probe_is_followed_by_another_one),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
