/*
 * model_one.c - the life of one document with everything that may touch it:
 * cupsd, which may be killed, may not have saved what it knew, may keep no
 * history, or hide the job; its backends, one of which may outlive it; and
 * docextractd. Users hold, release, move, cancel, purge, print again, and
 * decide. Another document of the print job may have failed, so that CUPS holds
 * the print job while this one goes on. The service may never finish. Faults:
 * SIGKILL (and OOM) of each of them, a backend that hangs, a directory that
 * cannot be fsynced, a power cut.
 *
 * What decides runs here as it runs in docextractd: permission.c, state.c,
 * merge.c (its plan), retention.c. A full disk is a step that does not happen,
 * and every step may not happen.
 *
 * Each wrong version of these functions must be found, by the invariant that it
 * breaks. With an argument the bounds are larger: for the long tests.
 *
 * Not modeled: a backend that is killed before it has stored the document
 * (cupsd then calls the job completed, and no other process has seen it); two
 * receipts at the same time. What stays possible (doc/policy.md) is listed in
 * cannot_know().
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/words.h"
#include "lib/spool/job.h"
#include "lib/spool/merge.h"
#include "lib/spool/permission.h"
#include "lib/spool/retention.h"
#include "tests/model/walk.h"

/* ---- what is tried ---- */

static const struct rules {
  enum dx_answer (*answer)(enum dx_answer, enum dx_place);
  enum dx_permission (*permission)(const struct dx_permission_facts *);
  bool (*learn)(struct dx_print *, enum dx_answer, bool, int64_t);
  void (*begin)(struct dx_print *);
  enum dx_code (*next)(enum dx_state, enum dx_event, enum dx_state *,
                       struct dx_err *);
  enum dx_merge_action (*plan)(const struct dx_merge_facts *);
  enum dx_retention (*retention)(const struct dx_retention_facts *);
  bool (*keeps)(enum dx_state, bool);
  bool drops_older; /* dx_job_merge(): of two backends the newest wins */
  bool never_holds; /* the backend stays if another document has failed */
} right = {dx_answer_at,  dx_permission, dx_print_learn, dx_print_begin,
           dx_state_next, dx_merge_plan, dx_retention,   dx_permission_keeps,
           true,          false};

static struct rules rules;

/* ---- the state ---- */

/* STALE: over, but reported as pending and not listed, because cupsd was killed
 * after it had written its list and before the job's own record. */
enum { ABSENT, PENDING, RUNNING, HELD, CANCELED, OVER, STALE };
/* Where the job is; CHANGED: in OURS, which was given a printer's URI. */
enum { OURS, OTHER, CHANGED, PAPER };
enum { NOWHERE, RECEIVES, ATTENDS, LEAVES, HOLDS }; /* a backend */
enum { NO_SOURCE, EMPTY, FED, DONE, FAILED };       /* the service's */
enum { CLEAR, UNCLEAR, UNCLEAR_FOR_A_DAY };
/* SIGTERM: a backend has got it, and docextractd has heard so. */
enum { NO_TERM, SIGNALED, STOPPING };
enum { WANTED, THERE, HERE };  /* withdrawn: in cupsd, with docextract */
enum { YOUNG, OLD, VERY_OLD }; /* KeepJobs, KeepUnfinished have passed */

struct journal {
  uint8_t exists, st, put, run, queue, gone;
  uint8_t backend, final, later, decided, undecided, unclear;
};

struct receipt {
  uint8_t exists, durable, run, queue, gone;
  uint8_t merged; /* the journal has it already */
};

struct backend {
  uint8_t at, child, term, hung, queue;
  uint8_t cut; /* not connected to docextractd */
};

struct state {
  /* cupsd */
  uint8_t job, saved, place, hidden, history, cupsd_is_up;
  /* how many user actions and faults are left: walk.h, budgets */
  uint8_t acts, kills, unsynced, cuts, refusals;
  struct backend b[2];
  struct receipt receipt;
  struct journal seen,
      durable; /* as all processes read it; after a power failure */
  uint8_t daemon_is_up, age;
  uint8_t mixed;  /* another document of the print job has failed */
  uint8_t source; /* that the journal knows, or may know */
  uint8_t stray;  /* one that is forgotten has the bytes, and may give a
                     result */
  /* the truth */
  uint8_t withdrawn; /* the user does not want it */
  uint8_t told;      /* and docextractd was told */
  uint8_t told_once; /* the same, of this run, whatever came later */
  uint8_t promised;  /* cupsd was told that it is done */
  uint8_t extracted;
};

#define IF_FAULT(budget, statement) \
  do {                              \
    if (s.budget > 0) {             \
      struct state then = s;        \
      then.budget--;                \
      walk_faults(true);            \
      statement;                    \
      walk_faults(false);           \
    }                               \
  } while (0)

static void print_state(const void *p)
{
  static const char *const finals[] = {DX_FINALS(DX_WORD_OF_ROW)};
  const struct state *s = p;

  (void)fprintf(
      stderr,
      "job %d/%d at %d%s%s%s%s; b %d%s%s%s%s %d%s%s%s%s; receipt %d run "
      "%d; journal %d %s put %d run %d %s%s final %s%s%s%s unclear "
      "%d; durable %d %s; daemon %d age %d source %d stray %d;%s%s%s\n",
      s->job, s->saved, s->place, s->mixed ? " mixed" : "",
      s->hidden ? " hidden" : "", s->history ? "" : " no history",
      s->cupsd_is_up ? "" : " DOWN", s->b[0].at, s->b[0].child ? "c" : "",
      s->b[0].term ? "t" : "", s->b[0].hung ? "h" : "", s->b[0].cut ? "x" : "",
      s->b[1].at, s->b[1].child ? "c" : "", s->b[1].term ? "t" : "",
      s->b[1].hung ? "h" : "", s->b[1].cut ? "x" : "", s->receipt.exists,
      s->receipt.run, s->seen.exists, dx_state_word((enum dx_state)s->seen.st),
      s->seen.put, s->seen.run,
      dx_backend_word((enum dx_backend)s->seen.backend),
      s->seen.gone ? " gone" : "", finals[s->seen.final],
      s->seen.later ? " later" : "", s->seen.decided ? " decided" : "",
      s->seen.undecided ? " undecided" : "", s->seen.unclear, s->durable.exists,
      dx_state_word((enum dx_state)s->durable.st), s->daemon_is_up, s->age,
      s->source, s->stray, s->withdrawn ? " withdrawn" : "",
      s->told ? " told" : "", s->promised ? " promised" : "");
}

