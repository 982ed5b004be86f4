/*
 * extract.c - extracts cases, their documents, and patient and laboratory
 * values from a file.
 */
#include "sim/sim.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- values on a page, in the format of `pdftotext -layout` ---- */

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

static bool pattern_match(enum pattern p, const char *text,
                          regmatch_t *ret_groups)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  (void)pthread_once(&once, compile_patterns);
  return regexec(&patterns[p].regex, text, GROUPS_MAX, ret_groups, 0) == 0;
}

/* Returns a copy of the value, or NULL. */
static char *pattern_find(enum pattern p, const char *line)
{
  regmatch_t groups[GROUPS_MAX];
  const regmatch_t *value = &groups[patterns[p].value];

  if (!pattern_match(p, line, groups))
    return NULL;
  return strndup(line + value->rm_so, (size_t)(value->rm_eo - value->rm_so));
}

/* Frees `text`, which may be NULL. */
static void values_add_text(cJSON *values, const char *name, char *text)
{
  if (text != NULL && *text != '\0' && !cJSON_HasObjectItem(values, name))
    (void)cJSON_AddStringToObject(values, name, text);
  free(text);
}

/* Finds a name, and truncates it where another label begins. */
static char *pattern_find_name(enum pattern p, const char *line)
{
  char *name = pattern_find(p, line);
  regmatch_t groups[GROUPS_MAX];

  if (name != NULL && pattern_match(NEXT_LABEL, name, groups))
    name[groups[0].rm_so] = '\0';
  return name;
}

/* Reads "Last, First", or "First Last", split at the last space. */
static void values_read_name(cJSON *values, const char *line)
{
  char *text = pattern_find_name(NAME, line);
  char *comma, *space;

  if (text == NULL || cJSON_HasObjectItem(values, "patient_first_name") ||
      cJSON_HasObjectItem(values, "patient_last_name")) {
    free(text);
    return;
  }
  comma = strchr(text, ',');
  space = strrchr(text, ' ');
  if (comma != NULL) {
    values_add_text(values, "patient_first_name",
                    strdup(comma + 1 + strspn(comma + 1, " ")));
    *comma = '\0';
  } else if (space != NULL) {
    values_add_text(values, "patient_first_name",
                    strndup(text, (size_t)(space - text)));
    memmove(text, space + 1, strlen(space + 1) + 1);
  }
  values_add_text(values, "patient_last_name", text);
}

/* Accepts 03/07/1984, 3/7/1984, and 1984-03-07. */
static void values_read_birth(cJSON *values, const char *line)
{
  char *text = pattern_find(BIRTH, line);
  unsigned y = 0, m = 0, d = 0;

  if (text != NULL &&
      (sscanf(text, "%u/%u/%u", &m, &d, &y) == 3 ||
       sscanf(text, "%u-%u-%u", &y, &m, &d) == 3) &&
      m >= 1 && m <= 12 && d >= 1 && d <= 31 && y >= 1800 && y <= 9999)
    values_add_text(values, "patient_dob", sim_text("%u/%u/%u", m, d, y));
  free(text);
}

/* Adds a number with all digits but leading zeros, which JSON forbids: 013.50
 * becomes 13.50. */
static void values_add_number(cJSON *to, const char *name, const char *line,
                              const regmatch_t *group)
{
  char *text = sim_new(
      strndup(line + group->rm_so, (size_t)(group->rm_eo - group->rm_so)));
  const char *p = text;

  while (p[0] == '0' && isdigit((unsigned char)p[1]))
    p++;
  (void)cJSON_AddRawToObject(to, name, p);
  free(text);
}

/* Adds the first word between `from` and `end` that is not a flag. */
static void values_add_unit(cJSON *to, const char *from, const char *end)
{
  char *text = sim_new(strndup(from, (size_t)(end - from)));
  char *rest = NULL;
  const char *word = strtok_r(text, " |", &rest);
  regmatch_t unused[GROUPS_MAX];

  while (word != NULL && pattern_match(FLAG, word, unused))
    word = strtok_r(NULL, " |", &rest);
  if (word != NULL)
    values_add_text(to, "measurement_unit", strndup(word, strcspn(word, "([")));
  free(text);
}

static void values_read_measure(cJSON *values, enum pattern p, const char *name,
                                const char *line)
{
  regmatch_t groups[GROUPS_MAX];
  const char *rest;
  cJSON *measure;

  if (cJSON_HasObjectItem(values, name) || !pattern_match(p, line, groups))
    return;
  measure = cJSON_AddObjectToObject(values, name);
  values_add_number(measure, "value", line, &groups[patterns[p].value]);
  rest = line + groups[patterns[p].value].rm_eo;
  if (pattern_match(RANGE, rest, groups)) {
    cJSON *range = cJSON_CreateObject();

    values_add_unit(measure, rest, rest + groups[0].rm_so);
    values_add_unit(measure, rest + groups[0].rm_eo, rest + strlen(rest));
    values_add_number(range, "min", rest, &groups[2]);
    values_add_number(range, "max", rest, &groups[6]);
    (void)cJSON_AddItemToObject(measure, "range", range);
  } else {
    values_add_unit(measure, rest, rest + strlen(rest));
  }
}

/* Replaces tabs, carriage returns, and no-break spaces with spaces. */
static void page_clean(char *page)
{
  char *to = page;

  for (const char *p = page; *p != '\0'; p++) {
    bool nbsp = p[0] == '\xc2' && p[1] == '\xa0';

    *to++ = nbsp || *p == '\t' || *p == '\r' ? ' ' : *p;
    p += nbsp;
  }
  *to = '\0';
}

