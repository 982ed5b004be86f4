/*
 * text.c - lays out text in columns and rows, and draws it with cairo. The only
 * file that knows cairo, FreeType, fontconfig, and fribidi.
 *
 * A page is an array of items, one for each character, in logical order with
 * its row and column. What is drawn over the item before it (combining marks,
 * overstrikes) follows it, with the same place.
 */
#include "filter/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include <cairo-ft.h>
#include <cairo-pdf.h>
#include <fontconfig/fontconfig.h>
#include <fribidi.h>
#include FT_MULTIPLE_MASTERS_H

#define TEXT_GRID_MAX 1000 /* columns, and rows, of a page */
#define TEXT_LINE_MAX 4096 /* characters of a line, marks included */
#define TEXT_CACHE 4096    /* glyphs; a power of two */
#define TEXT_LRM 0x200E    /* invisible, with a direction */
#define TEXT_RLM 0x200F

struct text_fonts {
  int fds[TEXT_FONTS_MAX], faces[TEXT_FONTS_MAX]; /* and which of the file */
  size_t count;
  locale_t locale; /* for wcwidth(): UTF-8, whatever the environment says */
};

struct glyph {
  uint32_t ch;
  int font; /* -1: none has it */
  unsigned index;
  double advance, left, right, bottom, top; /* em */
};

struct item {
  uint32_t ch;
  int row, column, columns;
  bool over;
};

struct text {
  const struct text_fonts *fonts;
  const struct options *options; /* NULL: every page is chosen */
  struct text_done *done;
  enum dx_reason reason; /* the first one; nothing is added after it */
  FT_Library library;
  FT_Face faces[TEXT_FONTS_MAX];
  cairo_font_face_t *drawn[TEXT_FONTS_MAX];
  bool tried[TEXT_FONTS_MAX];
  struct glyph cache[TEXT_CACHE];
  cairo_surface_t *surface;
  cairo_t *cr;

  const unsigned char *bytes;
  size_t len, at;
  bool utf8;

  /* The grid: a column is pitch wide, a row line high. */
  double left, top, pitch, line, em_x, em_y;
  double advance;            /* of a letter of the first font, em */
  int columns, rows, align;  /* as in struct text_value; -1: by direction */
  struct item *items;        /* of the page so far */
  size_t count, room, begin; /* begin: of the current line */
  int row, column, page;
  bool ink, rtl; /* not only blanks; letters from right to left */

  /* What is drawn in one font and width. */
  cairo_glyph_t glyphs[TEXT_LINE_MAX];
  cairo_text_cluster_t clusters[TEXT_LINE_MAX];
  char utf8_text[10 * TEXT_LINE_MAX]; /* 4, and two marks of direction of 3 */
  int glyph_count, cluster_count, utf8_len, font;
  double font_em_x;

  /* The line that is drawn. */
  FriBidiChar forms[TEXT_LINE_MAX];
  FriBidiCharType types[TEXT_LINE_MAX];
  FriBidiJoiningType joins[TEXT_LINE_MAX];
  FriBidiLevel levels[TEXT_LINE_MAX];
};

/* ---- fonts ---- */

static void text_fonts_free(struct text_fonts **fonts)
{
  if (*fonts == NULL)
    return;
  while ((*fonts)->count > 0)
    (void)close((*fonts)->fds[--(*fonts)->count]);
  if ((*fonts)->locale != (locale_t)0)
    freelocale((*fonts)->locale);
  free(*fonts);
  *fonts = NULL;
}

static struct text_fonts *text_fonts_open(void)
{
  struct text_fonts *fonts = calloc(1, sizeof(*fonts));
  FcPattern *wanted =
      FcNameParse((const FcChar8 *)"DejaVu Sans Mono,monospace");
  FcFontSet *found = NULL;
  FcResult result;
  FcChar8 *path;
  int i, fd;

