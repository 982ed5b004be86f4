/*
 * tail.c - finds the last cross-reference section of a PDF and points to it.
 *
 * Any part of a document after that section is a newer version that was
 * truncated, and is not repaired.
 */
#include "filter/tail.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"

#define HEADER_WITHIN 1024 /* bytes before "%PDF-" */
#define SEEN_BYTES 2048    /* qpdf looks for the end in fewer */
#define END_BYTES 64       /* of "startxref", a number and "%%EOF" */

struct text {
  const char *bytes;
  size_t len;
};

static size_t find_last(struct text t, const char *word)
{
  size_t len = strlen(word), at = t.len >= len ? t.len - len + 1 : 0;

  while (at-- > 0)
    if (t.bytes[at] == word[0] && memcmp(t.bytes + at, word, len) == 0)
      return at;
  return t.len;
}

static struct text from(struct text t, size_t at)
{
  return (struct text){t.bytes + at, t.len - at};
}

/* Without trailing zeros and blanks. */
static struct text without_padding(struct text t)
{
  while (t.len > 0 && (t.bytes[t.len - 1] == '\0' ||
                       isspace((unsigned char)t.bytes[t.len - 1])))
    t.len--;
  return t;
}

/* The offset in a complete end; -1 if it is not complete. */
static long long stated_offset(struct text t)
{
  char end[END_BYTES] = "";
  size_t at = find_last(t, "startxref");
  long long offset;
  int len = 0;

  if (at == t.len || t.len - at >= sizeof(end))
    return -1;
  memcpy(end, t.bytes + at, t.len - at);
  return sscanf(end, "startxref %lld %%%%EOF%n", &offset, &len) == 1 &&
                 (size_t)len == t.len - at
             ? offset
             : -1;
}

static bool is_table(struct text t)
{
  size_t i;

  for (i = strlen("xref"); i < t.len; i++)
    if (strchr("0123456789 fn\r\n", t.bytes[i]) == NULL)
      break;
  return t.len - i > strlen("trailer") &&
         memcmp(t.bytes + i, "trailer", strlen("trailer")) == 0;
}

/* The offset of the last table, if nothing but its trailer follows it; -1 if
 * not. */
static long long last_table(struct text t)
{
  size_t at, header;
  const char *start = memmem(
      t.bytes, t.len < HEADER_WITHIN ? t.len : HEADER_WITHIN, "%PDF-", 5);
  struct text rest;

  header = start != NULL ? (size_t)(start - t.bytes) : 0;
  at = find_last(t, "\nxref");
  if (at == t.len)
    at = find_last(t, "\rxref");
  if (at == t.len || at < header || !is_table(from(t, at + 1)))
    return -1;
  rest = from(t, at + 1);
  at = find_last(rest, ">>");
  if (at == rest.len || rest.len - at > END_BYTES ||
      memmem(rest.bytes, rest.len, "obj", 3) != NULL)
    return -1;
  return rest.bytes - t.bytes - (long long)header;
}

bool tail_is_cut(int fd)
{
  char bytes[SEEN_BYTES];
  struct stat st;
  off_t start;
  struct text t = {bytes, 0};
  ssize_t n;

  if (fstat(fd, &st) < 0)
    return false;
  start = st.st_size > SEEN_BYTES ? st.st_size - SEEN_BYTES : 0;
  n = pread(fd, bytes, sizeof(bytes), start);
  t.len = n > 0 ? (size_t)n : 0;
  t = from(t, find_last(t, "%%EOF"));
  return memmem(t.bytes, t.len, " obj", 4) != NULL;
}

static bool write_copy(struct text t, long long offset, int fd)
{
  char end[END_BYTES];
  int len = snprintf(end, sizeof(end), "\nstartxref\n%lld\n%%%%EOF\n", offset);

  return dx_fs_write_all(fd, t.bytes, t.len, "document", NULL) == DX_OK &&
         dx_fs_write_all(fd, end, (size_t)len, "document", NULL) == DX_OK;
}

bool tail_repair(int fd, int copy_fd)
{
  struct stat st;
  struct text whole, t;
  long long offset;
  void *map;
  bool repaired = false;

  if (fstat(fd, &st) < 0 || st.st_size == 0)
    return false;
  map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED)
    return false;
  whole = (struct text){map, (size_t)st.st_size};
  t = without_padding(whole);
  offset = stated_offset(t);
  if (offset < 0 || t.len == whole.len)
    offset = last_table(t);
  if (offset >= 0)
    repaired = write_copy(t, offset, copy_fd);
  (void)munmap(map, whole.len);
  return repaired;
}
