/*
 * same.c - compares pages with poppler. What is printed of an annotation or a
 * layer is decided here a second time, on purpose: filter/ is not asked.
 */
#include "tests/helper/same.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairo.h>
#include <poppler.h>
#include <qpdf/qpdf-c.h>

#define DEPTH_MAX 50
#define MARGIN 2 /* points around a field that we draw */

enum same_flag { /* /F of an annotation */
                 HIDDEN = 2,
                 PRINT = 4
};

struct same_field { /* drawn by the filter */
  int page;         /* from 0, in the first document */
  double rect[4];   /* as in the PDF */
  char *value;      /* that has to be there; may be NULL */
};

struct same_document {
  qpdf_data pdf;
  struct same_field *fields;
  int field_count;
  int *rotations;  /* of each page */
  int page_count;  /* 0: libqpdf cannot read it */
  bool is_changed; /* printed is the copy */
};

/* ---- what is printed, read with libqpdf ---- */

/* Handles are released with the document. */
static qpdf_oh same_key(qpdf_data pdf, qpdf_oh dict, const char *key)
{
  return qpdf_oh_is_dictionary(pdf, dict) ? qpdf_oh_get_key(pdf, dict, key)
                                          : qpdf_oh_new_null(pdf);
}

static qpdf_oh same_inherited(qpdf_data pdf, qpdf_oh dict, const char *key)
{
  qpdf_oh value = same_key(pdf, dict, key);
  int depth;

  for (depth = 0; qpdf_oh_is_null(pdf, value) && depth < DEPTH_MAX; depth++) {
    dict = same_key(pdf, dict, "/Parent");
    value = same_key(pdf, dict, key);
  }
  return value;
}

static bool same_is(qpdf_data pdf, qpdf_oh value, const char *name)
{
  return qpdf_oh_is_name_and_equals(pdf, value, name) == QPDF_TRUE;
}

static int same_int(qpdf_data pdf, qpdf_oh value)
{
  return qpdf_oh_is_integer(pdf, value)
             ? qpdf_oh_get_int_value_as_int(pdf, value)
             : 0;
}

static int same_length(qpdf_data pdf, qpdf_oh list)
{
  return qpdf_oh_is_array(pdf, list) ? qpdf_oh_get_array_n_items(pdf, list) : 0;
}

/* Without a box, nothing is drawn. */
static bool same_has_appearance(qpdf_data pdf, qpdf_oh annotation)
{
  qpdf_oh n = same_key(pdf, same_key(pdf, annotation, "/AP"), "/N");

  if (qpdf_oh_is_stream(pdf, n))
    return same_length(pdf, same_key(pdf, qpdf_oh_get_dict(pdf, n), "/BBox")) >=
           4;
  return qpdf_oh_is_dictionary(pdf, n);
}

/* One that is printed, and whose value the filter draws. */
static void same_add_field(struct same_document *d, int page, qpdf_oh widget,
                           bool is_stale)
{
  qpdf_data pdf = d->pdf;
  qpdf_oh type = same_inherited(pdf, widget, "/FT");
  qpdf_oh value = same_inherited(pdf, widget, "/V");
  qpdf_oh rect = same_key(pdf, widget, "/Rect");
  int flags = same_int(pdf, same_inherited(pdf, widget, "/Ff")), i;
  bool is_text = same_is(pdf, type, "/Tx");
  struct same_field *field;

  if (same_has_appearance(pdf, widget) &&
      !(is_stale && !same_is(pdf, type, "/Sig")))
    return;
  if (same_length(pdf, rect) < 4)
    return;
  d->fields =
      realloc(d->fields, (size_t)(d->field_count + 1) * sizeof(d->fields[0]));
  if (d->fields == NULL)
    abort();
  field = &d->fields[d->field_count++];
  *field = (struct same_field){.page = page};
  for (i = 0; i < 4; i++) {
    qpdf_oh item = qpdf_oh_get_array_item(pdf, rect, i);

    field->rect[i] =
        qpdf_oh_is_number(pdf, item) ? qpdf_oh_get_numeric_value(pdf, item) : 0;
  }
  if (is_text && (flags & 1 << 13) == 0 && qpdf_oh_is_string(pdf, value))
    field->value = strdup(qpdf_oh_get_utf8_value(pdf, value));
}

