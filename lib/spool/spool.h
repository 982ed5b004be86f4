/*
 * spool.h - the directories below SpoolDir (doc/architecture.md, "Spool"), and
 * how jobs are created. A receipt is a job as committed by one run of its print
 * job, so that a backend need not read other jobs. docextractd moves the first
 * receipt to jobs/, and merges later ones (merge.h).
 *
 * Receivers write below incoming/ and rename into received/. Only docextractd,
 * which holds the lock, makes all other changes. Any process may read at any
 * time, and finds complete journals, because a rename replaces them.
 *
 * Crash rule: a crash before the rename of dx_spool_commit() leaves nothing but
 * a directory under incoming/ that the next sweep removes; after it, the
 * receipt exists until its job has its contents. No step that cannot be undone
 * is performed before dx_spool_sync() has made all jobs durable.
 *
 * Ownership: struct dx_spool is the caller's; the caller frees returned jobs
 * with dx_job_free(). Blocking: the disk.
 */
#ifndef DX_SPOOL_H
#define DX_SPOOL_H

#include <dirent.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/spool/job.h"

struct dx_spool {
  int dirfd;
  int history_dirfd;
  bool is_unsynced; /* a power failure may undo dx_spool_pick_up() */
};

/* Opens SpoolDir and creates what is missing in it (0700). That its file system
 * is safe for jobs was checked when the configuration was loaded. E_CONFIG: it
 * has no jobs, but a directory in it is a spool that has, because that was
 * moved one level too deep. */
enum dx_code dx_spool_open(const char *path, struct dx_spool *ret_spool,
                           struct dx_err *err) DX_MUST_USE;
void dx_spool_close(struct dx_spool *spool);

/*
 * The key of a print job: 32 hex digits of SHA-256 over uuid, cups_id, and
 * time_at_creation (job-uuid alone can be set by the client). False when out of
 * memory.
 */
bool dx_spool_key(const char *uuid, const char *cups_id,
                  int64_t time_at_creation, char key[DX_KEY_BYTES]);

/* ---- receiving: backend and `docextract submit` ---- */

/* A new job below incoming/, without a key or documents. While it is open, an
 * flock() on its directory protects it from the sweep. */
enum dx_code dx_spool_receive(struct dx_spool *spool, struct dx_job **ret_job,
                              struct dx_err *err) DX_MUST_USE;

/*
 * Adds the next document, with a copy of its entry, which was read from
 * `reader` last; its bytes are stored and synced. reader NULL: it has no bytes.
 * E_TOO_MANY; those of bundle.h and fs.h.
 */
enum dx_code dx_spool_add_document(struct dx_job *job,
                                   const struct dx_entry *entry,
                                   struct dx_bundle_reader *reader,
                                   struct dx_err *err) DX_MUST_USE;

/*
 * Commits a received job: sets job->print.run, saves the journal, and renames
 * to received/KEY.RUN. job->key must be set and the job planned. E_UNSYNCED: it
 * was committed, but may not survive a power failure. After any other error, it
 * is not committed, and may be committed again or discarded.
 */
enum dx_code dx_spool_commit(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err) DX_MUST_USE;

/* Removes the directory of a job that is not committed, or of a receipt that
 * was merged, and frees the job; failures are logged, and the sweep removes the
 * rest. */
void dx_spool_discard(struct dx_spool *spool, struct dx_job **job);

/* ---- reading: any process ---- */

enum dx_spool_part {
  DX_SPOOL_RECEIVED, /* the names KEY.RUN of all receipts, oldest first, so that
                        the newest run of a print job takes over its job */
  DX_SPOOL_JOBS,     /* the keys below jobs/ */
  DX_SPOOL_FINISHED, /* the keys below finished/ */
  DX_SPOOL_ALIASES   /* the links below aliases/: only for the sweep */
};

/* All names, as dx_fs_names() returns them; the caller frees. NULL with *err
 * filled. */
char *dx_spool_names(struct dx_spool *spool, enum dx_spool_part part,
                     struct dx_err *err);

/* For the sweep, which must not read a hundred thousand names at once: opens
 * the directory, which the caller closes; NULL with *err filled. Then the next
 * key or alias; E_NOT_FOUND at the end. What is added or removed meanwhile may
 * be missing. */
DIR *dx_spool_open_part(struct dx_spool *spool, enum dx_spool_part part,
                        struct dx_err *err);
enum dx_code dx_spool_next_key(DIR *part, char ret_key[DX_KEY_BYTES],
                               struct dx_err *err) DX_MUST_USE;