/* ---- the journal ---- */

static struct dx_print print_of(const struct journal *j)
{
  return (struct dx_print){
      .backend = (enum dx_backend)j->backend,
      .final = (enum dx_final)j->final,
      .known_later = j->later,
      .decided = j->decided,
      .undecided = j->undecided,
      .unclear_ms = j->unclear == CLEAR ? 0 : 1,
  };
}

static void set_print(struct journal *j, const struct dx_print *print)
{
  j->backend = (uint8_t)print->backend;
  j->final = (uint8_t)print->final;
  j->later = print->known_later;
  j->decided = print->decided;
  j->undecided = print->undecided;
  if (print->unclear_ms == 0)
    j->unclear = CLEAR;
  else if (j->unclear == CLEAR)
    j->unclear = UNCLEAR;
}

static void apply(struct state *s, enum dx_event event)
{
  enum dx_state to;

  if (rules.next((enum dx_state)s->seen.st, event, &to, NULL) != DX_OK) {
    walk_broken("an event that the table does not list");
    return;
  }
  if (event == DX_EV_CANCEL && !s->withdrawn)
    walk_broken("canceled while wanted");
  if (event == DX_EV_EXPIRE && s->age != VERY_OLD)
    walk_broken("expired early");
  s->seen.st = (uint8_t)to;
  if (to == DX_ST_STORED)
    s->seen.put = DX_PUT_NONE;
}

/* Two outcomes: written, or renamed and not synced. */
static void save(struct state s)
{
  s.age = YOUNG;
  IF_FAULT(unsynced, walk_reach(&then));
  s.durable = s.seen;
  walk_reach(&s);
}

static bool is_final(const struct state *s)
{
  return dx_state_is_final((enum dx_state)s->seen.st);
}

/* ---- cupsd ---- */

static enum dx_place place_of(const struct state *s)
{
  if (s->place == PAPER || (s->place == CHANGED && s->seen.queue == OTHER))
    return DX_PLACE_NOT_OURS;
  if (s->place == CHANGED)
    return DX_PLACE_CHANGED;
  return s->place == s->seen.queue ? DX_PLACE_SAME : DX_PLACE_OTHER;
}

static enum dx_answer answer_of(const struct state *s)
{
  static const enum dx_answer answers[] = {
      [PENDING] = DX_ANSWER_ACTIVE, [RUNNING] = DX_ANSWER_ACTIVE,
      [HELD] = DX_ANSWER_HELD,      [CANCELED] = DX_ANSWER_CANCELED,
      [OVER] = DX_ANSWER_OVER,      [STALE] = DX_ANSWER_OVER};

  if (!s->cupsd_is_up)
    return DX_ANSWER_NONE;
  if (s->job == ABSENT)
    return DX_ANSWER_UNKNOWN;
  return s->hidden ? DX_ANSWER_HIDDEN
                   : rules.answer(answers[s->job], place_of(s));
}

static bool is_withdrawal(enum dx_answer answer)
{
  return answer == DX_ANSWER_CANCELED || answer == DX_ANSWER_NOT_OURS;
}

static void end_job(struct state *s, uint8_t job)
{
  s->job = s->history ? job : ABSENT;
}

/* What cupsd makes of the end of a backend. */
static void backend_gone(struct state *s, int i, uint8_t job)
{
  if (s->b[i].child && s->job == RUNNING) {
    if (job == OVER) {
      end_job(s, OVER);
      s->promised = s->durable.exists || s->receipt.durable;
    } else {
      s->job = job;
    }
  }
  memset(&s->b[i], 0, sizeof(s->b[i]));
}

static void stop_child(struct state *s)
{
  int i;

  for (i = 0; i < 2; i++)
    if (s->b[i].child && s->b[i].term == NO_TERM)
      s->b[i].term = SIGNALED;
}

/* It was printed again after a cancel, with no query to cupsd in between. */
static void forgotten(struct state *s)
{
  if (s->job == ABSENT && s->told_once)
    s->withdrawn = THERE;
  if (s->job != ABSENT && s->place == PAPER) /* whatever was decided here */
    s->withdrawn = THERE;
  if (s->job == CANCELED)
    s->withdrawn = THERE;
}

static void cupsd_away(struct state *s)
{
  s->cupsd_is_up = 0;
  s->b[0].child = s->b[1].child = 0;
  s->receipt.gone = s->receipt.exists;
  s->seen.gone = s->seen.exists;
  s->durable.gone = s->durable.exists;
  /* cupsd lost the cancellation, and no other process has recorded it. */
  if (s->withdrawn == THERE && s->saved != ABSENT && s->saved != CANCELED &&
      s->place != PAPER)
    s->withdrawn = s->told = 0;
  s->job = s->saved;
  forgotten(s);
}

static void cupsd_steps(struct state s)
{
  struct state next = s;
  int i;

  if (!s.cupsd_is_up) {
    next.cupsd_is_up = 1;
    walk_reach(&next);
    return;
  }
  next.saved = s.job == RUNNING ? PENDING : s.job;
  walk_reach(&next);
  for (i = 0; i < 2 && s.job == PENDING; i++)
    if (s.b[i].at == NOWHERE && s.place < CHANGED && !s.b[1 - i].child) {
      next = s;
      next.job = RUNNING;
      next.b[i] =
          (struct backend){.at = RECEIVES, .child = 1, .queue = s.place};
      walk_reach(&next);
      break;
    }
  if (s.job == PENDING && s.place >= CHANGED) {
    next = s;
    end_job(&next, OVER);
    walk_reach(&next);
  }
  IF_FAULT(kills, {
    cupsd_away(&then);
    walk_reach(&then);
    if (s.job == OVER && s.saved == PENDING) {
      then.job = then.saved = STALE;
      walk_reach(&then);
    }
  });
  IF_FAULT(kills, { /* stopped: it saves everything, and its backends end */
                    if (then.job == RUNNING)
                      then.job = PENDING;
                    then.saved = then.job;
                    stop_child(&then);
                    cupsd_away(&then);
                    walk_reach(&then);
  });
}

/* ---- user actions ---- */

static bool is_open(const struct state *s)
{
  return s->job == PENDING || s->job == RUNNING || s->job == HELD;
}

static void withdraw(struct state *s)
{
  s->withdrawn = THERE;
  s->told = 0;
}

