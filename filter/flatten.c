/*
 * flatten.c - draws annotations and form fields on the pages, and settles
 * layers.
 */
#include "filter/flatten.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/qpdf.h"
#include "filter/text.h"
#include "lib/base/buf.h"
#include "lib/base/fs.h"

#define DEPTH_MAX 32      /* of /Parent */
#define NAMES_DEPTH_MAX 8 /* of a tree of names */
#define NUMBER_MAX 1e7
#define VISIBLE_MIN 1    /* points: smaller fields cannot be read */
#define WORK_MAX 5000000 /* bytes of text, or 100,000 annotations */
#define WORK_ANNOTATION 50
#define WORK_STEP 5       /* to a /Parent; an option of a choice; a resource */
#define LAYERS (32 << 20) /* of objects; ISO 32000-1, annex C: 8,388,607 */

#define ESCAPE '\033' /* begins and ends the language of a text */

/* /F of an annotation. */
#define HIDDEN 2
#define PRINT 4
#define NO_ROTATE 16

/* /Ff of a field. */
#define MULTILINE (1 << 12)
#define PASSWORD (1 << 13)
#define RADIO (1 << 15)
#define PUSH (1 << 16)
#define COMBO (1 << 17) /* a choice that is not a list box */
#define COMB (1 << 24)

/* NOT_PRINTED: set by one usage, which overrides all others. */
enum flat_layer { LAYER_NONE, LAYER_ON, LAYER_OFF, LAYER_NOT_PRINTED };

/* Annotations that viewers draw from their other keys if they have no
 * appearance, and the field that they do not draw. Of all others, viewers then
 * print nothing, or an icon. */
static const struct {
  const char *subtype, *name;
} flat_drawn[] = {
    {"/FreeText", "a text comment"}, {"/Line", "a line"},
    {"/Square", "a rectangle"},      {"/Circle", "a circle"},
    {"/Polygon", "a polygon"},       {"/PolyLine", "a line"},
    {"/Highlight", "a highlight"},   {"/Underline", "an underline"},
    {"/Squiggly", "an underline"},   {"/StrikeOut", "a strikethrough"},
    {"/Stamp", "a stamp"},           {"/Caret", "an insertion mark"},
    {"/Ink", "a drawing"},           {"/Redact", "a redaction mark"},
    {"/3D", "a 3D picture"},         {"/RichMedia", "a video"},
    {"/Movie", "a video"},           {"/Sig", "a signature"},
};

/* An annotation, or the widget of a field. */
struct flat_annotation {
  qpdf_oh dict;
  int flags;
  qpdf_oh stream;     /* the normal appearance; 0: none */
  bool lost;          /* without a stream: there is an /AP */
  bool blank;         /* without a stream: none for the present state */
  struct dx_buf text; /* the value that is to be drawn, and how */
  struct text_value value;
};

struct flat {
  qpdf_data pdf;
  const struct pdf_task *task;
  struct pdf_done *done;
  enum dx_reason reason;
  bool no_memory; /* refuses the document at the end */
  long work;
  char *layers;          /* enum flat_layer, by object number; NULL: none */
  struct dx_buf values;  /* struct text_value */
  struct dx_buf streams; /* int: object IDs, to show the values */
  qpdf_oh form;          /* /AcroForm */
  bool stale;            /* values are used, not appearances */
  bool has_files;        /* attached ones */
  bool has_payload;      /* one is an encrypted document */

  /* The page. */
  const struct flatten_page *page;
  qpdf_oh dict;
  qpdf_oh inherited;     /* the resources that its content has */
  int resources;         /* object ID of the page's new ones; 0: none yet */
  int names;             /* given to them */
  struct dx_buf drawing; /* added content */
};

/* Only the first refusal is kept. */
static void flat_refuse(struct flat *s, enum dx_reason reason, const char *what,
                        const char *how)
{
  if (s->reason != DX_REASON_NONE)
    return;
  s->reason = reason;
  s->done->page = s->page->number;
  (void)snprintf(s->done->why, sizeof(s->done->why), "%s %s", what, how);
}

/* False if the document is refused. */
static bool flat_go_on(struct flat *s, long work)
{
  s->work += work;
  if (s->work >= WORK_MAX)
    flat_refuse(s, DX_REASON_TOO_COMPLEX, "it has",
                "too many comments or fields");
  return s->reason == DX_REASON_NONE;
}

/* ---- reading: all handles last until flat_renew() ---- */

static qpdf_oh flat_key(struct flat *s, qpdf_oh dict, const char *key)
{
  return qpdf_oh_is_dictionary(s->pdf, dict)
             ? qpdf_oh_get_key(s->pdf, dict, key)
             : qpdf_oh_new_null(s->pdf);
}

/* Releases all handles, and gets those of the page again. */
static void flat_renew(struct flat *s)
{
  qpdf_oh_release_all(s->pdf);
  s->form = flat_key(s, qpdf_get_root(s->pdf), "/AcroForm");
  s->dict = qpdf_get_object_by_id(s->pdf, s->page->id, 0);
  s->inherited = flat_key(s, s->dict, "/Resources");
}

static int flat_length(struct flat *s, qpdf_oh list)
{
  return qpdf_oh_is_array(s->pdf, list)
             ? qpdf_oh_get_array_n_items(s->pdf, list)
             : 0;
}

/* A field inherits from its parents, and then from the form. */
static qpdf_oh flat_inherited(struct flat *s, qpdf_oh field, const char *key)
{
  qpdf_oh value = flat_key(s, field, key);
  int depth;

  for (depth = 0; qpdf_oh_is_null(s->pdf, value) && depth < DEPTH_MAX &&
                  qpdf_oh_is_dictionary(s->pdf, field);
       depth++) {
    field = flat_key(s, field, "/Parent");
    value = flat_key(s, field, key);
    s->work += WORK_STEP;
  }
  return qpdf_oh_is_null(s->pdf, value) ? flat_key(s, s->form, key) : value;
}

