/*
 * discover.c - the list of devices, one per configured service. No network: the
 * web interface waits for it.
 */
#include "backend/backend.h"

#include <cups/backend.h>
#include <stdio.h>

/* The same as in ppd/docextract.drv: cupsd uses it to find the PPD. */
#define DEVICE_ID \
  "MFG:docextract;MDL:Document Extraction Service;CMD:PDF,JPEG,PNG;"
#define MODEL "Document Extraction Service"

/* The host shows where documents are sent; services can share one. */
static void list(const struct dx_config *config)
{
  char uri[128], info[400];
  size_t i;

  for (i = 0; i < config->service_count; i++) {
    const struct dx_service *s = &config->services[i];

    (void)snprintf(uri, sizeof(uri), "docextract://%s", s->name);
    if (config->service_count == 1)
      (void)snprintf(info, sizeof(info), MODEL " (%s)", s->host);
    else
      (void)snprintf(info, sizeof(info), MODEL " %s (%s)", s->name, s->host);
    cupsBackendReport("network", uri, MODEL, info, DEVICE_ID, NULL);
  }
}

int discover(enum dx_code code, const struct dx_err *err)
{
  struct dx_config *config = NULL;
  struct dx_err why = *err;

  if (code == DX_OK)
    code = backend_read_config(&config, &why);
  if (code == DX_OK) {
    list(config);
  } else {
    status_say("ERROR", "%s", why.text);
    cupsBackendReport("network", "docextract", "Unknown", MODEL, NULL, NULL);
  }
  dx_config_free(&config);
  return CUPS_BACKEND_OK;
}
