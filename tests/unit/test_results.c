/*
 * test_results.c - the files in the results directory: names, modes,
 * completeness, the manifest.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/base/policy.h"
#include "lib/spool/results.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define BODY "{\"results\":{\"value\":1.50}}"

static char dir[TEMP_DIR_BYTES], results[48];
static int dirfd_ = -1;
static struct dx_job *job;
static struct dx_submission *sub;
static struct dx_err err;

/* A job of a sheet and a document, with one stored result. */
static int start(void **state)
{
  (void)state;
  if (temp_dir_make_in_memory(dir) < 0)
    return -1;
  (void)snprintf(results, sizeof(results), "%s/results", dir);
  job = dx_job_new();
  if (job == NULL || mkdir(results, 0700) < 0)
    return -1;
  dirfd_ = open(results, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  job->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  (void)strcpy(job->key, KEY);
  job->service = strdup("default");
  job->base_url = strdup("https://a");
  job->title = strdup("a \"title\"\n\xc3\xa9");
  job->received_at = 1700000000000;
  job->documents = calloc(2, sizeof(*job->documents));
  job->document_count = 2;
  job->documents[0].entry.kind = DX_KIND_SHEET;
  job->documents[1].entry.pages = 3;
  job->documents[1].entry.length = 12;
  (void)strcpy(job->documents[1].entry.type, "application/pdf");
  (void)strcpy(job->documents[1].entry.name, "chart.pdf");
  (void)strcpy(job->documents[1].entry.sha256, "ab");
  if (dx_job_plan(job, &err) != DX_OK)
    return -1;
  sub = &job->submissions[0];
  return 0;
}

static int stop(void **state)
{
  (void)state;
  dx_job_free(&job);
  (void)close(dirfd_);
  return temp_dir_remove(dir);
}

static void complete(const char *source_id, const char *case_id)
{
  char *ids[] = {NULL};

  ids[0] = strdup(case_id);
  sub->source_id = strdup(source_id);
  sub->state = DX_ST_COMPLETE;
  sub->complete_at = 1700000060000;
  assert_int_equal(dx_submission_set_cases(sub, ids, 1, &err), DX_OK);
  free(ids[0]);
  assert_int_equal(dx_fs_write(job->dirfd, "result-0001-00001.json", BODY,
                               strlen(BODY), 0600, false, &err),
                   DX_OK);
  sub->cases[0].bytes = (int64_t)strlen(BODY);
  dx_sha256_of(BODY, strlen(BODY), sub->cases[0].sha256);
}

static size_t entries(void)
{
  return count_entries(dirfd_, ".");
}

static void assert_mode(const char *name, mode_t mode)
{
  struct stat st;

  assert_int_equal(fstatat(dirfd_, name, &st, AT_SYMLINK_NOFOLLOW), 0);
  assert_true(S_ISREG(st.st_mode));
  assert_int_equal(st.st_mode & 07777, mode);
}

/* ---- names ---- */

static char *manifest_name(const char *source_id)
{
  char *name;

  sub->source_id = strdup(source_id);
  name = dx_manifest_name(sub, sub->source_id);
  free(sub->source_id);
  sub->source_id = NULL;
  return name;
}

static void unusual_ids_do_not_escape_the_directory(void **state)
{
  static char huge[5000];
  const char *const ids[] = {".",           "..",    "../../etc/passwd",
                             "/etc/passwd", "a/b",   "a\\b",
                             "a\nb",        "\xff",  "\xe2\x80\xae",
                             "-rf",         "~root", "*",
                             "a b.json",    "%2e",   "$(id)",
                             huge};
  size_t i, k;

  (void)state;
  memset(huge, '/', sizeof(huge) - 1);
  for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
    char *names[] = {dx_result_name(ids[i], ids[i]),
                     dx_result_name("s", ids[i]), dx_result_name(ids[i], "c"),
                     manifest_name(ids[i])};

    for (k = 0; k < 4; k++) {
      assert_non_null(names[k]);
      assert_int_equal(strspn(names[k], "abcdefghijklmnopqrstuvwxyz0123456789"
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.~%"),
                       strlen(names[k]));
      assert_true(strlen(names[k]) <= 255);
      assert_int_not_equal(names[k][0], '.');
      /* the name must be valid for the file system */
      assert_int_equal(dx_fs_write(dirfd_, names[k], "", 0, 0640, false, &err),
                       DX_OK);
      free(names[k]);
    }
  }
}

/* With the names of temporary files, too. */
static void name_of_any_length_is_valid(void **state)
{
  char id[300] = "", *name;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(id) - 1; i++) {
    id[i] = 'x';
    name = dx_result_name("", id);
    assert_int_equal(dx_fs_write(dirfd_, name, "", 0, 0640, false, &err),
                     DX_OK);
    free(name);
  }
}

