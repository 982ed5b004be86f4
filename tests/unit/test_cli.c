/*
 * test_cli.c - the exit statuses of the command, and widths on a terminal. The
 * rest is in tests/cli.
 */
#include "tests/unit/unit.h"

#include <locale.h>

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

/* One column is left for an ellipsis. */
static void texts_are_cut_to_a_number_of_columns(void **state)
{
  static const struct {
    const char *text;
    size_t columns, bytes;
  } rows[] = {
      {"", 0, 0},
      {"abc", 3, 3},
      {"abc", 4, 3},
      {"abcd", 3, 2},
      {"abcd", 1, 0},
      {"abcd", 0, 0},
      {"\u00e4bc", 2, 2},
      {"\u5c71\u7530", 4, 6},
      {"\u5c71\u7530", 3, 3},
      {"\u5c71\u7530\u592a", 4, 3},
      {"\xff\xff\xff", 2, 1},
  };
  size_t i;

  (void)state;
  (void)setlocale(LC_CTYPE, "C.UTF-8");
  for (i = 0; i < COUNT(rows); i++)
    if (cli_fitting_bytes(rows[i].text, rows[i].columns) != rows[i].bytes)
      fail_msg("row %zu: %zu", i,
               cli_fitting_bytes(rows[i].text, rows[i].columns));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_class_has_its_exit_status),
      cmocka_unit_test(texts_are_cut_to_a_number_of_columns),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
