/*
 * status.c - makes the status socket and keeps a process that serves it.
 */
#include "daemon/status.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/status_server.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/user.h"

#define DIR_MODE 0755     /* everybody reaches the socket, */
#define SOCKET_MODE 0666  /* and connects */
#define START_GAP_MS 5000 /* between two starts of the server */
#define BACKLOG 64        /* connections that wait for accept() */
#define SERVER_FIRST_FD 3 /* of the server: its socket, */
#define SERVER_FDS 2      /* and the connection to its parent */

/* ---- the directory and the socket ---- */

static enum dx_code make_dir(const char *path, struct dx_err *err)
{
  const char *name = strrchr(path, '/') + 1;
  char *parent = dx_fs_parent(path);
  int dirfd = parent != NULL ? dx_fs_open_dir(parent, err) : -1;
  enum dx_code code;

  if (parent == NULL)
    return dx_fail_nomem(err);
  free(parent);
  if (dirfd < 0)
    return err->code;
  code = dx_fs_make_dir(dirfd, name, DIR_MODE, err);
  (void)close(dirfd);
  return code;
}

void status_make_dir(void)
{
  const struct passwd *entry;
  struct dx_err err;

  if (geteuid() != 0 || dx_user() == NULL || access(DX_RUNTIME_DIR, F_OK) == 0)
    return;
  entry = getpwnam(dx_user());
  if (entry == NULL || make_dir(DX_RUNTIME_DIR, &err) != DX_OK ||
      lchown(DX_RUNTIME_DIR, entry->pw_uid, entry->pw_gid) < 0)
    dx_log(DX_LOG_DEBUG, "cannot create '%s'", DX_RUNTIME_DIR);
}

/* One that a docextractd left when it was killed. Nothing else is removed. */
static void remove_socket(const char *path)
{
  struct stat st;

  if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
    (void)unlink(path);
}

static enum dx_code bind_socket(struct status *status, struct dx_err *err)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};

  if (strlen(status->path) >= sizeof(address.sun_path))
    return dx_fail(err, DX_E_ARG, 0, "the path of the socket is too long");
  memcpy(address.sun_path, status->path, strlen(status->path) + 1);
  remove_socket(status->path);
  status->listen_fd =
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (status->listen_fd < 0 ||
      bind(status->listen_fd, (const struct sockaddr *)&address,
           sizeof(address)) < 0 ||
      chmod(status->path, SOCKET_MODE) < 0 ||
      listen(status->listen_fd, BACKLOG) < 0 ||
      lstat(status->path, &status->st) < 0)
    return dx_fail_sys(err, errno, "create", status->path);
  return DX_OK;
}

static enum dx_code make_socket(struct status *status, struct dx_err *err)
{
  char *dir = dx_fs_parent(status->path);
  enum dx_code code = DX_OK;

  if (dir == NULL)
    return dx_fail_nomem(err);
  if (access(dir, F_OK) < 0)
    code = make_dir(dir, err);
  free(dir);
  return code == DX_OK ? bind_socket(status, err) : code;
}

/* ---- the server ---- */

/* The new process has nothing of docextractd's but these: no lock, no
 * connection to the service, no file of a job. */
static int keep_only(int listen_fd, int parent_fd)
{
  int first = fcntl(listen_fd, F_DUPFD, SERVER_FIRST_FD + SERVER_FDS);
  int second = fcntl(parent_fd, F_DUPFD, SERVER_FIRST_FD + SERVER_FDS);

  if (first < 0 || second < 0 || dup2(first, SERVER_FIRST_FD) < 0 ||
      dup2(second, SERVER_FIRST_FD + 1) < 0)
    return -1;
  return close_range(SERVER_FIRST_FD + SERVER_FDS, ~0U, 0);
}

static _Noreturn void serve(const struct status *status, int parent_fd)
{
  sigset_t none;

  (void)signal(SIGHUP, SIG_IGN); /* requests load the file themselves */
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  if (keep_only(status->listen_fd, parent_fd) == 0)
    status_serve(SERVER_FIRST_FD, SERVER_FIRST_FD + 1, status->spool_dir,
                 status->config_path);
  _exit(1);
}

static void start_server(struct status *status)
{
  int pair[2];

  status->start_ms = dx_monotonic_ms() + START_GAP_MS;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
    dx_log(DX_LOG_ERROR, "cannot serve the status socket: %s", strerror(errno));
    return;
  }
  status->pid = fork();
  if (status->pid == 0)
    serve(status, pair[1]);
  (void)close(pair[1]);
  if (status->pid > 0) {
    status->fd = pair[0];
    return;
  }
  dx_log(DX_LOG_ERROR, "cannot serve the status socket: %s", strerror(errno));
  (void)close(pair[0]);
}

static void end_server(struct status *status)
{
  (void)close(status->fd); /* ends it */
  status->fd = -1;
  (void)kill(status->pid, SIGTERM);
  while (waitpid(status->pid, NULL, 0) < 0 && errno == EINTR)
    ;
}

/* ---- the interface ---- */

void status_start(struct status *status, const char *path,
                  const char *spool_dir, const char *config_path)
{
  struct dx_err err = {0};

  *status = (struct status)STATUS_NONE;
  status->spool_dir = spool_dir;
  status->config_path = config_path;
  status->path = strdup(path);
  if (status->path != NULL && make_socket(status, &err) == DX_OK) {
    start_server(status);
    return;
  }
  dx_log(DX_LOG_WARNING,
         "%s; there is no status socket, and users cannot ask what became of "
         "their print jobs",
         status->path != NULL ? err.text : "out of memory");
  if (status->listen_fd >= 0)
    (void)close(status->listen_fd);
  status->listen_fd = -1;
}

void status_check(struct status *status)
{
  char byte;

  if (status->fd >= 0 && recv(status->fd, &byte, 1, MSG_DONTWAIT) == 0) {
    end_server(status);
    dx_log(DX_LOG_ERROR, "the server of the status socket has ended");
  }
  if (status->listen_fd >= 0 && status->fd < 0 &&
      dx_monotonic_ms() >= status->start_ms)
    start_server(status);
}

/* Another docextractd may have put its own in its place. */
static void remove_own_socket(const struct status *status)
{
  struct stat st;

  if (lstat(status->path, &st) == 0 && st.st_dev == status->st.st_dev &&
      st.st_ino == status->st.st_ino)
    (void)unlink(status->path);
}

void status_stop(struct status *status)
{
  if (status->fd >= 0)
    end_server(status);
  if (status->listen_fd >= 0) {
    remove_own_socket(status);
    (void)close(status->listen_fd);
  }
  status->listen_fd = -1;
  free(status->path);
  status->path = NULL;
}
