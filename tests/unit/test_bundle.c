/*
 * test_bundle.c - lib/print/bundle.c: valid and invalid entries; the seal.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/print/bundle.h"

#define SUM_ABC \
  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

#define BEGIN "DOCEXTRACT-BUNDLE 1 "
#define SEALED(seal) BEGIN "{\"seal\":\"" seal "\","
#define HEAD SEALED("")

/* All members, without the braces. */
#define DOCUMENT_ENTRY                                                        \
  "\"kind\":\"document\",\"type\":\"application/pdf\","                       \
  "\"origin\":\"text/plain\",\"name\":\"chart \xC3\xA4.pdf\",\"pages\":3,"    \
  "\"together\":true,\"bytes\":3,\"sha256\":\"" SUM_ABC "\",\"reason\":\"\"," \
  "\"reason_text\":\"\",\"program\":\"\""
#define SHEET_ENTRY                                                 \
  "\"kind\":\"sheet\",\"type\":\"\",\"origin\":\"\",\"name\":\"\"," \
  "\"pages\":0,\"together\":false,\"bytes\":0,\"sha256\":\"\","     \
  "\"reason\":\"\",\"reason_text\":\"\",\"program\":\"\""
#define REFUSED_ENTRY                                                      \
  "\"kind\":\"refused\",\"type\":\"\",\"origin\":\"\",\"name\":\"x.pdf\"," \
  "\"pages\":0,\"together\":false,\"bytes\":0,\"sha256\":\"\","            \
  "\"reason\":\"password\",\"reason_text\":\"it is password-protected\","  \
  "\"program\":\"Scan 2\""

#define DOCUMENT HEAD DOCUMENT_ENTRY "}\nabc"
#define SHEET HEAD SHEET_ENTRY "}\n"
#define REFUSED HEAD REFUSED_ENTRY "}\n"

static const struct dx_entry document = {
    .kind = DX_KIND_DOCUMENT,
    .type = "application/pdf",
    .origin = "text/plain",
    .name = "chart \xC3\xA4.pdf",
    .pages = 3,
    .together = true,
    .length = 3,
    .sha256 = SUM_ABC,
};

/* A file in memory with these bytes, read from its beginning. */
static int file_of(const char *bytes, size_t len)
{
  int fd = memfd_create("test", MFD_CLOEXEC);

  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, len), (ssize_t)len);
  assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
  return fd;
}

static void content_of(int fd, struct dx_buf *buf)
{
  char bytes[4096];
  ssize_t n;

  assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
  while ((n = read(fd, bytes, sizeof(bytes))) > 0)
    dx_buf_add(buf, bytes, (size_t)n);
}

/* Reads all entries with their contents; *ret_count of them were good. */
static enum dx_code read_all(const char *bytes, size_t len, int *ret_count)
{
  int fd = file_of(bytes, len);
  struct dx_bundle_reader *reader = dx_bundle_reader_new(fd, NULL, NULL, NULL);
  struct dx_entry entry;
  enum dx_code code;
  bool end = false;

  *ret_count = 0;
  for (;;) {
    code = dx_bundle_next(reader, &entry, &end, NULL);
    if (code != DX_OK || end)
      break;
    code = dx_bundle_content(reader, -1, NULL);
    if (code != DX_OK)
      break;
    ++*ret_count;
  }
  dx_bundle_reader_free(&reader);
  assert_null(reader);
  (void)close(fd);
  return code;
}

static enum dx_code read_text(const char *text)
{
  int count;

  return read_all(text, strlen(text), &count);
}

static void assert_same(const struct dx_entry *a, const struct dx_entry *b)
{
  assert_int_equal(a->kind, b->kind);
  assert_string_equal(a->type, b->type);
  assert_string_equal(a->origin, b->origin);
  assert_string_equal(a->name, b->name);
  assert_int_equal(a->pages, b->pages);
  assert_int_equal(a->together, b->together);
  assert_int_equal(a->length, b->length);
  assert_string_equal(a->sha256, b->sha256);
  assert_int_equal(a->reason, b->reason);
  assert_string_equal(a->reason_text, b->reason_text);
  assert_string_equal(a->program, b->program);
}

