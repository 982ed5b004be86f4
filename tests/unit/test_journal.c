/*
 * test_journal.c - job.json: what is written is read again, and a journal
 * that cannot be right is rejected as a whole.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/spool/job.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define SUM KEY KEY
#define RUN "fedcba9876543210"
#define PRINT_KEY "00112233445566778899aabbccddeeff"
#define CONTENT "ffeeddccbbaa99887766554433221100"

static char dir[TEMP_DIR_BYTES];
static int dirfd_ = -1;
static struct dx_err err;

static int start(void **state)
{
  (void)state;
  if (temp_dir_make_in_memory(dir) < 0)
    return -1;
  dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return dirfd_ < 0 ? -1 : 0;
}

static int stop(void **state)
{
  (void)state;
  (void)close(dirfd_);
  return temp_dir_remove(dir);
}

static struct dx_job *empty_job(void)
{
  struct dx_job *job = dx_job_new();

  assert_non_null(job);
  job->dirfd = dup(dirfd_);
  assert_true(job->dirfd >= 0);
  return job;
}

static void fill_document(struct dx_entry *e)
{
  (void)strcpy(e->type, "application/pdf");
  (void)strcpy(e->origin, "text/plain");
  (void)strcpy(e->name, "a \"chart\" \xc3\xa9.pdf");
  e->pages = 7;
  e->length = 5000000000; /* more than 32 bits */
  (void)strcpy(e->sha256, SUM);
}

static void fill_submission(struct dx_submission *sub)
{
  static char one[] = "case/1", two[] = "case-2";
  char *ids[] = {one, two};

  sub->state = DX_ST_COMPLETE;
  sub->source_id = strdup("SOURCE");
  assert_int_equal(
      dx_submission_set_place(sub, "lab", "https://b.example", "key 1", &err),
      DX_OK);
  sub->url_until_ms = 1700000000123;
  sub->lost_creates = 1;
  sub->start_overs = 2;
  sub->reregistrations = 3;
  sub->failing_since = 1700000000500;
  dx_submission_set_problem(sub, DX_E_TOKEN, "the token was rejected",
                            1700000007000);
  sub->problem.since_at = 1700000006000;
  sub->verify = true;
  sub->registered_at = 1700000001000;
  sub->uploaded_at = 1700000002000;
  sub->complete_at = 1700000003000;
  sub->extracted_at = 1700000004000;
  sub->delivered_at = 1700000005000;
  sub->files[0].url = strdup("https://s/o?sig=1");
  sub->files[0].put = DX_PUT_DONE;
  sub->files[1].url = strdup("https://s/p?sig=2");
  sub->files[1].put = DX_PUT_SENDING;
  assert_int_equal(dx_submission_set_cases(sub, ids, 2, &err), DX_OK);
  sub->cases[0].state = DX_CASE_STORED;
  sub->cases[0].bytes = 9007199254740992; /* 2^53 */
  (void)strcpy(sub->cases[0].sha256, SUM);
  sub->cases[0].is_empty = true;
  sub->cases[1].state = DX_CASE_DELIVERED;
}

/* A job in which every field is set: a sheet and two documents that belong
 * together. */
static struct dx_job *full_job(void)
{
  struct dx_job *job = empty_job();

  (void)strcpy(job->key, KEY);
  job->service = strdup("default");
  job->base_url = strdup("https://a.example");
  job->queue = strdup("chart");
  job->cups_id = strdup("17");
  job->uuid = strdup("urn:uuid:1");
  job->user = strdup("o'brien");
  job->title = strdup("tab\t, \"quotes\" and \xc3\xa9");
  job->host = strdup("");
  (void)strcpy(job->content, CONTENT);
  job->print = (struct dx_print){.key = PRINT_KEY,
                                 .run = RUN,
                                 .cupsd = strdup("/run/cups 7 8 boot"),
                                 .backend = DX_BACKEND_LEFT,
                                 .final = DX_FINAL_OVER,
                                 .known_later = true,
                                 .decided = true,
                                 .undecided = true,
                                 .unclear_ms = 1700000000456};
  job->received_at = 1700000000123;
  dx_job_set_problem(job, DX_E_NET, "no connection", 1700000600000);
  job->documents = calloc(3, sizeof(*job->documents));
  job->document_count = 3;
  job->documents[0].entry.kind = DX_KIND_SHEET;
  fill_document(&job->documents[1].entry);
  fill_document(&job->documents[2].entry);
  job->documents[1].entry.together = true;
  job->documents[2].entry.together = true;
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  assert_int_equal(job->submission_count, 1);
  fill_submission(&job->submissions[0]);
  return job;
}

