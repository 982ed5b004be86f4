/*
 * test_language.c - every sentence that users read is translated completely
 * into each language.
 */
#include "lib/base/language.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/spool/sentence.h"
#include "tests/unit/unit.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void says(enum dx_language language, const char *english,
                 const char *expected)
{
  char text[1024];

  dx_language_use(language);
  assert_true(dx_translate(english, text, sizeof(text)));
  assert_string_equal(text, expected);
}

/* Without a rest in English, without a part that was left out, and as valid
 * text that cupsd does not truncate. */
static void is_complete(const char *english)
{
  char text[1024];
  int i;

  for (i = DX_LANGUAGE_DE; i < DX_LANGUAGE_COUNT; i++) {
    dx_language_use((enum dx_language)i);
    if (!dx_translate(english, text, sizeof(text)) ||
        strcmp(text, english) == 0 || strstr(text, "%s") != NULL)
      fail_msg("%s: '%s' for '%s'", dx_language_word((enum dx_language)i), text,
               english);
    assert_true(dx_utf8_is_plain(text));
    assert_true(strlen(text) < 1000);
    assert_false(islower((unsigned char)text[0]) &&
                 isupper((unsigned char)english[0]));
  }
}

static void locale_gives_the_language(void **state)
{
  static const struct {
    const char *locale;
    enum dx_language language;
  } rows[] = {{"de", DX_LANGUAGE_DE},
              {"de_AT.UTF-8", DX_LANGUAGE_DE},
              {"fr_FR@euro", DX_LANGUAGE_FR},
              {"es_MX.utf8", DX_LANGUAGE_ES},
              {"ja_JP.UTF-8", DX_LANGUAGE_JA},
              {"C.UTF-8", DX_LANGUAGE_EN},
              {"POSIX", DX_LANGUAGE_EN},
              {"en_US.UTF-8", DX_LANGUAGE_EN},
              {"", DX_LANGUAGE_EN},
              {"den_DK", DX_LANGUAGE_EN},
              {"pt_BR.UTF-8", DX_LANGUAGE_EN},
              {"d", DX_LANGUAGE_EN}};
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(rows); i++)
    assert_int_equal(dx_language_of(rows[i].locale), rows[i].language);
}

static void user_sets_the_language(void **state)
{
  (void)state;
  assert_int_equal(unsetenv("LC_ALL") | unsetenv("LC_MESSAGES"), 0);
  assert_int_equal(setenv("LANG", "de_DE.UTF-8", 1), 0);
  assert_int_equal(dx_language_of_user(), DX_LANGUAGE_DE);
  assert_int_equal(setenv("LC_MESSAGES", "fr_FR.UTF-8", 1), 0);
  assert_int_equal(dx_language_of_user(), DX_LANGUAGE_FR);
  assert_int_equal(setenv("LC_ALL", "", 1), 0);
  assert_int_equal(dx_language_of_user(), DX_LANGUAGE_FR);
  assert_int_equal(setenv("LC_ALL", "C", 1), 0);
  assert_int_equal(dx_language_of_user(), DX_LANGUAGE_EN);
}

static void sentence_of_every_code_is_translated(void **state)
{
  char text[DX_SENTENCE_BYTES], status[2 * DX_SENTENCE_BYTES];
  int i;

  (void)state;
  for (i = DX_OK + 1; i < DX_CODE_COUNT; i++) {
    dx_sentence((enum dx_code)i, NULL, text);
    is_complete(text);
    (void)snprintf(status, sizeof(status), DX_SAY_ADMIN, text);
    is_complete(status);
    (void)snprintf(status, sizeof(status), DX_SAY_LOCAL, text);
    is_complete(status);
    (void)snprintf(status, sizeof(status), DX_SAY_NOT_READY, text);
    is_complete(status);
  }
  for (i = DX_OK; i < DX_CODE_COUNT; i++) {
    dx_wait_sentence((enum dx_code)i, true, text);
    is_complete(text);
    (void)snprintf(status, sizeof(status), "%s (3 h 5 min)", text);
    is_complete(status);
    dx_wait_sentence((enum dx_code)i, false, text);
    is_complete(text);
  }
}

static void reason_for_every_refusal_is_translated(void **state)
{
  char text[DX_SENTENCE_BYTES];
  int i;

  (void)state;
  for (i = DX_REASON_NONE + 1; i < DX_REASON_COUNT; i++) {
    (void)snprintf(text, sizeof(text), DX_SAY_NOT_EXTRACTED,
                   dx_reason_text((enum dx_reason)i));
    is_complete(text);
    (void)snprintf(text, sizeof(text), DX_SAY_SOME, (size_t)2, (size_t)12,
                   (size_t)7, dx_reason_text((enum dx_reason)i));
    is_complete(text);
    (void)snprintf(text, sizeof(text), DX_SAY_TOGETHER,
                   dx_reason_text((enum dx_reason)i));
    is_complete(text);
  }
}