static bool flat_is(struct flat *s, qpdf_oh value, const char *name)
{
  return qpdf_oh_is_name_and_equals(s->pdf, value, name) == QPDF_TRUE;
}

static bool flat_true(struct flat *s, qpdf_oh dict, const char *key)
{
  QPDF_BOOL value = QPDF_FALSE;

  (void)qpdf_oh_get_value_as_bool(s->pdf, flat_key(s, dict, key), &value);
  return value == QPDF_TRUE;
}

static int flat_int(struct flat *s, qpdf_oh value)
{
  int number = 0;

  (void)qpdf_oh_get_value_as_int(s->pdf, value, &number);
  return number;
}

/* True if it is an array of at least `count` numbers. */
static bool flat_numbers(struct flat *s, qpdf_oh list, double *ret, int count)
{
  int i;

  if (flat_length(s, list) < count)
    return false;
  for (i = 0; i < count; i++)
    if (!qpdf_oh_get_value_as_number(
            s->pdf, qpdf_oh_get_array_item(s->pdf, list, i), &ret[i]) ||
        !(fabs(ret[i]) <= NUMBER_MAX))
      return false;
  return true;
}

/* x0 <= x1, y0 <= y1 */
static bool flat_rectangle(struct flat *s, qpdf_oh list, double ret[4])
{
  double r[4];

  if (!flat_numbers(s, list, r, 4))
    return false;
  ret[0] = fmin(r[0], r[2]);
  ret[1] = fmin(r[1], r[3]);
  ret[2] = fmax(r[0], r[2]);
  ret[3] = fmax(r[1], r[3]);
  return true;
}

/* The bytes of a language at the start of a text: its code, of a few letters
 * and hyphens, between two escapes (ISO 32000-1, 7.9.2.2). 0: there is none. */
static size_t flat_language(const char *utf8, size_t len)
{
  size_t n = 1;

  if (utf8[0] != ESCAPE)
    return 0;
  while (n < len && (utf8[n] == '-' || (utf8[n] >= 'A' && utf8[n] <= 'Z') ||
                     (utf8[n] >= 'a' && utf8[n] <= 'z')))
    n++;
  return n >= 3 && n <= 6 && n < len && utf8[n] == ESCAPE ? n + 1 : 0;
}

/* Adds a string, or the text of a stream, as UTF-8. */
static void flat_text(struct flat *s, qpdf_oh value, struct dx_buf *text)
{
  unsigned char *bytes = NULL;
  const char *utf8;
  size_t len = 0, i = 0;

  if (qpdf_oh_is_stream(s->pdf, value) &&
      qpdf_oh_get_stream_data(s->pdf, value, qpdf_dl_generalized, NULL, &bytes,
                              &len) < QPDF_ERRORS)
    value = qpdf_oh_new_binary_string(s->pdf, (char *)bytes, len);
  free(bytes);
  if (qpdf_oh_get_value_as_utf8(s->pdf, value, &utf8, &len) &&
      flat_go_on(s, (long)len))
    while (i < len) {
      size_t language = flat_language(utf8 + i, len - i);

      if (language == 0)
        dx_buf_add(text, utf8[i] != '\0' ? utf8 + i : " ", 1);
      i += language > 0 ? language : 1;
    }
}

/* ---- layers: ISO 32000-1, 8.11 ---- */

/* The state of a group; NULL if it cannot be one. */
static char *flat_layer(struct flat *s, qpdf_oh group)
{
  int id = qpdf_oh_get_object_id(s->pdf, group);

  return s->layers != NULL && id > 0 && id < LAYERS ? s->layers + id : NULL;
}

static bool flat_is_off(struct flat *s, qpdf_oh group)
{
  const char *layer = flat_layer(s, group);

  return layer != NULL && *layer >= LAYER_OFF;
}

/* Changes the states of groups to `set` or, with a category like "/Print", to
 * the state that their usage specifies. */
static void flat_set_layers(struct flat *s, qpdf_oh groups,
                            const char *category, enum flat_layer set)
{
  int count = flat_length(s, groups), i;
  char key[64];

  (void)snprintf(key, sizeof(key), "%sState", category);
  for (i = 0; i < count && flat_go_on(s, 1); i++) {
    qpdf_oh group = qpdf_oh_get_array_item(s->pdf, groups, i), use;
    char *layer = flat_layer(s, group);
    enum flat_layer state = set;

    if (category[0] != '\0') {
      use = flat_key(s, flat_key(s, group, "/Usage"), category);
      use = flat_key(s, use, key);
      state = flat_is(s, use, "/ON")    ? LAYER_ON
              : flat_is(s, use, "/OFF") ? LAYER_NOT_PRINTED
                                        : LAYER_NONE;
    }
    if (state != LAYER_NONE && layer != NULL && *layer != LAYER_NONE &&
        *layer != LAYER_NOT_PRINTED)
      *layer = (char)state;
  }
}

/* Computes the state of each layer when it is printed, and makes it the only
 * one: viewers show the same on the screen. */