static struct dx_job *again(struct dx_job **job)
{
  struct dx_job *read = empty_job();

  assert_int_equal(dx_job_save(*job, &err), DX_OK);
  assert_false((*job)->dirty);
  dx_job_free(job);
  assert_int_equal(dx_job_load(read, &err), DX_OK);
  return read;
}

/* Otherwise, its next step never follows. A merge moves submissions between
 * jobs. */
static void saved_submission_is_not_unsaved(void **state)
{
  struct dx_job *job = full_job();

  (void)state;
  job->submissions[0].unsaved = true;
  job->dirty = job->unsaved = false;
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_false(job->submissions[0].unsaved);
  dx_job_free(&job);
}

static void job_fields_are_preserved(void **state)
{
  struct dx_job *job = full_job();

  (void)state;
  job = again(&job);
  assert_string_equal(job->key, KEY);
  assert_string_equal(job->service, "default");
  assert_string_equal(job->base_url, "https://a.example");
  assert_string_equal(job->queue, "chart");
  assert_string_equal(job->cups_id, "17");
  assert_string_equal(job->uuid, "urn:uuid:1");
  assert_string_equal(job->user, "o'brien");
  assert_string_equal(job->title, "tab\t, \"quotes\" and \xc3\xa9");
  assert_string_equal(job->host, "");
  assert_string_equal(job->content, CONTENT);
  assert_int_equal(job->received_at, 1700000000123);
  assert_string_equal(dx_line(job->problem.text), "no connection");
  assert_int_equal(job->problem.code, DX_E_NET);
  assert_int_equal(job->problem.retry_at, 1700000600000);
  assert_true(job->together);
  assert_int_equal(job->document_count, 3);
  dx_job_free(&job);
}

static void print_job_data_is_preserved(void **state)
{
  struct dx_job *job = full_job();

  (void)state;
  job = again(&job);
  assert_string_equal(job->print.key, PRINT_KEY);
  assert_string_equal(job->print.run, RUN);
  assert_string_equal(job->print.cupsd, "/run/cups 7 8 boot");
  assert_int_equal(job->print.backend, DX_BACKEND_LEFT);
  assert_int_equal(job->print.final, DX_FINAL_OVER);
  assert_true(job->print.known_later);
  assert_true(job->print.decided);
  assert_true(job->print.undecided);
  assert_int_equal(job->print.unclear_ms, 1700000000456);
  dx_job_free(&job);
}

/* The journal does not show whether the backend is still connected. */
static void attending_backend_is_broken_after_loading(void **state)
{
  struct dx_job *job = full_job();

  (void)state;
  job->print.backend = DX_BACKEND_ATTENDS;
  job = again(&job);
  assert_int_equal(job->print.backend, DX_BACKEND_BROKEN);
  dx_job_free(&job);
}

static void held_print_job_stays_held_after_loading(void **state)
{
  struct dx_job *job = full_job();

  (void)state;
  job->print.backend = DX_BACKEND_HELD;
  job = again(&job);
  assert_int_equal(job->print.backend, DX_BACKEND_HELD);
  dx_job_free(&job);
}

static void abandoned_source_has_no_section(void **state)
{
  struct dx_job *job = full_job();
  struct dx_submission *sub = &job->submissions[0];

  (void)state;
  assert_int_equal(dx_submission_set_place(sub, "b", "https://b", NULL, &err),
                   DX_OK);
  assert_string_equal(sub->section, "b");
  assert_null(sub->key_id);
  sub->state = DX_ST_UPLOADED;
  assert_int_equal(dx_submission_apply(sub, DX_EV_REREGISTER, &err), DX_OK);
  assert_null(sub->source_id);
  assert_null(sub->section);
  assert_null(sub->base_url);
  job = again(&job);
  assert_null(job->submissions[0].section);
  dx_job_free(&job);
}

