/*
 * arguments.c - the input from cupsd: arguments, options, and device URI.
 */
#include "backend/backend.h"

#include <cups/cups.h>
#include <stdlib.h>
#include <string.h>

bool backend_copy(const char *text, char **ret_text)
{
  *ret_text = text != NULL ? strdup(text) : NULL;
  return text == NULL || *ret_text != NULL;
}

enum dx_code backend_read_config(struct dx_config **ret_config,
                                 struct dx_err *err)
{
  char *path = dx_config_path(true);
  enum dx_code code =
      path != NULL ? dx_config_load(path, ret_config, err) : dx_fail_nomem(err);

  free(path);
  return code;
}

enum dx_code backend_read_uri(struct backend *b, const char *uri,
                              struct dx_err *err)
{
  static const char scheme[] = "docextract://";
  const char *name;
  size_t len;

  if (uri == NULL || strncmp(uri, scheme, sizeof(scheme) - 1) != 0)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "the device URI must be docextract://SERVICE");
  name = uri + sizeof(scheme) - 1;
  len = strlen(name);
  if (len > 0 && name[len - 1] == '/')
    len--; /* added by some dialogs */
  if (len == 0 || len >= sizeof(b->service) ||
      strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                   "0123456789-_.") < len)
    return dx_fail(err, DX_E_CONFIG, 0,
                   "the device URI must be docextract://SERVICE, where SERVICE "
                   "is the name of a section of docextract.conf");
  memcpy(b->service, name, len);
  b->service[len] = '\0';
  return DX_OK;
}

/* A job without its uuid would be treated as a new one, and sent twice. */
enum dx_code backend_read_arguments(struct backend *b, int argc, char **argv,
                                    struct dx_err *err)
{
  cups_option_t *options = NULL;
  int count = cupsParseOptions(argv[5], 0, &options);
  bool ok;

  b->job_id = argv[1];
  b->user = argv[2];
  b->title = argv[3];
  b->options = argv[5];
  b->is_raw = argc == 7;
  ok = backend_copy(cupsGetOption("job-uuid", count, options), &b->uuid) &&
       backend_copy(cupsGetOption("job-originating-host-name", count, options),
                    &b->host) &&
       backend_copy(getenv("PRINTER"), &b->queue);
  cupsFreeOptions(count, options);
  return ok ? DX_OK : dx_fail_nomem(err);
}
