/*
 * cupsd.h - docextractd asks cupsd for the state of print jobs, and never
 * waits.
 *
 * Every question is a request of the same dx_http that calls the service: it
 * moves in dx_http_run(). What the administrator did to the printer counts
 * before the state of the job, since one that was moved to paper is "completed"
 * there.
 *
 * Limits: one question per job at a time, and one per DX_ASK_AGAIN_MS; every
 * answer comes within DX_ASK_CUPSD_MS, or is DX_ANSWER_NONE. Nothing of a title
 * or a user is logged.
 *
 * Ownership: a job that was asked about is borrowed until cupsd_forget().
 * dx_http must live longer.
 * Blocking: never. Errors: none; where memory or cupsd fail, nothing is known.
 * Source: doc/cups.md, "Asking about a job".
 */
#ifndef CUPSD_H
#define CUPSD_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/service/http.h"
#include "lib/spool/job.h"
#include "lib/spool/permission.h"

struct cupsd;
struct question; /* about one job, and the last answer */

struct cupsd_ops {
  /* Whether a device URI is that of docextract with a section of this spool. */
  bool (*is_ours)(void *ctx, const char *device_uri);
  /* An answer is known: the job's key; NULL: the list of cupsd_has() is. It may
   * call everything here but cupsd_forget() and cupsd_free(). */
  void (*answered)(void *ctx, const char *key);
  void *ctx;
};

/* NULL when out of memory. */
struct cupsd *cupsd_new(struct dx_http *http, const struct cupsd_ops *ops);

/* Takes NULL. Ends what is being asked, and calls no observer; all questions
 * were forgotten. */
void cupsd_free(struct cupsd **cupsd);

/*
 * What cupsd last said about the job, if it was asked at or after since_ms
 * (monotonic): true. Else begins to ask, unless it is being asked, and
 * `answered` is called when that is known. If it was asked within the last
 * DX_ASK_AGAIN_MS nothing happens: call again then. *question: NULL at the
 * first call for a job.
 */
bool cupsd_answer(struct cupsd *cupsd, const struct dx_job *job,
                  struct question **question, int64_t since_ms,
                  enum dx_answer *ret_answer);

/* Ends the question, and sets it to NULL; takes NULL. */
void cupsd_forget(struct question **question);

/*
 * Whether cupsd has this print job and may run it again: it is not over, or can
 * be printed again. One list is asked for all, and again after a minute: take
 * its records within one turn. *ret_known: false while it is not known;
 * `answered` tells when to try again.
 */
bool cupsd_has(struct cupsd *cupsd, const char *cups_id, const char *uuid,
               bool *ret_known);

#endif
