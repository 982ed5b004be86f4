/*
 * test_cli.c - the exit statuses of the command. The rest is in tests/cli.
 */
#include "tests/unit/unit.h"

#include "cli/cli.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Scripts rely on the numbers, so they are written out here. */
static void every_class_has_its_exit_status(void **state)
{
  static const struct {
    enum dx_class cls;
    int status;
  } expected[] = {
      {DX_CL_DONE, 0},     {DX_CL_NOT_YET, 75}, {DX_CL_TRANSIENT, 75},
      {DX_CL_RATE, 75},    {DX_CL_TOKEN, 77},   {DX_CL_REFUSED, 65},
      {DX_CL_CONFIG, 78},  {DX_CL_GONE, 69},    {DX_CL_LOCAL, 74},
      {DX_CL_OVERDUE, 75}, {DX_CL_STOPPED, 75}, {DX_CL_INTERNAL, 70},
  };
  size_t i;

  (void)state;
  assert_int_equal(COUNT(expected), DX_CL_COUNT);
  for (i = 0; i < COUNT(expected); i++) {
    assert_int_equal(expected[i].cls, i);
    assert_int_equal(cli_exit_status(expected[i].cls), expected[i].status);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_class_has_its_exit_status),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
