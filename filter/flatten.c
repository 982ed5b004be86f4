/*
 * flatten.c - annotations, form fields and layers become content of the pages.
 * How text is drawn is not known here.
 */
#include "filter/flatten.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/text.h"
#include "lib/base/buf.h"
#include "lib/base/fs.h"

#define DEPTH_MAX 32 /* of /Parent */
#define NUMBER_MAX 1e7
#define WORK_MAX 5000000 /* 100,000 annotations, or 1,000,000 resources */
#define WORK_ANNOTATION 50
#define WORK_RESOURCE 5 /* also an option of a choice, and a /Parent */
#define LAYER_ID_MAX 100000000

/* /F of an annotation. */
#define HIDDEN 2
#define PRINT 4
#define NO_ROTATE 16

/* /Ff of a field. */
#define MULTILINE (1 << 12)
#define PASSWORD (1 << 13)
#define RADIO (1 << 15)
#define PUSH (1 << 16)
#define COMBO (1 << 17)
#define COMB (1 << 24)

/* Bits of a layer's state. */
#define LAYER 1
#define OFF 2
#define ADVISED_ON 4 /* by its usage, for printing */
#define ADVISED_OFF 8

/* Of the resources that are added to a page. */
enum flat_category {
  CATEGORY_XOBJECT,
  CATEGORY_PROPERTIES,
  CATEGORY_STATE,
  CATEGORIES
};

/* Annotations that are drawn from their other keys if they have no appearance.
 * Of all others nothing is printed then, or an icon. */
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
    {"/Movie", "a video"},
};

struct flat {
  struct flatten *f;
  qpdf_data pdf;
  enum dx_reason reason;
  long work;
  struct dx_buf held;    /* qpdf_oh: released after each annotation */
  struct dx_buf layers;  /* states, by object number */
  struct dx_buf values;  /* struct text_value */
  struct dx_buf streams; /* qpdf_oh: what will show the values */
  qpdf_oh form;          /* /AcroForm */
  bool stale;            /* values count, not appearances */
  int names;             /* given to resources so far */

  /* The page. The handles are 0 until they are needed. */
  qpdf_oh page, resources, categories[CATEGORIES];
  int number, rotation;
  struct dx_buf drawing; /* added to its content */
};

