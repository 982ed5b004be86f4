/*
 * test_print_job.c - parsing responses of cupsd and device URIs, valid and
 * invalid; and checking whether a cupsd is still running.
 */
#include "tests/unit/unit.h"

#include <cups/cups.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/config/config.h"
#include "lib/print/print_job.h"
#include "tests/unit/ipp.h"
#include "tests/unit/temp_dir.h"

static struct dx_print_job read_it(ipp_t *response, const char *uuid)
{
  struct dx_buf bytes = {0};
  struct dx_print_job job;

  ipp_bytes(response, &bytes);
  dx_print_job_read(bytes.data, bytes.len, uuid, &job);
  dx_buf_release(&bytes);
  return job;
}

static void job_is_parsed(void **state)
{
  struct dx_print_job job =
      read_it(ipp_job("urn:1", 7, IPP_JSTATE_HELD,
                      "ipp://localhost/printers/chart", NULL),
              "urn:1");

  (void)state;
  assert_int_equal(job.answer, DX_ANSWER_HELD);
  assert_int_equal(job.time_at_creation, 7);
  assert_string_equal(job.queue, "chart");
  assert_false(job.is_class);
  assert_true(dx_print_job_is_known(&job));
}

static void member_counts_only_while_the_job_is_in_its_class(void **state)
{
  static const struct {
    const char *uri, *actual, *queue;
    bool is_class;
  } rows[] = {
      {"ipp://h/classes/all", NULL, "all", true},
      {"ipp://h/classes/all", "ipp://vm/printers/chart", "chart", false},
      {"ipp://h/printers/paper", "ipp://vm/printers/chart", "paper", false},
      {"ipp://h/printers/B%C3%BCro", NULL, "B\303\274ro", false},
      {"ipp://h/printers/", NULL, "", false},
      {"nothing", NULL, "", false},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_print_job job = read_it(
        ipp_job("urn:1", 7, IPP_JSTATE_PENDING, rows[i].uri, rows[i].actual),
        "urn:1");

    assert_string_equal(job.queue, rows[i].queue);
    assert_int_equal(job.is_class, rows[i].is_class);
  }
}

/* Its number may be another one's by now, who may have been moved. */
static void job_without_identity_is_hidden(void **state)
{
  static const ipp_status_t refusals[] = {IPP_STATUS_ERROR_FORBIDDEN,
                                          IPP_STATUS_ERROR_NOT_AUTHENTICATED,
                                          IPP_STATUS_ERROR_NOT_AUTHORIZED};
  size_t i;
  struct dx_print_job job =
      read_it(ipp_job(NULL, 0, 0, "ipp://h/printers/paper", NULL), "urn:1");

  (void)state;
  assert_int_equal(job.answer, DX_ANSWER_HIDDEN);
  assert_string_equal(job.queue, "");
  assert_false(dx_print_job_is_known(&job));
  job = read_it(ipp_job(NULL, 7, IPP_JSTATE_HELD, NULL, NULL), "urn:1");
  assert_int_equal(job.answer, DX_ANSWER_HIDDEN);
  job = read_it(ipp_job("urn:1", 0, IPP_JSTATE_HELD, NULL, NULL), "urn:1");
  assert_int_equal(job.answer, DX_ANSWER_HIDDEN);
  for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
    job = read_it(ipp_status(refusals[i]), "urn:1");
    assert_int_equal(job.answer, DX_ANSWER_HIDDEN);
  }
}

/* The message also reports progress, and what other jobs do. */
static void only_a_failed_filter_has_failed(void **state)
{
  static const char *const messages[] = {"Filter failed", "Printing page 1",
                                         ""};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
    ipp_t *response = ipp_job("urn:1", 7, IPP_JSTATE_PROCESSING, NULL, NULL);

    ippAddString(response, IPP_TAG_JOB, IPP_TAG_TEXT,
                 "job-printer-state-message", NULL, messages[i]);
    assert_int_equal(read_it(response, "urn:1").filter_failed, i == 0);
  }
}

static void other_job_with_the_same_number_is_not_the_job(void **state)
{
  (void)state;
  assert_int_equal(
      read_it(ipp_job("urn:2", 7, IPP_JSTATE_HELD, NULL, NULL), "urn:1").answer,
      DX_ANSWER_UNKNOWN);
  assert_int_equal(
      read_it(ipp_status(IPP_STATUS_ERROR_NOT_FOUND), "urn:1").answer,
      DX_ANSWER_UNKNOWN);
  assert_int_equal(read_it(ipp_status(IPP_STATUS_ERROR_BUSY), "urn:1").answer,
                   DX_ANSWER_NONE);
}

