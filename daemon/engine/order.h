/*
 * order.h - which of the calls that are due gets the next slot of a host
 * (doc/policy.md, "Rate limit"). Pure: knows neither jobs nor sections.
 */
#ifndef DX_ORDER_H
#define DX_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* The classes of calls, the most urgent first. */
enum dx_order {
  DX_ORDER_ATTENDED, /* a client waits for the job */
  DX_ORDER_RESULT,   /* get source, get extract */
  DX_ORDER_CREATE,
  DX_ORDER_OVERDUE, /* a poll after ProcessingLimit */
  DX_ORDER_COUNT
};

/* The class that gets the slot with this number, if these have calls that are
 * due; ORDER_COUNT: none. Each class gets a part of the slots, so that none
 * starves. polls: the first call of class RESULT may find nothing. */
enum dx_order dx_order_next(uint64_t slot, const bool due[DX_ORDER_COUNT],
                            bool polls);

#endif