static void in_cupsd(struct state s)
{
  bool open = is_open(&s);

  if (open)
    IF_FAULT(acts, {
      withdraw(&then);
      stop_child(&then);
      end_job(&then, CANCELED);
      walk_reach(&then);
    });
  if (s.job != ABSENT)
    IF_FAULT(acts, { /* purged */
                     if (open)
                       withdraw(&then);
                     stop_child(&then);
                     then.job = then.saved = ABSENT;
                     forgotten(&then);
                     walk_reach(&then);
    });
  if (s.job == PENDING || s.job == RUNNING)
    IF_FAULT(acts, {
      stop_child(&then);
      then.job = HELD;
      walk_reach(&then);
    });
  if (s.job == HELD || s.job == OVER || s.job == CANCELED)
    IF_FAULT(acts, { /* released, or printed again */
                     then.withdrawn = then.told = 0;
                     then.place = s.place == PAPER ? OURS : s.place;
                     then.job = PENDING;
                     walk_reach(&then);
    });
  if (open && s.place == OURS)
    IF_FAULT(acts, {
      stop_child(&then);
      then.job = s.job == RUNNING ? PENDING : s.job;
      then.place = OTHER;
      walk_reach(&then);
      then.place = PAPER;
      withdraw(&then);
      walk_reach(&then);
    });
  /* Its queue gets another device URI, or its own again. cupsd stops a running
   * job first, as for a hold; of a hidden one, the queue is hidden, too. */
  if ((s.job == PENDING || s.job == HELD) && !s.hidden &&
      (s.place == OURS || s.place == CHANGED))
    IF_FAULT(acts, {
      then.place = s.place == OURS ? CHANGED : OURS;
      walk_reach(&then);
    });
}

static void with_docextract(struct state s)
{
  enum dx_state st = (enum dx_state)s.seen.st;

  /* A run that has just begun is another decision. */
  if (!s.daemon_is_up || !s.seen.exists || st == DX_ST_EXTRACTED ||
      s.receipt.exists || s.b[0].at == RECEIVES || s.b[1].at == RECEIVES)
    return;
  if (st != DX_ST_CANCELED && st != DX_ST_EXPIRED && s.job != PENDING)
    IF_FAULT(acts, {
      if (!s.withdrawn)
        then.withdrawn = HERE;
      apply(&then, DX_EV_CANCEL);
      save(then);
    });
  IF_FAULT(acts, {
    if (!is_final(&s)) {
      if (s.job == ABSENT || (s.job != CANCELED &&
                              s.place != PAPER)) /* cupsd's word counts more */
        then.withdrawn = 0;
      then.told = 0; /* that was before */
      then.seen.decided = 1;
      save(then);
    }
  });
}

/* ---- the backends ---- */

/* It ends with status 0: some process must have the document. */
static void promise(struct state *s)
{
  if (!s->durable.exists && !s->receipt.durable)
    walk_broken("completed, but not stored");
}

static bool is_last_run(const struct state *s, int i)
{
  return s->seen.exists && s->seen.run == i &&
         s->seen.backend != DX_BACKEND_ENDED;
}

static void daemon_gone(struct state *s)
{
  s->daemon_is_up = 0;
  s->b[0].cut = s->b[0].at != NOWHERE;
  s->b[1].cut = s->b[1].at != NOWHERE;
}

/* After SIGTERM: asks cupsd, and says so, if docextractd is there. */
static void attending_ends(struct state s, int i)
{
  struct dx_print print = print_of(&s.seen);
  enum dx_answer answer = answer_of(&s);
  struct state next = s;

  backend_gone(&next, i, PENDING);
  if (s.b[i].term == STOPPING && !s.b[i].cut && is_last_run(&s, i)) {
    if (s.seen.backend != DX_BACKEND_LEFT && s.seen.backend != DX_BACKEND_HELD)
      print.backend = DX_BACKEND_ENDED;
    (void)rules.learn(&print, answer, s.seen.gone, 1);
    set_print(&next.seen, &print);
    if (is_withdrawal(answer))
      next.told_once = 1;
    next.told |= s.withdrawn && is_withdrawal(answer);
    save(next);
  } else if (!s.daemon_is_up || s.seen.exists) {
    walk_reach(&next);
  }
}

static void attending(struct state s, int i)
{
  struct state next = s;

  if (s.receipt.exists && s.receipt.run == i)
    return;            /* not picked up yet */
  if (!s.b[i].child) { /* it notices that its cupsd has ended */
    backend_gone(&next, i, OVER);
    walk_reach(&next);
    next = s;
  }
  if (s.b[i].term == SIGNALED && !s.b[i].cut && is_last_run(&s, i)) {
    next.b[i].term = STOPPING; /* first of all */
    walk_reach(&next);
    return;
  }
  if (s.b[i].term) {
    attending_ends(s, i);
    return;
  }
  if (!s.daemon_is_up)
    return;
  if (s.b[i].cut) {
    next.b[i].cut = 0;
    walk_reach(&next);
    return;
  }
  if (!is_last_run(&s, i)) { /* a newer run has it */
    backend_gone(&next, i, OVER);
    walk_reach(&next);
    return;
  }
  if (is_final(&s)) {
    bool is_good = s.seen.st == DX_ST_EXTRACTED && !s.mixed;

    if (is_good)
      promise(&next);
    backend_gone(&next, i,
                 is_good || s.seen.st == DX_ST_CANCELED ? OVER : HELD);
    walk_reach(&next);
    return;
  }
  if (s.mixed && rules.never_holds)
    return;
  next.seen.backend = s.mixed ? DX_BACKEND_HELD : DX_BACKEND_LEFT;
  next.durable = next.seen; /* acknowledged only then */
  IF_FAULT(kills, {         /* before it is acknowledged: it asks again */
                    then.seen = then.durable = next.seen;
                    daemon_gone(&then);
                    walk_reach(&then);
  });
  next.b[i].at = s.mixed ? HOLDS : LEAVES;
  walk_reach(&next);
}

static void received(struct state s, int i)
{
  struct state next = s;

  if (s.b[i].term) {
    backend_gone(&next, i, PENDING);
    walk_reach(&next);
  } else if (!s.receipt.exists) {
    next.b[i].at = ATTENDS;
    next.receipt = (struct receipt){.exists = 1,
                                    .run = (uint8_t)i,
                                    .queue = s.b[i].queue,
                                    .gone = !s.b[i].child};
    if (s.unsynced > 0) {
      next.unsynced--;
      walk_faults(true);
      walk_reach(&next);
      walk_faults(false);
      next.unsynced++;
    }
    next.receipt.durable = 1;
    walk_reach(&next);
  }
}

