/*
 * drawn.c - which keys of which dictionary a PDF may keep, and the walk along
 * them, without recursion: nesting costs memory, not the stack.
 *
 * A dictionary is what the path to it says, never what its own /Type claims:
 * that key is optional, and whoever writes a hostile PDF leaves it out or lies.
 */
#include "filter/drawn.h"

#include <stdlib.h>
#include <string.h>

#include "filter/qpdf.h"

/* ---- what is allowed ---- */

enum kind {
  NOTHING, /* removed */
  PLAIN,   /* numbers, names, strings, and arrays of them */

  /* The document. */
  TRAILER,
  CATALOG,
  PAGE,
  CONTENT, /* of a page: one stream, or an array of them */
  LAYERS,  /* which layers are shown (optional content) */

  /* What pages draw. */
  RESOURCES,
  XOBJECT, /* of the resources: DRAWN, but no PostScript */
  DRAWN,   /* images, form XObjects, glyphs */
  PATTERN,
  SHADING,
  COLOR, /* parameters of color spaces, and functions */
  GSTATE,
  MASK,
  GROUP,
  FONT, /* with its descriptor, encoding, and font program */
  LAYER,
  USAGE,
  PARAMETERS, /* of a filter */
  SEGMENTS,   /* that several JBIG2 images share */

  KINDS
};

/*
 * The keys of ISO 32000-2 that change how a page looks, and /ActualText, which
 * changes what its text reads. Removed because they are not here: annotations
 * and the form (flatten.c has put on the page what they show), actions,
 * destinations, bookmarks, /Names with its scripts and attached files, /Info
 * and /Metadata, tags, /PieceInfo, /Thumb, external streams (/F), alternate
 * images, /OPI, /Ref.
 */
struct rule {
  enum kind kind;   /* of the value; arrays: of their items */
  bool map;         /* the value is a dictionary in which every key may be, with
                       values of this kind */
  const char *keys; /* without slashes, one blank between them */
};

#define ONE(kind, keys) \
  {                     \
    kind, false, keys   \
  }
#define EACH(kind, keys) \
  {                      \
    kind, true, keys     \
  }
#define END              \
  {                      \
    NOTHING, false, NULL \
  }
#define RULES(...) ((const struct rule[]){__VA_ARGS__, END})

#define DICTIONARY 1U
#define STREAM 2U