  if (wanted != NULL && fonts != NULL) {
    fonts->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    (void)FcConfigSubstitute(NULL, wanted, FcMatchPattern);
    FcDefaultSubstitute(wanted);
    found = FcFontSort(NULL, wanted, FcTrue, NULL, &result);
  }
  for (i = 0; found != NULL && i < found->nfont; i++) {
    FcPattern *font = found->fonts[i];

    if (fonts->count < TEXT_FONTS_MAX &&
        FcPatternGetString(font, FC_FILE, 0, &path) == FcResultMatch &&
        FcPatternGetInteger(font, FC_INDEX, 0, &fonts->faces[fonts->count]) ==
            FcResultMatch &&
        (fd = open((const char *)path, O_RDONLY | O_CLOEXEC)) >= 0)
      fonts->fds[fonts->count++] = fd;
  }
  if (found != NULL)
    FcFontSetDestroy(found);
  if (wanted != NULL)
    FcPatternDestroy(wanted);
  FcFini();
  if (fonts != NULL && (fonts->count == 0 || fonts->locale == (locale_t)0))
    text_fonts_free(&fonts);
  return fonts;
}

static size_t text_fonts_fds(const struct text_fonts *fonts,
                             const int **ret_fds)
{
  *ret_fds = fonts->fds;
  return fonts->count;
}

/* Maps a font when it is first needed; NULL if it is unusable: bitmaps and
 * colors cannot be embedded as text, other formats and variable fonts not with
 * every version of cairo. */
static FT_Face text_face(struct text *t, size_t i)
{
  struct stat st;
  FT_Face face;
  void *bytes;

  if (t->tried[i])
    return t->faces[i];
  t->tried[i] = true;
  if (fstat(t->fonts->fds[i], &st) != 0)
    return NULL;
  bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
               t->fonts->fds[i], 0);
  if (bytes == MAP_FAILED ||
      FT_New_Memory_Face(t->library, bytes, (FT_Long)st.st_size,
                         t->fonts->faces[i] & 0xFFFF, &face) != 0 ||
      !FT_IS_SFNT(face) || !FT_IS_SCALABLE(face) || FT_HAS_COLOR(face) ||
      FT_HAS_MULTIPLE_MASTERS(face) || face->units_per_EM == 0 ||
      FT_Select_Charmap(face, FT_ENCODING_UNICODE) != 0)
    return NULL;
  t->faces[i] = face;
  t->drawn[i] = cairo_ft_font_face_create_for_ft_face(
      face, FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP);
  return face;
}

/* The glyph of the first font that has one. */
static struct glyph text_glyph(struct text *t, uint32_t ch)
{
  struct glyph *g = &t->cache[ch & (TEXT_CACHE - 1)];
  FT_Face face = NULL;
  size_t i;

  if (g->ch == ch)
    return *g;
  *g = (struct glyph){.ch = ch, .font = -1};
  for (i = 0; i < t->fonts->count && g->index == 0; i++) {
    face = text_face(t, i);
    g->index = face != NULL ? FT_Get_Char_Index(face, ch) : 0;
  }
  if (g->index != 0 && FT_Load_Glyph(face, g->index, FT_LOAD_NO_SCALE) == 0) {
    const FT_Glyph_Metrics *m = &face->glyph->metrics;
    double em = (double)face->units_per_EM;

    g->font = (int)i - 1;
    g->advance = (double)m->horiAdvance / em;
    g->left = (double)m->horiBearingX / em;
    g->right = g->left + (double)m->width / em;
    g->top = (double)m->horiBearingY / em;
    g->bottom = g->top - (double)m->height / em;
  }
  return *g;
}

/* ---- drawing ---- */

static void text_flush(struct text *t)
{
  cairo_matrix_t matrix;

  if (t->glyph_count > 0) {
    cairo_matrix_init_scale(&matrix, t->font_em_x, t->em_y);
    cairo_set_font_face(t->cr, t->drawn[t->font]);
    cairo_set_font_matrix(t->cr, &matrix);
    cairo_show_text_glyphs(t->cr, t->utf8_text, t->utf8_len, t->glyphs,
                           t->glyph_count, t->clusters, t->cluster_count, 0);
  }
  t->glyph_count = t->cluster_count = t->utf8_len = 0;
}

/* Adds to the text of the last glyph. */
static void text_name(struct text *t, uint32_t ch)
{
  mbstate_t state = {0};
  char *to = t->utf8_text + t->utf8_len;
  int len = 1;

  if (ch < 0x80)
    *to = (char)ch;
  else
    len = (int)wcrtomb(to, (wchar_t)ch, &state);
  t->utf8_len += len;
  t->clusters[t->cluster_count - 1].num_bytes += len;
}

