/*
 * waiting.c - the print jobs that wait in CUPS before the spool: nothing else
 * notices a chart that its queue, because it is stopped, or its owner holds
 * back.
 *
 * The command asks cupsd itself, when it is called, so that charts are also
 * counted while docextractd is not running.
 */
#include "cli/cli.h"

#include <cups/ipp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/print/print_job.h"

#define ASK_MS 5000 /* each of two questions */

struct search {
  struct cli *cli;
  struct cli_waiting *queues;
  size_t count;
  bool has_jobs; /* cupsd has any print jobs for them */
  bool is_cut;   /* out of memory */
};

static void add_our_queue(void *ctx, const struct dx_queue *queue)
{
  struct search *s = ctx;
  const struct dx_service *service = NULL;
  char section[DX_SECTION_BYTES];
  struct cli_waiting *more;

  if (!dx_is_our_uri(queue->uri))
    return;
  if (dx_section_of_uri(queue->uri, section))
    service = dx_config_service(s->cli->config, section);
  more = reallocarray(s->queues, s->count + 1, sizeof(*more));
  s->is_cut |= more == NULL;
  if (more == NULL)
    return;
  s->queues = more;
  s->has_jobs |= queue->jobs > 0;
  more += s->count++;
  *more =
      (struct cli_waiting){.service = service != NULL ? service->name : "",
                           .is_stopped = strcmp(queue->state, "stopped") == 0};
  memcpy(more->queue, queue->name, sizeof(more->queue));
}

/* True if the spool has a record of the print job, or that cannot be
 * determined: then, the chart does not wait for CUPS. */
static bool is_received(struct cli *cli, const struct dx_listed_job *job)
{
  char id[16], key[DX_KEY_BYTES], name[DX_RECEIPT_BYTES];
  struct dx_job *stored = NULL;
  enum dx_code code;

  (void)snprintf(id, sizeof(id), "%d", job->id);
  if (job->uuid[0] == '\0' || job->time_at_creation == 0 ||
      !dx_spool_key(job->uuid, id, job->time_at_creation, key) ||
      dx_spool_has_receipt(&cli->spool, key, name))
    return true;
  code = dx_spool_load(&cli->spool, key, &stored, NULL);
  dx_job_free(&stored);
  return code != DX_E_NOT_FOUND;
}

static void add_waiting(void *ctx, const struct dx_listed_job *job)
{
  struct search *s = ctx;
  struct cli_waiting *at = s->queues, *end = at + s->count;

  while (at < end && strcasecmp(at->queue, job->queue) != 0)
    at++;
  if (at == end || is_received(s->cli, job))
    return;
  at->count++;
  if (job->state == IPP_JSTATE_HELD) {
    at->held++;
    at->held_id = job->id;
  }
  if (at->oldest_s == 0 || job->time_at_creation < at->oldest_s)
    at->oldest_s = job->time_at_creation;
}

bool cli_waiting(struct cli *cli, struct cli_waiting **ret_queues,
                 size_t *ret_count)
{
  struct search s = {.cli = cli};

  if (!dx_queues_ask(ASK_MS, add_our_queue, &s) || s.is_cut ||
      (s.has_jobs && !dx_print_jobs_ask(ASK_MS, add_waiting, &s))) {
    free(s.queues);
    return false;
  }
  *ret_queues = s.queues;
  *ret_count = s.count;
  return true;
}
