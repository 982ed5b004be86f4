/*
 * test_permission.c - every cell of the permission table, written out a second
 * time; and the parts of a response that are recorded.
 */
#include "tests/unit/unit.h"

#include "lib/spool/job.h"
#include "lib/spool/permission.h"

#define HOUR_MS (60 * 60 * INT64_C(1000))

/* One letter for each of: attends, left, held, ended, connection broke. s:
 * send, w: wait, c: cancel, r: cancel what was not sent, ?: decision. */
struct cells {
  enum dx_answer answer;
  enum dx_final final;
  bool cupsd_gone, known_later;
  const char *cells;
};

static const struct cells expected[] = {
    {DX_ANSWER_OTHER_QUEUE, DX_FINAL_NONE, false, false, "wswww"},
    {DX_ANSWER_OTHER_QUEUE, DX_FINAL_OVER, false, false, "wswww"},
    {DX_ANSWER_NOT_OURS, DX_FINAL_NONE, false, false, "ccrcc"},
    {DX_ANSWER_NOT_OURS, DX_FINAL_OVER, false, false, "csrcc"},
    {DX_ANSWER_CHANGED, DX_FINAL_NONE, false, false, "?????"},
    {DX_ANSWER_CHANGED, DX_FINAL_OVER, false, false, "?s???"},
    {DX_ANSWER_CANCELED, DX_FINAL_NONE, false, false, "ccrcc"},
    {DX_ANSWER_CANCELED, DX_FINAL_CANCELED, false, false, "ccrcc"},
    {DX_ANSWER_CANCELED, DX_FINAL_OVER, false, false, "csrcc"},
    {DX_ANSWER_OVER, DX_FINAL_NONE, false, false, "sssss"},
    {DX_ANSWER_OVER, DX_FINAL_CANCELED, false, false, "sssss"},
    {DX_ANSWER_ACTIVE, DX_FINAL_NONE, false, false, "sswww"},
    {DX_ANSWER_ACTIVE, DX_FINAL_CANCELED, true, true, "sswww"},
    {DX_ANSWER_ACTIVE, DX_FINAL_OVER, true, true, "sswww"},
    {DX_ANSWER_HELD, DX_FINAL_NONE, false, false, "wwsww"},
    {DX_ANSWER_HELD, DX_FINAL_OVER, false, false, "wssww"},
    {DX_ANSWER_HIDDEN, DX_FINAL_NONE, false, false, "sssww"},
    {DX_ANSWER_HIDDEN, DX_FINAL_CANCELED, false, false, "wwwww"},
    {DX_ANSWER_NONE, DX_FINAL_CANCELED, false, false, "wwwww"},
    {DX_ANSWER_HIDDEN, DX_FINAL_OVER, false, false, "sssww"},
    {DX_ANSWER_NONE, DX_FINAL_NONE, false, false, "sssww"},
    {DX_ANSWER_NONE, DX_FINAL_NONE, true, false, "sssww"},
    {DX_ANSWER_UNKNOWN, DX_FINAL_CANCELED, false, false, "ccrcc"},
    {DX_ANSWER_UNKNOWN, DX_FINAL_CANCELED, true, false, "ccrcc"},
    {DX_ANSWER_UNKNOWN, DX_FINAL_CANCELED, true, true, "ccrcc"},
    {DX_ANSWER_UNKNOWN, DX_FINAL_OVER, false, false, "sssss"},
    {DX_ANSWER_UNKNOWN, DX_FINAL_OVER, true, true, "sssss"},
    {DX_ANSWER_UNKNOWN, DX_FINAL_NONE, true, false, "ss??s"},
    {DX_ANSWER_UNKNOWN, DX_FINAL_NONE, true, true, "?s???"},
    {DX_ANSWER_UNKNOWN, DX_FINAL_NONE, false, false, "?s???"},
    {DX_ANSWER_UNKNOWN, DX_FINAL_NONE, false, true, "?s???"},
};

