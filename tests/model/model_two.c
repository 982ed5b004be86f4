/*
 * model_two.c - a print job with two documents that is run again and again:
 * merge, release, print again, another account, sweep, OnResult. The first
 * document is converted, so that each run brings other bytes of it; the second
 * may be missing in a run, or differ. If one of them has failed, the print job
 * is held while the other goes on; then it may be released or canceled. The
 * service may never finish. Any step may be the last before docextractd is
 * killed; a power cut loses what was not fsynced.
 *
 * What decides runs here as it runs in docextractd: merge.c (its plan),
 * state.c, retention.c, and what goes on after a cancel (permission.c). Each
 * wrong version of them must be found, by the invariant that it breaks. With an
 * argument the bounds are larger: for the long tests. model_one.c checks
 * whether a document may be sent.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/spool/job.h"
#include "lib/spool/merge.h"
#include "lib/spool/retention.h"
#include "tests/model/walk.h"

/* ---- what is tried ---- */

struct rules {
  enum dx_code (*next)(enum dx_state, enum dx_event, enum dx_state *,
                       struct dx_err *);
  enum dx_merge_action (*plan)(const struct dx_merge_facts *);
  bool (*takes_bytes)(const struct dx_merge_facts *, enum dx_merge_action,
                      const struct dx_merge_place *);
  enum dx_retention (*retention)(const struct dx_retention_facts *);
  bool (*keeps)(enum dx_state, bool);
  /* What docextractd does around them. */
  bool (*waits_for_merge)(bool receipt);
  bool (*tells_first)(void); /* the manifest before the journal */
  bool (*has_hook)(void);    /* OnResult is journaled with the end */
  uint8_t (*account)(uint8_t of_source, uint8_t of_job); /* to be asked */
  uint8_t (*leaves)(bool failed); /* what the print job is then; RUNNING: the
                                     backend stays */
};

static struct rules rules;

/* ---- the state ---- */

enum { ABSENT, PENDING, RUNNING, HELD, OVER };
enum { NO_SOURCE, EMPTY, FED, DONE, FAILED };
enum { YOUNG, OLD, VERY_OLD };

struct doc { /* in the journal */
  uint8_t st, put;
  uint8_t bytes;   /* which ones the journal describes; 0: none */
  uint8_t account; /* of its source */
  uint8_t hook;    /* OnResult is to be run */
};

struct journal {
  uint8_t exists, run, account;
  uint8_t held;      /* the backend ended while one went on */
  uint8_t withdrawn; /* and then the print job was canceled */
  struct doc docs[2];
};

struct truth {    /* of a document */
  uint8_t here;   /* the bytes in the job's directory */
  uint8_t source; /* that the journal knows */
  uint8_t got;    /* the bytes that it got */
  uint8_t strays; /* a forgotten source, of any account, may give one */
  uint8_t extracted, manifest, ran;
};

struct state {
  uint8_t job, attends, account; /* cupsd's job, a backend, of the queue */
  uint8_t runs, acts, refusals, cuts, changes; /* how often that may still be */
  uint8_t age;
  struct {
    uint8_t exists, run, account;
    uint8_t bytes[2]; /* 0: the document is missing */
    uint8_t here[2];
  } receipt;
  struct journal seen, durable;
  struct truth t[2];
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
  const struct state *s = p;
  int i;

  (void)fprintf(stderr,
                "job %d attends %d account %d age %d; receipt %d run %d "
                "bytes %d %d here %d %d; journal %d run %d account %d%s%s",
                s->job, s->attends, s->account, s->age, s->receipt.exists,
                s->receipt.run, s->receipt.bytes[0], s->receipt.bytes[1],
                s->receipt.here[0], s->receipt.here[1], s->seen.exists,
                s->seen.run, s->seen.account, s->seen.held ? " held" : "",
                s->seen.withdrawn ? " withdrawn" : "");
  for (i = 0; i < 2; i++)
    (void)fprintf(stderr,
                  "; %s put %d bytes %d/%d account %d source %d got %d "
                  "strays %d%s%s%s",
                  dx_state_word((enum dx_state)s->seen.docs[i].st),
                  s->seen.docs[i].put, s->seen.docs[i].bytes, s->t[i].here,
                  s->seen.docs[i].account, s->t[i].source, s->t[i].got,
                  s->t[i].strays, s->t[i].extracted ? " extracted" : "",
                  s->t[i].manifest ? " manifest" : "",
                  s->seen.docs[i].hook ? " hook" : "");
  (void)fprintf(stderr, "\n");
}

