/*
 * test_whole.c - what filter/whole.c makes of a failed allocation. What it
 * makes of PDFs is tested by tests/filter/whole_test.sh.
 */
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdlib.h>

#include "filter/whole.h"

static int until_failure; /* allocations; 0: none fails */

/* Only our own are wrapped, not those of libqpdf.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-*) */
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_realloc(void *memory, size_t size)
{
  if (until_failure > 0 && --until_failure == 0)
    return NULL;
  return __real_realloc(memory, size);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-*) */

static void add_page(qpdf_data pdf)
{
  qpdf_oh page = qpdf_make_indirect_object(
      pdf, qpdf_oh_parse(pdf, "<</Type/Page/MediaBox[0 0 9 9]/Resources<<>>"
                              "/Annots[<</AP<<>>>>]>>"));

  assert_int_equal(qpdf_add_page(pdf, pdf, page, QPDF_FALSE) & QPDF_ERRORS, 0);
}

/* In a PDF of two pages, if the n-th allocation fails. */
static enum dx_reason look(int failure)
{
  qpdf_data pdf = qpdf_init();
  enum dx_reason reason;
  bool defects;
  int pages;

  assert_int_equal(qpdf_empty_pdf(pdf) & QPDF_ERRORS, 0);
  add_page(pdf);
  add_page(pdf);
  until_failure = failure;
  reason = whole_pages(pdf, &pages, &defects);
  if (reason == DX_REASON_NONE)
    assert_int_equal(pages, 2);
  qpdf_cleanup(&pdf);
  return reason;
}

/* Whoever printed it would be told to repair it. */
static void without_memory_nothing_is_damaged(void **state)
{
  int n = 0;

  (void)state;
  while (look(++n) != DX_REASON_NONE)
    assert_int_equal(look(n), DX_REASON_TROUBLE);
  assert_true(until_failure > 0); /* there was no n-th allocation */
  assert_in_range(n, 4, 20);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_memory_nothing_is_damaged),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