static void flat_settle_layers(struct flat *s, qpdf_oh root)
{
  qpdf_oh properties = flat_key(s, root, "/OCProperties");
  qpdf_oh groups = flat_key(s, properties, "/OCGs");
  qpdf_oh config = flat_key(s, properties, "/D");
  qpdf_oh usages = flat_key(s, config, "/AS"), usage, list;
  qpdf_oh settled = qpdf_oh_parse(s->pdf, "<</BaseState/ON>>");
  qpdf_oh off = qpdf_oh_new_array(s->pdf);
  bool base = !flat_is(s, flat_key(s, config, "/BaseState"), "/OFF");
  int count = flat_length(s, groups), i, k;
  char *layer, category[32];
  const char *name;
  size_t len;

  if (!qpdf_oh_is_dictionary(s->pdf, properties) || !flat_go_on(s, count))
    return;
  s->layers = calloc(LAYERS, 1); /* pages are allocated when written */
  s->no_memory = s->layers == NULL;
  for (i = 0; i < count; i++) {
    layer = flat_layer(s, qpdf_oh_get_array_item(s->pdf, groups, i));
    if (layer != NULL)
      *layer = base ? LAYER_ON : LAYER_OFF;
  }
  flat_set_layers(s, flat_key(s, config, "/ON"), "", LAYER_ON);
  flat_set_layers(s, flat_key(s, config, "/OFF"), "", LAYER_OFF);
  for (i = 0; i < flat_length(s, usages) && flat_go_on(s, 1); i++) {
    usage = qpdf_oh_get_array_item(s->pdf, usages, i);
    if (!flat_is(s, flat_key(s, usage, "/Event"), "/Print"))
      continue;
    list = flat_key(s, usage, "/Category");
    for (k = 0; k < flat_length(s, list) && flat_go_on(s, 1); k++)
      if (qpdf_oh_get_value_as_name(
              s->pdf, qpdf_oh_get_array_item(s->pdf, list, k), &name, &len)) {
        (void)snprintf(category, sizeof(category), "%s", name);
        flat_set_layers(s, flat_key(s, usage, "/OCGs"), category, LAYER_NONE);
      }
  }
  for (i = 0; i < count; i++)
    if (flat_is_off(s, qpdf_oh_get_array_item(s->pdf, groups, i)))
      qpdf_oh_append_item(s->pdf, off,
                          qpdf_oh_get_array_item(s->pdf, groups, i));
  qpdf_oh_replace_key(s->pdf, settled, "/OFF", off);
  qpdf_oh_replace_key(s->pdf, properties, "/D", settled);
}

/* ---- adding to the page ---- */

static void flat_set(struct flat *s, qpdf_oh dict, const char *key,
                     const char *text)
{
  qpdf_oh_replace_key(s->pdf, dict, key, qpdf_oh_parse(s->pdf, text));
}

/* A dictionary with the same entries. */
static qpdf_oh flat_copy(struct flat *s, qpdf_oh from)
{
  qpdf_oh copy = qpdf_oh_new_dictionary(s->pdf);

  if (qpdf_oh_is_dictionary(s->pdf, from)) {
    qpdf_oh_begin_dict_key_iter(s->pdf, from);
    while (qpdf_oh_dict_more_keys(s->pdf) && flat_go_on(s, WORK_STEP)) {
      const char *name = qpdf_oh_dict_next_key(s->pdf);

      qpdf_oh_replace_key(s->pdf, copy, name, flat_key(s, from, name));
    }
  }
  return copy;
}

/* Adds to the resources under the name "/Dx" and the returned number. They
 * begin as a copy of the page's resources, which viewers use if an appearance
 * does not have its own. */
static int flat_name(struct flat *s, const char *category, qpdf_oh value)
{
  static const char *const changed[] = {"/XObject", "/Properties",
                                        "/ExtGState"};
  qpdf_oh resources, dict;
  char name[32];
  size_t i;

  if (s->resources == 0) {
    resources = qpdf_make_indirect_object(s->pdf, flat_copy(s, s->inherited));
    s->resources = qpdf_oh_get_object_id(s->pdf, resources);
    for (i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
      dict = flat_copy(s, flat_key(s, resources, changed[i]));
      qpdf_oh_replace_key(s->pdf, resources, changed[i], dict);
    }
  }
  resources = qpdf_get_object_by_id(s->pdf, s->resources, 0);
  dict = flat_key(s, resources, category);
  do
    (void)snprintf(name, sizeof(name), "/Dx%d", ++s->names);
  while (qpdf_oh_has_key(s->pdf, dict, name));
  qpdf_oh_replace_key(s->pdf, dict, name, value);
  return s->names;
}

/* ---- appearances ---- */

/* Sets the rest of `a`. Without a state, a button has that of its value. */
static void flat_find(struct flat *s, struct flat_annotation *a, qpdf_oh kind)
{
  qpdf_oh ap = flat_key(s, a->dict, "/AP"), found = flat_key(s, ap, "/N");
  qpdf_oh state = flat_key(s, a->dict, "/AS");
  bool button = flat_is(s, kind, "/Btn");
  char only[128] = "/Off";
  double box[4];
  int others = 0;

  if (qpdf_oh_is_dictionary(s->pdf, found)) {
    qpdf_oh_begin_dict_key_iter(s->pdf, found);
    while (qpdf_oh_dict_more_keys(s->pdf) && flat_go_on(s, 1)) {
      const char *key = qpdf_oh_dict_next_key(s->pdf);

      if (strcmp(key, "/Off") != 0 && ++others == 1)
        (void)snprintf(only, sizeof(only), "%s", key);
    }
    if (button && !qpdf_oh_is_name(s->pdf, state)) {
      state = flat_inherited(s, a->dict, "/V");
      if (!qpdf_oh_is_name(s->pdf, state) ||
          !qpdf_oh_has_key(s->pdf, found, qpdf_oh_get_name(s->pdf, state)))
        state = qpdf_oh_new_name(s->pdf, "/Off");
    }
    found = flat_key(s, found,
                     qpdf_oh_is_name(s->pdf, state)
                         ? qpdf_oh_get_name(s->pdf, state)
                     : others == 1 ? only
                                   : "/Off");
  }
  a->lost = qpdf_oh_is_dictionary(s->pdf, ap);
  a->blank = others > 0 && !qpdf_oh_is_stream(s->pdf, found);
  if (qpdf_oh_is_stream(s->pdf, found) &&
      flat_rectangle(s, flat_key(s, qpdf_oh_get_dict(s->pdf, found), "/BBox"),
                     box))
    a->stream = found;
}

