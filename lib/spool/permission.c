/*
 * permission.c - the one table that says what may still be sent.
 */
#include "lib/spool/permission.h"

#include "lib/base/words.h"
#include "lib/spool/job.h"

/* What cupsd says, as the table sees it: UNKNOWN means three things. */
enum row {
  ROW_OTHER_QUEUE,
  ROW_NOT_OURS,
  ROW_CHANGED,
  ROW_CANCELED,
  ROW_OVER,
  ROW_ACTIVE,
  ROW_HELD,
  ROW_HIDDEN,
  ROW_NONE,
  ROW_SILENT, /* hidden, or no answer, after it was canceled */
  ROW_LOST,   /* unknown; nobody but a cupsd that is gone ever knew it */
  ROW_UNKNOWN,
  ROW_COUNT
};

/* clang-format off */
#define SEND DX_MAY_SEND
#define WAIT DX_MAY_WAIT
#define STOP DX_MAY_CANCEL
#define ASK DX_MAY_ASK

/*
 * Once a backend has left and the print job was over, nothing that cupsd says
 * makes a difference: what a person does to it then is about printing it again.
 * So LEFT means here: left, and not over yet.
 */
static const enum dx_permission table[ROW_COUNT][DX_BACKEND_COUNT] = {
  /*                   NONE  ATTENDS LEFT  ENDED BROKEN */
  [ROW_OTHER_QUEUE] = {SEND, WAIT,   SEND, WAIT, WAIT},
  [ROW_NOT_OURS]    = {SEND, STOP,   STOP, STOP, STOP},
  [ROW_CHANGED]     = {SEND, ASK,    ASK,  ASK,  ASK},
  [ROW_CANCELED]    = {SEND, STOP,   STOP, STOP, STOP},
  [ROW_OVER]        = {SEND, SEND,   SEND, SEND, SEND}, /* nobody else will */
  [ROW_ACTIVE]      = {SEND, SEND,   SEND, WAIT, WAIT}, /* a backend comes */
  [ROW_HELD]        = {SEND, WAIT,   WAIT, WAIT, WAIT},
  [ROW_HIDDEN]      = {SEND, SEND,   SEND, WAIT, WAIT},
  [ROW_NONE]        = {SEND, SEND,   SEND, WAIT, WAIT},
  [ROW_SILENT]      = {SEND, WAIT,   WAIT, WAIT, WAIT},
  [ROW_LOST]        = {SEND, SEND,   SEND, ASK,  SEND},
  [ROW_UNKNOWN]     = {SEND, ASK,    SEND, ASK,  ASK},
};

static const enum row rows[DX_ANSWER_COUNT] = {
  [DX_ANSWER_OTHER_QUEUE] = ROW_OTHER_QUEUE,
  [DX_ANSWER_NOT_OURS]    = ROW_NOT_OURS,
  [DX_ANSWER_CHANGED]     = ROW_CHANGED,
  [DX_ANSWER_CANCELED]    = ROW_CANCELED,
  [DX_ANSWER_OVER]        = ROW_OVER,
  [DX_ANSWER_ACTIVE]      = ROW_ACTIVE,
  [DX_ANSWER_HELD]        = ROW_HELD,
  [DX_ANSWER_HIDDEN]      = ROW_HIDDEN,
  [DX_ANSWER_NONE]        = ROW_NONE,
  [DX_ANSWER_UNKNOWN]     = ROW_UNKNOWN,
};
/* clang-format on */

static bool is_unclear(enum dx_answer answer)
{
  return answer == DX_ANSWER_HIDDEN || answer == DX_ANSWER_NONE;
}

static enum row row_of(const struct dx_permission_facts *facts)
{
  if (is_unclear(facts->answer) && facts->final == DX_FINAL_CANCELED)
    return ROW_SILENT;
  if (facts->answer != DX_ANSWER_UNKNOWN)
    return rows[facts->answer];
  if (facts->final == DX_FINAL_CANCELED)
    return ROW_CANCELED;
  if (facts->final == DX_FINAL_OVER)
    return ROW_OVER;
  return facts->cupsd_gone && !facts->known_later ? ROW_LOST : ROW_UNKNOWN;
}

