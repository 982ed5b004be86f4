/*
 * walk.c - a breadth-first search with a hash table.
 */
#include "tests/model/walk.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX
#define STATE_BYTES 256
#define NEXT_MAX 64

/* Half of its hash is beside a state's number, because to look at the states
 * themselves takes longest. */
struct slot {
  uint32_t hash, state;
};

struct edge {
  uint32_t from, to;
};

/* What follows a state is looked up together: most of the time is that of the
 * memory, which is fetched for all of them at once. One after the other, they
 * need a third more time. */
struct next {
  uint8_t state[STATE_BYTES];
  uint64_t hash;
  bool is_fault;
};

static struct {
  const struct walk *walk;
  uint8_t *states;
  uint32_t *parents;
  struct slot *table;
  uint32_t count, room, table_size, done;
  struct edge *edges;
  size_t edge_count, edge_room;
  struct next next[NEXT_MAX];
  size_t next_count;
  unsigned faults; /* how deep */
  const char *broken;
} w;

static void *grow(void *memory, size_t bytes)
{
  void *more = realloc(memory, bytes);

  if (more == NULL)
    abort();
  return more;
}

static uint8_t *state_at(uint32_t i)
{
  return w.states + (size_t)i * w.walk->state_bytes;
}

/* Without the budgets. */
static uint64_t hash_of(const uint8_t *state)
{
  uint64_t h = UINT64_C(14695981039346656037), part;
  uint8_t p[STATE_BYTES];
  size_t i, bytes;

  memcpy(p, state, w.walk->state_bytes);
  memset(p + w.walk->budgets_at, 0, w.walk->budgets_bytes);
  for (i = 0; i < w.walk->state_bytes; i += bytes) {
    bytes = w.walk->state_bytes - i < 8 ? w.walk->state_bytes - i : 8;
    part = 0;
    memcpy(&part, p + i, bytes);
    h = (h ^ part) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 32;
  }
  return h;
}

/* Whether a is b, with at least the same budgets. */
static bool covers(const uint8_t *a, const uint8_t *b)
{
  size_t begin = w.walk->budgets_at, end = begin + w.walk->budgets_bytes, i;

  for (i = begin; i < end; i++)
    if (a[i] < b[i])
      return false;
  return memcmp(a, b, begin) == 0 &&
         memcmp(a + end, b + end, w.walk->state_bytes - end) == 0;
}

static struct slot *slot_at(uint32_t i)
{
  return &w.table[i & (w.table_size - 1)];
}

/* The slot with a state that covers this one, or a free one. */
static struct slot *slot_of(const uint8_t *state, uint64_t hash)
{
  uint32_t at = (uint32_t)hash;

  for (;; at++) {
    struct slot *slot = slot_at(at);

    if (slot->state == NOWHERE ||
        (slot->hash == hash >> 32 && covers(state_at(slot->state), state)))
      return slot;
  }
}

static void make_room(void)
{
  uint64_t hash;
  uint32_t i;

  if (w.count < w.room)
    return;
  w.room = w.room == 0 ? 1 << 16 : w.room * 2;
  w.states = grow(w.states, (size_t)w.room * w.walk->state_bytes);
  w.parents = grow(w.parents, (size_t)w.room * sizeof(*w.parents));
  w.table_size = w.room * 2;
  w.table = grow(w.table, (size_t)w.table_size * sizeof(*w.table));
  memset(w.table, 0xff, (size_t)w.table_size * sizeof(*w.table));
  for (i = 0; i < w.count; i++) {
    hash = hash_of(state_at(i));
    *slot_of(state_at(i), hash) = (struct slot){(uint32_t)(hash >> 32), i};
  }
}

static uint32_t find_or_add(const struct next *next)
{
  struct slot *slot;

  make_room();
  slot = slot_of(next->state, next->hash);
  if (slot->state == NOWHERE) {
    memcpy(state_at(w.count), next->state, w.walk->state_bytes);
    w.parents[w.count] = w.done;
    *slot = (struct slot){(uint32_t)(next->hash >> 32), w.count++};
  }
  return slot->state;
}

static void add_edge(uint32_t to)
{
  if (w.edge_count == w.edge_room) {
    w.edge_room = w.edge_room == 0 ? 1 << 18 : w.edge_room * 2;
    w.edges = grow(w.edges, w.edge_room * sizeof(*w.edges));
  }
  w.edges[w.edge_count++] = (struct edge){w.done, to};
}

