/*
 * text.c - lays out text in columns and rows, and draws it with cairo. The only
 * file that uses cairo, FreeType, fontconfig, and fribidi.
 *
 * A page is an array of items, one for each character, in logical order with
 * its row and column. What is drawn over an item (combining marks, overstrikes)
 * follows it, with the same place.
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

#include "filter/reading.h"

#define TEXT_FONTS_MAX 32
#define TEXT_GRID_MAX 1000 /* columns, and rows, of a page */
#define TEXT_LINE_MAX 4096 /* characters of a line, marks included */
#define TEXT_OUT_BYTES 65536
#define TEXT_PAGE_MAX (TEXT_GRID_MAX * TEXT_GRID_MAX) /* of a page */
#define TEXT_CACHE 4096 /* glyphs; a power of two */
#define TEXT_NBSP 0xA0
#define TEXT_CJK 0x2E80 /* lines may end before these characters */
#define TEXT_WIDE_SPACE 0x3000
#define TEXT_LRM 0x200E /* invisible, with a direction */
#define TEXT_RLM 0x200F

/* The fonts of this computer, for as long as the process runs. */
static struct text_font {
  void *bytes; /* mapped */
  size_t len;
  int index; /* of the face in the file */
  bool tried;
  FT_Face face; /* NULL: not needed yet, or unusable */
  cairo_font_face_t *drawn;
} text_fonts[TEXT_FONTS_MAX];
static int text_font_count;
static FT_Library text_library;

struct glyph {
  uint32_t ch;
  int font; /* -1: none has it */
  unsigned index;
  double advance, left, right, bottom, top; /* em */
};

struct item {
  uint32_t ch;
  int row, column, columns;
  bool underlined;
};

struct text {
  const struct options *options; /* NULL: every page is chosen */
  struct pdf_done *done;
  enum dx_reason reason; /* nothing is added after one */
  cairo_surface_t *surface;
  cairo_t *cr;

  wchar_t *chars;
  size_t len;
  bool ink; /* not only blanks */

  /* The grid: a column is pitch wide, a row line high. */
  double left, top, width, pitch, line, em_x, em_y;
  double advance;           /* of a letter of the first font, em */
  int columns, rows, align; /* as in struct text_value; -1: by direction */
  struct item items[TEXT_PAGE_MAX]; /* of the page so far */
  int count, begin;                 /* begin: of the current line */
  int row, column, page;
  size_t kept;  /* up to this character, no line has to end */
  size_t lines; /* of the file, the current one included */

  /* What is drawn in one font and width. */
  cairo_glyph_t glyphs[TEXT_LINE_MAX];
  cairo_text_cluster_t clusters[TEXT_LINE_MAX];
  char utf8_text[10 * TEXT_LINE_MAX + 1]; /* 4, and two marks of 3 */
  int glyph_count, cluster_count, utf8_len, font;
  double font_em_x;

  /* The line that is drawn. */
  FriBidiChar forms[TEXT_LINE_MAX], name[TEXT_LINE_MAX + 3];
  FriBidiCharType types[TEXT_LINE_MAX];
  FriBidiJoiningType joins[TEXT_LINE_MAX];
  FriBidiLevel levels[TEXT_LINE_MAX];

  /* The PDF, which cairo writes in small pieces. */
  int fd;
  size_t out_len;
  unsigned char out[TEXT_OUT_BYTES];
};

/* ---- fonts ---- */

/* wcwidth() needs UTF-8, whatever the locale is. */
static bool text_open_fonts(void)
{
  FcPattern *wanted =
      FcNameParse((const FcChar8 *)"DejaVu Sans Mono,monospace");
  FcFontSet *found = NULL;
  FcResult result;
  FcChar8 *path;
  struct stat st;
  int i, fd;

  if (wanted != NULL) {
    (void)FcConfigSubstitute(NULL, wanted, FcMatchPattern);
    FcDefaultSubstitute(wanted);
    found = FcFontSort(NULL, wanted, FcTrue, NULL, &result);
    FcPatternDestroy(wanted);
  }
  for (i = 0; found != NULL && i < found->nfont; i++) {
    struct text_font *font = &text_fonts[text_font_count];
    FcPattern *pattern = found->fonts[i];

    if (text_font_count < TEXT_FONTS_MAX &&
        FcPatternGetString(pattern, FC_FILE, 0, &path) == FcResultMatch &&
        FcPatternGetInteger(pattern, FC_INDEX, 0, &font->index) ==
            FcResultMatch &&
        (fd = open((const char *)path, O_RDONLY | O_CLOEXEC)) >= 0) {
      font->len = fstat(fd, &st) == 0 ? (size_t)st.st_size : 0;
      font->bytes = mmap(NULL, font->len, PROT_READ, MAP_PRIVATE, fd, 0);
      text_font_count += font->bytes != MAP_FAILED;
      (void)close(fd);
    }
  }
  if (found != NULL)
    FcFontSetDestroy(found);
  FcFini();
  return text_font_count > 0 && setlocale(LC_CTYPE, "C.UTF-8") != NULL &&
         FT_Init_FreeType(&text_library) == 0 && reading_open(DX_TEXT_AUTO);
}

