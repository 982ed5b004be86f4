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
 * disk: every unfinished job is read, the others are counted.
 */
#ifndef DX_METRICS_H
#define DX_METRICS_H

#include "lib/base/buf.h"
#include "lib/config/config.h"
#include "lib/spool/spool.h"

/* Appends to *text. docextractd itself must not call it, because it checks its
 * lock (dx_spool_daemon()). */
enum dx_code dx_metrics_text(const struct dx_config *config,
                             struct dx_spool *spool, struct dx_buf *text,
                             struct dx_err *err) DX_MUST_USE;

#endif
