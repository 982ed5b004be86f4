/*
 * test_manager.c - the jobs of docextractd: receipts, the list, the verbs of
 * clients, and what clients are told. With a spool, and an engine whose calls
 * are never answered; clients, cupsd, and clock belong to the test.
 */
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/manager.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "tests/unit/fake_http.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define KEY_2 "2123456789abcdef0123456789abcdef"
#define KEY_REST "123456789abcdef0123456789abcdef"
#define CALLS_MAX 16

/* ---- the clock, the network, and the disk ---- */

static int64_t now_ms, tick_ms;

static int64_t now(void)
{
  return now_ms += tick_ms;
}

static const struct dx_clock test_clock = {now, now};

struct dx_http_call {
  bool is_open;
  dx_http_done *done;
  void *ctx;
  char method[8];
};
static struct dx_http_call calls[CALLS_MAX];
static size_t call_count;

enum dx_code __wrap_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *request,
                                  struct dx_http_call **ret_call,
                                  struct dx_err *err)
{
  (void)http;
  (void)err;
  for (*ret_call = calls; call_count == CALLS_MAX && (*ret_call)->is_open;)
    (*ret_call)++;
  assert_true(*ret_call < calls + CALLS_MAX);
  if (call_count < CALLS_MAX)
    *ret_call = &calls[call_count++];
  (*ret_call)->is_open = true;
  (*ret_call)->done = request->done;
  (*ret_call)->ctx = request->ctx;
  (void)snprintf((*ret_call)->method, sizeof((*ret_call)->method), "%s",
                 request->url != NULL &&
                         strstr(request->url, "a.example") != NULL
                     ? "service"
                     : "cupsd");
  return DX_OK;
}

void __wrap_dx_http_cancel(struct dx_http_call **call)
{
  if (*call != NULL)
    (*call)->is_open = false;
  *call = NULL;
}

enum dx_code __wrap_dx_http_run(struct dx_http *http, int64_t timeout_ms,
                                const int *wake, size_t wake_count,
                                struct dx_err *err)
{
  (void)http;
  (void)timeout_ms;
  (void)wake;
  (void)wake_count;
  (void)err;
  return DX_OK;
}

static size_t open_calls(const char *to)
{
  size_t i, n = 0;

  for (i = 0; i < call_count; i++)
    n += calls[i].is_open && strcmp(calls[i].method, to) == 0;
  return n;
}

static void fail_call(size_t i)
{
  const struct dx_http_response away = {.err = {.code = DX_E_NET}};

  calls[i].is_open = false;
  calls[i].done(calls[i].ctx, &away);
}

static ino_t bad_directory; /* cannot be synced; 0: none */

int fsync(int fd)
{
  struct stat st;

  if (fstat(fd, &st) == 0 && st.st_ino != bad_directory)
    return 0;
  errno = EIO;
  return -1;
}

void status_tell(struct status *status, struct dx_job *job)
{
  (void)status;
  (void)job;
}

/* ---- clients ---- */

struct dialed {
  struct client client;
  char lines[4000];
};
static struct dialed dialed[4];
static size_t dialed_count;

void control_send(struct client *client, const char *format, ...)
{
  struct dialed *d = (struct dialed *)(void *)client;
  size_t len = strlen(d->lines);
  va_list args;

  va_start(args, format);
  (void)vsnprintf(d->lines + len, sizeof(d->lines) - len, format, args);
  va_end(args);
  (void)strcat(d->lines, "\n");
}

void client_close(struct client *client)
{
  client->is_gone = true;
}

void control_limit_silence(struct client *client, int64_t ms)
{
  client->silence_ms = ms;
}

static struct manager manager;
static struct dx_err err;

static void say(struct client *client, const char *line)
{
  struct dx_message message;

  ((struct dialed *)(void *)client)->lines[0] = '\0';
  assert_int_equal(dx_message_parse(line, strlen(line), &message, &err), DX_OK);
  verbs_message(&manager, client, &message);
}

static struct client *dial(void)
{
  struct client *client = &dialed[dialed_count++].client;

  assert_true(dialed_count <= 4);
  return client;
}

static void check_heard(const struct client *client, const char *text)
{
  const struct dialed *d = (const void *)client;

  if (strstr(d->lines, text) == NULL)
    fail_msg("'%s' instead of '%s'", d->lines, text);
}

/* ---- docextractd ---- */

static char dir[TEMP_DIR_BYTES];
static struct dx_spool spool;
static const char *sent_uuid; /* by the client; NULL: the key */

static int start(void **state)
{
  struct dx_config *config = NULL;
  char text[600], path[TEMP_DIR_BYTES + 8];
  int len;

  (void)state;
  now_ms = (int64_t)time(NULL) * 1000;
  tick_ms = 0;
  bad_directory = 0;
  dx_clock_use(&test_clock);
  call_count = dialed_count = 0;
  sent_uuid = NULL;
  memset(calls, 0, sizeof(calls));
  memset(dialed, 0, sizeof(dialed));
  if (temp_dir_make(dir) < 0 || dx_spool_open(dir, &spool, &err) != DX_OK)
    return -1;
  len = snprintf(text, sizeof(text),
                 "SpoolDir %s\n"
                 "<Service default>\nBaseURL https://a.example\n"
                 "Token file\nTokenFile %s/token\n</Service>\n"
                 "<Service other>\nBaseURL https://a.example\n"
                 "Token file\nTokenFile %s/token\n</Service>\n",
                 dir, dir, dir);
  (void)snprintf(path, sizeof(path), "%s/conf", dir);
  if (dx_fs_write(spool.dirfd, "token", "T", 1, 0600, true, &err) != DX_OK ||
      dx_fs_write(spool.dirfd, "conf", text, (size_t)len, 0600, true, &err) !=
          DX_OK ||
      dx_config_load(path, &config, NULL, &err) != DX_OK) {
    print_error("%s\n", err.text);
    return -1;
  }
  manager = (struct manager){.spool = &spool, .stop_fd = -1};
  if (manager_start(&manager, config, &err) != DX_OK)
    return -1;
  (void)manager_turn(&manager); /* loads what is there */
  return manager_is_loading(&manager) ? -1 : 0;
}

static int stop(void **state)
{
  (void)state;
  bad_directory = 0;
  manager_stop(&manager);
  dx_clock_use(NULL);
  dx_spool_close(&spool);
  return temp_dir_remove(dir);
}

static void turn(void)
{
  (void)manager_turn(&manager);
  assert_int_equal(dx_http_run(NULL, 0, NULL, 0, &err), DX_OK);
}

/* What is permitted in a turn is sent in the next one, which follows at once.
 */
static void send_what_is_due(void)
{
  turn();
  turn();
}

static size_t entries(const char *name)
{
  return count_entries(spool.dirfd, name);
}

static void damage(const char *directory)
{
  struct stat st;

  assert_int_equal(fstatat(spool.dirfd, directory, &st, 0), 0);
  bad_directory = st.st_ino;
}

/* ---- jobs ---- */

/* The name of a receipt with two documents. If it is of a print job, cupsd is
 * asked about it, unless its backend attends. */
static const char *receive(const char *key, bool is_printed)
{
  static char name[DX_RECEIPT_BYTES];
  struct dx_job *job = NULL;
  char file[DX_FILE_NAME_BYTES];
  size_t i;

  assert_int_equal(dx_spool_receive(&spool, &job, &err), DX_OK);
  job->documents = calloc(2, sizeof(*job->documents));
  job->document_count = 2;
  for (i = 0; i < 2; i++) {
    job->documents[i] = (struct dx_document){
        .entry = {.kind = DX_KIND_DOCUMENT,
                  .type = "application/pdf",
                  .origin = "application/pdf",
                  .name = "a.pdf",
                  .pages = 1,
                  .length = 1,
                  .sha256 = "0123456789abcdef0123456789abcdef"
                            "0123456789abcdef0123456789abcdef"},
        .is_here = true};
    dx_document_file(i, file);
    assert_int_equal(dx_fs_write(job->dirfd, file, "1", 1, 0600, true, &err),
                     DX_OK);
  }
  job->service = strdup("default");
  job->base_url = strdup("https://a.example");
  (void)strcpy(job->key, key);
  if (is_printed) {
    dx_print_begin(&job->print);
    job->queue = strdup("chart");
    job->cups_id = strdup("17");
    job->uuid = strdup(sent_uuid != NULL ? sent_uuid : key);
    job->user = strdup("ann");
  }
  assert_int_equal(dx_job_plan(job, &err), DX_OK);
  assert_int_equal(dx_spool_commit(&spool, job, &err), DX_OK);
  (void)snprintf(name, sizeof(name), "%s", strchr(job->path, '/') + 1);
  dx_job_free(&job);
  return name;
}