/*
 * Shows a letter and what is drawn over it, in their `forms`. The text is that
 * of the file, after `before` and followed by `after` (0: nothing), and belongs
 * to the first glyph: pdftotext sorts by place, and expects from left to right
 * what it turns around.
 */
static void text_show(struct text *t, const struct item *items, size_t count,
                      const FriBidiChar *forms, bool rtl, uint32_t before,
                      uint32_t after, double x, double y)
{
  double width = items->columns * t->pitch, em_x = t->em_x;
  double bottom = 0, top = 0; /* of the letter and its marks, em */
  size_t i, k;

  for (i = 0; i < count; i++) {
    struct glyph g = text_glyph(t, forms[i]);
    uint32_t ch = items[i].ch;
    double from, shift = 0;

    if (g.font < 0)
      g = text_glyph(t, ch);
    if (g.font < 0 && (fribidi_get_bidi_type(ch) == FRIBIDI_TYPE_BN ||
                       (ch >= 0xFE00 && ch <= 0xFE0F) || ch >> 12 == 0xE0))
      g = text_glyph(t, ' '); /* joiners, variation selectors: invisible */
    if (g.font < 0) {
      t->reason = DX_REASON_CHARACTERS;
      (void)snprintf(t->done->missing, sizeof(t->done->missing), "U+%04X",
                     (unsigned)ch);
      return;
    }
    if (i > 0 && wcwidth((wchar_t)ch) == 0) {
      from = (width - (g.left + g.right) * em_x) / 2;
      if (g.bottom > 0.4)
        top = g.top + (shift = fmax(0, top + 0.04 - g.bottom));
      else if (g.top < 0.1)
        bottom = g.bottom + (shift = fmin(0, bottom - 0.04 - g.top));
    } else {
      /* As wide as its columns, and a little more, because widths in a PDF are
       * rounded: pdftotext may take the smallest gap for a blank. */
      em_x = t->em_x;
      if (g.font > 0 && g.advance > 0)
        em_x *= t->advance * items->columns / g.advance * 1.003;
      from = (width - g.advance * em_x) / 2;
      bottom = fmin(bottom, g.bottom);
      top = fmax(top, g.top);
    }
    if (t->font != g.font || t->font_em_x != em_x) {
      text_flush(t);
      t->font = g.font;
      t->font_em_x = em_x;
    }
    if (i == 0 || t->cluster_count == 0)
      t->clusters[t->cluster_count++] = (cairo_text_cluster_t){0, 0};
    if (i == 0 && before != 0)
      text_name(t, before);
    for (k = 0; i == 0 && k < count; k++)
      text_name(t, items[rtl ? count - 1 - k : k].ch);
    if (i == 0 && after != 0)
      text_name(t, after);
    t->clusters[t->cluster_count - 1].num_glyphs++;
    t->glyphs[t->glyph_count++] =
        (cairo_glyph_t){g.index, x + from, y - shift * t->em_y};
  }
}

static bool text_is_rtl(FriBidiCharType type)
{
  return FRIBIDI_IS_STRONG(type) && FRIBIDI_IS_RTL(type);
}

/*
 * Sets the levels, of which the odd ones run from right to left, and the forms.
 * Numbers and what belongs to them ("%", ",") run from left to right, because
 * pdftotext reads them so. A line of one direction runs in it. Returns whether
 * the line has letters from right to left.
 */
static bool text_analyze(struct text *t, const struct item *items, size_t count,
                         bool rtl)
{
  FriBidiParType base = rtl ? FRIBIDI_PAR_RTL : FRIBIDI_PAR_LTR;
  FriBidiStrIndex len = (FriBidiStrIndex)count;
  bool right = false, left = false;
  size_t i;

  for (i = 0; i < count; i++)
    t->forms[i] = items[i].ch;
  memset(t->levels, 0, count * sizeof(*t->levels));
  if (!t->rtl)
    return false;
  fribidi_get_bidi_types(t->forms, len, t->types);
  for (i = 0; i < count; i++) {
    if (FRIBIDI_IS_NUMBER(t->types[i]) ||
        FRIBIDI_IS_NUMBER_SEPARATOR_OR_TERMINATOR(t->types[i]))
      t->types[i] = FRIBIDI_TYPE_LTR;
    right |= text_is_rtl(t->types[i]);
    left |= t->types[i] == FRIBIDI_TYPE_LTR;
  }
  if (!right)
    return false;
  if (!left)
    memset(t->levels, 1, count * sizeof(*t->levels));
  else if (fribidi_get_par_embedding_levels_ex(t->types, NULL, len, &base,
                                               t->levels) == 0)
    t->reason = DX_REASON_TROUBLE;
  fribidi_get_joining_types(t->forms, len, t->joins);
  fribidi_join_arabic(t->types, len, t->levels, t->joins);
  fribidi_shape(FRIBIDI_FLAG_SHAPE_MIRRORING | FRIBIDI_FLAG_SHAPE_ARAB_PRES,
                t->levels, len, t->joins, t->forms);
  return true;
}