static void count_one(void *n, const struct dx_print_job *job)
{
  (void)job;
  ++*(int *)n;
}

static void add_queue(void *ctx, const struct dx_queue *queue)
{
  dx_buf_printf(ctx, "%s=%s ", queue->name, queue->uri);
}

static void incomplete_response_is_ignored(void **state)
{
  struct dx_buf bytes = {0}, uri = {0};
  struct dx_print_job job;
  size_t len;
  int n = 0;

  (void)state;
  ipp_bytes(
      ipp_job("urn:1", 7, IPP_JSTATE_HELD, "ipp://h/printers/chart", NULL),
      &bytes);
  for (len = 0; len < bytes.len; len++) {
    char *half = malloc(len + 1); /* as long as it says, for the sanitizer */

    memcpy(half, bytes.data, len);
    dx_print_job_read(half, len, "urn:1", &job);
    assert_int_equal(job.answer, DX_ANSWER_NONE);
    assert_false(dx_queues_read(half, len, add_queue, &uri, &n));
    assert_false(dx_print_jobs_read(half, len, count_one, &n, &n));
    free(half);
  }
  assert_int_equal(n, 0);
  dx_buf_release(&bytes);
  dx_buf_release(&uri);
}

static void list_shows_which_jobs_may_run_again(void **state)
{
  static const struct ipp_listed listed[] = {
      {1, "urn:1", IPP_JSTATE_COMPLETED, true},
      {2, "urn:2", IPP_JSTATE_COMPLETED, false},
      {3, "urn:3", IPP_JSTATE_HELD, false},
      {4, NULL, 0, false},
  };
  struct dx_buf bytes = {0};
  struct ipp_seen seen = {0};
  int last_id = 0;

  (void)state;
  ipp_bytes(ipp_jobs(listed, 4), &bytes);
  assert_true(
      dx_print_jobs_read(bytes.data, bytes.len, ipp_see, &seen, &last_id));
  assert_int_equal(last_id, 4);
  assert_string_equal(seen.text, "1+ 2- 3+ 4+? ");
  dx_buf_release(&bytes);
}

static struct dx_print_job listed_copy;

static void keep_one(void *ctx, const struct dx_print_job *job)
{
  (void)ctx;
  listed_copy = *job;
}

/* As cupsd reports them; the job sheet at the end comes with the start. */
static void list_shows_what_has_arrived(void **state)
{
  static const char *const sheets[][2] = {{"none", "none"},
                                          {"none", "standard"}};
  static const struct {
    int state;
    const char *reason;
    int sheets, documents;
    enum dx_print_phase phase;
    int arrived;
  } rows[] = {
      {IPP_JSTATE_HELD, "job-incoming", 1, 1, DX_PRINT_INCOMING, 1},
      {IPP_JSTATE_HELD, "job-hold-until-specified", 0, 1, DX_PRINT_WAITING, 1},
      {IPP_JSTATE_PENDING, "job-incoming", 0, 1, DX_PRINT_TIMED_OUT, 1},
      {IPP_JSTATE_PENDING, "job-incoming", 1, 2, DX_PRINT_TIMED_OUT, 1},
      {IPP_JSTATE_PENDING, "none", 0, 2, DX_PRINT_WAITING, 2},
      {IPP_JSTATE_PROCESSING, "job-printing", 1, 3, DX_PRINT_ACTIVE, 2},
      {IPP_JSTATE_PROCESSING, "job-incoming", 0, 1, DX_PRINT_ACTIVE, 1},
      {IPP_JSTATE_STOPPED, "job-stopped", 0, 1, DX_PRINT_ACTIVE, 1},
      {IPP_JSTATE_CANCELED, "processing-to-stop-point", 0, 1, DX_PRINT_CANCELED,
       1},
      {IPP_JSTATE_ABORTED, "processing-to-stop-point", 0, 0, DX_PRINT_ENDED, 0},
      {IPP_JSTATE_COMPLETED, "none", 0, 1, DX_PRINT_ENDED, 1},
  };
  int last_id = 0;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const struct ipp_listed job = {7, "urn:7", rows[i].state, false};
    ipp_t *response = ipp_jobs(&job, 1);
    struct dx_buf bytes = {0};

    ippAddString(response, IPP_TAG_JOB, IPP_TAG_KEYWORD, "job-state-reasons",
                 NULL, rows[i].reason);
    ippAddInteger(response, IPP_TAG_JOB, IPP_TAG_INTEGER, "number-of-documents",
                  rows[i].documents);
    ippAddStrings(response, IPP_TAG_JOB, IPP_TAG_NAME, "job-sheets", 2, NULL,
                  sheets[rows[i].sheets]);
    ippAddInteger(response, IPP_TAG_JOB, IPP_TAG_INTEGER, "time-at-creation",
                  99);
    ipp_add_uri(response, IPP_TAG_JOB, "job-printer-uri",
                "ipp://h/classes/all");
    ipp_add_uri(response, IPP_TAG_JOB, "job-printer-uri-actual",
                "ipp://h/printers/chart");
    ipp_bytes(response, &bytes);
    assert_true(
        dx_print_jobs_read(bytes.data, bytes.len, keep_one, NULL, &last_id));
    assert_int_equal(listed_copy.phase, rows[i].phase);
    assert_int_equal(listed_copy.documents - listed_copy.has_end_sheet,
                     rows[i].arrived);
    assert_int_equal(listed_copy.time_at_creation, 99);
    assert_string_equal(listed_copy.queue, "chart");
    dx_buf_release(&bytes);
  }
}