static void entry_is_written_as_documented(void **state)
{
  struct dx_entry sheet = {.kind = DX_KIND_SHEET};
  struct dx_entry refused = {.kind = DX_KIND_REFUSED,
                             .name = "x.pdf",
                             .reason = DX_REASON_PASSWORD,
                             .reason_text = "it is password-protected",
                             .program = "Scan 2"};
  int out = file_of("", 0);
  struct dx_buf buf = {0};

  (void)state;
  assert_int_equal(dx_bundle_write(out, &document, "abcdef", NULL), DX_OK);
  assert_int_equal(dx_bundle_write(out, &sheet, NULL, NULL), DX_OK);
  assert_int_equal(dx_bundle_write(out, &refused, NULL, NULL), DX_OK);
  content_of(out, &buf);
  assert_string_equal(dx_buf_text(&buf), DOCUMENT SHEET REFUSED);
  dx_buf_release(&buf);
  (void)close(out);
}

static void entry_is_read_as_written(void **state)
{
  static const char text[] = DOCUMENT SHEET REFUSED;
  int in = file_of(text, sizeof(text) - 1);
  int out = file_of("", 0);
  struct dx_bundle_reader *reader = dx_bundle_reader_new(in, NULL, NULL, NULL);
  struct dx_entry entry;
  struct dx_buf buf = {0};
  bool end = true;

  (void)state;
  assert_int_equal(dx_bundle_next(reader, &entry, &end, NULL), DX_OK);
  assert_false(end);
  assert_same(&entry, &document);
  assert_int_equal(dx_bundle_content(reader, out, NULL), DX_OK);
  content_of(out, &buf);
  assert_string_equal(dx_buf_text(&buf), "abc");
  assert_int_equal(dx_bundle_next(reader, &entry, &end, NULL), DX_OK);
  assert_int_equal(entry.kind, DX_KIND_SHEET);
  assert_int_equal(dx_bundle_next(reader, &entry, &end, NULL), DX_OK);
  assert_int_equal(entry.kind, DX_KIND_REFUSED);
  assert_int_equal(entry.reason, DX_REASON_PASSWORD);
  assert_string_equal(entry.reason_text, "it is password-protected");
  assert_string_equal(entry.program, "Scan 2");
  assert_int_equal(dx_bundle_next(reader, &entry, &end, NULL), DX_OK);
  assert_true(end);
  dx_buf_release(&buf);
  dx_bundle_reader_free(&reader);
  (void)close(in);
  (void)close(out);
}

static void long_names_and_texts_are_preserved(void **state)
{
  struct dx_entry entry = {.kind = DX_KIND_REFUSED,
                           .reason = DX_REASON_TROUBLE};
  struct dx_entry back;
  struct dx_bundle_reader *reader;
  bool end;
  int fd = file_of("", 0);

  (void)state;
  memset(entry.name, '%', sizeof(entry.name) - 1);
  memset(entry.reason_text, ' ', sizeof(entry.reason_text) - 1);
  assert_int_equal(dx_bundle_write(fd, &entry, NULL, NULL), DX_OK);
  assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
  reader = dx_bundle_reader_new(fd, NULL, NULL, NULL);
  assert_int_equal(dx_bundle_next(reader, &back, &end, NULL), DX_OK);
  assert_same(&back, &entry);
  dx_bundle_reader_free(&reader);
  (void)close(fd);
}

#define LARGE_BYTES 9000001

static void fill_large(char *bytes)
{
  size_t i;

  for (i = 0; i < LARGE_BYTES; i++)
    bytes[i] = (char)(i * 7 + i / 251);
}

/* A bundle with that many bytes, which are the caller's to free. */
static int large_bundle(char **ret_bytes)
{
  char *bytes = malloc(LARGE_BYTES);
  struct dx_entry entry = document;
  int out = file_of("", 0);

  assert_non_null(bytes);
  fill_large(bytes);
  entry.length = LARGE_BYTES;
  dx_sha256_of(bytes, LARGE_BYTES, entry.sha256);
  assert_int_equal(dx_bundle_write(out, &entry, bytes, NULL), DX_OK);
  assert_int_equal(lseek(out, 0, SEEK_SET), 0);
  *ret_bytes = bytes;
  return out;
}

