/*
 * order.c - see order.h.
 */
#include "daemon/engine/order.h"

/* Of 8 slots, each of these is for a class, if it has a call that is due. */
static const enum dx_order reserved[8] = {
    DX_ORDER_ATTENDED, DX_ORDER_RESULT, DX_ORDER_ATTENDED, DX_ORDER_CREATE,
    DX_ORDER_ATTENDED, DX_ORDER_RESULT, DX_ORDER_ATTENDED, DX_ORDER_OVERDUE};

enum dx_order dx_order_next(uint64_t slot, const bool due[DX_ORDER_COUNT],
                            bool polls)
{
  enum dx_order order = reserved[slot % 8];

  if (due[order])
    return order;
  /* A document takes at least one create, one poll, and one call for its
   * result. If polls came before creates, those that find nothing would take
   * the slots of documents that could be processed meanwhile. */
  if (!due[DX_ORDER_ATTENDED] && polls && due[DX_ORDER_CREATE] && slot % 3 == 0)
    return DX_ORDER_CREATE;
  for (order = 0; order < DX_ORDER_COUNT && !due[order];)
    order++;
  return order;
}
