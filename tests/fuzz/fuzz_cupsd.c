/*
 * fuzz_cupsd.c - bytes as a response of cupsd: a job, a list of print jobs, or
 * queues. What print clients have sent is in it.
 */
#include "tests/fuzz/fuzz.h"

#include <cups/ipp.h>
#include <stdlib.h>
#include <string.h>

#include "lib/print/print_job.h"

#define UUID "urn:uuid:1"

static bool is_text(const char *text, size_t size)
{
  return memchr(text, '\0', size) != NULL;
}

static void read_job(const char *bytes, size_t len)
{
  struct dx_print_job job;

  memset(&job, 0xff, sizeof(job));
  dx_print_job_read(bytes, len, UUID, &job);
  HOLDS(job.answer > DX_ANSWER_NOT_ASKED && job.answer < DX_ANSWER_COUNT);
  HOLDS(job.answer != DX_ANSWER_CHANGED && job.answer != DX_ANSWER_NOT_OURS &&
        job.answer != DX_ANSWER_OTHER_QUEUE);
  HOLDS(job.documents >= 0 && job.time_at_creation >= 0);
  HOLDS(is_text(job.queue, sizeof(job.queue)));
  HOLDS(!job.is_class || job.queue[0] != '\0' || job.has_state);
  if (dx_print_job_is_known(&job))
    HOLDS(job.has_state && job.time_at_creation > 0);
  else
    HOLDS(job.documents == 0 && job.queue[0] == '\0' && job.may_run_again &&
          !job.filter_failed);
  if (job.answer == DX_ANSWER_ACTIVE || job.answer == DX_ANSWER_HELD)
    HOLDS(job.may_run_again);
  if (dx_print_job_is_unusable(&job))
    HOLDS(job.has_state);
}

static void see_job(void *ctx, int id, int state)
{
  ++*(size_t *)ctx;
  HOLDS(id >= 0);
  HOLDS(state == 0 ||
        (state >= IPP_JSTATE_PENDING && state <= IPP_JSTATE_COMPLETED));
}

static void see_queue(void *ctx, const struct dx_queue *queue)
{
  size_t i;

  ++*(size_t *)ctx;
  HOLDS(is_text(queue->name, sizeof(queue->name)) &&
        is_text(queue->uri, sizeof(queue->uri)) &&
        is_text(queue->reasons, sizeof(queue->reasons)));
  HOLDS(queue->uri[0] != '\0' && queue->jobs >= 0);
  HOLDS(strcmp(queue->state, "idle") == 0 ||
        strcmp(queue->state, "processing") == 0 ||
        strcmp(queue->state, "stopped") == 0 ||
        strcmp(queue->state, "unknown") == 0);
  for (i = 0; queue->reasons[i] != '\0'; i++)
    HOLDS(queue->reasons[i] > ' ' || queue->reasons[i] == ' ');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  char *bytes = fuzz_rest(&in);
  bool is_refused = true;
  size_t jobs = 0, queues = 0;

  read_job(bytes, size);
  if (!dx_print_jobs_read(bytes, size, see_job, &jobs, &is_refused))
    HOLDS(jobs == 0);
  else
    HOLDS(!is_refused);
  if (!dx_queues_read(bytes, size, see_queue, &queues))
    HOLDS(queues == 0);
  free(bytes);
  return 0;
}