static void document_fields_are_preserved(void **state)
{
  struct dx_job *job = full_job();
  struct dx_entry want = job->documents[1].entry, *got;

  (void)state;
  job = again(&job);
  got = &job->documents[1].entry;
  assert_int_equal(job->documents[0].entry.kind, DX_KIND_SHEET);
  assert_int_equal(got->kind, DX_KIND_DOCUMENT);
  assert_string_equal(got->type, want.type);
  assert_string_equal(got->origin, want.origin);
  assert_string_equal(got->name, want.name);
  assert_string_equal(got->sha256, want.sha256);
  assert_int_equal(got->pages, want.pages);
  assert_int_equal(got->length, want.length);
  assert_true(got->together);
  assert_false(job->documents[1].is_here); /* no file */
  dx_job_free(&job);
}

static void submission_fields_are_preserved(void **state)
{
  struct dx_job *job = full_job();
  struct dx_submission *sub;

  (void)state;
  job = again(&job);
  sub = &job->submissions[0];
  assert_int_equal(job->submission_count, 1);
  assert_ptr_equal(sub->job, job);
  assert_int_equal(sub->number, 1);
  assert_int_equal(sub->state, DX_ST_COMPLETE);
  assert_string_equal(sub->source_id, "SOURCE");
  assert_string_equal(sub->section, "lab");
  assert_string_equal(sub->base_url, "https://b.example");
  assert_string_equal(sub->key_id, "key 1");
  assert_true(sub->verify);
  assert_int_equal(sub->url_until_ms, 1700000000123);
  assert_int_equal(sub->lost_creates, 1);
  assert_int_equal(sub->start_overs, 2);
  assert_int_equal(sub->reregistrations, 3);
  assert_int_equal(sub->failing_since, 1700000000000); /* whole seconds */
  assert_string_equal(dx_line(sub->problem.text), "the token was rejected");
  assert_int_equal(sub->problem.code, DX_E_TOKEN);
  assert_int_equal(sub->problem.since_at, 1700000006000);
  assert_int_equal(sub->problem.retry_at, 1700000007000);
  assert_int_equal(sub->registered_at, 1700000001000);
  assert_int_equal(sub->uploaded_at, 1700000002000);
  assert_int_equal(sub->complete_at, 1700000003000);
  assert_int_equal(sub->extracted_at, 1700000004000);
  assert_int_equal(sub->delivered_at, 1700000005000);
  dx_job_free(&job);
}

static void files_and_cases_are_preserved(void **state)
{
  struct dx_job *job = full_job();
  struct dx_submission *sub;

  (void)state;
  job = again(&job);
  sub = &job->submissions[0];
  assert_int_equal(sub->file_count, 2);
  assert_int_equal(sub->files[0].document, 1);
  assert_int_equal(sub->files[1].document, 2);
  assert_string_equal(sub->files[0].url, "https://s/o?sig=1");
  assert_int_equal(sub->files[0].put, DX_PUT_DONE);
  assert_int_equal(sub->files[1].put, DX_PUT_SENDING);
  assert_int_equal(sub->case_count, 2);
  assert_string_equal(sub->cases[0].id, "case/1");
  assert_int_equal(sub->cases[0].state, DX_CASE_STORED);
  assert_int_equal(sub->cases[0].bytes, 9007199254740992);
  assert_string_equal(sub->cases[0].sha256, SUM);
  assert_true(sub->cases[0].is_empty);
  assert_false(sub->cases[1].is_empty);
  assert_int_equal(sub->cases[1].state, DX_CASE_DELIVERED);
  dx_job_free(&job);
}

/* The cases of 1000 documents may be too many. Ids are as long as they can be
 * when they are written. */