/* Collects the fields of a page, and removes annotations of which nothing is
 * printed but poppler prints something. */
static void same_read_page(struct same_document *d, int number, bool is_stale)
{
  qpdf_data pdf = d->pdf;
  qpdf_oh page = qpdf_get_page_n(pdf, (size_t)number);
  qpdf_oh annotations = same_key(pdf, page, "/Annots");
  int i;

  d->rotations[number] = same_int(pdf, same_inherited(pdf, page, "/Rotate"));
  for (i = same_length(pdf, annotations) - 1; i >= 0; i--) {
    qpdf_oh annotation = qpdf_oh_get_array_item(pdf, annotations, i);
    qpdf_oh subtype = same_key(pdf, annotation, "/Subtype");
    int flags = same_int(pdf, same_key(pdf, annotation, "/F"));

    if ((flags & (HIDDEN | PRINT)) != PRINT)
      continue;
    if (qpdf_oh_is_dictionary(pdf, annotation) &&
        !qpdf_oh_is_name(pdf, subtype)) {
      qpdf_oh_replace_key(pdf, annotation, "/Subtype",
                          qpdf_oh_new_name(pdf, "/None"));
      d->is_changed = true;
    } else if (same_is(pdf, subtype, "/Widget")) {
      same_add_field(d, number, annotation, is_stale);
    } else if (same_is(pdf, subtype, "/Popup") ||
               ((same_is(pdf, subtype, "/Link") ||
                 same_is(pdf, subtype, "/Text") ||
                 same_is(pdf, subtype, "/Sound") ||
                 same_is(pdf, subtype, "/FileAttachment")) &&
                !same_has_appearance(pdf, annotation))) {
      qpdf_oh_erase_item(pdf, annotations, i);
      d->is_changed = true;
    }
  }
}

static bool same_contains(qpdf_data pdf, qpdf_oh list, qpdf_oh group)
{
  int i;

  for (i = 0; i < same_length(pdf, list); i++)
    if (qpdf_oh_get_object_id(pdf, qpdf_oh_get_array_item(pdf, list, i)) ==
        qpdf_oh_get_object_id(pdf, group))
      return true;
  return false;
}

/* 1: to be printed; 0: not; -1: its usage says nothing. */
static int same_usage(qpdf_data pdf, qpdf_oh usages, qpdf_oh group)
{
  static const char *const known[] = {"/Print", "/View", "/Export"};
  int result = -1, i;
  size_t k;

  for (i = 0; i < same_length(pdf, usages); i++) {
    qpdf_oh usage = qpdf_oh_get_array_item(pdf, usages, i), state;
    qpdf_oh categories = same_key(pdf, usage, "/Category");
    int c;

    if (!same_is(pdf, same_key(pdf, usage, "/Event"), "/Print") ||
        !same_contains(pdf, same_key(pdf, usage, "/OCGs"), group))
      continue;
    for (c = 0; c < same_length(pdf, categories); c++)
      for (k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
        char key[32];

        if (!same_is(pdf, qpdf_oh_get_array_item(pdf, categories, c), known[k]))
          continue;
        (void)snprintf(key, sizeof(key), "%sState", known[k]);
        state = same_key(pdf, same_key(pdf, group, "/Usage"), known[k]);
        state = same_key(pdf, state, key);
        if (same_is(pdf, state, "/OFF"))
          result = 0;
        else if (same_is(pdf, state, "/ON") && result < 0)
          result = 1;
      }
  }
  return result;
}

/* poppler uses the state of a layer for viewing, although it may differ in
 * print (ISO 32000-1, 8.11.4.5). */
static void same_settle_layers(struct same_document *d, qpdf_oh root)
{
  qpdf_data pdf = d->pdf;
  qpdf_oh properties = same_key(pdf, root, "/OCProperties");
  qpdf_oh groups = same_key(pdf, properties, "/OCGs");
  qpdf_oh config = same_key(pdf, properties, "/D");
  qpdf_oh usages = same_key(pdf, config, "/AS"), on, off;
  bool base_off = same_is(pdf, same_key(pdf, config, "/BaseState"), "/OFF");
  int i;

  if (same_length(pdf, usages) == 0)
    return;
  on = qpdf_oh_new_array(pdf);
  off = qpdf_oh_new_array(pdf);
  for (i = 0; i < same_length(pdf, groups); i++) {
    qpdf_oh group = qpdf_oh_get_array_item(pdf, groups, i);
    int state = same_usage(pdf, usages, group);

    if (state < 0)
      state =
          !(base_off ||
            same_contains(pdf, same_key(pdf, config, "/OFF"), group)) ||
          (base_off && same_contains(pdf, same_key(pdf, config, "/ON"), group));
    qpdf_oh_append_item(pdf, state ? on : off, group);
  }
  qpdf_oh_replace_key(pdf, config, "/ON", on);
  qpdf_oh_replace_key(pdf, config, "/OFF", off);
  qpdf_oh_remove_key(pdf, config, "/AS");
  qpdf_oh_remove_key(pdf, config, "/BaseState");
  d->is_changed = true;
}

