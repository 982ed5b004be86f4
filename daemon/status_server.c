/*
 * status_server.c - one loop over poll(2): connections, requests, and those who
 * watch. Each other request is responded to by a process of its own, which may
 * wait for its client.
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
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
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

#define PIECE_BYTES 65536   /* of a result, at once */
#define ACCEPT_AGAIN_MS 500 /* after accept() had no descriptor left */
#define NICE 5              /* jobs come first */

struct client {
  int fd;    /* the connection; -1: closed here */
  pid_t pid; /* of the process that responds; 0: none */
  uid_t uid;
  bool sees_all;
  char name[DX_USER_BYTES];
  char line[DX_STATUS_REQUEST_BYTES];
  size_t line_len;
  struct dx_status_request request;
  bool is_watching;
  struct dx_buf out; /* for one who watches, while `pid` still sends */
  int64_t until_ms;  /* monotonic: when the request has to be there */
};

struct server {
  int listen_fd, parent_fd, signal_fd;
  int64_t accept_ms; /* monotonic: not before; 0: now */
  const char *config_path;
  struct dx_spool spool;
  struct client *clients[DX_STATUS_CLIENTS_MAX];
  size_t count;
};

/* ---- lines ---- */

/* Frees json; false when out of memory. */
static bool add_line(struct dx_buf *out, struct dx_json *json)
{
  char *text = json != NULL ? dx_json_print(json, false) : NULL;

  dx_json_free(&json);
  if (text != NULL)
    dx_buf_printf(out, "%s\n", text);
  out->failed = out->failed || text == NULL;
  free(text);
  return dx_buf_ok(out);
}

static bool may_see(const struct client *client, const struct dx_job *job)
{
  return client->sees_all ||
         (job->user != NULL && strcmp(job->user, client->name) == 0);
}

static bool add_end(const struct client *client,
                    const struct dx_submission *sub, struct dx_buf *out)
{
  return add_line(out, dx_status_end_json(sub, client->sees_all));
}

/* ---- the process that responds ---- */

/* Ends the process if the client is gone, or takes nothing for
 * DX_STATUS_REPLY_MS. */
static void put(const struct client *client, const char *bytes, size_t len)
{
  if (dx_fs_write_all(client->fd, bytes, len, "response", NULL) != DX_OK)
    _exit(1);
}

static void put_line(const struct client *client, struct dx_json *json)
{
  struct dx_buf out = {0};

  if (!add_line(&out, json))
    _exit(1);
  put(client, out.data, out.len);
  dx_buf_release(&out);
}

struct list {
  struct server *server;
  const struct client *client;
  bool is_finished; /* of the jobs in finished/ */
};

/* Few of the finished jobs are read. */
static bool is_wanted(const struct list *list, const char *key)
{
  const struct dx_status_request *request = &list->client->request;
  int64_t most = DX_STATUS_RECENT_MS, age;

  if (!list->is_finished || request->all)
    return true;
  if (request->kind == DX_STATUS_WATCH)
    most = dx_wall_ms() - request->since_ms + 1000;
  age = dx_spool_finished_ms(&list->server->spool, key);
  return age <= most || age == INT64_MAX; /* it was moved */
}

static bool add_job(const struct client *client, struct dx_job *job,
                    struct dx_buf *out)
{
  bool ok = true;
  size_t i;

  if (client->request.kind != DX_STATUS_WATCH)
    return add_line(out, dx_status_job_json(job, client->sees_all));
  for (i = 0; ok && i < job->submission_count; i++) {
    int64_t ended_at = dx_submission_ended_at(&job->submissions[i]);

    if (ended_at != 0 && ended_at >= client->request.since_ms)
      ok = add_end(client, &job->submissions[i], out);
  }
  return ok;
}

static enum dx_code put_job(void *ctx, const char *key)
{
  const struct list *list = ctx;
  const struct client *client = list->client;
  struct dx_job *job = NULL;
  struct dx_buf out = {0};

  if (!is_wanted(list, key) ||
      dx_spool_load(&list->server->spool, key, &job, NULL) != DX_OK)
    return DX_OK;
  if (may_see(client, job) && !add_job(client, job, &out))
    _exit(1);
  put(client, dx_buf_text(&out), out.len);
  dx_buf_release(&out);
  dx_job_free(&job);
  return DX_OK;
}

/* Jobs go from jobs/ to finished/, so none is missed in this order; one may be
 * listed twice. */
static enum dx_code put_jobs(struct server *server, const struct client *client,
                             struct dx_err *err)
{
  struct list list = {server, client, false};
  struct dx_json *end;
  enum dx_code code =
      dx_spool_each(&server->spool, DX_SPOOL_JOBS, put_job, &list, err);