static void plain_id_is_its_own_name(void **state)
{
  char *name = manifest_name("01M7YAA2GG_x-1");

  (void)state;
  assert_string_equal(name, "01M7YAA2GG_x-1.job.json");
  free(name);
  name = dx_manifest_name(sub, sub->source_id); /* never registered */
  assert_string_equal(name, KEY "-1.job.json");
  free(name);
}

/* Cuts, checksums, and dashes in each other's places. */
static void crafted_pairs_do_not_collide(void **state)
{
  static char x39[40], x100[101], x128[129], x229[230], y229[230];
  char a[600], b[600];
  char *one, *two;

  (void)state;
  memset(x39, 'x', 39);
  memset(x100, 'x', 100);
  memset(x128, 'x', 128);
  memset(x229, 'x', 229);
  memset(y229, 'x', 228);
  y229[228] = 'y';
  /* a long case with a dash where it is cut */
  (void)snprintf(a, sizeof(a), "%s-%s", x39, x100);
  (void)snprintf(b, sizeof(b), "a-b-%s", x39);
  one = dx_result_name("a-b", a);
  two = dx_result_name(b, a);
  assert_string_not_equal(one, two);
  free(two);
  free(one);
  /* a case id that is the text of another checksum */
  (void)snprintf(a, sizeof(a), "%.79s-%.48s", x128, x128);
  (void)snprintf(b, sizeof(b), "-%s", x100);
  one = dx_result_name(a, b);
  (void)snprintf(b, sizeof(b), "%.79s-%.48s--%s", x128, x128, x100);
  a[79] = '\0';
  two = dx_result_name(a, b);
  assert_string_not_equal(one, two);
  free(two);
  free(one);
  one = dx_result_name(x229, "c");
  two = dx_result_name(y229, "c");
  assert_string_not_equal(one, two);
  free(two);
  free(one);
  one = dx_result_name(x128, x128); /* plain, but together too long */
  assert_true(strlen(one) <= 255);
  free(one);
  one = manifest_name(x229);
  two = manifest_name(y229);
  assert_string_not_equal(one, two);
  free(two);
  free(one);
}

/* ---- files ---- */

static void result_has_the_bytes_of_the_response(void **state)
{
  struct dx_buf text = {0};
  mode_t before = umask(077);

  (void)state;
  complete("S", "C");
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  (void)umask(before);
  assert_mode("S-C.json", 0640);
  assert_mode("S.job.json", 0640);
  assert_int_equal(dx_fs_read(dirfd_, "S-C.json", 100, &text, &err), DX_OK);
  assert_string_equal(dx_buf_text(&text), BODY);
  dx_buf_release(&text);
  assert_int_equal(entries(), 2);
}

static void modes_do_not_depend_on_the_umask(void **state)
{
  mode_t before = umask(0);

  (void)state;
  complete("S", "C");
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  (void)umask(before);
  assert_mode("S-C.json", 0640);
  assert_mode("S.job.json", 0640);
}

static void delivering_twice_leaves_one_file(void **state)
{
  (void)state;
  complete("S", "C");
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  assert_int_equal(entries(), 1);
}

