/*
 * status_server.c - accepts connections, and starts a child process for each,
 * which may block on its client, and exits with it.
 */
#include "daemon/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
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

#define PIECE_BYTES 65536   /* read size for results */
#define ACCEPT_AGAIN_MS 500 /* after accept() ran out of descriptors */
#define NICE 5              /* jobs have priority */
#define END_OF_JOBS "{\"end\":true}\n"

struct server {
  int listen_fd, parent_fd;
  const char *config_path;
  struct dx_spool spool;
  struct {
    int fd; /* to its process, which reads struct status_ends for `watch` */
    uid_t uid;
  } clients[DX_STATUS_CLIENTS_MAX];
  size_t count;
};

/* The state of the process of a client. It is not freed: the process exits. */
struct client {
  struct server *server;
  int fd;      /* the connection */
  int ends_fd; /* from the server */
  bool sees_all;
  char name[DX_USER_BYTES];
  struct dx_status_request request;
  bool is_in_finished; /* true while finished/ is listed */
};

/* ---- the process of a client: responses ---- */

/* Exits if the client is gone, or reads nothing for DX_STATUS_REPLY_MS. */
static void put(const struct client *client, const char *bytes, size_t len)
{
  if (dx_fs_write_all(client->fd, bytes, len, "response", NULL) != DX_OK)
    _exit(1);
}

/* Frees json; exits if it is NULL (out of memory). */
static void put_line(const struct client *client, struct dx_json *json)
{
  char *text = json != NULL ? dx_json_print(json, false) : NULL;

  if (text == NULL)
    _exit(1);
  put(client, text, strlen(text));
  put(client, "\n", 1);
  dx_json_free(&json);
  free(text);
}

static bool may_see(const struct client *client, const struct dx_job *job)
{
  return client->sees_all ||
         (job->user != NULL && strcmp(job->user, client->name) == 0);
}

/* Avoids reading most of the finished jobs. */
static bool is_wanted(const struct client *client, const char *key)
{
  const struct dx_status_request *request = &client->request;
  int64_t most = DX_STATUS_RECENT_MS, age;

  if (!client->is_in_finished || request->all)
    return true;
  if (request->kind == DX_STATUS_WATCH)
    most = dx_wall_ms() - request->since_ms + 1000;
  age = dx_spool_finished_ms(&client->server->spool, key);
  return age <= most || age == INT64_MAX; /* it was moved */
}

static enum dx_code put_job(void *ctx, const char *key)
{
  const struct client *client = ctx;
  struct dx_job *job = NULL;
  size_t i;

  if (!is_wanted(client, key) ||
      dx_spool_load(&client->server->spool, key, &job, NULL) != DX_OK)
    return DX_OK;
  if (may_see(client, job) && client->request.kind != DX_STATUS_WATCH)
    put_line(client, dx_status_job_json(job, client->sees_all));
  else if (may_see(client, job))
    for (i = 0; i < job->submission_count; i++) {
      int64_t ended_at = dx_submission_ended_at(&job->submissions[i]);

      if (ended_at != 0 && ended_at >= client->request.since_ms)
        put_line(client,
                 dx_status_end_json(&job->submissions[i], client->sees_all));
    }
  dx_job_free(&job);
  return DX_OK;
}

/* Jobs move from jobs/ to finished/, so this order misses none, but may list
 * one twice. */
static enum dx_code put_jobs(struct client *client, struct dx_err *err)
{
  struct dx_spool *spool = &client->server->spool;
  enum dx_code code = dx_spool_each(spool, DX_SPOOL_JOBS, put_job, client, err);

  client->is_in_finished = true;
  if (code == DX_OK)
    code = dx_spool_each(spool, DX_SPOOL_FINISHED, put_job, client, err);
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
  struct status_ends ends;
  enum dx_code code = DX_OK;
  size_t i;

  if (client->request.since_ms >= 0)
    code = put_jobs(client, err);
  while (code == DX_OK && poll(fds, 2, -1) > 0 && fds[0].revents == 0 &&
         recv(client->ends_fd, &ends, sizeof(ends), 0) ==
             (ssize_t)sizeof(ends)) {
    struct dx_job *job = NULL;

    if (dx_spool_load(&client->server->spool, ends.key, &job, NULL) != DX_OK)
      continue;
    for (i = 0; may_see(client, job) && i < job->submission_count; i++)
      if (ends.has_ended[i])
        put_line(client,
                 dx_status_end_json(&job->submissions[i], client->sees_all));
    dx_job_free(&job);
  }
  return code;
}

