/*
 * state.c - the transition table.
 */
#include "lib/spool/state.h"

#include "lib/base/words.h"

DX_WORDS(state, DX_STATES)
DX_WORDS(event, DX_EVENTS)

struct rule {
  bool listed;
  enum dx_state to;
};

/* clang-format off */
#define GO(state) {true, DX_ST_##state}

static const struct rule rules[DX_ST_COUNT][DX_EV_COUNT] = {
  [DX_ST_STORED] = {
    [DX_EV_ACCEPTED]        = GO(REGISTERED),
    [DX_EV_FAIL]            = GO(FAILED),
    [DX_EV_REFUSE]          = GO(REFUSED),
    [DX_EV_CANCEL]          = GO(CANCELED),
    [DX_EV_EXPIRE]          = GO(EXPIRED),
  },
  [DX_ST_REGISTERED] = {
    [DX_EV_PUT_ALL]         = GO(UPLOADED),
    [DX_EV_SEEN_PENDING]    = GO(REGISTERED),
    [DX_EV_SEEN_PROCESSING] = GO(PROCESSING), /* PUT got no response */
    [DX_EV_SEEN_COMPLETE]   = GO(COMPLETE),   /* and it was fast */
    [DX_EV_SEEN_FAILED]     = GO(STORED),
    [DX_EV_REREGISTER]      = GO(STORED),
    [DX_EV_FAIL]            = GO(FAILED),
    [DX_EV_CANCEL]          = GO(CANCELED),
    [DX_EV_EXPIRE]          = GO(EXPIRED),
  },
  [DX_ST_UPLOADED] = {
    [DX_EV_SEEN_PENDING]    = GO(UPLOADED),   /* reported late */
    [DX_EV_SEEN_PROCESSING] = GO(PROCESSING),
    [DX_EV_SEEN_COMPLETE]   = GO(COMPLETE),
    [DX_EV_SEEN_FAILED]     = GO(STORED),
    [DX_EV_PUT_AGAIN]       = GO(REGISTERED), /* same source, same URLs */
    [DX_EV_REREGISTER]      = GO(STORED),     /* verified: no result */
    [DX_EV_FAIL]            = GO(FAILED),
    [DX_EV_CANCEL]          = GO(CANCELED),
    [DX_EV_EXPIRE]          = GO(EXPIRED),
  },
  [DX_ST_PROCESSING] = {
    [DX_EV_SEEN_PENDING]    = GO(PROCESSING), /* an older response */
    [DX_EV_SEEN_PROCESSING] = GO(PROCESSING),
    [DX_EV_SEEN_COMPLETE]   = GO(COMPLETE),
    [DX_EV_SEEN_FAILED]     = GO(STORED),
    [DX_EV_FAIL]            = GO(FAILED),
    [DX_EV_CANCEL]          = GO(CANCELED),
    [DX_EV_EXPIRE]          = GO(EXPIRED),
  },
  [DX_ST_COMPLETE] = {
    [DX_EV_DELIVERED]       = GO(EXTRACTED),
    [DX_EV_FAIL]            = GO(FAILED),
    [DX_EV_CANCEL]          = GO(CANCELED),
    [DX_EV_EXPIRE]          = GO(EXPIRED),
  },
  /* EXTRACTED has no transitions: results are never withdrawn. */
  [DX_ST_FAILED] = {
    [DX_EV_RETRY]           = GO(STORED),
    [DX_EV_VERIFY]          = GO(UPLOADED),
    [DX_EV_CANCEL]          = GO(CANCELED),
    [DX_EV_EXPIRE]          = GO(EXPIRED),
  },
  [DX_ST_REFUSED] = {
    [DX_EV_RETRY]           = GO(STORED),
    [DX_EV_CANCEL]          = GO(CANCELED),
    [DX_EV_EXPIRE]          = GO(EXPIRED),
  },
  [DX_ST_CANCELED] = {
    [DX_EV_RETRY]           = GO(STORED),
  },
  [DX_ST_EXPIRED] = {
    [DX_EV_RETRY]           = GO(STORED),     /* printed again */
    [DX_EV_VERIFY]          = GO(UPLOADED),
  },
};
/* clang-format on */

bool dx_state_is_final(enum dx_state state)
{
  static const bool finals[] = {DX_STATES(DX_TEXT_OF_ROW)};

  return finals[state];
}

bool dx_state_is_settled(enum dx_state state)
{
  return state == DX_ST_EXTRACTED || state == DX_ST_CANCELED ||
         state == DX_ST_EXPIRED;
}

bool dx_state_is_sent(enum dx_state state)
{
  return state == DX_ST_EXTRACTED ||
         (!dx_state_is_final(state) && state != DX_ST_STORED);
}

enum dx_code dx_state_next(enum dx_state from, enum dx_event event,
                           enum dx_state *ret_to, struct dx_err *err)
{
  const struct rule *rule = &rules[from][event];

  if (!rule->listed)
    return dx_fail(err, DX_E_STATE, 0, "'%s' is not possible in state '%s'",
                   dx_event_word(event), dx_state_word(from));
  *ret_to = rule->to;
  return DX_OK;
}