/*
 * Between two directions pdftotext gives punctuation and the like to the one
 * that it prefers. So the first and the last of each part in one direction get
 * an invisible mark, unless they are letters or numbers.
 */
static void text_draw_line(struct text *t, const struct item *items,
                           size_t count, bool rtl)
{
  int end = items[count - 1].column + items[count - 1].columns;
  int align = t->align >= 0 ? t->align : rtl ? 2 : 0;
  double left = t->left + (t->columns - end) * t->pitch * align / 2;
  double y = t->top + (items->row + 0.5) * t->line + 0.35 * t->em_y;
  bool marks = text_analyze(t, items, count, rtl) || rtl;
  size_t i, j, n, first, last;

  for (i = 0; i < count && t->reason == DX_REASON_NONE;) {
    uint32_t mark = t->levels[i] % 2 != 0 ? TEXT_RLM : TEXT_LRM;
    bool odd = mark == TEXT_RLM;
    int from = items[i].column, to;

    first = last = count;
    for (j = i; j < count && (items[j].over || t->levels[j] % 2 == odd); j++)
      if (items[j].ch != ' ' && !items[j].over) {
        first = first == count ? j : first;
        last = j;
      }
    to = items[j - 1].column + items[j - 1].columns;
    for (; i < j && t->reason == DX_REASON_NONE; i += n) {
      int at = items[i].column, mirrored = at + items[i].columns;
      bool neutral = marks && !FRIBIDI_IS_STRONG(t->types[i]), hyphen;

      for (n = 1; i + n < j && items[i + n].over;)
        n++;
      if (rtl)
        at = odd ? end - mirrored : end - to + at - from;
      else if (odd)
        at = from + to - mirrored;
      /* Else pdftotext joins two lines, and drops the hyphen between them. */
      hyphen = items[i].ch == '-' &&
               (i + n == j || items[i + n].column > mirrored ||
                (items[i + n].ch == ' ' &&
                 (i + n + 1 == j || items[i + n + 1].ch == ' ')));
      text_show(t, items + i, n, t->forms + i, odd,
                neutral && i == (odd ? last : first) ? mark : 0,
                hyphen                                 ? ' '
                : neutral && i == (odd ? first : last) ? mark
                                                       : 0,
                left + at * t->pitch, y);
    }
  }
  text_flush(t);
}

/* Draws the first `count` items, and goes on with those after them. */
static void text_end_page(struct text *t, size_t count)
{
  long balance = 0; /* of directions */
  size_t i, j;

  if (t->page++ == TEXT_PAGES_MAX)
    t->reason = DX_REASON_TOO_COMPLEX;
  if (t->reason == DX_REASON_NONE &&
      (t->options == NULL || options_choose(t->options, t->page))) {
    for (i = 0; t->rtl && i < count; i++) {
      FriBidiCharType type = fribidi_get_bidi_type(t->items[i].ch);

      if (FRIBIDI_IS_STRONG(type))
        balance += text_is_rtl(type) ? 1 : -1;
    }
    for (i = 0; i < count && t->reason == DX_REASON_NONE; i = j) {
      for (j = i; j < count && t->items[j].row == t->items[i].row; j++)
        ;
      text_draw_line(t, t->items + i, j - i, balance > 0);
    }
    cairo_show_page(t->cr);
    if (t->reason == DX_REASON_NONE &&
        cairo_status(t->cr) != CAIRO_STATUS_SUCCESS)
      t->reason = DX_REASON_TROUBLE;
    t->done->pages += t->reason == DX_REASON_NONE;
  }
  t->count -= count;
  if (t->count > 0)
    memmove(t->items, t->items + count, t->count * sizeof(*t->items));
  t->begin = 0;
}

