/*
 * tallies.h - what is counted of the jobs in jobs/, whether they are in memory
 * or not: for `docextract metrics`, and for the end of each print job, which
 * reports the failures of its queue (doc/policy.md, "Print jobs"). Counted
 * while jobs change: to read the journals of all jobs would take long.
 *
 * What was counted of a job is in the structure of the job, so that exactly
 * this is taken away when it changes; of a job that is not in memory, here.
 * manager.c and verbs.c call these functions when a journal has changed, and
 * when a job comes into memory or leaves it.
 *
 * Ownership: struct counted is the caller's, and must stay where it is; keys
 * and names are copied. Blocking: only tallies_receive(). Errors: if memory
 * runs out, is_broken is set, and nothing is told until docextractd starts
 * again: a wrong number is worse than none.
 */
#ifndef DX_DAEMON_TALLIES_H
#define DX_DAEMON_TALLIES_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "lib/spool/job.h"
#include "lib/spool/tally.h"

/* What was counted of a job; zeros: nothing. */
struct counted {
  RB_ENTRY(counted) by_age;        /* if it is in progress */
  struct counted_section *section; /* NULL: nothing was counted */
  struct counted_queue *queue;     /* NULL: none */
  struct dx_standing standing;
};

struct tallies {
  RB_HEAD(stored_jobs, stored) stored;   /* those that are not in memory */
  LIST_HEAD(, counted_section) sections; /* each that any job had, until */
  LIST_HEAD(, counted_queue) queues;     /* docextractd starts again */
  int64_t damaged;                       /* their journals cannot be read */
  bool is_complete;                      /* all jobs were loaded once */
  bool is_broken;
};

/* The job comes into memory, and leaves it as it was counted last. */
void tallies_enter(struct tallies *tallies, struct counted *its,
                   const struct dx_job *job);
void tallies_leave(struct tallies *tallies, struct counted *its,
                   const char *key);

/* The job has changed: in memory, or only its journal. */
void tallies_set(struct tallies *tallies, struct counted *its,
                 const struct dx_job *job);
void tallies_set_stored(struct tallies *tallies, const struct dx_job *job);
/* Its journal cannot be read. */
void tallies_set_damaged(struct tallies *tallies, const char *key);
/* It was in jobs/, but not in memory, and is no longer there. */
void tallies_forget(struct tallies *tallies, const char *key);
/* Jobs in memory must have left before. Accepts zeros. */
void tallies_release(struct tallies *tallies);

/* How many jobs of the queue have failed and were not acknowledged, and how
 * many are undecided. */
void tallies_of_queue(const struct tallies *tallies, const char *queue,
                      size_t *ret_failed, size_t *ret_undecided);
/* Replaces the key with that of the next such failure that is not in memory;
 * "" before the first one. False if there is none. */
bool tallies_next_failure(struct tallies *tallies, char key[DX_KEY_BYTES]);

/*
 * Sends them to another process of the same program, which receives them; the
 * caller closes the socket, and frees ret_all->sections. A process that does
 * not read gets a part, or nothing: to send never blocks. E_NOMEM, here or
 * there; E_NOT_YET: they have not come, before the timeout of the socket.
 */
void tallies_send(const struct tallies *tallies, int fd);
enum dx_code tallies_receive(int fd, struct dx_tallies *ret_all,
                             struct dx_err *err) DX_MUST_USE;

#endif
