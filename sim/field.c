/*
 * field.c - finds patient and laboratory values in the text of a page.
 */
#include "sim/field.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LINE_BYTES 2048u
#define LABELS_MAX 16u

enum what { NAME, FIRST, LAST, MRN, DOB };

struct label {
  const char *words; /* a blank stands for one or more */
  enum what what;
  bool needs_colon;  /* else a value with a digit in it will do */
  bool column_start; /* "Name:" counts, "Physician name:" does not */
};

static const struct label labels[] = {
    {"patient name", NAME, true, false},
    {"patient", NAME, true, true},
    {"name", NAME, true, true},
    {"first name", FIRST, true, false},
    {"last name", LAST, true, false},
    {"medical record number", MRN, false, false},
    {"mrn", MRN, false, false},
    {"date of birth", DOB, false, false},
    {"dob", DOB, false, false},
    {"born", DOB, true, false}, /* without a colon it may be a surname */
};

#define N_LABELS (sizeof(labels) / sizeof(labels[0]))

/* Longer names first: the first that fits counts. */
static const char *const wbc_names[] = {
    "white blood cell count",
    "white blood cells count",
    "white blood cells",
    "white blood cell",
    "wbc count",
    "wbc",
    "leukocytes",
    "leucocytes",
    NULL,
};
static const char *const hemoglobin_names[] = {
    "hemoglobin", "haemoglobin", "hgb", "hb", NULL,
};

/* A label found in a line, and where its value starts. */
struct found {
  const struct label *label;
  const char *start;
  const char *value;
};