/* ISO 32000-1, 12.5.5, algorithm 8.1. */
static void flat_place(struct flat *s, const struct flat_annotation *a)
{
  qpdf_oh dict = qpdf_oh_get_dict(s->pdf, a->stream),
          group = flat_key(s, dict, "/Group");
  qpdf_oh states = flat_key(s, flat_key(s, dict, "/Resources"), "/ExtGState");
  double turn = (a->flags & NO_ROTATE) != 0
                    ? flat_int(s, flat_key(s, s->dict, "/Rotate")) * M_PI / 180
                    : 0;
  double rect[4], box[4], m[6], x, y, width, height, sx, sy;
  bool blends, multiply;

  if (!flat_rectangle(s, flat_key(s, a->dict, "/Rect"), rect) ||
      !flat_rectangle(s, flat_key(s, dict, "/BBox"), box))
    return;
  if (!flat_numbers(s, flat_key(s, dict, "/Matrix"), m, 6))
    memcpy(m, (double[6]){1, 0, 0, 1, 0, 0}, sizeof(m));
  /* The center and size of the transformed box. */
  x = (m[0] * (box[0] + box[2]) + m[2] * (box[1] + box[3])) / 2 + m[4];
  y = (m[1] * (box[0] + box[2]) + m[3] * (box[1] + box[3])) / 2 + m[5];
  width = fabs(m[0]) * (box[2] - box[0]) + fabs(m[2]) * (box[3] - box[1]);
  height = fabs(m[1]) * (box[2] - box[0]) + fabs(m[3]) * (box[3] - box[1]);
  sx = (rect[2] - rect[0]) / width;
  sy = (rect[3] - rect[1]) / height;
  if (!(sx > 0 && sy > 0 && sx < NUMBER_MAX && sy < NUMBER_MAX))
    return; /* not visible */
  /* Relative to the upper left corner, the center of the rotation. */
  x = sx * (width / 2 - x);
  y = rect[1] - rect[3] + sy * (height / 2 - y);
  /* Poppler does not blend the content of a group with the page. Here, a group
   * that is neither isolated nor a knockout group has no other effect. */
  blends = qpdf_oh_is_dictionary(s->pdf, states);
  if (flat_true(s, group, "/I") || flat_true(s, group, "/K"))
    blends = false;
  else
    qpdf_oh_remove_key(s->pdf, dict, "/Group");
  /* A highlight must not hide the text below it. If it does not blend, Adobe
   * Reader and poppler draw it themselves. */
  multiply =
      !blends && flat_is(s, flat_key(s, a->dict, "/Subtype"), "/Highlight");
  dx_buf_puts(&s->drawing, "q");
  if (multiply)
    dx_buf_printf(
        &s->drawing, " /Dx%d gs",
        flat_name(s, "/ExtGState", qpdf_oh_parse(s->pdf, "<</BM/Multiply>>")));
  flat_set(s, dict, "/Subtype", "/Form");
  dx_buf_printf(&s->drawing, " %.8f %.8f %.8f %.8f %.8f %.8f cm /Dx%d Do Q\n",
                sx * cos(turn), sx * sin(turn), -sy * sin(turn), sy * cos(turn),
                rect[0] + x * cos(turn) - y * sin(turn),
                rect[3] + x * sin(turn) + y * cos(turn),
                flat_name(s, "/XObject", a->stream));
}

/* ---- form fields ---- */

/* An option is what it shows, or a pair of its value and what it shows. */
static qpdf_oh flat_option(struct flat *s, qpdf_oh options, int index,
                           bool shown)
{
  qpdf_oh option = index >= 0 && index < flat_length(s, options)
                       ? qpdf_oh_get_array_item(s->pdf, options, index)
                       : qpdf_oh_new_null(s->pdf);

  return flat_length(s, option) == 2
             ? qpdf_oh_get_array_item(s->pdf, option, shown)
             : option;
}

/* A value, or one of an array of them. */
static qpdf_oh flat_item(struct flat *s, qpdf_oh value, int i)
{
  return qpdf_oh_is_array(s->pdf, value)
             ? qpdf_oh_get_array_item(s->pdf, value, i)
             : value;
}

/* Adds what the first option with this value shows; else the value. */
static void flat_shown(struct flat *s, qpdf_oh options, qpdf_oh value,
                       struct dx_buf *text)
{
  struct dx_buf wanted = {0};
  bool found = false;
  int i;

  flat_text(s, value, &wanted);
  for (i = 0; i < flat_length(s, options) && !found && flat_go_on(s, WORK_STEP);
       i++) {
    struct dx_buf option = {0};

    flat_text(s, flat_option(s, options, i, false), &option);
    found = strcmp(dx_buf_text(&option), dx_buf_text(&wanted)) == 0;
    dx_buf_release(&option);
    if (found)
      value = flat_option(s, options, i, true);
  }
  s->no_memory |= wanted.failed;
  dx_buf_release(&wanted);
  flat_text(s, value, text);
}

/*
 * The selected options of a choice, one on each line. Several options may have
 * the same value: then the indexes in /I determine them. If /I differs from /V,
 * it does not apply (ISO 32000-1, table 231).
 */