static const struct {
  unsigned forms; /* which the kind can have */
  const struct rule *rules;
} kinds[KINDS] = {
    [TRAILER] = {DICTIONARY, RULES(ONE(PLAIN, "Size"), ONE(CATALOG, "Root"))},
    [CATALOG] = {DICTIONARY,
                 RULES(ONE(PLAIN, "Version"), ONE(LAYERS, "OCProperties"))},
    [PAGE] = {DICTIONARY,
              RULES(ONE(PLAIN, "MediaBox CropBox BleedBox TrimBox ArtBox "
                               "Rotate UserUnit"),
                    ONE(RESOURCES, "Resources"), ONE(CONTENT, "Contents"),
                    ONE(GROUP, "Group"))},
    [CONTENT] = {STREAM, NULL},
    [LAYERS] = {DICTIONARY,
                RULES(ONE(PLAIN, "BaseState Intent Event Category"),
                      ONE(LAYER, "OCGs ON OFF"), ONE(LAYERS, "D AS"))},

    [RESOURCES] = {DICTIONARY,
                   RULES(ONE(PLAIN, "ProcSet"), EACH(GSTATE, "ExtGState"),
                         EACH(COLOR, "ColorSpace"), EACH(PATTERN, "Pattern"),
                         EACH(SHADING, "Shading"), EACH(XOBJECT, "XObject"),
                         EACH(FONT, "Font"), EACH(LAYER, "Properties"))},
    [DRAWN] =
        {STREAM,
         RULES(ONE(PLAIN,
                   "Subtype Name Width Height BitsPerComponent Intent "
                   "ImageMask Decode Interpolate SMaskInData Matte FormType "
                   "BBox Matrix"),
               ONE(COLOR, "ColorSpace"), ONE(DRAWN, "Mask SMask"),
               ONE(RESOURCES, "Resources"), ONE(GROUP, "Group"),
               ONE(LAYER, "OC"))},
    [PATTERN] = {DICTIONARY | STREAM,
                 RULES(ONE(PLAIN,
                           "PatternType PaintType TilingType BBox XStep YStep "
                           "Matrix"),
                       ONE(RESOURCES, "Resources"), ONE(SHADING, "Shading"),
                       ONE(GSTATE, "ExtGState"))},
    [SHADING] =
        {DICTIONARY | STREAM,
         RULES(ONE(PLAIN, "ShadingType Background BBox AntiAlias Domain Matrix "
                          "Coords Extend BitsPerCoordinate BitsPerComponent "
                          "BitsPerFlag Decode VerticesPerRow"),
               ONE(COLOR, "ColorSpace Function"))},
    [COLOR] =
        {DICTIONARY | STREAM,
         RULES(ONE(PLAIN,
                   "N Range WhitePoint BlackPoint Gamma Matrix Subtype "
                   "Components FunctionType Domain Size BitsPerSample Order "
                   "Encode Decode C0 C1 Bounds"),
               ONE(COLOR, "Alternate ColorSpace Process Functions"),
               EACH(COLOR, "Colorants"))},
    [GSTATE] = {DICTIONARY,
                RULES(ONE(PLAIN,
                          "LW LC LJ ML D RI OP op OPM FL SM SA BM CA ca AIS TK "
                          "UseBlackPtComp"),
                      ONE(FONT, "Font"), ONE(COLOR, "BG BG2 UCR UCR2 TR TR2"),
                      ONE(MASK, "SMask"))},
    [MASK] = {DICTIONARY,
              RULES(ONE(PLAIN, "S BC"), ONE(DRAWN, "G"), ONE(COLOR, "TR"))},
    [GROUP] = {DICTIONARY, RULES(ONE(PLAIN, "S I K"), ONE(COLOR, "CS"))},
    [FONT] =
        {DICTIONARY | STREAM,
         RULES(ONE(PLAIN,
                   "Subtype Name BaseFont FirstChar LastChar Widths FontBBox "
                   "FontMatrix W DW W2 DW2"),
               ONE(PLAIN,
                   "FontName FontFamily FontStretch FontWeight Flags "
                   "ItalicAngle Ascent Descent Leading CapHeight XHeight "
                   "StemV StemH AvgWidth MaxWidth MissingWidth CharSet Lang "
                   "Panose Length1 Length2 Length3"),
               ONE(PLAIN, "BaseEncoding Differences CMapName WMode Registry "
                          "Ordering Supplement"),
               ONE(FONT,
                   "DescendantFonts FontDescriptor FontFile FontFile2 "
                   "FontFile3 CIDSet Style Encoding ToUnicode CIDToGIDMap "
                   "CIDSystemInfo UseCMap"),
               EACH(FONT, "FD"), EACH(DRAWN, "CharProcs"),
               ONE(RESOURCES, "Resources"))},
    [LAYER] = {DICTIONARY, RULES(ONE(PLAIN, "Name Intent P ActualText"),
                                 ONE(LAYER, "OCGs VE"), ONE(USAGE, "Usage"))},
    [USAGE] = {DICTIONARY,
               RULES(ONE(USAGE, "View Print Export Zoom"),
                     ONE(PLAIN,
                         "ViewState PrintState ExportState Subtype min max"))},
    [PARAMETERS] = {DICTIONARY,
                    RULES(ONE(PLAIN,
                              "Name Predictor Colors BitsPerComponent Columns "
                              "EarlyChange K EndOfLine EncodedByteAlign Rows "
                              "EndOfBlock BlackIs1 DamagedRowsBeforeError "
                              "ColorTransform"),
                          ONE(SEGMENTS, "JBIG2Globals"))},
    [SEGMENTS] = {STREAM, NULL},
};

static const struct rule any_dictionary[] = {ONE(PLAIN, "Type"), END};
static const struct rule any_stream[] = {ONE(PLAIN, "Type Length Filter"),
                                         ONE(PARAMETERS, "DecodeParms"), END};

/* What an object is, as a set: a bit for each kind, and for each kind as the
 * values of a dictionary of names. */
typedef uint64_t drawn_roles;
#define ROLE(kind, map) ((drawn_roles)1 << (2 * (kind) + ((map) ? 1 : 0)))
_Static_assert(2 * KINDS <= 64, "a bit for each role");

/* A page lacks something if a reference to one of these leads to nothing. */
static const drawn_roles drawn_needed =
    ROLE(CONTENT, false) | ROLE(RESOURCES, false) | ROLE(XOBJECT, false) |
    ROLE(DRAWN, false) | ROLE(PATTERN, false) | ROLE(SHADING, false) |
    ROLE(COLOR, false) | ROLE(GSTATE, false) | ROLE(MASK, false) |
    ROLE(FONT, false) | ROLE(SEGMENTS, false);

