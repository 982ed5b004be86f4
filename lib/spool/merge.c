/*
 * merge.c - what may be replaced by a new run of a print job, and what not.
 */
#include "lib/spool/merge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/print/mime.h"

static bool was_not_converted(const struct dx_entry *e)
{
  return strcmp(e->type, DX_MIME_PDF) != 0 ||
         strcmp(e->origin, DX_MIME_PDF) == 0;
}

/* Converted text and PostScript contain the date of the conversion: only what
 * came as a PDF or picture has the same bytes when it is printed again. */
static bool is_same(const struct dx_entry *a, const struct dx_entry *b)
{
  if (a->kind != b->kind || strcmp(a->type, b->type) != 0 ||
      a->pages != b->pages || a->together != b->together)
    return false;
  return !was_not_converted(a) || strcmp(a->sha256, b->sha256) == 0;
}

/* A source that may have pages of it is never forgotten: what failed after an
 * upload asks that source first. */
static bool must_stay(const struct dx_submission *sub)
{
  return dx_state_is_sent(sub->state) || dx_submission_needs_verify(sub);
}

/* The old submission with the same first place, if it must stay. */
static struct dx_submission *kept(struct dx_job *old,
                                  const struct dx_submission *sub)
{
  size_t i;

  for (i = 0; i < old->submission_count; i++)
    if (old->submissions[i].files[0].document == sub->files[0].document &&
        must_stay(&old->submissions[i]))
      return &old->submissions[i];
  return NULL;
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

static enum dx_code check_same(struct dx_job *old, struct dx_job *fresh,
                               struct dx_submission *stays,
                               struct dx_submission *sub, struct dx_err *err)
{
  size_t i;

  if (!has_same_places(stays, sub))
    return dx_fail(err, DX_E_CHANGED, 0,
                   "other documents, or another grouping, than were sent "
                   "before; print them as a new job");
  for (i = 0; i < sub->file_count; i++) {
    size_t place = sub->files[i].document;

    if (fresh->documents[place].entry.kind == DX_KIND_MISSING)
      continue; /* it came before; its absence now says nothing */
    if (!is_same(&old->documents[place].entry, &fresh->documents[place].entry))
      return dx_fail(err, DX_E_CHANGED, 0,
                     "document %zu differs from what was sent before; print "
                     "it as a new job",
                     place + 1);
  }
  return DX_OK;
}

static enum dx_code check_merge(struct dx_job *old, struct dx_job *fresh,
                                struct dx_err *err)
{
  enum dx_code code = DX_OK;
  size_t i, sent = 0, found = 0;

  for (i = 0; i < old->submission_count; i++) {
    if (!must_stay(&old->submissions[i]))
      continue;
    sent++;
    if (old->submissions[i].state != DX_ST_EXTRACTED &&
        strcmp(old->base_url, fresh->base_url) != 0)
      return dx_fail(err, DX_E_CONFIG, 0,
                     "BaseURL was changed while a document is under way; set "
                     "it back until the job is done");
  }
  for (i = 0; code == DX_OK && i < fresh->submission_count; i++) {
    struct dx_submission *stays = kept(old, &fresh->submissions[i]);

    if (stays == NULL)
      continue;
    found++;
    code = check_same(old, fresh, stays, &fresh->submissions[i], err);
  }
  if (code == DX_OK && found != sent)
    code = dx_fail(err, DX_E_CHANGED, 0,
                   "other documents, or another grouping, than were sent "
                   "before; print them as a new job");
  return code;
}

static enum dx_code move_document(struct dx_job *old, struct dx_job *fresh,
                                  size_t place, struct dx_err *err)
{
  char name[DX_FILE_NAME_BYTES];

  if (fresh->documents[place].entry.kind != DX_KIND_DOCUMENT)
    return DX_OK;
  dx_document_file(place, name);
  if (renameat(fresh->dirfd, name, old->dirfd, name) < 0)
    return dx_fs_fail(err, errno, "move", fresh->dirfd, name);
  fresh->documents[place].is_here = true;
  return DX_OK;
}

/*
 * The bytes of a place whose submission stays: the old ones if they are here;
 * the new ones if they are the same or nothing was sent yet; else none, and
 * the journal keeps describing what was sent.
 */
static enum dx_code merge_place(struct dx_job *old, struct dx_job *fresh,
                                const struct dx_submission *stays,
                                const struct dx_file *file, struct dx_err *err)
{
  size_t place = file->document;
  struct dx_document *before = &old->documents[place];
  struct dx_document *now = &fresh->documents[place];
  bool same = strcmp(before->entry.sha256, now->entry.sha256) == 0;

  if (now->entry.kind == DX_KIND_DOCUMENT && !before->is_here &&
      stays->state != DX_ST_EXTRACTED &&
      (same || stays->state == DX_ST_REGISTERED))
    return move_document(old, fresh, place, err);
  *now = *before;
  return DX_OK;
}

/* The number of registrations stays bounded, however often the job is run: one
 * that we know nothing about may exist. */
static void keep_tries(const struct dx_job *old, struct dx_submission *sub)
{
  size_t i;

  for (i = 0; i < old->submission_count; i++) {
    const struct dx_submission *before = &old->submissions[i];

    if (before->state != DX_ST_STORED || sub->state != DX_ST_STORED ||
        before->files[0].document != sub->files[0].document)
      continue;
    sub->registering = before->registering;
    sub->lost_creates = before->lost_creates;
    sub->start_overs = before->start_overs;
    sub->reregistrations = before->reregistrations;
  }
}

static enum dx_code merge_submission(struct dx_job *old, struct dx_job *fresh,
                                     struct dx_submission *sub,
                                     struct dx_err *err)
{
  struct dx_submission *stays = kept(old, sub);
  struct dx_submission swap;
  enum dx_code code = DX_OK;
  size_t i;

  if (stays == NULL)
    keep_tries(old, sub);
  for (i = 0; code == DX_OK && i < sub->file_count; i++)
    code = stays == NULL
               ? move_document(old, fresh, sub->files[i].document, err)
               : merge_place(old, fresh, stays, &sub->files[i], err);
  if (code != DX_OK || stays == NULL)
    return code;
  swap = *sub;
  *sub = *stays;
  *stays = swap;
  sub->number = swap.number;
  if (dx_state_is_final(sub->state) && sub->state != DX_ST_EXTRACTED)
    code = dx_submission_retry(sub, err);
  return code;
}

#define SWAP(field)                            \
  do {                                         \
    __typeof__(old->field) swap_ = old->field; \
    old->field = fresh->field;                 \
    fresh->field = swap_;                      \
  } while (0)

static void exchange(struct dx_job *old, struct dx_job *fresh)
{
  size_t i;

  SWAP(documents);
  SWAP(document_count);
  SWAP(submissions);
  SWAP(submission_count);
  SWAP(together);
  SWAP(base_url);
  SWAP(service); /* its section may have been renamed */
  for (i = 0; i < old->submission_count; i++)
    old->submissions[i].job = old;
  for (i = 0; i < fresh->submission_count; i++)
    fresh->submissions[i].job = fresh;
}

/* Nothing of `fresh` will be sent. */
static bool stays_finished(struct dx_job *old, const struct dx_job *fresh)
{
  size_t i;

  for (i = 0; i < fresh->submission_count; i++) {
    const struct dx_submission *stays = kept(old, &fresh->submissions[i]);

    if (stays == NULL || stays->state != DX_ST_EXTRACTED)
      return false;
  }
  return true;
}

enum dx_code dx_job_merge(struct dx_spool *spool, struct dx_job *old,
                          struct dx_job **fresh, struct dx_err *err)
{
  enum dx_code code = check_merge(old, *fresh, err);
  size_t i;

  if (code == DX_OK && !stays_finished(old, *fresh))
    code = dx_spool_reopen(spool, old, err);
  for (i = 0; code == DX_OK && i < (*fresh)->submission_count; i++)
    code = merge_submission(old, *fresh, &(*fresh)->submissions[i], err);
  if (code == DX_OK) /* the job file will say that the documents are here */
    code = dx_fs_sync_dir(old->dirfd, err);
  if (code != DX_OK)
    return code;
  exchange(old, *fresh);
  code = dx_job_save(old, err);
  dx_spool_discard(spool, fresh);
  return code;
}