static void printer_and_state_together_are_an_answer(void **state)
{
#define A(name) DX_ANSWER_##name
  static const struct {
    enum dx_answer state, at[4]; /* same, changed, other, not ours */
  } rows[] = {
      {A(CANCELED), {A(CANCELED), A(CANCELED), A(CANCELED), A(NOT_OURS)}},
      {A(OVER), {A(OVER), A(OVER), A(OVER), A(NOT_OURS)}},
      {A(ACTIVE), {A(ACTIVE), A(CHANGED), A(OTHER_QUEUE), A(NOT_OURS)}},
      {A(HELD), {A(HELD), A(CHANGED), A(OTHER_QUEUE), A(NOT_OURS)}},
  };
#undef A
  static const enum dx_place places[] = {DX_PLACE_SAME, DX_PLACE_CHANGED,
                                         DX_PLACE_OTHER, DX_PLACE_NOT_OURS};
  size_t i, k;

  (void)state;
  for (i = 0; i < 4; i++)
    for (k = 0; k < 4; k++)
      assert_string_equal(
          dx_answer_word(dx_answer_at(rows[i].state, places[k])),
          dx_answer_word(rows[i].at[k]));
}

static const enum dx_backend columns[] = {DX_BACKEND_ATTENDS, DX_BACKEND_LEFT,
                                          DX_BACKEND_HELD, DX_BACKEND_ENDED,
                                          DX_BACKEND_BROKEN};

static struct dx_permission_facts facts_of(const struct cells *row, int column)
{
  return (struct dx_permission_facts){.answer = row->answer,
                                      .print.backend = columns[column],
                                      .print.final = row->final,
                                      .cupsd_gone = row->cupsd_gone,
                                      .print.known_later = row->known_later};
}

static void test_every_cell(void **state)
{
  size_t i;
  int column;

  (void)state;
  for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
    for (column = 0; column < 5; column++) {
      struct dx_permission_facts facts = facts_of(&expected[i], column);
      char is = "swcr?"[dx_permission(&facts)];

      if (is != expected[i].cells[column])
        fail_msg("row %zu (%s), backend %s: %c, not %c", i,
                 dx_answer_word(facts.answer),
                 dx_backend_word(facts.print.backend), is,
                 expected[i].cells[column]);
    }
}

static void test_every_answer_is_listed(void **state)
{
  bool listed[DX_ANSWER_COUNT] = {[DX_ANSWER_NOT_ASKED] = true};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
    listed[expected[i].answer] = true;
  for (i = 0; i < DX_ANSWER_COUNT; i++)
    assert_true(listed[i]);
}

/* If a backend attends and got no SIGTERM, cupsd is not asked. Otherwise it is
 * asked, until the print job of a backend that left is over. */
static void test_not_asked(void **state)
{
  struct dx_permission_facts facts = {.answer = DX_ANSWER_NOT_ASKED,
                                      .print.backend = DX_BACKEND_ATTENDS};

  (void)state;
  assert_int_equal(dx_permission(&facts), DX_MAY_SEND);
  assert_false(dx_permission_needs_answer(&facts));
  facts.print.final = DX_FINAL_CANCELED; /* before the backend came back */
  assert_int_equal(dx_permission(&facts), DX_MAY_WAIT);
  assert_true(dx_permission_needs_answer(&facts));
  facts.print.final = DX_FINAL_NONE;
  facts.stopping = true; /* its answer comes with `ended` */
  assert_int_equal(dx_permission(&facts), DX_MAY_WAIT);
  assert_false(dx_permission_needs_answer(&facts));
  facts.stopping = false;
  facts.cupsd_gone = true;
  assert_int_equal(dx_permission(&facts), DX_MAY_WAIT);
  assert_true(dx_permission_needs_answer(&facts));
  facts.print.backend = DX_BACKEND_LEFT;
  assert_int_equal(dx_permission(&facts), DX_MAY_WAIT);
  facts.print.decided = true; /* it may be canceled */
  assert_int_equal(dx_permission(&facts), DX_MAY_WAIT);
  facts.print.final = DX_FINAL_OVER;
  assert_int_equal(dx_permission(&facts), DX_MAY_SEND);
  assert_false(dx_permission_needs_answer(&facts));
  facts.print.backend = DX_BACKEND_ENDED;
  assert_int_equal(dx_permission(&facts), DX_MAY_WAIT);
  facts.print.backend = DX_BACKEND_HELD; /* it may be released or canceled */
  assert_int_equal(dx_permission(&facts), DX_MAY_WAIT);
  assert_true(dx_permission_needs_answer(&facts));
}