struct drawn_place {
  qpdf_oh object;
  drawn_roles roles; /* to be visited as these */
  bool is_stream;
  int id; /* of the indirect object that it belongs to */
};

struct drawn_mark {
  drawn_roles roles;
  int generation;
  bool is_unclean;
};

static enum dx_reason drawn_fail(struct drawn *d, enum dx_reason reason,
                                 const char *why)
{
  if (d->reason == DX_REASON_NONE) {
    d->reason = reason;
    d->why = why;
  }
  return d->reason;
}

/* The mark of an indirect object; NULL on failure. A number that is used with
 * two generations would let one of the objects escape. */
static struct drawn_mark *drawn_mark_of(struct drawn *d, int id, int generation)
{
  size_t count = (size_t)id + 1;

  if (count > d->mark_count) {
    struct drawn_mark *marks;

    count = 2 * count > 4096 ? 2 * count : 4096;
    marks = reallocarray(d->marks, count, sizeof(*marks));
    if (marks == NULL) {
      (void)drawn_fail(d, DX_REASON_TOO_COMPLEX, NULL);
      return NULL;
    }
    memset(marks + d->mark_count, 0, (count - d->mark_count) * sizeof(*marks));
    d->marks = marks;
    d->mark_count = count;
  }
  if (d->marks[id].roles == 0)
    d->marks[id].generation = generation;
  if (d->marks[id].generation == generation)
    return &d->marks[id];
  (void)drawn_fail(d, DX_REASON_DAMAGED, "two parts of it have one number");
  return NULL;
}

/* ---- roles ---- */

static bool drawn_is_listed(const char *keys, const char *key)
{
  size_t len;

  for (; *keys != '\0'; keys += len + strspn(keys + len, " ")) {
    len = strcspn(keys, " ");
    if (strncmp(keys, key, len) == 0 && key[len] == '\0')
      return true;
  }
  return false;
}

static const struct rule *drawn_rule(const struct rule *rules, const char *key)
{
  for (; rules != NULL && rules->keys != NULL; rules++)
    if (drawn_is_listed(rules->keys, key))
      return rules;
  return NULL;
}

/* What the value of a key may be if the dictionary is `roles`; 0: not allowed.
 */
static drawn_roles drawn_roles_at(drawn_roles roles, bool stream,
                                  const char *key)
{
  drawn_roles found = 0;

  key += key[0] == '/';
  for (; roles != 0; roles &= roles - 1) {
    int bit = __builtin_ctzll(roles);
    const struct rule *rule =
        drawn_rule(stream ? any_stream : any_dictionary, key);

    if (rule == NULL)
      rule = drawn_rule(kinds[bit / 2].rules, key);
    if (bit % 2 != 0) /* any key */
      found |= ROLE(bit / 2, false);
    else if (rule != NULL)
      found |= ROLE(rule->kind, rule->map);
  }
  return found;
}

static bool drawn_has_subtype(qpdf_data pdf, qpdf_oh dict, const char *name)
{
  qpdf_oh subtype = qpdf_oh_get_key(pdf, dict, "/Subtype");
  bool yes = qpdf_oh_is_name_and_equals(pdf, subtype, name) == QPDF_TRUE;

  qpdf_oh_release(pdf, subtype);
  return yes;
}

/* PostScript is a program, which viewers ignore. */
static bool drawn_is_xobject(qpdf_data pdf, qpdf_oh stream)
{
  qpdf_oh dict = qpdf_oh_get_dict(pdf, stream);
  bool yes = drawn_has_subtype(pdf, dict, "/Form") ||
             drawn_has_subtype(pdf, dict, "/Image");

  qpdf_oh_release(pdf, dict);
  return yes;
}

static bool drawn_is_container(enum qpdf_object_type_e type)
{
  return type == ot_array || type == ot_dictionary || type == ot_stream;
}

/* What a value is of the roles that are allowed there. An array is all of them,
 * and its items are. */
