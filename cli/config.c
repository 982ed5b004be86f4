/*
 * config.c - `docextract config`: checks the configuration, and prints every
 * value in effect, with its origin. It contains no secrets, only paths to them.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/sandbox.h"
#include "lib/base/utf8.h"
#include "lib/control/start.h"

/* The device URI of a queue selects the section. */
static void config_print_queues(void *ctx, const struct dx_service *service,
                                FILE *out)
{
  const struct queues *queues = ctx;
  size_t i;

  for (i = 0; i < queues->count; i++)
    if (strcmp(queues->list[i].service, service->name) == 0 &&
        dx_utf8_is_plain(queues->list[i].is.name))
      fprintf(out, "  # used by queue %s, device URI docextract://%s\n",
              queues->list[i].is.name, service->name);
}

/* Returns the number of queues that print to a section that does not exist. */
static size_t config_warn_of_queues(const struct cli *cli,
                                    const struct queues *queues)
{
  size_t i, count = 0;

  for (i = 0; i < queues->count; i++) {
    const struct queue *queue = &queues->list[i];

    if (dx_config_service(cli->config, queue->service) != NULL ||
        !dx_utf8_is_plain(queue->is.name) || !dx_utf8_is_plain(queue->service))
      continue;
    fprintf(stderr,
            "warning: queue '%s' prints to docextract://%s, which is not a "
            "section of '%s'; add it, or change the queue: lpadmin -p %s -v "
            "docextract://%s\n",
            queue->is.name, queue->service, cli->config->path, queue->is.name,
            cli->config->services[0].name);
    count++;
  }
  return count;
}

static size_t config_warn(enum dx_code code, const struct dx_err *err)
{
  if (code != DX_OK)
    fprintf(stderr, "warning: %s\n", err->text);
  return code != DX_OK;
}

/* Warns about directories that backends cannot write to; missing ones are
 * reported with their lines. Only permissions are checked. Returns the number
 * of warnings. */
static size_t config_warn_of_directories(const struct dx_config *config)
{
  struct dx_err err, why;
  enum dx_code code = dx_fs_check_access(config->spool_dir, &err);
  size_t i, k, count = 0;
  char copy[PATH_MAX];
  struct stat st;

  if (code != DX_OK && code != DX_E_NOT_FOUND)
    count += config_warn(dx_user_advise_writer(&err), &err);
  for (i = 0; i < config->service_count; i++) {
    const char *path = config->services[i].results_dir;

    for (k = 0; k < i; k++) /* sections may share one */
      if (strcmp(config->services[k].results_dir, path) == 0)
        break;
    if (k < i || (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)))
      continue;
    code = dx_fs_check_access(path, &why);
    if (code == DX_E_NOT_FOUND) { /* it will be created in its parent */
      (void)snprintf(copy, sizeof(copy), "%s", path);
      code = dx_fs_check_access(dirname(copy), &why);
      if (code != DX_OK)
        (void)dx_fail_sys(&why, why.sys_errno, "create directory", path);
    }
    if (code == DX_OK || code == DX_E_NOT_FOUND || why.sys_errno == ENOTDIR)
      continue; /* or docextract.conf was warned of already */
    (void)dx_user_advise_writer(&why);
    (void)dx_fail(&err, code, 0,
                  "results cannot be written, so nothing will be sent: %s",
                  why.text);
    count += config_warn(code, &err);
  }
  return count;
}

/* Returns the number of services that cannot work without a sandbox. Services
 * with "Sandbox optional" are reported, but not counted. */
static size_t config_warn_of_sandbox(const struct dx_config *config)
{
  bool has_seccomp = (cli_sandbox_layers() & DX_SANDBOX_SECCOMP) != 0;
  size_t i, count = 0;

  for (i = 0; i < config->service_count; i++) {
    const struct dx_service *service = &config->services[i];
    bool is_optional = service->sandbox == DX_SANDBOX_IS_OPTIONAL;

    if (!has_seccomp || is_optional)
      fprintf(stderr, "warning: <Service %s>: %s\n", service->name,
              !is_optional  ? DX_SANDBOX_MISSING
              : has_seccomp ? "'Sandbox optional' is set, which this kernel "
                              "does not need; remove it"
                            : DX_SANDBOX_OPTIONAL);
    count += !has_seccomp && !is_optional;
  }
  return count;
}

/* Backends may not be able to read files that root can read, so this checks as
 * their user, the owner of the spool. Also works without a spool. */
static enum dx_code config_check(struct cli *cli, size_t *ret_warnings,
                                 struct dx_err *err)
{
  bool was_root = geteuid() == 0, is_owner;
  char name[DX_USER_BYTES];
  size_t count = 0;
  struct dx_err why;
  enum dx_code code = cli_load(cli, err);

  if (code != DX_OK)
    return code;
  code = was_root ? cli_become_backend(cli, &why) : cli_become_owner(cli, &why);
  if (code == DX_E_NOT_FOUND && was_root && dx_user() != NULL)
    code = dx_user_enter(&why);
  is_owner = code == DX_OK;
  if (code != DX_E_NOT_FOUND && was_root)
    count = config_warn(code, &why);
  code = cli_check(cli, is_owner, ret_warnings, err);
  if (code == DX_OK && is_owner)
    count += config_warn_of_directories(cli->config);
  if (code == DX_OK)
    count += config_warn_of_sandbox(cli->config);
  *ret_warnings += count;
  if (code == DX_OK || !was_root)
    return code;
  dx_user_name_of(geteuid(), name);
  return dx_fail_advice(
      err, "backends run as '%s', which must be able to read it", name);
}

enum dx_code verb_config(struct cli *cli, struct dx_err *err)
{
  char text[DX_ERR_TEXT_BYTES];
  struct queues queues = {0};
  size_t at = 0, warnings = 0;
  enum dx_code code = config_check(cli, &warnings, err);

  if (code != DX_OK)
    return code;
  (void)cupsd_queues(&queues);
  warnings += config_warn_of_queues(cli, &queues);
  /* Only the owner of the spool can check this. Creates nothing. */
  cli->spool.dirfd = dx_fs_open_dir(AT_FDCWD, cli->config->spool_dir, NULL);
  if (cli->spool.dirfd >= 0)
    printf("# docextractd: %s\n", cli_docextractd(cli));
  /* Not a warning: only docextractd can detect a drop-in, and it refuses to
   * work without one. */
  while (dx_docextractd_is_unit("") &&
         dx_config_drop_in(cli->config, NULL, &at, text))
    printf("# unless there is a drop-in for it: %s\n", text);
  printf("# the file given by %s:\n", cli->config_from);
  code =
      dx_config_print(cli->config, stdout, config_print_queues, &queues, err);
  free(queues.list);
  if (code != DX_OK || warnings == 0)
    return code;
  return dx_fail(err, DX_E_CONFIG, 0,
                 "%zu warning%s: some print jobs cannot be sent", warnings,
                 warnings == 1 ? "" : "s");
}
