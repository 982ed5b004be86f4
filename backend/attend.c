/*
 * attend.c - follows the job, which docextractd processes
 * (lib/control/channel.h), until it ends, or continues without this backend.
 * Because the chart is stored, a broken connection is retried without a limit.
 */
#include "backend/backend.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/control/channel.h"
#include "lib/control/connect.h"
#include "lib/print/print_job.h"

#ifndef DX_ALIVE_LIMIT_MS       /* tests build with a short one */
#define DX_ALIVE_LIMIT_MS 30000 /* without any line: docextractd hangs */
#endif
#define DX_QUEUE_LOOK_MS 2000   /* for another print job; until `leave` again */
#define DX_STUCK_LEAVE_MS 10000 /* without progress: frees the queue */

#define AGAIN_MS 1000          /* between two tries to connect */
#define AGAIN_VERSION_MS 10000 /* after a version mismatch */
/* Time without a connection before it is reported: longer than systemd needs to
 * restart the service (RestartSec) after a crash, restart, or upgrade. */
#define SILENT_MS 10000
#define ANSWER_MS 1000   /* for cupsd, and for docextractd, at the end */
#define ASK_QUEUE_MS 400 /* nothing is done meanwhile */

struct attend {
  struct backend *b;
  struct dx_channel channel;
  int64_t heard_ms;            /* monotonic: the last line */
  int64_t alive_ms;            /* monotonic: when to send `alive` again */
  int64_t broken_ms, again_ms; /* when it broke, next try */
  bool here;                   /* not all documents have been uploaded */
  int64_t stuck_ms;            /* monotonic: since when it cannot go on; 0 */
  bool is_rejected;            /* because of a rejection */
  bool leave;                  /* `leave` is wanted */
  int64_t leave_ms;            /* monotonic: when to consider it again */
  bool over;
  enum dx_code code; /* once it is over */
};

static bool is_connected(const struct attend *a)
{
  return a->channel.fd >= 0;
}

static void attend_finish(struct attend *a, enum dx_code code)
{
  a->over = true;
  a->code = code;
}

/* True if the cupsd that started us is gone. While it exists, it sends SIGTERM
 * when a user changes the print job. */
static bool is_orphan(const struct attend *a)
{
  return getppid() != a->b->cupsd;
}

/* ---- the connection ---- */

static void broke(struct attend *a, int64_t again_ms)
{
  dx_channel_close(&a->channel);
  a->channel = (struct dx_channel)DX_CHANNEL_NONE;
  a->leave_ms = 0;
  a->alive_ms = 0;
  if (a->broken_ms == 0)
    a->broken_ms = dx_monotonic_ms();
  a->again_ms = dx_monotonic_ms() + again_ms;
}

static void connect_again(struct attend *a)
{
  struct backend *b = a->b;
  struct dx_err err;
  struct stat st;
  enum dx_code code = dx_docextractd_connect(b->config, &a->channel, &err);

  if (code == DX_OK)
    code = dx_channel_send(&a->channel, &err, "attend %s %s", b->job->key,
                           b->job->print.run);
  if (code == DX_OK) {
    a->heard_ms = dx_monotonic_ms();
    a->broken_ms = 0;
    status_docextractd(NULL);
    return;
  }
  dx_log(DX_LOG_DEBUG, "docextractd: %s", err.text);
  broke(a, code == DX_E_STATE ? AGAIN_VERSION_MS : AGAIN_MS);
  if (code == DX_E_STATE && stat("/proc/self/exe", &st) == 0 &&
      st.st_nlink == 0) { /* upgraded: cupsd will run the new program */
    attend_finish(a, DX_E_STOPPED);
  } else if (code == DX_E_STATE || /* a restart is needed */
             dx_monotonic_ms() - a->broken_ms >= SILENT_MS) {
    status_docextractd(&err);
  }
}

/* So that docextractd notices if this backend hangs, and with it a SIGTERM. */
static void say_alive(struct attend *a)
{
  struct dx_err err;

  if (dx_monotonic_ms() < a->alive_ms)
    return;
  (void)dx_channel_send(&a->channel, &err, "alive");
  a->alive_ms = dx_monotonic_ms() + DX_ALIVE_MS;
}