  list.is_finished = true;
  if (code == DX_OK)
    code =
        dx_spool_each(&server->spool, DX_SPOOL_FINISHED, put_job, &list, err);
  if (code != DX_OK || client->request.kind == DX_STATUS_WATCH)
    return code;
  end = dx_json_object();
  put_line(client, dx_json_made_take(
                       end, end != NULL && dx_json_put_bool(end, "end", true)));
  return DX_OK;
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

/* In the results directory of the configuration as it is now. */
static enum dx_code open_result(const struct server *server,
                                const struct client *client,
                                const struct dx_job *job, int *ret_fd,
                                struct stat *ret_st, struct dx_err *err)
{
  const char *name = client->request.name;
  const struct dx_service *service;
  struct dx_config *config = NULL;
  int dirfd;
  enum dx_code code = dx_config_load(server->config_path, &config, err);

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
    return dx_fail(err, DX_E_NOT_FOUND, ENOENT,
                   "'%s' is no longer there; a consumer of the results took it",
                   name);
  if (*ret_fd < 0)
    return dx_fail_sys(err, errno, "open", name);
  if (fstat(*ret_fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode))
    return dx_fail(err, DX_E_DAMAGED, 0, "'%s' is not a file", name);
  return DX_OK;
}

/* Without names of files and directives: they are of no use to an ordinary
 * user. */
static enum dx_code reword(enum dx_code code, struct dx_err *err)
{
  if (code == DX_E_NOT_FOUND)
    return dx_fail(err, code, 0,
                   "the result is no longer here: the program that imports "
                   "results has taken it");
  return dx_fail(err, code, 0, DX_SENTENCE_ADMIN "the result cannot be read");
}

static enum dx_code put_result(struct server *server,
                               const struct client *client, struct dx_err *err)
{
  struct dx_json *head = dx_json_object();
  struct dx_job *job = NULL;
  char bytes[PIECE_BYTES];
  struct stat st = {0};
  int64_t left;
  ssize_t n;
  int fd = -1;
  enum dx_code code =
      dx_spool_load(&server->spool, client->request.key, &job, NULL);

  /* In the same words, whether it is another user's or does not exist. */
  if (code != DX_OK || !may_see(client, job) ||
      !has_result(job, client->request.name))
    return dx_fail(err, DX_E_JOB, 0, "there is no such result");
  code = open_result(server, client, job, &fd, &st, err);
  if (code != DX_OK)
    return client->sees_all ? code : reword(code, err);
  if (head == NULL || !dx_json_put_int(head, "bytes", st.st_size))
    return dx_fail_nomem(err);
  put_line(client, head);
  for (left = st.st_size; left > 0; left -= n) {
    n = read(fd, bytes, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES);
    if (n <= 0) /* it shrank: the client gets less than was announced */
      _exit(1);
    put(client, bytes, (size_t)n);
  }
  return DX_OK;
}

static enum dx_code put_metrics(struct server *server,
                                const struct client *client, struct dx_err *err)
{
  struct dx_config *config = NULL;
  struct dx_buf out = {0};
  enum dx_code code;

  if (!client->sees_all)
    return dx_fail(err, DX_E_ACCESS, 0,
                   "metrics are for administrators of docextract");
  code = dx_config_load(server->config_path, &config, err);
  if (code == DX_OK)
    code = dx_metrics_text(config, &server->spool, &out, err);
  if (code == DX_OK)
    put(client, dx_buf_text(&out), out.len);
  return code;
}

/* Nothing is freed: the process ends. */
static _Noreturn void respond(struct server *server,
                              const struct client *client)
{
  struct dx_err err;
  enum dx_code code;
  size_t i;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)close(server->parent_fd);
  (void)close(server->listen_fd);
  for (i = 0; i < server->count; i++)
    if (server->clients[i] != client && server->clients[i]->fd >= 0)
      (void)close(server->clients[i]->fd); /* or it would not see its end */
  if (client->request.kind == DX_STATUS_SHOW)
    code = put_result(server, client, &err);
  else if (client->request.kind == DX_STATUS_METRICS)
    code = put_metrics(server, client, &err);
  else
    code = put_jobs(server, client, &err);
  if (code != DX_OK)
    put_line(client, dx_status_error_json(&err));
  _exit(0);
}

/* ---- requests ---- */

static void drop(struct client *client)
{
  if (client->fd >= 0)
    (void)close(client->fd);
  client->fd = -1;
}

/* A client that does not take it at once connects again, and learns from the
 * spool what has ended. */
