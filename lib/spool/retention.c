/*
 * retention.c - how long a job stays in the spool.
 */
#include "lib/spool/retention.h"

enum dx_retention dx_retention(const struct dx_retention_facts *facts)
{
  /* The longest time that personal data stays in the record of a finished job;
   * limited even if its section is gone. */
  int64_t personal_ms = facts->keep_unfinished_ms > facts->keep_jobs_ms
                            ? facts->keep_unfinished_ms
                            : facts->keep_jobs_ms;

  if (!facts->finished)
    return facts->keep_unfinished_ms > 0 && !facts->is_kept_waiting &&
                   facts->idle_ms > facts->keep_unfinished_ms
               ? DX_RETENTION_EXPIRE
               : DX_RETENTION_KEEP;
  if (facts->awaits_hook || facts->idle_ms <= facts->keep_jobs_ms)
    return DX_RETENTION_KEEP;
  if (facts->rerun == DX_RERUN_NO)
    return DX_RETENTION_REMOVE;
  return facts->idle_ms > personal_ms ? DX_RETENTION_CLEAN : DX_RETENTION_KEEP;
}