static void cases_that_fit_can_be_read_again(void **state)
{
  enum { DOCUMENTS = 10, AT_ONCE = 9999 };
  static char texts[AT_ONCE][16];
  char *ids[AT_ONCE];
  struct dx_job *job = empty_job(), *read = empty_job();
  enum dx_code code = DX_OK;
  size_t i, k, fit = AT_ONCE, total = 0;

  (void)state;
  (void)strcpy(job->key, KEY);
  job->service = strdup("default");
  job->base_url = strdup("https://a.example");
  job->documents = calloc(DOCUMENTS, sizeof(*job->documents));
  job->document_count = DOCUMENTS;
  for (i = 0; i < DOCUMENTS; i++)
    fill_document(&job->documents[i].entry);
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  for (k = 0; k < AT_ONCE; k++) {
    (void)snprintf(texts[k], sizeof(texts[k]), "\1\1\1\1\1\1\1\1\"\\%zu", k);
    ids[k] = texts[k];
  }
  for (i = 0; i < DOCUMENTS; i++) {
    struct dx_submission *sub = &job->submissions[i];

    while ((code = dx_submission_set_cases(sub, ids, fit, &err)) != DX_OK &&
           fit > 0) {
      assert_int_equal(code, DX_E_RESPONSE);
      assert_int_equal(sub->case_count, 0);
      fit = fit * 9 / 10;
    }
    for (k = 0; k < sub->case_count; k++) {
      sub->cases[k].state = DX_CASE_DELIVERED;
      sub->cases[k].bytes = 1073741824;
      (void)strcpy(sub->cases[k].sha256, SUM);
    }
    total += sub->case_count;
  }
  assert_true(fit < AT_ONCE);
  assert_in_range(total, 60000, DOCUMENTS * AT_ONCE);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_in_range(job->journal_bytes, 0,
                  DX_JOURNAL_MAX_BYTES / 2 + DOCUMENTS * 4096);
  assert_int_equal(dx_job_load(read, &err), DX_OK);
  assert_int_equal(read->submissions[0].case_count, AT_ONCE);
  assert_string_equal(read->submissions[0].cases[AT_ONCE - 1].id,
                      ids[AT_ONCE - 1]);
  dx_job_free(&read);
  dx_job_free(&job);
}

static void every_word_is_preserved(void **state)
{
  int i;

  (void)state;
  for (i = 0; i < DX_CODE_COUNT; i++) {
    struct dx_job *job = full_job();
    struct dx_entry *e = &job->documents[1].entry;
    struct dx_submission *sub = &job->submissions[0];

    job->print.backend = i % 2 == 0 ? DX_BACKEND_NONE : DX_BACKEND_ENDED;
    job->print.final = (enum dx_final)(i % DX_FINAL_COUNT);
    e->kind = (enum dx_kind)(i % DX_KIND_COUNT);
    e->reason = (enum dx_reason)(i % DX_REASON_COUNT);
    sub->state = (enum dx_state)(i % DX_ST_COUNT);
    sub->code = (enum dx_code)i;
    (void)snprintf(e->reason_text, sizeof(e->reason_text), "reason %d", i);
    dx_line_set(&sub->reason, DX_WHY_BYTES, e->reason_text);
    sub->files[0].put = (enum dx_put)(i % DX_PUT_COUNT);
    sub->cases[0].state = (enum dx_case_state)(i % DX_CASE_STATE_COUNT);
    job = again(&job);
    e = &job->documents[1].entry;
    sub = &job->submissions[0];
    assert_int_equal(job->print.backend,
                     i % 2 == 0 ? DX_BACKEND_NONE : DX_BACKEND_ENDED);
    assert_int_equal(job->print.final, i % DX_FINAL_COUNT);
    assert_int_equal(e->kind, i % DX_KIND_COUNT);
    assert_int_equal(e->reason, i % DX_REASON_COUNT);
    assert_string_equal(e->reason_text, dx_line(sub->reason));
    assert_int_equal(sub->state, i % DX_ST_COUNT);
    assert_int_equal(sub->code, i);
    assert_int_equal(dx_line(sub->reason)[7] - '0', i < 10 ? i : i / 10);
    assert_int_equal(sub->files[0].put, i % DX_PUT_COUNT);
    assert_int_equal(sub->cases[0].state, i % DX_CASE_STATE_COUNT);
    dx_job_free(&job);
  }
}

/* As a message may be that is made of the previous one. */
static void line_may_be_set_to_a_part_of_itself(void **state)
{
  char *line = NULL;

  (void)state;
  assert_string_equal(dx_line(line), "");
  dx_line_set(&line, 8, "abc \xc3\xa4\xc3\xb6\xc3\xbc");
  assert_string_equal(line, "abc \xc3\xa4"); /* no half of a character */
  dx_line_set(&line, 8, line + 4);
  assert_string_equal(line, "\xc3\xa4");
  dx_line_set(&line, 8, "");
  assert_null(line);
}

