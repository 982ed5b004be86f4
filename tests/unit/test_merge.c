/*
 * test_merge.c - what a new run of a print job replaces: the plan, for every
 * state of a submission; and carrying it out, also if the process is killed
 * before any step of that. A step is a call that changes or syncs something;
 * the linker wraps them.
 */
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/print/print_job.h"
#include "lib/spool/merge.h"

/* ---- the plan ---- */

/* As it usually is: the same documents came again. */
static struct dx_merge_facts in_state(enum dx_state state)
{
  return (struct dx_merge_facts){.known = true,
                                 .state = state,
                                 .uploaded = state != DX_ST_STORED,
                                 .same_places = true,
                                 .same_content = true};
}

static enum dx_merge_action plan(struct dx_merge_facts facts)
{
  return dx_merge_plan(&facts);
}

static void new_document_is_added(void **state)
{
  struct dx_merge_facts facts = {.known = false};

  (void)state;
  assert_int_equal(dx_merge_plan(&facts), DX_MERGE_TAKE);
}

/* Every document that failed is tried again, every one that is extracted or
 * under way is not. */
static void test_every_state(void **state)
{
  static const enum dx_merge_action expected[DX_ST_COUNT] = {
      [DX_ST_STORED] = DX_MERGE_TAKE,   [DX_ST_REGISTERED] = DX_MERGE_KEEP,
      [DX_ST_UPLOADED] = DX_MERGE_KEEP, [DX_ST_PROCESSING] = DX_MERGE_KEEP,
      [DX_ST_COMPLETE] = DX_MERGE_KEEP, [DX_ST_EXTRACTED] = DX_MERGE_KEEP,
      [DX_ST_FAILED] = DX_MERGE_TAKE,   [DX_ST_REFUSED] = DX_MERGE_TAKE,
      [DX_ST_CANCELED] = DX_MERGE_TAKE, [DX_ST_EXPIRED] = DX_MERGE_TAKE,
  };
  int i;

  (void)state;
  for (i = 0; i < DX_ST_COUNT; i++)
    assert_int_equal(plan(in_state((enum dx_state)i)), expected[i]);
}

/* Failed after an upload: its source is asked before anything is sent again. */
static void test_verify(void **state)
{
  struct dx_merge_facts facts = in_state(DX_ST_FAILED);

  (void)state;
  facts.verify = true;
  assert_int_equal(dx_merge_plan(&facts), DX_MERGE_VERIFY);
  facts.state = DX_ST_EXPIRED;
  assert_int_equal(dx_merge_plan(&facts), DX_MERGE_VERIFY);
  facts.same_content = false;
  assert_int_equal(dx_merge_plan(&facts), DX_MERGE_CHANGED);
}

/* What the service may have is never given other content. */
static void test_changed(void **state)
{
  int i;

  (void)state;
  for (i = 0; i < DX_ST_COUNT; i++) {
    struct dx_merge_facts facts = in_state((enum dx_state)i);
    enum dx_merge_action other =
        dx_state_is_sent((enum dx_state)i) ? DX_MERGE_CHANGED : DX_MERGE_TAKE;

    facts.same_content = false;
    assert_int_equal(dx_merge_plan(&facts), other);
    facts.same_content = true;
    facts.same_places = false;
    assert_int_equal(dx_merge_plan(&facts), other);
  }
}

/* Its source has no byte of it and never gets one: nothing was sent. */
static void test_registered_only(void **state)
{
  struct dx_merge_facts facts = in_state(DX_ST_REGISTERED);

  (void)state;
  facts.uploaded = false;
  assert_int_equal(dx_merge_plan(&facts), DX_MERGE_KEEP);
  facts.same_content = false;
  assert_int_equal(dx_merge_plan(&facts), DX_MERGE_TAKE);
}

static bool takes(struct dx_merge_facts facts, bool here, bool came, bool equal)
{
  struct dx_merge_place place = {.here = here, .came = came, .equal = equal};

  return dx_merge_takes_bytes(&facts, dx_merge_plan(&facts), &place);
}

