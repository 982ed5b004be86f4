/*
 * error.c - how the command reports an error: the exit status for its class,
 * and what to do about it.
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <sysexits.h>

static const int exit_status[DX_CL_COUNT] = {
    [DX_CL_DONE] = EX_OK,
    [DX_CL_NOT_YET] = EX_TEMPFAIL,
    [DX_CL_TRANSIENT] = EX_TEMPFAIL,
    [DX_CL_RATE] = EX_TEMPFAIL,
    [DX_CL_TOKEN] = EX_NOPERM,
    [DX_CL_REFUSED] = EX_DATAERR,
    [DX_CL_CONFIG] = EX_CONFIG,
    [DX_CL_GONE] = EX_UNAVAILABLE,
    [DX_CL_LOCAL] = EX_IOERR,
    [DX_CL_OVERDUE] = EX_TEMPFAIL,
    [DX_CL_STOPPED] = EX_TEMPFAIL,
    [DX_CL_INTERNAL] = EX_SOFTWARE,
};

int cli_exit_status(enum dx_class cls)
{
  return exit_status[cls];
}
