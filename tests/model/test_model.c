/*
 * test_model.c - the life of one job with everything that may touch it, as a
 * small state space that is walked completely: cupsd, which may be killed and
 * may lose the job; two backends, because a second one is started for a job
 * whose first backend lives on as an orphan; docextractd; a person who holds,
 * releases, and cancels; SIGKILL, SIGTERM, a power failure, a directory that
 * cannot be fsynced. The rules are those of doc/architecture.md, "Invariants";
 * no code of lib/ runs here.
 *
 * What must never happen: the document is lost, taken by the service twice, or
 * registered after the person canceled the print job. Each rule can be
 * switched off: then the walk must find the failure that it prevents, or the
 * model would prove nothing.
 *
 * Not modeled: a backend that is killed before it has stored the job (cupsd
 * then calls the job completed, and no other process has seen it), and a stale
 * record of a job that was not handed over durably: that takes two more faults
 * in the same instant.
 */
#include "tests/unit/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rules ---- */

#define RULES(X)                                                          \
  X(ADOPT, 1)    /* a job that lost its driver is adopted */              \
  X(KEEP, 2)     /* a backend that ends keeps the documents */            \
  X(UNSYNCED, 4) /* renamed but not synced is not "not done" */           \
  X(ASK, 8)      /* cupsd is asked before a create that is not its own */ \
  X(LOOK, 16)    /* a PUT that may have landed: GET the source first */   \
  X(TAKE, 32)    /* whoever takes a job makes sure that it is durable */

enum {
#define X(name, bit) RULE_##name = (bit),
  RULES(X)
#undef X
      RULES_ALL = 63
};

/* ---- the state ---- */

/* STALE: reported as pending forever, because cupsd was killed after it had
 * written the end of the job to its list and before it did to the job's own
 * record. */
enum cups {
  FORGOTTEN,
  PENDING,
  RUNNING,
  HELD,
  CANCELED_THERE,
  COMPLETED,
  STALE
};
enum owner { CUPS, DAEMON };
enum phase { STORED, REGISTERED, UPLOADED, EXTRACTED, CANCELED };
enum place { NOWHERE, RECEIVED, DRIVING, HANDED_OVER };

struct journal {
  uint8_t exists, owner, phase;
};

struct backend {
  uint8_t place;
  uint8_t child; /* of the cupsd that runs; else an orphan */
  uint8_t term;  /* SIGTERM came */
};

struct state {
  uint8_t cups, cups_is_up, held_once, killed_cupsd;
  uint8_t kills, unsynced, cuts; /* how often that may still happen */
  struct journal seen, durable; /* as anybody reads it; after a power failure */
  uint8_t documents;            /* in the spool */
  struct backend b[2];
  uint8_t daemon_is_up, daemon_drives, daemon_asked;
  uint8_t landed; /* the service has the current source's file */
  uint8_t taken;  /* how many sources got a file */
  uint8_t late;   /* registered after the person had canceled */
};

/* ---- the walk ---- */

#define TABLE_BITS 22
#define TABLE_SIZE (1u << TABLE_BITS)

static struct state *table, *queue;
static size_t *from; /* which state of the queue a state was reached from */
static uint8_t *used;
static size_t count, done;
static unsigned rules;
static const char *violation;

static uint32_t hash_of(const struct state *s)
{
  const uint8_t *p = (const uint8_t *)s;
  uint32_t h = 2166136261u;
  size_t i;

  for (i = 0; i < sizeof(*s); i++)
    h = (h ^ p[i]) * 16777619u;
  return h;
}

static void reach(const struct state *s)
{
  uint32_t at = hash_of(s) & (TABLE_SIZE - 1);

  while (used[at]) {
    if (memcmp(&table[at], s, sizeof(*s)) == 0)
      return;
    at = (at + 1) & (TABLE_SIZE - 1);
  }
  assert_true(count < TABLE_SIZE / 2);
  used[at] = 1;
  table[at] = *s;
  from[count] = done;
  queue[count++] = *s;
}

static int has(unsigned rule)
{
  return (rules & rule) != 0;
}

/* ---- what a driver does ---- */

