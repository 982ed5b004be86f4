/*
 * config.c - `docextract config`: checks the configuration and prints every
 * value in effect, with its origin. Secrets are not in it, only paths to them.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cupsd.h"
#include "lib/base/utf8.h"

struct queues {
  struct queue *list;
  size_t count;
};

/* The device URI of a queue chooses the section. */
static void print_queues(void *ctx, const struct dx_service *service, FILE *out)
{
  const struct queues *queues = ctx;
  size_t i;

  for (i = 0; i < queues->count; i++)
    if (strcmp(queues->list[i].service, service->name) == 0 &&
        dx_utf8_is_plain(queues->list[i].name))
      fprintf(out, "  # used by queue %s, device URI docextract://%s\n",
              queues->list[i].name, service->name);
}

/* What root can read may be closed to the backends: looks as their user. */
static enum dx_code check(struct cli *cli, struct dx_err *err)
{
  bool was_root = geteuid() == 0;
  char name[DX_USER_BYTES];
  struct dx_err why;
  enum dx_code code = cli_load(cli, err);

  if (code != DX_OK)
    return code;
  code = cli_become_owner(cli->config->spool_dir, &why);
  if (code != DX_OK && code != DX_E_NOT_FOUND && was_root)
    fprintf(stderr, "warning: %s\n", why.text);
  code = cli_check(cli, code == DX_OK, err);
  cli_user_name(name);
  return code != DX_OK && was_root
             ? cli_advise(err,
                          "backends run as '%s', which must be able to "
                          "read it",
                          name)
             : code;
}

enum dx_code verb_config(struct cli *cli, struct dx_err *err)
{
  struct queues queues = {0};
  struct dx_err ignored;
  enum dx_code code = check(cli, err);

  if (code != DX_OK)
    return code;
  printf("# the file given by %s:\n", cli->config_from);
  if (cupsd_queues(&queues.list, &queues.count, &ignored) != DX_OK)
    queues.count = 0; /* the comments are left out */
  code = dx_config_print(cli->config, stdout, print_queues, &queues, err);
  free(queues.list);
  return code;
}
