/*
 * adopt.h - jobs that have lost their driver: who drives them next
 * (doc/architecture.md, "Invariants").
 *
 * A print job is driven by its own backend as long as cupsd will run one.
 * If the backend was killed, cupsd lost the job, the queue was deleted, or the
 * machine was restarted, no backend would ever run: then docextractd, or a
 * backend that is waiting anyway, adopts the job. What the service has is
 * polled to its end whatever cupsd says; cupsd is asked before anything is
 * registered, because a canceled job is not submitted.
 *
 * Blocking: the disk, and cupsd for at most DX_ASK_CUPSD_MS. Errors: those of
 * spool.h.
 */
#ifndef DX_ADOPT_H
#define DX_ADOPT_H

#include "lib/print/print_job.h"
#include "lib/spool/spool.h"

/* What to do with a job that nobody drives. */
enum dx_adoption {
  DX_ADOPT_LEAVE,  /* another process will drive it, or none has to */
  DX_ADOPT_CANCEL, /* cupsd says that it was canceled */
  DX_ADOPT_DRIVE,  /* no other process will */
  DX_ADOPT_SETTLE  /* finished; its driver was killed before it was settled */
};

/* Pure. state: what cupsd says about the print job; it need not be asked unless
 * dx_adoption_needs_cupsd(). */
enum dx_adoption dx_adoption_of(const struct dx_job *job,
                                enum dx_print_job_state state);
bool dx_adoption_needs_cupsd(const struct dx_job *job);

/*
 * Asks cupsd about the print job: DX_PJ_UNKNOWN if, as far as this process
 * knows, cupsd has not been running for DX_CUPSD_GONE_MS; DX_PJ_OVER if the job
 * is no print job.
 */
enum dx_print_job_state dx_ask_cupsd(const struct dx_job *job);

/* Whether a source may be created for a job that is not driven by its own
 * backend: not while a person holds its print job or cupsd cannot be asked. One
 * that is pending or processing makes no difference: its backend is about to
 * end, or would find that the job is not its own any more. Cancels the job if
 * its print job was canceled. */
bool dx_adopted_may_create(struct dx_job *job);

/* The same for a backend whose cupsd is gone: a new one may start another
 * backend for the job, but may also have canceled it, or hold it. */
bool dx_orphan_may_create(struct dx_job *job);

/*
 * Takes job `key` if nobody drives it and no other process will. Whoever adopts
 * it, its journal then says that it is docextractd's. A job whose print job was
 * canceled is canceled, and one that is finished is settled; neither is
 * returned. service: only its jobs; NULL: any.
 * *ret_job is NULL if there is nothing to drive.
 */
enum dx_code dx_spool_adopt(struct dx_spool *spool, const char *key,
                            const char *service, struct dx_job **ret_job,
                            struct dx_err *err) DX_MUST_USE;

#endif
