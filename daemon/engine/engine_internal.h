/*
 * engine_internal.h - shared by the files of the engine only.
 *
 *     engine.c     the event loop: all jobs, and a turn
 *     steps.c      the steps of one job, and its journal
 *     next.c       which step comes next, and which call of all jobs
 *     register.c   create source
 *     upload.c     upload
 *     poll.c       get source; when to poll, and ProcessingLimit
 *     fetch.c      get extract
 *     deliver.c    results and manifests
 *     on_result.c  OnResult
 *     order.c      which class of calls gets the next slot of a host
 *     rest.c       the jobs that a turn need not look at
 *     hello.c      `docextract hello`
 *     call.c       what all calls share
 *     common.c     what all steps share
 *
 * In a turn, engine.c calls steps.c for each job, which delivers results, and
 * offers the other steps that are due to next.c; then engine.c calls next.c,
 * which starts those that it has selected. A step calls call.c and common.c. In
 * addition, register.c calls upload.c and poll.c, because a new source resets
 * their state, and upload.c and fetch.c call poll.c. A step changes the
 * submission in memory, and marks it if its next step requires that this is
 * durable; steps.c writes the journal before the next step, which results from
 * the state of the submission.
 */
#ifndef DX_ENGINE_INTERNAL_H
#define DX_ENGINE_INTERNAL_H

#include "daemon/engine/engine.h"

#include "lib/base/clock.h"
#include "lib/base/digest.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "daemon/engine/blame.h"
#include "daemon/engine/order.h"
#include "daemon/service/api.h"
#include "daemon/service/breaker.h"
#include "daemon/service/signed_url.h"
#include "lib/spool/counters.h"
#include "lib/spool/results.h"
#include "daemon/service/schedule.h"
#include "daemon/service/rate_limit.h"
#include "daemon/service/token.h"

#define DX_PUTS_AT_ONCE 4   /* uploads of one process */
#define DX_CALLS_AT_ONCE 16 /* to one host; 8 a second, 2 s each */

#define NEVER INT64_MAX

#define DX_URL_MARGIN_MS 30000 /* no PUT begins with less time left */

/* The calls that fail together. */
enum calls { CALLS_CREATE, CALLS_GET, CALLS_COUNT, CALLS_NONE = CALLS_COUNT };

/* The state of a host and port in this process, for all its sections. */
struct host {
  struct dx_rate_limit limit;
  struct dx_latency latency;
  int64_t probed_ms[CALLS_COUNT]; /* monotonic: the last call that got no usable
                                     response; 0: none since a success */
  int failures;                   /* in a row, of any call */
  uint64_t slots;                 /* that calls of jobs have taken */
  struct dx_submission *probe;    /* the one to make, if an open breaker
                                     permits it */
  uint64_t probed;                /* slots, when a probe was made last */
  struct slot *connecting;        /* its request has not left yet; NULL: none */
  int calls;                      /* API calls in progress */
};

/* The state of a section in this process. */
struct service_state {
  const struct dx_service *service;
  struct host *host;
  RB_HEAD(ages, dx_drive) line; /* of jobs to be registered, which rest */
  struct dx_submission *best[DX_ORDER_COUNT]; /* with the call of this class
                                                 that comes first, of those
                                                 that are due */
  uint64_t served[DX_ORDER_COUNT]; /* host->slots, when one was made last */
  struct dx_token token;
  struct dx_counters counters;
  int64_t clock_off_ms; /* its clock minus ours, if far off; else 0 */
  struct dx_breaker outage[CALLS_COUNT];   /* no usable responses */
  struct dx_breaker rejected[CALLS_COUNT]; /* an administrator is needed */
  struct dx_breaker failing;               /* sources end as failed */
  struct dx_err lost[CALLS_COUNT], denial[CALLS_COUNT]; /* the last problems
                                                           that these show */
  bool is_refused;      /* its last response was: too many calls */
  int64_t accepted_ms;  /* monotonic: its last create; 0: none yet */
  int64_t extracted_at; /* wall: its last complete source; 0: none yet */
  struct dx_err upload; /* why its last upload failed; DX_OK: it did not */
  size_t unfilled;      /* its sources without all their files */
  bool may_create;      /* another one; engine_check_storage() */
  const struct dx_err *why_not;  /* because uploads to the same storage fail;
                                    NULL: they do not, or it may */
  char storage[DX_ORIGIN_BYTES]; /* of its last upload URL; "": none yet */
  int64_t away_since_ms;         /* see engine_away_ms(); 0: available */
  int64_t away_ms;               /* total of earlier such times */
};

