/*
 * cupsd.h - queries cupsd for the state of print jobs, without blocking.
 *
 * The requests use the dx_http that also calls the service, and progress in
 * dx_http_run().
 *
 * Limits: one query at a time, and for each job one per DX_ASK_AGAIN_MS; every
 * answer arrives within DX_ASK_CUPSD_MS, or is DX_ANSWER_NONE. No titles or
 * user names are logged.
 *
 * Ownership: a job that was queried is borrowed until cupsd_forget(). dx_http
 * and the configuration must live longer. Blocking: never. Errors: none; if
 * memory or cupsd fails, the state is unknown. Source: doc/cups.md, "Asking
 * about a job".
 */
#ifndef CUPSD_H
#define CUPSD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/service/http.h"
#include "lib/config/config.h"
#include "lib/print/print_job.h"
#include "lib/spool/job.h"
#include "lib/spool/permission.h"
#include "lib/spool/retention.h"

/*
 * The list of print jobs that are not over: their ids and states. It is
 * requested page by page. A page that is larger than a response may be is
 * requested again with half as many jobs; a single job that is too large, since
 * its client has sent unusual attributes, is skipped.
 */
struct cupsd_list {
  struct dx_http_call *call;
  int64_t asked_ms, known_ms; /* known_ms: asked_ms of what is in it; 0: none */
  int64_t timeout_ms;         /* of each page */
  struct listed *jobs;        /* by id when it is complete */
  size_t count;
  int gaps;      /* jobs that were skipped */
  bool was_told; /* that is in the log */
  /* While it is requested. */
  int index;   /* place of the next job, from 1 */
  int limit;   /* of the next page */
  int last_id; /* of the job before it; 0: not known */
  int tries;
};

/* The question of the sweep, about one print job at a time. */
struct cupsd_rerun;

struct cupsd {
  struct dx_http *http;
  const struct dx_config *config;
  TAILQ_HEAD(questions, question) line, others; /* line: to be asked next */
  struct question *asked; /* the one that ASKS; NULL: none */
  uint64_t answers;       /* how many questions were answered */
  struct cupsd_list active;
  struct cupsd_rerun *rerun; /* NULL: none */
};

/* A query about one job, and its last answer. */
struct question;

void cupsd_start(struct cupsd *cupsd, struct dx_http *http,
                 const struct dx_config *config);
/* Cancels all requests, and forgets all questions, whose owners then have none.
 * Accepts zeros. */
void cupsd_stop(struct cupsd *cupsd);

/*
 * Returns true, with the last answer about the job, if it was requested at or
 * after since_ms (monotonic), and came within the last seconds: what it says
 * may have changed. Otherwise starts a query, unless one is in progress, or the
 * last one was less than DX_ASK_AGAIN_MS ago: call it again after
 * dx_http_run(). question: NULL at first; until cupsd_forget(), it must stay
 * where it is, and the job must exist. Also false when out of memory.
 */
bool cupsd_answer(struct cupsd *cupsd, const struct dx_job *job,
                  struct question **question, int64_t since_ms,
                  enum dx_answer *ret_answer);

/*
 * The list of print jobs that are not over. KNOWN: it was requested at or after
 * since_ms (monotonic). Otherwise requests it, unless that is in progress: call
 * it again after dx_http_run(). FAILED: cupsd did not send it.
 */
enum cupsd_list_step { CUPSD_LIST_COMES, CUPSD_LIST_FAILED, CUPSD_LIST_KNOWN };
enum cupsd_list_step cupsd_active(struct cupsd *cupsd, int64_t since_ms);

/* The state (ipp_jstate_t) of a print job in this list; 0: it is listed without
 * one. Valid until the next dx_http_run(). */
#define CUPSD_NOT_LISTED (-1)
int cupsd_active_state(const struct cupsd *cupsd, int id);

/* Ends the question, if there is one, and makes it NULL. */
void cupsd_forget(struct question **question);

/*
 * MAY if cupsd has this print job, and it is not over, or can be printed again;
 * also if cupsd hides that. ASKED: the answer is to come; call it again with
 * the same values after dx_http_run(). Any other result is about the time after
 * the first of these calls. key: of the print job. `ctx` is the struct cupsd.
 */
enum dx_rerun cupsd_may_rerun(void *ctx, const char *cups_id, const char *uuid,
                              const char *user, const char *key);

#endif
