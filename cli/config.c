/*
 * config.c - `docextract config`: is the configuration right, what is it with
 * all defaults, and where did each value come from. Secrets are not in it,
 * only paths to them.
 */
#include "cli/cli.h"

#include <stdio.h>

enum dx_code verb_config(struct cli *cli, size_t count, char **args,
                         struct dx_err *err)
{
  enum dx_code code = cli_check(cli, err);

  (void)count;
  (void)args;
  if (code == DX_OK)
    printf("# the file named by %s:\n", cli->config_from);
  if (code == DX_OK)
    code = dx_config_print(cli->config, stdout, NULL, NULL, err);
  return code;
}