static void damaged_stored_result_is_not_delivered(void **state)
{
  (void)state;
  complete("S", "C");
  assert_int_equal(dx_fs_write(job->dirfd, "result-0001-00001.json", BODY " ",
                               strlen(BODY) + 1, 0600, false, &err),
                   DX_OK);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_E_DAMAGED);
  assert_int_equal(dx_fs_remove(job->dirfd, "result-0001-00001.json", &err),
                   DX_OK);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_E_DAMAGED);
  assert_int_equal(entries(), 0);
}

/* A limit on the file size simulates a full disk. */
static void full_disk_leaves_no_file_and_loses_no_result(void **state)
{
  struct rlimit before, small;

  (void)state;
  complete("S", "C");
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 10;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  assert_int_not_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  assert_int_not_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_int_equal(entries(), 0);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  assert_int_equal(entries(), 1);
}

static void missing_directory_is_an_error_and_not_created(void **state)
{
  char path[64];

  (void)state;
  complete("S", "C");
  (void)snprintf(path, sizeof(path), "%s/none", dir);
  assert_int_equal(dx_result_deliver(sub, 0, path, &err), DX_E_NOT_FOUND);
  assert_int_equal(dx_manifest_deliver(sub, path, NULL, &err), DX_E_NOT_FOUND);
  assert_int_equal(access(path, F_OK), -1);
}

/* ---- the manifest ---- */

static struct cJSON *manifest(void)
{
  char *text = dx_manifest_text(sub);
  struct cJSON *json;

  assert_non_null(text);
  json = dx_json_parse(text, strlen(text), &err);
  assert_non_null(json);
  free(text);
  return json;
}

static void assert_text(const struct cJSON *json, const char *name,
                        const char *want)
{
  const struct cJSON *value = dx_json_get(json, name);

  if (want == NULL)
    assert_true(dx_json_is_null(value));
  else if (dx_json_string(value) == NULL ||
           strcmp(dx_json_string(value), want) != 0)
    fail_msg("%s is not '%s'", name, want);
}

static void assert_int(const struct cJSON *json, const char *name, int64_t want)
{
  int64_t value = -1;

  assert_true(dx_json_int(dx_json_get(json, name), &value));
  assert_int_equal(value, want);
}

static void assert_flag(const struct cJSON *json, const char *name, bool want)
{
  bool value = !want;

  assert_true(dx_json_bool(dx_json_get(json, name), &value));
  assert_true(value == want);
}

static void manifest_of_a_success_is_complete(void **state)
{
  struct cJSON *json;
  const struct cJSON *part;

  (void)state;
  complete("S", "C/1");
  json = manifest();
  assert_int(json, "schema", 2);
  assert_text(json, "outcome", "extracted");
  assert_flag(json, "final", true);
  assert_text(json, "reason_code", NULL);
  assert_text(json, "reason", NULL);
  assert_text(json, "service", "default");
  assert_text(json, "source_id", "S");
  part = dx_json_get(json, "job");
  assert_text(part, "key", KEY);
  assert_text(part, "title", "a \"title\"\n\xc3\xa9");
  assert_text(part, "user", NULL);
  assert_text(part, "queue", NULL);
  part = dx_json_get(json, "files");
  assert_int_equal(dx_json_count(part), 1);
  part = dx_json_first(part);
  assert_int(part, "document", 2); /* the sheet was the first */
  assert_text(part, "name", "chart.pdf");
  assert_text(part, "content_type", "application/pdf");
  assert_int(part, "pages", 3);
  assert_int(part, "bytes", 12);
  assert_text(part, "sha256", "ab");
  part = dx_json_first(dx_json_get(json, "cases"));
  assert_text(part, "case_id", "C/1");
  assert_text(part, "file", "S-C%2F1.json");
  assert_int(part, "bytes", (int64_t)strlen(BODY));
  assert_text(part, "sha256", sub->cases[0].sha256);
  part = dx_json_get(json, "times");
  assert_text(part, "received_at", "2023-11-14T22:13:20Z");
  assert_text(part, "uploaded_at", NULL);
  assert_text(part, "complete_at", "2023-11-14T22:14:20Z");
  assert_non_null(dx_json_string(dx_json_get(part, "extracted_at")));
  dx_json_free(&json);
}

