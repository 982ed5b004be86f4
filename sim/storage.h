/*
 * storage.h - the object storage: takes the PUT of a signed address.
 *
 * A file goes to the disk as it comes, under a hidden name, and gets its
 * place with a rename; memory does not grow with its size.
 * Source: doc/service-interface.md, "Endpoints".
 */
#ifndef SIM_STORAGE_H
#define SIM_STORAGE_H

#include "sim/http.h"

extern const struct sim_port sim_storage_port;

#endif
