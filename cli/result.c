/*
 * result.c - prints a result of the service for people, as a table or as a
 * page. The service defines the fields, so this file only knows the structure
 * of a measurement and the fields of a patient.
 *
 * All data is untrusted. On the page it is only printed by page_print_text().
 * Positions are attributes of SVG, because the policy of the page forbids
 * styles in attributes, and backgrounds are not printed on paper.
 */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/json.h"
#include "lib/base/language.h"
#include "lib/base/utf8.h"

#define RESULT_ADVICE \
  "Extracted automatically; compare the values with the chart"

#define DX_SHOW_MAX_BYTES 8388608 /* of a result shown as a table */

/* Columns of a measurement; FIELD is its name. */
enum { FIELD, VALUE, UNIT, MIN, MAX, COLUMNS };

struct result_row {
  const char *text[COLUMNS];   /* "" if missing */
  long double number[COLUMNS]; /* NaN if it is not one */
  const char *mark; /* "low", "high", or "" if it is in its range, or cannot be
                       compared */
};

enum dx_code result_parse(const struct dx_buf *content, struct cJSON **ret_root,
                          struct dx_err *err)
{
  const struct cJSON *results;
  const char *status;
  struct cJSON *root;
  enum dx_code code = DX_E_DOCUMENT;

  if (content->len > DX_SHOW_MAX_BYTES) /* forty times as large when parsed */
    return dx_fail(err, code, 0,
                   "the result is larger than %d MiB, too large for a table; "
                   "print it with --json",
                   DX_SHOW_MAX_BYTES / 1048576);
  root = dx_json_parse_exact(dx_buf_text(content), content->len, err);
  if (root == NULL && err->code != DX_E_RESPONSE)
    return err->code;
  results = dx_json_get(root, "results");
  status = dx_json_string(dx_json_get(results, "status"));
  if (dx_json_get(results, "medical_data") != NULL ||
      (status != NULL && strcmp(status, "complete") == 0)) { /* maybe empty */
    *ret_root = root;
    return DX_OK;
  }
  if (dx_json_get(root, "outcome") != NULL)
    (void)dx_fail(err, code, 0,
                  "this is the manifest of a job; its results are in the "
                  "other files with this prefix");
  else
    (void)dx_fail(err, code, 0, "this is not a result of the service");
  dx_json_free(&root);
  return code;
}

/* The fields of a patient, in the usual order. */
#define PATIENT_FIELDS 4
#define DATE_OF_BIRTH 3
static const char *const patient_fields[PATIENT_FIELDS + 1] = {
    "patient_first_name", "patient_last_name", "patient_mrn", "patient_dob"};

/* Returns the first of these members that is not in `known`, which ends with
 * NULL; NULL: there is none. */
static const struct cJSON *result_next_other(const struct cJSON *member,
                                             const char *const *known)
{
  size_t i = 0;

  while (member != NULL && known[i] != NULL)
    if (strcmp(dx_json_name(member), known[i++]) == 0) {
      member = dx_json_next(member);
      i = 0;
    }
  return member;
}

static const struct cJSON *result_next_row(const struct cJSON *member)
{
  return result_next_other(member, patient_fields);
}

/* True for a value, and for an object or array that contains one. A result is
 * at most DX_JSON_DEPTH_MAX deep. */
static bool result_has_value(const struct cJSON *json)
{
  const struct cJSON *child =
      dx_json_is_array(json) ? dx_json_first(json) : dx_json_first_member(json);
  const char *text = dx_json_string(json);
  bool yes;

  if (text != NULL || dx_json_bool(json, &yes))
    return text == NULL || text[0] != '\0';
  while (child != NULL && !result_has_value(child))
    child = dx_json_next(child);
  return child != NULL;
}

static bool result_is_empty(const struct cJSON *results)
{
  const struct cJSON *data = dx_json_get(results, "medical_data");

  return dx_json_first_member(data) == NULL || !result_has_value(data);
}

/* A value in one line; an object or array refers to --json. */
static const char *result_text_of(const struct cJSON *json)
{
  const char *text = dx_json_string(json);
  bool yes;

  if (text != NULL)
    return text;
  if (dx_json_bool(json, &yes))
    return yes ? "true" : "false";
  return json == NULL            ? ""
         : dx_json_is_null(json) ? "-"
                                 : dx_label("(see --json)");
}

#define DATE_BYTES 48

