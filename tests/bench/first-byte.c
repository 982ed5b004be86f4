/*
 * first-byte.c - how long a program takes until the first byte of its request
 * arrives. It is a server that starts its own clients, and does not parse HTTP;
 * first_byte.sh interprets the times.
 *
 * usage: first-byte CONFIG INPUT RUNS LABEL PROGRAM ARGUMENT...
 *
 * CONFIG  gets the line "BaseURL http://127.0.0.1:PORT" and </Service> added,
 *         once; "-" for none
 * INPUT   is written to the program's stdin; when the program has read all
 *         of it, the pipe is closed, and the clock starts. "-": no stdin, and
 *         the clock starts with the program
 * DX_DOCEXTRACTD in the environment is a command that is started once CONFIG is
 *         complete, with `-c CONFIG`, and ended at the end. What it prints goes
 *         to CONFIG.log; it is waited for until it is ready.
 *
 * "@URL@" and "@RUN@" in the arguments become our address and the number of
 * the run. All runs but the last get a response, a refusal, which leaves the
 * connection open; it is waited for until the program has ended. The last one
 * gets none, and is ended by SIGTERM. Prints "LABEL START END" of it, seconds
 * of wall time: strace uses the same clock.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS_MAX 64
#define LOOK_US 50
#define PAUSE_US 300000 /* the shared rate must not delay the next run */
#define SILENCE_MS 100  /* a request is complete */

static void die(const char *step)
{
  fprintf(stderr, "first-byte: %s: %s\n", step, strerror(errno));
  exit(1);
}

static double now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_REALTIME, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int listen_here(char url[64])
{
  struct sockaddr_in a = {.sin_family = AF_INET,
                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof(a);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) < 0 || listen(fd, 8) < 0 ||
      getsockname(fd, (struct sockaddr *)&a, &len) < 0)
    die("listen");
  (void)snprintf(url, 64, "http://127.0.0.1:%d", ntohs(a.sin_port));
  return fd;
}

static void add_to_config(const char *path, const char *url)
{
  FILE *file;

  if (strcmp(path, "-") == 0)
    return;
  file = fopen(path, "a");
  if (file == NULL || fprintf(file, "BaseURL %s\n</Service>\n", url) < 0 ||
      fclose(file) != 0)
    die(path);
}

/* The argument with @URL@ or @RUN@ replaced; never freed. */
static char *filled_in(const char *argument, const char *url, int run)
{
  const char *at = strstr(argument, "@URL@");
  char number[16];
  char *text;

  (void)snprintf(number, sizeof(number), "%d", run);
  if (at == NULL) {
    at = strstr(argument, "@RUN@");
    url = number;
  }
  if (at == NULL)
    return strdup(argument);
  if (asprintf(&text, "%.*s%s%s", (int)(at - argument), argument, url, at + 5) <
      0)
    die("memory");
  return text;
}

static pid_t start(char **argv, const char *url, int run, int in)
{
  char *arguments[ARGUMENTS_MAX + 1] = {0};
  pid_t pid = fork();
  int i;

  if (pid < 0)
    die("fork");
  if (pid > 0)
    return pid;
  for (i = 0; argv[i] != NULL && i < ARGUMENTS_MAX; i++)
    arguments[i] = filled_in(argv[i], url, run);
  if (in >= 0)
    (void)dup2(in, STDIN_FILENO);
  (void)execvp(arguments[0], arguments);
  die(arguments[0]);
  return -1;
}

/* Returns when nothing is left in the pipe. */
static void feed(const char *path, int to)
{
  char bytes[65536];
  int from = open(path, O_RDONLY | O_CLOEXEC);
  int left = 1;
  ssize_t n;

  if (from < 0)
    die(path);
  while ((n = read(from, bytes, sizeof(bytes))) > 0)
    if (write(to, bytes, (size_t)n) != n)
      die("write");
  (void)close(from);
  while (left > 0) {
    (void)usleep(LOOK_US);
    if (ioctl(to, FIONREAD, &left) < 0)
      die("pipe");
  }
}

