/*
 * test_sentence.c - messages: those for the user who printed have no technical
 * terms, and refer to the administrator if the user cannot fix the problem;
 * those for the administrator say what to do.
 */
#include "lib/spool/sentence.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/user.h"
#include "tests/unit/unit.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* In small letters; a part of a word counts, too. */
static const char *const technical[] = {
    "token",   "url",       "http",    "tls",        "certificate", "config",
    "cups",    ".conf",     "spool",   "docextract", "directory",   "fsync",
    "journal", "backend",   "filter",  "daemon",     "directive",   "class",
    "status",  "json",      "api",     "source",     "bundle",      "raw ",
    "errno",   "signal",    "root",    "page-",      "limit",       "queue",
    "submi",   "transient", "baseurl", "held",       "bytes",       "%"};

static void assert_plain(const char *sentence)
{
  char small[DX_SENTENCE_BYTES];
  size_t i;

  assert_true(strlen(sentence) + strlen(DX_SENTENCE_ADMIN) < sizeof(small));
  for (i = 0; i <= strlen(sentence); i++)
    small[i] = (char)tolower((unsigned char)sentence[i]);
  for (i = 0; i < COUNT(technical); i++)
    if (strstr(small, technical[i]) != NULL)
      fail_msg("'%s' in '%s'", technical[i], sentence);
  if (strpbrk(sentence, "0123456789'_/") != NULL)
    fail_msg("a number or a name in '%s'", sentence);
}

static void sentences_for_users_have_no_technical_terms(void **state)
{
  int i;

  (void)state;
  for (i = 0; i < DX_CODE_COUNT; i++)
    assert_plain(dx_code_rows[i].sentence);
  for (i = 0; i < DX_REASON_COUNT; i++)
    assert_plain(dx_reason_text((enum dx_reason)i));
  for (i = 0; i < DX_SR_COUNT; i++)
    assert_plain(dx_state_reasons[i].text);
}

/* By what the classes ask for; in the class 'refused' it depends. */
static void users_are_referred_only_to_the_administrator(void **state)
{
  char text[DX_SENTENCE_BYTES];
  int i;

  (void)state;
  for (i = 0; i < DX_CODE_COUNT; i++) {
    enum dx_code code = (enum dx_code)i;
    enum dx_class cls = dx_class_of(code);
    bool sent_for;

    dx_sentence(code, NULL, text);
    sent_for = strncmp(text, DX_SENTENCE_ADMIN, strlen(DX_SENTENCE_ADMIN)) == 0;
    assert_true(sent_for == (dx_code_rows[code].advice[0] != '\0'));
    assert_true(isupper((unsigned char)text[0]));
    if (cls != DX_CL_REFUSED && code != DX_E_BUSY)
      assert_true(sent_for == (cls == DX_CL_CONFIG || cls == DX_CL_TOKEN ||
                               cls == DX_CL_LOCAL || cls == DX_CL_INTERNAL));
  }
}

static void advice_is_appended_once(void **state)
{
  struct dx_err err;

  (void)state;
  (void)dx_fail(&err, DX_E_TOKEN, 0, "the service rejected the token (401)");
  dx_advise(&err);
  dx_advise(&err);
  assert_string_equal(err.text, "the service rejected the token (401); run "
                                "'docextract hello'");
  assert_int_equal(err.code, DX_E_TOKEN);
  /* As docextractd and `docextract hello` do with a full disk. */
  (void)dx_fail(&err, DX_E_SPACE, 0, "the disk is full");
  (void)dx_user_advise_writer(&err);
  (void)dx_fail_advice(&err, "%s", "free space there");
  assert_string_equal(err.text, "the disk is full; free space there");
  (void)dx_fail(&err, DX_E_NET, 0, "connection refused");
  dx_advise(&err);
  assert_string_equal(err.text, "connection refused");
}