static void content_larger_than_any_buffer_is_preserved(void **state)
{
  char *bytes;
  int out = large_bundle(&bytes), copy = file_of("", 0);
  struct dx_bundle_reader *reader = dx_bundle_reader_new(out, NULL, NULL, NULL);
  struct dx_buf buf = {0};
  struct dx_entry back;
  bool end;

  (void)state;
  assert_int_equal(dx_bundle_next(reader, &back, &end, NULL), DX_OK);
  assert_int_equal(dx_bundle_content(reader, copy, NULL), DX_OK);
  content_of(copy, &buf);
  assert_int_equal(buf.len, LARGE_BYTES);
  assert_memory_equal(buf.data, bytes, LARGE_BYTES);
  assert_int_equal(dx_bundle_next(reader, &back, &end, NULL), DX_OK);
  assert_true(end);
  dx_buf_release(&buf);
  dx_bundle_reader_free(&reader);
  free(bytes);
  (void)close(out);
  (void)close(copy);
}

static void changed_byte_of_large_content_is_detected(void **state)
{
  static const off_t places[] = {500, LARGE_BYTES / 2, LARGE_BYTES - 1};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
    char *bytes, *changed;
    int out = large_bundle(&bytes);
    struct dx_bundle_reader *reader =
        dx_bundle_reader_new(out, NULL, NULL, NULL);
    struct dx_entry back;
    bool end;

    changed = bytes + places[i];
    *changed ^= 1;
    assert_int_equal(pwrite(out, changed, 1,
                            lseek(out, 0, SEEK_END) - LARGE_BYTES + places[i]),
                     1);
    assert_int_equal(lseek(out, 0, SEEK_SET), 0);
    assert_int_equal(dx_bundle_next(reader, &back, &end, NULL), DX_OK);
    assert_int_equal(dx_bundle_content(reader, -1, NULL), DX_E_BUNDLE);
    dx_bundle_reader_free(&reader);
    free(bytes);
    (void)close(out);
  }
}

/* Wherever the stream ends: good entries before, E_BUNDLE after. */
static void truncated_stream_is_detected(void **state)
{
  static const char text[] = DOCUMENT SHEET DOCUMENT;
  size_t first = strlen(DOCUMENT), second = first + strlen(SHEET);
  size_t len;
  int count;

  (void)state;
  for (len = 0; len < sizeof(text); len++) {
    bool whole =
        len == 0 || len == first || len == second || len == sizeof(text) - 1;

    assert_int_equal(read_all(text, len, &count), whole ? DX_OK : DX_E_BUNDLE);
    assert_int_equal(count, (len >= first) + (len >= second) +
                                (len == sizeof(text) - 1));
  }
}

static void changed_content_is_detected(void **state)
{
  char text[] = DOCUMENT;
  size_t i;

  (void)state;
  for (i = 1; i <= 3; i++) {
    text[sizeof(text) - 1 - i] ^= 1;
    assert_int_equal(read_text(text), DX_E_BUNDLE);
    text[sizeof(text) - 1 - i] ^= 1;
  }
  assert_int_equal(read_text(text), DX_OK);
}

/* If a filter is killed, the next entry looks like the rest of its content. */
static void next_entry_is_not_content(void **state)
{
  static const char killed[] =
      HEAD "\"bytes\":100," DOCUMENT_ENTRY "}\nhalf of it";
  char text[sizeof(killed) + sizeof(DOCUMENT)];

  (void)state;
  (void)snprintf(text, sizeof(text), "%s%s", killed, DOCUMENT);
  assert_int_equal(read_text(text), DX_E_BUNDLE);
}

/* The first of two members with the same name counts. */
#define DOC(members) HEAD members "," DOCUMENT_ENTRY "}\nabc"
#define SHT(members) HEAD members "," SHEET_ENTRY "}\n"
#define REF(members) HEAD members "," REFUSED_ENTRY "}\n"

