/*
 * pdf_file.c - finds the header, the end, and the objects of a PDF in its
 * bytes.
 */
#include "filter/pdf_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 10 /* of a number: of an object, or of its generation */
#define HEADER_MAX 40 /* bytes of the header of an object */
#define BLANKS_MAX 64 /* before a table; 22 in the PDFs of Acrobat 5 */

struct pdf_file_object {
  const char *start, *after; /* of its header */
  int number, generation;
};

static bool file_is_space(char c)
{
  return c == '\0' || strchr("\t\n\f\r ", c) != NULL;
}

static bool file_is_line_end(char c)
{
  return c == '\n' || c == '\r';
}

static bool file_is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* Ends a word: white space, or a delimiter. */
static bool file_is_regular(char c)
{
  return !file_is_space(c) && strchr("()<>[]{}/%", c) == NULL;
}

static bool file_at(const char *at, const char *end, const char *text)
{
  return (size_t)(end - at) >= strlen(text) &&
         memcmp(at, text, strlen(text)) == 0;
}

static const char *file_find(const char *at, const char *end, const char *text)
{
  return memmem(at, (size_t)(end - at), text, strlen(text));
}

static const char *file_find_last(const char *bytes, const char *end,
                                  const char *text)
{
  const char *at = end;

  do {
    at = memrchr(bytes, text[0], (size_t)(at - bytes));
  } while (at != NULL && !file_at(at, end, text));
  return at;
}

static const char *file_skip_space(const char *at, const char *end)
{
  while (at < end && file_is_space(*at))
    at++;
  return at;
}

static const char *file_skip_digits(const char *at, const char *end)
{
  while (at < end && file_is_digit(*at))
    at++;
  return at;
}

/* Skips white space and comments. */
static const char *file_skip(const char *at, const char *end)
{
  for (;;) {
    at = file_skip_space(at, end);
    if (at == end || *at != '%')
      return at;
    while (at < end && !file_is_line_end(*at))
      at++;
  }
}

/* The digits before `at`, and their value. NULL if there are none, or if the
 * number is too large. */
static const char *file_number_before(const char *begin, const char *at,
                                      int *ret_value)
{
  const char *first = at, *digit;
  long long value = 0;

  while (first > begin && file_is_digit(first[-1]) && at - first <= DIGITS_MAX)
    first--;
  for (digit = first; digit < at; digit++)
    value = value * 10 + (*digit - '0');
  *ret_value = (int)value;
  return first == at || value > INT_MAX ? NULL : first;
}

/* The header of an object that ends with the "obj" at `word`. */
static bool file_object_at(const char *begin, const char *word, const char *end,
                           struct pdf_file_object *ret)
{
  const char *at = word, *before;

  ret->after = word + strlen("obj");
  if (ret->after < end && file_is_regular(*ret->after))
    return false;
  while (at > begin && file_is_space(at[-1]))
    at--;
  before = file_number_before(begin, at, &ret->generation);
  if (at == word || before == NULL)
    return false;
  at = before;
  while (at > begin && file_is_space(at[-1]))
    at--;
  ret->start = file_number_before(begin, at, &ret->number);
  return at != before && ret->start != NULL;
}

/* The next object from `at`. */
static bool file_next_object(const char *at, const char *end,
                             struct pdf_file_object *ret)
{
  const char *word = at;

  while ((word = file_find(word, end, "obj")) != NULL) {
    if (file_object_at(at, word, end, ret))
      return true;
    word++;
  }
  return false;
}

/* True if a file that ends here may have been cut in the header of an object:
 * "12", "12 0", "12 0 ob". */
static bool file_is_cut_header(const char *at, const char *end)
{
  int number;

  if (at == end || !file_is_digit(*at))
    return false;
  for (number = 0; number < 2; number++) {
    at = file_skip_digits(at, end);
    if (at < end && *at != ' ' && *at != '\t')
      return false;
    while (at < end && (*at == ' ' || *at == '\t'))
      at++;
  }
  return (size_t)(end - at) <= strlen("obj") &&
         memcmp(at, "obj", (size_t)(end - at)) == 0;
}

