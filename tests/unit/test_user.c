/*
 * test_user.c - lib/base/user.h, built with a separate user: how root becomes
 * that user, and the permitted owners of configuration and keys. Actions that
 * only root can perform are run in a child. A caller who is not root keeps
 * their user id.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/user.h"
#include "lib/config/config.h"

static uid_t user;
static gid_t group;

/* The exit status of `act` in a child, which may change its user. */
static int in_child(int (*act)(void))
{
  int status;
  pid_t pid = fork();

  if (pid == 0)
    _exit(act());
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* The administrator has added the user to another group. */
#define EXTRA_GROUP 4711
int __wrap_initgroups(const char *name, gid_t gid);
int __wrap_initgroups(const char *name, gid_t gid)
{
  const gid_t groups[] = {gid, EXTRA_GROUP};

  return strcmp(name, "games") == 0 ? setgroups(2, groups) : -1;
}

/* 0, or the number of the check that failed. */
static int enter_and_look(void)
{
  gid_t groups[3] = {0, 0, 0};
  uid_t r, e, s;
  struct dx_err err;

  if (dx_user_enter(&err) != DX_OK)
    return 1;
  if (getresuid(&r, &e, &s) < 0 || r != user || e != user || s != user)
    return 2;
  if (getresgid(&r, &e, &s) < 0 || r != group || e != group || s != group)
    return 3;
  if (getgroups(3, groups) != 2 || groups[0] != group ||
      groups[1] != EXTRA_GROUP)
    return 4;
  if (setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0 ||
      setgroups(0, NULL) == 0)
    return 5;
  return open("/etc/shadow", O_RDONLY | O_CLOEXEC) >= 0 ? 6 : 0;
}

static void root_becomes_the_user_with_its_groups_permanently(void **state)
{
  (void)state;
  assert_string_equal(dx_user(), "games");
  if (geteuid() == 0)
    assert_int_equal(in_child(enter_and_look), 0);
}

static int become_nobody(void)
{
  gid_t groups[2] = {0, 0};
  struct dx_err err;

  if (dx_user_become(DX_NOBODY, DX_NOBODY, NULL, &err) != DX_OK)
    return 1;
  return getgroups(2, groups) == 1 && groups[0] == DX_NOBODY ? 0 : 2;
}

static void nobody_has_no_other_groups(void **state)
{
  (void)state;
  if (geteuid() == 0)
    assert_int_equal(in_child(become_nobody), 0);
}

/* 0, or the number of the check that failed. */
static int environment_after_root(void)
{
  struct dx_err err;

  if (setenv("CUPS_SERVERBIN", "/tmp", 1) < 0 ||
      dx_user_environment("CUPS_SERVERBIN") != NULL)
    return 1;
  if (dx_user_enter(&err) != DX_OK)
    return 2;
  return dx_user_environment("CUPS_SERVERBIN") != NULL ? 3 : 0;
}

static void caller_of_root_cannot_select_programs(void **state)
{
  (void)state;
  if (geteuid() == 0)
    assert_int_equal(in_child(environment_after_root), 0);
}

static bool has_no_user;
struct passwd *__real_getpwnam(const char *name);
struct passwd *__wrap_getpwnam(const char *name);
struct passwd *__wrap_getpwnam(const char *name)
{
  return has_no_user ? NULL : __real_getpwnam(name);
}

static int enter_without_user(void)
{
  bool was_root = geteuid() == 0;
  struct dx_err err;

  has_no_user = true;
  if (dx_user_enter(&err) == DX_OK)
    return was_root ? 1 : 0;
  if (err.code != DX_E_ACCESS ||
      strstr(err.text, "there is no user 'games'") == NULL)
    return 2;
  return geteuid() == 65534 && setuid(0) < 0 ? 0 : 3;
}

static void root_becomes_nobody_without_the_user(void **state)
{
  (void)state;
  assert_int_equal(in_child(enter_without_user), 0);
}

static int become_root(void)
{
  struct dx_err err;

  return dx_user_become(0, 0, NULL, &err) == DX_E_ACCESS ? 0 : 1;
}

static void no_user_becomes_root(void **state)
{
  (void)state;
  assert_int_equal(in_child(become_root), 0);
}

static int enter_as_another(void)
{
  struct dx_err err;

  if (geteuid() == 0 && dx_user_become(1, 1, NULL, &err) != DX_OK)
    return 1;
  return dx_user_enter(&err) == DX_OK && geteuid() != user ? 0 : 2;
}

static void only_root_becomes_another_user(void **state)
{
  (void)state;
  assert_int_equal(in_child(enter_as_another), 0);
}

static void root_the_user_and_the_process_are_trusted(void **state)
{
  (void)state;
  assert_true(dx_user_is_trusted(0));
  assert_true(dx_user_is_trusted(user));
  assert_true(dx_user_is_trusted(geteuid()));
  assert_false(dx_user_is_trusted(geteuid() + 4711));
}

static void user_without_a_name_has_a_number(void **state)
{
  char name[DX_USER_BYTES];

  (void)state;
  dx_user_name_of(0, name);
  assert_string_equal(name, "root");
  dx_user_name_of(4294900000U, name);
  assert_string_equal(name, "user 4294900000");
}

/* ---- a key ---- */

static char dir[64], key[96];

static int make_files(void **state)
{
  const struct passwd *entry = getpwnam("games");
  FILE *file;

  (void)state;
  if (entry == NULL || temp_dir_make(dir) < 0)
    return -1;
  user = entry->pw_uid;
  group = entry->pw_gid;
  (void)snprintf(key, sizeof(key), "%s/key", dir);
  file = fopen(key, "we");
  return file != NULL ? fclose(file) : -1;
}

static int remove_files(void **state)
{
  (void)state;
  (void)unlink(key);
  return rmdir(dir);
}

/* What is reported about the key. */
static void check_key(mode_t mode, const char *fragment)
{
  char text[DX_ERR_TEXT_BYTES];
  const char *wrong;
  struct stat st;

  assert_int_equal(chmod(key, mode), 0);
  assert_int_equal(stat(key, &st), 0);
  wrong = dx_secret_wrong(key, &st, text);
  assert_int_equal(wrong == NULL, fragment == NULL);
  if (fragment != NULL && strstr(wrong, fragment) == NULL)
    fail_msg("'%s' is not in: %s", fragment, wrong);
}

static void only_the_user_may_read_a_key(void **state)
{
  (void)state;
  check_key(0600, NULL);
  check_key(0400, NULL);
  check_key(0640, "users other than 'games' may read");
  check_key(0640, "chmod 600");
  check_key(0604, "users other than 'games' may read");
  check_key(0620, "other users may write");
  if (geteuid() != 0)
    leave_out("as root");
  assert_int_equal(chown(key, user, group), 0);
  check_key(0600, NULL);
  assert_int_equal(chown(key, 1, 1), 0);
  check_key(0600, "belongs to 'daemon'");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(root_becomes_the_user_with_its_groups_permanently),
      cmocka_unit_test(nobody_has_no_other_groups),
      cmocka_unit_test(caller_of_root_cannot_select_programs),
      cmocka_unit_test(root_becomes_nobody_without_the_user),
      cmocka_unit_test(no_user_becomes_root),
      cmocka_unit_test(only_root_becomes_another_user),
      cmocka_unit_test(root_the_user_and_the_process_are_trusted),
      cmocka_unit_test(user_without_a_name_has_a_number),
      cmocka_unit_test(only_the_user_may_read_a_key),
  };

  return cmocka_run_group_tests(tests, make_files, remove_files);
}