/* ---- the journal ---- */

static bool is_in(const struct state *s, int i, enum dx_state st)
{
  return s->seen.docs[i].st == st;
}

static bool is_final(const struct state *s)
{
  return dx_state_is_final((enum dx_state)s->seen.docs[0].st) &&
         dx_state_is_final((enum dx_state)s->seen.docs[1].st);
}

static bool has_failed(const struct state *s, int i)
{
  return is_in(s, i, DX_ST_FAILED) || is_in(s, i, DX_ST_REFUSED);
}

static bool may_give(uint8_t source)
{
  return source == FED || source == DONE;
}

/* A source that is no longer in the journal. */
static void forget_source(struct state *s, int i)
{
  if (may_give(s->t[i].source))
    s->t[i].strays = 1;
  s->t[i].source = NO_SOURCE;
  s->t[i].got = 0;
}

static void apply(struct state *s, int i, enum dx_event event)
{
  struct doc *doc = &s->seen.docs[i];
  enum dx_state to;

  if (rules.next((enum dx_state)doc->st, event, &to, NULL) != DX_OK) {
    walk_broken("an event that the table does not list");
    return;
  }
  if (event == DX_EV_EXPIRE && s->age != VERY_OLD)
    walk_broken("expired early");
  doc->st = (uint8_t)to;
  if (to == DX_ST_STORED) {
    doc->put = DX_PUT_NONE;
    doc->hook = 0;
  }
  if (dx_state_is_final(to)) {
    doc->hook = rules.has_hook();
    s->t[i].ran = 0;
    s->t[i].manifest = rules.tells_first();
  } else if (event == DX_EV_RETRY || event == DX_EV_VERIFY) {
    s->t[i].manifest = 0;
  }
}

static void save(struct state s)
{
  int i;

  s.age = YOUNG;
  s.durable = s.seen;
  for (i = 0; i < 2; i++)
    if (s.seen.exists && dx_state_is_final((enum dx_state)s.seen.docs[i].st) &&
        !s.t[i].manifest)
      walk_broken("an end without a manifest");
  walk_reach(&s);
}

/* ---- the print job ---- */

static void commit(struct state s, uint8_t second)
{
  s.receipt.exists = 1;
  s.receipt.run = (uint8_t)(3 - s.seen.run) > 2 ? 1 : (uint8_t)(3 - s.seen.run);
  s.receipt.account = s.account;
  s.receipt.bytes[0] = s.receipt.run; /* converted again */
  s.receipt.bytes[1] = second;
  s.receipt.here[0] = 1;
  s.receipt.here[1] = second != 0;
  s.job = RUNNING;
  s.attends = 1;
  walk_reach(&s);
}

/* docextractd has everything: the backend need not stay. */
static void backend_leaves(struct state s)
{
  bool failed = has_failed(&s, 0) || has_failed(&s, 1);
  uint8_t job = rules.leaves(failed);

  if (is_final(&s) || job == RUNNING)
    return;
  if (job == OVER && failed)
    walk_broken("completed, and a document had failed");
  s.attends = 0;
  s.job = s.job == RUNNING ? job : s.job;
  s.seen.held = job == HELD;
  save(s);
}

/* The held print job is canceled: what was not sent is not sent. */
static void cancel_held(struct state s)
{
  int i;

  s.job = OVER;
  s.seen.withdrawn = 1;
  for (i = 0; i < 2; i++) {
    struct doc *doc = &s.seen.docs[i];

    if (dx_state_is_settled((enum dx_state)doc->st) ||
        rules.keeps((enum dx_state)doc->st, doc->put != DX_PUT_NONE))
      continue;
    if (!has_failed(&s, i) && may_give(s.t[i].source))
      walk_broken("canceled after it was sent");
    apply(&s, i, DX_EV_CANCEL);
    s.t[i].here = 0;
  }
  save(s);
}

