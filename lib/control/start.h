/*
 * start.h - connecting to docextractd, which is started on demand without a
 * service manager.
 *
 * Where systemd runs and docextractd.service is installed, nothing else starts
 * it: E_CONFIG, and the text names the command. Elsewhere a process of the
 * spool's owner does (E_ACCESS for others): DX_SBINDIR/docextractd --on-demand
 * -c FILE, in a session of its own, with nothing of ours but PATH and
 * CUPS_SERVER. It ends itself when it has been idle.
 *
 * Ownership: the channel is the caller's. Blocking: at most DX_START_MS.
 * Errors: those of dx_channel_open(); E_BUSY: it runs or was started, but does
 * not respond.
 */
#ifndef DX_START_H
#define DX_START_H

#include "lib/config/config.h"
#include "lib/control/channel.h"

/* The program that is started. */
const char *dx_docextractd_path(void);

/* config_path: the file that `config` was read from. */
enum dx_code dx_docextractd_connect(const struct dx_config *config,
                                    const char *config_path,
                                    struct dx_channel *ret_channel,
                                    struct dx_err *err) DX_MUST_USE;

/* True where only systemd starts it. root: "", or in tests a directory in place
 * of "/". */
bool dx_docextractd_is_unit(const char *root);

#endif
