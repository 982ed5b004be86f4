/*
 * merge.c - what a new run of a print job may replace.
 */
#include "lib/spool/merge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/print/print_job.h"

/* ---- the plan ---- */

enum dx_merge_action dx_merge_plan(const struct dx_merge_facts *facts)
{
  if (!facts->known || (!dx_state_is_sent(facts->state) && !facts->verify))
    return DX_MERGE_TAKE;
  if (facts->same_places && facts->same_content)
    return facts->verify ? DX_MERGE_VERIFY : DX_MERGE_KEEP;
  /* A source that has no byte of it is abandoned. */
  return facts->state == DX_ST_REGISTERED && !facts->uploaded
             ? DX_MERGE_TAKE
             : DX_MERGE_CHANGED;
}

/*
 * A submission that stays uses the old bytes if they are here, or the new ones
 * if they are the same or nothing was sent yet; else none, and the journal
 * still describes what was sent.
 */
bool dx_merge_takes_bytes(const struct dx_merge_facts *facts,
                          enum dx_merge_action action,
                          const struct dx_merge_place *place)
{
  if (!place->came)
    return false;
  if (action == DX_MERGE_TAKE)
    return true;
  return facts->state != DX_ST_EXTRACTED && !place->here &&
         (place->equal || !facts->uploaded);
}

/* ---- the facts ---- */

static bool is_equal(const struct dx_entry *a, const struct dx_entry *b)
{
  return strcmp(a->sha256, b->sha256) == 0;
}

/* Converted text and PostScript contain the date of the conversion: only
 * documents printed as PDF or image have the same bytes when they are printed
 * again. */
static bool is_same(const struct dx_entry *a, const struct dx_entry *b)
{
  bool was_converted =
      strcmp(a->type, DX_MIME_PDF) == 0 && strcmp(a->origin, DX_MIME_PDF) != 0;

  return a->kind == b->kind && strcmp(a->type, b->type) == 0 &&
         a->pages == b->pages && a->together == b->together &&
         (was_converted || is_equal(a, b));
}

static bool has_same_places(const struct dx_submission *a,
                            const struct dx_submission *b)
{
  size_t i;

  if (a->file_count != b->file_count)
    return false;
  for (i = 0; i < a->file_count; i++)
    if (a->files[i].document != b->files[i].document)
      return false;
  return true;
}

/* It did not arrive this time, or this computer could not process it: what came
 * before counts. */
static bool is_missing(const struct dx_entry *entry)
{
  return entry->kind == DX_KIND_MISSING ||
         (entry->kind == DX_KIND_REFUSED && entry->reason == DX_REASON_TROUBLE);
}

static bool has_same_content(const struct dx_job *old,
                             const struct dx_job *fresh,
                             const struct dx_submission *sub)
{
  size_t i;

  for (i = 0; i < sub->file_count; i++) {
    size_t place = sub->files[i].document;
    const struct dx_entry *now = &fresh->documents[place].entry;

    if (!is_missing(now) && !is_same(&old->documents[place].entry, now))
      return false;
  }
  return true;
}

/* The submission of a job that begins at a place; NULL: none. */
static struct dx_submission *begins_at(struct dx_job *job, size_t place)
{
  size_t i;

  for (i = 0; i < job->submission_count; i++)
    if (job->submissions[i].files[0].document == place)
      return &job->submissions[i];
  return NULL;
}

static struct dx_merge_facts facts_of(const struct dx_job *old,
                                      const struct dx_submission *before,
                                      const struct dx_job *fresh,
                                      const struct dx_submission *now)
{
  struct dx_merge_facts facts = {.known = before != NULL};

  if (before == NULL)
    return facts;
  facts.state = before->state;
  facts.verify = dx_submission_needs_verify(before);
  facts.uploaded = dx_submission_is_put(before);
  facts.same_places = now != NULL && has_same_places(before, now);
  facts.same_content = facts.same_places && has_same_content(old, fresh, now);
  return facts;
}

/* ---- before anything is changed ---- */

static enum dx_code check(struct dx_job *old, struct dx_job *fresh,
                          struct dx_err *err)
{
  size_t i;

  for (i = 0; i < old->submission_count; i++) {
    struct dx_submission *before = &old->submissions[i];
    struct dx_submission *now = begins_at(fresh, before->files[0].document);
    struct dx_merge_facts facts = facts_of(old, before, fresh, now);

    if (dx_merge_plan(&facts) != DX_MERGE_CHANGED)
      continue;
    if (facts.same_places)
      return dx_fail(err, DX_E_CHANGED, 0,
                     "document %zu differs from what was sent before; "
                     "print it as a new job",
                     now->files[0].document + 1);
    return dx_fail(err, DX_E_CHANGED, 0,
                   "the documents or their grouping differ from what was sent "
                   "before; print them as a new job");
  }
  return DX_OK;
}

/* ---- in memory ---- */

static enum dx_code merge_submission(struct dx_job *old, struct dx_job *fresh,
                                     struct dx_submission *sub,
                                     struct dx_err *err)
{
  struct dx_submission *before = begins_at(old, sub->files[0].document);
  struct dx_merge_facts facts = facts_of(old, before, fresh, sub);
  enum dx_merge_action action = dx_merge_plan(&facts);
  struct dx_submission swap;
  size_t i;

