/*
 * connect.h - connects to docextractd, which only an administrator or a service
 * manager starts; and what to do if it is not running.
 *
 * Ownership: the caller owns the channel. Blocking: at most DX_CONNECT_MS,
 * while docextractd starts or exits. Errors: those of dx_channel_open();
 * E_CONFIG: it is not running, and the text names what starts it; E_BUSY: it is
 * running, but does not respond.
 */
#ifndef DX_CONNECT_H
#define DX_CONNECT_H

#include "lib/config/config.h"
#include "lib/control/channel.h"

enum dx_code dx_docextractd_connect(const struct dx_config *config,
                                    struct dx_channel *ret_channel,
                                    struct dx_err *err) DX_MUST_USE;

/* True if systemd runs, and has docextractd.service. root: "", or in tests a
 * directory instead of "/". */
bool dx_docextractd_is_unit(const char *root);

/* That it is not running, and what starts it, for the administrator. Static
 * memory. */
const char *dx_docextractd_is_missing(const char *root);

#endif
