/*
 * permission.c - the table of what may still be sent.
 */
#include "lib/spool/permission.h"

#include "lib/base/words.h"

/* Additional rows: answers with another meaning after earlier ones. */
enum {
  /* Hidden, or no answer, after it was canceled. */
  ROW_SILENT = DX_ANSWER_COUNT,
  /* Unknown; only a cupsd that is gone has known it. */
  ROW_LOST,
  ROW_COUNT
};

/* clang-format off */
#define SEND DX_MAY_SEND
#define WAIT DX_MAY_WAIT
#define STOP DX_MAY_CANCEL
#define REST DX_MAY_CANCEL_UNSENT
#define ASK DX_MAY_ASK

/*
 * Once a backend has left and the print job was over, the answer of cupsd is
 * ignored: what a user does then is about printing it again. In this table,
 * LEFT means left, and not over yet.
 */
static const enum dx_permission table[ROW_COUNT][DX_BACKEND_COUNT] = {
  /*                         NONE  ATTENDS LEFT  HELD  ENDED BROKEN */
  [DX_ANSWER_OTHER_QUEUE] = {SEND, WAIT,   SEND, WAIT, WAIT, WAIT},
  [DX_ANSWER_NOT_OURS]    = {SEND, STOP,   STOP, REST, STOP, STOP},
  [DX_ANSWER_CHANGED]     = {SEND, ASK,    ASK,  ASK,  ASK,  ASK},
  [DX_ANSWER_CANCELED]    = {SEND, STOP,   STOP, REST, STOP, STOP},
  [DX_ANSWER_OVER]        = {SEND, SEND,   SEND, SEND, SEND, SEND}, /* no run */
  [DX_ANSWER_ACTIVE]      = {SEND, SEND,   SEND, WAIT, WAIT, WAIT}, /* a run */
  [DX_ANSWER_HELD]        = {SEND, WAIT,   WAIT, SEND, WAIT, WAIT},
  [DX_ANSWER_HIDDEN]      = {SEND, SEND,   SEND, SEND, WAIT, WAIT},
  [DX_ANSWER_NONE]        = {SEND, SEND,   SEND, SEND, WAIT, WAIT},
  [ROW_SILENT]            = {SEND, WAIT,   WAIT, WAIT, WAIT, WAIT},
  [ROW_LOST]              = {SEND, SEND,   SEND, ASK,  ASK,  SEND},
  [DX_ANSWER_UNKNOWN]     = {SEND, ASK,    SEND, ASK,  ASK,  ASK},
};
/* clang-format on */

static bool is_unclear(enum dx_answer answer)
{
  return answer == DX_ANSWER_HIDDEN || answer == DX_ANSWER_NONE;
}

static int row_of(const struct dx_permission_facts *facts)
{
  if (is_unclear(facts->answer) && facts->print.final == DX_FINAL_CANCELED)
    return ROW_SILENT;
  if (facts->answer != DX_ANSWER_UNKNOWN)
    return (int)facts->answer;
  if (facts->print.final == DX_FINAL_CANCELED)
    return DX_ANSWER_CANCELED;
  if (facts->print.final == DX_FINAL_OVER)
    return DX_ANSWER_OVER;
  return facts->cupsd_gone && !facts->print.known_later ? ROW_LOST
                                                        : DX_ANSWER_UNKNOWN;
}

bool dx_permission_needs_answer(const struct dx_permission_facts *facts)
{
  switch (facts->print.backend) {
  case DX_BACKEND_NONE:
    return false;
  case DX_BACKEND_ATTENDS:
    return (facts->cupsd_gone || facts->print.final == DX_FINAL_CANCELED) &&
           !facts->stopping;
  case DX_BACKEND_LEFT:
    return facts->print.final != DX_FINAL_OVER;
  default:
    return true;
  }
}

bool dx_permission_keeps(enum dx_state state, bool is_put)
{
  return is_put && state != DX_ST_STORED && !dx_state_is_final(state);
}

/* If a user canceled or moved the print job, the administrator's decision to
 * send does not apply. */
static bool is_withdrawn(enum dx_answer answer)
{
  return answer == DX_ANSWER_CANCELED || answer == DX_ANSWER_NOT_OURS;
}

enum dx_permission dx_permission(const struct dx_permission_facts *facts)
{
  enum dx_permission may;

  if (facts->stopping)
    return DX_MAY_WAIT;
  if (facts->print.backend == DX_BACKEND_LEFT &&
      facts->print.final == DX_FINAL_OVER)
    return DX_MAY_SEND;
  if (facts->answer == DX_ANSWER_NOT_ASKED)
    return dx_permission_needs_answer(facts) ? DX_MAY_WAIT : DX_MAY_SEND;
  if (facts->print.decided && !is_withdrawn(facts->answer))
    return DX_MAY_SEND;
  may = table[row_of(facts)][facts->print.backend];
  if (may == DX_MAY_WAIT && is_unclear(facts->answer) &&
      facts->print.unclear_ms != 0 &&
      facts->now_ms - facts->print.unclear_ms >= DX_UNCLEAR_LIMIT_MS)
    return DX_MAY_ASK;
  return may;
}

/* ---- what is remembered ---- */

/* The last final answer, including this one. */
static enum dx_final final_after(const struct dx_print *print,
                                 enum dx_answer answer, bool cupsd_gone)
{
  /* Later changes are about printing it again. */
  if (print->backend == DX_BACKEND_LEFT && print->final == DX_FINAL_OVER)
    return DX_FINAL_OVER;
  if (is_withdrawn(answer))
    return DX_FINAL_CANCELED;
  if (answer == DX_ANSWER_OVER)
    return DX_FINAL_OVER;
  /* The cupsd that has run its backend keeps no history of what is over. */
  if (answer == DX_ANSWER_UNKNOWN && print->backend == DX_BACKEND_LEFT &&
      print->final == DX_FINAL_NONE && !cupsd_gone)
    return DX_FINAL_OVER;
  /* It runs again, so it is not over, and a user may cancel it. */
  if (answer == DX_ANSWER_ACTIVE || answer == DX_ANSWER_HELD ||
      answer == DX_ANSWER_OTHER_QUEUE || answer == DX_ANSWER_CHANGED)
    return DX_FINAL_NONE;
  return print->final;
}

bool dx_print_learn(struct dx_print *print, enum dx_answer answer,
                    bool cupsd_gone, int64_t now_ms)
{
  struct dx_print before = *print;

  if (answer == DX_ANSWER_NOT_ASKED || print->backend == DX_BACKEND_NONE)
    return false;
  print->final = final_after(print, answer, cupsd_gone);
  if (is_withdrawn(answer)) /* later than the decision */
    print->decided = false;
  if (cupsd_gone && answer != DX_ANSWER_NONE && answer != DX_ANSWER_UNKNOWN)
    print->known_later = true;
  if (!is_unclear(answer))
    print->unclear_ms = 0;
  else if (print->unclear_ms == 0)
    print->unclear_ms = now_ms;
  return print->final != before.final || print->decided != before.decided ||
         print->known_later != before.known_later ||
         print->unclear_ms != before.unclear_ms;
}

void dx_print_begin(struct dx_print *print)
{
  print->backend = DX_BACKEND_ATTENDS;
  print->final = DX_FINAL_NONE;
  print->known_later = false;
  print->decided = false;
  print->undecided = false;
  print->unclear_ms = 0;
}

/* ---- words ---- */

DX_WORDS(backend, DX_BACKENDS)
DX_WORDS(permission, DX_PERMISSIONS)
