/*
 * fault.h - the fault script: which calls go wrong, and how.
 *
 * A line is `CALL WHICH ACTION [ARGUMENT]`, see docextract-sim(1). All lines
 * that match a call apply to it; of two with the same action, the first one.
 * The file is read again when it changes. A version with a wrong line is
 * reported on standard error and ignored.
 *
 * Threads: any number; one lock inside.
 */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* The calls, as the log and fault scripts name them. */
#define SIM_CALLS(X)    \
  X(CREATE, "create")   \
  X(PUT, "put")         \
  X(SOURCE, "source")   \
  X(EXTRACT, "extract") \
  X(HELLO, "hello")     \
  X(OTHER, "other")

enum sim_call {
#define X(name, word) SIM_##name,
  SIM_CALLS(X)
#undef X
      SIM_CALL_COUNT
};

/* "create" and so on. */
const char *sim_call_word(enum sim_call call);

/* name, word, what follows it */
#define SIM_ACTIONS(X)                    \
  X(STATUS, "status", STATUS)             \
  X(AFTER_STATUS, "after-status", STATUS) \
  X(HEADER, "header", HEADER)             \
  X(BODY, "body", TEXT)                   \
  X(GARBAGE, "garbage", NONE)             \
  X(EDIT, "edit", EDIT)                   \
  X(WORD, "word", TEXT)                   \
  X(DELAY, "delay", MS)                   \
  X(DRIP, "drip", MS)                     \
  X(SHORT, "short", NONE)                 \
  X(CLOSE, "close", NONE)                 \
  X(DROP, "drop", NONE)                   \
  X(HANG, "hang", NONE)

enum sim_action {
#define X(name, word, arg) SIM_ACT_##name,
  SIM_ACTIONS(X)
#undef X
      SIM_ACT_COUNT
};

/* What happens to one call. */
struct sim_fault {
  char *arg[SIM_ACT_COUNT]; /* "" without an argument; NULL: no such action */
  const char *word;         /* of the first action, for the log; or NULL */
};

struct sim_script;

/*
 * Loads the script; without a `path` there are no faults, but calls are
 * counted. Returns NULL after printing the reason, with file and line.
 */
struct sim_script *sim_script_new(const char *path);

/*
 * Counts a call and finds its faults. *ret_n is its number among calls of
 * this kind, from 1. The caller releases *ret_fault.
 */
void sim_script_next(struct sim_script *s, enum sim_call call, uint64_t *ret_n,
                     struct sim_fault *ret_fault);

/* Whether the call itself is carried out. */
bool sim_fault_performs(const struct sim_fault *f);

/* The number that a status or a delay begins with. */
unsigned sim_fault_number(const struct sim_fault *f, enum sim_action action);

/*
 * Applies `edit`, "/REGEX/TEXT/", to the first match in *body, if there is
 * one; `body` and *body may be NULL. Returns false if it is not of this form.
 */
bool sim_fault_edit(const char *edit, char **body);

void sim_fault_release(struct sim_fault *f);
void sim_script_free(struct sim_script *s);

#endif