static void state_reasons_fit_into_a_driver(void **state)
{
  int i;

  (void)state;
  for (i = DX_SR_NONE + 1; i < DX_SR_COUNT; i++) {
    enum dx_state_reason reason = (enum dx_state_reason)i;
    const char *keyword = dx_state_reasons[reason].keyword;
    const char *suffix = strrchr(keyword, '-');

    assert_int_equal(strncmp(keyword, "docextract-", 11), 0);
    assert_true(strcmp(suffix, "-report") == 0 ||
                strcmp(suffix, "-warning") == 0 ||
                strcmp(suffix, "-error") == 0);
    assert_true(strlen(dx_state_reasons[reason].text) <= 80);
    assert_null(strchr(dx_state_reasons[reason].text, ':'));
  }
}

/* ---- jobs ---- */

/* With documents of these kinds, planned. */
static struct dx_job *make(const enum dx_kind *kinds, size_t count,
                           bool together)
{
  struct dx_job *job = dx_job_new();
  struct dx_err err;
  size_t i;

  assert_non_null(job);
  job->documents = calloc(count, sizeof(*job->documents));
  assert_non_null(job->documents);
  job->document_count = count;
  for (i = 0; i < count; i++) {
    job->documents[i].entry.kind = kinds[i];
    job->documents[i].entry.together = together;
    if (kinds[i] == DX_KIND_REFUSED)
      job->documents[i].entry.reason = DX_REASON_TOO_LARGE;
    (void)snprintf(job->documents[i].entry.reason_text, DX_REASON_BYTES,
                   "larger than MaxDocumentSize (1G)");
  }
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  return job;
}

static void says(struct dx_job *job, const char *sentence)
{
  char text[DX_SENTENCE_BYTES];

  dx_job_sentence(job, text);
  assert_string_equal(text, sentence);
}

static void end(struct dx_submission *sub, enum dx_state state)
{
  sub->state = state;
}

static void refused_document_has_the_sentence_of_its_reason(void **state)
{
  static const enum dx_kind kinds[] = {DX_KIND_DOCUMENT, DX_KIND_REFUSED};
  struct dx_job *job = make(kinds, 2, false);

  (void)state;
  end(&job->submissions[0], DX_ST_EXTRACTED);
  says(job, "1 of 2 documents extracted; document 2: it is too large; print "
            "fewer pages at a time, or scan it at a lower resolution");
  assert_string_equal(dx_line(job->submissions[1].reason),
                      "larger than MaxDocumentSize (1G)");
  dx_job_free(&job);
  job = make(kinds, 2, true);
  says(job, "Nothing was extracted, the documents belong together: it is too "
            "large; print fewer pages at a time, or scan it at a lower "
            "resolution");
  dx_job_free(&job);
}

static void failed_submission_has_the_sentence_of_its_code(void **state)
{
  static const enum dx_kind kinds[] = {DX_KIND_DOCUMENT};
  struct dx_job *job = make(kinds, 1, false);

  (void)state;
  dx_submission_end(&job->submissions[0], DX_EV_FAIL, DX_E_REFUSED,
                    "the service responded with 422 to 'create source'");
  says(
      job,
      "The chart was not extracted: the service rejected it; print it to a new "
      "PDF, and print that, or ask the administrator");
  job->submissions[0].code = DX_E_TOO_BIG;
  says(job, "The chart was not extracted: it is too large for the service; "
            "print fewer pages at a time");
  job->submissions[0].code = DX_E_TAKEN;
  says(job, DX_SENTENCE_ADMIN "the chart was not extracted: another file has "
                              "the name of its result");
  dx_job_free(&job);
}

static void submission_has_a_sentence_of_its_own(void **state)
{
  static const enum dx_kind kinds[] = {DX_KIND_DOCUMENT, DX_KIND_REFUSED};
  struct dx_job *job = make(kinds, 2, false);
  char text[DX_SENTENCE_BYTES];

  (void)state;
  dx_submission_sentence(&job->submissions[1], text);
  assert_string_equal(text, "It is too large; print fewer pages at a time, or "
                            "scan it at a lower resolution");
  dx_submission_end(&job->submissions[0], DX_EV_FAIL, DX_E_TAKEN, "why");
  dx_submission_sentence(&job->submissions[0], text);
  assert_string_equal(text, DX_SENTENCE_ADMIN
                      "another file has the name of its result");
  dx_job_free(&job);
}

