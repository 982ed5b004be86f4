/*
 * config.c - `docextract config`: is the configuration right, and what is it
 * with all defaults. Secrets are not in it, only paths to them.
 */
#include "cli/cli.h"

enum dx_code verb_config(struct cli *cli, size_t count, char **args,
                         struct dx_err *err)
{
  enum dx_code code = cli_load(cli, err);

  (void)count;
  (void)args;
  if (code == DX_OK)
    code = dx_config_print(cli->config, stdout, err);
  return code;
}
