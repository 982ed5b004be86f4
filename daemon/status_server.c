/*
 * status_server.c - one thread, one loop over poll(2): connections, requests,
 * and the pieces of responses.
 */
#include "daemon/status_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/status_ends.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/user.h"
#include "lib/config/config.h"
#include "lib/control/metrics.h"
#include "lib/spool/results.h"
#include "lib/spool/sentence.h"
#include "lib/control/status.h"

#define PIECE_BYTES 65536   /* of a response, at once */
#define PIECE_MS 3          /* that making it may take; others wait */
#define ACCEPT_AGAIN_MS 500 /* after accept() had no descriptor left */
#define NICE 5              /* jobs come first */
#define NEVER INT64_MAX

struct client;
struct server;

/* Adds a piece of the response to client->out; false when it was the last. */
typedef bool make_piece(struct server *server, struct client *client);

struct client {
  int fd; /* -1: to be removed */
  uid_t uid;
  bool sees_all;
  char name[DX_USER_BYTES];
  char line[DX_STATUS_REQUEST_BYTES];
  size_t line_len;
  struct dx_status_request request;
  bool has_request;  /* it was read */
  bool is_watching;  /* stays when everything is sent */
  make_piece *piece; /* NULL: there are no more */
  DIR *dir;          /* being listed */
  bool is_finished;  /* dir is finished/ */
  int file;          /* being sent; -1: none */
  int64_t left;      /* bytes of it */
  struct dx_buf out;
  size_t sent;      /* bytes of it */
  int64_t until_ms; /* monotonic: dropped then */
};

struct server {
  int listen_fd, parent_fd;
  int64_t accept_ms; /* monotonic: not before */
  const char *config_path;
  struct dx_spool spool;
  struct ends ends;
  struct client *clients[DX_STATUS_CLIENTS_MAX];
  size_t count;
};

/* ---- what a client is given ---- */

static void drop(struct client *client)
{
  if (client->fd >= 0)
    (void)close(client->fd);
  client->fd = -1;
}

static void add_line(struct client *client, struct dx_json *json)
{
  char *text = json != NULL ? dx_json_print(json, false) : NULL;

  dx_json_free(&json);
  if (text != NULL) {
    dx_buf_puts(&client->out, text);
    dx_buf_puts(&client->out, "\n");
  }
  if (text == NULL || client->out.failed)
    drop(client);
  free(text);
}

static void add_error(struct client *client, const struct dx_err *err)
{
  add_line(client, dx_status_error_json(err));
}

static bool may_see(const struct client *client, const struct dx_job *job)
{
  return client->sees_all ||
         (job->user != NULL && strcmp(job->user, client->name) == 0);
}

static size_t left_to_send(const struct client *client)
{
  return client->out.len - client->sent;
}

/* Sends what there is; what is left stays for the next turn. */
static void send_out(struct client *client)
{
  struct dx_buf *out = &client->out;
  ssize_t n;

  if (client->fd < 0 || left_to_send(client) == 0)
    return;
  n = send(client->fd, out->data + client->sent, left_to_send(client),
           MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN && errno != EINTR)
    drop(client);
  if (n <= 0)
    return;
  client->sent += (size_t)n;
  client->until_ms = dx_monotonic_ms() + DX_STATUS_REPLY_MS;
  if (client->sent < out->len / 2)
    return;
  out->len -= client->sent; /* so that it does not grow for ever */
  memmove(out->data, out->data + client->sent, out->len);
  client->sent = 0;
}

/* ---- jobs, and what ended before a watch ---- */

/* Few of the finished jobs are read. */
static bool is_wanted(const struct server *server, const struct client *client,
                      const char *key)
{
  int64_t most = DX_STATUS_RECENT_MS, age;

  if (!client->is_finished || client->request.all)
    return true;
  if (client->request.kind == DX_STATUS_WATCH)
    most = dx_wall_ms() - client->request.since_ms + 1000;
  age = dx_spool_finished_ms(&server->spool, key);
  return age <= most || age == INT64_MAX; /* it was moved */
}

static void add_ends(struct client *client, const struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++) {
    int64_t ended_at = dx_submission_ended_at(&job->submissions[i]);

    if (ended_at != 0 && ended_at >= client->request.since_ms)
      add_line(client,
               dx_status_end_json(&job->submissions[i], client->sees_all));
  }
}

