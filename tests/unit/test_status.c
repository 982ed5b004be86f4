/*
 * test_status.c - the status socket: the data about a job in responses, and
 * what its server does if descriptors or memory of a socket run out.
 */
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/control.h"
#include "daemon/status.h"
#include "daemon/tallies.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/control/status.h"
#include "lib/spool/spool.h"

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
    dx_line_set(&job->submissions[0].reason, DX_WHY_BYTES, "TECHNICAL 422");
    (void)strcpy(job->documents[0].entry.reason_text, "TECHNICAL 1G");
    dx_job_set_problem(job, DX_E_KEY, "TECHNICAL TokenCommand; run 'x'", 0);
    text = dx_status_job_line(job, for_admin[i]);
    assert_non_null(text);
    assert_true((strstr(text, "TECHNICAL") != NULL) == for_admin[i]);
    assert_true(
        (strstr(text, "\"message\":\"Contact your "
                      "administrator: this printer cannot sign in to the "
                      "service\"") == NULL) == for_admin[i]);
    assert_true((strstr(text, "\"reason\":\"The service rejected it; ") ==
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

/* ---- the server ---- */

static struct { /* shared with the server */
  int failures; /* of accept(), to come */
  int pauses;
} * server;

int __real_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
  if (server->failures == 0)
    return __real_accept4(fd, address, len, flags);
  server->failures--;
  errno = EMFILE;
  return -1;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
  if (fds != NULL)
    return __real_poll(fds, count, timeout);
  server->pauses++;
  return 0;
}

/* Not docextractd, but this program: what follows is the same. */
int __wrap_execl(const char *program, const char *name, ...);

int __wrap_execl(const char *program, const char *name, ...)
{
  const char *option, *spool_dir, *c, *conf;
  va_list args;

  va_start(args, name);
  option = va_arg(args, const char *);
  spool_dir = va_arg(args, const char *);
  c = va_arg(args, const char *);
  conf = va_arg(args, const char *);
  va_end(args);
  if (strcmp(program, "/proc/self/exe") != 0 ||
      strcmp(option, STATUS_OPTION) != 0 || strcmp(c, "-c") != 0)
    _exit(2);
  status_main(spool_dir, conf);
}

static char dir[TEMP_DIR_BYTES], path[TEMP_DIR_BYTES + 8];
static char config_path[TEMP_DIR_BYTES + 8]; /* there is no such file */
static const struct dx_config config = {
    .path = config_path, .spool_dir = dir, .status_socket = path};
static struct status status = STATUS_NONE;
static struct dx_spool spool;

static int start(void **state)
{
  (void)state;
  server = mmap(NULL, sizeof(*server), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (server == MAP_FAILED || temp_dir_make(dir) < 0)
    return -1;
  (void)snprintf(path, sizeof(path), "%s/socket", dir);
  (void)snprintf(config_path, sizeof(config_path), "%s/conf", dir);
  status_start(&status, &config, NULL);
  (void)status_check(&status);
  return status.fd >= 0 ? 0 : -1;
}

static int stop(void **state)
{
  (void)state;
  status_stop(&status);
  (void)munmap(server, sizeof(*server));
  return temp_dir_remove(dir);
}

/* It is kept in memory, and its size is what the other end states. */
static void response_that_is_too_large_is_not_read(void **state)
{
  static const char response[] = "{\"bytes\":3}\nabc";
  struct dx_buf bytes = {0};
  char request[16];
  size_t limit;
  int fd;

  (void)state;
  assert_int_equal(temp_dir_make(dir), 0);
  (void)snprintf(path, sizeof(path), "%s/socket", dir);
  fd = control_listen(AT_FDCWD, path, 0600, &err);
  assert_true(fd >= 0);
  assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
  for (limit = 2; limit <= 3; limit++) {
    pid_t child = fork();

    if (child == 0) {
      int client = accept(fd, NULL, NULL);

      (void)!read(client, request, sizeof(request));
      (void)!write(client, response, sizeof(response) - 1);
      _exit(0);
    }
    assert_int_equal(dx_status_fetch(path, "show", limit, &bytes, &err),
                     limit == 2 ? DX_E_DAMAGED : DX_OK);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(bytes.len, limit == 2 ? 0 : 3);
  }
  dx_buf_release(&bytes);
  (void)close(fd);
  assert_int_equal(temp_dir_remove(dir), 0);
}

static void each_end_is_told_once(void **state)
{
  struct dx_job *job = make_job(DX_ST_FAILED);
  struct status told = STATUS_NONE;
  int64_t ends[] = {60000, 60000, 120000}; /* failed, then canceled */
  char key[DX_KEY_BYTES];
  int pair[2];
  size_t i;

  (void)state;
  assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
  told.fd = pair[0];
  for (i = 0; i < 3; i++) {
    job->submissions[0].failed_at = ends[i];
    status_tell(&told, job);
    assert_int_equal(recv(pair[1], key, sizeof(key), MSG_DONTWAIT),
                     i == 1 ? -1 : DX_KEY_BYTES);
  }
  (void)close(pair[0]);
  (void)close(pair[1]);
  dx_job_free(&job);
}

static void server_without_descriptors_pauses(void **state)
{
  char line[64];
  FILE *lines;

  (void)state;
  server->failures = 2;
  lines = dx_status_ask(path, "jobs", &err);
  assert_non_null(lines);
  assert_non_null(fgets(line, sizeof(line), lines));
  assert_string_equal(line, "{\"end\":true}\n");
  assert_int_equal(server->pauses, 2);
  (void)fclose(lines);
}

/* A job in the spool. */
static struct dx_job *save_job(void)
{
  struct dx_job *job = make_job(DX_ST_FAILED);

  job->submissions[0].failed_at = 60000;
  assert_int_equal(dx_spool_open(dir, &spool, &err), DX_OK);
  assert_int_equal(mkdirat(spool.dirfd, "jobs/" KEY, 0700), 0);
  job->dirfd = dx_fs_open_dir(spool.dirfd, "jobs/" KEY, &err);
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  return job;
}

/* As if it was in finished/ when that was listed. */
static void job_that_was_moved_is_found(void **state)
{
  struct dx_job *job = save_job();
  struct dx_buf text = {0};
  char piece[4096];
  const char *found;
  FILE *lines;

  (void)state;
  assert_int_equal(mkdirat(spool.dirfd, "finished/" KEY, 0700), 0);
  lines = dx_status_ask(path, "jobs", &err);
  assert_non_null(lines);
  while (fgets(piece, sizeof(piece), lines) != NULL)
    dx_buf_puts(&text, piece);
  found = strstr(dx_buf_text(&text), "\"key\":\"" KEY); /* in jobs/ */
  assert_non_null(found);
  assert_non_null(strstr(found + 1, "\"key\":\"" KEY));
  (void)fclose(lines);
  dx_buf_release(&text);
  dx_spool_close(&spool);
  dx_job_free(&job);
}

#define WATCHERS 5

/* The processes of all clients have exited: the server tells them itself. */
static void await_exits(void)
{
  char children[64], text[16];
  ssize_t n = 1;
  int fd;

  (void)snprintf(children, sizeof(children), "/proc/%d/task/%d/children",
                 (int)status.pid, (int)status.pid);
  while (n > 0) {
    fd = open(children, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    n = read(fd, text, sizeof(text));
    (void)close(fd);
    (void)poll(NULL, 0, 0);
    (void)sched_yield();
  }
}

/* Not by each process of a client. */
static void journal_of_an_end_is_read_once(void **state)
{
  struct dx_job *job = save_job();
  char *line = NULL, *first = NULL, journal[TEMP_DIR_BYTES + 64];
  FILE *lines[WATCHERS];
  struct inotify_event event;
  int opened = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  size_t size = 0, i;

  (void)state;
  for (i = 0; i < WATCHERS; i++) {
    lines[i] = dx_status_ask(path, "watch 1970-01-01T00:00:01Z", &err);
    assert_non_null(lines[i]);
    assert_true(getline(&line, &size, lines[i]) > 0); /* it watches */
  }
  await_exits();
  (void)snprintf(journal, sizeof(journal), "%s/jobs/" KEY "/job.json", dir);
  assert_true(inotify_add_watch(opened, journal, IN_OPEN | IN_CLOSE) >= 0);
  job->told_end_at = 0;
  status_tell(&status, job);
  for (i = 0; i < WATCHERS; i++) {
    assert_true(getline(&line, &size, lines[i]) > 0);
    if (i == 0)
      first = strdup(line);
    assert_string_equal(line, first);
    (void)fclose(lines[i]);
  }
  assert_non_null(strstr(line, KEY));
  /* With both, events of several processes are not united. */
  for (i = 0; i < 2; i++)
    assert_int_equal(read(opened, &event, sizeof(event)), sizeof(event));
  assert_int_equal(read(opened, &event, sizeof(event)), -1);
  (void)close(opened);
  free(first);
  free(line);
  dx_spool_close(&spool);
  dx_job_free(&job);
}

/* Its process is still listing past ends, or has just exited. */
static void end_is_told_while_past_ends_are_listed(void **state)
{
  struct dx_job *job = save_job();
  char *line = NULL;
  size_t size = 0, i;
  FILE *lines;

  (void)state;
  for (i = 0; i < 50; i++) {
    lines = dx_status_ask(path, "watch 1970-01-01T00:00:01Z", &err);
    assert_non_null(lines);
    assert_true(getline(&line, &size, lines) > 0);
    job->told_end_at = 0;
    status_tell(&status, job);
    assert_true(getline(&line, &size, lines) > 0);
    assert_non_null(strstr(line, KEY));
    (void)fclose(lines);
  }
  free(line);
  dx_spool_close(&spool);
  dx_job_free(&job);
}

/* Like the loop of docextractd, until the client has its response. */
static void answer_until_exit(pid_t client, const struct tallies *tallies)
{
  struct pollfd asks = {.fd = status.fd, .events = POLLIN};
  int result, fd;

  while (waitpid(client, &result, WNOHANG) == 0) {
    (void)poll(&asks, 1, 10);
    fd = status_check(&status);
    if (fd >= 0 && tallies != NULL)
      tallies_send(tallies, fd);
    if (fd >= 0)
      (void)close(fd);
  }
  assert_true(WIFEXITED(result));
  assert_int_equal(WEXITSTATUS(result), 0);
}

static void write_config(void)
{
  char text[600];
  int len =
      snprintf(text, sizeof(text),
               "SpoolDir %s\n<Service default>\nBaseURL https://a.example\n"
               "Token file\nTokenFile %s/token\n</Service>\n",
               dir, dir);
  int fd = dx_fs_open_dir(AT_FDCWD, dir, &err);

  assert_int_equal(
      dx_fs_write(fd, "token", "T", 1, 0600, DX_PUBLISH_OVER, &err), DX_OK);
  assert_int_equal(
      dx_fs_write(fd, "conf", text, (size_t)len, 0600, DX_PUBLISH_OVER, &err),
      DX_OK);
  (void)close(fd);
}

/* Its client gets a part of the metrics, and exits. sample: NULL: the error
 * E_NOT_YET. */
static _Noreturn void get_metrics(const char *sample)
{
  struct dx_buf text = {0};
  enum dx_code code = dx_status_fetch(path, "metrics", 100000, &text, &err);

  if (sample == NULL)
    _exit(code == DX_E_NOT_YET ? 0 : 1);
  _exit(code == DX_OK && strstr(dx_buf_text(&text), sample) != NULL ? 0 : 2);
}

static void metrics_are_what_docextractd_has_counted(void **state)
{
  struct tallies tallies = {.is_complete = true};
  struct dx_job *job = make_job(DX_ST_FAILED);
  struct counted its = {.section = NULL};
  pid_t client;

  (void)state;
  write_config();
  tallies_enter(&tallies, &its, job);
  client = fork();
  if (client == 0)
    get_metrics("\ndocextract_jobs{service=\"default\",state=\"failed\"} 1\n");
  answer_until_exit(client, &tallies);
  client = fork();
  if (client == 0)
    get_metrics(NULL);
  answer_until_exit(client, NULL);
  tallies_leave(&tallies, &its, job->key);
  tallies_release(&tallies);
  dx_job_free(&job);
}

/* It connects again, and asks for what it has missed. */
static void watcher_that_does_not_read_is_disconnected(void **state)
{
  struct dx_job *job = save_job();
  struct pollfd room = {.fd = status.fd, .events = POLLOUT};
  char *line = NULL;
  size_t size = 0, i;
  FILE *lines;

  (void)state;
  lines = dx_status_ask(path, "watch 1970-01-01T00:00:01Z", &err);
  assert_non_null(lines);
  assert_true(getline(&line, &size, lines) > 0); /* it watches */
  for (i = 0; i < 2000; i++) {
    assert_int_equal(poll(&room, 1, -1), 1);
    job->told_end_at = 0;
    status_tell(&status, job);
  }
  while (getline(&line, &size, lines) > 0)
    assert_non_null(strstr(line, KEY));
  assert_true(feof(lines)); /* not a timeout */
  (void)fclose(lines);
  free(line);
  dx_spool_close(&spool);
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
      cmocka_unit_test(response_that_is_too_large_is_not_read),
      cmocka_unit_test(each_end_is_told_once),
      cmocka_unit_test_setup_teardown(server_without_descriptors_pauses, start,
                                      stop),
      cmocka_unit_test_setup_teardown(job_that_was_moved_is_found, start, stop),
      cmocka_unit_test_setup_teardown(journal_of_an_end_is_read_once, start,
                                      stop),
      cmocka_unit_test_setup_teardown(end_is_told_while_past_ends_are_listed,
                                      start, stop),
      cmocka_unit_test_setup_teardown(metrics_are_what_docextractd_has_counted,
                                      start, stop),
      cmocka_unit_test_setup_teardown(
          watcher_that_does_not_read_is_disconnected, start, stop),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