/* Only the name of a delivered result of the job is accepted. */
static bool has_result(const struct dx_job *job, const char *name)
{
  size_t i, k;
  bool is_it = false;

  for (i = 0; !is_it && i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];

    for (k = 0; !is_it && k < sub->case_count; k++) {
      char *result = sub->cases[k].state == DX_CASE_DELIVERED
                         ? dx_result_name(sub->source_id, sub->cases[k].id)
                         : NULL;

      is_it = result != NULL && strcmp(result, name) == 0;
      free(result);
    }
  }
  return is_it;
}

/* Opens a result in the currently configured results directory. */
static enum dx_code open_result(const struct client *client,
                                const struct dx_job *job, int *ret_fd,
                                struct stat *ret_st, struct dx_err *err)
{
  const char *name = client->request.name;
  const struct dx_service *service;
  struct dx_config *config = NULL;
  int dirfd;
  enum dx_code code = dx_config_load(client->server->config_path, &config, err);

  if (code != DX_OK)
    return dx_fail(err, code, 0, "the configuration of docextract is invalid");
  service = dx_config_service(config, job->service);
  if (service == NULL)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "the service of the job is no longer configured, so its "
                   "results directory is unknown");
  dirfd = dx_fs_open_dir(service->results_dir, err);
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

static enum dx_code put_result(const struct client *client, struct dx_err *err)
{
  struct dx_json *head = dx_json_object();
  struct dx_job *job = NULL;
  char bytes[PIECE_BYTES];
  struct stat st = {0};
  int64_t left;
  ssize_t n;
  int fd = -1;
  enum dx_code code =
      dx_spool_load(&client->server->spool, client->request.key, &job, NULL);

  /* The response does not show whether the job exists or belongs to another
   * user. */
  if (code != DX_OK || !may_see(client, job) ||
      !has_result(job, client->request.name))
    return dx_fail(err, DX_E_JOB, 0, "there is no such result");
  code = open_result(client, job, &fd, &st, err);
  if (code != DX_OK && client->sees_all)
    return code;
  /* Names of files and directives are of no use to an ordinary user. */
  if (code != DX_OK)
    return dx_fail(err, code, 0,
                   code == DX_E_NOT_FOUND
                       ? "the result was moved or deleted by the program "
                         "that imports results"
                       : DX_SENTENCE_ADMIN "the result cannot be read");
  if (head == NULL || !dx_json_put_int(head, "bytes", st.st_size))
    return dx_fail_nomem(err);
  put_line(client, head);
  for (left = st.st_size; left > 0; left -= n) {
    n = read(fd, bytes, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES);
    if (n <= 0) /* it was truncated: so is the response */
      _exit(1);
    put(client, bytes, (size_t)n);
  }
  return DX_OK;
}

static enum dx_code put_metrics(const struct client *client, struct dx_err *err)
{
  struct dx_config *config = NULL;
  struct dx_buf out = {0};
  enum dx_code code;

  if (!client->sees_all)
    return dx_fail(err, DX_E_ACCESS, 0,
                   "metrics are for administrators of docextract");
  code = dx_config_load(client->server->config_path, &config, err);
  if (code == DX_OK)
    code = dx_metrics_text(config, &client->server->spool, &out, err);
  if (code == DX_OK)
    put(client, dx_buf_text(&out), out.len);
  return code;
}

/* ---- the process of a client: its request ---- */

/* True for members of the separate group of docextract, if there is one. */
static bool is_in_group(int fd, gid_t group)
{
  gid_t *groups = NULL;
  socklen_t len = 0;
  bool is = false;
  size_t i;

  if (dx_user() == NULL)
    return false;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) < 0 &&
      errno == ERANGE)
    groups = malloc(len);
  if (groups != NULL &&
      getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0)
    for (i = 0; i < len / sizeof(*groups); i++)
      is = is || groups[i] == group;
  free(groups);
  return is;
}

static enum dx_code identify(struct client *client, const struct ucred *peer,
                             struct dx_err *err)
{
  const struct passwd *entry = getpwuid(peer->uid);

  client->sees_all = peer->uid == 0 || peer->uid == geteuid() ||
                     (dx_user() != NULL && peer->gid == getegid()) ||
                     is_in_group(client->fd, getegid());
  if (entry == NULL || strlen(entry->pw_name) >= sizeof(client->name))
    return client->sees_all
               ? DX_OK
               : dx_fail(err, DX_E_ACCESS, 0, "your user has no login name");
  memcpy(client->name, entry->pw_name, strlen(entry->pw_name) + 1);
  return DX_OK;
}