static const struct {
  const char *what;
  const char *text;
  enum dx_code code;
} headers[] = {
    {"a document", DOCUMENT, DX_OK},
    {"unknown members", DOC("\"new\":[{}],\"new\":1"), DX_OK},
    {"blanks",
     "DOCEXTRACT-BUNDLE 1  { \"kind\" : \"sheet\"," SHEET_ENTRY " } \n", DX_OK},
    {"no seal", BEGIN "{" SHEET_ENTRY "}\n", DX_OK},
    {"reason without text", REF("\"reason_text\":\"\""), DX_OK},
    {"a raw PDF", "%PDF-1.4\n", DX_E_RAW},
    {"a raw PDF without lines", "%PDF-1.4", DX_E_BUNDLE},
    {"a newline before", "\n" DOCUMENT, DX_E_RAW},
    {"another version", "DOCEXTRACT-BUNDLE 2 {" SHEET_ENTRY "}\n", DX_E_RAW},
    {"no object", "DOCEXTRACT-BUNDLE 1\n", DX_E_RAW},
    {"an empty object", BEGIN "{}\n", DX_E_BUNDLE},
    {"an array", BEGIN "[]\n", DX_E_BUNDLE},
    {"no JSON", BEGIN "{" SHEET_ENTRY "\n", DX_E_BUNDLE},
    {"two objects", BEGIN "{" SHEET_ENTRY "}{}\n", DX_E_BUNDLE},
    {"no kind", DOC("\"kind\":null"), DX_E_BUNDLE},
    {"unknown kind", SHT("\"kind\":\"thing\""), DX_E_BUNDLE},
    {"missing is for journals", SHT("\"kind\":\"missing\""), DX_E_BUNDLE},
    {"no type", DOC("\"type\":\"\""), DX_E_BUNDLE},
    {"unknown type", DOC("\"type\":\"text/html\""), DX_E_BUNDLE},
    {"a type that is too long", DOC("\"type\":\"" SUM_ABC "\""), DX_E_BUNDLE},
    {"no name", DOC("\"name\":null"), DX_E_BUNDLE},
    {"empty name", DOC("\"name\":\"\""), DX_E_BUNDLE},
    {"a slash", DOC("\"name\":\"a/b.png\""), DX_E_BUNDLE},
    {"a newline in the name", DOC("\"name\":\"a\\nb\""), DX_E_BUNDLE},
    {"no UTF-8", DOC("\"name\":\"a\xFF\""), DX_E_BUNDLE},
    {"half a surrogate", DOC("\"name\":\"a\\ud800\""), DX_E_BUNDLE},
    {"document without bytes", DOC("\"bytes\":0"), DX_E_BUNDLE},
    {"document without pages", DOC("\"pages\":0"), DX_E_BUNDLE},
    {"negative length", SHT("\"bytes\":-1"), DX_E_BUNDLE},
    {"no number", SHT("\"bytes\":\"1\""), DX_E_BUNDLE},
    {"no whole number", DOC("\"bytes\":3.5"), DX_E_BUNDLE},
    {"absurd length", DOC("\"bytes\":99999999999999999999"), DX_E_BUNDLE},
    {"bytes of a sheet", SHT("\"bytes\":3") "abc", DX_E_BUNDLE},
    {"no grouping", SHT("\"together\":null"), DX_E_BUNDLE},
    {"unknown grouping", SHT("\"together\":\"some\""), DX_E_BUNDLE},
    {"refused without reason", REF("\"reason\":\"\""), DX_E_BUNDLE},
    {"unknown reason", REF("\"reason\":\"too-odd\""), DX_E_BUNDLE},
    {"sheet with a reason", SHT("\"reason\":\"damaged\""), DX_E_BUNDLE},
    {"control characters in the reason", REF("\"reason_text\":\"a\\nb\""),
     DX_E_BUNDLE},
    {"capital checksum",
     DOC("\"sha256\":\"BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410"
         "FF61F20015AD\""),
     DX_E_BUNDLE},
};

static void invalid_headers_are_rejected(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
    if (read_text(headers[i].text) != headers[i].code)
      fail_msg("%s", headers[i].what);
}

static void header_with_a_nul_byte_is_rejected(void **state)
{
  static const char text[] = HEAD SHEET_ENTRY "}\0\n";
  int count;

  (void)state;
  assert_int_equal(read_all(text, sizeof(text) - 1, &count), DX_E_BUNDLE);
}

/* A sheet whose header has `len` bytes with its newline. */
static enum dx_code read_with_length(size_t len)
{
  struct dx_buf buf = {0};
  enum dx_code code;

  dx_buf_puts(&buf, HEAD SHEET_ENTRY "}");
  while (buf.len + 1 < len)
    dx_buf_puts(&buf, " ");
  dx_buf_puts(&buf, "\n");
  code = read_text(dx_buf_text(&buf));
  dx_buf_release(&buf);
  return code;
}

static void header_has_limits(void **state)
{
  (void)state;
  assert_int_equal(read_with_length(4096), DX_OK);
  assert_int_equal(read_with_length(4097), DX_E_BUNDLE);
  assert_int_equal(read_with_length(100000), DX_E_BUNDLE);
}

