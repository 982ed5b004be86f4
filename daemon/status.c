/*
 * status.c - creates the status socket, and keeps its server running: a process
 * of the same program, which accepts connections, and starts a child process
 * for each. That one may block on its client, and exits when it has responded.
 * A client that watches then stays with the server.
 */
#include "daemon/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/control.h"
#include "daemon/tallies.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/user.h"
#include "lib/config/config.h"
#include "lib/control/channel.h"
#include "lib/control/metrics.h"
#include "lib/control/status.h"
#include "lib/spool/results.h"
#include "lib/spool/sentence.h"

#define DX_STATUS_CLIENTS_MAX 256     /* connections, of all users, */
#define DX_STATUS_USER_CLIENTS_MAX 16 /* and of one that is not root */

#define DIR_MODE 0755       /* all users can reach the socket, */
#define SOCKET_MODE 0666    /* and connect to it */
#define START_GAP_MS 5000   /* between two starts of the server */
#define ACCEPT_AGAIN_MS 500 /* after accept() ran out of descriptors */
#define NICE 5              /* jobs have priority */

#define DX_METRICS_ANSWER_MS 20000 /* docextractd may be busy */
/* The disk is measured again after so many times what it has taken, but at
 * least so often. */
#define DX_MEASURE_GAP_FACTOR 200
#define DX_MEASURE_GAP_MAX_MS 600000
#define DX_MISSED_MAX 1000 /* ends while past ones are listed */
#define END_OF_JOBS "{\"end\":true}\n"

/* The server's own descriptors, besides stderr and those of the spool. */
#define LISTEN_FD STDIN_FILENO
#define PARENT_FD STDOUT_FILENO /* to docextractd */

/* Whose jobs a client may see. Its process determines it, because the user
 * database may not respond. */
struct viewer {
  bool sees_all;
  char name[DX_USER_BYTES];
};

/* What the process of a client sends when its client watches. */
struct watcher {
  struct viewer viewer;
  int64_t since_ms; /* jobs that end then or later */
};

/* What takes long to find out, for `metrics`: measured by the process of one
 * client for all that follow. In memory that all processes share. */
struct measured {
  atomic_bool is_known;
  atomic_llong due_ms; /* monotonic: when to measure again */
  atomic_llong finished, damaged, bytes;
};

/* A connection. */
struct connected {
  uid_t uid;
  enum {
    ASKS,    /* its process handles it, */
    WATCHES, /* and lists past ends for `watch` */
    STAYS    /* its process has passed it: the server tells it of new ends */
  } state;
  int process_fd; /* to its process; -1: that has exited */
  int fd;         /* the connection, when its process has passed it; or -1 */
  struct watcher watcher;
  char *missed; /* keys of jobs that ended while it WATCHES */
  size_t missed_count;
};

struct server {
  const char *config_path;
  struct dx_spool spool;
  struct measured *measured;
  struct connected clients[DX_STATUS_CLIENTS_MAX];
  size_t count;
};

/* What the process of a client knows. It is not freed: the process exits. */
struct session {
  struct server *server;
  int fd; /* the connection */
  int server_fd;
  struct viewer viewer;
  int64_t since_ms;   /* jobs that have ended then or later; 0: all */
  int64_t max_age_ms; /* finished jobs that are older are not read */
};

/* ---- descriptors between processes ---- */

union passed {
  struct cmsghdr part;
  char bytes[CMSG_SPACE(sizeof(int))];
};

/* A message of one byte, with a descriptor. */
enum passes {
  PASSES_QUESTION = '?', /* to be answered by docextractd, with its numbers */
  PASSES_CLIENT = '>'    /* which stays with the server */
};