static void flat_choice(struct flat *s, struct flat_annotation *a,
                        qpdf_oh value)
{
  qpdf_oh options = flat_inherited(s, a->dict, "/Opt");
  qpdf_oh indexes = flat_inherited(s, a->dict, "/I");
  int count = qpdf_oh_is_array(s->pdf, value) ? flat_length(s, value)
                                              : !qpdf_oh_is_null(s->pdf, value);
  bool by_index = flat_length(s, indexes) > 0 &&
                  (count == 0 || count == flat_length(s, indexes));
  bool has_none = qpdf_oh_is_null(s->pdf, value);
  struct dx_buf values = {0};
  int i;

  for (i = 0; i < count && flat_go_on(s, 1); i++) {
    dx_buf_puts(&values, "\n");
    flat_text(s, flat_item(s, value, i), &values);
  }
  dx_buf_puts(&values, "\n");
  for (i = 0; by_index && i < flat_length(s, indexes) && flat_go_on(s, 1);
       i++) {
    int index = flat_int(s, flat_item(s, indexes, i));
    struct dx_buf option = {0};

    dx_buf_puts(&option, "\n");
    flat_text(s, flat_option(s, options, index, false), &option);
    dx_buf_puts(&option, "\n");
    by_index =
        has_none || strstr(dx_buf_text(&values), dx_buf_text(&option)) != NULL;
    dx_buf_release(&option);
  }
  if (by_index)
    count = flat_length(s, indexes);
  for (i = 0; i < count && flat_go_on(s, 1); i++) {
    dx_buf_puts(&a->text, i > 0 ? "\n" : "");
    if (by_index)
      flat_text(
          s,
          flat_option(s, options, flat_int(s, flat_item(s, indexes, i)), true),
          &a->text);
    else
      flat_shown(s, options, flat_item(s, value, i), &a->text);
  }
  s->no_memory |= values.failed;
  dx_buf_release(&values);
}

/* The value of a text or choice field as it is shown. */
static void flat_value(struct flat *s, struct flat_annotation *a, bool choice,
                       int flags)
{
  qpdf_oh value = flat_inherited(s, a->dict, "/V");
  size_t n, len = 0;

  if (choice) {
    a->value.multiline =
        (flags & COMBO) == 0 || qpdf_oh_is_array(s->pdf, value);
    flat_choice(s, a, value);
  } else {
    a->value.multiline = (flags & MULTILINE) != 0;
    flat_text(s, value, &a->text);
  }
  for (n = 0; n < a->text.len; n++) {
    char c = a->text.data[n];

    if (!choice && (flags & PASSWORD) != 0)
      c = ((unsigned char)c & 0xC0) != 0x80 ? '*' : '\0';
    else if (c == '\n' && !a->value.multiline)
      c = ' ';
    if (c != '\0')
      a->text.data[len++] = c;
  }
  a->text.len = len;
  /* It was deleted: the appearance has an older value. */
  if (len == 0 &&
      (qpdf_oh_is_string(s->pdf, value) || qpdf_oh_is_array(s->pdf, value)))
    a->stream = 0;
}

/* Size and color, from a default appearance: "0 0 1 rg /Helv 9 Tf". */
static void flat_style(const char *text, struct text_value *value)
{
  double n[4] = {0, 0, 0, 0};
  char word[32];
  int used, i;

  for (; sscanf(text, "%31s%n", word, &used) == 1; text += used) {
    char *end;
    double number = strtod(word, &end);

    if (end != word && *end == '\0') {
      memmove(n, n + 1, 3 * sizeof(n[0]));
      n[3] = fabs(number) <= NUMBER_MAX ? fabs(number) : 0;
    } else if (strcmp(word, "Tf") == 0) {
      value->size = n[3];
    } else {
      for (i = 0; i < 3; i++)
        if (strcmp(word, "g") == 0)
          value->rgb[i] = fmin(n[3], 1);
        else if (strcmp(word, "rg") == 0)
          value->rgb[i] = fmin(n[i + 1], 1);
        else if (strcmp(word, "k") == 0)
          value->rgb[i] = fmax(1 - n[i] - n[3], 0);
    }
  }
}

/* Fills a field with its background: viewers do that before they draw the
 * value, which may be white on it, or on something else that the page has
 * there; also if there is no value. */
static void flat_fill(struct flat *s, qpdf_oh field)
{
  static const char *const operators[] = {"", "g", "", "rg", "k"};
  qpdf_oh color = flat_key(s, flat_key(s, field, "/MK"), "/BG");
  int count = flat_length(s, color), i;
  double n[4], rect[4];

  if ((count != 1 && count != 3 && count != 4) ||
      !flat_numbers(s, color, n, count) ||
      !flat_rectangle(s, flat_key(s, field, "/Rect"), rect))
    return;
  dx_buf_puts(&s->drawing, "q");
  for (i = 0; i < count; i++)
    dx_buf_printf(&s->drawing, " %.4f", n[i]);
  dx_buf_printf(&s->drawing, " %s %.4f %.4f %.4f %.4f re f Q\n",
                operators[count], rect[0], rect[1], rect[2] - rect[0],
                rect[3] - rect[1]);
}

