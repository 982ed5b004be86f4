/*
 * json_scan.c - the grammar of RFC 8259 as a state for each place between two
 * bytes, a bit for each open container, and nothing else.
 */
#include "lib/base/json_scan.h"

#include <string.h>

#include "lib/base/json.h"

/* The place between two bytes. Blanks may stand where a token may begin. */
enum state {
  AT_VALUE,       /* a value must follow */
  AT_FIRST_VALUE, /* or the end of the array */
  AT_NAME,        /* a name must follow */
  AT_FIRST_NAME,  /* or the end of the object */
  AT_COLON,       /* after a name */
  AFTER_VALUE,    /* ',' or an end */
  IN_STRING,      /* no blanks from here on */
  IN_ESCAPE,      /* after the backslash */
  IN_HEX,         /* after \u */
  IN_LITERAL,     /* true, false, null */
  AFTER_MINUS,    /* a number from here on */
  AFTER_ZERO,     /* which cannot go on with a digit */
  IN_INTEGER,
  AFTER_POINT,
  IN_FRACTION,
  AFTER_E,
  AFTER_E_SIGN,
  IN_EXPONENT,
  FAILED
};

static bool is_blank(unsigned char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(unsigned char c)
{
  return c >= '0' && c <= '9';
}

/* ---- fields ---- */

/* Whether the names of the open objects form this path. */
static bool is_here(const struct dx_json_scan *scan, const char *path)
{
  int i;

  for (i = 0; i < scan->depth; i++) {
    size_t len = strcspn(path, ".");

    if (i >= DX_JSON_PATH_NAMES || (scan->objects >> i & 1) == 0 ||
        !scan->has_name[i] || strlen(scan->names[i]) != len ||
        strncmp(scan->names[i], path, len) != 0)
      return false;
    path += len + (path[len] == '.');
  }
  return *path == '\0' && scan->depth > 0;
}

/* A value begins: if it is a field, only the first value of that counts. */
static void see(struct dx_json_scan *scan, enum dx_json_seen what)
{
  size_t i;

  scan->field = NULL;
  for (i = 0; i < scan->field_count; i++)
    if (is_here(scan, scan->fields[i].path)) {
      scan->field = &scan->fields[i];
      scan->field->seen =
          scan->field->seen == DX_JSON_ABSENT ? what : DX_JSON_TWICE;
      return;
    }
}

/* Counts a value that is neither null nor "". */
static void count(struct dx_json_scan *scan)
{
  size_t i;

  for (i = 0; i < scan->field_count; i++)
    scan->fields[i].values += scan->fields[i].open_depth != 0;
}

static void keep(struct dx_json_text *text, const char *bytes, size_t len)
{
  if (text->at == NULL || text->is_cut)
    return;
  if (text->len + len >= text->room) {
    text->is_cut = true;
    return;
  }
  memcpy(text->at + text->len, bytes, len);
  text->len += len;
}

/* ---- strings ---- */

static int begin_string(struct dx_json_scan *scan, bool is_name)
{
  struct dx_json_text *text = &scan->text;
  int level = scan->depth - 1;

  memset(text, 0, sizeof(*text));
  scan->is_name = is_name;
  scan->is_blank = true;
  scan->high = 0;
  if (is_name && level < DX_JSON_PATH_NAMES) {
    text->at = scan->names[level];
    text->room = DX_JSON_NAME_BYTES;
  } else if (!is_name && scan->field != NULL &&
             scan->field->seen == DX_JSON_STRING) {
    text->at = scan->field->text;
    text->room = DX_JSON_FIELD_BYTES;
  }
  return IN_STRING;
}

/* The first half of a pair whose second did not come. */
static void end_pair(struct dx_json_scan *scan)
{
  if (scan->high != 0)
    keep(&scan->text, DX_JSON_NUL, strlen(DX_JSON_NUL));
  scan->high = 0;
}

static int end_string(struct dx_json_scan *scan)
{
  struct dx_json_text *text = &scan->text;
  int level = scan->depth - 1;

  end_pair(scan);
  if (text->at != NULL)
    text->at[text->len] = '\0';
  if (scan->is_name && level < DX_JSON_PATH_NAMES)
    scan->has_name[level] = !text->is_cut;
  else if (scan->field != NULL && text->at != NULL && text->is_cut)
    scan->field->seen = DX_JSON_OTHER;
  if (!scan->is_name && !scan->is_blank)
    count(scan);
  return scan->is_name ? AT_COLON : AFTER_VALUE;
}

static int in_string(struct dx_json_scan *scan, unsigned char c)
{
  char byte = (char)c;

  if (scan->utf8_left > 0) {
    if (c < scan->utf8_least || c > scan->utf8_most)
      return FAILED;
    scan->utf8_left--;
    scan->utf8_least = 0x80;
    scan->utf8_most = 0xBF;
  } else if (c == '\\') {
    return IN_ESCAPE;
  } else if (c == '"') {
    return end_string(scan);
  } else if (c < ' ' || (c >= 0x80 && c < 0xC2) || c > 0xF4) {
    return FAILED;
  } else if (c >= 0x80) { /* RFC 3629: which bytes may follow */
    scan->utf8_least = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    scan->utf8_most = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    scan->utf8_left = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
  }
  scan->is_blank = false;
  end_pair(scan);
  keep(&scan->text, &byte, 1);
  return IN_STRING;
}

static int in_escape(struct dx_json_scan *scan, unsigned char c)
{
  static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
  const char *name = c != '\0' ? strchr(names, c) : NULL;

  scan->is_blank = false;
  if (c == 'u') {
    scan->hex_left = 4;
    scan->unit = 0;
    return IN_HEX;
  }
  if (name == NULL)
    return FAILED;
  end_pair(scan);
  keep(&scan->text, &bytes[name - names], 1);
  return IN_STRING;
}

static void keep_character(struct dx_json_scan *scan, uint32_t c)
{
  char bytes[4];
  size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;

  for (i = len; i-- > 1; c >>= 6)
    bytes[i] = (char)(0x80 | (c & 0x3F));
  bytes[0] = (char)(len == 1 ? c : (0xF00 >> len & 0xFF) | c);
  keep(&scan->text, bytes, len);
}

/* A unit of UTF-16; two of them may be one character. */
static void end_escape(struct dx_json_scan *scan)
{
  uint32_t unit = scan->unit;
  bool is_low = unit >= 0xDC00 && unit <= 0xDFFF;

  if (scan->high != 0 && is_low) {
    keep_character(scan,
                   0x10000 + ((scan->high - 0xD800) << 10) + (unit - 0xDC00));
    scan->high = 0;
    return;
  }
  end_pair(scan);
  if (unit >= 0xD800 && unit <= 0xDBFF)
    scan->high = unit;
  else if (is_low || unit == 0)
    keep(&scan->text, DX_JSON_NUL, strlen(DX_JSON_NUL));
  else
    keep_character(scan, unit);
}

static int in_hex(struct dx_json_scan *scan, unsigned char c)
{
  static const char digits[] = "0123456789abcdef0123456789ABCDEF";
  const char *digit = c != '\0' ? strchr(digits, c) : NULL;

  if (digit == NULL)
    return FAILED;
  scan->unit = scan->unit << 4 | (uint32_t)((digit - digits) % 16);
  if (--scan->hex_left > 0)
    return IN_HEX;
  end_escape(scan);
  return IN_STRING;
}

/* ---- values ---- */

static int open_container(struct dx_json_scan *scan, bool is_object)
{
  see(scan, DX_JSON_OTHER);
  if (scan->depth == DX_JSON_DEPTH_MAX)
    return FAILED;
  scan->objects &= ~(UINT64_C(1) << scan->depth);
  scan->objects |= (uint64_t)is_object << scan->depth;
  if (scan->depth < DX_JSON_PATH_NAMES)
    scan->has_name[scan->depth] = false;
  scan->depth++;
  if (scan->field != NULL)
    scan->field->open_depth = scan->depth;
  return is_object ? AT_FIRST_NAME : AT_FIRST_VALUE;
}

static int begin_literal(struct dx_json_scan *scan, const char *literal)
{
  see(scan, literal[0] == 'n' ? DX_JSON_NULL : DX_JSON_OTHER);
  if (literal[0] != 'n')
    count(scan);
  scan->literal = literal + 1;
  return IN_LITERAL;
}

static int at_value(struct dx_json_scan *scan, unsigned char c)
{
  switch (c) {
  case '{':
  case '[':
    return open_container(scan, c == '{');
  case '"':
    see(scan, DX_JSON_STRING);
    return begin_string(scan, false);
  case 't':
    return begin_literal(scan, "true");
  case 'f':
    return begin_literal(scan, "false");
  case 'n':
    return begin_literal(scan, "null");
  default:
    if (c != '-' && !is_digit(c))
      return FAILED;
    see(scan, DX_JSON_OTHER);
    count(scan);
    return c == '-' ? AFTER_MINUS : c == '0' ? AFTER_ZERO : IN_INTEGER;
  }
}

static int close_container(struct dx_json_scan *scan)
{
  size_t i;

  for (i = 0; i < scan->field_count; i++)
    if (scan->fields[i].open_depth == scan->depth)
      scan->fields[i].open_depth = 0;
  scan->depth--;
  return AFTER_VALUE;
}

static int after_value(struct dx_json_scan *scan, unsigned char c)
{
  bool is_object;

  if (scan->depth == 0)
    return FAILED;
  is_object = (scan->objects >> (scan->depth - 1) & 1) != 0;
  if (c == ',')
    return is_object ? AT_NAME : AT_VALUE;
  return c == (is_object ? '}' : ']') ? close_container(scan) : FAILED;
}

static int in_literal(struct dx_json_scan *scan, unsigned char c)
{
  if (c != (unsigned char)*scan->literal)
    return FAILED;
  scan->literal++;
  return *scan->literal != '\0' ? IN_LITERAL : AFTER_VALUE;
}

static bool may_end(int state)
{
  return state == AFTER_VALUE || state == AFTER_ZERO || state == IN_INTEGER ||
         state == IN_FRACTION || state == IN_EXPONENT;
}

static int in_number(struct dx_json_scan *scan, unsigned char c)
{
  /* Where a digit, '.', 'e', and a sign lead to. */
  static const struct {
    unsigned char digit, point, e, sign;
  } rows[] = {
      {IN_INTEGER, FAILED, FAILED, FAILED},        /* AFTER_MINUS */
      {FAILED, AFTER_POINT, AFTER_E, FAILED},      /* AFTER_ZERO */
      {IN_INTEGER, AFTER_POINT, AFTER_E, FAILED},  /* IN_INTEGER */
      {IN_FRACTION, FAILED, FAILED, FAILED},       /* AFTER_POINT */
      {IN_FRACTION, FAILED, AFTER_E, FAILED},      /* IN_FRACTION */
      {IN_EXPONENT, FAILED, FAILED, AFTER_E_SIGN}, /* AFTER_E */
      {IN_EXPONENT, FAILED, FAILED, FAILED},       /* AFTER_E_SIGN */
      {IN_EXPONENT, FAILED, FAILED, FAILED},       /* IN_EXPONENT */
  };
  int i = scan->state - AFTER_MINUS;

  if (is_digit(c))
    return scan->state == AFTER_MINUS && c == '0' ? AFTER_ZERO : rows[i].digit;
  if (c == '.')
    return rows[i].point;
  if (c == 'e' || c == 'E')
    return rows[i].e;
  if (c == '+' || c == '-')
    return rows[i].sign;
  if (!may_end(scan->state))
    return FAILED;
  return is_blank(c) ? AFTER_VALUE : after_value(scan, c);
}

static int next_state(struct dx_json_scan *scan, unsigned char c)
{
  if (scan->state <= AFTER_VALUE && is_blank(c))
    return scan->state;
  switch ((enum state)scan->state) {
  case AT_FIRST_VALUE:
    return c == ']' ? close_container(scan) : at_value(scan, c);
  case AT_VALUE:
    return at_value(scan, c);
  case AT_FIRST_NAME:
    if (c == '}')
      return close_container(scan);
    /* fall through */
  case AT_NAME:
    return c == '"' ? begin_string(scan, true) : FAILED;
  case AT_COLON:
    return c == ':' ? AT_VALUE : FAILED;
  case AFTER_VALUE:
    return after_value(scan, c);
  case IN_STRING:
    return in_string(scan, c);
  case IN_ESCAPE:
    return in_escape(scan, c);
  case IN_HEX:
    return in_hex(scan, c);
  case IN_LITERAL:
    return in_literal(scan, c);
  default:
    return in_number(scan, c);
  }
}

/* ---- the interface ---- */

void dx_json_scan_begin(struct dx_json_scan *scan, struct dx_json_field *fields,
                        size_t field_count)
{
  size_t i;

  memset(scan, 0, sizeof(*scan));
  scan->fields = fields;
  scan->field_count = field_count;
  for (i = 0; i < field_count; i++) {
    fields[i].seen = DX_JSON_ABSENT;
    fields[i].values = 0;
    fields[i].open_depth = 0;
  }
}

bool dx_json_scan_add(struct dx_json_scan *scan, const char *bytes, size_t len)
{
  size_t i;

  for (i = 0; i < len && scan->state != FAILED; i++)
    scan->state = next_state(scan, (unsigned char)bytes[i]);
  return scan->state != FAILED;
}

bool dx_json_scan_is_whole(const struct dx_json_scan *scan)
{
  return scan->depth == 0 && may_end(scan->state);
}
