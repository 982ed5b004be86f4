/*
 * tally.c - see tally.h.
 */
#include "lib/spool/tally.h"

struct dx_standing dx_standing_of(const struct dx_job *job)
{
  return (struct dx_standing){.received_at = job->received_at,
                              .state = dx_job_state(job),
                              .is_finished = dx_job_is_finished(job),
                              .is_final = dx_job_is_final(job),
                              .is_undecided = dx_job_is_undecided(job),
                              .is_unseen = dx_job_is_unseen_failure(job),
                              .awaits_hook = dx_job_awaits_hook(job),
                              .needs_admin = dx_job_needs_admin(job)};
}

bool dx_standing_is_nothing(const struct dx_standing *standing)
{
  return standing->is_finished && !standing->awaits_hook &&
         !standing->is_undecided;
}

void dx_tally_add(struct dx_tally *tally, const struct dx_standing *standing,
                  int sign)
{
  if (standing->is_undecided)
    tally->undecided += sign;
  else if (!standing->is_finished)
    tally->jobs[standing->state] += sign;
  tally->unseen += sign * standing->is_unseen;
  tally->hooks += sign * standing->awaits_hook;
  tally->admin += sign * standing->needs_admin;
}