/* Calls `each` for every name in the parts from `first` on, but for no receipt
 * whose key is in jobs/, in the order in which jobs move: none is missed, but
 * one may be repeated. Ends with the first code of `each` that is not DX_OK;
 * `each` reports its own errors. */
typedef enum dx_code dx_spool_visit(void *ctx, enum dx_spool_part part,
                                    const char *name);
enum dx_code dx_spool_each(struct dx_spool *spool, enum dx_spool_part first,
                           dx_spool_visit *each, void *ctx,
                           struct dx_err *err) DX_MUST_USE;

/*
 * Reads the journal of a job, finished or not, or of a receipt. name: that of
 * the receipt, or the key of any print job of the job. E_NOT_FOUND; E_DAMAGED,
 * and nothing is moved: an unreadable journal is never replaced.
 */
enum dx_code dx_spool_load(struct dx_spool *spool, const char *name,
                           struct dx_job **ret_job,
                           struct dx_err *err) DX_MUST_USE;

/* Whether the job has a receipt that is not picked up yet, with its name. True
 * with "" if that cannot be determined. For docextractd, which moves both. */
bool dx_spool_has_receipt(struct dx_spool *spool, const char *key,
                          char ret_name[DX_RECEIPT_BYTES]);
/* Whether any job has one, or that cannot be determined. */
bool dx_spool_has_receipts(struct dx_spool *spool);

/* Milliseconds since the journal of a job was written; the second is for a
 * finished job, without reading it. INT64_MAX if there is none. */
int64_t dx_spool_idle_ms(const struct dx_job *job);
int64_t dx_spool_finished_ms(const struct dx_spool *spool, const char *key);

/* How many directories are in damaged/; 0 if it cannot be read. */
size_t dx_spool_count_damaged(struct dx_spool *spool);

/* The process id of docextractd, or 0 if it does not run or cannot be found.
 * Must not be called by docextractd itself, which would lose the lock. */
pid_t dx_spool_daemon(int spool_dirfd);

/* ---- changing: docextractd only ---- */

/*
 * Locks the spool and takes it over: makes renames of the previous process
 * durable. Returns a descriptor that keeps the lock, or -1; E_BUSY: another
 * process has it. The lock is a POSIX record lock on docextractd.lock: closing
 * any descriptor of that file in this process releases it.
 */
int dx_spool_hold_lock(struct dx_spool *spool, struct dx_err *err);

/*
 * Moves a receipt to jobs/KEY. E_EXISTS: there is such a job, finished or not:
 * load and merge it. If that is the job of another print job that was the same
 * one, receipt->key is now the key of that job.
 */
enum dx_code dx_spool_pick_up(struct dx_spool *spool, struct dx_job *receipt,
                              struct dx_err *err) DX_MUST_USE;
/* False if a job that was picked up may not survive a power failure: try again
 * later. */
bool dx_spool_sync(struct dx_spool *spool);

/*
 * Adds the names below aliases/ by which a print job that is sent again is
 * found: the digest of its content, and the key of the current print job. Call
 * it before the journal is saved. E_UNSYNCED: added, but perhaps not durable.
 */
enum dx_code dx_spool_add_aliases(struct dx_spool *spool,
                                  const struct dx_job *job,
                                  struct dx_err *err) DX_MUST_USE;

/*
 * Call it when the journal is saved and nothing else is being written in the
 * job. Removes the documents of settled submissions and incomplete files, and
 * moves a finished job with no pending hook to finished/. dx_spool_reopen()
 * moves it back; call it before saving an unfinished journal, because
 * unfinished jobs in finished/ are not found. E_UNSYNCED: it was moved back.
 */
enum dx_code dx_spool_settle(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err) DX_MUST_USE;
enum dx_code dx_spool_reopen(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err) DX_MUST_USE;

/* Removes the directory of a job, and frees the job. The sweep removes its
 * aliases, and the rest of the directory after a crash. */
enum dx_code dx_spool_remove(struct dx_spool *spool, struct dx_job **job,
                             struct dx_err *err) DX_MUST_USE;

/* Removes what killed receivers have left below incoming/. */
void dx_spool_sweep_incoming(struct dx_spool *spool);
/* Removes an alias if its job was removed. */
void dx_spool_sweep_alias(struct dx_spool *spool, const char *name);

/*
 * Moves an unreadable job or receipt to damaged/, on request of a user.
 * E_NOT_FOUND; E_JOB if it can be read.
 */
enum dx_code dx_spool_set_aside(struct dx_spool *spool, const char *name,
                                struct dx_err *err) DX_MUST_USE;

#endif
