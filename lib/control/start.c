/*
 * start.c - connects to docextractd, and starts it on demand.
 */
#include "lib/control/start.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "lib/base/user.h"
#include "lib/spool/spool.h"

#define WAIT_MS 20          /* between two tries */
#define START_AGAIN_MS 1000 /* the previous one may have found it locked */

/* ---- permission to start it ---- */

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

static enum dx_code check_may_start(int dirfd, const char *spool_dir,
                                    struct dx_err *err)
{
  char owner[DX_USER_BYTES];
  struct stat st;

  if (dx_docextractd_is_unit(""))
    return dx_fail(err, DX_E_CONFIG, 0, DX_NOT_RUNNING_UNIT);
  if (fstat(dirfd, &st) < 0)
    return dx_fail_sys(err, errno, "inspect", spool_dir);
  if (st.st_uid == geteuid())
    return DX_OK;
  dx_user_name_of(st.st_uid, owner);
  return dx_fail(err, DX_E_ACCESS, 0,
                 DX_NOT_RUNNING ", and only '%s', who owns SpoolDir "
                                "'%s', can start it",
                 owner, spool_dir);
}

/* ---- starting it ---- */

const char *dx_docextractd_path(void)
{
#ifdef DX_TRUST_ENVIRONMENT /* the tests, in a build directory */
  const char *path = getenv("DX_DOCEXTRACTD");

  if (path != NULL)
    return path;
#endif
  return DX_SBINDIR "/docextractd";
}

static enum dx_code start_docextractd(const char *config_path,
                                      struct dx_err *err)
{
  char path[PATH_MAX], cupsd[PATH_MAX], demand[] = "--on-demand", c[] = "-c";
  char *config = realpath(config_path, NULL);
  char *words[] = {path, demand, c, config, NULL};
  char *variables[] = {NULL, NULL};
  const char *server = dx_user_environment("CUPS_SERVER");
  pid_t pid;
  int e;

  if (config == NULL)
    return dx_fail_sys(err, errno, "open", config_path);
  (void)snprintf(path, sizeof(path), "%s", dx_docextractd_path());
  if (server != NULL) {
    (void)snprintf(cupsd, sizeof(cupsd), "CUPS_SERVER=%s", server);
    variables[0] = cupsd;
  }
  e = dx_process_start(words, variables, -1, &pid);
  free(config);
  return e == 0 ? DX_OK : dx_fail_sys(err, e, "start", path);
}

/* docextractd listens shortly after it gets the lock, and holds the lock until
 * it has exited: another one that is started meanwhile finds it held, and
 * exits. */
enum dx_code dx_docextractd_connect(const struct dx_config *config,
                                    struct dx_channel *ret_channel,
                                    struct dx_err *err)
{
  int64_t until_ms = dx_monotonic_ms() + DX_START_MS, start_ms = 0;
  int dirfd;
  enum dx_code code;

  *ret_channel = (struct dx_channel)DX_CHANNEL_NONE;
  dirfd = dx_fs_open_dir(AT_FDCWD, config->spool_dir, err);
  if (dirfd < 0)
    return err->code;
  for (;;) {
    code = dx_channel_open(dirfd, config->spool_dir, ret_channel, err);
    if (code != DX_E_BUSY && code != DX_E_NOT_FOUND)
      break;
    if (dx_monotonic_ms() >= until_ms) {
      code = dx_fail(err, DX_E_BUSY, 0, "docextractd does not respond%s",
                     start_ms != 0 ? "; see the system log" : "");
      break;
    }
    if (dx_monotonic_ms() >= start_ms && dx_spool_daemon(dirfd) == 0) {
      code = check_may_start(dirfd, config->spool_dir, err);
      if (code == DX_OK)
        code = start_docextractd(config->path, err);
      if (code != DX_OK)
        break;
      start_ms = dx_monotonic_ms() + START_AGAIN_MS;
    }
    (void)poll(NULL, 0, WAIT_MS);
  }
  (void)close(dirfd);
  return code;
}