/* The same, as a job. */
static struct managed *take(const char *key, bool is_printed)
{
  struct managed *managed;

  assert_int_equal(manager_pick_up(&manager, receive(key, is_printed), &err),
                   DX_OK);
  managed = manager_find(&manager, key);
  assert_non_null(managed);
  return managed;
}

/* Each document has a source in a section. */
static void register_sources(struct managed *managed)
{
  size_t i;

  for (i = 0; i < 2; i++) {
    struct dx_submission *sub = &managed->job->submissions[i];

    if (sub->source_id != NULL)
      continue;
    sub->source_id = strdup("S");
    assert_int_equal(dx_submission_set_place(sub, "default",
                                             "https://a.example", NULL, &err),
                     DX_OK);
  }
}

/* Its documents have this state. */
static void set_states(struct managed *managed, enum dx_state first,
                       enum dx_state second)
{
  struct dx_submission *subs = managed->job->submissions;
  size_t i;

  subs[0].state = first;
  subs[1].state = second;
  if (first == DX_ST_EXTRACTED)
    register_sources(managed);
  for (i = 0; i < 2; i++) {
    subs[i].failed_at = dx_state_is_final(subs[i].state) ? now_ms : 0;
    subs[i].code = subs[i].state == DX_ST_FAILED ? DX_E_REFUSED : DX_OK;
  }
  managed->job->dirty = true;
}

/* Both have failed; the job is stored in jobs/, and not in memory. */
static void fail_job(const char *key, bool is_printed)
{
  set_states(take(key, is_printed), DX_ST_FAILED, DX_ST_FAILED);
  turn();
  assert_null(manager_find(&manager, key));
}

/* As if docextractd had just started. */
static void forget(struct managed *managed)
{
  assert_int_equal(dx_engine_remove(manager.engine, managed->job), DX_OK);
  manager_drop(&manager, managed);
}

static struct dx_job *load(const char *key)
{
  struct dx_job *job = NULL;

  assert_int_equal(dx_spool_load(&spool, key, &job, &err), DX_OK);
  return job;
}

static enum dx_state stored_state(const char *key)
{
  struct dx_job *job = load(key);
  enum dx_state state = job->submissions[0].state;

  dx_job_free(&job);
  return state;
}

/* A client that attends the job. */
static struct client *attend(const struct managed *managed)
{
  struct client *client = dial();
  char line[100];

  (void)snprintf(line, sizeof(line), "attend %s %s", managed->job->print.key,
                 managed->job->print.run);
  say(client, line);
  assert_ptr_equal(client->managed, managed);
  return client;
}

/* ---- the list ---- */

static void dropped_job_has_no_clients(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *attendant = attend(managed), *other = dial();

  (void)state;
  say(other, "seen");
  other->waits = managed;
  managed->job->submissions[0].hook_ms = 1; /* it is not forgotten, either */
  manager.load_ms = INT64_MAX;
  forget(managed);
  assert_null(attendant->managed);
  assert_null(other->waits);
  assert_int_equal(manager.load_ms, now_ms + DX_LOCAL_RETRY_MS);
}

static void job_that_cannot_be_moved_is_moved_later(void **state)
{
  struct managed *managed = take(KEY, false);

  (void)state;
  assert_int_equal(mkdirat(spool.dirfd, "finished/" KEY, 0700), 0);
  assert_int_equal(mkdirat(spool.dirfd, "finished/" KEY "/a", 0700), 0);
  set_states(managed, DX_ST_EXTRACTED, DX_ST_EXTRACTED);
  turn();
  assert_int_equal(entries("jobs"), 1);
  assert_int_equal(dx_fs_remove_tree(spool.dirfd, "finished/" KEY, &err),
                   DX_OK);
  now_ms += DX_LOCAL_RETRY_MS;
  turn();
  assert_int_equal(entries("jobs"), 0);
  assert_int_equal(entries("finished"), 1);
}

static void job_of_a_killed_docextractd_is_cleaned(void **state)
{
  struct managed *managed = take(KEY, true);

  (void)state;
  assert_int_equal(mknodat(managed->job->dirfd, ".job.json.0123456789abcdef",
                           S_IFREG | 0600, 0),
                   0);
  assert_int_equal(entries("jobs/" KEY), 4);
  forget(managed);
  now_ms += 1000;
  manager.load_ms = now_ms;
  manager.has_leftovers = true;
  turn();
  assert_non_null(manager_find(&manager, KEY));
  assert_int_equal(entries("jobs/" KEY), 3);
}

static void attended_job_does_not_expire(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = attend(managed);

  (void)state;
  manager_expire(&manager, managed->job);
  assert_int_equal(managed->job->submissions[0].state, DX_ST_STORED);
  verbs_closed(NULL, client);
  manager_expire(&manager, managed->job);
  assert_int_equal(managed->job->submissions[0].state, DX_ST_EXPIRED);
}

static void expired_job_that_was_not_in_memory_is_finished(void **state)
{
  (void)state;
  fail_job(KEY, false);
  manager_expire(&manager, load(KEY));
  turn();
  assert_int_equal(stored_state(KEY), DX_ST_EXPIRED);
  assert_int_equal(entries("jobs"), 0);
  assert_int_equal(entries("finished"), 1);
}

/* ---- receipts ---- */

static void receipts_are_picked_up_in_several_turns(void **state)
{
  (void)state;
  (void)receive(KEY, true);
  (void)receive(KEY_2, true);
  manager.receipts_ms = 0;
  tick_ms = DX_TURN_MS;
  (void)manager_turn(&manager);
  assert_int_equal(entries("received"), 1);
  (void)manager_turn(&manager);
  assert_int_equal(entries("received"), 0);
}

static void job_is_loaded_after_its_receipt_is_merged(void **state)
{
  (void)state;
  forget(take(KEY, true));
  (void)receive(KEY, true);
  manager.receipts_ms = INT64_MAX;
  manager.load_ms = 0;
  (void)manager_turn(&manager);
  assert_null(manager_find(&manager, KEY));
  manager.receipts_ms = 0;
  (void)manager_turn(&manager);
  assert_non_null(manager_find(&manager, KEY));
}

/* A link is not followed, and no reason to call it damaged. */
static void job_that_cannot_be_read_now_is_loaded_later(void **state)
{
  static const char file[] = "jobs/" KEY "/job.json";

  (void)state;
  forget(take(KEY, false));
  assert_int_equal(renameat(spool.dirfd, file, spool.dirfd, "away"), 0);
  assert_int_equal(symlinkat("../../away", spool.dirfd, file), 0);
  manager.load_ms = now_ms;
  (void)manager_turn(&manager);
  assert_null(manager_find(&manager, KEY));
  assert_int_equal(renameat(spool.dirfd, "away", spool.dirfd, file), 0);
  now_ms += DX_LOCAL_RETRY_MS;
  (void)manager_turn(&manager);
  assert_non_null(manager_find(&manager, KEY));
}

/* And not only when it is due to be asked again. */
static void answer_of_cupsd_is_used_in_the_next_turn(void **state)
{
  struct managed *managed = take(KEY, true);

  (void)state;
  managed->job->print.backend = DX_BACKEND_ENDED;
  (void)manager_turn(&manager);
  assert_int_equal(open_calls("cupsd"), 1);
  assert_int_equal(managed->watch_gap_ms, DX_WATCH_FIRST_MS);
  fail_call(call_count - 1);
  (void)manager_turn(&manager);
  assert_int_equal(managed->watch_gap_ms, 2 * DX_WATCH_FIRST_MS);
}

