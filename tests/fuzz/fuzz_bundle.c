/*
 * fuzz_bundle.c - a stream of entries as the backend reads it. What was read
 * and is written again reads back the same.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/utf8.h"
#include "lib/print/bundle.h"

#define SEAL "0123456789abcdef0123456789abcdef"

static void check_entry(const struct dx_entry *e)
{
  HOLDS(e->kind < DX_KIND_MISSING && e->reason < DX_REASON_COUNT);
  HOLDS(e->pages >= 0 && e->length >= 0);
  HOLDS(dx_utf8_is_plain(e->name) && dx_utf8_is_plain(e->reason_text));
}

static void check_same(const struct dx_entry *a, const struct dx_entry *b)
{
  HOLDS(a->kind == b->kind && a->pages == b->pages &&
        a->together == b->together && a->length == b->length);
  HOLDS(strcmp(a->type, b->type) == 0 && strcmp(a->origin, b->origin) == 0 &&
        strcmp(a->name, b->name) == 0 && strcmp(a->sha256, b->sha256) == 0);
}

static void write_and_read(const struct dx_entry *entry, const void *content)
{
  int fd = fuzz_file("", 0);
  struct dx_bundle_reader *reader;
  struct dx_entry again;
  bool end = true;

  HOLDS(dx_bundle_write(fd, entry, content, NULL) == DX_OK &&
        lseek(fd, 0, SEEK_SET) == 0);
  reader = dx_bundle_reader_new(fd, NULL, NULL, NULL);
  HOLDS(reader != NULL && dx_bundle_next(reader, &again, &end, NULL) == DX_OK &&
        !end && dx_bundle_content(reader, -1, NULL) == DX_OK);
  check_same(entry, &again);
  dx_bundle_reader_free(&reader);
  (void)close(fd);
}

/* False at the end, or where nothing more can be read. */
static bool read_entry(struct dx_bundle_reader *reader)
{
  struct dx_entry entry;
  struct dx_err err;
  bool end = false;
  void *content;
  size_t len;
  int fd;
  enum dx_code code = dx_bundle_next(reader, &entry, &end, &err);

  if (code != DX_OK || end)
    return false;
  check_entry(&entry);
  fd = fuzz_file("", 0);
  code = dx_bundle_content(reader, fd, &err);
  if (code == DX_OK) {
    HOLDS(lseek(fd, 0, SEEK_END) == (off_t)entry.length);
    content = dx_fs_map(fd, &len);
    write_and_read(&entry, content);
    if (content != NULL)
      (void)munmap(content, len);
  }
  (void)close(fd);
  return code == DX_OK;
}

static void read_all(const uint8_t *data, size_t size, const char *seal)
{
  int fd = fuzz_file(data, size);
  struct dx_bundle_reader *reader = dx_bundle_reader_new(fd, seal, NULL, NULL);

  HOLDS(reader != NULL);
  while (read_entry(reader))
    ;
  dx_bundle_reader_free(&reader);
  (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  read_all(data, size, NULL);
  read_all(data, size, SEAL);
  return 0;
}
