/*
 * strip.c - one walk over every object that would be written, and what to
 * leave out on the way. Reads no streams and knows nothing of pages.
 *
 * Names in a PDF mean something only where they stand: /AA is a list of
 * actions in a page, and a font in a page's list of fonts. So a key counts
 * only if its holder says what it is, and its value is of the right kind.
 */
#include "filter/strip.h"

#include <stdlib.h>
#include <string.h>

#define ID_MAX (1 << 28) /* no PDF has so many objects */

struct walk {
  qpdf_data pdf;
  qpdf_oh *waiting; /* handles, ours to release */
  size_t count;
  size_t room;
  unsigned char *seen; /* a bit an object id */
  size_t seen_bytes;
  struct strip_count stripped;
};

/* Where nothing of it can be, and where most of a PDF's objects hang. */
static const char *const inert[] = {
    "/Parent",       "/P",        "/Contents", "/Length",  "/Filter",
    "/Type",         "/Subtype",  "/MediaBox", "/CropBox", "/BBox",
    "/Matrix",       "/Rect",     "/Font",     "/ProcSet", "/ColorSpace",
    "/ExtGState",    "/Shading",  "/Group",    "/Rotate",  "/Dest",
    "/ParentTree",   "/RoleMap",  "/Width",    "/Height",  "/DecodeParms",
    "/TrimBox",      "/BleedBox", "/ArtBox",   "/MCID",    "/Pg",
    "/Count",        "/Border",   "/Index",    "/W",       "/Size",
    "/StructParents"};

/* Actions that do more than to show another place (ISO 32000-2, 12.6.4). */
static const char *const active[] = {
    "/JavaScript", "/Launch", "/SubmitForm", "/ImportData",      "/GoToE",
    "/Rendition",  "/Movie",  "/Sound",      "/RichMediaExecute"};

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
  size_t i;

  for (i = 0; i < count; i++)
    if (strcmp(word, list[i]) == 0)
      return true;
  return false;
}

#define IS_ONE_OF(word, list) \
  is_one_of(word, list, sizeof(list) / sizeof((list)[0]))

/* ---- the walk ---- */

/* Takes the handle over. */
static bool put_off(struct walk *w, qpdf_oh object)
{
  if (w->count == w->room) {
    size_t room = w->room > 0 ? 2 * w->room : 1024;
    qpdf_oh *waiting = realloc(w->waiting, room * sizeof(*waiting));

    if (waiting == NULL)
      return false;
    w->waiting = waiting;
    w->room = room;
  }
  w->waiting[w->count++] = object;
  return true;
}

/* Marks the object as seen; *ret_before if it was. False: out of bounds. */
static bool mark(struct walk *w, int id, bool *ret_before)
{
  size_t byte = (size_t)id / 8, bytes = 2 * byte + 1024;
  unsigned char bit = (unsigned char)(1 << (id % 8)), *seen;

  if (id >= ID_MAX)
    return false;
  if (byte >= w->seen_bytes) {
    seen = realloc(w->seen, bytes);
    if (seen == NULL)
      return false;
    memset(seen + w->seen_bytes, 0, bytes - w->seen_bytes);
    w->seen = seen;
    w->seen_bytes = bytes;
  }
  *ret_before = (w->seen[byte] & bit) != 0;
  w->seen[byte] |= bit;
  return true;
}

/* ---- what is to go ---- */

static enum qpdf_object_type_e type_at(qpdf_data pdf, qpdf_oh dict,
                                       const char *key)
{
  qpdf_oh value;
  enum qpdf_object_type_e type = ot_null;

  if (qpdf_oh_has_key(pdf, dict, key)) {
    value = qpdf_oh_get_key(pdf, dict, key);
    type = qpdf_oh_get_type_code(pdf, value);
    qpdf_oh_release(pdf, value);
  }
  return type;
}

/* A list of fonts, colours or destinations has no such entries. */
static bool says_what_it_is(qpdf_data pdf, qpdf_oh dict)
{
  return type_at(pdf, dict, "/Type") == ot_name ||
         type_at(pdf, dict, "/Subtype") == ot_name ||
         type_at(pdf, dict, "/S") == ot_name ||
         type_at(pdf, dict, "/FT") == ot_name ||
         type_at(pdf, dict, "/T") == ot_string;
}

