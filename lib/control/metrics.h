/*
 * metrics.h - the text of `docextract metrics`: what an administrator watches,
 * in the text format of Prometheus (doc/policy.md, "Metrics").
 *
 * Labels are names of sections and words of ours: nothing about a patient, a
 * document, or a person.
 *
 * Ownership: the caller releases the text; the rest is borrowed.
 * Blocking: the disk: every unfinished job is read, the others are counted.
 */
#ifndef DX_METRICS_H
#define DX_METRICS_H

#include "lib/base/buf.h"
#include "lib/config/config.h"
#include "lib/spool/spool.h"

/* Never in a process that drives jobs: their lock files are opened here. Adds
 * to *text. */
enum dx_code dx_metrics_text(const struct dx_config *config,
                             struct dx_spool *spool, struct dx_buf *text,
                             struct dx_err *err) DX_MUST_USE;

#endif
