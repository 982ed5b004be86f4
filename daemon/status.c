/*
 * status.c - creates the status socket, and keeps its server running: a child
 * process, which accepts connections, and starts a child process for each. That
 * one may block on its client, and exits with it.
 */
#include "daemon/status.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/user.h"
#include "lib/config/config.h"
#include "lib/control/metrics.h"
#include "lib/control/status.h"
#include "lib/spool/results.h"
#include "lib/spool/sentence.h"

#define DX_STATUS_CLIENTS_MAX 256     /* connections, of all users, */
#define DX_STATUS_USER_CLIENTS_MAX 16 /* and of one that is not root */

#define DIR_MODE 0755       /* all users can reach the socket, */
#define SOCKET_MODE 0666    /* and connect to it */
#define START_GAP_MS 5000   /* between two starts of the server */
#define BACKLOG 64          /* connections that wait for accept() */
#define ACCEPT_AGAIN_MS 500 /* after accept() ran out of descriptors */
#define NICE 5              /* jobs have priority */
#define END_OF_JOBS "{\"end\":true}\n"

struct server {
  int listen_fd, parent_fd;
  const char *config_path;
  struct dx_spool spool;
  struct {
    int fd; /* to its process, which reads keys of ended jobs for `watch` */
    uid_t uid;
  } clients[DX_STATUS_CLIENTS_MAX];
  size_t count;
};

/* The state of the process of a client. It is not freed: the process exits. */
struct client {
  struct server *server;
  int fd;      /* the connection */
  int ends_fd; /* from the server: the key of each job that has ended */
  bool sees_all;
  char name[DX_USER_BYTES];
  struct dx_status_request request;
};

/* ---- the process of a client: responses ---- */

/* Exits if the client is gone, or reads nothing for DX_STATUS_REPLY_MS: then
 * send() fails, or returns what it has sent before. */
static void put(const struct client *client, const char *bytes, size_t len)
{
  if (send(client->fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
    _exit(1);
}

/* Frees text; exits if it is NULL (out of memory). */
static void put_line(const struct client *client, char *text)
{
  if (text == NULL)
    _exit(1);
  put(client, text, strlen(text));
  put(client, "\n", 1);
  free(text);
}

static bool may_see(const struct client *client, const struct dx_job *job)
{
  return client->sees_all ||
         (job->user != NULL && strcmp(job->user, client->name) == 0);
}

/* Avoids reading most of the finished jobs. */
static bool is_wanted(const struct client *client, enum dx_spool_part part,
                      const char *key)
{
  const struct dx_status_request *request = &client->request;
  int64_t most = DX_STATUS_RECENT_MS, age;

  if (part != DX_SPOOL_FINISHED || request->all)
    return true;
  if (request->kind == DX_STATUS_WATCH)
    most = dx_wall_ms() - request->since_ms + 1000;
  age = dx_spool_finished_ms(&client->server->spool, key);
  return age <= most || age == INT64_MAX; /* it was moved */
}

static enum dx_code put_job(void *ctx, enum dx_spool_part part, const char *key)
{
  const struct client *client = ctx;
  struct dx_job *job = NULL;
  int64_t ended_at;

  if (!is_wanted(client, part, key) ||
      dx_spool_load(&client->server->spool, key, &job, NULL) != DX_OK)
    return DX_OK;
  ended_at = dx_job_ended_at(job);
  if (may_see(client, job) &&
      (client->request.kind != DX_STATUS_WATCH ||
       (ended_at != 0 && ended_at >= client->request.since_ms)))
    put_line(client, dx_status_job_line(job, client->sees_all));
  dx_job_free(&job);
  return DX_OK;
}

static enum dx_code put_jobs(struct client *client, struct dx_err *err)
{
  enum dx_code code = dx_spool_each(&client->server->spool, DX_SPOOL_JOBS,
                                    put_job, client, err);

  if (code == DX_OK && client->request.kind == DX_STATUS_JOBS)
    put(client, END_OF_JOBS, strlen(END_OF_JOBS));
  return code;
}

/* Lists past ends, then new ends, until either side closes. Meanwhile new ends
 * wait in the socket. If it is full, the server shuts it down after its
 * contents; the client connects again, and gets the rest from the spool. */
static enum dx_code watch(struct client *client, struct dx_err *err)
{
  struct pollfd fds[] = {{.fd = client->fd}, /* POLLHUP always */
                         {.fd = client->ends_fd, .events = POLLIN}};
  enum dx_code code = DX_OK;
  char key[DX_KEY_BYTES];

  if (client->request.since_ms >= 0)
    code = put_jobs(client, err);
  while (code == DX_OK && poll(fds, 2, -1) > 0 && fds[0].revents == 0 &&
         recv(client->ends_fd, key, sizeof(key), 0) == (ssize_t)sizeof(key))
    code = put_job(client, DX_SPOOL_JOBS, key);
  return code;
}

/* Of the delivered result with that name; else NULL. */
static const struct dx_submission *submission_of(const struct dx_job *job,
                                                 const char *name)
{
  size_t i, k;

  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];
    bool is_it = false;

    for (k = 0; !is_it && k < sub->case_count; k++) {
      char *result = sub->cases[k].state == DX_CASE_DELIVERED
                         ? dx_result_name(sub->source_id, sub->cases[k].id)
                         : NULL;

      is_it = result != NULL && strcmp(result, name) == 0;
      free(result);
    }
    if (is_it)
      return sub;
  }
  return NULL;
}

