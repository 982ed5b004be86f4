/*
 * test_control.c - the server of the control socket with its clients, and those
 * that find none.
 */
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/control.h"
#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/control/connect.h"
#include "lib/spool/spool.h"

#define CROWD 1000

static struct dx_err err;
static char dir[TEMP_DIR_BYTES];
static struct dx_spool spool = {.dirfd = -1};

static int64_t now_ms = 1000;

static int64_t set_ms(void)
{
  return now_ms;
}

/* Time stands still: otherwise, a turn on a busy machine may end early. */
static const struct dx_clock test_clock = {set_ms, set_ms};

static int64_t hasty_ms(void)
{
  return now_ms += 1000;
}

/* A second passes with each look: a turn ends at once. */
static const struct dx_clock hasty_clock = {hasty_ms, hasty_ms};

static int setup(void **state)
{
  (void)state;
  dx_clock_use(&test_clock);
  if (temp_dir_make(dir) < 0)
    return -1;
  spool.dirfd = dx_fs_open_dir(AT_FDCWD, dir, &err);
  return spool.dirfd < 0;
}

static int teardown(void **state)
{
  (void)state;
  dx_clock_use(NULL);
  (void)close(spool.dirfd);
  return temp_dir_remove(dir);
}

/* ---- the server's owner ---- */

static struct seen {
  size_t messages, closed;
  size_t other_at; /* which message is "hello other" */
  struct client *last;
  enum dx_verb verb;
  char text[DX_CHANNEL_LINE_BYTES];
  bool closes; /* at every message */
} seen;

static void note_message(void *ctx, struct client *client,
                         const struct dx_message *message)
{
  (void)ctx;
  seen.messages++;
  seen.last = client;
  seen.verb = message->verb;
  (void)strcpy(seen.text, message->text);
  if (strcmp(seen.text, "other") == 0)
    seen.other_at = seen.messages;
  if (seen.closes) {
    control_send(client, "done bye");
    client_close(client);
  }
}

static void note_closed(void *ctx, struct client *client)
{
  (void)ctx;
  (void)client;
  seen.closed++;
}

static const struct control_ops ops = {.message = note_message,
                                       .closed = note_closed};

static struct control *serve(void)
{
  struct control *control;

  memset(&seen, 0, sizeof(seen));
  control = control_new(&spool, &ops, &err);
  assert_non_null(control);
  return control;
}

/* ---- clients ---- */

/* Connects without waiting; -1: no process listens. */
static int dial(void)
{
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_un address;

  dx_channel_address(spool.dirfd, DX_CHANNEL_NAME, &address);
  if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
    return fd;
  (void)close(fd);
  return -1;
}

/* What a plain client has received since. */
static const char *heard(int fd)
{
  static char bytes[4096];
  ssize_t n = recv(fd, bytes, sizeof(bytes) - 1, MSG_DONTWAIT);

  bytes[n > 0 ? n : 0] = '\0';
  return n == 0 ? "END" : bytes;
}

static int dial_and_hear(struct control *control)
{
  int fd = dial();

  assert_true(fd >= 0);
  control_turn(control);
  assert_non_null(strstr(heard(fd), "docextractd 2 "));
  return fd;
}

static void say(struct control *control, int fd, const char *bytes, size_t len)
{
  assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
  control_turn(control);
}

static bool has_ended(int fd)
{
  char byte;
  ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

  return n == 0 || (n < 0 && errno == ECONNRESET);
}

/* ---- lines ---- */

static void client_is_greeted_and_its_lines_are_received(void **state)
{
  struct control *control = serve();
  char greeting[128];
  int fd = dial();

  (void)state;
  control_turn(control);
  (void)snprintf(greeting, sizeof(greeting), "docextractd %d %s\n",
                 DX_CHANNEL_VERSION, PACKAGE_VERSION);
  assert_string_equal(heard(fd), greeting);
  say(control, fd, "hello default\n", 14);
  assert_int_equal(seen.messages, 1);
  assert_int_equal(seen.verb, DX_VERB_HELLO);
  assert_string_equal(seen.text, "default");
  control_send(seen.last, "done %s", "well");
  assert_string_equal(heard(fd), "done well\n");
  (void)close(fd);
  control_turn(control);
  assert_int_equal(seen.closed, 1);
  control_free(&control);
}

