/*
 * history.c - reads and replaces the files in SpoolDir/history, and defines the
 * format of a pause. Temporary names are fixed, so that killed processes leave
 * at most one temporary file for each file.
 */
#include "lib/base/history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"

#define PAUSE_VERSION "docextract-pause 1"
#define PAUSE_SUFFIX "_pause"

void dx_history_name(const char *host, int port, const char *suffix,
                     char name[DX_HISTORY_NAME_BYTES])
{
  char *p;

  (void)snprintf(name, DX_HISTORY_NAME_BYTES, "%.180s_%d%s", host, port,
                 suffix);
  for (p = name; *p != '\0'; p++)
    if (*p == '/' || *p == '.' || *p == ':')
      *p = '-';
}

bool dx_history_read(int dirfd, const char *name, const char *version,
                     char text[DX_HISTORY_BYTES + 1])
{
  struct dx_buf content = {0};
  size_t len = strlen(version);
  bool is_known =
      dirfd >= 0 &&
      dx_fs_read(dirfd, name, DX_HISTORY_BYTES, &content, NULL) == DX_OK &&
      strncmp(dx_buf_text(&content), version, len) == 0 &&
      content.data[len] == '\n';

  (void)snprintf(text, DX_HISTORY_BYTES + 1, "%s",
                 is_known ? content.data + len + 1 : "");
  dx_buf_release(&content);
  return is_known;
}

void dx_history_write(int dirfd, const char *name, const char *version,
                      const char *text)
{
  char temp[DX_HISTORY_NAME_BYTES + 1];
  int fd, e;

  if (dirfd < 0)
    return;
  (void)snprintf(temp, sizeof(temp), ".%s", name);
  fd = openat(dirfd, temp,
              O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  e = fd < 0 || dprintf(fd, "%s\n%s", version, text) < 0 ||
              renameat(dirfd, temp, dirfd, name) < 0
          ? errno
          : 0;
  if (fd >= 0)
    (void)close(fd);
  if (e == 0)
    return;
  (void)unlinkat(dirfd, temp, 0);
  dx_log(DX_LOG_WARNING, "cannot write history/%s: %s", name, strerror(e));
}

/* ---- a pause ---- */

void dx_pause_read(int dirfd, const char *host, int port,
                   struct dx_pause *ret_pause)
{
  char name[DX_HISTORY_NAME_BYTES], text[DX_HISTORY_BYTES + 1];
  char ours[DX_BOOT_ID_BYTES], boot_id[DX_BOOT_ID_BYTES];

  dx_history_name(host, port, PAUSE_SUFFIX, name);
  dx_boot_id(ours);
  if (!dx_history_read(dirfd, name, PAUSE_VERSION, text) ||
      sscanf(text, "%36s %" SCNd64 " %" SCNd64, boot_id, &ret_pause->until_ms,
             &ret_pause->down_ms) != 3 ||
      strcmp(boot_id, ours) != 0 ||
      /* dx_pause_write() would not have written these */
      ret_pause->until_ms < 0 || ret_pause->down_ms < 0 ||
      ret_pause->until_ms > dx_monotonic_ms() + DX_RETRY_AFTER_MAX_MS ||
      ret_pause->down_ms > DX_DOWN_MAX_MS)
    memset(ret_pause, 0, sizeof(*ret_pause));
}

void dx_pause_write(int dirfd, const char *host, int port,
                    const struct dx_pause *pause)
{
  char name[DX_HISTORY_NAME_BYTES], boot_id[DX_BOOT_ID_BYTES], text[128];

  dx_history_name(host, port, PAUSE_SUFFIX, name);
  dx_boot_id(boot_id);
  (void)snprintf(text, sizeof(text), "%s %" PRId64 " %" PRId64 "\n", boot_id,
                 pause->until_ms, pause->down_ms);
  dx_history_write(dirfd, name, PAUSE_VERSION, text);
}