static bool is_file(qpdf_data pdf, qpdf_oh dict)
{
  return type_at(pdf, dict, "/F") == ot_string ||
         type_at(pdf, dict, "/UF") == ot_string ||
         type_at(pdf, dict, "/Type") == ot_name;
}

/* Elements of a structure have a /S too, but also a parent. */
static bool is_active(qpdf_data pdf, qpdf_oh dict)
{
  qpdf_oh kind;
  bool yes;

  if (!qpdf_oh_has_key(pdf, dict, "/S") || qpdf_oh_has_key(pdf, dict, "/P"))
    return false;
  kind = qpdf_oh_get_key(pdf, dict, "/S");
  yes = qpdf_oh_is_name(pdf, kind) &&
        IS_ONE_OF(qpdf_oh_get_name(pdf, kind), active);
  qpdf_oh_release(pdf, kind);
  return yes;
}

/* What a document does when it is opened; to show a place is no harm. */
static bool is_opening(qpdf_data pdf, qpdf_oh dict)
{
  qpdf_oh kind = qpdf_oh_get_key(pdf, dict, "/S");
  bool yes = !qpdf_oh_is_name_and_equals(pdf, kind, "/GoTo");

  qpdf_oh_release(pdf, kind);
  return yes;
}

/* A paper clip, or a loudspeaker, on the page. */
static bool is_annotation(qpdf_data pdf, qpdf_oh dict)
{
  return type_at(pdf, dict, "/Subtype") == ot_name &&
         type_at(pdf, dict, "/Rect") == ot_array;
}

static bool is_attachment(qpdf_data pdf, qpdf_oh holder, const char *key,
                          enum qpdf_object_type_e type)
{
  if (strcmp(key, "/EF") == 0 || strcmp(key, "/RF") == 0)
    return type == ot_dictionary && is_file(pdf, holder);
  if (strcmp(key, "/AF") == 0)
    return (type == ot_dictionary || type == ot_array) &&
           says_what_it_is(pdf, holder);
  if (strcmp(key, "/FS") == 0)
    return type == ot_dictionary && is_annotation(pdf, holder);
  return strcmp(key, "/Sound") == 0 && type == ot_stream &&
         is_annotation(pdf, holder);
}

static bool is_action(qpdf_data pdf, qpdf_oh holder, const char *key,
                      qpdf_oh value, enum qpdf_object_type_e type)
{
  if (strcmp(key, "/OnInstantiate") == 0) /* a script of a 3D picture */
    return type == ot_stream && says_what_it_is(pdf, holder);
  if (type != ot_dictionary)
    return false;
  if (strcmp(key, "/AA") == 0)
    return says_what_it_is(pdf, holder);
  if (strcmp(key, "/OpenAction") == 0 && says_what_it_is(pdf, holder))
    return is_opening(pdf, value);
  return is_active(pdf, value);
}

/* ---- walking ---- */

/* Annotations keep an empty one: readers do not draw them without. */
static void take_out(qpdf_data pdf, qpdf_oh dict, const char *key,
                     qpdf_oh value)
{
  static const unsigned char nothing[1];
  qpdf_oh null, empty;

  if (strcmp(key, "/FS") == 0) {
    empty = qpdf_oh_new_string(pdf, "");
    qpdf_oh_replace_key(pdf, dict, key, empty);
    qpdf_oh_release(pdf, empty);
  } else if (strcmp(key, "/Sound") == 0) {
    null = qpdf_oh_new_null(pdf);
    qpdf_oh_replace_stream_data(pdf, value, nothing, 0, null, null);
    qpdf_oh_release(pdf, null);
  } else {
    qpdf_oh_remove_key(pdf, dict, key);
  }
}