static void many_lines_of_a_client_do_not_delay_the_others(void **state)
{
  enum { LINES = 2 * DX_CHANNEL_LINE_BYTES };
  static char lines[LINES * sizeof("hello a\n")];
  struct control *control = serve();
  int fd = dial_and_hear(control), other = dial_and_hear(control);
  size_t i, len = 0;

  (void)state;
  for (i = 0; i < LINES; i++)
    len += (size_t)sprintf(lines + len, "hello a\n");
  assert_int_equal(send(fd, lines, len, MSG_NOSIGNAL), len);
  say(control, other, "hello other\n", 12);
  for (i = 0; i < LINES && seen.messages <= LINES; i++)
    control_turn(control);
  assert_int_equal(seen.messages, LINES + 1);
  assert_in_range(seen.other_at, 1, LINES);
  (void)close(fd);
  (void)close(other);
  control_free(&control);
}

/* Even if a child process that has just been started still has its connection.
 * Its memory is freed. */
static void client_that_is_gone_causes_no_event(void **state)
{
  struct control *control = serve();
  struct pollfd events = {.fd = control_fd(control), .events = POLLIN};
  int fd = dial_and_hear(control), kept;

  (void)state;
  say(control, fd, "leave\n", 6);
  kept = dup(seen.last->channel.fd);
  assert_true(kept >= 0);
  (void)close(fd);
  control_turn(control);
  assert_int_equal(seen.closed, 1);
  assert_int_equal(poll(&events, 1, 0), 0);
  control_turn(control);
  (void)close(kept);
  control_free(&control);
}

static void line_may_arrive_in_parts(void **state)
{
  static const char lines[] = "attend KEY RUN\nleave\n";
  struct control *control = serve();
  int fd = dial_and_hear(control);
  size_t i, whole = 0;

  (void)state;
  for (i = 0; i < sizeof(lines) - 1; i++) {
    say(control, fd, lines + i, 1);
    whole += lines[i] == '\n';
    assert_int_equal(seen.messages, whole);
  }
  (void)close(fd);
  control_free(&control);
  assert_int_equal(seen.closed, 1);
}

static void truncated_line_is_ignored(void **state)
{
  static const char line[] = "cancel KEY";
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(line); i++) {
    struct control *control = serve();
    int fd = dial_and_hear(control);

    if (i > 0)
      say(control, fd, line, i);
    (void)close(fd);
    control_turn(control);
    assert_int_equal(seen.messages, 0);
    assert_int_equal(seen.closed, 1);
    control_free(&control);
  }
}

static void hostile_line_closes_the_connection(void **state)
{
  static char endless[2 * DX_CHANNEL_LINE_BYTES];
  static const struct {
    const char *bytes;
    size_t len;
  } rows[] = {{"leave\0\n", 7},
              {"\n", 1},
              {"leave\r\n", 7},
              {"GET / HTTP/1.1\n", 15},
              {"note a b c d e f\n", 17}, /* of the server */
              {"done\n", 5},
              {"hello \x1b[2J\n", 11},
              {endless, sizeof(endless)}};
  struct control *control = serve();
  int good = dial_and_hear(control);
  size_t i;

  (void)state;
  memset(endless, 'x', sizeof(endless));
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    int fd = dial_and_hear(control);

    say(control, fd, rows[i].bytes, rows[i].len);
    control_turn(control);
    assert_non_null(strstr(heard(fd), "error E_ARG "));
    assert_true(has_ended(fd));
    (void)close(fd);
  }
  say(control, good, "seen\n", 5);
  assert_int_equal(seen.messages, 1);
  (void)close(good);
  control_free(&control);
}

static void closed_client_gets_all_sent_lines(void **state)
{
  struct control *control = serve();
  int fd = dial_and_hear(control);

  (void)state;
  seen.closes = true;
  say(control, fd, "seen\nseen\n", 10);
  control_turn(control);
  assert_int_equal(seen.messages, 1);
  assert_int_equal(seen.closed, 1);
  assert_string_equal(heard(fd), "done bye\n");
  assert_true(has_ended(fd));
  (void)close(fd);
  control_free(&control);
}

