/*
 * test_transfer.c - which print jobs did not arrive completely, and the file
 * that lists them.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/policy.h"
#include "lib/spool/transfer.h"

#define CREATED_MS INT64_C(1000000)
#define STALL_MS 60000
#define TIMEOUT_MS 900000

static struct dx_transfer_job a_job(void)
{
  return (struct dx_transfer_job){.phase = DX_PRINT_ACTIVE,
                                  .seen_at_ms = CREATED_MS};
}

/* Seconds after the creation. */
static enum dx_transfer sees(struct dx_transfer_job *job, int64_t at_s,
                             enum dx_print_phase phase, int documents,
                             bool is_stored)
{
  const struct dx_transfer_facts facts = {.phase = phase,
                                          .documents = documents,
                                          .is_stored = is_stored,
                                          .now_ms = CREATED_MS + at_s * 1000,
                                          .stall_ms = STALL_MS,
                                          .timeout_ms = TIMEOUT_MS};
  enum dx_transfer before = job->status;
  bool has_changed = dx_transfer_update(job, &facts);

  assert_int_equal(has_changed, job->status != before);
  return job->status;
}

static void test_stalled(void **state)
{
  struct dx_transfer_job job = a_job();

  (void)state;
  assert_int_equal(sees(&job, 10, DX_PRINT_INCOMING, 0, false),
                   DX_TRANSFER_NONE);
  assert_int_equal(sees(&job, 69, DX_PRINT_INCOMING, 0, false),
                   DX_TRANSFER_NONE);
  assert_int_equal(sees(&job, 70, DX_PRINT_INCOMING, 0, false),
                   DX_TRANSFER_STALLED);
  assert_int_equal(sees(&job, 80, DX_PRINT_INCOMING, 1, false),
                   DX_TRANSFER_NONE);
  assert_int_equal(sees(&job, 140, DX_PRINT_INCOMING, 1, false),
                   DX_TRANSFER_STALLED);
  assert_int_equal(sees(&job, 150, DX_PRINT_ACTIVE, 2, false),
                   DX_TRANSFER_NONE);
  assert_int_equal(sees(&job, 9999, DX_PRINT_ENDED, 2, true), DX_TRANSFER_NONE);
}

/* The time runs from when the last document may have arrived. */
static void test_started_by_timeout(void **state)
{
  static const struct {
    int64_t left_s;
    int documents;
    enum dx_transfer status;
  } rows[] = {{909, 1, DX_TRANSFER_NONE}, /* 10 s, and the timeout */
              {910, 1, DX_TRANSFER_INCOMPLETE},
              {910, 2, DX_TRANSFER_NONE}, /* its last document has arrived */
              {9999, 2, DX_TRANSFER_NONE}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_transfer_job job = a_job();

    (void)sees(&job, 10, DX_PRINT_INCOMING, 0, false);
    (void)sees(&job, 20, DX_PRINT_INCOMING, 1, false);
    (void)sees(&job, 600, DX_PRINT_INCOMING, 1, false);
    assert_int_equal(
        sees(&job, rows[i].left_s, DX_PRINT_ACTIVE, rows[i].documents, false),
        rows[i].status);
    assert_int_equal(sees(&job, 99999, DX_PRINT_ENDED, rows[i].documents, true),
                     rows[i].status);
  }
}

/* It is held only if it was seen incoming with these documents for a long time,
 * and until shortly before it started. */
