/*
 * fuzz_arguments.c - what cupsd passes to the backend: a device URI, a title,
 * a user, and options, a line each. Names of documents come from the options.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "lib/base/utf8.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static void check_uri(struct backend *b, const char *uri)
{
  struct dx_err err;

  if (backend_read_uri(b, uri, &err) == DX_OK)
    HOLDS(b->service[0] != '\0' &&
          strspn(b->service, LETTERS "0123456789-_.") == strlen(b->service));
}

/* A job of two documents. */
static void name_documents(struct backend *b, enum dx_file_names names)
{
  const struct dx_service service = {.file_names = names};
  struct dx_document documents[2] = {{.entry.kind = DX_KIND_DOCUMENT},
                                     {.entry.kind = DX_KIND_REFUSED}};
  struct dx_job job = {.documents = documents, .document_count = 2};
  size_t i;

  b->conf = &service;
  b->job = &job;
  backend_name_documents(b);
  for (i = 0; i < job.document_count; i++)
    HOLDS(dx_utf8_is_plain(documents[i].entry.name) &&
          strchr(documents[i].entry.name, '/') == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  char *uri = fuzz_line(&in), *title = fuzz_line(&in), *user = fuzz_line(&in);
  char *options = fuzz_rest(&in);
  char name[] = "docextract", id[] = "1", copies[] = "1";
  char *argv[] = {name, id, user, title, copies, options, NULL};
  struct backend b = {.in_fd = -1};
  struct dx_err err;

  check_uri(&b, uri);
  HOLDS(backend_read_arguments(&b, 6, argv, &err) == DX_OK);
  name_documents(&b, DX_FILE_NAMES_TITLE);
  name_documents(&b, DX_FILE_NAMES_NEUTRAL);
  free(b.uuid);
  free(b.host);
  free(b.queue);
  free(uri);
  free(title);
  free(user);
  free(options);
  return 0;
}
