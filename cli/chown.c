/*
 * chown.c - `docextract chown`: hands the spool, results, and keys of the user
 * that backends ran as over to docextract's own user (lib/base/user.h).
 *
 * The old user, lp, may be anybody by now: the filters of all printers run as
 * lp. It may have planted links, and may change directories while they are
 * read. So no link is followed, and nothing is decided by a name: a file is
 * opened, and what was opened is given away if it belonged to the old user,
 * which can lose only what it owns. Permissions of others go, too: the old user
 * may have given them to itself.
 */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"

/* The permissions that others keep. */
#define SPOOL_KEEP 0711
#define JOBS_KEEP 0700
#define RESULTS_KEEP 02770

#define DEPTH_MAX 8  /* of our directories: 3 */
#define END_MS 60000 /* for docextractd, until it has saved what it did */
#define LOOK_MS 100  /* between two checks that it has ended */

struct handover {
  uid_t from, to;
  gid_t from_group, to_group;
  size_t given, left;
};

static int open_at(int dirfd, const char *name)
{
  return openat(dirfd, name,
                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* ---- giving away ---- */

/* Changes the owner, and takes away the permissions that are not in `keep`. */
static enum dx_code give(struct handover *c, int fd, const struct stat *st,
                         mode_t keep, struct dx_err *err)
{
  /* A group other than that of the old user was somebody's decision. */
  gid_t group = st->st_gid == c->from_group ? c->to_group : (gid_t)-1;

  if (fchown(fd, c->to, group) < 0 || fchmod(fd, st->st_mode & keep) < 0)
    return dx_fail(err, DX_E_IO, errno, "cannot change the owner of a file: %s",
                   strerror(errno));
  c->given++;
  return DX_OK;
}

static enum dx_code give_entries(struct handover *c, int dirfd, mode_t keep,
                                 int depth, struct dx_err *err);

/* A directory comes before its content: by then nobody else can add to it. */
static enum dx_code give_entry(struct handover *c, int dirfd, const char *name,
                               mode_t keep, int depth, struct dx_err *err)
{
  int fd = open_at(dirfd, name);
  enum dx_code code = DX_OK;
  struct stat st;

  if (fd < 0) {
    c->left += errno != ENOENT;
    return DX_OK;
  }
  if (fstat(fd, &st) < 0 || st.st_uid != c->from || depth > DEPTH_MAX ||
      (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
    c->left += st.st_uid != c->to; /* results in the spool are given already */
  } else {
    code = give(c, fd, &st, S_ISDIR(st.st_mode) ? keep : keep & 0666, err);
    if (code == DX_OK && S_ISDIR(st.st_mode))
      code = give_entries(c, fd, keep, depth + 1, err);
  }
  (void)close(fd);
  return code;
}

static enum dx_code give_entries(struct handover *c, int dirfd, mode_t keep,
                                 int depth, struct dx_err *err)
{
  int fd = open_at(dirfd, ".");
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
  enum dx_code code = DX_OK;
  struct dirent *entry;

  if (dir == NULL) {
    code = dx_fail(err, DX_E_IO, errno, "cannot list a directory: %s",
                   strerror(errno));
    if (fd >= 0)
      (void)close(fd);
    return code;
  }
  while (code == DX_OK && (entry = readdir(dir)) != NULL)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      code = give_entry(c, fd, entry->d_name, keep, depth, err);
  (void)closedir(dir);
  return code;
}

/* ---- keys ---- */

/* Opens a file that no link leads to. */
static int open_without_links(const char *path)
{
  int dirfd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  char name[NAME_MAX + 1];

  while (dirfd >= 0 && *path != '\0') {
    size_t len;
    int fd;

    path += strspn(path, "/");
    len = strcspn(path, "/");
    (void)snprintf(name, sizeof(name), "%.*s", (int)len, path);
    path += len;
    fd = *path == '\0' ? open_at(dirfd, name)
                       : openat(dirfd, name,
                                O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    (void)close(dirfd);
    dirfd = fd;
  }
  return dirfd;
}

/* A key that the old user could read: its own, or root's with its group. */
static void give_key(struct handover *c, const char *path)
{
  int fd = path != NULL ? open_without_links(path) : -1;
  struct stat st;

  if (path == NULL)
    return;
  if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
      (st.st_uid == c->from ||
       (st.st_uid == 0 && st.st_gid == c->from_group)) &&
      fchown(fd, c->to, c->to_group) == 0 && fchmod(fd, 0600) == 0)
    printf("'%s' belongs to '%s' now\n", path, dx_user());
  else if (fd < 0 || st.st_uid != c->to)
    printf("'%s' was left as it is; '%s' must be able to read it, and nobody "
           "else\n",
           path, dx_user());
  if (fd >= 0)
    (void)close(fd);
}

static void give_keys(struct handover *c, const struct dx_config *config)
{
  size_t i;

  for (i = 0; i < config->service_count; i++) {
    give_key(c, config->services[i].token_key_file);
    give_key(c, config->services[i].token_file);
  }
}

/* ---- docextractd of the old user ---- */

/* It saves what it did. Backends wait for the next one, and cupsd runs them
 * again as the new user. */
static void end_docextractd(int spool_dirfd)
{
  int64_t until = dx_monotonic_ms() + END_MS;
  pid_t pid = dx_spool_daemon(spool_dirfd);

  if (pid > 1)
    (void)kill(pid, SIGTERM);
  while (dx_spool_daemon(spool_dirfd) != 0 && dx_monotonic_ms() < until)
    if (!cli_stop_wait(LOOK_MS))
      return;
}

/* ---- all of it ---- */

/* SpoolDir itself comes last: whatever happens before, it can be done again. */
static enum dx_code give_all(struct handover *c, const struct dx_config *config,
                             int spool_dirfd, const struct stat *spool,
                             struct dx_err *err)
{
  enum dx_code code =
      give_entry(c, AT_FDCWD, config->results_dir, RESULTS_KEEP, 0, err);
  size_t i;

  for (i = 0; code == DX_OK && i < config->service_count; i++)
    code = give_entry(c, AT_FDCWD, config->services[i].results_dir,
                      RESULTS_KEEP, 0, err);
  if (code == DX_OK)
    code = give_entries(c, spool_dirfd, JOBS_KEEP, 0, err);
  if (code == DX_OK)
    code = give(c, spool_dirfd, spool, SPOOL_KEEP, err);
  return code;
}

/* Everybody may read it, and filters must. */
static enum dx_code open_config(const char *path, struct dx_err *err)
{
  if (chmod(path, 0644) < 0)
    return dx_fail_sys(err, errno, "set the mode of", path);
  return DX_OK;
}

static enum dx_code run(const struct cli *cli, struct handover *c,
                        struct dx_err *err)
{
  const char *path = cli->config->spool_dir;
  const struct passwd *entry;
  int fd = dx_fs_open_dir(path, err);
  enum dx_code code = DX_OK;
  struct stat st;

  if (fd < 0)
    return err->code;
  if (fstat(fd, &st) < 0)
    code = dx_fail_sys(err, errno, "stat", path);
  else if (st.st_uid == 0)
    code = dx_fail(err, DX_E_ACCESS, 0,
                   "SpoolDir '%s' belongs to 'root'; give it to '%s' if it is "
                   "yours",
                   path, dx_user());
  if (code == DX_OK && st.st_uid != c->to) {
    c->from = st.st_uid;
    entry = getpwuid(c->from);
    c->from_group = entry != NULL ? entry->pw_gid : st.st_gid;
    /* First: a backend that finds the spool not yet its own tries again; one
     * that cannot read the configuration, or finds that others can read a key,
     * would stop its queue. */
    code = open_config(cli->config_path, err);
    if (code == DX_OK) {
      give_keys(c, cli->config);
      end_docextractd(fd);
      code = give_all(c, cli->config, fd, &st, err);
    }
  }
  (void)close(fd);
  return code;
}

enum dx_code verb_chown(struct cli *cli, struct dx_err *err)
{
  const struct passwd *entry = dx_user() != NULL ? getpwnam(dx_user()) : NULL;
  struct handover c = {.given = 0};
  enum dx_code code;

  if (dx_user() == NULL)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "docextract was configured without a user of its own");
  if (geteuid() != 0)
    return dx_fail(err, DX_E_ACCESS, 0, "run this command as root");
  if (entry == NULL)
    return dx_user_enter(err); /* says what to do */
  c.to = entry->pw_uid;
  c.to_group = entry->pw_gid;
  code = dx_config_read_anyway(cli->config_path, &cli->config, err);
  if (code == DX_OK)
    code = run(cli, &c, err);
  if (code != DX_OK)
    return code;
  printf("%zu files and directories belong to '%s' now\n", c.given, dx_user());
  if (c.left > 0)
    printf("%zu were left as they are: links, or files of other users\n",
           c.left);
  return DX_OK;
}