static void test_bytes(void **state)
{
  struct dx_merge_facts nothing_left = in_state(DX_ST_REGISTERED);

  (void)state;
  nothing_left.uploaded = false;
  assert_true(takes(in_state(DX_ST_STORED), true, true, false));
  assert_false(takes(in_state(DX_ST_STORED), true, false, false));
  assert_true(takes(in_state(DX_ST_UPLOADED), false, true, true));
  assert_false(takes(in_state(DX_ST_UPLOADED), true, true, true));
  /* Converted again, with another date: not what was sent. */
  assert_false(takes(in_state(DX_ST_UPLOADED), false, true, false));
  assert_true(takes(nothing_left, false, true, false));
  assert_false(takes(in_state(DX_ST_EXTRACTED), false, true, true));
}

/* ---- carrying it out ---- */

#define KEY "0123456789abcdef0123456789abcdef"
#define KEY_2 "00112233445566778899aabbccddeeff"
#define KEY_3 "ffeeddccbbaa99887766554433221100"
#define KEY_4 "ffeeddccbbaa99887766554433221101"

static char dir[TEMP_DIR_BYTES];
static struct dx_spool spool;
static struct dx_err err;
static int fatal_step;        /* counts down; 0: none */
static const char *next_key;  /* of the print job of commit() */
static const char *next_uuid; /* NULL: it has none */
static const char *next_user, *next_service;

static void step(void)
{
  if (fatal_step > 0 && --fatal_step == 0)
    _exit(9);
}

int __real_renameat(int from, const char *a, int to, const char *b);
int __wrap_renameat(int from, const char *a, int to, const char *b);
int __real_unlinkat(int fd, const char *name, int flags);
int __wrap_unlinkat(int fd, const char *name, int flags);
int __real_symlinkat(const char *text, int fd, const char *name);
int __wrap_symlinkat(const char *text, int fd, const char *name);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
bool __wrap_dx_cupsd_is_gone(const char *name);

int __wrap_renameat(int from, const char *a, int to, const char *b)
{
  step();
  return __real_renameat(from, a, to, b);
}

int __wrap_unlinkat(int fd, const char *name, int flags)
{
  step();
  return __real_unlinkat(fd, name, flags);
}

static int link_errno; /* 0: links are supported */

int __wrap_symlinkat(const char *text, int fd, const char *name)
{
  step();
  if (link_errno != 0) {
    errno = link_errno;
    return -1;
  }
  return __real_symlinkat(text, fd, name);
}

static ino_t bad_directory; /* whose second fsync fails */
static int sync_count;

int __wrap_fsync(int fd)
{
  struct stat st;

  step();
  if (bad_directory == 0 || fstat(fd, &st) < 0 || st.st_ino != bad_directory ||
      ++sync_count < 2)
    return __real_fsync(fd);
  bad_directory = 0;
  errno = EIO;
  return -1;
}

bool __wrap_dx_cupsd_is_gone(const char *name)
{
  return strcmp(name, "gone") == 0;
}

static int start(void **state)
{
  (void)state;
  next_key = KEY;
  next_uuid = NULL;
  next_user = "ann";
  next_service = "default";
  link_errno = 0;
  if (temp_dir_make_in_memory(dir) < 0)
    return -1;
  return dx_spool_open(dir, &spool, &err) == DX_OK ? 0 : -1;
}

static int stop(void **state)
{
  (void)state;
  dx_spool_close(&spool);
  return temp_dir_remove(dir);
}

/* A run with one document for each letter, whose bytes are the letter: upper
 * case a PDF as it was printed, lower case a converted one, of two pages if it
 * is z; '-' is missing, and '!' could not be processed. */
