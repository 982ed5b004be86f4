/*
 * strip.c - visits what a PDF is allowed to keep, without recursion, and
 * removes the rest on the way.
 */
#include "filter/strip.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "filter/allowed.h"

#define GENERATION_BITS 16
#define CODE_BITS 8
#define SEEN_BITS_FIRST 12

/* A value to be visited. */
struct place {
  qpdf_oh object;
  qpdf_oh holder; /* the node above a page */
  struct allowed as;
};

struct strip {
  qpdf_data pdf;
  struct place *waiting;
  size_t count, room;
  uint64_t *seen; /* a hash table of objects and kinds; 0: free */
  size_t seen_count;
  unsigned seen_bits; /* it has room for 2 to this power */
  uint64_t factor;
  qpdf_oh *fields; /* every WIDGET, for collect_fields() */
  size_t field_count, field_room;
  qpdf_oh silence; /* an empty stream; 0 until it is needed */
  int removed;
  enum dx_reason reason;
};

/* Room for one more; NULL and `reason` if out of memory. */
static void *more_room(struct strip *s, void *items, size_t count, size_t *room,
                       size_t size)
{
  size_t most = *room > 0 ? 2 * *room : 1024;

  if (count < *room)
    return items;
  items = reallocarray(items, most, size);
  if (items != NULL)
    *room = most;
  else
    s->reason = DX_REASON_TROUBLE;
  return items;
}

/* ---- which objects were visited, and as what ---- */

/* The kernel's random bytes: whoever writes a PDF cannot choose object numbers
 * that collide. */
static uint64_t random_factor(void)
{
  uint64_t factor;

  memcpy(&factor, (const void *)getauxval(AT_RANDOM), sizeof(factor));
  return factor | 1;
}

static uint64_t *slot_of(const struct strip *s, uint64_t object)
{
  size_t last = ((size_t)1 << s->seen_bits) - 1;
  size_t i = (size_t)((object * s->factor) >> (64 - s->seen_bits));

  while (s->seen[i] != 0 && s->seen[i] >> CODE_BITS != object)
    i = (i + 1) & last;
  return &s->seen[i];
}

/* At most half of the table is used. */
static bool widen_table(struct strip *s)
{
  uint64_t *old = s->seen;
  size_t room = s->seen_bits > 0 ? (size_t)1 << s->seen_bits : 0, i;
  unsigned bits = s->seen_bits > 0 ? s->seen_bits + 1 : SEEN_BITS_FIRST;

  if (2 * s->seen_count < room)
    return true;
  s->seen = calloc((size_t)1 << bits, sizeof(*s->seen));
  if (s->seen == NULL) {
    s->seen = old;
    s->reason = DX_REASON_TROUBLE;
    return false;
  }
  s->seen_bits = bits;
  for (i = 0; i < room; i++)
    if (old[i] != 0)
      *slot_of(s, old[i] >> CODE_BITS) = old[i];
  free(old);
  return true;
}

/* What to do with a reference. */
enum sight { FIRST, AGAIN, AS_OTHER };

/* A direct object is in one place only, so this is always the first time. */
static enum sight sight_of(struct strip *s, qpdf_oh value, struct allowed as)
{
  int id = qpdf_oh_get_object_id(s->pdf, value);
  int generation = qpdf_oh_get_generation(s->pdf, value);
  uint64_t object = ((uint64_t)id << GENERATION_BITS) | (unsigned)generation;
  uint64_t mark = (object << CODE_BITS) | ((unsigned)as.kind << 1) | as.map;
  uint64_t *slot;

  if (id <= 0)
    return FIRST;
  if (generation < 0 || generation >= 1 << GENERATION_BITS || !widen_table(s))
    return AS_OTHER;
  slot = slot_of(s, object);
  if (*slot != 0)
    return *slot == mark ? AGAIN : AS_OTHER;
  *slot = mark;
  s->seen_count++;
  return FIRST;
}

/* ---- kinds that depend on the value ---- */

static bool has_subtype(qpdf_data pdf, qpdf_oh dict, const char *name)
{
  qpdf_oh subtype = qpdf_oh_get_key(pdf, dict, "/Subtype");
  bool yes = qpdf_oh_is_name_and_equals(pdf, subtype, name) == QPDF_TRUE;

  qpdf_oh_release(pdf, subtype);
  return yes;
}

static enum kind kind_of_annotation(qpdf_data pdf, qpdf_oh dict)
{
  if (has_subtype(pdf, dict, "/Widget"))
    return WIDGET;
  return has_subtype(pdf, dict, "/FreeText") || has_subtype(pdf, dict, "/Line")
             ? TEXT_BOX
             : MARKUP;
}

