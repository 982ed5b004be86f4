/*
 * json_scan.c - the grammar of RFC 8259: one state between two bytes, and one
 * bit for each open container.
 */
#include "lib/base/json_scan.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

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
  AFTER_ZERO,     /* no digit may follow */
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

/* ---- the outline ---- */

static void keep(struct dx_json_scan *scan, unsigned char c)
{
  if (scan->depth <= DX_JSON_OUTLINE_DEPTH && !scan->is_left_out)
    dx_buf_add(&scan->outline, &c, 1);
}

static void keep_in_string(struct dx_json_scan *scan, unsigned char c)
{
  keep(scan, c);
  if (scan->outline.len - scan->string_at > DX_JSON_STRING_BYTES)
    scan->is_left_out = true;
}

/* Half of a surrogate pair is not a character; json.h rejects it. */
static void end_pair(struct dx_json_scan *scan, bool is_low)
{
  if (scan->is_high != is_low)
    scan->is_left_out = true;
  scan->is_high = false;
}

/* ---- strings ---- */

static int begin_string(struct dx_json_scan *scan, bool is_name)
{
  scan->is_name = is_name;
  scan->is_blank = true;
  scan->string_at = scan->outline.len;
  keep(scan, '"');
  return IN_STRING;
}

static int end_string(struct dx_json_scan *scan)
{
  end_pair(scan, false);
  keep(scan, '"');
  if (scan->is_left_out && scan->depth <= DX_JSON_OUTLINE_DEPTH) {
    scan->outline.len = scan->string_at;
    dx_buf_puts(&scan->outline, scan->is_name ? "\"\"" : "0");
  }
  scan->is_left_out = false;
  scan->values += !scan->is_name && !scan->is_blank;
  return scan->is_name ? AT_COLON : AFTER_VALUE;
}

static int in_string(struct dx_json_scan *scan, unsigned char c)
{
  if (scan->utf8_left > 0) {
    if (c < scan->utf8_least || c > scan->utf8_most)
      return FAILED;
    scan->utf8_left--;
    scan->utf8_least = 0x80;
    scan->utf8_most = 0xBF;
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
  keep_in_string(scan, c);
  if (c == '\\')
    return IN_ESCAPE;
  end_pair(scan, false);
  return IN_STRING;
}

static int in_escape(struct dx_json_scan *scan, unsigned char c)
{
  keep_in_string(scan, c);
  if (c == 'u') {
    scan->hex_left = 4;
    scan->unit = 0;
    return IN_HEX;
  }
  end_pair(scan, false);
  return c != '\0' && strchr("\"\\/bfnrt", c) != NULL ? IN_STRING : FAILED;
}

static int in_hex(struct dx_json_scan *scan, unsigned char c)
{
  static const char digits[] = "0123456789abcdef0123456789ABCDEF";
  const char *digit = c != '\0' ? strchr(digits, c) : NULL;

  if (digit == NULL)
    return FAILED;
  keep_in_string(scan, c);
  scan->unit = scan->unit << 4 | (uint32_t)((digit - digits) % 16);
  if (--scan->hex_left > 0)
    return IN_HEX;
  end_pair(scan, scan->unit >= 0xDC00 && scan->unit <= 0xDFFF);
  scan->is_high = scan->unit >= 0xD800 && scan->unit <= 0xDBFF;
  return IN_STRING;
}

/* ---- values ---- */

static int open_container(struct dx_json_scan *scan, unsigned char c)
{
  uint64_t is_object = c == '{';

  if (scan->depth == DX_JSON_DEPTH_MAX)
    return FAILED;
  scan->objects &= ~(UINT64_C(1) << scan->depth);
  scan->objects |= is_object << scan->depth;
  scan->depth++;
  keep(scan, c);
  if (scan->depth == DX_JSON_OUTLINE_DEPTH + 1)
    scan->values = 0;
  return is_object ? AT_FIRST_NAME : AT_FIRST_VALUE;
}

static int close_container(struct dx_json_scan *scan, unsigned char c)
{
  scan->depth--;
  if (scan->depth == DX_JSON_OUTLINE_DEPTH)
    dx_buf_printf(&scan->outline, "[%" PRIu64 "]", scan->values);
  else if (scan->depth < DX_JSON_OUTLINE_DEPTH)
    keep(scan, c);
  return AFTER_VALUE;
}

static int at_value(struct dx_json_scan *scan, unsigned char c)
{
  if (c == '{' || c == '[')
    return open_container(scan, c);
  if (c == '"')
    return begin_string(scan, false);
  scan->values += c != 'n';
  if (c == 't' || c == 'f' || c == 'n') {
    keep(scan, c);
    scan->literal = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
    return IN_LITERAL;
  }
  keep(scan, '0'); /* a number */
  if (c == '-')
    return AFTER_MINUS;
  return c == '0' ? AFTER_ZERO : isdigit(c) ? IN_INTEGER : FAILED;
}

static int after_value(struct dx_json_scan *scan, unsigned char c)
{
  bool is_object;

  if (scan->depth == 0)
    return FAILED;
  is_object = (scan->objects >> (scan->depth - 1) & 1) != 0;
  if (c == (is_object ? '}' : ']'))
    return close_container(scan, c);
  keep(scan, c);
  return c != ',' ? FAILED : is_object ? AT_NAME : AT_VALUE;
}

static int in_literal(struct dx_json_scan *scan, unsigned char c)
{
  if (c != (unsigned char)*scan->literal)
    return FAILED;
  keep(scan, c);
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
  /* The next state after a digit, '.', 'e', and a sign. */
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

  if (isdigit(c))
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
    return c == ']' ? close_container(scan, c) : at_value(scan, c);
  case AT_VALUE:
    return at_value(scan, c);
  case AT_FIRST_NAME:
    if (c == '}')
      return close_container(scan, c);
    /* fall through */
  case AT_NAME:
    return c == '"' ? begin_string(scan, true) : FAILED;
  case AT_COLON:
    keep(scan, c);
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

bool dx_json_scan_add(struct dx_json_scan *scan, const char *bytes, size_t len)
{
  size_t i;

  for (i = 0; i < len && scan->state != FAILED; i++)
    scan->state = next_state(scan, (unsigned char)bytes[i]);
  if (scan->outline.failed || scan->outline.len > DX_JSON_OUTLINE_BYTES)
    scan->state = FAILED;
  return scan->state != FAILED;
}

bool dx_json_scan_is_whole(const struct dx_json_scan *scan)
{
  return scan->depth == 0 && may_end(scan->state);
}
