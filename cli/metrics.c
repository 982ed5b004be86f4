/*
 * metrics.c - `docextract metrics`: prints metrics in Prometheus format, from
 * the spool, or from docextractd if the user may not read the spool.
 */
#include "cli/cli.h"

#include <stdio.h>

#include "lib/base/policy.h"
#include "lib/control/metrics.h"
#include "lib/control/status.h"

enum dx_code verb_metrics(struct cli *cli, struct dx_err *err)
{
  struct dx_buf text = {0};
  struct dx_err ignored;
  enum dx_code code = cli_open_spool(cli, err);

  if (code == DX_OK)
    code = dx_metrics_text(cli->config, &cli->spool, &text, err);
  else if (code == DX_E_ACCESS && cli->config != NULL &&
           dx_status_fetch(cli->config->status_socket, "metrics",
                           DX_RESPONSE_MAX_BYTES, &text, &ignored) == DX_OK)
    code = DX_OK;
  if (code == DX_OK)
    (void)fputs(dx_buf_text(&text), stdout);
  dx_buf_release(&text);
  return code;
}
