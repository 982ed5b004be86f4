/*
 * fields.c - finds patient and laboratory values in the text of a page.
 */
#include "sim/sim.h"

#include <ctype.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* POSIX has no \b: these match before and after a word. */
#define BEFORE "(^|[^[:alnum:]\x80-\xff])"
#define AFTER "($|[^[:alnum:]\x80-\xff])"
#define COLON "( *#)?( *: *| +)"
#define COLUMN "([^ ]+( [^ ]+)*)"
#define MRN "(mrn|medical +record +number)"
#define DOB "(date +of +birth|dob)"
#define TOKEN "([[:alnum:]./_-]*[0-9][[:alnum:]./_-]*)"
#define NUMBER "([0-9]+(\\.[0-9]+)?)"
#define DASH "( *(-|\u2013|\u2014|\u2212|to ) *| +)"
/* "Hemoglobin (Hgb): .... 13.5", but not "Hemoglobin A1c 5.6" or "4,5" */
#define MEASURED "( *\\([^)]*\\))?[ :|.]+" NUMBER "($|[^0-9.,]|[.,]($|[^0-9]))"
#define GROUPS_MAX 10

enum pattern {
  NAME,
  FIRST_NAME,
  LAST_NAME,
  RECORD_NUMBER,
  BIRTH,
  WBC,
  HEMOGLOBIN,
  RANGE,
  NEXT_LABEL,
  FLAG,
  SEPARATOR,
  PATTERNS
};

static struct {
  const char *text;
  size_t value; /* the group that is the value */
  regex_t regex;
} patterns[PATTERNS] = {
#define ROW(name, value, text) [name] = {text, value, {0}}
    ROW(NAME, 5, "(" BEFORE "patient +name|(^|  )(patient|name)) *: *" COLUMN),
    ROW(FIRST_NAME, 2, BEFORE "first +name *: *" COLUMN),
    ROW(LAST_NAME, 2, BEFORE "last +name *: *" COLUMN),
    ROW(RECORD_NUMBER, 5, BEFORE MRN COLON TOKEN),
    ROW(BIRTH, 6,
        BEFORE "(" DOB COLON "|born *: *)([0-9]+[/-][0-9]+[/-][0-9]+)" AFTER),
    ROW(WBC, 5,
        "^ *((white +blood +cells?|wbc)( +count)?|leu[ck]ocytes)" MEASURED),
    ROW(HEMOGLOBIN, 3, "^ *(ha?emoglobin|hgb|hb)" MEASURED),
    ROW(RANGE, 0, "(^|[ ([])" NUMBER DASH NUMBER "($|[] ),;])"),
    ROW(NEXT_LABEL, 0,
        " +((" MRN "|" DOB ")( *#)? *(:|[^ ]*[0-9])|"
        "born *:|((patient|first|last) +)?name *:)"),
    ROW(FLAG, 0, "^(hh?|ll?|n|\\*|high|low|normal|ref:?)$"),
    ROW(SEPARATOR, 0, "DOCEXTRACT[[:space:]]+CASE[[:space:]]+SEPARATOR"),
#undef ROW
};

static void compile_patterns(void)
{
  for (size_t i = 0; i < PATTERNS; i++)
    if (regcomp(&patterns[i].regex, patterns[i].text,
                REG_EXTENDED | (i == SEPARATOR ? 0 : REG_ICASE)) != 0)
      abort();
}

static bool match(enum pattern p, const char *text, regmatch_t *ret_groups)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  (void)pthread_once(&once, compile_patterns);
  return regexec(&patterns[p].regex, text, GROUPS_MAX, ret_groups, 0) == 0;
}

/* Returns a copy of the value, or NULL. */
static char *find(enum pattern p, const char *line)
{
  regmatch_t groups[GROUPS_MAX];
  const regmatch_t *value = &groups[patterns[p].value];

  if (!match(p, line, groups))
    return NULL;
  return strndup(line + value->rm_so, (size_t)(value->rm_eo - value->rm_so));
}

bool sim_fields_separator(const char *page)
{
  regmatch_t unused[GROUPS_MAX];

  return match(SEPARATOR, page, unused);
}

static void add_text(cJSON *values, const char *name, const char *text)
{
  if (text != NULL && *text != '\0' && !cJSON_HasObjectItem(values, name))
    (void)cJSON_AddStringToObject(values, name, text);
}

/* The same, and frees `text`. */
static void take_text(cJSON *values, const char *name, char *text)
{
  add_text(values, name, text);
  free(text);
}

/* Finds a name, and truncates it where another label begins. */
static char *find_name(enum pattern p, const char *line)
{
  char *name = find(p, line);
  regmatch_t groups[GROUPS_MAX];

  if (name != NULL && match(NEXT_LABEL, name, groups))
    name[groups[0].rm_so] = '\0';
  return name;
}