/* Creates an appearance. Its content is added later, from the text. */
static void flat_write(struct flat *s, struct flat_annotation *a)
{
  static const char *const turns[] = {"[0 1 -1 0 0 0]", "[-1 0 0 -1 0 0]",
                                      "[0 -1 1 0 0 0]"};
  qpdf_oh style = flat_inherited(s, a->dict, "/DA"), dict;
  qpdf_oh marks = flat_key(s, a->dict, "/MK");
  int turn = flat_int(s, flat_key(s, marks, "/R")) / 90 & 3;
  double rect[4], w, h, pad;
  char box[160];
  int id;

  if (!flat_rectangle(s, flat_key(s, a->dict, "/Rect"), rect) ||
      rect[2] - rect[0] < VISIBLE_MIN || rect[3] - rect[1] < VISIBLE_MIN)
    return;
  if (qpdf_oh_is_string(s->pdf, style))
    flat_style(qpdf_oh_get_string_value(s->pdf, style), &a->value);
  w = rect[2 + turn % 2] - rect[turn % 2];
  h = rect[3 - turn % 2] - rect[1 - turn % 2];
  pad = a->value.comb > 0 ? 0 : fmin(2, fmin(w, h) / 8);
  a->value.width = w - 2 * pad;
  a->value.height = h - 2 * pad;
  a->value.utf8 = dx_buf_take(&a->text);
  a->stream = qpdf_oh_new_stream(s->pdf);
  a->flags = 0; /* it stays in its field */
  dict = qpdf_oh_get_dict(s->pdf, a->stream);
  (void)snprintf(box, sizeof(box), "[%.4f %.4f %.4f %.4f]", -pad, -pad, w - pad,
                 h - pad);
  flat_set(s, dict, "/BBox", box);
  if (turn > 0)
    flat_set(s, dict, "/Matrix", turns[turn - 1]);
  flat_fill(s, a->dict);
  flat_place(s, a);
  dx_buf_add(&s->values, &a->value, sizeof(a->value));
  id = qpdf_oh_get_object_id(s->pdf, a->stream);
  dx_buf_add(&s->streams, &id, sizeof(id));
}

/* Some viewers draw a mark for a state that has no appearance, which is right
 * unless the value of the field is "off". */
static bool flat_is_checked(struct flat *s, const struct flat_annotation *a)
{
  qpdf_oh state = flat_key(s, a->dict, "/AS");

  return qpdf_oh_is_name(s->pdf, state) && !flat_is(s, state, "/Off") &&
         !flat_is(s, flat_inherited(s, a->dict, "/V"), "/Off");
}

/* Sets the text of a field, if it is to be drawn. */
static void flat_field(struct flat *s, struct flat_annotation *a, qpdf_oh type)
{
  int flags = flat_int(s, flat_inherited(s, a->dict, "/Ff"));
  qpdf_oh state = flat_key(s, a->dict, "/AS");
  bool choice = flat_is(s, type, "/Ch"), button = flat_is(s, type, "/Btn");
  int align = 1;

  if ((choice || flat_is(s, type, "/Tx")) && (a->stream == 0 || s->stale)) {
    flat_value(s, a, choice, flags);
    align = flat_int(s, flat_inherited(s, a->dict, "/Q"));
    if (!choice && (flags & (COMB | MULTILINE | PASSWORD)) == COMB)
      a->value.comb = flat_int(s, flat_inherited(s, a->dict, "/MaxLen"));
  } else if (button && (flags & PUSH) == 0 && a->stream == 0 && !a->blank) {
    if (!qpdf_oh_is_name(s->pdf, state) && (flags & RADIO) == 0)
      state = flat_inherited(s, a->dict, "/V");
    if (qpdf_oh_is_name(s->pdf, state) && !flat_is(s, state, "/Off"))
      dx_buf_puts(&a->text, "X");
  } else if (button && (flags & (PUSH | RADIO)) == 0 && a->blank &&
             flat_is_checked(s, a)) {
    flat_refuse(s, DX_REASON_NOT_DRAWN, "a check mark", "has no appearance");
  }
  a->value.align = align == 1 || align == 2 ? align : 0; /* as in viewers */
}

/* ---- pages ---- */

/* The same as qpdf_is_lost(), also in a direct dictionary. */
static bool flat_is_lost(struct flat *s, qpdf_oh dict, const char *key)
{
  return qpdf_is_lost(s->pdf, qpdf_make_indirect_object(s->pdf, dict), key);
}

/* True if nothing is visible of a signature, or of a field for one: it has no
 * area, or no or an empty appearance. */
static bool flat_is_invisible(struct flat *s, const struct flat_annotation *a)
{
  qpdf_oh ap = flat_key(s, a->dict, "/AP"), normal = flat_key(s, ap, "/N");
  qpdf_oh state = flat_key(s, a->dict, "/AS"), length;
  double rect[4];

  if (!flat_rectangle(s, flat_key(s, a->dict, "/Rect"), rect) ||
      rect[2] - rect[0] < VISIBLE_MIN || rect[3] - rect[1] < VISIBLE_MIN ||
      !qpdf_oh_is_dictionary(s->pdf, ap))
    return true;
  if (qpdf_oh_is_stream(s->pdf, normal)) {
    length = flat_key(s, qpdf_oh_get_dict(s->pdf, normal), "/Length");
    return qpdf_oh_is_integer(s->pdf, length) && flat_int(s, length) == 0;
  }
  if (qpdf_oh_is_dictionary(s->pdf, normal))
    return !flat_is_lost(s, normal,
                         qpdf_oh_is_name(s->pdf, state)
                             ? qpdf_oh_get_name(s->pdf, state)
                             : "/Off");
  return qpdf_oh_is_null(s->pdf, normal) && !flat_is_lost(s, ap, "/N");
}

/* Refuses an annotation that lacks an appearance. */
static void flat_miss(struct flat *s, const struct flat_annotation *a,
                      qpdf_oh kind)
{
  double opacity = 1;
  size_t i;

  if (flat_is(s, kind, "/Sig") && flat_is_invisible(s, a))
    return;
  (void)qpdf_oh_get_value_as_number(s->pdf, flat_key(s, a->dict, "/CA"),
                                    &opacity);
  for (i = 0; i < sizeof(flat_drawn) / sizeof(flat_drawn[0]); i++)
    if (flat_is(s, kind, flat_drawn[i].subtype) && opacity > 0)
      flat_refuse(s, a->lost ? DX_REASON_DAMAGED : DX_REASON_NOT_DRAWN,
                  flat_drawn[i].name,
                  a->lost ? "is missing" : "has no appearance");
}

