/*
 * json_scan.c - the grammar of RFC 8259, by recursive descent.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/utf8.h"

struct scan {
  FILE *in;
  struct dx_buf *out;
  bool exact;
  int depth;       /* open containers */
  uint64_t values; /* in the container that the outline leaves out */
};

static void scan_keep(struct scan *s, const char *bytes, size_t len)
{
  if (s->exact || s->depth <= DX_JSON_OUTLINE_DEPTH)
    dx_buf_add(s->out, bytes, len);
}

/* The next character that is not blank; EOF. */
static int scan_next(struct scan *s)
{
  int c;

  do
    c = getc_unlocked(s->in);
  while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
  return c;
}

/* The same at the beginning, where a byte order mark is skipped: some programs
 * write one, and cJSON skips it, too. */
static int scan_first(struct scan *s)
{
  int c = getc_unlocked(s->in);

  if (c != 0xEF)
    (void)ungetc(c, s->in);
  else if (getc_unlocked(s->in) != 0xBB || getc_unlocked(s->in) != 0xBF)
    return EOF;
  return scan_next(s);
}

/* The rest of a character or of an escape in a string, whose first byte is
 * text[0]. Returns its length, 0 if it is invalid; *ret_unit is the UTF-16 unit
 * of an escape, else 0. */
static size_t scan_character(struct scan *s, char text[8], unsigned *ret_unit)
{
  unsigned char first = (unsigned char)text[0];
  size_t len = first >= 0xF0   ? 4
               : first >= 0xE0 ? 3
               : first >= 0xC0 ? 2
               : first == '\\' ? 2
                               : 1;
  size_t i;

  for (i = 1; i < len; i++) {
    text[i] = (char)getc_unlocked(s->in); /* EOF is never valid */
    if (i == 1 && first == '\\' && text[1] == 'u')
      len = 6;
  }
  text[len] = '\0';
  *ret_unit = 0;
  if (first != '\\')
    return dx_utf8_char(text, NULL) == len ? len : 0;
  if (len == 2)
    return text[1] != '\0' && strchr("\"\\/bfnrt", text[1]) != NULL ? len : 0;
  return strspn(text + 2, "0123456789abcdefABCDEF") == 4 &&
                 sscanf(text + 2, "%4x", ret_unit) == 1
             ? len
             : 0;
}

static bool scan_string(struct scan *s, bool is_name)
{
  size_t at = s->out->len, len;
  bool is_blank = true, is_high = false, is_readable = true;
  unsigned unit;
  char text[8];
  int c;

  scan_keep(s, "\"", 1);
  while ((c = getc_unlocked(s->in)) != '"') {
    text[0] = (char)c;
    len = c >= ' ' ? scan_character(s, text, &unit) : 0;
    if (len == 0)
      return false;
    is_blank = false;
    /* Half of a surrogate pair is not a character; cJSON rejects it. */
    if (is_high != (unit >= 0xDC00 && unit <= 0xDFFF))
      is_readable = false;
    is_high = unit >= 0xD800 && unit <= 0xDBFF;
    if (s->out->len - at + len > DX_JSON_STRING_BYTES)
      is_readable = false;
    if (is_readable || s->exact)
      scan_keep(s, text, len);
  }
  scan_keep(s, "\"", 1);
  if ((!is_readable || is_high) && !s->exact &&
      s->depth <= DX_JSON_OUTLINE_DEPTH) {
    s->out->len = at;
    dx_buf_puts(s->out, is_name ? "\"\"" : "0");
  }
  s->values += !is_name && !is_blank;
  return true;
}

#define DIGITS "0123456789"

/* RFC 8259, section 6. */
bool dx_json_is_number(const char *text)
{
  const char *at = text + (*text == '-');
  size_t n = strspn(at, DIGITS);

  if (n == 0 || (n > 1 && *at == '0'))
    return false;
  at += n;
  /* NOLINTNEXTLINE(*-core.UndefinedBinaryOperatorResult): it has an end */
  if (*at == '.') {
    n = strspn(at + 1, DIGITS);
    at += 1 + n;
  }
  if (n > 0 && (*at == 'e' || *at == 'E')) {
    at += 1 + (at[1] == '+' || at[1] == '-');
    n = strspn(at, DIGITS);
    at += n;
  }
  return n > 0 && *at == '\0';
}

static bool scan_number(struct scan *s, int c)
{
  char text[DX_JSON_STRING_BYTES + 1];
  size_t len = 0;

  do {
    text[len++] = (char)c;
    c = getc_unlocked(s->in);
  } while (len < DX_JSON_STRING_BYTES && (isdigit(c) || c == '.' || c == 'e' ||
                                          c == 'E' || c == '+' || c == '-'));
  (void)ungetc(c, s->in);
  text[len] = '\0';
  if (s->exact)
    dx_buf_printf(s->out, "\"%s\"", text);
  else
    scan_keep(s, "0", 1);
  s->values++;
  return dx_json_is_number(text);
}

static bool scan_literal(struct scan *s, const char *word)
{
  size_t i, len = strlen(word);

  for (i = 1; i < len; i++)
    if (getc_unlocked(s->in) != word[i])
      return false;
  scan_keep(s, word, len);
  s->values += word[0] != 'n';
  return true;
}

static bool scan_value(struct scan *s, int c);

static bool scan_container(struct scan *s, bool is_object)
{
  int c, end = is_object ? '}' : ']';

  if (s->depth == DX_JSON_DEPTH_MAX)
    return false;
  s->depth++;
  if (s->depth == DX_JSON_OUTLINE_DEPTH + 1)
    s->values = 0;
  scan_keep(s, is_object ? "{" : "[", 1);
  c = scan_next(s);
  while (c != end) {
    if (is_object) {
      if (c != '"' || !scan_string(s, true) || scan_next(s) != ':')
        return false;
      scan_keep(s, ":", 1);
      c = scan_next(s);
    }
    if (!scan_value(s, c))
      return false;
    c = scan_next(s);
    if (c == end)
      break;
    if (c != ',')
      return false;
    scan_keep(s, ",", 1);
    c = scan_next(s);
    if (c == end)
      return false;
  }
  if (s->depth == DX_JSON_OUTLINE_DEPTH + 1 && !s->exact)
    dx_buf_printf(s->out, "[%" PRIu64 "]", s->values);
  else
    scan_keep(s, is_object ? "}" : "]", 1);
  s->depth--;
  return true;
}

/* A value that begins with this character. */
static bool scan_value(struct scan *s, int c)
{
  if (!s->exact && s->out->len > DX_JSON_OUTLINE_BYTES)
    return false;
  switch (c) {
  case '{':
  case '[':
    return scan_container(s, c == '{');
  case '"':
    return scan_string(s, false);
  case 't':
    return scan_literal(s, "true");
  case 'f':
    return scan_literal(s, "false");
  case 'n':
    return scan_literal(s, "null");
  default:
    return (c == '-' || isdigit(c)) && scan_number(s, c);
  }
}

bool dx_json_scan(FILE *in, bool exact, struct dx_buf *out)
{
  struct scan s = {.in = in, .out = out, .exact = exact};

  return scan_value(&s, scan_first(&s)) && scan_next(&s) == EOF &&
         dx_buf_ok(out);
}