static void halted_job_gives_its_reason(void **state)
{
  static const enum dx_kind kinds[] = {DX_KIND_DOCUMENT};
  struct dx_job *job = make(kinds, 1, false);

  (void)state;
  dx_job_set_problem(job, DX_E_KEY, "the TokenCommand failed (status 7)", 0);
  job->is_halted = true;
  says(job, DX_SENTENCE_ADMIN "this printer cannot sign in to the service");
  dx_job_free(&job);
}

static void reworded(enum dx_code code, const char *sentence)
{
  static const enum dx_kind kinds[] = {DX_KIND_DOCUMENT};
  struct dx_job *job = make(kinds, 1, false);

  dx_job_set_problem(job, code, code == DX_OK ? "" : "status 500, BaseURL", 0);
  dx_job_reword(job);
  assert_string_equal(dx_line(job->problem.text), sentence);
  assert_int_equal(job->problem.code, DX_OK);
  dx_job_free(&job);
}

static void waiting_job_is_reworded_for_the_user(void **state)
{
  (void)state;
  reworded(DX_OK, "");
  reworded(DX_E_NET, "The service cannot be reached");
  reworded(DX_E_SPACE, DX_SENTENCE_ADMIN "the disk of this computer is full");
  reworded(DX_E_OVERDUE, "The service is taking longer than usual");
}

/* The text of the filter names a directive. */
static void refusal_by_a_limit_names_no_directive(void **state)
{
  static const enum dx_reason reasons[] = {
      DX_REASON_TOO_LARGE, DX_REASON_NO_SEPARATOR, DX_REASON_TOO_SLOW,
      DX_REASON_SANDBOX, DX_REASON_TROUBLE};
  static const enum dx_kind kinds[] = {DX_KIND_REFUSED};
  struct dx_job *job = make(kinds, 1, false);
  char text[DX_SENTENCE_BYTES];
  size_t i;

  (void)state;
  for (i = 0; i < COUNT(reasons); i++) {
    job->documents[0].entry.reason = reasons[i];
    dx_job_sentence(job, text);
    assert_null(strstr(text, "MaxDocumentSize"));
  }
  dx_job_reword(job);
  assert_string_equal(job->documents[0].entry.reason_text, "");
  dx_job_free(&job);
}

static void ended_submissions_are_reworded_for_the_user(void **state)
{
  static const enum dx_kind kinds[] = {DX_KIND_DOCUMENT, DX_KIND_REFUSED,
                                       DX_KIND_DOCUMENT, DX_KIND_DOCUMENT};
  struct dx_job *job = make(kinds, COUNT(kinds), false);

  (void)state;
  dx_submission_end(&job->submissions[0], DX_EV_FAIL, DX_E_TAKEN, "'S.json'");
  dx_submission_end(&job->submissions[2], DX_EV_EXPIRE, DX_E_OVERDUE,
                    "KeepUnfinished");
  dx_line_set(&job->submissions[3].reason, DX_WHY_BYTES, "status 400");
  dx_job_reword(job);
  assert_string_equal(dx_line(job->submissions[0].reason), DX_SENTENCE_ADMIN
                      "another file has the name of its result");
  assert_string_equal(dx_line(job->submissions[1].reason),
                      "It is too large; print fewer pages at a time, or scan "
                      "it at a lower resolution");
  assert_string_equal(dx_line(job->submissions[2].reason),
                      "It was not finished in time, and was deleted; "
                      "print it again");
  assert_string_equal(dx_line(job->submissions[3].reason), "");
  dx_job_free(&job);
}