static void flat_annotation(struct flat *s, qpdf_oh dict)
{
  struct flat_annotation a = {.dict = dict,
                              .flags = flat_int(s, flat_key(s, dict, "/F"))};
  qpdf_oh kind = flat_key(s, dict, "/Subtype");
  qpdf_oh layer = flat_key(s, dict, "/OC");
  bool member = flat_is(s, flat_key(s, layer, "/Type"), "/OCMD");

  if ((a.flags & PRINT) == 0 || (a.flags & HIDDEN) != 0 ||
      flat_is(s, kind, "/Popup") || flat_is_off(s, layer))
    return;
  if (flat_is(s, kind, "/Widget")) {
    kind = flat_inherited(s, dict, "/FT");
    flat_find(s, &a, kind);
    flat_field(s, &a, kind);
  } else {
    flat_find(s, &a, kind);
  }
  if (member) /* viewers evaluate it */
    dx_buf_printf(&s->drawing, "/OC /Dx%d BDC\n",
                  flat_name(s, "/Properties", layer));
  s->no_memory |= a.text.failed;
  if (a.text.len > 0)
    flat_write(s, &a);
  else if (a.stream != 0)
    flat_place(s, &a);
  else if (flat_is(s, kind, "/Tx") || flat_is(s, kind, "/Ch"))
    flat_fill(s, dict);
  else
    flat_miss(s, &a, kind);
  if (member)
    dx_buf_puts(&s->drawing, "EMC\n");
  dx_buf_release(&a.text);
}

/* Adds the collected content. The page's own content becomes a form, so that
 * unbalanced operators or errors in it do not affect the added content. */
static void flat_finish_page(struct flat *s)
{
  qpdf_oh form = qpdf_oh_new_stream(s->pdf);
  qpdf_oh old = flat_key(s, s->dict, "/Contents"),
          dict = qpdf_oh_get_dict(s->pdf, form);
  qpdf_oh added = qpdf_oh_new_stream(s->pdf), coding;
  qpdf_oh null = qpdf_oh_new_null(s->pdf);
  QPDF_ERROR_CODE status;
  unsigned char *bytes = NULL;
  struct dx_buf content = {0};
  size_t len = 0;

  if (flat_length(s, old) == 1)
    old = qpdf_oh_get_array_item(s->pdf, old, 0);
  if (qpdf_oh_is_stream(s->pdf, old)) {
    coding = qpdf_oh_get_dict(s->pdf, old);
    status =
        qpdf_oh_get_stream_data(s->pdf, old, qpdf_dl_none, NULL, &bytes, &len);
  } else {
    coding = null;
    status = qpdf_oh_get_page_content_data(s->pdf, s->dict, &bytes, &len);
  }
  if (status >= QPDF_ERRORS)
    flat_refuse(s, DX_REASON_DAMAGED, "its content", "cannot be read");
  qpdf_oh_replace_stream_data(s->pdf, form, bytes, len,
                              flat_key(s, coding, "/Filter"),
                              flat_key(s, coding, "/DecodeParms"));
  free(bytes);
  if (len == 0) /* libqpdf sets none, as in a truncated stream */
    flat_set(s, dict, "/Length", "0");
  flat_set(s, dict, "/Subtype", "/Form");
  if (qpdf_oh_is_dictionary(s->pdf, s->inherited))
    qpdf_oh_replace_key(s->pdf, dict, "/Resources", s->inherited);
  flat_set(s, dict, "/BBox", "[-99999 -99999 99999 99999]");
  dx_buf_printf(&content, "q /Dx%d Do Q\n", flat_name(s, "/XObject", form));
  dx_buf_add(&content, s->drawing.data, s->drawing.len);
  qpdf_oh_replace_stream_data(s->pdf, added,
                              (const unsigned char *)content.data, content.len,
                              null, null);
  qpdf_oh_replace_key(s->pdf, s->dict, "/Contents", added);
  qpdf_oh_replace_key(s->pdf, s->dict, "/Resources",
                      qpdf_get_object_by_id(s->pdf, s->resources, 0));
  s->no_memory |= content.failed;
  dx_buf_release(&content);
}

static void flat_page(struct flat *s)
{
  int count, i;

  flat_renew(s);
  count = flat_length(s, flat_key(s, s->dict, "/Annots"));
  s->resources = 0;
  for (i = 0; i < count && flat_go_on(s, WORK_ANNOTATION); i++) {
    flat_annotation(
        s, qpdf_oh_get_array_item(s->pdf, flat_key(s, s->dict, "/Annots"), i));
    flat_renew(s);
  }
  qpdf_oh_remove_key(s->pdf, s->dict, "/Annots");
  if (s->drawing.len > 0)
    flat_finish_page(s);
  s->no_memory |= s->drawing.failed;
  dx_buf_release(&s->drawing);
}

/* ---- attached files ---- */

/* Notes what an attached file is; a page only says that a viewer is needed. */
static void flat_file(struct flat *s, qpdf_oh file)
{
  if (!qpdf_oh_is_dictionary(s->pdf, file))
    return;
  s->has_files = true;
  if (flat_is(s, flat_key(s, file, "/AFRelationship"), "/EncryptedPayload"))
    s->has_payload = true;
}

