/*
 * test_status.c - the status socket: the data about a job in responses.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/control/status.h"

#define KEY "0123456789abcdef0123456789abcdef"

static struct dx_err err;

static struct dx_job *make_job(enum dx_state sub_state)
{
  static char one[] = "C1";
  char *ids[] = {one};
  struct dx_job *job = dx_job_new();

  assert_non_null(job);
  (void)strcpy(job->key, KEY);
  job->service = strdup("default");
  job->base_url = strdup("https://host");
  job->user = strdup("alice");
  job->queue = strdup("charts");
  job->cups_id = strdup("7");
  job->received_at = 1000;
  job->documents = calloc(2, sizeof(*job->documents));
  assert_non_null(job->documents);
  job->document_count = 1;
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  job->submissions[0].state = sub_state;
  job->submissions[0].source_id = strdup("SOURCE");
  assert_int_equal(dx_submission_set_place(job->submissions, "default",
                                           "https://host", NULL, &err),
                   DX_OK);
  job->submissions[0].files[0].url = strdup("https://s/o?sig=secret");
  assert_int_equal(dx_submission_set_cases(job->submissions, ids, 1, &err),
                   DX_OK);
  return job;
}

static void job_is_parsed_without_upload_urls(void **state)
{
  struct dx_job *job = make_job(DX_ST_REGISTERED), *copy = NULL;
  char *text = dx_status_job_line(job, true);
  struct cJSON *read;

  (void)state;
  assert_non_null(text);
  assert_null(strstr(text, "secret"));
  assert_null(strstr(text, "https://s"));
  read = dx_json_parse(text, strlen(text), &err);
  assert_int_equal(dx_status_read_job(read, &copy, &err), DX_OK);
  assert_string_equal(copy->key, KEY);
  assert_int_equal(copy->submissions[0].state, DX_ST_REGISTERED);
  assert_int_equal(copy->submissions[0].case_count, 1);
  assert_int_equal(copy->dirfd, -1);
  dx_json_free(&read);
  free(text);
  dx_job_free(&copy);
  dx_job_free(&job);
}

/* What the administrator reads, in every place of the journal. */
static void only_the_administrator_gets_technical_texts(void **state)
{
  static const bool for_admin[] = {true, false};
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    struct dx_job *job = make_job(DX_ST_FAILED);
    char *text;

    job->submissions[0].code = DX_E_REFUSED;
    (void)strcpy(job->submissions[0].reason, "TECHNICAL 422");
    (void)strcpy(job->documents[0].entry.reason_text, "TECHNICAL 1G");
    dx_job_set_message(job, DX_E_KEY, "TECHNICAL TokenCommand; run 'x'", 0);
    text = dx_status_job_line(job, for_admin[i]);
    assert_non_null(text);
    assert_true((strstr(text, "TECHNICAL") != NULL) == for_admin[i]);
    assert_true(
        (strstr(text, "\"message\":\"Contact your "
                      "administrator: this printer cannot sign in to the "
                      "service\"") == NULL) == for_admin[i]);
    assert_true((strstr(text, "\"reason\":\"The service rejected it\"") ==
                 NULL) == for_admin[i]);
    free(text);
    dx_job_free(&job);
  }
}

static void line_of_another_version_is_rejected(void **state)
{
  static const char *const lines[] = {"{}", "{\"job\":{}}", "{\"job\":null}",
                                      "[]"};
  struct dx_job *job = NULL;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
    struct cJSON *line = dx_json_parse(lines[i], strlen(lines[i]), &err);

    assert_int_equal(dx_status_read_job(line, &job, &err), DX_E_RESPONSE);
    assert_non_null(strstr(err.text, "restart docextractd"));
    assert_null(job);
    dx_json_free(&line);
  }
}

static void job_has_ended_with_its_last_submission(void **state)
{
  struct dx_job *job = make_job(DX_ST_PROCESSING);
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  sub->delivered_at = 60000;
  assert_int_equal(dx_job_ended_at(job), 0);
  sub->state = DX_ST_EXTRACTED;
  assert_int_equal(dx_job_ended_at(job), 60000);
  /* The client is told once: when the manifest says so, too. */
  sub->state = DX_ST_REFUSED;
  assert_int_equal(dx_job_ended_at(job), 0);
  sub->failed_at = 120000;
  assert_int_equal(dx_job_ended_at(job), 120000);
  job->submissions = reallocarray(sub, 2, sizeof(*sub));
  assert_non_null(job->submissions);
  job->submissions[1] = (struct dx_submission){
      .job = job, .state = DX_ST_COMPLETE, .delivered_at = 60000};
  job->submission_count = 2;
  assert_int_equal(dx_job_ended_at(job), 0);
  job->submissions[1].state = DX_ST_EXTRACTED;
  assert_int_equal(dx_job_ended_at(job), 120000);
  dx_job_free(&job);
}

/* Its result was stored long before it could be delivered: a watcher that was
 * not connected meanwhile asks for what ended recently. */
static void submission_that_is_delivered_late_has_ended_late(void **state)
{
  struct dx_job *job = make_job(DX_ST_COMPLETE), *copy = dx_job_new();
  int64_t before = dx_wall_ms() / 1000 * 1000;
  struct dx_json_out journal = {0};
  struct cJSON *read;

  (void)state;
  job->submissions[0].extracted_at = 60000;
  assert_int_equal(dx_submission_apply(job->submissions, DX_EV_DELIVERED, &err),
                   DX_OK);
  dx_job_put(job, &journal, NULL);
  read = dx_json_parse(journal.text.data, journal.text.len, &err);
  assert_int_equal(dx_job_read_json(copy, read, &err), DX_OK);
  assert_true(dx_job_ended_at(copy) >= before);
  assert_int_equal(copy->submissions[0].extracted_at, 60000);
  dx_json_free(&read);
  dx_buf_release(&journal.text);
  dx_job_free(&copy);
  dx_job_free(&job);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(job_is_parsed_without_upload_urls),
      cmocka_unit_test(only_the_administrator_gets_technical_texts),
      cmocka_unit_test(line_of_another_version_is_rejected),
      cmocka_unit_test(job_has_ended_with_its_last_submission),
      cmocka_unit_test(submission_that_is_delivered_late_has_ended_late),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