static void backend_steps(struct state s, int i)
{
  struct state next = s;

  if (s.b[i].at == NOWHERE)
    return;
  if (s.b[i].hung) { /* until it comes to itself, or is killed */
    next.b[i].hung = 0;
    walk_reach(&next);
    return;
  }
  if (s.b[i].at == RECEIVES)
    received(s, i);
  else if (s.b[i].at == ATTENDS)
    attending(s, i);
  else if (s.b[i].at == HOLDS) {
    backend_gone(&next, i, HELD);
    walk_reach(&next);
  } else {
    promise(&next);
    backend_gone(&next, i, OVER);
    walk_reach(&next);
  }
  if (s.b[i].at == HOLDS)
    IF_FAULT(kills, {
      backend_gone(&then, i, OVER);
      walk_reach(&then);
    });
  if (s.b[i].at == ATTENDS)
    IF_FAULT(kills, {
      backend_gone(&then, i, OVER); /* so says cupsd */
      walk_reach(&then);
      then = s;
      then.kills--;
      then.b[i].hung = 1;
      walk_reach(&then);
    });
}

/* ---- docextractd ---- */

static void pick_up(struct state s)
{
  struct journal fresh = {.exists = 1,
                          .st = DX_ST_STORED,
                          .run = s.receipt.run,
                          .queue = s.receipt.queue,
                          .gone = s.receipt.gone};
  bool failed = s.seen.st == DX_ST_FAILED || s.seen.st == DX_ST_EXPIRED;
  struct dx_merge_facts facts = {
      .known = s.seen.exists,
      .state = (enum dx_state)s.seen.st,
      .verify = failed && s.seen.put != DX_PUT_NONE,
      .uploaded = s.seen.put != DX_PUT_NONE,
      .same_places = true,
      .same_content = true,
  };
  struct dx_print print = {.backend = DX_BACKEND_ATTENDS};
  bool was_mixed;

  if (s.seen.exists && s.receipt.gone && !s.seen.gone && rules.drops_older) {
    memset(&s.receipt, 0, sizeof(s.receipt));
    walk_reach(&s);
    return;
  }
  if (s.receipt.merged) { /* repeated: only the rest */
    s.durable = s.seen;
    memset(&s.receipt, 0, sizeof(s.receipt));
    walk_reach(&s);
    return;
  }
  s.told = s.told_once = 0; /* about another run */
  switch (rules.plan(&facts)) {
  case DX_MERGE_TAKE:
    /* After a cancel by the user, this is an explicit decision. */
    if (s.seen.exists && s.seen.st != DX_ST_CANCELED &&
        (s.source == FED || s.source == DONE))
      s.stray = 1;
    else if (s.seen.st == DX_ST_CANCELED)
      s.stray = s.extracted = 0;
    s.source = NO_SOURCE;
    break;
  case DX_MERGE_VERIFY:
    apply(&s, DX_EV_VERIFY);
    fresh.st = s.seen.st;
    fresh.put = s.seen.put;
    break;
  case DX_MERGE_KEEP:
    fresh.st = s.seen.st;
    fresh.put = s.seen.put;
    break;
  default:
    walk_broken("a merge that waits for ever");
    return;
  }
  if (s.withdrawn == HERE) /* that was about the run before */
    s.withdrawn = WANTED;
  if (s.seen.exists) {
    print = print_of(&s.seen);
    rules.begin(&print);
  }
  set_print(&fresh, &print);
  was_mixed = s.mixed && s.seen.exists;
  s.seen = fresh;
  s.age = YOUNG;
  IF_FAULT(unsynced, {
    then.receipt.merged = 1;
    walk_reach(&then);
  });
  s.durable = s.seen;
  memset(&s.receipt, 0, sizeof(s.receipt));
  walk_reach(&s);
  if (was_mixed) { /* the other document was tried again, too */
    s.mixed = 0;
    walk_reach(&s);
  }
}

/* Its backend has got SIGTERM, or its cupsd has ended, and it hangs or has not
 * said so yet. */
static bool is_unheard(const struct state *s, enum dx_backend column)
{
  return column == DX_BACKEND_ATTENDS &&
         (s->b[s->seen.run].term == SIGNALED || s->seen.gone);
}

/* The cases in which the state cannot be known, as listed in doc/policy.md. */
static bool cannot_know(const struct state *s, enum dx_backend column)
{
  bool says_nothing = !s->cupsd_is_up || s->hidden;

  /* Completed, and then printed again: only that was withdrawn. */
  if (column == DX_BACKEND_LEFT && s->seen.final == DX_FINAL_OVER)
    return true;
  if (s->told)
    return false;
  if (is_unheard(s, column))
    return true;
  if (s->seen.decided) /* decided to send, then to cancel */
    return says_nothing || s->job == ABSENT;
  /* It was over, and so wanted; printed again and purged before a question. */
  if (s->seen.final == DX_FINAL_OVER && s->job == ABSENT)
    return true;
  switch (column) {
  case DX_BACKEND_LEFT: /* canceled in the instant in which it left */
    return says_nothing || s->job == ABSENT;
  case DX_BACKEND_HELD: /* canceled, and cupsd does not say so any more */
    return says_nothing;
  case DX_BACKEND_ENDED:
    return false;
  default: /* purged between a crash of cupsd and the first question */
    return s->job == ABSENT && s->seen.gone && !s->seen.later;
  }
}

static void check_sending(const struct state *s, enum dx_backend column)
{
  bool says_nothing = !s->cupsd_is_up || s->hidden;

  if (s->withdrawn && !cannot_know(s, column))
    walk_broken("sent after it was withdrawn");
  if (is_unheard(s, column))
    return;
  if (s->job == HELD && !s->seen.decided && column != DX_BACKEND_NONE &&
      column != DX_BACKEND_HELD &&
      !(says_nothing &&
        (column == DX_BACKEND_ATTENDS || column == DX_BACKEND_LEFT)) &&
      !(column == DX_BACKEND_LEFT &&
        (s->seen.final == DX_FINAL_OVER || s->place != s->seen.queue)))
    walk_broken("sent while held");
  if (s->place == CHANGED && is_open(s) && !s->seen.decided &&
      !(says_nothing &&
        (column == DX_BACKEND_ATTENDS || column == DX_BACKEND_LEFT ||
         column == DX_BACKEND_HELD)) &&
      !(column == DX_BACKEND_LEFT && s->seen.final == DX_FINAL_OVER))
    walk_broken("sent although its queue was changed");
}