static void line_that_is_too_long_is_damage(void **state)
{
  struct dx_job *job = full_job(), *read = empty_job();
  char text[DX_WHY_BYTES + 1];

  (void)state;
  memset(text, 'x', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  dx_line_set(&job->submissions[0].reason, sizeof(text), text);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_job_load(read, &err), DX_E_DAMAGED);
  dx_job_free(&read);
  dx_job_free(&job);
}

/* It contains signed URLs. */
static void journal_is_private(void **state)
{
  struct dx_job *job = full_job();
  mode_t before = umask(0);
  struct stat st;

  (void)state;
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  (void)umask(before);
  assert_int_equal(fstatat(dirfd_, "job.json", &st, 0), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
  dx_job_free(&job);
}

static void document_counts_only_if_complete(void **state)
{
  struct dx_job *job = full_job();

  (void)state;
  job->documents[1].entry.length = 3;
  job->documents[2].entry.length = 3;
  assert_int_equal(
      dx_fs_write(dirfd_, "document-0002", "abc", 3, 0600, false, &err), DX_OK);
  assert_int_equal(
      dx_fs_write(dirfd_, "document-0003", "ab", 2, 0600, false, &err), DX_OK);
  job = again(&job);
  assert_true(job->documents[1].is_here);
  assert_false(job->documents[2].is_here);
  dx_job_free(&job);
}

/* ---- copies ---- */

static char *saved_text(struct dx_job *job)
{
  struct dx_buf text = {0};

  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_fs_read(dirfd_, "job.json", 100000, &text, &err), DX_OK);
  return dx_buf_take(&text);
}

/* As tar and rsync do it. */
static void restore(const char *text)
{
  assert_int_equal(dx_fs_write(dirfd_, "job.json", text, strlen(text), 0600,
                               DX_PUBLISH_OVER, &err),
                   DX_OK);
}

static struct dx_job *loaded(void)
{
  struct dx_job *job = empty_job();

  assert_int_equal(dx_job_load(job, &err), DX_OK);
  return job;
}

static void restored_job_is_a_copy_until_it_is_decided(void **state)
{
  struct dx_job *job = full_job();
  char *text = saved_text(job);
  int i;

  (void)state;
  dx_job_free(&job);
  job = loaded();
  assert_false(job->is_copy || job->dirty);
  dx_job_free(&job);
  restore(text);
  for (i = 0; i < 2; i++) { /* killed before it was saved, and again */
    job = loaded();
    assert_true(job->is_copy && job->dirty);
    if (i == 0)
      dx_job_free(&job);
  }
  job = again(&job);
  assert_true(job->is_copy);
  assert_false(job->dirty);
  job->is_copy = false;
  job = again(&job);
  assert_false(job->is_copy || job->dirty);
  dx_job_free(&job);
  free(text);
}

/* `cp -a` writes into the files that exist. */
static void older_journal_in_the_same_file_is_a_copy(void **state)
{
  struct dx_job *job = full_job();
  char *text = saved_text(job);
  int fd;

  (void)state;
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
  fd = openat(dirfd_, "job.json", O_WRONLY | O_TRUNC | O_CLOEXEC);
  assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  (void)close(fd);
  job = loaded();
  assert_true(job->is_copy);
  dx_job_free(&job);
  free(text);
}

static void moved_journal_is_no_copy(void **state)
{
  struct dx_job *job = full_job();

  (void)state;
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
  assert_int_equal(renameat(dirfd_, "job.json", dirfd_, "away"), 0);
  assert_int_equal(renameat(dirfd_, "away", dirfd_, "job.json"), 0);
  job = loaded();
  assert_false(job->is_copy);
  dx_job_free(&job);
}

static void finished_job_that_is_restored_is_no_copy(void **state)
{
  struct dx_job *job = full_job();
  char *text;

  (void)state;
  dx_job_end(job, DX_EV_CANCEL);
  text = saved_text(job);
  dx_job_free(&job);
  restore(text);
  job = loaded();
  assert_false(job->is_copy || job->dirty);
  dx_job_free(&job);
  free(text);
}