/* ---- layout ---- */

/* The word that ends the line moves to the next one, unless it fills the line:
 * then it is divided. */
static void text_wrap(struct text *t)
{
  size_t at = t->count;
  int from = t->column;

  while (at > t->begin && t->items[at - 1].ch != ' ' &&
         t->items[at - 1].column + t->items[at - 1].columns >= from)
    from = t->items[--at].column;
  if (at == t->begin) {
    at = t->count;
    from = t->column;
  }
  t->begin = at;
  t->column -= from;
  if (++t->row >= t->rows) {
    text_end_page(t, at);
    t->row = 0;
  }
  for (at = t->begin; at < t->count; at++) {
    t->items[at].column -= from;
    t->items[at].row = t->row;
  }
}

/* Adds a printable character at the current column. */
static void text_add(struct text *t, uint32_t ch)
{
  int columns = ch < 0x7F ? 1 : wcwidth((wchar_t)ch);
  struct item item = {ch, t->row, t->column, columns < 0 ? 1 : columns, false};
  size_t at;

  for (; t->row >= t->rows && t->reason == DX_REASON_NONE; t->row -= t->rows)
    text_end_page(t, t->count);
  if (t->column + item.columns > t->columns) {
    if (ch == ' ') {
      t->column = t->columns + 1; /* no word ends here */
      return;
    }
    text_wrap(t);
  }
  if (t->count == t->room) {
    size_t room = t->room * 2 + 1024;
    struct item *items = realloc(t->items, room * sizeof(*items));

    if (items != NULL) {
      t->items = items;
      t->room = room;
    }
  }
  if (t->count == t->room)
    t->reason = DX_REASON_TROUBLE;
  if (t->count - t->begin == TEXT_LINE_MAX)
    t->reason = DX_REASON_TOO_COMPLEX;
  if (t->reason != DX_REASON_NONE)
    return;

  /* The item in this column; a mark belongs to the one before. */
  for (at = t->count; at > t->begin && t->items[at - 1].column >= t->column;)
    at--;
  if (columns == 0 && at > t->begin) {
    while (t->items[--at].over)
      ;
    item.over = true;
  } else if (at < t->count && t->items[at].column == t->column) {
    uint32_t old = t->items[at].ch;

    t->column += t->items[at].columns;
    if (old == ' ' || (old == '_' && ch != ' '))
      t->items[at].ch = ch;
    if (old == ' ' || old == '_' || ch == ' ' || ch == '_' || old == ch)
      return;
    item.over = true;
  } else {
    item.row = t->row;
    item.column = t->column;
    item.columns += columns == 0;
    t->column += item.columns;
  }
  if (item.over) {
    item = t->items[at];
    item.ch = ch;
    item.over = true;
    while (at < t->count && t->items[at].column == item.column)
      at++;
  }
  memmove(t->items + at + 1, t->items + at,
          (t->count++ - at) * sizeof(*t->items));
  t->items[at] = item;
  t->ink = t->ink || ch != ' ';
  t->rtl = t->rtl || (ch >= 0x590 && text_is_rtl(fribidi_get_bidi_type(ch)));
}

/* ---- reading ---- */

/* The length of the character at the beginning, in UTF-8; 0 if there is none.
 */
static size_t text_decode(const unsigned char *bytes, size_t left,
                          uint32_t *ret)
{
  mbstate_t state = {0};
  wchar_t ch = bytes[0];
  size_t len = 1;

  if (ch >= 0x80)
    len = mbrtowc(&ch, (const char *)bytes, left, &state);
  *ret = (uint32_t)ch;
  return len > 4 || *ret > 0x10FFFF || *ret >> 11 == 0x1B ? 0 : len;
}

static void text_source(struct text *t, const unsigned char *bytes, size_t len)
{
  size_t at, n = 1;
  uint32_t ch;

  for (at = 0; at < len && n > 0; at += n)
    n = text_decode(bytes + at, len - at, &ch);
  t->bytes = bytes;
  t->len = len;
  t->utf8 = n > 0;
}