static void feed(struct state *s)
{
  if (s->extracted)
    walk_broken("extracted twice");
  if (s->stray || s->source == FED || s->source == DONE)
    walk_broken("a second source gets the bytes");
  s->source = FED;
}

static void send(struct state s, enum dx_backend column)
{
  check_sending(&s, column);
  if (s.seen.st == DX_ST_STORED) {
    apply(&s, DX_EV_ACCEPTED);
    s.stray |= s.source == FED || s.source == DONE;
    s.source = EMPTY;
    save(s);
    return;
  }
  s.seen.put = DX_PUT_SENDING;
  save(s); /* and killed before a byte has left */
  s.durable = s.seen;
  feed(&s);
  walk_reach(&s);
}

/* The column of the table: what journal and backend say together. */
static enum dx_backend column_of(const struct state *s)
{
  const struct backend *b = &s->b[s->seen.run];

  if (s->seen.backend != DX_BACKEND_ATTENDS &&
      s->seen.backend != DX_BACKEND_BROKEN)
    return (enum dx_backend)s->seen.backend;
  return b->at == ATTENDS && !b->cut ? DX_BACKEND_ATTENDS : DX_BACKEND_BROKEN;
}

/* Before a step that cannot be taken back: where the request leaves. */
static void ask(struct state s)
{
  struct dx_print print = print_of(&s.seen);
  enum dx_backend column = column_of(&s);
  enum dx_answer answer = DX_ANSWER_NOT_ASKED;
  struct dx_permission_facts facts = {
      .cupsd_gone = s.seen.gone && column != DX_BACKEND_ATTENDS,
      .now_ms = 1,
      .stopping =
          column == DX_BACKEND_ATTENDS && s.b[s.seen.run].term == STOPPING,
  };

  if (memcmp(&s.seen, &s.durable, sizeof(s.seen)) != 0) {
    save(s);
    return;
  }
  facts.print = print;
  facts.print.backend = column;
  if (dx_permission_needs_answer(&facts)) {
    answer = answer_of(&s);
    s.told_once |= is_withdrawal(answer);
    s.told |= s.withdrawn && is_withdrawal(answer);
    if (rules.learn(&print, answer, s.seen.gone, 1)) {
      set_print(&s.seen, &print);
      save(s); /* before anything follows from it */
      return;
    }
  }
  facts.print = print;
  facts.print.backend = column;
  facts.answer = answer;
  if (s.seen.unclear == UNCLEAR_FOR_A_DAY) {
    facts.print.unclear_ms = 1;
    facts.now_ms = 1 + DX_UNCLEAR_LIMIT_MS;
  }
  switch (rules.permission(&facts)) {
  case DX_MAY_SEND:
    s.seen.undecided = 0;
    send(s, column);
    break;
  case DX_MAY_CANCEL:
  case DX_MAY_CANCEL_UNSENT: /* it was to be sent */
    apply(&s, DX_EV_CANCEL);
    save(s);
    break;
  case DX_MAY_ASK:
    if (answer != DX_ANSWER_UNKNOWN && s.seen.unclear != UNCLEAR_FOR_A_DAY &&
        !(s.place == CHANGED && is_open(&s)))
      walk_broken("asked without need");
    if (s.seen.undecided)
      break;
    s.seen.undecided = 1;
    save(s);
    break;
  default:
    if (!s.seen.undecided)
      break;
    s.seen.undecided = 0;
    save(s);
    break;
  }
}

/* Now and then, while no backend attends: its print job may be canceled. */
static void watch(struct state s)
{
  struct dx_print print = print_of(&s.seen);
  enum dx_answer answer = answer_of(&s);
  struct dx_permission_facts facts = {
      .answer = answer, .cupsd_gone = s.seen.gone, .now_ms = 1};

  facts.print.backend = column_of(&s);
  if (is_final(&s) || facts.print.backend == DX_BACKEND_ATTENDS ||
      print.final != DX_FINAL_NONE || !is_withdrawal(answer))
    return;
  (void)rules.learn(&print, answer, s.seen.gone, 1);
  set_print(&s.seen, &print);
  facts.print.final = print.final;
  s.told_once = 1;
  s.told |= s.withdrawn;
  switch (rules.permission(&facts)) {
  case DX_MAY_CANCEL:
    if (facts.print.backend == DX_BACKEND_HELD && s.source == FED)
      walk_broken("canceled after it was sent");
    apply(&s, DX_EV_CANCEL);
    break;
  case DX_MAY_CANCEL_UNSENT:
    if (!rules.keeps((enum dx_state)s.seen.st, s.seen.put != DX_PUT_NONE)) {
      if (s.source == FED && s.seen.put != DX_PUT_NONE)
        walk_broken("canceled after it was sent");
      apply(&s, DX_EV_CANCEL);
    }
    break;
  default:
    break;
  }
  save(s);
}

/* The source is asked; what it says is not fsynced. */
static void poll(struct state s)
{
  struct state next = s;
  bool verify = s.seen.st == DX_ST_UPLOADED && s.source == EMPTY;

  if (s.source == DONE) {
    apply(&next, DX_EV_SEEN_COMPLETE);
    walk_reach(&next);
  } else if (s.source == FAILED) {
    apply(&next, DX_EV_SEEN_FAILED);
    next.source = NO_SOURCE;
    save(next);
  } else if (verify) { /* it never came, and its URL has expired */
    apply(&next, DX_EV_REREGISTER);
    next.source = NO_SOURCE;
    save(next);
  } else if (s.seen.st == DX_ST_REGISTERED) {
    apply(&next, DX_EV_PUT_ALL);
    next.seen.put = DX_PUT_DONE;
    walk_reach(&next);
  } else if (s.seen.st == DX_ST_UPLOADED) {
    apply(&next, DX_EV_SEEN_PROCESSING);
    walk_reach(&next);
  }
  IF_FAULT(refusals, { /* given up: the administrator's business */
                       apply(&then, DX_EV_FAIL);
                       save(then);
  });
}

