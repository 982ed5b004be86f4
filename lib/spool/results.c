/*
 * results.c - names in the results directory, the text of manifests, and the
 * only code that writes there.
 */
#include "lib/spool/results.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/sentence.h"

#define MANIFEST_SCHEMA 2

#define NAME_WHOLE 220 /* bytes of a name that is not truncated */
#define NAME_CUT 80    /* of a truncated one, before the 64 of its SHA-256 */

/* The file name of encoded ids. A longer one is truncated, and gets "~~" and
 * its SHA-256; encoded ids contain no '~'. */
static char *result_file_name(struct dx_buf *name, const char *suffix)
{
  char sum[DX_SHA256_HEX_BYTES];

  if (name->len > NAME_WHOLE) {
    dx_sha256_of(name->data, name->len, sum);
    name->len = NAME_CUT;
    dx_buf_printf(name, "~~%s", sum);
  }
  dx_buf_puts(name, suffix);
  return dx_buf_take(name);
}

static size_t dashes(const char *id)
{
  size_t n = 0;

  for (; *id != '\0'; id++)
    n += *id == '-';
  return n;
}

/*
 * "x-y" and "z" must not give the name of "x" and "y-z". If both ids have the
 * same number of dashes (ULIDs: none, UUIDs: four), the middle one separates
 * them; else a '~' does.
 */
char *dx_result_name(const char *source_id, const char *case_id)
{
  struct dx_buf name = {0};

  dx_buf_percent(&name, source_id, "");
  dx_buf_puts(&name, dashes(source_id) == dashes(case_id) ? "-" : "~");
  dx_buf_percent(&name, case_id, "");
  return result_file_name(&name, ".json");
}

char *dx_manifest_name(const struct dx_submission *sub, const char *source_id)
{
  struct dx_buf name = {0};

  if (source_id != NULL)
    dx_buf_percent(&name, source_id, "");
  else
    dx_buf_printf(&name, "%s-%zu", sub->job->key, sub->number);
  return result_file_name(&name, ".job.json");
}

enum dx_code dx_results_prepare(const char *path, struct dx_err *err)
{
  enum dx_code code = dx_fs_make_dir(AT_FDCWD, path, DX_RESULTS_DIR_MODE, err);

  if (code == DX_OK)
    code = dx_fs_probe(path, err);
  if (code != DX_OK && err->sys_errno == ENOTDIR) {
    err->code = DX_E_EXISTS; /* a file, where a directory should be */
    return dx_fail_advice(
        err, "move or rename the existing file, or fix ResultsDir");
  }
  if (code != DX_E_NOT_FOUND)
    return code;
  err->code = DX_E_IO; /* no file of a print job is missing */
  return dx_fail_advice(
      err, "create the directory that contains it, or fix ResultsDir");
}

/* ---- what is in the way ---- */

/* The owner of the files that this process writes there: on a network file
 * system, it may not be the user of the process. */
static uid_t owner_there(int dirfd)
{
  struct dx_temp temp = DX_TEMP_NONE;
  struct stat st;
  uid_t owner = geteuid();

  if (dx_temp_begin(&temp, dirfd, "owner", NULL) == DX_OK &&
      fstat(temp.fd, &st) == 0)
    owner = st.st_uid;
  dx_temp_discard(&temp);
  return owner;
}

static bool is_our_file(int dirfd, const struct stat *st)
{
  return S_ISREG(st->st_mode) &&
         (st->st_uid == geteuid() || st->st_uid == owner_there(dirfd));
}

static bool has_our_file(int dirfd, const char *name)
{
  struct stat st;

  return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         is_our_file(dirfd, &st);
}

/*
 * Sets *ret_ours if our user has written a file of that name. Anything else of
 * that name, such as a link, a FIFO, a directory, or a file of another user, is
 * from a member of the group: it is not followed or replaced, but renamed to a
 * name that no consumer reads.
 */
static enum dx_code make_room(const struct dx_submission *sub, int dirfd,
                              const char *name, bool *ret_ours,
                              struct dx_err *err)
{
  char random[17], to[NAME_MAX + 1];
  struct stat st;

