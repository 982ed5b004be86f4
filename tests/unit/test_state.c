/*
 * test_state.c - the transition table: every pair is listed or refused,
 * every state can be reached, the words are frozen.
 */
#include "tests/unit/unit.h"

#include "lib/spool/state.h"

/* The table written out again: "from event to". */
static const struct {
  enum dx_state from;
  enum dx_event event;
  enum dx_state to;
} expected[] = {
    {DX_ST_STORED, DX_EV_ACCEPTED, DX_ST_REGISTERED},
    {DX_ST_STORED, DX_EV_FAIL, DX_ST_FAILED},
    {DX_ST_STORED, DX_EV_REFUSE, DX_ST_REFUSED},
    {DX_ST_REGISTERED, DX_EV_PUT_ALL, DX_ST_UPLOADED},
    {DX_ST_REGISTERED, DX_EV_SEEN_PENDING, DX_ST_REGISTERED},
    {DX_ST_REGISTERED, DX_EV_SEEN_PROCESSING, DX_ST_PROCESSING},
    {DX_ST_REGISTERED, DX_EV_SEEN_COMPLETE, DX_ST_COMPLETE},
    {DX_ST_REGISTERED, DX_EV_SEEN_FAILED, DX_ST_STORED},
    {DX_ST_REGISTERED, DX_EV_REREGISTER, DX_ST_STORED},
    {DX_ST_REGISTERED, DX_EV_FAIL, DX_ST_FAILED},
    {DX_ST_UPLOADED, DX_EV_SEEN_PENDING, DX_ST_UPLOADED},
    {DX_ST_UPLOADED, DX_EV_SEEN_PROCESSING, DX_ST_PROCESSING},
    {DX_ST_UPLOADED, DX_EV_SEEN_COMPLETE, DX_ST_COMPLETE},
    {DX_ST_UPLOADED, DX_EV_SEEN_FAILED, DX_ST_STORED},
    {DX_ST_UPLOADED, DX_EV_PUT_AGAIN, DX_ST_REGISTERED},
    {DX_ST_UPLOADED, DX_EV_REREGISTER, DX_ST_STORED},
    {DX_ST_UPLOADED, DX_EV_FAIL, DX_ST_FAILED},
    {DX_ST_PROCESSING, DX_EV_SEEN_PENDING, DX_ST_PROCESSING},
    {DX_ST_PROCESSING, DX_EV_SEEN_PROCESSING, DX_ST_PROCESSING},
    {DX_ST_PROCESSING, DX_EV_SEEN_COMPLETE, DX_ST_COMPLETE},
    {DX_ST_PROCESSING, DX_EV_SEEN_FAILED, DX_ST_STORED},
    {DX_ST_PROCESSING, DX_EV_FAIL, DX_ST_FAILED},
    {DX_ST_COMPLETE, DX_EV_DELIVERED, DX_ST_EXTRACTED},
    {DX_ST_COMPLETE, DX_EV_FAIL, DX_ST_FAILED},
    {DX_ST_FAILED, DX_EV_RETRY, DX_ST_STORED},
    {DX_ST_FAILED, DX_EV_VERIFY, DX_ST_UPLOADED},
    {DX_ST_EXPIRED, DX_EV_VERIFY, DX_ST_UPLOADED},
    {DX_ST_REFUSED, DX_EV_RETRY, DX_ST_STORED},
    {DX_ST_STORED, DX_EV_CANCEL, DX_ST_CANCELED},
    {DX_ST_STORED, DX_EV_EXPIRE, DX_ST_EXPIRED},
    {DX_ST_REGISTERED, DX_EV_CANCEL, DX_ST_CANCELED},
    {DX_ST_REGISTERED, DX_EV_EXPIRE, DX_ST_EXPIRED},
    {DX_ST_UPLOADED, DX_EV_CANCEL, DX_ST_CANCELED},
    {DX_ST_UPLOADED, DX_EV_EXPIRE, DX_ST_EXPIRED},
    {DX_ST_PROCESSING, DX_EV_CANCEL, DX_ST_CANCELED},
    {DX_ST_PROCESSING, DX_EV_EXPIRE, DX_ST_EXPIRED},
    {DX_ST_COMPLETE, DX_EV_CANCEL, DX_ST_CANCELED},
    {DX_ST_COMPLETE, DX_EV_EXPIRE, DX_ST_EXPIRED},
    {DX_ST_FAILED, DX_EV_CANCEL, DX_ST_CANCELED},
    {DX_ST_FAILED, DX_EV_EXPIRE, DX_ST_EXPIRED},
    {DX_ST_REFUSED, DX_EV_CANCEL, DX_ST_CANCELED},
    {DX_ST_REFUSED, DX_EV_EXPIRE, DX_ST_EXPIRED},
    {DX_ST_CANCELED, DX_EV_RETRY, DX_ST_STORED},
    {DX_ST_EXPIRED, DX_EV_RETRY, DX_ST_STORED},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int find(enum dx_state from, enum dx_event event)
{
  size_t i;

  for (i = 0; i < COUNT(expected); i++)
    if (expected[i].from == from && expected[i].event == event)
      return (int)expected[i].to;
  return -1;
}

static void every_pair_is_as_listed_or_refused(void **state)
{
  int from, event;

  (void)state;
  for (from = 0; from < DX_ST_COUNT; from++)
    for (event = 0; event < DX_EV_COUNT; event++) {
      int want = find((enum dx_state)from, (enum dx_event)event);
      enum dx_state to = DX_ST_COUNT;
      struct dx_err err;
      enum dx_code code =
          dx_state_next((enum dx_state)from, (enum dx_event)event, &to, &err);

      if (want >= 0) {
        assert_int_equal(code, DX_OK);
        assert_int_equal(to, want);
      } else {
        assert_int_equal(code, DX_E_STATE);
        assert_int_equal(to, DX_ST_COUNT);
      }
    }
}

static void every_state_can_be_reached_from_stored(void **state)
{
  int seen[DX_ST_COUNT] = {[DX_ST_STORED] = 1};
  size_t round, i;
  int s;

  (void)state;
  for (round = 0; round < DX_ST_COUNT; round++)
    for (i = 0; i < COUNT(expected); i++)
      if (seen[expected[i].from])
        seen[expected[i].to] = 1;
  for (s = 0; s < DX_ST_COUNT; s++)
    assert_true(seen[s]);
}

static void extracted_is_final(void **state)
{
  int event;

  (void)state;
  for (event = 0; event < DX_EV_COUNT; event++)
    assert_int_equal(find(DX_ST_EXTRACTED, (enum dx_event)event), -1);
}

static void words_do_not_change(void **state)
{
  static const char *const words[] = {
      "stored",    "registered", "uploaded", "processing", "complete",
      "extracted", "failed",     "refused",  "canceled",   "expired"};
  size_t i;

  (void)state;
  assert_int_equal(COUNT(words), DX_ST_COUNT);
  for (i = 0; i < COUNT(words); i++)
    assert_string_equal(dx_state_word((enum dx_state)i), words[i]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pair_is_as_listed_or_refused),
      cmocka_unit_test(every_state_can_be_reached_from_stored),
      cmocka_unit_test(extracted_is_final),
      cmocka_unit_test(words_do_not_change),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
