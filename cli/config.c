/*
 * config.c - `docextract config`: checks the configuration, and prints every
 * value in effect, with its origin. It contains no secrets, only paths to them.
 */
#include "cli/cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/control/connect.h"

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

enum dx_code verb_config(struct cli *cli, struct dx_err *err)
{
  char text[DX_ERR_TEXT_BYTES];
  size_t at = 0, warnings = 0;
  enum dx_code code = config_check(cli, &warnings, err);

  if (code != DX_OK)
    return code;
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
