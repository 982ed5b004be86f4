/*
 * test_formats.c - what a release wrote can be read by every later one, and
 * comes out as it was (doc/formats.md). tests/formats/ is never changed, only
 * added to.
 */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/print/bundle.h"
#include "lib/spool/job.h"
#include "lib/spool/results.h"

#define PATH_BYTES 512
#define FILE_MAX 100000

static struct dx_err err;

static void path_of(const char *name, char path[PATH_BYTES])
{
  const char *srcdir = getenv("srcdir");

  (void)snprintf(path, PATH_BYTES, "%s/tests/formats/%s",
                 srcdir != NULL ? srcdir : ".", name);
}

static struct dx_buf text_of(const char *name)
{
  struct dx_buf text = {0};
  char path[PATH_BYTES];

  path_of(name, path);
  if (dx_fs_read(AT_FDCWD, path, FILE_MAX, &text, &err) != DX_OK)
    fail_msg("%s; make check sets srcdir", err.text);
  return text;
}

static struct dx_job *job_of(const char *name)
{
  struct dx_buf text = text_of(name);
  struct cJSON *json = dx_json_parse(dx_buf_text(&text), text.len, NULL);
  struct dx_job *job = dx_job_new();

  assert_non_null(json);
  assert_non_null(job);
  assert_int_equal(dx_job_read_json(job, json, &err), DX_OK);
  dx_json_free(&json);
  dx_buf_release(&text);
  return job;
}

static void same_text(char *text, const char *name)
{
  struct dx_buf expected = text_of(name);

  assert_non_null(text);
  assert_string_equal(text, dx_buf_text(&expected));
  dx_buf_release(&expected);
  free(text);
}

static void comes_out_as(const char *name, const char *expected)
{
  struct dx_job *job = job_of(name);
  struct dx_json_out out = {.pretty = true};

  dx_job_put(job, &out, NULL);
  same_text(dx_buf_take(&out.text), expected);
  dx_job_free(&job);
}

/* It is written with what was added since. */
static void journal_of_1_0_is_read(void **state)
{
  (void)state;
  comes_out_as("1.0/received.json", "1.1/received.json");
  comes_out_as("1.0/processing.json", "1.1/processing.json");
  comes_out_as("1.0/finished.json", "1.1/finished.json");
}

static void journal_of_1_1_comes_out_as_it_was(void **state)
{
  (void)state;
  comes_out_as("1.1/received.json", "1.1/received.json");
  comes_out_as("1.1/processing.json", "1.1/processing.json");
  comes_out_as("1.1/waiting.json", "1.1/waiting.json");
  comes_out_as("1.1/finished.json", "1.1/finished.json");
}

static bool read_with(const struct dx_field *fields, const char *text,
                      struct dx_job *job)
{
  struct cJSON *json = dx_json_parse(text, strlen(text), NULL);
  bool is_read;

  assert_non_null(json);
  is_read = dx_fields_get(json, fields, job);
  dx_json_free(&json);
  return is_read;
}

/* A table as a later version may have it: the members of 1.0 are required, and
 * those that were added may be missing, but not invalid. */
static void member_that_1_0_did_not_have_may_be_missing(void **state)
{
  static const struct dx_field later[] = {
      DX_FIELD(dx_job, CHARS, "key", key),
      DX_FIELD(dx_job, TEXT, "text", title, .is_added = true),
      DX_FIELD(dx_job, FLAG, "flag", seen, .is_added = true),
      DX_FIELD(dx_job, COUNT, "count", received_at, .is_added = true),
      DX_FIELD_ROW(dx_job, "list", LIST, submissions,
                   DX_FIELD_SIZE(dx_job, submissions[0]),
                   .fields = dx_submission_fields, .count = 2,
                   .count_at = offsetof(struct dx_job, submission_count),
                   .is_added = true),
      DX_FIELDS_END};
  struct dx_buf text = text_of("1.0/processing.json");
  struct dx_job *job = dx_job_new();

  (void)state;
  assert_true(read_with(later, dx_buf_text(&text), job));
  assert_int_equal(strlen(job->key), DX_KEY_BYTES - 1);
  assert_null(job->title);
  assert_false(job->seen);
  assert_int_equal(job->received_at, 0);
  assert_int_equal(job->submission_count, 0);
  assert_true(read_with(later, "{\"key\": \"k\", \"count\": 3}", job));
  assert_int_equal(job->received_at, 3);
  assert_false(read_with(later, "{\"key\": \"k\", \"count\": -3}", job));
  assert_false(read_with(later, "{\"key\": \"k\", \"flag\": null}", job));
  assert_false(read_with(later, "{\"count\": 3}", job));
  dx_buf_release(&text);
  dx_job_free(&job);
}

/* Delivered again by a later version, it has the bytes that consumers know. */
static void manifest_of_1_0_is_unchanged(void **state)
{
  struct dx_job *job = job_of("1.0/finished.json");

  (void)state;
  assert_int_equal(job->submission_count, 2);
  same_text(dx_manifest_text(&job->submissions[0]), "1.0/extracted.job.json");
  same_text(dx_manifest_text(&job->submissions[1]), "1.0/refused.job.json");
  dx_job_free(&job);
}

static void bundle_of_1_0_is_read(void **state)
{
  struct dx_bundle_reader *reader;
  struct dx_entry entry;
  char path[PATH_BYTES];
  bool end;
  int fd;

  (void)state;
  path_of("1.0/bundle", path);
  fd = open(path, O_RDONLY | O_CLOEXEC);
  reader =
      dx_bundle_reader_new(fd, "0123456789abcdef0123456789abcdef", NULL, NULL);
  assert_true(fd >= 0 && reader != NULL);
  assert_int_equal(dx_bundle_next(reader, &entry, &end, &err), DX_OK);
  assert_int_equal(entry.kind, DX_KIND_DOCUMENT);
  assert_string_equal(entry.type, "application/pdf");
  assert_string_equal(entry.origin, "text/plain");
  assert_string_equal(entry.name, "chart one.pdf");
  assert_int_equal(entry.pages, 3);
  assert_true(entry.together);
  assert_int_equal(dx_bundle_content(reader, -1, &err), DX_OK);
  assert_int_equal(dx_bundle_next(reader, &entry, &end, &err), DX_OK);
  assert_int_equal(entry.kind, DX_KIND_REFUSED);
  assert_int_equal(entry.reason, DX_REASON_PASSWORD);
  assert_string_equal(entry.reason_text, "needs a password");
  assert_int_equal(dx_bundle_content(reader, -1, &err), DX_OK);
  assert_int_equal(dx_bundle_next(reader, &entry, &end, &err), DX_OK);
  assert_true(end);
  dx_bundle_reader_free(&reader);
  (void)close(fd);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(journal_of_1_0_is_read),
      cmocka_unit_test(journal_of_1_1_comes_out_as_it_was),
      cmocka_unit_test(member_that_1_0_did_not_have_may_be_missing),
      cmocka_unit_test(manifest_of_1_0_is_unchanged),
      cmocka_unit_test(bundle_of_1_0_is_read),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