  *ret_ours = false;
  if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return errno == ENOENT ? DX_OK : dx_fail_sys(err, errno, "stat", name);
  *ret_ours = is_our_file(dirfd, &st);
  if (*ret_ours)
    return DX_OK;
  dx_random_hex(random, 16);
  (void)snprintf(to, sizeof(to), "%.230s.%s", name, random);
  if (renameat(dirfd, name, dirfd, to) < 0)
    return dx_fs_fail(err, errno, "move away", dirfd, name);
  dx_submission_log(
      DX_LOG_WARNING, sub,
      "renamed '%s', which has the name of a result but is another file, to "
      "'%s'",
      name, to);
  return DX_OK;
}

/* ---- results ---- */

static enum dx_code deliver(const struct dx_submission *sub, size_t index,
                            int dirfd, const char *name, struct dx_err *err)
{
  const char *sha256 = sub->cases[index].sha256;
  char stored[DX_FILE_NAME_BYTES];
  bool is_there;
  enum dx_code code = dx_job_open_dir(sub->job, err);
  int from = sub->job->dirfd;

  if (code == DX_OK)
    code = make_room(sub, dirfd, name, &is_there, err);
  if (code != DX_OK)
    return code;
  if (is_there) { /* before a crash, or from a service with the same ids */
    code = dx_fs_copy(dirfd, name, -1, NULL, 0, sha256, err);
    if (code == DX_OK)
      return dx_fs_sync_name(dirfd, name, err);
    if (code == DX_E_DAMAGED)
      code = dx_fail(err, DX_E_TAKEN, 0,
                     "the results directory has another file '%s'; move it, "
                     "and try again",
                     name);
    return code;
  }
  dx_result_file(sub, index, stored);
  code = dx_fs_copy(from, stored, dirfd, name, 0640, sha256, err);
  /* The copy in the job directory may be missing, or the results directory. */
  if (code == DX_E_NOT_FOUND &&
      faccessat(from, stored, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
    code = dx_fail(err, DX_E_DAMAGED, 0, "'%s' is no longer there", stored);
  return code;
}

enum dx_code dx_result_deliver(const struct dx_submission *sub, size_t index,
                               const char *results_dir, struct dx_err *err)
{
  char *name = dx_result_name(sub->source_id, sub->cases[index].id);
  int dirfd = name != NULL ? dx_fs_open_dir(AT_FDCWD, results_dir, err) : -1;
  enum dx_code code = name == NULL ? dx_fail_nomem(err)
                      : dirfd < 0  ? err->code
                                   : deliver(sub, index, dirfd, name, err);

  if (dirfd >= 0)
    (void)close(dirfd);
  free(name);
  return code;
}

/* ---- manifests ---- */

char *dx_manifest_text(const struct dx_submission *sub)
{
  const struct dx_job *job = sub->job;
  bool good = sub->state == DX_ST_COMPLETE || sub->state == DX_ST_EXTRACTED;
  /* A source without cases is extracted when it is complete. */
  int64_t extracted_at =
      sub->extracted_at != 0 ? sub->extracted_at : sub->complete_at;
  struct dx_json_out out = {.pretty = true};
  size_t i;

  dx_json_open(&out, NULL, '{');
  dx_json_put_int(&out, "schema", MANIFEST_SCHEMA);
  dx_json_put_string(&out, "outcome", good ? "extracted" : "failed");
  dx_json_put_bool(&out, "final", good || dx_state_is_settled(sub->state));
  dx_json_put_string(&out, "reason_code",
                     good ? NULL : dx_submission_reason_code(sub));
  dx_json_put_string(&out, "reason", good ? NULL : dx_line(sub->reason));
  dx_json_put_string(&out, "service", dx_submission_section(sub));
  dx_json_put_string(&out, "source_id", sub->source_id);
  dx_json_open(&out, "job", '{');
  dx_json_put_string(&out, "key", job->key);
  dx_json_put_string(&out, "queue", job->queue);
  dx_json_put_string(&out, "id", job->cups_id);
  dx_json_put_string(&out, "uuid", job->uuid);
  dx_json_put_string(&out, "user", job->user);
  dx_json_put_string(&out, "title", job->title);
  dx_json_put_string(&out, "host", job->host);
  dx_json_put_int(&out, "documents", (int64_t)job->document_count);
  dx_json_close(&out, '}');
  dx_json_open(&out, "files", '[');
  for (i = 0; i < sub->file_count; i++) {
    size_t document = sub->files[i].document;
    const struct dx_entry *entry = &job->documents[document].entry;

    dx_json_open(&out, NULL, '{');
    dx_json_put_int(&out, "document", (int64_t)document + 1);
    dx_json_put_string(&out, "name", entry->name);
    dx_json_put_string(&out, "content_type", entry->type);
    dx_json_put_int(&out, "pages", entry->pages);
    dx_json_put_int(&out, "bytes", entry->length);
    dx_json_put_string(&out, "sha256", entry->sha256);
    dx_json_close(&out, '}');
  }
  dx_json_close(&out, ']');
  dx_json_open(&out, "cases", '[');
  for (i = 0; good && i < sub->case_count; i++) {
    const struct dx_case *c = &sub->cases[i];
    char *file = dx_result_name(sub->source_id, c->id);

    out.text.failed |= file == NULL;
    dx_json_open(&out, NULL, '{');
    dx_json_put_string(&out, "case_id", c->id);
    dx_json_put_string(&out, "file", file);
    dx_json_put_int(&out, "bytes", c->bytes);
    dx_json_put_string(&out, "sha256", c->sha256);
    dx_json_put_bool(&out, "empty", c->is_empty);
    dx_json_close(&out, '}');
    free(file);
  }
  dx_json_close(&out, ']');
  dx_json_open(&out, "times", '{');
  dx_json_put_time(&out, "received_at", job->received_at);
  dx_json_put_time(&out, "uploaded_at", sub->uploaded_at);
  dx_json_put_time(&out, "complete_at", sub->complete_at);
  dx_json_put_time(&out, "extracted_at", good ? extracted_at : 0);
  dx_json_put_time(&out, "failed_at", sub->failed_at);
  dx_json_close(&out, '}');
  dx_json_close(&out, '}');
  return dx_buf_take(&out.text);
}

/* Searches for the key in quotes, which JSON cannot contain inside a string. No
 * parser is needed, and the file may contain anything. */
static bool manifest_is_of(const struct dx_job *job, int dirfd,
                           const char *name)
{
  struct dx_buf text = {0};
  char key[DX_KEY_BYTES + 2];
  bool is_of_it;

  (void)snprintf(key, sizeof(key), "\"%s\"", job->key);
  is_of_it =
      dx_fs_read(dirfd, name, DX_JOURNAL_MAX_BYTES, &text, NULL) == DX_OK &&
      strstr(dx_buf_text(&text), key) != NULL;
  dx_buf_release(&text);
  return is_of_it;
}

/* The name of the manifest; NULL when out of memory. If another service has
 * used the same ids, it is that of a manifest without a source, because job
 * keys are unique. */
static char *name_there(const struct dx_submission *sub, int dirfd)
{
  char *name = dx_manifest_name(sub, sub->source_id);

  if (name == NULL || sub->source_id == NULL || !has_our_file(dirfd, name) ||
      manifest_is_of(sub->job, dirfd, name))
    return name;
  free(name);
  return dx_manifest_name(sub, NULL);
}

enum dx_code dx_manifest_deliver(const struct dx_submission *sub,
                                 const char *results_dir, char **ret_path,
                                 struct dx_err *err)
{
  char *text = dx_manifest_text(sub);
  char *sourceless = dx_manifest_name(sub, NULL);
  int dirfd = dx_fs_open_dir(AT_FDCWD, results_dir, err);
  char *name = dirfd >= 0 ? name_there(sub, dirfd) : NULL;
  bool is_there = false, writes;
  enum dx_code code;

  if (text == NULL || name == NULL || sourceless == NULL) {
    code = dirfd < 0 ? err->code : dx_fail_nomem(err);
  } else {
    code = make_room(sub, dirfd, name, &is_there, err);
    writes = !is_there || ret_path == NULL;
    if (code == DX_OK && writes)
      code = dx_fs_write(dirfd, name, text, strlen(text), 0640,
                         is_there ? DX_PUBLISH_OVER : DX_PUBLISH_NEW, err);
    if (code == DX_OK && writes)
      code = dx_fs_sync_name(dirfd, name, err);
    /* The manifest of an earlier attempt without a source is obsolete. Files of
     * other users are not removed. */
    if (code == DX_OK && writes && strcmp(sourceless, name) != 0 &&
        has_our_file(dirfd, sourceless))
      code = dx_fs_remove(dirfd, sourceless, err);
    if (code == DX_OK && ret_path != NULL &&
        asprintf(ret_path, "%s/%s", results_dir, name) < 0) {
      *ret_path = NULL;
      code = dx_fail_nomem(err);
    }
  }
  if (dirfd >= 0)
    (void)close(dirfd);
  free(text);
  free(name);
  free(sourceless);
  return code;
}