static void unread_content_is_skipped_and_checked(void **state)
{
  char text[] = DOCUMENT SHEET;
  struct dx_bundle_reader *reader;
  struct dx_entry entry;
  bool end;
  int round;

  (void)state;
  for (round = 0; round < 2; round++) {
    int fd = file_of(text, sizeof(text) - 1);

    reader = dx_bundle_reader_new(fd, NULL, NULL, NULL);
    assert_int_equal(dx_bundle_next(reader, &entry, &end, NULL), DX_OK);
    assert_int_equal(dx_bundle_next(reader, &entry, &end, NULL),
                     round == 0 ? DX_OK : DX_E_BUNDLE);
    dx_bundle_reader_free(&reader);
    (void)close(fd);
    text[strlen(DOCUMENT) - 1] ^= 1;
  }
}

static void content_that_cannot_be_stored_is_a_local_error(void **state)
{
  int fd = file_of(DOCUMENT, strlen(DOCUMENT));
  int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  struct dx_bundle_reader *reader = dx_bundle_reader_new(fd, NULL, NULL, NULL);
  struct dx_entry entry;
  struct dx_err err;
  bool end;

  (void)state;
  assert_int_equal(dx_bundle_next(reader, &entry, &end, NULL), DX_OK);
  assert_int_equal(dx_bundle_content(reader, full, &err), DX_E_SPACE);
  assert_int_equal(err.sys_errno, ENOSPC);
  dx_bundle_reader_free(&reader);
  (void)close(full);
  (void)close(fd);
}

/* Writes to a pipe byte by byte, from the hook: the slowest writer possible. */
struct feeder {
  int fd;
  const char *text;
  int calls;
};

static enum dx_code feed(void *ctx, int fd, struct dx_err *err)
{
  struct feeder *feeder = ctx;

  (void)fd;
  (void)err;
  feeder->calls++;
  if (*feeder->text != '\0')
    assert_int_equal(write(feeder->fd, feeder->text++, 1), 1);
  else
    (void)close(feeder->fd);
  return DX_OK;
}

static void slow_writer_is_accepted(void **state)
{
  struct feeder feeder = {-1, DOCUMENT SHEET, 0};
  struct dx_bundle_reader *reader;
  struct dx_entry entry;
  bool end = false;
  int ends[2], count = 0;

  (void)state;
  assert_int_equal(pipe(ends), 0);
  feeder.fd = ends[1];
  reader = dx_bundle_reader_new(ends[0], NULL, feed, &feeder);
  while (dx_bundle_next(reader, &entry, &end, NULL) == DX_OK && !end)
    count++;
  assert_true(end);
  assert_int_equal(count, 2);
  assert_int_equal(feeder.calls, strlen(DOCUMENT SHEET) + 1);
  dx_bundle_reader_free(&reader);
  (void)close(ends[0]);
}

static enum dx_code give_up(void *ctx, int fd, struct dx_err *err)
{
  (void)ctx;
  (void)fd;
  return dx_fail(err, DX_E_STOPPED, 0, "stopped");
}

static void hook_can_stop_reading(void **state)
{
  int fd = file_of(SHEET, strlen(SHEET));
  struct dx_bundle_reader *reader =
      dx_bundle_reader_new(fd, NULL, give_up, NULL);
  struct dx_entry entry;
  bool end;

  (void)state;
  assert_int_equal(dx_bundle_next(reader, &entry, &end, NULL), DX_E_STOPPED);
  dx_bundle_reader_free(&reader);
  (void)close(fd);
}

#define SEAL "0123456789abcdef0123456789abcdef"
#define OTHER "0123456789abcdef0123456789abcde0"
#define SHEET_WITH(seal) SEALED(seal) SHEET_ENTRY "}\n"

/* How many entries a backend whose seal is SEAL accepts. */
static int accepted(const char *text, enum dx_code *ret_code)
{
  int fd = file_of(text, strlen(text));
  struct dx_bundle_reader *reader = dx_bundle_reader_new(fd, SEAL, NULL, NULL);
  struct dx_entry entry;
  bool end = false;
  int count = -1;

  do {
    count++;
    *ret_code = dx_bundle_next(reader, &entry, &end, NULL);
  } while (*ret_code == DX_OK && !end);
  dx_bundle_reader_free(&reader);
  (void)close(fd);
  return count;
}