/* Opens a result in the currently configured results directory. */
static enum dx_code open_result(const struct client *client,
                                const struct dx_submission *sub, int *ret_fd,
                                struct stat *ret_st, struct dx_err *err)
{
  const char *name = client->request.name;
  const struct dx_service *service;
  struct dx_config *config = NULL;
  int dirfd;
  enum dx_code code =
      dx_config_load(client->server->config_path, &config, NULL, err);

  if (code != DX_OK)
    return dx_fail(err, code, 0, "the configuration of docextract is invalid");
  service = dx_config_service(config, dx_submission_section(sub));
  if (service == NULL)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "the service of the job is no longer configured, so its "
                   "results directory is unknown");
  dirfd = dx_fs_open_dir(AT_FDCWD, service->results_dir, err);
  if (dirfd < 0)
    return err->code;
  *ret_fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (*ret_fd < 0 && errno == ENOENT)
    return dx_fail(
        err, DX_E_NOT_FOUND, ENOENT,
        "'%s' is no longer there; a program that processes results has moved "
        "or deleted it",
        name);
  if (*ret_fd < 0)
    return dx_fail_sys(err, errno, "open", name);
  if (fstat(*ret_fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode))
    return dx_fail(err, DX_E_DAMAGED, 0, "'%s' is not a file", name);
  return DX_OK;
}

static void put_size(const struct client *client, int64_t bytes)
{
  struct dx_json_out head = {0};

  dx_json_open(&head, NULL, '{');
  dx_json_put_int(&head, "bytes", bytes);
  dx_json_close(&head, '}');
  put_line(client, dx_buf_take(&head.text));
}

static enum dx_code put_result(struct client *client, struct dx_err *err)
{
  const struct dx_submission *sub = NULL;
  struct dx_job *job = NULL;
  struct stat st = {0};
  int fd = -1;
  enum dx_code code =
      dx_spool_load(&client->server->spool, client->request.key, &job, NULL);

  if (code == DX_OK && may_see(client, job))
    sub = submission_of(job, client->request.name);
  /* The response does not show whether the job exists or belongs to another
   * user. */
  if (sub == NULL)
    return dx_fail(err, DX_E_JOB, 0, "result not found");
  code = open_result(client, sub, &fd, &st, err);
  if (code != DX_OK && client->sees_all)
    return code;
  /* Names of files and directives are of no use to an ordinary user. */
  if (code != DX_OK)
    return dx_fail(err, code, 0,
                   code == DX_E_NOT_FOUND
                       ? "the result was moved or deleted by the program "
                         "that imports results"
                       : DX_SENTENCE_ADMIN "the result cannot be read");
  put_size(client, st.st_size);
  /* As send(); less also if it was truncated: so is the response. */
  if (sendfile(client->fd, fd, NULL, (size_t)st.st_size) != st.st_size)
    _exit(1);
  return DX_OK;
}