/* ---- where it begins ---- */

/* The first object, as a PDF has them, but hardly any text about PDF: at the
 * start of a line and not in a sentence, or a dictionary. */
static bool file_first_object(const char *bytes, const char *end,
                              struct pdf_file_object *ret)
{
  const char *at = bytes;

  while (file_next_object(at, end, ret)) {
    const char *value = file_skip(ret->after, end);
    bool in_sentence = value < end && ((*value >= 'a' && *value <= 'z') ||
                                       (*value >= 'A' && *value <= 'Z'));

    if (file_at(value, end, "<<") ||
        ((ret->start == bytes || file_is_line_end(ret->start[-1])) &&
         !in_sentence))
      return true;
    at = ret->after;
  }
  return false;
}

/* "%PDF-1.7", and the end of the line. */
static bool file_is_header(const char *at, const char *end)
{
  static const char header[] = "%PDF-1.7";
  const char *rest = at + strlen(header);

  if (rest > end || !file_at(at, end, "%PDF-") || !file_is_digit(at[5]) ||
      at[6] != '.' || !file_is_digit(at[7]))
    return false;
  while (rest < end && (*rest == ' ' || *rest == '\t'))
    rest++;
  return rest == end || file_is_line_end(*rest);
}

/* The last header before the first object; else the last line that may have
 * been one, and is damaged. NULL if there is none. */
static const char *file_header_before(const char *bytes, const char *end)
{
  const char *header = NULL, *damaged = NULL, *at = bytes;

  for (; (at = file_find(at, end, "%PDF")) != NULL; at++) {
    if (file_is_header(at, end))
      header = at;
    else if (at == bytes || (unsigned char)at[-1] < ' ' ||
             (unsigned char)at[-1] >= 0x7F)
      damaged = at;
  }
  return header != NULL ? header : damaged;
}

/* True if a PDF is cut before its first object ends its header: behind the
 * header there are only comments, and in a file that begins with something
 * else, there must be one with binary data. */
static bool file_is_only_header(const char *bytes, const char *header,
                                const char *end)
{
  const char *rest = file_skip(header, end), *c;

  if (!file_is_header(header, end) ||
      (rest != end && !file_is_cut_header(rest, end)))
    return false;
  for (c = header; c < rest; c++)
    if ((unsigned char)*c >= 0x80)
      return true;
  for (c = bytes; c < header; c++)
    if (strchr("\r\n\xEF\xBB\xBF", *c) == NULL)
      return false;
  return true;
}

bool pdf_file_is(const char *bytes, size_t len, size_t *ret_start)
{
  const char *end = bytes + len, *header = file_find(bytes, end, "%PDF"),
             *table;
  struct pdf_file_object object;

  *ret_start = 0;
  table = file_find_last(bytes, end, "startxref");
  if (header == NULL && table == NULL)
    return false;
  if (!file_first_object(bytes, end, &object)) {
    header = header != NULL ? file_header_before(bytes, end) : NULL;
    if (header == NULL || !file_is_only_header(bytes, header, end))
      return header == bytes && (memchr(bytes, '\0', len) != NULL ||
                                 file_find(bytes, end, "%%EOF") != NULL);
    *ret_start = (size_t)(header - bytes);
    return true;
  }
  header = file_header_before(bytes, object.start);
  if (header != NULL) {
    *ret_start = (size_t)(header - bytes);
    return true;
  }
  if (table == NULL || table < object.start)
    return false;
  table = file_skip_space(table + strlen("startxref"), end);
  return table < end && file_is_digit(*table);
}

/* ---- where it ends ---- */

/* True if there is a table; a version that only removes objects has no more. */
static bool file_has_table(const char *at, const char *end)
{
  for (; (at = file_find(at, end, "\nxref")) != NULL; at++)
    if (file_skip_space(at + strlen("\nxref"), end) != at + strlen("\nxref"))
      return true;
  return false;
}

