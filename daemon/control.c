/*
 * control.c - the server of the control socket: one epoll descriptor with the
 * socket and its clients.
 */
#include "daemon/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/spool/spool.h"

#define EVENTS 64

struct control {
  const struct dx_spool *spool;
  struct control_ops ops;
  uid_t owner;
  int epoll_fd, listen_fd;
  bool is_waited_for; /* clients may wait for accept() */
  bool was_left;      /* by a process that was killed */
  struct client *clients;
  size_t count;
};

/* ---- clients ---- */

/* The shutdown wakes control_turn(), which removes the client. */
void client_close(struct client *client)
{
  client->is_gone = true;
  (void)shutdown(client->channel.fd, SHUT_RDWR);
}

void control_send(struct client *client, const char *format, ...)
{
  va_list args;

  if (client->is_gone)
    return;
  va_start(args, format);
  if (dx_channel_send_list(&client->channel, NULL, format, args) != DX_OK)
    client_close(client);
  va_end(args);
}

void control_limit_silence(struct client *client, int64_t ms)
{
  client->silence_ms = ms;
  client->until_ms = dx_monotonic_ms() + ms;
}

/* ---- lines ---- */

/* Handles a limited number of lines; the rest is for the next turn, so that no
 * client delays the others. */
static void read_lines(struct client *client)
{
  struct control *control = client->control;
  struct dx_message message;
  size_t left = DX_CHANNEL_LINE_BYTES;
  enum dx_code code = DX_OK;

  while (code == DX_OK && left-- > 0 && !client->is_gone) {
    code = dx_channel_read(&client->channel, &message, NULL);
    if (code == DX_OK && message.verb >= DX_VERB_NOTE)
      code = DX_E_RESPONSE;
    if (code == DX_OK) {
      client->until_ms = client->silence_ms != 0
                             ? dx_monotonic_ms() + client->silence_ms
                             : INT64_MAX;
      control->ops.message(control->ops.ctx, client, &message);
    }
  }
  if (code == DX_E_RESPONSE)
    control_send(client, "error %s not a line of the control socket",
                 dx_code_name(DX_E_ARG));
  if (code == DX_E_NET || code == DX_E_RESPONSE)
    client_close(client);
}

/* ---- accepting ---- */

/* Sends an error instead of the greeting. */
static void turn_away(int fd, enum dx_code code, const char *why)
{
  struct dx_channel channel = DX_CHANNEL_OF(fd);

  (void)dx_channel_send(&channel, NULL, "error %s %s", dx_code_name(code), why);
  dx_channel_close(&channel);
}

static void greet(struct control *control, int fd)
{
  struct client *client = calloc(1, sizeof(*client));
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};

  if (client == NULL ||
      epoll_ctl(control->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
    free(client);
    turn_away(fd, DX_E_NOMEM, "out of memory");
    return;
  }
  client->control = control;
  client->channel = (struct dx_channel)DX_CHANNEL_OF(fd);
  client->until_ms = dx_monotonic_ms() + DX_CHANNEL_FIRST_MS;
  client->next = control->clients;
  control->clients = client;
  control->count++;
  control_send(client, "docextractd %d %s", DX_CHANNEL_VERSION,
               PACKAGE_VERSION);
}

/* Accepts all waiting clients. Without free descriptors, the next turn retries.
 */
static void accept_clients(struct control *control)
{
  struct ucred peer;
  socklen_t len = sizeof(peer);

  while (control->is_waited_for) {
    int fd =
        accept4(control->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
      continue;
    control->is_waited_for = fd >= 0 || errno != EAGAIN;
    if (fd < 0)
      return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
        (peer.uid != 0 && peer.uid != control->owner))
      turn_away(fd, DX_E_ACCESS, "permission denied");
    else if (control->count >= DX_CONTROL_CLIENTS_MAX)
      turn_away(fd, DX_E_BUSY, "docextractd has too many clients");
    else
      greet(control, fd);
  }
}

/* ---- turns ---- */

int control_fd(const struct control *control)
{
  return control->epoll_fd;
}

bool control_was_left(const struct control *control)
{
  return control->was_left;
}