static void backend_ends(struct state s, uint8_t job)
{
  int i;

  for (i = 0; i < 2 && job == OVER; i++)
    if (!is_in(&s, i, DX_ST_EXTRACTED))
      walk_broken("completed, and not extracted");
  s.attends = 0;
  s.job = s.job == RUNNING ? job : s.job;
  walk_reach(&s);
}

static void print_job_steps(struct state s)
{
  struct state next = s;

  if (s.job == PENDING && !s.attends && !s.receipt.exists) {
    if (s.runs == 0) {
      next.job = ABSENT; /* enough */
      walk_reach(&next);
    } else {
      next.runs--;
      commit(next, 1);
      commit(next, 0);
      if (s.changes > 0) {
        next.changes--;
        commit(next, 2);
      }
    }
  }
  if (s.attends && !s.receipt.exists && s.seen.exists) {
    if (is_final(&s))
      backend_ends(s, is_in(&s, 0, DX_ST_EXTRACTED) &&
                              is_in(&s, 1, DX_ST_EXTRACTED)
                          ? OVER
                          : HELD);
    backend_leaves(s);
  }
  if (s.job == HELD && s.seen.held && !is_final(&s) && !s.receipt.exists)
    IF_FAULT(acts, cancel_held(then));
  if (s.job == HELD || s.job == OVER)
    IF_FAULT(acts, { /* released, printed again, also to another account */
                     then.job = PENDING;
                     walk_reach(&then);
                     then.account = !then.account;
                     walk_reach(&then);
    });
  if (s.job == HELD || s.job == OVER)
    IF_FAULT(acts, {
      then.job = ABSENT;
      walk_reach(&then);
    });
}

/* ---- merge ---- */

static void first_receipt(struct state s)
{
  int i;

  s.seen.exists = 1;
  s.seen.run = s.receipt.run;
  s.seen.account = s.receipt.account;
  for (i = 0; i < 2; i++) {
    s.seen.docs[i] =
        (struct doc){.st = DX_ST_STORED, .bytes = s.receipt.bytes[i]};
    s.t[i].here = s.receipt.bytes[i];
    if (s.receipt.bytes[i] == 0)
      apply(&s, i, DX_EV_REFUSE);
  }
  memset(&s.receipt, 0, sizeof(s.receipt));
  save(s);
}

static struct dx_merge_facts facts_of(const struct state *s, int i)
{
  const struct doc *doc = &s->seen.docs[i];
  bool failed = doc->st == DX_ST_FAILED || doc->st == DX_ST_EXPIRED;

  return (struct dx_merge_facts){
      .known = true,
      .state = (enum dx_state)doc->st,
      .verify = failed && doc->put != DX_PUT_NONE,
      .uploaded = doc->put != DX_PUT_NONE,
      .same_places = true,
      .same_content = i == 0 || s->receipt.bytes[1] == 0 ||
                      s->receipt.bytes[1] == doc->bytes,
  };
}

static void merge_document(struct state *s, int i)
{
  struct doc *doc = &s->seen.docs[i];
  struct dx_merge_facts facts = facts_of(s, i);
  enum dx_merge_action action = rules.plan(&facts);
  struct dx_merge_place place = {.here = s->t[i].here != 0,
                                 .came = s->receipt.bytes[i] != 0,
                                 .equal = s->receipt.bytes[i] == doc->bytes};
  bool takes = rules.takes_bytes(&facts, action, &place);
  bool canceled = doc->st == DX_ST_CANCELED;

  if (action == DX_MERGE_VERIFY) {
    apply(s, i, DX_EV_VERIFY);
  } else if (action == DX_MERGE_TAKE) {
    forget_source(s, i);
    if (canceled) /* printed again: an explicit decision */
      s->t[i].strays = 0;
    *doc = (struct doc){.st = DX_ST_STORED, .bytes = doc->bytes};
    s->t[i].manifest = 0;
    if (!place.came && !place.here)
      apply(s, i, DX_EV_REFUSE);
  }
  if (takes)
    doc->bytes = s->receipt.bytes[i];
  if (dx_state_is_final(facts.state) && facts.state != DX_ST_EXTRACTED &&
      doc->st == facts.state && (place.came || place.here))
    walk_broken("released, and not tried again");
}

