/*
 * test_nearest.c - the word that was meant by a mistyped one.
 */
#include "tests/unit/unit.h"

#include "lib/base/nearest.h"

static void of_mistyped_words(void **state)
{
  static const char *const words[] = {"cancel", "config",   "jobs",
                                      "purge",  "Language", "show"};
  static const struct {
    const char *typed, *meant; /* NULL: none is near */
  } rows[] = {
      {"jobs", "jobs"},
      {"job", "jobs"},
      {"joobs", "jobs"},
      {"jbos", "jobs"},
      {"jots", "jobs"},
      {"SHOW", "show"},
      {"languaeg", "Language"},
      {"lanxuage", "Language"},
      {"lnguag", "Language"},
      {"cancxl", "cancel"},
      {"conf", "config"},
      {"pruge", "purge"},
      {"", NULL},
      {"s", NULL},
      {"jo", NULL},
      {"sjob", NULL},
      {"can", NULL},
      {"lngug", NULL},
      {"submit", NULL},
      {"languagelanguagelanguagelanguage1", NULL},
  };
  size_t i, k;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_nearest nearest = {.word = rows[i].typed};

    for (k = 0; k < sizeof(words) / sizeof(words[0]); k++)
      dx_nearest_try(&nearest, words[k]);
    if (rows[i].meant == NULL ? nearest.found != NULL
                              : nearest.found == NULL ||
                                    strcmp(nearest.found, rows[i].meant) != 0)
      fail_msg("'%s': '%s'", rows[i].typed,
               nearest.found != NULL ? nearest.found : "none");
  }
}

/* Of several near words, the first of the nearest. */
static void of_words_like_each_other(void **state)
{
  struct dx_nearest nearest = {.word = "stors"};

  (void)state;
  dx_nearest_try(&nearest, "score");
  dx_nearest_try(&nearest, "stored");
  assert_string_equal(nearest.found, "stored");
  dx_nearest_try(&nearest, "stories");
  assert_string_equal(nearest.found, "stored");
  dx_nearest_try(&nearest, "stars");
  assert_string_equal(nearest.found, "stars");
  dx_nearest_try(&nearest, "store");
  assert_string_equal(nearest.found, "stars");
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_mistyped_words),
      cmocka_unit_test(of_words_like_each_other),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
