/*
 * api.h - the service's own port: create, source, extract, hello.
 *
 * Source: doc/service-interface.md, "Endpoints".
 */
#ifndef SIM_API_H
#define SIM_API_H

#include "sim/http.h"

extern const struct sim_port sim_api_port;

#endif