/* The first refusal counts. */
static void flat_refuse(struct flat *s, enum dx_reason reason, const char *what,
                        const char *how)
{
  if (s->reason != DX_REASON_NONE)
    return;
  s->reason = reason;
  s->f->page = s->number;
  (void)snprintf(s->f->why, sizeof(s->f->why), "%s %s", what, how);
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

static void flat_check(struct flat *s, bool has_memory)
{
  if (!has_memory)
    flat_refuse(s, DX_REASON_TROUBLE, "out of", "memory");
}

/* ---- reading: handles are borrowed until flat_release() ---- */

static qpdf_oh flat_hold(struct flat *s, qpdf_oh handle)
{
  dx_buf_add(&s->held, &handle, sizeof(handle));
  return handle;
}

/* All that were held since `held.len` was `mark`. */
static void flat_release(struct flat *s, size_t mark)
{
  qpdf_oh handle;

  while (s->held.len > mark) {
    s->held.len -= sizeof(handle);
    memcpy(&handle, s->held.data + s->held.len, sizeof(handle));
    qpdf_oh_release(s->pdf, handle);
  }
}

static qpdf_oh flat_key(struct flat *s, qpdf_oh dict, const char *key)
{
  return flat_hold(s, qpdf_oh_is_dictionary(s->pdf, dict)
                          ? qpdf_oh_get_key(s->pdf, dict, key)
                          : qpdf_oh_new_null(s->pdf));
}

static int flat_length(struct flat *s, qpdf_oh list)
{
  return qpdf_oh_is_array(s->pdf, list)
             ? qpdf_oh_get_array_n_items(s->pdf, list)
             : 0;
}

static qpdf_oh flat_item(struct flat *s, qpdf_oh list, int i)
{
  return flat_hold(s, qpdf_oh_get_array_item(s->pdf, list, i));
}

/* Fields and pages inherit. */
static qpdf_oh flat_inherited(struct flat *s, qpdf_oh dict, const char *key)
{
  qpdf_oh value = flat_key(s, dict, key);
  int depth;

  for (depth = 0; qpdf_oh_is_null(s->pdf, value) && depth < DEPTH_MAX &&
                  qpdf_oh_is_dictionary(s->pdf, dict);
       depth++) {
    dict = flat_key(s, dict, "/Parent");
    value = flat_key(s, dict, key);
    s->work += WORK_RESOURCE;
  }
  return value;
}

static qpdf_oh flat_dict(struct flat *s, qpdf_oh stream)
{
  return flat_hold(s, qpdf_oh_get_dict(s->pdf, stream));
}

static bool flat_is(struct flat *s, qpdf_oh value, const char *name)
{
  return qpdf_oh_is_name_and_equals(s->pdf, value, name) == QPDF_TRUE;
}

static bool flat_true(struct flat *s, qpdf_oh value)
{
  return qpdf_oh_is_bool(s->pdf, value) &&
         qpdf_oh_get_bool_value(s->pdf, value) == QPDF_TRUE;
}

static int flat_int(struct flat *s, qpdf_oh value)
{
  return qpdf_oh_is_integer(s->pdf, value)
             ? qpdf_oh_get_int_value_as_int(s->pdf, value)
             : 0;
}

/* True if it is an array of at least `count` numbers. */
static bool flat_numbers(struct flat *s, qpdf_oh list, double *ret, int count)
{
  int i;

  if (flat_length(s, list) < count)
    return false;
  for (i = 0; i < count; i++) {
    qpdf_oh item = flat_item(s, list, i);

    ret[i] = qpdf_oh_is_number(s->pdf, item)
                 ? qpdf_oh_get_numeric_value(s->pdf, item)
                 : NAN;
    if (!(fabs(ret[i]) <= NUMBER_MAX))
      return false;
  }
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

/* Adds a string, or the text of a stream, as UTF-8. */
static void flat_text(struct flat *s, qpdf_oh value, struct dx_buf *text)
{
  unsigned char *bytes = NULL;
  const char *utf8;
  size_t len = 0, i;

  if (qpdf_oh_is_stream(s->pdf, value) &&
      qpdf_oh_get_stream_data(s->pdf, value, qpdf_dl_generalized, NULL, &bytes,
                              &len) < QPDF_ERRORS)
    value = flat_hold(s, qpdf_oh_new_binary_string(s->pdf, (char *)bytes, len));
  free(bytes);
  if (!qpdf_oh_is_string(s->pdf, value))
    return;
  utf8 = qpdf_oh_get_binary_utf8_value(s->pdf, value, &len);
  if (flat_go_on(s, (long)len))
    for (i = 0; i < len; i++)
      dx_buf_add(text, utf8[i] != '\0' ? utf8 + i : " ", 1);
}

/* ---- layers: ISO 32000-1, 8.11 ---- */

/* What is known of a group; NULL if it is none. */
static unsigned char *flat_layer(struct flat *s, qpdf_oh group)
{
  int id = qpdf_oh_get_object_id(s->pdf, group);

  return id > 0 && (size_t)id < s->layers.len
             ? (unsigned char *)s->layers.data + id
             : NULL;
}

/* Changes the states of groups; adds what their usage says of the category, if
 * there is one. */
static void flat_set_layers(struct flat *s, qpdf_oh groups, int remove, int add,
                            const char *category)
{
  int count = flat_length(s, groups), i;
  size_t mark = s->held.len;
  char key[32];

  for (i = 0; i < count && flat_go_on(s, 1); i++, flat_release(s, mark)) {
    qpdf_oh group = flat_item(s, groups, i), state;
    unsigned char *layer = flat_layer(s, group);
    int more = 0;

    if (layer == NULL)
      continue;
    if (category != NULL) {
      (void)snprintf(key, sizeof(key), "%sState", category);
      state =
          flat_key(s, flat_key(s, flat_key(s, group, "/Usage"), category), key);
      more = flat_is(s, state, "/OFF")  ? ADVISED_OFF
             : flat_is(s, state, "/ON") ? ADVISED_ON
                                        : 0;
    }
    *layer = (unsigned char)((*layer & ~remove) | add | more);
  }
}

static bool flat_is_off(struct flat *s, qpdf_oh group)
{
  const unsigned char *layer = flat_layer(s, group);

  if (layer == NULL || (*layer & LAYER) == 0)
    return false;
  return (*layer & (ADVISED_ON | ADVISED_OFF)) != 0
             ? (*layer & ADVISED_OFF) != 0
             : (*layer & OFF) != 0;
}

/* Computes the state of each layer when it is printed, and makes it the only
 * one: a viewer on the screen shows the same. */
static void flat_settle_layers(struct flat *s, qpdf_oh root)
{
  static const char *const known[] = {"/Print", "/View", "/Export"};
  qpdf_oh properties = flat_key(s, root, "/OCProperties");
  qpdf_oh groups = flat_key(s, properties, "/OCGs");
  qpdf_oh config = flat_key(s, properties, "/D");
  qpdf_oh usages = flat_key(s, config, "/AS"), usage, list;
  qpdf_oh settled = flat_hold(s, qpdf_oh_parse(s->pdf, "<</BaseState/ON>>"));
  qpdf_oh off = flat_hold(s, qpdf_oh_new_array(s->pdf));
  int base = flat_is(s, flat_key(s, config, "/BaseState"), "/OFF") ? OFF : 0;
  int count = flat_length(s, groups), last = 0, i, c;
  size_t k;

  if (!qpdf_oh_is_dictionary(s->pdf, properties) || !flat_go_on(s, count))
    return;
  for (i = 0; i < count; i++) {
    int id = qpdf_oh_get_object_id(s->pdf, flat_item(s, groups, i));

    last = id > last && id < LAYER_ID_MAX ? id : last;
  }
  s->layers.data = calloc((size_t)last + 1, 1);
  s->layers.len = s->layers.data != NULL ? (size_t)last + 1 : 0;
  flat_check(s, s->layers.data != NULL);
  flat_set_layers(s, groups, 0, LAYER | base, NULL);
  flat_set_layers(s, flat_key(s, config, "/ON"), OFF, 0, NULL);
  flat_set_layers(s, flat_key(s, config, "/OFF"), 0, OFF, NULL);
  for (i = 0; i < flat_length(s, usages) && flat_go_on(s, 1); i++) {
    usage = flat_item(s, usages, i);
    list = flat_key(s, usage, "/Category");
    if (!flat_is(s, flat_key(s, usage, "/Event"), "/Print"))
      continue;
    for (c = 0; c < flat_length(s, list) && flat_go_on(s, 1); c++)
      for (k = 0; k < sizeof(known) / sizeof(known[0]); k++)
        if (flat_is(s, flat_item(s, list, c), known[k]))
          flat_set_layers(s, flat_key(s, usage, "/OCGs"), 0, 0, known[k]);
  }
  for (i = 0; i < count; i++)
    if (flat_is_off(s, flat_item(s, groups, i)))
      qpdf_oh_append_item(s->pdf, off, flat_item(s, groups, i));
  qpdf_oh_replace_key(s->pdf, settled, "/OFF", off);
  qpdf_oh_replace_key(s->pdf, properties, "/D", settled);
  qpdf_oh_remove_key(s->pdf, properties, "/Configs");
}

/* ---- adding to the page ---- */

static void flat_set(struct flat *s, qpdf_oh dict, const char *key,
                     const char *text)
{
  qpdf_oh_replace_key(s->pdf, dict, key,
                      flat_hold(s, qpdf_oh_parse(s->pdf, text)));
}

/* Replaces dict[key] by a copy of `from`: other pages may have the same. The
 * handle lives as long as the page. */
static qpdf_oh flat_copy(struct flat *s, qpdf_oh dict, const char *key,
                         qpdf_oh from)
{
  qpdf_oh copy = qpdf_oh_new_dictionary(s->pdf);

  if (qpdf_oh_is_dictionary(s->pdf, from)) {
    qpdf_oh_begin_dict_key_iter(s->pdf, from);
    while (qpdf_oh_dict_more_keys(s->pdf) && flat_go_on(s, WORK_RESOURCE)) {
      const char *name = qpdf_oh_dict_next_key(s->pdf);

      qpdf_oh_replace_key(s->pdf, copy, name, flat_key(s, from, name));
    }
  }
  qpdf_oh_replace_key(s->pdf, dict, key, copy);
  return copy;
}

/* Adds to the page's resources under the name "/Dx" with the number that is
 * returned. */
static int flat_name(struct flat *s, enum flat_category category, qpdf_oh value)
{
  static const char *const keys[] = {"/XObject", "/Properties", "/ExtGState"};
  qpdf_oh *dict = &s->categories[category];
  char name[32];

  if (s->resources == 0)
    s->resources = flat_copy(s, s->page, "/Resources",
                             flat_inherited(s, s->page, "/Resources"));
  if (*dict == 0)
    *dict = flat_copy(s, s->resources, keys[category],
                      flat_key(s, s->resources, keys[category]));
  do
    (void)snprintf(name, sizeof(name), "/Dx%d", ++s->names);
  while (qpdf_oh_has_key(s->pdf, *dict, name));
  qpdf_oh_replace_key(s->pdf, *dict, name, value);
  return s->names;
}

/* Draws a form XObject with a matrix. */
static void flat_show(struct flat *s, qpdf_oh stream, const double m[6])
{
  qpdf_oh dict = flat_dict(s, stream);

  flat_set(s, dict, "/Type", "/XObject");
  flat_set(s, dict, "/Subtype", "/Form");
  dx_buf_printf(&s->drawing, "q %.8f %.8f %.8f %.8f %.8f %.8f cm /Dx%d Do Q\n",
                m[0], m[1], m[2], m[3], m[4], m[5],
                flat_name(s, CATEGORY_XOBJECT, stream));
}

/* ---- appearances ---- */

/* The normal appearance; 0 if there is none. *ret_lost: its key leads to none;
 * *ret_blank: there is one, but not for the present state. */
static qpdf_oh flat_find(struct flat *s, qpdf_oh annotation, bool *ret_lost,
                         bool *ret_blank)
{
  qpdf_oh ap = flat_key(s, annotation, "/AP"), found = flat_key(s, ap, "/N");
  qpdf_oh state = flat_key(s, annotation, "/AS");
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
    found = flat_key(s, found,
                     qpdf_oh_is_name(s->pdf, state)
                         ? qpdf_oh_get_name(s->pdf, state)
                     : others == 1 ? only
                                   : "/Off");
  }
  *ret_lost = qpdf_oh_is_dictionary(s->pdf, ap);
  *ret_blank = others > 0 && !qpdf_oh_is_stream(s->pdf, found);
  return qpdf_oh_is_stream(s->pdf, found) &&
                 flat_rectangle(s, flat_key(s, flat_dict(s, found), "/BBox"),
                                box)
             ? found
             : 0;
}

/* ISO 32000-1, 12.5.5, algorithm 8.1. */
static void flat_place(struct flat *s, qpdf_oh annotation, qpdf_oh stream,
                       int flags)
{
  qpdf_oh dict = flat_dict(s, stream), group;
  double turn = (flags & NO_ROTATE) != 0 ? s->rotation * M_PI / 180 : 0;
  double rect[4], box[4], m[6], low[2], high[2], sx, sy, x, y;
  int blend = 0, i;
  bool blends;

  if (!flat_rectangle(s, flat_key(s, annotation, "/Rect"), rect) ||
      !flat_rectangle(s, flat_key(s, dict, "/BBox"), box))
    return;
  if (!flat_numbers(s, flat_key(s, dict, "/Matrix"), m, 6))
    memcpy(m, (double[6]){1, 0, 0, 1, 0, 0}, sizeof(m));
  for (i = 0; i < 4; i++) {
    x = m[0] * box[i % 2 * 2] + m[2] * box[i / 2 * 2 + 1] + m[4];
    y = m[1] * box[i % 2 * 2] + m[3] * box[i / 2 * 2 + 1] + m[5];
    low[0] = i == 0 ? x : fmin(low[0], x);
    low[1] = i == 0 ? y : fmin(low[1], y);
    high[0] = i == 0 ? x : fmax(high[0], x);
    high[1] = i == 0 ? y : fmax(high[1], y);
  }
  sx = (rect[2] - rect[0]) / (high[0] - low[0]);
  sy = (rect[3] - rect[1]) / (high[1] - low[1]);
  if (!(sx > 0 && sy > 0 && sx < NUMBER_MAX && sy < NUMBER_MAX))
    return; /* nothing to be seen */
  /* From the upper left corner, around which it is turned. */
  x = -sx * low[0];
  y = rect[1] - rect[3] - sy * low[1];
  /* As part of a page, poppler blends the content of a group with nothing. One
   * that is neither isolated nor knocked out has no effect here. */
  group = flat_key(s, dict, "/Group");
  blends = qpdf_oh_is_dictionary(
      s->pdf, flat_key(s, flat_key(s, dict, "/Resources"), "/ExtGState"));
  if (flat_true(s, flat_key(s, group, "/I")) ||
      flat_true(s, flat_key(s, group, "/K")))
    blends = false;
  else
    qpdf_oh_remove_key(s->pdf, dict, "/Group");
  /* A highlight must not hide the words below; Adobe Reader and poppler draw
   * one that does not blend by themselves. */
  if (!blends && flat_is(s, flat_key(s, annotation, "/Subtype"), "/Highlight"))
    blend = flat_name(s, CATEGORY_STATE,
                      flat_hold(s, qpdf_oh_parse(s->pdf, "<</BM/Multiply>>")));
  if (blend > 0)
    dx_buf_printf(&s->drawing, "q /Dx%d gs\n", blend);
  flat_show(s, stream,
            (double[6]){sx * cos(turn), sx * sin(turn), -sy * sin(turn),
                        sy * cos(turn), rect[0] + x * cos(turn) - y * sin(turn),
                        rect[3] + x * sin(turn) + y * cos(turn)});
  if (blend > 0)
    dx_buf_puts(&s->drawing, "Q\n");
}

/* ---- form fields ---- */

/* Replaces the value of a choice by what it shows. */
static void flat_option(struct flat *s, qpdf_oh options, struct dx_buf *text)
{
  size_t mark = s->held.len;
  bool found = false;
  int i;

  for (i = 0;
       i < flat_length(s, options) && !found && flat_go_on(s, WORK_RESOURCE);
       i++) {
    qpdf_oh option = flat_item(s, options, i);
    struct dx_buf value = {0};

    if (flat_length(s, option) == 2) {
      flat_text(s, flat_item(s, option, 0), &value);
      found = strcmp(dx_buf_text(&value), dx_buf_text(text)) == 0;
      dx_buf_release(&value);
      if (found) {
        dx_buf_release(text);
        flat_text(s, flat_item(s, option, 1), text);
      }
    }
    flat_release(s, mark);
  }
}

/* The value of a text or choice field as it is shown. */
static void flat_value(struct flat *s, qpdf_oh field, bool choice, int flags,
                       bool *ret_lines, struct dx_buf *ret)
{
  qpdf_oh value = flat_inherited(s, field, "/V");
  qpdf_oh options = flat_inherited(s, field, "/Opt");
  bool list = choice && qpdf_oh_is_array(s->pdf, value);
  int count = list ? flat_length(s, value) : 1, i;
  size_t n, len = 0;

  *ret_lines = list || (!choice && (flags & MULTILINE) != 0);
  for (i = 0; i < count && flat_go_on(s, 1); i++) {
    struct dx_buf text = {0};

    flat_text(s, list ? flat_item(s, value, i) : value, &text);
    if (choice)
      flat_option(s, options, &text);
    dx_buf_puts(ret, i > 0 ? "\n" : "");
    dx_buf_puts(ret, dx_buf_text(&text));
    dx_buf_release(&text);
  }
  for (n = 0; n < ret->len; n++) {
    bool starts = ((unsigned char)ret->data[n] & 0xC0) != 0x80;

    if (choice || (flags & PASSWORD) == 0)
      ret->data[len++] = ret->data[n];
    else if (starts)
      ret->data[len++] = '*';
    if (len > 0 && ret->data[len - 1] == '\n' && !*ret_lines)
      ret->data[len - 1] = ' ';
  }
  ret->len = len;
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

/* Leaves room for a text, which is taken. */
static void flat_write(struct flat *s, qpdf_oh field, struct dx_buf *text,
                       struct text_value value)
{
  /* Rotations by 0, 90, 180 and 270 degrees of a box of 1 by 1. */
  static const double turns[4][6] = {{1, 0, 0, 1, 0, 0},
                                     {0, 1, -1, 0, 1, 0},
                                     {-1, 0, 0, -1, 1, 1},
                                     {0, -1, 1, 0, 0, 1}};
  qpdf_oh style = flat_inherited(s, field, "/DA"), stream;
  int turn = flat_int(s, flat_key(s, flat_key(s, field, "/MK"), "/R")) / 90 & 3;
  const double *t = turns[turn];
  double rect[4], w, h, pad;
  char box[80];

  if (!flat_rectangle(s, flat_key(s, field, "/Rect"), rect) ||
      rect[2] - rect[0] < 1 || rect[3] - rect[1] < 1)
    return; /* too small to be seen */
  if (qpdf_oh_is_null(s->pdf, style))
    style = flat_key(s, s->form, "/DA");
  if (qpdf_oh_is_string(s->pdf, style))
    flat_style(qpdf_oh_get_string_value(s->pdf, style), &value);
  w = rect[2] - rect[0];
  h = rect[3] - rect[1];
  pad = value.comb > 0 ? 0 : fmin(2, fmin(w, h) / 8);
  value.width = (turn % 2 == 0 ? w : h) - 2 * pad;
  value.height = (turn % 2 == 0 ? h : w) - 2 * pad;
  value.utf8 = dx_buf_take(text);
  flat_check(s, value.utf8 != NULL);
  stream = qpdf_oh_new_stream(s->pdf);
  (void)snprintf(box, sizeof(box), "[0 0 %.4f %.4f]", value.width,
                 value.height);
  flat_set(s, flat_dict(s, stream), "/BBox", box);
  flat_show(s, stream,
            (double[6]){t[0], t[1], t[2], t[3],
                        rect[0] + pad + t[4] * (w - 2 * pad),
                        rect[1] + pad + t[5] * (h - 2 * pad)});
  dx_buf_add(&s->values, &value, sizeof(value));
  dx_buf_add(&s->streams, &stream, sizeof(stream));
  flat_check(s, !s->values.failed && !s->streams.failed);
}

static void flat_field(struct flat *s, qpdf_oh field, qpdf_oh stream,
                       int annotation_flags, bool lost, bool blank)
{
  int flags = flat_int(s, flat_inherited(s, field, "/Ff"));
  qpdf_oh type = flat_inherited(s, field, "/FT");
  qpdf_oh state = flat_key(s, field, "/AS"), align;
  bool choice = flat_is(s, type, "/Ch"), button = flat_is(s, type, "/Btn");
  bool list = choice && (flags & COMBO) == 0; /* shows more than its value */
  struct text_value value = {.align = 1};
  struct dx_buf text = {0};

  if ((choice || flat_is(s, type, "/Tx")) &&
      (stream == 0 || (s->stale && !list))) {
    flat_value(s, field, choice, flags, &value.multiline, &text);
    align = flat_inherited(s, field, "/Q");
    if (qpdf_oh_is_null(s->pdf, align))
      align = flat_key(s, s->form, "/Q");
    value.align = flat_int(s, align);
    if (value.align != 1 && value.align != 2)
      value.align = 0; /* as in viewers */
    if (!choice && (flags & (COMB | MULTILINE | PASSWORD)) == COMB)
      value.comb = flat_int(s, flat_inherited(s, field, "/MaxLen"));
  } else if (button && (flags & PUSH) == 0 && stream == 0 && !blank) {
    if (!qpdf_oh_is_name(s->pdf, state) && (flags & RADIO) == 0)
      state = flat_inherited(s, field, "/V");
    if (qpdf_oh_is_name(s->pdf, state) && !flat_is(s, state, "/Off"))
      dx_buf_puts(&text, "X");
  }
  if (text.len > 0)
    flat_write(s, field, &text, value);
  else if (stream != 0)
    flat_place(s, field, stream, annotation_flags);
  else if (lost && flat_is(s, type, "/Sig"))
    flat_refuse(s, DX_REASON_DAMAGED, "a signature", "is missing");
  flat_check(s, !text.failed);
  dx_buf_release(&text);
}

/* ---- pages ---- */

/* An annotation that is no field. */
static void flat_markup(struct flat *s, qpdf_oh annotation, qpdf_oh stream,
                        int flags, bool lost)
{
  qpdf_oh subtype = flat_key(s, annotation, "/Subtype");
  qpdf_oh opacity = flat_key(s, annotation, "/CA");
  size_t i;

  if (stream != 0)
    flat_place(s, annotation, stream, flags);
  if (stream != 0 || (qpdf_oh_is_number(s->pdf, opacity) &&
                      qpdf_oh_get_numeric_value(s->pdf, opacity) <= 0))
    return;
  for (i = 0; i < sizeof(flat_drawn) / sizeof(flat_drawn[0]); i++)
    if (flat_is(s, subtype, flat_drawn[i].subtype))
      flat_refuse(s, lost ? DX_REASON_DAMAGED : DX_REASON_NOT_DRAWN,
                  flat_drawn[i].name,
                  lost ? "is missing" : "has no appearance");
}

static void flat_annotation(struct flat *s, qpdf_oh annotation)
{
  int flags = flat_int(s, flat_key(s, annotation, "/F"));
  qpdf_oh subtype = flat_key(s, annotation, "/Subtype");
  qpdf_oh layer = flat_key(s, annotation, "/OC"), stream;
  bool member = flat_is(s, flat_key(s, layer, "/Type"), "/OCMD"), lost, blank;

  if ((flags & PRINT) == 0 || (flags & HIDDEN) != 0 ||
      flat_is(s, subtype, "/Popup") || flat_is_off(s, layer))
    return;
  if (member) /* viewers evaluate it */
    dx_buf_printf(&s->drawing, "/OC /Dx%d BDC\n",
                  flat_name(s, CATEGORY_PROPERTIES, layer));
  stream = flat_find(s, annotation, &lost, &blank);
  if (flat_is(s, subtype, "/Widget"))
    flat_field(s, annotation, stream, flags, lost, blank);
  else
    flat_markup(s, annotation, stream, flags, lost);
  if (member)
    dx_buf_puts(&s->drawing, "EMC\n");
}

static qpdf_oh flat_stream(struct flat *s, const void *bytes, size_t len,
                           qpdf_oh filter, qpdf_oh parms)
{
  qpdf_oh stream = flat_hold(s, qpdf_oh_new_stream(s->pdf));

  qpdf_oh_replace_stream_data(s->pdf, stream, bytes, len, filter, parms);
  return stream;
}

/* Adds what was collected. The content becomes a form: whatever it leaves open,
 * and whatever in it stops a viewer, does not change what is added. */
static void flat_finish_page(struct flat *s, qpdf_oh resources)
{
  static const double identity[6] = {1, 0, 0, 1, 0, 0};
  qpdf_oh old = flat_key(s, s->page, "/Contents"), stream, dict;
  qpdf_oh null = flat_hold(s, qpdf_oh_new_null(s->pdf));
  struct dx_buf added = s->drawing;
  unsigned char *bytes = NULL;
  size_t len = 0;
  bool ok;

  s->drawing = (struct dx_buf){0};
  if (flat_length(s, old) == 1)
    old = flat_item(s, old, 0);
  if (qpdf_oh_is_stream(s->pdf, old)) {
    dict = flat_dict(s, old);
    ok = qpdf_oh_get_stream_data(s->pdf, old, qpdf_dl_none, NULL, &bytes,
                                 &len) < QPDF_ERRORS;
    stream = flat_stream(s, bytes, len, flat_key(s, dict, "/Filter"),
                         flat_key(s, dict, "/DecodeParms"));
  } else {
    ok = qpdf_oh_get_page_content_data(s->pdf, s->page, &bytes, &len) <
         QPDF_ERRORS;
    stream = flat_stream(s, bytes, len, null, null);
  }
  free(bytes);
  if (!ok)
    flat_refuse(s, DX_REASON_DAMAGED, "its content", "cannot be read");
  dict = flat_dict(s, stream);
  flat_set(s, dict, "/BBox", "[-99999 -99999 99999 99999]");
  if (qpdf_oh_is_dictionary(s->pdf, resources))
    qpdf_oh_replace_key(s->pdf, dict, "/Resources", resources);
  if (len > 0)
    flat_show(s, stream, identity);
  dx_buf_add(&s->drawing, added.data, added.len);
  flat_check(s, !s->drawing.failed && !added.failed);
  qpdf_oh_replace_key(
      s->pdf, s->page, "/Contents",
      flat_stream(s, s->drawing.data, s->drawing.len, null, null));
  dx_buf_release(&added);
}

static void flat_page(struct flat *s, qpdf_oh page, int number)
{
  qpdf_oh list = flat_key(s, page, "/Annots");
  qpdf_oh resources = flat_inherited(s, page, "/Resources");
  int count = flat_length(s, list), i;
  size_t mark = s->held.len;

  s->page = page;
  s->number = number;
  s->rotation = flat_int(s, flat_inherited(s, page, "/Rotate"));
  for (i = 0; i < count && flat_go_on(s, WORK_ANNOTATION); i++) {
    flat_annotation(s, flat_item(s, list, i));
    flat_release(s, mark);
  }
  if (s->drawing.len > 0 || s->drawing.failed)
    flat_finish_page(s, resources);
  qpdf_oh_remove_key(s->pdf, page, "/Annots");
  for (i = 0; i < CATEGORIES; i++)
    if (s->categories[i] != 0)
      qpdf_oh_release(s->pdf, s->categories[i]);
  if (s->resources != 0)
    qpdf_oh_release(s->pdf, s->resources);
  memset(s->categories, 0, sizeof(s->categories));
  s->resources = 0;
  dx_buf_release(&s->drawing);
  flat_release(s, 0);
}

/* ---- values ---- */

/* Page i of the PDF that the text writer makes becomes stream i. */
static void flat_import(struct flat *s, size_t count)
{
  qpdf_oh null = flat_hold(s, qpdf_oh_new_null(s->pdf));
  qpdf_oh *streams = (void *)s->streams.data;
  qpdf_data made = qpdf_init();
  unsigned char *bytes;
  size_t len, size, i;
  const void *map = dx_fs_map(s->f->scratch_fd, &size);

  qpdf_set_suppress_warnings(made, QPDF_TRUE);
  if (map == NULL ||
      qpdf_read_memory(made, "values", map, size, NULL) >= QPDF_ERRORS ||
      qpdf_get_num_pages(made) != (int)count)
    s->reason = DX_REASON_TROUBLE;
  for (i = 0; i < count && s->reason == DX_REASON_NONE; i++) {
    qpdf_oh page = qpdf_get_page_n(made, i);
    qpdf_oh from = qpdf_make_indirect_object(
        made, qpdf_oh_get_key(made, page, "/Resources"));
    qpdf_oh dict = flat_dict(s, streams[i]);

    if (qpdf_oh_get_page_content_data(made, page, &bytes, &len) >= QPDF_ERRORS)
      s->reason = DX_REASON_TROUBLE;
    else
      qpdf_oh_replace_stream_data(s->pdf, streams[i], bytes, len, null, null);
    free(bytes);
    qpdf_oh_replace_key(
        s->pdf, dict, "/Resources",
        flat_hold(s, qpdf_oh_copy_foreign_object(s->pdf, made, from)));
  }
  qpdf_cleanup(&made);
}

static void flat_draw_values(struct flat *s)
{
  struct text_value *values = (void *)s->values.data;
  size_t count = s->values.len / sizeof(*values), i;
  struct text_done done = {0};

  if (count > 0 && s->reason == DX_REASON_NONE) {
    s->f->needs_fonts = s->f->text == NULL;
    s->reason = s->f->text == NULL
                    ? DX_REASON_TROUBLE
                    : s->f->text->values_to_pdf(values, count, s->f->fonts,
                                                s->f->scratch_fd, &done);
    if (s->reason == DX_REASON_CHARACTERS)
      (void)snprintf(s->f->why, sizeof(s->f->why),
                     "no font has the character %s", done.missing);
  }
  if (count > 0 && s->reason == DX_REASON_NONE)
    flat_import(s, count);
  for (i = 0; i < count; i++) {
    free((void *)values[i].utf8);
    qpdf_oh_release(s->pdf, ((qpdf_oh *)(void *)s->streams.data)[i]);
  }
}

enum dx_reason flatten_pages(struct flatten *f, const qpdf_oh *pages,
                             const int *numbers, int count)
{
  struct flat s = {.f = f, .pdf = f->pdf, .number = count > 0 ? numbers[0] : 0};
  qpdf_oh root = qpdf_get_root(f->pdf);
  int i;

  s.form = qpdf_oh_get_key(f->pdf, root, "/AcroForm");
  s.stale = flat_true(&s, flat_key(&s, s.form, "/NeedAppearances"));
  /* A form that is only XFA has no fields, and a page that asks for another
   * viewer. */
  if (flat_true(&s, flat_key(&s, root, "/NeedsRendering")) ||
      (!qpdf_oh_is_null(f->pdf, flat_key(&s, s.form, "/XFA")) &&
       flat_length(&s, flat_key(&s, s.form, "/Fields")) == 0))
    flat_refuse(&s, DX_REASON_NOT_DRAWN, "the form",
                "can be shown only by the program it was made with");
  flat_settle_layers(&s, root);
  flat_release(&s, 0);
  for (i = 0; i < count && s.reason == DX_REASON_NONE; i++)
    flat_page(&s, pages[i], numbers[i]);
  flat_draw_values(&s);
  qpdf_oh_remove_key(f->pdf, root, "/AcroForm");
  qpdf_oh_remove_key(f->pdf, root, "/NeedsRendering");
  flat_release(&s, 0);
  qpdf_oh_release(f->pdf, s.form);
  qpdf_oh_release(f->pdf, root);
  dx_buf_release(&s.held);
  dx_buf_release(&s.layers);
  dx_buf_release(&s.values);
  dx_buf_release(&s.streams);
  return s.reason;
}
