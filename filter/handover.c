/*
 * handover.c - the file between todocextract-check and todocextract: a
 * refusal, or a PDF behind a refusal with the reason NONE.
 */
#include "filter/handover.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/digest.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"

#define BEGIN "DXREFUSE"
#define BEGIN_BYTES 8

/* Both programs are of one build. */
struct refusal {
  char begin[BEGIN_BYTES];
  enum dx_reason reason;
  int page;
  char why[PDF_WHY_BYTES];
};

#define NAME_BYTES 64
static void handover_name(const char *seal, char name[NAME_BYTES])
{
  char digest[DX_SHA256_HEX_BYTES];

  dx_sha256_of(seal, strlen(seal), digest);
  (void)snprintf(name, NAME_BYTES, "docextract-%.32s", digest);
}

bool handover_begin(struct dx_temp *temp, int dirfd, const char *seal)
{
  char name[NAME_BYTES];

  handover_name(seal, name);
  return dx_temp_begin(temp, dirfd, name, NULL) == DX_OK;
}

bool handover_give(struct dx_temp *temp, enum dx_reason reason,
                   const struct pdf_done *done)
{
  struct refusal refusal = {.begin = BEGIN, .reason = reason};
  bool ok = true;

  if (reason != DX_REASON_NONE) {
    refusal.page = done->page;
    memcpy(refusal.why, done->why, sizeof(refusal.why));
    ok = ftruncate(temp->fd, 0) == 0 &&
         pwrite(temp->fd, &refusal, sizeof(refusal), 0) ==
             (ssize_t)sizeof(refusal);
  }
  ok = ok && dx_temp_publish(temp, 0600, DX_PUBLISH_UNSYNCED, NULL) == DX_OK;
  dx_temp_discard(temp);
  return ok;
}

/* Ghostscript may have written the file (postscript.h), which a document may
 * control. */
static bool refusal_is_sane(struct refusal *refusal)
{
  refusal->why[PDF_WHY_BYTES - 1] = '\0';
  dx_utf8_make_plain(refusal->why);
  return refusal->reason > DX_REASON_NONE &&
         refusal->reason < DX_REASON_COUNT && refusal->page >= 0 &&
         refusal->page <= DX_PAGES_MAX;
}

bool handover_take(int dirfd, const char *seal, enum dx_reason *ret_reason,
                   struct pdf_done *ret_done, int *ret_fd)
{
  struct refusal refusal = {0};
  char name[NAME_BYTES];
  struct stat st;
  int fd;

  *ret_fd = -1;
  handover_name(seal, name);
  fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return false;
  (void)unlinkat(dirfd, name, 0);
  *ret_reason = DX_REASON_TROUBLE;
  *ret_done = (struct pdf_done){0};
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
    if (pread(fd, &refusal, sizeof(refusal), 0) < BEGIN_BYTES ||
        memcmp(refusal.begin, BEGIN, BEGIN_BYTES) != 0) {
      *ret_reason = DX_REASON_NONE;
      *ret_fd = fd;
      return true;
    }
    if (refusal_is_sane(&refusal)) {
      *ret_reason = refusal.reason;
      ret_done->page = refusal.page;
      memcpy(ret_done->why, refusal.why, sizeof(refusal.why));
    }
  }
  (void)close(fd);
  return true;
}
