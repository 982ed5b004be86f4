/*
 * service.c - the configuration, and which of its services is meant.
 */
#include "cli/cli.h"

#include "lib/buf.h"

enum dx_code cli_load(struct cli *cli, struct dx_err *err)
{
  struct dx_config *config = NULL;
  enum dx_code code = dx_config_load(cli->config_path, &config, err);

  if (code != DX_OK)
    return code;
  dx_config_free(&cli->config);
  cli->config = config;
  return DX_OK;
}

/* "reason; possibilities are: a, b" */
static enum dx_code no_choice(const struct dx_config *config,
                              const char *reason, struct dx_err *err)
{
  struct dx_buf names = {0};
  enum dx_code code;
  size_t i;

  for (i = 0; i < config->service_count; i++)
    dx_buf_printf(&names, "%s%s", i > 0 ? ", " : "", config->services[i].name);
  code = dx_fail(err, DX_E_CONFIG, 0, "%s; possibilities are: %s", reason,
                 dx_buf_text(&names));
  dx_buf_release(&names);
  return code;
}

enum dx_code cli_service(const struct cli *cli,
                         const struct dx_service **ret_service,
                         struct dx_err *err)
{
  const struct dx_config *config = cli->config;
  const struct dx_service *service;

  if (cli->service == NULL && config->service_count == 1)
    service = &config->services[0];
  else
    service = dx_config_service(config, cli->service != NULL ? cli->service
                                                             : "default");
  if (service == NULL && cli->service == NULL)
    return no_choice(config, "choose a service with --service NAME", err);
  if (service == NULL)
    return no_choice(config, "the service of --service is not configured", err);
  *ret_service = service;
  return DX_OK;
}
