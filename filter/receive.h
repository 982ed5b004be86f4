/*
 * receive.h - what todocextract and todocextract-check have in common: they are
 * filters of cupsd, store what they read, and use a section of the
 * configuration.
 *
 * Ownership: descriptors are the caller's. Blocking: filter_receive() waits for
 * the programs that run before.
 */
#ifndef DX_FILTER_RECEIVE_H
#define DX_FILTER_RECEIVE_H

#include <stdint.h>

#include "lib/base/log.h"
#include "lib/config/config.h"
#include "lib/print/bundle.h"

/* Before anything else: no core dumps, which could contain patient data, and no
 * title in the process list; broken pipes and files over the size limit are
 * errors; cupsd shows messages above DEBUG to the user who printed. */
void filter_begin(int argc, char *argv[]);

/* The directory for temporary files. */
const char *filter_temp_dir(void);

/* Creates a file without a name, so that it cannot be left behind. -1 on
 * failure. */
int filter_temp_file(void);

/* The section of this queue, or the values that are used if the configuration
 * is not valid, which the backend reports: filter_no_service. *config is the
 * caller's. */
extern const struct dx_service filter_no_service;
const struct dx_service *filter_service(struct dx_config **config);

/*
 * Reads to the end: if an earlier filter gets a broken pipe, cupsd stops the
 * job. NONE, or TROUBLE if not all of it could be stored in in_fd (-1: nothing
 * is); data beyond MaxDocumentSize are not stored. TOO_SLOW if the input has
 * not ended after the time limit and a second for each MiB that was stored,
 * because a converter may never end.
 */
enum dx_reason filter_receive(const struct dx_service *service, int from,
                              int in_fd, int64_t *ret_length);

/* Kills the converters of this job, because cupsd would wait for them for
 * hours. Call it only if cupsd has started this process. */
void filter_end_others(void);

#endif