enum pdf_file_end pdf_file_end(const char *bytes, size_t len, size_t *ret_len)
{
  static const char word[] = "startxref";
  const char *end = bytes + len, *at = file_find_last(bytes, end, word), *line;
  struct pdf_file_object object;

  if (at == NULL)
    return PDF_FILE_CUT;
  at = file_skip_space(at + strlen(word), end);
  if (at == end || !file_is_digit(*at))
    return PDF_FILE_CUT;
  at = file_skip_digits(at, end);
  if (at < end && file_is_regular(*at))
    return PDF_FILE_CUT; /* the number is damaged */
  *ret_len = (size_t)(at - bytes);
  for (line = end; line > at && !file_is_line_end(line[-1]); line--)
    continue;
  if (file_is_cut_header(line, end) || file_has_table(at, end) ||
      file_next_object(at, end, &object))
    return PDF_FILE_CUT;
  if (file_find(at, end, "%%EOF") != NULL)
    return PDF_FILE_ENDS;
  while (at < end && (*at == ' ' || *at == '\t'))
    at++;
  return at < end && file_is_line_end(*at) ? PDF_FILE_UNMARKED : PDF_FILE_CUT;
}

bool pdf_file_has_another(const char *bytes, size_t len)
{
  const char *end = bytes + len, *at = bytes, *last;
  size_t table = 0;

  last = file_find_last(bytes, end, "startxref");
  if (last == NULL)
    return false;
  last = file_skip_space(last + strlen("startxref"), end);
  for (; last < end && file_is_digit(*last) && table < len; last++)
    table = table * 10 + (size_t)(*last - '0');
  while ((at = file_find(at, end, "%%EOF")) != NULL) {
    at = file_skip_space(at + strlen("%%EOF"), end);
    if (file_is_header(at, end) && table < (size_t)(at - bytes))
      return true;
  }
  return false;
}

/* ---- its tables ---- */

/* Corrects the first offset from `at`, if it is before the table that it
 * belongs to, as in pdf_file_fix_offsets(). */
static bool file_fix_offset(char *bytes, size_t len, size_t at)
{
  const char *end = bytes + len, *number = file_skip_space(bytes + at, end);
  const char *rest = file_skip_digits(number, end), *table;
  char digits[sizeof("18446744073709551615")];
  int offset, width;

  if (file_number_before(number, rest, &offset) != number ||
      (size_t)offset >= len)
    return false;
  table = bytes + offset;
  table = file_skip_space(table,
                          end - table > BLANKS_MAX ? table + BLANKS_MAX : end);
  width = snprintf(digits, sizeof(digits), "%zu", (size_t)(table - bytes));
  if (table == bytes + offset || !file_at(table, end, "xref") ||
      width != (int)(rest - number))
    return false;
  memcpy(bytes + (number - bytes), digits, (size_t)width);
  return true;
}

/* Corrects the number at which the table begins whose word ends at `at`, as in
 * pdf_file_fix_offsets(): its second entry is that of object 1. */
static bool file_fix_first(char *bytes, size_t len, size_t at)
{
  static const char free_entry[] = "0000000000 65535 f";
  const char *end = bytes + len, *first = file_skip_space(bytes + at, end);
  const char *entry, *rest;
  size_t start;
  int offset;

  if (!file_at(first, end, "1"))
    return false;
  entry = file_skip_space(first + 1, end);
  rest = file_skip_space(file_skip_digits(entry, end), end);
  if (entry == first + 1 || !file_at(rest, end, free_entry))
    return false;
  entry = file_skip_space(rest + strlen(free_entry), end);
  rest = file_skip_digits(entry, end);
  if (file_number_before(entry, rest, &offset) != entry ||
      !pdf_file_has_object(bytes, len, offset, 1, 0, &start))
    return false;
  bytes[first - bytes] = '0';
  return true;
}

