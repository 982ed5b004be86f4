/*
 * start.h - connects to docextractd, and starts it on demand if there is no
 * service manager.
 *
 * If systemd is running and docextractd.service is installed, no other process
 * starts it: E_CONFIG, and the text contains the command. In other
 * environments, a process of the owner of the spool starts it (E_ACCESS for
 * others): DX_SBINDIR/docextractd --on-demand -c FILE, in a new session, with
 * only PATH and CUPS_SERVER in its environment. It exits when it has been idle.
 *
 * Ownership: the caller owns the channel. Blocking: at most DX_START_MS.
 * Errors: those of dx_channel_open(); E_BUSY: it runs or was started, but does
 * not respond.
 */
#ifndef DX_START_H
#define DX_START_H

#include "lib/config/config.h"
#include "lib/control/channel.h"

#define DX_NOT_RUNNING_UNIT \
  DX_NOT_RUNNING "; start it with: systemctl start docextractd"

/* The program that is started. */
const char *dx_docextractd_path(void);

enum dx_code dx_docextractd_connect(const struct dx_config *config,
                                    struct dx_channel *ret_channel,
                                    struct dx_err *err) DX_MUST_USE;

/* True if only systemd may start it. root: "", or in tests a directory instead
 * of "/". */
bool dx_docextractd_is_unit(const char *root);

#endif