static void list_with_other_types_is_read(void **state)
{
  static const struct ipp_listed job = {7, "urn:7", IPP_JSTATE_COMPLETED,
                                        false};
  static const char *const names[] = {"job-sheets", "job-state-reasons",
                                      "number-of-documents", "job-printer-uri",
                                      "job-printer-uri-actual"};
  static const int values[] = {1, 2};
  ipp_t *response = ipp_jobs(&job, 1);
  struct dx_buf bytes = {0};
  int last_id = 0;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    ippAddIntegers(response, IPP_TAG_JOB, IPP_TAG_ENUM, names[i], 2, values);
  ipp_bytes(response, &bytes);
  assert_true(
      dx_print_jobs_read(bytes.data, bytes.len, keep_one, NULL, &last_id));
  assert_int_equal(listed_copy.phase, DX_PRINT_ENDED);
  assert_string_equal(listed_copy.queue, "");
  dx_buf_release(&bytes);
}

static void queues_have_device_uris(void **state)
{
  ipp_t *response = ipp_status(IPP_STATUS_OK);
  struct dx_buf bytes = {0}, text = {0};
  int timeout_s;

  (void)state;
  ippAddString(response, IPP_TAG_PRINTER, IPP_TAG_NAME, "printer-name", NULL,
               "chart");
  ipp_add_uri(response, IPP_TAG_PRINTER, "device-uri", "docextract://default");
  ippAddSeparator(response);
  ippAddString(response, IPP_TAG_PRINTER, IPP_TAG_NAME, "printer-name", NULL,
               "hidden");
  ippAddSeparator(response);
  ipp_add_uri(response, IPP_TAG_PRINTER, "device-uri", "ipp://h/ipp/print");
  ippAddString(response, IPP_TAG_PRINTER, IPP_TAG_NAME, "printer-name", NULL,
               "paper");
  ippAddInteger(response, IPP_TAG_PRINTER, IPP_TAG_INTEGER,
                "multiple-operation-time-out", 900);
  ipp_bytes(response, &bytes);
  assert_true(
      dx_queues_read(bytes.data, bytes.len, add_queue, &text, &timeout_s));
  assert_string_equal(dx_buf_text(&text),
                      "chart=docextract://default paper=ipp://h/ipp/print ");
  assert_int_equal(timeout_s, 900);
  assert_false(dx_queues_read(bytes.data, 9, add_queue, &text, &timeout_s));
  dx_buf_release(&bytes);
  dx_buf_release(&text);
}

static void describe_queue(void *ctx, const struct dx_queue *queue)
{
  dx_buf_printf(ctx, "%s %s %d %d '%s'\n", queue->name, queue->state,
                queue->is_accepting, queue->jobs, queue->reasons);
}

/* Of the second queue, cupsd says less. A reason that does not fit is left out
 * as a whole. */