/* Thousands may wait for a decision. */
static void waiting_job_does_not_keep_the_processor_busy(void **state)
{
  struct managed *copy = take(KEY, true), *ended = take(KEY_2, true);
  int64_t gap_ms;
  int i;

  (void)state;
  copy->job->is_copy = true;
  copy->job->print.backend = ended->job->print.backend = DX_BACKEND_ENDED;
  for (i = 0; i < 20; i++) { /* cupsd does not answer */
    size_t k;

    turn();
    for (k = 0; k < call_count; k++)
      if (calls[k].is_open)
        fail_call(k);
    turn();
    now_ms += 5000;
  }
  for (i = 0; i < 4; i++)
    turn();
  gap_ms = manager_turn(&manager) - now_ms;
  assert_true(gap_ms > DX_ASK_AGAIN_MS);
  copy->job->is_copy = false;
  copy->job->print.backend = DX_BACKEND_NONE;
  dx_engine_wake(copy->job);
  send_what_is_due();
  assert_int_equal(open_calls("service"), 1);
}

/* The answer about the previous run is not used. */
static void failed_job_that_is_printed_again_is_new(void **state)
{
  struct managed *managed;

  (void)state;
  fail_job(KEY, true);
  assert_int_equal(manager_borrow(&manager, KEY, &managed, &err), DX_OK);
  assert_false(managed->is_new);
  managed->job->print.backend = DX_BACKEND_ENDED;
  (void)permit_ask(&manager, managed);
  assert_non_null(managed->question);
  assert_int_equal(manager_pick_up(&manager, receive(KEY, true), &err), DX_OK);
  assert_ptr_equal(manager_find(&manager, KEY), managed);
  assert_true(managed->is_new);
  assert_null(managed->question);
}

static void receipt_waits_for_a_call_of_its_job(void **state)
{
  (void)state;
  (void)take(KEY, false);
  now_ms += 10000; /* the rate limit holds the first call */
  send_what_is_due();
  assert_int_equal(open_calls("service"), 1);
  assert_int_equal(manager_pick_up(&manager, receive(KEY, false), &err),
                   DX_E_BUSY);
  assert_true(manager.receipts_ms <= now_ms + 100);
  assert_int_equal(entries("received"), 1);
}

/* Else it would be tried, and reported, ten times a second. */
static void receipt_waits_longer_for_a_job_that_cannot_be_saved(void **state)
{
  (void)state;
  set_states(take(KEY, false), DX_ST_FAILED, DX_ST_FAILED);
  assert_int_equal(dx_fs_write(spool.dirfd, "results", "", 0, 0600, true, &err),
                   DX_OK);
  manager.receipts_ms = INT64_MAX;
  assert_int_equal(manager_pick_up(&manager, receive(KEY, false), &err),
                   DX_E_IO);
  assert_true(manager.receipts_ms >= now_ms + DX_LOCAL_RETRY_MS);
  assert_int_equal(entries("received"), 1);
}

static void nothing_is_sent_before_the_pick_up_is_durable(void **state)
{
  const char *name = receive(KEY, false);

  (void)state;
  damage("jobs");
  assert_int_equal(manager_pick_up(&manager, name, &err), DX_OK);
  now_ms += 10000;
  send_what_is_due();
  assert_int_equal(call_count, 0);
  bad_directory = 0;
  now_ms += 10000;
  send_what_is_due();
  assert_int_equal(open_calls("service"), 1);
}

static void only_that_run_is_refused(void **state)
{
  struct client *this_run = dial(), *other_run = dial();
  const struct dx_err why = {.code = DX_E_CHANGED, .text = "it differs"};

  (void)state;
  say(this_run, "seen");
  say(other_run, "seen");
  (void)strcpy(this_run->key, KEY);
  (void)strcpy(this_run->run, "0123456789abcdef");
  (void)strcpy(other_run->key, KEY);
  (void)strcpy(other_run->run, "1123456789abcdef");
  attend_refused(&manager, KEY ".0123456789abcdef", true, &why);
  check_heard(this_run, "end E_CHANGED it differs\n");
  assert_string_equal(this_run->key, "");
  assert_true(this_run->is_gone);
  assert_false(other_run->is_gone);
}

/* The backend of a receipt. */
static struct client *attend_receipt(const char *name)
{
  struct client *client = dial();
  char line[100];

  (void)snprintf(line, sizeof(line), "attend %.32s %s", name,
                 name + DX_KEY_BYTES);
  say(client, line);
  return client;
}

static void receipt_waits_for_the_end_of_a_local_failure(void **state)
{
  const struct client *client;

  (void)state;
  assert_int_equal(renameat(spool.dirfd, "aliases", spool.dirfd, "away"), 0);
  assert_int_equal(symlinkat("away", spool.dirfd, "aliases"), 0);
  client = attend_receipt(receive(KEY, true));
  check_heard(client, "note local E_UNSYNCED ");
  assert_false(client->is_gone);
  assert_int_equal(entries("received"), 1);
  assert_int_equal(unlinkat(spool.dirfd, "aliases", 0), 0);
  assert_int_equal(renameat(spool.dirfd, "away", spool.dirfd, "aliases"), 0);
  now_ms += DX_LOCAL_RETRY_MS;
  turn();
  assert_int_equal(entries("received"), 0);
  assert_non_null(client->managed);
}

/* It may have been sent. */
static void receipt_of_a_damaged_job_is_refused_with_advice(void **state)
{
  struct dx_job *job;

  (void)state;
  fail_job(KEY, true);
  job = load(KEY);
  assert_int_equal(
      dx_fs_write(job->dirfd, "job.json", "", 0, 0600, DX_PUBLISH_OVER, &err),
      DX_OK);
  dx_job_free(&job);
  check_heard(attend_receipt(receive(KEY, true)),
              "run 'docextract cancel " KEY "', then release");
  assert_int_equal(entries("received"), 0);
  assert_int_equal(manager.tallies.damaged, 1);
}

/* ---- canceling in CUPS ---- */

/* A client has sent the print job twice: first as KEY_2, then as KEY. */
static struct managed *take_sent_again(void)
{
  struct managed *managed = take(KEY, true);

  free(managed->job->others);
  managed->job->others = calloc(1, sizeof(*managed->job->others));
  managed->job->other_count = 1;
  (void)strcpy(managed->job->others[0].print.key, KEY_2);
  assert_int_equal(dx_spool_add_aliases(&spool, managed->job, &err), DX_OK);
  assert_int_equal(symlinkat(KEY, spool.dirfd, "aliases/" KEY_2), 0);
  assert_int_equal(dx_job_save(managed->job, &err), DX_OK);
  forget(managed);
  manager.load_ms = 0;
  (void)manager_turn(&manager);
  managed = manager_find(&manager, KEY_2);
  assert_ptr_equal(manager_find(&manager, KEY), managed);
  return managed;
}

/* CUPS holds both. */
static void failed_job_is_canceled_when_both_print_jobs_are(void **state)
{
  struct dx_job *job;

  (void)state;
  set_states(take_sent_again(), DX_ST_FAILED, DX_ST_FAILED);
  turn();
  manager.watch.canceled(&manager, KEY_2);
  assert_null(manager_find(&manager, KEY)); /* its end is not reported again */
  job = load(KEY);
  assert_string_equal(job->print.key, KEY);
  assert_int_equal(job->print.final, DX_FINAL_NONE);
  dx_job_free(&job);
  manager.watch.canceled(&manager, KEY);
  turn();
  assert_int_equal(stored_state(KEY), DX_ST_CANCELED);
}

/* CUPS may have removed the earlier one from its history since. */
static void job_is_canceled_when_both_print_jobs_are(void **state)
{
  struct managed *managed = take_sent_again();

  (void)state;
  manager.watch.canceled(&manager, KEY_2);
  assert_int_equal(managed->job->print.final, DX_FINAL_NONE);
  permit_learn(managed, DX_ANSWER_CANCELED);
  turn();
  assert_int_equal(stored_state(KEY), DX_ST_CANCELED);
}

static void failed_job_is_canceled_with_its_print_job(void **state)
{
  (void)state;
  fail_job(KEY, true);
  manager.watch.canceled(&manager, KEY);
  turn();
  assert_int_equal(stored_state(KEY), DX_ST_CANCELED);
}

/* It is asked to cancel again only if that may succeed. */
static void job_that_cannot_be_read_now_is_not_canceled_yet(void **state)
{
  struct rlimit before, none;
  bool is_done;

  (void)state;
  fail_job(KEY, true);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  none = before;
  none.rlim_cur = 0;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  is_done = manager.watch.canceled(&manager, KEY);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_false(is_done);
  assert_true(manager.watch.canceled(&manager, KEY));
  assert_true(manager.watch.canceled(&manager, KEY_2));
}