/* PostScript is a program, which viewers ignore. */
static enum kind kind_of_xobject(qpdf_data pdf, qpdf_oh stream)
{
  qpdf_oh dict = qpdf_oh_get_dict(pdf, stream);
  bool drawn =
      has_subtype(pdf, dict, "/Form") || has_subtype(pdf, dict, "/Image");

  qpdf_oh_release(pdf, dict);
  return drawn ? DRAWN : NOTHING;
}

/* What a dictionary or stream is, where `as` is expected. */
static struct allowed settle(qpdf_data pdf, qpdf_oh value, bool stream,
                             struct allowed as)
{
  if (as.map) {
    as.kind = stream ? NOTHING : as.kind;
  } else if (as.kind == APPEARANCE) {
    as = (struct allowed){DRAWN, !stream};
  } else {
    if (as.kind == XOBJECT && stream)
      as.kind = kind_of_xobject(pdf, value);
    else if (as.kind == ANNOTATION && !stream)
      as.kind = kind_of_annotation(pdf, value);
    as.kind = allowed_as(as.kind, stream) ? as.kind : NOTHING;
  }
  return as;
}

/* ---- queueing ---- */

static void add_field(struct strip *s, qpdf_oh field)
{
  qpdf_oh *fields = more_room(s, s->fields, s->field_count, &s->field_room,
                              sizeof(*s->fields));

  if (fields == NULL)
    return;
  s->fields = fields;
  s->fields[s->field_count++] = qpdf_oh_new_object(s->pdf, field);
}

/* Takes the handle. */
static void add_place(struct strip *s, struct place place)
{
  struct place *waiting =
      more_room(s, s->waiting, s->count, &s->room, sizeof(*s->waiting));

  if (waiting == NULL)
    return;
  s->waiting = waiting;
  s->waiting[s->count++] = place;
}

/* True if the value can stay; what hangs on it is visited later. Takes its
 * handle. */
static bool keep(struct strip *s, struct place value)
{
  enum qpdf_object_type_e type = qpdf_oh_get_type_code(s->pdf, value.object);
  bool scalar = type >= ot_null && type <= ot_name;
  bool pages = value.as.kind == PAGES;
  enum sight sight = AS_OTHER;

  if (type == ot_dictionary || type == ot_stream)
    value.as = settle(s->pdf, value.object, type == ot_stream, value.as);
  if (type == ot_array || ((type == ot_dictionary || type == ot_stream) &&
                           value.as.kind != NOTHING))
    sight = sight_of(s, value.object, value.as);
  if (sight == FIRST)
    add_place(s, value);
  else
    qpdf_oh_release(s->pdf, value.object);
  if (pages && !scalar && sight != FIRST) /* used as something else */
    s->reason = DX_REASON_DAMAGED;
  return scalar || sight != AS_OTHER;
}

/* ---- values that are replaced ---- */

static void replace(struct strip *s, qpdf_oh dict, const char *key,
                    qpdf_oh value)
{
  qpdf_oh_replace_key(s->pdf, dict, key, value);
  qpdf_oh_release(s->pdf, value);
}

/* Viewers do not draw the icon of a sound without a stream and its rate. */
static qpdf_oh silence(struct strip *s)
{
  static const unsigned char nothing[1];
  qpdf_oh null, dict;

  if (s->silence == 0) {
    s->silence = qpdf_oh_new_stream(s->pdf);
    null = qpdf_oh_new_null(s->pdf);
    qpdf_oh_replace_stream_data(s->pdf, s->silence, nothing, 0, null, null);
    qpdf_oh_release(s->pdf, null);
    dict = qpdf_oh_get_dict(s->pdf, s->silence);
    replace(s, dict, "/R", qpdf_oh_new_integer(s->pdf, 8000));
    qpdf_oh_release(s->pdf, dict);
  }
  return qpdf_oh_new_object(s->pdf, s->silence);
}

/* False if the kind is none of those that are replaced. */
static bool was_replaced(struct strip *s, const struct place *place,
                         qpdf_oh dict, const char *key, enum kind kind)
{
  if (kind == PARENT && place->holder != 0)
    qpdf_oh_replace_key(s->pdf, dict, key, place->holder);
  else if (kind == PARENT)
    qpdf_oh_remove_key(s->pdf, dict, key);
  else if (kind == FILE_NAME)
    replace(s, dict, key, qpdf_oh_new_string(s->pdf, ""));
  else if (kind == SOUND)
    replace(s, dict, key, silence(s));
  else
    return false;
  return true;
}

/* ---- visiting ---- */