/* Each row: a state, whether the copy needs a decision, whether a file that was
 * not sent may have been. */
static void copy_needs_a_decision_if_it_could_be_sent(void **state)
{
  static const struct {
    enum dx_state state;
    bool is_undecided, may_be_put;
  } rows[] = {
      {DX_ST_STORED, true, false},    {DX_ST_REGISTERED, true, true},
      {DX_ST_UPLOADED, false, false}, {DX_ST_PROCESSING, false, false},
      {DX_ST_COMPLETE, false, false}, {DX_ST_EXTRACTED, false, false},
      {DX_ST_FAILED, true, false},    {DX_ST_REFUSED, false, false},
      {DX_ST_CANCELED, false, false}, {DX_ST_EXPIRED, false, false},
  };
  struct dx_job *job;
  char *text;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    job = full_job();
    job->print.undecided = false;
    job->submissions[0].state = rows[i].state;
    job->submissions[0].files[0].put = DX_PUT_NONE;
    text = saved_text(job);
    assert_false(dx_job_is_undecided(job));
    dx_job_free(&job);
    restore(text);
    job = loaded();
    assert_int_equal(dx_job_is_undecided(job), rows[i].is_undecided);
    assert_int_equal(job->submissions[0].files[0].put,
                     rows[i].may_be_put ? DX_PUT_SENDING : DX_PUT_NONE);
    assert_int_equal(strstr(dx_line(dx_job_problem(job)->text), "copied") !=
                         NULL,
                     rows[i].is_undecided);
    dx_job_end(job, DX_EV_CANCEL);
    assert_false(job->is_copy || dx_job_is_undecided(job));
    dx_job_free(&job);
    free(text);
  }
}

/* ---- damage ---- */

/* Not dx_fs_write(): thousands of fsyncs would take long. */
static void write_journal(const char *text, size_t len)
{
  int fd = openat(dirfd_, "job.json", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                  0600);

  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, len), (ssize_t)len);
  (void)close(fd);
}

static enum dx_code load_written(void)
{
  struct dx_job *job = empty_job();
  enum dx_code code = dx_job_load(job, &err);

  dx_job_free(&job);
  return code;
}

static enum dx_code load(const char *text, size_t len)
{
  write_journal(text, len);
  return load_written();
}

/* Writes the good journal with the first `from` replaced by `to`. */
static void write_changed(const char *good, const char *from, const char *to)
{
  const char *at = strstr(good, from);
  struct dx_buf changed = {0};

  if (at == NULL)
    fail_msg("'%s' is not in a journal", from);
  dx_buf_add(&changed, good, (size_t)(at - good));
  dx_buf_puts(&changed, to);
  dx_buf_puts(&changed, at + strlen(from));
  write_journal(changed.data, changed.len);
  dx_buf_release(&changed);
}

static char *good_journal(void)
{
  struct dx_job *job = full_job();
  struct dx_buf text = {0};

  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_fs_read(dirfd_, "job.json", 100000, &text, &err), DX_OK);
  dx_job_free(&job);
  return dx_buf_take(&text);
}

static void truncated_journal_is_damaged(void **state)
{
  char *good = good_journal();
  size_t len = strlen(good), i;

  (void)state;
  assert_int_equal(load(good, len), DX_OK);
  for (i = 0; i < len; i++)
    if (load(good, i) != DX_E_DAMAGED)
      fail_msg("the first %zu bytes were taken for a journal", i);
  free(good);
}