bool dx_permission_needs_answer(const struct dx_permission_facts *facts)
{
  switch (facts->backend) {
  case DX_BACKEND_NONE:
    return false;
  case DX_BACKEND_ATTENDS:
    return facts->cupsd_gone;
  case DX_BACKEND_LEFT:
    return facts->final != DX_FINAL_OVER;
  default:
    return true;
  }
}

/* A person's decision does not undo what cupsd says of another decision. */
static bool is_withdrawn(enum dx_answer answer)
{
  return answer == DX_ANSWER_CANCELED || answer == DX_ANSWER_NOT_OURS;
}

enum dx_permission dx_permission(const struct dx_permission_facts *facts)
{
  enum dx_permission may;

  if (facts->backend == DX_BACKEND_LEFT && facts->final == DX_FINAL_OVER)
    return DX_MAY_SEND;
  if (facts->answer == DX_ANSWER_NOT_ASKED)
    return dx_permission_needs_answer(facts) ? DX_MAY_WAIT : DX_MAY_SEND;
  if (facts->decided && !is_withdrawn(facts->answer))
    return DX_MAY_SEND;
  may = table[row_of(facts)][facts->backend];
  if (may == DX_MAY_WAIT && is_unclear(facts->answer) &&
      facts->unclear_for_ms >= DX_UNCLEAR_LIMIT_MS)
    return DX_MAY_ASK;
  return may;
}

/* ---- what is remembered ---- */

struct dx_permission_facts dx_print_facts(const struct dx_print *print,
                                          enum dx_answer answer,
                                          bool cupsd_gone, int64_t now_ms)
{
  return (struct dx_permission_facts){
      .answer = answer,
      .backend = print->backend,
      .final = print->final,
      .cupsd_gone = cupsd_gone,
      .known_later = print->known_later,
      .decided = print->decided,
      .unclear_for_ms = print->unclear_ms == 0 ? 0 : now_ms - print->unclear_ms,
  };
}

/* The last final answer after this one. */
static enum dx_final final_after(const struct dx_print *print,
                                 enum dx_answer answer)
{
  /* What follows is about printing it again. */
  if (print->backend == DX_BACKEND_LEFT && print->final == DX_FINAL_OVER)
    return DX_FINAL_OVER;
  if (is_withdrawn(answer))
    return DX_FINAL_CANCELED;
  if (answer == DX_ANSWER_OVER)
    return DX_FINAL_OVER;
  /* It runs again, which a person may withdraw. */
  if (answer == DX_ANSWER_ACTIVE || answer == DX_ANSWER_HELD ||
      answer == DX_ANSWER_OTHER_QUEUE)
    return DX_FINAL_NONE;
  return print->final;
}

bool dx_print_learn(struct dx_print *print, enum dx_answer answer,
                    bool cupsd_gone, int64_t now_ms)
{
  struct dx_print before = *print;

  if (answer == DX_ANSWER_NOT_ASKED || print->backend == DX_BACKEND_NONE)
    return false;
  print->final = final_after(print, answer);
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
DX_WORDS(final, DX_FINALS)
DX_WORDS(answer, DX_ANSWERS)
DX_BY_WORD(answer)
DX_WORDS(permission, DX_PERMISSIONS)

enum dx_answer dx_answer_of_state(enum dx_print_job_state state)
{
  static const enum dx_answer answers_of[DX_PJ_COUNT] = {
      [DX_PJ_NOBODY] = DX_ANSWER_NONE,
      [DX_PJ_HIDDEN] = DX_ANSWER_HIDDEN,
      [DX_PJ_UNKNOWN] = DX_ANSWER_UNKNOWN,
      [DX_PJ_WAITING] = DX_ANSWER_ACTIVE,
      [DX_PJ_HELD] = DX_ANSWER_HELD,
      [DX_PJ_CANCELED] = DX_ANSWER_CANCELED,
      [DX_PJ_OVER] = DX_ANSWER_OVER};

  return answers_of[state];
}