static void commit(const char *letters, const char *cupsd)
{
  struct dx_job *job = NULL;
  size_t i, n = strlen(letters);

  assert_int_equal(dx_spool_receive(&spool, &job, &err), DX_OK);
  job->documents = calloc(n, sizeof(*job->documents));
  job->document_count = n;
  for (i = 0; i < n; i++) {
    struct dx_entry *e = &job->documents[i].entry;
    char file[DX_FILE_NAME_BYTES];

    e->kind = letters[i] == '-'   ? DX_KIND_MISSING
              : letters[i] == '!' ? DX_KIND_REFUSED
                                  : DX_KIND_DOCUMENT;
    if (letters[i] == '!')
      e->reason = DX_REASON_TROUBLE;
    if (e->kind != DX_KIND_DOCUMENT)
      continue;
    (void)strcpy(e->type, "application/pdf");
    (void)strcpy(e->origin,
                 letters[i] >= 'a' ? "text/plain" : "application/pdf");
    e->pages = letters[i] == 'z' ? 2 : 1;
    e->length = 1;
    dx_sha256_of(&letters[i], 1, e->sha256);
    dx_document_file(i, file);
    assert_int_equal(
        dx_fs_write(job->dirfd, file, &letters[i], 1, 0600, true, &err), DX_OK);
    job->documents[i].is_here = true;
  }
  job->service = strdup(next_service);
  job->base_url = strdup("https://a");
  job->print.cupsd = strdup(cupsd);
  job->print.backend = DX_BACKEND_ATTENDS;
  job->queue = strdup("chart");
  job->cups_id = strdup(strcmp(next_key, KEY) == 0 ? "1" : "2");
  job->title = strdup(cupsd);
  job->host = strdup(cupsd);
  job->user = next_user != NULL ? strdup(next_user) : NULL;
  job->uuid = next_uuid != NULL ? strdup(next_uuid) : NULL;
  (void)strcpy(job->key, next_key);
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  dx_job_free(&job);
}

static struct dx_job *receipt(void)
{
  char *name = dx_spool_names(&spool, DX_SPOOL_RECEIVED, &err);
  struct dx_job *job = NULL;

  assert_non_null(name);
  if (*name != '\0')
    assert_int_equal(dx_spool_load(&spool, name, &job, &err), DX_OK);
  free(name);
  return job;
}

static struct dx_job *load(void)
{
  struct dx_job *job = NULL;

  assert_int_equal(dx_spool_load(&spool, KEY, &job, &err), DX_OK);
  return job;
}

/* What docextractd does with a receipt. */
static enum dx_code take_receipt(void)
{
  struct dx_job *fresh = receipt(), *job = NULL;
  enum dx_code code;

  assert_non_null(fresh);
  code = dx_spool_pick_up(&spool, fresh, &err);
  if (code == DX_E_EXISTS) {
    assert_int_equal(dx_spool_load(&spool, fresh->key, &job, &err), DX_OK);
    code = dx_job_merge(&spool, job, &fresh, &err);
  }
  dx_job_free(&fresh);
  dx_job_free(&job);
  return code;
}

/* Brings a submission to the state of a letter: c canceled, n failed before an
 * upload, f after it, e expired after it, u uploaded, x extracted. */
static void bring(struct dx_submission *sub, char letter)
{
  static char id[] = "case_1";
  char *ids[] = {id};

  if (letter == 'n') {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_REFUSED, "for a reason");
    return;
  }
  if (letter == 'c') {
    dx_submission_end(sub, DX_EV_CANCEL, DX_E_CANCELED, "canceled");
    return;
  }
  assert_int_equal(dx_submission_apply(sub, DX_EV_ACCEPTED, &err), DX_OK);
  sub->source_id = strdup("a-source");
  assert_int_equal(
      dx_submission_set_place(sub, "default", "https://a", "key 1", &err),
      DX_OK);
  sub->files[0].url = strdup("https://s/o?sig=1");
  sub->files[0].put = DX_PUT_DONE;
  assert_int_equal(dx_submission_apply(sub, DX_EV_PUT_ALL, &err), DX_OK);
  if (letter == 'u')
    return;
  if (letter == 'f') {
    dx_submission_end(sub, DX_EV_FAIL, DX_E_REFUSED, "for a reason");
    return;
  }
  if (letter == 'e') {
    dx_submission_end(sub, DX_EV_EXPIRE, DX_E_OVERDUE, "for too long");
    return;
  }
  assert_int_equal(dx_submission_set_cases(sub, ids, 1, &err), DX_OK);
  assert_int_equal(dx_submission_apply(sub, DX_EV_SEEN_COMPLETE, &err), DX_OK);
  sub->cases[0].state = DX_CASE_DELIVERED;
  assert_int_equal(dx_submission_apply(sub, DX_EV_DELIVERED, &err), DX_OK);
}

/* The first run, and the outcome of its first documents. The others were to be
 * registered. */