/* docextractd was killed before. */
static void refused_documents_get_their_manifests_after_a_restart(void **state)
{
  struct managed *managed = take(KEY, false);
  struct dx_job *job = managed->job;

  (void)state;
  set_states(managed, DX_ST_REFUSED, DX_ST_REFUSED);
  job->submissions[0].failed_at = job->submissions[1].failed_at = 0;
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  forget(managed);
  manager.load_ms = 0;
  turn();
  job = load(KEY);
  assert_int_not_equal(job->submissions[0].failed_at, 0);
  assert_int_equal(entries("results"), 2);
  dx_job_free(&job);
}

/* ---- backends ---- */

static void failures_are_those_of_the_queue(void **state)
{
  struct managed *here = take(KEY, true), *there = take(KEY_2, true);
  struct client *client = dial();

  (void)state;
  say(client, "seen");
  here->job->print.undecided = there->job->print.undecided = true;
  (void)strcpy(there->job->queue, "other");
  here->job->dirty = there->job->dirty = true;
  turn();
  attend_send_failures(client, "chart");
  check_heard(client, "failures 0 1\n");
}

/* A receipt may have waited for the end of the first backend. */
static void receipts_are_looked_for_when_a_backend_is_gone(void **state)
{
  struct client *client = attend(take(KEY, true));

  (void)state;
  manager.receipts_ms = INT64_MAX;
  verbs_closed(NULL, client);
  assert_int_equal(manager.receipts_ms, 0);
}

static void backend_may_connect_again(void **state)
{
  static const enum dx_backend backends[] = {DX_BACKEND_BROKEN,
                                             DX_BACKEND_ENDED};
  struct managed *managed = take(KEY, true);
  struct client *client;
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    managed->job->print.backend = backends[i];
    client = attend(managed);
    assert_int_equal(managed->job->print.backend, DX_BACKEND_ATTENDS);
    verbs_closed(NULL, client);
  }
}

static void nothing_is_sent_once_a_backend_is_stopping(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = attend(managed);

  (void)state;
  assert_true(permit_ask(&manager, managed));
  assert_true(managed->drive.permit.stands);
  say(client, "stopping");
  assert_false(managed->drive.permit.stands);
  assert_false(permit_ask(&manager, managed));
  assert_false(managed->drive.permit.stands);
}

static void backend_that_says_alive_must_go_on(void **state)
{
  struct client *client = dial();

  (void)state;
  say(client, "attend " KEY " 0123456789abcdef");
  assert_int_equal(client->silence_ms, 0); /* the command says no such thing */
  say(client, "alive");
  assert_int_equal(client->silence_ms, DX_SILENT_MS);
}

/* cupsd has started the print job again since. */
static void backend_of_an_earlier_run_is_sent_away(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = dial();

  (void)state;
  say(client, "attend " KEY " 0123456789abcdef");
  check_heard(client, "gone\n");
  assert_null(managed->attendant);
}

static void backend_without_a_job_is_refused(void **state)
{
  struct client *client = dial();

  (void)state;
  say(client, "attend ../conf 0123456789abcdef");
  check_heard(client, "end E_ARG ");
  assert_true(client->is_gone);
}

static void client_is_told_that_its_job_waits_for_an_administrator(void **state)
{
  struct managed *managed;
  struct client *client;
  int is_printed;

  (void)state;
  for (is_printed = 0; is_printed < 2; is_printed++) {
    managed = take(is_printed == 0 ? KEY : KEY_2, is_printed == 1);
    client = attend(managed);
    dx_submission_set_problem(&managed->job->submissions[0], DX_E_KEY, "no key",
                              0);
    attend_tell_problem(managed);
    check_heard(client, "note admin E_KEY 1 0 0 0 no key\n");
    assert_ptr_equal(managed->attendant, client);
    assert_false(client->is_gone);
  }
}

/* CUPS runs the print job of a restored job again. */
static void attended_copy_frees_the_queue_or_is_decided(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = attend(managed), *admin = dial();
  struct dx_job *job;

  (void)state;
  managed->job->is_copy = true;
  attend_tell_problem(managed);
  check_heard(client, "note admin E_JOB 1 ");
  say(admin, "retry " KEY);
  check_heard(admin, "done Retrying job " KEY);
  assert_false(managed->job->is_copy);
  assert_true(managed->job->dirty);
  assert_ptr_equal(managed->attendant, client);
  managed->job->is_copy = true;
  say(client, "leave");
  check_heard(client, "left\n");
  job = load(KEY);
  assert_true(job->is_copy);
  assert_int_equal(job->print.backend, DX_BACKEND_LEFT);
  dx_job_free(&job);
}

static void attended_job_is_tried_again_at_once(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = dial();

  (void)state;
  (void)attend(managed);
  dx_submission_set_problem(&managed->job->submissions[0], DX_E_KEY, "no key",
                            0);
  say(client, "retry " KEY);
  check_heard(client,
              "done Retrying job " KEY "; check with: docextract jobs\n");
  assert_false(managed->job->print.decided);
  assert_non_null(managed->attendant);
}

/* It was noticed while no backend was connected. Nothing is tried because of
 * that. */
static void backend_that_attends_is_told_of_the_problem(void **state)
{
  static const enum dx_code codes[] = {DX_E_NET, DX_E_KEY};
  struct managed *managed = take(KEY, true);
  struct client *client;
  char line[100];
  size_t i;

  (void)state;
  (void)snprintf(line, sizeof(line), "attend %s %s", managed->job->print.key,
                 managed->job->print.run);
  for (i = 0; i < 2; i++) {
    dx_submission_set_problem(&managed->job->submissions[1], codes[i],
                              "no network", 0);
    managed->job->submissions[0].overdue = true; /* until it begins again */
    client = dial();
    say(client, line);
    check_heard(client, dx_code_name(codes[i]));
    check_heard(client, "no network");
    assert_true(managed->job->submissions[0].overdue);
  }
}

/* A backend that is started again does not know since when: no time is shown
 * until the next poll tells. */
static void backend_that_attends_is_not_told_that_the_wait_begins(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = dial();
  char line[100];

  (void)state;
  set_states(managed, DX_ST_PROCESSING, DX_ST_PROCESSING);
  (void)snprintf(line, sizeof(line), "attend %s %s", managed->job->print.key,
                 managed->job->print.run);
  say(client, line);
  check_heard(client, "note waiting OK 0 0 0 -1 ");
}

static void backend_leaves_only_a_job_without_a_problem(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = attend(managed);
  struct dx_job *job = managed->job;

  (void)state;
  damage("jobs");
  spool.is_unsynced = true;
  say(client, "leave");
  assert_ptr_equal(managed->attendant, client);
  damage("jobs/" KEY);
  say(client, "leave");
  assert_ptr_equal(managed->attendant, client);
  assert_int_equal(job->print.backend, DX_BACKEND_ATTENDS);
  bad_directory = 0;
  job->print.undecided = true;
  say(client, "leave");
  assert_ptr_equal(managed->attendant, client);
  job->print.undecided = false;
  say(client, "leave");
  check_heard(client, "left\n");
  assert_null(managed->attendant);
  job = load(KEY);
  assert_int_equal(job->print.backend, DX_BACKEND_LEFT);
  dx_job_free(&job);
}

/* Of two documents one has failed: CUPS is to hold the print job. */
static void print_job_is_held_while_the_rest_goes_on(void **state)
{
  static const enum dx_state failed[] = {DX_ST_FAILED, DX_ST_REFUSED};
  struct managed *managed = take(KEY, true);
  struct client *client;
  struct dx_job *job;
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    managed->job->print.backend = DX_BACKEND_BROKEN;
    client = attend(managed);
    set_states(managed, DX_ST_STORED, failed[i]);
    managed->job->submissions[1].code = DX_E_REFUSED;
    damage("jobs/" KEY);
    say(client, "leave"); /* not durable yet */
    assert_ptr_equal(managed->attendant, client);
    assert_int_equal(managed->job->print.backend, DX_BACKEND_ATTENDS);
    bad_directory = 0;
    say(client, "leave");
    check_heard(
        client,
        "sentence 0 of 2 documents extracted; document 2: the "
        "service rejected it; print it to a new PDF, and print that, or ask "
        "the administrator; the rest is being processed");
    check_heard(client, "end E_REFUSED 0 of 2 documents extracted; document 2");
    assert_true(client->is_gone);
    assert_null(managed->attendant);
    job = load(KEY);
    assert_int_equal(job->print.backend, DX_BACKEND_HELD);
    assert_int_equal(job->submissions[0].state, DX_ST_STORED);
    dx_job_free(&job);
  }
}

