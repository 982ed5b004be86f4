/*
 * owner.c - whose rights the command runs with. Everything in the spool
 * belongs to the user that backends run as (lib/base/user.h); they could not
 * touch what root left there.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cupsd.h"
#include "lib/base/user.h"

/* The user that nearly every cupsd is built with. */
#define CUPS_DEFAULT_USER "lp"

void cli_user_name(char name[DX_USER_BYTES])
{
  dx_user_name_of(geteuid(), name);
}

static enum dx_code stat_spool(const char *path, struct stat *ret_st,
                               struct dx_err *err)
{
  int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int e = errno;

  if (fd >= 0 && fstat(fd, ret_st) < 0) {
    e = errno;
    (void)close(fd);
    fd = -1;
  }
  if (fd >= 0) {
    (void)close(fd);
    return DX_OK;
  }
  if (e == EACCES)
    return dx_fail(
        err, DX_E_ACCESS, e,
        "no permission to use SpoolDir '%s'; run this command as root", path);
  return dx_fail(err, e == ENOENT ? DX_E_NOT_FOUND : DX_E_IO, e,
                 "cannot open SpoolDir '%s': %s; create the directory and give "
                 "it to the user that backends run as",
                 path, strerror(e));
}

static enum dx_code become(const struct stat *spool, struct dx_err *err)
{
  const struct passwd *entry;

  if (dx_user() != NULL)
    return dx_user_enter(err);
  entry = getpwuid(spool->st_uid);
  return dx_user_become(spool->st_uid,
                        entry != NULL ? entry->pw_gid : spool->st_gid, err);
}

static enum dx_code wrong_owner(const char *spool_dir, const char *owner,
                                const char *backends, struct dx_err *err)
{
  (void)dx_fail(err, DX_E_ACCESS, 0,
                "SpoolDir '%s' belongs to '%s', but backends run as '%s'",
                spool_dir, owner, backends);
  if (dx_user() != NULL)
    return dx_fail_advice(err, "fix it with: docextract chown");
  return dx_fail_advice(err, "fix it with: chown -R %s: '%s'", backends,
                        spool_dir);
}

enum dx_code cli_become_owner(const char *spool_dir, struct dx_err *err)
{
  char name[DX_USER_BYTES];
  bool was_root = geteuid() == 0;
  struct stat st;
  enum dx_code code = stat_spool(spool_dir, &st, err);

  if (code == DX_OK && was_root && (st.st_uid != 0 || dx_user() != NULL))
    code = become(&st, err);
  if (code != DX_OK || st.st_uid == geteuid())
    return code;
  dx_user_name_of(st.st_uid, name);
  if (was_root)
    return wrong_owner(spool_dir, name, dx_user(), err);
  return dx_fail(err, DX_E_ACCESS, 0,
                 "no permission to use SpoolDir '%s'; run this command as root "
                 "or as '%s'",
                 spool_dir, name);
}

/* ---- the user that cupsd runs backends as ---- */

static void read_user(void *ctx, const char *name, const char *value)
{
  if (strcasecmp(name, "User") == 0) /* the last one counts */
    (void)snprintf(ctx, DX_USER_BYTES, "%s", value);
}

enum dx_code cli_check_owner(const char *spool_dir, int cups_files_fd,
                             struct dx_err *err)
{
  char backends[DX_USER_BYTES] = "", owner[DX_USER_BYTES];
  const struct passwd *entry;
  struct stat st;
  enum dx_code code = stat_spool(spool_dir, &st, err);

  if (cups_files_fd < 0)
    return code;
  cupsd_directives(cups_files_fd, read_user, backends);
  if (code != DX_OK || dx_user() != NULL) /* not cupsd's user */
    return code;
  entry = backends[0] != '\0' ? getpwnam(backends) : NULL;
  if (entry != NULL ? entry->pw_uid == st.st_uid : st.st_uid != 0)
    return DX_OK;
  if (entry == NULL) /* even a cupsd of root does not run them as root */
    (void)snprintf(backends, sizeof(backends), "%s", CUPS_DEFAULT_USER);
  dx_user_name_of(st.st_uid, owner);
  return wrong_owner(spool_dir, owner, backends, err);
}
