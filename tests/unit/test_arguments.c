/*
 * test_arguments.c - what the backend reads from cupsd's options, the file
 * names that it takes from them, and what cupsd reports about the documents.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "backend/backend.h"

static struct dx_err err;

static struct backend read_options(const char *options)
{
  char *argv[] = {(char *)(uintptr_t) "docextract://a",
                  (char *)(uintptr_t) "7",
                  (char *)(uintptr_t) "ann",
                  (char *)(uintptr_t) "title",
                  (char *)(uintptr_t) "1",
                  (char *)(uintptr_t)options,
                  NULL};
  struct backend b = {.in_fd = -1};

  assert_int_equal(backend_read_arguments(&b, 6, argv, &err), DX_OK);
  return b;
}

static void release(struct backend *b)
{
  free(b->uuid);
  free(b->host);
  free(b->queue);
}

static void options_are_read(void **state)
{
  static const struct {
    const char *options, *uuid, *host; /* NULL: none */
  } rows[] = {
      {"", NULL, NULL},
      {"job-uuid=urn:1 job-originating-host-name=pc", "urn:1", "pc"},
      {"job-uuid=mine a job-uuid=urn:1", "urn:1", NULL}, /* cupsd's is last */
      {"xjob-uuid=1 job-uuid-x=2 job-uuid job-title=job-uuid=3", NULL, NULL},
      {"job-title=a\\ job-uuid=2 job-uuid=a\\ \\\\b", "a \\b", NULL},
      {"job-uuid=", "", NULL},
      /* Nothing behind the end is read. */
      {"job-uuid=a\\\0job-originating-host-name=pc", "a\\", NULL},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct backend b = read_options(rows[i].options);

    if ((b.uuid == NULL) != (rows[i].uuid == NULL) ||
        (b.uuid != NULL && strcmp(b.uuid, rows[i].uuid) != 0) ||
        (b.host == NULL) != (rows[i].host == NULL) ||
        (b.host != NULL && strcmp(b.host, rows[i].host) != 0))
      fail_msg("'%s': '%s' '%s'", rows[i].options, b.uuid ? b.uuid : "none",
               b.host ? b.host : "none");
    release(&b);
  }
}

static void long_value_is_truncated(void **state)
{
  char options[4000] = "job-uuid=";
  struct backend b;

  (void)state;
  memset(options + strlen(options), 'x', 3000);
  b = read_options(options);
  assert_int_equal(strlen(b.uuid), 1023); /* the limit of IPP */
  release(&b);
}

#define SUPPLIED "document-name-supplied="