static int64_t later_ms(void)
{
  return 1900000000000;
}

/* A crash may come between the manifest and the journal. */
static void manifest_delivered_again_has_the_same_bytes(void **state)
{
  const struct dx_clock later = {later_ms, later_ms};
  char *before, *after;

  (void)state;
  complete("S", "C");
  sub->extracted_at = 1700000100000;
  before = dx_manifest_text(sub);
  dx_clock_use(&later);
  assert_int_equal(dx_submission_apply(sub, DX_EV_DELIVERED, &err), DX_OK);
  after = dx_manifest_text(sub);
  dx_clock_use(NULL);
  assert_non_null(before);
  assert_non_null(after);
  assert_string_equal(after, before);
  free(before);
  free(after);
}

static void manifest_of_a_failure_says_why(void **state)
{
  struct cJSON *json;

  (void)state;
  complete("S", "C");
  dx_submission_end(sub, DX_EV_FAIL, DX_E_TOO_BIG, "too large for the service");
  json = manifest();
  assert_text(json, "outcome", "failed");
  assert_flag(json, "final", false); /* a retry may still succeed */
  assert_text(json, "reason_code", "service-refused");
  assert_text(json, "reason", "too large for the service");
  assert_int(dx_json_get(json, "job"), "documents", 2);
  assert_non_null(
      dx_json_string(dx_json_get(dx_json_get(json, "times"), "failed_at")));
  assert_int_equal(dx_json_count(dx_json_get(json, "cases")), 0);
  assert_text(dx_json_get(json, "times"), "extracted_at", NULL);
  dx_json_free(&json);
  assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  assert_mode("S.job.json", 0640);
}

static void times_of_an_earlier_attempt_are_not_in_the_manifest(void **state)
{
  struct cJSON *json;
  const struct cJSON *times;

  (void)state;
  complete("S", "C");
  sub->registered_at = sub->uploaded_at = 1700000030000;
  dx_submission_end(sub, DX_EV_FAIL, DX_E_TOO_BIG, "too large for the service");
  assert_int_equal(dx_submission_apply(sub, DX_EV_RETRY, &err), DX_OK);
  dx_submission_end(sub, DX_EV_FAIL, DX_E_TOO_BIG, "too large for the service");
  json = manifest();
  times = dx_json_get(json, "times");
  assert_text(times, "uploaded_at", NULL);
  assert_text(times, "complete_at", NULL);
  dx_json_free(&json);
}

static void canceled_submission_is_final(void **state)
{
  struct cJSON *json;

  (void)state;
  complete("S", "C");
  sub->state = DX_ST_PROCESSING;
  dx_job_end(job, DX_EV_CANCEL);
  json = manifest();
  assert_text(json, "outcome", "failed");
  assert_flag(json, "final", true);
  assert_text(json, "reason_code", "canceled");
  dx_json_free(&json);
}

static void no_signed_url_is_in_a_manifest(void **state)
{
  char *text;

  (void)state;
  complete("S", "C");
  sub->files[0].url = strdup("https://s.example/o?sig=SECRET");
  text = dx_manifest_text(sub);
  assert_non_null(text);
  assert_null(strstr(text, "SECRET"));
  assert_null(strstr(text, "s.example"));
  free(text);
}

/* ---- what others have put in the way ---- */

#define PRECIOUS "nobody may change this"

/* Outside the directory. */
static void plant_target(void)
{
  assert_int_equal(dx_fs_write(job->dirfd, "target", PRECIOUS, strlen(PRECIOUS),
                               0600, false, &err),
                   DX_OK);
}

