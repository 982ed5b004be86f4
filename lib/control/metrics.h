/*
 * metrics.h - the text of `docextract metrics`: what an administrator watches,
 * in the text format of Prometheus (doc/policy.md, "Metrics").
 *
 * Labels are names of sections and words of ours: nothing about a patient, a
 * document, or a user.
 *
 * The numbers of docextractd are those that it has written, at most a second
 * old while it runs, and its last ones when it does not.
 *
 * Ownership: the caller releases the text; the rest is borrowed.
 * Blocking: the disk: every unfinished job is read, the others are counted.
 */
#ifndef DX_METRICS_H
#define DX_METRICS_H

#include "lib/base/buf.h"
#include "lib/config/config.h"
#include "lib/spool/spool.h"

/* Not in docextractd itself, whose lock it looks at (dx_spool_daemon()). Adds
 * to *text. */
enum dx_code dx_metrics_text(const struct dx_config *config,
                             struct dx_spool *spool, struct dx_buf *text,
                             struct dx_err *err) DX_MUST_USE;

#endif
