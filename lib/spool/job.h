/*
 * job.h - a job: its documents, its submissions, and its journal job.json
 * (doc/architecture.md, "Jobs").
 *
 * The journal is always replaced as a whole (lib/base/fs.h, crash rule), also
 * before each step that cannot be undone. It contains signed URLs, because an
 * upload must be resumable: hence mode 0600 in a directory of mode 0700.
 * Only docextractd writes the journal of a job that was committed (spool.h).
 *
 * A job has places 1..n, one for every document of the print job, job sheets
 * included; the n-th place is the n-th document at every attempt. Every
 * document that can be sent belongs to one submission.
 *
 * Ownership: a job owns everything in it and its directory's descriptor;
 * dx_job_free() releases all. Blocking: the disk. Errors: those of fs.h;
 * E_DAMAGED for an invalid journal.
 */
#ifndef DX_JOB_H
#define DX_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/fields.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/print/bundle.h"
#include "lib/spool/permission.h"
#include "lib/spool/state.h"

#define DX_RECEIPT_BYTES (DX_KEY_BYTES + DX_RUN_BYTES) /* KEY.RUN and NUL */
#define DX_JOB_PATH_BYTES 64

/* The state of the PUT of a file: words of the journal. */
#define DX_PUTS(X)                                    \
  X(DX_PUT_NONE, "none")       /* no byte has left */ \
  X(DX_PUT_SENDING, "sending") /* may have landed */  \
  X(DX_PUT_DONE, "done")       /* the response was 200 */

enum dx_put { DX_PUTS(DX_NAME_OF_ROW) DX_PUT_COUNT };

/* The state of the result of a case: words of the journal. */
#define DX_CASE_STATES(X)                                               \
  X(DX_CASE_WAITING, "waiting")                                         \
  X(DX_CASE_STORED, "stored")       /* in the job directory, checked */ \
  X(DX_CASE_DELIVERED, "delivered") /* in the results directory too */

enum dx_case_state { DX_CASE_STATES(DX_NAME_OF_ROW) DX_CASE_STATE_COUNT };

struct dx_document {
  struct dx_entry entry; /* first: dx_entry_fields */
  bool is_here;          /* in the job directory; not in the journal */
};

struct dx_file {   /* a document as it was registered */
  size_t document; /* index */
  char *url;       /* signed; NULL when not registered */
  enum dx_put put;
};

/* The calls for one source or case, by this process. */
struct dx_polled {
  int64_t due_ms;     /* monotonic: no call before then */
  int64_t wait_ms;    /* the last wait of the schedule */
  int64_t not_yet_ms; /* age at the last "not yet" */
  int unexpected;     /* consecutive E_UNEXPECTED responses */
};

struct dx_case {
  char *id;
  enum dx_case_state state;
  int64_t bytes;
  char sha256[DX_SHA256_HEX_BYTES];
  bool is_empty; /* the service found nothing in it */
  bool unsaved;  /* stored since dx_job_save(): its digest can be lost */
  struct dx_polled polled; /* the engine's; not in the journal */
};

/* A result whose digest can be lost is not delivered: it would be fetched
 * again, and its bytes may differ then (debug_info). */
static inline bool dx_case_can_be_delivered(const struct dx_case *c)
{
  return c->state == DX_CASE_STORED && !c->unsaved;
}

/* Why something waits, for the administrator, and for dx_job_reword(). */
struct dx_problem {
  char *text;         /* a dx_line(); empty: there is none */
  enum dx_code code;  /* DX_OK: not for the user who printed */
  int64_t since_at;   /* wall ms: since when */
  int64_t retry_at;   /* wall ms: next try of docextractd; 0: none */
  bool is_of_storage; /* an upload failed */
};

struct dx_job;
struct dx_drive;
struct cJSON;
struct dx_json_out;