static int is_locked(const struct state *s)
{
  return s->b[0].place == DRIVING || s->b[1].place == DRIVING ||
         s->daemon_drives;
}

static void save(struct state *s)
{
  s->durable = s->seen;
}

/* Two outcomes: written, or renamed and not synced. */
static void write_both(struct state s, void (*then)(struct state *, int))
{
  struct state failed = s;

  if (s.unsynced > 0) {
    failed.unsynced--;
    then(&failed, 1);
    reach(&failed);
  }
  save(&s);
  then(&s, 0);
  reach(&s);
}

static void settle(struct state *s)
{
  save(s);
  s->documents = 0;
}

/* One step of the engine; the caller holds the lock. The running cupsd sends
 * its backend SIGTERM when the job is canceled. */
static void engine_steps(struct state s, int is_child)
{
  switch (s.seen.phase) {
  case STORED:
    if (!s.documents)
      return;
    s.late |= s.cups == CANCELED_THERE && !is_child;
    s.seen.phase = REGISTERED;
    s.landed = 0;
    save(&s);
    reach(&s);
    return;
  case REGISTERED:
    if (!s.landed || !has(RULE_LOOK)) {
      if (s.documents) { /* the PUT lands, and its response may be lost */
        s.taken++;
        s.landed = 1;
        reach(&s);
      }
      if (!has(RULE_LOOK) && s.taken < 2)
        return;
    }
    if (s.landed) {
      s.seen.phase = UPLOADED;
      save(&s);
      reach(&s);
    }
    return;
  case UPLOADED:
    s.seen.phase = EXTRACTED;
    settle(&s);
    reach(&s);
    return;
  default:
    return;
  }
}

/* ---- the backend ---- */

/* How cupsd reacts to the end of a backend. */
static void backend_gone(struct state *s, struct backend *b, enum cups then)
{
  if (b->child && s->cups == RUNNING)
    s->cups = (uint8_t)then;
  memset(b, 0, sizeof(*b));
}

/* It ends with the job in the spool, and not extracted. */
static void backend_leaves(struct state *s, struct backend *b, enum cups then)
{
  if (!has(RULE_KEEP) && s->seen.phase != UPLOADED && !s->landed)
    s->documents = 0; /* "CUPS has them" */
  if (b->term && b->child && s->cups == CANCELED_THERE) {
    s->seen.phase = CANCELED;
    settle(s);
  }
  backend_gone(s, b, then);
}

static int which; /* backend that write_both() is about */

static void committed(struct state *s, int unsynced)
{
  struct backend *b = &s->b[which];

  s->documents = 1;
  b->place = DRIVING;
  if (unsynced && has(RULE_UNSYNCED)) {
    backend_leaves(s, b, PENDING);
  } else if (unsynced) { /* believed not to be there, and so discarded */
    memset(&s->seen, 0, sizeof(s->seen));
    s->documents = 0;
    backend_gone(s, b, PENDING);
  }
}

static void handed_over(struct state *s, int unsynced)
{
  struct backend *b = &s->b[which];

  b->place = HANDED_OVER;
  if (unsynced && !has(RULE_UNSYNCED)) { /* believed to be still its own */
    s->documents = 0;
    backend_gone(s, b, PENDING);
  }
}

static void received(struct state s, int i)
{
  struct backend *b = &s.b[i];
  struct backend *other = &s.b[1 - i];

  if (b->term) {
    backend_gone(&s, b, PENDING);
    reach(&s);
  } else if (!s.seen.exists) {
    s.seen = (struct journal){1, CUPS, STORED};
    which = i;
    write_both(s, committed);
  } else if (other->place == DRIVING) {
    other->term = 1;
    reach(&s);
  } else if (s.seen.owner == DAEMON || s.seen.phase == EXTRACTED) {
    if (has(RULE_TAKE))
      save(&s);
    backend_gone(&s, b, COMPLETED);
    reach(&s);
  } else if (!is_locked(&s)) {
    if (s.seen.phase == CANCELED) /* printed again by a person */
      s.seen.phase = STORED;
    if (has(RULE_TAKE))
      save(&s);
    s.documents = 1; /* its bundle is the same */
    b->place = DRIVING;
    reach(&s);
  }
}