static void slow_reader_is_disconnected_with_little_memory(void **state)
{
  struct control *control = serve();
  int slow = dial_and_hear(control), good = dial_and_hear(control);
  struct client *client;
  size_t i;

  (void)state;
  say(control, slow, "seen\n", 5);
  client = seen.last;
  for (i = 0; i < 100000; i++)
    control_send(client, "line %01000d", 1);
  assert_int_equal(seen.closed, 0); /* nothing is called back */
  control_turn(control);
  assert_int_equal(seen.closed, 1);
  say(control, good, "seen\n", 5);
  assert_int_equal(seen.messages, 2);
  (void)close(slow);
  (void)close(good);
  control_free(&control);
}

#define LINES_BEHIND 12000

/* More lines than the socket accepts, which are not read yet. */
static void dial_and_be_behind(struct control *control,
                               struct dx_channel *channel)
{
  int i;

  channel->fd = dial_and_hear(control);
  say(control, channel->fd, "seen\n", 5);
  for (i = 0; i < LINES_BEHIND; i++)
    control_send(seen.last, "failures %010d 0", i);
}

/* What a client was behind is sent as it reads, by turns alone. */
static void delayed_reader_gets_everything(void **state)
{
  struct control *control = serve();
  struct dx_channel channel = DX_CHANNEL_NONE;
  struct dx_message message;
  int64_t number;
  int i;

  (void)state;
  dial_and_be_behind(control, &channel);
  for (i = 0; i < LINES_BEHIND; i++) {
    if (dx_channel_read(&channel, &message, &err) == DX_E_NOT_YET) {
      control_turn(control);
      assert_int_equal(dx_channel_read(&channel, &message, &err), DX_OK);
    }
    assert_true(dx_message_number(&message, 0, &number) && number == i);
  }
  client_close(seen.last);
  control_turn(control);
  assert_int_equal(dx_channel_read(&channel, &message, &err), DX_E_NET);
  dx_channel_close(&channel);
  control_free(&control);
}

/* It does not delay the end, and can connect again. */
static void closed_client_that_is_behind_lacks_the_last_lines(void **state)
{
  struct control *control = serve();
  struct dx_channel channel = DX_CHANNEL_NONE;
  struct dx_message message;
  int64_t number;
  int i;

  (void)state;
  dial_and_be_behind(control, &channel);
  client_close(seen.last);
  control_send(seen.last, "gone");
  control_turn(control);
  assert_int_equal(seen.closed, 1);
  for (i = 0; dx_channel_read(&channel, &message, &err) == DX_OK; i++)
    assert_true(dx_message_number(&message, 0, &number) && number == i);
  assert_int_equal(err.code, DX_E_NET);
  assert_in_range(i, 1, LINES_BEHIND - 1);
  dx_channel_close(&channel);
  control_free(&control);
}

/* ---- time ---- */

static void silent_client_is_disconnected(void **state)
{
  struct control *control = serve();
  int silent, half, good;

  (void)state;
  silent = dial_and_hear(control);
  half = dial_and_hear(control);
  good = dial_and_hear(control);
  say(control, half, "see", 3);
  say(control, good, "seen\n", 5);
  now_ms += DX_CHANNEL_FIRST_MS - 1;
  control_turn(control);
  assert_false(has_ended(silent));
  assert_false(has_ended(half));
  now_ms++;
  control_turn(control);
  assert_true(has_ended(silent));
  assert_true(has_ended(half));
  assert_false(has_ended(good));
  now_ms += 1000LL * DX_CHANNEL_FIRST_MS;
  control_turn(control);
  assert_false(has_ended(good));
  (void)close(silent);
  (void)close(half);
  (void)close(good);
  control_free(&control);
}

