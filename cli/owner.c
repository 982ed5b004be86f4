/*
 * owner.c - whose rights the command works with. Everything in the spool
 * belongs to the user that backends run as; they could not touch what root left
 * there.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cupsd.h"
#include "lib/base/process.h"

/* The user that nearly every cupsd is built with. */
#define CUPS_DEFAULT_USER "lp"

static void name_of(uid_t uid, char name[CLI_USER_BYTES])
{
  const struct passwd *entry = getpwuid(uid);

  if (entry != NULL && strlen(entry->pw_name) < CLI_USER_BYTES)
    (void)snprintf(name, CLI_USER_BYTES, "%s", entry->pw_name);
  else
    (void)snprintf(name, CLI_USER_BYTES, "user %u", (unsigned)uid);
}

void cli_user_name(char name[CLI_USER_BYTES])
{
  name_of(geteuid(), name);
}

/* Gives up root for good, and checks that. */
static enum dx_code become(uid_t uid, gid_t gid, struct dx_err *err)
{
  if (setgroups(1, &gid) < 0 || setresgid(gid, gid, gid) < 0 ||
      setresuid(uid, uid, uid) < 0)
    return dx_fail(err, DX_E_ACCESS, errno,
                   "cannot become the owner of the spool: %s", strerror(errno));
  if (getuid() != uid || geteuid() != uid || getgid() != gid ||
      getegid() != gid || setuid(0) == 0)
    return dx_fail(err, DX_E_ACCESS, 0,
                   "cannot become the owner of the spool: privileges were not "
                   "dropped");
  dx_process_protect(); /* the change of user has made cores possible */
  return DX_OK;
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

enum dx_code cli_become_owner(const char *spool_dir, struct dx_err *err)
{
  const struct passwd *entry;
  char name[CLI_USER_BYTES];
  struct stat st;
  enum dx_code code = stat_spool(spool_dir, &st, err);

  if (code != DX_OK || st.st_uid == geteuid())
    return code;
  if (geteuid() == 0) {
    entry = getpwuid(st.st_uid);
    return become(st.st_uid, entry != NULL ? entry->pw_gid : st.st_gid, err);
  }
  name_of(st.st_uid, name);
  return dx_fail(err, DX_E_ACCESS, 0,
                 "no permission to use SpoolDir '%s'; run this command as root "
                 "or as '%s'",
                 spool_dir, name);
}

/* ---- the user that cupsd runs backends as ---- */

static void read_user(void *ctx, const char *name, const char *value)
{
  if (strcasecmp(name, "User") == 0) /* the last one counts */
    (void)snprintf(ctx, CLI_USER_BYTES, "%s", value);
}

enum dx_code cli_check_owner(const char *spool_dir, int cups_files_fd,
                             struct dx_err *err)
{
  char backends[CLI_USER_BYTES] = "", owner[CLI_USER_BYTES];
  const struct passwd *entry;
  struct stat st;
  enum dx_code code = stat_spool(spool_dir, &st, err);

  if (cups_files_fd < 0)
    return code;
  cupsd_directives(cups_files_fd, read_user, backends);
  if (code != DX_OK)
    return code;
  entry = backends[0] != '\0' ? getpwnam(backends) : NULL;
  if (entry != NULL ? entry->pw_uid == st.st_uid : st.st_uid != 0)
    return DX_OK;
  if (entry == NULL) /* even a cupsd of root does not run them as root */
    (void)snprintf(backends, sizeof(backends), "%s", CUPS_DEFAULT_USER);
  name_of(st.st_uid, owner);
  return dx_fail(err, DX_E_ACCESS, 0,
                 "SpoolDir '%s' belongs to '%s', but backends run as '%s'; "
                 "fix it with: chown -R %s: '%s'",
                 spool_dir, owner, backends, backends, spool_dir);
}
