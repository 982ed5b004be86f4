/*
 * history.c - reads and replaces the files in SpoolDir/history, and defines the
 * format of a pause.
 */
#include "lib/base/history.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"

#define PAUSE_VERSION "docextract-pause 3\n"
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
                     void *ret_value, size_t size)
{
  struct dx_buf content = {0};
  size_t len = strlen(version);
  bool is_known =
      dirfd >= 0 &&
      dx_fs_read(dirfd, name, len + size, &content, NULL) == DX_OK &&
      content.len == len + size && memcmp(content.data, version, len) == 0;

  if (is_known)
    memcpy(ret_value, content.data + len, size);
  else
    memset(ret_value, 0, size);
  dx_buf_release(&content);
  return is_known;
}

void dx_history_write(int dirfd, const char *name, const char *version,
                      const void *value, size_t size)
{
  struct dx_buf content = {0};
  struct dx_err err;
  enum dx_code code;

  if (dirfd < 0)
    return;
  dx_buf_puts(&content, version);
  dx_buf_add(&content, value, size);
  code = dx_buf_ok(&content)
             ? dx_fs_write(dirfd, name, content.data, content.len, 0600,
                           DX_PUBLISH_UNSYNCED, &err)
             : dx_fail_nomem(&err);
  dx_buf_release(&content);
  if (code != DX_OK)
    dx_log(DX_LOG_WARNING, "%s", err.text);
}

/* ---- a pause ---- */

struct pause_file {
  char boot_id[DX_BOOT_ID_BYTES + 3]; /* without padding after it */
  struct dx_pause pause;
};

void dx_pause_read(int dirfd, const char *host, int port,
                   struct dx_pause *ret_pause)
{
  char name[DX_HISTORY_NAME_BYTES], boot_id[DX_BOOT_ID_BYTES];
  struct pause_file file;

  dx_history_name(host, port, PAUSE_SUFFIX, name);
  dx_boot_id(boot_id);
  *ret_pause = (struct dx_pause){0};
  if (dx_history_read(dirfd, name, PAUSE_VERSION, &file, sizeof(file)) &&
      memcmp(file.boot_id, boot_id, strlen(boot_id) + 1) == 0 &&
      /* dx_pause_write() would not have written others */
      file.pause.until_ms >= 0 &&
      file.pause.until_ms <= dx_monotonic_ms() + DX_RETRY_AFTER_MAX_MS &&
      (file.pause.is_down == 0 || file.pause.is_down == 1))
    *ret_pause = file.pause;
}

void dx_pause_write(int dirfd, const char *host, int port,
                    const struct dx_pause *pause)
{
  char name[DX_HISTORY_NAME_BYTES];
  struct pause_file file = {.pause = *pause};

  dx_history_name(host, port, PAUSE_SUFFIX, name);
  dx_boot_id(file.boot_id);
  dx_history_write(dirfd, name, PAUSE_VERSION, &file, sizeof(file));
}
