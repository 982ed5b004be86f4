/*
 * config.c - `docextract config`: checks the configuration, and prints every
 * value in effect, with its origin. It contains no secrets, only paths to them.
 * Also warns about queues of CUPS for which there is no section, and about
 * queues and sections that do not exist.
 */
#include "cli/cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/nearest.h"
#include "lib/control/connect.h"
#include "lib/print/print_job.h"

#define ASK_MS 5000 /* cupsd */

/* Backends may not be able to read files that root can read, so this checks as
 * their user, the owner of the spool. Also works without a spool. */
static enum dx_code config_check(struct cli *cli, size_t *ret_warnings,
                                 struct dx_err *err)
{
  bool was_root = geteuid() == 0, is_wrong;
  struct dx_err why;
  enum dx_code code = cli_load(cli, err);

  if (code != DX_OK)
    return code;
  code = cli_become_owner(cli, &why);
  is_wrong = was_root && code != DX_OK && code != DX_E_NOT_FOUND;
  if (is_wrong)
    fprintf(stderr, "warning: %s\n", why.text);
  code = cli_check(cli, code == DX_OK, ret_warnings, err);
  *ret_warnings += is_wrong;
  return code;
}

struct queues {
  const struct dx_config *config;
  FILE *to;
  size_t warnings;
};

/* A print job to a queue without a section waits until there is one. */
static void config_check_queue(void *ctx, const struct dx_queue *queue)
{
  struct queues *queues = ctx;
  const struct dx_config *config = queues->config;
  char section[DX_SECTION_BYTES];

  if (!dx_is_our_uri(queue->uri))
    return;
  if (!dx_section_of_uri(queue->uri, section))
    fprintf(queues->to,
            "warning: the device URI of queue '%s' names no section; change "
            "it with: lpadmin -p %s -v %s%s\n",
            queue->name, queue->name, DX_DEVICE_SCHEME,
            config->services[0].name);
  else if (dx_config_service(config, section) == NULL)
    fprintf(queues->to,
            "warning: the section of queue '%s', <Service %s>, is not in "
            "'%s'; add it, or change the queue with: lpadmin -p %s -v %s%s\n",
            queue->name, section, config->path, queue->name, DX_DEVICE_SCHEME,
            config->services[0].name);
  else
    return;
  queues->warnings++;
}

size_t cli_check_queues(const struct dx_config *config, FILE *to)
{
  struct queues queues = {.config = config, .to = to};

  (void)dx_queues_ask(ASK_MS, config_check_queue, &queues);
  return queues.warnings;
}

/* ---- names that were typed ---- */

struct typed {
  struct dx_nearest nearest;
  char name[DX_QUEUE_BYTES]; /* of the nearest one */
  bool is_known;
};

static void config_compare_queue(void *ctx, const struct dx_queue *queue)
{
  struct typed *typed = ctx;
  char section[DX_SECTION_BYTES];

  if (!dx_section_of_uri(queue->uri, section))
    return;
  if (strcasecmp(typed->nearest.word, queue->name) == 0)
    typed->is_known = true;
  dx_nearest_try(&typed->nearest, queue->name);
  if (typed->nearest.found != queue->name)
    return;
  memcpy(typed->name, queue->name, sizeof(typed->name));
  typed->nearest.found = typed->name;
}

void cli_check_selection(const struct cli *cli)
{
  struct typed queue = {.nearest.word = cli->queue};
  const struct dx_service *service;
  struct dx_err err;

  if (cli->queue != NULL &&
      dx_queues_ask(ASK_MS, config_compare_queue, &queue) && !queue.is_known &&
      cli_print_unknown("queue", &queue.nearest) != 0)
    (void)fputc('\n', stderr);
  if (cli->service != NULL && cli->config != NULL &&
      cli_service(cli, &service, &err) != DX_OK)
    fprintf(stderr, "docextract: %s\n", err.text);
}

/* ---- the verb ---- */

enum dx_code verb_config(struct cli *cli, struct dx_err *err)
{
  char text[DX_ERR_TEXT_BYTES];
  size_t at = 0, warnings = 0;
  enum dx_code code = config_check(cli, &warnings, err);

  if (code != DX_OK)
    return code;
  warnings += cli_check_queues(cli->config, stderr);
  /* Only the owner of the spool can check this. Creates nothing. */
  cli->spool.dirfd = dx_fs_open_dir(AT_FDCWD, cli->config->spool_dir, NULL);
  if (cli->spool.dirfd >= 0)
    printf("# docextractd: %s\n", cli_docextractd(cli));
  /* Not a warning: only docextractd can detect a drop-in, and it refuses to
   * work without one. */
  while (dx_docextractd_is_unit("") &&
         dx_config_drop_in(cli->config, NULL, &at, text))
    printf("# unless there is a drop-in for it: %s\n", text);
  code = dx_config_print(cli->config, stdout, err);
  if (code != DX_OK || warnings == 0)
    return code;
  return dx_fail(err, DX_E_CONFIG, 0,
                 "%zu warning%s: some print jobs cannot be processed", warnings,
                 warnings == 1 ? "" : "s");
}
