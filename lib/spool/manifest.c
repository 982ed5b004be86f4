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

static void put_file(struct dx_json_out *out, const struct dx_submission *sub,
                     size_t document)
{
  const struct dx_entry *e = &sub->job->documents[document].entry;

  dx_json_open(out, NULL, '{');
  dx_json_put_int(out, "document", (int64_t)document + 1);
  dx_json_put_string(out, "name", e->name);
  dx_json_put_string(out, "content_type", e->type);
  dx_json_put_int(out, "pages", e->pages);
  dx_json_put_int(out, "bytes", e->length);
  dx_json_put_string(out, "sha256", e->sha256);
  dx_json_close(out, '}');
}

static void put_case(struct dx_json_out *out, const struct dx_submission *sub,
                     const struct dx_case *c)
{
  char *file = dx_result_name(sub->source_id, c->id);

  out->text.failed |= file == NULL;
  dx_json_open(out, NULL, '{');
  dx_json_put_string(out, "case_id", c->id);
  dx_json_put_string(out, "file", file);
  dx_json_put_int(out, "bytes", c->bytes);
  dx_json_put_string(out, "sha256", c->sha256);
  dx_json_put_bool(out, "empty", c->is_empty);
  dx_json_close(out, '}');
  free(file);
}

char *dx_manifest_text(const struct dx_submission *sub)
{
  const struct dx_job *job = sub->job;
  bool good = sub->state == DX_ST_COMPLETE || sub->state == DX_ST_EXTRACTED;
  /* A source without cases is extracted when it is complete. */
  int64_t extracted_at =
      sub->extracted_at != 0 ? sub->extracted_at : sub->complete_at;
  struct dx_json_out out = {.pretty = true};
  size_t i;

  dx_json_open(&out, NULL, '{');
  dx_json_put_int(&out, "schema", MANIFEST_SCHEMA);
  dx_json_put_string(&out, "outcome", good ? "extracted" : "failed");
  dx_json_put_bool(&out, "final", good || dx_state_is_settled(sub->state));
  dx_json_put_string(&out, "reason_code",
                     good ? NULL : dx_submission_reason_code(sub));
  dx_json_put_string(&out, "reason", good ? NULL : sub->reason);
  dx_json_put_string(&out, "service", dx_submission_section(sub));
  dx_json_put_string(&out, "source_id", sub->source_id);
  dx_json_open(&out, "job", '{');
  dx_json_put_string(&out, "key", job->key);
  dx_json_put_string(&out, "queue", job->queue);
  dx_json_put_string(&out, "id", job->cups_id);
  dx_json_put_string(&out, "uuid", job->uuid);
  dx_json_put_string(&out, "user", job->user);
  dx_json_put_string(&out, "title", job->title);
  dx_json_put_string(&out, "host", job->host);
  dx_json_put_int(&out, "documents", (int64_t)job->document_count);
  dx_json_close(&out, '}');
  dx_json_open(&out, "files", '[');
  for (i = 0; i < sub->file_count; i++)
    put_file(&out, sub, sub->files[i].document);
  dx_json_close(&out, ']');
  dx_json_open(&out, "cases", '[');
  for (i = 0; good && i < sub->case_count; i++)
    put_case(&out, sub, &sub->cases[i]);
  dx_json_close(&out, ']');
  dx_json_open(&out, "times", '{');
  dx_json_put_time(&out, "received_at", job->received_at);
  dx_json_put_time(&out, "uploaded_at", sub->uploaded_at);
  dx_json_put_time(&out, "complete_at", sub->complete_at);
  dx_json_put_time(&out, "extracted_at", good ? extracted_at : 0);
  dx_json_put_time(&out, "failed_at", sub->failed_at);
  dx_json_close(&out, '}');
  dx_json_close(&out, '}');
  return dx_buf_take(&out.text);
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
