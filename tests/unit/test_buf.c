/*
 * test_buf.c - lib/base/buf.c: growing strings and their escapes;
 * lib/base/err.c: the error codes.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"

static void empty_buffer_is_an_empty_text(void **state)
{
  struct dx_buf buf = {0};
  char *text;

  (void)state;
  assert_true(dx_buf_ok(&buf));
  assert_string_equal(dx_buf_text(&buf), "");
  text = dx_buf_take(&buf);
  assert_string_equal(text, "");
  free(text);
  dx_buf_release(&buf);
  dx_buf_release(&buf);
  assert_null(buf.data);
}

/* Across every size at which it may grow. */
static void buffer_grows_and_keeps_its_bytes(void **state)
{
  struct dx_buf buf = {0};
  size_t i;

  (void)state;
  for (i = 0; i < 5000; i++) {
    char c = (char)('a' + i % 26);

    dx_buf_add(&buf, &c, 1);
    assert_int_equal(buf.len, i + 1);
    assert_true(buf.room > buf.len);
    assert_int_equal(buf.data[buf.len], '\0');
  }
  for (i = 0; i < 5000; i++)
    assert_int_equal(buf.data[i], 'a' + (int)(i % 26));
  assert_true(dx_buf_ok(&buf));
  dx_buf_release(&buf);
  assert_int_equal(buf.len, 0);
  assert_int_equal(buf.room, 0);
  assert_null(buf.data);
}

static void nul_bytes_are_preserved(void **state)
{
  struct dx_buf buf = {0};

  (void)state;
  dx_buf_add(&buf, "a\0b", 3);
  dx_buf_add(&buf, NULL, 0);
  dx_buf_puts(&buf, "c");
  assert_int_equal(buf.len, 4);
  assert_memory_equal(buf.data, "a\0bc", 5);
  dx_buf_release(&buf);
}

static void formatted_text_of_any_length_fits(void **state)
{
  struct dx_buf buf = {0};
  char *long_text = malloc(70000);
  char *taken;

  (void)state;
  assert_non_null(long_text);
  memset(long_text, 'x', 69999);
  long_text[69999] = '\0';
  dx_buf_printf(&buf, "%d|%s|", 7, "seven");
  dx_buf_printf(&buf, "%s!", long_text);
  assert_int_equal(buf.len, 8 + 69999 + 1);
  taken = dx_buf_take(&buf);
  assert_memory_equal(taken, "7|seven|xxx", 11);
  assert_string_equal(taken + 8 + 69998, "x!");
  assert_null(buf.data);
  free(taken);
  free(long_text);
}

static void after_a_failed_addition_there_is_no_text(void **state)
{
  struct dx_buf buf = {0};

  (void)state;
  dx_buf_puts(&buf, "before");
  dx_buf_add(&buf, "", SIZE_MAX / 2); /* more than any memory */
  assert_false(dx_buf_ok(&buf));
  dx_buf_puts(&buf, "after");
  dx_buf_printf(&buf, "%d", 1);
  assert_string_equal(dx_buf_text(&buf), "before");
  assert_null(dx_buf_take(&buf));
  assert_true(dx_buf_ok(&buf)); /* it can be reused */
  dx_buf_puts(&buf, "new");
  assert_string_equal(dx_buf_text(&buf), "new");
  dx_buf_release(&buf);
}

