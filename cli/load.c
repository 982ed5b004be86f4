/*
 * load.c - the configuration, and which of its services is meant.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buf.h"

/* Returns how many. */
static size_t print_lines(const char *prefix, const char *lines)
{
  size_t len, count = 0;

  for (; *lines != '\0'; lines += len + (lines[len] == '\n')) {
    len = strcspn(lines, "\n");
    fprintf(stderr, "%s%.*s\n", prefix, (int)len, lines);
    count++;
  }
  return count;
}

/* The caller prints *err: the error, if there is only one, or their number. */
static enum dx_code report_mistakes(const struct cli *cli,
                                    const struct dx_config_notes *notes,
                                    struct dx_err *err)
{
  if (notes->mistake_count > 1) {
    (void)print_lines("docextract: ", dx_buf_text(&notes->mistakes));
    return dx_fail(err, err->code, 0, "found %d errors in '%s'",
                   notes->mistake_count, cli->config_path);
  }
  if (err->sys_errno == EACCES && cli->config == NULL && geteuid() != 0)
    return dx_fail_advice(err, "run this command as root");
  return err->code;
}

/* ret_warnings: NULL: none are wanted */
static enum dx_code load(struct cli *cli, bool is_owner, size_t *ret_warnings,
                         struct dx_err *err)
{
  struct dx_config_notes notes = {.is_user = is_owner};
  struct dx_config *config = NULL;
  enum dx_code code = dx_config_check(cli->config_path, &config, &notes, err);

  if (code == DX_OK) {
    dx_config_free(&cli->config);
    cli->config = config;
    if (ret_warnings != NULL)
      *ret_warnings = print_lines("warning: ", dx_buf_text(&notes.warnings));
  } else {
    code = report_mistakes(cli, &notes, err);
  }
  dx_config_notes_release(&notes);
  return code;
}

enum dx_code cli_load(struct cli *cli, struct dx_err *err)
{
  return load(cli, false, NULL, err);
}

enum dx_code cli_check(struct cli *cli, bool is_owner, size_t *ret_warnings,
                       struct dx_err *err)
{
  return load(cli, is_owner, ret_warnings, err);
}

/* "reason; configured services: a, b" */
static enum dx_code no_choice(const struct dx_config *config,
                              const char *reason, struct dx_err *err)
{
  struct dx_buf names = {0};
  enum dx_code code;
  size_t i;

  for (i = 0; i < config->service_count; i++)
    /* NOLINTNEXTLINE(*-core.NullDereference): there are that many services */
    dx_buf_printf(&names, "%s%s", i > 0 ? ", " : "", config->services[i].name);
  code = dx_fail(err, DX_E_CONFIG, 0, "%s; configured services: %s", reason,
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
    return no_choice(config, "--service names no configured service", err);
  *ret_service = service;
  return DX_OK;
}