/* The files of a tree of names: each is behind its name. */
static void flat_named_files(struct flat *s, qpdf_oh node, int depth)
{
  qpdf_oh names = flat_key(s, node, "/Names"),
          kids = flat_key(s, node, "/Kids");
  int i;

  for (i = 1; i < flat_length(s, names) && flat_go_on(s, WORK_STEP); i += 2)
    flat_file(s, qpdf_oh_get_array_item(s->pdf, names, i));
  for (i = 0; i < flat_length(s, kids) && depth < NAMES_DEPTH_MAX &&
              flat_go_on(s, WORK_ANNOTATION);
       i++)
    flat_named_files(s, qpdf_oh_get_array_item(s->pdf, kids, i), depth + 1);
}

/* Refuses a document that is in its attached files. Of a portfolio, viewers
 * show these, not its page, unless /View says that they are hidden (ISO
 * 32000-1, table 155). A document with managed rights is encrypted in one (ISO
 * 32000-2, 7.6.7). */
static void flat_judge_files(struct flat *s, qpdf_oh root)
{
  qpdf_oh names = flat_key(s, root, "/Names"), list = flat_key(s, root, "/AF");
  qpdf_oh portfolio = flat_key(s, root, "/Collection");
  bool is_portfolio;
  int i;

  flat_named_files(s, flat_key(s, names, "/EmbeddedFiles"), 0);
  is_portfolio = s->has_files && qpdf_oh_is_dictionary(s->pdf, portfolio) &&
                 !flat_is(s, flat_key(s, portfolio, "/View"), "/H");
  for (i = 0; i < flat_length(s, list) && flat_go_on(s, WORK_STEP); i++)
    flat_file(s, qpdf_oh_get_array_item(s->pdf, list, i));
  if (s->has_payload && s->reason == DX_REASON_NONE)
    s->reason = DX_REASON_PROTECTED;
  else if (is_portfolio)
    flat_refuse(s, DX_REASON_NOT_DRAWN, "the documents attached to it",
                "can be shown only by a PDF viewer");
}

/* ---- values ---- */

/* Page i of the PDF of the text writer becomes stream i. */
static void flat_draw_values(struct flat *s)
{
  qpdf_oh null = qpdf_oh_new_null(s->pdf);
  size_t count = s->values.len / sizeof(struct text_value), size, i;
  const int *streams = (const void *)s->streams.data;
  qpdf_data made;
  const void *map;

  s->done->needs_fonts = s->task->text == NULL;
  s->reason =
      s->task->text == NULL
          ? DX_REASON_TROUBLE
          : s->task->text->values_to_pdf((const void *)s->values.data, count,
                                         s->task->spare_fd, s->done);
  if (s->reason != DX_REASON_NONE)
    return;
  made = qpdf_init();
  qpdf_set_suppress_warnings(made, QPDF_TRUE);
  map = dx_fs_map(s->task->spare_fd, &size);
  if (map == NULL ||
      qpdf_read_memory(made, "values", map, size, NULL) >= QPDF_ERRORS ||
      qpdf_get_num_pages(made) != (int)count)
    s->reason = DX_REASON_TROUBLE;
  for (i = 0; i < count && s->reason == DX_REASON_NONE; i++) {
    qpdf_oh page = qpdf_get_page_n(made, i);
    qpdf_oh from = qpdf_make_indirect_object(
        made, qpdf_oh_get_key(made, page, "/Resources"));
    qpdf_oh stream;
    unsigned char *bytes = NULL;
    size_t len = 0;

    if (qpdf_oh_get_page_content_data(made, page, &bytes, &len) >= QPDF_ERRORS)
      s->reason = DX_REASON_TROUBLE;
    stream = qpdf_get_object_by_id(s->pdf, streams[i], 0);
    qpdf_oh_replace_stream_data(s->pdf, stream, bytes, len, null, null);
    free(bytes);
    qpdf_oh_replace_key(s->pdf, qpdf_oh_get_dict(s->pdf, stream), "/Resources",
                        qpdf_oh_copy_foreign_object(s->pdf, made, from));
  }
  qpdf_cleanup(&made);
}

enum dx_reason flatten_pages(qpdf_data pdf, const struct pdf_task *task,
                             const struct flatten_page *pages, int count,
                             struct pdf_done *done)
{
  struct flat s = {.pdf = pdf, .task = task, .done = done, .page = pages};
  const struct text_value *values;
  qpdf_oh root;
  size_t n;
  int i;

  flat_renew(&s);
  root = qpdf_get_root(pdf);
  s.stale = flat_true(&s, s.form, "/NeedAppearances");
  /* A form with only XFA has no fields; its page asks for another viewer. */
  if (flat_true(&s, root, "/NeedsRendering") ||
      (!qpdf_oh_is_null(pdf, flat_key(&s, s.form, "/XFA")) &&
       flat_length(&s, flat_key(&s, s.form, "/Fields")) == 0))
    flat_refuse(&s, DX_REASON_NOT_DRAWN, "the form",
                "can be shown only by the program it was made with");
  flat_judge_files(&s, root);
  flat_settle_layers(&s, root);
  for (i = 0; i < count && s.reason == DX_REASON_NONE; i++) {
    s.page = pages + i;
    flat_page(&s);
  }
  if (s.no_memory || s.values.failed || s.streams.failed)
    flat_refuse(&s, DX_REASON_TROUBLE, "out of", "memory");
  if (s.values.len > 0 && s.reason == DX_REASON_NONE)
    flat_draw_values(&s);
  qpdf_oh_release_all(pdf);
  values = (const void *)s.values.data;
  for (n = 0; n < s.values.len / sizeof(*values); n++)
    free((void *)values[n].utf8);
  free(s.layers);
  dx_buf_release(&s.values);
  dx_buf_release(&s.streams);
  return s.reason;
}