/* Opens a font when it is first needed; NULL if it is unusable: bitmap and
 * color fonts cannot be embedded as text; other formats and variable fonts can
 * only with some versions of cairo. */
static FT_Face text_face(struct text_font *font)
{
  FT_Face face;

  if (font->tried)
    return font->face;
  font->tried = true;
  if (FT_New_Memory_Face(text_library, font->bytes, (FT_Long)font->len,
                         font->index & 0xFFFF, &face) != 0 ||
      !FT_IS_SFNT(face) || !FT_IS_SCALABLE(face) || FT_HAS_COLOR(face) ||
      FT_HAS_MULTIPLE_MASTERS(face) || face->units_per_EM == 0 ||
      FT_Select_Charmap(face, FT_ENCODING_UNICODE) != 0)
    return NULL;
  font->drawn = cairo_ft_font_face_create_for_ft_face(
      face, FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP);
  font->face = face;
  return face;
}

/* The glyph of the first font that has one. */
static struct glyph text_glyph(uint32_t ch)
{
  static struct glyph cache[TEXT_CACHE];
  struct glyph *g = &cache[ch & (TEXT_CACHE - 1)];
  FT_Face face = NULL;
  int i;

  if (g->ch == ch)
    return *g;
  *g = (struct glyph){.ch = ch, .font = -1};
  for (i = 0; i < text_font_count && g->index == 0; i++) {
    face = text_face(&text_fonts[i]);
    g->index = face != NULL ? FT_Get_Char_Index(face, ch) : 0;
  }
  if (g->index != 0 && FT_Load_Glyph(face, g->index, FT_LOAD_NO_SCALE) == 0) {
    const FT_Glyph_Metrics *m = &face->glyph->metrics;
    double em = (double)face->units_per_EM;

    g->font = i - 1;
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
    cairo_set_font_face(t->cr, text_fonts[t->font].drawn);
    cairo_set_font_matrix(t->cr, &matrix);
    cairo_show_text_glyphs(t->cr, t->utf8_text, t->utf8_len, t->glyphs,
                           t->glyph_count, t->clusters, t->cluster_count, 0);
  }
  t->glyph_count = t->cluster_count = t->utf8_len = 0;
}

/* Draws a letter and what is drawn over it, in their `forms`. The text to read
 * back is `name`, which belongs to the first glyph. */
