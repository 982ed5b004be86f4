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
      {"ipp://h/classes/all", "ipp:x", "", false}, /* a client wrote it */
      {"ipp:x", NULL, "", false},
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

static void count_one(void *n, int id, int state)
{
  (void)id;
  (void)state;
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
  bool is_refused = true;
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
    assert_false(dx_queues_read(half, len, add_queue, &uri));
    assert_false(dx_print_jobs_read(half, len, count_one, &n, &is_refused));
    assert_false(is_refused);
    free(half);
  }
  assert_int_equal(n, 0);
  dx_buf_release(&bytes);
  dx_buf_release(&uri);
}

static void list_has_ids_and_states(void **state)
{
  static const struct ipp_listed listed[] = {
      {1, IPP_JSTATE_PENDING}, {3, IPP_JSTATE_HELD}, {2, 0}};
  struct dx_buf bytes = {0};
  struct ipp_seen seen = {""};
  bool is_refused = true;

  (void)state;
  ipp_bytes(ipp_jobs(listed, 3), &bytes);
  assert_true(
      dx_print_jobs_read(bytes.data, bytes.len, ipp_see, &seen, &is_refused));
  assert_false(is_refused);
  assert_string_equal(seen.text, "1=3 3=4 2=0 ");
  dx_buf_release(&bytes);
  ipp_bytes(ipp_status(IPP_STATUS_ERROR_NOT_AUTHORIZED), &bytes);
  assert_false(
      dx_print_jobs_read(bytes.data, bytes.len, ipp_see, &seen, &is_refused));
  assert_true(is_refused);
  dx_buf_release(&bytes);
}

/* ---- what print clients write (doc/cups.md) ---- */

static void add_number(ipp_t *response, ipp_tag_t type, const char *name,
                       int value)
{
  ippAddInteger(response, IPP_TAG_JOB, type, name, value);
}

/* The values of cupsd come last. */
static ipp_t *job_of_a_hostile_client(void)
{
  ipp_t *response = ipp_status(IPP_STATUS_OK);

  add_number(response, IPP_TAG_INTEGER, "number-of-documents", 2); /* cupsd's */
  add_number(response, IPP_TAG_INTEGER, "number-of-documents", 9);
  ipp_add_uri(response, IPP_TAG_JOB, "job-printer-uri",
              "ipp://localhost/printers/chart");
  ipp_add_set(response, "job-uuid");
  ipp_add_uri(response, IPP_TAG_JOB, "job-uuid", "urn:2");
  ipp_add_uri(response, IPP_TAG_JOB, "job-uuid", "urn:1"); /* cupsd's */
  add_number(response, IPP_TAG_ENUM, "job-state", IPP_JSTATE_CANCELED);
  ipp_add_set(response, "job-state");
  add_number(response, IPP_TAG_INTEGER, "job-state", IPP_JSTATE_CANCELED);
  ippAddBoolean(response, IPP_TAG_JOB, "job-id", 1);
  add_number(response, IPP_TAG_INTEGER, "job-id", 99);
  add_number(response, IPP_TAG_INTEGER, "time-at-creation", 1);
  add_number(response, IPP_TAG_INTEGER, "time-at-creation", 7); /* cupsd's */
  add_number(response, IPP_TAG_INTEGER, "job-id", 17);
  add_number(response, IPP_TAG_ENUM, "job-state", IPP_JSTATE_HELD);
  return response;
}

static void values_of_cupsd_count_among_those_of_a_client(void **state)
{
  struct dx_print_job job = read_it(job_of_a_hostile_client(), "urn:1");
  struct ipp_seen seen = {""};
  struct dx_buf bytes = {0};
  bool is_refused;

  (void)state;
  assert_int_equal(job.answer, DX_ANSWER_HELD);
  assert_int_equal(job.time_at_creation, 7);
  assert_int_equal(job.documents, 2);
  assert_string_equal(job.queue, "chart");
  assert_false(dx_print_job_is_unusable(&job));
  ipp_bytes(job_of_a_hostile_client(), &bytes);
  assert_true(
      dx_print_jobs_read(bytes.data, bytes.len, ipp_see, &seen, &is_refused));
  assert_string_equal(seen.text, "17=4 ");
  dx_buf_release(&bytes);
}