/* What an API call occupies, from its start to its end. */
struct slot {
  struct service_state *svc;
  double ms;     /* its time, monotonic; 0: none */
  uint64_t call; /* its number, when the request has left */
};

/* A call in progress. */
struct call {
  LIST_ENTRY(call) spare;    /* in engine->spare_calls, if it is not used */
  struct dx_http_call *http; /* NULL: it has no request */
  struct dx_engine *engine;
  struct service_state *svc;
  struct dx_submission *sub;
  enum calls kind;   /* NONE: a PUT */
  bool was_rejected; /* see engine_rejected() */
  struct dx_api api;
  /* Handles call->response; returns its meaning, for `docextract metrics`. */
  enum dx_code (*done)(struct call *call);
  const struct dx_http_response *response; /* valid until the call ends */
  struct dx_polled *polled;                /* of the source, or of the case */
  struct slot slot;                        /* a PUT has none */
  size_t item;         /* PUT, get extract: index of the file or case */
  int fd;              /* PUT: of the file; -1: none */
  int64_t sent_bytes;  /* PUT: of the file */
  struct dx_temp sink; /* get extract only, like the rest */
  struct dx_sha256 *sha;
  int64_t bytes; /* of the result, received */
};

/* Sources of several submissions end as failed: one at a time starts over. */
static const struct dx_breaker_rule engine_failing_rule = {2, 600000, 14400000,
                                                           INT64_MAX};

/* What a submission waits for until run->due_ms. */
enum wait {
  WAIT_NONE,
  WAIT_OUTAGE,    /* no usable response; ends with the outage */
  WAIT_ADMIN,     /* a rejection; ends when the section is not rejected */
  WAIT_RATE,      /* too many calls */
  WAIT_STORAGE,   /* to be registered again; ends when an upload succeeds */
  WAIT_START_OVER /* its source failed; ends when another is extracted */
};

/* Of a registered source: whether it may have the file that is to be uploaded.
 */
enum arrival {
  ARRIVAL_NONE,     /* no: the next step is a PUT */
  ARRIVAL_POSSIBLE, /* the source is polled first */
  ARRIVAL_UNCLEAR   /* a poll has not shown it; the source is polled again */
};

/* The progress of a submission in this process; times are monotonic. Each
 * struct is written only by the file that it is named after (register.c: reg),
 * except for a struct dx_polled, which call->polled leads to. */
struct run {
  struct call *call;          /* in progress; NULL: none */
  uint64_t id;                /* of the caller, for breakers */
  int64_t due_ms;             /* no step before then; engine_wait() */
  enum wait wait;             /* why */
  bool is_held_back;          /* by an open breaker, whose problem it shows */
  bool is_candidate;          /* for the next slot, or the next OnResult */
  struct service_state *line; /* of this section, if its next call is due */
  int64_t waiting_since;      /* for a slot; 0: not waiting */
  int64_t tried_ms;           /* its last call; or when it was added */
  int tries;                  /* consecutive failures; call.c */
  int rejections;             /* consecutive; call.c */
  bool has_new_token;         /* after a rejection, which does not count */
  struct {
    struct source *source;           /* its last one; NULL: none */
    struct dx_rejections rejections; /* that may be about the document */
    int losses;                      /* consecutive lost creates */
  } reg;
  struct {
    int tries;          /* consecutive failures */
    int refusals;       /* that count */
    int64_t refused_ms; /* time of the last of them */
    int64_t sent_ms;    /* time of the last byte sent; 0: none */
    int repeats;        /* although every PUT returned 200 */
  } upload;
  struct {
    struct dx_polled source;
    enum arrival arrival;
    bool is_denied;     /* to a key other than its creator's */
    int64_t short_ms;   /* since then, processed with files missing */
    int64_t pending_ms; /* since then, it is to be registered again; or 0 */
    int64_t phase_ms;   /* start of the wait for the service; 0: no wait */
    int64_t away_ms;    /* engine_away_ms() at that time */
  } poll;
  struct {
    int64_t told_ms; /* failed_at in its last manifest; 0: none */
  } deliver;
  struct {
    int64_t due_ms;  /* 0: at once */
    int64_t wait_ms; /* the last one after a failure */
  } on_result;
};

