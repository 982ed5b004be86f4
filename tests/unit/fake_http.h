/*
 * fake_http.h - what a program that is linked with --wrap defines instead of
 * the calls of daemon/service/http.h, so that no call leaves the machine.
 */
#ifndef DX_FAKE_HTTP_H
#define DX_FAKE_HTTP_H

#include "daemon/service/http.h"

enum dx_code __wrap_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *request,
                                  struct dx_http_call **ret_call,
                                  struct dx_err *err);
void __wrap_dx_http_cancel(struct dx_http_call **call);
enum dx_code __wrap_dx_http_run(struct dx_http *http, int64_t timeout_ms,
                                const int *wake, size_t wake_count,
                                struct dx_err *err);

#endif
