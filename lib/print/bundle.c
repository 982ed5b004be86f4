/*
 * bundle.c - the syntax of entries, and their validation.
 *
 * Reader and writer use the same check().
 */
#include "lib/print/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"
#include "lib/base/words.h"
#include "lib/print/mime.h"

#define FIRST_LINE "DOCEXTRACT-BUNDLE 1"
#define LINE_MAX_BYTES 4096
#define LINES_MAX 32

DX_WORDS(reason, DX_REASONS)
DX_BY_WORD(reason)
DX_WORDS(kind, DX_KINDS)
DX_BY_WORD(kind)

const char *dx_reason_text(enum dx_reason reason)
{
#define X(name, word, text) text,
  static const char *const texts[] = {DX_REASONS(X)};
#undef X

  return texts[reason];
}

/* What makes an entry valid */

/* The mistake in a document's own fields; NULL if there is none. */
static const char *check_document(const struct dx_entry *entry)
{
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

/* The mistake in an entry; NULL if there is none. */
static const char *check(const struct dx_entry *entry)
{
  if (!dx_utf8_is_plain(entry->type) || !dx_utf8_is_plain(entry->origin) ||
      !dx_utf8_is_plain(entry->reason_text) || !dx_utf8_is_plain(entry->name) ||
      strchr(entry->name, '/') != NULL)
    return "text that is not plain";
  if (entry->pages < 0)
    return "wrong number of pages";
  if (entry->kind == DX_KIND_DOCUMENT)
    return check_document(entry);
  if (entry->length != 0)
    return "bytes where none belong";
  if ((entry->kind == DX_KIND_REFUSED) != (entry->reason != DX_REASON_NONE))
    return "a reason and a kind that do not match";
  return NULL;
}

/* Writing */

static void put(struct dx_buf *buf, const char *key, const char *value)
{
  if (value[0] != '\0')
    dx_buf_printf(buf, "%s: %s\n", key, value);
}

static void put_header(struct dx_buf *buf, const struct dx_entry *entry)
{
  dx_buf_puts(buf, FIRST_LINE "\n");
  put(buf, "Kind", kind_words[entry->kind]);
  put(buf, "Type", entry->type);
  put(buf, "Origin", entry->origin);
  if (entry->name[0] != '\0') {
    dx_buf_puts(buf, "Name: ");
    dx_buf_percent(buf, entry->name, ".");
    dx_buf_puts(buf, "\n");
  }
  dx_buf_printf(buf, "Pages: %d\n", entry->pages);
  put(buf, "Grouping", entry->together ? "together" : "separate");
  dx_buf_printf(buf, "Length: %lld\n", (long long)entry->length);
  if (entry->kind == DX_KIND_DOCUMENT)
    put(buf, "SHA-256", entry->sha256);
  if (entry->kind == DX_KIND_REFUSED) {
    dx_buf_printf(buf, "Reason: %s ", dx_reason_word(entry->reason));
    dx_buf_percent(buf, entry->reason_text, ".");
    dx_buf_puts(buf, "\n");
  }
  put(buf, "Seal", entry->seal);
  dx_buf_puts(buf, "\n");
}

/* Copies the first `length` bytes of a file, whatever its offset. */
static enum dx_code write_content(int out_fd, int content_fd, int64_t length,
                                  struct dx_err *err)
{
  char bytes[DX_STREAM_BYTES];
  enum dx_code code = DX_OK;
  int64_t at = 0;

  while (code == DX_OK && at < length) {
    int64_t want =
        length - at > DX_STREAM_BYTES ? DX_STREAM_BYTES : length - at;
    ssize_t n = pread(content_fd, bytes, (size_t)want, at);

    if (n < 0 && errno != EINTR)
      return dx_fail_sys(err, errno, "read", "document");
    if (n == 0)
      return dx_fail(err, DX_E_IO, 0,
                     "the document was truncated while it was being written");
    if (n > 0)
      code = dx_fs_write_all(out_fd, bytes, (size_t)n, "bundle", err);
    at += n > 0 ? n : 0;
  }
  return code;
}

enum dx_code dx_bundle_write(int out_fd, const struct dx_entry *entry,
                             int content_fd, struct dx_err *err)
{
  struct dx_buf buf = {0};
  enum dx_code code;
  const char *wrong;

  wrong = entry->kind < DX_KIND_MISSING ? check(entry)
                                        : "a kind that bundles do not contain";
  if (wrong != NULL)
    return dx_fail(err, DX_E_ARG, 0, "entry with %s", wrong);
  put_header(&buf, entry);
  code = dx_buf_ok(&buf)
             ? dx_fs_write_all(out_fd, buf.data, buf.len, "bundle", err)
             : dx_fail_nomem(err);
  dx_buf_release(&buf);
  if (code == DX_OK)
    code = write_content(out_fd, content_fd, entry->length, err);
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

struct dx_bundle_reader *dx_bundle_reader_new(int fd, const char *seal)
{
  const cookie_io_functions_t functions = {.read = read_stream};
  struct dx_bundle_reader *reader = calloc(1, sizeof(*reader));

  if (reader == NULL)
    return NULL;
  reader->fd = fd;
  reader->seal = seal;
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

void dx_bundle_reader_wait(struct dx_bundle_reader *reader,
                           dx_bundle_wait *wait, void *ctx)
{
  reader->wait = wait;
  reader->wait_ctx = ctx;
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

static bool copy_text(char *to, size_t room, const char *value)
{
  return (size_t)snprintf(to, room, "%s", value) < room;
}

static bool read_number(const char *value, int64_t most, int64_t *ret_number)
{
  size_t len = strlen(value);

  if (len == 0 || len > 18 || strspn(value, "0123456789") != len)
    return false;
  *ret_number = strtoll(value, NULL, 10);
  return *ret_number <= most;
}

enum key {
  KIND,
  TYPE,
  ORIGIN,
  NAME,
  PAGES,
  GROUPING,
  LENGTH,
  SHA256,
  REASON,
  SEAL,
  KEY_COUNT
};

static const char keys[KEY_COUNT][12] = {
    "Kind",     "Type",   "Origin",  "Name",   "Pages",
    "Grouping", "Length", "SHA-256", "Reason", "Seal"};

/* A newer filter may use an unknown word; its text is kept. */
static bool set_reason(struct dx_entry *entry, char *value)
{
  char *text = strchr(value, ' ');

  if (text == NULL || text == value)
    return false;
  *text++ = '\0';
  entry->reason = dx_reason_by_word(value);
  if (entry->reason == DX_REASON_COUNT)
    entry->reason = DX_REASON_TROUBLE;
  if (text[0] == '\0')
    return copy_text(entry->reason_text, sizeof(entry->reason_text),
                     dx_reason_text(entry->reason));
  return dx_percent_decode(text) &&
         copy_text(entry->reason_text, sizeof(entry->reason_text), text);
}

static bool set_value(struct dx_entry *entry, enum key key, char *value)
{
  int64_t pages = 0;
  bool ok;

  switch (key) {
  case KIND:
    entry->kind = dx_kind_by_word(value);
    return entry->kind < DX_KIND_MISSING;
  case TYPE:
    return copy_text(entry->type, sizeof(entry->type), value);
  case ORIGIN:
    return copy_text(entry->origin, sizeof(entry->origin), value);
  case NAME:
    return dx_percent_decode(value) &&
           copy_text(entry->name, sizeof(entry->name), value);
  case PAGES:
    ok = read_number(value, INT_MAX, &pages);
    entry->pages = (int)pages;
    return ok;
  case GROUPING:
    entry->together = strcmp(value, "together") == 0;
    return entry->together || strcmp(value, "separate") == 0;
  case LENGTH:
    return read_number(value, INT64_MAX, &entry->length);
  case SHA256:
    return copy_text(entry->sha256, sizeof(entry->sha256), value);
  case REASON:
    return set_reason(entry, value);
  default:
    return copy_text(entry->seal, sizeof(entry->seal), value);
  }
}

/* Reads one "Key: value" line; returns the mistake in it, or NULL. */
static const char *take_line(struct dx_entry *entry, char *line,
                             bool seen[KEY_COUNT])
{
  char *value = strstr(line, ": ");
  int i;

  if (value == NULL || value == line)
    return "not a header line";
  *value = '\0';
  value += 2;
  for (i = 0; i < KEY_COUNT; i++)
    if (strcmp(line, keys[i]) == 0)
      break;
  if (i == KEY_COUNT)
    return NULL;
  if (seen[i])
    return "key given twice";
  seen[i] = true;
  return set_value(entry, (enum key)i, value) ? NULL : keys[i];
}

/* Reads the lines after the first, to the blank one. */
static bool read_keys(struct dx_bundle_reader *reader, struct dx_entry *entry)
{
  bool seen[KEY_COUNT] = {false}, end;
  char line[LINE_MAX_BYTES + 1];
  const char *wrong;
  int lines = 1;

  for (;;) {
    if (!next_line(reader, line, &end))
      return false;
    if (end)
      return is_truncated(reader);
    if (line[0] == '\0')
      break;
    wrong = ++lines <= LINES_MAX ? take_line(entry, line, seen)
                                 : "too many header lines";
    if (wrong != NULL)
      return is_wrong(reader, wrong);
  }
  wrong = !seen[KIND]       ? keys[KIND]
          : !seen[GROUPING] ? keys[GROUPING]
          : !seen[LENGTH]   ? keys[LENGTH]
                            : check(entry);
  return wrong == NULL || is_wrong(reader, wrong);
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
  if (strcmp(line, FIRST_LINE) != 0)
    return reader->place > 1 ? is_wrong(reader, "no header")
                             : is_not_filtered(reader);
  return read_keys(reader, entry) &&
         (reader->seal == NULL || strcmp(entry->seal, reader->seal) == 0 ||
          is_not_filtered(reader));
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
  int64_t done = 0;

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
    dx_fs_begin_writeback(out_fd, done, len);
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