/* One change each: the text (its first occurrence), and what it becomes. */
static const struct {
  const char *from, *to;
} damages[] = {
    {"\"schema\":\t2", "\"schema\":\t3"},
    {"\"schema\":\t2", "\"schema\":\t0"},
    {"\"schema\":\t2", "\"schema\":\t\"2\""},
    {"\"" KEY "\"", "\"\""},
    {"\"" KEY "\"", "\"../../../../../../../../etc/passwd\""},
    {"\"" KEY "\"", "\"0123456789ABCDEF0123456789abcdef\""},
    {"\"" KEY "\"", "\"../3456789abcdef0123456789abcdef\""},
    {"\"" PRINT_KEY "\"", "\"../3456789abcdef0123456789abcdef\""},
    {"\"" CONTENT "\"", "\"../3456789abcdef0123456789abcdef\""},
    {"\"service\":\t\"default\"", "\"service\":\tnull"},
    {"\"base_url\":\t\"https://a.example\"", "\"base_url\":\t7"},
    {"\"print\":\t{", "\"printed\":\t{"},
    {"\"" RUN "\"", "\"" RUN "0\""},
    {"\"" RUN "\"", "\"../../../../etc/\""},
    {"\"left\"", "\"gone\""},
    {"\"left\"", "1"},
    {"\"over\"", "\"under\""},
    {"\"known_later\":\ttrue", "\"known_later\":\t1"},
    {"\"undecided\":\ttrue", "\"undecided\":\tnull"},
    {"\"decided\":\ttrue", "\"decide\":\ttrue"},
    {"\"unclear_ms\":\t1700000000456", "\"unclear_ms\":\t-1"},
    {"\"section\":\t\"lab\"", "\"section\":\tnull"},
    {"\"https://b.example\"", "null"},
    {"\"https://s/o?sig=1\"", "null"},
    {"\"2023-11-14T22:13:20.123Z\"", "\"yesterday\""},
    {"\"2023-11-14T22:13:20.123Z\"", "0"},
    {"\"together\":\ttrue", "\"together\":\t\"yes\""},
    {"\"verify\":\ttrue", "\"verify\":\t1"},
    {"\"kind\":\t\"sheet\"", "\"kind\":\t\"sheets\""},
    {"\"kind\":\t\"document\"", "\"kind\":\tnull"},
    {"\"pages\":\t7", "\"pages\":\t-1"},
    {"\"pages\":\t7", "\"pages\":\t7.5"},
    {"\"bytes\":\t5000000000", "\"bytes\":\t-5"},
    {"\"bytes\":\t5000000000", "\"bytes\":\t1e300"},
    {"\"sha256\":\t\"" SUM "\"", "\"sha256\":\t\"" SUM "0\""},
    {"\"state\":\t\"complete\"", "\"state\":\t\"done\""},
    {"\"state\":\t\"complete\"", "\"state\":\t5"},
    {"\"SOURCE\"", "null"},
    {"\"SOURCE\"", "\"\""},
    {"\"lost_creates\":\t1", "\"lost_creates\":\t-1"},
    {"\"start_overs\":\t2", "\"start_overs\":\t-2"},
    {"\"reregistrations\":\t3", "\"reregistrations\":\t-3"},
    {"\"reregistrations\":\t3", "\"reregistrations\":\t9007199254740994"},
    {"\"code\":\tnull", "\"code\":\t\"E_NOTHING\""},
    {"\"document\":\t2", "\"document\":\t0"},
    {"\"document\":\t3", "\"document\":\t4"},
    {"\"document\":\t3", "\"document\":\t-1"},
    {"\"put\":\t\"done\"", "\"put\":\t\"perhaps\""},
    {"\"id\":\t\"case/1\"", "\"id\":\tnull"},
    {"\"state\":\t\"stored\"", "\"state\":\t\"lost\""},
    {"\"bytes\":\t9007199254740992", "\"bytes\":\t-9"},
    {"\"files\":\t[", "\"filed\":\t["},
    {"\"files\":\t[", "\"files\":\t[],\"filed\":\t["},
    {"\"cases\":\t[", "\"case\":\t["},
    {"\"documents\":\t[", "\"documents\":\t[{},"},
    {"\"submissions\":\t[", "\"submissions\":\t[[],"},
    {"{", "[{"},
};

static void impossible_journal_is_damaged(void **state)
{
  char *good = good_journal();
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
    write_changed(good, damages[i].from, damages[i].to);
    if (load_written() != DX_E_DAMAGED)
      fail_msg("'%s' was believed", damages[i].to);
  }
  free(good);
}

static struct dx_job *read_changed(const char *from, const char *to)
{
  struct dx_job *read = empty_job();
  char *good = good_journal();

  write_changed(good, from, to);
  assert_int_equal(dx_job_load(read, &err), DX_OK);
  free(good);
  return read;
}

