/*
 * transfer.c - which print jobs arrived incompletely. cupsd does not report it:
 * it follows from what cupsd reports about a print job from time to time.
 */
#include "lib/spool/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/history.h"
#include "lib/base/policy.h"
#include "lib/base/words.h"

#define TRANSFERS_NAME "transfers"
#define TRANSFERS_VERSION "docextract-transfers 1\n"

DX_WORDS(transfer, DX_TRANSFERS)

const char *dx_transfer_sentence(enum dx_transfer status)
{
  static const char *const sentences[] = {DX_TRANSFERS(DX_TEXT_OF_ROW)};

  return sentences[status];
}

/* ---- the rule ---- */

/* True if cupsd started the job because of MultipleOperationTimeout. The last
 * document, if it arrives, is one more. */
static bool has_timed_out(const struct dx_transfer_job *job,
                          const struct dx_transfer_facts *facts)
{
  if (facts->phase == DX_PRINT_TIMED_OUT)
    return job->phase != DX_PRINT_TIMED_OUT; /* it may be acknowledged */
  return job->phase == DX_PRINT_INCOMING && facts->phase != DX_PRINT_INCOMING &&
         facts->documents == job->documents &&
         facts->now_ms - job->grew_after_ms >= facts->timeout_ms;
}

/* True if it was seen with the same documents until it started. A client may
 * also end a job without a further document (Close-Job); it does not wait half
 * of MultipleOperationTimeout for that. */
static bool was_watched(const struct dx_transfer_job *job,
                        const struct dx_transfer_facts *facts)
{
  return facts->phase <= DX_PRINT_ACTIVE && job->phase == DX_PRINT_INCOMING &&
         facts->phase != DX_PRINT_INCOMING && job->documents > 0 &&
         facts->documents == job->documents &&
         facts->now_ms - job->seen_at_ms < DX_TRANSFER_STALE_MS &&
         facts->now_ms - job->grew_after_ms >= facts->timeout_ms &&
         facts->now_ms - job->grew_at_ms >= facts->timeout_ms / 2;
}

/* True if a user removed it from cupsd before it was printed. cupsd saves a job
 * within 30 s, so that a crash no longer loses it. */
static bool was_purged(const struct dx_transfer_job *job,
                       const struct dx_transfer_facts *facts)
{
  return facts->phase == DX_PRINT_UNKNOWN && job->phase == DX_PRINT_WAITING &&
         job->seen_at_ms - job->grew_at_ms >= facts->stall_ms;
}

static enum dx_transfer transfer_status(const struct dx_transfer_job *job,
                                        const struct dx_transfer_facts *facts)
{
  if (facts->phase == DX_PRINT_CANCELED || was_purged(job, facts))
    return DX_TRANSFER_NONE;
  if (facts->phase >= DX_PRINT_ENDED && !facts->is_stored)
    return DX_TRANSFER_LOST;
  if (facts->phase == DX_PRINT_INCOMING)
    return facts->now_ms - job->grew_at_ms >= facts->stall_ms
               ? DX_TRANSFER_STALLED
               : DX_TRANSFER_NONE;
  return job->status == DX_TRANSFER_INCOMPLETE || has_timed_out(job, facts)
             ? DX_TRANSFER_INCOMPLETE
             : DX_TRANSFER_NONE;
}

bool dx_transfer_update(struct dx_transfer_job *job,
                        const struct dx_transfer_facts *facts)
{
  enum dx_transfer before = job->status;

  if (job->grew_at_ms == 0 || (facts->phase == DX_PRINT_INCOMING &&
                               facts->documents != job->documents)) {
    job->grew_after_ms = job->seen_at_ms;
    job->grew_at_ms = facts->now_ms;
  }
  job->status = transfer_status(job, facts);
  job->must_hold |= was_watched(job, facts);
  job->phase = facts->phase;
  job->documents = facts->documents;
  job->seen_at_ms = facts->now_ms;
  if (job->status == before)
    return false;
  job->status_at_ms = facts->now_ms;
  return true;
}

bool dx_transfer_is_shown(const struct dx_transfer_job *job, int64_t now_ms)
{
  return job->status != DX_TRANSFER_NONE &&
         (job->status != DX_TRANSFER_STALLED ||
          now_ms - job->seen_at_ms < DX_TRANSFER_STALE_MS);
}

/* ---- the file ---- */

void dx_transfers_read(int history_dirfd, struct dx_transfers *ret_transfers)
{
  bool is_good =
      dx_history_read(history_dirfd, TRANSFERS_NAME, TRANSFERS_VERSION,
                      ret_transfers, sizeof(*ret_transfers)) &&
      ret_transfers->count >= 0 && ret_transfers->count <= DX_TRANSFERS_MAX;
  int i;

  for (i = 0; is_good && i < ret_transfers->count; i++) {
    const struct dx_transfer_job *job = &ret_transfers->jobs[i];

    is_good = (unsigned)job->status < DX_TRANSFER_COUNT &&
              memchr(job->key, '\0', sizeof(job->key)) != NULL &&
              memchr(job->queue, '\0', sizeof(job->queue)) != NULL &&
              memchr(job->service, '\0', sizeof(job->service)) != NULL;
  }
  if (!is_good)
    memset(ret_transfers, 0, sizeof(*ret_transfers));
}

enum dx_code
dx_transfers_each(int history_dirfd,
                  enum dx_code (*each)(void *ctx, struct dx_transfer_job *job),
                  void *ctx, struct dx_err *err)
{
  struct dx_transfers *all = calloc(1, sizeof(*all));
  enum dx_code code = all != NULL ? DX_OK : dx_fail_nomem(err);
  int i;

  if (all != NULL)
    dx_transfers_read(history_dirfd, all);
  for (i = 0; code == DX_OK && i < all->count; i++)
    if (dx_transfer_is_shown(&all->jobs[i], dx_wall_ms()))
      code = each(ctx, &all->jobs[i]);
  free(all);
  return code;
}

void dx_transfers_write(int history_dirfd, const struct dx_transfers *transfers)
{
  dx_history_write(history_dirfd, TRANSFERS_NAME, TRANSFERS_VERSION, transfers,
                   sizeof(*transfers));
}