static void add_job(struct server *server, struct client *client,
                    const char *key)
{
  struct dx_job *job = NULL;

  if (!is_wanted(server, client, key) ||
      dx_spool_load(&server->spool, key, &job, NULL) != DX_OK ||
      !may_see(client, job))
    (void)0; /* nothing for this client */
  else if (client->request.kind == DX_STATUS_WATCH)
    add_ends(client, job);
  else
    add_line(client, dx_status_job_json(job, client->sees_all));
  dx_job_free(&job);
}

static bool open_list(struct server *server, struct client *client)
{
  const char *name = client->is_finished ? "finished" : "jobs";
  int fd = dx_fs_open_dir_at(server->spool.dirfd, name, NULL);

  client->dir = fd >= 0 ? fdopendir(fd) : NULL;
  if (client->dir == NULL && fd >= 0)
    (void)close(fd);
  return client->dir != NULL;
}

static void close_list(struct client *client)
{
  if (client->dir != NULL)
    (void)closedir(client->dir);
  client->dir = NULL;
}

/* After the last job. */
static void end_list(struct client *client)
{
  struct dx_json *end = dx_json_object();

  if (client->request.kind == DX_STATUS_WATCH)
    dx_json_free(&end);
  else if (end == NULL || !dx_json_put_bool(end, "end", true))
    drop(client);
  else
    add_line(client, end);
}

/* Jobs go from jobs/ to finished/, so none is missed in this order; one may be
 * listed twice. */
static bool piece_of_list(struct server *server, struct client *client)
{
  int64_t until_ms = dx_monotonic_ms() + PIECE_MS;
  const struct dirent *entry;

  if (client->dir == NULL && !open_list(server, client)) {
    drop(client);
    return false;
  }
  while (client->fd >= 0 && client->out.len < PIECE_BYTES &&
         dx_monotonic_ms() < until_ms) {
    entry = readdir(client->dir);
    if (entry != NULL) {
      if (dx_is_key(entry->d_name))
        add_job(server, client, entry->d_name);
      continue;
    }
    close_list(client);
    if (!client->is_finished) {
      client->is_finished = true;
      return true;
    }
    end_list(client);
    return false;
  }
  return true;
}

/* ---- show ---- */