static void send_out(struct client *client)
{
  const struct dx_buf *out = &client->out;

  if (client->fd < 0 || (client->pid != 0 && dx_buf_ok(out) &&
                         out->len <= DX_STATUS_BACKLOG_BYTES))
    return;
  if (client->pid != 0 || !dx_buf_ok(out) ||
      (out->len > 0 && send(client->fd, out->data, out->len,
                            MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)out->len))
    drop(client);
  dx_buf_release(&client->out);
}

/* The last that the client gets. */
static void refuse(struct client *client, const struct dx_err *err)
{
  (void)add_line(&client->out, dx_status_error_json(err));
  send_out(client);
  drop(client);
}

static void take_request(struct server *server, struct client *client,
                         size_t len)
{
  struct dx_err err;

  client->until_ms = INT64_MAX;
  if (dx_status_parse(client->line, len, &client->request, &err) != DX_OK) {
    refuse(client, &err);
    return;
  }
  client->is_watching = client->request.kind == DX_STATUS_WATCH;
  if (client->is_watching && client->request.since_ms < 0)
    return;
  client->pid = fork();
  if (client->pid == 0)
    respond(server, client);
  if (client->pid < 0) {
    client->pid = 0;
    (void)dx_fail_sys(&err, errno, "start", "a process");
    refuse(client, &err);
  } else if (!client->is_watching) {
    drop(client);
  }
}

static void read_request(struct server *server, struct client *client)
{
  size_t room = sizeof(client->line) - client->line_len;
  ssize_t n =
      recv(client->fd, client->line + client->line_len, room, MSG_DONTWAIT);
  const char *end;

  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n <= 0) {
    drop(client);
    return;
  }
  client->line_len += (size_t)n;
  end = memchr(client->line, '\n', client->line_len);
  if (end != NULL)
    take_request(server, client, (size_t)(end - client->line));
  else if (client->line_len == sizeof(client->line))
    take_request(server, client, 0); /* too long: an error */
}

/* ---- clients ---- */

/* Members of the group that reads the results, if docextract has its own. */
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

static enum dx_code identify(struct client *client, struct dx_err *err)
{
  struct ucred peer;
  socklen_t len = sizeof(peer);
  const struct passwd *entry;

  if (getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
    return dx_fail_sys(err, errno, "identify", "the client");
  client->uid = peer.uid;
  client->sees_all = peer.uid == 0 || peer.uid == geteuid() ||
                     (dx_user() != NULL && peer.gid == getegid()) ||
                     is_in_group(client->fd, getegid());
  entry = getpwuid(peer.uid);
  if (entry == NULL || strlen(entry->pw_name) >= sizeof(client->name))
    return client->sees_all
               ? DX_OK
               : dx_fail(err, DX_E_ACCESS, 0, "your user has no login name");
  memcpy(client->name, entry->pw_name, strlen(entry->pw_name) + 1);
  return DX_OK;
}

static enum dx_code admit(const struct server *server, struct client *client,
                          struct dx_err *err)
{
  size_t i, of_user = 0;
  enum dx_code code = identify(client, err);