/* ---- leaving ---- */

/* The service, or an administrator, keeps the chart waiting. */
static bool is_stuck(const struct attend *a)
{
  return a->stuck_ms != 0 &&
         dx_monotonic_ms() - a->stuck_ms >= DX_STUCK_LEAVE_MS;
}

/* Whether another print job may take the place of this one. With `extracted`,
 * only after a rejection: if it is about this chart, only another one can show
 * that. */
static bool may_make_room(const struct attend *a)
{
  if (a->b->conf->completion == DX_COMPLETION_AUTO)
    return !a->here || is_stuck(a);
  return is_stuck(a) && a->is_rejected;
}

/* Another print job waits, in the queue or in its class. */
static bool other_waits(const struct backend *b)
{
  const char *class = getenv("CLASS");

  return (b->queue != NULL &&
          dx_print_job_waits(b->queue, false, ASK_QUEUE_MS)) ||
         (class != NULL && *class != '\0' &&
          dx_print_job_waits(class, true, ASK_QUEUE_MS));
}

/* Repeats `leave` until `left`: docextractd ignores it until it has picked up
 * the job, and if it cannot write the journal. */
static void leave_if_wanted(struct attend *a)
{
  struct dx_err err;

  if (dx_monotonic_ms() < a->leave_ms)
    return;
  if (a->b->conf->completion == DX_COMPLETION_ACCEPTED ||
      (!a->leave && may_make_room(a) && other_waits(a->b)))
    a->leave = true;
  if (a->leave)
    (void)dx_channel_send(&a->channel, &err, "leave");
  a->leave_ms = dx_monotonic_ms() + DX_QUEUE_LOOK_MS;
}

/* ---- messages of docextractd ---- */

static void attend_keep_sentence(struct backend *b,
                                 const struct dx_message *message)
{
  (void)snprintf(b->sentence, sizeof(b->sentence), "%s", message->text);
}

/* Whether the problem is one of the service, or of the installation. */
static void note_stuck(struct attend *a, enum dx_note_kind kind)
{
  bool is_problem = kind == DX_NOTE_DOWN || kind == DX_NOTE_UNEXPECTED ||
                    kind == DX_NOTE_PAUSED || kind == DX_NOTE_ADMIN;

  a->is_rejected = kind == DX_NOTE_ADMIN;
  if (!is_problem)
    a->stuck_ms = 0;
  else if (a->stuck_ms == 0)
    a->stuck_ms = dx_monotonic_ms();
}

static void attend_on_message(struct attend *a,
                              const struct dx_message *message)
{
  struct backend *b = a->b;
  struct dx_note note;
  struct dx_err err;
  bool here;
  int64_t n;

  switch (message->verb) {
  case DX_VERB_NOTE:
    if (dx_note_parse(message, &note, &here, &err) != DX_OK) {
      dx_log(DX_LOG_WARNING, "%s: %s", dx_code_name(err.code), err.text);
      break;
    }
    if (a->here && !here)
      a->leave_ms = 0; /* another print job may be waiting */
    a->here = here;
    note_stuck(a, note.kind);
    status_note(&note, a->here);
    if (note.kind == DX_NOTE_OVERDUE)
      b->overdue = a->leave = true;
    break;
  case DX_VERB_ALIVE:
    break;
  case DX_VERB_SENTENCE:
    attend_keep_sentence(b, message);
    break;
  case DX_VERB_FAILURES:
    if (dx_message_number(message, 0, &n) && n > 0)
      b->failures = (size_t)n;
    if (dx_message_number(message, 1, &n) && n > 0)
      b->undecided = (size_t)n;
    break;
  case DX_VERB_LEFT:
    b->left = true;
    b->sent = !a->here;
    b->stuck = is_stuck(a);
    attend_finish(a, DX_OK);
    break;
  case DX_VERB_END:
    attend_finish(a, dx_message_outcome(message, &b->outcome));
    break;
  case DX_VERB_GONE: /* a newer run has the job */
    attend_finish(a, DX_E_STOPPED);
    break;
  default: /* `error`: docextractd cannot follow the job now */
    dx_log(DX_LOG_DEBUG, "docextractd: %s", message->text);
    broke(a, AGAIN_MS);
  }
}