static void other_sentences_are_translated(void **state)
{
  static const char *const rows[] = {
      DX_SAY_HERE,
      DX_SAY_HERE " (35% sent)",
      DX_SAY_WAITING,
      DX_SAY_INTERRUPTED,
      DX_SAY_ELSEWHERE,
      DX_SAY_LEFT_SENT,
      DX_SAY_LEFT_STORED,
      DX_SAY_OVERDUE,
      "0 of 2 documents extracted; document 1: the service rejected "
      "it; " DX_SAY_REST,
      DX_SENTENCE_ADMIN "1 of 12 documents extracted; document 3: another file "
                        "has the name of its result; " DX_SAY_REST,
      DX_SAY_NOTHING_NEW,
      "Receiving document 12",
      "Extracted 1 case",
      "Extracted 0 cases",
      "Extracted 1 case; nothing was found in it",
      "Extracted 2 cases; nothing was found in them",
      "Extracted 12 cases; nothing was found in 3 of them",
      "Extracted 1 case. " DX_SENTENCE_ADMIN "1 chart printed earlier failed",
      DX_SAY_LEFT_SENT ". " DX_SENTENCE_ADMIN
                       "2 charts printed earlier failed; it is unknown whether "
                       "1 chart printed earlier is still wanted",
      "Extracted 1 case. " DX_SENTENCE_ADMIN
      "it is unknown whether 3 charts printed earlier are still wanted",
      "the chart was not extracted: " DX_SAY_EXPIRED,
      "trying again at 12:05",
      "the chart was not extracted: page 3 is damaged: an image ends early; "
      "ask for a new copy of it, or print it from the program that made it",
      "the chart was not extracted: page 3 is damaged: an image ends early; "
      "scan page 3 again, or ask for a new copy of it",
      "the chart was not extracted: it is damaged: an image has no data; scan "
      "it again, or ask for a new copy of it",
      "'page-ranges' is not a list of pages; print it without that option, or "
      "ask the administrator",
      "the chart was not extracted: 'page-ranges' selects none of its pages; "
      "check which pages are selected",
      "It cannot be sent: a signature has no appearance; in a viewer, print it "
      "to a new PDF, and print that",
      "the chart was not extracted: it cannot be sent: line 3 has a printer "
      "command; print it as a PDF, or with a generic text-only driver",
      "the chart was not extracted: it cannot be sent: line 12 has characters "
      "printed over others; print it as a PDF, or with a generic text-only "
      "driver",
      "the chart was not extracted: it cannot be sent: the encoding of line 3 "
      "is unknown; select it with the option TextEncoding, or print it as a "
      "PDF",
      "the chart was not extracted: it cannot be sent: line 3 is not valid in "
      "the encoding 'Shift_JIS'; select it with the option TextEncoding, or "
      "print it as a PDF",
      "this computer cannot read the encoding 'EUC-KR'",
      "'TextEncoding' has no such choice",
      "'CaseSeparators' has no such choice",
      "document 2: refused: it is password-protected",
      "document 2: stored",
      "document 2: registered",
      "document 2: uploaded",
      "document 2: processing",
      "document 2: complete",
      "'a_1.json' differs from what the service sent",
      "the chart was not extracted: it cannot be sent: no font has the "
      "character U+FB0A; in a PDF viewer, print it to a new PDF, and print "
      "that",
      "Print job chart-12: Extracted 1 case; nothing was found in it",
      "Print job chart-12: 2 of 3 documents extracted; document 3: it is "
      "password-protected. If you need help, ask your administrator.",
      "Print job chart-12: " DX_SENTENCE_ADMIN
      "the chart was not extracted: the disk of this computer is full.",
      DX_SENTENCE_ADMIN "the disk of this computer is full.",
  };
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(rows); i++)
    is_complete(rows[i]);
}

static void parts_are_translated_in_their_order(void **state)
{
  (void)state;
  says(DX_LANGUAGE_EN, "It is password-protected", "It is password-protected");
  says(DX_LANGUAGE_AUTO, "OK; 3", "OK; 3");
  says(DX_LANGUAGE_DE, "Extracted 12 cases; nothing was found in 3 of them",
       "12 Fälle ausgelesen; in 3 davon wurde nichts gefunden");
  says(DX_LANGUAGE_DE, DX_SENTENCE_ADMIN "the disk of this computer is full",
       "Bitte dem Administrator melden – die Festplatte dieses Computers ist "
       "voll");
  says(DX_LANGUAGE_FR, DX_SAY_WAITING " (12 min)",
       "Le service a reçu le document\u00a0; en attente du résultat (12 min)");
  says(DX_LANGUAGE_ES, "document 2: refused: it is password-protected",
       "documento 2: rechazado: está protegido con contraseña");
  says(DX_LANGUAGE_JA, DX_SAY_HERE " (35% sent)",
       "文書はこのコンピューターにあります (35%送信済み)");
  says(DX_LANGUAGE_FR, "its end is missing", "la fin manque");
  says(DX_LANGUAGE_DE,
       "it cannot be sent: no font has the character U+FB0A; "
       "print them again",
       "es kann nicht gesendet werden (keine Schrift enthält das Zeichen "
       "U+FB0A); bitte drucken Sie sie noch einmal");
  says(DX_LANGUAGE_ES, "It was not finished in time, and was deleted",
       "No se terminó a tiempo y se eliminó");
}

