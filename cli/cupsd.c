/*
 * cupsd.c - the files cupsd.conf and cups-files.conf of cupsd, which the parser
 * of CUPS reads.
 */
#include "cli/cli.h"

#include <cups/cups.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