/* As dx_job_merge(): the journal, the documents, the receipt. */
static void merge(struct state s)
{
  struct state next = s;
  int i;

  if (s.seen.run != s.receipt.run) {
    for (i = 0; i < 2; i++) {
      struct dx_merge_facts facts = facts_of(&s, i);

      if (rules.plan(&facts) == DX_MERGE_CHANGED) { /* refused */
        memset(&next.receipt, 0, sizeof(next.receipt));
        next.attends = 0;
        next.job = s.job == RUNNING ? HELD : s.job;
        walk_reach(&next);
        return;
      }
    }
    for (i = 0; i < 2; i++)
      merge_document(&next, i);
    next.seen.run = s.receipt.run;
    next.seen.account = s.receipt.account;
    next.seen.held = next.seen.withdrawn = 0;
    save(next);
    return;
  }
  for (i = 0; i < 2; i++)
    if (s.receipt.here[i] && s.receipt.bytes[i] == s.seen.docs[i].bytes &&
        !dx_state_is_settled((enum dx_state)s.seen.docs[i].st)) {
      next.receipt.here[i] = 0;
      next.t[i].here = s.receipt.bytes[i];
      walk_reach(&next);
      return;
    }
  for (i = 0; i < 2; i++)
    if (is_in(&s, i, DX_ST_STORED) && s.receipt.bytes[i] != 0 &&
        s.t[i].here == 0)
      walk_broken("it came, and is not there");
  memset(&next.receipt, 0, sizeof(next.receipt));
  walk_reach(&next);
}

/* ---- docextractd ---- */

/* It has not been sent, and must not be. */
static bool is_withdrawn(struct state s, int i)
{
  if (!s.seen.withdrawn)
    return false;
  apply(&s, i, DX_EV_CANCEL);
  s.t[i].here = 0;
  save(s);
  return true;
}

static void upload(struct state s, int i)
{
  struct doc *doc = &s.seen.docs[i];
  struct truth *t = &s.t[i];

  if (is_withdrawn(s, i))
    return;
  if (t->here == 0) { /* its documents are gone: it cannot be sent */
    apply(&s, i, DX_EV_FAIL);
    save(s);
    return;
  }
  if (doc->put == DX_PUT_NONE) {
    doc->put = DX_PUT_SENDING;
    save(s);
    return;
  }
  if (t->here != doc->bytes)
    walk_broken("other bytes than the journal says");
  if (t->extracted)
    walk_broken("extracted twice");
  if (t->strays)
    walk_broken("a second source gets the bytes");
  t->source = FED;
  t->got = t->here;
  walk_reach(&s);
}

static void create(struct state s, int i)
{
  if (is_withdrawn(s, i))
    return;
  if (s.t[i].here == 0) {
    apply(&s, i, DX_EV_FAIL);
    save(s);
    return;
  }
  forget_source(&s, i);
  apply(&s, i, DX_EV_ACCEPTED);
  s.seen.docs[i].account = s.seen.account;
  s.t[i].source = EMPTY;
  save(s);
}

/* The source is invisible to another account. */
static void poll(struct state s, int i)
{
  struct doc *doc = &s.seen.docs[i];
  struct state next = s;
  bool known = rules.account(doc->account, s.seen.account) == doc->account;

  if (!known || s.t[i].source == FAILED) {
    if (doc->st == DX_ST_REGISTERED || doc->st == DX_ST_UPLOADED ||
        doc->st == DX_ST_PROCESSING) {
      apply(&next, i, DX_EV_SEEN_FAILED);
      forget_source(&next, i);
      save(next);
    }
    return;
  }
  if (s.t[i].source == EMPTY) {
    if (doc->st == DX_ST_REGISTERED) {
      upload(s, i);
    } else { /* its URL has expired */
      apply(&next, i, DX_EV_REREGISTER);
      next.t[i].source = NO_SOURCE;
      save(next);
    }
    return;
  }
  if (s.t[i].source == DONE && doc->st != DX_ST_COMPLETE) {
    apply(&next, i, DX_EV_SEEN_COMPLETE);
    walk_reach(&next); /* not fsynced: it is said again */
  } else if (doc->st == DX_ST_REGISTERED) {
    apply(&next, i, DX_EV_PUT_ALL);
    next.seen.docs[i].put = DX_PUT_DONE;
    walk_reach(&next);
  }
  IF_FAULT(refusals, { /* given up: an administrator's business */
                       apply(&then, i, DX_EV_FAIL);
                       save(then);
  });
}

