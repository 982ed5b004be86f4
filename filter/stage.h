/*
 * stage.h - what our filters share towards cupsd: the process, its files, its
 * input, and the section of the configuration. What becomes of a document
 * does not live here.
 */
#ifndef DX_FILTER_STAGE_H
#define DX_FILTER_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/config/config.h"

#define STAGE_SCHEME "docextract://"

/* What the kernel and our library may do: no core dump, since documents are
 * patients'; broken pipes and files that grew too large come as errors of
 * write(); lib/base/log.h goes to cupsd's log. */
void stage_set_up(void);

/* A file without a name in TMPDIR: nothing is left behind, however this ends.
 * -1 if there can be none. */
int stage_unnamed_file(void);

/*
 * Reads to the end in any case: a stage before that finds its pipe broken
 * would make cupsd stop the job. False if not all of it could be kept; what
 * is more than `most` bytes need not be. `to` -1 keeps nothing.
 */
bool stage_receive(int from, int to, int64_t most, int64_t *ret_length);

/* The section of our queue; NULL if there is none. *config is the caller's.
 * What is wrong with the file is the backend's to tell. */
const struct dx_service *stage_service(struct dx_config **config);

/* FilterTimeLimit; `service` may be NULL. Milliseconds. */
int64_t stage_time_limit_ms(const struct dx_service *service);

#endif