static void queues_have_attributes_of_their_own(void **state)
{
  static char as[201], bs[56];
  const char *const reasons[] = {"none", as, "Not A Keyword", bs, "c"};
  ipp_t *response = ipp_status(IPP_STATUS_OK);
  struct dx_buf bytes = {0}, text = {0}, expected = {0};
  int timeout_s;

  (void)state;
  memset(as, 'a', sizeof(as) - 1);
  memset(bs, 'b', sizeof(bs) - 1);
  ippAddString(response, IPP_TAG_PRINTER, IPP_TAG_NAME, "printer-name", NULL,
               "chart");
  ipp_add_uri(response, IPP_TAG_PRINTER, "device-uri", "docextract://default");
  ippAddInteger(response, IPP_TAG_PRINTER, IPP_TAG_ENUM, "printer-state",
                IPP_PSTATE_STOPPED);
  ippAddStrings(response, IPP_TAG_PRINTER, IPP_TAG_KEYWORD,
                "printer-state-reasons", 5, NULL, reasons);
  ippAddBoolean(response, IPP_TAG_PRINTER, "printer-is-accepting-jobs", 1);
  ippAddInteger(response, IPP_TAG_PRINTER, IPP_TAG_INTEGER, "queued-job-count",
                3);
  ippAddSeparator(response);
  ipp_add_uri(response, IPP_TAG_PRINTER, "device-uri", "ipp://h/ipp/print");
  ipp_bytes(response, &bytes);
  assert_true(
      dx_queues_read(bytes.data, bytes.len, describe_queue, &text, &timeout_s));
  dx_buf_printf(&expected, "chart stopped 1 3 '%s c'\n unknown 0 0 ''\n", as);
  assert_string_equal(dx_buf_text(&text), dx_buf_text(&expected));
  dx_buf_release(&bytes);
  dx_buf_release(&text);
  dx_buf_release(&expected);
}

static void request_names_the_owner(void **state)
{
  struct dx_buf bytes = {0};
  ipp_t *request;

  (void)state;
  assert_true(dx_print_job_request("17", "ann", &bytes));
  request = ipp_read(bytes.data, bytes.len);
  assert_non_null(request);
  assert_string_equal(ipp_text(request, "requesting-user-name"), "ann");
  assert_string_equal(ipp_text(request, "job-uri"), "ipp://localhost/jobs/17");
  ippDelete(request);
  dx_buf_release(&bytes);
}

/* cupsd lists only the queues that the named user may use. */
static void request_for_all_queues_names_no_user(void **state)
{
  struct dx_buf bytes = {0};
  ipp_t *request;

  (void)state;
  assert_true(dx_queues_request(NULL, &bytes));
  request = ipp_read(bytes.data, bytes.len);
  assert_non_null(request);
  assert_null(ippFindAttribute(request, "requesting-user-name", IPP_TAG_NAME));
  ippDelete(request);
  dx_buf_release(&bytes);
}

/* ---- a cupsd that accepts and says nothing ---- */

#define PATIENCE_MS 300

static bool stops(void)
{
  return true;
}

static void query_to_a_silent_cupsd_has_a_timeout(void **state)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct dx_print_job job;
  char dir[TEMP_DIR_BYTES];
  int64_t began;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);

  (void)state;
  assert_int_equal(temp_dir_make(dir), 0);
  (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", dir);
  assert_int_equal(bind(fd, (void *)&address, sizeof(address)), 0);
  assert_int_equal(listen(fd, 1), 0);
  assert_int_equal(setenv("CUPS_SERVER", address.sun_path, 1), 0);
  cupsSetServer(NULL);
  began = dx_monotonic_ms();
  dx_print_job_ask("1", "urn:1", "ann", PATIENCE_MS, NULL, &job);
  assert_int_equal(job.answer, DX_ANSWER_NONE);
  assert_true(dx_monotonic_ms() - began >= PATIENCE_MS / 2);
  assert_true(dx_monotonic_ms() - began < PATIENCE_MS * 50);
  began = dx_monotonic_ms();
  dx_print_job_ask("1", "urn:1", "ann", 60000, stops, &job);
  assert_int_equal(job.answer, DX_ANSWER_NONE);
  assert_true(dx_monotonic_ms() - began < 30000);
  close(fd);
  assert_int_equal(temp_dir_remove(dir), 0);
}

/* ---- which cupsd ---- */

static void address_is_that_of_cups_server(void **state)
{
  struct dx_cupsd_address address;

  (void)state;
  assert_int_equal(setenv("CUPS_SERVER", "/run/a.sock", 1), 0);
  dx_cupsd_address(&address);
  assert_string_equal(address.host, "/run/a.sock");
  assert_int_equal(address.port, 0);
  assert_int_equal(setenv("CUPS_SERVER", "localhost:8631", 1), 0);
  dx_cupsd_address(&address);
  assert_string_equal(address.host, "localhost");
  assert_int_equal(address.port, 8631);
}

static pid_t start_child(void)
{
  pid_t pid = fork();

  if (pid == 0) {
    (void)pause();
    _exit(0);
  }
  assert_true(pid > 0);
  return pid;
}