static inline int64_t engine_longer(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

static inline struct run *run_of(const struct dx_submission *sub)
{
  return &sub->job->drive->runs[sub->number - 1];
}

/* True if the URLs are valid for long enough to start an upload: half of their
 * life, if that is short. */
static inline bool engine_urls_are_valid(const struct dx_submission *sub)
{
  int64_t margin_ms = (sub->url_until_ms - sub->registered_at) / 2;

  if (margin_ms > DX_URL_MARGIN_MS)
    margin_ms = DX_URL_MARGIN_MS;
  return dx_wall_ms() + margin_ms < sub->url_until_ms;
}

/* The program of OnResult that runs, and its submission: its job may be changed
 * meanwhile. */
struct hook {
  pid_t pid;   /* 0: none */
  int fd;      /* pidfd; -1: none */
  int said_fd; /* its standard error, non-blocking; -1: none, or at its end */
  char said[DX_ON_RESULT_SAID_BYTES]; /* the last bytes from there */
  size_t said_len;
  char key[DX_KEY_BYTES];
  size_t number;
  int64_t hook_ms;  /* of the submission, when the program was started */
  int64_t until_ms; /* monotonic: the next signal */
  bool was_told;    /* SIGTERM was sent */
};

struct dx_engine {
  const struct dx_config *config;
  struct dx_spool *spool;
  struct dx_http *http;
  TAILQ_HEAD(drives, dx_drive) drives; /* of all jobs */
  TAILQ_HEAD(news, dx_drive) news;     /* of jobs to which anything happened */
  TAILQ_HEAD(roused, dx_drive)
  roused;                           /* that do not rest; a turn starts with the
                                       first, and moves it to the end */
  RB_HEAD(times, dx_drive) resting; /* until a time */
  RB_HEAD(sources, source) sources; /* of all submissions, by id */
  struct call *calls;               /* as many as there can be at a time */
  LIST_HEAD(, call) spare_calls;    /* of them, those that are not used */
  int puts;                         /* in progress */
  int stop_fd;
  LIST_HEAD(, hello) hellos;
  struct hook hook;
  struct dx_submission *hook_best; /* whose OnResult has been due longest */
  struct dx_submission *put_best;  /* whose upload comes first */
  struct host *hosts;
  size_t host_count;
  uint64_t last_number;            /* of a drive */
  struct service_state services[]; /* one per service of the config */
};

/* ---- steps.c ---- */

/* Performs the due steps of a job; returns when to check again. */
int64_t engine_run_job(struct dx_engine *engine, struct dx_job *job);
/* Delivers the manifests of failures, then writes the journal with
 * dx_job_save() or dx_job_publish(). False after a failure, which is reported.
 */
bool engine_save_job(struct dx_engine *engine, struct dx_job *job,
                     bool durably);
/* The submission does not start over any more. */
void engine_drop_start_over(struct dx_engine *engine,
                            const struct dx_submission *sub);

/* ---- next.c ---- */

enum step {
  STEP_NONE,
  STEP_CREATE,
  STEP_PUT,
  STEP_SOURCE,
  STEP_EXTRACT,
  STEP_DELIVER
};

/* Pure: the next step in this state, and when it is due (monotonic). */
enum step engine_next_step(struct dx_submission *sub, int64_t *ret_due);
/* A turn begins: nothing is chosen. */
void engine_forget_choice(struct dx_engine *engine);
/* An API call is the next step, due at due_ms. Chooses the one that comes first
 * of those that are due; or, if breakers hold it back, the one that makes the
 * probe, due or not. Returns when to check again. */
int64_t engine_consider(struct dx_engine *engine, struct service_state *svc,
                        struct dx_submission *sub, enum step step,
                        int64_t due_ms, int64_t now);
/* Chooses the upload that has been due longest; first, one of an attended job.
 */
void engine_consider_put(struct dx_engine *engine, struct dx_submission *sub,
                         int64_t now);
/* Chooses the OnResult that has been due longest, unless one is running. */
void engine_consider_hook(struct dx_engine *engine, struct dx_submission *sub);
/* Starts what was chosen; returns when to check again. */
int64_t engine_start_chosen(struct dx_engine *engine);

/* ---- register.c ---- */

/* Calls create source, if that is permitted and results can be delivered. */
void engine_create(struct dx_engine *engine, struct dx_submission *sub);
/* The submission has this source: no other one may get the same. E_NOMEM. */
enum dx_code engine_keep_source(struct dx_engine *engine,
                                struct dx_submission *sub, const char *id,
                                struct dx_err *err) DX_MUST_USE;
/* The engine releases the submission. */
void engine_forget_source(struct dx_engine *engine, struct dx_submission *sub);
/* Sets svc->may_create: not more sources than can be filled; and svc->why_not.
 */
void engine_check_storage(const struct dx_engine *engine,
                          struct service_state *svc);

/* ---- upload.c ---- */

void engine_put_file(struct dx_engine *engine, struct dx_submission *sub);
/* There is a new source. */
void engine_begin_upload(struct dx_submission *sub);
void engine_resume_upload(struct dx_submission *sub);
/* The source has the files, even if a response was lost. */
void engine_put_landed(struct dx_engine *engine, struct dx_submission *sub);

/* ---- poll.c ---- */

void engine_get_source(struct dx_engine *engine, struct dx_submission *sub);
/* There is a new source, which is not to be polled before wait_ms. */
void engine_begin_poll(struct dx_submission *sub, int64_t wait_ms);
/* A PUT may have arrived: the source is polled first. */
void engine_poll_first(struct dx_submission *sub);
/* Starts timing the wait for the service, if the submission waits for it. */
void engine_begin_phase(struct dx_engine *engine, struct dx_submission *sub);
/* When ProcessingLimit is reached, at the earliest; INT64_MAX: never. */
int64_t engine_limit_ms(struct dx_engine *engine, struct dx_submission *sub);
/* Applies ProcessingLimit, also to a call in progress. */
void engine_check_limit(struct dx_engine *engine, struct dx_submission *sub);
/* For fetch.c, too: what was polled is ready, or any other code. */
void engine_poll_ready(struct call *call);
void engine_poll_failed(struct call *call, enum dx_code code,
                        const struct dx_err *err);

/* ---- fetch.c ---- */

/* The waiting case that is due first; NULL if none is waiting. */
struct dx_case *engine_next_case(struct dx_submission *sub);
void engine_get_extract(struct dx_engine *engine, struct dx_submission *sub);

/* ---- deliver.c ---- */

/* Delivers the stored results and, when all are delivered, the manifest. */
void engine_deliver(struct dx_engine *engine, struct dx_submission *sub);
/* Delivers the manifests of failed submissions; to be called before the journal
 * is written. */
enum dx_code engine_tell_failures(struct dx_engine *engine, struct dx_job *job,
                                  struct dx_err *err) DX_MUST_USE;
/* was_saved: the journal contains the last changes. */
void engine_resume_deliver(struct dx_submission *sub, bool was_saved);

/* ---- on_result.c ---- */

/* Handles the program that runs, if any; returns when to call it again, or
 * earlier if hook.fd or hook.said_fd is readable. */
int64_t engine_hook_turn(struct dx_engine *engine);
/* Starts the program for a submission; no other program runs. */
void engine_hook_start(struct dx_engine *engine, struct dx_submission *sub);
/* When it is due for a submission that is final; INT64_MAX: never. */
int64_t engine_hook_ms(struct dx_submission *sub);
/* Ends the running program, which will be run again. Takes at most a second. */
void engine_hook_stop(struct dx_engine *engine);

/* ---- rest.c ---- */

/* The next turn looks at the job: something has changed. */
void engine_rouse(struct dx_drive *drive);
void engine_rouse_all(struct dx_engine *engine);
/* Those that rest until a time, which may have become earlier. */
void engine_rouse_resting(struct dx_engine *engine);
/* Rouses those whose time has come, and the first of each line. Returns when to
 * call it again; INT64_MAX: never. */
int64_t engine_rouse_due(struct dx_engine *engine, int64_t now);
/* After a turn, which has set drive->next_ms: lets it rest, if it can. */
void engine_rest(struct dx_drive *drive, int64_t now);

/* ---- hello.c ---- */

/* The test that waits for a slot of this host, which comes at due_ms; NULL:
 * none. */
struct hello *engine_hello_waits(struct dx_engine *engine,
                                 const struct host *host, int64_t due_ms);
void engine_hello_call(struct hello *hello);

/* ---- call.c ---- */

/* Prepares the call of a submission, which has none in progress. */
struct call *engine_begin_call(struct dx_engine *engine,
                               struct dx_submission *sub, enum calls kind,
                               enum dx_code (*done)(struct call *call));
/* Starts it with `start`. If that fails, handles the failure and ends the
 * call. */
void engine_send_put(struct call *call,
                     enum dx_code (*start)(struct call *, struct dx_err *));
/* The same, but first takes a slot, and gets the token. */
void engine_send(struct call *call,
                 enum dx_code (*start)(struct call *, struct dx_err *));
/* Ends it without a response; nothing if it is not in progress. */
void engine_abort_call(struct dx_submission *sub);

/* An API call begins now. */
void engine_take_slot(struct slot *slot, struct service_state *svc);
/* The connection of the call is ready. False if the request must not leave.
 * sub: what it is for; NULL: hello. */
bool engine_leave_in_slot(struct slot *slot, const struct dx_submission *sub);
/* The call has ended; response: NULL if it was aborted. Accepts a slot that was
 * not taken. */
void engine_release_slot(struct slot *slot,
                         const struct dx_http_response *response);

/* For how long, in total, this process found the service unavailable: it could
 * not be reached, failed, requested a pause, or waited for an administrator.
 * That time does not count towards ProcessingLimit. */
int64_t engine_away_ms(const struct service_state *svc);
/* One more failure in a row: how long to wait, at least least_ms. */
int64_t engine_back_off(struct call *call, int *tries, int64_t least_ms,
                        const struct dx_err *err);
/* To be called after any valid response: the service is up. */
void engine_service_up(struct call *call);
/* Handles a failed call of any kind by the class of err->code. */
void engine_failed(struct call *call, const struct dx_err *err);
/* The same as if the code were of class transient. */
void engine_transient(struct call *call, int64_t least_ms,
                      const struct dx_err *err);
/* Handles E_UNEXPECTED: this source or case only. */
void engine_unexpected(struct call *call, const struct dx_err *err);
/* An administrator is needed; is_of_section: also by other submissions. */
void engine_rejected(struct call *call, bool is_of_section,
                     const struct dx_err *err);

/* ---- common.c ---- */

#define ENGINE_OVERDUE_TEXT \
  "the extraction is taking longer than ProcessingLimit"

/* A section of the configuration; NULL if there is none of that name. */
struct service_state *engine_service_named(struct dx_engine *engine,
                                           const char *name);
/* The service of its source, or of the source to create. NULL if it is not
 * configured. */
struct service_state *engine_section_of(struct dx_engine *engine,
                                        const struct dx_submission *sub);
/* The same; also NULL if BaseURL has changed since the source was created. */
struct service_state *engine_service_of(struct dx_engine *engine,
                                        const struct dx_submission *sub,
                                        struct dx_err *err);
/* "none" for NULL. */
const char *engine_key_id(const char *key_id);
/* Whether a request may begin now; if not, asks for the permission. */
bool engine_may_send(struct dx_engine *engine, struct dx_submission *sub);
/* Applies an event. If the state table does not permit it, the job is
 * halted. */
void engine_apply(struct dx_submission *sub, enum dx_event event);
/* No step of the submission before this time has passed. */
void engine_wait(struct dx_submission *sub, int64_t ms, enum wait wait);
/* What the submissions of a section wait for is over: those whose next call is
 * of this kind are due. */
void engine_resume(struct dx_engine *engine, const struct service_state *svc,
                   enum calls kind, enum wait wait);
/* The kind of its next API call; NONE if it is final. */
enum calls engine_next_calls(const struct dx_submission *sub);
/* How long an overdue submission waits for the next poll. */
int64_t engine_overdue_wait_ms(const struct service_state *svc,
                               const struct dx_submission *sub);

/* The news of a job, to be written. */
struct dx_news *engine_news(struct dx_engine *engine, struct dx_job *job);
/* Records the problem of a submission, with advice. due_ms: the time of the
 * next try, monotonic; 0: none. */
void engine_report_problem(struct dx_engine *engine, struct dx_submission *sub,
                           bool is_of_storage, int64_t due_ms,
                           const struct dx_err *err);
/* Its problem is over; if it is overdue, that remains. */
void engine_clear_problem(struct dx_engine *engine, struct dx_submission *sub);
/* The problem of the job, or of a submission, has changed: that is news. */
void engine_tell_problem(struct dx_engine *engine, struct dx_job *job);
/* After a failure on this computer, the whole job waits for a minute. */
void engine_local_failure(struct dx_engine *engine, struct dx_job *job,
                          const struct dx_err *err);
/* Logs that a submission waits for an administrator. */
void engine_log_admin(const struct dx_submission *sub,
                      const struct dx_err *err);
/* The submission waits for an administrator; the others continue. */
void engine_sub_needs_admin(struct dx_engine *engine, struct dx_submission *sub,
                            const struct dx_err *err);

#endif