/* The next character that is not dropped, white space as ' ', the end of a line
 * as '\n'; false at the end. */
static bool text_next(struct text *t, uint32_t *ret)
{
  static const uint16_t windows[] = {
      0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
      0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
      0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};
  uint32_t ch;

  while (t->at < t->len) {
    if (t->utf8)
      t->at += text_decode(t->bytes + t->at, t->len - t->at, &ch);
    else if ((ch = t->bytes[t->at++]) >= 0x80 && ch < 0xA0)
      ch = windows[ch - 0x80];
    if (ch == '\r' && t->at < t->len && t->bytes[t->at] == '\n')
      continue;
    *ret = ch;
    if (ch == '\r' || ch == '\v' || ch == 0x85 || ch == 0x2028 || ch == 0x2029)
      *ret = '\n';
    else if (ch < 0xA0 ? (ch < ' ' && (ch < '\b' || ch > '\f')) || ch >= 0x7F
                       : ch == 0x61C || ch == 0x200E || ch == 0x200F ||
                             (ch >= 0x202A && ch <= 0x202E) ||
                             (ch >= 0x2066 && ch <= 0x2069) || ch == 0xFEFF)
      continue;
    else if (ch == 0xA0 || ch == 0x202F ||
             (ch >= 0x1680 && fribidi_get_bidi_type(ch) == FRIBIDI_TYPE_WS))
      *ret = ' ';
    return true;
  }
  return false;
}

/* Lays out everything; a value on one line has no ends of lines. */
static void text_feed(struct text *t, bool lines)
{
  uint32_t ch;

  t->at = t->count = t->begin = 0;
  t->row = t->column = t->page = 0;
  while (t->reason == DX_REASON_NONE && text_next(t, &ch)) {
    if (!lines && ch < ' ')
      ch = ' ';
    if (ch == '\f') {
      text_end_page(t, t->count);
      t->row = t->column = 0;
    } else if (ch == '\n') {
      t->row++;
      t->column = 0;
      t->begin = t->count;
    } else if (ch == '\t') {
      t->column += 8 - t->column % 8;
      if (t->column > t->columns)
        t->column = t->columns + 1;
    } else if (ch == '\b') {
      t->column -= t->column > 0;
    } else {
      text_add(t, ch);
    }
  }
}

/* ---- documents ---- */

static cairo_status_t text_write(void *ctx, const unsigned char *bytes,
                                 unsigned len)
{
  ssize_t n;

  for (; len > 0; len -= (unsigned)n, bytes += n) {
    n = write(*(int *)ctx, bytes, len);
    if (n < 0 && errno == EINTR)
      n = 0;
    else if (n <= 0)
      return CAIRO_STATUS_WRITE_ERROR;
  }
  return CAIRO_STATUS_SUCCESS;
}

/* NULL if out of memory. */
static struct text *text_begin(const struct text_fonts *fonts, int *fd,
                               struct text_done *done)
{
  struct text *t = calloc(1, sizeof(*t));

  *done = (struct text_done){0};
  if (t == NULL || FT_Init_FreeType(&t->library) != 0) {
    free(t);
    return NULL;
  }
  (void)uselocale(fonts->locale);
  t->fonts = fonts;
  t->done = done;
  t->advance = fmax(0.1, text_glyph(t, 'x').advance);
  t->surface = cairo_pdf_surface_create_for_stream(text_write, fd, 612, 792);
  cairo_pdf_surface_set_metadata(t->surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                 ""); /* the same bytes every time */
  t->cr = cairo_create(t->surface);
  return t;
}

/* The fonts stay: cairo keeps them for later, and the process ends soon. */
static enum dx_reason text_end(struct text *t)
{
  enum dx_reason reason = t->reason;

  cairo_surface_finish(t->surface);
  if (reason == DX_REASON_NONE &&
      cairo_surface_status(t->surface) != CAIRO_STATUS_SUCCESS)
    reason = DX_REASON_TROUBLE;
  cairo_destroy(t->cr);
  cairo_surface_destroy(t->surface);
  free(t->items);
  free(t);
  return reason;
}

