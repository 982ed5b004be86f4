/*
 * ipp.h - responses of cupsd, as a test makes them, and requests to it.
 */
#ifndef DX_UNIT_IPP_H
#define DX_UNIT_IPP_H

#include "tests/unit/unit.h"

#include <cups/cups.h>
#include <stdio.h>

#include "lib/base/buf.h"
#include "lib/print/print_job.h"

static inline ipp_t *ipp_status(ipp_status_t status)
{
  ipp_t *response = ippNew();

  (void)ippSetStatusCode(response, status);
  ippAddString(response, IPP_TAG_OPERATION, IPP_TAG_CHARSET,
               "attributes-charset", NULL, "utf-8");
  return response;
}

static inline void ipp_add_uri(ipp_t *response, ipp_tag_t group,
                               const char *name, const char *uri)
{
  if (uri != NULL)
    ippAddString(response, group, IPP_TAG_URI, name, NULL, uri);
}

/* NULL, 0: cupsd says nothing of that. */
static inline ipp_t *ipp_job(const char *uuid, int created, int state,
                             const char *printer, const char *actual)
{
  ipp_t *response = ipp_status(IPP_STATUS_OK);

  ipp_add_uri(response, IPP_TAG_JOB, "job-printer-uri", printer);
  ipp_add_uri(response, IPP_TAG_JOB, "job-uuid", uuid);
  if (created != 0)
    ippAddInteger(response, IPP_TAG_JOB, IPP_TAG_INTEGER, "time-at-creation",
                  created);
  if (state != 0)
    ippAddInteger(response, IPP_TAG_JOB, IPP_TAG_ENUM, "job-state", state);
  ipp_add_uri(response, IPP_TAG_JOB, "job-printer-uri-actual", actual);
  return response;
}

static inline ipp_t *ipp_queue(const char *device_uri)
{
  ipp_t *response = ipp_status(IPP_STATUS_OK);

  ipp_add_uri(response, IPP_TAG_PRINTER, "device-uri", device_uri);
  return response;
}

struct ipp_listed {
  int id, state; /* state 0: hidden */
};

static inline ipp_t *ipp_jobs(const struct ipp_listed *jobs, size_t count)
{
  ipp_t *response = ipp_status(IPP_STATUS_OK);
  size_t i;

  for (i = 0; i < count; i++) {
    if (i > 0)
      ippAddSeparator(response);
    ippAddInteger(response, IPP_TAG_JOB, IPP_TAG_INTEGER, "job-id", jobs[i].id);
    if (jobs[i].state != 0)
      ippAddInteger(response, IPP_TAG_JOB, IPP_TAG_ENUM, "job-state",
                    jobs[i].state);
  }
  return response;
}

/* "ID=STATE " of each job. */
struct ipp_seen {
  char text[256];
};

static inline void ipp_see(void *ctx, int id, int state)
{
  struct ipp_seen *seen = ctx;
  size_t len = strlen(seen->text);

  (void)snprintf(seen->text + len, sizeof(seen->text) - len, "%d=%d ", id,
                 state);
}

/* A set of 1,500 keywords, as a print client may send it, of 300 kB. */
static inline void ipp_add_set(ipp_t *response, const char *name)
{
  static char words[1500][200];
  static const char *values[1500];
  size_t i;

  for (i = 0; i < 1500; i++) {
    (void)snprintf(words[i], sizeof(words[i]), "%0199zu", i);
    values[i] = words[i];
  }
  ippAddStrings(response, IPP_TAG_JOB, IPP_TAG_KEYWORD, name, 1500, NULL,
                values);
}

static inline ssize_t ipp_put(void *bytes, ipp_uchar_t *from, size_t len)
{
  dx_buf_add(bytes, from, len);
  return (ssize_t)len;
}

/* Deletes the message. */
static inline void ipp_bytes(ipp_t *message, struct dx_buf *bytes)
{
  assert_int_equal(ippWriteIO(bytes, ipp_put, 1, NULL, message),
                   IPP_STATE_DATA);
  ippDelete(message);
}

struct ipp_rest {
  const char *at;
  size_t left;
};

static inline ssize_t ipp_get(void *ctx, ipp_uchar_t *to, size_t len)
{
  struct ipp_rest *rest = ctx;

  if (len > rest->left)
    len = rest->left;
  memcpy(to, rest->at, len);
  rest->at += len;
  rest->left -= len;
  return (ssize_t)len;
}

/* NULL if it is none. */
static inline ipp_t *ipp_read(const char *bytes, size_t len)
{
  struct ipp_rest rest = {bytes, len};
  ipp_t *message = ippNew();

  if (ippReadIO(&rest, ipp_get, 1, NULL, message) == IPP_STATE_DATA)
    return message;
  ippDelete(message);
  return NULL;
}

static inline const char *ipp_text(ipp_t *message, const char *name)
{
  const char *text =
      ippGetString(ippFindAttribute(message, name, IPP_TAG_ZERO), 0, NULL);

  return text != NULL ? text : "";
}

#endif
