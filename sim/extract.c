/*
 * extract.c - extracts cases, their documents, and values from a file.
 */
#include "sim/sim.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A case that is being read. */
struct draft {
  const char *source_id;
  cJSON *cases;
  cJSON *data;     /* medical_data: document ids and documents; or NULL */
  cJSON *document; /* the current one, in `data` */
};

static cJSON *add_document(struct draft *d)
{
  char id[SIM_ID_BYTES];

  sim_id_new(id);
  if (d->data == NULL)
    d->data = cJSON_CreateObject();
  d->document = cJSON_AddObjectToObject(d->data, id);
  return d->document;
}

/* Makes the document with this record number the current one. */
static cJSON *select_document(struct draft *d, const char *mrn)
{
  cJSON *doc;

  if (d->data == NULL)
    return add_document(d);
  if (*mrn == '\0' || *sim_text_of(d->document, "patient_mrn") == '\0')
    return d->document;
  cJSON_ArrayForEach(doc, d->data)
  {
    if (strcmp(sim_text_of(doc, "patient_mrn"), mrn) == 0)
      return d->document = doc;
  }
  return add_document(d);
}

/* Moves the values of a page to its document, unless it already has them. */
static void add_page(struct draft *d, char *page)
{
  cJSON *values = sim_fields_read(page);
  cJSON *doc = select_document(d, sim_text_of(values, "patient_mrn"));

  while (values != NULL && values->child != NULL) {
    cJSON *item = cJSON_DetachItemViaPointer(values, values->child);

    if (cJSON_HasObjectItem(doc, item->string) ||
        !cJSON_AddItemToObject(doc, item->string, item))
      cJSON_Delete(item);
  }
  cJSON_Delete(values);
}

/* Turns the draft into a case if it has any pages. */
static void close_case(struct draft *d)
{
  const char *last, *first;
  cJSON *result;
  char id[SIM_ID_BYTES];
  char name[512];

  if (d->data == NULL)
    return;
  last = sim_text_of(d->data->child, "patient_last_name");
  first = sim_text_of(d->data->child, "patient_first_name");
  (void)snprintf(name, sizeof(name), "%s%s%s", last,
                 *last != '\0' && *first != '\0' ? ", " : "", first);
  if (*name == '\0')
    (void)snprintf(name, sizeof(name), "Case %d",
                   cJSON_GetArraySize(d->cases) + 1);
  sim_id_new(id);
  result = cJSON_CreateObject();
  (void)cJSON_AddStringToObject(result, "status", "complete");
  (void)cJSON_AddStringToObject(result, "id", id);
  (void)cJSON_AddStringToObject(result, "source_id", d->source_id);
  (void)cJSON_AddStringToObject(result, "case_name", name);
  (void)cJSON_AddItemToObject(result, "medical_data", d->data);
  (void)cJSON_AddItemToArray(d->cases, result);
  d->data = NULL;
}

/* Starts pdftotext; returns its output, or NULL. */
static FILE *start_pdftotext(const char *path, pid_t *ret_pid)
{
  const char *argv[] = {"timeout",   "-s",      "KILL", "60",
                        "pdftotext", "-layout", "-q",   "-enc",
                        "UTF-8",     path,      "-",    NULL};
  posix_spawn_file_actions_t actions;
  int fds[2];
  int e;

  if (pipe2(fds, O_CLOEXEC) != 0)
    return NULL;
  (void)posix_spawn_file_actions_init(&actions);
  (void)posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
  e = posix_spawnp(ret_pid, argv[0], &actions, NULL, (char **)argv, environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  (void)close(fds[1]);
  if (e == 0)
    return fdopen(fds[0], "r");
  (void)close(fds[0]);
  errno = e;
  warn("cannot run pdftotext");
  return NULL;
}

static bool read_pdf(const char *path, struct draft *d)
{
  pid_t pid;
  int status = -1;
  char *page = NULL;
  size_t size = 0;
  FILE *text = start_pdftotext(path, &pid);

  if (text == NULL)
    return false;
  while (getdelim(&page, &size, '\f', text) > 0)
    if (sim_fields_separator(page))
      close_case(d);
    else
      add_page(d, page);
  free(page);
  (void)fclose(text);
  return waitpid(pid, &status, 0) == pid && status == 0;
}

bool sim_extract(const char *path, const char *content_type,
                 const char *source_id, cJSON *cases)
{
  struct draft d = {.source_id = source_id, .cases = cases};
  bool good = true;

  if (strcmp(content_type, "application/pdf") == 0)
    good = read_pdf(path, &d);
  else
    (void)add_document(&d);
  close_case(&d);
  return good;
}
