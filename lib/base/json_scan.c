/*
 * json_scan.c - the grammar of RFC 8259 as a state for each place between two
 * bytes, a bit for each open container, and nothing else.
 */
#include "lib/base/json_scan.h"

#include <string.h>

#include "lib/base/json.h"

/* The place between two bytes. */
enum state {
  AT_VALUE,       /* a value must follow */
  AT_FIRST_VALUE, /* or the end of the array */
  AT_NAME,        /* a name must follow */
  AT_FIRST_NAME,  /* or the end of the object */
  AT_COLON,       /* after a name */
  AFTER_VALUE,    /* ',' or an end */
  IN_STRING,
  IN_ESCAPE,  /* after the backslash */
  IN_HEX,     /* after \u */
  IN_LITERAL, /* true, false, null */
  AFTER_MINUS,
  AFTER_ZERO, /* a number that cannot go on with a digit */
  IN_INTEGER,
  AFTER_POINT,
  IN_FRACTION,
  AFTER_E,
  AFTER_E_SIGN,
  IN_EXPONENT,
  FAILED
};

typedef int step(struct dx_json_scan *scan, unsigned char c);

static bool is_digit(unsigned char c)
{
  return c >= '0' && c <= '9';
}

static bool is_blank(unsigned char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
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

static void keep_nul(struct dx_json_scan *scan)
{
  keep(&scan->text, DX_JSON_NUL, strlen(DX_JSON_NUL));
}

/* The first half of a pair whose second did not come. */
static void end_pair(struct dx_json_scan *scan)
{
  if (scan->high != 0)
    keep_nul(scan);
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
  else if (text->at != NULL && text->is_cut)
    scan->field->seen = DX_JSON_OTHER;
  if (!scan->is_name && !scan->is_blank)
    count(scan);
  return scan->is_name ? AT_COLON : AFTER_VALUE;
}

/* RFC 3629: which bytes may follow this first one. */
static bool begin_utf8(struct dx_json_scan *scan, unsigned char c)
{
  scan->utf8_least = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
  scan->utf8_most = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
  scan->utf8_left = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
  return c >= 0xC2 && c <= 0xF4;
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
  } else if (c < ' ' || (c >= 0x80 && !begin_utf8(scan, c))) {
    return FAILED;
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
    keep_nul(scan);
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
    return open_container(scan, true);
  case '[':
    return open_container(scan, false);
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
    if (is_blank(c))
      return AT_VALUE;
    if (c != '-' && !is_digit(c))
      return FAILED;
    see(scan, DX_JSON_OTHER);
    count(scan);
    return c == '-' ? AFTER_MINUS : c == '0' ? AFTER_ZERO : IN_INTEGER;
  }
}

static bool is_in_object(const struct dx_json_scan *scan)
{
  return scan->depth > 0 && (scan->objects >> (scan->depth - 1) & 1) != 0;
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
  if (is_blank(c))
    return AFTER_VALUE;
  if (scan->depth == 0)
    return FAILED;
  if (c == ',')
    return is_in_object(scan) ? AT_NAME : AT_VALUE;
  if (c != (is_in_object(scan) ? '}' : ']'))
    return FAILED;
  return close_container(scan);
}

static int at_first_value(struct dx_json_scan *scan, unsigned char c)
{
  if (is_blank(c))
    return AT_FIRST_VALUE;
  return c == ']' ? after_value(scan, c) : at_value(scan, c);
}

static int at_name(struct dx_json_scan *scan, unsigned char c)
{
  if (is_blank(c))
    return AT_NAME;
  return c == '"' ? begin_string(scan, true) : FAILED;
}

static int at_first_name(struct dx_json_scan *scan, unsigned char c)
{
  if (is_blank(c))
    return AT_FIRST_NAME;
  return c == '}' ? after_value(scan, c) : at_name(scan, c);
}

static int at_colon(struct dx_json_scan *scan, unsigned char c)
{
  (void)scan;
  if (is_blank(c))
    return AT_COLON;
  return c == ':' ? AT_VALUE : FAILED;
}

static int in_literal(struct dx_json_scan *scan, unsigned char c)
{
  if (c != (unsigned char)*scan->literal)
    return FAILED;
  scan->literal++;
  return *scan->literal != '\0' ? IN_LITERAL : AFTER_VALUE;
}

/* ---- numbers ---- */

static int after_minus(struct dx_json_scan *scan, unsigned char c)
{
  (void)scan;
  return c == '0' ? AFTER_ZERO : is_digit(c) ? IN_INTEGER : FAILED;
}

static int after_zero(struct dx_json_scan *scan, unsigned char c)
{
  if (c == '.')
    return AFTER_POINT;
  return c == 'e' || c == 'E' ? AFTER_E : after_value(scan, c);
}

static int in_integer(struct dx_json_scan *scan, unsigned char c)
{
  return is_digit(c) ? IN_INTEGER : after_zero(scan, c);
}

static int after_point(struct dx_json_scan *scan, unsigned char c)
{
  (void)scan;
  return is_digit(c) ? IN_FRACTION : FAILED;
}

static int in_fraction(struct dx_json_scan *scan, unsigned char c)
{
  if (is_digit(c))
    return IN_FRACTION;
  return c == 'e' || c == 'E' ? AFTER_E : after_value(scan, c);
}

static int after_e(struct dx_json_scan *scan, unsigned char c)
{
  (void)scan;
  if (c == '+' || c == '-')
    return AFTER_E_SIGN;
  return is_digit(c) ? IN_EXPONENT : FAILED;
}

static int after_e_sign(struct dx_json_scan *scan, unsigned char c)
{
  (void)scan;
  return is_digit(c) ? IN_EXPONENT : FAILED;
}

static int in_exponent(struct dx_json_scan *scan, unsigned char c)
{
  return is_digit(c) ? IN_EXPONENT : after_value(scan, c);
}

static int failed(struct dx_json_scan *scan, unsigned char c)
{
  (void)scan;
  (void)c;
  return FAILED;
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
  static step *const steps[] = {[AT_VALUE] = at_value,
                                [AT_FIRST_VALUE] = at_first_value,
                                [AT_NAME] = at_name,
                                [AT_FIRST_NAME] = at_first_name,
                                [AT_COLON] = at_colon,
                                [AFTER_VALUE] = after_value,
                                [IN_STRING] = in_string,
                                [IN_ESCAPE] = in_escape,
                                [IN_HEX] = in_hex,
                                [IN_LITERAL] = in_literal,
                                [AFTER_MINUS] = after_minus,
                                [AFTER_ZERO] = after_zero,
                                [IN_INTEGER] = in_integer,
                                [AFTER_POINT] = after_point,
                                [IN_FRACTION] = in_fraction,
                                [AFTER_E] = after_e,
                                [AFTER_E_SIGN] = after_e_sign,
                                [IN_EXPONENT] = in_exponent,
                                [FAILED] = failed};
  size_t i;

  for (i = 0; i < len && scan->state != FAILED; i++)
    scan->state = steps[scan->state](scan, (unsigned char)bytes[i]);
  return scan->state != FAILED;
}

bool dx_json_scan_is_whole(const struct dx_json_scan *scan)
{
  return scan->depth == 0 &&
         (scan->state == AFTER_VALUE || scan->state == AFTER_ZERO ||
          scan->state == IN_INTEGER || scan->state == IN_FRACTION ||
          scan->state == IN_EXPONENT);
}
