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
#include "lib/print/mime.h"

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

/* The mistake in an entry; NULL if there is none. */
static const char *bundle_check(const struct dx_entry *entry)
{
  if (!dx_utf8_is_plain(entry->type) || !dx_utf8_is_plain(entry->origin) ||
      !dx_utf8_is_plain(entry->reason_text) || !dx_utf8_is_plain(entry->name) ||
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

/* Reading: the stream */

#define AHEAD_BYTES 65536 /* a header, and all of a small document */

struct dx_bundle_reader {
  int fd;
  FILE *stream;     /* reads fd with read_stream() */
  const char *seal; /* of every entry; NULL: not checked */
  dx_bundle_wait *wait;
  void *wait_ctx;
  int place;                     /* of the entry being read, from 1 */
  int64_t left;                  /* bytes of its content still to come */
  char sum[DX_SHA256_HEX_BYTES]; /* their checksum */
  /* The first one is permanent: the start of the next entry is unknown. */
  struct dx_err failure;
  char ahead[AHEAD_BYTES];
  char bytes[DX_STREAM_BYTES];
};

/* A cookie_read_function_t, fopencookie(3). */
static ssize_t read_stream(void *cookie, char *to, size_t len)
{
  struct dx_bundle_reader *reader = cookie;
  ssize_t n;

  do {
    if (reader->wait != NULL)
      reader->failure.code =
          reader->wait(reader->wait_ctx, reader->fd, &reader->failure);
    if (reader->failure.code != DX_OK)
      return -1;
    n = read(reader->fd, to, len);
  } while (n < 0 && errno == EINTR);
  if (n < 0)
    (void)dx_fail_sys(&reader->failure, errno, "read", "bundle");
  return n;
}

struct dx_bundle_reader *dx_bundle_reader_new(int fd, const char *seal,
                                              dx_bundle_wait *wait, void *ctx)
{
  const cookie_io_functions_t functions = {.read = read_stream};
  struct dx_bundle_reader *reader = calloc(1, sizeof(*reader));

  if (reader == NULL)
    return NULL;
  reader->fd = fd;
  reader->seal = seal;
  reader->wait = wait;
  reader->wait_ctx = ctx;
  reader->stream = fopencookie(reader, "r", functions);
  if (reader->stream == NULL)
    dx_bundle_reader_free(&reader);
  else
    (void)setvbuf(reader->stream, reader->ahead, _IOFBF, AHEAD_BYTES);
  (void)fcntl(fd, F_SETPIPE_SZ, DX_PIPE_BYTES); /* if it is a pipe */
  return reader;
}

void dx_bundle_reader_free(struct dx_bundle_reader **reader)
{
  if (*reader != NULL && (*reader)->stream != NULL)
    (void)fclose((*reader)->stream);
  free(*reader);
  *reader = NULL;
}

/* These three record a failure, and return false. */

static bool is_wrong(struct dx_bundle_reader *reader, const char *what)
{
  (void)dx_fail(&reader->failure, DX_E_BUNDLE, 0,
                "document %d arrived damaged (%s): print the job again",
                reader->place, what);
  return false;
}

static bool is_not_filtered(struct dx_bundle_reader *reader)
{
  (void)dx_fail(&reader->failure, DX_E_RAW, 0,
                "document %d did not come through the filter: print without "
                "'-o raw', to a queue with the driver 'Document Extraction "
                "Service'",
                reader->place);
  return false;
}

/* Unless reading failed. */
static bool is_truncated(struct dx_bundle_reader *reader)
{
  if (reader->failure.code == DX_OK)
    (void)dx_fail(&reader->failure, DX_E_BUNDLE, 0,
                  "document %d was truncated on the way: print the job again",
                  reader->place);
  return false;
}

/* The next line, without its newline; sets *ret_end at the end of the stream.
 */
static bool next_line(struct dx_bundle_reader *reader,
                      char line[LINE_MAX_BYTES + 1], bool *ret_end)
{
  size_t len;

  *ret_end = fgets(line, LINE_MAX_BYTES + 1, reader->stream) == NULL;
  if (*ret_end || reader->failure.code != DX_OK)
    return reader->failure.code == DX_OK;
  len = strlen(line);
  if (len > 0 && line[len - 1] == '\n') {
    line[len - 1] = '\0';
    return true;
  }
  return feof(reader->stream) ? is_truncated(reader)
                              : is_wrong(reader, "line too long, or NUL byte");
}

/* Reading: the header */

static bool read_header(struct dx_bundle_reader *reader, const char *text,
                        struct dx_entry *entry)
{
  const char *seal, *wrong = "not a header";
  struct cJSON *json;
  bool ok;

  errno = 0; /* out of memory does not mean damaged */
  json = dx_json_parse(text, strlen(text), NULL);
  if (json == NULL && errno == ENOMEM)
    return dx_fail_nomem(&reader->failure) == DX_OK;
  if (dx_fields_get(json, dx_entry_fields, entry))
    wrong = bundle_check(entry);
  seal = dx_json_string(dx_json_get(json, "seal"));
  if (wrong != NULL)
    ok = is_wrong(reader, wrong);
  else
    ok = reader->seal == NULL ||
         (seal != NULL && strcmp(seal, reader->seal) == 0) ||
         is_not_filtered(reader);
  dx_json_free(&json);
  return ok;
}

static bool read_entry(struct dx_bundle_reader *reader, struct dx_entry *entry,
                       bool *ret_end)
{
  char line[LINE_MAX_BYTES + 1];

  reader->place++;
  if (!next_line(reader, line, ret_end))
    return false;
  if (*ret_end)
    return true;
  if (strncmp(line, BEGIN, BEGIN_LEN) != 0)
    return reader->place > 1 ? is_wrong(reader, "no header")
                             : is_not_filtered(reader);
  return read_header(reader, line + BEGIN_LEN, entry);
}

static enum dx_code outcome_of(const struct dx_bundle_reader *reader,
                               struct dx_err *err)
{
  if (reader->failure.code != DX_OK && err != NULL)
    *err = reader->failure;
  return reader->failure.code;
}

enum dx_code dx_bundle_next(struct dx_bundle_reader *reader,
                            struct dx_entry *ret_entry, bool *ret_end,
                            struct dx_err *err)
{
  struct dx_entry entry = {0};
  bool end;

  /* Skips the content of the last one. */
  if (dx_bundle_content(reader, -1, err) == DX_OK &&
      read_entry(reader, &entry, &end)) {
    *ret_end = end;
    if (!end) {
      reader->left = entry.length;
      memcpy(reader->sum, entry.sha256, sizeof(reader->sum));
      *ret_entry = entry;
    }
  }
  return outcome_of(reader, err);
}

/* Reading: the content */

static bool copy_content(struct dx_bundle_reader *reader, int out_fd,
                         struct dx_sha256 *sha)
{
  int64_t done = 0, begun = 0;

  for (; reader->left > 0; reader->left -= DX_STREAM_BYTES) {
    size_t len =
        reader->left < DX_STREAM_BYTES ? (size_t)reader->left : DX_STREAM_BYTES;

    if (fread(reader->bytes, 1, len, reader->stream) < len)
      return is_truncated(reader);
    dx_sha256_add(sha, reader->bytes, len);
    if (out_fd < 0)
      continue;
    if (dx_fs_write_all(out_fd, reader->bytes, len, "document",
                        &reader->failure) != DX_OK)
      return false;
    done += (int64_t)len;
    if (done - begun < DX_WRITEBACK_BYTES)
      continue;
    /* So that the final fsync is short. Do not wait: that would consume errors
     * that fsync must report. */
    (void)sync_file_range(out_fd, begun, done - begun, SYNC_FILE_RANGE_WRITE);
    begun = done;
  }
  reader->left = 0;
  return true;
}

enum dx_code dx_bundle_content(struct dx_bundle_reader *reader, int out_fd,
                               struct dx_err *err)
{
  char sum[DX_SHA256_HEX_BYTES];
  struct dx_sha256 *sha;

  if (reader->failure.code != DX_OK || reader->left == 0)
    return outcome_of(reader, err);
  sha = dx_sha256_new();
  if (sha == NULL) {
    (void)dx_fail_nomem(&reader->failure);
  } else if (copy_content(reader, out_fd, sha)) {
    dx_sha256_end(sha, sum);
    if (strcmp(sum, reader->sum) != 0)
      (void)is_wrong(reader, "checksum differs");
  }
  dx_sha256_free(&sha);
  return outcome_of(reader, err);
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

bool dx_seal_is_expected(int side_fd)
{
  int type;
  socklen_t len = sizeof(type);

  return getsockopt(side_fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0;
}

bool dx_seal_look(int side_fd, int wait_ms, char seal[DX_SEAL_BYTES])
{
  struct pollfd fd = {.fd = side_fd, .events = POLLIN};
  ssize_t n;

  memset(seal, 0, DX_SEAL_BYTES);
  while (poll(&fd, 1, wait_ms) < 0 && errno == EINTR)
    ;
  n = recv(side_fd, seal, SEAL_LEN, MSG_PEEK | MSG_DONTWAIT);
  /* If cupsd did not start this process, the other end may be anything. */
  if (n == SEAL_LEN && strspn(seal, "0123456789abcdef") == SEAL_LEN)
    return true;
  seal[0] = '\0';
  return false;
}
