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

/* A list of print jobs. cupsd returns at most 500 of all jobs at once: it is
 * requested page by page. `end` is called after the last one; ok: all pages
 * were read. */
#define CUPSD_LIST_TIMEOUT_MS 10000 /* cupsd reads a file for each job */
struct cupsd_list {
  struct cupsd *cupsd;
  bool is_all; /* else only those that are not over */
  dx_print_jobs_each *each;
  void (*end)(void *ctx, const struct dx_http_response *response, bool ok);
  void *ctx;   /* of both */
  int last_id; /* that was listed; 0: none */
  struct dx_http_call *call;
};

/* A list that is kept, of jobs that may run again. */
struct cupsd_jobs {
  struct cupsd_list list;
  int64_t asked_ms, known_ms; /* known_ms: asked_ms of what is in it; 0: none */
  struct listed *jobs;
  size_t count;
  bool is_cut; /* not all jobs fit into the list */
};

struct cupsd {
  struct dx_http *http;
  const struct dx_config *config;
  TAILQ_HEAD(, question) questions;
  struct cupsd_jobs active, all; /* jobs that are not over; all */
};

/* A query about one job, and its last answer; only cupsd.c uses its members.
 * Zeros at first. */
struct question {
  TAILQ_ENTRY(question) link;
  struct cupsd *cupsd;        /* NULL: none so far */
  const struct dx_job *about; /* borrowed; has an id and a uuid */
  enum { ANSWERED, IN_LINE, ASKS, NEEDS_ACTIVE } step;
  int64_t asked_ms; /* monotonic: last query */
  int64_t until_ms; /* deadline of the query */
  struct dx_http_call *call;
  struct dx_print_job job;
  enum dx_place place;
  enum dx_answer answer; /* of asked_ms, when ANSWERED */
};

void cupsd_start(struct cupsd *cupsd, struct dx_http *http,
                 const struct dx_config *config);
/* Cancels all requests. All questions must have been forgotten. Accepts zeros.
 */
void cupsd_stop(struct cupsd *cupsd);

/*
 * Returns true, with the last answer about the job, if it was requested at or
 * after since_ms (monotonic). Otherwise starts a query, unless one is in
 * progress, or the last one was less than DX_ASK_AGAIN_MS ago: call it again
 * after dx_http_run().
 */
bool cupsd_answer(struct cupsd *cupsd, const struct dx_job *job,
                  struct question *question, int64_t since_ms,
                  enum dx_answer *ret_answer);

/* True if a queue with this device URI belongs to this spool; with its section.
 */
bool cupsd_is_ours(const struct cupsd *cupsd, const char *uri,
                   char ret_section[DX_SECTION_BYTES]);

/* Sends a request, and releases its bytes. False if there is none (is_request),
 * no time, or no memory; then `done` is not called. */
bool cupsd_post(struct cupsd *cupsd, bool is_request, struct dx_buf *bytes,
                int64_t timeout_ms, dx_http_done *done, void *ctx,
                struct dx_http_call **ret_call);
bool cupsd_is_ok(const struct dx_http_response *response);

/* Requests the jobs from this id on; false as for cupsd_post(). */
bool cupsd_ask_list(struct cupsd_list *list, int from, int64_t timeout_ms);

/* Ends the question, if there is one. */
void cupsd_forget(struct question *question);

/*
 * MAY if cupsd has this print job, and it is not over, or can be printed again.
 * The list of all jobs is requested once, and again after a minute: check all
 * records within one turn. UNKNOWN: the list is not available yet; try again
 * later. `ctx` is the struct cupsd.
 */
enum dx_rerun cupsd_may_rerun(void *ctx, const char *cups_id, const char *uuid);

#endif
