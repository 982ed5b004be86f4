/*
 * spool.h - the directories below SpoolDir, and how a job comes into being.
 *
 *   incoming/<random>/  a job that is being received; only its receiver and
 *                       the sweep look at it
 *   jobs/<key>/         a job that can be resumed at any instant: created by
 *                       one rename, with complete journal and documents
 *   finished/<key>/     the journal of a job that needs nothing more; however
 *                       many there are, only looking up one key and the sweep
 *                       read it
 *   damaged/            directories whose journal cannot be read; never deleted
 *   pace/               daemon/service/rate_limit.h
 *
 * One lock per job, on the file `lock` in its directory; it travels with the
 * directory through the rename. Whoever holds it drives the job. The sweep
 * takes only directories whose lock it gets without waiting.
 *
 * Crash rule: a crash before the rename of dx_spool_commit() leaves nothing
 * but a directory under incoming/ that the next sweep removes; after it, the
 * job exists. For dx_job_merge() see merge.h.
 *
 * Ownership: struct dx_spool is the caller's; jobs that are given out are
 * freed with dx_job_free(). Blocking: the disk.
 */
#ifndef DX_SPOOL_H
#define DX_SPOOL_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/spool/job.h"

struct dx_spool {
  int dirfd;
  int rate_dirfd;
};

/* Opens SpoolDir and creates what is missing in it (0700). E_CONFIG if it is on
 * a file system where a job is not safe (dx_fs_unfit()); those of fs.h. */
enum dx_code dx_spool_open(const char *path, struct dx_spool *ret_spool,
                           struct dx_err *err) DX_MUST_USE;
void dx_spool_close(struct dx_spool *spool);

/*
 * The key of a print job: 32 hex digits of SHA-256 over uuid, cups_id, and
 * time_at_creation (job-uuid alone can be set by the client). Older versions
 * included the name of the service, which may change: if only such a job
 * exists, its key is returned. False when out of memory.
 */
bool dx_spool_key(struct dx_spool *spool, const char *service, const char *uuid,
                  const char *cups_id, int64_t time_at_creation,
                  char key[DX_KEY_BYTES]);

/* A new job below incoming/, locked, without a key or documents. */
enum dx_code dx_spool_receive(struct dx_spool *spool, struct dx_job **ret_job,
                              struct dx_err *err) DX_MUST_USE;

/* Creates the file of the next document, to be written by the caller. */
int dx_spool_create_document(struct dx_job *job, size_t index,
                             struct dx_err *err);

/*
 * Commits a received job: journal, fsync, one rename to jobs/KEY. job->key must
 * be set and the job planned. E_EXISTS if the job exists, finished or not: take
 * it and merge. E_UNSYNCED: the job was committed, but may not survive a power
 * failure.
 */
enum dx_code dx_spool_commit(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err) DX_MUST_USE;

/* Removes a received job that is not committed. */
void dx_spool_discard(struct dx_spool *spool, struct dx_job **job);

/*
 * Locks job `key`, finished or not, and reads its journal. E_NOT_FOUND; E_BUSY
 * with the holder's process id in *ret_holder and, if it can be read, the
 * journal's owner in *ret_owner; E_DAMAGED, and nothing is moved: a job that
 * cannot be read is never replaced by a new one.
 */
enum dx_code dx_spool_take(struct dx_spool *spool, const char *key,
                           struct dx_job **ret_job, pid_t *ret_holder,
                           enum dx_owner *ret_owner,
                           struct dx_err *err) DX_MUST_USE;

/* Moves a job that cannot be read to damaged/, when a person asks for it.
 * E_BUSY; E_JOB if it can be read. */
enum dx_code dx_spool_set_aside(struct dx_spool *spool, const char *key,
                                struct dx_err *err) DX_MUST_USE;

/*
 * After the journal was saved: removes the documents of settled submissions,
 * and moves a finished job with nothing to announce to finished/.
 * dx_spool_reopen() moves it back, before an unfinished journal is saved: jobs
 * in jobs/ are always looked at, those in finished/ never. E_UNSYNCED: it was
 * moved back.
 */
enum dx_code dx_spool_settle(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err) DX_MUST_USE;
enum dx_code dx_spool_reopen(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err) DX_MUST_USE;

/*
 * Reads the current journal of job `key` without its lock; *ret_holder is the
 * process that drives the job, or 0. Never for a job that this process holds:
 * it would lose the lock. E_NOT_FOUND; E_DAMAGED, and nothing is moved.
 */
enum dx_code dx_spool_peek(struct dx_spool *spool, const char *key,
                           struct dx_job **ret_job, pid_t *ret_holder,
                           struct dx_err *err) DX_MUST_USE;

/*
 * SpoolDir/docextractd.lock, which docextractd holds as long as it runs.
 * dx_spool_hold_daemon_lock() returns a descriptor that keeps it, or -1
 * (E_BUSY: another process has it); dx_spool_daemon() the process id of
 * docextractd, or 0 if it does not run or cannot be found.
 */
int dx_spool_hold_daemon_lock(struct dx_spool *spool, struct dx_err *err);
pid_t dx_spool_daemon(int spool_dirfd);

/*
 * Releases a job that belongs to docextractd by its saved journal, or that is
 * to be announced, and touches its directory: docextractd watches jobs/ and
 * takes care of the job at once. Nothing is lost if it misses that: it looks
 * through jobs/ when it starts, and now and then.
 */
void dx_spool_hand_over(struct dx_spool *spool, struct dx_job **job);

/*
 * Asks docextractd to cancel a job that it holds: leaves a mark in the
 * directory and touches it. The holder finds the mark, cancels, saves, and
 * removes the mark, which means nothing in a job that is over.
 */
enum dx_code dx_spool_ask_cancel(struct dx_spool *spool, const char *key,
                                 struct dx_err *err) DX_MUST_USE;
bool dx_spool_cancel_is_asked(const struct dx_job *job);
void dx_spool_cancel_done(struct dx_job *job);

/*
 * Calls `each` with every key below jobs/, or below finished/, in no particular
 * order; ends early when it returns anything but DX_OK, with that code.
 */
enum dx_code dx_spool_each(struct dx_spool *spool,
                           enum dx_code (*each)(void *ctx, const char *key),
                           void *ctx, struct dx_err *err) DX_MUST_USE;

enum dx_code dx_spool_each_finished(struct dx_spool *spool,
                                    enum dx_code (*each)(void *ctx,
                                                         const char *key),
                                    void *ctx, struct dx_err *err) DX_MUST_USE;

/* Milliseconds since the journal of a job was written; the second is for a
 * finished job, without reading it. INT64_MAX if there is none. */
int64_t dx_spool_idle_ms(const struct dx_job *job);
int64_t dx_spool_finished_ms(const struct dx_spool *spool, const char *key);

/* Removes the directory of a job whose lock is held, and frees the job. */
enum dx_code dx_spool_remove(struct dx_spool *spool, struct dx_job **job,
                             struct dx_err *err) DX_MUST_USE;

/* How many directories are in damaged/; 0 if it cannot be read. */
size_t dx_spool_count_damaged(struct dx_spool *spool);

#endif