/* Exits if the request does not arrive in time. */
static enum dx_code read_request(struct client *client, struct dx_err *err)
{
  char line[DX_STATUS_REQUEST_BYTES];
  const char *end = NULL;
  size_t len = 0;

  (void)alarm(DX_STATUS_REQUEST_MS / 1000);
  while (end == NULL && len < sizeof(line)) {
    ssize_t n = recv(client->fd, line + len, sizeof(line) - len, 0);

    if (n <= 0)
      _exit(1);
    end = memchr(line + len, '\n', (size_t)n);
    len += (size_t)n;
  }
  (void)alarm(0);
  /* A line that is too long is rejected. */
  return dx_status_parse(line, end != NULL ? (size_t)(end - line) : 0,
                         &client->request, err);
}

static _Noreturn void serve_client(struct client *client,
                                   const struct ucred *peer)
{
  const struct timeval limit = {.tv_sec = DX_STATUS_REPLY_MS / 1000};
  const int backlog = DX_STATUS_BACKLOG_BYTES;
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
  (void)setsockopt(client->fd, SOL_SOCKET, SO_SNDBUF, &backlog,
                   sizeof(backlog));
  code = identify(client, peer, &err);
  if (code == DX_OK)
    code = read_request(client, &err);
  if (code == DX_OK && client->request.kind == DX_STATUS_SHOW)
    code = put_result(client, &err);
  else if (code == DX_OK && client->request.kind == DX_STATUS_METRICS)
    code = put_metrics(client, &err);
  else if (code == DX_OK && client->request.kind == DX_STATUS_WATCH)
    code = watch(client, &err);
  else if (code == DX_OK)
    code = put_jobs(client, &err);
  if (code != DX_OK)
    put_line(client, dx_status_error_json(&err));
  _exit(0);
}

/* ---- the server ---- */

static bool has_room_for(const struct server *server, uid_t uid)
{
  size_t i, of_user = 0;

  for (i = 0; i < server->count; i++)
    of_user += server->clients[i].uid == uid;
  return server->count < DX_STATUS_CLIENTS_MAX &&
         (of_user < DX_STATUS_USER_CLIENTS_MAX || uid == 0 || uid == geteuid());
}

/* Starts the process of a client. */
static enum dx_code admit(struct server *server, int fd, struct dx_err *err)
{
  struct client client = {.server = server, .fd = fd};
  struct ucred peer;
  socklen_t len = sizeof(peer);
  int pair[2];
  pid_t pid;

  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
    return dx_fail_sys(err, errno, "identify", "the client");
  if (!has_room_for(server, peer.uid))
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
  struct dx_json *json;
  struct dx_err err;
  char *text = NULL;

  if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
    (void)poll(NULL, 0, ACCEPT_AGAIN_MS);
  if (fd < 0)
    return;
  if (admit(server, fd, &err) != DX_OK) {
    json = dx_status_error_json(&err);
    text = json != NULL ? dx_json_print(json, false) : NULL;
    if (text != NULL) {
      (void)send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
      (void)send(fd, "\n", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    dx_json_free(&json);
    free(text);
  }
  (void)close(fd);
}

/* Returns false if docextractd has exited. */
static bool pass_on_ends(const struct server *server)
{
  struct status_ends ends;
  ssize_t n = recv(server->parent_fd, &ends, sizeof(ends), MSG_DONTWAIT);
  size_t i;

  for (i = 0; n > 0 && i < server->count; i++)
    if (send(server->clients[i].fd, &ends, sizeof(ends),
             MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
      (void)shutdown(server->clients[i].fd, SHUT_WR);
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

#define OWN_FDS 2 /* before those of clients */

static void serve(struct server *server)
{
  struct pollfd fds[OWN_FDS + DX_STATUS_CLIENTS_MAX];
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
  } while (pass_on_ends(server));
}

void status_serve(int listen_fd, int parent_fd, const char *spool_dir,
                  const char *config_path)
{
  static struct server server;
  struct dx_err err;

  server.listen_fd = listen_fd;
  server.parent_fd = parent_fd;
  server.config_path = config_path;
  (void)signal(SIGCHLD, SIG_IGN); /* the descriptor shows the exit */
  (void)setpriority(PRIO_PROCESS, 0, NICE);
  if (dx_spool_open(spool_dir, &server.spool, &err) == DX_OK)
    serve(&server);
  else
    dx_log(DX_LOG_ERROR, "the status socket: %s", err.text);
}
