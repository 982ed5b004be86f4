/*
 * hello_warnings.c - what `docextract hello` warns about: what will go wrong
 * later although the service responds now.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cupsd.h"

void hello_warn(const char *format, ...)
{
  va_list args;

  va_start(args, format);
  (void)fputs("warning: ", stdout);
  (void)vprintf(format, args);
  (void)putchar('\n');
  va_end(args);
}

/* Nothing else reads it before a print job asks for separators. */
static void warn_separator(const char *path)
{
  char begin[5];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t n = fd >= 0 ? read(fd, begin, sizeof(begin)) : -1;
  int e = errno;

  if (fd >= 0)
    (void)close(fd);
  if (n < 0)
    hello_warn("SeparatorPage '%s' cannot be read, so documents that ask for "
               "separators are refused: %s",
               path, strerror(e));
  else if (n < (ssize_t)sizeof(begin) || memcmp(begin, "%PDF-", 5) != 0)
    hello_warn("SeparatorPage '%s' is not a PDF, so documents that ask for "
               "separators are refused",
               path);
}

/* The permissions of a backend decide which user cupsd runs it as. */
static void warn_backend(void)
{
  const char *serverbin = getenv("CUPS_SERVERBIN");
  char path[4096];
  struct stat st;
  bool as_root;

  (void)snprintf(path, sizeof(path), "%s/backend/docextract",
                 serverbin != NULL ? serverbin : DX_SERVERBIN);
  if (stat(path, &st) < 0)
    return; /* cupsd says that it is missing */
  as_root = (st.st_mode & (S_IWGRP | S_IRWXO)) == 0;
  if (as_root == (dx_user() != NULL))
    return;
  hello_warn("cupsd does not run the backend as '%s'; fix it with: "
             "chown root: %s && chmod %s %s",
             dx_user() != NULL ? dx_user() : "its own user", path,
             dx_user() != NULL ? "700" : "755", path);
}

/* One wrong line is enough to be worth a warning, even if a later one is right.
 */
static void warn_directive(void *ctx, const char *name, const char *value)
{
  (void)ctx;
  if (strcasecmp(name, "LogLevel") == 0 && strncasecmp(value, "debug", 5) == 0)
    hello_warn("cupsd logs the titles of print jobs, which may name patients; "
               "set 'LogLevel warn' in cupsd.conf");
  if (strcasecmp(name, "PageLogFormat") == 0 &&
      strstr(value, "job-name") != NULL)
    hello_warn("cupsd's page_log holds the titles of print jobs, which may "
               "name patients; remove job-name from PageLogFormat in "
               "cupsd.conf");
}

void hello_warn_all(const struct dx_service *service, enum dx_started started,
                    int cupsd_conf_fd)
{
  warn_backend();
  if (service->separator_page != NULL)
    warn_separator(service->separator_page);
  if (cupsd_conf_fd >= 0)
    cupsd_directives(cupsd_conf_fd, warn_directive, NULL);
  if (service->completion == DX_COMPLETION_ACCEPTED &&
      started == DX_STARTED_DEMAND)
    hello_warn("Completion is 'accepted' but docextractd is no service: one "
               "that a print job starts may end with cupsd, and the results "
               "wait for the next; start docextractd at boot");
}