  if (action == DX_MERGE_TAKE) {
    /* Keep the counters, to limit registrations over all runs: an unknown one
     * may exist. */
    if (before != NULL && before->state == DX_ST_STORED &&
        sub->state == DX_ST_STORED) {
      sub->lost_creates = before->lost_creates;
      sub->start_overs = before->start_overs;
      sub->reregistrations = before->reregistrations;
    }
    return DX_OK;
  }
  /* The entries of a submission that stays describe what was sent. */
  for (i = 0; i < sub->file_count; i++) {
    struct dx_document *was = &old->documents[sub->files[i].document];
    struct dx_document *now = &fresh->documents[sub->files[i].document];
    struct dx_merge_place place = {.here = was->is_here,
                                   .came = now->entry.kind == DX_KIND_DOCUMENT,
                                   .equal = is_equal(&was->entry, &now->entry)};

    if (!dx_merge_takes_bytes(&facts, action, &place))
      *now = *was;
  }
  swap = *sub;
  *sub = *before;
  *before = swap;
  sub->number = swap.number;
  return action == DX_MERGE_VERIFY ? dx_submission_retry(sub, err) : DX_OK;
}

#define SWAP(field)                            \
  do {                                         \
    __typeof__(old->field) swap_ = old->field; \
    old->field = fresh->field;                 \
    fresh->field = swap_;                      \
  } while (0)

/* Takes over the data of the run: its queue may be another one, and its section
 * may have been renamed. */
static void exchange(struct dx_job *old, struct dx_job *fresh)
{
  size_t i;

  SWAP(documents);
  SWAP(document_count);
  SWAP(submissions);
  SWAP(submission_count);
  SWAP(together);
  SWAP(base_url);
  SWAP(service);
  SWAP(queue);
  SWAP(cups_id);
  SWAP(user);
  SWAP(title);
  SWAP(host);
  SWAP(print);
  dx_print_begin(&old->print);
  for (i = 0; i < old->submission_count; i++)
    old->submissions[i].job = old;
  for (i = 0; i < fresh->submission_count; i++)
    fresh->submissions[i].job = fresh;
  old->seen = false;
  old->is_copy = old->is_copy || fresh->is_copy;
  dx_job_set_problem(old, DX_OK, "", 0);
  old->dirty = true;
}

/* ---- on disk ---- */

/* The journal already describes these documents. */
static enum dx_code move_documents(struct dx_job *job,
                                   const struct dx_job *receipt,
                                   struct dx_err *err)
{
  char name[DX_FILE_NAME_BYTES];
  enum dx_code code = dx_job_open_dir(job, err);
  size_t i, k;

  if (code != DX_OK)
    return code;
  for (i = 0; i < job->submission_count; i++) {
    const struct dx_submission *sub = &job->submissions[i];

    for (k = 0; !dx_state_is_settled(sub->state) && k < sub->file_count; k++) {
      size_t place = sub->files[k].document;

      if (place >= receipt->document_count ||
          !receipt->documents[place].is_here ||
          !is_equal(&job->documents[place].entry,
                    &receipt->documents[place].entry))
        continue;
      dx_document_file(place, name);
      if (renameat(receipt->dirfd, name, job->dirfd, name) < 0)
        return dx_fs_fail(err, errno, "move", receipt->dirfd, name);
      job->documents[place].is_here = true;
    }
  }
  return dx_fs_sync_name(job->dirfd, "documents", err);
}

/* Changes `old` and its journal; `fresh` then has the previous data. */
static enum dx_code merge_journal(struct dx_spool *spool, struct dx_job *old,
                                  struct dx_job *fresh, struct dx_err *err)
{
  enum dx_code code = check(old, fresh, err);
  bool filled = false;
  size_t i;

  if (code != DX_OK)
    return code;
  /* Documents that are missing this time, but are here and were never sent, can
   * still be used. */
  for (i = 0; i < old->document_count && i < fresh->document_count; i++)
    if (is_missing(&fresh->documents[i].entry) && old->documents[i].is_here) {
      fresh->documents[i] = old->documents[i];
      filled = true;
    }
  if (filled)
    code = dx_job_plan(fresh, err);
  for (i = 0; code == DX_OK && i < fresh->submission_count; i++)
    code = merge_submission(old, fresh, &fresh->submissions[i], err);
  if (code == DX_OK)
    code = dx_job_begin_print(old, fresh->print.key, err);
  if (code != DX_OK)
    return code;
  exchange(old, fresh);
  code = dx_job_set_content(old, err);
  if (code == DX_OK)
    code = dx_spool_add_aliases(spool, old, err);
  if (code == DX_OK && !dx_job_is_finished(old))
    code = dx_spool_reopen(spool, old, err);
  return code == DX_OK ? dx_job_save(old, err) : code;
}

enum dx_code dx_job_merge(struct dx_spool *spool, struct dx_job *old,
                          struct dx_job **fresh, struct dx_err *err)
{
  char path[DX_JOB_PATH_BYTES];
  enum dx_code code = DX_OK;

  /* A backend that outlived its cupsd committed after one of the next cupsd. */
  if (strcmp((*fresh)->print.key, old->print.key) == 0 &&
      (*fresh)->print.cupsd != NULL && old->print.cupsd != NULL &&
      dx_cupsd_is_gone((*fresh)->print.cupsd) &&
      !dx_cupsd_is_gone(old->print.cupsd)) {
    dx_spool_discard(spool, fresh);
    return DX_OK;
  }
  if (strcmp(old->print.run, (*fresh)->print.run) != 0) {
    code = merge_journal(spool, old, *fresh, err);
    if (code == DX_OK) { /* reload its own entries */
      memcpy(path, (*fresh)->path, sizeof(path));
      dx_job_free(fresh);
      code = dx_spool_load(spool, strchr(path, '/') + 1, fresh, err);
    }
  }
  if (code == DX_OK)
    code = move_documents(old, *fresh, err);
  if (code == DX_OK)
    dx_spool_discard(spool, fresh);
  return code;
}
