/*
 * bundle.c - the syntax of entries, and their validation, for reader and
 * writer; the seal on the side channel.
 */
#include "lib/print/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"
#include "lib/base/words.h"

#define BEGIN "DOCEXTRACT-BUNDLE 1 "
#define BEGIN_LEN (sizeof(BEGIN) - 1)
#define LINE_MAX_BYTES 4096
#define DX_WRITEBACK_BYTES 8388608 /* passed to the disk at once */

DX_WORDS(reason, DX_REASONS)
DX_WORDS(kind, DX_KINDS)

const struct dx_field dx_entry_fields[] = {
    DX_FIELD_WORDS(dx_entry, kind_words, "kind", kind),
    DX_FIELD(dx_entry, CHARS, "type", type),
    DX_FIELD(dx_entry, CHARS, "origin", origin),
    DX_FIELD(dx_entry, CHARS, "name", name),
    DX_FIELD(dx_entry, COUNT, "pages", pages),
    DX_FIELD(dx_entry, FLAG, "together", together),
    DX_FIELD(dx_entry, COUNT, "bytes", length),
    DX_FIELD(dx_entry, CHARS, "sha256", sha256),
    DX_FIELD_WORDS(dx_entry, reason_words, "reason", reason),
    DX_FIELD(dx_entry, CHARS, "reason_text", reason_text),
    DX_FIELDS_END};

const char *dx_reason_text(enum dx_reason reason)
{
  static const char *const texts[] = {DX_REASONS(DX_TEXT_OF_ROW)};

  return texts[reason];
}

void dx_entry_why(const struct dx_entry *entry, char text[DX_WHY_BYTES])
{
  bool is_known = entry->program[0] != '\0';

  (void)snprintf(text, DX_WHY_BYTES, is_known ? "%s (made by %s)" : "%s",
                 entry->reason_text[0] != '\0' ? entry->reason_text
                                               : dx_reason_text(entry->reason),
                 entry->program);
}

/* The mistake in an entry; NULL if there is none. */
static const char *bundle_check(const struct dx_entry *entry)
{
  if (!dx_utf8_is_plain(entry->type) || !dx_utf8_is_plain(entry->origin) ||
      !dx_utf8_is_plain(entry->reason_text) ||
      !dx_utf8_is_plain(entry->program) || !dx_utf8_is_plain(entry->name) ||
      strchr(entry->name, '/') != NULL)
    return "a character that is not permitted";
  if (entry->kind == DX_KIND_MISSING)
    return "an unknown kind";
  if (entry->kind != DX_KIND_DOCUMENT) {
    if (entry->length != 0)
      return "unexpected bytes";
    if ((entry->kind == DX_KIND_REFUSED) != (entry->reason != DX_REASON_NONE))
      return "a reason that does not match its kind";
    return NULL;
  }
  if (strcmp(entry->type, DX_MIME_PDF) != 0 &&
      strcmp(entry->type, DX_MIME_JPEG) != 0 &&
      strcmp(entry->type, DX_MIME_PNG) != 0)
    return "unknown type";
  if (entry->name[0] == '\0')
    return "no name";
  if (entry->pages < 1)
    return "no pages";
  if (entry->length < 1)
    return "no length";
  if (strlen(entry->sha256) != DX_SHA256_HEX_BYTES - 1 ||
      strspn(entry->sha256, "0123456789abcdef") != DX_SHA256_HEX_BYTES - 1)
    return "no checksum";
  return NULL;
}

/* Writing */

enum dx_code dx_bundle_write(int out_fd, const struct dx_entry *entry,
                             const void *content, struct dx_err *err)
{
  struct dx_json_out header = {0};
  enum dx_code code;
  const char *wrong = bundle_check(entry);

  if (wrong != NULL)
    return dx_fail(err, DX_E_ARG, 0, "entry with %s", wrong);
  dx_json_open(&header, NULL, '{');
  dx_json_put_string(&header, "seal", entry->seal);
  dx_fields_put(&header, dx_entry_fields, entry);
  dx_json_put_string(&header, "program", entry->program);
  dx_json_close(&header, '}');
  dx_buf_puts(&header.text, "\n");
  code = dx_buf_ok(&header.text)
             ? dx_fs_write_all(out_fd, BEGIN, BEGIN_LEN, "bundle", err)
             : dx_fail_nomem(err);
  if (code == DX_OK)
    code = dx_fs_write_all(out_fd, header.text.data, header.text.len, "bundle",
                           err);
  dx_buf_release(&header.text);
  if (code == DX_OK)
    code =
        dx_fs_write_all(out_fd, content, (size_t)entry->length, "bundle", err);
  return code;
}

