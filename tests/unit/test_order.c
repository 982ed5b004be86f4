/*
 * test_order.c - which class of calls gets the next slot: doc/policy.md, "Rate
 * limit".
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "daemon/engine/order.h"

/* How many of 24 slots each class gets, if these have calls that are due. */
static void count(const bool due[DX_ORDER_COUNT], bool polls,
                  int ret[DX_ORDER_COUNT + 1])
{
  uint64_t slot;

  memset(ret, 0, (DX_ORDER_COUNT + 1) * sizeof(ret[0]));
  for (slot = 5; slot < 29; slot++)
    ret[dx_order_next(slot, due, polls)]++;
}

static void no_class_starves(void **state)
{
  static const struct {
    bool due[DX_ORDER_COUNT], polls;
    int slots[DX_ORDER_COUNT + 1];
  } rows[] = {
      /* attended, result, create, overdue */
      {{true, true, true, true}, true, {12, 6, 3, 3, 0}},
      {{true, false, true, false}, true, {21, 0, 3, 0, 0}},
      {{true, true, false, false}, true, {18, 6, 0, 0, 0}},
      {{false, true, true, true}, true, {0, 14, 7, 3, 0}},
      {{false, true, true, false}, true, {0, 16, 8, 0, 0}},
      {{false, true, true, false}, false, {0, 21, 3, 0, 0}},
      {{false, false, true, true}, true, {0, 0, 21, 3, 0}},
      {{false, false, false, true}, true, {0, 0, 0, 24, 0}},
      {{true, false, false, false}, true, {24, 0, 0, 0, 0}},
      {{false, false, false, false}, true, {0, 0, 0, 0, 24}},
  };
  size_t i, k;
  int slots[DX_ORDER_COUNT + 1];

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    count(rows[i].due, rows[i].polls, slots);
    for (k = 0; k <= DX_ORDER_COUNT; k++)
      if (slots[k] != rows[i].slots[k])
        fail_msg("row %zu, class %zu: %d", i, k, slots[k]);
  }
}

/* A call that a user waits for is behind at most one other call. */
static void attended_calls_come_at_the_latest_after_one_other(void **state)
{
  const bool due[DX_ORDER_COUNT] = {true, true, true, true};
  uint64_t slot;

  (void)state;
  for (slot = 0; slot < 16; slot++)
    assert_true(dx_order_next(slot, due, true) == DX_ORDER_ATTENDED ||
                dx_order_next(slot + 1, due, true) == DX_ORDER_ATTENDED);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_class_starves),
      cmocka_unit_test(attended_calls_come_at_the_latest_after_one_other),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