static void plant_directory(const char *name)
{
  char path[300];

  assert_int_equal(mkdirat(dirfd_, name, 0700), 0);
  (void)snprintf(path, sizeof(path), "%s/inside", name);
  assert_int_equal(mkdirat(dirfd_, path, 0700), 0);
}

static void plant_link(const char *name)
{
  assert_int_equal(symlinkat("../target", dirfd_, name), 0);
}

static void plant_dangling_link(const char *name)
{
  assert_int_equal(symlinkat("../new", dirfd_, name), 0);
}

static void plant_fifo(const char *name)
{
  assert_int_equal(mkfifoat(dirfd_, name, 0666), 0);
}

static void plant_file_of_another(const char *name)
{
  assert_int_equal(dx_fs_write(dirfd_, name, "{}", 2, 0666, false, &err),
                   DX_OK);
  if (geteuid() != 0) /* it cannot be given away: it is removed */
    assert_int_equal(unlinkat(dirfd_, name, 0), 0);
  else
    assert_int_equal(fchownat(dirfd_, name, 65534, 65534, 0), 0);
}

static void assert_content(int fd, const char *name, const char *want)
{
  struct dx_buf text = {0};

  assert_int_equal(dx_fs_read(fd, name, 1000, &text, &err), DX_OK);
  assert_string_equal(dx_buf_text(&text), want);
  dx_buf_release(&text);
}

static bool is_json(const char *name)
{
  const char *end = strrchr(name, '.');

  return end != NULL && strcmp(end, ".json") == 0;
}

static size_t json_files(void)
{
  char *names = dx_fs_names(dirfd_, ".", is_json, &err);
  const char *name;
  size_t n = 0;

  assert_non_null(names);
  for (name = names; *name != '\0'; name = dx_next_name(name))
    n++;
  free(names);
  return n;
}

static void planted_file_is_renamed_and_not_followed(void **state)
{
  void (*const plants[])(const char *) = {plant_directory, plant_link,
                                          plant_dangling_link, plant_fifo,
                                          plant_file_of_another};
  char id[8], result[32], manifest_file[32];
  size_t i;

  (void)state;
  plant_target();
  complete("src", "0");
  for (i = 0; i < sizeof(plants) / sizeof(plants[0]); i++) {
    (void)snprintf(id, sizeof(id), "%zu", i);
    (void)snprintf(result, sizeof(result), "%s-0.json", id);
    (void)snprintf(manifest_file, sizeof(manifest_file), "%s.job.json", id);
    free(sub->source_id);
    sub->source_id = strdup(id);
    plants[i](result);
    plants[i](manifest_file);
    assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
    assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
    assert_mode(result, 0640);
    assert_mode(manifest_file, 0640);
    assert_content(dirfd_, result, BODY);
  }
  assert_int_equal(entries(), 4 * i - (geteuid() == 0 ? 0 : 2));
  assert_int_equal(json_files(), 2 * i); /* consumers read no other */
  assert_content(job->dirfd, "target", PRECIOUS);
  assert_int_equal(faccessat(job->dirfd, "new", F_OK, 0), -1);
}

/* As on a network file system that maps our user to another one. */
static void delivered_file_may_have_another_owner(void **state)
{
  (void)state;
  if (geteuid() != 0)
    leave_out("as root");
  complete("S", "C");
  assert_int_equal(fchown(dirfd_, 65534, 65534), 0);
  assert_int_equal(fchown(job->dirfd, 65534, 65534), 0);
  assert_int_equal(
      fchownat(job->dirfd, "result-0001-00001.json", 65534, 65534, 0), 0);
  (void)setfsuid(65534);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  (void)setfsuid(0);
  assert_int_equal(entries(), 2);
}

static void file_with_other_content_is_never_replaced(void **state)
{
  (void)state;
  complete("S", "C");
  assert_int_equal(dx_fs_write(dirfd_, "S-C.json", "{}", 2, 0640, false, &err),
                   DX_OK);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_E_TAKEN);
  assert_non_null(strstr(err.text, "'S-C.json'"));
  assert_content(dirfd_, "S-C.json", "{}");
  assert_int_equal(entries(), 1);
  assert_int_equal(renameat(dirfd_, "S-C.json", dirfd_, "elsewhere"), 0);
  assert_int_equal(dx_result_deliver(sub, 0, results, &err), DX_OK);
  assert_content(dirfd_, "S-C.json", BODY);
}

