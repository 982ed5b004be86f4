/*
 * sweep.h - removing what nobody needs from the spool.
 *
 * Blocking: the disk, as long as there is something to look at.
 */
#ifndef DX_SWEEP_H
#define DX_SWEEP_H

#include "lib/job/spool.h"

/*
 * Removes what nobody needs: abandoned incoming directories, jobs without
 * activity for keep_ms unless docextractd or the command still has to finish
 * them, and temporary files of writers that were killed. To be called before
 * the process holds the lock of any job. Trouble is logged, not reported.
 */
void dx_spool_sweep(struct dx_spool *spool, int64_t keep_ms);

#endif
