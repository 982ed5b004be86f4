/*
 * store.h - sources and cases, in memory, and how time moves them on:
 *
 *   pending_upload -> processing -> complete | failed
 *
 * When the last file of a source has arrived, a thread extracts its cases.
 * Its state is then a matter of the clock, worked out on request.
 *
 * Threads:   any number; one lock inside, never held while a file is read.
 * Ownership: the caller frees JSON that is returned.
 * Source:    doc/service-interface.md, "Source status".
 */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "sim/options.h"
#include "sim/util.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct sim_store;

/* `dir` holds the uploaded files. Returns NULL if out of memory. */
struct sim_store *sim_store_new(const struct sim_options *options,
                                const char *dir);

/*
 * Registers a source with n files of these types, which are kept by
 * reference. Returns false if out of memory.
 */
bool sim_store_create(struct sim_store *s, const char *const *types, size_t n,
                      char ret_id[SIM_ID_BYTES]);

/* Notes that the n-th file, counted from 1, has arrived. */
void sim_store_file_arrived(struct sim_store *s, const char *id, size_t n);

/*
 * The `results` of a source; `word` replaces its status unless NULL. Returns
 * NULL if there is no such source.
 */
cJSON *sim_store_source(struct sim_store *s, const char *id, const char *word);

/*
 * The `results` of a case: returns 200 and fills *ret, 204 while it is being
 * processed, or 404. Unless 404, ret_source_id names its source.
 */
unsigned sim_store_case(struct sim_store *s, const char *id, cJSON **ret,
                        char ret_source_id[SIM_ID_BYTES]);

#endif