static void test_held(void **state)
{
  static const struct {
    int64_t grew_s, seen_s, left_s; /* looks; 10 s: one less document */
    enum dx_print_phase phase;
    int before, after; /* documents */
    bool must_hold;
  } rows[] = {
      {20, 890, 915, DX_PRINT_ACTIVE, 1, 1, true},
      {20, 890, 915, DX_PRINT_TIMED_OUT, 1, 1, true},
      {20, 890, 915, DX_PRINT_ACTIVE, 3, 3, true},
      {460, 890, 910, DX_PRINT_ACTIVE, 1, 1, true},
      /* It may have ended without a further document. */
      {20, 890, 909, DX_PRINT_ACTIVE, 1, 1, false},
      {20, 600, 900, DX_PRINT_TIMED_OUT, 1, 1, false},
      {461, 890, 910, DX_PRINT_ACTIVE, 1, 1, false},
      {20, 615, 915, DX_PRINT_ACTIVE, 1, 1, false},
      /* Its last document has arrived. */
      {20, 890, 915, DX_PRINT_ACTIVE, 1, 2, false},
      {20, 890, 915, DX_PRINT_ACTIVE, 0, 1, false},
      {20, 890, 915, DX_PRINT_ACTIVE, 0, 0, false},
      /* There is nothing to hold. */
      {20, 890, 915, DX_PRINT_CANCELED, 1, 1, false},
      {20, 890, 915, DX_PRINT_ENDED, 1, 1, false},
      /* It is still incoming. */
      {20, 890, 915, DX_PRINT_INCOMING, 1, 1, false},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_transfer_job job = a_job();

    (void)sees(&job, 10, DX_PRINT_INCOMING, rows[i].before - 1, false);
    (void)sees(&job, rows[i].grew_s, DX_PRINT_INCOMING, rows[i].before, false);
    (void)sees(&job, rows[i].seen_s, DX_PRINT_INCOMING, rows[i].before, false);
    assert_false(job.must_hold);
    (void)sees(&job, rows[i].left_s, rows[i].phase, rows[i].after, true);
    assert_int_equal(job.must_hold, rows[i].must_hold);
    (void)sees(&job, 920, DX_PRINT_ACTIVE, rows[i].after, true);
    if (rows[i].phase != DX_PRINT_INCOMING) /* nor later */
      assert_int_equal(job.must_hold, rows[i].must_hold);
  }
}

/* What was never seen incoming is shown, but not held. */
static void test_not_seen_incoming(void **state)
{
  struct dx_transfer_job job = a_job();

  (void)state;
  assert_int_equal(sees(&job, 915, DX_PRINT_TIMED_OUT, 1, false),
                   DX_TRANSFER_INCOMPLETE);
  assert_int_equal(sees(&job, 920, DX_PRINT_ACTIVE, 1, true),
                   DX_TRANSFER_INCOMPLETE);
  assert_false(job.must_hold);
}

/* What was not seen while it was incoming cannot be judged. */
static void test_first_seen_later(void **state)
{
  struct dx_transfer_job job = a_job();

  (void)state;
  assert_int_equal(sees(&job, 9999, DX_PRINT_ACTIVE, 1, false),
                   DX_TRANSFER_NONE);
  job = a_job(); /* unless cupsd still reports why it is pending */
  assert_int_equal(sees(&job, 10, DX_PRINT_TIMED_OUT, 1, false),
                   DX_TRANSFER_INCOMPLETE);
}

/* cupsd no longer knows it. */
static void test_purged(void **state)
{
  static const struct {
    int64_t seen_s; /* again, after 10 s */
    enum dx_print_phase phase;
    enum dx_transfer status;
  } rows[] = {
      {70, DX_PRINT_WAITING, DX_TRANSFER_NONE},
      {69, DX_PRINT_WAITING, DX_TRANSFER_LOST}, /* a crash may lose it */
      {70, DX_PRINT_INCOMING, DX_TRANSFER_LOST},
      {70, DX_PRINT_ACTIVE, DX_TRANSFER_LOST}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_transfer_job job = a_job();

    (void)sees(&job, 10, DX_PRINT_WAITING, 1, false);
    (void)sees(&job, rows[i].seen_s, rows[i].phase, 1, false);
    assert_int_equal(sees(&job, 200, DX_PRINT_UNKNOWN, 1, false),
                     rows[i].status);
  }
}

/* Each phase, after each status, with and without documents in the spool. */
static void test_all_pairs(void **state)
{
  static const enum dx_transfer expected[][2][DX_TRANSFER_COUNT] = {
#define N DX_TRANSFER_NONE
#define S DX_TRANSFER_STALLED
#define I DX_TRANSFER_INCOMPLETE
#define L DX_TRANSFER_LOST
      /* after      NONE STALLED INCOMPLETE LOST */
      [DX_PRINT_INCOMING] = {{N, N, N, N}, {N, N, N, N}},
      [DX_PRINT_TIMED_OUT] = {{I, I, I, I}, {I, I, I, I}},
      [DX_PRINT_WAITING] = {{N, N, I, N}, {N, N, I, N}},
      [DX_PRINT_ACTIVE] = {{N, N, I, N}, {N, N, I, N}},
      [DX_PRINT_CANCELED] = {{N, N, N, N}, {N, N, N, N}},
      [DX_PRINT_ENDED] = {{L, L, L, L}, {N, N, I, N}},
      [DX_PRINT_UNKNOWN] = {{L, L, L, L}, {N, N, I, N}},
  };
  int phase, is_stored, before;

  (void)state;
  for (phase = DX_PRINT_INCOMING; phase <= DX_PRINT_UNKNOWN; phase++)
    for (is_stored = 0; is_stored < 2; is_stored++)
      for (before = 0; before < DX_TRANSFER_COUNT; before++) {
        struct dx_transfer_job job = a_job();

        job.documents = 1;
        job.phase = DX_PRINT_INCOMING;
        job.grew_at_ms = job.grew_after_ms = CREATED_MS;
        job.status = (enum dx_transfer)before;
        assert_int_equal(
            sees(&job, 1, (enum dx_print_phase)phase, 1, is_stored),
            expected[phase][is_stored][before]);
      }
}