static void percent_encoding_keeps_unreserved_characters(void **state)
{
  static const struct {
    const char *text;
    const char *keep;
    const char *encoded;
  } rows[] = {
      {"", "", ""},
      {"azAZ09-_.", "", "azAZ09-_%2E"},
      {"azAZ09-_.", ".", "azAZ09-_."},
      {"a b/c", "", "a%20b%2Fc"},
      {"a b/c", "/", "a%20b/c"},
      {"a b/c", " /", "a b/c"},
      {"100%", "", "100%25"},
      {"~@:[`{", "", "%7E%40%3A%5B%60%7B"},
      {"\xC3\xA4\xFF\x01\n", "", "%C3%A4%FF%01%0A"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_buf buf = {0};

    dx_buf_percent(&buf, rows[i].text, rows[i].keep);
    assert_string_equal(dx_buf_text(&buf), rows[i].encoded);
    dx_buf_release(&buf);
  }
}

static void escaping_preserves_every_byte(void **state)
{
  struct dx_buf buf = {0};
  char all[256];
  const char *at;
  unsigned byte;
  int i;

  (void)state;
  for (i = 1; i < 256; i++)
    all[i - 1] = (char)i;
  all[255] = '\0';
  dx_buf_percent(&buf, all, "");
  at = dx_buf_text(&buf);
  for (i = 1; i < 256; i++, at++) {
    byte = (unsigned char)*at;
    if (*at == '%') {
      assert_int_equal(sscanf(at + 1, "%2x", &byte), 1);
      at += 2;
    }
    assert_int_equal(byte, i);
  }
  assert_int_equal(*at, '\0');
  dx_buf_release(&buf);
}

/* ---- utf8.h ---- */

static void invisible_characters_become_question_marks(void **state)
{
  static const struct {
    const char *text, *plain;
  } rows[] = {
      {"", ""},
      {"Ärzte 12 µg/l €😀", "Ärzte 12 µg/l €😀"},
      {"a\x1b[31mb\x7f\r\n\t", "a?[31mb????"},
      {"\xC2\x9B"
       "31m",
       "?31m"}, /* C1: CSI */
      {"a\xE2\x80\xAE"
       "fdp.exe",
       "a?fdp.exe"},                        /* RIGHT-TO-LEFT OVERRIDE */
      {"\xE2\x81\xA6x\xE2\x81\xA9", "?x?"}, /* isolates */
      {"1\xE2\x80\x8B"
       "2\xEF\xBB\xBF",
       "1?2?"}, /* zero width */
      {"a\xE2\x80\xA8"
       "b\xE2\x80\xA9",
       "a?b?"},                   /* separators */
      {"\xD8\x9C\xC2\xAD", "??"}, /* ALM, soft hyphen */
      {"\xF3\xA0\x80\xA0", "?"},  /* tag */
      {"\xE2\x80\x90\xE2\x80\xAF", "\xE2\x80\x90\xE2\x80\xAF"},
      {"\xFF\xC3"
       "a\xED\xA0\x80",
       "??a???"}, /* no characters */
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char text[64];
    struct dx_err err;

    (void)snprintf(text, sizeof(text), "%s", rows[i].text);
    dx_utf8_make_plain(text);
    assert_string_equal(text, rows[i].plain);
    (void)dx_fail(&err, DX_E_IO, 0, "'%s'", rows[i].text);
    assert_memory_equal(err.text + 1, rows[i].plain, strlen(rows[i].plain));
  }
}

/* What is stored keeps what some languages need. */
/* Each with a letter before and behind it. */
static void printed_text_has_no_hidden_characters(void **state)
{
  static const char *const hidden[] = {
      "\u00AD", "\u061C",     "\u180E",     "\u200B",     "\u200F",
      "\u2028", "\u202E",     "\u2060",     "\u206F",     "\uFEFF",
      "\uFFF9", "\uFFFB",     "\U0001BCA0", "\U0001BCA3", "\U0001D173",
      "\x7F",   "\U0001D17A", "\U000E0000", "\U000E007F", "\xC2\x9F"};
  char text[16];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
    (void)snprintf(text, sizeof(text), "a%sb", hidden[i]);
    dx_utf8_make_plain(text);
    assert_string_equal(text, "a?b");
  }
}

static void stored_text_is_valid_and_without_controls(void **state)
{
  static const struct {
    const char *text, *valid;
  } rows[] = {
      {"Befund M\xC3\xBCller", "Befund M\xC3\xBCller"},
      {"a\x1B[31m\nb\x7F", "a?[31m?b?"},
      {"\xC2\x85\xC2\x9B", "??"},
      {"\xD8\xB9\xE2\x80\x8C\xD8\xB9", "\xD8\xB9\xE2\x80\x8C\xD8\xB9"},
      {"\xFF\xC3\x41\xED\xA0\x80\xF4\x90\x80\x80", "??A???????"},
      {"cut \xE2\x80", "cut ??"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char text[64];

    (void)snprintf(text, sizeof(text), "%s", rows[i].text);
    dx_utf8_make_valid(text);
    assert_string_equal(text, rows[i].valid);
    assert_true(dx_utf8_is_plain(text));
  }
}

/* ---- err.h ---- */

static void failure_has_code_and_text(void **state)
{
  struct dx_err err;

  (void)state;
  assert_int_equal(dx_fail(&err, DX_E_SPACE, ENOSPC, "no %s", "room"),
                   DX_E_SPACE);
  assert_int_equal(err.code, DX_E_SPACE);
  assert_int_equal(err.sys_errno, ENOSPC);
  assert_string_equal(err.text, "no room");
  assert_int_equal(dx_fail(&err, DX_E_IO, 0, "%s: again", err.text), DX_E_IO);
  assert_string_equal(err.text, "no room: again");
  assert_int_equal(dx_fail(NULL, DX_E_IO, 0, "no reader"), DX_E_IO);
}

/* With 1 to 4 bytes a character, at every offset to the end. */
static void long_messages_are_truncated_at_a_character(void **state)
{
  static const char *const characters[] = {"x", "\xC3\xA4", "\xE2\x82\xAC",
                                           "\xF0\x9F\x98\x80"};
  size_t k, shift;

  (void)state;
  for (k = 0; k < 4; k++) {
    for (shift = 0; shift < 5; shift++) {
      struct dx_buf text = {0};
      struct dx_err err;

      dx_buf_add(&text, "aaaaa", shift);
      while (text.len < 2 * (size_t)DX_ERR_TEXT_BYTES)
        dx_buf_puts(&text, characters[k]);
      (void)dx_fail(&err, DX_E_IO, 0, "%s", dx_buf_text(&text));
      assert_true(dx_utf8_is_plain(err.text));
      assert_true(strlen(err.text) < DX_ERR_TEXT_BYTES);
      assert_true(strlen(err.text) > DX_ERR_TEXT_BYTES - 10);
      assert_memory_equal(err.text, text.data, strlen(err.text));
      dx_buf_release(&text);
    }
  }
}

static void message_that_just_fits_stays_whole(void **state)
{
  char text[DX_ERR_TEXT_BYTES];
  struct dx_err err;

  (void)state;
  memset(text, 'x', sizeof(text));
  text[sizeof(text) - 1] = '\0';
  memcpy(text + sizeof(text) - 3, "\xC3\xA4", 2);
  (void)dx_fail(&err, DX_E_IO, 0, "%s", text);
  assert_string_equal(err.text, text);
}

static void system_errors_get_their_code(void **state)
{
  static const struct {
    int sys_errno;
    enum dx_code code;
  } rows[] = {
      {ENOSPC, DX_E_SPACE},     {EDQUOT, DX_E_SPACE},  {EFBIG, DX_E_SPACE},
      {EACCES, DX_E_ACCESS},    {EPERM, DX_E_ACCESS},  {EROFS, DX_E_ACCESS},
      {EMFILE, DX_E_FDS},       {ENFILE, DX_E_FDS},    {ENOMEM, DX_E_NOMEM},
      {ENOENT, DX_E_NOT_FOUND}, {EEXIST, DX_E_EXISTS}, {EIO, DX_E_IO},
      {ENOTEMPTY, DX_E_EXISTS}, {ELOOP, DX_E_IO},      {EINTR, DX_E_IO},
  };
  struct dx_err err;
  char text[DX_ERR_TEXT_BYTES];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_int_equal(dx_fail_sys(&err, rows[i].sys_errno, "open", "x"),
                     rows[i].code);
    assert_int_equal(err.code, rows[i].code);
    assert_int_equal(err.sys_errno, rows[i].sys_errno);
    (void)snprintf(text, sizeof(text), "cannot open 'x': %s",
                   strerror(rows[i].sys_errno));
    assert_string_equal(err.text, text);
  }
  assert_int_equal(dx_fail_nomem(&err), DX_E_NOMEM);
  assert_string_equal(err.text, "out of memory");
}