/* Reads "Last, First", or "First Last", split at the last space. */
static void read_name(cJSON *values, const char *line)
{
  char *text = find_name(NAME, line);
  char *first = text;
  char *last;

  if (text == NULL || cJSON_HasObjectItem(values, "patient_first_name") ||
      cJSON_HasObjectItem(values, "patient_last_name")) {
    free(text);
    return;
  }
  last = strchr(text, ',');
  if (last != NULL) {
    *last = '\0';
    first = last + 1 + strspn(last + 1, " ");
    last = text;
  } else if ((last = strrchr(text, ' ')) != NULL) {
    *last++ = '\0';
  } else {
    last = text;
    first = NULL;
  }
  add_text(values, "patient_first_name", first);
  add_text(values, "patient_last_name", last);
  free(text);
}

/* Accepts 03/07/1984, 3/7/1984, and 1984-03-07. */
static void read_birth(cJSON *values, const char *line)
{
  char *text = find(BIRTH, line);
  unsigned y = 0;
  unsigned m = 0;
  unsigned d = 0;
  char date[40];

  if (text != NULL && (sscanf(text, "%u/%u/%u", &m, &d, &y) == 3 ||
                       sscanf(text, "%u-%u-%u", &y, &m, &d) == 3)) {
    (void)snprintf(date, sizeof(date), "%u/%u/%u", m, d, y);
    if (m >= 1 && m <= 12 && d >= 1 && d <= 31 && y >= 1800 && y <= 9999)
      add_text(values, "patient_dob", date);
  }
  free(text);
}

/* Adds a number with all digits but leading zeros, which JSON forbids: 013.50
 * becomes 13.50. */
static void add_number(cJSON *to, const char *name, const char *line,
                       const regmatch_t *group)
{
  char *text =
      strndup(line + group->rm_so, (size_t)(group->rm_eo - group->rm_so));
  const char *p = text;

  while (p != NULL && p[0] == '0' && isdigit((unsigned char)p[1]))
    p++;
  if (p != NULL)
    (void)cJSON_AddRawToObject(to, name, p);
  free(text);
}

/* Adds the first word between `from` and `end` that is not a flag. */
static void add_unit(cJSON *to, const char *from, const char *end)
{
  char *text = strndup(from, (size_t)(end - from));
  char *rest = NULL;
  char *word = text == NULL ? NULL : strtok_r(text, " |", &rest);
  regmatch_t unused[GROUPS_MAX];

  while (word != NULL && match(FLAG, word, unused))
    word = strtok_r(NULL, " |", &rest);
  if (word != NULL)
    word[strcspn(word, "([")] = '\0';
  add_text(to, "measurement_unit", word);
  free(text);
}

static void read_measure(cJSON *values, enum pattern p, const char *name,
                         const char *line)
{
  regmatch_t groups[GROUPS_MAX];
  const char *rest;
  cJSON *measure;

  if (cJSON_HasObjectItem(values, name) || !match(p, line, groups))
    return;
  measure = cJSON_AddObjectToObject(values, name);
  add_number(measure, "value", line, &groups[patterns[p].value]);
  rest = line + groups[patterns[p].value].rm_eo;
  if (match(RANGE, rest, groups)) {
    cJSON *range = cJSON_CreateObject();

    add_unit(measure, rest, rest + groups[0].rm_so);
    add_unit(measure, rest + groups[0].rm_eo, rest + strlen(rest));
    add_number(range, "min", rest, &groups[2]);
    add_number(range, "max", rest, &groups[6]);
    (void)cJSON_AddItemToObject(measure, "range", range);
  } else {
    add_unit(measure, rest, rest + strlen(rest));
  }
}

/* Replaces tabs, carriage returns, and no-break spaces with spaces. */
static void clean(char *page)
{
  char *to = page;

  for (const char *p = page; *p != '\0'; p++) {
    bool nbsp = p[0] == '\xc2' && p[1] == '\xa0';

    *to++ = nbsp || *p == '\t' || *p == '\r' ? ' ' : *p;
    p += nbsp;
  }
  *to = '\0';
}

cJSON *sim_fields_read(char *page)
{
  cJSON *values = cJSON_CreateObject();
  const char *line;

  clean(page);
  while ((line = strsep(&page, "\n\f")) != NULL) {
    read_name(values, line);
    take_text(values, "patient_first_name", find_name(FIRST_NAME, line));
    take_text(values, "patient_last_name", find_name(LAST_NAME, line));
    take_text(values, "patient_mrn", find(RECORD_NUMBER, line));
    read_birth(values, line);
    read_measure(values, WBC, "wbc_count", line);
    read_measure(values, HEMOGLOBIN, "hemoglobin", line);
  }
  return values;
}
