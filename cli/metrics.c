/*
 * metrics.c - `docextract metrics`: what an administrator watches, for
 * Prometheus. From the spool, or from docextractd for a user who may not read
 * it.
 */
#include "cli/cli.h"

#include <stdio.h>

#include "lib/base/policy.h"
#include "lib/control/metrics.h"
#include "lib/control/status_client.h"

static enum dx_code ask(const struct cli *cli, struct dx_buf *text,
                        struct dx_err *err)
{
  struct dx_status status = DX_STATUS_NONE;
  enum dx_code code =
      dx_status_ask(&status, cli->config->status_socket, "metrics", err);

  if (code == DX_OK)
    code = dx_status_text(&status, DX_RESPONSE_MAX_BYTES, text, err);
  dx_status_close(&status);
  return code;
}

enum dx_code verb_metrics(struct cli *cli, struct dx_err *err)
{
  struct dx_buf text = {0};
  struct dx_err ignored;
  enum dx_code code = cli_open_spool(cli, err);

  if (code == DX_OK)
    code = dx_metrics_text(cli->config, &cli->spool, &text, err);
  else if (code == DX_E_ACCESS && cli->config != NULL &&
           ask(cli, &text, &ignored) == DX_OK)
    code = DX_OK;
  if (code == DX_OK)
    (void)fputs(dx_buf_text(&text), stdout);
  dx_buf_release(&text);
  return code;
}