static void
held_print_job_says_what_failed_and_that_the_rest_goes_on(void **state)
{
  static const enum dx_kind kinds[] = {DX_KIND_DOCUMENT, DX_KIND_DOCUMENT,
                                       DX_KIND_REFUSED};
  struct dx_job *job = make(kinds, 3, false);
  struct dx_submission *subs = job->submissions;

  (void)state;
  dx_job_set_problem(job, DX_E_OVERDUE, "overdue", 0);
  says(job, DX_SAY_OVERDUE);
  job->print.backend = DX_BACKEND_HELD;
  says(job, "0 of 3 documents extracted; document 3: it is too large; print "
            "fewer pages at a time, or scan it at a lower resolution; the rest "
            "is being processed in the background");
  subs[0].state = DX_ST_EXTRACTED;
  says(job, "1 of 3 documents extracted; document 3: it is too large; print "
            "fewer pages at a time, or scan it at a lower resolution; the rest "
            "is being processed in the background");
  job->print.undecided = true; /* it was purged */
  says(job, DX_SENTENCE_ADMIN "this computer no longer knows whether the print "
                              "job was sent or is still wanted");
  job->print.undecided = false;
  subs[1].state = DX_ST_PROCESSING; /* the print job is canceled */
  subs[1].files[0].put = DX_PUT_DONE;
  dx_job_cancel_unsent(job, NULL);
  dx_job_set_problem(job, DX_OK, "", 0);
  says(job, "The chart is with the service; the result will be delivered in "
            "the background");
  subs[1].state = DX_ST_EXTRACTED;
  says(job, "2 of 3 documents extracted; document 3: it was canceled");
  dx_job_free(&job);
}

static void job_in_progress_has_the_sentence_of_its_print_job(void **state)
{
  static const enum dx_kind kinds[] = {DX_KIND_DOCUMENT, DX_KIND_DOCUMENT};
  struct dx_job *job = make(kinds, 2, false);
  enum dx_state *states[] = {&job->submissions[0].state,
                             &job->submissions[1].state};

  (void)state;
  says(job, "The chart is on this computer");
  *states[0] = DX_ST_PROCESSING;
  job->problem.code = DX_E_NET;
  says(job, "The chart is on this computer; the service does not respond, "
            "trying again");
  job->problem.code = DX_E_SERVER;
  says(job, "The chart is on this computer; the service is not working "
            "correctly, trying again");
  job->problem.code = DX_E_UNCLEAR;
  says(job, "The chart is on this computer; the service did not confirm that "
            "it has the chart, trying again");
  *states[1] = DX_ST_UPLOADED;
  job->problem.code = DX_E_NET;
  says(job, "The chart is with the service; the service does not respond, "
            "trying again");
  job->problem.code = DX_E_RATE;
  says(job, "The chart is with the service; the service asked for a pause, "
            "continuing soon");
  job->problem.code = DX_E_TOO_BIG; /* final only at the third response */
  says(job, "The chart is with the service; the service is not working "
            "correctly, trying again");
  job->problem.code = DX_E_GONE; /* a new source may not be visible yet */
  says(job, "The chart is with the service; the service is not working "
            "correctly, trying again");
  job->problem.code = DX_E_SPACE;
  says(job, DX_SENTENCE_ADMIN "the disk of this computer is full; trying again "
                              "every minute, nothing is lost");
  job->problem.code = DX_E_TOKEN;
  says(job, DX_SENTENCE_ADMIN
       "the service rejected the credentials of this printer; trying again, "
       "nothing is lost");
  job->print.backend = DX_BACKEND_ENDED; /* the print job was held */
  says(job, "The chart is with the service; the result will be delivered in "
            "the background");
  job->problem.code = DX_E_NET; /* before the print job was held */
  says(job, "The chart is with the service; the result will be delivered in "
            "the background");
  job->problem.code = DX_E_DENIED;
  job->print.backend = DX_BACKEND_ATTENDS;
  says(job, DX_SENTENCE_ADMIN "the chart waits, because the service denies "
                              "this printer access to it; trying again, "
                              "nothing is lost");
  job->print.backend = DX_BACKEND_ENDED;
  job->problem.code = DX_E_NET;
  *states[1] = DX_ST_REGISTERED;
  says(job, "The chart is on this computer; it is sent when the print job "
            "continues");
  job->print.decided = true; /* `docextract retry` */
  job->problem.code = DX_OK;
  says(job, "The chart is on this computer");
  job->print.backend = DX_BACKEND_LEFT;
  says(job, "The chart is on this computer and will be sent; the result will "
            "be delivered in the background");
  *states[1] = DX_ST_COMPLETE;
  says(job, "The chart is with the service; the result will be delivered in "
            "the background");
  job->problem.code = DX_E_OVERDUE;
  says(job, "The service is taking longer than usual; the result will be "
            "delivered in the background");
  job->print.decided = false;
  job->print.undecided = true;
  job->problem.code = DX_OK; /* a later problem was solved */
  says(job, DX_SENTENCE_ADMIN "this computer no longer knows whether the print "
                              "job was sent or is still wanted");
  dx_job_free(&job);
}