static void drive(struct state s, int i)
{
  switch ((enum dx_state)s.seen.docs[i].st) {
  case DX_ST_STORED:
    create(s, i);
    IF_FAULT(refusals, {
      apply(&then, i, DX_EV_FAIL);
      save(then);
    });
    break;
  case DX_ST_REGISTERED:
  case DX_ST_UPLOADED:
  case DX_ST_PROCESSING:
    poll(s, i);
    break;
  case DX_ST_COMPLETE:
    if (!may_give(s.t[i].source))
      walk_broken("complete, and no source");
    if (s.t[i].got != s.seen.docs[i].bytes)
      walk_broken("the manifest describes other bytes than were sent");
    apply(&s, i, DX_EV_DELIVERED);
    s.t[i].extracted = 1;
    s.t[i].here = 0;
    save(s);
    break;
  default:
    break;
  }
  if (s.seen.docs[i].hook) {
    s.t[i].ran = 1;
    s.seen.docs[i].hook = 0;
    save(s);
  }
}

static bool is_settled(const struct state *s)
{
  return dx_state_is_settled((enum dx_state)s->seen.docs[0].st) &&
         dx_state_is_settled((enum dx_state)s->seen.docs[1].st);
}

static void sweep(struct state s)
{
  struct dx_retention_facts facts = {
      .finished =
          is_settled(&s) && !s.seen.docs[0].hook && !s.seen.docs[1].hook,
      .idle_ms = s.age * 10,
      .keep_jobs_ms = 5,
      .keep_unfinished_ms = 15,
      .rerun = s.job == ABSENT ? DX_RERUN_NO : DX_RERUN_MAY,
  };
  int i;

  switch (rules.retention(&facts)) {
  case DX_RETENTION_EXPIRE:
    for (i = 0; i < 2; i++)
      if (!dx_state_is_settled((enum dx_state)s.seen.docs[i].st)) {
        apply(&s, i, DX_EV_EXPIRE);
        s.t[i].here = 0;
      }
    save(s);
    break;
  case DX_RETENTION_REMOVE:
    if (s.job != ABSENT)
      walk_broken("removed, and its print job may run again");
    for (i = 0; i < 2; i++)
      if (!s.t[i].ran)
        walk_broken("removed before OnResult was run");
    memset(&s.seen, 0, sizeof(s.seen));
    memset(&s.durable, 0, sizeof(s.durable));
    memset(s.t, 0, sizeof(s.t));
    s.age = YOUNG;
    walk_reach(&s);
    break;
  default:
    break;
  }
}

static void daemon_steps(struct state s)
{
  struct state next = s;
  int i;

  if (s.receipt.exists) {
    if (!s.seen.exists)
      first_receipt(s);
    else
      merge(s);
  }
  if (!s.seen.exists || rules.waits_for_merge(s.receipt.exists))
    return;
  drive(s, 0);
  drive(s, 1);
  walk_faults(true);
  sweep(s);
  if (s.age < VERY_OLD && !s.attends && s.job != PENDING) {
    next.age++;
    walk_reach(&next);
  }
  walk_faults(false);
  for (i = 0; i < 2; i++)
    if (!dx_state_is_settled((enum dx_state)s.seen.docs[i].st))
      IF_FAULT(acts, {
        apply(&then, i, DX_EV_CANCEL);
        then.t[i].here = 0;
        save(then);
      });
}

/* ---- everything ---- */