static void entry_without_the_seal_is_rejected(void **state)
{
  static const struct {
    const char *text;
    int count;
    enum dx_code code;
  } rows[] = {
      {SHEET_WITH(SEAL) SHEET_WITH(SEAL), 2, DX_OK},
      {SHEET_WITH(OTHER), 0, DX_E_RAW},
      {SHEET, 0, DX_E_RAW},
      {SHEET_WITH(SEAL "0"), 0, DX_E_RAW},
      {BEGIN "{" SHEET_ENTRY "}\n", 0, DX_E_RAW},
      {BEGIN "{\"Seal\":\"" SEAL "\"," SHEET_ENTRY "}\n", 0, DX_E_RAW},
      {SHEET_WITH(SEAL) SHEET, 1, DX_E_RAW},
      {SHEET_WITH(SEAL) DOCUMENT SHEET_WITH(SEAL), 1, DX_E_RAW},
  };
  enum dx_code code;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_int_equal(accepted(rows[i].text, &code), rows[i].count);
    assert_int_equal(code, rows[i].code);
  }
}

static void seal_is_written_if_there_is_one(void **state)
{
  struct dx_entry entry = {.kind = DX_KIND_SHEET, .seal = SEAL};
  int out = file_of("", 0);
  struct dx_buf buf = {0};

  (void)state;
  assert_int_equal(dx_bundle_write(out, &entry, NULL, NULL), DX_OK);
  content_of(out, &buf);
  assert_string_equal(dx_buf_text(&buf), SHEET_WITH(SEAL));
  dx_buf_release(&buf);
  (void)close(out);
}

static void every_filter_of_a_job_sees_the_seal(void **state)
{
  char given[DX_SEAL_BYTES], first[DX_SEAL_BYTES], second[DX_SEAL_BYTES];
  int side[2];

  (void)state;
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, side), 0);
  assert_true(dx_seal_give(side[1], given));
  assert_int_equal(strspn(given, "0123456789abcdef"), DX_SEAL_BYTES - 1);
  assert_true(dx_seal_look(side[0], 0, first));
  assert_true(dx_seal_look(side[0], 0, second));
  assert_string_equal(first, given);
  assert_string_equal(second, given);
  (void)close(side[1]); /* the backend has ended */
  assert_true(dx_seal_look(side[0], 0, first));
  (void)close(side[0]);
}

static void seals_differ(void **state)
{
  char one[DX_SEAL_BYTES], two[DX_SEAL_BYTES];
  int side[2];

  (void)state;
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, side), 0);
  assert_true(dx_seal_give(side[1], one));
  assert_true(dx_seal_give(side[1], two));
  assert_string_not_equal(one, two);
  (void)close(side[0]);
  assert_false(dx_seal_give(side[1], two)); /* no SIGPIPE either */
  (void)close(side[1]);
}

static void filter_without_a_backend_has_no_seal(void **state)
{
  char seal[DX_SEAL_BYTES];
  int fd = file_of(SEAL, DX_SEAL_BYTES - 1);
  int side[2];

  (void)state;
  assert_true(dx_seal_look(-1, 0, seal));
  assert_string_equal(seal, "");
  assert_true(dx_seal_look(fd, 0, seal)); /* a file, not a side channel */
  assert_string_equal(seal, "");
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, side), 0);
  assert_false(dx_seal_look(side[0], 1, seal)); /* none is sent */
  assert_int_equal(write(side[1], SEAL, 8), 8);
  assert_false(dx_seal_look(side[0], 0, seal));
  assert_int_equal(write(side[1], "ZZZZZZZZZZZZZZZZZZZZZZZZ", 24), 24);
  assert_false(dx_seal_look(side[0], 0, seal));
  assert_string_equal(seal, "");
  (void)close(side[1]);
  assert_false(dx_seal_look(side[0], 1000000, seal));
  (void)close(side[0]);
  (void)close(fd);
}