static void same_read(struct same_document *d, struct same_bytes bytes)
{
  qpdf_oh root, stale;
  int count;

  d->pdf = qpdf_init();
  qpdf_silence_errors(d->pdf);
  qpdf_set_suppress_warnings(d->pdf, QPDF_TRUE);
  if (qpdf_read_memory(d->pdf, "PDF", bytes.bytes, bytes.len, NULL) >=
      QPDF_ERRORS)
    return;
  count = qpdf_get_num_pages(d->pdf);
  if (count <= 0)
    return;
  d->rotations = calloc((size_t)count, sizeof(d->rotations[0]));
  if (d->rotations == NULL)
    abort();
  d->page_count = count;
  root = qpdf_get_root(d->pdf);
  stale =
      same_key(d->pdf, same_key(d->pdf, root, "/AcroForm"), "/NeedAppearances");
  same_settle_layers(d, root);
  for (count = 0; count < d->page_count; count++)
    same_read_page(d, count,
                   qpdf_oh_is_bool(d->pdf, stale) &&
                       qpdf_oh_get_bool_value(d->pdf, stale));
}

/* The document, or the changed one; NULL if poppler cannot read it. */
static PopplerDocument *same_open(struct same_document *d,
                                  struct same_bytes bytes)
{
  PopplerDocument *document = NULL;
  GBytes *copy = NULL;

  if (d->is_changed) {
    if (qpdf_init_write_memory(d->pdf) < QPDF_ERRORS) {
      qpdf_set_preserve_encryption(d->pdf, QPDF_FALSE);
      qpdf_set_stream_data_mode(d->pdf, qpdf_s_preserve);
      if (qpdf_write(d->pdf) < QPDF_ERRORS)
        copy = g_bytes_new(qpdf_get_buffer(d->pdf),
                           qpdf_get_buffer_length(d->pdf));
    }
  } else {
    copy = g_bytes_new_static(bytes.bytes, bytes.len);
  }
  if (copy != NULL) {
    document = poppler_document_new_from_bytes(copy, NULL, NULL);
    g_bytes_unref(copy);
  }
  return document;
}

static void same_release(struct same_document *d)
{
  int i;

  for (i = 0; i < d->field_count; i++)
    free(d->fields[i].value);
  free(d->fields);
  free(d->rotations);
  if (d->pdf != NULL)
    qpdf_cleanup(&d->pdf);
}

/* ---- pages ---- */

struct same_page {
  PopplerPage *page;
  double width, height; /* points, as shown */
  char *text;
  PopplerRectangle *boxes; /* of each character; from the top left */
  guint count;
};

struct same_box {
  double x0, y0, x1, y1; /* points, from the top left, as shown */
  const char *value;
};

/* poppler extracts what a screen shows: the annotations that a printer prints
 * become those. */
static void same_set_flags(PopplerPage *page)
{
  GList *list = poppler_page_get_annot_mapping(page), *l;

  for (l = list; l != NULL; l = l->next) {
    PopplerAnnot *annot = ((PopplerAnnotMapping *)l->data)->annot;
    unsigned flags = poppler_annot_get_flags(annot), wanted;

    wanted = flags & ~(unsigned)POPPLER_ANNOT_FLAG_NO_VIEW;
    if ((flags & POPPLER_ANNOT_FLAG_PRINT) == 0)
      wanted |= POPPLER_ANNOT_FLAG_HIDDEN;
    if (wanted != flags)
      poppler_annot_set_flags(annot, (PopplerAnnotFlag)wanted);
  }
  poppler_page_free_annot_mapping(list);
}

