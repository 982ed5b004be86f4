/*
 * analyzer.h - what the static analyzer cannot see, because it reads one file
 * at a time: functions that report an error never return DX_OK. Only
 * tests/nightly/tidy.sh includes it.
 */
#ifndef DX_ANALYZER_H
#define DX_ANALYZER_H

#include "lib/base/err.h"

#define dx_fail(err, code, ...) (dx_fail(err, code, __VA_ARGS__), (code))
#define dx_fail_sys(err, e, step, subject) \
  (dx_fail_sys(err, e, step, subject), DX_E_IO)
#define dx_fail_nomem(err) (dx_fail_nomem(err), DX_E_NOMEM)

#endif
