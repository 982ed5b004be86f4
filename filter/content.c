/*
 * content.c - reads the tokens of a content stream.
 */
#include "filter/content.h"

#include <string.h>

/* In image data, two bytes look like EI once in a few MB. */
#define EI_MAX 64

enum token { TOKEN_END, TOKEN_CUT, TOKEN_OPERAND, TOKEN_OPERATOR };

struct content {
  const unsigned char *at, *end;
  const unsigned char *word; /* of an operator; up to `at` */
  long long brackets;        /* of arrays and dictionaries that are open */
};

static bool content_is_space(unsigned char c)
{
  return strchr("\t\n\f\r ", c) != NULL; /* or NUL */
}

static bool content_is_regular(unsigned char c)
{
  return strchr("\t\n\f\r ()<>[]{}/%", c) == NULL; /* nor NUL */
}

/* True if it is one of the words, which have blanks around them. */
static bool content_is_word(const struct content *c, const char *words)
{
  size_t len = (size_t)(c->at - c->word);
  const char *at = words;

  while ((at = memmem(at, strlen(at), c->word, len)) != NULL) {
    if (at[-1] == ' ' && at[len] == ' ')
      return true;
    at++;
  }
  return false;
}

static enum token content_skip_string(struct content *c)
{
  long long depth = 1;

  while (depth > 0 && c->at < c->end) {
    unsigned char byte = *c->at++;

    if (byte == '\\' && c->at < c->end)
      c->at++;
    depth += byte == '(' ? 1 : byte == ')' ? -1 : 0;
  }
  return depth > 0 ? TOKEN_CUT : TOKEN_OPERAND;
}

static enum token content_next(struct content *c)
{
  unsigned char first;

  while (c->at < c->end && (content_is_space(*c->at) || *c->at == '%'))
    if (*c->at++ == '%') /* a comment */
      while (c->at < c->end && *c->at != '\n' && *c->at != '\r')
        c->at++;
  if (c->at == c->end)
    return TOKEN_END;
  c->word = c->at;
  first = *c->at++;
  if (first == '(')
    return content_skip_string(c);
  if (first == '<' && (c->at == c->end || *c->at != '<')) {
    c->at = memchr(c->at, '>', (size_t)(c->end - c->at));
    if (c->at == NULL) {
      c->at = c->end;
      return TOKEN_CUT;
    }
    c->at++;
    return TOKEN_OPERAND;
  }
  if (first == '<' || (first == '>' && c->at < c->end && *c->at == '>'))
    c->at++;
  if (first == '[' || first == '<')
    c->brackets++;
  if ((first == ']' || first == '>') && c->brackets > 0)
    c->brackets--;
  if (first != '/' && !content_is_regular(first))
    return TOKEN_OPERAND;
  while (c->at < c->end && content_is_regular(*c->at))
    c->at++;
  return strchr("/+-.0123456789", first) != NULL ? TOKEN_OPERAND
                                                 : TOKEN_OPERATOR;
}

/* Reads on from BI to behind EI. */
static enum dx_reason content_read_image(struct content *c,
                                         content_image *image, void *ctx)
{
  const unsigned char *dict = c->at, *data, *ei;
  size_t dict_len;
  enum token token = TOKEN_OPERAND;
  int tried = 0;

  while (token != TOKEN_END && token != TOKEN_CUT &&
         !(token == TOKEN_OPERATOR && content_is_word(c, " ID ")))
    token = content_next(c);
  if (token != TOKEN_OPERATOR)
    return DX_REASON_DAMAGED;
  c->brackets = 0;
  dict_len = (size_t)(c->word - dict);
  data = ei = c->at + (c->at < c->end && content_is_space(*c->at) ? 1 : 0);
  while (tried < EI_MAX &&
         (ei = memmem(ei, (size_t)(c->end - ei), "EI", 2)) != NULL) {
    ei += 2;
    if (ei == c->end || !content_is_regular(*ei)) {
      enum dx_reason reason = image(ctx, dict, dict_len, data,
                                    (size_t)(ei - 2 - data), tried++ == 0);

      c->at = ei;
      if (reason != DX_REASON_DAMAGED)
        return reason;
    }
  }
  return DX_REASON_DAMAGED;
}

/* "BI" may be in a string or in an image, too. */
static bool content_may_have_images(const unsigned char *bytes, size_t len)
{
  const unsigned char *at = bytes, *end = bytes + len;

  while (len > 0 && (at = memmem(at, (size_t)(end - at), "BI", 2)) != NULL) {
    if ((at == bytes || !content_is_regular(at[-1])) &&
        (at + 2 == end || !content_is_regular(at[2])))
      return true;
    at += 2;
  }
  return false;
}

/* The operators of ISO 32000-1, annex A: if "f*" is truncated, "f" is an
 * operator, too; but "r" of "rg" is not. */
static const char content_operators[] =
    " b b* B B* BDC BMC BT BX c cm CS cs d d0 d1 Do DP EI EMC ET EX f f* F G "
    "g gs h i j J K k l m M MP n q Q re RG rg ri s S SC sc SCN scn sh T* Tc "
    "Td TD Tf Tj TJ TL Tm Tr Ts Tw Tz v w W W* y ' \" ";

/* Those that open something, and close it again. */
#define SECTIONS 4
static const char *const content_opens[SECTIONS] = {" q ", " BT ", " BX ",
                                                    " BMC BDC "};
static const char *const content_closes[SECTIONS] = {" Q ", " ET ", " EX ",
                                                     " EMC "};

enum dx_reason content_check(const unsigned char *bytes, size_t len,
                             bool ended_early, content_image *image, void *ctx)
{
  struct content c = {.at = bytes, .end = bytes + len};
  long long open[SECTIONS] = {0};
  enum token token = TOKEN_OPERAND;
  bool complete = false;
  int i;

  if (!ended_early && !content_may_have_images(bytes, len))
    return DX_REASON_NONE;
  while ((token = content_next(&c)) > TOKEN_CUT) {
    complete = ended_early && token == TOKEN_OPERATOR &&
               content_is_word(&c, content_operators);
    for (i = 0; i < SECTIONS && complete; i++) {
      if (content_is_word(&c, content_opens[i]))
        open[i]++;
      if (content_is_word(&c, content_closes[i]) && open[i] > 0)
        open[i]--;
    }
    if (token == TOKEN_OPERATOR && content_is_word(&c, " BI ")) {
      enum dx_reason reason = content_read_image(&c, image, ctx);

      if (reason != DX_REASON_NONE)
        return reason;
      complete = true;
    }
  }
  for (i = 0; i < SECTIONS; i++)
    complete = complete && open[i] == 0;
  return !ended_early || (complete && token == TOKEN_END && c.brackets == 0)
             ? DX_REASON_NONE
             : DX_REASON_DAMAGED;
}