static void drive(struct state s)
{
  switch ((enum dx_state)s.seen.st) {
  case DX_ST_STORED:
    ask(s);
    IF_FAULT(refusals, {
      apply(&then, DX_EV_FAIL);
      save(then);
    });
    return;
  case DX_ST_REGISTERED:
    if (s.source == EMPTY) /* an upload that may have landed did not */
      ask(s);
    else if (s.source == NO_SOURCE) /* lost by a power cut: it is unknown */
      walk_broken("a source is forgotten");
    else
      poll(s);
    return;
  case DX_ST_UPLOADED:
  case DX_ST_PROCESSING:
    poll(s);
    return;
  case DX_ST_COMPLETE:
    apply(&s, DX_EV_DELIVERED);
    s.extracted = 1;
    save(s);
    return;
  default:
    return;
  }
}

static enum dx_rerun rerun_of(const struct state *s)
{
  if (!s->cupsd_is_up || s->hidden)
    return DX_RERUN_UNKNOWN;
  return s->job == ABSENT ? DX_RERUN_NO : DX_RERUN_MAY;
}

static void sweep(struct state s)
{
  struct dx_retention_facts facts = {
      .finished = dx_state_is_settled((enum dx_state)s.seen.st),
      .idle_ms = s.age * 10,
      .keep_jobs_ms = 5,
      .keep_unfinished_ms = 15,
      .rerun = rerun_of(&s),
  };

  switch (rules.retention(&facts)) {
  case DX_RETENTION_EXPIRE:
    apply(&s, DX_EV_EXPIRE);
    save(s);
    break;
  case DX_RETENTION_REMOVE:
    if (s.job != ABSENT)
      walk_broken("removed, and its print job may run again");
    if (!is_final(&s) || s.age == YOUNG)
      walk_broken("removed early");
    memset(&s.seen, 0, sizeof(s.seen));
    memset(&s.durable, 0, sizeof(s.durable));
    s.source = NO_SOURCE;
    s.age = YOUNG;
    s.promised = 0;
    walk_reach(&s);
    break;
  default:
    break;
  }
}

static void time_passes(struct state s)
{
  struct state next = s;

  if (s.seen.unclear == UNCLEAR) {
    next.seen.unclear = next.durable.unclear = UNCLEAR_FOR_A_DAY;
    walk_reach(&next);
  }
  if (s.age < VERY_OLD && s.cupsd_is_up && s.b[0].at == NOWHERE &&
      s.b[1].at == NOWHERE) {
    next = s;
    next.age++;
    next.saved = s.job == RUNNING ? PENDING : s.job; /* long ago */
    walk_faults(true);                               /* no step waits for it */
    walk_reach(&next);
    walk_faults(false);
  }
}

static void daemon_steps(struct state s)
{
  struct state next = s;
  int i;

  if (!s.daemon_is_up) {
    next.daemon_is_up = 1;
    walk_reach(&next);
    return;
  }
  if (s.receipt.exists) {
    pick_up(s);
  } else if (s.seen.exists) {
    drive(s);
    watch(s);
    /* Days later: no run is left, and cupsd has saved everything. */
    if (s.b[0].at == NOWHERE && s.b[1].at == NOWHERE && s.saved == s.job) {
      walk_faults(true);
      sweep(s);
      walk_faults(false);
    }
    time_passes(s);
  }
  for (i = 0; i < 2; i++)
    if (s.b[i].at == ATTENDS && s.b[i].hung && !s.b[i].cut) {
      next = s; /* it was silent too long */
      next.b[i].cut = 1;
      walk_reach(&next);
    }
  IF_FAULT(kills, {
    daemon_gone(&then);
    walk_reach(&then);
  });
}

/* ---- everything ---- */

static void service_steps(struct state s)
{
  if (s.source == FED || s.stray) {
    struct state next = s;

    if (s.source == FED) {
      next.source = DONE;
      walk_faults(true); /* no step waits for it */
      walk_reach(&next);
      walk_faults(false);
    }
    IF_FAULT(refusals, {
      then.stray = 0;
      if (then.source == FED)
        then.source = FAILED;
      walk_reach(&then);
    });
  }
}

static void power_cut(struct state *s)
{
  memset(s->b, 0, sizeof(s->b));
  if (s->receipt.exists && !s->receipt.durable)
    memset(&s->receipt, 0, sizeof(s->receipt));
  /* A create that was not fsynced leaves a source that gets no files. */
  if (s->durable.st == DX_ST_STORED)
    s->source = NO_SOURCE;
  else if (s->source == NO_SOURCE && s->durable.exists)
    s->source = s->durable.put == DX_PUT_NONE ? EMPTY : FAILED;
  if (memcmp(&s->seen, &s->durable, sizeof(s->seen)) != 0) {
    s->receipt.merged = 0;
    s->told = 0; /* fsync failed, and then the power */
    if (s->withdrawn == HERE)
      s->withdrawn = WANTED;
  }
  s->seen = s->durable;
  cupsd_away(s);
  s->daemon_is_up = 0;
  if (s->promised && !s->seen.exists && !s->receipt.exists)
    walk_broken("lost by a power cut");
}

static void expand(const void *p)
{
  struct state s = *(const struct state *)p;

  cupsd_steps(s);
  backend_steps(s, 0);
  backend_steps(s, 1);
  daemon_steps(s);
  service_steps(s);
  if (s.cupsd_is_up)
    in_cupsd(s);
  with_docextract(s);
  IF_FAULT(cuts, {
    power_cut(&then);
    walk_reach(&then);
  });
}

/* The print job is over or held, and the document has ended, waits for the
 * user or the administrator, or is with the service, which may take long. */
static bool is_end(const void *p)
{
  const struct state *s = p;

  if (s->receipt.exists)
    return false;
  if (!s->seen.exists)
    return s->job != PENDING && s->job != RUNNING;
  if (is_final(s) || s->seen.undecided)
    return true;
  if (s->job == PENDING || s->job == RUNNING)
    return false;
  return s->source == FED ||
         (s->job == HELD &&
          (s->seen.backend != DX_BACKEND_HELD || s->place != s->seen.queue));
}

/* The number of user actions, and of each fault. */
struct bounds {
  uint8_t acts, kills, unsynced, cuts, refusals;
};

static const struct bounds few[] = {
    {2, 1, 0, 0, 0}, {1, 0, 0, 1, 1}, {1, 0, 1, 1, 0}};
static const struct bounds many[] = {
    {2, 1, 0, 1, 0}, {1, 1, 1, 1, 0}, {1, 2, 0, 0, 0}};