static void service_steps(struct state s)
{
  int i;

  for (i = 0; i < 2; i++) {
    struct state next = s;

    if (s.t[i].source != FED)
      continue;
    next.t[i].source = DONE;
    walk_faults(true); /* no step waits for it */
    walk_reach(&next);
    walk_faults(false);
    IF_FAULT(refusals, {
      then.t[i].source = FAILED;
      walk_reach(&then);
    });
  }
}

static void expand(const void *p)
{
  struct state s = *(const struct state *)p;

  print_job_steps(s);
  daemon_steps(s);
  service_steps(s);
  IF_FAULT(cuts, {
    then.seen = then.durable;
    walk_reach(&then);
  });
}

/* The print job is over or held, and each document has ended, or is with the
 * service, which may take long. */
static bool is_end(const void *p)
{
  const struct state *s = p;
  int i;

  if (s->receipt.exists || s->attends || s->job == PENDING)
    return false;
  for (i = 0; s->seen.exists && i < 2; i++)
    if (s->seen.docs[i].hook ||
        (!dx_state_is_final((enum dx_state)s->seen.docs[i].st) &&
         s->t[i].source != FED))
      return false;
  return true;
}

/* The number of runs of the job, of user actions, and of each fault. */
struct bounds {
  uint8_t runs, acts, refusals, cuts, changes;
};

static const struct bounds few = {2, 1, 1, 1, 1};
static const struct bounds many = {3, 2, 1, 1, 1};
static const struct bounds *bounds;

static void begin(void)
{
  struct state s = {.job = PENDING,
                    .runs = bounds->runs,
                    .acts = bounds->acts,
                    .refusals = bounds->refusals,
                    .cuts = bounds->cuts,
                    .changes = bounds->changes};

  walk_reach(&s);
}

/* The budgets are acts, refusals, and cuts: the others are no faults. */
static const struct walk model = {sizeof(struct state),
                                  offsetof(struct state, acts),
                                  3,
                                  begin,
                                  expand,
                                  is_end,
                                  print_state};

static bool always(void)
{
  return true;
}

static bool never(void)
{
  return false;
}

static bool waits(bool receipt)
{
  return receipt;
}

static uint8_t its_own(uint8_t of_source, uint8_t of_job)
{
  (void)of_job;
  return of_source;
}

static uint8_t holds_if_failed(bool failed)
{
  return failed ? HELD : OVER;
}

static const struct rules right = {dx_state_next,
                                   dx_merge_plan,
                                   dx_merge_takes_bytes,
                                   dx_retention,
                                   dx_permission_keeps,
                                   waits,
                                   always,
                                   always,
                                   its_own,
                                   holds_if_failed};

/* ---- wrong versions ---- */

static enum dx_merge_action takes_extracted(const struct dx_merge_facts *facts)
{
  return facts->state == DX_ST_EXTRACTED ? DX_MERGE_TAKE : dx_merge_plan(facts);
}

static enum dx_merge_action does_not_verify(const struct dx_merge_facts *facts)
{
  return facts->verify ? DX_MERGE_TAKE : dx_merge_plan(facts);
}

static enum dx_merge_action forgets_sources(const struct dx_merge_facts *facts)
{
  return facts->state == DX_ST_UPLOADED ? DX_MERGE_TAKE : dx_merge_plan(facts);
}

static enum dx_merge_action keeps_failed(const struct dx_merge_facts *facts)
{
  return facts->state == DX_ST_FAILED && !facts->verify ? DX_MERGE_KEEP
                                                        : dx_merge_plan(facts);
}

static enum dx_merge_action keeps_refused(const struct dx_merge_facts *facts)
{
  return facts->state == DX_ST_REFUSED ? DX_MERGE_KEEP : dx_merge_plan(facts);
}

static bool takes_any_bytes(const struct dx_merge_facts *facts,
                            enum dx_merge_action action,
                            const struct dx_merge_place *place)
{
  return place->came || dx_merge_takes_bytes(facts, action, place);
}

static bool takes_no_bytes(const struct dx_merge_facts *facts,
                           enum dx_merge_action action,
                           const struct dx_merge_place *place)
{
  (void)facts;
  (void)action;
  (void)place;
  return false;
}