/* The administrator resets the status; the same finding does not return. */
static void test_acknowledged(void **state)
{
  struct dx_transfer_job job = a_job();

  (void)state;
  (void)sees(&job, 10, DX_PRINT_TIMED_OUT, 1, false);
  job.status = DX_TRANSFER_NONE;
  assert_int_equal(sees(&job, 20, DX_PRINT_TIMED_OUT, 1, false),
                   DX_TRANSFER_NONE);
  assert_int_equal(sees(&job, 30, DX_PRINT_ACTIVE, 1, false), DX_TRANSFER_NONE);
  assert_int_equal(sees(&job, 40, DX_PRINT_ENDED, 1, true), DX_TRANSFER_NONE);
}

static void test_shown(void **state)
{
  struct dx_transfer_job job = a_job();
  int64_t late = CREATED_MS + DX_TRANSFER_STALE_MS;

  (void)state;
  assert_false(dx_transfer_is_shown(&job, CREATED_MS));
  job.status = DX_TRANSFER_STALLED;
  assert_true(dx_transfer_is_shown(&job, late - 1));
  assert_false(dx_transfer_is_shown(&job, late));
  job.status = DX_TRANSFER_LOST;
  assert_true(dx_transfer_is_shown(&job, late));
}

static char dir[TEMP_DIR_BYTES];

static int make_dir(void **state)
{
  (void)state;
  return temp_dir_make(dir);
}

static int remove_dir(void **state)
{
  (void)state;
  return temp_dir_remove(dir);
}

static void test_file(void **state)
{
#define TEXT(member)                                                     \
  {                                                                      \
    offsetof(struct dx_transfer_job, member), sizeof(all.jobs[0].member) \
  }
  static struct dx_transfers all, read;
  const struct {
    size_t offset, size;
  } texts[] = {TEXT(key), TEXT(queue), TEXT(service)}; /* without an end */
  size_t i;
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  (void)state;
  dx_transfers_read(dirfd, &read);
  assert_int_equal(read.count, 0);
  all.next_id = 7;
  all.count = 1;
  (void)strcpy(all.jobs[0].queue, "chart");
  dx_transfers_write(dirfd, &all);
  dx_transfers_read(dirfd, &read);
  assert_memory_equal(&read, &all, sizeof(all));
  all.count = DX_TRANSFERS_MAX + 1;
  dx_transfers_write(dirfd, &all);
  dx_transfers_read(dirfd, &read);
  assert_int_equal(read.count, 0);
  all.count = 1;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    all.jobs[0] = (struct dx_transfer_job){.id = 1};
    memset((char *)&all.jobs[0] + texts[i].offset, 'x', texts[i].size);
    dx_transfers_write(dirfd, &all);
    dx_transfers_read(dirfd, &read);
    assert_int_equal(read.count, 0);
    assert_int_equal(read.next_id, 0);
  }
  all.jobs[0] = (struct dx_transfer_job){.status = DX_TRANSFER_COUNT};
  dx_transfers_write(dirfd, &all);
  dx_transfers_read(dirfd, &read);
  assert_int_equal(read.count, 0);
  (void)close(dirfd);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stalled),
      cmocka_unit_test(test_started_by_timeout),
      cmocka_unit_test(test_held),
      cmocka_unit_test(test_not_seen_incoming),
      cmocka_unit_test(test_first_seen_later),
      cmocka_unit_test(test_purged),
      cmocka_unit_test(test_all_pairs),
      cmocka_unit_test(test_acknowledged),
      cmocka_unit_test(test_shown),
      cmocka_unit_test_setup_teardown(test_file, make_dir, remove_dir),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