/* Enough to find what is wrong. */
static const struct bounds wrong_bounds[] = {
    {2, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {1, 0, 0, 0, 1}};
/* Enough to find that nothing follows, for which all states are visited. */
static const struct bounds stuck_bounds[] = {
    {1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 0, 0, 1}};
/* Canceled, released, and a cupsd that forgets. */
static const struct bounds begin_bounds[] = {
    {2, 0, 0, 1, 0}, {1, 0, 0, 0, 0}, {0, 0, 0, 1, 0}};
static const struct bounds *bounds = few;

static void begin(void)
{
  struct state s = {
      .job = PENDING, .saved = PENDING, .cupsd_is_up = 1, .daemon_is_up = 1};
  size_t i;

  for (i = 0; i < 3; i++) {
    s.acts = bounds[i].acts;
    s.kills = bounds[i].kills;
    s.unsynced = bounds[i].unsynced;
    s.cuts = bounds[i].cuts;
    s.refusals = bounds[i].refusals;
    s.history = 1;
    walk_reach(&s);
    s.hidden = 1;
    walk_reach(&s);
    s.hidden = s.history = 0;
    walk_reach(&s);
    s.saved = ABSENT; /* not saved yet */
    walk_reach(&s);
    s.saved = PENDING;
    s.mixed = s.history = 1;
    walk_reach(&s);
    s.hidden = s.acts == 1;
    walk_reach(&s);
    s.mixed = s.hidden = 0;
  }
}

static const struct walk model = {sizeof(struct state),
                                  offsetof(struct state, acts),
                                  5,
                                  begin,
                                  expand,
                                  is_end,
                                  print_state};

/* ---- wrong versions ---- */

static enum dx_answer places_other_first(enum dx_answer state,
                                         enum dx_place place)
{
  return place == DX_PLACE_OTHER ? DX_ANSWER_OTHER_QUEUE
                                 : dx_answer_at(state, place);
}

static enum dx_answer places_change_first(enum dx_answer state,
                                          enum dx_place place)
{
  return place == DX_PLACE_CHANGED ? DX_ANSWER_CHANGED
                                   : dx_answer_at(state, place);
}

static enum dx_answer places_state_first(enum dx_answer state,
                                         enum dx_place place)
{
  return state == DX_ANSWER_OVER ? state : dx_answer_at(state, place);
}

static enum dx_answer ignores_change(enum dx_answer state, enum dx_place place)
{
  return dx_answer_at(state, place == DX_PLACE_CHANGED ? DX_PLACE_SAME : place);
}

static enum dx_permission sends_unknown(const struct dx_permission_facts *facts)
{
  return facts->answer == DX_ANSWER_UNKNOWN ? DX_MAY_SEND
                                            : dx_permission(facts);
}

static enum dx_permission
sends_while_it_stops(const struct dx_permission_facts *facts)
{
  struct dx_permission_facts without = *facts;

  without.stopping = false;
  return dx_permission(&without);
}

static enum dx_permission sends_held(const struct dx_permission_facts *facts)
{
  return facts->answer == DX_ANSWER_HELD ? DX_MAY_SEND : dx_permission(facts);
}

static enum dx_permission
sends_without_cupsd(const struct dx_permission_facts *facts)
{
  return facts->answer == DX_ANSWER_NONE ? DX_MAY_SEND : dx_permission(facts);
}

static enum dx_permission asks_active(const struct dx_permission_facts *facts)
{
  return facts->answer == DX_ANSWER_ACTIVE ? DX_MAY_ASK : dx_permission(facts);
}

static enum dx_permission
waits_canceled(const struct dx_permission_facts *facts)
{
  return facts->answer == DX_ANSWER_CANCELED ? DX_MAY_WAIT
                                             : dx_permission(facts);
}

static enum dx_permission waits_over(const struct dx_permission_facts *facts)
{
  return facts->answer == DX_ANSWER_OVER ? DX_MAY_WAIT : dx_permission(facts);
}

static enum dx_permission cancels_over(const struct dx_permission_facts *facts)
{
  return facts->answer == DX_ANSWER_OVER ? DX_MAY_CANCEL : dx_permission(facts);
}

static enum dx_permission prints_paper(const struct dx_permission_facts *facts)
{
  return facts->answer == DX_ANSWER_NOT_OURS ? DX_MAY_SEND
                                             : dx_permission(facts);
}

static enum dx_permission never_asks(const struct dx_permission_facts *facts)
{
  enum dx_permission may = dx_permission(facts);

  return may == DX_MAY_ASK ? DX_MAY_WAIT : may;
}

static enum dx_permission forgets_final(const struct dx_permission_facts *facts)
{
  struct dx_permission_facts without = *facts;

  without.print.final = DX_FINAL_NONE;
  return dx_permission(&without);
}

/* As if a user had held the print job. */
static enum dx_permission held_as_ended(const struct dx_permission_facts *facts)
{
  struct dx_permission_facts other = *facts;

  if (facts->print.backend == DX_BACKEND_HELD &&
      facts->answer == DX_ANSWER_HELD)
    other.print.backend = DX_BACKEND_ENDED;
  return dx_permission(&other);
}

static enum dx_permission held_as_left(const struct dx_permission_facts *facts)
{
  struct dx_permission_facts other = *facts;

  if (facts->print.backend == DX_BACKEND_HELD)
    other.print.backend = DX_BACKEND_LEFT;
  return dx_permission(&other);
}

static enum dx_permission
sends_canceled_rest(const struct dx_permission_facts *facts)
{
  enum dx_permission may = dx_permission(facts);

  return may == DX_MAY_CANCEL_UNSENT ? DX_MAY_SEND : may;
}

static enum dx_permission
cancels_the_rest(const struct dx_permission_facts *facts)
{
  enum dx_permission may = dx_permission(facts);

  return may == DX_MAY_CANCEL_UNSENT ? DX_MAY_CANCEL : may;
}

static bool keeps_nothing(enum dx_state state, bool is_put)
{
  (void)state;
  (void)is_put;
  return false;
}

static bool learns_over_as_cancel(struct dx_print *print, enum dx_answer answer,
                                  bool gone, int64_t now)
{
  return dx_print_learn(
      print, answer == DX_ANSWER_OVER ? DX_ANSWER_CANCELED : answer, gone, now);
}

static bool learns_no_cancel(struct dx_print *print, enum dx_answer answer,
                             bool gone, int64_t now)
{
  return answer != DX_ANSWER_CANCELED && answer != DX_ANSWER_NOT_OURS &&
         dx_print_learn(print, answer, gone, now);
}

static void begins_with_the_past(struct dx_print *print)
{
  enum dx_final final = print->final;

  dx_print_begin(print);
  print->final = final;
}

static enum dx_merge_action takes_extracted(const struct dx_merge_facts *facts)
{
  return facts->state == DX_ST_EXTRACTED ? DX_MERGE_TAKE : dx_merge_plan(facts);
}

static enum dx_merge_action does_not_verify(const struct dx_merge_facts *facts)
{
  return facts->verify ? DX_MERGE_TAKE : dx_merge_plan(facts);
}

static enum dx_merge_action waits_for_state(const struct dx_merge_facts *facts)
{
  return facts->known && dx_state_is_sent(facts->state) ? DX_MERGE_ACTION_COUNT
                                                        : dx_merge_plan(facts);
}

static enum dx_retention ignores_rerun(const struct dx_retention_facts *facts)
{
  struct dx_retention_facts without = *facts;

  without.rerun = DX_RERUN_NO;
  return dx_retention(&without);
}

static enum dx_retention expires_early(const struct dx_retention_facts *facts)
{
  struct dx_retention_facts other = *facts;

  other.keep_unfinished_ms = facts->keep_jobs_ms;
  return dx_retention(&other);
}

static enum dx_code verifies_nothing(enum dx_state from, enum dx_event event,
                                     enum dx_state *to, struct dx_err *err)
{
  return dx_state_next(from, event == DX_EV_VERIFY ? DX_EV_RETRY : event, to,
                       err);
}

static enum dx_code loses_a_row(enum dx_state from, enum dx_event event,
                                enum dx_state *to, struct dx_err *err)
{
  return from == DX_ST_REGISTERED && event == DX_EV_SEEN_COMPLETE
             ? DX_E_STATE
             : dx_state_next(from, event, to, err);
}

#define WITHDRAWN "sent after it was withdrawn"

static const struct {
  const char *name, *breaks;
  struct rules rules; /* what is not set is right */
} wrong[] = {
    {"ignores that it was canceled in another queue",
     WITHDRAWN,
     {.answer = places_other_first}},
    {"waits for a decision although it was canceled",
     "asked without need",
     {.answer = places_change_first}},
    {"sends what was printed elsewhere",
     WITHDRAWN,
     {.answer = places_state_first}},
    {"does not notice that its queue was changed",
     "sent although its queue was changed",
     {.answer = ignores_change}},
    {"sends what cupsd does not know",
     WITHDRAWN,
     {.permission = sends_unknown}},
    {"sends while its backend stops",
     WITHDRAWN,
     {.permission = sends_while_it_stops}},
    {"sends what is held", "sent while held", {.permission = sends_held}},
    {"sends if cupsd is away", WITHDRAWN, {.permission = sends_without_cupsd}},
    {"asks about an active job",
     "asked without need",
     {.permission = asks_active}},
    {"waits although it is canceled",
     WALK_STUCK,
     {.permission = waits_canceled}},
    {"waits for a backend that never comes",
     WALK_STUCK,
     {.permission = waits_over}},
    {"cancels what is over",
     "canceled while wanted",
     {.permission = cancels_over}},
    {"sends what was moved to paper", WITHDRAWN, {.permission = prints_paper}},
    {"never asks the administrator", WALK_STUCK, {.permission = never_asks}},
    {"forgets that it was canceled", WITHDRAWN, {.permission = forgets_final}},
    {"stops what a held print job has not sent",
     WALK_STUCK,
     {.permission = held_as_ended}},
    {"sends what a held print job has not sent after it was purged",
     WITHDRAWN,
     {.permission = held_as_left}},
    {"sends what a canceled, held print job has not sent",
     WITHDRAWN,
     {.permission = sends_canceled_rest}},
    {"cancels all of a held print job",
     "canceled after it was sent",
     {.permission = cancels_the_rest}},
    {"keeps nothing of a canceled, held print job",
     "canceled after it was sent",
     {.keeps = keeps_nothing}},
    {"attends for ever although a document has failed",
     WALK_STUCK,
     {.never_holds = true}},
    {"takes over for canceled",
     "canceled while wanted",
     {.learn = learns_over_as_cancel}},
    {"does not journal a cancel", WITHDRAWN, {.learn = learns_no_cancel}},
    {"a new run inherits a cancel",
     "canceled while wanted",
     {.begin = begins_with_the_past}},
    {"sends again what is extracted",
     "extracted twice",
     {.plan = takes_extracted}},
    {"does not ask the source first",
     "a second source gets the bytes",
     {.plan = does_not_verify}},
    {"waits for a job without a backend",
     "a merge that waits for ever",
     {.plan = waits_for_state}},
    {"removes what cupsd may run again",
     "removed, and its print job may run again",
     {.retention = ignores_rerun}},
    {"expires after KeepJobs", "expired early", {.retention = expires_early}},
    {"a row of the table is changed",
     "a second source gets the bytes",
     {.next = verifies_nothing}},
    {"a row of the table is missing",
     "an event that the table does not list",
     {.next = loses_a_row}},
};

static const struct bounds *bounds_of(size_t i)
{
  if (wrong[i].rules.begin != NULL)
    return begin_bounds;
  return strcmp(wrong[i].breaks, WALK_STUCK) == 0 ? stuck_bounds : wrong_bounds;
}

static bool is_found(size_t i)
{
  const char *broken;
  size_t states;

  rules = right;
  bounds = bounds_of(i);
#define USE(field)                        \
  do {                                    \
    if (wrong[i].rules.field)             \
      rules.field = wrong[i].rules.field; \
  } while (0)
  USE(answer);
  USE(permission);
  USE(learn);
  USE(begin);
  USE(next);
  USE(plan);
  USE(retention);
  USE(keeps);
  USE(never_holds);
  broken = walk_run(&model, false, &states);
  (void)printf("%s: %s, after %zu states\n", wrong[i].name,
               broken == NULL ? "NOT FOUND" : broken, states);
  return broken != NULL && strcmp(broken, wrong[i].breaks) == 0;
}

int main(int argc, char **argv)
{
  size_t i;
  int status = 0;

  (void)argv;
  rules = right;
  bounds = argc > 1 ? many : few;
  if (!walk_is_right(&model, "one document", argc > 1 ? SIZE_MAX : 4200000))
    return 1;
  for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
    if (!is_found(i)) {
      (void)printf("  expected: %s\n", wrong[i].breaks);
      status = 1;
    }
  return status;
}
