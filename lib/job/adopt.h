/*
 * adopt.h - jobs that have lost their driver: whose turn it is to go on with
 * them (doc/architecture.md, "Invariants").
 *
 * A print job is driven by its own backend as long as cupsd will run one.
 * When the backend was killed, cupsd has forgotten the job, the queue is gone
 * or the machine was restarted, nobody would ever come: then docextractd, or a
 * backend that waits anyway, adopts the job. What the service has taken is
 * polled to its end whatever cupsd says; before anything is registered cupsd
 * is asked, because a canceled job is not submitted.
 *
 * Blocking: the disk, and cupsd for at most DX_ASK_CUPSD_MS. Errors: those of
 * spool.h.
 */
#ifndef DX_ADOPT_H
#define DX_ADOPT_H

#include "lib/job/print_job.h"
#include "lib/job/spool.h"

/* What is to be done with a job that nobody drives. */
enum dx_adoption {
  DX_ADOPT_LEAVE,  /* somebody else will come, or nobody has to */
  DX_ADOPT_CANCEL, /* cupsd says that it was canceled */
  DX_ADOPT_DRIVE   /* nobody else will come */
};

/* Pure. state: what cupsd says of the print job, which it was asked about only
 * if dx_adoption_needs_cupsd(). */
enum dx_adoption dx_adoption_of(const struct dx_job *job,
                                enum dx_print_job_state state);
bool dx_adoption_needs_cupsd(const struct dx_job *job);

/*
 * Asks cupsd about the print job. A cupsd that has not been there for
 * DX_CUPSD_GONE_MS, as far as this process knows, is gone: its jobs are
 * DX_PJ_UNKNOWN. What is no print job is DX_PJ_OVER.
 */
enum dx_print_job_state dx_ask_cupsd(const struct dx_job *job);

/* Before a source is created for a job that is not driven by its own backend:
 * true if cupsd has nothing against it. A job whose print job was canceled is
 * canceled here. */
bool dx_adopted_may_create(struct dx_job *job);

/* The same for a backend whose cupsd is gone: a new one may start another
 * backend for the job, but may also have canceled it, or hold it. */
bool dx_orphan_may_create(struct dx_job *job);

/*
 * Takes job `key` if nobody drives it and nobody else will. It is docextractd's
 * then, in its journal too, whoever adopts it; a job that was canceled is
 * canceled here, and not given out. service: that one only; NULL: any.
 * *ret_job is NULL when there is nothing to drive.
 */
enum dx_code dx_spool_adopt(struct dx_spool *spool, const char *key,
                            const char *service, struct dx_job **ret_job,
                            struct dx_err *err) DX_MUST_USE;

#endif
