/*
 * fuzz_journal.c - job.json. A journal that was read is saved and reads back
 * the same; its manifests and results have names.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/spool/job.h"
#include "lib/spool/results.h"

#define JOURNAL "job.json"

static struct dx_job *load(void)
{
  struct dx_job *job = dx_job_new();
  struct dx_err err;

  HOLDS(job != NULL);
  job->dirfd = fcntl(fuzz_dirfd(), F_DUPFD_CLOEXEC, 0);
  HOLDS(job->dirfd >= 0);
  if (dx_job_load(job, &err) != DX_OK)
    dx_job_free(&job);
  return job;
}

static void check_names(const struct dx_submission *sub)
{
  char *name = dx_manifest_name(sub, sub->source_id);
  char *text = dx_manifest_text(sub);
  size_t i;

  HOLDS(name != NULL && text != NULL && strchr(name, '/') == NULL);
  free(name);
  free(text);
  for (i = 0; sub->source_id != NULL && i < sub->case_count; i++) {
    name = dx_result_name(sub->source_id, sub->cases[i].id);
    HOLDS(name != NULL && strchr(name, '/') == NULL);
    free(name);
  }
  for (i = 0; i < sub->file_count; i++)
    HOLDS(sub->files[i].document < sub->job->document_count);
}

static void check_job(struct dx_job *job)
{
  struct dx_err err;
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    check_names(&job->submissions[i]);
  (void)dx_job_outcome(job, &err);
  HOLDS(!dx_job_is_finished(job) || dx_job_is_final(job));
}

/* The journal as it would be written. */
static struct dx_buf saved(struct dx_job *job)
{
  struct dx_buf text = {0};

  HOLDS(dx_job_publish(job, NULL) == DX_OK);
  HOLDS(dx_fs_read(job->dirfd, JOURNAL, DX_JOURNAL_MAX_BYTES, &text, NULL) ==
        DX_OK);
  return text;
}

/* The administrator retries it, then cancels it. */
static void use(struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    (void)!dx_submission_retry(&job->submissions[i], NULL);
  dx_job_end(job, DX_EV_CANCEL);
  HOLDS(dx_job_is_final(job));
  check_job(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct dx_job *job, *again;
  struct dx_buf first, second;

  fuzz_put(JOURNAL, data, size);
  job = load();
  if (job == NULL)
    return 0;
  check_job(job);
  first = saved(job);
  again = load();
  HOLDS(again != NULL);
  second = saved(again);
  HOLDS(strcmp(dx_buf_text(&first), dx_buf_text(&second)) == 0);
  use(job);
  dx_buf_release(&first);
  dx_buf_release(&second);
  dx_job_free(&job);
  dx_job_free(&again);
  return 0;
}