static enum dx_reason text_to_pdf(const unsigned char *bytes, size_t len,
                                  const struct options *options,
                                  const struct text_fonts *fonts, int out_fd,
                                  struct text_done *ret_done)
{
  const struct options_text *o = &options->text;
  double width = o->width - o->left - o->right;
  double height = o->height - o->top - o->bottom;
  struct text *t = text_begin(fonts, &out_fd, ret_done);

  if (t == NULL)
    return DX_REASON_TROUBLE;
  cairo_pdf_surface_set_size(t->surface, o->width, o->height);
  t->options = options;
  t->align = -1;
  t->left = o->left;
  t->top = o->top;
  t->pitch = 72 / o->cpi;
  t->line = 72 / o->lpi;
  t->em_x = t->pitch / t->advance;
  t->em_y = fmin(t->em_x, t->line);
  t->columns = (int)fmin(TEXT_GRID_MAX, width / t->pitch + 0.001);
  t->rows = (int)fmin(TEXT_GRID_MAX, height / t->line + 0.001);
  text_source(t, bytes, len);
  text_feed(t, true);
  if (t->reason == DX_REASON_NONE && t->count > 0)
    text_end_page(t, t->count);
  if (t->reason == DX_REASON_NONE && ret_done->pages == 0)
    t->reason = DX_REASON_NO_PAGES;
  if (t->reason == DX_REASON_NONE || t->reason == DX_REASON_NO_PAGES)
    t->reason = t->ink ? t->reason : DX_REASON_EMPTY;
  return text_end(t);
}

/* ---- values ---- */

/* One line becomes as large as the font and the box allow; several become
 * smaller until they fit. */
static void text_draw_value(struct text *t, const struct text_value *v)
{
  double width = fmax(1, fmin(v->width, 14400));
  double height = fmax(1, fmin(v->height, 14400));
  double edge = fmin(2, fmin(width, height) / 10), size, ratio;
  int rows, widest = 1;
  size_t i;

  cairo_pdf_surface_set_size(t->surface, width, height);
  cairo_set_source_rgb(t->cr, v->rgb[0], v->rgb[1], v->rgb[2]);
  width -= 2 * edge;
  height -= 2 * edge;
  size = fmin(v->size > 0 ? v->size : v->multiline ? 12 : 14400, height / 1.2);
  text_source(t, (const unsigned char *)v->utf8, strlen(v->utf8));
  while (t->reason == DX_REASON_NONE && size >= 0.1) { /* readable */
    t->pitch = size * t->advance;
    t->rows = INT_MAX;
    t->columns = v->multiline ? (int)fmax(1, width / t->pitch) : INT_MAX / 2;
    text_feed(t, v->multiline);
    for (i = 0, widest = v->comb; i < t->count; i++)
      if (t->items[i].column + t->items[i].columns > widest)
        widest = t->items[i].column + t->items[i].columns;
    rows = t->count > 0 ? t->items[t->count - 1].row + 1 : 1;
    ratio = v->multiline ? sqrt(height / (rows * 1.2 * size))
                         : width / (fmax(1, widest) * t->pitch);
    size *= v->multiline ? 1 : fmin(1, ratio);
    if (ratio >= 1 || !v->multiline)
      break;
    size *= 0.95 * ratio;
  }
  t->columns = v->multiline ? t->columns : widest;
  t->em_x = t->em_y = size;
  t->pitch = v->comb > 0 ? width / widest : size * t->advance;
  t->line = 1.2 * size;
  t->align = v->align;
  t->left = edge + (width - t->columns * t->pitch) * v->align / 2;
  t->top = edge + (v->multiline ? 0 : (height - t->line) / 2);
  if (size < 0.1)
    t->reason = DX_REASON_TOO_COMPLEX;
  text_end_page(t, t->count);
}

static enum dx_reason text_values_to_pdf(const struct text_value *values,
                                         size_t count,
                                         const struct text_fonts *fonts,
                                         int out_fd, struct text_done *ret_done)
{
  struct text *t = text_begin(fonts, &out_fd, ret_done);
  size_t i;

  if (t == NULL)
    return DX_REASON_TROUBLE;
  for (i = 0; i < count && t->reason == DX_REASON_NONE; i++)
    text_draw_value(t, &values[i]);
  return text_end(t);
}

const struct text_module docextract_text = {text_fonts_open, text_fonts_free,
                                            text_fonts_fds, text_to_pdf,
                                            text_values_to_pdf};
