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

#endif