static void driving(struct state s, int i)
{
  struct backend *b = &s.b[i];
  struct state next = s;

  if (s.seen.phase == EXTRACTED) {
    backend_gone(&next, &next.b[i], COMPLETED);
    reach(&next);
    return;
  }
  if (b->term) {
    backend_leaves(&next, &next.b[i], PENDING);
    reach(&next);
    return;
  }
  if (b->child || s.seen.phase != STORED || !has(RULE_ASK) || !s.cups_is_up ||
      (s.cups != CANCELED_THERE && s.cups != HELD))
    engine_steps(s, b->child);
  if (s.seen.phase == STORED && s.daemon_is_up) {
    next.seen.owner = DAEMON;
    which = i;
    write_both(next, handed_over);
  }
  if (s.seen.phase < UPLOADED) { /* a wrong token: the queue stops */
    next = s;
    backend_leaves(&next, &next.b[i], HELD);
    reach(&next);
  }
}

static void backend_steps(const struct state *s, int i)
{
  struct state next = *s;

  switch (s->b[i].place) {
  case RECEIVED:
    received(*s, i);
    break;
  case DRIVING:
    driving(*s, i);
    break;
  case HANDED_OVER:
    backend_gone(&next, &next.b[i], COMPLETED);
    reach(&next);
    break;
  default:
    return;
  }
  if (s->b[i].place == DRIVING && s->kills > 0) {
    next = *s;
    next.kills--;
    backend_gone(&next, &next.b[i], COMPLETED); /* so says cupsd */
    reach(&next);
  }
}

/* ---- docextractd ---- */

/* What lib/spool/adopt.c would do; 'L'eave, 'C'ancel, 'D'rive. */
static char adoption_of(const struct state *s)
{
  if (s->seen.owner == DAEMON)
    return 'D';
  if (!has(RULE_ADOPT))
    return 'L';
  if (!s->cups_is_up)
    return s->seen.phase == UPLOADED ? 'D' : 'L';
  switch (s->cups) {
  case CANCELED_THERE:
    return 'C';
  case COMPLETED:
  case FORGOTTEN:
    return 'D';
  case HELD:
    return s->seen.phase == UPLOADED ? 'D' : 'L';
  default:
    return 'L';
  }
}

static void cancel_here(struct state s)
{
  s.seen.phase = CANCELED;
  settle(&s);
  s.daemon_drives = 0;
  reach(&s);
}

/* What dx_adopted_may_create() would say. */
static int may_create(const struct state *s)
{
  return s->cups_is_up && s->cups != CANCELED_THERE && s->cups != HELD;
}

static void daemon_drives(struct state s)
{
  struct state next = s;

  if (s.seen.phase == EXTRACTED || s.seen.phase == CANCELED) {
    next.daemon_drives = 0;
    reach(&next);
  } else if (s.seen.phase != STORED || !has(RULE_ASK)) {
    engine_steps(s, 0);
  } else if (s.cups_is_up && s.cups == CANCELED_THERE) {
    cancel_here(s);
  } else if (may_create(&s)) {
    engine_steps(s, 0);
  }
}

static void daemon_steps(const struct state *s)
{
  struct state next = *s;

  if (!s->daemon_is_up) {
    next.daemon_is_up = 1;
    reach(&next);
    return;
  }
  if (s->daemon_drives)
    daemon_drives(*s);
  else if (s->seen.exists && s->seen.phase < EXTRACTED && !is_locked(s)) {
    char adoption = adoption_of(s);

    if (adoption == 'C')
      cancel_here(*s);
    if (adoption == 'D') {
      next.seen.owner = DAEMON;
      save(&next);
      next.daemon_drives = 1;
      reach(&next);
    }
  }
  if (s->kills > 0) {
    next = *s;
    next.kills--;
    next.daemon_is_up = next.daemon_drives = 0;
    reach(&next);
  }
}

/* ---- cupsd and the person ---- */

