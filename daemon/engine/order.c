/*
 * order.c - see order.h.
 */
#include "daemon/engine/order.h"

/* Of 8 slots, each of these is for a class, if it has a call that is due. The
 * others, and what it does not use, go to the most urgent class. */
static const enum dx_order reserved[8] = {
    DX_ORDER_ATTENDED, DX_ORDER_RESULT, DX_ORDER_ATTENDED, DX_ORDER_CREATE,
    DX_ORDER_ATTENDED, DX_ORDER_RESULT, DX_ORDER_ATTENDED, DX_ORDER_OVERDUE};

enum dx_order dx_order_next(uint64_t slot, const bool due[DX_ORDER_COUNT])
{
  enum dx_order order = reserved[slot % 8];

  if (due[order])
    return order;
  /* A document takes one create and at least two other calls. With less than a
   * third of the slots for creates, polls that find nothing would take those of
   * documents that could be processed meanwhile. */
  if (!due[DX_ORDER_ATTENDED] && due[DX_ORDER_CREATE] && slot % 3 == 0)
    return DX_ORDER_CREATE;
  for (order = 0; order < DX_ORDER_COUNT && !due[order];)
    order++;
  return order;
}
