/*
 * cupsd.c - requests CUPS-Get-Printers, and reads cupsd.conf and
 * cups-files.conf with the parser of CUPS.
 */
#include "cli/cli.h"

#include <cups/cups.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/config.h"

/* ---- queues ---- */

#define TIMEOUT_MS 3000

/* Values that are not keywords (RFC 8011, section 5.1.4) are skipped. */
static void queue_add_reasons(struct queue *queue, ipp_attribute_t *attribute)
{
  size_t len = 0;
  int i;

  for (i = 0; i < ippGetCount(attribute); i++) {
    const char *word = ippGetString(attribute, i, NULL);

    if (word == NULL || strcmp(word, "none") == 0 ||
        word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-_.")] != '\0' ||
        len + strlen(word) + 2 > sizeof(queue->reasons))
      continue;
    len += (size_t)snprintf(queue->reasons + len, sizeof(queue->reasons) - len,
                            "%s%s", len > 0 ? " " : "", word);
  }
}

static void queue_read_attribute(struct queue *queue,
                                 ipp_attribute_t *attribute)
{
  const char *name = ippGetName(attribute);
  const char *text = ippGetString(attribute, 0, NULL);
  const size_t scheme_len = strlen(DX_DEVICE_SCHEME);

  if (strcmp(name, "printer-name") == 0 && text != NULL) {
    (void)snprintf(queue->name, sizeof(queue->name), "%s", text);
  } else if (strcmp(name, "device-uri") == 0 && text != NULL &&
             strncmp(text, DX_DEVICE_SCHEME, scheme_len) == 0) {
    queue->is_ours = true;
    if (!dx_section_of_uri(text, queue->service))
      (void)snprintf(queue->service, sizeof(queue->service), "%s",
                     text + scheme_len);
  } else if (strcmp(name, "printer-state-reasons") == 0) {
    queue_add_reasons(queue, attribute);
  } else if (strcmp(name, "printer-state") == 0) {
    queue->state = ippEnumString(name, ippGetInteger(attribute, 0));
  } else if (strcmp(name, "printer-is-accepting-jobs") == 0) {
    queue->accepting = ippGetBoolean(attribute, 0) != 0;
  } else if (strcmp(name, "queued-job-count") == 0) {
    queue->jobs = ippGetInteger(attribute, 0);
  }
}

enum dx_code cupsd_queues(struct queues *ret_queues, struct dx_err *err)
{
  static const char *const wanted[] = {
      "printer-name",          "device-uri",       "printer-state",
      "printer-state-reasons", "queued-job-count", "printer-is-accepting-jobs"};
  http_t *http =
      httpConnect2(cupsServer(), ippPort(), NULL, AF_UNSPEC,
                   HTTP_ENCRYPTION_IF_REQUESTED, 1, TIMEOUT_MS, NULL);
  ipp_t *request, *response = NULL;
  ipp_attribute_t *attribute = NULL;
  enum dx_code code = DX_OK;

  *ret_queues = (struct queues){0};
  if (http != NULL) {
    httpSetTimeout(http, TIMEOUT_MS / 1000.0, NULL, NULL);
    request = ippNewRequest(IPP_OP_CUPS_GET_PRINTERS);
    ippAddString(request, IPP_TAG_OPERATION, IPP_TAG_NAME,
                 "requesting-user-name", NULL, cupsUser());
    ippAddStrings(request, IPP_TAG_OPERATION, IPP_TAG_KEYWORD,
                  "requested-attributes",
                  (int)(sizeof(wanted) / sizeof(wanted[0])), NULL, wanted);
    response = cupsDoRequest(http, request, "/");
  }
  if (response == NULL ||
      (ippGetStatusCode(response) >= IPP_STATUS_ERROR_BAD_REQUEST &&
       ippGetStatusCode(response) != IPP_STATUS_ERROR_NOT_FOUND))
    code = dx_fail(err, DX_E_NET, 0, "cupsd does not respond");
  else
    attribute = ippFirstAttribute(response);
  /* An attribute without a name separates two printers. */
  for (; attribute != NULL; attribute = ippNextAttribute(response)) {
    struct queue queue = {.state = "unknown"}, *more;

    for (; attribute != NULL && ippGetName(attribute) != NULL;
         attribute = ippNextAttribute(response))
      if (ippGetGroupTag(attribute) == IPP_TAG_PRINTER)
        queue_read_attribute(&queue, attribute);
    more = queue.is_ours ? reallocarray(ret_queues->list, ret_queues->count + 1,
                                        sizeof(queue))
                         : NULL;
    if (more != NULL) {
      ret_queues->list = more;
      ret_queues->list[ret_queues->count++] = queue;
    } else if (queue.is_ours) {
      code = dx_fail_nomem(err);
    }
    if (attribute == NULL)
      break;
  }
  ippDelete(response);
  httpClose(http);
  return code;
}

/* ---- configuration files ---- */

int cupsd_open(const char *config_path, const char *name)
{
  /* Next to the file itself, because any user may own a link to it. */
  char *real = realpath(config_path, NULL), *path;
  int fd = -1;

  if (real != NULL && asprintf(&path, "%s/%s", dirname(real), name) > 0) {
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(path);
  }
  free(real);
  return fd;
}

void cupsd_directives(int fd,
                      void (*each)(void *ctx, const char *name,
                                   const char *value),
                      void *ctx)
{
  cups_file_t *file = cupsFileOpenFd(fd, "r");
  char line[1024], *value;
  int number = 0;

  if (file == NULL) {
    (void)close(fd);
    return;
  }
  while (cupsFileGetConf(file, line, sizeof(line), &value, &number) != NULL)
    if (value != NULL)
      each(ctx, line, value);
  (void)cupsFileClose(file);
}