/* A translation may begin with other words than its part. */
static void text_is_divided_where_it_was_joined(void **state)
{
  (void)state;
  says(DX_LANGUAGE_JA,
       "Extracted 1 case. " DX_SENTENCE_ADMIN "2 charts printed earlier failed",
       "1件の症例を抽出しました。管理者に連絡してください: "
       "以前に印刷した文書2件の処理に失敗しました");
  says(DX_LANGUAGE_JA,
       "Print job chart-12: 2 of 3 documents extracted; document 3: it is too "
       "large. If you need help, ask your administrator.",
       "印刷ジョブ chart-12: 抽出済みの文書 2/3。文書3: 大きすぎます。"
       "サポートが必要な場合は、管理者に問い合わせてください。");
  says(DX_LANGUAGE_ES, "document 2: refused: it is damaged: a line is missing",
       "documento 2: rechazado: está dañado: falta una línea");
}

/* A capital may have two bytes. */
static void clause_begins_a_sentence_with_a_capital(void **state)
{
  (void)state;
  says(DX_LANGUAGE_FR, "the service rejected it. it was canceled",
       "le service l'a refusé. il a été annulé");
  says(DX_LANGUAGE_FR, "The service rejected it", "Le service l'a refusé");
  says(DX_LANGUAGE_DE, "A line is missing", "Eine Linie fehlt");
}

static void unknown_parts_remain_in_english(void **state)
{
  static const struct {
    const char *english, *german;
  } rows[] = {
      {"cannot rename 'x': No space", "cannot rename 'x': No space"},
      {"the disk failed", "the disk failed"},
      {"it is damaged: something else", "es ist beschädigt (something else)"},
      {DX_SAY_HERE "; contact your administrator: docextractd is not running; "
                   "start it",
       "Das Dokument ist auf diesem Computer; bitte dem Administrator melden – "
       "docextractd is not running; start it"},
      {DX_SAY_HERE
       "; contact your administrator: docextractd is of version "
       "9.0, and this program of version 1.1.0; restart docextractd",
       "Das Dokument ist auf diesem Computer; bitte dem Administrator melden – "
       "docextractd is of version 9.0, and this program of version 1.1.0; "
       "restart docextractd"},
  };
  char text[1024];
  size_t i;

  (void)state;
  dx_language_use(DX_LANGUAGE_DE);
  for (i = 0; i < COUNT(rows); i++) {
    assert_false(dx_translate(rows[i].english, text, sizeof(text)));
    assert_string_equal(text, rows[i].german);
  }
}

static void long_text_is_truncated_after_a_character(void **state)
{
  char text[16], hostile[256], more[6000];
  size_t i, size;

  (void)state;
  dx_language_use(DX_LANGUAGE_JA);
  for (size = 1; size <= sizeof(text); size++) {
    assert_true(dx_translate("it is too large", text, size));
    assert_true(strlen(text) < size && dx_utf8_is_plain(text));
  }
  for (i = 0; i < sizeof(hostile) - 1; i++)
    hostile[i] = "1; "[i % 3];
  hostile[i] = '\0';
  assert_false(dx_translate(hostile, text, sizeof(text)));
  memset(more, 'x', sizeof(more) - 1);
  more[sizeof(more) - 1] = '\0';
  assert_false(dx_translate(more, more, sizeof(more)));
  assert_in_range(strlen(more), 2000, 2048);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(locale_gives_the_language),
      cmocka_unit_test(user_sets_the_language),
      cmocka_unit_test(sentence_of_every_code_is_translated),
      cmocka_unit_test(reason_for_every_refusal_is_translated),
      cmocka_unit_test(other_sentences_are_translated),
      cmocka_unit_test(parts_are_translated_in_their_order),
      cmocka_unit_test(text_is_divided_where_it_was_joined),
      cmocka_unit_test(clause_begins_a_sentence_with_a_capital),
      cmocka_unit_test(unknown_parts_remain_in_english),
      cmocka_unit_test(long_text_is_truncated_after_a_character),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
