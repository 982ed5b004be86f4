/*
 * job.c - `docextract jobs JOB`: one job in detail: whose it is, where it comes
 * from and goes to, when each step was done, what is wrong, and what to do.
 * Does not print titles or names of people, except for login names.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/control/connect.h"

/* Untrusted text; nothing if there is none. */
static void job_print_text(const char *name, const char *text)
{
  if (text == NULL || text[0] == '\0')
    return;
  printf("%-12s ", name);
  cli_print_plain(text);
  printf("\n");
}

static void job_print_time(const char *name, int64_t wall_ms)
{
  time_t at = (time_t)(wall_ms / 1000);
  char text[32];
  struct tm tm;

  if (wall_ms != 0 && localtime_r(&at, &tm) != NULL &&
      strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) > 0)
    job_print_text(name, text);
}

static void job_print_submission(const struct cli *cli,
                                 const struct dx_submission *sub)
{
  int64_t pages = 0;
  size_t i;

  printf("\n%-12s ", sub->file_count == 1 ? "Document" : "Documents");
  for (i = 0; i < sub->file_count; i++) {
    size_t document = sub->files[i].document;

    printf("%s%zu", i > 0 ? ", " : "", document + 1);
    if (document < sub->job->document_count) /* not in docextractd's response */
      pages += sub->job->documents[document].entry.pages;
  }
  printf(": %s", dx_state_word(sub->state));
  if (pages > 0)
    printf(", %" PRId64 " page%s", pages, pages == 1 ? "" : "s");
  if (sub->case_count > 0)
    printf(", %zu case%s", sub->case_count, sub->case_count == 1 ? "" : "s");
  printf("\n");
  job_print_text("  Source", sub->source_id);
  job_print_time("  Registered", sub->registered_at);
  job_print_time("  Uploaded", sub->uploaded_at);
  job_print_time("  Processed", sub->complete_at);
  job_print_time("  Extracted", sub->extracted_at);
  job_print_time("  Delivered", sub->delivered_at);
  job_print_time("  Failed", sub->failed_at);
  if (sub->delivered_at != 0)
    job_print_text("  Results", cli_results_dir(cli, sub));
  job_print_text("  Reason", dx_line(sub->reason));
  job_print_text("  Problem", dx_line(sub->problem.text));
  job_print_time("  Next try", sub->problem.retry_at > dx_wall_ms()
                                   ? sub->problem.retry_at
                                   : 0);
}

/* What works in this situation, for a user who may change the job. `docextract
 * cancel` and `docextract retry` would leave a print job behind that CUPS has.
 */
static void job_print_action(const struct dx_job *job, bool is_driven)
{
  enum dx_class problem = dx_class_of(dx_job_problem(job)->code);
  char text[640] = "", print_job[CLI_CUPS_NAME_BYTES];
  char cancel[CLI_CUPS_NAME_BYTES + 32], retry[64],
      hello[DX_SECTION_BYTES + 48];

  cli_cups_name(job, print_job);
  (void)snprintf(retry, sizeof(retry), "docextract retry %.8s", job->key);
  if (dx_job_is_in_cups(job))
    (void)snprintf(cancel, sizeof(cancel), "cancel %s", print_job);
  else
    (void)snprintf(cancel, sizeof(cancel), "docextract cancel %.8s", job->key);
  (void)snprintf(hello, sizeof(hello), "docextract hello --service %s",
                 job->service);
  if (!dx_job_is_final(job) && !is_driven) /* which the commands need, too */
    (void)snprintf(text, sizeof(text), "%s", dx_docextractd_is_missing(""));
  else if (dx_job_is_undecided(job))
    (void)snprintf(text, sizeof(text),
                   "decide: to send it: %s; to cancel it: docextract cancel "
                   "%.8s",
                   retry, job->key);
  else if (dx_job_count(job, DX_ST_FAILED) > 0 && dx_job_is_in_cups(job))
    (void)snprintf(text, sizeof(text),
                   "fix the cause, then send it again: lp -i %s -H resume",
                   print_job);
  else if (dx_job_count(job, DX_ST_FAILED) > 0)
    (void)snprintf(text, sizeof(text), "fix the cause, then send it again: %s",
                   retry);
  else if (dx_job_count(job, DX_ST_REFUSED) > 0 && dx_job_is_in_cups(job))
    (void)snprintf(text, sizeof(text),
                   "correct the refused document, print it again, then: %s; or "
                   "change the configuration, then: lp -i %s -H resume",
                   cancel, print_job);
  else if (dx_job_count(job, DX_ST_REFUSED) > 0)
    (void)snprintf(text, sizeof(text),
                   "correct the refused document, and send it again");
  else if (dx_job_needs_admin(job))
    (void)snprintf(text, sizeof(text),
                   "fix the cause, and test it with: %s; it then continues "
                   "within 10 minutes, or at once with: %s",
                   hello, retry);
  else if (!dx_job_is_final(job) && problem == DX_CL_LOCAL)
    (void)snprintf(text, sizeof(text),
                   "fix the cause, and test it with: %s; it then continues "
                   "within a minute, or at once with: %s",
                   hello, retry);
  else if (!dx_job_is_final(job) && problem == DX_CL_TRANSIENT)
    (void)snprintf(text, sizeof(text),
                   "nothing, it continues by itself; if it does not: %s; to "
                   "cancel it: %s",
                   hello, cancel);
  else if (!dx_job_is_final(job))
    (void)snprintf(text, sizeof(text),
                   "nothing, it continues by itself; to cancel it: %s", cancel);
  else if (dx_job_awaits_hook(job) && dx_job_problem(job)->text != NULL)
    (void)snprintf(text, sizeof(text), "fix the program of OnResult, then: %s",
                   retry);
  else if (dx_job_count(job, DX_ST_EXTRACTED) > 0)
    (void)snprintf(text, sizeof(text),
                   "look at the values: docextract show %.8s", job->key);
  job_print_text("To do", text);
}

/* For a user, who can only print and look. */
static void job_print_action_of_user(const struct dx_job *job)
{
  char text[60];

  (void)snprintf(text, sizeof(text), "look at the values: docextract show %.8s",
                 job->key);
  if (dx_job_count(job, DX_ST_REFUSED) > 0)
    job_print_text("To do", CLI_USER_CORRECTS);
  else if (dx_job_is_final(job) && dx_job_outcome(job, NULL) == DX_OK)
    job_print_text("To do", text);
  else if (!dx_job_is_final(job) || dx_job_is_undecided(job))
    job_print_text("To do", "ask your administrator, if it takes too long");
  else if (dx_job_count(job, DX_ST_FAILED) > 0)
    job_print_text("To do", "what the message says; if that does not help, ask "
                            "your administrator");
  else
    job_print_text("To do", CLI_USER_PRINTS);
}

void cli_print_job(const struct cli *cli, const struct dx_job *job,
                   const char *message, bool is_driven)
{
  char name[CLI_CUPS_NAME_BYTES];
  size_t i;

  cli_cups_name(job, name);
  job_print_text("Print job", name);
  job_print_text("Key", job->key);
  job_print_text("User", job->user);
  job_print_text("Service", job->service);
  job_print_time("Received", job->received_at);
  job_print_text("State", dx_job_status(job));
  job_print_text("Message", message);
  if (cli->asks)
    job_print_action_of_user(job);
  else
    job_print_action(job, is_driven);
  for (i = 0; i < job->submission_count; i++)
    job_print_submission(cli, &job->submissions[i]);
}
