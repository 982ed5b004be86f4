/*
 * metrics.h - the metrics of `docextract metrics`, in the text format of
 * Prometheus (doc/policy.md, "Metrics").
 *
 * Labels are names of sections and fixed words: nothing about a patient, a
 * document, or a user.
 *
 * The counters of docextractd come from its files. They are at most five
 * seconds old while it runs; otherwise they are its last ones.
 *
 * Ownership: the caller releases the text; the rest is borrowed. Blocking: the
 * disk. Without a source, every unfinished job is read.
 */
#ifndef DX_METRICS_H
#define DX_METRICS_H

#include "lib/base/buf.h"
#include "lib/config/config.h"
#include "lib/spool/spool.h"
#include "lib/spool/tally.h"

/* What takes long to find out if there are many jobs. */
struct dx_sizes {
  int64_t finished; /* jobs */
  int64_t damaged;  /* in damaged/ */
  int64_t bytes;    /* that unfinished jobs take */
};

/* What docextractd knows while it runs. */
struct dx_metrics_source {
  /* The jobs in jobs/; ret_all->sections is freed. */
  enum dx_code (*jobs)(void *ctx, struct dx_tallies *ret_all,
                       struct dx_err *err);
  /* dx_metrics_measure(), now or earlier. */
  void (*sizes)(void *ctx, struct dx_sizes *ret_sizes);
  void *ctx;
};

void dx_metrics_measure(struct dx_spool *spool, struct dx_sizes *ret_sizes);

/* Appends to *text. source: NULL if docextractd does not run, or respond. */
enum dx_code dx_metrics_text(const struct dx_config *config,
                             struct dx_spool *spool,
                             const struct dx_metrics_source *source,
                             struct dx_buf *text,
                             struct dx_err *err) DX_MUST_USE;

/* Appends only that docextractd is not up: for those who may not read the
 * spool. */
void dx_metrics_put_down(struct dx_buf *text);

#endif