static void client_may_not_be_silent_for_longer_than_its_limit(void **state)
{
  struct control *control = serve();
  int client;

  (void)state;
  client = dial_and_hear(control);
  say(control, client, "alive\n", 6);
  control_limit_silence(seen.last, 5000);
  assert_false(dx_channel_has_unread(&seen.last->channel));
  now_ms += 4999;
  say(control, client, "leave\n", 6);
  now_ms += 4999;
  control_turn(control);
  assert_false(has_ended(client));
  assert_int_equal(write(client, "leave\n", 6), 6);
  assert_true(dx_channel_has_unread(&seen.last->channel));
  dx_clock_use(&hasty_clock);
  control_turn(control); /* it reads nothing */
  dx_clock_use(&test_clock);
  assert_true(dx_channel_has_unread(&seen.last->channel));
  assert_false(has_ended(client));
  control_turn(control);
  now_ms += 5000;
  control_turn(control);
  assert_true(has_ended(client));
  (void)close(client);
  control_free(&control);
}

/* ---- many ---- */

static bool may_open(rlim_t count)
{
  struct rlimit limit;

  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_max >= count;
}

static void thousand_clients_are_served(void **state)
{
  static int fds[CROWD];
  struct control *control;
  size_t i;

  (void)state;
  if (!may_open(2 * CROWD + 100))
    leave_out("a hard limit (ulimit -Hn) of 5000 descriptors");
  control = serve();
  for (i = 0; i < CROWD; i++)
    while ((fds[i] = dial()) < 0)
      control_turn(control); /* the kernel lets fewer wait */
  for (i = 0; i < CROWD; i++)
    assert_int_equal(send(fds[i], "seen\n", 5, MSG_NOSIGNAL), 5);
  for (i = 0; i < CROWD && seen.messages < CROWD; i++)
    control_turn(control);
  assert_int_equal(seen.messages, CROWD);
  for (i = 0; i < CROWD; i++) {
    assert_non_null(strstr(heard(fds[i]), "docextractd 2 "));
    (void)close(fds[i]);
  }
  for (i = 0; i < CROWD && seen.closed < CROWD; i++)
    control_turn(control);
  assert_int_equal(seen.closed, CROWD);
  control_free(&control);
}

static void too_many_clients_are_rejected(void **state)
{
  static int fds[DX_CONTROL_CLIENTS_MAX];
  struct control *control;
  int last;
  size_t i;

  (void)state;
  if (!may_open(2 * DX_CONTROL_CLIENTS_MAX + 100))
    leave_out("a hard limit (ulimit -Hn) of 5000 descriptors");
  control = serve();
  for (i = 0; i < DX_CONTROL_CLIENTS_MAX; i++)
    fds[i] = dial_and_hear(control);
  last = dial();
  control_turn(control);
  assert_non_null(strstr(heard(last), "error E_BUSY "));
  (void)close(last);
  (void)close(fds[0]);
  control_turn(control);
  fds[0] = dial_and_hear(control);
  for (i = 0; i < DX_CONTROL_CLIENTS_MAX; i++)
    (void)close(fds[i]);
  control_free(&control);
}

static void server_without_descriptors_accepts_when_it_has_one(void **state)
{
  struct control *control = serve();
  struct pollfd wanted = {.fd = control_fd(control), .events = POLLIN};
  struct rlimit limit, none;
  int fd = dial();

  (void)state;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  none = limit;
  none.rlim_cur = (rlim_t)fd;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  control_turn(control);
  assert_string_equal(heard(fd), "");
  assert_int_equal(poll(&wanted, 1, 0), 0); /* it does not spin */
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
  control_turn(control);
  assert_non_null(strstr(heard(fd), "docextractd 2 "));
  (void)close(fd);
  control_free(&control);
}

/* ---- the socket ---- */

static void only_the_owner_may_connect(void **state)
{
  struct control *control = serve();
  struct stat st;

  (void)state;
  assert_int_equal(fstatat(spool.dirfd, DX_CHANNEL_NAME, &st, 0), 0);
  assert_true(S_ISSOCK(st.st_mode));
  assert_int_equal(st.st_mode & 07777, 0600);
  control_free(&control);
  assert_int_equal(fstatat(spool.dirfd, DX_CHANNEL_NAME, &st, 0), -1);
}

