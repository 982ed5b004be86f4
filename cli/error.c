/*
 * error.c - the exit status of the command for the class of an error.
 */
#include "cli/cli.h"

#include <sysexits.h>

int cli_exit_status(enum dx_class cls)
{
  static const int statuses[DX_CL_COUNT] = {
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

  return statuses[cls];
}