static void test_submitted(void **state)
{
  struct dx_permission_facts facts = {.print.backend = DX_BACKEND_NONE};
  int answer;

  (void)state;
  for (answer = 0; answer < DX_ANSWER_COUNT; answer++) {
    facts.answer = (enum dx_answer)answer;
    assert_int_equal(dx_permission(&facts), DX_MAY_SEND);
  }
  assert_false(dx_permission_needs_answer(&facts));
}

/* A decision to send does not override a cancellation in cupsd. */
static void test_decided(void **state)
{
  size_t i;
  int column;

  (void)state;
  for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
    for (column = 0; column < 5; column++) {
      struct dx_permission_facts facts = facts_of(&expected[i], column);
      bool withdrawn = facts.answer == DX_ANSWER_CANCELED ||
                       facts.answer == DX_ANSWER_NOT_OURS;

      facts.print.decided = true;
      if (!withdrawn)
        assert_int_equal(dx_permission(&facts), DX_MAY_SEND);
      else
        assert_int_equal("swcr?"[dx_permission(&facts)],
                         expected[i].cells[column]);
    }
}

/* After a cancel of a held print job: what was sent goes on. */
static void test_keeps(void **state)
{
  enum dx_state st;

  (void)state;
  for (st = 0; st < DX_ST_COUNT; st++) {
    assert_false(dx_permission_keeps(st, false));
    assert_int_equal(dx_permission_keeps(st, true),
                     st == DX_ST_REGISTERED || st == DX_ST_UPLOADED ||
                         st == DX_ST_PROCESSING || st == DX_ST_COMPLETE);
  }
}

static void test_unclear_for_a_day(void **state)
{
  struct dx_permission_facts facts = {.answer = DX_ANSWER_NONE,
                                      .print.backend = DX_BACKEND_ENDED,
                                      .print.unclear_ms = 1000,
                                      .now_ms = 24 * HOUR_MS + 999};

  (void)state;
  assert_int_equal(dx_permission(&facts), DX_MAY_WAIT);
  facts.now_ms++;
  assert_int_equal(dx_permission(&facts), DX_MAY_ASK);
  facts.answer = DX_ANSWER_HIDDEN;
  assert_int_equal(dx_permission(&facts), DX_MAY_ASK);
  facts.answer = DX_ANSWER_HELD;
  assert_int_equal(dx_permission(&facts), DX_MAY_WAIT);
  facts.answer = DX_ANSWER_NONE;
  facts.print.backend = DX_BACKEND_LEFT;
  assert_int_equal(dx_permission(&facts), DX_MAY_SEND);
  facts.print.backend = DX_BACKEND_HELD;
  assert_int_equal(dx_permission(&facts), DX_MAY_SEND);
}

