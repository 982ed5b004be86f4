/*
 * user.c - changes to the user that owns the spool.
 */
#include "lib/base/user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/process.h"

static bool was_root; /* before dx_user_become() */

const char *dx_user(void)
{
#ifdef DX_USER
  return DX_USER;
#else
  return NULL;
#endif
}

enum dx_code dx_user_become(uid_t uid, gid_t gid, const char *name,
                            struct dx_err *err)
{
  if ((name != NULL ? initgroups(name, gid) : setgroups(1, &gid)) < 0 ||
      setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
    return dx_fail(err, DX_E_ACCESS, errno, "cannot drop root privileges: %s",
                   strerror(errno));
  if (uid == 0 || getuid() != uid || geteuid() != uid || getgid() != gid ||
      getegid() != gid || setuid(0) == 0)
    return dx_fail(err, DX_E_ACCESS, 0, "root privileges were not dropped");
  was_root = true;
  dx_process_protect(); /* the change of user has enabled core dumps */
  return DX_OK;
}

enum dx_code dx_user_enter(struct dx_err *err)
{
  const char *name = dx_user();
  const struct passwd *entry;
  enum dx_code code;

  if (name == NULL || geteuid() != 0)
    return DX_OK;
  entry = getpwnam(name);
  if (entry != NULL)
    return dx_user_become(entry->pw_uid, entry->pw_gid, name, err);
  code = dx_user_become(DX_NOBODY, DX_NOBODY, NULL, err);
  if (code != DX_OK)
    return code;
  return dx_fail(err, DX_E_ACCESS, 0,
                 "there is no user '%s'; create it with: adduser --system "
                 "--group --no-create-home %s",
                 name, name);
}

const char *dx_user_environment(const char *name)
{
#ifdef DX_TRUST_ENVIRONMENT /* the tests, which root may run */
  return getenv(name);
#else
  return geteuid() != 0 && !was_root ? secure_getenv(name) : NULL;
#endif
}

bool dx_user_is_trusted(uid_t uid)
{
  const struct passwd *entry;

  if (uid == 0 || uid == geteuid())
    return true;
  entry = dx_user() != NULL ? getpwnam(dx_user()) : NULL;
  return entry != NULL && entry->pw_uid == uid;
}

void dx_user_name_of(uid_t uid, char name[DX_USER_BYTES])
{
  const struct passwd *entry = getpwuid(uid);

  if (entry != NULL && strlen(entry->pw_name) < DX_USER_BYTES)
    (void)snprintf(name, DX_USER_BYTES, "%s", entry->pw_name);
  else
    (void)snprintf(name, DX_USER_BYTES, "user %u", (unsigned)uid);
}

enum dx_code dx_user_advise_writer(struct dx_err *err)
{
  char name[DX_USER_BYTES];

  if (err->code == DX_E_SPACE)
    return dx_fail_advice(err, "free space there");
  if (err->code != DX_E_ACCESS)
    return err->code;
  dx_user_name_of(geteuid(), name);
  return dx_fail_advice(err, "'%s' must be able to write there", name);
}