/* Returns the values on a page, unchanged, under the names of the interface; of
 * several values with one name, the first. Splits `page` into lines. */
static cJSON *page_read_values(char *page)
{
  cJSON *values = cJSON_CreateObject();
  const char *line;

  page_clean(page);
  while ((line = strsep(&page, "\n\f")) != NULL) {
    values_read_name(values, line);
    values_add_text(values, "patient_first_name",
                    pattern_find_name(FIRST_NAME, line));
    values_add_text(values, "patient_last_name",
                    pattern_find_name(LAST_NAME, line));
    values_add_text(values, "patient_mrn", pattern_find(RECORD_NUMBER, line));
    values_read_birth(values, line);
    values_read_measure(values, WBC, "wbc_count", line);
    values_read_measure(values, HEMOGLOBIN, "hemoglobin", line);
  }
  return values;
}

/* ---- documents and cases ---- */

/* A case that is being read. */
struct draft {
  const char *source_id;
  cJSON *cases;
  cJSON *data;     /* medical_data: document ids and documents; or NULL */
  cJSON *document; /* the current one, in `data` */
};

static cJSON *draft_add_document(struct draft *d)
{
  char id[SIM_ID_BYTES];

  sim_id_new(id);
  if (d->data == NULL)
    d->data = cJSON_CreateObject();
  d->document = cJSON_AddObjectToObject(d->data, id);
  return d->document;
}

/* Makes the document with this record number the current one. */
static cJSON *draft_select_document(struct draft *d, const char *mrn)
{
  cJSON *doc;

  if (d->data == NULL)
    return draft_add_document(d);
  if (*mrn == '\0' || *sim_text_of(d->document, "patient_mrn") == '\0')
    return d->document;
  cJSON_ArrayForEach(doc, d->data)
  {
    if (strcmp(sim_text_of(doc, "patient_mrn"), mrn) == 0)
      return d->document = doc;
  }
  return draft_add_document(d);
}

/* Moves the values of a page to its document, unless it already has them. */
static void draft_add_page(struct draft *d, char *page)
{
  cJSON *values = page_read_values(page);
  cJSON *doc = draft_select_document(d, sim_text_of(values, "patient_mrn"));

  while (values != NULL && values->child != NULL) {
    cJSON *item = cJSON_DetachItemViaPointer(values, values->child);

    if (cJSON_HasObjectItem(doc, item->string) ||
        !cJSON_AddItemToObject(doc, item->string, item))
      cJSON_Delete(item);
  }
  cJSON_Delete(values);
}

/* Turns the draft into a case if it has any pages. */
static void draft_close_case(struct draft *d)
{
  const char *last, *first;
  cJSON *result;
  char id[SIM_ID_BYTES];
  char name[512];

  if (d->data == NULL)
    return;
  last = sim_text_of(d->data->child, "patient_last_name");
  first = sim_text_of(d->data->child, "patient_first_name");
  (void)snprintf(name, sizeof(name), "%s%s%s", last,
                 *last != '\0' && *first != '\0' ? ", " : "", first);
  if (*name == '\0')
    (void)snprintf(name, sizeof(name), "Case %d",
                   cJSON_GetArraySize(d->cases) + 1);
  sim_id_new(id);
  result = cJSON_CreateObject();
  (void)cJSON_AddStringToObject(result, "status", "complete");
  (void)cJSON_AddStringToObject(result, "id", id);
  (void)cJSON_AddStringToObject(result, "source_id", d->source_id);
  (void)cJSON_AddStringToObject(result, "case_name", name);
  (void)cJSON_AddItemToObject(result, "medical_data", d->data);
  (void)cJSON_AddItemToArray(d->cases, result);
  d->data = NULL;
}

/* The text is next to the file while it is read, under a hidden name. Like the
 * file, only this user can read it. */
static bool draft_read_pdf(const char *path, struct draft *d)
{
  char *name = sim_text("%s/.text-XXXXXX", sim_service.data_dir);
  const char *argv[] = {"timeout",   "-s",      "KILL", "60",
                        "pdftotext", "-layout", "-q",   "-enc",
                        "UTF-8",     path,      name,   NULL};
  regmatch_t unused[GROUPS_MAX];
  char *page = NULL;
  size_t size = 0;
  int fd = mkostemp(name, O_CLOEXEC), status = -1;
  bool is_read;
  FILE *text;
  pid_t pid;

  if (fd < 0)
    warn("cannot store the text of a file");
  else if ((errno = posix_spawnp(&pid, argv[0], NULL, NULL, (char **)argv,
                                 environ)) != 0)
    warn("cannot run pdftotext");
  else
    (void)waitpid(pid, &status, 0);
  if (fd >= 0)
    (void)close(fd);
  text = status == 0 ? fopen(name, "re") : NULL;
  is_read = text != NULL;
  while (is_read && getdelim(&page, &size, '\f', text) > 0)
    if (pattern_match(SEPARATOR, page, unused))
      draft_close_case(d);
    else
      draft_add_page(d, page);
  free(page);
  if (is_read)
    (void)fclose(text);
  (void)unlink(name);
  free(name);
  return is_read;
}

bool sim_extract(const char *path, const char *content_type,
                 const char *source_id, cJSON *cases)
{
  struct draft d = {.source_id = source_id, .cases = cases};
  bool good = true;

  if (strcmp(content_type, "application/pdf") == 0)
    good = draft_read_pdf(path, &d);
  else
    (void)draft_add_document(&d);
  draft_close_case(&d);
  return good;
}