/* A later version may have codes of its own: no job is lost because of one. */
static void unknown_message_code_is_ignored(void **state)
{
  struct dx_job *read = read_changed("\"message_code\":\t\"E_NET\"",
                                     "\"message_code\":\t\"E_NEX\"");

  (void)state;
  assert_int_equal(read->problem.code, DX_OK);
  dx_job_free(&read);
}

/* No job is lost because of what is only shown, or was added. */
static void members_of_a_problem_may_be_missing_or_invalid(void **state)
{
  static const char *const changes[][2] = {
      {"\"message_code\":\t\"E_TOKEN\"", "\"message_code\":\t7"},
      {"\"message\":\t\"the token was rejected\"", "\"message\":\t7"},
      {"\"message_since\"", "\"message_sincE\""},
      {"\"failing_since\"", "\"failing_sincE\""},
      {"\"retry_at\":\t\"2023-11-14T22:13:27Z\"", "\"retry_at\":\t\"soon\""},
  };
  struct dx_job *read;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
    read = read_changed(changes[i][0], changes[i][1]);
    assert_int_equal(read->submission_count, 1);
    dx_job_free(&read);
  }
}

static void registered_file_without_a_url_is_damaged(void **state)
{
  struct dx_job *job = full_job(), *read = empty_job();

  (void)state;
  job->submissions[0].state = DX_ST_REGISTERED;
  free(job->submissions[0].files[1].url);
  job->submissions[0].files[1].url = NULL;
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_job_load(read, &err), DX_E_DAMAGED);
  dx_job_free(&read);
  dx_job_free(&job);
}

static void garbage_is_damaged(void **state)
{
  static char deep[3000];
  static const char *const texts[] = {"",     "null", "[]", "{}", "\"x\"",
                                      "\xff", "{",    "7",  deep};
  size_t i;
  int fd;

  (void)state;
  memset(deep, '[', sizeof(deep) - 1);
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
    assert_int_equal(load(texts[i], strlen(texts[i])), DX_E_DAMAGED);
  write_journal("", 0);
  fd = openat(dirfd_, "job.json", O_WRONLY | O_CLOEXEC);
  assert_int_equal(ftruncate(fd, DX_JOURNAL_MAX_BYTES + 1), 0);
  (void)close(fd);
  {
    struct dx_job *job = empty_job();

    assert_int_equal(dx_job_load(job, &err), DX_E_DAMAGED);
    dx_job_free(&job);
  }
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, start, stop)
  const struct CMUnitTest tests[] = {
      IN_FOLDER(saved_submission_is_not_unsaved),
      IN_FOLDER(job_fields_are_preserved),
      IN_FOLDER(print_job_data_is_preserved),
      IN_FOLDER(attending_backend_is_broken_after_loading),
      IN_FOLDER(held_print_job_stays_held_after_loading),
      IN_FOLDER(abandoned_source_has_no_section),
      IN_FOLDER(document_fields_are_preserved),
      IN_FOLDER(submission_fields_are_preserved),
      IN_FOLDER(files_and_cases_are_preserved),
      IN_FOLDER(cases_that_fit_can_be_read_again),
      IN_FOLDER(every_word_is_preserved),
      cmocka_unit_test(line_may_be_set_to_a_part_of_itself),
      IN_FOLDER(line_that_is_too_long_is_damage),
      IN_FOLDER(journal_is_private),
      IN_FOLDER(document_counts_only_if_complete),
      IN_FOLDER(restored_job_is_a_copy_until_it_is_decided),
      IN_FOLDER(older_journal_in_the_same_file_is_a_copy),
      IN_FOLDER(moved_journal_is_no_copy),
      IN_FOLDER(finished_job_that_is_restored_is_no_copy),
      IN_FOLDER(copy_needs_a_decision_if_it_could_be_sent),
      IN_FOLDER(truncated_journal_is_damaged),
      IN_FOLDER(impossible_journal_is_damaged),
      IN_FOLDER(unknown_message_code_is_ignored),
      IN_FOLDER(members_of_a_problem_may_be_missing_or_invalid),
      IN_FOLDER(registered_file_without_a_url_is_damaged),
      IN_FOLDER(garbage_is_damaged),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