struct dx_submission {
  struct dx_job *job;
  size_t number; /* 1..n, part of file names */
  enum dx_state state;
  char *source_id;
  /* Where the source is, and the id of the key that created it, which may be
   * NULL. All are NULL if there is no source. */
  char *section, *base_url, *key_id;
  struct dx_file *files;
  size_t file_count;
  struct dx_case *cases;
  size_t case_count;
  int64_t url_until_ms; /* wall clock: when the signed URLs expire */
  int64_t lost_creates, start_overs, reregistrations;
  int64_t failing_since; /* wall ms: its first failed source, since it was
                            extracted or retried; 0: none */
  bool verify;       /* failed after an upload, retried: its source is polled
                      first */
  enum dx_code code; /* why it failed or was refused; DX_OK otherwise */
  char *reason;      /* a dx_line() */
  /* Wall ms; 0: not yet. extracted_at: when the last result was stored;
   * delivered_at: when it was extracted, with results and manifest in place;
   * failed_at: also for refused, canceled, or expired; in a receipt 0, until
   * docextractd has written the manifest. */
  int64_t registered_at, uploaded_at, complete_at, extracted_at, delivered_at,
      failed_at;
  int64_t hook_ms; /* wall ms: since when OnResult has been pending for its
                      manifest; 0: it is not */
  struct dx_problem problem; /* if it is final, that of OnResult */
  /* Not in the journal. */
  bool overdue; /* longer than ProcessingLimit */
  bool unsaved; /* changed since dx_job_save(): none of its steps may follow */
};

/* Another print job that was the same one, sent again by the CUPS of a client
 * (doc/policy.md, "Print jobs that are sent again"). */
struct dx_other_print {
  char *queue, *cups_id;
  struct dx_print print;
};

struct dx_job {
  char key[DX_KEY_BYTES];     /* of its first print job */
  char content[DX_KEY_BYTES]; /* dx_job_set_content(); "": it has no uuid */
  char *service, *base_url;   /* of sources that are still to be created */
  char *queue, *cups_id, *uuid, *user, *title, *host; /* NULL: not known */
  struct dx_print print;         /* the newest one that was not canceled */
  struct dx_other_print *others; /* the newest last */
  size_t other_count;
  int64_t received_at; /* wall ms */
  bool together;
  bool seen; /* its failure, after the print job had ended, is acknowledged */
  bool is_copy; /* its journal was restored or copied, and may be older than
                   what was sent; until the administrator decides */
  char file_id[DX_FILE_ID_BYTES]; /* of the journal, when it was written */
  struct dx_document *documents;
  size_t document_count;
  struct dx_submission *submissions;
  size_t submission_count;
  char path[DX_JOB_PATH_BYTES]; /* below SpoolDir: "jobs/KEY" */
  int spool_dirfd;              /* SpoolDir, borrowed; -1: none */
  int dirfd;                    /* its directory; -1: it is not open */
  bool dirty;                   /* the journal is older than the memory: no
                                   step may follow */
  bool behind;                  /* the same, for data that need not be
                                   durable */
  bool unsaved;                 /* some of its submissions or cases are */
  size_t journal_bytes;         /* its size when it was written last */
  struct dx_problem problem;    /* of the job as a whole, not of one of its
                                   submissions: see dx_job_problem() */
  /* Not in the journal. */
  int64_t told_end_at;    /* the end that watching clients were told, since the
                             job was loaded */
  bool has_hook;          /* its service has OnResult */
  bool attended;          /* a client waits for its end */
  bool is_halted;         /* by this process, because of its problem */
  bool ended;             /* its end was reported: only OnResult is pending */
  struct dx_drive *drive; /* docextractd's own data about it; NULL: none */
};

/* True for the 32 lower-case hex digits of a key; for the 16 of a run; for
 * KEY.RUN, the name of a receipt. Checked because they become parts of
 * paths. */