/* A file of this name appears before the next one is written. */
static const char *appearing;

enum dx_code __real_dx_fs_write(int dirfd, const char *name, const void *bytes,
                                size_t len, mode_t mode, enum dx_publish how,
                                struct dx_err *e);
enum dx_code __wrap_dx_fs_write(int dirfd, const char *name, const void *bytes,
                                size_t len, mode_t mode, enum dx_publish how,
                                struct dx_err *e);
enum dx_code __wrap_dx_fs_write(int dirfd, const char *name, const void *bytes,
                                size_t len, mode_t mode, enum dx_publish how,
                                struct dx_err *e)
{
  if (appearing != NULL)
    assert_int_equal(
        __real_dx_fs_write(dirfd, appearing, "{}", 2, 0640, DX_PUBLISH_NEW, e),
        DX_OK);
  appearing = NULL;
  return __real_dx_fs_write(dirfd, name, bytes, len, mode, how, e);
}

static void file_that_appears_meanwhile_is_never_replaced(void **state)
{
  (void)state;
  complete("S", "C");
  appearing = "S.job.json";
  assert_int_not_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  assert_content(dirfd_, "S.job.json", "{}");
  assert_int_equal(entries(), 1);
}

/* Two services may give the same ids. */
static void manifest_of_another_job_stays(void **state)
{
  static const char other[] = "{\"job\":{\"key\":\"another\",\"title\":"
                              "\"of " KEY "\"}}";
  int times;

  (void)state;
  complete("S", "C");
  assert_int_equal(dx_fs_write(dirfd_, "S.job.json", other, sizeof(other) - 1,
                               0640, false, &err),
                   DX_OK);
  for (times = 0; times < 2; times++) {
    assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
    assert_mode(KEY "-1.job.json", 0640);
    assert_content(dirfd_, "S.job.json", other);
    assert_int_equal(entries(), 2);
  }
}