static enum dx_code put_metrics(struct client *client, struct dx_err *err)
{
  struct dx_config *config = NULL;
  struct dx_buf out = {0};
  enum dx_code code;

  if (!client->sees_all)
    return dx_fail(err, DX_E_ACCESS, 0,
                   "metrics are for administrators of docextract");
  code = dx_config_load(client->server->config_path, &config, NULL, err);
  if (code == DX_OK)
    code = dx_metrics_text(config, &client->server->spool, &out, err);
  if (code == DX_OK) {
    put_size(client, (int64_t)out.len);
    put(client, dx_buf_text(&out), out.len);
  }
  return code;
}

/* ---- the process of a client: its request ---- */

static enum dx_code identify(struct client *client, const struct ucred *peer,
                             struct dx_err *err)
{
  const struct passwd *entry = getpwuid(peer->uid);
  static gid_t groups[NGROUPS_MAX];
  socklen_t len = sizeof(groups);
  bool is_in_group = peer->gid == getegid();
  size_t i;

  if (getsockopt(client->fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
    len = 0;
  for (i = 0; i < len / sizeof(groups[0]); i++)
    is_in_group = is_in_group || groups[i] == getegid();
  /* The group counts only if docextract has its own. */
  client->sees_all = peer->uid == 0 || peer->uid == geteuid() ||
                     (is_in_group && dx_user() != NULL);
  if (entry == NULL || strlen(entry->pw_name) >= sizeof(client->name))
    return client->sees_all
               ? DX_OK
               : dx_fail(err, DX_E_ACCESS, 0, "your user has no login name");
  memcpy(client->name, entry->pw_name, strlen(entry->pw_name) + 1);
  return DX_OK;
}

static enum dx_code read_request(struct client *client, struct dx_err *err)
{
  char line[DX_STATUS_REQUEST_BYTES];
  const char *end = NULL;
  size_t len = 0;

  while (end == NULL && len < sizeof(line)) {
    ssize_t n = recv(client->fd, line + len, sizeof(line) - len, 0);

    if (n <= 0)
      _exit(1);
    end = memchr(line + len, '\n', (size_t)n);
    len += (size_t)n;
  }
  /* A line that is too long is rejected. */
  return dx_status_parse(line, end != NULL ? (size_t)(end - line) : 0,
                         &client->request, err);
}

static _Noreturn void serve_client(struct client *client,
                                   const struct ucred *peer)
{
  const struct timeval limit = {.tv_sec = DX_STATUS_REPLY_MS / 1000};
  static enum dx_code (*const responses[])(struct client *, struct dx_err *) = {
      [DX_STATUS_JOBS] = put_jobs,
      [DX_STATUS_SHOW] = put_result,
      [DX_STATUS_WATCH] = watch,
      [DX_STATUS_METRICS] = put_metrics};
  struct server *server = client->server;
  struct dx_err err;
  enum dx_code code;
  size_t i;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)close(server->parent_fd);
  (void)close(server->listen_fd);
  for (i = 0; i < server->count; i++)
    (void)close(server->clients[i].fd); /* else the other ends stay open */
  (void)setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  /* Exits if the user database does not respond, or the request does not
   * arrive, in time. */
  (void)alarm(DX_STATUS_REQUEST_MS / 1000);
  code = identify(client, peer, &err);
  if (code == DX_OK)
    code = read_request(client, &err);
  (void)alarm(0);
  if (code == DX_OK)
    code = responses[client->request.kind](client, &err);
  if (code != DX_OK)
    put_line(client, dx_status_error_line(&err));
  _exit(0);
}

/* ---- the server ---- */

/* Starts the process of a client. */
static enum dx_code admit(struct server *server, int fd, struct dx_err *err)
{
  struct client client = {.server = server, .fd = fd};
  size_t i, of_user = 0;
  struct ucred peer;
  socklen_t len = sizeof(peer);
  int pair[2];
  pid_t pid;

  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
    return dx_fail_sys(err, errno, "identify", "the client");
  for (i = 0; i < server->count; i++)
    of_user += server->clients[i].uid == peer.uid;
  if (server->count == DX_STATUS_CLIENTS_MAX ||
      (of_user >= DX_STATUS_USER_CLIENTS_MAX && peer.uid != 0 &&
       peer.uid != geteuid()))
    return dx_fail(err, DX_E_BUSY, 0,
                   "docextractd has too many connections; try again later");
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    return dx_fail_sys(err, errno, "start", "a process");
  server->clients[server->count].fd = pair[0];
  server->clients[server->count++].uid = peer.uid;
  client.ends_fd = pair[1];
  pid = fork();
  if (pid == 0)
    serve_client(&client, &peer);
  (void)close(pair[1]); /* without a child, this removes the entry */
  return pid > 0 ? DX_OK : dx_fail_sys(err, errno, "start", "a process");
}

static void accept_client(struct server *server)
{
  int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);
  struct dx_err err;
  char *text;

