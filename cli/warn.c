/*
 * warn.c - what `docextract hello` warns of: trouble that lies ahead although
 * the service greets.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/job/results.h"

void warn_print(const char *format, ...)
{
  va_list args;

  va_start(args, format);
  (void)fputs("warning: ", stdout);
  (void)vprintf(format, args);
  (void)putchar('\n');
  va_end(args);
}

static void warn_results(const struct dx_service *service)
{
  struct dx_err err;
  enum dx_code code = dx_results_make_dir(service->results_dir, &err);

  if (code == DX_OK)
    code = dx_fs_probe(service->results_dir, &err);
  if (code != DX_OK)
    warn_print("results cannot be written, so nothing will be sent: %s",
               err.text);
}

/* Nothing looks at it before somebody asks for separators. */
static void warn_separator(const char *path)
{
  char begin[5];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t n = fd >= 0 ? read(fd, begin, sizeof(begin)) : -1;
  int e = errno;

  if (fd >= 0)
    (void)close(fd);
  if (n < 0)
    warn_print("SeparatorPage '%s' cannot be read, so documents that ask for "
               "separators are refused: %s",
               path, strerror(e));
  else if (n < (ssize_t)sizeof(begin) || memcmp(begin, "%PDF-", 5) != 0)
    warn_print("SeparatorPage '%s' is not a PDF, so documents that ask for "
               "separators are refused",
               path);
}

/* One line of cupsd.conf; the last line of a directive counts, as for cupsd,
 * but one wrong line is enough to be worth a word. */
static void warn_line(char *line)
{
  char *value = line + strcspn(line, " \t");

  if (*value != '\0')
    *value++ = '\0';
  value += strspn(value, " \t");
  if (strcasecmp(line, "LogLevel") == 0 && strncasecmp(value, "debug", 5) == 0)
    warn_print("cupsd logs the titles of print jobs, which may name patients; "
               "set 'LogLevel warn' in cupsd.conf");
  if (strcasecmp(line, "PageLogFormat") == 0 &&
      strstr(value, "job-name") != NULL)
    warn_print("cupsd's page_log holds the titles of print jobs, which may "
               "name patients; remove job-name from PageLogFormat in "
               "cupsd.conf");
}

static void warn_logs(int fd)
{
  FILE *file = fdopen(fd, "r");
  char line[1024];

  if (file == NULL) {
    (void)close(fd);
    return;
  }
  while (fgets(line, sizeof(line), file) != NULL) {
    char *start = line + strspn(line, " \t");

    line[strcspn(line, "#\r\n")] = '\0';
    if (start < line + strlen(line))
      warn_line(start);
  }
  (void)fclose(file);
}

void warn_all(const struct dx_config *config, const struct dx_service *service,
              int cupsd_conf_fd)
{
  warn_results(service);
  if (service->separator_page != NULL)
    warn_separator(service->separator_page);
  if (cupsd_conf_fd >= 0)
    warn_logs(cupsd_conf_fd);
  if (service->completion == DX_COMPLETION_ACCEPTED &&
      !cli_daemon_runs(config->spool_dir))
    warn_print("Completion is 'accepted' but docextractd does not run: print "
               "jobs wait for their extraction; start docextractd");
}
