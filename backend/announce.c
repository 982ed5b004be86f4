/*
 * announce.c - OnResult (daemon/engine/announce.h) after a print job.
 * docextractd runs it. Where it does not run, a process of its own does, which
 * outlives the backend: neither the print job nor the next one waits for it.
 */
#include "backend/backend.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "daemon/engine/announce.h"

/* Nothing of cupsd's stays open: it reads our stderr to its end. */
static void detach(void)
{
  int null = open("/dev/null", O_RDWR);

  (void)setsid();
  (void)dup2(null, STDIN_FILENO);
  (void)dup2(null, STDOUT_FILENO);
  (void)dup2(null, STDERR_FILENO);
  closefrom(STDERR_FILENO + 1);
  (void)signal(SIGTERM, SIG_DFL);
}

void announce_detached(const struct backend *b)
{
  struct dx_spool spool = {-1, -1};
  struct dx_err err;

  if (fork() != 0)
    return;
  detach();
  if (dx_spool_open(b->config->spool_dir, &spool, &err) == DX_OK &&
      dx_spool_daemon(spool.dirfd) == 0)
    dx_announce_now(&spool, b->config, -1);
  _exit(0);
}