static void start_backend(const struct state *s)
{
  struct state next = *s;
  int i = s->b[0].place == NOWHERE ? 0 : 1;

  if (s->b[i].place != NOWHERE)
    return;
  next.b[i] = (struct backend){RECEIVED, 1, 0};
  next.cups = RUNNING;
  reach(&next);
}

static void signal_child(struct state *s)
{
  int i;

  for (i = 0; i < 2; i++)
    if (s->b[i].child)
      s->b[i].term = 1;
}

static void person_steps(const struct state *s)
{
  struct state next = *s;

  if (s->cups == PENDING || s->cups == RUNNING || s->cups == HELD) {
    next.cups = CANCELED_THERE;
    signal_child(&next);
    reach(&next);
  }
  next = *s;
  if (s->cups == RUNNING && !s->held_once) {
    next.cups = HELD;
    next.held_once = 1;
    signal_child(&next);
    reach(&next);
  }
  next = *s;
  if (s->cups == HELD && !s->b[0].child && !s->b[1].child) {
    next.cups = PENDING;
    reach(&next);
  }
}

static void kill_cupsd(struct state s)
{
  int i;

  s.killed_cupsd = 1;
  s.cups_is_up = 0;
  for (i = 0; i < 2; i++)
    s.b[i].child = 0;
  if (s.cups == RUNNING)
    s.cups = PENDING;
  reach(&s);
  if (s.cups == COMPLETED && s.durable.owner == DAEMON) {
    struct state stale = s;

    stale.cups = STALE;
    reach(&stale);
  }
  /* What it forgets before another process has it is lost for good. */
  if (s.cups != CANCELED_THERE && s.cups != COMPLETED && s.durable.exists) {
    s.cups = FORGOTTEN; /* within 30 s of the print */
    reach(&s);
  }
}

static void cut_power(struct state s)
{
  s.cuts--;
  memset(s.b, 0, sizeof(s.b));
  s.daemon_is_up = s.daemon_drives = 0;
  s.seen = s.durable;
  if (!s.seen.exists)
    s.documents = 0;
  if (s.cups == RUNNING)
    s.cups = PENDING;
  s.cups_is_up = 0;
  reach(&s);
}

static void cupsd_steps(const struct state *s)
{
  struct state next = *s;

  if (!s->cups_is_up) {
    next.cups_is_up = 1;
    reach(&next);
    return;
  }
  if (s->cups == PENDING && !s->b[0].child && !s->b[1].child)
    start_backend(s);
  person_steps(s);
  if (!s->killed_cupsd)
    kill_cupsd(*s);
}

/* ---- what must never happen ---- */

/* Some process will go on with the document, or a person has decided. */
static int is_safe(const struct state *s)
{
  if (s->seen.exists && (s->seen.phase >= UPLOADED || s->landed))
    return 1;
  if (s->documents && s->seen.exists)
    return 1;
  if (s->b[0].place == RECEIVED || s->b[1].place == RECEIVED)
    return 1;
  return s->cups == PENDING || s->cups == HELD || s->cups == CANCELED_THERE ||
         s->cups == RUNNING;
}

static void check(const struct state *s, int is_stuck)
{
  if (s->taken > 1)
    violation = "taken twice";
  else if (s->late)
    violation = "submitted after it was canceled";
  else if (!is_safe(s))
    violation = "lost";
  else if (is_stuck && s->seen.phase < EXTRACTED && s->cups != CANCELED_THERE &&
           s->cups != HELD)
    violation = "orphaned";
}

/* Without another fault nothing would happen any more. */
static int is_stuck(const struct state *s)
{
  struct state calm = *s;

  calm.kills = calm.unsynced = calm.cuts = 0;
  calm.killed_cupsd = calm.held_once = 1;
  if (calm.b[0].place != NOWHERE || calm.b[1].place != NOWHERE ||
      !calm.daemon_is_up || !calm.cups_is_up || calm.cups == PENDING)
    return 0;
  if (calm.daemon_drives)
    return calm.seen.phase == STORED && calm.cups != CANCELED_THERE &&
           !may_create(&calm);
  return !(calm.seen.exists && calm.seen.phase < EXTRACTED &&
           adoption_of(&calm) != 'L');
}

