/*
 * term.c - SIGTERM, which cupsd sends to cancel or hold a job, or to disable
 * the queue (doc/cups.md, "Signals").
 */
#include "backend/backend.h"

#include <cups/backend.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define OTHERS_WAIT_MS 1500 /* from another SIGTERM, for one of cupsd */

static volatile sig_atomic_t count;
static volatile sig_atomic_t after_eof;
static volatile sig_atomic_t by_cupsd; /* at least one is from cupsd */
static volatile int64_t first_ms;      /* monotonic: the first one */
static int wake[2] = {-1, -1};

void term_die(void)
{
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigset_t set;

  (void)sigaction(SIGTERM, &action, NULL);
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGTERM);
  (void)raise(SIGTERM);
  (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
  _exit(CUPS_BACKEND_RETRY_CURRENT); /* not reached */
}

static void on_term(int number, siginfo_t *info, void *context)
{
  int saved = errno;

  (void)number;
  (void)context;
  if (info->si_pid == getppid())
    by_cupsd = 1;
  if (count == 0)
    first_ms = dx_monotonic_ms();
  if (++count > 1 && (after_eof || !by_cupsd))
    _exit(CUPS_BACKEND_RETRY_CURRENT);
  if (count > 1)
    term_die();
  (void)!write(wake[1], "", 1);
  errno = saved;
}

void term_catch(void)
{
  struct sigaction action = {.sa_sigaction = on_term,
                             .sa_flags = SA_SIGINFO | SA_RESTART};
  struct sigaction ignore = {.sa_handler = SIG_IGN};

  (void)sigemptyset(&action.sa_mask);
  if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) < 0)
    wake[0] = wake[1] = -1;
  (void)sigaction(SIGTERM, &action, NULL);
  (void)sigaction(SIGPIPE, &ignore, NULL);
  (void)sigaction(SIGXFSZ, &ignore, NULL); /* handled like a full disk */
}

void term_eof(void)
{
  after_eof = 1;
}

bool term_came(void)
{
  return count > 0;
}

int term_wake_fd(void)
{
  return wake[0];
}

/* At shutdown every process gets a SIGTERM, and cupsd's may arrive after the
 * first one. libcups may have noticed that one only a second later, if cupsd
 * does not respond. */
bool term_is_from_cupsd(void)
{
  int64_t left_ms;
  char byte;

  while (!by_cupsd &&
         (left_ms = first_ms + OTHERS_WAIT_MS - dx_monotonic_ms()) > 0) {
    struct pollfd fd = {.fd = wake[0], .events = POLLIN};

    while (read(wake[0], &byte, 1) == 1)
      ;
    (void)poll(&fd, 1, (int)left_ms);
  }
  return by_cupsd;
}
