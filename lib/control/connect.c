/*
 * connect.c - connects to docextractd.
 */
#include "lib/control/connect.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/spool/spool.h"

#define DX_CONNECT_MS 5000 /* for docextractd, which runs, to respond */
#define WAIT_MS 20         /* between two tries */

bool dx_docextractd_is_unit(const char *root)
{
  char path[PATH_MAX];
  glob_t units;
  bool is_unit;

  (void)snprintf(path, sizeof(path), "%s/run/systemd/system", root);
  if (access(path, F_OK) < 0)
    return false; /* systemd does not run */
  (void)snprintf(path, sizeof(path),
                 "%s/{etc,run,usr/local/lib,usr/lib,lib}/systemd/system/"
                 "docextractd.service",
                 root);
  is_unit = glob(path, GLOB_BRACE, NULL, &units) == 0;
  if (is_unit)
    globfree(&units);
  return is_unit;
}

/* "restart", because the unit may be running with another spool, if this one
 * was moved or replaced; it also starts a unit that is not. */
const char *dx_docextractd_is_missing(const char *root)
{
  return dx_docextractd_is_unit(root)
             ? DX_NOT_RUNNING "; run: systemctl restart docextractd"
             : DX_NOT_RUNNING "; restart its service, or run: docextractd";
}

/* docextractd listens shortly after it gets the lock, and holds the lock until
 * it has exited. */
enum dx_code dx_docextractd_connect(const struct dx_config *config,
                                    struct dx_channel *ret_channel,
                                    struct dx_err *err)
{
  int64_t until_ms = dx_monotonic_ms() + DX_CONNECT_MS;
  bool is_silent, is_running;
  int dirfd;
  enum dx_code code;

  *ret_channel = (struct dx_channel)DX_CHANNEL_NONE;
  dirfd = dx_fs_open_dir(AT_FDCWD, config->spool_dir, err);
  if (dirfd < 0)
    return err->code;
  for (;;) {
    code = dx_channel_open(dirfd, config->spool_dir, ret_channel, err);
    is_silent = code == DX_E_BUSY || code == DX_E_NOT_FOUND;
    is_running = is_silent && dx_spool_daemon(dirfd) != 0;
    if (!is_running || dx_monotonic_ms() >= until_ms)
      break;
    (void)poll(NULL, 0, WAIT_MS);
  }
  if (is_running)
    code = dx_fail(err, DX_E_BUSY, 0, "docextractd does not respond");
  else if (is_silent)
    code = dx_fail(err, DX_E_CONFIG, 0, "%s", dx_docextractd_is_missing(""));
  (void)close(dirfd);
  return code;
}