static void writer_rejects_entries_that_the_reader_rejects(void **state)
{
  struct dx_entry entry = document;
  int out = file_of("", 0);

  (void)state;
  entry.kind = DX_KIND_MISSING;
  assert_int_equal(dx_bundle_write(out, &entry, NULL, NULL), DX_E_ARG);
  entry = document;
  entry.sha256[0] = '\0';
  assert_int_equal(dx_bundle_write(out, &entry, NULL, NULL), DX_E_ARG);
  entry = document;
  memcpy(entry.origin, "a\nb", 4);
  assert_int_equal(dx_bundle_write(out, &entry, NULL, NULL), DX_E_ARG);
  entry = document;
  entry.pages = 0;
  assert_int_equal(dx_bundle_write(out, &entry, NULL, NULL), DX_E_ARG);
  assert_int_equal(lseek(out, 0, SEEK_END), 0);
  (void)close(out);
}

/* `filter >> file` */
static void entry_is_appended_to_a_file(void **state)
{
  int out = file_of("", 0);
  struct dx_buf buf = {0};

  (void)state;
  assert_int_equal(fcntl(out, F_SETFL, O_APPEND), 0);
  assert_int_equal(dx_bundle_write(out, &document, "abc", NULL), DX_OK);
  content_of(out, &buf);
  assert_string_equal(dx_buf_text(&buf), DOCUMENT);
  dx_buf_release(&buf);
  (void)close(out);
}

static void writer_reports_errors(void **state)
{
  struct dx_err err;
  int ends[2];

  (void)state;
  (void)signal(SIGPIPE, SIG_IGN);
  assert_int_equal(pipe(ends), 0);
  (void)close(ends[0]);
  assert_int_equal(dx_bundle_write(ends[1], &document, "abc", &err), DX_E_IO);
  assert_int_equal(err.sys_errno, EPIPE);
  (void)close(ends[1]);
}

/* They are stored in journals: a change would make old ones unreadable. */
static void words_do_not_change(void **state)
{
  static const char *const reasons[DX_REASON_COUNT] = {"",
                                                       "password",
                                                       "protected",
                                                       "damaged",
                                                       "incomplete",
                                                       "postscript",
                                                       "empty",
                                                       "no-pages",
                                                       "not-drawn",
                                                       "unknown-filter",
                                                       "characters",
                                                       "encoding",
                                                       "printer-codes",
                                                       "type",
                                                       "raw",
                                                       "images",
                                                       "too-large",
                                                       "no-separator",
                                                       "options",
                                                       "too-slow",
                                                       "too-complex",
                                                       "sandbox",
                                                       "trouble"};
  static const char *const kinds[DX_KIND_COUNT] = {"document", "sheet",
                                                   "refused", "missing"};
  int i;

  (void)state;
  for (i = 0; i < DX_REASON_COUNT; i++) {
    assert_string_equal(dx_reason_word((enum dx_reason)i), reasons[i]);
    assert_non_null(dx_reason_text((enum dx_reason)i));
  }
  for (i = 0; i < DX_KIND_COUNT; i++) {
    assert_string_equal(dx_kind_word((enum dx_kind)i), kinds[i]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entry_is_written_as_documented),
      cmocka_unit_test(entry_is_read_as_written),
      cmocka_unit_test(long_names_and_texts_are_preserved),
      cmocka_unit_test(content_larger_than_any_buffer_is_preserved),
      cmocka_unit_test(changed_byte_of_large_content_is_detected),
      cmocka_unit_test(truncated_stream_is_detected),
      cmocka_unit_test(changed_content_is_detected),
      cmocka_unit_test(next_entry_is_not_content),
      cmocka_unit_test(invalid_headers_are_rejected),
      cmocka_unit_test(header_with_a_nul_byte_is_rejected),
      cmocka_unit_test(header_has_limits),
      cmocka_unit_test(unread_content_is_skipped_and_checked),
      cmocka_unit_test(content_that_cannot_be_stored_is_a_local_error),
      cmocka_unit_test(slow_writer_is_accepted),
      cmocka_unit_test(hook_can_stop_reading),
      cmocka_unit_test(entry_without_the_seal_is_rejected),
      cmocka_unit_test(seal_is_written_if_there_is_one),
      cmocka_unit_test(every_filter_of_a_job_sees_the_seal),
      cmocka_unit_test(seals_differ),
      cmocka_unit_test(filter_without_a_backend_has_no_seal),
      cmocka_unit_test(writer_rejects_entries_that_the_reader_rejects),
      cmocka_unit_test(entry_is_appended_to_a_file),
      cmocka_unit_test(writer_reports_errors),
      cmocka_unit_test(words_do_not_change),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
