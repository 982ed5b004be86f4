/*
 * watch.h - notices that a print job is canceled while CUPS holds it, although
 * nothing of it is in progress: the print job of a job that has failed, and the
 * earlier print jobs of a job that a client has sent again. Without it, a later
 * `docextract retry` would send what was withdrawn, because cupsd may have
 * removed the print job from its history by then.
 *
 * While there are such print jobs, the list of print jobs that are not over is
 * requested once a minute. Those that are missing, or whose state has changed,
 * are asked about one by one.
 *
 * Ownership: cupsd and the spool must live longer. Blocking: the disk. Errors:
 * if cupsd does not answer, none: the next look repeats it.
 */
#ifndef WATCH_H
#define WATCH_H

#include "daemon/cupsd.h"
#include "lib/spool/job.h"
#include "lib/spool/spool.h"

/* A print job was canceled, or moved to a printer that is not ours. False after
 * a local failure: the next look repeats it. key: of the print job. */
typedef bool watch_canceled(void *ctx, const char *key);

struct watch {
  struct cupsd *cupsd;
  struct dx_spool *spool;
  watch_canceled *canceled;
  void *ctx;
  struct watched *prints;
  size_t count;
  enum { WATCH_RESTS, WATCH_LISTS, WATCH_ASKS } step;
  int64_t look_ms;    /* monotonic: of this look, or when the next one is due */
  size_t at;          /* the print job that is asked about */
  struct dx_job *job; /* its journal; NULL: not read yet */
  struct dx_job about;
  struct question *question;
};

void watch_start(struct watch *watch, struct cupsd *cupsd,
                 struct dx_spool *spool, watch_canceled *canceled, void *ctx);
void watch_stop(struct watch *watch); /* accepts zeros */

/* Watches the print jobs of a job that nothing else asks about. May be called
 * again for the same job, and for any job. */
void watch_add(struct watch *watch, const struct dx_job *job);

/* Looks if it is time. Returns when it is due again, monotonic. */
int64_t watch_turn(struct watch *watch);

#endif
