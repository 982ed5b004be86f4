/*
 * sealed.c - sealed PROGRAM ARGUMENT... < BUNDLE
 *
 * Runs the backend as cupsd does, with a side channel, and gives it a bundle
 * that a test made, with the seal of this run in every entry. The program keeps
 * our process id; the process that writes the bundle is not its child.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BEGIN "DOCEXTRACT-BUNDLE 1 {"
#define BEGIN_LEN (sizeof(BEGIN) - 1)
#define SIDE_FD 4
#define SEAL_LEN 32

static void give_up(const char *what)
{
  perror(what);
  _exit(2);
}

static void put(const void *bytes, size_t len)
{
  if (write(STDOUT_FILENO, bytes, len) != (ssize_t)len)
    _exit(0); /* the backend has ended */
}

/* Byte by byte, so that the content stays in the pipe; 0 at the end. */
static size_t get_line(char *line, size_t room)
{
  size_t len = 0;

  while (len < room && read(STDIN_FILENO, line + len, 1) == 1)
    if (line[len++] == '\n')
      break;
  return len;
}

/* Stdout is a pipe: nothing passes through our memory. */
static void copy(long long left)
{
  ssize_t n = 1;

  for (; left > 0 && n > 0; left -= n)
    n = splice(STDIN_FILENO, NULL, STDOUT_FILENO, NULL, (size_t)left, 0);
}

/* What is not an entry is passed on unchanged. */
static void feed(const char *seal)
{
  char line[4096];
  const char *bytes;
  size_t len;

  while ((len = get_line(line, sizeof(line) - 1)) > 0) {
    line[len] = '\0';
    if (strncmp(line, BEGIN, BEGIN_LEN) != 0) {
      put(line, len);
      copy(LONG_MAX);
      return;
    }
    put(BEGIN "\"seal\":\"", BEGIN_LEN + 8);
    put(seal, SEAL_LEN);
    put("\",", 2);
    put(line + BEGIN_LEN, len - BEGIN_LEN);
    bytes = strstr(line, "\"bytes\":");
    if (bytes != NULL)
      copy(strtoll(bytes + 8, NULL, 10));
  }
}

static void be_feeder(int side, int to)
{
  char seal[SEAL_LEN];

  (void)signal(SIGPIPE, SIG_DFL);
  if (dup2(to, STDOUT_FILENO) < 0)
    give_up("dup2");
  (void)close(to);
  if (recv(side, seal, sizeof(seal), MSG_WAITALL) == SEAL_LEN)
    feed(seal);
  _exit(0);
}

int main(int argc, char **argv)
{
  int side[2], bundle[2];
  pid_t child;

  if (argc < 2) {
    fputs("usage: sealed PROGRAM ARGUMENT... < BUNDLE\n", stderr);
    return 2;
  }
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, side) < 0 || pipe(bundle) < 0)
    give_up("pipe");
  child = fork();
  if (child == 0) {
    (void)close(side[1]);
    (void)close(bundle[0]);
    if (fork() == 0)
      be_feeder(side[0], bundle[1]);
    _exit(0);
  }
  if (child < 0 || waitpid(child, NULL, 0) != child)
    give_up("fork");
  (void)close(side[0]);
  (void)close(bundle[1]);
  if (dup2(bundle[0], STDIN_FILENO) < 0)
    give_up("dup2");
  (void)close(bundle[0]);
  if (side[1] != SIDE_FD) {
    if (dup2(side[1], SIDE_FD) < 0)
      give_up("dup2");
    (void)close(side[1]);
  }
  (void)execvp(argv[1], argv + 1);
  give_up(argv[1]);
}