static void test_learn_finals(void **state)
{
  struct dx_print print = {.backend = DX_BACKEND_ENDED, .decided = true};

  (void)state;
  assert_false(dx_print_learn(&print, DX_ANSWER_HELD, false, 1));
  assert_false(dx_print_learn(&print, DX_ANSWER_UNKNOWN, true, 1));
  assert_true(dx_print_learn(&print, DX_ANSWER_OVER, false, 1));
  assert_int_equal(print.final, DX_FINAL_OVER);
  assert_true(print.decided);
  assert_true(dx_print_learn(&print, DX_ANSWER_ACTIVE, false, 1));
  assert_int_equal(print.final, DX_FINAL_NONE); /* printed again */
  assert_true(dx_print_learn(&print, DX_ANSWER_NOT_OURS, false, 1));
  assert_int_equal(print.final, DX_FINAL_CANCELED);
  assert_false(print.decided); /* it was withdrawn later */
  assert_false(dx_print_learn(&print, DX_ANSWER_UNKNOWN, false, 1));
  assert_int_equal(print.final, DX_FINAL_CANCELED);
  assert_true(dx_print_learn(&print, DX_ANSWER_HELD, false, 1));
  assert_int_equal(print.final, DX_FINAL_NONE);
  assert_true(dx_print_learn(&print, DX_ANSWER_OVER, false, 1));
  assert_true(dx_print_learn(&print, DX_ANSWER_CHANGED, false, 1));
  assert_int_equal(print.final, DX_FINAL_NONE);
  print.backend = DX_BACKEND_LEFT;
  print.final = DX_FINAL_OVER;
  assert_false(dx_print_learn(&print, DX_ANSWER_CANCELED, false, 1));
  assert_false(dx_print_learn(&print, DX_ANSWER_ACTIVE, false, 1));
  assert_int_equal(print.final, DX_FINAL_OVER);
  print.final = DX_FINAL_NONE;
  assert_false(dx_print_learn(&print, DX_ANSWER_UNKNOWN, true, 1));
  assert_true(dx_print_learn(&print, DX_ANSWER_UNKNOWN, false, 1));
  assert_int_equal(print.final, DX_FINAL_OVER); /* without a history */
}

static void test_learn_the_rest(void **state)
{
  struct dx_print print = {.backend = DX_BACKEND_BROKEN};

  (void)state;
  assert_true(dx_print_learn(&print, DX_ANSWER_NONE, true, 1000));
  assert_false(dx_print_learn(&print, DX_ANSWER_HIDDEN, false, 2000));
  assert_int_equal(print.unclear_ms, 1000);
  assert_false(dx_print_learn(&print, DX_ANSWER_NOT_ASKED, true, 3000));
  assert_true(dx_print_learn(&print, DX_ANSWER_HELD, false, 3000));
  assert_int_equal(print.unclear_ms, 0);
  assert_false(print.known_later);
  assert_true(dx_print_learn(&print, DX_ANSWER_HELD, true, 3000));
  assert_true(print.known_later);
  print.decided = print.undecided = true;
  print.final = DX_FINAL_CANCELED;
  dx_print_begin(&print);
  assert_int_equal(print.backend, DX_BACKEND_ATTENDS);
  assert_int_equal(print.final, DX_FINAL_NONE);
  assert_false(print.known_later || print.decided || print.undecided);
}

static void test_words(void **state)
{
  int i, k;

  (void)state;
  for (i = 0; i < DX_BACKEND_COUNT; i++)
    for (k = 0; k < i; k++)
      assert_string_not_equal(dx_backend_word((enum dx_backend)i),
                              dx_backend_word((enum dx_backend)k));
  for (i = 0; i < DX_ANSWER_COUNT; i++)
    assert_int_equal(dx_answer_by_word(dx_answer_word((enum dx_answer)i)), i);
  assert_int_equal(dx_answer_by_word("nonsense"), DX_ANSWER_COUNT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_cell),
      cmocka_unit_test(printer_and_state_together_are_an_answer),
      cmocka_unit_test(test_every_answer_is_listed),
      cmocka_unit_test(test_not_asked),
      cmocka_unit_test(test_submitted),
      cmocka_unit_test(test_decided),
      cmocka_unit_test(test_keeps),
      cmocka_unit_test(test_unclear_for_a_day),
      cmocka_unit_test(test_learn_finals),
      cmocka_unit_test(test_learn_the_rest),
      cmocka_unit_test(test_words),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