static void look_up_next(void)
{
  uint32_t to;
  size_t i;

  for (i = 0; i < w.next_count && w.count > 0; i++) {
    const struct slot *slot = slot_at((uint32_t)w.next[i].hash);

    if (slot->state != NOWHERE && slot->hash == w.next[i].hash >> 32)
      __builtin_prefetch(state_at(slot->state));
  }
  for (i = 0; i < w.next_count; i++) {
    to = find_or_add(&w.next[i]);
    if (w.done != NOWHERE && !w.next[i].is_fault && to != w.done)
      add_edge(to);
  }
  w.next_count = 0;
}

void walk_reach(const void *state)
{
  struct next *next;

  if (w.next_count == NEXT_MAX)
    look_up_next();
  next = &w.next[w.next_count++];
  memcpy(next->state, state, w.walk->state_bytes);
  next->hash = hash_of(state);
  next->is_fault = w.faults > 0;
  if (w.count > 0)
    __builtin_prefetch(slot_at((uint32_t)next->hash));
}

void walk_broken(const char *name)
{
  if (w.broken == NULL)
    w.broken = name;
}

void walk_faults(bool on)
{
  w.faults += on ? 1 : -1u;
}

static void print_way(uint32_t i)
{
  if (w.parents[i] != NOWHERE)
    print_way(w.parents[i]);
  w.walk->print(state_at(i));
}

/* Marks what can come to an end, backward from the ends; returns a state that
 * cannot, or NOWHERE. */
static uint32_t find_stuck(void)
{
  uint8_t *ends = calloc(w.count, 1);
  uint32_t *first = calloc((size_t)w.count + 2, sizeof(*first));
  uint32_t *sources = calloc(w.edge_count + 1, sizeof(*sources));
  uint32_t *queue = calloc(w.count, sizeof(*queue));
  uint32_t i, head = 0, tail = 0, stuck = NOWHERE;
  size_t e;

  if (ends == NULL || first == NULL || sources == NULL || queue == NULL)
    abort();
  for (e = 0; e < w.edge_count; e++)
    first[w.edges[e].to + 2]++;
  for (i = 1; i < w.count + 2; i++)
    first[i] += first[i - 1];
  for (e = 0; e < w.edge_count; e++)
    sources[first[w.edges[e].to + 1]++] = w.edges[e].from;
  for (i = 0; i < w.count; i++)
    if (w.walk->is_end(state_at(i))) {
      ends[i] = 1;
      queue[tail++] = i;
    }
  for (; head < tail; head++)
    for (e = first[queue[head]]; e < first[queue[head] + 1]; e++)
      if (!ends[sources[e]]) {
        ends[sources[e]] = 1;
        queue[tail++] = sources[e];
      }
  for (i = 0; i < w.count && stuck == NOWHERE; i++)
    if (!ends[i])
      stuck = i;
  free(ends);
  free(first);
  free(sources);
  free(queue);
  return stuck;
}

const char *walk_run(const struct walk *walk, bool trace, size_t *ret_states)
{
  uint8_t state[STATE_BYTES];
  uint32_t at = NOWHERE, i;

  w.walk = walk;
  w.count = w.room = w.table_size = 0;
  w.edge_count = 0;
  w.broken = NULL;
  w.faults = 0;
  w.next_count = 0;
  w.done = NOWHERE;
  walk->begin();
  look_up_next();
  for (i = 0; w.broken == NULL && i < w.count; i++) {
    w.done = at = i;
    memcpy(state, state_at(i), walk->state_bytes);
    walk->expand(state);
    look_up_next();
  }
  if (w.broken == NULL && (at = find_stuck()) != NOWHERE)
    w.broken = WALK_STUCK;
  if (w.broken != NULL && trace)
    print_way(at);
  *ret_states = w.count;
  return w.broken;
}

bool walk_is_right(const struct walk *walk, const char *name, size_t most)
{
  size_t states;
  const char *broken = walk_run(walk, true, &states);

  (void)printf("%s: %zu states%s%s\n", name, states, broken == NULL ? "" : ": ",
               broken == NULL ? "" : broken);
  if (states > most)
    (void)printf("expected: at most %zu states\n", most);
  return broken == NULL && states <= most;
}