/* Whatever the file is, it is not a manifest of this job. */
static void file_that_is_too_large_for_a_manifest_stays(void **state)
{
  struct stat st;
  int fd;

  (void)state;
  complete("S", "C");
  fd = openat(dirfd_, "S.job.json", O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
  assert_int_equal(ftruncate(fd, DX_JOURNAL_MAX_BYTES + 1), 0);
  assert_int_equal(close(fd), 0);
  assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  assert_int_equal(fstatat(dirfd_, "S.job.json", &st, 0), 0);
  assert_int_equal(st.st_size, DX_JOURNAL_MAX_BYTES + 1);
  assert_int_equal(entries(), 2);
}

static void manifest_is_replaced_by_a_later_one_of_its_job(void **state)
{
  struct stat before, after;
  char *text;

  (void)state;
  complete("S", "C");
  dx_submission_end(sub, DX_EV_FAIL, DX_E_GONE, "gone");
  assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  sub->state = DX_ST_COMPLETE;
  assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  text = dx_manifest_text(sub);
  assert_non_null(text);
  assert_content(dirfd_, "S.job.json", text);
  assert_int_equal(entries(), 1);
  free(text);
  /* For OnResult, it is written only if it is missing. */
  assert_int_equal(fstatat(dirfd_, "S.job.json", &before, 0), 0);
  assert_int_equal(dx_manifest_deliver(sub, results, &text, &err), DX_OK);
  assert_int_equal(fstatat(dirfd_, "S.job.json", &after, 0), 0);
  assert_int_equal(after.st_ino, before.st_ino);
  free(text);
}

/* FHS 3.0: directories of /var/spool may be links. */
static void results_directory_may_be_a_link(void **state)
{
  char link[64];

  (void)state;
  complete("S", "C");
  (void)snprintf(link, sizeof(link), "%s/link", dir);
  assert_int_equal(symlink(results, link), 0);
  assert_int_equal(dx_results_prepare(link, &err), DX_OK);
  assert_int_equal(dx_result_deliver(sub, 0, link, &err), DX_OK);
  assert_int_equal(dx_manifest_deliver(sub, link, NULL, &err), DX_OK);
  assert_int_equal(entries(), 2);
}

/* A consumer has read it: it is not fetched again, perhaps with other bytes. */
static void delivered_results_stay_during_a_retry(void **state)
{
  char b[] = "B", c[] = "C";
  char *ids[] = {b, c};

  (void)state;
  complete("S", "C");
  sub->cases[0].state = DX_CASE_DELIVERED;
  sub->files[0].put = DX_PUT_DONE;
  dx_submission_end(sub, DX_EV_FAIL, DX_E_GONE, "gone");
  assert_int_equal(dx_submission_retry(sub, &err), DX_OK);
  assert_int_equal(dx_submission_set_cases(sub, ids, 2, &err), DX_OK);
  assert_int_equal(sub->case_count, 2);
  assert_int_equal(sub->cases[0].state, DX_CASE_WAITING);
  assert_int_equal(sub->cases[1].state, DX_CASE_DELIVERED);
  assert_int_equal(sub->cases[1].bytes, (int64_t)strlen(BODY));
  assert_int_equal(strlen(sub->cases[1].sha256), 64);
}

static void directory_named_like_an_earlier_manifest_stays(void **state)
{
  (void)state;
  complete("src", "case");
  plant_directory(KEY "-1.job.json");
  assert_int_equal(dx_manifest_deliver(sub, results, NULL, &err), DX_OK);
  assert_mode("src.job.json", 0640);
  assert_int_equal(faccessat(dirfd_, KEY "-1.job.json/inside", F_OK, 0), 0);
}

int main(void)
{
#define WITH_JOB(test) cmocka_unit_test_setup_teardown(test, start, stop)
  const struct CMUnitTest tests[] = {
      WITH_JOB(unusual_ids_do_not_escape_the_directory),
      WITH_JOB(planted_file_is_renamed_and_not_followed),
      WITH_JOB(delivered_file_may_have_another_owner),
      WITH_JOB(file_with_other_content_is_never_replaced),
      WITH_JOB(file_that_appears_meanwhile_is_never_replaced),
      WITH_JOB(manifest_of_another_job_stays),
      WITH_JOB(file_that_is_too_large_for_a_manifest_stays),
      WITH_JOB(manifest_is_replaced_by_a_later_one_of_its_job),
      WITH_JOB(results_directory_may_be_a_link),
      WITH_JOB(delivered_results_stay_during_a_retry),
      WITH_JOB(directory_named_like_an_earlier_manifest_stays),
      WITH_JOB(name_of_any_length_is_valid),
      WITH_JOB(plain_id_is_its_own_name),
      WITH_JOB(crafted_pairs_do_not_collide),
      WITH_JOB(result_has_the_bytes_of_the_response),
      WITH_JOB(modes_do_not_depend_on_the_umask),
      WITH_JOB(delivering_twice_leaves_one_file),
      WITH_JOB(damaged_stored_result_is_not_delivered),
      WITH_JOB(full_disk_leaves_no_file_and_loses_no_result),
      WITH_JOB(missing_directory_is_an_error_and_not_created),
      WITH_JOB(manifest_of_a_success_is_complete),
      WITH_JOB(manifest_delivered_again_has_the_same_bytes),
      WITH_JOB(manifest_of_a_failure_says_why),
      WITH_JOB(times_of_an_earlier_attempt_are_not_in_the_manifest),
      WITH_JOB(canceled_submission_is_final),
      WITH_JOB(no_signed_url_is_in_a_manifest),
  };

  (void)signal(SIGXFSZ, SIG_IGN); /* only the write must fail */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