  for (i = 0; i < server->count; i++)
    of_user += server->clients[i]->uid == client->uid;
  if (code == DX_OK && (server->count == DX_STATUS_CLIENTS_MAX ||
                        (of_user >= DX_STATUS_USER_CLIENTS_MAX &&
                         client->uid != 0 && client->uid != geteuid())))
    code = dx_fail(err, DX_E_BUSY, 0,
                   "docextractd has too many connections; try again later");
  return code;
}

static void add_client(struct server *server, int fd)
{
  const struct timeval limit = {.tv_sec = DX_STATUS_REPLY_MS / 1000};
  const int backlog = DX_STATUS_BACKLOG_BYTES;
  struct client *client = calloc(1, sizeof(*client));
  struct dx_err err;

  if (client == NULL) {
    (void)close(fd);
    return;
  }
  client->fd = fd;
  client->until_ms = dx_monotonic_ms() + DX_STATUS_REQUEST_MS;
  (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &backlog, sizeof(backlog));
  if (admit(server, client, &err) == DX_OK) {
    server->clients[server->count++] = client;
    return;
  }
  refuse(client, &err);
  free(client);
}

static void accept_clients(struct server *server)
{
  int n, fd;

  server->accept_ms = 0;
  for (n = 0; n < DX_STATUS_USER_CLIENTS_MAX; n++) { /* then the others */
    fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) {
      add_client(server, fd);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
      server->accept_ms = dx_monotonic_ms() + ACCEPT_AGAIN_MS;
    if (errno != ECONNABORTED && errno != EINTR)
      return;
  }
}

/* ---- the loop ---- */

static void tell(struct client *client, const struct dx_job *job,
                 const bool *has_ended)
{
  bool ok = true;
  size_t i;

  if (!client->is_watching || !may_see(client, job))
    return;
  for (i = 0; ok && i < job->submission_count; i++)
    if (has_ended[i])
      ok = add_end(client, &job->submissions[i], &client->out);
  send_out(client);
}

/* False: docextractd has ended. */
static bool read_ends(struct server *server)
{
  struct status_ends ends;
  struct dx_job *job;
  ssize_t n;
  size_t i;

  while ((n = recv(server->parent_fd, &ends, sizeof(ends), MSG_DONTWAIT)) ==
         (ssize_t)sizeof(ends)) {
    job = NULL;
    if (dx_spool_load(&server->spool, ends.key, &job, NULL) != DX_OK)
      continue;
    for (i = 0; i < server->count; i++)
      tell(server->clients[i], job, ends.has_ended);
    dx_job_free(&job);
  }
  return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* The processes that have ended. */
static void reap(struct server *server)
{
  struct signalfd_siginfo info;
  pid_t pid;
  size_t i;

  (void)!read(server->signal_fd, &info, sizeof(info));
  while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
    for (i = 0; i < server->count; i++)
      if (server->clients[i]->pid == pid) {
        server->clients[i]->pid = 0;
        send_out(server->clients[i]);
      }
}

static void remove_gone(struct server *server)
{
  size_t i = 0;

  while (i < server->count) {
    struct client *client = server->clients[i];

    if (dx_monotonic_ms() >= client->until_ms)
      drop(client);
    if (client->fd >= 0 || client->pid != 0) {
      i++;
      continue;
    }
    dx_buf_release(&client->out);
    free(client);
    server->clients[i] = server->clients[--server->count];
  }
}

/* Until there is something to do without an event. */
static int wait_ms(const struct server *server)
{
  int64_t next = server->accept_ms != 0 ? server->accept_ms : INT64_MAX, now;
  size_t i;

  for (i = 0; i < server->count; i++)
    if (server->clients[i]->until_ms < next)
      next = server->clients[i]->until_ms;
  now = dx_monotonic_ms();
  return next == INT64_MAX ? -1 : next <= now ? 0 : (int)(next - now);
}

#define OWN_FDS 3 /* before those of clients */

static void loop(struct server *server)
{
  struct pollfd fds[OWN_FDS + DX_STATUS_CLIENTS_MAX];
  size_t i, count;

  for (;;) {
    bool accepts = dx_monotonic_ms() >= server->accept_ms;

    count = OWN_FDS + server->count;
    fds[0] = (struct pollfd){.fd = server->parent_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = server->signal_fd, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = accepts ? server->listen_fd : -1,
                             .events = POLLIN};
    for (i = 0; i < server->count; i++) /* POLLHUP always */
      fds[OWN_FDS + i] = (struct pollfd){
          .fd = server->clients[i]->fd,
          .events = server->clients[i]->is_watching ? 0 : POLLIN};
    if (poll(fds, (nfds_t)count, wait_ms(server)) < 0 && errno != EINTR)
      return;
    if (!read_ends(server))
      return;
    for (i = OWN_FDS; i < count; i++) {
      struct client *client = server->clients[i - OWN_FDS];

      if (client->fd >= 0 && fds[i].revents & (POLLHUP | POLLERR | POLLNVAL))
        drop(client);
      else if (client->fd >= 0 && fds[i].revents & POLLIN)
        read_request(server, client);
    }
    if (fds[1].revents != 0)
      reap(server);
    remove_gone(server);
    if (fds[2].revents != 0 || server->accept_ms != 0)
      accept_clients(server);
  }
}

void status_serve(int listen_fd, int parent_fd, const char *spool_dir,
                  const char *config_path)
{
  static struct server server;
  struct dx_err err = {0};
  sigset_t set;

  server.listen_fd = listen_fd;
  server.parent_fd = parent_fd;
  server.config_path = config_path;
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGCHLD);
  (void)sigprocmask(SIG_SETMASK, &set, NULL);
  server.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  (void)setpriority(PRIO_PROCESS, 0, NICE);
  if (dx_spool_open(spool_dir, &server.spool, &err) == DX_OK &&
      server.signal_fd < 0)
    (void)dx_fail_sys(&err, errno, "catch", "signals");
  if (err.code == DX_OK)
    loop(&server);
  else
    dx_log(DX_LOG_ERROR, "the status socket: %s", err.text);
}