static drawn_roles drawn_roles_of(struct drawn *d, drawn_roles allowed,
                                  qpdf_oh value, enum qpdf_object_type_e type)
{
  unsigned form = type == ot_stream ? STREAM : DICTIONARY;
  drawn_roles found = 0;

  if (type != ot_dictionary && type != ot_stream)
    return allowed;
  for (; allowed != 0; allowed &= allowed - 1) {
    int bit = __builtin_ctzll(allowed);
    enum kind kind = (enum kind)(bit / 2);

    if (kind == XOBJECT && bit % 2 == 0 && type == ot_stream)
      kind = drawn_is_xobject(d->pdf, value) ? DRAWN : NOTHING;
    if (bit % 2 != 0 ? type == ot_dictionary : (kinds[kind].forms & form) != 0)
      found |= ROLE(kind, bit % 2 != 0);
  }
  return found;
}

/* ---- judging ---- */

static bool drawn_null_found(void *ctx, const char *const *keys, int depth)
{
  const struct drawn_place *place = ctx;
  drawn_roles roles = place->roles;
  int i;

  for (i = 0; i < depth; i++)
    roles = drawn_roles_at(roles, place->is_stream && i == 0, keys[i]);
  return (roles & drawn_needed) == 0;
}

/* One stream, as each kind once. */
static void drawn_judge(struct drawn *d, qpdf_oh stream, qpdf_oh dict,
                        drawn_roles roles)
{
  const drawn_roles data = ROLE(SHADING, false) | ROLE(COLOR, false) |
                           ROLE(FONT, false) | ROLE(SEGMENTS, false);
  qpdf_oh resources = qpdf_oh_get_key(d->pdf, dict, "/Resources");
  enum dx_reason reason = DX_REASON_NONE;

  if ((roles & (ROLE(DRAWN, false) | ROLE(PATTERN, false))) != 0)
    reason =
        stream_whole(&d->check, stream,
                     drawn_has_subtype(d->pdf, dict, "/Image") ? STREAM_IMAGE
                                                               : STREAM_CONTENT,
                     resources);
  if (reason == DX_REASON_NONE && (roles & data) != 0)
    reason = stream_whole(&d->check, stream, STREAM_DATA, resources);
  qpdf_oh_release(d->pdf, resources);
  if (reason != DX_REASON_NONE)
    (void)drawn_fail(d, reason, d->check.why);
}

/* ---- visiting ---- */

/* Takes the handle. */
static void drawn_add(struct drawn *d, struct drawn_place place)
{
  dx_buf_add(&d->waiting, &place, sizeof(place));
}

/* Queues a value that is `roles`, unless it was already visited as all of
 * them. Takes the handle. */
static void drawn_reach(struct drawn *d, qpdf_oh value, drawn_roles roles,
                        const struct drawn_place *from)
{
  struct drawn_place place = {.object = value, .roles = roles, .id = from->id};
  int id = qpdf_oh_get_object_id(d->pdf, value);
  struct drawn_mark *mark;

  if (id > 0) {
    place.id = id;
    mark = drawn_mark_of(d, id, qpdf_oh_get_generation(d->pdf, value));
    place.roles = mark != NULL ? roles & ~mark->roles : 0;
    if (mark != NULL)
      mark->roles |= roles;
  }
  if (place.roles != 0)
    drawn_add(d, place);
  else
    qpdf_oh_release(d->pdf, value);
}

/* A value that is `roles`, where 0 is one that may not be there: true if it is
 * to be removed now. Takes the handle. */
static bool drawn_meet(struct drawn *d, const struct drawn_place *place,
                       qpdf_oh value, bool container, drawn_roles roles)
{
  struct drawn_mark *mark = &d->marks[place->id];

  if (roles == 0 && !d->cleans && !mark->is_unclean) {
    mark->is_unclean = true;
    dx_buf_add(&d->unclean, &place->id, sizeof(place->id));
  }
  if (roles != 0 && container && !d->cleans)
    drawn_reach(d, value, roles, place);
  else if (roles != 0 && container && !qpdf_oh_is_indirect(d->pdf, value))
    drawn_add(d, (struct drawn_place){.object = value, .roles = roles});
  else
    qpdf_oh_release(d->pdf, value);
  d->removed += roles == 0 && d->cleans;
  return roles == 0 && d->cleans;
}

/* libqpdf iterates over its own copy of the keys: entries may be removed. */
static void drawn_visit_dictionary(struct drawn *d,
                                   const struct drawn_place *place,
                                   qpdf_oh dict)
{
  qpdf_oh_begin_dict_key_iter(d->pdf, dict);
  while (qpdf_oh_dict_more_keys(d->pdf) && d->reason == DX_REASON_NONE) {
    const char *key = qpdf_oh_dict_next_key(d->pdf);
    qpdf_oh value = qpdf_oh_get_key(d->pdf, dict, key);
    enum qpdf_object_type_e type = qpdf_oh_get_type_code(d->pdf, value);
    drawn_roles allowed = drawn_roles_at(place->roles, place->is_stream, key);

    if (drawn_meet(d, place, value, drawn_is_container(type),
                   drawn_roles_of(d, allowed, value, type)))
      qpdf_oh_remove_key(d->pdf, dict, key);
  }
}

