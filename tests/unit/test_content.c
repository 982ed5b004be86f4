/*
 * test_content.c - where filter/content.c finds inline images, and which ends
 * of content it accepts. Images here are "x" to the power of their /N.
 */
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "filter/content.h"

static int images, asked;
static enum dx_reason other; /* instead of DAMAGED */

/* An image is `/N n` bytes 'x', and a line end. */
static enum dx_reason judge(void *ctx, const unsigned char *dict,
                            size_t dict_len, const unsigned char *data,
                            size_t len, bool first)
{
  char text[100] = "";
  const char *n;
  size_t need;

  (void)ctx;
  assert_true(dict_len < sizeof(text));
  memcpy(text, dict, dict_len);
  n = strstr(text, "/N ");
  assert_non_null(n);
  need = (size_t)atoi(n + 3);
  assert_int_equal(first, asked == 0);
  asked++;
  if (len < need || len > need + 1)
    return other != DX_REASON_NONE ? other : DX_REASON_DAMAGED;
  for (size_t i = 0; i < need; i++)
    assert_int_not_equal(data[i], '\0');
  images++;
  asked = 0;
  return DX_REASON_NONE;
}

static enum dx_reason check(const char *content, bool ended_early)
{
  /* Exactly as long: AddressSanitizer sees what is read behind it. */
  size_t len = strlen(content);
  unsigned char *bytes = malloc(len > 0 ? len : 1);
  enum dx_reason reason;

  assert_non_null(bytes);
  memcpy(bytes, content, len);
  images = asked = 0;
  reason = content_check(bytes, len, ended_early, judge, NULL);
  free(bytes);
  return reason;
}

static void inline_images_are_found_and_judged(void **state)
{
  static const struct {
    const char *content;
    enum dx_reason reason;
    int images;
  } rows[] = {
      {"", DX_REASON_NONE, 0},
      {"q BI /N 3 ID xxx EI Q", DX_REASON_NONE, 1},
      {"BI/N 3\nID\nxxx\nEI\nBI/N 0 ID EI", DX_REASON_NONE, 2},
      {"BI /N 3 ID xxxEI", DX_REASON_NONE, 1},
      {"BI /N 7 ID xxEI xx EI Q", DX_REASON_NONE, 1}, /* EI in the data */
      {"BI /N 7 ID xxEIxxx EI Q", DX_REASON_NONE, 1},
      {"BI /N 3 /D (ID a\\) (EI)) ID xxx EI", DX_REASON_NONE, 1},
      {"BI /N 3 /I <</K[/ID]>> %ID \n ID xxx EI", DX_REASON_NONE, 1},
      {"(\\) BI /N 9 ID) Tj", DX_REASON_NONE, 0},
      {"(\\() Tj BI /N 3 ID xxx EI", DX_REASON_NONE, 1},
      {"(BI /N 9 ID) Tj <BI> /BI gs [(BI)] % BI \n", DX_REASON_NONE, 0},
      {"% (\rBI /N 3 ID xxx EI", DX_REASON_NONE, 1},
      {"BIB /N 3 ID xxx EI BI", DX_REASON_DAMAGED, 0},
      {"BI /N 4 ID xx EI Q", DX_REASON_DAMAGED, 0},
      {"BI /N 3 ID xxxxx EI Q", DX_REASON_DAMAGED, 0},
      {"BI /N 3 ID xxx", DX_REASON_DAMAGED, 0},
      {"BI /N 3 ID xxx E", DX_REASON_DAMAGED, 0},
      {"BI /N 3 ID", DX_REASON_DAMAGED, 0},
      {"BI /N 3 I", DX_REASON_DAMAGED, 0},
      {"BI", DX_REASON_DAMAGED, 0},
      {"BI /N (3 ID xxx EI", DX_REASON_DAMAGED, 0},
      {"BI /N 1 ID x EI BI /N 4 ID xx EI Q", DX_REASON_DAMAGED, 1},
      {"(unterminated BI /N 3 ID x EI", DX_REASON_NONE, 0},
      {"no such ) > ] }operator BI /N 1 ID x EI", DX_REASON_NONE, 1},
  };

  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    enum dx_reason reason = check(rows[i].content, false);

    if (reason != rows[i].reason || images != rows[i].images)
      print_message("%s: %d, %d images\n", rows[i].content, (int)reason,
                    images);
    assert_int_equal(reason, rows[i].reason);
    assert_int_equal(images, rows[i].images);
  }
  other = DX_REASON_TOO_COMPLEX; /* no other EI is tried */
  assert_int_equal(check("BI /N 9 ID xEI EI EI", false), other);
  assert_int_equal(asked, 1);
  other = DX_REASON_NONE;
}

