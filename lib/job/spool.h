/*
 * spool.h - the directories below SpoolDir, and how a job comes into being.
 *
 *   incoming/<random>/  a job that is being received; never looked at by
 *                       anybody but its receiver and the sweeper
 *   jobs/<key>/         a job that can be resumed at any instant: one rename
 *                       made it, journal and documents are complete
 *   finished/<key>/     the journal of a job that nobody has to do anything
 *                       about any more; however many there are, only a look
 *                       for one key and the sweep come here
 *   damaged/            directories whose journal cannot be read; never deleted
 *   pace/               lib/service/rate_limit.h
 *
 * One lock per job, on the file `lock` in its directory; it travels with the
 * directory through the rename. Who holds it drives the job. Sweeping takes
 * only directories whose lock it gets without waiting.
 *
 * Crash rule: a crash before the rename of dx_spool_commit() leaves nothing
 * but a directory under incoming/ that the next sweep removes; after it, the
 * job exists. dx_job_merge() is repeated safely: the new bundle comes again.
 *
 * Ownership: struct dx_spool is the caller's; jobs that are given out are
 * freed with dx_job_free(). Blocking: the disk.
 */
#ifndef DX_SPOOL_H
#define DX_SPOOL_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/job/job.h"

struct dx_spool {
  int dirfd;
  int rate_dirfd;
};

/* Opens SpoolDir and makes what is missing in it (0700). E_CONFIG if it is on
 * a network file system, those of fs.h. */
enum dx_code dx_spool_open(const char *path, struct dx_spool *ret_spool,
                           struct dx_err *err) DX_MUST_USE;
void dx_spool_close(struct dx_spool *spool);

/*
 * The key of a print job: 32 hex digits of SHA-256 over the last three together
 * (job-uuid alone can be set by the client). A version before took the name of
 * the service, too, which may be changed: if there is such a job and no other,
 * its key is given. False when memory is out.
 */
bool dx_spool_key(struct dx_spool *spool, const char *service, const char *uuid,
                  const char *cups_id, int64_t time_at_creation,
                  char key[DX_KEY_BYTES]);

/* A new job below incoming/, locked, without key and documents. */
enum dx_code dx_spool_receive(struct dx_spool *spool, struct dx_job **ret_job,
                              struct dx_err *err) DX_MUST_USE;

/* Creates the file of the next document, to be written by the caller. */
int dx_spool_create_document(struct dx_job *job, size_t index,
                             struct dx_err *err);

/*
 * Makes a received job a real one: journal, fsync, one rename to jobs/KEY.
 * job->key must be set and the job planned. E_EXISTS if there is such a job,
 * finished or not: take it and merge. E_UNSYNCED: there is the job now.
 */
enum dx_code dx_spool_commit(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err) DX_MUST_USE;

/* Removes a received job that shall not be. */
void dx_spool_discard(struct dx_spool *spool, struct dx_job **job);

/*
 * Takes job `key`, finished or not, with its lock, journal read. E_NOT_FOUND;
 * E_BUSY with the holder's process id in *ret_holder and, if it can be read,
 * the journal's owner in *ret_owner; E_DAMAGED, and nothing is moved: nobody
 * may put a fresh job in the place of one that cannot be read.
 */
enum dx_code dx_spool_take(struct dx_spool *spool, const char *key,
                           struct dx_job **ret_job, pid_t *ret_holder,
                           enum dx_owner *ret_owner,
                           struct dx_err *err) DX_MUST_USE;

/* Moves a job that cannot be read to damaged/: for a person who has looked at
 * it. E_BUSY; E_JOB if it can be read. */
enum dx_code dx_spool_set_aside(struct dx_spool *spool, const char *key,
                                struct dx_err *err) DX_MUST_USE;

/*
 * After the journal was saved: removes what settled submissions leave, and
 * moves a job that is finished to finished/. dx_spool_reopen() moves it back,
 * before a journal is saved that is not finished: a job in jobs/ is always
 * looked at, one in finished/ never. E_UNSYNCED: it was moved.
 */
enum dx_code dx_spool_settle(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err) DX_MUST_USE;
enum dx_code dx_spool_reopen(struct dx_spool *spool, struct dx_job *job,
                             struct dx_err *err) DX_MUST_USE;

/*
 * Reads job `key` without its lock, to be looked at only: the journal as it is
 * at this moment, and in *ret_holder the process that drives the job, 0 if
 * nobody does. Never for a job that this process holds: its lock would go.
 * E_NOT_FOUND; E_DAMAGED, and nothing is moved.
 */
enum dx_code dx_spool_peek(struct dx_spool *spool, const char *key,
                           struct dx_job **ret_job, pid_t *ret_holder,
                           struct dx_err *err) DX_MUST_USE;

/*
 * SpoolDir/docextractd.lock, which docextractd holds as long as it runs.
 * hold: -1 with E_BUSY if another process has it; the descriptor keeps it.
 * dx_spool_daemon(): its process, 0 if it does not run or that cannot be found
 * out.
 */
int dx_spool_hold_daemon_lock(struct dx_spool *spool, struct dx_err *err);
pid_t dx_spool_daemon(int spool_dirfd);

/*
 * Lets go of a job whose saved journal says that it is docextractd's, and
 * touches its directory: docextractd watches jobs/ and takes the job at once. A
 * touch that nobody sees is no loss; docextractd looks through jobs/ when it
 * starts, and now and then.
 */
void dx_spool_hand_over(struct dx_spool *spool, struct dx_job **job);

/*
 * Asks docextractd to cancel a job that it holds: leaves a mark in the
 * directory and touches it. Who holds the job looks for the mark, cancels,
 * saves, and takes the mark away; a mark in a job that is over means nothing.
 */
enum dx_code dx_spool_ask_cancel(struct dx_spool *spool, const char *key,
                                 struct dx_err *err) DX_MUST_USE;
bool dx_spool_cancel_is_asked(const struct dx_job *job);
void dx_spool_cancel_done(struct dx_job *job);

/*
 * Calls `each` with every key below jobs/, or below finished/, in no order;
 * ends early when it returns anything but DX_OK, with that code.
 */
enum dx_code dx_spool_each(struct dx_spool *spool,
                           enum dx_code (*each)(void *ctx, const char *key),
                           void *ctx, struct dx_err *err) DX_MUST_USE;

enum dx_code dx_spool_each_finished(struct dx_spool *spool,
                                    enum dx_code (*each)(void *ctx,
                                                         const char *key),
                                    void *ctx, struct dx_err *err) DX_MUST_USE;

/* Milliseconds since the journal of a job was written. */
int64_t dx_spool_idle_ms(const struct dx_job *job);

/* Removes the directory of a job that is held, and frees it: nobody needs its
 * job file any more. */
enum dx_code dx_spool_remove(struct dx_spool *spool, struct dx_job **job,
                             struct dx_err *err) DX_MUST_USE;

/* How many directories lie in damaged/; 0 if it cannot be looked into. */
size_t dx_spool_count_damaged(struct dx_spool *spool);

#endif