/* A submission's sentence takes the place of its reason. */
static void sentences_fit_into_reasons(void **state)
{
  static const enum dx_kind kinds[] = {DX_KIND_DOCUMENT, DX_KIND_DOCUMENT};
  struct dx_job *job = make(kinds, 2, true);
  char text[DX_SENTENCE_BYTES];
  int i;

  (void)state;
  job->submissions[0].state = DX_ST_FAILED;
  for (i = 0; i < DX_CODE_COUNT; i++) {
    job->submissions[0].code = (enum dx_code)i;
    dx_submission_sentence(&job->submissions[0], text);
    assert_true(strlen(text) < DX_REASON_BYTES);
  }
  dx_job_free(&job);
}

static void extracted_job_counts_cases(void **state)
{
  struct dx_submission *sub;
  static const enum dx_kind kinds[] = {DX_KIND_DOCUMENT};
  struct dx_job *job = make(kinds, 1, false);

  (void)state;
  sub = &job->submissions[0];
  end(sub, DX_ST_EXTRACTED);
  says(job, "Extracted 0 cases");
  sub->cases = calloc(2, sizeof(struct dx_case));
  assert_non_null(sub->cases);
  sub->case_count = 1;
  says(job, "Extracted 1 case");
  sub->cases[0].is_empty = true;
  says(job, "Extracted 1 case; nothing was found in it");
  sub->case_count = 2;
  says(job, "Extracted 2 cases; nothing was found in 1 of them");
  sub->cases[1].is_empty = true;
  says(job, "Extracted 2 cases; nothing was found in them");
  dx_job_free(&job);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sentences_for_users_have_no_technical_terms),
      cmocka_unit_test(users_are_referred_only_to_the_administrator),
      cmocka_unit_test(advice_is_appended_once),
      cmocka_unit_test(state_reasons_fit_into_a_driver),
      cmocka_unit_test(refused_document_has_the_sentence_of_its_reason),
      cmocka_unit_test(failed_submission_has_the_sentence_of_its_code),
      cmocka_unit_test(submission_has_a_sentence_of_its_own),
      cmocka_unit_test(halted_job_gives_its_reason),
      cmocka_unit_test(
          held_print_job_says_what_failed_and_that_the_rest_goes_on),
      cmocka_unit_test(job_in_progress_has_the_sentence_of_its_print_job),
      cmocka_unit_test(waiting_job_is_reworded_for_the_user),
      cmocka_unit_test(refusal_by_a_limit_names_no_directive),
      cmocka_unit_test(ended_submissions_are_reworded_for_the_user),
      cmocka_unit_test(sentences_fit_into_reasons),
      cmocka_unit_test(extracted_job_counts_cases),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