static void text_show(struct text *t, const struct item *items, int count,
                      const FriBidiChar *forms, const FriBidiChar *name,
                      int name_len, double x, double y)
{
  double width = items->columns * t->pitch, em_x = t->em_x;
  double bottom = 0, top = 0; /* of the letter and its marks, em */
  bool is_rtl = t->levels[forms - t->forms] % 2 != 0;
  int i;

  for (i = 0; i < count; i++) {
    struct glyph g = text_glyph(forms[i]);
    uint32_t ch = items[i].ch;
    double from, shift = 0;

    if (g.font < 0)
      g = text_glyph(ch);
    if (g.font < 0 && (fribidi_get_bidi_type(ch) == FRIBIDI_TYPE_BN ||
                       (ch >= 0xFE00 && ch <= 0xFE0F) || ch >> 12 == 0xE0))
      g = text_glyph(' '); /* joiners, variation selectors: invisible */
    if (g.font < 0) {
      t->reason = DX_REASON_CHARACTERS;
      if (t->done->why[0] == '\0')
        (void)snprintf(t->done->why, sizeof(t->done->why),
                       "no font has the character U+%04X", (unsigned)ch);
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
       * rounded: pdftotext may read the smallest gap as a blank. It does not
       * between letters of one font that run from left to right. */
      em_x = t->em_x;
      if (g.advance > 0 && (g.font > 0 || is_rtl))
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
    if (i == 0 || t->cluster_count == 0) {
      int len = i > 0 ? 0
                      : fribidi_unicode_to_charset(FRIBIDI_CHAR_SET_UTF8, name,
                                                   name_len,
                                                   t->utf8_text + t->utf8_len);

      t->clusters[t->cluster_count++] = (cairo_text_cluster_t){len, 0};
      t->utf8_len += len;
    }
    t->clusters[t->cluster_count - 1].num_glyphs++;
    t->glyphs[t->glyph_count++] =
        (cairo_glyph_t){g.index, x + from, y - shift * t->em_y};
  }
}

static void text_underline(struct text *t, double x, double y, double width)
{
  cairo_rectangle(t->cr, x, y + 0.12 * t->em_y, width, 0.06 * t->em_y);
  cairo_fill(t->cr);
}

/*
 * Sets the levels, of which the odd ones run from right to left, and the forms.
 * Numbers and their punctuation ("%", ",") run from left to right, because
 * pdftotext reads them so. A line with one direction has that direction.
 * Returns whether the line has letters from right to left.
 */
static bool text_analyze(struct text *t, const struct item *items, int count,
                         bool rtl)
{
  FriBidiParType base;
  bool right = false, left = false;
  int i;

  for (i = 0; i < count; i++)
    t->forms[i] = items[i].ch;
  fribidi_get_bidi_types(t->forms, count, t->types);
  for (i = 0; i < count; i++) {
    if (FRIBIDI_IS_NUMBER(t->types[i]) ||
        FRIBIDI_IS_NUMBER_SEPARATOR_OR_TERMINATOR(t->types[i]))
      t->types[i] = FRIBIDI_TYPE_LTR;
    right |= FRIBIDI_IS_RTL(t->types[i]);
    left |= t->types[i] == FRIBIDI_TYPE_LTR;
  }
  memset(t->levels, 0, (size_t)count * sizeof(*t->levels));
  if (!right)
    return false;
  base = left && !rtl ? FRIBIDI_PAR_LTR : FRIBIDI_PAR_RTL;
  if (fribidi_get_par_embedding_levels_ex(t->types, NULL, count, &base,
                                          t->levels) == 0)
    t->reason = DX_REASON_TROUBLE;
  fribidi_get_joining_types(t->forms, count, t->joins);
  fribidi_join_arabic(t->types, count, t->levels, t->joins);
  fribidi_shape(FRIBIDI_FLAG_SHAPE_MIRRORING | FRIBIDI_FLAG_SHAPE_ARAB_PRES,
                t->levels, count, t->joins, t->forms);
  return true;
}

/*
 * Between parts of two directions, pdftotext assigns punctuation to the
 * direction that it prefers. Therefore invisible marks are added where a word
 * or a part in one direction begins or ends. The letters of a part are read
 * back from left to right: pdftotext reverses them.
 */
static void text_draw_line(struct text *t, const struct item *items, int count,
                           bool rtl)
{
  int end = items[count - 1].column + items[count - 1].columns;
  int align = t->align >= 0 ? t->align : rtl ? 2 : 0;
  double left = t->left + (t->width - end * t->pitch) * align / 2;
  double y = t->top + (items->row + 0.5) * t->line + 0.35 * t->em_y;
  bool marks = text_analyze(t, items, count, rtl) || rtl;
  int i, j, k, n;

  for (i = 0; i < count; i = j) {
    bool odd = t->levels[i] % 2 != 0;
    int begin = i, to;

    for (j = i + 1; j < count && (t->levels[j] % 2 == odd ||
                                  items[j].column == items[j - 1].column);)
      j++;
    to = items[j - 1].column + items[j - 1].columns;
    for (; i < j; i += n) {
      int columns = items[i].columns, at = items[i].column, len = 0;
      bool last,
          mark = marks && items[i].ch != ' ' && !FRIBIDI_IS_STRONG(t->types[i]);

      for (n = 1; i + n < j && items[i + n].column == at;)
        n++;
      last = i + n == j || items[i + n].ch == ' ';
      mark = mark && (last || i == begin || items[i - 1].ch == ' ');
      if (mark)
        t->name[len++] = odd ? TEXT_RLM : TEXT_LRM;
      for (k = 0; k < n; k++)
        t->name[len++] = items[odd ? i + n - 1 - k : i + k].ch;
      if (mark)
        t->name[len++] = odd ? TEXT_RLM : TEXT_LRM;
      /* Else pdftotext joins two lines, and drops the hyphen between them. */
      if (items[i].ch == '-' && last &&
          (i + n + 1 >= j || items[i + n + 1].ch == ' '))
        t->name[len++] = ' ';
      if (odd != rtl) /* this part is reversed, then the line */
        at = items[begin].column + to - at - columns;
      if (rtl)
        at = end - at - columns;
      if (items[i].underlined)
        text_underline(t, left + at * t->pitch, y, columns * t->pitch);
      text_show(t, items + i, n, t->forms + i, t->name, len,
                left + at * t->pitch, y);
    }
  }
  text_flush(t);
}

static void text_end_page(struct text *t)
{
  int balance = 0; /* of directions */
  int i, j;

  t->row -= t->rows;
  if (t->page++ == TEXT_PAGES_MAX)
    t->reason = DX_REASON_TOO_COMPLEX;
  if (t->reason == DX_REASON_NONE &&
      (t->options == NULL || options_choose(t->options, t->page))) {
    for (i = 0; i < t->count; i++) {
      FriBidiCharType type = fribidi_get_bidi_type(t->items[i].ch);

      if (FRIBIDI_IS_STRONG(type))
        balance += FRIBIDI_IS_RTL(type) ? 1 : -1;
    }
    for (i = 0; i < t->count; i = j) {
      for (j = i; j < t->count && t->items[j].row == t->items[i].row; j++)
        ;
      text_draw_line(t, t->items + i, j - i, balance > 0);
    }
    cairo_show_page(t->cr);
    t->done->pages += t->reason == DX_REASON_NONE;
  }
  t->count = t->begin = 0;
}

/* ---- layout ---- */

static int text_columns(wchar_t ch)
{
  int columns = ch < 0x7F ? 1 : wcwidth(ch);

  return columns < 0 ? 1 : columns;
}

static void text_end_line(struct text *t)
{
  t->row++;
  t->column = 0;
  t->begin = t->count;
}

/* The column that follows the items of the line before `at`. */
static int text_end_of(const struct text *t, int at)
{
  return at > t->begin ? t->items[at - 1].column + t->items[at - 1].columns : 0;
}

/* An underscore, or a blank, over which something is printed. */
static bool text_is_under(const struct text *t, int at)
{
  return t->items[at].ch == '_' || t->items[at].ch == ' ';
}

/* Prints a character over the one at the current column, of which items[at] is
 * the first item, or items[at - 1] one that is wider. Both can be read if they
 * are the same, or one is an underscore; or a blank that was there before. What
 * is underlined keeps its line: on a typewriter, an underlined < is "at most".
 * A blank remains one: it may separate two words. */
static void text_overstrike(struct text *t, int at, uint32_t ch, int width)
{
  struct item *item;

  if (t->column < text_end_of(t, at))
    for (at--; at > t->begin && t->items[at - 1].column == t->items[at].column;)
      at--;
  item = &t->items[at];
  if (ch != '_' && ch != item->ch && !text_is_under(t, at)) {
    t->reason = DX_REASON_CODES;
    (void)snprintf(t->done->why, sizeof(t->done->why),
                   "line %zu has characters printed over others", t->lines);
    return;
  }
  item->underlined |= (ch == '_') != (item->ch == '_');
  if (text_is_under(t, at) && (ch != '_' || item->ch == '_')) {
    item->ch = ch;
    item->columns = width;
  }
  t->column = ch == '_' ? t->column + 1 : item->column + item->columns;
  while (at + 1 < t->count && t->items[at + 1].column > item->column &&
         t->items[at + 1].column < t->column && text_is_under(t, at + 1))
    memmove(item + 1, item + 2, (size_t)(--t->count - at - 1) * sizeof(*item));
}

/* Adds a printable character at the current column. */
static void text_add(struct text *t, uint32_t ch)
{
  int width = text_columns((wchar_t)ch), at;
  struct item item;

  if (t->column + width > t->columns) {
    if (ch == ' ') {
      t->column = t->columns + 1;
      return;
    }
    text_end_line(t);
  }
  while (t->row >= t->rows && t->reason == DX_REASON_NONE)
    text_end_page(t);
  if (t->count == TEXT_PAGE_MAX || t->count - t->begin == TEXT_LINE_MAX) {
    t->reason = DX_REASON_TOO_COMPLEX;
    return;
  }

  for (at = t->count; at > t->begin && t->items[at - 1].column >= t->column;)
    at--;
  if (width == 0 && at > t->begin) { /* a mark belongs to the one before */
    item = t->items[at - 1];
    item.ch = ch;
  } else if (at < t->count || t->column < text_end_of(t, at)) {
    text_overstrike(t, at, ch, width);
    return;
  } else {
    item = (struct item){ch, t->row, t->column, width > 0 ? width : 1, false};
    t->column += item.columns;
  }
  memmove(t->items + at + 1, t->items + at,
          (size_t)(t->count++ - at) * sizeof(*t->items));
  t->items[at] = item;
}

/* White space between words; not a blank that holds two parts together. */
static bool text_is_space(wchar_t ch)
{
  return (ch <= ' ' && ch != '\b') || ch == TEXT_WIDE_SPACE;
}

/* What is not divided at the end of a line: a word, if it fits on a line; else
 * the values in it, with their signs and units, and codes, as HL7 separates
 * them; else a number, a date, or a range. */
static bool text_is_of_number(wchar_t ch)
{
  return (ch >= '0' && ch <= '9') || wcschr(L".,:+-<>/", ch) != NULL;
}

static bool text_is_of_value(wchar_t ch)
{
  return text_is_of_number(ch) ||
         (!text_is_space(ch) && ch < TEXT_CJK && wcschr(L"|;\"&~", ch) == NULL);
}

static bool text_is_of_word(wchar_t ch)
{
  return !text_is_space(ch);
}

/* Ends the line if the part that begins here fits on the next one only; or on
 * none, if it is a word. Returns where the part ends, or 0 if it is divided. */
static size_t text_keep(struct text *t, size_t at, bool (*is_of)(wchar_t ch))
{
  long columns = 0;

  for (; at < t->len && is_of(t->chars[at]); at++)
    columns += t->chars[at] == '\b' ? -1 : text_columns(t->chars[at]);
  if (t->column + columns > t->columns && t->count > t->begin &&
      (columns <= t->columns || is_of == text_is_of_word))
    text_end_line(t);
  return t->column + columns <= t->columns ? at : 0;
}

/* Ends the line before what must not be divided. */
static void text_wrap(struct text *t, size_t at)
{
  wchar_t ch = t->chars[at], before = at > 0 ? t->chars[at - 1] : ' ';

  if (at < t->kept || text_is_space(ch) || ch == '\b' || before == '\b')
    return;
  if (text_is_space(before))
    t->kept = text_keep(t, at, text_is_of_word);
  else if (text_is_of_value(ch) && !text_is_of_value(before))
    t->kept = text_keep(t, at, text_is_of_value);
  if (at >= t->kept && text_is_of_number(ch) && !text_is_of_number(before))
    t->kept = text_keep(t, at, text_is_of_number);
}

static void text_feed(struct text *t)
{
  size_t i;

  t->count = t->begin = t->row = t->column = t->page = 0;
  t->kept = 0;
  t->lines = 1;
  for (i = 0; i < t->len && t->reason == DX_REASON_NONE; i++) {
    text_wrap(t, i);
    switch (t->chars[i]) {
    case '\f':
      text_end_page(t);
      t->row = t->column = 0;
      break;
    case '\n':
      text_end_line(t);
      t->lines++;
      break;
    case '\t':
      do
        text_add(t, ' ');
      while (t->reason == DX_REASON_NONE && t->column % 8 != 0 &&
             t->column < t->columns);
      break;
    case '\b':
      t->column -= t->column > 0;
      break;
    case TEXT_WIDE_SPACE:
      text_add(t, ' ');
      text_add(t, ' ');
      break;
    case TEXT_NBSP:
      text_add(t, ' ');
      break;
    default:
      text_add(t, (uint32_t)t->chars[i]);
    }
  }
}

/* ---- reading ---- */

/* A CR that moves nothing, at the beginning of a line or before another end. */
static bool text_is_idle(const wchar_t *chars, size_t count, size_t i,
                         wchar_t before)
{
  if (chars[i] != '\r')
    return false;
  return before == '\n' || before == '\f' ||
         (i + 1 < count && chars[i + 1] == '\n') ||
         (i + 2 < count && chars[i + 1] == '\r' && chars[i + 2] == '\n');
}

/* Reads the bytes of a file, or of a value, into `chars`: characters that are
 * not dropped, white space as one of three blanks, the end of a line as '\n'.
 */
static void text_read(struct text *t, const char *bytes, size_t len,
                      bool is_file)
{
  wchar_t *chars = realloc(t->chars, (len + 1) * sizeof(*chars));
  wchar_t before = 0;
  size_t count, i;

  t->len = 0;
  if (chars == NULL) {
    t->reason = DX_REASON_TROUBLE;
    return;
  }
  t->chars = chars;
  if (is_file)
    t->reason = reading_file(bytes, len, chars, &count, t->done->why);
  else
    reading_value(bytes, len, chars, &count);
  for (i = 0; i < count; i++) {
    wchar_t ch = chars[i];
    bool is_idle = text_is_idle(chars, count, i, before);

    before = ch;
    if (is_idle)
      continue;
    if (reading_ends_line(ch))
      ch = '\n';
    else if (ch < 0xA0 ? (ch < ' ' && (ch < '\b' || ch > '\f')) || ch >= 0x7F
                       : ch == 0x61C || ch == 0x200E || ch == 0x200F ||
                             (ch >= 0x202A && ch <= 0x202E) ||
                             (ch >= 0x2066 && ch <= 0x2069) || ch == 0xFEFF)
      continue;
    else if (ch == TEXT_NBSP || ch == 0x2007 || ch == 0x202F)
      ch = TEXT_NBSP;
    else if (ch >= 0x1680 && ch != TEXT_WIDE_SPACE &&
             fribidi_get_bidi_type((FriBidiChar)ch) == FRIBIDI_TYPE_WS)
      ch = ' ';
    chars[t->len++] = ch;
    t->ink = t->ink || (!text_is_space(ch) && ch != '\b' && ch != TEXT_NBSP);
  }
}

/* ---- documents ---- */

static bool text_save(struct text *t)
{
  size_t at = 0;
  ssize_t n;

  while (at < t->out_len) {
    n = write(t->fd, t->out + at, t->out_len - at);
    if (n <= 0)
      return false;
    at += (size_t)n;
  }
  t->out_len = 0;
  return true;
}

static cairo_status_t text_write(void *arg, const unsigned char *bytes,
                                 unsigned len)
{
  struct text *t = arg;
  size_t n;

  while (len > 0) {
    if (t->out_len == sizeof(t->out) && !text_save(t))
      return CAIRO_STATUS_WRITE_ERROR;
    n = sizeof(t->out) - t->out_len;
    n = len < n ? len : n;
    memcpy(t->out + t->out_len, bytes, n);
    t->out_len += n;
    bytes += n;
    len -= (unsigned)n;
  }
  return CAIRO_STATUS_SUCCESS;
}

/* NULL if out of memory. */
static struct text *text_begin(int fd, struct pdf_done *done)
{
  struct text *t = calloc(1, sizeof(*t));

  done->pages = 0;
  done->why[0] = '\0';
  if (t == NULL)
    return NULL;
  t->done = done;
  t->fd = fd;
  t->advance = fmax(0.1, text_glyph('x').advance);
  t->surface = cairo_pdf_surface_create_for_stream(text_write, t, 612, 792);
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
      (cairo_status(t->cr) != CAIRO_STATUS_SUCCESS ||
       cairo_surface_status(t->surface) != CAIRO_STATUS_SUCCESS ||
       !text_save(t)))
    reason = DX_REASON_TROUBLE;
  cairo_destroy(t->cr);
  cairo_surface_destroy(t->surface);
  free(t->chars);
  free(t);
  return reason;
}