static void every_code_has_one_class_and_a_name_of_its_own(void **state)
{
  bool used[DX_CL_COUNT] = {false};
  int i;

  (void)state;
  for (i = 0; i < DX_CODE_COUNT; i++) {
    enum dx_code code = (enum dx_code)i;

    assert_true(dx_class_of(code) < DX_CL_COUNT);
    assert_int_equal(dx_class_of(code) == DX_CL_DONE, code == DX_OK);
    assert_int_equal(dx_code_by_name(dx_code_name(code)), code);
    used[dx_class_of(code)] = true;
  }
  for (i = 0; i < DX_CL_COUNT; i++) {
    assert_true(used[i]);
    assert_true(dx_class_word((enum dx_class)i)[0] != '\0');
  }
}

static void names_do_not_change(void **state)
{
  (void)state;
  assert_string_equal(dx_code_name(DX_E_SPACE), "E_SPACE");
  assert_string_equal(dx_class_word(DX_CL_NOT_YET), "not-yet");
  assert_int_equal(dx_class_of(DX_E_KEY), DX_CL_TOKEN);
  assert_int_equal(dx_class_of(DX_E_CERT), DX_CL_CONFIG);
  assert_int_equal(dx_class_of(DX_E_BUNDLE), DX_CL_REFUSED);
  assert_int_equal(dx_code_by_name("E_space"), DX_CODE_COUNT);
  assert_int_equal(dx_code_by_name("SPACE"), DX_CODE_COUNT);
  assert_int_equal(dx_code_by_name(""), DX_CODE_COUNT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(empty_buffer_is_an_empty_text),
      cmocka_unit_test(buffer_grows_and_keeps_its_bytes),
      cmocka_unit_test(nul_bytes_are_preserved),
      cmocka_unit_test(formatted_text_of_any_length_fits),
      cmocka_unit_test(after_a_failed_addition_there_is_no_text),
      cmocka_unit_test(percent_encoding_keeps_unreserved_characters),
      cmocka_unit_test(escaping_preserves_every_byte),
      cmocka_unit_test(invisible_characters_become_question_marks),
      cmocka_unit_test(printed_text_has_no_hidden_characters),
      cmocka_unit_test(stored_text_is_valid_and_without_controls),
      cmocka_unit_test(failure_has_code_and_text),
      cmocka_unit_test(long_messages_are_truncated_at_a_character),
      cmocka_unit_test(message_that_just_fits_stays_whole),
      cmocka_unit_test(system_errors_get_their_code),
      cmocka_unit_test(every_code_has_one_class_and_a_name_of_its_own),
      cmocka_unit_test(names_do_not_change),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
