/*
 * fault.h - the script of faults: which call goes wrong, and how.
 *
 * A line is `CALL WHICH ACTION [ARGUMENT]`; docextract-sim --help explains
 * them. The file is read again when it changes; a version with a wrong line
 * is complained about on standard error and the old one stays in force.
 *
 * Threads:   any number; one lock inside.
 * Ownership: a struct sim_fault filled by sim_faults_next() is the caller's,
 *            to be released with sim_fault_free().
 */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "sim/call.h"

#include <stdint.h>

/* name, word, what follows it, the calls it is for (0: all) */
#define SIM_ACTIONS(X)                                                \
  X(STATUS, "status", ARG_CODE, 0)                                    \
  X(AFTER_STATUS, "after-status", ARG_CODE, 0)                        \
  X(CLOSE, "close", ARG_NONE, 0)                                      \
  X(DROP, "drop", ARG_NONE, 0)                                        \
  X(DELAY, "delay", ARG_MS, 0)                                        \
  X(GARBAGE, "garbage", ARG_NONE, 0)                                  \
  X(SHORT, "short", ARG_NONE, 0)                                      \
  X(BODY, "body", ARG_TEXT, 0)                                        \
  X(HANG, "hang", ARG_NONE, 0)                                        \
  X(REDIRECT, "redirect", ARG_TEXT, 0)                                \
  X(FAILED, "failed", ARG_NONE, 1u << SIM_CREATE)                     \
  X(STUCK, "stuck", ARG_NONE, 1u << SIM_CREATE)                       \
  X(LOSE, "lose", ARG_NONE, 1u << SIM_PUT)                            \
  X(FORGET, "forget", ARG_NONE, 1u << SIM_SOURCE | 1u << SIM_EXTRACT) \
  X(WORD, "word", ARG_TEXT, 1u << SIM_SOURCE)

enum sim_action {
  SIM_ACT_NONE,
#define X(name, word, arg, calls) SIM_ACT_##name,
  SIM_ACTIONS(X)
#undef X
      SIM_ACT_COUNT
};

struct sim_fault {
  enum sim_call call; /* SIM_CALL_COUNT: any */
  uint64_t from;
  uint64_t to;
  enum sim_action action;
  unsigned code;
  int64_t delay_ms;
  char *text; /* body, word, address, or "Header: value"; may be NULL */
};

struct sim_faults;

/*
 * Loads the script; `path` may be NULL: no faults, but calls are counted.
 * NULL when it cannot be read or has a wrong line; the reason, with file and
 * line, was printed on standard error.
 */
struct sim_faults *sim_faults_new(const char *path);

/*
 * Counts one call of this kind and finds its fault. *ret_n is its number,
 * from 1; ret_fault->action is SIM_ACT_NONE when there is no fault.
 */
void sim_faults_next(struct sim_faults *f, enum sim_call call, uint64_t *ret_n,
                     struct sim_fault *ret_fault);

/* The word of an action; NULL for SIM_ACT_NONE. */
const char *sim_action_word(enum sim_action action);

void sim_fault_free(struct sim_fault *fault);
void sim_faults_free(struct sim_faults *f);

#endif