bool control_has_new_client(const struct control *control)
{
  struct pollfd fd = {.fd = control->listen_fd, .events = POLLIN};

  return poll(&fd, 1, 0) == 1;
}

/* It may have sent a line while docextractd did something else. */
static bool has_timed_out(const struct client *client, int64_t now)
{
  return client->until_ms <= now && !dx_channel_has_unread(&client->channel);
}

/* Removes clients that are gone or have timed out, or all; sends to the others
 * what their sockets did not accept before. */
static void end_clients(struct control *control, bool all)
{
  struct client **at = &control->clients, *client;
  int64_t now = dx_monotonic_ms();

  while ((client = *at) != NULL) {
    if (!all && !client->is_gone && !has_timed_out(client, now)) {
      dx_channel_flush(&client->channel);
      at = &client->next;
      continue;
    }
    *at = client->next;
    control->count--;
    /* Closing it is not enough: a child process that has not called execve()
     * yet keeps it open, and events would refer to freed memory. */
    (void)epoll_ctl(control->epoll_fd, EPOLL_CTL_DEL, client->channel.fd, NULL);
    control->ops.closed(control->ops.ctx, client);
    dx_channel_close(&client->channel);
    free(client);
  }
}

/* Limits the number of events and the time: a request may write journals. */
void control_turn(struct control *control)
{
  int64_t until = dx_monotonic_ms() + DX_TURN_MS;
  struct epoll_event event;
  int i;

  for (i = 0; i < EVENTS && dx_monotonic_ms() < until &&
              epoll_wait(control->epoll_fd, &event, 1, 0) == 1;
       i++)
    if (event.data.ptr == control)
      control->is_waited_for = true;
    else
      read_lines(event.data.ptr);
  accept_clients(control);
  end_clients(control, false);
}

/* ---- listening ---- */

int control_listen(int dirfd, const char *name, mode_t mode, struct dx_err *err)
{
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_un address;
  struct stat st;
  mode_t mask;
  int bound;

  if (fd < 0) {
    (void)dx_fail_sys(err, errno, "open", "socket");
    return -1;
  }
  /* Removes only sockets. */
  if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISSOCK(st.st_mode))
    (void)unlinkat(dirfd, name, 0);
  dx_channel_address(dirfd, name, &address);
  mask = umask(0777 & ~mode);
  bound = bind(fd, (const struct sockaddr *)&address, sizeof(address));
  (void)umask(mask);
  if (bound == 0 && listen(fd, SOMAXCONN) == 0)
    return fd;
  (void)dx_fs_fail(err, errno, "create", dirfd, name);
  (void)close(fd);
  return -1;
}

static enum dx_code start_listening(struct control *control, struct dx_err *err)
{
  /* Edge-triggered: if no descriptors are left, a waiting client would wake the
   * loop all the time. */
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = control};
  int dirfd = control->spool->dirfd;
  struct stat st;

  control->was_left =
      faccessat(dirfd, DX_CHANNEL_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  control->listen_fd = control_listen(dirfd, DX_CHANNEL_NAME, 0600, err);
  if (control->listen_fd < 0)
    return err->code;
  control->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (fstat(dirfd, &st) < 0 || epoll_ctl(control->epoll_fd, EPOLL_CTL_ADD,
                                         control->listen_fd, &event) < 0)
    return dx_fail_sys(err, errno, "open", "socket");
  control->owner = st.st_uid;
  return DX_OK;
}

struct control *control_new(const struct dx_spool *spool,
                            const struct control_ops *ops, struct dx_err *err)
{
  struct control *control = calloc(1, sizeof(*control));

  if (control == NULL) {
    (void)dx_fail_nomem(err);
    return NULL;
  }
  *control = (struct control){
      .spool = spool, .ops = *ops, .epoll_fd = -1, .listen_fd = -1};
  if (start_listening(control, err) != DX_OK)
    control_free(&control);
  return control;
}

void control_free(struct control **control_at)
{
  struct control *control = *control_at;

  if (control == NULL)
    return;
  (void)unlinkat(control->spool->dirfd, DX_CHANNEL_NAME, 0);
  end_clients(control, true);
  (void)close(control->listen_fd); /* each may be -1 */
  (void)close(control->epoll_fd);
  free(control);
  *control_at = NULL;
}