/* docextractd was killed between the journal and the response. */
static void backend_of_a_held_print_job_is_told_again(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client;

  (void)state;
  set_states(managed, DX_ST_STORED, DX_ST_FAILED);
  managed->job->print.backend = DX_BACKEND_HELD;
  client = attend(managed);
  assert_int_equal(managed->job->print.backend, DX_BACKEND_HELD);
  say(client, "leave");
  check_heard(client, "end E_REFUSED ");
}

static void released_print_job_attends_again(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = attend(managed);

  (void)state;
  set_states(managed, DX_ST_STORED, DX_ST_FAILED);
  say(client, "leave");
  assert_int_equal(managed->job->print.backend, DX_BACKEND_HELD);
  managed = take(KEY, true);
  assert_int_equal(managed->job->submissions[1].state, DX_ST_STORED);
  (void)attend(managed);
  assert_int_equal(managed->job->print.backend, DX_BACKEND_ATTENDS);
}

/* It is told the outcome as soon as that is written. */
static void backend_does_not_leave_what_has_ended(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = attend(managed);

  (void)state;
  set_states(managed, DX_ST_EXTRACTED, DX_ST_FAILED);
  say(client, "leave");
  assert_ptr_equal(managed->attendant, client);
  assert_int_equal(managed->job->print.backend, DX_BACKEND_ATTENDS);
}

/* cupsd sends SIGTERM between `left` and the end of the backend. */
static void print_job_is_canceled_after_its_backend_has_left(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = attend(managed);
  char run[DX_RUN_BYTES];

  (void)state;
  say(client, "leave");
  check_heard(client, "left\n");
  memcpy(run, managed->job->print.run, sizeof(run));
  (void)strcpy(managed->job->print.run, "another");
  say(client, "ended canceled");
  assert_int_equal(managed->job->submissions[0].state, DX_ST_STORED);
  memcpy(managed->job->print.run, run, sizeof(run));
  say(client, "stopping");
  say(client, "ended canceled");
  check_heard(client, "gone\n");
  assert_int_equal(managed->job->submissions[0].state, DX_ST_CANCELED);
  assert_int_equal(stored_state(KEY), DX_ST_CANCELED);
}

static void backend_that_asked_nobody_decides_nothing(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = attend(managed);

  (void)state;
  managed->job->print.undecided = true;
  say(client, "ended not-asked");
  assert_true(managed->job->print.undecided);
  check_heard(client, "gone\n");
}

/* ---- cancel, retry, purge, seen, hello ---- */

static void canceled_job_says_what_the_service_has(void **state)
{
  struct managed *managed = take(KEY, false);
  struct client *client = dial();
  struct dx_submission *subs = managed->job->submissions;

  (void)state;
  set_states(managed, DX_ST_EXTRACTED, DX_ST_STORED);
  subs[0].uploaded_at = 1;
  subs[0].files[0].put = DX_PUT_DONE;
  assert_int_equal(dx_submission_set_place(&subs[0], "gone",
                                           "https://a.example", NULL, &err),
                   DX_OK);
  dx_job_set_problem(managed->job, DX_E_NET, "trying again", 0);
  say(client, "cancel " KEY);
  assert_string_equal(dx_line(managed->job->problem.text), "");
  turn();
  assert_string_equal(dialed[0].lines,
                      "line Canceled job " KEY "\n"
                      "line None of the canceled documents had been uploaded\n"
                      "line Earlier results stay in the results directory\n"
                      "done \n");
}

/* Only that ends the print job, too. */
static void cancel_names_the_print_job_that_cups_may_hold(void **state)
{
  static const char warning[] =
      "warn CUPS may still hold print job chart-12; to end it, run: cancel "
      "chart-12\n";
  static const struct {
    enum dx_backend backend;
    enum dx_final final;
    bool is_named;
  } rows[] = {
      {DX_BACKEND_HELD, DX_FINAL_NONE, true},
      {DX_BACKEND_ENDED, DX_FINAL_NONE, true},
      {DX_BACKEND_HELD, DX_FINAL_CANCELED, false},
      {DX_BACKEND_LEFT, DX_FINAL_NONE, false},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct client *client = dial();
    char key[DX_KEY_BYTES], request[64];
    struct dx_job *job;

    (void)snprintf(key, sizeof(key), "%032zu", i);
    (void)snprintf(request, sizeof(request), "cancel %s", key);
    job = take(key, true)->job;
    free(job->queue);
    free(job->cups_id);
    job->queue = strdup("chart");
    job->cups_id = strdup("12");
    job->print.backend = rows[i].backend;
    job->print.final = rows[i].final;
    say(client, request);
    if ((strstr(dialed[i].lines, warning) != NULL) != rows[i].is_named)
      fail_msg("row %zu: %s", i, dialed[i].lines);
    turn();
  }
}

static void retry_moves_only_what_is_not_settled(void **state)
{
  struct managed *managed = take(KEY, false);
  struct dx_submission *subs = managed->job->submissions;

  (void)state;
  set_states(managed, DX_ST_EXTRACTED, DX_ST_UPLOADED);
  say(dial(), "retry " KEY " other");
  check_heard(&dialed[0].client, "done Retrying job " KEY);
  assert_string_equal(subs[0].section, "default");
  assert_string_equal(subs[1].section, "other");
}

/* Its documents were sent to different BaseURLs. */
static void job_moves_as_a_whole_or_not_at_all(void **state)
{
  struct managed *managed = take(KEY, false);
  struct dx_submission *subs = managed->job->submissions;
  struct dx_job *job;

  (void)state;
  register_sources(managed);
  set_states(managed, DX_ST_UPLOADED, DX_ST_UPLOADED);
  assert_int_equal(dx_submission_set_place(&subs[1], "default",
                                           "https://b.example", NULL, &err),
                   DX_OK);
  say(dial(), "retry " KEY " other");
  check_heard(&dialed[0].client, "error E_CONFIG a document of the job was "
                                 "sent to another BaseURL");
  assert_string_equal(subs[0].section, "default");
  assert_string_equal(managed->job->service, "default");
  turn();
  job = load(KEY);
  assert_string_equal(job->submissions[0].section, "default");
  assert_string_equal(job->submissions[1].section, "default");
  dx_job_free(&job);
}

/* The device URI of its queue was changed before the client sent it again. */
static void moved_job_is_found_when_it_is_sent_again(void **state)
{
  struct dx_job *receipt;

  (void)state;
  (void)take(KEY, true);
  say(dial(), "retry " KEY " other");
  turn();
  receipt = load(receive(KEY_2, true));
  (void)strcpy(receipt->uuid, KEY);
  assert_int_equal(
      dx_job_set_service(receipt, "other", "https://a.example", &err), DX_OK);
  assert_int_equal(dx_job_set_content(receipt, &err), DX_OK);
  assert_int_equal(dx_spool_pick_up(&spool, receipt, &err), DX_E_EXISTS);
  assert_string_equal(receipt->key, KEY);
  dx_job_free(&receipt);
}

static void job_is_found_by_each_of_its_print_jobs(void **state)
{
  (void)state;
  (void)take(KEY, true);
  sent_uuid = KEY;
  (void)take(KEY_2, true);
  assert_ptr_equal(manager_find(&manager, KEY), manager_find(&manager, KEY_2));
  forget(manager_find(&manager, KEY_2));
  assert_null(manager_find(&manager, KEY));
  assert_null(manager_find(&manager, KEY_2));
}

/* Also a job whose documents are gone, if the service may have them. */
static void retried_job_is_saved_and_new(void **state)
{
  struct managed *managed = take(KEY, false);
  char file[DX_FILE_NAME_BYTES];
  struct dx_submission *subs = managed->job->submissions;
  size_t i;

  (void)state;
  register_sources(managed);
  for (i = 0; i < 2; i++) {
    subs[i].files[0].put = DX_PUT_DONE;
    dx_document_file(i, file);
    assert_int_equal(unlinkat(managed->job->dirfd, file, 0), 0);
  }
  set_states(managed, DX_ST_FAILED, DX_ST_FAILED);
  turn();
  assert_null(manager_find(&manager, KEY));
  say(dial(), "retry " KEY);
  check_heard(&dialed[0].client, "done Retrying job " KEY);
  managed = manager_find(&manager, KEY);
  assert_true(managed->is_new);
  assert_true(managed->job->submissions[0].verify);
  assert_int_equal(stored_state(KEY), DX_ST_UPLOADED);
}

