/*
 * common.h - what both filters need as CUPS filters: the process, temporary
 * files, the input, and the section of the configuration. What is done with a
 * document is elsewhere.
 */
#ifndef DX_FILTER_COMMON_H
#define DX_FILTER_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/config/config.h"

#define FILTER_SCHEME "docextract://"

/* True if cupsd runs the filter `name`. If not, handles --version and invalid
 * arguments, and sets *ret_status, the exit status. */
bool filter_arguments(int argc, char **argv, const char *name, int *ret_status);

/* Sets up the process: no core dumps, which could contain patient data, and no
 * title in the process list; broken pipes and files over the size limit become
 * errors of write(); what lib/base/log.h logs goes to cupsd's log. */
void filter_set_up(int argc, char **argv);

/* TMPDIR, or /tmp. Borrowed. */
const char *filter_temp_dir(void);

/* Opens a file without a name there: nothing is left behind, however the
 * process ends. -1 on failure. */
int filter_temp_file(void);

/*
 * Reads to the end in any case: an earlier filter that gets a broken pipe would
 * make cupsd stop the job. False if not all of it could be stored; what exceeds
 * `most` bytes need not be. `to` -1 stores nothing.
 */
bool filter_receive(int from, int to, int64_t most, int64_t *ret_length);

/* The section of this queue; NULL if there is none. *config is the caller's.
 * Errors in the file are reported by the backend. */
const struct dx_service *filter_service(struct dx_config **config);

/* FilterTimeLimit in milliseconds; `service` may be NULL. */
int64_t filter_time_limit_ms(const struct dx_service *service);

/* Warns in the queue's window that a document was accepted with defects. */
void filter_warn_of_repair(void);

#endif
