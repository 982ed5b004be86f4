/*
 * allowed.c - the list. Removed because it is not here: actions (/A, /AA, /PA,
 * /OpenAction), destinations, bookmarks, /Names with its scripts and attached
 * files, /Info and /Metadata, tags, /PieceInfo, /Thumb, external streams (/F),
 * XFA, media, 3D, signatures, alternate images, /OPI, /Ref.
 */
#include "filter/allowed.h"

#include <stddef.h>
#include <string.h>

struct rule {
  enum kind kind;
  bool map;
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
  unsigned forms;  /* which the kind can have */
  enum kind basis; /* whose keys it has, too */
  const struct rule *rules;
} kinds[KINDS] = {
    [TRAILER] = {DICTIONARY, NOTHING,
                 RULES(ONE(PLAIN, "Size ID"), ONE(CATALOG, "Root"))},
    [CATALOG] = {DICTIONARY, NOTHING,
                 RULES(ONE(PLAIN, "Version"), ONE(PAGES, "Pages"),
                       ONE(FORM, "AcroForm"), ONE(LAYERS, "OCProperties"))},
    [PAGES] = {DICTIONARY, NOTHING,
               RULES(
                   ONE(PARENT, "Parent"), ONE(PAGES, "Kids"),
                   ONE(PLAIN,
                       "Count MediaBox CropBox BleedBox TrimBox ArtBox Rotate "
                       "UserUnit"),
                   ONE(RESOURCES, "Resources"), ONE(DRAWN, "Contents"),
                   ONE(GROUP, "Group"), ONE(ANNOTATION, "Annots"))},
    [FORM] = {DICTIONARY, NOTHING,
              RULES(ONE(PLAIN, "NeedAppearances DA Q"), ONE(RESOURCES, "DR"))},
    [LAYERS] = {DICTIONARY, NOTHING,
                RULES(ONE(PLAIN, "BaseState Intent Event Category"),
                      ONE(LAYER, "OCGs ON OFF"), ONE(LAYERS, "D AS"))},

    [RESOURCES] = {DICTIONARY, NOTHING,
                   RULES(ONE(PLAIN, "ProcSet"), EACH(GSTATE, "ExtGState"),
                         EACH(COLOR, "ColorSpace"), EACH(PATTERN, "Pattern"),
                         EACH(SHADING, "Shading"), EACH(XOBJECT, "XObject"),
                         EACH(FONT, "Font"), EACH(LAYER, "Properties"))},
    [DRAWN] =
        {STREAM, NOTHING,
         RULES(ONE(PLAIN,
                   "Subtype Name Width Height BitsPerComponent Intent "
                   "ImageMask Decode Interpolate SMaskInData Matte FormType "
                   "BBox Matrix"),
               ONE(COLOR, "ColorSpace"), ONE(DRAWN, "Mask SMask"),
               ONE(RESOURCES, "Resources"), ONE(GROUP, "Group"),
               ONE(LAYER, "OC"))},
    [PATTERN] = {DICTIONARY | STREAM, NOTHING,
                 RULES(ONE(PLAIN,
                           "PatternType PaintType TilingType BBox XStep YStep "
                           "Matrix"),
                       ONE(RESOURCES, "Resources"), ONE(SHADING, "Shading"),
                       ONE(GSTATE, "ExtGState"))},
    [SHADING] =
        {DICTIONARY | STREAM, NOTHING,
         RULES(ONE(PLAIN, "ShadingType Background BBox AntiAlias Domain Matrix "
                          "Coords Extend BitsPerCoordinate BitsPerComponent "
                          "BitsPerFlag Decode VerticesPerRow"),
               ONE(COLOR, "ColorSpace Function"))},
    [COLOR] =
        {DICTIONARY | STREAM, NOTHING,
         RULES(ONE(PLAIN,
                   "N Range WhitePoint BlackPoint Gamma Matrix Subtype "
                   "Components FunctionType Domain Size BitsPerSample Order "
                   "Encode Decode C0 C1 Bounds"),
               ONE(COLOR, "Alternate ColorSpace Process Functions"),
               EACH(COLOR, "Colorants"))},
    [GSTATE] = {DICTIONARY, NOTHING,
                RULES(ONE(PLAIN,
                          "LW LC LJ ML D RI OP op OPM FL SM SA BM CA ca AIS TK "
                          "UseBlackPtComp"),
                      ONE(FONT, "Font"), ONE(COLOR, "BG BG2 UCR UCR2 TR TR2"),
                      ONE(MASK, "SMask"))},
    [MASK] = {DICTIONARY, NOTHING,
              RULES(ONE(PLAIN, "S BC"), ONE(DRAWN, "G"), ONE(COLOR, "TR"))},
    [GROUP] = {DICTIONARY, NOTHING,
               RULES(ONE(PLAIN, "S I K"), ONE(COLOR, "CS"))},
    [FONT] =
        {DICTIONARY | STREAM, NOTHING,
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
    [LAYER] = {DICTIONARY, NOTHING,
               RULES(ONE(PLAIN, "Name Intent P ActualText"),
                     ONE(LAYER, "OCGs VE"), ONE(USAGE, "Usage"))},
    [USAGE] = {DICTIONARY, NOTHING,
               RULES(ONE(USAGE, "View Print Export Zoom"),
                     ONE(PLAIN,
                         "ViewState PrintState ExportState Subtype min max"))},
    [PARAMETERS] = {DICTIONARY, NOTHING,
                    RULES(ONE(PLAIN,
                              "Name Predictor Colors BitsPerComponent Columns "
                              "EarlyChange K EndOfLine EncodedByteAlign Rows "
                              "EndOfBlock BlackIs1 DamagedRowsBeforeError "
                              "ColorTransform"),
                          ONE(DRAWN, "JBIG2Globals"))},

    [MARKUP] =
        {DICTIONARY, NOTHING,
         RULES(ONE(PLAIN,
                   "Subtype Rect F AS Border C RD IC CA ca BM QuadPoints L "
                   "LE LL LLE LLO Cap CP CO Vertices Path InkList CL Sy "
                   "Name IT DA Q"),
               ONE(APPEARANCES, "AP"), ONE(STYLE, "BS BE FixedPrint"),
               ONE(LAYER, "OC"), ONE(FILE_NAME, "FS"), ONE(SOUND, "Sound"),
               ONE(MOVIE, "Movie"))},
    [TEXT_BOX] = {DICTIONARY, MARKUP, RULES(ONE(PLAIN, "Contents"))},
    [WIDGET] = {DICTIONARY, MARKUP,
                RULES(ONE(PLAIN, "FT T Ff MaxLen Opt TI I"), ONE(VALUE, "V"),
                      ONE(CAPTION, "MK"), ONE(WIDGET, "Parent"))},
    [APPEARANCES] = {DICTIONARY, NOTHING, RULES(ONE(APPEARANCE, "N"))},
    [CAPTION] = {DICTIONARY, NOTHING,
                 RULES(ONE(PLAIN, "R BC BG CA TP"), ONE(DRAWN, "I"),
                       ONE(STYLE, "IF"))},
    [STYLE] = {DICTIONARY, NOTHING,
               RULES(ONE(PLAIN, "W S D I Matrix H V SW A FB"))},
    [VALUE] = {STREAM, NOTHING, NULL},
    [MOVIE] = {DICTIONARY, NOTHING,
               RULES(ONE(FILE_NAME, "F"), ONE(PLAIN, "Aspect Rotate"),
                     ONE(DRAWN, "Poster"))},
};

static const struct rule any_dictionary[] = {ONE(PLAIN, "Type"), END};
static const struct rule any_stream[] = {ONE(PLAIN, "Type Length Filter"),
                                         ONE(PARAMETERS, "DecodeParms"), END};

static bool is_listed(const char *keys, const char *key)
{
  size_t len;

  for (; *keys != '\0'; keys += len + strspn(keys + len, " ")) {
    len = strcspn(keys, " ");
    if (strncmp(keys, key, len) == 0 && key[len] == '\0')
      return true;
  }
  return false;
}

static const struct rule *find(const struct rule *rules, const char *key)
{
  for (; rules != NULL && rules->keys != NULL; rules++)
    if (is_listed(rules->keys, key))
      return rules;
  return NULL;
}

struct allowed allowed_at(enum kind kind, bool stream, const char *key)
{
  const char *name = key[0] == '/' ? key + 1 : key;
  const struct rule *rule = find(stream ? any_stream : any_dictionary, name);

  for (; rule == NULL && kind != NOTHING; kind = kinds[kind].basis)
    rule = find(kinds[kind].rules, name);
  return rule != NULL ? (struct allowed){rule->kind, rule->map}
                      : (struct allowed){NOTHING, false};
}

bool allowed_as(enum kind kind, bool stream)
{
  return (kinds[kind].forms & (stream ? STREAM : DICTIONARY)) != 0;
}