/* What has not failed is sent at once, whatever CUPS does with its print job.
 */
static void retry_names_the_print_job_that_is_held(void **state)
{
  struct managed *managed = take(KEY, true);
  char file[DX_FILE_NAME_BYTES];
  struct client *client = dial();

  (void)state;
  set_states(managed, DX_ST_STORED, DX_ST_REFUSED);
  managed->job->print.backend = DX_BACKEND_HELD;
  managed->job->documents[1].is_here = false;
  dx_document_file(1, file);
  assert_int_equal(unlinkat(managed->job->dirfd, file, 0), 0);
  dx_line_set(&managed->job->submissions[1].reason, DX_WHY_BYTES,
              "it is damaged");
  say(client, "retry " KEY);
  check_heard(client,
              "warn document 2 is sent again when print job chart-17 is "
              "released: it is damaged\n");
  check_heard(client, "done Retrying job " KEY);
  assert_true(managed->job->print.decided);
}

/* A call for the other document may take long. */
static void retry_during_a_call_says_what_it_cannot_do(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = dial();

  (void)state;
  managed->job->print.backend = DX_BACKEND_ENDED;
  managed->job->print.decided = true;
  managed->asked_ms = now_ms;
  dx_engine_wake(managed->job);
  now_ms += 10000; /* the rate limit holds the first call */
  send_what_is_due();
  fail_call(call_count - 1);
  send_what_is_due();
  assert_int_equal(open_calls("service"), 1);
  managed->waits = true;
  say(client, "retry " KEY);
  check_heard(client, "done Retrying job " KEY);
  assert_false(managed->waits);
  managed->job->submissions[1].state = DX_ST_FAILED;
  say(client, "retry " KEY);
  check_heard(client, "a call to the service is in progress");
}

/* An alias of its content, which is no name of a print job. */
static void retry_by_an_alias_finds_the_job_in_memory(void **state)
{
  struct client *client = dial();

  (void)state;
  (void)take(KEY, true);
  assert_int_equal(symlinkat(KEY, spool.dirfd, "aliases/" KEY_2), 0);
  assert_null(manager_find(&manager, KEY_2));
  say(client, "retry " KEY_2);
  check_heard(client, "done Retrying job " KEY_2);
  assert_non_null(manager_find(&manager, KEY));
}

/* Its connection broke, which docextractd has not noticed yet. */
static void backend_that_connects_again_has_its_job(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *first = attend(managed), *second = attend(managed);

  (void)state;
  check_heard(first, "gone");
  assert_null(first->managed);
  assert_ptr_equal(managed->attendant, second);
}

/* Its backend would go on, and CUPS would have it. */
static void print_job_that_runs_is_not_canceled_here(void **state)
{
  struct managed *managed = take(KEY, true);
  struct dx_job *job = managed->job;

  (void)state;
  free(job->queue);
  free(job->cups_id);
  job->queue = strdup("chart");
  job->cups_id = strdup("12");
  (void)attend(managed);
  say(dial(), "cancel " KEY);
  check_heard(&dialed[1].client,
              "error E_JOB this is print job chart-12, which is being "
              "processed; cancel it with: cancel chart-12");
  assert_int_equal(dx_job_count(job, DX_ST_CANCELED), 0);
}

/* Its documents may be the only copy. */
static void failed_job_is_not_purged(void **state)
{
  (void)state;
  fail_job(KEY, false);
  say(dial(), "purge " KEY);
  check_heard(&dialed[0].client, "error E_JOB ");
  assert_int_equal(stored_state(KEY), DX_ST_FAILED);
}

static void job_whose_on_result_is_pending_is_not_purged(void **state)
{
  struct dx_job *job;

  (void)state;
  set_states(take(KEY, false), DX_ST_EXTRACTED, DX_ST_EXTRACTED);
  turn();
  job = load(KEY);
  job->submissions[0].hook_ms = 1;
  assert_int_equal(dx_job_save(job, &err), DX_OK);
  dx_job_free(&job);
  say(dial(), "purge " KEY);
  check_heard(&dialed[0].client, "error E_JOB ");
  assert_int_equal(entries("finished"), 1);
}

/* In memory, or not. */
static struct managed *take_with_hook(const char *problem)
{
  struct managed *managed = take(KEY, true);

  set_states(managed, DX_ST_EXTRACTED, DX_ST_EXTRACTED);
  managed->job->submissions[0].hook_ms = now_ms;
  dx_submission_set_problem(&managed->job->submissions[0], DX_OK, problem, 0);
  managed->job->dirty = true;
  turn();
  assert_ptr_equal(manager_find(&manager, KEY), managed);
  return managed;
}

static void cancel_acknowledges_an_on_result_that_failed(void **state)
{
  struct client *client = dial();

  (void)state;
  (void)take_with_hook("OnResult failed");
  say(client, "cancel " KEY);
  check_heard(client, "done OnResult is not run again for job " KEY);
  assert_null(manager_find(&manager, KEY));
  assert_int_equal(entries("finished"), 1);
  say(client, "purge " KEY);
  check_heard(client, "done Removed job " KEY);
}

/* A user may cancel a job that has just been extracted. */
static void cancel_leaves_an_on_result_that_has_not_failed(void **state)
{
  struct client *client = dial();

  (void)state;
  (void)take_with_hook("");
  say(client, "cancel " KEY);
  check_heard(client, "done Job " KEY " has already finished");
  assert_non_null(manager_find(&manager, KEY));
  assert_true(dx_job_awaits_hook(manager_find(&manager, KEY)->job));
}

static void retry_runs_on_result_at_once(void **state)
{
  struct client *client = dial();
  struct managed *managed = take_with_hook("OnResult failed");

  (void)state;
  now_ms += 1000;
  say(client, "retry " KEY);
  check_heard(client, "done Running OnResult again for job " KEY);
  managed = manager_find(&manager, KEY);
  assert_non_null(managed);
  assert_true(dx_job_awaits_hook(managed->job));
}

/* The merge may have failed because the disk is full. */
static void job_with_a_receipt_is_not_purged(void **state)
{
  (void)state;
  set_states(take(KEY, false), DX_ST_EXTRACTED, DX_ST_EXTRACTED);
  turn();
  assert_int_equal(entries("finished"), 1);
  (void)receive(KEY, false);
  say(dial(), "purge " KEY);
  check_heard(&dialed[0].client, "error E_JOB ");
  assert_int_equal(entries("finished"), 1);
}

/* A job has failed after its backend had left. */
static void fail_left(const char *key)
{
  struct managed *managed = take(key, true);

  managed->job->print.backend = DX_BACKEND_LEFT;
  set_states(managed, DX_ST_FAILED, DX_ST_FAILED);
  turn();
  assert_null(manager_find(&manager, key));
}

static void restart(void)
{
  struct dx_config *config = manager.config;

  manager.config = NULL; /* the next one takes it */
  manager_stop(&manager);
  manager = (struct manager){.spool = &spool, .stop_fd = -1};
  assert_int_equal(manager_start(&manager, config, &err), DX_OK);
}

static void load_all(void)
{
  while (manager_is_loading(&manager))
    (void)manager_turn(&manager);
}

static size_t failures(const char *queue)
{
  size_t failed, undecided;

  tallies_of_queue(&manager.tallies, queue, &failed, &undecided);
  return failed;
}

static void unseen_failures_are_counted(void **state)
{
  struct client *client = dial();

  (void)state;
  fail_job("1" KEY_REST, true); /* its backend was there */
  fail_left("2" KEY_REST);
  fail_left("3" KEY_REST);
  assert_int_equal(failures("chart"), 2);
  assert_int_equal(failures("other"), 0);
  restart();
  load_all();
  assert_int_equal(failures("chart"), 2);
  say(client, "retry 2" KEY_REST);
  assert_int_equal(failures("chart"), 1);
  say(client, "seen");
  check_heard(client, "done Acknowledged 1 failed job\n");
  assert_int_equal(failures("chart"), 0);
  restart();
  load_all();
  assert_int_equal(failures("chart"), 0);
}

