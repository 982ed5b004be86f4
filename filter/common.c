/*
 * common.c - the process, the files, and the input of a filter.
 */
#include "filter/common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/pdf.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "lib/job/sentence.h"

#define TIME_LIMIT_MS 900000 /* FilterTimeLimit without a configuration */

static void print_debug(enum dx_log_level level, const char *line)
{
  (void)level;
  (void)fprintf(stderr, "DEBUG: %s\n", line);
}

bool filter_arguments(int argc, char **argv, const char *name, int *ret_status)
{
  if (argc == 6 || argc == 7)
    return true;
  *ret_status = argc != 2 || strcmp(argv[1], "--version") != 0;
  if (*ret_status == 0)
    printf("%s %s (qpdf %s)\n", name, PACKAGE_VERSION, pdf_library_version());
  else
    (void)fprintf(stderr,
                  "Usage: %s job user title copies options [file]\n"
                  "       %s --version\n",
                  name, name);
  return false;
}

void filter_set_up(int argc, char **argv)
{
  dx_process_protect();
  dx_process_hide_arguments(argc, argv, 2);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  (void)signal(SIGCHLD, SIG_DFL);
  dx_log_to(print_debug);
}

const char *filter_temp_dir(void)
{
  const char *dir = getenv("TMPDIR");

  return dir != NULL && dir[0] != '\0' ? dir : "/tmp";
}

int filter_temp_file(void)
{
  const char *dir = filter_temp_dir();
  char path[4096];
  int fd;

  fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0)
    return fd;
  /* Some file systems do not support files without names. */
  if (snprintf(path, sizeof(path), "%s/todocextract-XXXXXX", dir) >=
      (int)sizeof(path))
    return -1;
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0)
    (void)unlink(path);
  return fd;
}

bool filter_receive(int from, int to, int64_t most, int64_t *ret_length)
{
  static char bytes[DX_STREAM_BYTES]; /* on a stack, each page is probed */
  bool kept = to >= 0;
  ssize_t n;

  *ret_length = 0;
  dx_fs_widen_pipe(from);
  for (;;) {
    n = read(from, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    *ret_length += n;
    kept = kept &&
           (*ret_length > most ||
            dx_fs_write_all(to, bytes, (size_t)n, "document", NULL) == DX_OK);
  }
  return kept && n == 0;
}

const struct dx_service *filter_service(struct dx_config **config)
{
  static const char scheme[] = FILTER_SCHEME;
  const char *uri = getenv("DEVICE_URI");
  const char *given = getenv("DOCEXTRACT_CONF"); /* docextract -c */
  char *path = given != NULL ? strdup(given) : dx_config_path(true);
  char name[80] = "";
  struct dx_err err;

  if (path == NULL || dx_config_load(path, config, &err) != DX_OK)
    dx_log(DX_LOG_DEBUG, "%s", path != NULL ? err.text : "out of memory");
  free(path);
  if (uri != NULL && strncmp(uri, scheme, sizeof(scheme) - 1) == 0)
    (void)snprintf(name, sizeof(name), "%s", uri + sizeof(scheme) - 1);
  name[strcspn(name, "/")] = '\0'; /* some dialogs add one */
  return *config != NULL ? dx_config_service(*config, name) : NULL;
}

int64_t filter_time_limit_ms(const struct dx_service *service)
{
  return service != NULL ? service->filter_time_limit_ms : TIME_LIMIT_MS;
}

void filter_warn_of_repair(void)
{
  (void)fputs("WARNING: " DX_SAY_REPAIRED "\n", stderr);
}