/* Nothing but blanks follows the end of the last page. */
static bool text_is_blank(const struct text *t)
{
  int i = 0;

  while (i < t->count && t->items[i].ch == ' ')
    i++;
  return i == t->count;
}

static enum dx_reason text_to_pdf(const unsigned char *bytes, size_t len,
                                  const struct options *options, int out_fd,
                                  struct pdf_done *ret_done)
{
  const struct options_text *o = &options->text;
  struct text *t = text_begin(out_fd, ret_done);

  if (t == NULL)
    return DX_REASON_TROUBLE;
  cairo_pdf_surface_set_size(t->surface, o->width, o->height);
  t->options = options;
  t->align = -1;
  t->left = o->left;
  t->top = o->top;
  t->width = o->width - o->left - o->right;
  t->pitch = 72 / o->cpi;
  t->line = 72 / o->lpi;
  t->em_x = t->pitch / t->advance;
  t->em_y = fmin(t->em_x, t->line);
  t->columns = (int)fmin(TEXT_GRID_MAX, t->width / t->pitch + 0.001);
  t->rows = (int)fmin(TEXT_GRID_MAX,
                      (o->height - o->top - o->bottom) / t->line + 0.001);
  text_read(t, (const char *)bytes, len, true);
  text_feed(t);
  if (t->reason == DX_REASON_NONE && !text_is_blank(t))
    text_end_page(t);
  if (t->reason == DX_REASON_NONE && !t->ink)
    t->reason = DX_REASON_EMPTY;
  else if (t->reason == DX_REASON_NONE && ret_done->pages == 0)
    t->reason = DX_REASON_NO_PAGES;
  return text_end(t);
}