/* A date of birth is month/day/year, without zero padding; in most countries,
 * people read it in another order. Returns its ISO form with the text, or only
 * the text if it is no such date. */
static const char *result_date(const char *text, char date[DATE_BYTES])
{
  struct tm tm = {0}, valid;
  char back[DATE_BYTES];

  if (strptime(text, "%m/%d/%Y", &tm) == NULL || tm.tm_year < 1000 - 1900)
    return text;
  (void)snprintf(back, sizeof(back), "%d/%d/%d", tm.tm_mon + 1, tm.tm_mday,
                 tm.tm_year + 1900);
  valid = tm;
  (void)timegm(&valid);
  if (strcmp(text, back) != 0 || valid.tm_mday != tm.tm_mday)
    return text;
  (void)snprintf(date, DATE_BYTES, "%04d-%02d-%02d (%s)", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, text);
  return date;
}

/* An object with a value is a measurement; anything else is a value itself. */
static struct result_row result_make_row(const struct cJSON *member)
{
  const struct cJSON *value = dx_json_get(member, "value");
  const struct cJSON *other = value != NULL ? member : NULL;
  const struct cJSON *range = dx_json_get(other, "range");
  struct result_row row = {
      .text = {dx_json_name(member),
               result_text_of(value != NULL ? value : member),
               result_text_of(dx_json_get(other, "measurement_unit")),
               result_text_of(dx_json_get(range, "min")),
               result_text_of(dx_json_get(range, "max"))}};
  size_t i;

  for (i = 0; i < COLUMNS; i++)
    row.number[i] = dx_json_is_number(row.text[i]) ? strtold(row.text[i], NULL)
                                                   : (long double)NAN;
  row.mark = row.number[VALUE] < row.number[MIN]   ? "low"
             : row.number[VALUE] > row.number[MAX] ? "high"
                                                   : "";
  return row;
}

/* ---- as a table ---- */

static void table_row(const struct result_row *row, const size_t width[COLUMNS])
{
  size_t left = 2; /* blanks before the next text: none follow the last */
  size_t i;

  for (i = 0; i < COLUMNS; i++) {
    if (row->text[i][0] != '\0') {
      printf("%*s", (int)left, "");
      left = 0;
      cli_print_plain(row->text[i]);
    }
    left += width[i] + 2 - cli_count_columns(row->text[i]);
  }
  if (row->mark[0] != '\0') {
    printf("%*s", (int)left, "");
    cli_print_word(dx_label(row->mark), false);
  }
  printf("\n");
}

static void table_patient(const struct cJSON *document)
{
  static const char *const before[] = {" ", " ", ", MRN ", ", born "};
  char date[DATE_BYTES];
  size_t i;

  (void)fputs(dx_label("Patient:"), stdout);
  for (i = 0; i < PATIENT_FIELDS; i++) {
    const struct cJSON *field = dx_json_get(document, patient_fields[i]);

    if (field == NULL)
      continue;
    (void)fputs(dx_label(before[i]), stdout);
    cli_print_plain(i == DATE_OF_BIRTH
                        ? result_date(result_text_of(field), date)
                        : result_text_of(field));
  }
  printf("\n");
}

static void table_rows(const struct cJSON *document)
{
  const struct result_row header = {
      .text = {dx_label("FIELD"), dx_label("VALUE"), dx_label("UNIT"),
               dx_label("MIN"), dx_label("MAX")},
      .mark = ""};
  const struct cJSON *first = result_next_row(dx_json_first_member(document));
  const struct cJSON *member;
  size_t width[COLUMNS], i;

  if (first == NULL)
    return;
  for (i = 0; i < COLUMNS; i++)
    width[i] = cli_count_columns(header.text[i]);
  for (member = first; member; member = result_next_row(dx_json_next(member))) {
    const struct result_row row = result_make_row(member);

    for (i = 0; i < COLUMNS; i++)
      if (cli_count_columns(row.text[i]) > width[i])
        width[i] = cli_count_columns(row.text[i]);
  }
  table_row(&header, width);
  for (member = first; member; member = result_next_row(dx_json_next(member))) {
    const struct result_row row = result_make_row(member);

    table_row(&row, width);
  }
}