/* A cut image must not cost the square of what follows. */
static void number_of_tried_ends_is_limited(void **state)
{
  char *content = malloc(500000);
  size_t n = (size_t)sprintf(content, "BI /N 99999 ID ");

  (void)state;
  for (int i = 0; i < 100000; i++)
    n += (size_t)sprintf(content + n, "EI ");
  assert_int_equal(check(content, false), DX_REASON_DAMAGED);
  assert_in_range(asked, 2, 1000);
  free(content);
}

static void truncated_content_must_be_closed(void **state)
{
  static const struct {
    const char *content;
    bool closed;
  } rows[] = {
      {"", false},
      {"  ", false},
      {"q 1 0 0 1 0 0 cm BT (a) Tj ET Q", true},
      {"q 1 0 0 1 0 0 cm BT (a) Tj ET Q\n", true},
      {"q 1 0 0 1 0 0 cm BT (a) Tj ET", false},
      {"q BT (a) Tj Q", false},
      {"Q Q 0 0 m 9 9 l S", true},
      {"Q q", false},
      {"0 0 m 9 9 l S % c", true},
      {"0 0 m 9 9", false},
      {"0 0 m 9 9 r", false}, /* of "re" */
      {"/Tx BMC q Q EMC", true},
      {"/Tx BMC q Q", false},
      {"/Tx <</MCID 0>> BDC q Q EMC", true},
      {"/Tx <</MCID 0>> BDC EMC EMC EMC q", false},
      {"BX foo EX", true},
      {"BX foo", false},
      {"0 g [ (a) 3", false},
      {"0 g [ (a) 3 TJ", false},
      {"0 g [ (a) 3] TJ", true},
      {"0 g << /A 3 f", false},
      {"0 g (a", false},
      {"0 g (a\\)", false},
      {"0 g (a(b) f", false},
      {"0 g (f)", false},
      {"0 g <61", false},
      {"0 g <61> Tj", true},
      {"0 g /f", false},
      {"0 g true", false},
      {"q BI /N 3 ID xxx EI Q", true},
      {"BI /N 3 ID xxx EI", true},
      {"q BI /N 3 ID xxx EI", false},
      {"(a) ' (b) \"", true},
      {"0 g f*", true},
  };

  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    enum dx_reason reason = check(rows[i].content, true);

    if ((reason == DX_REASON_NONE) != rows[i].closed)
      print_message("%s\n", rows[i].content);
    assert_int_equal(reason,
                     rows[i].closed ? DX_REASON_NONE : DX_REASON_DAMAGED);
    if (strstr(rows[i].content, "BI") == NULL)
      assert_int_equal(check(rows[i].content, false), DX_REASON_NONE);
  }
}

/* All that a page may open is closed only at its end. */
static void truncated_wrapped_page_is_not_closed(void **state)
{
  static const char page[] = "q /P <</MCID 0>> BDC BT /F1 12 Tf (a(b)\\)) Tj "
                             "[(c) -20 <6465>] TJ ET BX BI /N 3 ID xxx EI EX "
                             "EMC Q";
  char cut[sizeof(page)];

  (void)state;
  for (size_t i = 0; i < sizeof(page) - 1; i++) {
    memcpy(cut, page, i);
    cut[i] = '\0';
    assert_int_equal(check(cut, true), DX_REASON_DAMAGED);
  }
  assert_int_equal(check(page, true), DX_REASON_NONE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(inline_images_are_found_and_judged),
      cmocka_unit_test(number_of_tried_ends_is_limited),
      cmocka_unit_test(truncated_content_must_be_closed),
      cmocka_unit_test(truncated_wrapped_page_is_not_closed),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