/* Removed by hand, or damaged. */
static void failures_that_cannot_be_read_are_not_acknowledged(void **state)
{
  struct client *client = dial();
  struct dx_job *job;

  (void)state;
  fail_left("1" KEY_REST);
  fail_left("2" KEY_REST);
  assert_int_equal(dx_fs_remove_tree(spool.dirfd, "jobs/1" KEY_REST, &err),
                   DX_OK);
  job = load("2" KEY_REST);
  assert_int_equal(
      dx_fs_write(job->dirfd, "job.json", "", 0, 0600, DX_PUBLISH_OVER, &err),
      DX_OK);
  dx_job_free(&job);
  say(client, "seen");
  check_heard(client, "done Acknowledged 0 failed jobs\n");
  assert_int_equal(failures("chart"), 0);
  assert_int_equal(manager.tallies.damaged, 1);
}

/* It is unknown which of them has waited longest. */
static void until_all_are_loaded_only_attended_jobs_are_sent(void **state)
{
  struct client *client = dial();
  struct managed *managed;

  (void)state;
  (void)take("1" KEY_REST, false);
  (void)take("2" KEY_REST, false);
  restart();
  tick_ms = DX_TURN_MS - 1; /* a turn loads one */
  (void)manager_turn(&manager);
  managed = LIST_FIRST(&manager.jobs);
  assert_non_null(managed);
  assert_true(manager_is_loading(&manager));
  assert_non_null(managed->drive.asking);
  assert_false(managed->drive.permit.stands);
  managed->job->queue = strdup("chart");
  managed->job->print.undecided = true;
  say(client, "seen");
  attend_send_failures(client, "chart");
  assert_null(strstr(dialed[0].lines, "failures"));
  managed->job->print.undecided = false;
  load_all();
  tick_ms = 0;
  now_ms += 1000;
  send_what_is_due();
  assert_int_equal(open_calls("service"), 1);
}

/* Its OnResult is pending. */
static void seen_failures_are_marked_in_memory_too(void **state)
{
  struct managed *managed = take(KEY, true);
  struct client *client = dial();

  (void)state;
  managed->job->print.backend = DX_BACKEND_LEFT;
  set_states(managed, DX_ST_FAILED, DX_ST_FAILED);
  managed->job->submissions[0].hook_ms = now_ms;
  turn();
  assert_ptr_equal(manager_find(&manager, KEY), managed);
  assert_int_equal(failures("chart"), 1);
  say(client, "seen");
  check_heard(client, "done Acknowledged 1 failed job\n");
  assert_true(managed->job->seen);
  assert_int_equal(failures("chart"), 0);
}

static void retried_job_is_no_failure(void **state)
{
  struct managed *managed = take(KEY, true);

  (void)state;
  managed->job->print.backend = DX_BACKEND_LEFT;
  set_states(managed, DX_ST_FAILED, DX_ST_FAILED);
  managed->job->submissions[0].hook_ms = now_ms;
  turn();
  assert_int_equal(failures("chart"), 1);
  say(dial(), "retry " KEY);
  assert_ptr_equal(manager_find(&manager, KEY), managed);
  assert_int_equal(failures("chart"), 0);
}

/* ---- what is counted ---- */

#define SECTIONS 2
static const char *const sections[SECTIONS] = {"default", "other"};
static const char *const queues[] = {"chart", "other"};

/* Of all journals in jobs/. */
struct counts {
  struct dx_tally sections[SECTIONS];
  size_t failed[2], undecided[2];
  int64_t damaged;
};

static void count_job(struct counts *counts, const struct dx_job *job)
{
  struct dx_tally *its =
      &counts->sections[strcmp(job->service, sections[0]) != 0];
  bool of_queue;
  size_t i;

  its->undecided += dx_job_is_undecided(job);
  if (!dx_job_is_finished(job) && !dx_job_is_undecided(job))
    its->jobs[dx_job_state(job)]++;
  its->unseen += dx_job_is_unseen_failure(job);
  its->hooks += dx_job_awaits_hook(job);
  its->admin += dx_job_needs_admin(job);
  if (!dx_job_is_final(job) &&
      (its->oldest_at == 0 || job->received_at < its->oldest_at))
    its->oldest_at = job->received_at;
  for (i = 0; i < 2; i++) {
    of_queue = job->queue != NULL && strcmp(job->queue, queues[i]) == 0;
    counts->failed[i] += of_queue && dx_job_is_unseen_failure(job);
    counts->undecided[i] += of_queue && dx_job_is_undecided(job);
  }
}

static void count_stored(struct counts *ret)
{
  char *names = dx_spool_names(&spool, DX_SPOOL_JOBS, &err);
  struct dx_job *job;
  const char *name;
  size_t i;

  memset(ret, 0, sizeof(*ret));
  for (i = 0; i < SECTIONS; i++)
    (void)strcpy(ret->sections[i].service, sections[i]);
  assert_non_null(names);
  for (name = names; *name != '\0'; name = dx_next_name(name)) {
    enum dx_code code = dx_spool_load(&spool, name, &job, &err);

    ret->damaged += code == DX_E_DAMAGED;
    if (code == DX_OK)
      count_job(ret, job);
    if (code == DX_OK)
      dx_job_free(&job);
  }
  free(names);
}

/* As another process receives it. */
static void count_told(struct counts *ret)
{
  struct dx_tallies all;
  int pair[2];
  size_t i, k;

  memset(ret, 0, sizeof(*ret));
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  tallies_send(&manager.tallies, pair[0]);
  assert_int_equal(tallies_receive(pair[1], &all, &err), DX_OK);
  assert_true(all.is_complete);
  ret->damaged = all.damaged;
  for (i = 0; i < SECTIONS; i++) {
    (void)strcpy(ret->sections[i].service, sections[i]);
    for (k = 0; k < all.count; k++)
      if (strcmp(all.sections[k].service, sections[i]) == 0)
        ret->sections[i] = all.sections[k];
    tallies_of_queue(&manager.tallies, queues[i], &ret->failed[i],
                     &ret->undecided[i]);
  }
  free(all.sections);
  (void)close(pair[0]);
  (void)close(pair[1]);
}

static void check_tallies(const char *after)
{
  struct counts stored, told;

  count_stored(&stored);
  count_told(&told);
  if (memcmp(&stored, &told, sizeof(stored)) != 0)
    fail_msg("after '%s', other numbers than in the journals", after);
}

static unsigned int chance_state;

static size_t chance(size_t n)
{
  chance_state = chance_state * 1103515245 + 12345;
  return chance_state / 65536 % n;
}

static void say_about(const char *verb, const char *key, const char *more)
{
  char line[100];

  (void)snprintf(line, sizeof(line), "%s %s%s", verb, key, more);
  say(&dialed[0].client, line);
}

/* The service, a backend, or time has changed it. */
static void change(struct managed *managed)
{
  static const enum dx_state states[] = {
      DX_ST_STORED,  DX_ST_UPLOADED, DX_ST_PROCESSING, DX_ST_FAILED,
      DX_ST_REFUSED, DX_ST_CANCELED, DX_ST_EXTRACTED,  DX_ST_FAILED};
  struct dx_job *job = managed->job;
  size_t i;

  if (job->print.backend == DX_BACKEND_NONE || job->ended)
    return;
  if (chance(2) == 0)
    job->print.backend = chance(2) == 0 ? DX_BACKEND_LEFT : DX_BACKEND_BROKEN;
  if (chance(4) == 0)
    (void)strcpy(job->queue, queues[chance(2)]);
  job->print.undecided = chance(4) == 0;
  dx_job_set_problem(job, chance(2) == 0 ? DX_E_NET : DX_E_KEY, "problem", 0);
  register_sources(managed);
  set_states(managed, states[chance(8)], states[chance(8)]);
  for (i = 0; i < 2; i++) /* OnResult is not run: the section has none */
    job->submissions[i].hook_ms =
        dx_state_is_final(job->submissions[i].state) && chance(3) == 0 ? now_ms
                                                                       : 0;
  dx_engine_wake(job);
}

/* Where docextractd would find it; a job in memory is written again. */
static bool write_zeros(const char *key)
{
  char path[DX_JOB_PATH_BYTES + 16];
  int fd;

  (void)snprintf(path, sizeof(path), "jobs/%s/job.json", key);
  fd = openat(spool.dirfd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd < 0)
    return false;
  (void)close(fd);
  return true;
}