/* Only offsets of a trailer: other dictionaries have a /Prev, too. */
char *pdf_file_fix_offsets(const char *bytes, size_t len)
{
  static const char word[] = "startxref", key[] = "/Prev";
  const char *end = bytes + len, *trailer = bytes, *last, *previous;
  const char *table = bytes;
  char *copy = malloc(len);
  bool changed = false;

  if (copy == NULL)
    return NULL;
  memcpy(copy, bytes, len);
  while ((trailer = file_find(trailer, end, "trailer")) != NULL &&
         (last = file_find(trailer, end, word)) != NULL) {
    previous = file_find(trailer, last, key);
    if (previous != NULL &&
        file_fix_offset(copy, len, (size_t)(previous - bytes) + strlen(key)))
      changed = true;
    if (file_fix_offset(copy, len, (size_t)(last - bytes) + strlen(word)))
      changed = true;
    trailer = last;
  }
  while ((table = file_find(table, end, "xref")) != NULL) {
    bool begins_line = table > bytes && file_is_line_end(table[-1]);

    table += strlen("xref");
    if (begins_line && file_fix_first(copy, len, (size_t)(table - bytes)))
      changed = true;
  }
  if (!changed) {
    free(copy);
    copy = NULL;
  }
  return copy;
}

/* ---- its objects ---- */

bool pdf_file_first_object(const char *bytes, size_t len, int *ret_number,
                           int *ret_generation)
{
  struct pdf_file_object object;

  if (!file_next_object(bytes, bytes + len, &object))
    return false;
  *ret_number = object.number;
  *ret_generation = object.generation;
  return true;
}

bool pdf_file_has_object(const char *bytes, size_t len, long long offset,
                         int number, int generation, size_t *ret_start)
{
  const char *end = bytes + len, *at, *word;
  struct pdf_file_object object;

  if (offset < 0 || (size_t)offset >= len)
    return false;
  at = file_skip_space(bytes + offset, end);
  *ret_start = (size_t)(at - bytes);
  word = file_find(at, end - at > HEADER_MAX ? at + HEADER_MAX : end, "obj");
  return word != NULL && file_object_at(at, word, end, &object) &&
         object.start == at && object.number == number &&
         object.generation == generation;
}

void pdf_file_count(const char *bytes, size_t len,
                    struct pdf_file_copies *copies, size_t count)
{
  const char *at = bytes, *end = bytes + len;
  struct pdf_file_object object;

  for (; file_next_object(at, end, &object); at = object.after)
    if ((size_t)object.number < count) {
      copies[object.number].count++;
      copies[object.number].last = (size_t)(object.start - bytes);
    }
}

bool pdf_file_has_end_between(const char *bytes, size_t len, size_t from,
                              size_t to)
{
  return from < to && to <= len &&
         file_find(bytes + from, bytes + to, "startxref") != NULL;
}

/* True if one of the words, or an object, or the end is here. */
static bool file_may_follow(const char *at, const char *end)
{
  static const char *const words[] = {"xref", "trailer", "startxref", "endobj"};
  struct pdf_file_object object;
  const char *word;
  size_t i;

  at = file_skip(at, end);
  for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
    if (file_at(at, end, words[i]))
      return true;
  word = file_find(at, end - at > HEADER_MAX ? at + HEADER_MAX : end, "obj");
  return at == end || (word != NULL && file_object_at(at, word, end, &object) &&
                       object.start == at);
}

bool pdf_file_has_gap(const char *bytes, size_t len)
{
  static const char word[] = "startxref";
  const char *end = bytes + len, *last = file_find_last(bytes, end, word), *at;

  if (last == NULL || file_find(bytes, end, word) == last)
    return false;
  for (at = bytes; (at = file_find(at, last, "endobj")) != NULL;) {
    at += strlen("endobj");
    if (!file_may_follow(at, end))
      return true;
  }
  for (at = bytes; (at = file_find(at, last, word)) != NULL;) {
    at = file_skip_digits(file_skip_space(at + strlen(word), last), last);
    if (!file_may_follow(at, end))
      return true;
  }
  return false;
}
