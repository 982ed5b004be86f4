/*
 * discover.c - lists the devices, one per configured service. No network
 * access, because the web interface waits for the list.
 */
#include "backend/backend.h"

#include <cups/backend.h>
#include <stdio.h>

/* Must match ppd/docextract.drv: cupsd uses it to find the PPD. */
#define DEVICE_ID \
  "MFG:docextract;MDL:Document Extraction Service;CMD:PDF,JPEG,PNG;"
#define MODEL "Document Extraction Service"

int discover(enum dx_code code, const struct dx_err *err)
{
  struct dx_config *config = NULL;
  char uri[128], info[400];
  struct dx_err why = *err;
  size_t i;

  if (code == DX_OK)
    code = dx_config_load(dx_config_path(), &config, NULL, &why);
  for (i = 0; code == DX_OK && i < config->service_count; i++) {
    const struct dx_service *s = &config->services[i];
    bool is_only = config->service_count == 1;

    /* The host shows where documents are sent; services can share one. */
    (void)snprintf(uri, sizeof(uri), "docextract://%s", s->name);
    (void)snprintf(info, sizeof(info), MODEL "%s%s (%s)", is_only ? "" : " ",
                   is_only ? "" : s->name, s->host);
    cupsBackendReport("network", uri, MODEL, info, DEVICE_ID, NULL);
  }
  if (code != DX_OK) {
    status_say("ERROR", "%s", why.text);
    cupsBackendReport("network", "docextract", "Unknown", MODEL, NULL, NULL);
  }
  dx_config_free(&config);
  return CUPS_BACKEND_OK;
}