void result_print_table(const struct cJSON *results)
{
  const struct cJSON *document =
      dx_json_first_member(dx_json_get(results, "medical_data"));
  const char *name = result_text_of(dx_json_get(results, "case_name"));

  printf("%s ", dx_label("Case"));
  cli_print_plain(result_text_of(dx_json_get(results, "id")));
  printf("%s", name[0] != '\0' ? ": " : "");
  cli_print_plain(name);
  printf("\n");
  if (result_is_empty(results)) {
    printf("%s\n", dx_label("Nothing was found in it"));
    return;
  }
  for (; document != NULL; document = dx_json_next(document)) {
    printf("\n%s ", dx_label("Document"));
    cli_print_plain(dx_json_name(document));
    printf("\n");
    table_patient(document);
    table_rows(document);
  }
  printf("\n%s\n", dx_label(RESULT_ADVICE));
}

/* ---- as a page ---- */

void result_begin_page(void)
{
  const char *language = dx_label("en"), *title = dx_label("Extracted values");
  const char *const parts[] = {
#include "cli/show.html.inc" /* of show.html, by cli/local.mk */
  };
  size_t i;

  for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
    (void)fputs(parts[i], stdout);
}

void result_end_page(void)
{
  printf("</main>\n</body>\n</html>\n");
}

/* Like cli_print_plain(), but escapes markup and quotation marks. */
static void page_print_text(const char *text)
{
  static const char special[] = "&<>\"'";
  static const char *const escapes[] = {"&amp;", "&lt;", "&gt;", "&quot;",
                                        "&#39;"};

  while (*text != '\0') {
    const char *at = strchr(special, *text);

    if (at != NULL)
      (void)fputs(escapes[at - special], stdout);
    text += at != NULL ? 1 : cli_print_character(text);
  }
}

/* Isolates right-to-left text, so that it does not move adjacent text. */
static void page_print_apart(const char *before, const char *text,
                             const char *after)
{
  printf("%s<bdi>", before);
  page_print_text(text);
  printf("</bdi>%s", after);
}

void result_print_note(const char *text)
{
  printf("<p class=\"note\">");
  page_print_text(text);
  printf("</p>\n");
}

static void page_print_value(const char *before, const struct cJSON *value,
                             const char *after);

static void page_print_members(const struct cJSON *object,
                               const char *const *known)
{
  const struct cJSON *member =
      result_next_other(dx_json_first_member(object), known);

  if (member == NULL)
    return;
  printf("<ul>");
  for (; member; member = result_next_other(dx_json_next(member), known)) {
    page_print_apart("<li>", dx_json_name(member), ": ");
    page_print_value("", member, "</li>");
  }
  printf("</ul>");
}

/* Recursive; cJSON limits the depth. */
static void page_print_value(const char *before, const struct cJSON *value,
                             const char *after)
{
  static const char *const none[] = {NULL};
  const struct cJSON *item = dx_json_first(value);
  bool yes;

  (void)fputs(before, stdout);
  if (dx_json_first_member(value) != NULL) {
    page_print_members(value, none);
  } else if (item != NULL) {
    printf("<ul>");
    for (; item != NULL; item = dx_json_next(item))
      page_print_value("<li>", item, "</li>");
    printf("</ul>");
  } else if (dx_json_string(value) != NULL || dx_json_is_null(value) ||
             dx_json_bool(value, &yes)) {
    page_print_apart("", result_text_of(value), "");
  } else if (value != NULL) {
    (void)fputs(dx_label("(empty)"), stdout);
  }
  (void)fputs(after, stdout);
}

/* The bar is 100 wide; the range is its middle half. */
#define BAR_FROM 25.0L
#define BAR_TO 75.0L
#define BAR_EDGE 5.0L

/* The row contains the same information as text, because screen readers skip
 * the bar. No bar is printed for a range that cannot be drawn. */
static void page_print_bar(const struct result_row *row)
{
  const long double *number = row->number;
  long double min = number[MIN], max = number[MAX];
  long double x =
      BAR_FROM + (BAR_TO - BAR_FROM) * ((number[VALUE] - min) / (max - min));

  if (!(min < max) || isnan(x)) /* not numbers, or too large to compute with */
    return;
  x = fminl(fmaxl(x, BAR_EDGE), 100 - BAR_EDGE);
  printf("<svg viewBox=\"0 0 100 12\" aria-hidden=\"true\">"
         "<rect class=\"scale\" y=\"5\" width=\"100\" height=\"2\"/>"
         "<rect class=\"range\" x=\"25\" y=\"2\" width=\"50\" height=\"8\"/>");
  printf(row->mark[0] != '\0'
             ? "<path class=\"far\" d=\"M%.1Lf 0l5 6-5 6-5-6z\"/></svg>"
             : "<circle class=\"dot\" cx=\"%.1Lf\" cy=\"6\" r=\"4\"/></svg>",
         x);
}

