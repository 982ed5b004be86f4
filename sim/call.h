/*
 * call.h - the names of the calls, as the log and fault scripts write them.
 */
#ifndef SIM_CALL_H
#define SIM_CALL_H

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

/* "create" and so on; "any" for SIM_CALL_COUNT. */
const char *sim_call_word(enum sim_call call);

#endif
