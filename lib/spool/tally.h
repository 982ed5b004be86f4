/*
 * tally.h - what is counted of the jobs in jobs/ and received/, for `docextract
 * metrics`: by docextractd while jobs change (daemon/tallies.h), and without it
 * by the command, from the journals (lib/control/metrics.c).
 *
 * Pure: no files, no clock. Ownership: the caller's.
 */
#ifndef DX_TALLY_H
#define DX_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/config/config.h"
#include "lib/spool/job.h"

/* What is counted of one job. Small: thousands may wait. */
struct dx_standing {
  int64_t received_at; /* wall ms */
  enum dx_state state : 8;
  bool is_finished; /* it has no state that is counted */
  bool is_final;    /* it has no age that is counted */
  bool is_undecided, is_unseen, awaits_hook, needs_admin;
};

/* The jobs of a section. */
struct dx_tally {
  char service[DX_SECTION_BYTES];
  int64_t jobs[DX_ST_COUNT];
  int64_t undecided; /* in no state of `jobs` */
  int64_t unseen, hooks, admin;
  int64_t oldest_at; /* when the oldest one in progress was received, wall ms;
                        0: there is none */
};

/* All sections that have jobs, whatever the configuration contains. */
struct dx_tallies {
  bool is_complete; /* else nothing else counts: jobs are still to be loaded */
  int64_t damaged;  /* jobs whose journal cannot be read */
  struct dx_tally *sections;
  size_t count;
};

struct dx_standing dx_standing_of(const struct dx_job *job);

/* True if nothing of it is counted: it belongs in finished/. */
bool dx_standing_is_nothing(const struct dx_standing *standing);

/* Adds a job (1), or removes it (-1). The caller sets oldest_at. */
void dx_tally_add(struct dx_tally *tally, const struct dx_standing *standing,
                  int sign);

#endif