/* NULL if nothing is wrong; *ret_count is the number of states. */
static const char *walk(unsigned with, size_t *ret_count)
{
  struct state first;

  rules = with;
  violation = NULL;
  count = done = 0;
  memset(used, 0, TABLE_SIZE);
  memset(&first, 0, sizeof(first));
  first.cups = PENDING;
  first.cups_is_up = first.daemon_is_up = 1;
  first.kills = 2;
  first.unsynced = first.cuts = 1;
  reach(&first);
  while (done < count && violation == NULL) {
    struct state s = queue[done];

    check(&s, is_stuck(&s));
    backend_steps(&s, 0);
    backend_steps(&s, 1);
    daemon_steps(&s);
    cupsd_steps(&s);
    if (s.cuts > 0)
      cut_power(s);
    done += violation == NULL;
  }
  *ret_count = count;
  return violation;
}

/* The steps that led to the last state, in order. */
static void print_way(size_t at)
{
  static const char *const cups[] = {"forgotten", "pending",  "running",
                                     "held",      "canceled", "completed",
                                     "stale"};
  static const char *const phases[] = {"stored", "registered", "uploaded",
                                       "extracted", "canceled"};
  static const char *const places[] = {"-", "received", "driving",
                                       "handed over"};
  const struct state *s = &queue[at];

  if (at != 0)
    print_way(from[at]);
  print_message("cupsd %s%s, journal %s%s%s, %s, backends %s%s %s%s, "
                "docextractd %s, %u taken\n",
                cups[s->cups], s->cups_is_up ? "" : " (down)",
                s->seen.exists ? phases[s->seen.phase] : "none",
                s->seen.owner == DAEMON ? " (handed over)" : "",
                s->durable.exists == s->seen.exists ? "" : " (not durable)",
                s->documents ? "document" : "no document",
                places[s->b[0].place], s->b[0].term ? " SIGTERM" : "",
                places[s->b[1].place], s->b[1].term ? " SIGTERM" : "",
                s->daemon_drives  ? "drives"
                : s->daemon_is_up ? "up"
                                  : "down",
                s->taken);
}

/* ---- the tests ---- */

static void with_all_rules_nothing_is_lost_repeated_or_late(void **state)
{
  size_t states;
  const char *wrong = walk(RULES_ALL, &states);

  (void)state;
  if (wrong != NULL) {
    print_way(done);
    fail_msg("%s, after %zu states", wrong, states);
  }
  print_message("%zu states\n", states);
  assert_true(states > 10000);
}

static void each_rule_is_needed(void **state)
{
  static const struct {
    unsigned without;
    const char *wrong; /* the fault that the rule was made for */
  } rows[] = {
      {RULE_ADOPT, "orphaned"},   {RULE_KEEP, "lost"},
      {RULE_UNSYNCED, "lost"},    {RULE_ASK, "submitted after it was canceled"},
      {RULE_LOOK, "taken twice"}, {RULE_TAKE, "lost"},
  };
  size_t i, states;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const char *wrong = walk(RULES_ALL & ~rows[i].without, &states);

    if (wrong == NULL || strcmp(wrong, rows[i].wrong) != 0)
      fail_msg("without rule %u: %s, not %s", rows[i].without,
               wrong != NULL ? wrong : "nothing", rows[i].wrong);
  }
}

static int start(void **state)
{
  (void)state;
  table = calloc(TABLE_SIZE, sizeof(*table));
  queue = calloc(TABLE_SIZE, sizeof(*queue));
  from = calloc(TABLE_SIZE, sizeof(*from));
  used = calloc(TABLE_SIZE, 1);
  return table != NULL && queue != NULL && from != NULL && used != NULL ? 0
                                                                        : -1;
}

static int stop(void **state)
{
  (void)state;
  free(table);
  free(queue);
  free(from);
  free(used);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(with_all_rules_nothing_is_lost_repeated_or_late),
      cmocka_unit_test(each_rule_is_needed),
  };

  return cmocka_run_group_tests(tests, start, stop);
}
