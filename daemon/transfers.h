/*
 * transfers.h - observes print jobs in cupsd, and records those that did not
 * arrive completely, for `docextract jobs` and the metrics
 * (lib/spool/transfer.h).
 *
 * Requests progress in dx_http_run(), as in cupsd.h. Ownership: cupsd, the
 * configuration, and the spool must live longer. Blocking: the disk, without an
 * fsync. Errors: if cupsd does not answer, none: the next look repeats it.
 */
#ifndef TRANSFERS_H
#define TRANSFERS_H

#include "daemon/cupsd.h"
#include "lib/config/config.h"
#include "lib/spool/spool.h"
#include "lib/spool/transfer.h"

struct our_queue {
  char name[DX_QUEUE_BYTES];
  char service[DX_SECTION_BYTES];
};

/* A print job was canceled, or moved to a printer that is not ours. False after
 * a local failure: the next look repeats it. */
typedef bool transfers_canceled(void *ctx, const char *key);

struct transfers {
  struct cupsd_list list; /* its call also for the queues */
  const struct dx_config *config;
  struct dx_spool *spool;
  transfers_canceled *canceled;
  void *ctx;
  int64_t look_ms; /* monotonic: when to look next */
  /* Of this look. */
  int64_t now_ms; /* wall clock */
  struct our_queue *queues;
  size_t queue_count;
  struct dx_transfers all;
};

void transfers_start(struct transfers *transfers, struct cupsd *cupsd,
                     const struct dx_config *config, struct dx_spool *spool,
                     transfers_canceled *canceled, void *ctx);
void transfers_stop(struct transfers *transfers); /* accepts zeros */

/* Asks cupsd if it is time. Returns when it is due again. */
int64_t transfers_turn(struct transfers *transfers);

/* For each receipt, before it is picked up. If it must be held, because it
 * lacks the last document of its print job, refuses its documents, and saves
 * it. A later receipt of the print job is not held: it was released. */
enum dx_code transfers_hold(struct transfers *transfers, struct dx_job *receipt,
                            struct dx_err *err) DX_MUST_USE;

/* No longer shows the print jobs that were lost, or are incomplete; returns
 * their number. */
size_t transfers_acknowledge(struct transfers *transfers);

#endif