/* True once it has printed "ready". */
static bool is_ready(const char *log)
{
  char line[1024];
  FILE *file = fopen(log, "r");
  bool ready = false;

  while (file != NULL && fgets(line, sizeof(line), file) != NULL)
    ready = ready || strcmp(line, "ready\n") == 0;
  if (file != NULL)
    (void)fclose(file);
  return ready;
}

/* Returns 0 if there is none to start. */
static pid_t start_docextractd(const char *config)
{
  const char *command = getenv("DX_DOCEXTRACTD");
  char *line, *log;
  pid_t pid;

  if (command == NULL)
    return 0;
  if (asprintf(&log, "%s.log", config) < 0 ||
      asprintf(&line, "exec %s -c '%s' > '%s' 2>&1", command, config, log) < 0)
    die("memory");
  (void)unlink(log);
  pid = fork();
  if (pid == 0) {
    (void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    die("sh");
  }
  while (pid > 0 && !is_ready(log) && kill(pid, 0) == 0)
    (void)usleep(PAUSE_US / 30);
  (void)usleep(PAUSE_US); /* its first call comes no earlier */
  free(line);
  free(log);
  return pid;
}

static void end(pid_t pid)
{
  (void)kill(pid, SIGTERM);
  (void)waitpid(pid, NULL, 0);
}

/* Of the last connection, or of a new one. */
static double wait_for_byte(int listener, int *connection)
{
  struct pollfd fds[2] = {{.fd = *connection, .events = POLLIN},
                          {.fd = listener, .events = POLLIN}};
  char byte;

  for (;;) {
    if (poll(fds, 2, -1) < 0)
      die("poll");
    if (fds[0].revents != 0 && recv(*connection, &byte, 1, 0) == 1)
      break;
    if (fds[0].revents != 0) { /* it was closed */
      (void)close(*connection);
      fds[0].fd = *connection = -1;
    } else if (fds[1].revents != 0) {
      if (*connection >= 0)
        (void)close(*connection);
      *connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
      if (*connection < 0)
        die("accept");
      fds[0].fd = *connection;
    }
  }
  return now();
}

static void refuse(int connection)
{
  static const char response[] = "HTTP/1.1 422 Unprocessable Content\r\n"
                                 "Content-Type: application/json\r\n"
                                 "Content-Length: 2\r\n\r\n{}";
  struct pollfd fd = {.fd = connection, .events = POLLIN};
  char bytes[4096];

  while (poll(&fd, 1, SILENCE_MS) > 0)
    if (recv(connection, bytes, sizeof(bytes), 0) <= 0)
      die("receive");
  if (send(connection, response, strlen(response), 0) < 0)
    die("send");
}

/* Prints nothing without a label. */
static void run_once(const char *label, const char *input, char **argv,
                     const char *url, int run, int listener, int *connection)
{
  double begin, arrived;
  int pipe_fds[2] = {-1, -1};
  pid_t pid;

  if (strcmp(input, "-") == 0) {
    begin = now();
    pid = start(argv, url, run, -1);
  } else {
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
      die("pipe");
    pid = start(argv, url, run, pipe_fds[0]);
    (void)close(pipe_fds[0]);
    feed(input, pipe_fds[1]);
    begin = now();
    (void)close(pipe_fds[1]);
  }
  arrived = wait_for_byte(listener, connection);
  if (label == NULL) {
    refuse(*connection);
    (void)waitpid(pid, NULL, 0);
  } else {
    printf("%s %.6f %.6f\n", label, begin, arrived);
    end(pid);
  }
  (void)usleep(PAUSE_US);
}

int main(int argc, char **argv)
{
  char url[64];
  int listener, connection = -1, i;
  pid_t docextractd;

  if (argc < 6) {
    fputs("usage: first-byte CONFIG INPUT RUNS LABEL PROGRAM ARGUMENT...\n",
          stderr);
    return 2;
  }
  (void)signal(SIGPIPE, SIG_IGN);
  listener = listen_here(url);
  add_to_config(argv[1], url);
  docextractd = start_docextractd(argv[1]);
  for (i = 1; i <= atoi(argv[3]); i++)
    run_once(i < atoi(argv[3]) ? NULL : argv[4], argv[2], argv + 5, url, i,
             listener, &connection);
  if (docextractd > 0)
    end(docextractd);
  return 0;
}
