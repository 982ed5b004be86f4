/*
 * walk.c - a walk without recursion: endless nesting costs memory, not the
 * stack.
 */
#include "filter/walk.h"

#include <stdlib.h>
#include <string.h>

#define ID_MAX (1 << 28) /* no PDF has so many objects */

static bool out_of_memory(struct walk *w)
{
  w->is_out_of_memory = true;
  return false;
}

bool walk_add(struct walk *w, qpdf_oh object)
{
  if (w->count == w->room) {
    size_t room = w->room > 0 ? 2 * w->room : 1024;
    qpdf_oh *waiting = realloc(w->waiting, room * sizeof(*waiting));

    if (waiting == NULL)
      return out_of_memory(w);
    w->waiting = waiting;
    w->room = room;
  }
  w->waiting[w->count++] = object;
  return true;
}

bool walk_mark(struct walk *w, qpdf_oh object, bool *ret_before)
{
  int id = qpdf_oh_get_object_id(w->pdf, object);
  size_t byte = (size_t)id / 8, bytes = 2 * byte + 1024;
  unsigned char bit = (unsigned char)(1 << (id % 8)), *seen;

  *ret_before = false;
  if (id <= 0) /* a direct object */
    return true;
  if (id >= ID_MAX)
    return false;
  if (byte >= w->seen_bytes) {
    seen = realloc(w->seen, bytes);
    if (seen == NULL)
      return out_of_memory(w);
    memset(seen + w->seen_bytes, 0, bytes - w->seen_bytes);
    w->seen = seen;
    w->seen_bytes = bytes;
  }
  *ret_before = (w->seen[byte] & bit) != 0;
  w->seen[byte] |= bit;
  return true;
}

/* Takes the handle over. */
static bool visit_value(struct walk *w, qpdf_oh value)
{
  enum qpdf_object_type_e type = qpdf_oh_get_type_code(w->pdf, value);

  if (type == ot_dictionary || type == ot_stream || type == ot_array)
    return walk_add(w, value);
  qpdf_oh_release(w->pdf, value);
  return true;
}

static bool visit_dictionary(struct walk *w, qpdf_oh dict)
{
  bool ok = true;

  qpdf_oh_begin_dict_key_iter(w->pdf, dict);
  while (ok && qpdf_oh_dict_more_keys(w->pdf)) {
    const char *key = qpdf_oh_dict_next_key(w->pdf);

    if (w->skips == NULL || !w->skips(key))
      ok = visit_value(w, qpdf_oh_get_key(w->pdf, dict, key));
  }
  return ok;
}

static bool visit_array(struct walk *w, qpdf_oh array)
{
  int count = qpdf_oh_get_array_n_items(w->pdf, array), i;
  bool ok = true;

  for (i = 0; i < count && ok; i++)
    ok = visit_value(w, qpdf_oh_get_array_item(w->pdf, array, i));
  return ok;
}

static bool visit(struct walk *w, qpdf_oh object)
{
  bool before, ok;
  qpdf_oh dict;

  if (!walk_mark(w, object, &before))
    return false;
  if (before)
    return true;
  switch (qpdf_oh_get_type_code(w->pdf, object)) {
  case ot_array:
    return visit_array(w, object);
  case ot_dictionary:
    return visit_dictionary(w, object);
  case ot_stream:
    dict = qpdf_oh_get_dict(w->pdf, object);
    ok = visit_dictionary(w, dict);
    qpdf_oh_release(w->pdf, dict);
    return ok;
  default:
    return true;
  }
}

bool walk_run(struct walk *w)
{
  bool ok = true;

  while (ok && w->count > 0) {
    qpdf_oh object = w->waiting[--w->count];

    ok = visit(w, object);
    qpdf_oh_release(w->pdf, object);
  }
  return ok;
}

void walk_free(struct walk *w)
{
  free(w->waiting);
  free(w->seen);
  w->waiting = NULL;
  w->seen = NULL;
}