/* Removed items become null: moving the rest up would take quadratic time. */
static void drawn_visit_array(struct drawn *d, const struct drawn_place *place)
{
  int count = qpdf_oh_get_array_n_items(d->pdf, place->object), i;
  qpdf_oh null = qpdf_oh_new_null(d->pdf);

  for (i = 0; i < count && d->reason == DX_REASON_NONE; i++) {
    qpdf_oh item = qpdf_oh_get_array_item(d->pdf, place->object, i);
    enum qpdf_object_type_e type = qpdf_oh_get_type_code(d->pdf, item);

    if (type == ot_null &&
        (place->roles & (drawn_needed | drawn_needed << 1)) != 0)
      (void)drawn_fail(d, DX_REASON_DAMAGED, "a part of it is missing");
    if (drawn_meet(d, place, item, drawn_is_container(type),
                   drawn_roles_of(d, place->roles, item, type)))
      qpdf_oh_set_array_item(d->pdf, place->object, i, null);
  }
  qpdf_oh_release(d->pdf, null);
}

static void drawn_visit(struct drawn *d, struct drawn_place *place)
{
  enum qpdf_object_type_e type = qpdf_oh_get_type_code(d->pdf, place->object);
  qpdf_oh dict;

  place->is_stream = type == ot_stream;
  if (!d->cleans && type != ot_array &&
      qpdf_oh_is_indirect(d->pdf, place->object) &&
      !qpdf_each_null(d->pdf, place->object, drawn_null_found, place)) {
    (void)drawn_fail(d, DX_REASON_DAMAGED, "a part of it is missing");
  } else if (type == ot_array) {
    drawn_visit_array(d, place);
  } else if (type == ot_stream) {
    dict = qpdf_oh_get_dict(d->pdf, place->object);
    if (!d->cleans)
      drawn_judge(d, place->object, dict, place->roles);
    drawn_visit_dictionary(d, place, dict);
    qpdf_oh_release(d->pdf, dict);
  } else {
    drawn_visit_dictionary(d, place, place->object);
  }
}

static enum dx_reason drawn_visit_waiting(struct drawn *d)
{
  struct drawn_place place;

  while (d->waiting.len > 0 && d->reason == DX_REASON_NONE) {
    d->waiting.len -= sizeof(place);
    memcpy(&place, d->waiting.data + d->waiting.len, sizeof(place));
    drawn_visit(d, &place);
    qpdf_oh_release(d->pdf, place.object);
  }
  if (d->waiting.failed || d->unclean.failed)
    (void)drawn_fail(d, DX_REASON_TROUBLE, NULL);
  return d->reason;
}

static enum dx_reason drawn_visit_from(struct drawn *d, qpdf_oh object,
                                       enum kind kind)
{
  drawn_reach(d, qpdf_oh_new_object(d->pdf, object), ROLE(kind, false),
              &(struct drawn_place){0});
  return drawn_visit_waiting(d);
}

enum dx_reason drawn_page(struct drawn *d, qpdf_oh page)
{
  return drawn_visit_from(d, page, PAGE);
}

/* The objects that were found unclean, and the direct ones in them. */
enum dx_reason drawn_strip(struct drawn *d)
{
  qpdf_oh root = qpdf_get_root(d->pdf);
  size_t at;
  int id;

  (void)drawn_visit_from(d, root, CATALOG);
  qpdf_oh_release(d->pdf, root);
  d->cleans = true;
  for (at = 0; at < d->unclean.len; at += sizeof(id)) {
    memcpy(&id, d->unclean.data + at, sizeof(id));
    drawn_add(d, (struct drawn_place){.object = qpdf_get_object_by_id(
                                          d->pdf, id, d->marks[id].generation),
                                      .roles = d->marks[id].roles});
  }
  drawn_add(d, (struct drawn_place){.object = qpdf_get_trailer(d->pdf),
                                    .roles = ROLE(TRAILER, false)});
  return drawn_visit_waiting(d);
}

void drawn_release(struct drawn *d)
{
  dx_buf_release(&d->waiting);
  dx_buf_release(&d->unclean);
  free(d->marks);
}
