/*
 * metrics.c - `docextract metrics`: prints metrics in Prometheus format, which
 * docextractd has counted. If it does not respond, alerts would be lost with
 * the metrics: then they come from the spool, if the user may read it.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/control/metrics.h"
#include "lib/control/status.h"

/* All queues of a service. */
struct waiting {
  int64_t count, oldest_age_s;
};

static struct waiting metrics_add_up(const struct cli_waiting *queues,
                                     size_t count, const char *service)
{
  struct waiting sum = {0};
  int64_t age_s;
  size_t i;

  for (i = 0; i < count; i++) {
    if (strcmp(queues[i].service, service) != 0 || queues[i].count == 0)
      continue;
    age_s = dx_wall_ms() / 1000 - queues[i].oldest_s;
    sum.count += (int64_t)queues[i].count;
    if (age_s > sum.oldest_age_s)
      sum.oldest_age_s = age_s;
  }
  return sum;
}

static void metrics_print_head(const char *name, const char *help)
{
  printf("# HELP docextract_%s %s\n# TYPE docextract_%s gauge\n", name, help,
         name);
}

static void metrics_print_value(const char *name, const char *service,
                                int64_t value)
{
  printf("docextract_%s{service=\"%s\"} %" PRId64 "\n", name, service, value);
}

/* As lib/control/metrics.c prints them. Nothing if cupsd does not answer. */
static void metrics_print_waiting(struct cli *cli)
{
  static const char number[] = "waiting_print_jobs",
                    age[] = "oldest_waiting_print_job_seconds";
  const struct dx_config *config = cli->config;
  struct cli_waiting *queues = NULL;
  size_t i, count = 0;
  const char *service;

  if (!cli_waiting(cli, &queues, &count))
    return;
  metrics_print_head(number, "Print jobs in the queues of CUPS that are not in "
                             "the spool yet, held ones included.");
  for (i = 0; i < config->service_count; i++) {
    service = config->services[i].name;
    metrics_print_value(number, service,
                        metrics_add_up(queues, count, service).count);
  }
  metrics_print_head(age, "Age of the oldest of them; 0 if there is none.");
  for (i = 0; i < config->service_count; i++) {
    service = config->services[i].name;
    metrics_print_value(age, service,
                        metrics_add_up(queues, count, service).oldest_age_s);
  }
  free(queues);
}

enum dx_code verb_metrics(struct cli *cli, struct dx_err *err)
{
  struct dx_buf text = {0};
  struct dx_err why;
  enum dx_code code = cli_open_spool(cli, err), told = DX_E_NOT_FOUND;
  bool is_own = code == DX_OK;
  bool is_other = code == DX_E_ACCESS && cli->config != NULL;

  /* Without it, the socket may be that of another spool. */
  if (is_other || (is_own && dx_spool_daemon(cli->spool.dirfd) != 0))
    told = dx_status_fetch(cli->config->status_socket, "metrics",
                           DX_RESPONSE_MAX_BYTES, &text, &why);
  if (told != DX_OK)
    dx_buf_release(&text); /* it may have a part of them */
  if (told == DX_OK) {
    code = DX_OK;
  } else if (is_own) {
    code = dx_metrics_text(cli->config, &cli->spool, NULL, &text, err);
  } else if (is_other && (told == DX_E_NOT_FOUND || told == DX_E_NOT_YET)) {
    dx_metrics_put_down(&text);
    code = DX_OK;
  }
  if (code == DX_OK)
    (void)fputs(dx_buf_text(&text), stdout);
  if (code == DX_OK && is_own)
    metrics_print_waiting(cli);
  dx_buf_release(&text);
  return code;
}