static void page_measurement(const struct cJSON *member)
{
  static const char *const shown[] = {"value", "measurement_unit", "range",
                                      NULL};
  static const char *const limits[] = {"min", "max", NULL};
  const struct result_row row = result_make_row(member);
  const struct cJSON *range = dx_json_get(member, "range");

  printf("<td class=\"n%s\">", row.mark[0] != '\0' ? " out" : "");
  page_print_value("", dx_json_get(member, "value"), "</td><td class=\"u\">");
  page_print_value("", dx_json_get(member, "measurement_unit"), "");
  page_print_members(member, shown);
  page_print_value("</td><td class=\"n\">", dx_json_get(range, "min"),
                   "</td><td>");
  page_print_bar(&row);
  if (dx_json_first_member(range) != NULL) /* other members of the range */
    page_print_members(range, limits);
  else
    page_print_value("", range, "");
  page_print_value("</td><td>", dx_json_get(range, "max"),
                   "</td><td class=\"mark\">");
  printf("%s%s</td>",
         row.mark[0] == 'l'   ? "▼ "
         : row.mark[0] == 'h' ? "▲ "
                              : "",
         dx_label(row.mark));
}

static void page_rows(const struct cJSON *document)
{
  const struct cJSON *member = result_next_row(dx_json_first_member(document));

  if (member == NULL)
    return;
  printf("<table>\n<thead><tr><th scope=\"col\">%s</th>"
         "<th scope=\"col\" class=\"n\">%s</th>"
         "<th scope=\"col\">%s</th>"
         "<th scope=\"col\" class=\"n\">%s</th>"
         "<th scope=\"col\">%s</th><th scope=\"col\">%s</th>"
         "<th scope=\"col\">%s</th></tr></thead>\n<tbody>\n",
         dx_label("Field"), dx_label("Value"), dx_label("Unit"),
         dx_label("Min"), dx_label("Range"), dx_label("Max"),
         dx_label("Out of range"));
  for (; member != NULL; member = result_next_row(dx_json_next(member))) {
    page_print_apart("<tr><th scope=\"row\">", dx_json_name(member), "</th>");
    if (dx_json_get(member, "value") != NULL)
      page_measurement(member);
    else
      page_print_value("<td colspan=\"6\">", member, "</td>");
    printf("</tr>\n");
  }
  printf("</tbody>\n</table>\n");
}

static void page_patient(const struct cJSON *document)
{
  static const char *const labels[PATIENT_FIELDS] = {"First name", "Last name",
                                                     "MRN", "Born"};
  char date[DATE_BYTES];
  size_t i;

  printf("<dl>");
  for (i = 0; i < PATIENT_FIELDS; i++) {
    const struct cJSON *field = dx_json_get(document, patient_fields[i]);

    if (field == NULL)
      continue;
    printf("<div><dt>%s</dt><dd>", dx_label(labels[i]));
    if (i == DATE_OF_BIRTH && dx_json_string(field) != NULL)
      page_print_apart("", result_date(dx_json_string(field), date),
                       "</dd></div>");
    else
      page_print_value("", field, "</dd></div>");
  }
  printf("</dl>\n");
}

void result_print_page(const struct cJSON *results)
{
  static const char *const known[] = {"id",     "source_id",    "case_name",
                                      "status", "medical_data", NULL};
  const struct cJSON *data = dx_json_get(results, "medical_data");
  const struct cJSON *document = dx_json_first_member(data);

  printf("<section>\n<h2>%s ", dx_label("Case"));
  page_print_apart("", result_text_of(dx_json_get(results, "case_name")), "");
  page_print_apart(" <small>", result_text_of(dx_json_get(results, "id")),
                   "</small></h2>\n");
  page_print_members(results, known);
  if (result_is_empty(results))
    printf("<p>%s</p>\n", dx_label("Nothing was found in it"));
  else
    printf("<p>%s</p>\n", dx_label(RESULT_ADVICE));
  for (; document != NULL; document = dx_json_next(document)) {
    printf("<h3>%s ", dx_label("Document"));
    page_print_apart("", dx_json_name(document), "</h3>\n");
    if (dx_json_first_member(document) != NULL) {
      page_patient(document);
      page_rows(document);
    } else { /* it may not be an object */
      page_print_value("<p>", document, "</p>\n");
    }
  }
  printf("</section>\n");
}