/* False if the receiver is behind, or gone. */
static bool pass_fd(int to, enum passes what, int fd)
{
  char byte = (char)what;
  struct iovec text = {&byte, sizeof(byte)};
  union passed passed = {.part = {.cmsg_len = CMSG_LEN(sizeof(int)),
                                  .cmsg_level = SOL_SOCKET,
                                  .cmsg_type = SCM_RIGHTS}};
  const struct msghdr message = {.msg_iov = &text,
                                 .msg_iovlen = 1,
                                 .msg_control = &passed,
                                 .msg_controllen = sizeof(passed)};

  memcpy(CMSG_DATA(&passed.part), &fd, sizeof(fd));
  return sendmsg(to, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* Receives a message, and returns the descriptor that it has; -1: none. ret_n:
 * as recv(). */
static int receive_fd(int from, void *bytes, size_t len, ssize_t *ret_n)
{
  struct iovec text = {bytes, len};
  union passed passed;
  struct msghdr message = {.msg_iov = &text,
                           .msg_iovlen = 1,
                           .msg_control = &passed,
                           .msg_controllen = sizeof(passed)};
  const struct cmsghdr *part;
  int fd;

  *ret_n = recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  part = *ret_n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (part == NULL || part->cmsg_type != SCM_RIGHTS)
    return -1;
  memcpy(&fd, CMSG_DATA(part), sizeof(fd));
  return fd;
}

/* ---- the process of a client: responses ---- */

/* Exits if the client is gone, or reads nothing for DX_STATUS_REPLY_MS: then
 * send() fails, or returns what it has sent before. */
static void put(const struct session *session, const char *bytes, size_t len)
{
  if (send(session->fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
    _exit(1);
}

/* Frees text; exits if it is NULL (out of memory). */
static void put_line(const struct session *session, char *text)
{
  if (text == NULL)
    _exit(1);
  put(session, text, strlen(text));
  free(text);
}

static bool may_see(const struct viewer *viewer, const char *user)
{
  return viewer->sees_all || (user != NULL && strcmp(user, viewer->name) == 0);
}

static enum dx_code put_job(void *ctx, enum dx_spool_part part, const char *key)
{
  const struct session *session = ctx;
  struct dx_spool *spool = &session->server->spool;
  struct dx_job *job = NULL;
  int64_t age_ms = INT64_MAX; /* not finished, or it was moved */

  if (part == DX_SPOOL_FINISHED)
    age_ms = dx_spool_finished_ms(spool, key);
  if ((age_ms > session->max_age_ms && age_ms != INT64_MAX) ||
      dx_spool_load(spool, key, &job, NULL) != DX_OK)
    return DX_OK;
  if (may_see(&session->viewer, job->user) &&
      dx_job_ended_at(job) >= session->since_ms)
    put_line(session, dx_status_job_line(job, session->viewer.sees_all));
  dx_job_free(&job);
  return DX_OK;
}

static enum dx_code not_a_request(struct dx_err *err)
{
  return dx_fail(err, DX_E_ARG, 0, "not a request of the status socket");
}

static enum dx_code put_jobs(struct session *session,
                             const struct dx_message *request,
                             struct dx_err *err)
{
  bool all = strcmp(request->text, "all") == 0;
  enum dx_code code;

  if (!all && request->text[0] != '\0')
    return not_a_request(err);
  session->max_age_ms = all ? INT64_MAX : DX_STATUS_RECENT_MS;
  code = dx_spool_each(&session->server->spool, DX_SPOOL_JOBS, put_job, session,
                       err);
  if (code == DX_OK)
    put(session, END_OF_JOBS, strlen(END_OF_JOBS));
  return code;
}

/* Lists past ends. Then the server tells the client itself: hundreds of
 * processes would take most of the time. */
static enum dx_code watch(struct session *session,
                          const struct dx_message *request, struct dx_err *err)
{
  int64_t since_ms = dx_parse_time(request->text);
  struct watcher watcher = {.viewer = session->viewer};
  enum dx_code code = DX_OK;

  if (since_ms < 0 && request->text[0] != '\0')
    return not_a_request(err);
  session->since_ms = since_ms > 0 ? since_ms : 1;
  session->max_age_ms = dx_wall_ms() - since_ms + 1000;
  watcher.since_ms = session->since_ms;
  (void)send(session->server_fd, &watcher, sizeof(watcher), MSG_NOSIGNAL);
  if (since_ms >= 0)
    code = dx_spool_each(&session->server->spool, DX_SPOOL_JOBS, put_job,
                         session, err);
  if (code == DX_OK)
    (void)pass_fd(session->server_fd, PASSES_CLIENT, session->fd);
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
static enum dx_code open_result(const struct session *session,
                                const struct dx_submission *sub,
                                const char *name, int *ret_fd,
                                struct stat *ret_st, struct dx_err *err)
{
  const struct dx_service *service;
  struct dx_config *config = NULL;
  int dirfd;
  enum dx_code code =
      dx_config_load(session->server->config_path, &config, NULL, err);

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

static void put_size(const struct session *session, int64_t bytes)
{
  char line[64];

  put(session, line,
      (size_t)snprintf(line, sizeof(line), "{\"bytes\":%" PRId64 "}\n", bytes));
}

static enum dx_code put_result(struct session *session,
                               const struct dx_message *request,
                               struct dx_err *err)
{
  const char *key = request->words[0], *name = request->words[1];
  const struct dx_submission *sub = NULL;
  struct dx_job *job = NULL;
  struct stat st = {0};
  int fd = -1;
  enum dx_code code;

  if (!dx_is_key(key) || strchr(name, '/') != NULL)
    return not_a_request(err);
  code = dx_spool_load(&session->server->spool, key, &job, NULL);
  if (code == DX_OK && may_see(&session->viewer, job->user))
    sub = submission_of(job, name);
  /* The response does not show whether the job exists or belongs to another
   * user. */
  if (sub == NULL)
    return dx_fail(err, DX_E_JOB, 0, "result not found");
  code = open_result(session, sub, name, &fd, &st, err);
  if (code != DX_OK && session->viewer.sees_all)
    return code;
  /* Names of files and directives are of no use to an ordinary user. */
  if (code != DX_OK)
    return dx_fail(err, code, 0,
                   code == DX_E_NOT_FOUND
                       ? "the result was moved or deleted by the program "
                         "that imports results"
                       : DX_SENTENCE_ADMIN "the result cannot be read");
  put_size(session, st.st_size);
  /* As send(); less also if it was truncated: so is the response. One call is
   * enough for MaxResultSize, which is at most 1 GiB. */
  if (sendfile(session->fd, fd, NULL, (size_t)st.st_size) != st.st_size)
    _exit(1);
  return DX_OK;
}

/* Asks docextractd itself. */
static enum dx_code ask_for_jobs(void *ctx, struct dx_tallies *ret_all,
                                 struct dx_err *err)
{
  const struct timeval limit = {.tv_sec = DX_METRICS_ANSWER_MS / 1000};
  const struct session *session = ctx;
  enum dx_code code;
  int pair[2];

  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
    return dx_fail_sys(err, errno, "ask", "docextractd");
  (void)setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  (void)pass_fd(session->server_fd, PASSES_QUESTION, pair[1]);
  (void)close(pair[1]);
  code = tallies_receive(pair[0], ret_all, err);
  (void)close(pair[0]);
  return code;
}

/* Only one process measures at a time: the first one that finds it due. */
static void measure(void *ctx, struct dx_sizes *ret_sizes)
{
  const struct session *session = ctx;
  struct measured *m = session->server->measured;
  int64_t now = dx_monotonic_ms(), wait_ms;
  long long due = atomic_load(&m->due_ms);

  if (atomic_load(&m->is_known) &&
      (now < due || !atomic_compare_exchange_strong(
                        &m->due_ms, &due, now + DX_MEASURE_GAP_MAX_MS))) {
    *ret_sizes = (struct dx_sizes){.finished = atomic_load(&m->finished),
                                   .damaged = atomic_load(&m->damaged),
                                   .bytes = atomic_load(&m->bytes)};
    return;
  }
  dx_metrics_measure(&session->server->spool, ret_sizes);
  wait_ms = (dx_monotonic_ms() - now) * DX_MEASURE_GAP_FACTOR;
  atomic_store(&m->finished, ret_sizes->finished);
  atomic_store(&m->damaged, ret_sizes->damaged);
  atomic_store(&m->bytes, ret_sizes->bytes);
  atomic_store(&m->due_ms, dx_monotonic_ms() + (wait_ms < DX_MEASURE_GAP_MAX_MS
                                                    ? wait_ms
                                                    : DX_MEASURE_GAP_MAX_MS));
  atomic_store(&m->is_known, true);
}

static enum dx_code put_metrics(struct session *session,
                                const struct dx_message *request,
                                struct dx_err *err)
{
  const struct dx_metrics_source source = {ask_for_jobs, measure, session};
  struct dx_config *config = NULL;
  struct dx_buf out = {0};
  enum dx_code code;

  (void)request;
  if (!session->viewer.sees_all)
    return dx_fail(err, DX_E_ACCESS, 0,
                   "metrics are for administrators of docextract");
  code = dx_config_load(session->server->config_path, &config, NULL, err);
  if (code == DX_OK)
    code = dx_metrics_text(config, &session->server->spool, &source, &out, err);
  if (code == DX_OK) {
    put_size(session, (int64_t)out.len);
    put(session, dx_buf_text(&out), out.len);
  }
  return code;
}

/* ---- the process of a client: its request ---- */

static enum dx_code identify(struct session *session, const struct ucred *peer,
                             struct dx_err *err)
{
  const struct passwd *entry = getpwuid(peer->uid);
  static gid_t groups[NGROUPS_MAX];
  socklen_t len = sizeof(groups);
  bool is_in_group = peer->gid == getegid();
  size_t i;

  if (getsockopt(session->fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
    len = 0;
  for (i = 0; i < len / sizeof(groups[0]); i++)
    is_in_group = is_in_group || groups[i] == getegid();
  /* The group counts only if docextract has its own. */
  session->viewer.sees_all = peer->uid == 0 || peer->uid == geteuid() ||
                             (is_in_group && dx_user() != NULL);
  if (entry == NULL || strlen(entry->pw_name) >= sizeof(session->viewer.name))
    return session->viewer.sees_all
               ? DX_OK
               : dx_fail(err, DX_E_ACCESS, 0, "your user has no login name");
  memcpy(session->viewer.name, entry->pw_name, strlen(entry->pw_name) + 1);
  return DX_OK;
}

/* Exits if the client has closed the connection. */
static enum dx_code read_request(const struct session *session,
                                 struct dx_message *ret_request,
                                 struct dx_err *err)
{
  struct dx_channel channel = DX_CHANNEL_OF(session->fd);
  enum dx_code code = dx_channel_await(&channel, -1, ret_request, err);

  if (code == DX_E_NET)
    _exit(1);
  return code == DX_OK && ret_request->verb >= DX_VERB_JOBS
             ? DX_OK
             : not_a_request(err);
}

static void close_client(struct connected *client)
{
  if (client->process_fd >= 0)
    (void)close(client->process_fd);
  if (client->fd >= 0)
    (void)close(client->fd);
  free(client->missed);
}

static _Noreturn void serve_client(struct session *session,
                                   const struct ucred *peer)
{
  const struct timeval limit = {.tv_sec = DX_STATUS_REPLY_MS / 1000};
  static enum dx_code (*const responses[])(
      struct session *, const struct dx_message *,
      struct dx_err *) = {[DX_VERB_JOBS] = put_jobs,
                          [DX_VERB_SHOW] = put_result,
                          [DX_VERB_WATCH] = watch,
                          [DX_VERB_METRICS] = put_metrics};
  struct server *server = session->server;
  struct dx_message request;
  struct dx_err err;
  enum dx_code code;
  size_t i;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)close(LISTEN_FD);
  (void)close(PARENT_FD);
  for (i = 0; i < server->count; i++)
    close_client(&server->clients[i]); /* else the other ends stay open */
  (void)setsockopt(session->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  /* Exits if the user database does not respond, or the request does not
   * arrive, in time. */
  (void)alarm(DX_STATUS_REQUEST_MS / 1000);
  code = identify(session, peer, &err);
  if (code == DX_OK)
    code = read_request(session, &request, &err);
  (void)alarm(0);
  if (code == DX_OK)
    code = responses[request.verb](session, &request, &err);
  if (code != DX_OK)
    put_line(session, dx_status_error_line(&err));
  _exit(0);
}

/* ---- the server ---- */

/* Starts the process of a client. */
static enum dx_code admit(struct server *server, int fd, struct dx_err *err)
{
  struct session session = {.server = server, .fd = fd};
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
  server->clients[server->count++] = (struct connected){
      .uid = peer.uid, .state = ASKS, .process_fd = pair[0], .fd = -1};
  session.server_fd = pair[1];
  pid = fork();
  if (pid == 0)
    serve_client(&session, &peer);
  (void)close(pair[1]); /* without a child, this removes the entry */
  return pid > 0 ? DX_OK : dx_fail_sys(err, errno, "start", "a process");
}

static void accept_client(struct server *server)
{
  int fd = accept4(LISTEN_FD, NULL, NULL, SOCK_CLOEXEC);
  struct dx_err err;
  char *text;

  if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
    (void)poll(NULL, 0, ACCEPT_AGAIN_MS);
  if (fd < 0)
    return;
  if (admit(server, fd, &err) != DX_OK) {
    text = dx_status_error_line(&err);
    if (text != NULL)
      (void)send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
    free(text);
  }
  (void)close(fd);
}

/* False if it is too much. */
static bool tell_later(struct connected *client, const char *key)
{
  char *more =
      client->missed_count < DX_MISSED_MAX
          ? reallocarray(client->missed, client->missed_count + 1, DX_KEY_BYTES)
          : NULL;

  if (more == NULL)
    return false;
  client->missed = more;
  memcpy(more + client->missed_count++ * DX_KEY_BYTES, key, DX_KEY_BYTES);
  return true;
}

static bool tell_line(const struct connected *client, const char *line)
{
  return line != NULL &&
         send(client->fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL) ==
             (ssize_t)strlen(line);
}

/* Tells clients that may see the job. Its lines are created once: for those who
 * see all jobs, and for its user. A client that cannot be told is disconnected,
 * connects again, and gets the end from the spool. */
static void tell_end(struct server *server, struct connected *clients,
                     size_t count, const char *key)
{
  struct dx_job *job = NULL;
  char *lines[2];
  int64_t ended_at;
  size_t i;

  if (count == 0 || dx_spool_load(&server->spool, key, &job, NULL) != DX_OK)
    return;
  ended_at = dx_job_ended_at(job);
  lines[true] = dx_status_job_line(job, true);
  lines[false] = dx_status_job_line(job, false); /* overwrites the job */
  for (i = 0; i < count; i++) {
    struct connected *client = &clients[i];
    const struct watcher *watcher = &client->watcher;

    if (client->state == ASKS || !may_see(&watcher->viewer, job->user) ||
        ended_at < watcher->since_ms)
      continue;
    if (client->state == WATCHES
            ? tell_later(client, key)
            : tell_line(client, lines[watcher->viewer.sees_all]))
      continue;
    if (client->process_fd >= 0)
      (void)shutdown(client->process_fd, SHUT_RDWR);
    if (client->fd >= 0)
      (void)shutdown(client->fd, SHUT_RDWR);
  }
  free(lines[0]);
  free(lines[1]);
  dx_job_free(&job);
}

/* Its process has listed past ends, and passed the client. */
static void keep(struct server *server, struct connected *client, int fd)
{
  size_t i;

  (void)close(client->process_fd);
  client->process_fd = -1;
  client->fd = fd;
  client->state = STAYS;
  for (i = 0; i < client->missed_count; i++)
    tell_end(server, client, 1, client->missed + i * DX_KEY_BYTES);
  free(client->missed);
  client->missed = NULL;
}

/* Reads all that the process of a client has sent. False if it has exited, and
 * the client with it. */
static bool hear(struct server *server, struct connected *client)
{
  union {
    struct watcher watcher;
    char what;
  } message;
  ssize_t n;
  int fd;

  while (client->state != STAYS) {
    fd = receive_fd(client->process_fd, &message, sizeof(message), &n);
    if (fd >= 0 && message.what == PASSES_CLIENT) {
      keep(server, client, fd);
    } else if (fd >= 0) { /* no answer if docextractd does not read */
      (void)pass_fd(PARENT_FD, PASSES_QUESTION, fd);
      (void)close(fd);
    } else if (n == (ssize_t)sizeof(message.watcher)) {
      client->state = WATCHES;
      client->watcher = message.watcher;
    } else {
      return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
  }
  return true;
}

#define OWN_FDS 2 /* before those of clients */

/* Returns when docextractd has exited. */
static void status_serve(struct server *server)
{
  struct pollfd fds[OWN_FDS + DX_STATUS_CLIENTS_MAX];
  char key[DX_KEY_BYTES];
  ssize_t n;
  size_t i;

  for (;;) {
    fds[0] = (struct pollfd){.fd = PARENT_FD, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = LISTEN_FD, .events = POLLIN};
    for (i = 0; i < server->count; i++) {
      const struct connected *client = &server->clients[i];

      /* A client that stays sends nothing more, but may close. */
      fds[OWN_FDS + i] =
          client->state == STAYS
              ? (struct pollfd){.fd = client->fd}
              : (struct pollfd){.fd = client->process_fd, .events = POLLIN};
    }
    if (poll(fds, (nfds_t)(OWN_FDS + server->count), -1) < 0)
      return;
    for (i = server->count; i-- > 0;)
      if (fds[OWN_FDS + i].revents != 0 &&
          (server->clients[i].state == STAYS ||
           !hear(server, &server->clients[i]))) {
        close_client(&server->clients[i]);
        server->clients[i] = server->clients[--server->count];
      }
    if (fds[1].revents != 0)
      accept_client(server);
    if (fds[0].revents == 0) /* else, all who watched before are known */
      continue;
    n = recv(PARENT_FD, key, sizeof(key), MSG_DONTWAIT);
    if (n == (ssize_t)sizeof(key))
      tell_end(server, server->clients, server->count, key);
    else if (n >= 0 || (errno != EAGAIN && errno != EINTR))
      return;
  }
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

/* Returns -1 with *err filled. */
static int make_socket(const char *path, struct dx_err *err)
{
  char copy[PATH_MAX];

  (void)snprintf(copy, sizeof(copy), "%s", path);
  if (dx_fs_make_dir(AT_FDCWD, dirname(copy), DIR_MODE, err) != DX_OK)
    return -1;
  return control_listen(AT_FDCWD, path, SOCKET_MODE, err);
}

/* ---- starting it ---- */

void status_main(const char *spool_dir, const char *config_path)
{
  static struct server server;
  struct dx_err err;

  (void)prctl(PR_SET_NAME, "docextractd"); /* not "exe" */
  server.config_path = config_path;
  server.measured = mmap(NULL, sizeof(*server.measured), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (server.measured == MAP_FAILED)
    dx_log(DX_LOG_ERROR, "the status socket: cannot map memory: %s",
           strerror(errno));
  else if (dx_spool_open(spool_dir, &server.spool, &err) == DX_OK)
    status_serve(&server);
  else
    dx_log(DX_LOG_ERROR, "the status socket: %s: %s", dx_code_name(err.code),
           err.text);
  _exit(1);
}

/* In the child. It ends with its parent, no signal is blocked, and it inherits
 * no lock, no connection to the service, no file of a job, and no memory, which
 * has tokens. After an upgrade, the path of the program is another version. */
static _Noreturn void begin_server(const struct status *status, int parent_fd)
{
  sigset_t none;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)signal(SIGHUP, SIG_IGN);  /* each request loads the configuration */
  (void)signal(SIGCHLD, SIG_IGN); /* the descriptor shows the exit */
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  (void)setpriority(PRIO_PROCESS, 0, NICE);
  (void)dup2(status->listen_fd, LISTEN_FD);
  (void)dup2(parent_fd, PARENT_FD);
  (void)close_range(STDERR_FILENO + 1, ~0U, 0);
  (void)execl("/proc/self/exe", "docextractd", STATUS_OPTION,
              status->config->spool_dir, "-c", status->config->path,
              status->log_option, (char *)NULL);
  dx_log(DX_LOG_ERROR, "the status socket: cannot run docextractd: %s",
         strerror(errno));
  _exit(1);
}

static void start_server(struct status *status)
{
  int pair[2] = {-1, -1};

  status->start_ms = dx_monotonic_ms() + START_GAP_MS;
  status->pid = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0
                    ? fork()
                    : -1;
  if (status->pid == 0)
    begin_server(status, pair[1]);
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

void status_start(struct status *status, const struct dx_config *config,
                  const char *log_option)
{
  struct dx_err err;

  *status = (struct status)STATUS_NONE;
  status->config = config;
  status->log_option = log_option;
  status->listen_fd = make_socket(config->status_socket, &err);
  if (status->listen_fd < 0)
    dx_log(DX_LOG_WARNING,
           "%s; there is no status socket, and users cannot query the status "
           "of their print jobs",
           err.text);
  else /* status_stop() removes only this one */
    (void)lstat(config->status_socket, &status->st);
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

int status_check(struct status *status)
{
  int fd = -1;
  ssize_t n = -1;
  char byte;

  if (status->fd >= 0)
    fd = receive_fd(status->fd, &byte, sizeof(byte), &n);
  if (n == 0) {
    end_server(status);
    dx_log(DX_LOG_ERROR, "the process of the status socket has exited");
  }
  if (status->listen_fd >= 0 && status->fd < 0 &&
      dx_monotonic_ms() >= status->start_ms)
    start_server(status);
  return fd;
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