static bool piece_of_file(struct server *server, struct client *client)
{
  char bytes[PIECE_BYTES];
  size_t want = client->left < PIECE_BYTES ? (size_t)client->left : PIECE_BYTES;
  ssize_t n = read(client->file, bytes, want);

  (void)server;
  if (n <= 0) { /* it shrank; the client gets less than was announced */
    drop(client);
    return false;
  }
  dx_buf_add(&client->out, bytes, (size_t)n);
  explicit_bzero(bytes, sizeof(bytes));
  client->left -= n;
  if (client->out.failed)
    drop(client);
  return client->left > 0;
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

static enum dx_code open_result(struct client *client, const char *dir,
                                struct dx_err *err)
{
  int dirfd = dx_fs_open_dir(dir, err);
  struct stat st;

  if (dirfd < 0)
    return err->code;
  client->file = openat(dirfd, client->request.name,
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  (void)close(dirfd);
  if (client->file < 0)
    return errno == ENOENT
               ? dx_fail(err, DX_E_NOT_FOUND, ENOENT,
                         "'%s' is no longer there; a consumer of the results "
                         "took it",
                         client->request.name)
               : dx_fail_sys(err, errno, "open", client->request.name);
  if (fstat(client->file, &st) < 0 || !S_ISREG(st.st_mode))
    return dx_fail(err, DX_E_DAMAGED, 0, "'%s' is not a file",
                   client->request.name);
  client->left = st.st_size;
  return DX_OK;
}

/* The configuration as it is now. */
static enum dx_code find_result(const struct server *server,
                                struct client *client, const struct dx_job *job,
                                struct dx_err *err)
{
  const struct dx_service *service;
  struct dx_config *config = NULL;
  enum dx_code code = dx_config_load(server->config_path, &config, err);

  if (code != DX_OK)
    return dx_fail(err, code, 0, "the configuration of docextract is invalid");
  service = dx_config_service(config, job->service);
  if (service != NULL)
    code = open_result(client, service->results_dir, err);
  else
    code = dx_fail(err, DX_E_CONFIG, 0,
                   "the service of the job is no longer configured, so its "
                   "results directory is unknown");
  dx_config_free(&config);
  return code;
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

static enum dx_code begin_show(struct server *server, struct client *client,
                               struct dx_err *err)
{
  struct dx_json *head = NULL;
  struct dx_job *job = NULL;
  enum dx_code code =
      dx_spool_load(&server->spool, client->request.key, &job, NULL);

  /* In the same words, whether it is another user's or does not exist. */
  if (code != DX_OK || !may_see(client, job) ||
      !has_result(job, client->request.name))
    code = dx_fail(err, DX_E_JOB, 0, "there is no such result");
  else
    code = find_result(server, client, job, err);
  dx_job_free(&job);
  if (code != DX_OK)
    return client->sees_all || code == DX_E_JOB ? code : reword(code, err);
  head = dx_json_object();
  if (head == NULL || !dx_json_put_int(head, "bytes", client->left))
    dx_json_free(&head);
  add_line(client, head);
  client->piece = client->left > 0 ? piece_of_file : NULL;
  return DX_OK;
}

static enum dx_code begin_metrics(struct server *server, struct client *client,
                                  struct dx_err *err)
{
  struct dx_config *config = NULL;
  enum dx_code code;

  if (!client->sees_all)
    return dx_fail(err, DX_E_ACCESS, 0,
                   "metrics are for administrators of docextract");
  code = dx_config_load(server->config_path, &config, err);
  if (code == DX_OK)
    code = dx_metrics_text(config, &server->spool, &client->out, err);
  dx_config_free(&config);
  return code;
}

/* ---- requests ---- */

static enum dx_code begin(struct server *server, struct client *client,
                          struct dx_err *err)
{
  switch (client->request.kind) {
  case DX_STATUS_SHOW:
    return begin_show(server, client, err);
  case DX_STATUS_JOBS:
    client->piece = piece_of_list;
    return DX_OK;
  case DX_STATUS_WATCH:
    client->is_watching = true;
    client->piece = client->request.since_ms >= 0 ? piece_of_list : NULL;
    return DX_OK;
  case DX_STATUS_METRICS:
    return begin_metrics(server, client, err);
  default:
    return dx_fail(err, DX_E_ARG, 0, "not a request of the status socket");
  }
}

static void respond(struct server *server, struct client *client, size_t len)
{
  struct dx_err err;
  enum dx_code code =
      dx_status_parse(client->line, len, &client->request, &err);

  client->has_request = true;
  client->until_ms = dx_monotonic_ms() + DX_STATUS_REPLY_MS;
  if (code == DX_OK)
    code = begin(server, client, &err);
  if (code != DX_OK)
    add_error(client, &err);
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
    respond(server, client, (size_t)(end - client->line));
  else if (client->line_len == sizeof(client->line))
    respond(server, client, 0); /* too long: an error */
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

static void client_free(struct client *client)
{
  drop(client);
  close_list(client);
  if (client->file >= 0)
    (void)close(client->file);
  dx_buf_wipe(&client->out); /* results */
  free(client);
}

static void add_client(struct server *server, int fd)
{
  struct client *client = calloc(1, sizeof(*client));
  struct dx_err err;

  if (client == NULL) {
    (void)close(fd);
    return;
  }
  client->fd = fd;
  client->file = -1;
  client->until_ms = dx_monotonic_ms() + DX_STATUS_REQUEST_MS;
  if (admit(server, client, &err) == DX_OK) {
    server->clients[server->count++] = client;
    return;
  }
  add_error(client, &err);
  send_out(client);
  client_free(client);
}

static void accept_clients(struct server *server)
{
  int n, fd;

  for (n = 0; n < DX_STATUS_USER_CLIENTS_MAX; n++) { /* then the others */
    fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
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

static void remove_gone(struct server *server)
{
  size_t i = 0;

  while (i < server->count) {
    if (server->clients[i]->fd >= 0) {
      i++;
      continue;
    }
    client_free(server->clients[i]);
    server->clients[i] = server->clients[--server->count];
  }
}

/* ---- the loop ---- */

static void on_end(void *ctx, const struct dx_submission *sub)
{
  struct server *server = ctx;
  size_t i;

  for (i = 0; i < server->count; i++) {
    struct client *client = server->clients[i];

    if (client->fd < 0 || !client->is_watching || !may_see(client, sub->job))
      continue;
    if (left_to_send(client) == 0) /* it has had nothing to take until now */
      client->until_ms = dx_monotonic_ms() + DX_STATUS_REPLY_MS;
    add_line(client, dx_status_end_json(sub, client->sees_all));
    if (left_to_send(client) > DX_STATUS_BACKLOG_BYTES)
      drop(client);
  }
}

static bool is_idle(const struct client *client)
{
  return client->has_request && left_to_send(client) == 0 &&
         client->piece == NULL;
}

static short wanted_events(const struct client *client)
{
  if (!client->has_request)
    return POLLIN;
  return is_idle(client) ? 0 : POLLOUT; /* POLLHUP always */
}

static void serve_client(struct server *server, struct client *client,
                         short events)
{
  if (events & (POLLHUP | POLLERR | POLLNVAL))
    drop(client);
  else if (!client->has_request && (events & POLLIN))
    read_request(server, client);
  else if ((events & POLLOUT) && left_to_send(client) == 0 &&
           client->piece != NULL) {
    client->until_ms = dx_monotonic_ms() + DX_STATUS_REPLY_MS;
    if (!client->piece(server, client))
      client->piece = NULL;
  }
  send_out(client);
  if (client->fd >= 0 && is_idle(client) && !client->is_watching)
    drop(client);
  if (client->fd >= 0 && dx_monotonic_ms() >= client->until_ms &&
      !(client->is_watching && is_idle(client)))
    drop(client);
}

static int64_t sooner(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

/* When there is something to do without an event. */
static int64_t next_ms(const struct server *server)
{
  int64_t next = server->ends.look_ms;
  size_t i;

  if (server->accept_ms > dx_monotonic_ms())
    next = sooner(next, server->accept_ms);
  for (i = 0; i < server->count; i++)
    if (!is_idle(server->clients[i]))
      next = sooner(next, server->clients[i]->until_ms);
  return next;
}

static int wait_ms(const struct server *server)
{
  int64_t next = next_ms(server), now = dx_monotonic_ms();

  if (next == NEVER)
    return -1;
  return next <= now ? 0 : (int)sooner(next - now, INT32_MAX);
}

#define OWN_FDS 3 /* before those of clients */

static size_t fill(const struct server *server, struct pollfd *fds)
{
  bool accepts = dx_monotonic_ms() >= server->accept_ms;
  size_t i;

  fds[0] = (struct pollfd){.fd = server->parent_fd, .events = POLLIN};
  fds[1] =
      (struct pollfd){.fd = accepts ? server->listen_fd : -1, .events = POLLIN};
  fds[2] = (struct pollfd){.fd = server->ends.fd, .events = POLLIN};
  for (i = 0; i < server->count; i++)
    fds[OWN_FDS + i] =
        (struct pollfd){.fd = server->clients[i]->fd,
                        .events = wanted_events(server->clients[i])};
  return OWN_FDS + server->count;
}

static void loop(struct server *server)
{
  struct pollfd fds[OWN_FDS + DX_STATUS_CLIENTS_MAX];
  size_t i, count;

  for (;;) {
    count = fill(server, fds);
    if (poll(fds, (nfds_t)count, wait_ms(server)) < 0 && errno != EINTR)
      return;
    if (fds[0].revents != 0) /* docextractd has ended */
      return;
    ends_look(&server->ends);
    for (i = OWN_FDS; i < count; i++)
      serve_client(server, server->clients[i - OWN_FDS], fds[i].revents);
    remove_gone(server);
    if (fds[1].revents != 0)
      accept_clients(server);
  }
}

void status_serve(int listen_fd, int parent_fd, const char *spool_dir,
                  const char *config_path)
{
  static struct server server;
  struct dx_err err;

  server.listen_fd = listen_fd;
  server.parent_fd = parent_fd;
  server.config_path = config_path;
  server.ends.on_end = on_end;
  server.ends.ctx = &server;
  (void)setpriority(PRIO_PROCESS, 0, NICE);
  if (dx_spool_open(spool_dir, &server.spool, &err) != DX_OK) {
    dx_log(DX_LOG_ERROR, "the status socket: %s", err.text);
    return;
  }
  ends_start(&server.ends, &server.spool, spool_dir);
  loop(&server);
}