/* qpdf iterates over its own copy of the keys: entries may be removed. */
static void visit_dictionary(struct strip *s, const struct place *place,
                             qpdf_oh dict, bool stream)
{
  qpdf_oh_begin_dict_key_iter(s->pdf, dict);
  while (qpdf_oh_dict_more_keys(s->pdf)) {
    const char *key = qpdf_oh_dict_next_key(s->pdf);
    qpdf_oh holder = place->as.kind == PAGES ? place->object : 0;
    struct allowed as = place->as.map ? (struct allowed){place->as.kind, false}
                                      : allowed_at(place->as.kind, stream, key);

    if (was_replaced(s, place, dict, key, as.kind))
      continue;
    if (as.kind == NOTHING ||
        !keep(s,
              (struct place){qpdf_oh_get_key(s->pdf, dict, key), holder, as})) {
      qpdf_oh_remove_key(s->pdf, dict, key);
      s->removed++;
    }
  }
}

/* Removed items become null: moving the rest up would take quadratic time. */
static void visit_array(struct strip *s, const struct place *place)
{
  int count = qpdf_oh_get_array_n_items(s->pdf, place->object), i;
  qpdf_oh null = qpdf_oh_new_null(s->pdf);

  for (i = 0; i < count; i++) {
    qpdf_oh item = qpdf_oh_get_array_item(s->pdf, place->object, i);

    if (keep(s, (struct place){item, place->holder, place->as}))
      continue;
    qpdf_oh_set_array_item(s->pdf, place->object, i, null);
    s->removed++;
  }
  qpdf_oh_release(s->pdf, null);
}

static void visit(struct strip *s, const struct place *place)
{
  qpdf_oh dict;

  switch (qpdf_oh_get_type_code(s->pdf, place->object)) {
  case ot_array:
    visit_array(s, place);
    break;
  case ot_stream:
    dict = qpdf_oh_get_dict(s->pdf, place->object);
    visit_dictionary(s, place, dict, true);
    qpdf_oh_release(s->pdf, dict);
    break;
  default:
    if (place->as.kind == WIDGET)
      add_field(s, place->object);
    visit_dictionary(s, place, place->object, false);
  }
}

static void visit_all(struct strip *s)
{
  while (s->count > 0 && s->reason == DX_REASON_NONE) {
    struct place place = s->waiting[--s->count];

    visit(s, &place);
    if (place.as.kind != PAGES) /* those are the holders of others */
      qpdf_oh_release(s->pdf, place.object);
  }
}

/* ---- the interactive form ---- */

static void append_to(qpdf_data pdf, qpdf_oh dict, const char *key,
                      qpdf_oh item)
{
  qpdf_oh list = qpdf_oh_get_key(pdf, dict, key);

  if (!qpdf_oh_is_array(pdf, list)) {
    qpdf_oh_release(pdf, list);
    list = qpdf_oh_new_array(pdf);
    qpdf_oh_replace_key(pdf, dict, key, list);
  }
  qpdf_oh_append_item(pdf, list, item);
  qpdf_oh_release(pdf, list);
}

/*
 * The lists of fields are not visited, but rebuilt from below: they contain
 * what the pages show, and what is above it. A field that is a direct object
 * cannot be in a list.
 */
static void collect_fields(struct strip *s)
{
  qpdf_oh root = qpdf_get_root(s->pdf);
  qpdf_oh form = qpdf_oh_get_key(s->pdf, root, "/AcroForm");
  size_t i;

  for (i = 0; i < s->field_count; i++) {
    qpdf_oh above = qpdf_oh_get_key(s->pdf, s->fields[i], "/Parent");

    if (!qpdf_oh_is_indirect(s->pdf, s->fields[i]))
      s->removed++;
    else if (qpdf_oh_is_dictionary(s->pdf, above))
      append_to(s->pdf, above, "/Kids", s->fields[i]);
    else if (qpdf_oh_is_dictionary(s->pdf, form))
      append_to(s->pdf, form, "/Fields", s->fields[i]);
    qpdf_oh_release(s->pdf, above);
  }
  qpdf_oh_release(s->pdf, form);
  qpdf_oh_release(s->pdf, root);
}

enum dx_reason strip_pdf(qpdf_data pdf, int *ret_removed)
{
  struct strip s = {.pdf = pdf, .factor = random_factor()};

  add_place(&s, (struct place){qpdf_get_trailer(pdf), 0, {TRAILER, false}});
  visit_all(&s);
  collect_fields(&s);
  free(s.waiting);
  free(s.seen);
  free(s.fields);
  *ret_removed = s.removed;
  return s.reason;
}
