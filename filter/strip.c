/*
 * strip.c - walks through every object that would be written, and decides what
 * to remove. Knows nothing of pages.
 *
 * The meaning of a key in a PDF depends on its dictionary: /AA is a list of
 * actions in a page, but a font in a page's list of fonts. So a key counts only
 * if its dictionary states its type and the value has the right type.
 */
#include "filter/strip.h"

#include <string.h>

#include "filter/walk.h"

/* Keys with nothing to remove below, but most of the objects of a PDF. */
static const char *const inert[] = {
    "/Parent",       "/P",        "/Contents", "/Length",  "/Filter",
    "/Type",         "/Subtype",  "/MediaBox", "/CropBox", "/BBox",
    "/Matrix",       "/Rect",     "/Font",     "/ProcSet", "/ColorSpace",
    "/ExtGState",    "/Shading",  "/Group",    "/Rotate",  "/Dest",
    "/ParentTree",   "/RoleMap",  "/Width",    "/Height",  "/DecodeParms",
    "/TrimBox",      "/BleedBox", "/ArtBox",   "/MCID",    "/Pg",
    "/Count",        "/Border",   "/Index",    "/W",       "/Size",
    "/StructParents"};

/* Actions that do more than go to another page (ISO 32000-2, 12.6.4). */
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

static bool is_inert(const char *key)
{
  return IS_ONE_OF(key, inert);
}

/* ---- what to remove ---- */

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

/* Lists of fonts, colors, or destinations have no such entries. */
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

/* Structure elements have a /S, too, but also a parent. */
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

/* Runs when the document is opened; going to a page is harmless. */
static bool is_opening(qpdf_data pdf, qpdf_oh dict)
{
  qpdf_oh kind = qpdf_oh_get_key(pdf, dict, "/S");
  bool yes = !qpdf_oh_is_name_and_equals(pdf, kind, "/GoTo");

  qpdf_oh_release(pdf, kind);
  return yes;
}

/* An icon on the page for a file or a sound. */
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

/* ---- removing ---- */

/* Annotations keep an empty one: viewers do not draw them without it. */
static void remove_value(qpdf_data pdf, qpdf_oh dict, const char *key,
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

static enum walk_step see(void *ctx, qpdf_data pdf,
                          const struct walk_place *place, qpdf_oh value,
                          enum qpdf_object_type_e type)
{
  struct strip_count *stripped = ctx;

  if (place->key == NULL) {
    if (type != ot_dictionary || !is_active(pdf, value))
      return WALK_INTO;
    qpdf_oh_erase_item(pdf, place->holder, place->index);
    stripped->actions++;
    return WALK_REMOVED;
  }
  if (is_attachment(pdf, place->holder, place->key, type))
    stripped->attachments++;
  else if (is_action(pdf, place->holder, place->key, value, type))
    stripped->actions++;
  else
    return WALK_INTO;
  remove_value(pdf, place->holder, place->key, value);
  return WALK_REMOVED;
}

/* ---- the catalog ---- */

static void remove_from(qpdf_data pdf, qpdf_oh dict, const char *key,
                        int *count)
{
  if (!qpdf_oh_is_dictionary(pdf, dict) || !qpdf_oh_has_key(pdf, dict, key))
    return;
  qpdf_oh_remove_key(pdf, dict, key);
  ++*count;
}

/* Lists that are known only by their place. */
static void strip_root(qpdf_data pdf, struct strip_count *stripped)
{
  qpdf_oh root = qpdf_get_root(pdf);
  qpdf_oh names = qpdf_oh_get_key(pdf, root, "/Names");
  qpdf_oh form = qpdf_oh_get_key(pdf, root, "/AcroForm");

  remove_from(pdf, names, "/EmbeddedFiles", &stripped->attachments);
  remove_from(pdf, names, "/Renditions", &stripped->attachments);
  remove_from(pdf, names, "/AlternatePresentations", &stripped->attachments);
  remove_from(pdf, root, "/Collection", &stripped->attachments);
  remove_from(pdf, names, "/JavaScript", &stripped->actions);
  remove_from(pdf, form, "/XFA", &stripped->actions);
  qpdf_oh_release(pdf, form);
  qpdf_oh_release(pdf, names);
  qpdf_oh_release(pdf, root);
}

bool strip_active(qpdf_data pdf, struct strip_count *ret_count)
{
  struct strip_count stripped = {0};
  struct walk w = {.pdf = pdf, .skips = is_inert, .see = see, .ctx = &stripped};
  bool ok;

  strip_root(pdf, &stripped);
  ok = walk_add(&w, qpdf_get_trailer(pdf)) && walk_run(&w);
  walk_free(&w);
  *ret_count = stripped;
  return ok;
}
