/*
 * stop.c - SIGINT and SIGTERM: the first one ends cleanly what is under way,
 * the second one at once.
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
    _exit(EX_TEMPFAIL); /* what is stored is complete */
  (void)!write(wake[1], "", 1);
  errno = saved;
}

/* A signal that our parent ignored stays ignored: nohup, `&`. */
static void catch_signal(int number)
{
  struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
  struct sigaction before;

  (void)sigemptyset(&action.sa_mask);
  if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
    (void)sigaction(number, &action, NULL);
}

void cli_stop_catch(void)
{
  if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) < 0)
    wake[0] = wake[1] = -1;
  catch_signal(SIGINT);
  catch_signal(SIGTERM);
}

bool cli_stop_came(void)
{
  return stops > 0;
}

int cli_stop_fd(void)
{
  return wake[0];
}

bool cli_stop_wait(int ms)
{
  struct pollfd fds[] = {{.fd = wake[0], .events = POLLIN},
                         {.fd = STDOUT_FILENO, .events = 0}};

  (void)poll(fds, 2, ms);
  return stops == 0 && (fds[1].revents & (POLLERR | POLLNVAL)) == 0;
}
