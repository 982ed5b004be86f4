/*
 * store.h - sources and cases, in memory, and how time moves them on.
 *
 *   pending_upload -> processing -> complete | failed
 *
 * A source whose files have all arrived is read once, by a worker thread; its
 * state is then a matter of the clock, worked out when somebody asks. So
 * asking is quick, however many sources are out.
 *
 * Threads:   any number; one lock inside, never held while a file is read.
 * Ownership: texts are copied in; what is written into a buffer is a copy.
 * Source:    doc/service-interface.md, "Source status".
 */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "sim/buf.h"
#include "sim/id.h"
#include "sim/options.h"

#define SIM_FILES_MAX 1000u
#define SIM_SOURCES_MAX 100000u

struct sim_file_spec {
  const char *content_type;
  const char *file_name;
};

/* What a fault script has decided about a source. */
enum sim_fate { SIM_FATE_NORMAL, SIM_FATE_FAILED, SIM_FATE_STUCK };

enum sim_found {
  SIM_FOUND,
  SIM_UNKNOWN, /* no such id */
  SIM_NOT_YET, /* the case is still being processed */
  SIM_FULL     /* no memory, or too many sources */
};

struct sim_store;

/*
 * Starts the reading threads. `dir` holds the uploaded files, `stop_fd`
 * becomes readable when all shall end; both must outlive the store.
 * NULL on failure.
 */
struct sim_store *sim_store_new(const struct sim_options *options,
                                const char *dir, int stop_fd);

/* Registers a source; FOUND and its id, or FULL. */
enum sim_found sim_store_create(struct sim_store *s,
                                const struct sim_file_spec *files, size_t n,
                                enum sim_fate fate, char ret_id[SIM_ID_BYTES]);

/* Whether the source is known and has an n-th file, counted from 1. */
bool sim_store_has_file(struct sim_store *s, const char *id, size_t n);

/* Notes that the n-th file is there; with the last one reading begins. */
void sim_store_arrived(struct sim_store *s, const char *id, size_t n);

/*
 * Adds the `results` object of a source. `word` replaces its status unless
 * NULL. FOUND or UNKNOWN.
 */
enum sim_found sim_store_describe(struct sim_store *s, const char *id,
                                  const char *word, struct sim_buf *ret);

/*
 * Adds the `results` object of a case: FOUND, NOT_YET or UNKNOWN. Unless
 * UNKNOWN, ret_source_id tells its source.
 */
enum sim_found sim_store_extract(struct sim_store *s, const char *case_id,
                                 struct sim_buf *ret,
                                 char ret_source_id[SIM_ID_BYTES]);

/* From now on the source of this id, or of this case, is unknown. */
void sim_store_forget(struct sim_store *s, const char *id);

/* Waits for the reading threads, which `stop_fd` has told to end. */
void sim_store_free(struct sim_store *s);

#endif