bool dx_is_key(const char *text);
bool dx_is_run(const char *text);
bool dx_is_receipt_name(const char *text);
/* Makes a key of a text, which it releases; false if it has failed. */
bool dx_key_of(struct dx_buf *text, char key[DX_KEY_BYTES]);
/* Whether a receipt has this key; `key` may also be the name of a receipt. */
bool dx_is_receipt_of(const char *name, const char *key);

/* Log a line about a job, or about a submission. It names the job and its
 * section: "job KEY, service 'NAME'[, submission N]: ...". */
void dx_job_log(enum dx_log_level level, const struct dx_job *job,
                const char *format, ...) __attribute__((format(printf, 3, 4)));
void dx_submission_log(enum dx_log_level level, const struct dx_submission *sub,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An empty job with no directory; NULL when out of memory. */
struct dx_job *dx_job_new(void);
/* Opens job->dirfd, unless it is open: before it is used. E_IO, and the other
 * codes of dx_fs_open_dir(). */
enum dx_code dx_job_open_dir(struct dx_job *job,
                             struct dx_err *err) DX_MUST_USE;
/* Until it is used again: thousands of jobs may wait. */
void dx_job_close_dir(struct dx_job *job);
void dx_job_free(struct dx_job **job);

/*
 * Makes the submissions of a job from its documents: one if `together`, else
 * one for each. Refused and missing documents become refused submissions with
 * the document's reason; with `together` one such document refuses all. Job
 * sheets belong to none. Replaces existing submissions.
 */
enum dx_code dx_job_plan(struct dx_job *job, struct dx_err *err) DX_MUST_USE;

/* Sets the digest of what makes two print jobs the same one: uuid, user,
 * section, and the documents. E_NOMEM. */
enum dx_code dx_job_set_content(struct dx_job *job,
                                struct dx_err *err) DX_MUST_USE;

/* True if this is the key of the job, or of any of its print jobs. */
bool dx_job_has_print(const struct dx_job *job, const char *key);

/* Lists the current print job among the others, and makes the one with this key
 * the current one; if it is new, without data. E_NOMEM. */
enum dx_code dx_job_begin_print(struct dx_job *job, const char *key,
                                struct dx_err *err) DX_MUST_USE;

/* Another print job, with this key, was canceled. False if it is none of the
 * others. */
bool dx_job_cancel_other_print(struct dx_job *job, const char *key);

/* The current print job was canceled: makes the newest other one that was not
 * the current one. False if all were canceled. */
bool dx_job_next_print(struct dx_job *job);

/* Applies the transition table and what entering a state implies: times are
 * set; STORED clears the source and where it is, URLs, and cases, and after
 * RETRY the counters of tries; the hook of a final state is due if the job
 * has_hook. Marks the submission unsaved, or the job behind if a GET will
 * report the same again. */
enum dx_code dx_submission_apply(struct dx_submission *sub, enum dx_event event,
                                 struct dx_err *err) DX_MUST_USE;

/* Its next step requires that a change of it is durable: no step of it follows
 * before dx_job_save(). Other submissions of the job are not affected. */
void dx_submission_mark(struct dx_submission *sub);

/* True if the journal lacks a change that is to be durable. */
static inline bool dx_job_must_be_saved(const struct dx_job *job)
{
  return job->dirty || job->unsaved;
}

/* True if bytes of it may have reached its source. */
bool dx_submission_is_put(const struct dx_submission *sub);
/* True if it failed or expired after bytes may have reached its source: the
 * source is then polled before anything is sent again. Not if a user canceled
 * it. */
bool dx_submission_needs_verify(const struct dx_submission *sub);

/* The section of its source, or where one will be created. */
const char *dx_submission_section(const struct dx_submission *sub);

/* True if all its documents are in the job directory. */
bool dx_submission_is_here(const struct dx_submission *sub);

/* Retries a failed submission, on request of a user: VERIFY if that is needed,
 * else RETRY. Counters of tries are reset. E_STATE if it has not failed. */
enum dx_code dx_submission_retry(struct dx_submission *sub,
                                 struct dx_err *err) DX_MUST_USE;

/* Marks OnResult as pending for it (doc/policy.md, "Results"). */
void dx_submission_call_hook(struct dx_submission *sub);
/* OnResult is not run (again) for it; removes dx_hook_file(). */
void dx_submission_end_hook(struct dx_submission *sub);
/* The same for all submissions for which OnResult has failed: an administrator
 * has acknowledged that. False if there are none. */
bool dx_job_acknowledge_hooks(struct dx_job *job);

/* Ends a submission with FAIL or REFUSE and a reason; reason is copied. */
void dx_submission_end(struct dx_submission *sub, enum dx_event event,
                       enum dx_code code, const char *reason);

/* Ends all submissions that are not settled: CANCEL, on request of a user, or
 * EXPIRE, after KeepUnfinished. The service keeps its data; nothing more is
 * fetched. */
void dx_job_end(struct dx_job *job, enum dx_event event);

/* Cancels what was not sent, failed submissions included, because the held
 * print job was canceled. What may have arrived at its source goes on. asking:
 * the submission that was to be sent now, and is canceled in any case; NULL:
 * none. */
void dx_job_cancel_unsent(struct dx_job *job,
                          const struct dx_submission *asking);

/* Removes personal data from a finished job: names, titles, texts. Its outcome
 * and the checksums of its documents remain. False if it contained none. */
bool dx_job_clean(struct dx_job *job);

/* Sets where the source of a submission is created, and with which key; copied.
 * Save it together with ACCEPTED: this is the only record of the source. */
enum dx_code dx_submission_set_place(struct dx_submission *sub,
                                     const char *section, const char *base_url,
                                     const char *key_id,
                                     struct dx_err *err) DX_MUST_USE;

/* Sets where new sources are created; copied. */
enum dx_code dx_job_set_service(struct dx_job *job, const char *service,
                                const char *base_url,
                                struct dx_err *err) DX_MUST_USE;

/* Sets why the job as a whole, or one submission, waits, and when that is
 * retried (wall ms; 0: not automatically); text is copied, DX_OK and "" clear
 * it. The problem of a halted job stays. */
void dx_job_set_problem(struct dx_job *job, enum dx_code code, const char *text,
                        int64_t retry_at);
void dx_submission_set_problem(struct dx_submission *sub, enum dx_code code,
                               const char *text, int64_t retry_at);

/* Why the job waits: the problem of the job as a whole; else that of a
 * submission, first of all one that an administrator must solve, then the one
 * that began last. Its text is "" if there is none. Never NULL. */
const struct dx_problem *dx_job_problem(const struct dx_job *job);
/* True if the service, or an administrator, keeps a submission waiting: nothing
 * that its user could do, so it does not expire. */
bool dx_job_is_kept_waiting(const struct dx_job *job);
/* True if an administrator must solve it: it has not only to be waited for. */
bool dx_problem_needs_admin(const struct dx_problem *problem);

/* Sets the cases of a source; ids are copied. A delivered case stays delivered.
 * E_RESPONSE: the journal has no room for them; E_NOMEM. On failure, nothing
 * changes. */
enum dx_code dx_submission_set_cases(struct dx_submission *sub,
                                     char *const *ids, size_t count,
                                     struct dx_err *err) DX_MUST_USE;

/* Writes the journal; on success the job is not dirty, behind, or unsaved. */
enum dx_code dx_job_save(struct dx_job *job, struct dx_err *err) DX_MUST_USE;
/* The same without the fsync of the directory: other processes see the new
 * journal, but a power failure may bring back the old one. For data that the
 * service will report again. A job that must be saved still must. */
enum dx_code dx_job_publish(struct dx_job *job, struct dx_err *err) DX_MUST_USE;

/* False if the cases of a job are so many that its journal could not be read
 * again, when all are delivered. */
bool dx_job_cases_fit(const struct dx_job *job);

/* All members of a journal. */
extern const struct dx_field dx_job_fields[], dx_submission_fields[];

/* Reads job.json from job->dirfd into an empty job. ATTENDS becomes BROKEN,
 * because that backend may have exited. If the file is a copy, and the job is
 * not finished, is_copy is set, and the job is dirty: once it is saved, it is
 * known as a copy for good. */
enum dx_code dx_job_load(struct dx_job *job, struct dx_err *err) DX_MUST_USE;

/* The journal as JSON, without a file. dx_job_read_json(): into an empty job;
 * E_DAMAGED. */
void dx_job_put(const struct dx_job *job, struct dx_json_out *out,
                const char *name);
enum dx_code dx_job_read_json(struct dx_job *job, const struct cJSON *json,
                              struct dx_err *err) DX_MUST_USE;

/* The file name of the n-th document's bytes (index, from 0). */
#define DX_FILE_NAME_BYTES 64
void dx_document_file(size_t index, char name[DX_FILE_NAME_BYTES]);

/* The file name of a stored result. */
void dx_result_file(const struct dx_submission *sub, size_t index,
                    char name[DX_FILE_NAME_BYTES]);

/* The file name of the end of what a failed OnResult has written to its
 * standard error: in a file, because it may contain patient data. */
void dx_hook_file(const struct dx_submission *sub,
                  char name[DX_FILE_NAME_BYTES]);

/*
 * Removes the documents and stored results of settled submissions, and the
 * output of an OnResult that is not pending. All others stay, because CUPS may
 * no longer have them.
 */
enum dx_code dx_job_delete_documents(struct dx_job *job,
                                     struct dx_err *err) DX_MUST_USE;

/* True if every submission is settled: the job belongs in finished/ unless a
 * hook is pending. */
bool dx_job_is_finished(const struct dx_job *job);

/* True if OnResult is pending for a submission. */
bool dx_job_awaits_hook(const struct dx_job *job);

/* True if the job waits until an administrator has fixed something, such as a
 * key or the configuration. */
bool dx_job_needs_admin(const struct dx_job *job);

/* True if every submission is final: nothing more happens automatically. */
bool dx_job_is_final(const struct dx_job *job);

/* When the last of its submissions ended, wall ms; 0: not all have ended. */
int64_t dx_job_ended_at(const struct dx_job *job);

/* True if not all its documents have been uploaded. */
bool dx_job_is_here(const struct dx_job *job);

/* The first submission that was not extracted; of those, one that has ended
 * comes before those in progress. NULL if all were extracted. */
const struct dx_submission *dx_job_first_missing(const struct dx_job *job);

/* True if a submission has failed or was refused: a user must act. */
bool dx_job_has_failed(const struct dx_job *job);

/*
 * The outcome of the job: DX_OK if every document was extracted, else the code
 * of the first one that was not, with a message about the whole job in *err.
 * The user who printed reads dx_job_sentence() (sentence.h) instead.
 */
enum dx_code dx_job_outcome(const struct dx_job *job, struct dx_err *err);

/* One state for all submissions: the least advanced one in progress; if none
 * is, failed, refused, expired, canceled, or extracted, in this order. */
enum dx_state dx_job_state(const struct dx_job *job);

/* An unacknowledged failure: the print job completed, because its backend left,
 * and the job failed later (doc/policy.md, "Print jobs"). */
bool dx_job_is_unseen_failure(const struct dx_job *job);

/* True if the administrator must decide before anything more is sent: because
 * of its print job, or of a copy that has something left to send. */
bool dx_job_is_undecided(const struct dx_job *job);

/* True if CUPS may still hold the print job of the job, or run it, so that its
 * own commands release or end it. */
bool dx_job_is_in_cups(const struct dx_job *job);

/* The status to show to users: the word of its state, or DX_STATUS_UNDECIDED.
 */
#define DX_STATUS_UNDECIDED "undecided"
const char *dx_job_status(const struct dx_job *job);

/* How many submissions are in `state`. */
size_t dx_job_count(const struct dx_job *job, enum dx_state state);

#endif