/* Even if the mode was changed. */
static void other_users_are_rejected(void **state)
{
  struct control *control;
  struct pollfd wanted;
  int status, end[2];
  pid_t child;

  (void)state;
  if (geteuid() != 0)
    leave_out("as root");
  control = serve();
  assert_int_equal(fchmod(spool.dirfd, 0711), 0);
  assert_int_equal(fchmodat(spool.dirfd, DX_CHANNEL_NAME, 0666, 0), 0);
  assert_int_equal(pipe(end), 0);
  child = fork();
  if (child == 0) {
    struct dx_channel channel;

    _exit(setresuid(54321, 54321, 54321) < 0 ||
          dx_channel_open(spool.dirfd, dir, &channel, &err) != DX_E_ACCESS);
  }
  wanted = (struct pollfd){.fd = control_fd(control), .events = POLLIN};
  while (waitpid(child, &status, WNOHANG) == 0) {
    (void)poll(&wanted, 1, 100);
    control_turn(control);
  }
  assert_int_equal(status, 0);
  assert_int_equal(fchmod(spool.dirfd, 0700), 0);
  control_free(&control);
}

static void path_may_be_longer_than_an_address(void **state)
{
  static const char name[] =
      "a-name-of-a-directory-that-is-as-long-as-sixty-characters-are";
  int was = spool.dirfd, fd;
  struct control *control;
  int i;

  (void)state;
  for (i = 0; i < 4; i++) {
    assert_int_equal(dx_fs_make_dir(spool.dirfd, name, 0700, &err), DX_OK);
    fd = dx_fs_open_dir(spool.dirfd, name, &err);
    assert_true(fd >= 0);
    if (spool.dirfd != was)
      (void)close(spool.dirfd);
    spool.dirfd = fd;
  }
  control = serve();
  fd = dial_and_hear(control);
  (void)close(fd);
  control_free(&control);
  (void)close(spool.dirfd);
  spool.dirfd = was;
}

/* As that of the status socket. */
static void path_may_be_as_long_as_an_address(void **state)
{
  char name[sizeof(((struct sockaddr_un *)NULL)->sun_path)] = "";
  int was = open(".", O_PATH | O_CLOEXEC), fd;

  (void)state;
  memset(name, 'x', sizeof(name) - 1);
  assert_int_equal(fchdir(spool.dirfd), 0);
  fd = control_listen(AT_FDCWD, name, 0600, &err);
  assert_int_equal(fchdir(was), 0);
  assert_true(fd >= 0);
  assert_int_equal(faccessat(spool.dirfd, name, F_OK, 0), 0);
  (void)close(fd);
  (void)close(was);
}

static void socket_without_a_descriptor_is_a_lack_of_descriptors(void **state)
{
  struct rlimit limit, none;
  int fd;

  (void)state;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  none = limit;
  none.rlim_cur = (rlim_t)spool.dirfd;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  fd = control_listen(spool.dirfd, DX_CHANNEL_NAME, 0600, &err);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
  assert_int_equal(fd, -1);
  assert_int_equal(err.code, DX_E_FDS);
}

static void only_a_socket_is_replaced(void **state)
{
  int next = dup(spool.dirfd);
  mode_t mask = umask(022);

  (void)state;
  assert_int_equal(close(next), 0);
  assert_int_equal(
      dx_fs_write(spool.dirfd, "file", "x", 1, 0600, DX_PUBLISH_NEW, &err),
      DX_OK);
  assert_int_equal(control_listen(spool.dirfd, "file", 0600, &err), -1);
  assert_non_null(strstr(err.text, "file"));
  assert_int_equal(faccessat(spool.dirfd, "file", F_OK, 0), 0);
  assert_int_equal(dup(spool.dirfd), next); /* no descriptor stays open */
  assert_int_equal(close(next), 0);
  assert_int_equal(umask(mask), 022);
}

static void socket_of_a_killed_server_is_replaced(void **state)
{
  struct control *control;
  pid_t child = fork();
  int status;

  (void)state;
  if (child == 0)
    _exit(control_new(&spool, &ops, &err) == NULL);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(faccessat(spool.dirfd, DX_CHANNEL_NAME, F_OK, 0), 0);
  assert_int_equal(dial(), -1);
  control = serve();
  assert_true(control_was_left(control));
  (void)close(dial_and_hear(control));
  control_free(&control);
  control = serve();
  assert_false(control_was_left(control));
  control_free(&control);
}

