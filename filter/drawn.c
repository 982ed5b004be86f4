/*
 * drawn.c - the keys that each dictionary of a PDF may keep, and the walk along
 * them, without recursion: nesting uses heap memory, not the stack.
 *
 * The kind of a dictionary follows from the path to it, never from its own
 * /Type: that key is optional, and may be missing or wrong in a hostile PDF.
 */
#include "filter/drawn.h"

#include <string.h>

#include "filter/qpdf.h"

/* ---- what is allowed ---- */

enum kind {
  PLAIN, /* numbers, names, strings, and arrays of them */
  ANY,   /* kind of dictionary, except for those with any key */
  ANY_STREAM,

  /* The document. */
  TRAILER,
  CATALOG,
  PAGE,
  CONTENT, /* of a page: one stream, or an array of them */
  LAYERS,  /* which layers are shown (optional content) */
  OUTPUTS, /* of the catalog: what its colors were made for */
  OUTPUT,

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

/* The kinds of an object, as a set: a bit for each kind, and a bit for a
 * dictionary with any keys whose values are of that kind. */
typedef uint64_t drawn_roles;
#define ONE(kind) ((drawn_roles)1 << (2 * (kind)))
#define EACH(kind) (ONE(kind) << 1)
#define EACH_OF_ALL (~(drawn_roles)0 / 3 * 2)
_Static_assert(2 * KINDS <= 64, "a bit for each role");

/*
 * The keys of ISO 32000-2 that change how a page looks, with the abbreviations
 * that viewers accept in all images, and /ActualText, which changes its text.
 * All others are removed: annotations and the form (flatten.c has drawn them on
 * the page), actions, destinations, bookmarks, /Names with its scripts and
 * attached files, /Info and /Metadata, tags, /PieceInfo, /Thumb, external
 * streams (/F), alternate images, /OPI, /Ref; and what is replaced: /Length by
 * libqpdf, the states of layers by flatten.c.
 */
static const struct rule {
  enum kind kind;    /* of the dictionary */
  drawn_roles roles; /* of the value; arrays: of their items */
  const char *keys;  /* without slashes, one blank between them */
} drawn_rules[] = {
    {ANY, ONE(PLAIN), "Type"},
    {ANY_STREAM, ONE(PLAIN), "Filter"},
    {ANY_STREAM, ONE(PARAMETERS), "DecodeParms DP"},
    {TRAILER, ONE(PLAIN), "Size"},
    {TRAILER, ONE(CATALOG), "Root"},
    {CATALOG, ONE(PLAIN), "Version"},
    {CATALOG, ONE(LAYERS), "OCProperties"},
    {OUTPUTS, ONE(OUTPUT), "OutputIntents"},
    {PAGE, ONE(PLAIN),
     "MediaBox CropBox BleedBox TrimBox ArtBox Rotate UserUnit"},
    {PAGE, ONE(RESOURCES), "Resources"},
    {PAGE, ONE(CONTENT), "Contents"},
    {PAGE, ONE(GROUP), "Group"},
    {LAYERS, ONE(PLAIN), "BaseState"},
    {LAYERS, ONE(LAYER), "OCGs OFF"},
    {LAYERS, ONE(LAYERS), "D"},
    {OUTPUT, ONE(PLAIN), "S OutputConditionIdentifier"},
    {OUTPUT, ONE(COLOR), "DestOutputProfile"},
    {RESOURCES, ONE(PLAIN), "ProcSet"},
    {RESOURCES, EACH(GSTATE), "ExtGState"},
    {RESOURCES, EACH(COLOR), "ColorSpace"},
    {RESOURCES, EACH(PATTERN), "Pattern"},
    {RESOURCES, EACH(SHADING), "Shading"},
    {RESOURCES, EACH(XOBJECT), "XObject"},
    {RESOURCES, EACH(FONT), "Font"},
    {RESOURCES, EACH(LAYER), "Properties"},
    {DRAWN, ONE(PLAIN),
     "Subtype Name Width Height BitsPerComponent Intent ImageMask Decode "
     "Interpolate SMaskInData Matte FormType BBox Matrix W H BPC IM D I"},
    {DRAWN, ONE(COLOR), "ColorSpace CS"},
    {DRAWN, ONE(DRAWN), "Mask SMask"},
    {DRAWN, ONE(RESOURCES), "Resources"},
    {DRAWN, ONE(GROUP), "Group"},
    {DRAWN, ONE(LAYER), "OC"},
    {PATTERN, ONE(PLAIN),
     "PatternType PaintType TilingType BBox XStep YStep Matrix"},
    {PATTERN, ONE(RESOURCES), "Resources"},
    {PATTERN, ONE(SHADING), "Shading"},
    {PATTERN, ONE(GSTATE), "ExtGState"},
    {SHADING, ONE(PLAIN),
     "ShadingType Background BBox AntiAlias Domain Matrix Coords Extend "
     "BitsPerCoordinate BitsPerComponent BitsPerFlag Decode "
     "VerticesPerRow"},
    {SHADING, ONE(COLOR), "ColorSpace Function"},
    {COLOR, ONE(PLAIN),
     "N Range WhitePoint BlackPoint Gamma Matrix Subtype Components "
     "FunctionType Domain Size BitsPerSample Order Encode Decode C0 C1 "
     "Bounds"},
    {COLOR, ONE(COLOR), "Alternate ColorSpace Process Functions"},
    {COLOR, EACH(COLOR), "Colorants"},
    {GSTATE, ONE(PLAIN),
     "LW LC LJ ML D RI OP op OPM FL SM SA BM CA ca AIS TK UseBlackPtComp"},
    {GSTATE, ONE(FONT), "Font"},
    {GSTATE, ONE(COLOR), "BG BG2 UCR UCR2 TR TR2"},
    {GSTATE, ONE(MASK), "SMask"},
    {MASK, ONE(PLAIN), "S BC"},
    {MASK, ONE(DRAWN), "G"},
    {MASK, ONE(COLOR), "TR"},
    {GROUP, ONE(PLAIN), "S I K"},
    {GROUP, ONE(COLOR), "CS"},
    {FONT, ONE(PLAIN),
     "Subtype Name BaseFont FirstChar LastChar Widths FontBBox "
     "FontMatrix W DW W2 DW2"},
    {FONT, ONE(PLAIN),
     "FontName FontFamily FontStretch FontWeight Flags ItalicAngle "
     "Ascent Descent Leading CapHeight XHeight StemV StemH AvgWidth "
     "MaxWidth MissingWidth CharSet Lang Panose Length1 Length2 Length3"},
    {FONT, ONE(PLAIN),
     "BaseEncoding Differences CMapName WMode Registry Ordering "
     "Supplement"},
    {FONT, ONE(FONT),
     "DescendantFonts FontDescriptor FontFile FontFile2 FontFile3 Style "
     "Encoding ToUnicode CIDToGIDMap CIDSystemInfo UseCMap"},
    {FONT, EACH(FONT), "FD"},
    {FONT, EACH(DRAWN), "CharProcs"},
    {FONT, ONE(RESOURCES), "Resources"},
    {LAYER, ONE(PLAIN), "Name Intent P ActualText"},
    {LAYER, ONE(LAYER), "OCGs VE"},
    {LAYER, ONE(USAGE), "Usage"},
    {USAGE, ONE(USAGE), "View Print Export Zoom"},
    {USAGE, ONE(PLAIN), "ViewState PrintState ExportState Subtype min max"},
    {PARAMETERS, ONE(PLAIN),
     "Name Predictor Colors BitsPerComponent Columns EarlyChange K "
     "EndOfLine EncodedByteAlign Rows EndOfBlock BlackIs1 "
     "DamagedRowsBeforeError ColorTransform"},
    {PARAMETERS, ONE(SEGMENTS), "JBIG2Globals"},
};

/* What can be a stream, and what cannot be a dictionary. */
static const drawn_roles drawn_streams = ONE(CONTENT) | ONE(DRAWN) |
                                         ONE(SEGMENTS) | ONE(PATTERN) |
                                         ONE(SHADING) | ONE(COLOR) | ONE(FONT);
static const drawn_roles drawn_no_dictionaries =
    ONE(CONTENT) | ONE(DRAWN) | ONE(SEGMENTS) | ONE(PLAIN) | ONE(XOBJECT);

/* If a reference to one of these leads to nothing, the page is incomplete. Not
 * the color space of a group: it is optional, and has no color of its own. */
static const drawn_roles drawn_needed =
    ONE(CONTENT) | ONE(RESOURCES) | ONE(XOBJECT) | ONE(DRAWN) | ONE(PATTERN) |
    ONE(SHADING) | ONE(COLOR) | ONE(GSTATE) | ONE(MASK) | ONE(FONT) |
    ONE(SEGMENTS);

/* An indirect object that is to be visited as these. */
struct drawn_place {
  int id;
  drawn_roles roles;
};

struct drawn_mark {
  drawn_roles roles;
  int generation;
  bool is_stream, is_image, is_form;
};

static void drawn_fail(struct drawn *d, enum dx_reason reason, const char *why)
{
  if (d->reason == DX_REASON_NONE) {
    d->reason = reason;
    d->check.why = why;
  }
}

static struct drawn_mark *drawn_mark_of(struct drawn *d, int id)
{
  return (struct drawn_mark *)(void *)d->marks.data + id;
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

/* The permitted roles of a key's value if the dictionary is `roles`; 0: none.
 */
static drawn_roles drawn_roles_at(drawn_roles roles, bool is_stream,
                                  const char *key)
{
  drawn_roles found = (roles & EACH_OF_ALL) >> 1;

  roles &= ~EACH_OF_ALL;
  if (roles != 0)
    roles |= ONE(ANY) | (is_stream ? ONE(ANY_STREAM) : 0);
  for (size_t i = 0; i < sizeof(drawn_rules) / sizeof(drawn_rules[0]); i++)
    if ((roles & ONE(drawn_rules[i].kind)) != 0 &&
        drawn_is_listed(drawn_rules[i].keys, key + (key[0] == '/')))
      found |= drawn_rules[i].roles;
  return found;
}

/* Those of the permitted roles that a value has. An array and its items have
 * all. PostScript has none: viewers ignore it. */
static drawn_roles drawn_roles_of(drawn_roles allowed,
                                  const struct qpdf_entry *entry)
{
  if (entry->type == ot_dictionary)
    return allowed & ~drawn_no_dictionaries;
  if (entry->type != ot_stream)
    return allowed;
  if ((allowed & ONE(XOBJECT)) != 0 && (strcmp(entry->subtype, "/Form") == 0 ||
                                        strcmp(entry->subtype, "/Image") == 0))
    allowed |= ONE(DRAWN);
  return allowed & drawn_streams;
}

/* ---- visiting ---- */

/* Adds an indirect object, unless it was already visited with all these roles.
 * A number with two generations is refused: one object would not be visited. */
static void drawn_reach(struct drawn *d, const struct qpdf_entry *object,
                        drawn_roles roles)
{
  static const struct drawn_mark none[256];
  struct drawn_place place = {.id = object->id};
  struct drawn_mark *mark;

  while ((size_t)place.id >= d->marks.len / sizeof(*mark) && !d->marks.failed)
    dx_buf_add(&d->marks, none, sizeof(none));
  if (d->marks.failed) {
    drawn_fail(d, DX_REASON_TOO_COMPLEX, NULL);
    return;
  }
  mark = drawn_mark_of(d, place.id);
  if (mark->roles != 0 && mark->generation != object->generation) {
    drawn_fail(d, DX_REASON_DAMAGED, "two of its parts have the same number");
    return;
  }
  place.roles = roles & ~mark->roles;
  mark->roles |= roles;
  mark->generation = object->generation;
  mark->is_stream = object->type == ot_stream;
  mark->is_image = strcmp(object->subtype, "/Image") == 0;
  mark->is_form = strcmp(object->subtype, "/Form") == 0;
  if (place.roles != 0)
    dx_buf_add(&d->waiting, &place, sizeof(place));
}

/* For qpdf_walk(): the roles of the value; 0: remove it. */
static uint64_t drawn_entry(void *work, const struct qpdf_entry *entry)
{
  struct drawn *d = work;
  drawn_roles allowed = entry->roles, roles = 0;

  if (entry->key != NULL)
    allowed = drawn_roles_at(allowed, entry->in_stream, entry->key);
  if (entry->is_lost && entry->roles != ONE(GROUP) &&
      (allowed & (drawn_needed | drawn_needed << 1)) != 0)
    drawn_fail(d, DX_REASON_DAMAGED, "a part of it is missing");
  if (!entry->is_lost)
    roles = drawn_roles_of(allowed, entry);
  if (roles != 0 && entry->id != 0 && !d->cleans &&
      (entry->type == ot_array || entry->type == ot_dictionary ||
       entry->type == ot_stream))
    drawn_reach(d, entry, roles);
  return roles;
}

static void drawn_visit(struct drawn *d, int id, drawn_roles roles)
{
  int generation = id > 0 ? drawn_mark_of(d, id)->generation : 0;

  if (!qpdf_walk(d->pdf, id, generation, roles, d->cleans, drawn_entry, d))
    drawn_fail(d, DX_REASON_DAMAGED, "a part of it is missing");
}

/*
 * True if a form or tiling pattern has its area, or nothing in it. Without
 * /BBox, MuPDF, PDFium, and pdf.js draw a form, and poppler and Ghostscript
 * leave it out; pdf.js fills the area of a pattern, and the others leave it
 * out. If /BBox is not four numbers, they differ in other ways. Whatever is
 * sent, it may differ from what the user saw. DSS writes "-1.#INF" in forms
 * that are empty.
 */
static bool drawn_has_area(struct drawn *d, int id, int generation)
{
  qpdf_oh stream = qpdf_get_object_by_id(d->pdf, id, generation);
  qpdf_oh dict = qpdf_oh_get_dict(d->pdf, stream);
  qpdf_oh box = qpdf_oh_get_key(d->pdf, dict, "/BBox");
  qpdf_oh length = qpdf_oh_get_key(d->pdf, dict, "/Length");
  bool has_area = qpdf_oh_is_array(d->pdf, box) &&
                  qpdf_oh_get_array_n_items(d->pdf, box) == 4;

  for (int i = 0; i < 4 && has_area; i++)
    has_area =
        qpdf_oh_is_number(d->pdf, qpdf_oh_get_array_item(d->pdf, box, i));
  if (qpdf_oh_is_integer(d->pdf, length) &&
      qpdf_oh_get_int_value(d->pdf, length) == 0)
    has_area = true;
  qpdf_oh_release_all(d->pdf);
  return has_area;
}

/* Checks a stream once for each kind. */
static void drawn_judge(struct drawn *d, int id, drawn_roles roles)
{
  const drawn_roles data =
      ONE(SHADING) | ONE(COLOR) | ONE(FONT) | ONE(SEGMENTS);
  const struct drawn_mark *mark = drawn_mark_of(d, id);
  enum dx_reason reason = DX_REASON_NONE;

  if (((roles & ONE(PATTERN)) != 0 ||
       ((roles & ONE(DRAWN)) != 0 && mark->is_form)) &&
      !drawn_has_area(d, id, mark->generation)) {
    drawn_fail(d, DX_REASON_DAMAGED, "a part of it is missing");
    return;
  }
  if ((roles & (ONE(DRAWN) | ONE(PATTERN))) != 0)
    reason = stream_whole(&d->check, id, mark->generation,
                          mark->is_image ? STREAM_IMAGE : STREAM_CONTENT);
  if (reason == DX_REASON_NONE && (roles & data) != 0)
    reason = stream_whole(&d->check, id, mark->generation, STREAM_DATA);
  if (reason != DX_REASON_NONE)
    drawn_fail(d, reason, d->check.why);
}

/* Visits everything that a page, or the catalog, refers to. */
static enum dx_reason drawn_follow(struct drawn *d, qpdf_oh from,
                                   drawn_roles roles)
{
  struct qpdf_entry first = {.id = qpdf_oh_get_object_id(d->pdf, from),
                             .generation = qpdf_oh_get_generation(d->pdf, from),
                             .subtype = ""};
  struct drawn_place place;

  drawn_reach(d, &first, roles);
  while (d->reason == DX_REASON_NONE && d->waiting.len > 0) {
    d->waiting.len -= sizeof(place);
    memcpy(&place, d->waiting.data + d->waiting.len, sizeof(place));
    drawn_visit(d, place.id, place.roles);
    if (d->reason == DX_REASON_NONE && drawn_mark_of(d, place.id)->is_stream)
      drawn_judge(d, place.id, place.roles);
  }
  if (d->waiting.failed)
    drawn_fail(d, DX_REASON_TROUBLE, NULL);
  qpdf_oh_release_all(d->pdf);
  return d->reason;
}

enum dx_reason drawn_page(struct drawn *d, int id)
{
  return drawn_follow(d, qpdf_get_object_by_id(d->pdf, id, 0), ONE(PAGE));
}

/* Viewers show the colors without the profile that they were made for if it is
 * lost or damaged: then it is removed. What it refers to is visited anyway,
 * because all that was reached is kept. */
static void drawn_outputs(struct drawn *d)
{
  int root = qpdf_oh_get_object_id(d->pdf, qpdf_get_root(d->pdf));
  enum dx_reason reason;
  bool is_whole = true;

  if (d->reason != DX_REASON_NONE)
    return;
  while ((reason = drawn_follow(d, qpdf_get_root(d->pdf), ONE(OUTPUTS))) ==
             DX_REASON_DAMAGED ||
         reason == DX_REASON_UNKNOWN) {
    d->reason = DX_REASON_NONE;
    is_whole = false;
  }
  if (!is_whole)
    drawn_mark_of(d, root)->roles &= ~ONE(OUTPUTS);
}

enum dx_reason drawn_strip(struct drawn *d)
{
  int count, id;

  (void)drawn_follow(d, qpdf_get_root(d->pdf), ONE(CATALOG));
  drawn_outputs(d);
  count = (int)(d->marks.len / sizeof(struct drawn_mark));
  d->cleans = true;
  for (id = 1; id < count && d->reason == DX_REASON_NONE; id++)
    if (drawn_mark_of(d, id)->roles != 0)
      drawn_visit(d, id, drawn_mark_of(d, id)->roles);
  drawn_visit(d, 0, ONE(TRAILER));
  return d->reason;
}

void drawn_release(struct drawn *d)
{
  dx_buf_release(&d->waiting);
  dx_buf_release(&d->marks);
}
