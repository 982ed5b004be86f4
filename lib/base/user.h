/*
 * user.h - the user that owns spool, results, and key.
 *
 * With `configure --with-user=NAME`, it is a separate system user: cupsd starts
 * the backend as root, and every program that root starts changes to that user
 * before it opens the spool, a key, or a result. Without it, it is the user as
 * which cupsd runs backends and all filters (lp).
 *
 * Blocking: looks users up. Errors: E_ACCESS.
 */
#ifndef DX_USER_H
#define DX_USER_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/err.h"

/* NAME; NULL without --with-user. Static memory. */
const char *dx_user(void);

/*
 * If this process runs as root, changes to dx_user() and its groups; without
 * --with-user, does nothing. E_ACCESS if that user does not exist: the process
 * then runs as nobody, so that it does nothing as root.
 */
enum dx_code dx_user_enter(struct dx_err *err) DX_MUST_USE;

/* Changes a root process permanently to that user and group, and verifies it.
 * name: of a user whose supplementary groups it gets, as systemd gives them;
 * NULL: it gets none. */
enum dx_code dx_user_become(uid_t uid, gid_t gid, const char *name,
                            struct dx_err *err) DX_MUST_USE;

/* The user and group that own nothing, on every Linux. */
#define DX_NOBODY 65534

/* The value of an environment variable that selects programs; NULL if this
 * process may have other rights than its caller: it is or was root (sudo), or
 * is a set-user-ID program. */
const char *dx_user_environment(const char *name);

/* True if configuration and keys may belong to that user: root, dx_user(), or
 * the one that this process runs as. */
bool dx_user_is_trusted(uid_t uid);

/* The name of a user; "user 1000" if it has none. */
#define DX_USER_BYTES 64
void dx_user_name_of(uid_t uid, char name[DX_USER_BYTES]);

/* Appends to the error of a directory to which this process could not write
 * what to do, if it is about space or permissions. Returns its code. */
enum dx_code dx_user_advise_writer(struct dx_err *err);

#endif
