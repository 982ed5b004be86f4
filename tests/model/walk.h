/*
 * walk.h - walks every state that can be reached from some first ones, breadth
 * first, and finds the first that must not be.
 *
 * A state is a struct of bytes without padding. `expand` calls walk_reach() for
 * everything that can happen next, and walk_broken() with the name of what must
 * never happen. States after a fault or a user action are reached between
 * walk_faults(true) and walk_faults(false): from every state one in which
 * nothing more has to happen must be reachable without those.
 *
 * Deterministic: the same states in the same order every time.
 */
#ifndef DX_WALK_H
#define DX_WALK_H

#include <stdbool.h>
#include <stddef.h>

/* `budgets` are the bytes of a state that say how many faults and user actions
 * of each kind may still come. They decide nothing else, so that a state with
 * more of them reaches all that the same one with fewer reaches: the latter is
 * not walked after the former. That saves a third of the time. */
struct walk {
  size_t state_bytes;
  size_t budgets_at, budgets_bytes;
  void (*begin)(void);               /* reaches the first states */
  void (*expand)(const void *state); /* reaches the next ones */
  bool (*is_end)(const void *state); /* nothing more has to happen */
  void (*print)(const void *state);
};

#define WALK_STUCK "nothing follows, and the administrator is not asked"

void walk_reach(const void *state);
void walk_broken(const char *name);
void walk_faults(bool on);

/* The name of what is broken, NULL: nothing. trace: prints the way there. */
const char *walk_run(const struct walk *walk, bool trace, size_t *ret_states);

/* Walks, and prints what was found, and the number of states. False: something
 * is broken, or there were more states than `most`: `make check` must stay
 * quick, and a million take two seconds of processor time, or three on a busy
 * machine. */
bool walk_is_right(const struct walk *walk, const char *name, size_t most);

#endif
