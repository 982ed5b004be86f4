/*
 * user.h - the user that owns spool, results, and key.
 *
 * With `configure --with-user=NAME` that is a system user of its own: cupsd
 * starts the backend as root, and every program that root starts becomes that
 * user before it does anything else. Without it, that is the user that cupsd
 * runs backends as (lp), and the filters of other printers, too.
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
 * Turns a root process into one of dx_user(). Nothing changes without
 * --with-user, or for all users but root. E_ACCESS if there is no such user:
 * the process then runs as nobody, because nothing is to be done as root.
 */
enum dx_code dx_user_enter(struct dx_err *err) DX_MUST_USE;

/* Turns a root process into one of that user and group alone, with no way back,
 * and checks that. */
enum dx_code dx_user_become(uid_t uid, gid_t gid,
                            struct dx_err *err) DX_MUST_USE;

/* The user and group that own nothing, on every Linux. */
#define DX_NOBODY 65534

/* A variable that chooses programs; NULL if this process has other rights than
 * the process that set it: with sudo, or as a set-user-ID program. */
const char *dx_user_environment(const char *name);

/* True if configuration and keys may belong to that user: root, dx_user(), or
 * the one that this process runs as. */
bool dx_user_is_trusted(uid_t uid);

/* The name of a user; "user 1000" if it has none. */
#define DX_USER_BYTES 64
void dx_user_name_of(uid_t uid, char name[DX_USER_BYTES]);

#endif