static const char *any_event(void)
{
  char key[DX_KEY_BYTES] = "0" KEY_REST, path[DX_JOB_PATH_BYTES];
  struct managed *managed;
  struct stat st;

  key[0] = "0123456789"[chance(10)];
  managed = manager_find(&manager, key);
  switch (chance(12)) {
  case 0:
  case 1:
    now_ms += (int64_t)chance(3) * 1000; /* some are equally old */
    return manager_pick_up(&manager, receive(key, true), &err) == DX_OK
               ? "print"
               : "print that waits";
  case 2:
    say_about("retry", key, chance(2) == 0 ? "" : " other");
    return "retry";
  case 3:
    say_about("cancel", key, "");
    return "cancel";
  case 4:
    say(&dialed[0].client, "seen");
    return "seen";
  case 5:
    say_about("purge", key, "");
    return "purge";
  case 6:
    if (managed != NULL &&
        dx_engine_remove(manager.engine, managed->job) == DX_OK)
      manager_drop(&manager, managed);
    manager.load_ms = now_ms;
    return "drop";
  case 7:
    if (chance(8) != 0)
      return "nothing";
    verbs_closed(NULL, &dialed[0].client);
    memset(&dialed[0], 0, sizeof(dialed[0]));
    restart();
    load_all();
    return "restart";
  case 8:
    if (managed == NULL && chance(3) == 0 && write_zeros(key))
      manager_damaged(&manager, key);
    return "damage";
  case 9:
    (void)snprintf(path, sizeof(path), "jobs/%s", key);
    if (managed == NULL || fstatat(spool.dirfd, path, &st, 0) != 0)
      return "nothing";
    bad_directory = st.st_ino; /* its journal cannot be saved */
    change(managed);
    turn();
    turn();
    bad_directory = 0;
    return "failure";
  default:
    if (managed != NULL)
      change(managed);
    return "change";
  }
}

/* Nothing is to be written any more. */
static bool is_all_saved(void)
{
  const struct managed *managed;

  LIST_FOREACH (managed, &manager.jobs, link)
    if (dx_job_must_be_saved(managed->job) || managed->job->behind)
      return false;
  return true;
}

/* Whatever happens, as if all journals were read at its end. */
static void tallies_are_those_of_the_journals(void **state)
{
  const char *last;
  size_t i, k;

  (void)state;
  (void)dial();
  chance_state = 1;
  for (i = 0; i < 3000; i++) {
    last = any_event();
    for (k = 0; k < 10 && (k == 0 || !is_all_saved()); k++) {
      now_ms += DX_LOCAL_RETRY_MS;
      turn();
    }
    if (!is_all_saved())
      fail_msg("after '%s', a job is not saved", last);
    check_tallies(last);
  }
}

/* Until all were loaded, and if memory has run out. */
static void incomplete_tallies_are_not_told(void **state)
{
  struct dx_tallies all;
  int pair[2];

  (void)state;
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  restart();
  tallies_send(&manager.tallies, pair[0]);
  assert_int_equal(tallies_receive(pair[1], &all, &err), DX_OK);
  assert_false(all.is_complete);
  free(all.sections);
  load_all();
  manager.tallies.is_broken = true;
  tallies_send(&manager.tallies, pair[0]);
  assert_int_equal(tallies_receive(pair[1], &all, &err), DX_E_NOMEM);
  (void)close(pair[0]);
  assert_int_equal(tallies_receive(pair[1], &all, &err), DX_E_NOT_YET);
  (void)close(pair[1]);
}

static void hello_ends_with_its_client(void **state)
{
  struct client *client = dial();

  (void)state;
  say(client, "hello default");
  now_ms += 10000;
  turn();
  assert_true(open_calls("service") > 0);
  verbs_closed(NULL, client);
  assert_int_equal(open_calls("service"), 0);
}

#define MANAGED(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
  const struct CMUnitTest tests[] = {
      MANAGED(dropped_job_has_no_clients),
      MANAGED(job_that_cannot_be_moved_is_moved_later),
      MANAGED(job_of_a_killed_docextractd_is_cleaned),
      MANAGED(attended_job_does_not_expire),
      MANAGED(expired_job_that_was_not_in_memory_is_finished),
      MANAGED(receipts_are_picked_up_in_several_turns),
      MANAGED(job_is_loaded_after_its_receipt_is_merged),
      MANAGED(job_that_cannot_be_read_now_is_loaded_later),
      MANAGED(answer_of_cupsd_is_used_in_the_next_turn),
      MANAGED(failed_job_that_is_printed_again_is_new),
      MANAGED(waiting_job_does_not_keep_the_processor_busy),
      MANAGED(receipt_waits_for_a_call_of_its_job),
      MANAGED(receipt_waits_longer_for_a_job_that_cannot_be_saved),
      MANAGED(nothing_is_sent_before_the_pick_up_is_durable),
      MANAGED(only_that_run_is_refused),
      MANAGED(receipt_waits_for_the_end_of_a_local_failure),
      MANAGED(receipt_of_a_damaged_job_is_refused_with_advice),
      MANAGED(failed_job_is_canceled_when_both_print_jobs_are),
      MANAGED(job_is_canceled_when_both_print_jobs_are),
      MANAGED(failed_job_is_canceled_with_its_print_job),
      MANAGED(job_that_cannot_be_read_now_is_not_canceled_yet),
      MANAGED(failures_are_those_of_the_queue),
      MANAGED(refused_documents_get_their_manifests_after_a_restart),
      MANAGED(receipts_are_looked_for_when_a_backend_is_gone),
      MANAGED(backend_may_connect_again),
      MANAGED(nothing_is_sent_once_a_backend_is_stopping),
      MANAGED(backend_that_says_alive_must_go_on),
      MANAGED(backend_of_an_earlier_run_is_sent_away),
      MANAGED(backend_without_a_job_is_refused),
      MANAGED(client_is_told_that_its_job_waits_for_an_administrator),
      MANAGED(attended_copy_frees_the_queue_or_is_decided),
      MANAGED(attended_job_is_tried_again_at_once),
      MANAGED(backend_that_attends_is_told_of_the_problem),
      MANAGED(backend_that_attends_is_not_told_that_the_wait_begins),
      MANAGED(backend_leaves_only_a_job_without_a_problem),
      MANAGED(print_job_is_held_while_the_rest_goes_on),
      MANAGED(backend_of_a_held_print_job_is_told_again),
      MANAGED(released_print_job_attends_again),
      MANAGED(backend_does_not_leave_what_has_ended),
      MANAGED(print_job_is_canceled_after_its_backend_has_left),
      MANAGED(backend_that_asked_nobody_decides_nothing),
      MANAGED(canceled_job_says_what_the_service_has),
      MANAGED(cancel_names_the_print_job_that_cups_may_hold),
      MANAGED(retry_moves_only_what_is_not_settled),
      MANAGED(job_moves_as_a_whole_or_not_at_all),
      MANAGED(moved_job_is_found_when_it_is_sent_again),
      MANAGED(job_is_found_by_each_of_its_print_jobs),
      MANAGED(retried_job_is_saved_and_new),
      MANAGED(retry_names_the_print_job_that_is_held),
      MANAGED(retry_during_a_call_says_what_it_cannot_do),
      MANAGED(retry_by_an_alias_finds_the_job_in_memory),
      MANAGED(backend_that_connects_again_has_its_job),
      MANAGED(print_job_that_runs_is_not_canceled_here),
      MANAGED(failed_job_is_not_purged),
      MANAGED(job_whose_on_result_is_pending_is_not_purged),
      MANAGED(cancel_acknowledges_an_on_result_that_failed),
      MANAGED(cancel_leaves_an_on_result_that_has_not_failed),
      MANAGED(retry_runs_on_result_at_once),
      MANAGED(job_with_a_receipt_is_not_purged),
      MANAGED(unseen_failures_are_counted),
      MANAGED(failures_that_cannot_be_read_are_not_acknowledged),
      MANAGED(until_all_are_loaded_only_attended_jobs_are_sent),
      MANAGED(seen_failures_are_marked_in_memory_too),
      MANAGED(retried_job_is_no_failure),
      MANAGED(tallies_are_those_of_the_journals),
      MANAGED(incomplete_tallies_are_not_told),
      MANAGED(hello_ends_with_its_client),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