/* Reading */

struct dx_bundle_reader {
  int fd;
  const char *seal; /* of every entry; NULL: not checked */
  dx_bundle_wait *wait;
  void *wait_ctx;
  int place;                     /* of the entry being read, from 1 */
  int64_t left;                  /* bytes of its content still to come */
  char sum[DX_SHA256_HEX_BYTES]; /* their checksum */
  size_t at, end;                /* bytes that were read, but not used yet */
  char bytes[DX_STREAM_BYTES];
};

struct dx_bundle_reader *dx_bundle_reader_new(int fd, const char *seal,
                                              dx_bundle_wait *wait, void *ctx)
{
  struct dx_bundle_reader *reader = calloc(1, sizeof(*reader));

  if (reader == NULL)
    return NULL;
  reader->fd = fd;
  reader->seal = seal;
  reader->wait = wait;
  reader->wait_ctx = ctx;
  (void)fcntl(fd, F_SETPIPE_SZ, DX_PIPE_BYTES); /* if it is a pipe */
  return reader;
}

void dx_bundle_reader_free(struct dx_bundle_reader **reader)
{
  free(*reader);
  *reader = NULL;
}

static enum dx_code bundle_wrong(const struct dx_bundle_reader *reader,
                                 const char *what, struct dx_err *err)
{
  return dx_fail(err, DX_E_BUNDLE, 0,
                 "document %d arrived damaged (%s): print the job again",
                 reader->place, what);
}

static enum dx_code bundle_truncated(const struct dx_bundle_reader *reader,
                                     struct dx_err *err)
{
  return dx_fail(err, DX_E_BUNDLE, 0,
                 "document %d was truncated: print the job again",
                 reader->place);
}

static enum dx_code bundle_not_filtered(const struct dx_bundle_reader *reader,
                                        struct dx_err *err)
{
  return dx_fail(err, DX_E_RAW, 0,
                 "document %d did not come through todocextract",
                 reader->place);
}

/* Reads more; sets *ret_end if there is no more. */
static enum dx_code bundle_fill(struct dx_bundle_reader *reader, bool *ret_end,
                                struct dx_err *err)
{
  enum dx_code code = DX_OK;
  ssize_t n;

  reader->end -= reader->at;
  memmove(reader->bytes, reader->bytes + reader->at, reader->end);
  reader->at = 0;
  do {
    if (reader->wait != NULL)
      code = reader->wait(reader->wait_ctx, reader->fd, err);
    if (code != DX_OK)
      return code;
    n = read(reader->fd, reader->bytes + reader->end,
             sizeof(reader->bytes) - reader->end);
  } while (n < 0 && errno == EINTR);
  if (n < 0)
    return dx_fail_sys(err, errno, "read", "bundle");
  reader->end += (size_t)n;
  *ret_end = n == 0;
  return DX_OK;
}

static enum dx_code bundle_read_header(const struct dx_bundle_reader *reader,
                                       const char *line,
                                       struct dx_entry *ret_entry,
                                       struct dx_err *err)
{
  const char *seal, *program, *wrong = "not a header";
  enum dx_code code = DX_OK;
  struct cJSON *json;

  if (strncmp(line, BEGIN, BEGIN_LEN) != 0)
    return reader->place > 1 ? bundle_wrong(reader, "no header", err)
                             : bundle_not_filtered(reader, err);
  line += BEGIN_LEN;
  errno = 0; /* out of memory does not mean damaged */
  json = dx_json_parse(line, strlen(line), NULL);
  if (json == NULL && errno == ENOMEM)
    return dx_fail_nomem(err);
  program = dx_json_string(dx_json_get(json, "program"));
  if (program != NULL) /* 1.0 has none */
    dx_utf8_copy(ret_entry->program, sizeof(ret_entry->program), program);
  if (dx_fields_get(json, dx_entry_fields, ret_entry))
    wrong = bundle_check(ret_entry);
  seal = dx_json_string(dx_json_get(json, "seal"));
  if (wrong != NULL)
    code = bundle_wrong(reader, wrong, err);
  else if (reader->seal != NULL &&
           (seal == NULL || strcmp(seal, reader->seal) != 0))
    code = bundle_not_filtered(reader, err);
  dx_json_free(&json);
  return code;
}

