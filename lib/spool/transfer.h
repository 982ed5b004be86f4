/*
 * transfer.h - print jobs that CUPS did not receive completely, for example
 * because the connection of the computer that sent them was interrupted: the
 * rule, and the file with the print jobs that docextractd has observed
 * (doc/policy.md, "Incomplete transfers").
 *
 * dx_transfer_update() and dx_transfer_is_shown() are pure. docextractd writes
 * the file; readers find the last complete one (lib/base/history.h).
 *
 * Ownership: the caller's. Blocking: the disk, without an fsync.
 */
#ifndef DX_TRANSFER_H
#define DX_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/config/config.h"
#include "lib/print/print_job.h"
#include "lib/spool/job.h"

/* name, word, sentence for the administrator */
#define DX_TRANSFERS(X)                                                        \
  X(DX_TRANSFER_NONE, "none", "")                                              \
  X(DX_TRANSFER_STALLED, "stalled",                                            \
    "CUPS is receiving this print job, but no further document has arrived; "  \
    "the connection of its sender may be interrupted")                         \
  X(DX_TRANSFER_INCOMPLETE, "incomplete",                                      \
    "CUPS started this print job without its last document, which had not "    \
    "arrived in time; compare it with the original, and print what is "        \
    "missing")                                                                 \
  X(DX_TRANSFER_LOST, "lost",                                                  \
    "this print job has ended, or CUPS no longer knows it, but nothing of it " \
    "was stored; print it again")

enum dx_transfer { DX_TRANSFERS(DX_NAME_OF_ROW) DX_TRANSFER_COUNT };

const char *dx_transfer_word(enum dx_transfer status);
const char *dx_transfer_sentence(enum dx_transfer status);

/* What is known about one print job. Times are wall clock. */
struct dx_transfer_job {
  char key[DX_KEY_BYTES]; /* of its job in the spool, if there is one */
  char queue[DX_QUEUE_BYTES];
  char service[DX_SECTION_BYTES];
  int id;
  int documents;             /* that CUPS had received, when it was seen last */
  enum dx_print_phase phase; /* at that time */
  enum dx_transfer status;
  int64_t seen_at_ms;    /* at first: when it was created */
  int64_t grew_at_ms;    /* when it was first seen with `documents` */
  int64_t grew_after_ms; /* when it did not have them yet */
  int64_t status_at_ms;  /* since when it has this status */
  bool must_hold; /* what arrived is not sent; until its receipt is picked up */
};

/* What is known now. */
struct dx_transfer_facts {
  enum dx_print_phase phase;
  int documents;
  bool is_stored;
  int64_t now_ms;
  int64_t stall_ms;   /* DX_TRANSFER_STALL_MS */
  int64_t timeout_ms; /* MultipleOperationTimeout of cupsd */
};

/* Updates `job`; returns true if its status has changed. */
bool dx_transfer_update(struct dx_transfer_job *job,
                        const struct dx_transfer_facts *facts);

/* False also for a stalled job that docextractd no longer observes. */
bool dx_transfer_is_shown(const struct dx_transfer_job *job, int64_t now_ms);

/* The file: the jobs that are not over, or have a status. */
#define DX_TRANSFERS_MAX 128 /* further ones are not observed */
struct dx_transfers {
  int next_id; /* print jobs below it that are over were checked; 0: unknown */
  int timeout_s; /* MultipleOperationTimeout of cupsd; 0: unknown */
  int count;
  struct dx_transfer_job jobs[DX_TRANSFERS_MAX];
};

/* Empty if the file does not exist, or is damaged. */
void dx_transfers_read(int history_dirfd, struct dx_transfers *ret_transfers);
void dx_transfers_write(int history_dirfd,
                        const struct dx_transfers *transfers);

/* Calls `each` for every job in the file that is shown now. Ends with the first
 * code of `each` that is not DX_OK; `each` reports its own errors. E_NOMEM. */
enum dx_code
dx_transfers_each(int history_dirfd,
                  enum dx_code (*each)(void *ctx, struct dx_transfer_job *job),
                  void *ctx, struct dx_err *err) DX_MUST_USE;

#endif