/* ---- values ---- */

/* One line is drawn as large as the font and the box allow; several lines are
 * made smaller until they fit. */
static void text_draw_value(struct text *t, const struct text_value *v)
{
  double width = fmax(1, fmin(v->width, 14400));
  double height = fmax(1, fmin(v->height, 14400));
  double edge = fmin(2, fmin(width, height) / 10), size, ratio = 0;
  int rows = 1, columns = 1;
  size_t i;

  cairo_pdf_surface_set_size(t->surface, width, height);
  cairo_set_source_rgb(t->cr, v->rgb[0], v->rgb[1], v->rgb[2]);
  t->width = width - 2 * edge;
  height -= 2 * edge;
  size = fmin(v->size > 0 ? v->size : v->multiline ? 12 : 14400, height / 1.2);
  text_read(t, v->utf8, strlen(v->utf8), false);
  for (i = 0; i < t->len; i++)
    if (t->chars[i] == '\b' || (!v->multiline && t->chars[i] < ' '))
      t->chars[i] = ' ';
    else if (t->chars[i] == '\f')
      t->chars[i] = '\n';
  t->rows = INT_MAX;
  while (t->reason == DX_REASON_NONE && size >= 0.1) { /* readable */
    t->pitch = size * t->advance;
    t->columns = v->multiline ? (int)fmax(1, t->width / t->pitch) : INT_MAX / 2;
    text_feed(t);
    if (t->count > 0) {
      rows = t->items[t->count - 1].row + 1;
      columns = t->items[t->count - 1].column + t->items[t->count - 1].columns;
    }
    columns = columns > v->comb ? columns : v->comb;
    ratio = v->multiline ? sqrt(height / (rows * 1.2 * size))
                         : t->width / (columns * t->pitch);
    if (ratio >= 1)
      break;
    size *= 0.98 * ratio;
  }
  if (v->comb > 0)
    t->pitch = t->width / columns;
  t->em_x = t->em_y = size;
  t->line = 1.2 * size;
  t->align = v->align;
  t->left = edge;
  t->top = edge + (v->multiline ? 0 : (height - t->line) / 2);
  if (size < 0.1)
    t->reason = DX_REASON_TOO_COMPLEX;
  text_end_page(t);
}

static enum dx_reason text_values_to_pdf(const struct text_value *values,
                                         size_t count, int out_fd,
                                         struct pdf_done *ret_done)
{
  struct text *t = text_begin(out_fd, ret_done);
  size_t i;

  if (t == NULL)
    return DX_REASON_TROUBLE;
  for (i = 0; i < count && t->reason == DX_REASON_NONE; i++)
    text_draw_value(t, &values[i]);
  return text_end(t);
}

const struct text_module docextract_text = {text_open_fonts, reading_open,
                                            text_to_pdf, text_values_to_pdf};