/* ---- one after another ---- */

static int lock(int dirfd)
{
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int fd =
      openat(dirfd, "docextractd.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

  return fd >= 0 && fcntl(fd, F_SETLKW, &whole) == 0 ? fd : -1;
}

/* The process that listens at the other end. */
static pid_t server_of(int fd)
{
  struct ucred peer = {0};
  socklen_t len = sizeof(peer);

  (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
  return peer.pid;
}

/* Starts many servers: clients connect to the one that holds the lock. */
static int take_turns(void)
{
  char bytes[256];
  int i;

  for (i = 0; i < 200; i++) {
    int held = lock(spool.dirfd), fd;
    struct control *control = control_new(&spool, &ops, &err);
    ssize_t n;

    if (held < 0 || control == NULL)
      return 1;
    fd = dial();
    control_turn(control);
    n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n <= 0)
      return 2;
    if (server_of(fd) != getpid())
      return 3;
    (void)close(fd);
    control_free(&control);
    (void)close(held);
  }
  return 0;
}

static void servers_do_not_replace_each_others_socket(void **state)
{
  pid_t children[3];
  size_t i;
  int status;

  (void)state;
  for (i = 0; i < 3; i++) {
    children[i] = fork();
    if (children[i] == 0)
      _exit(take_turns());
  }
  for (i = 0; i < 3; i++) {
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_int_equal(status, 0);
  }
}

/* It is in the queue of a server that never accepts it, then no server listens,
 * then the next one serves. */
static void client_of_an_exiting_server_is_served_by_the_next(void **state)
{
  struct dx_config config = {.spool_dir = dir};
  struct control *control = serve();
  int held = lock(spool.dirfd), status;
  struct pollfd wanted[2];
  pid_t child;

  (void)state;
  control_turn(control);
  child = fork();
  if (child == 0) {
    struct dx_channel channel;
    struct dx_message message;

    (void)close_range(3, ~0U, 0);
    if (dx_docextractd_connect(&config, &channel, &err) != DX_OK ||
        dx_channel_send(&channel, &err, "seen") != DX_OK)
      _exit(1);
    _exit(dx_channel_await(&channel, UNIT_WAIT_MS, &message, &err) != DX_OK ||
          message.verb != DX_VERB_DONE);
  }
  wanted[0] = (struct pollfd){.fd = control_fd(control), .events = POLLIN};
  assert_int_equal(poll(wanted, 1, UNIT_WAIT_MS), 1);
  control_free(&control);
  control = serve();
  seen.closes = true;
  wanted[0] = (struct pollfd){.fd = control_fd(control), .events = POLLIN};
  wanted[1] = (struct pollfd){.fd = pidfd_open(child, 0), .events = POLLIN};
  while (waitpid(child, &status, WNOHANG) == 0) {
    assert_true(poll(wanted, 2, UNIT_WAIT_MS) > 0);
    control_turn(control);
  }
  (void)close(wanted[1].fd);
  assert_int_equal(status, 0);
  assert_int_equal(seen.messages, 1);
  (void)close(held);
  control_free(&control);
}

/* ---- without a response ---- */

static enum dx_code connect_to_it(struct dx_err *ret_err)
{
  const struct dx_config config = {.spool_dir = dir};
  struct dx_channel channel;
  enum dx_code code = dx_docextractd_connect(&config, &channel, ret_err);

  dx_channel_close(&channel);
  return code;
}

static void missing_docextractd_is_reported_at_once(void **state)
{
  (void)state; /* the time stands still: a wait would have no end */
  assert_int_equal(connect_to_it(&err), DX_E_CONFIG);
  assert_string_equal(err.text, dx_docextractd_is_missing(""));
}

/* It starts, exits, or hangs: starting another one would not help. */
static void docextractd_that_only_holds_the_lock_does_not_respond(void **state)
{
  int held[2], end[2];
  char byte;
  pid_t child;

  (void)state;
  assert_int_equal(pipe(held), 0);
  assert_int_equal(pipe(end), 0);
  child = fork();
  if (child == 0) {
    (void)close(end[1]);
    _exit(lock(spool.dirfd) < 0 || write(held[1], "", 1) != 1 ||
          read(end[0], &byte, 1) != 0);
  }
  (void)close(held[1]);
  assert_int_equal(read(held[0], &byte, 1), 1);
  dx_clock_use(&hasty_clock);
  assert_int_equal(connect_to_it(&err), DX_E_BUSY);
  (void)close(end[1]);
  assert_int_equal(waitpid(child, NULL, 0), child);
  (void)close(end[0]);
  (void)close(held[0]);
}

static void unit_counts_only_if_systemd_runs(void **state)
{
  static const char *const dirs[] = {
      "lib", "lib/systemd", "lib/systemd/system",
      "run", "run/systemd", "run/systemd/system"};
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++)
    assert_int_equal(mkdirat(spool.dirfd, dirs[i], 0700), 0);
  assert_int_equal(dx_fs_write(spool.dirfd, "unit", "", 0, 0600, false, &err),
                   DX_OK);
  assert_int_equal(renameat(spool.dirfd, "unit", spool.dirfd,
                            "lib/systemd/system/docextractd.service"),
                   0);
  assert_false(dx_docextractd_is_unit(dir));
  assert_string_equal(dx_docextractd_is_missing(dir),
                      "docextractd is not running; restart its service, or "
                      "run: docextractd");
  for (; i < 6; i++)
    assert_int_equal(mkdirat(spool.dirfd, dirs[i], 0700), 0);
  assert_true(dx_docextractd_is_unit(dir));
  assert_string_equal(
      dx_docextractd_is_missing(dir),
      "docextractd is not running; run: systemctl restart docextractd");
  assert_int_equal(
      unlinkat(spool.dirfd, "lib/systemd/system/docextractd.service", 0), 0);
  assert_false(dx_docextractd_is_unit(dir));
}

