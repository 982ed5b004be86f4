/*
 * blame.h - whether a rejection, or a failed extraction, is about the document
 * or about the installation, and how long to wait for the next try
 * (doc/policy.md, "Who is to blame").
 *
 * Pure functions. Times are milliseconds, monotonic unless said otherwise.
 */
#ifndef DX_BLAME_H
#define DX_BLAME_H

#include <stdbool.h>
#include <stdint.h>

/* The rejected creates of one submission, since its last accepted one. */
struct dx_rejections {
  int count;
  int64_t first_ms;
};

/* Counts one more. */
void dx_blame_count(struct dx_rejections *rejections, int64_t now_ms);

/* True if the document is the reason: the section has accepted another create
 * (accepted_ms: the last one; 0: none) since the first of the rejections, which
 * are several, over some time. */
bool dx_blame_document(const struct dx_rejections *rejections,
                       int64_t accepted_ms, int64_t now_ms);

/* How long a submission waits after its n-th rejection in a row, n >= 1. */
int64_t dx_blame_rejected_wait_ms(int n);

/* How long it waits after its n-th lost create in a row, n >= 1. */
int64_t dx_blame_lost_wait_ms(int n);

/* How long it waits before it is registered for the n-th time because its URL
 * has expired. */
int64_t dx_blame_reregister_wait_ms(int64_t n);

/* The extraction of a submission has failed again. */
struct dx_failure {
  int64_t start_overs;      /* it has started over that often */
  bool is_general;          /* sources of several submissions fail */
  bool other_was_extracted; /* of the section, since its first failure */
};

/* How long it waits before it starts over; -1: it has failed. */
int64_t dx_blame_failed_wait_ms(const struct dx_failure *failure);

/* How long an overdue submission waits for the next poll. age_ms: since its
 * upload, by wall time; limit_ms: ProcessingLimit. */
int64_t dx_overdue_wait_ms(int64_t age_ms, int64_t limit_ms);

#endif