static bool is_word_char(char c)
{
  return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static const char *skip_blanks(const char *p)
{
  return p + strspn(p, " ");
}

static void copy_text(char *ret, size_t size, const char *from, size_t len)
{
  if (len >= size)
    len = size - 1;
  memcpy(ret, from, len);
  ret[len] = '\0';
}

/* The end of `words` at p; NULL if they are not there as whole words. */
static const char *match_words(const char *p, const char *words)
{
  for (; *words != '\0'; words++) {
    if (*words == ' ') {
      if (*p != ' ')
        return NULL;
      p = skip_blanks(p);
    } else if (tolower((unsigned char)*p) != *words) {
      return NULL;
    } else {
      p++;
    }
  }
  return is_word_char(*p) ? NULL : p;
}

static bool token_has_digit(const char *p)
{
  return strcspn(p, "0123456789") < strcspn(p, " ");
}

/* Where the value of `label` starts if the label is at p; else NULL. */
static const char *match_label(const char *line, const char *p,
                               const struct label *label)
{
  const char *end;

  if (label->column_start && p != line &&
      !(p - line >= 2 && p[-1] == ' ' && p[-2] == ' '))
    return NULL;
  end = match_words(p, label->words);
  if (end == NULL)
    return NULL;
  end = skip_blanks(end);
  if (*end == '#') /* "MRN #:" */
    end = skip_blanks(end + 1);
  if (*end == ':')
    return skip_blanks(end + 1);
  return !label->needs_colon && token_has_digit(end) ? end : NULL;
}

static bool find_label(const char *line, const char *p, struct found *ret)
{
  if (p != line && is_word_char(p[-1]))
    return false;
  for (size_t i = 0; i < N_LABELS; i++) {
    const char *value = match_label(line, p, &labels[i]);

    if (value != NULL) {
      *ret = (struct found){&labels[i], p, value};
      return true;
    }
  }
  return false;
}

static size_t find_labels(const char *line, struct found ret[LABELS_MAX])
{
  const char *p = line;
  size_t n = 0;

  while (*p != '\0' && n < LABELS_MAX)
    if (find_label(line, p, &ret[n]))
      p = ret[n++].value;
    else
      p++;
  return n;
}

/* The length of the value at p: to the next column, at most to `end`. */
static size_t value_len(const char *p, const char *end)
{
  const char *gap = strstr(p, "  ");

  if (gap != NULL && gap < end)
    end = gap;
  while (end > p && end[-1] == ' ')
    end--;
  return (size_t)(end - p);
}

/* "Last, First", or "First Last" parted at the last blank. */
static void take_name(struct sim_fields *f, const char *text)
{
  const char *comma = strchr(text, ',');
  const char *blank = strrchr(text, ' ');
  const char *first;

  if (f->first_name[0] != '\0' || f->last_name[0] != '\0')
    return;
  if (comma != NULL) {
    first = skip_blanks(comma + 1);
    copy_text(f->last_name, sizeof(f->last_name), text, (size_t)(comma - text));
    copy_text(f->first_name, sizeof(f->first_name), first, strlen(first));
  } else if (blank != NULL) {
    copy_text(f->first_name, sizeof(f->first_name), text,
              value_len(text, blank));
    copy_text(f->last_name, sizeof(f->last_name), blank + 1, strlen(blank + 1));
  } else {
    copy_text(f->last_name, sizeof(f->last_name), text, strlen(text));
  }
}

static void take_mrn(struct sim_fields *f, const char *text)
{
  size_t n = 0;

  while (isalnum((unsigned char)text[n]) ||
         (text[n] != '\0' && strchr("-./_", text[n]) != NULL))
    n++;
  if (f->mrn[0] == '\0' && strcspn(text, "0123456789") < n)
    copy_text(f->mrn, sizeof(f->mrn), text, n);
}

/* Accepts 03/07/1984, 3/7/1984 and 1984-03-07. */
static void take_dob(struct sim_fields *f, const char *text)
{
  unsigned y = 0;
  unsigned m = 0;
  unsigned d = 0;
  int n = 0;

  if (f->dob[0] != '\0')
    return;
  if (sscanf(text, "%2u/%2u/%4u%n", &m, &d, &y, &n) != 3 &&
      sscanf(text, "%4u-%2u-%2u%n", &y, &m, &d, &n) != 3)
    return;
  if (is_word_char(text[n]) || m < 1 || m > 12 || d < 1 || d > 31 || y < 1800)
    return;
  (void)snprintf(f->dob, sizeof(f->dob), "%u/%u/%u", m % 100, d % 100,
                 y % 10000);
}

static void take_value(struct sim_fields *f, enum what what, const char *text)
{
  switch (what) {
  case NAME:
    take_name(f, text);
    break;
  case FIRST:
    if (f->first_name[0] == '\0')
      copy_text(f->first_name, sizeof(f->first_name), text, strlen(text));
    break;
  case LAST:
    if (f->last_name[0] == '\0')
      copy_text(f->last_name, sizeof(f->last_name), text, strlen(text));
    break;
  case MRN:
    take_mrn(f, text);
    break;
  case DOB:
    take_dob(f, text);
    break;
  }
}

static void read_labels(const char *line, struct sim_fields *f)
{
  struct found found[LABELS_MAX];
  size_t n = find_labels(line, found);

  for (size_t i = 0; i < n; i++) {
    const char *end = i + 1 < n ? found[i + 1].start : line + strlen(line);
    char text[256];

    copy_text(text, sizeof(text), found[i].value,
              value_len(found[i].value, end));
    if (text[0] != '\0')
      take_value(f, found[i].label->what, text);
  }
}

/*
 * Copies the number at p as JSON wants it: digits, perhaps a point and more
 * digits; zeros in front are left out. Returns its end; NULL when there is
 * none, or when more of the kind follows ("7,20", "1.2.3").
 */
static const char *take_number(const char *p, char *ret, size_t size)
{
  const char *start;
  size_t n;

  while (p[0] == '0' && isdigit((unsigned char)p[1]))
    p++;
  start = p;
  n = strspn(p, "0123456789");
  if (n == 0)
    return NULL;
  if (p[n] == '.' && isdigit((unsigned char)p[n + 1]))
    n += 1 + strspn(p + n + 1, "0123456789");
  p += n;
  if (n >= size || ((*p == '.' || *p == ',') && isdigit((unsigned char)p[1])))
    return NULL;
  copy_text(ret, size, start, n);
  return p;
}

/* Skips "-", an en or em dash, a minus sign, "to", or only blanks. */
static const char *skip_range_sign(const char *p)
{
  static const char *const signs[] = {
      "-", "\xe2\x80\x93", "\xe2\x80\x94", "\xe2\x88\x92", "to ", NULL};
  const char *after = skip_blanks(p);

  for (size_t i = 0; signs[i] != NULL; i++)
    if (strncmp(after, signs[i], strlen(signs[i])) == 0)
      return skip_blanks(after + strlen(signs[i]));
  return after > p ? after : NULL;
}

/* Reads "4.0 - 11.0" at p; its end, or NULL. */
static const char *take_range(const char *p, struct sim_measure *m)
{
  char min[sizeof(m->min)];
  char max[sizeof(m->max)];

  p = take_number(p, min, sizeof(min));
  if (p != NULL)
    p = skip_range_sign(p);
  if (p != NULL)
    p = take_number(p, max, sizeof(max));
  if (p == NULL || strchr(" )],;", *p) == NULL) /* the NUL is found, too */
    return NULL;
  memcpy(m->min, min, sizeof(min));
  memcpy(m->max, max, sizeof(max));
  return p;
}

static bool is_flag(const char *p, size_t len)
{
  static const char *const flags[] = {"H",    "L",    "HH",  "LL",     "*",
                                      "N",    "High", "Low", "Normal", "Ref",
                                      "Ref:", "|",    NULL};

  for (size_t i = 0; flags[i] != NULL; i++)
    if (strlen(flags[i]) == len && strncasecmp(p, flags[i], len) == 0)
      return true;
  return false;
}

/* Takes the unit from a stretch of the row: without flags and brackets. */
static void take_unit(const char *p, const char *end, struct sim_measure *m)
{
  size_t len;

  for (;;) {
    size_t word;

    p = skip_blanks(p);
    if (p >= end)
      return;
    word = strcspn(p, " ");
    if (!is_flag(p, word))
      break;
    p += word;
  }
  len = value_len(p, end);
  len = len < strcspn(p, "([") ? len : strcspn(p, "([");
  len = value_len(p, p + len);
  for (;;) { /* a flag behind the unit */
    size_t last = len;

    while (last > 0 && p[last - 1] != ' ')
      last--;
    if (last == 0 || !is_flag(p + last, len - last))
      break;
    len = value_len(p, p + last);
  }
  copy_text(m->unit, sizeof(m->unit), p, len);
}

/* Reads what follows the value: unit and range, in either order. */
static void take_rest(const char *rest, struct sim_measure *m)
{
  for (const char *p = rest; *p != '\0'; p++) {
    const char *end;

    if (p != rest && strchr(" ([", p[-1]) == NULL)
      continue;
    end = take_range(p, m);
    if (end == NULL)
      continue;
    take_unit(rest, p, m);
    if (m->unit[0] == '\0')
      take_unit(end + strspn(end, ")],;"), end + strlen(end), m);
    return;
  }
  take_unit(rest, rest + strlen(rest), m);
}

/* "Hemoglobin (Hgb): ....": what may stand between a name and its value. */
static const char *skip_to_value(const char *p)
{
  p = skip_blanks(p);
  if (*p == '(' && strchr(p, ')') != NULL)
    p = strchr(p, ')') + 1;
  p += strspn(p, " :|");
  while (p[0] == '.' && !isdigit((unsigned char)p[1]))
    p++;
  return p + strspn(p, " ");
}

static void read_measure(const char *line, const char *const *names,
                         struct sim_measure *m)
{
  struct sim_measure found = {0};
  const char *p;

  line = skip_blanks(line);
  for (; *names != NULL && m->value[0] == '\0'; names++) {
    p = match_words(line, *names);
    if (p == NULL)
      continue;
    p = take_number(skip_to_value(p), found.value, sizeof(found.value));
    if (p == NULL) /* "Hemoglobin A1c" is another measurement */
      continue;
    take_rest(p, &found);
    *m = found;
  }
}

/* Copies a line; tabs and no-break spaces become blanks. */
static void copy_line(const char *from, size_t len, char ret[LINE_BYTES])
{
  size_t n = 0;

  for (size_t i = 0; i < len && n + 2 < LINE_BYTES; i++) {
    bool nbsp = i + 1 < len && memcmp(from + i, "\xc2\xa0", 2) == 0;

    if (from[i] == '\t') {
      ret[n++] = ' ';
      ret[n++] = ' ';
    } else {
      ret[n++] = nbsp || from[i] == '\r' || from[i] == '\0' ? ' ' : from[i];
      i += nbsp;
    }
  }
  ret[n] = '\0';
}

void sim_fields_read(const char *page, size_t len, struct sim_fields *ret)
{
  const char *end = page + len;
  char line[LINE_BYTES];

  *ret = (struct sim_fields){0};
  while (page < end) {
    const char *nl = memchr(page, '\n', (size_t)(end - page));
    const char *stop = nl == NULL ? end : nl;

    copy_line(page, (size_t)(stop - page), line);
    read_labels(line, ret);
    read_measure(line, wbc_names, &ret->wbc);
    read_measure(line, hemoglobin_names, &ret->hemoglobin);
    page = stop + 1;
  }
}

static void fill(char *into, const char *from, size_t size)
{
  if (into[0] == '\0')
    memcpy(into, from, size);
}

void sim_fields_merge(struct sim_fields *into, const struct sim_fields *from)
{
  fill(into->first_name, from->first_name, sizeof(into->first_name));
  fill(into->last_name, from->last_name, sizeof(into->last_name));
  fill(into->mrn, from->mrn, sizeof(into->mrn));
  fill(into->dob, from->dob, sizeof(into->dob));
  if (into->wbc.value[0] == '\0')
    into->wbc = from->wbc;
  if (into->hemoglobin.value[0] == '\0')
    into->hemoglobin = from->hemoglobin;
}
