/*
 * names.c - the file names that are sent to the service. The filter knows only
 * the title, which all documents of a job share; cupsd's options contain the
 * names.
 */
#include "backend/backend.h"

#include <string.h>

#include "lib/spool/filename.h"

#define SUPPLIED "document-name-supplied="
#define BLANKS " \t\n"

/*
 * Returns the next value of SUPPLIED after *text, without cupsd's backslashes;
 * NULL at the end. cupsParseOptions() would keep only the last one. Blanks in a
 * value are escaped, so a title cannot be mistaken for a name.
 */
static const char *next_supplied(const char **text, char name[DX_NAME_BYTES])
{
  const char *at = *text;
  size_t len = 0;
  bool ours = false;

  while (*at != '\0' && !ours) {
    at += strspn(at, BLANKS);
    ours = strncmp(at, SUPPLIED, sizeof(SUPPLIED) - 1) == 0;
    if (ours)
      at += sizeof(SUPPLIED) - 1;
    for (; *at != '\0' && strchr(BLANKS, *at) == NULL; at++) {
      if (*at == '\\' && at[1] != '\0')
        at++;
      if (ours && len < DX_NAME_BYTES - 1)
        name[len++] = *at;
    }
  }
  *text = at;
  name[len] = '\0';
  return ours ? name : NULL;
}

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
  char name[DX_NAME_BYTES];

  while (next_supplied(&text, name) != NULL)
    supplied++;
  /* Clients may omit names. The order assigns them only if all documents have
   * one. */
  if (!neutral && (count < 2 || supplied != count))
    return;
  text = b->options;
  for (i = 0; i < b->job->document_count; i++) {
    struct dx_entry *entry = &b->job->documents[i].entry;

    if (neutral)
      dx_filename_neutral(i + 1, entry->type, entry->name);
    else if (entry->kind != DX_KIND_SHEET &&
             next_supplied(&text, name) != NULL && dx_filename_is_real(name))
      dx_filename_from_title(name, entry->type, entry->name);
  }
}