  if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
    (void)poll(NULL, 0, ACCEPT_AGAIN_MS);
  if (fd < 0)
    return;
  if (admit(server, fd, &err) != DX_OK) {
    text = dx_status_error_line(&err);
    if (text != NULL) {
      (void)send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
      (void)send(fd, "\n", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    free(text);
  }
  (void)close(fd);
}

#define OWN_FDS 2 /* before those of clients */

/* Returns when docextractd has exited. */
static void status_serve(struct server *server)
{
  struct pollfd fds[OWN_FDS + DX_STATUS_CLIENTS_MAX];
  char key[DX_KEY_BYTES];
  ssize_t n;
  size_t i;

  do {
    fds[0] = (struct pollfd){.fd = server->parent_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = server->listen_fd, .events = POLLIN};
    for (i = 0; i < server->count; i++) /* POLLHUP always */
      fds[OWN_FDS + i] = (struct pollfd){.fd = server->clients[i].fd};
    if (poll(fds, (nfds_t)(OWN_FDS + server->count), -1) < 0)
      return;
    for (i = server->count; i-- > 0;)
      if (fds[OWN_FDS + i].revents != 0) { /* its process has exited */
        (void)close(server->clients[i].fd);
        server->clients[i] = server->clients[--server->count];
      }
    if (fds[1].revents != 0)
      accept_client(server);
    n = recv(server->parent_fd, key, sizeof(key), MSG_DONTWAIT);
    for (i = 0; n > 0 && i < server->count; i++)
      if (send(server->clients[i].fd, key, sizeof(key),
               MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        (void)shutdown(server->clients[i].fd, SHUT_WR);
  } while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
}

/* ---- the directory and the socket ---- */

void status_make_dir(void)
{
  const struct passwd *entry;
  struct dx_err err;

  if (geteuid() != 0 || dx_user() == NULL || access(DX_RUNTIME_DIR, F_OK) == 0)
    return;
  entry = getpwnam(dx_user());
  if (entry == NULL ||
      dx_fs_make_dir(AT_FDCWD, DX_RUNTIME_DIR, DIR_MODE, &err) != DX_OK ||
      lchown(DX_RUNTIME_DIR, entry->pw_uid, entry->pw_gid) < 0)
    dx_log(DX_LOG_DEBUG, "cannot create '%s'", DX_RUNTIME_DIR);
}

static enum dx_code make_socket(struct status *status, struct dx_err *err)
{
  const char *path = status->config->status_socket; /* lib/config: it fits */
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char copy[sizeof(address.sun_path)];
  enum dx_code code;

  memcpy(address.sun_path, path, strlen(path) + 1);
  memcpy(copy, path, strlen(path) + 1);
  code = dx_fs_make_dir(AT_FDCWD, dirname(copy), DIR_MODE, err);
  if (code != DX_OK)
    return code;
  /* Left by a docextractd that was killed. Only sockets are removed. */
  if (lstat(path, &status->st) == 0 && S_ISSOCK(status->st.st_mode))
    (void)unlink(path);
  status->listen_fd =
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (status->listen_fd < 0 ||
      bind(status->listen_fd, (const struct sockaddr *)&address,
           sizeof(address)) < 0 ||
      chmod(path, SOCKET_MODE) < 0 || listen(status->listen_fd, BACKLOG) < 0 ||
      lstat(path, &status->st) < 0)
    return dx_fail_sys(err, errno, "create", path);
  return DX_OK;
}

/* ---- starting it ---- */

/* It ends with its parent, no signal is blocked, and it has no descriptors but
 * stdin, stdout, stderr, and these two. */
static void begin_server(int fd, int other_fd)
{
  unsigned low = (unsigned)(fd < other_fd ? fd : other_fd);
  unsigned high = (unsigned)(fd < other_fd ? other_fd : fd);
  sigset_t none;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  if (low > 3)
    (void)close_range(3, low - 1, 0);
  if (high > low + 1)
    (void)close_range(low + 1, high - 1, 0);
  (void)close_range(high + 1, ~0U, 0);
}

static void start_server(struct status *status)
{
  static struct server server; /* of the child */
  struct dx_err err;
  int pair[2] = {-1, -1};

  status->start_ms = dx_monotonic_ms() + START_GAP_MS;
  status->pid = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0
                    ? fork()
                    : -1;
  if (status->pid == 0) {
    (void)signal(SIGHUP, SIG_IGN);  /* each request loads the configuration */
    (void)signal(SIGCHLD, SIG_IGN); /* the descriptor shows the exit */
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    /* Inherits no lock, no connection to the service, and no file of a job. */
    begin_server(status->listen_fd, pair[1]);
    server.listen_fd = status->listen_fd;
    server.parent_fd = pair[1];
    server.config_path = status->config->path;
    if (dx_spool_open(status->config->spool_dir, &server.spool, &err) == DX_OK)
      status_serve(&server);
    else
      dx_log(DX_LOG_ERROR, "the status socket: %s: %s", dx_code_name(err.code),
             err.text);
    _exit(1);
  }
  if (status->pid < 0) {
    dx_log(DX_LOG_ERROR, "cannot serve the status socket: %s", strerror(errno));
    (void)close(pair[0]);
  } else {
    status->fd = pair[0];
  }
  (void)close(pair[1]);
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

void status_start(struct status *status, const struct dx_config *config)
{
  struct dx_err err;

  *status = (struct status)STATUS_NONE;
  status->config = config;
  if (make_socket(status, &err) == DX_OK) {
    start_server(status);
    return;
  }
  dx_log(DX_LOG_WARNING,
         "%s; there is no status socket, and users cannot query the status of "
         "their print jobs",
         err.text);
  if (status->listen_fd >= 0)
    (void)close(status->listen_fd);
  status->listen_fd = -1;
}

/* If the server does not read, the connection is shut down, and status_check()
 * starts a new server. Clients that watch ask it for missed ends. */
void status_tell(struct status *status, struct dx_job *job)
{
  int64_t ended_at = dx_job_ended_at(job);

  if (ended_at != 0 && ended_at != job->told_end_at && status->fd >= 0 &&
      send(status->fd, job->key, sizeof(job->key),
           MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    (void)shutdown(status->fd, SHUT_RDWR);
  job->told_end_at = ended_at;
}

void status_check(struct status *status)
{
  char byte;

  if (status->fd >= 0 && recv(status->fd, &byte, 1, MSG_DONTWAIT) == 0) {
    end_server(status);
    dx_log(DX_LOG_ERROR, "the process of the status socket has exited");
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
    if (lstat(status->config->status_socket, &st) == 0 &&
        st.st_dev == status->st.st_dev && st.st_ino == status->st.st_ino)
      (void)unlink(status->config->status_socket);
    (void)close(status->listen_fd);
  }
  status->listen_fd = -1;
}
