/*
 * cupsd.c - the queues of cupsd, and its files cupsd.conf and cups-files.conf,
 * which the parser of CUPS reads.
 */
#include "cli/cli.h"

#include <cups/cups.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/config.h"

/* ---- queues ---- */

#define TIMEOUT_MS 3000

static void cupsd_add_queue(void *ctx, const struct dx_queue *from)
{
  const size_t scheme_len = strlen(DX_DEVICE_SCHEME);
  struct queues *queues = ctx;
  struct queue queue = {.is = *from}, *more;

  if (strncmp(from->uri, DX_DEVICE_SCHEME, scheme_len) != 0)
    return;
  if (!dx_section_of_uri(from->uri, queue.service))
    (void)snprintf(queue.service, sizeof(queue.service), "%s",
                   from->uri + scheme_len);
  more = reallocarray(queues->list, queues->count + 1, sizeof(queue));
  if (more == NULL)
    return;
  queues->list = more;
  queues->list[queues->count++] = queue;
}

bool cupsd_queues(struct queues *ret_queues)
{
  *ret_queues = (struct queues){0};
  return dx_queues_ask(TIMEOUT_MS, cupsd_add_queue, ret_queues);
}

/* ---- configuration files ---- */

int cupsd_open(const char *config_path, const char *name)
{
  /* Next to the file itself, because any user may own a link to it. */
  char *real = realpath(config_path, NULL), *path;
  int fd = -1;

  if (real != NULL && asprintf(&path, "%s/%s", dirname(real), name) > 0) {
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(path);
  }
  free(real);
  return fd;
}

void cupsd_directives(int fd,
                      void (*each)(void *ctx, const char *name,
                                   const char *value),
                      void *ctx)
{
  cups_file_t *file = cupsFileOpenFd(fd, "r");
  char line[1024], *value;
  int number = 0;

  if (file == NULL) {
    (void)close(fd);
    return;
  }
  while (cupsFileGetConf(file, line, sizeof(line), &value, &number) != NULL)
    if (value != NULL)
      each(ctx, line, value);
  (void)cupsFileClose(file);
}
