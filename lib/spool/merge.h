/*
 * merge.h - the same print job again: cupsd ran it once more, and there is a
 * receipt with a new bundle.
 *
 * Every document that failed is tried again, with the new bytes; where
 * something of it was uploaded its source is asked first. One that is
 * extracted, or that has a source that may still give a result, stays as it is:
 * no second source gets its bytes.
 *
 * What is to be done is planned by a pure function from plain structs, and then
 * carried out. Blocking: the disk.
 */
#ifndef DX_MERGE_H
#define DX_MERGE_H

#include "lib/spool/spool.h"

/* ---- the plan ---- */

enum dx_merge_action {
  DX_MERGE_TAKE,    /* begin again with what came */
  DX_MERGE_KEEP,    /* extracted, or its source is still to be asked */
  DX_MERGE_VERIFY,  /* keep, and ask its source before anything is resent */
  DX_MERGE_CHANGED, /* other documents than were sent: nothing is merged */
  DX_MERGE_BUSY,    /* a call of it is under way: nothing is merged yet */
  DX_MERGE_ACTION_COUNT
};

/* A submission of the receipt, and the one of the job with the same first
 * place. */
struct dx_merge_facts {
  bool known;          /* the job has it; else the rest means nothing */
  enum dx_state state; /* of the job's */
  bool busy;           /* a call of it is under way */
  bool verify;         /* failed or expired after an upload, not by cancel */
  bool uploaded;       /* a byte of it may have left */
  bool same_places;    /* it has the same places */
  bool same_content;   /* each that came now is the same, as far as can be
                          told */
};

/* Pure. */
enum dx_merge_action dx_merge_plan(const struct dx_merge_facts *facts);

/* Pure: true if a submission of the job in that state must be among those of
 * the receipt; else nothing is merged. */
bool dx_merge_must_stay(const struct dx_merge_facts *facts);

/* A place of a submission: whose bytes are used? */
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
 * Merges a receipt into its job, unless it was begun before the run that the
 * job has: of two backends the newest wins. The job is no longer driven. The
 * receipt is discarded: the journal is written first, then the documents
 * are moved, then the receipt is removed.
 * Killed at any step, it is repeated with the job and the receipt loaded again
 * and comes to the same end. So receipts are looked at before their jobs are
 * driven, and a job whose merge failed is not driven before it was repeated:
 * its documents may not be those of its journal yet.
 *
 * E_CHANGED: other documents than were sent; E_BUSY: dx_engine_remove() comes
 * first. Both change nothing. After any other error both are freed and loaded
 * again.
 */
enum dx_code dx_job_merge(struct dx_spool *spool, struct dx_job *old,
                          struct dx_job **fresh,
                          struct dx_err *err) DX_MUST_USE;

#endif