/* One entry of a dictionary goes, or waits for its turn. */
static bool visit_key(struct walk *w, qpdf_oh dict, const char *key)
{
  qpdf_oh value;
  enum qpdf_object_type_e type;
  int *count = NULL;

  if (IS_ONE_OF(key, inert))
    return true;
  value = qpdf_oh_get_key(w->pdf, dict, key);
  type = qpdf_oh_get_type_code(w->pdf, value);
  if (is_attachment(w->pdf, dict, key, type))
    count = &w->stripped.attachments;
  else if (is_action(w->pdf, dict, key, value, type))
    count = &w->stripped.actions;
  if (count == NULL &&
      (type == ot_dictionary || type == ot_stream || type == ot_array))
    return put_off(w, value);
  if (count != NULL) {
    take_out(w->pdf, dict, key, value);
    ++*count;
  }
  qpdf_oh_release(w->pdf, value);
  return true;
}

/* qpdf goes over its own copy of the keys: entries may be removed. */
static bool visit_dictionary(struct walk *w, qpdf_oh dict)
{
  bool ok = true;

  qpdf_oh_begin_dict_key_iter(w->pdf, dict);
  while (ok && qpdf_oh_dict_more_keys(w->pdf))
    ok = visit_key(w, dict, qpdf_oh_dict_next_key(w->pdf));
  return ok;
}

static bool visit_array(struct walk *w, qpdf_oh array)
{
  int i = 0;
  bool ok = true;

  while (ok && i < qpdf_oh_get_array_n_items(w->pdf, array)) {
    qpdf_oh item = qpdf_oh_get_array_item(w->pdf, array, i++);
    enum qpdf_object_type_e type = qpdf_oh_get_type_code(w->pdf, item);

    if (type == ot_dictionary && is_active(w->pdf, item)) {
      qpdf_oh_erase_item(w->pdf, array, --i);
      w->stripped.actions++;
      type = ot_null;
    }
    if (type == ot_dictionary || type == ot_stream || type == ot_array)
      ok = put_off(w, item);
    else
      qpdf_oh_release(w->pdf, item);
  }
  return ok;
}

static bool visit(struct walk *w, qpdf_oh object)
{
  int id = qpdf_oh_get_object_id(w->pdf, object);
  enum qpdf_object_type_e type;
  bool before = false, ok;
  qpdf_oh dict;

  if (id > 0 && !mark(w, id, &before))
    return false;
  if (before)
    return true;
  type = qpdf_oh_get_type_code(w->pdf, object);
  if (type == ot_array)
    return visit_array(w, object);
  if (type == ot_dictionary)
    return visit_dictionary(w, object);
  dict = qpdf_oh_get_dict(w->pdf, object);
  ok = visit_dictionary(w, dict);
  qpdf_oh_release(w->pdf, dict);
  return ok;
}

/* ---- what the document as a whole has ---- */

static void remove_from(struct walk *w, qpdf_oh dict, const char *key,
                        int *count)
{
  if (!qpdf_oh_is_dictionary(w->pdf, dict) ||
      !qpdf_oh_has_key(w->pdf, dict, key))
    return;
  qpdf_oh_remove_key(w->pdf, dict, key);
  ++*count;
}

/* Lists that are known by their place alone. */
static void strip_root(struct walk *w)
{
  qpdf_oh root = qpdf_get_root(w->pdf);
  qpdf_oh names = qpdf_oh_get_key(w->pdf, root, "/Names");
  qpdf_oh form = qpdf_oh_get_key(w->pdf, root, "/AcroForm");

  remove_from(w, names, "/EmbeddedFiles", &w->stripped.attachments);
  remove_from(w, names, "/Renditions", &w->stripped.attachments);
  remove_from(w, names, "/AlternatePresentations", &w->stripped.attachments);
  remove_from(w, root, "/Collection", &w->stripped.attachments);
  remove_from(w, names, "/JavaScript", &w->stripped.actions);
  remove_from(w, form, "/XFA", &w->stripped.actions);
  qpdf_oh_release(w->pdf, form);
  qpdf_oh_release(w->pdf, names);
  qpdf_oh_release(w->pdf, root);
}

bool strip_active(qpdf_data pdf, struct strip_count *ret_count)
{
  struct walk w = {.pdf = pdf};
  bool ok;

  strip_root(&w);
  ok = put_off(&w, qpdf_get_trailer(pdf));
  while (ok && w.count > 0) {
    qpdf_oh object = w.waiting[--w.count];

    ok = visit(&w, object);
    qpdf_oh_release(pdf, object);
  }
  free(w.waiting);
  free(w.seen);
  *ret_count = w.stripped;
  return ok;
}