/* Their types are wrong, or they have several values. */
static void other_values_are_not_reported(void **state)
{
  static const char *const names[] = {"job-uuid",
                                      "time-at-creation",
                                      "number-of-documents",
                                      "job-printer-uri",
                                      "job-printer-uri-actual",
                                      "job-preserved",
                                      "job-printer-state-message"};
  static const int values[] = {1, 2};
  size_t i;

  (void)state;
  for (i = 0; i < 2 * sizeof(names) / sizeof(names[0]); i++) {
    ipp_t *response = ipp_status(IPP_STATUS_OK);
    const char *name = names[i / 2];
    struct dx_print_job job;

    if (strcmp(name, "job-uuid") != 0)
      ipp_add_uri(response, IPP_TAG_JOB, "job-uuid", "urn:1");
    if (strcmp(name, "time-at-creation") != 0)
      add_number(response, IPP_TAG_INTEGER, "time-at-creation", 7);
    add_number(response, IPP_TAG_ENUM, "job-state", IPP_JSTATE_COMPLETED);
    if (i % 2 == 0)
      ipp_add_set(response, name);
    else
      ippAddIntegers(response, IPP_TAG_JOB, IPP_TAG_INTEGER, name, 2, values);
    job = read_it(response, "urn:1");
    assert_int_equal(job.answer, i < 4 ? DX_ANSWER_HIDDEN : DX_ANSWER_OVER);
    assert_int_equal(job.may_run_again, i < 4);
    assert_int_equal(job.documents, 0);
    assert_string_equal(job.queue, "");
    assert_false(job.filter_failed);
    assert_true(dx_print_job_is_unusable(&job));
  }
}

static void preserved_job_may_run_again(void **state)
{
  static const struct {
    int state;
    bool is_preserved, may_run;
  } rows[] = {{IPP_JSTATE_COMPLETED, true, true},
              {IPP_JSTATE_COMPLETED, false, false},
              {IPP_JSTATE_CANCELED, true, true},
              {IPP_JSTATE_HELD, false, true}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ipp_t *response = ipp_job("urn:1", 7, rows[i].state, NULL, NULL);

    ippAddBoolean(response, IPP_TAG_JOB, "job-preserved", rows[i].is_preserved);
    assert_int_equal(read_it(response, "urn:1").may_run_again, rows[i].may_run);
  }
  assert_true(read_it(ipp_status(IPP_STATUS_ERROR_NOT_AUTHORIZED), "urn:1")
                  .may_run_again);
}

/* cupsd does not know it, hides it, or did not answer. */
static void job_without_a_state_is_not_unusable(void **state)
{
  struct dx_print_job job =
      read_it(ipp_status(IPP_STATUS_ERROR_NOT_FOUND), "urn:1");

  (void)state;
  assert_false(dx_print_job_is_unusable(&job));
  job = read_it(ipp_job(NULL, 0, 0, "ipp://h/printers/chart", NULL), "urn:1");
  assert_false(dx_print_job_is_unusable(&job));
  job = read_it(ipp_status(IPP_STATUS_ERROR_BUSY), "urn:1");
  assert_false(dx_print_job_is_unusable(&job));
}

static void printer_name_that_is_too_long_is_not_reported(void **state)
{
  char uri[DX_QUEUE_BYTES + 64], name[DX_QUEUE_BYTES + 1];
  int i;

  (void)state;
  for (i = 0; i < 2; i++) {
    memset(name, 'a', sizeof(name));
    name[DX_QUEUE_BYTES - 1 + i] = '\0';
    (void)snprintf(uri, sizeof(uri), "ipp://h/printers/%s", name);
    assert_string_equal(
        read_it(ipp_job("urn:1", 7, IPP_JSTATE_HELD, uri, NULL), "urn:1").queue,
        i == 0 ? name : "");
  }
}

/* ---- queues ---- */

static void queues_have_device_uris(void **state)
{
  ipp_t *response = ipp_status(IPP_STATUS_OK);
  struct dx_buf bytes = {0}, text = {0};

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
  ipp_bytes(response, &bytes);
  assert_true(dx_queues_read(bytes.data, bytes.len, add_queue, &text));
  assert_string_equal(dx_buf_text(&text),
                      "chart=docextract://default paper=ipp://h/ipp/print ");
  assert_false(dx_queues_read(bytes.data, 9, add_queue, &text));
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
  assert_true(dx_queues_read(bytes.data, bytes.len, describe_queue, &text));
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
      cmocka_unit_test(list_has_ids_and_states),
      cmocka_unit_test(values_of_cupsd_count_among_those_of_a_client),
      cmocka_unit_test(other_values_are_not_reported),
      cmocka_unit_test(preserved_job_may_run_again),
      cmocka_unit_test(job_without_a_state_is_not_unusable),
      cmocka_unit_test(printer_name_that_is_too_long_is_not_reported),
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