#define IN_A_SPOOL(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      IN_A_SPOOL(client_is_greeted_and_its_lines_are_received),
      IN_A_SPOOL(many_lines_of_a_client_do_not_delay_the_others),
      IN_A_SPOOL(client_that_is_gone_causes_no_event),
      IN_A_SPOOL(line_may_arrive_in_parts),
      IN_A_SPOOL(truncated_line_is_ignored),
      IN_A_SPOOL(hostile_line_closes_the_connection),
      IN_A_SPOOL(closed_client_gets_all_sent_lines),
      IN_A_SPOOL(slow_reader_is_disconnected_with_little_memory),
      IN_A_SPOOL(delayed_reader_gets_everything),
      IN_A_SPOOL(closed_client_that_is_behind_lacks_the_last_lines),
      IN_A_SPOOL(silent_client_is_disconnected),
      IN_A_SPOOL(client_may_not_be_silent_for_longer_than_its_limit),
      IN_A_SPOOL(thousand_clients_are_served),
      IN_A_SPOOL(too_many_clients_are_rejected),
      IN_A_SPOOL(server_without_descriptors_accepts_when_it_has_one),
      IN_A_SPOOL(only_the_owner_may_connect),
      IN_A_SPOOL(other_users_are_rejected),
      IN_A_SPOOL(path_may_be_longer_than_an_address),
      IN_A_SPOOL(path_may_be_as_long_as_an_address),
      IN_A_SPOOL(socket_without_a_descriptor_is_a_lack_of_descriptors),
      IN_A_SPOOL(only_a_socket_is_replaced),
      IN_A_SPOOL(socket_of_a_killed_server_is_replaced),
      IN_A_SPOOL(servers_do_not_replace_each_others_socket),
      IN_A_SPOOL(client_of_an_exiting_server_is_served_by_the_next),
      IN_A_SPOOL(missing_docextractd_is_reported_at_once),
      IN_A_SPOOL(docextractd_that_only_holds_the_lock_does_not_respond),
      IN_A_SPOOL(unit_counts_only_if_systemd_runs),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
