/*
 * arguments.c - the input from cupsd: arguments, options, and device URI; what
 * cupsd reports about the documents; and the file names that are sent to the
 * service. The filter knows only the title, which all documents of a job share;
 * cupsd's options contain the names.
 */
#include "backend/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/policy.h"
#include "lib/spool/filename.h"

#define SUPPLIED "document-name-supplied"
#define BLANKS " \t\n"
#define OPTION_BYTES 1024 /* IPP limits values to 1,023 bytes */

bool backend_copy(const char *text, char **ret_text)
{
  *ret_text = text != NULL ? strdup(text) : NULL;
  return text == NULL || *ret_text != NULL;
}

enum dx_code backend_read_uri(struct backend *b, const char *uri,
                              struct dx_err *err)
{
  if (!dx_section_of_uri(uri, b->service))
    return dx_fail(err, DX_E_CONFIG, 0,
                   "the device URI must be docextract://SERVICE, where SERVICE "
                   "is the name of a section of docextract.conf");
  return DX_OK;
}

/*
 * Finds the next option of that name from *text on, and moves *text behind it.
 * Returns `value`, without cupsd's backslashes; NULL if there is none. Blanks
 * in values are escaped, so a title cannot be mistaken for an option.
 */
static const char *next_option(const char **text, const char *name,
                               char value[OPTION_BYTES])
{
  const char *at = *text;
  size_t len = 0, name_len = strlen(name);
  bool found = false;

  while (*at != '\0' && !found) {
    at += strspn(at, BLANKS);
    found = strncmp(at, name, name_len) == 0 && at[name_len] == '=';
    if (found)
      at += name_len + 1;
    for (; *at != '\0' && strchr(BLANKS, *at) == NULL; at++) {
      if (*at == '\\' && at[1] != '\0')
        at++;
      if (found && len < OPTION_BYTES - 1)
        value[len++] = *at;
    }
  }
  *text = at;
  value[len] = '\0';
  return found ? value : NULL;
}

/* cupsd appends its own options to those of the client: the last one counts. */
static bool copy_last(const char *options, const char *name, char **ret_value)
{
  char value[OPTION_BYTES], last[OPTION_BYTES];
  bool found = false;

  while (next_option(&options, name, value) != NULL) {
    memcpy(last, value, sizeof(last));
    found = true;
  }
  return backend_copy(found ? last : NULL, ret_value);
}

/* A job without its uuid would be treated as a new one, and sent twice. */
enum dx_code backend_read_arguments(struct backend *b, int argc, char **argv,
                                    struct dx_err *err)
{
  b->job_id = argv[1];
  b->user = argv[2];
  b->title = argv[3];
  b->options = argv[5];
  b->is_raw = argc == 7;
  return copy_last(b->options, "job-uuid", &b->uuid) &&
                 copy_last(b->options, "job-originating-host-name", &b->host) &&
                 backend_copy(getenv("PRINTER"), &b->queue)
             ? DX_OK
             : dx_fail_nomem(err);
}

/* ---- documents ---- */

enum dx_code backend_add_missing(struct dx_job *job, int expected,
                                 struct dx_err *err)
{
  const struct dx_entry missing = {.kind = DX_KIND_MISSING};
  size_t count = (size_t)expected;
  enum dx_code code = DX_OK;

  if (expected <= 0 || count == job->document_count)
    return DX_OK;
  if (count < job->document_count || count > DX_DOCUMENTS_MAX)
    return dx_fail(err, DX_E_BUNDLE, 0,
                   "received %zu documents, but the job has %d; print it again",
                   job->document_count, expected);
  while (code == DX_OK && job->document_count < count)
    code = dx_spool_add_document(job, &missing, NULL, err);
  return code;
}

void backend_refuse_halves(struct dx_job *job)
{
  size_t i;

  for (i = 0; i < job->document_count; i++) {
    struct dx_entry *e = &job->documents[i].entry;

    if (e->kind != DX_KIND_DOCUMENT ||
        (job->document_count > 1 && strcmp(e->origin, e->type) == 0))
      continue;
    e->kind = DX_KIND_REFUSED;
    e->reason = DX_REASON_DAMAGED;
    (void)snprintf(e->reason_text, sizeof(e->reason_text),
                   "its conversion failed, and pages may be missing; "
                   "print it as a PDF");
  }
}

/* ---- file names ---- */

size_t backend_count_documents(const struct dx_job *job)
{
  size_t i, count = 0;

  for (i = 0; i < job->document_count; i++)
    count += job->documents[i].entry.kind != DX_KIND_SHEET;
  return count;
}

void backend_name_documents(const struct backend *b)
{
  size_t i, supplied = 0, count = backend_count_documents(b->job);
  bool neutral = b->conf->file_names == DX_FILE_NAMES_NEUTRAL;
  const char *text = b->options;
  char name[OPTION_BYTES];

  while (next_option(&text, SUPPLIED, name) != NULL)
    supplied++;
  /* Clients may omit names. The order assigns them only if all documents have
   * one, and none is missing: which one is not known. */
  for (i = 0; i < b->job->document_count; i++)
    if (b->job->documents[i].entry.kind == DX_KIND_MISSING)
      supplied = 0;
  if (!neutral && (count < 2 || supplied != count))
    return;
  text = b->options;
  for (i = 0; i < b->job->document_count; i++) {
    struct dx_entry *entry = &b->job->documents[i].entry;

    if (neutral)
      dx_filename_neutral(i + 1, entry->type, entry->name);
    else if (entry->kind != DX_KIND_SHEET &&
             next_option(&text, SUPPLIED, name) != NULL &&
             dx_filename_is_real(name))
      dx_filename_from_title(name, entry->type, entry->name);
  }
}