static enum dx_retention ignores_rerun(const struct dx_retention_facts *facts)
{
  struct dx_retention_facts other = *facts;

  other.rerun = DX_RERUN_NO;
  return dx_retention(&other);
}

static enum dx_retention ignores_hooks(const struct dx_retention_facts *facts)
{
  struct dx_retention_facts other = *facts;

  other.finished = true;
  return dx_retention(&other);
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

static enum dx_code cannot_fail(enum dx_state from, enum dx_event event,
                                enum dx_state *to, struct dx_err *err)
{
  return from == DX_ST_UPLOADED && event == DX_EV_SEEN_FAILED
             ? DX_E_STATE
             : dx_state_next(from, event, to, err);
}

static bool does_not_wait(bool receipt)
{
  (void)receipt;
  return false;
}

static uint8_t the_jobs(uint8_t of_source, uint8_t of_job)
{
  (void)of_source;
  return of_job;
}

static uint8_t stays_if_failed(bool failed)
{
  return failed ? RUNNING : OVER;
}

static uint8_t completes(bool failed)
{
  (void)failed;
  return OVER;
}

static bool keeps_nothing(enum dx_state state, bool is_put)
{
  (void)state;
  (void)is_put;
  return false;
}

static const struct {
  const char *name, *breaks;
  struct rules rules; /* what is not set is right */
} wrong[] = {
    {"sends again what is extracted",
     "extracted twice",
     {.plan = takes_extracted}},
    {"does not ask the source first",
     "a second source gets the bytes",
     {.plan = does_not_verify}},
    {"forgets what is under way",
     "a second source gets the bytes",
     {.plan = forgets_sources}},
    {"leaves what failed",
     "released, and not tried again",
     {.plan = keeps_failed}},
    {"leaves what was refused",
     "released, and not tried again",
     {.plan = keeps_refused}},
    {"describes what it did not send",
     "the manifest describes other bytes than were sent",
     {.takes_bytes = takes_any_bytes}},
    {"does not take the new bytes",
     "it came, and is not there",
     {.takes_bytes = takes_no_bytes}},
    {"sends before the merge is done",
     "other bytes than the journal says",
     {.waits_for_merge = does_not_wait}},
    {"removes what cupsd may run again",
     "removed, and its print job may run again",
     {.retention = ignores_rerun}},
    {"removes a job whose hook is to run",
     "removed before OnResult was run",
     {.retention = ignores_hooks}},
    {"does not journal OnResult",
     "removed before OnResult was run",
     {.has_hook = never}},
    {"expires after KeepJobs", "expired early", {.retention = expires_early}},
    {"journals an end before its manifest",
     "an end without a manifest",
     {.tells_first = never}},
    {"asks another account",
     "a second source gets the bytes",
     {.account = the_jobs}},
    {"attends for ever although a document has failed",
     WALK_STUCK,
     {.leaves = stays_if_failed}},
    {"completes although a document has failed",
     "completed, and a document had failed",
     {.leaves = completes}},
    {"keeps nothing of a canceled, held print job",
     "canceled after it was sent",
     {.keeps = keeps_nothing}},
    {"a row of the table is changed",
     "it came, and is not there",
     {.next = verifies_nothing}},
    {"a row of the table is missing",
     "an event that the table does not list",
     {.next = cannot_fail}},
};

static bool is_found(size_t i)
{
  const char *broken;
  size_t states;

  rules = right;
#define USE(field)                        \
  do {                                    \
    if (wrong[i].rules.field != NULL)     \
      rules.field = wrong[i].rules.field; \
  } while (0)
  USE(next);
  USE(plan);
  USE(takes_bytes);
  USE(retention);
  USE(waits_for_merge);
  USE(tells_first);
  USE(has_hook);
  USE(account);
  USE(keeps);
  USE(leaves);
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
  bounds = argc > 1 ? &many : &few;
  if (!walk_is_right(&model, "two documents", argc > 1 ? SIZE_MAX : 600000))
    return 1;
  bounds = &few;
  for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
    if (!is_found(i)) {
      (void)printf("  expected: %s\n", wrong[i].breaks);
      status = 1;
    }
  return status;
}
