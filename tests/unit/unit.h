/*
 * unit.h - cmocka with the headers that it needs before it, once and right.
 */
#ifndef DX_UNIT_H
#define DX_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* This machine cannot run the test, or the rest of it; ./test.sh reports it. */
#define leave_out(how_to_include_it)                         \
  do {                                                       \
    print_message("to include it: %s\n", how_to_include_it); \
    skip();                                                  \
  } while (0)

/* What happens at once on an idle machine may take so long on a busy one. */
#define UNIT_WAIT_MS 120000

#endif
