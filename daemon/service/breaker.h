/*
 * breaker.h - pauses the calls of one kind while they fail for everybody
 * (doc/policy.md, "Breakers").
 *
 * A breaker opens after several failures in a row, of at least two callers: the
 * failures of a single caller may be about that caller, who has a backoff of
 * its own. While the breaker is open, its calls pause, and after each pause one
 * call is made as a probe. If the probe fails, the next pause is twice as long.
 * Any success closes the breaker.
 *
 * Pure functions of a plain struct, which is all zeros when it is closed. Times
 * are monotonic. A caller is any number but 0.
 */
#ifndef DX_BREAKER_H
#define DX_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

struct dx_breaker_rule {
  int after;        /* failures in a row that open it */
  int64_t first_ms; /* the first pause */
  int64_t max_ms;   /* the longest one */
  int64_t probe_ms; /* a probe that takes longer is not waited for */
};

struct dx_breaker {
  int failures;      /* in a row, while it is closed */
  uint64_t caller;   /* of the first of them */
  bool several;      /* they have at least two callers */
  int64_t pause_ms;  /* the last pause; 0: closed */
  int64_t until_ms;  /* its end */
  int64_t failed_ms; /* its beginning: the failure that caused it */
  uint64_t probe;    /* caller of the probe in progress; 0: none */
  int64_t probe_ms;  /* how long it is waited for */
  int64_t began_ms;  /* when it began */
};

bool dx_breaker_is_open(const struct dx_breaker *breaker);

/* When the next probe may be made: not while one is in progress. 0 if the
 * breaker is closed. */
int64_t dx_breaker_next_ms(const struct dx_breaker *breaker);

/* The call of this caller begins. If the breaker is open, it is the probe. */
void dx_breaker_begin(struct dx_breaker *breaker, uint64_t caller,
                      int64_t now_ms);

/* The call has failed. While the breaker is open, only the probe counts: other
 * calls had left before. True if this opened the breaker. */
bool dx_breaker_fail(struct dx_breaker *breaker,
                     const struct dx_breaker_rule *rule, uint64_t caller,
                     int64_t now_ms);

/* The call has succeeded. True if this closed the breaker. */
bool dx_breaker_succeed(struct dx_breaker *breaker);

/* The call of this caller has ended without showing either. */
void dx_breaker_drop(struct dx_breaker *breaker, uint64_t caller);

/* There is a reason to try earlier: the next probe may be made now, but not
 * less than gap_ms after the last one failed. */
void dx_breaker_hurry(struct dx_breaker *breaker, int64_t gap_ms,
                      int64_t now_ms);

#endif
