/*
 * status.c - creates the status socket, and keeps its server running.
 */
#include "daemon/status.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/process.h"
#include "lib/base/user.h"

#define DIR_MODE 0755     /* all users can reach the socket, */
#define SOCKET_MODE 0666  /* and connect to it */
#define START_GAP_MS 5000 /* between two starts of the server */
#define BACKLOG 64        /* connections that wait for accept() */

/* ---- the directory and the socket ---- */

static enum dx_code make_dir(const char *path, struct dx_err *err)
{
  if (mkdir(path, DIR_MODE) < 0 || chmod(path, DIR_MODE) < 0) /* umask */
    return dx_fail_sys(err, errno, "create directory", path);
  return DX_OK;
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

static enum dx_code make_socket(struct status *status, struct dx_err *err)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char *dir = dx_fs_parent(status->path);
  enum dx_code code = DX_OK;

  if (dir == NULL)
    return dx_fail_nomem(err);
  if (access(dir, F_OK) < 0)
    code = make_dir(dir, err);
  free(dir);
  if (code != DX_OK)
    return code;
  if (strlen(status->path) >= sizeof(address.sun_path))
    return dx_fail(err, DX_E_ARG, 0, "the path of the socket is too long");
  memcpy(address.sun_path, status->path, strlen(status->path) + 1);
  /* Left by a docextractd that was killed. Only sockets are removed. */
  if (lstat(status->path, &status->st) == 0 && S_ISSOCK(status->st.st_mode))
    (void)unlink(status->path);
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

/* ---- the server ---- */

static void start_server(struct status *status)
{
  int pair[2];

  status->start_ms = dx_monotonic_ms() + START_GAP_MS;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
    dx_log(DX_LOG_ERROR, "cannot serve the status socket: %s", strerror(errno));
    return;
  }
  status->pid = fork();
  if (status->pid == 0) {
    (void)signal(SIGHUP, SIG_IGN); /* each request loads the configuration */
    /* Inherits no lock, no connection to the service, and no file of a job. */
    dx_process_begin_child(status->listen_fd, pair[1]);
    status_serve(status->listen_fd, pair[1], status->spool_dir,
                 status->config_path);
    _exit(1);
  }
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
  (void)close(status->fd); /* the server exits */
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
  dx_log(
      DX_LOG_WARNING,
      "%s; there is no status socket, and users cannot ask for the status of "
      "their print jobs",
      status->path != NULL ? err.text : "out of memory");
  if (status->listen_fd >= 0)
    (void)close(status->listen_fd);
  status->listen_fd = -1;
}

/* If the server does not read, the connection is shut down, and status_check()
 * starts a new server. Clients that watch ask it for missed ends. */
void status_tell(struct status *status, struct dx_job *job)
{
  struct status_ends ends = {.key = ""};
  bool any = false;
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    struct dx_submission *sub = &job->submissions[i];
    int64_t ended_at = dx_submission_ended_at(sub);

    ends.has_ended[i] = ended_at != 0 && ended_at != sub->told_end_at;
    any = any || ends.has_ended[i];
    sub->told_end_at = ended_at;
  }
  memcpy(ends.key, job->key, sizeof(ends.key));
  if (any && status->fd >= 0 &&
      send(status->fd, &ends, sizeof(ends), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    (void)shutdown(status->fd, SHUT_RDWR);
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

void status_stop(struct status *status)
{
  struct stat st;

  if (status->fd >= 0)
    end_server(status);
  if (status->listen_fd >= 0) {
    /* Another docextractd may have replaced the socket. */
    if (lstat(status->path, &st) == 0 && st.st_dev == status->st.st_dev &&
        st.st_ino == status->st.st_ino)
      (void)unlink(status->path);
    (void)close(status->listen_fd);
  }
  status->listen_fd = -1;
  free(status->path);
  status->path = NULL;
}