static void cupsd_is_gone_when_its_process_is(void **state)
{
  pid_t child = start_child();
  char *name = dx_cupsd_name(child);

  (void)state;
  assert_non_null(name);
  assert_false(dx_cupsd_is_gone(name));
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_true(dx_cupsd_is_gone(name));
  free(name);
}

static void process_with_the_same_number_is_not_the_cupsd(void **state)
{
  char *name = dx_cupsd_name(getpid());
  char changed[512], boot[64];
  unsigned long long start;
  int pid;

  (void)state;
  assert_false(dx_cupsd_is_gone(name));
  assert_int_equal(sscanf(name, "%d %llu %63s", &pid, &start, boot), 3);
  (void)snprintf(changed, sizeof(changed), "%d %llu %s", pid, start + 1, boot);
  assert_true(dx_cupsd_is_gone(changed));
  (void)snprintf(changed, sizeof(changed), "%d %llu %s", pid, start,
                 "11111111-2222-3333-4444-555555555555");
  assert_true(dx_cupsd_is_gone(changed));
  (void)snprintf(changed, sizeof(changed), "%d - %s", pid, boot);
  assert_false(dx_cupsd_is_gone(changed)); /* its start was not known */
  assert_int_equal(prctl(PR_SET_NAME, "a) 1 2 3"), 0);
  assert_false(dx_cupsd_is_gone(name));
  free(name);
}

static void section_of_a_device_uri(void **state)
{
  static const struct {
    const char *uri, *section; /* NULL: it is not the URI of our queue */
  } rows[] = {
      {"docextract://default", "default"},
      {"docextract://default/", "default"}, /* as some dialogs write it */
      {"docextract://Lab-2.b_c", "Lab-2.b_c"},
      {NULL, NULL},
      {"", NULL},
      {"docextract", NULL},
      {"docextract://", NULL},
      {"docextract:///", NULL},
      {"docextract://default//", NULL},
      {"docextract://default/x", NULL},
      {"docextract://default?x", NULL},
      {"docextract://a b", NULL},
      {"docextract://user@host", NULL},
      {"ipp://default", NULL},
      {" docextract://default", NULL},
  };
  char uri[128], section[DX_SECTION_BYTES];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_int_equal(dx_section_of_uri(rows[i].uri, section),
                     rows[i].section != NULL);
    assert_string_equal(section,
                        rows[i].section != NULL ? rows[i].section : "");
  }
  (void)snprintf(uri, sizeof(uri), "docextract://%064d", 7);
  assert_true(dx_section_of_uri(uri, section));
  assert_int_equal(strlen(section), 64);
  (void)snprintf(uri, sizeof(uri), "docextract://%065d", 7);
  assert_false(dx_section_of_uri(uri, section));
}

/* Then a decision is needed. */
static void cupsd_without_information_is_not_gone(void **state)
{
  (void)state;
  assert_false(dx_cupsd_is_gone(NULL));
  assert_false(dx_cupsd_is_gone(""));
  assert_false(dx_cupsd_is_gone("localhost:631 7 8 boot"));
  assert_false(dx_cupsd_is_gone("0 1 x"));
  assert_false(dx_cupsd_is_gone("-1 1 x"));
  assert_false(dx_cupsd_is_gone("1 1 -")); /* its boot is unknown */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(job_is_parsed),
      cmocka_unit_test(member_counts_only_while_the_job_is_in_its_class),
      cmocka_unit_test(job_without_identity_is_hidden),
      cmocka_unit_test(only_a_failed_filter_has_failed),
      cmocka_unit_test(other_job_with_the_same_number_is_not_the_job),
      cmocka_unit_test(incomplete_response_is_ignored),
      cmocka_unit_test(list_shows_which_jobs_may_run_again),
      cmocka_unit_test(list_shows_what_has_arrived),
      cmocka_unit_test(list_with_other_types_is_read),
      cmocka_unit_test(queues_have_device_uris),
      cmocka_unit_test(queues_have_attributes_of_their_own),
      cmocka_unit_test(request_names_the_owner),
      cmocka_unit_test(request_for_all_queues_names_no_user),
      cmocka_unit_test(query_to_a_silent_cupsd_has_a_timeout),
      cmocka_unit_test(address_is_that_of_cups_server),
      cmocka_unit_test(section_of_a_device_uri),
      cmocka_unit_test(cupsd_is_gone_when_its_process_is),
      cmocka_unit_test(process_with_the_same_number_is_not_the_cupsd),
      cmocka_unit_test(cupsd_without_information_is_not_gone),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