/* ---- the end ---- */

/* If the print job was moved, docextractd queries cupsd itself, because it can
 * identify the other printer. */
static enum dx_answer ask_cupsd(const struct backend *b)
{
  struct dx_print_job job;

  dx_print_job_ask(b->job_id, b->uuid, b->user, ANSWER_MS, NULL, &job);
  if (dx_print_job_is_known(&job) && job.queue[0] != '\0' &&
      (b->queue == NULL || job.is_class || strcmp(job.queue, b->queue) != 0))
    return DX_ANSWER_NOT_ASKED;
  return job.answer;
}

/* First of all: from then on, nothing is sent. */
static void say_stopping(struct attend *a)
{
  struct dx_err err;

  if (is_connected(a))
    (void)dx_channel_send(&a->channel, &err, "stopping");
}

/* Sends `ended`, and waits for the response, with the sentence for the print
 * job. If the connection breaks, docextractd asks cupsd instead. */
static void say_ended(struct attend *a, enum dx_answer answer)
{
  int64_t until_ms = dx_monotonic_ms() + ANSWER_MS;
  struct dx_message message;
  struct dx_err err;
  int64_t left_ms;

  if (!is_connected(a) || dx_channel_send(&a->channel, &err, "ended %s",
                                          dx_answer_word(answer)) != DX_OK)
    return;
  while ((left_ms = until_ms - dx_monotonic_ms()) > 0 &&
         dx_channel_await(&a->channel, (int)left_ms, &message, &err) == DX_OK &&
         message.verb != DX_VERB_GONE)
    if (message.verb == DX_VERB_SENTENCE)
      attend_keep_sentence(a->b, &message);
}

/* Waits for the next event, and handles it. */
static void take_turn(struct attend *a)
{
  struct pollfd fds[2] = {{.fd = term_wake_fd(), .events = POLLIN},
                          {.events = POLLIN}};
  struct dx_message message;
  struct dx_err err;
  enum dx_code code = DX_OK;
  int64_t wait_ms;

  if (is_orphan(a)) /* the connection breaks, and docextractd asks cupsd */
    attend_finish(a, DX_E_STOPPED);
  else if (!is_connected(a) && dx_monotonic_ms() >= a->again_ms)
    connect_again(a);
  if (is_connected(a) && !a->over) {
    say_alive(a);
    leave_if_wanted(a);
  }
  wait_ms = (is_connected(a) ? a->leave_ms : a->again_ms) - dx_monotonic_ms();
  if (dx_channel_is_behind(&a->channel))
    fds[1].events |= POLLOUT;
  fds[1].fd = a->channel.fd;
  if (!a->over)
    (void)poll(fds, 2, wait_ms > 0 ? (int)wait_ms : 0);
  if (is_connected(a))
    dx_channel_flush(&a->channel);
  while (!a->over && is_connected(a) && code == DX_OK) {
    code = dx_channel_read(&a->channel, &message, &err);
    if (code == DX_OK) {
      a->heard_ms = dx_monotonic_ms();
      attend_on_message(a, &message);
    } else if (code != DX_E_NOT_YET ||
               dx_monotonic_ms() - a->heard_ms >= DX_ALIVE_LIMIT_MS) {
      dx_log(DX_LOG_DEBUG, "docextractd: %s", err.text);
      broke(a, AGAIN_MS);
    }
  }
  status_tick();
}

enum dx_code backend_attend(struct backend *b, struct dx_err *err)
{
  struct attend a = {.b = b, .channel = DX_CHANNEL_NONE, .here = true};

  status_say("INFO", "%s", DX_SAY_HERE);
  while (!a.over && !term_came())
    take_turn(&a);
  if (term_came() && (!a.over || b->left)) {
    b->left = false;
    say_stopping(&a);
    say_ended(&a, ask_cupsd(b));
    a.code = dx_fail(&b->outcome, DX_E_STOPPED, 0, "stopped");
  } else if (a.code != DX_OK && b->sentence[0] == '\0' && !is_orphan(&a)) {
    say_ended(&a, DX_ANSWER_NOT_ASKED);
  }
  dx_channel_close(&a.channel);
  *err = b->outcome;
  return a.code;
}