static cairo_surface_t *same_surface(int width, int height, double scale,
                                     cairo_t **ret_cairo)
{
  cairo_surface_t *surface =
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
  cairo_t *cairo = cairo_create(surface);

  cairo_set_source_rgb(cairo, 1, 1, 1);
  cairo_paint(cairo);
  cairo_scale(cairo, scale, scale);
  *ret_cairo = cairo;
  return surface;
}

/* Drawing a page for the screen, on one pixel, makes poppler collect the text
 * with that of its annotations; poppler_page_get_text() alone is without. */
static bool same_load(PopplerDocument *document, int number,
                      struct same_page *ret)
{
  cairo_surface_t *surface;
  cairo_t *cairo;

  *ret =
      (struct same_page){.page = poppler_document_get_page(document, number)};
  if (ret->page == NULL)
    return false;
  poppler_page_get_size(ret->page, &ret->width, &ret->height);
  same_set_flags(ret->page);
  surface = same_surface(1, 1, 1, &cairo);
  poppler_page_render(ret->page, cairo);
  cairo_destroy(cairo);
  cairo_surface_destroy(surface);
  ret->text = poppler_page_get_text(ret->page);
  if (!poppler_page_get_text_layout(ret->page, &ret->boxes, &ret->count))
    ret->count = 0;
  return true;
}

static void same_unload(struct same_page *page)
{
  g_free(page->text);
  g_free(page->boxes);
  if (page->page != NULL)
    g_object_unref(page->page);
}

/* The fields of a page, as poppler shows it. */
static GArray *same_boxes(const struct same_document *d, int number,
                          const struct same_page *page)
{
  GArray *boxes = g_array_new(FALSE, TRUE, sizeof(struct same_box));
  PopplerRectangle crop;
  int rotation, i;

  poppler_page_get_crop_box(page->page, &crop);
  rotation =
      number < d->page_count ? (d->rotations[number] % 360 + 360) % 360 : 0;
  for (i = 0; i < d->field_count; i++) {
    const struct same_field *f = &d->fields[i];
    double x0 = fmin(f->rect[0], f->rect[2]) - crop.x1;
    double x1 = fmax(f->rect[0], f->rect[2]) - crop.x1;
    double y0 = fmin(f->rect[1], f->rect[3]) - crop.y1;
    double y1 = fmax(f->rect[1], f->rect[3]) - crop.y1;
    double w = page->width, h = page->height;
    struct same_box b = {x0, h - y1, x1, h - y0, f->value};

    if (f->page != number)
      continue;
    if (rotation == 90)
      b = (struct same_box){y0, x0, y1, x1, f->value};
    else if (rotation == 180)
      b = (struct same_box){w - x1, y0, w - x0, y1, f->value};
    else if (rotation == 270)
      b = (struct same_box){w - y1, h - x1, w - y0, h - x0, f->value};
    b.x0 -= MARGIN;
    b.y0 -= MARGIN;
    b.x1 += MARGIN;
    b.y1 += MARGIN;
    g_array_append_val(boxes, b);
  }
  return boxes;
}

static bool same_inside(const struct same_box *b, double x, double y)
{
  return x >= b->x0 && x <= b->x1 && y >= b->y0 && y <= b->y1;
}

static bool same_is_masked(const GArray *boxes, double x, double y)
{
  guint i;

  for (i = 0; i < boxes->len; i++)
    if (same_inside(&g_array_index(boxes, struct same_box, i), x, y))
      return true;
  return false;
}

/* ---- words ---- */