enum dx_code dx_bundle_next(struct dx_bundle_reader *reader,
                            struct dx_entry *ret_entry, bool *ret_end,
                            struct dx_err *err)
{
  /* Skips the content of the last one. */
  enum dx_code code = dx_bundle_content(reader, -1, err);
  char *line = reader->bytes, *newline = NULL;
  struct dx_entry entry = {0};
  bool ended = false;

  reader->place++;
  while (code == DX_OK && newline == NULL && !ended) {
    line = reader->bytes + reader->at;
    newline = memchr(line, '\n', reader->end - reader->at);
    if (newline == NULL && reader->end - reader->at >= LINE_MAX_BYTES)
      break;
    if (newline == NULL)
      code = bundle_fill(reader, &ended, err);
  }
  if (code != DX_OK)
    return code;
  *ret_end = ended && reader->at == reader->end;
  if (*ret_end)
    return DX_OK;
  if (ended)
    return bundle_truncated(reader, err);
  if (newline == NULL || newline - line >= LINE_MAX_BYTES ||
      memchr(line, '\0', (size_t)(newline - line)) != NULL)
    return bundle_wrong(reader, "line too long, or NUL byte", err);
  *newline = '\0';
  reader->at += (size_t)(newline + 1 - line);
  code = bundle_read_header(reader, line, &entry, err);
  if (code != DX_OK)
    return code;
  reader->left = entry.length;
  memcpy(reader->sum, entry.sha256, sizeof(reader->sum));
  *ret_entry = entry;
  return DX_OK;
}

enum dx_code dx_bundle_content(struct dx_bundle_reader *reader, int out_fd,
                               struct dx_err *err)
{
  struct dx_sha256 *sha = reader->left > 0 ? dx_sha256_new() : NULL;
  char sum[DX_SHA256_HEX_BYTES];
  int64_t done = 0, begun = 0;
  enum dx_code code = DX_OK;
  bool ended = false;

  if (reader->left == 0)
    return DX_OK;
  if (sha == NULL)
    return dx_fail_nomem(err);
  while (code == DX_OK && reader->left > 0) {
    const char *bytes = reader->bytes + reader->at;
    size_t len = reader->end - reader->at;

    if (len == 0) {
      code = bundle_fill(reader, &ended, err);
      if (code == DX_OK && ended)
        code = bundle_truncated(reader, err);
      continue;
    }
    if ((int64_t)len > reader->left)
      len = (size_t)reader->left;
    dx_sha256_add(sha, bytes, len);
    if (out_fd >= 0)
      code = dx_fs_write_all(out_fd, bytes, len, "document", err);
    reader->at += len;
    reader->left -= (int64_t)len;
    done += (int64_t)len;
    if (out_fd >= 0 && done - begun >= DX_WRITEBACK_BYTES) {
      /* So that the final fsync is short. Do not wait: that would consume
       * errors that fsync must report. */
      (void)sync_file_range(out_fd, begun, done - begun, SYNC_FILE_RANGE_WRITE);
      begun = done;
    }
  }
  if (code == DX_OK) {
    dx_sha256_end(sha, sum);
    if (strcmp(sum, reader->sum) != 0)
      code = bundle_wrong(reader, "checksum differs", err);
  }
  dx_sha256_free(&sha);
  return code;
}

/* The seal */

#define SEAL_LEN (DX_SEAL_BYTES - 1)

bool dx_seal_give(int side_fd, char seal[DX_SEAL_BYTES])
{
  dx_random_hex(seal, SEAL_LEN);
  return send(side_fd, seal, SEAL_LEN, MSG_NOSIGNAL | MSG_DONTWAIT) == SEAL_LEN;
}

void dx_seal_refuse(int side_fd)
{
  char no[SEAL_LEN];

  memset(no, '-', SEAL_LEN);
  (void)!send(side_fd, no, SEAL_LEN, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool dx_seal_look(int side_fd, int wait_ms, char seal[DX_SEAL_BYTES])
{
  struct pollfd fd = {.fd = side_fd, .events = POLLIN};
  ssize_t n;

  memset(seal, 0, DX_SEAL_BYTES);
  while (poll(&fd, 1, wait_ms) < 0 && errno == EINTR)
    ;
  n = recv(side_fd, seal, SEAL_LEN, MSG_PEEK | MSG_DONTWAIT);
  if (n < 0 && (errno == EBADF || errno == ENOTSOCK))
    return true;
  /* If cupsd did not start this process, the other end may be anything. */
  if (strspn(seal, "0123456789abcdef") == SEAL_LEN)
    return true;
  seal[0] = '\0';
  return false;
}
