/*
 * budget.h - the time that the documents of one print job have taken so far, in
 * all their filters: a thousand documents that are each below the limit must
 * not hold the queue for days.
 *
 * cupsd starts new processes for each document, but gives all of a job the same
 * pipe as stderr. The time is kept there, as the length of a lock that belongs
 * to the open pipe and not to a process (F_OFD_SETLK in fcntl(2)): there is no
 * file to protect or to remove, and it ends with the job.
 *
 * Without such a pipe, as on a terminal, no time is kept. Blocking: no.
 */
#ifndef DX_FILTER_BUDGET_H
#define DX_FILTER_BUDGET_H

#include <stdint.h>

/* Milliseconds; 0 at the beginning of a job. */
int64_t budget_used_ms(void);

void budget_use_ms(int64_t ms);

#endif