static void first_run(const char *letters, const char *states)
{
  struct dx_job *job;
  size_t i;

  commit(letters, "first");
  assert_int_equal(take_receipt(), DX_OK);
  job = load();
  for (i = 0; states[i] != '\0'; i++)
    bring(&job->submissions[i], states[i]);
  for (; i < job->submission_count; i++) {
    job->submissions[i].lost_creates = 1;
    job->submissions[i].start_overs = 2;
    job->submissions[i].reregistrations = 3;
  }
  job->print.final = DX_FINAL_CANCELED;
  job->print.decided = job->print.undecided = true;
  job->seen = true;
  dx_job_set_problem(job, DX_E_JOB, "of the first run", 1);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  assert_int_equal(dx_spool_settle(&spool, job, &err), DX_OK);
  dx_job_free(&job);
}

/* The document in the job's directory; 0: none. */
static char bytes_of(const struct dx_job *job, size_t place)
{
  char name[DX_FILE_NAME_BYTES], letter = 0;
  int fd;

  dx_document_file(place, name);
  fd = openat(job->dirfd, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  assert_int_equal(read(fd, &letter, 1), 1);
  (void)close(fd);
  return letter;
}

static void assert_place(const struct dx_job *job, size_t place,
                         enum dx_state state, char letter)
{
  char sha256[DX_SHA256_HEX_BYTES];

  assert_int_equal(job->submissions[place].state, state);
  assert_int_equal(bytes_of(job, place), letter);
  if (letter == 0)
    return;
  dx_sha256_of(&letter, 1, sha256);
  assert_string_equal(job->documents[place].entry.sha256, sha256);
}

/* Extracted, failed, failed after an upload, and one that is new. */
static void make_second_run(void)
{
  first_run("AbCD", "xnf");
  commit("AxCD", "second");
}

static void assert_second_run(void)
{
  struct dx_job *job = load();

  assert_null(receipt());
  assert_int_equal(job->submission_count, 4);
  assert_place(job, 0, DX_ST_EXTRACTED, 0);
  assert_place(job, 1, DX_ST_STORED, 'x');
  assert_place(job, 2, DX_ST_UPLOADED, 'C');
  assert_true(job->submissions[2].verify);
  assert_string_equal(job->submissions[2].source_id, "a-source");
  assert_place(job, 3, DX_ST_STORED, 'D');
  assert_int_equal(job->submissions[3].lost_creates, 1);
  assert_int_equal(job->submissions[3].start_overs, 2);
  assert_int_equal(job->submissions[3].reregistrations, 3);
  assert_string_equal(job->print.cupsd, "second");
  assert_string_equal(job->title, "second");
  assert_string_equal(job->host, "second");
  assert_int_equal(job->print.final, DX_FINAL_NONE);
  assert_false(job->print.decided || job->print.undecided);
  assert_false(job->seen);
  assert_string_equal(dx_line(job->problem.text), "");
  dx_job_free(&job);
}

static void test_released(void **state)
{
  (void)state;
  make_second_run();
  assert_int_equal(take_receipt(), DX_OK);
  assert_second_run();
}

/* The job, or the receipt, was restored: what was sent since is unknown. */
static void print_job_of_a_copy_that_runs_again_needs_a_decision(void **state)
{
  struct dx_job *job;
  int is_receipt;

  for (is_receipt = 0; is_receipt < 2; is_receipt++) {
    first_run("AB", "xf");
    commit("AB", "second");
    job = is_receipt ? receipt() : load();
    job->is_copy = true;
    assert_int_equal(dx_job_save(job, &err), DX_OK);
    dx_job_free(&job);
    assert_int_equal(take_receipt(), DX_OK);
    job = load();
    assert_place(job, 1, DX_ST_UPLOADED, 'B');
    assert_true(job->is_copy);
    dx_job_free(&job);
    assert_int_equal(stop(state), 0);
    assert_int_equal(start(state), 0);
  }
}

/* The receipt is removed only when that is durable. */
static void receipt_stays_until_its_documents_are_durable(void **state)
{
  struct dx_job *job;
  struct stat st;

  (void)state;
  make_second_run();
  assert_int_equal(fstatat(spool.dirfd, "jobs/" KEY, &st, 0), 0);
  sync_count = 0; /* the first one is for the journal */
  bad_directory = st.st_ino;
  assert_int_not_equal(take_receipt(), DX_OK);
  job = receipt();
  assert_non_null(job);
  dx_job_free(&job);
  assert_int_equal(take_receipt(), DX_OK);
  assert_second_run();
}

/* False if it came to its end. */
static bool is_killed_at(int n)
{
  pid_t child = fork();
  int status;

  if (child == 0) {
    fatal_step = n;
    _exit(take_receipt() == DX_OK ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_not_equal(WEXITSTATUS(status), 1);
  return WEXITSTATUS(status) == 9;
}

static void test_killed_at_every_step(void **state)
{
  int n = 0;
  bool killed = true;

  while (killed) {
    struct dx_job *left;

    make_second_run();
    killed = is_killed_at(++n);
    left = receipt();
    if (left != NULL)
      assert_int_equal(take_receipt(), DX_OK);
    dx_job_free(&left);
    assert_second_run();
    assert_int_equal(stop(state), 0);
    assert_int_equal(start(state), 0);
  }
  assert_true(n > 8);
}

static void test_other_content(void **state)
{
  struct dx_job *job;

  (void)state;
  first_run("AbCD", "xn");
  commit("XbCD", "second");
  assert_int_equal(take_receipt(), DX_E_CHANGED);
  job = load();
  assert_place(job, 0, DX_ST_EXTRACTED, 0);
  assert_place(job, 1, DX_ST_FAILED, 'b');
  assert_string_equal(job->print.cupsd, "first");
  dx_job_free(&job);
}

/* What is missing this time is here from before. */
static void test_missing(void **state)
{
  struct dx_job *job;

  (void)state;
  first_run("AbCD", "xn");
  commit("---D", "second");
  assert_int_equal(take_receipt(), DX_OK);
  job = load();
  assert_place(job, 0, DX_ST_EXTRACTED, 0);
  assert_place(job, 1, DX_ST_STORED, 'b');
  assert_place(job, 2, DX_ST_STORED, 'C');
  dx_job_free(&job);
}

/* So is what this computer could not process this time. */
static void trouble_of_a_new_run_is_none_of_the_job(void **state)
{
  struct dx_job *job;

  (void)state;
  first_run("ABC", "xun");
  commit("!!!", "second");
  assert_int_equal(take_receipt(), DX_OK);
  job = load();
  assert_place(job, 0, DX_ST_EXTRACTED, 0);
  assert_place(job, 1, DX_ST_UPLOADED, 'B');
  assert_place(job, 2, DX_ST_STORED, 'C');
  dx_job_free(&job);
}

static void missing_document_that_was_deleted_is_refused(void **state)
{
  struct dx_job *job;

  (void)state;
  first_run("AB", "xc");
  commit("A-", "second");
  assert_int_equal(take_receipt(), DX_OK);
  job = load();
  assert_place(job, 1, DX_ST_REFUSED, 0);
  assert_int_equal(job->submissions[1].code, DX_E_MISSING);
  assert_false(job->seen);
  dx_job_free(&job);
}

/* Converted again, it has other bytes than those that the journal describes and
 * that the service may have. */
static void other_bytes_of_a_sent_document_are_not_stored(void **state)
{
  struct dx_job *job;

  (void)state;
  first_run("Ab", "xe");
  commit("Ay", "second");
  assert_int_equal(take_receipt(), DX_OK);
  job = load();
  assert_place(job, 1, DX_ST_UPLOADED, 0);
  assert_true(job->submissions[1].verify);
  dx_job_free(&job);
}

/* Of two backends the newest wins, also if it committed first. */
static void test_orphan(void **state)
{
  struct dx_job *job;

  (void)state;
  first_run("AB", "xn");
  commit("AB", "gone");
  assert_int_equal(take_receipt(), DX_OK);
  assert_null(receipt());
  job = load();
  assert_int_equal(job->submissions[1].state, DX_ST_FAILED);
  assert_int_equal(job->print.final, DX_FINAL_CANCELED);
  /* If both are gone, the order in which they were received counts. */
  free(job->print.cupsd);
  job->print.cupsd = strdup("gone");
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
  commit("AB", "gone");
  assert_int_equal(take_receipt(), DX_OK);
  job = load();
  assert_int_equal(job->submissions[1].state, DX_ST_STORED);
  dx_job_free(&job);
}

static void test_finished_stays(void **state)
{
  struct dx_job *job;

  (void)state;
  first_run("AB", "xx");
  commit("AB", "second");
  assert_int_equal(take_receipt(), DX_OK);
  assert_null(receipt());
  job = load();
  assert_memory_equal(job->path, "finished/", 9);
  assert_place(job, 0, DX_ST_EXTRACTED, 0);
  dx_job_free(&job);
}

static void converted_document_with_other_pages_is_another(void **state)
{
  (void)state;
  first_run("b", "x");
  commit("c", "second");
  assert_int_equal(take_receipt(), DX_OK);
  commit("z", "third");
  assert_int_equal(take_receipt(), DX_E_CHANGED);
}

/* docextractd looks for unfinished jobs in jobs/ only. */
static void canceled_job_that_is_printed_again_is_unfinished(void **state)
{
  struct dx_job *job;

  (void)state;
  first_run("AB", "xc");
  commit("AB", "second");
  assert_int_equal(take_receipt(), DX_OK);
  job = load();
  assert_memory_equal(job->path, "jobs/", 5);
  assert_place(job, 1, DX_ST_STORED, 'B');
  dx_job_free(&job);
}

/* ---- a print job that a client's CUPS sends again ---- */

#define UUID "urn:uuid:1"

/* What is committed next has another number and time. */
static void send_again(const char *key, const char *letters)
{
  next_key = key;
  commit(letters, "second");
}

/* Extracted, failed, and failed after an upload; then sent again. */
static void make_sent_again(void)
{
  next_uuid = UUID;
  first_run("ABC", "xnf");
  send_again(KEY_2, "ABC");
}

static void assert_sent_again(void)
{
  struct dx_job *job = load(), *same = NULL;

  assert_null(receipt());
  assert_int_equal(dx_spool_load(&spool, KEY_2, &same, &err), DX_OK);
  assert_string_equal(same->key, KEY);
  dx_job_free(&same);
  assert_int_equal(job->submission_count, 3);
  assert_place(job, 0, DX_ST_EXTRACTED, 0);
  assert_place(job, 1, DX_ST_STORED, 'B');
  assert_place(job, 2, DX_ST_UPLOADED, 'C');
  assert_true(job->submissions[2].verify);
  assert_string_equal(job->print.key, KEY_2);
  assert_string_equal(job->cups_id, "2");
  assert_string_equal(job->print.cupsd, "second");
  assert_int_equal(job->print.final, DX_FINAL_NONE);
  assert_int_equal(job->other_count, 1);
  assert_string_equal(job->others[0].print.key, KEY);
  assert_string_equal(job->others[0].cups_id, "1");
  assert_int_equal(job->others[0].print.final, DX_FINAL_CANCELED);
  dx_job_free(&job);
}

static void sent_again_is_merged_whenever_it_is_killed(void **state)
{
  int n = 0;
  bool killed = true;

  while (killed) {
    struct dx_job *left;

    make_sent_again();
    killed = is_killed_at(++n);
    left = receipt();
    if (left != NULL)
      assert_int_equal(take_receipt(), DX_OK);
    dx_job_free(&left);
    assert_sent_again();
    assert_int_equal(stop(state), 0);
    assert_int_equal(start(state), 0);
  }
  assert_true(n > 12);
}

static bool is_new_job(const char *key)
{
  struct dx_job *job = NULL;
  bool is_new;

  assert_int_equal(take_receipt(), DX_OK);
  assert_int_equal(dx_spool_load(&spool, key, &job, &err), DX_OK);
  is_new = strcmp(job->key, key) == 0;
  dx_job_free(&job);
  return is_new;
}

static void any_difference_makes_another_job(void **state)
{
  (void)state;
  next_uuid = UUID;
  first_run("AB", "xx");
  send_again(KEY_2, "AC");
  assert_true(is_new_job(KEY_2));
  next_service = "other";
  send_again(KEY_4, "AB");
  assert_true(is_new_job(KEY_4));
  next_uuid = "urn:uuid:2";
  send_again(KEY_3, "AB");
  assert_true(is_new_job(KEY_3));
}

static void documents_of_the_last_run_count(void **state)
{
  (void)state;
  next_uuid = UUID;
  first_run("AB", "xn");
  commit("AC", "second");
  assert_int_equal(take_receipt(), DX_OK);
  send_again(KEY_2, "AC");
  assert_false(is_new_job(KEY_2));
}

static void without_a_uuid_none_is_the_same(void **state)
{
  (void)state;
  first_run("AB", "xx");
  send_again(KEY_2, "AB");
  assert_true(is_new_job(KEY_2));
  next_uuid = UUID;
  next_user = NULL;
  send_again(KEY_3, "AB");
  assert_true(is_new_job(KEY_3));
}

static void it_is_as_new_when_the_record_is_gone(void **state)
{
  struct dx_job *job;

  (void)state;
  make_sent_again();
  assert_int_equal(take_receipt(), DX_OK);
  job = load();
  assert_int_equal(dx_fs_remove_tree(spool.dirfd, job->path, &err), DX_OK);
  dx_job_free(&job);
  send_again(KEY_2, "ABC");
  assert_true(is_new_job(KEY_2));
}

/* Otherwise, the administrator would be told to cancel another one. */
static void unreadable_job_is_the_one_that_the_receipt_names(void **state)
{
  struct dx_job *job, *again;

  (void)state;
  make_sent_again();
  job = load();
  assert_int_equal(
      dx_fs_write(job->dirfd, "job.json", "", 0, 0600, DX_PUBLISH_OVER, &err),
      DX_OK);
  dx_job_free(&job);
  again = receipt();
  assert_int_equal(dx_spool_pick_up(&spool, again, &err), DX_E_DAMAGED);
  assert_string_equal(again->key, KEY);
  dx_job_free(&again);
}

static void without_its_alias_a_job_is_not_picked_up(void **state)
{
  (void)state;
  link_errno = EIO;
  next_uuid = UUID;
  commit("A", "first");
  assert_int_equal(take_receipt(), DX_E_IO);
}

static size_t count_aliases(void)
{
  char *names = dx_fs_names(spool.dirfd, "aliases", dx_is_key, &err);
  size_t n = 0;
  const char *name;

  for (name = names; *name != '\0'; name = dx_next_name(name))
    n++;
  free(names);
  return n;
}

static void sweep_aliases(void)
{
  DIR *part = dx_spool_open_part(&spool, DX_SPOOL_ALIASES, &err);
  char name[DX_KEY_BYTES];

  assert_non_null(part);
  while (dx_spool_next_key(part, name, &err) == DX_OK)
    dx_spool_sweep_alias(&spool, name);
  assert_int_equal(err.code, DX_E_NOT_FOUND);
  (void)closedir(part);
}

static void aliases_go_with_the_next_sweep(void **state)
{
  static const char *const names[] = {"jobs", "finished"};
  struct dx_job *job;
  size_t i;

  (void)state;
  make_sent_again();
  assert_int_equal(take_receipt(), DX_OK);
  sweep_aliases();
  assert_int_equal(count_aliases(), 2);
  job = load();
  assert_int_equal(dx_spool_remove(&spool, &job, &err), DX_OK);
  for (i = 0; i < 2; i++) { /* it may be in a directory that is unreadable */
    assert_int_equal(renameat(spool.dirfd, names[i], spool.dirfd, "away"), 0);
    assert_int_equal(symlinkat(names[i], spool.dirfd, names[i]), 0);
    sweep_aliases();
    assert_int_equal(count_aliases(), 2);
    assert_int_equal(unlinkat(spool.dirfd, names[i], 0), 0);
    assert_int_equal(renameat(spool.dirfd, "away", spool.dirfd, names[i]), 0);
  }
  sweep_aliases();
  assert_int_equal(count_aliases(), 0);
}

/* The first one again: it is the current one, and listed once. */
static void each_print_job_is_listed_once(void **state)
{
  struct dx_job *job;

  (void)state;
  make_sent_again();
  assert_int_equal(take_receipt(), DX_OK);
  send_again(KEY_3, "ABC");
  assert_int_equal(take_receipt(), DX_OK);
  send_again(KEY, "ABC");
  assert_int_equal(take_receipt(), DX_OK);
  job = load();
  assert_string_equal(job->print.key, KEY);
  assert_int_equal(job->other_count, 2);
  assert_string_equal(job->others[0].print.key, KEY_2);
  assert_string_equal(job->others[1].print.key, KEY_3);
  dx_job_free(&job);
}

/* Canceled is what all of them are. */
static void another_print_job_counts_when_one_is_canceled(void **state)
{
  struct dx_job *job;

  (void)state;
  next_uuid = UUID;
  commit("A", "first");
  assert_int_equal(take_receipt(), DX_OK);
  send_again(KEY_2, "A");
  assert_int_equal(take_receipt(), DX_OK);
  job = load();
  assert_true(dx_job_next_print(job));
  assert_true(job->dirty);
  assert_string_equal(job->print.key, KEY);
  assert_int_equal(job->print.backend, DX_BACKEND_BROKEN);
  assert_false(dx_job_next_print(job));
  job->dirty = false;
  assert_true(dx_job_cancel_other_print(job, KEY_2));
  assert_true(job->dirty);
  dx_job_free(&job);
}

static void too_many_of_one_print_job_are_another_job(void **state)
{
  char key[DX_KEY_BYTES];
  int i;

  (void)state;
  next_uuid = UUID;
  first_run("A", "x");
  for (i = 0; i <= DX_PRINT_JOBS_MAX; i++) {
    (void)snprintf(key, sizeof(key), "%032d", i);
    send_again(key, "A");
    assert_int_equal(is_new_job(key), i == DX_PRINT_JOBS_MAX);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(new_document_is_added),
      cmocka_unit_test(test_every_state),
      cmocka_unit_test(test_verify),
      cmocka_unit_test(test_changed),
      cmocka_unit_test(test_registered_only),
      cmocka_unit_test(test_bytes),
      cmocka_unit_test_setup_teardown(test_released, start, stop),
      cmocka_unit_test_setup_teardown(
          print_job_of_a_copy_that_runs_again_needs_a_decision, start, stop),
      cmocka_unit_test_setup_teardown(
          receipt_stays_until_its_documents_are_durable, start, stop),
      cmocka_unit_test_setup_teardown(test_killed_at_every_step, start, stop),
      cmocka_unit_test_setup_teardown(test_other_content, start, stop),
      cmocka_unit_test_setup_teardown(test_missing, start, stop),
      cmocka_unit_test_setup_teardown(trouble_of_a_new_run_is_none_of_the_job,
                                      start, stop),
      cmocka_unit_test_setup_teardown(
          missing_document_that_was_deleted_is_refused, start, stop),
      cmocka_unit_test_setup_teardown(
          other_bytes_of_a_sent_document_are_not_stored, start, stop),
      cmocka_unit_test_setup_teardown(test_orphan, start, stop),
      cmocka_unit_test_setup_teardown(test_finished_stays, start, stop),
      cmocka_unit_test_setup_teardown(
          converted_document_with_other_pages_is_another, start, stop),
      cmocka_unit_test_setup_teardown(
          canceled_job_that_is_printed_again_is_unfinished, start, stop),
      cmocka_unit_test_setup_teardown(
          sent_again_is_merged_whenever_it_is_killed, start, stop),
      cmocka_unit_test_setup_teardown(any_difference_makes_another_job, start,
                                      stop),
      cmocka_unit_test_setup_teardown(documents_of_the_last_run_count, start,
                                      stop),
      cmocka_unit_test_setup_teardown(without_a_uuid_none_is_the_same, start,
                                      stop),
      cmocka_unit_test_setup_teardown(it_is_as_new_when_the_record_is_gone,
                                      start, stop),
      cmocka_unit_test_setup_teardown(
          unreadable_job_is_the_one_that_the_receipt_names, start, stop),
      cmocka_unit_test_setup_teardown(without_its_alias_a_job_is_not_picked_up,
                                      start, stop),
      cmocka_unit_test_setup_teardown(aliases_go_with_the_next_sweep, start,
                                      stop),
      cmocka_unit_test_setup_teardown(each_print_job_is_listed_once, start,
                                      stop),
      cmocka_unit_test_setup_teardown(
          another_print_job_counts_when_one_is_canceled, start, stop),
      cmocka_unit_test_setup_teardown(too_many_of_one_print_job_are_another_job,
                                      start, stop),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
