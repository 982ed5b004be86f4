/*
 * stop.c - handles SIGINT and SIGTERM: the first one stops the command cleanly,
 * the second one immediately.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sysexits.h>
#include <unistd.h>

static volatile sig_atomic_t stops;
static int wake[2] = {-1, -1};

static void on_stop(int number)
{
  int saved = errno;

  (void)number;
  if (++stops > 1)
    _exit(EX_TEMPFAIL); /* stored data is complete */
  (void)!write(wake[1], "", 1);
  errno = saved;
}

void cli_stop_catch(void)
{
  static const int signals[] = {SIGINT, SIGTERM};
  struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
  struct sigaction before;
  size_t i;

  if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) < 0)
    wake[0] = wake[1] = -1;
  (void)sigemptyset(&action.sa_mask);
  /* Signals that the parent ignores stay ignored: nohup, `&`. */
  for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
    if (sigaction(signals[i], NULL, &before) == 0 &&
        before.sa_handler != SIG_IGN)
      (void)sigaction(signals[i], &action, NULL);
}

bool cli_stop_came(void)
{
  return stops > 0;
}

bool cli_stop_await(int fd, int timeout_ms)
{
  struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
                         {.fd = wake[0], .events = POLLIN}};

  return stops > 0 || poll(fds, 2, timeout_ms) != 0;
}

bool cli_stop_wait(int ms)
{
  struct pollfd fds[] = {{.fd = wake[0], .events = POLLIN},
                         {.fd = STDOUT_FILENO, .events = 0}};

  (void)poll(fds, 2, ms);
  return stops == 0 && (fds[1].revents & (POLLERR | POLLNVAL)) == 0;
}