/* A job sheet and two documents. */
static void documents_get_the_names_of_their_files(void **state)
{
  static const struct {
    enum dx_file_names names;
    const char *options, *first, *second;
  } rows[] = {
      {DX_FILE_NAMES_TITLE, "", "t.pdf", "t.pdf"},
      {DX_FILE_NAMES_TITLE, SUPPLIED "a.doc " SUPPLIED "b\\ c.pdf", "a.pdf",
       "b c.pdf"},
      {DX_FILE_NAMES_TITLE, SUPPLIED "stdin " SUPPLIED "b.pdf", "t.pdf",
       "b.pdf"},
      /* It is not known which documents have these. */
      {DX_FILE_NAMES_TITLE, SUPPLIED "a.pdf", "t.pdf", "t.pdf"},
      {DX_FILE_NAMES_TITLE,
       SUPPLIED "a.pdf " SUPPLIED "b.pdf " SUPPLIED "c.pdf", "t.pdf", "t.pdf"},
      {DX_FILE_NAMES_NEUTRAL, SUPPLIED "a.pdf " SUPPLIED "b.pdf",
       "document-2.pdf", "document-3.pdf"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_document documents[] = {
        {.entry = {.kind = DX_KIND_SHEET}},
        {.entry = {.type = "application/pdf", .name = "t.pdf"}},
        {.entry = {.type = "application/pdf", .name = "t.pdf"}}};
    struct dx_job job = {.documents = documents, .document_count = 3};
    const struct dx_service service = {.file_names = rows[i].names};
    struct backend b = read_options(rows[i].options);

    b.job = &job;
    b.conf = &service;
    assert_int_equal(backend_count_documents(&job), 2);
    backend_name_documents(&b);
    assert_string_equal(documents[1].entry.name, rows[i].first);
    assert_string_equal(documents[2].entry.name, rows[i].second);
    release(&b);
  }
}

/* The first of three did not arrive, and is the last one here. */
static void name_of_a_missing_document_is_given_to_no_other(void **state)
{
  struct dx_document documents[] = {
      {.entry = {.type = "application/pdf", .name = "t.pdf"}},
      {.entry = {.type = "application/pdf", .name = "t.pdf"}},
      {.entry = {.kind = DX_KIND_MISSING}}};
  struct dx_job job = {.documents = documents, .document_count = 3};
  const struct dx_service service = {.file_names = DX_FILE_NAMES_TITLE};
  struct backend b =
      read_options(SUPPLIED "a.pdf " SUPPLIED "b.pdf " SUPPLIED "c.pdf");

  (void)state;
  b.job = &job;
  b.conf = &service;
  backend_name_documents(&b);
  assert_string_equal(documents[0].entry.name, "t.pdf");
  assert_string_equal(documents[1].entry.name, "t.pdf");
  release(&b);
}

static void documents_that_cupsd_counts_are_missing(void **state)
{
  static const struct {
    int expected;
    enum dx_code code;
    size_t count;            /* afterwards */
  } rows[] = {{0, DX_OK, 1}, /* cupsd has not said how many */
              {1, DX_OK, 1},
              {3, DX_OK, 3},
              {2, DX_E_BUNDLE, 3},
              {DX_DOCUMENTS_MAX + 1, DX_E_BUNDLE, 3},
              {DX_DOCUMENTS_MAX, DX_OK, DX_DOCUMENTS_MAX}};
  struct dx_job *job = dx_job_new();
  size_t i;

  (void)state;
  job->documents = calloc(1, sizeof(*job->documents));
  job->document_count = 1;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_int_equal(backend_add_missing(job, rows[i].expected, &err),
                     rows[i].code);
    assert_int_equal(job->document_count, rows[i].count);
  }
  assert_int_equal(job->documents[0].entry.kind, DX_KIND_DOCUMENT);
  assert_int_equal(job->documents[1].entry.kind, DX_KIND_MISSING);
  dx_job_free(&job);
}

/* Even a PDF that is alone may have been converted. */
static void documents_that_may_be_incomplete_are_refused(void **state)
{
  struct dx_document documents[] = {
      {.entry = {.type = "application/pdf", .origin = "application/pdf"}},
      {.entry = {.type = "application/pdf", .origin = "text/plain"}},
      {.entry = {.kind = DX_KIND_REFUSED, .reason = DX_REASON_EMPTY}},
      {.entry = {.kind = DX_KIND_SHEET}}};
  struct dx_job job = {.documents = documents, .document_count = 4};

  (void)state;
  backend_refuse_halves(&job);
  assert_int_equal(documents[0].entry.kind, DX_KIND_DOCUMENT);
  assert_int_equal(documents[1].entry.kind, DX_KIND_REFUSED);
  assert_int_equal(documents[1].entry.reason, DX_REASON_DAMAGED);
  assert_int_equal(documents[2].entry.reason, DX_REASON_EMPTY);
  assert_int_equal(documents[3].entry.kind, DX_KIND_SHEET);
  job.document_count = 1;
  backend_refuse_halves(&job);
  assert_int_equal(documents[0].entry.kind, DX_KIND_REFUSED);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_are_read),
      cmocka_unit_test(long_value_is_truncated),
      cmocka_unit_test(documents_get_the_names_of_their_files),
      cmocka_unit_test(name_of_a_missing_document_is_given_to_no_other),
      cmocka_unit_test(documents_that_cupsd_counts_are_missing),
      cmocka_unit_test(documents_that_may_be_incomplete_are_refused),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
