/*
 * manifest.c - the fields of the manifest of a submission.
 */
#include "lib/spool/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/base/policy.h"
#include "lib/spool/sentence.h"

#define MANIFEST_SCHEMA 2

static struct dx_json *manifest_file(const void *owner, size_t i)
{
  const struct dx_submission *sub = owner;
  size_t document = sub->files[i].document;
  const struct dx_entry *e = &sub->job->documents[document].entry;
  struct dx_json *json = dx_json_object();

  return dx_json_made_take(
      json, json != NULL &&
                dx_json_put_int(json, "document", (int64_t)document + 1) &&
                dx_json_put_string(json, "name", e->name) &&
                dx_json_put_string(json, "content_type", e->type) &&
                dx_json_put_int(json, "pages", e->pages) &&
                dx_json_put_int(json, "bytes", e->length) &&
                dx_json_put_string(json, "sha256", e->sha256));
}

static struct dx_json *manifest_case(const void *owner, size_t i)
{
  const struct dx_submission *sub = owner;
  const struct dx_case *c = &sub->cases[i];
  struct dx_json *json = dx_json_object();
  char *file = dx_result_name(sub->source_id, c->id);
  bool ok = json != NULL && file != NULL &&
            dx_json_put_string(json, "case_id", c->id) &&
            dx_json_put_string(json, "file", file) &&
            dx_json_put_int(json, "bytes", c->bytes) &&
            dx_json_put_string(json, "sha256", c->sha256) &&
            dx_json_put_bool(json, "empty", c->is_empty);

  free(file);
  return dx_json_made_take(json, ok);
}

static bool put_manifest_job(struct dx_json *root, const struct dx_job *job)
{
  struct dx_json *json = dx_json_object();
  bool ok = json != NULL && dx_json_put_string(json, "key", job->key) &&
            dx_json_put_string(json, "queue", job->queue) &&
            dx_json_put_string(json, "id", job->cups_id) &&
            dx_json_put_string(json, "uuid", job->uuid) &&
            dx_json_put_string(json, "user", job->user) &&
            dx_json_put_string(json, "title", job->title) &&
            dx_json_put_string(json, "host", job->host) &&
            dx_json_put_int(json, "documents", (int64_t)job->document_count);

  json = dx_json_made_take(json, ok);
  return dx_json_put_take(root, "job", &json);
}

static bool put_manifest_times(struct dx_json *root,
                               const struct dx_submission *sub, bool good)
{
  /* A source without cases is extracted when it is complete. */
  int64_t extracted_at =
      sub->extracted_at != 0 ? sub->extracted_at : sub->complete_at;
  struct dx_json *json = dx_json_object();
  bool ok = json != NULL &&
            dx_json_put_time(json, "received_at", sub->job->received_at) &&
            dx_json_put_time(json, "uploaded_at", sub->uploaded_at) &&
            dx_json_put_time(json, "complete_at", sub->complete_at) &&
            dx_json_put_time(json, "extracted_at", good ? extracted_at : 0) &&
            dx_json_put_time(json, "failed_at", sub->failed_at);

  json = dx_json_made_take(json, ok);
  return dx_json_put_take(root, "times", &json);
}

char *dx_manifest_text(const struct dx_submission *sub)
{
  bool good = sub->state == DX_ST_COMPLETE || sub->state == DX_ST_EXTRACTED;
  bool settled = good || dx_state_is_settled(sub->state);
  struct dx_json *root = dx_json_object();
  char *text = NULL;

  if (root != NULL && dx_json_put_int(root, "schema", MANIFEST_SCHEMA) &&
      dx_json_put_string(root, "outcome", good ? "extracted" : "failed") &&
      dx_json_put_bool(root, "final", settled) &&
      dx_json_put_string(root, "reason_code",
                         good ? NULL : dx_submission_reason_code(sub)) &&
      dx_json_put_string(root, "reason", good ? NULL : sub->reason) &&
      dx_json_put_string(root, "service", dx_submission_section(sub)) &&
      dx_json_put_string(root, "source_id", sub->source_id) &&
      put_manifest_job(root, sub->job) &&
      dx_json_put_list(root, "files", sub, sub->file_count, manifest_file) &&
      dx_json_put_list(root, "cases", sub, good ? sub->case_count : 0,
                       manifest_case) &&
      put_manifest_times(root, sub, good))
    text = dx_json_print(root, true);
  dx_json_free(&root);
  return text;
}

/* Searches for the key in quotes, which JSON cannot contain inside a string. No
 * parser is needed, and the file may contain anything. */
bool dx_manifest_is_of(const struct dx_job *job, int dirfd, const char *name)
{
  struct dx_buf text = {0};
  char key[DX_KEY_BYTES + 2];
  bool is_of_it;

  (void)snprintf(key, sizeof(key), "\"%s\"", job->key);
  is_of_it =
      dx_fs_read(dirfd, name, DX_JOURNAL_MAX_BYTES, &text, NULL) == DX_OK &&
      strstr(dx_buf_text(&text), key) != NULL;
  dx_buf_release(&text);
  return is_of_it;
}
