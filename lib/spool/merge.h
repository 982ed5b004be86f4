/*
 * merge.h - merges the receipt of a new run into its job, after cupsd has run
 * the print job again: what failed is retried, and no bytes are sent to a
 * second source while the first may have a result (doc/architecture.md, "Life
 * of a document"). A pure function plans the merge; then it is carried out.
 * Blocking: the disk.
 */
#ifndef DX_MERGE_H
#define DX_MERGE_H

#include "lib/spool/spool.h"

/* ---- the plan ---- */

enum dx_merge_action {
  DX_MERGE_TAKE,    /* start again with the new documents */
  DX_MERGE_KEEP,    /* extracted, or its source is still polled */
  DX_MERGE_VERIFY,  /* keep, and poll its source before sending again */
  DX_MERGE_CHANGED, /* not the documents that were sent: no merge */
  DX_MERGE_ACTION_COUNT
};

/* A submission of the receipt, and the one of the job with the same first
 * place. */
struct dx_merge_facts {
  bool known;          /* the job has it; if not, ignore the rest */
  enum dx_state state; /* of the job's */
  bool verify;         /* failed or expired after an upload, not by cancel */
  bool uploaded;       /* a byte of it may have left */
  bool same_places;    /* it has the same places */
  bool same_content;   /* each document that came now is the same, as far as is
                          known */
};

/* Pure. */
enum dx_merge_action dx_merge_plan(const struct dx_merge_facts *facts);

/* A place of a submission, to select its bytes. */
struct dx_merge_place {
  bool here;  /* the job's directory has its bytes */
  bool came;  /* the receipt has, or had, its bytes */
  bool equal; /* they are the same bytes */
};

/* Pure: true if the bytes of the receipt are used for a place of a submission
 * with that plan. */
bool dx_merge_takes_bytes(const struct dx_merge_facts *facts,
                          enum dx_merge_action action,
                          const struct dx_merge_place *place);

/* ---- carrying it out ---- */

/*
 * Merges a receipt into its job, and discards the receipt. If the cupsd of the
 * receipt's run is gone, and that of the job's run is not, the receipt is
 * older, and is only discarded. The job must not be driven. First the journal
 * is written, then the documents are moved, then the receipt is removed. If it
 * is killed at any step, load the job and the receipt and repeat it; the result
 * is the same. Therefore receipts are processed before their jobs are driven.
 * If a merge fails, repeat it before driving the job: its documents may differ
 * from its journal.
 *
 * E_CHANGED: not the documents that were sent; nothing is changed. After any
 * other error, free and load both again.
 */
enum dx_code dx_job_merge(struct dx_spool *spool, struct dx_job *old,
                          struct dx_job **fresh,
                          struct dx_err *err) DX_MUST_USE;

#endif