static int same_compare(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* poppler finds columns: what is in a field changes the order of the others. */
static char *same_sorted(const char *words)
{
  char **list = g_strsplit(words, " ", -1), *sorted;

  qsort(list, g_strv_length(list), sizeof(list[0]), same_compare);
  sorted = g_strjoinv(" ", list);
  g_strfreev(list);
  return sorted;
}

/* The words outside of the boxes, or, with `box`, the characters inside it;
 * ligatures as letters. The caller frees. */
static char *same_words(const struct same_page *page, const GArray *boxes,
                        const struct same_box *box)
{
  GString *words = g_string_new(NULL);
  const char *p = page->text != NULL ? page->text : "";
  char *normal;
  guint i;

  for (i = 0; *p != '\0'; p = g_utf8_next_char(p), i++) {
    gunichar c = g_utf8_get_char(p);
    bool has_box = i < page->count;
    double x = has_box ? (page->boxes[i].x1 + page->boxes[i].x2) / 2 : 0;
    double y = has_box ? (page->boxes[i].y1 + page->boxes[i].y2) / 2 : 0;

    if (g_unichar_isspace(c)) {
      if (box == NULL && words->len > 0 && words->str[words->len - 1] != ' ')
        g_string_append_c(words, ' ');
    } else if (box != NULL ? has_box && same_inside(box, x, y)
                           : !has_box || !same_is_masked(boxes, x, y)) {
      g_string_append_unichar(words, c);
    }
  }
  if (words->len > 0 && words->str[words->len - 1] == ' ')
    g_string_truncate(words, words->len - 1);
  normal = g_utf8_normalize(words->str, -1, G_NORMALIZE_ALL_COMPOSE);
  if (normal == NULL)
    return g_string_free(words, FALSE);
  g_string_free(words, TRUE);
  return normal;
}

/* Where two texts begin to differ, a few words of each. */
static void same_differ(const char *a, const char *b, struct same_result *ret)
{
  size_t i = 0;

  while (a[i] != '\0' && a[i] == b[i])
    i++;
  while (i > 0 && a[i] != ' ')
    i--;
  (void)snprintf(ret->why, sizeof(ret->why), "at %zu: '%.80s' became '%.80s'",
                 i, a + i, b + i);
}

/* Are all characters of the value in the field? In any order: lines are
 * wrapped, and some scripts written from the right. */
static bool same_has_value(const struct same_page *after,
                           const struct same_box *box)
{
  char *inside = same_words(after, NULL, box);
  char *value = g_utf8_normalize(box->value, -1, G_NORMALIZE_ALL_COMPOSE);
  const char *p;
  bool has = true;

  for (p = value != NULL ? value : ""; has && *p != '\0';
       p = g_utf8_next_char(p)) {
    gunichar c = g_utf8_get_char(p);
    char utf8[8] = "", *at;

    if (!g_unichar_isgraph(c))
      continue;
    utf8[g_unichar_to_utf8(c, utf8)] = '\0';
    at = strstr(inside, utf8);
    has = at != NULL;
    if (has)
      memset(at, ' ', strlen(utf8));
  }
  g_free(value);
  g_free(inside);
  return has;
}

/* ---- pixels ---- */

static bool same_look(const struct same_page *before,
                      const struct same_page *after, const GArray *boxes,
                      struct same_result *ret)
{
  double side = fmax(fmax(before->width, before->height), 1);
  double scale = fmin(1, SAME_SIDE_MAX / side);
  int width = (int)ceil(before->width * scale);
  int height = (int)ceil(before->height * scale);
  cairo_surface_t *surfaces[2];
  const struct same_page *pages[2] = {before, after};
  const unsigned char *rows[2];
  int stride, x, y, i, worst = 0, at_x = 0, at_y = 0;
  double worst_block = 0;

  width = width > 0 ? width : 1;
  height = height > 0 ? height : 1;
  for (i = 0; i < 2; i++) {
    cairo_t *cairo;

    surfaces[i] = same_surface(width, height, scale, &cairo);
    poppler_page_render_for_printing(pages[i]->page, cairo);
    cairo_destroy(cairo);
    cairo_surface_flush(surfaces[i]);
    rows[i] = cairo_image_surface_get_data(surfaces[i]);
  }
  stride = cairo_image_surface_get_stride(surfaces[0]);
  for (y = 0; y < height; y += 8)
    for (x = 0; x < width; x += 8) {
      int sum = 0, dx, dy, c;

      for (dy = 0; dy < 8 && y + dy < height; dy++)
        for (dx = 0; dx < 8 && x + dx < width; dx++)
          for (c = 0; c < 3; c++) {
            size_t at = (size_t)(y + dy) * (size_t)stride +
                        (size_t)(x + dx) * 4 + (size_t)c;
            int difference = abs(rows[0][at] - rows[1][at]);

            if (difference == 0 || same_is_masked(boxes, (x + dx + 0.5) / scale,
                                                  (y + dy + 0.5) / scale))
              continue;
            sum += difference;
            if (difference > worst) {
              worst = difference;
              at_x = x + dx;
              at_y = y + dy;
            }
          }
      worst_block = fmax(worst_block, sum / (64.0 * 3));
    }
  cairo_surface_destroy(surfaces[0]);
  cairo_surface_destroy(surfaces[1]);
  (void)snprintf(ret->why, sizeof(ret->why),
                 "at %d,%d of %dx%d by %d, in a block by %.1f", at_x, at_y,
                 width, height, worst, worst_block);
  return worst <= SAME_PIXEL_MAX && worst_block <= SAME_BLOCK_MAX;
}

/* ---- all ---- */

static enum same same_one(const struct same_document *d, int number,
                          const struct same_page *before,
                          const struct same_page *after,
                          struct same_result *ret)
{
  GArray *boxes = same_boxes(d, number, before);
  char *words[2] = {NULL, NULL};
  enum same result = SAME;
  guint i;

  words[0] = same_words(before, boxes, NULL);
  words[1] = same_words(after, boxes, NULL);
  for (i = 0; boxes->len > 0 && i < 2; i++) {
    char *sorted = same_sorted(words[i]);

    g_free(words[i]);
    words[i] = sorted;
  }
  if (fabs(before->width - after->width) > 0.01 ||
      fabs(before->height - after->height) > 0.01) {
    (void)snprintf(ret->why, sizeof(ret->why), "%.2f x %.2f became %.2f x %.2f",
                   before->width, before->height, after->width, after->height);
    result = SAME_OTHER_PAGES;
  } else if (strcmp(words[0], words[1]) != 0) {
    same_differ(words[0], words[1], ret);
    result = SAME_OTHER_WORDS;
  }
  for (i = 0; i < boxes->len && result == SAME; i++) {
    const struct same_box *box = &g_array_index(boxes, struct same_box, i);

    if (box->value != NULL && !same_has_value(after, box)) {
      (void)snprintf(ret->why, sizeof(ret->why), "'%.80s' is not in its field",
                     box->value);
      result = SAME_NO_VALUE;
    }
  }
  if (result == SAME && !same_look(before, after, boxes, ret))
    result = SAME_OTHER_PIXELS;
  g_free(words[0]);
  g_free(words[1]);
  g_array_free(boxes, TRUE);
  return result;
}

enum same same_pages(struct same_bytes before, struct same_bytes after,
                     const int *pages, int count, int most,
                     struct same_result *ret_result)
{
  struct same_document read[2] = {{0}, {0}};
  PopplerDocument *documents[2];
  enum same result = SAME;
  int i;

  *ret_result = (struct same_result){0};
  same_read(&read[0], before);
  same_read(&read[1], after);
  documents[0] = same_open(&read[0], before);
  documents[1] = same_open(&read[1], after);
  if (documents[0] == NULL) {
    result = SAME_UNREADABLE;
  } else {
    if (pages == NULL)
      count = poppler_document_get_n_pages(documents[0]);
    if (documents[1] == NULL ||
        poppler_document_get_n_pages(documents[1]) != count) {
      (void)snprintf(
          ret_result->why, sizeof(ret_result->why), "%d pages became %d", count,
          documents[1] != NULL ? poppler_document_get_n_pages(documents[1])
                               : 0);
      result = SAME_OTHER_PAGES;
    }
  }
  for (i = 0; i < count && result == SAME; i++) {
    int number = pages != NULL ? pages[i] - 1 : i;
    struct same_page a = {0}, b = {0};

    if (most < count &&
        (int64_t)i * most / count == (int64_t)(i + 1) * most / count)
      continue;
    ret_result->page = i + 1;
    if (same_load(documents[0], number, &a))
      result = same_load(documents[1], i, &b)
                   ? same_one(&read[0], number, &a, &b, ret_result)
                   : SAME_OTHER_PAGES;
    same_unload(&a);
    same_unload(&b);
  }
  for (i = 0; i < 2; i++) {
    if (documents[i] != NULL)
      g_object_unref(documents[i]);
    same_release(&read[i]);
  }
  return result;
}

const char *same_word(enum same same)
{
  static const char *const words[] = {
      [SAME] = "same",
      [SAME_UNREADABLE] = "unreadable",
      [SAME_OTHER_PAGES] = "pages",
      [SAME_OTHER_WORDS] = "words",
      [SAME_OTHER_PIXELS] = "pixels",
      [SAME_NO_VALUE] = "value",
  };

  return words[same];
}
