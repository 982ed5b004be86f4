/*
 * result.c - prints a result of the service for people, as a table or as a
 * page. The service defines the fields, so this file only knows the structure
 * of a measurement and the fields of a patient.
 *
 * All data is untrusted. On the page it is only printed by print_text().
 * Positions are attributes of SVG, because the policy of the page forbids
 * styles in attributes, and backgrounds are not printed on paper.
 */
#include "cli/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"

/* Columns of a measurement; FIELD is its name. */
enum { FIELD, VALUE, UNIT, MIN, MAX, COLUMNS };

struct result_row {
  const char *text[COLUMNS]; /* "" if missing */
};

enum dx_code result_parse(const struct dx_buf *content,
                          struct dx_json **ret_root, struct dx_err *err)
{
  const struct dx_json *results;
  const char *status;
  struct dx_json *root;
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
static const char *const patient_fields[PATIENT_FIELDS + 1] = {
    "patient_first_name", "patient_last_name", "patient_mrn", "patient_dob"};

/* Returns the first of these members that is not in `known`, which ends with
 * NULL; NULL: there is none. */
static const struct dx_json *next_other(const struct dx_json *member,
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

static const struct dx_json *next_row(const struct dx_json *member)
{
  return next_other(member, patient_fields);
}

/* True for a value, and for an object or array that contains one. A result is
 * at most DX_JSON_DEPTH_MAX deep. */
static bool has_value(const struct dx_json *json)
{
  const struct dx_json *child =
      dx_json_is_array(json) ? dx_json_first(json) : dx_json_first_member(json);
  const char *text = dx_json_string(json);
  bool yes;

  if (text != NULL || dx_json_bool(json, &yes))
    return text == NULL || text[0] != '\0';
  while (child != NULL && !has_value(child))
    child = dx_json_next(child);
  return child != NULL;
}

static bool is_empty(const struct dx_json *results)
{
  const struct dx_json *data = dx_json_get(results, "medical_data");

  return dx_json_first_member(data) == NULL || !has_value(data);
}

/* A value in one line; an object or array refers to --json. */
static const char *text_of(const struct dx_json *json)
{
  const char *text = dx_json_string(json);
  bool yes;

  if (text != NULL)
    return text;
  if (dx_json_bool(json, &yes))
    return yes ? "true" : "false";
  return json == NULL ? "" : dx_json_is_null(json) ? "-" : "(see --json)";
}

/* An object with a value is a measurement; anything else is a value itself. */
static struct result_row make_row(const struct dx_json *member)
{
  const struct dx_json *value = dx_json_get(member, "value");
  const struct dx_json *range = dx_json_get(member, "range");

  if (value == NULL)
    return (struct result_row){
        {dx_json_name(member), text_of(member), "", "", ""}};
  return (struct result_row){{dx_json_name(member), text_of(value),
                              text_of(dx_json_get(member, "measurement_unit")),
                              text_of(dx_json_get(range, "min")),
                              text_of(dx_json_get(range, "max"))}};
}

static bool is_less(const char *a, const char *b)
{
  return dx_json_is_number(a) && dx_json_is_number(b) &&
         strtold(a, NULL) < strtold(b, NULL);
}

/* "low", "high", or "" if the value is in its range or cannot be compared. */
static const char *mark_of(const struct result_row *row)
{
  if (is_less(row->text[VALUE], row->text[MIN]))
    return "low";
  return is_less(row->text[MAX], row->text[VALUE]) ? "high" : "";
}

/* ---- as a table ---- */

static void table_row(const struct result_row *row, const size_t width[COLUMNS],
                      const char *mark)
{
  size_t left = 2; /* blanks before the next text: none follow the last */
  size_t i;

  for (i = 0; i < COLUMNS; i++) {
    if (row->text[i][0] != '\0') {
      printf("%*s", (int)left, "");
      left = 0;
      (void)cli_print_plain(row->text[i], SIZE_MAX);
    }
    left += width[i] + 2 - cli_count_characters(row->text[i]);
  }
  if (mark[0] != '\0') {
    printf("%*s", (int)left, "");
    cli_print_word(mark, false);
  }
  printf("\n");
}

static void table_patient(const struct dx_json *document)
{
  static const char *const before[] = {" ", " ", ", MRN ", ", born "};
  size_t i;

  printf("Patient:");
  for (i = 0; i < PATIENT_FIELDS; i++) {
    const struct dx_json *field = dx_json_get(document, patient_fields[i]);

    if (field == NULL)
      continue;
    printf("%s", before[i]);
    (void)cli_print_plain(text_of(field), SIZE_MAX);
  }
  printf("\n");
}

static void table_rows(const struct dx_json *document)
{
  static const struct result_row header = {
      {"FIELD", "VALUE", "UNIT", "MIN", "MAX"}};
  const struct dx_json *first = next_row(dx_json_first_member(document));
  const struct dx_json *member;
  size_t width[COLUMNS], i;

  if (first == NULL)
    return;
  for (i = 0; i < COLUMNS; i++)
    width[i] = cli_count_characters(header.text[i]);
  for (member = first; member; member = next_row(dx_json_next(member))) {
    const struct result_row row = make_row(member);

    for (i = 0; i < COLUMNS; i++)
      if (cli_count_characters(row.text[i]) > width[i])
        width[i] = cli_count_characters(row.text[i]);
  }
  table_row(&header, width, "");
  for (member = first; member; member = next_row(dx_json_next(member))) {
    const struct result_row row = make_row(member);

    table_row(&row, width, mark_of(&row));
  }
}

static void print_named(const char *what, const char *id, const char *name)
{
  printf("%s ", what);
  (void)cli_print_plain(id, SIZE_MAX);
  if (name[0] != '\0')
    printf(": ");
  (void)cli_print_plain(name, SIZE_MAX);
  printf("\n");
}

void result_print_table(const struct dx_json *results)
{
  const struct dx_json *document =
      dx_json_first_member(dx_json_get(results, "medical_data"));

  print_named("Case", text_of(dx_json_get(results, "id")),
              text_of(dx_json_get(results, "case_name")));
  if (is_empty(results)) {
    printf("Nothing was found in it\n");
    return;
  }
  for (; document != NULL; document = dx_json_next(document)) {
    printf("\n");
    print_named("Document", dx_json_name(document), "");
    table_patient(document);
    table_rows(document);
  }
}

/* ---- as a page ---- */

/* tests/cli/show_test.sh compares this hash with the style. */
#define STYLE_SHA256 "+H5g6N4CUxuNG+AU1ga3ZXDNigwXsCmaAGr+NYsgaFM="

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1a1a1a;--soft:#5c5c5c;--line:#c8c8c8;"
    "--paper:#fff;--fine:#2f7d4f;--out:#b3261e}\n"
    "@media screen and (prefers-color-scheme:dark){:root{--ink:#eee;"
    "--soft:#aaa;--line:#555;--paper:#1c1c1c;--fine:#7cc99a;--out:#ff8a80}}\n"
    "body{font:16px/1.4 system-ui,sans-serif;color:var(--ink);"
    "background:var(--paper);max-width:52em;margin:1.5em auto;padding:0 1em}\n"
    "h1{font-size:1.5em}h2{font-size:1.2em}h3{font-size:1em}\n"
    "h1,h2,h3{overflow-wrap:anywhere;break-after:avoid}\n"
    "section{border-top:2px solid var(--line)}\n"
    "small,dt,thead{color:var(--soft);font-weight:400}\n"
    "dl{display:flex;flex-wrap:wrap;gap:.3em 2em;margin:.5em 0}\n"
    "dd{margin:0;font-weight:600}\n"
    "dd,td,th,li,p{overflow-wrap:anywhere}\n"
    "table{border-collapse:collapse;width:100%}\n"
    "th,td{text-align:start;vertical-align:top;padding:.3em .5em;"
    "border-bottom:1px solid var(--line)}\n"
    "tbody th{font-weight:400}\n"
    "td{min-width:4em}.u{min-width:5em}tbody th{min-width:7em}\n"
    ".n{text-align:end;font-variant-numeric:tabular-nums}\n"
    ".mark,.out{color:var(--out);font-weight:700}\n"
    ".mark{white-space:nowrap}\n"
    "ul{margin:0;padding-inline-start:1.2em}\n"
    ".note{border:2px solid var(--out);padding:.5em}\n"
    "svg{width:9em;height:1em;vertical-align:middle}\n"
    ".scale{fill:var(--line)}.range,.dot{fill:var(--fine)}"
    ".range{opacity:.45}.far{fill:var(--out)}\n"
    "@media "
    "print{body{font-size:10pt;max-width:none;margin:0}tr,dl{break-inside:"
    "avoid}}\n";

void result_begin_page(void)
{
  printf("<!DOCTYPE html>\n"
         "<html lang=\"en\">\n"
         "<head>\n"
         "<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\""
         "default-src 'none'; style-src 'sha256-" STYLE_SHA256 "'; "
         "base-uri 'none'; form-action 'none'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n"
         "<title>Extracted values</title>\n"
         "<style>%s</style>\n"
         "</head>\n"
         "<body>\n"
         "<main>\n"
         "<h1>Extracted values</h1>\n",
         style);
}

void result_end_page(void)
{
  printf("</main>\n</body>\n</html>\n");
}

/* Like cli_print_plain(), but escapes markup and quotation marks. */
static void print_text(const char *text)
{
  static const char special[] = "&<>\"'";
  static const char *const escapes[] = {"&amp;", "&lt;", "&gt;", "&quot;",
                                        "&#39;"};

  while (*text != '\0') {
    const char *at = strchr(special, *text);

    if (at != NULL)
      (void)fputs(escapes[at - special], stdout);
    text += at != NULL ? 1 : cli_print_plain(text, 1);
  }
}

/* Isolates right-to-left text, so that it does not move adjacent text. */
static void print_apart(const char *text)
{
  printf("<bdi>");
  print_text(text);
  printf("</bdi>");
}

void result_print_note(const char *text)
{
  printf("<p class=\"note\">");
  print_text(text);
  printf("</p>\n");
}

static void print_value(const struct dx_json *value);

static void print_members(const struct dx_json *object,
                          const char *const *known)
{
  const struct dx_json *member =
      next_other(dx_json_first_member(object), known);

  if (member == NULL)
    return;
  printf("<ul>");
  for (; member; member = next_other(dx_json_next(member), known)) {
    printf("<li>");
    print_apart(dx_json_name(member));
    printf(": ");
    print_value(member);
    printf("</li>");
  }
  printf("</ul>");
}

/* Recursive; cJSON limits the depth. */
static void print_value(const struct dx_json *value)
{
  static const char *const none[] = {NULL};
  const struct dx_json *item = dx_json_first(value);
  bool yes;

  if (dx_json_first_member(value) != NULL) {
    print_members(value, none);
  } else if (item != NULL) {
    printf("<ul>");
    for (; item != NULL; item = dx_json_next(item)) {
      printf("<li>");
      print_value(item);
      printf("</li>");
    }
    printf("</ul>");
  } else if (dx_json_string(value) != NULL || dx_json_is_null(value) ||
             dx_json_bool(value, &yes)) {
    print_apart(text_of(value));
  } else if (value != NULL) {
    printf("(empty)");
  }
}

/* The bar is 100 wide; the range is its middle half. */
#define BAR_FROM 25.0L
#define BAR_TO 75.0L
#define BAR_EDGE 5.0L

/* The row contains the same information as text, because screen readers skip
 * the bar. No bar is printed for a range that cannot be drawn. */
static void print_bar(const struct result_row *row, bool is_out)
{
  const char *const *text = row->text;
  long double value, min, max, x;

  if (!dx_json_is_number(text[VALUE]) || !dx_json_is_number(text[MIN]) ||
      !dx_json_is_number(text[MAX]))
    return;
  value = strtold(text[VALUE], NULL);
  min = strtold(text[MIN], NULL);
  max = strtold(text[MAX], NULL);
  x = BAR_FROM + (BAR_TO - BAR_FROM) * ((value - min) / (max - min));
  if (!(min < max) || isnan(x)) /* too large to compute with */
    return;
  x = fminl(fmaxl(x, BAR_EDGE), 100 - BAR_EDGE);
  printf("<svg viewBox=\"0 0 100 12\" aria-hidden=\"true\">"
         "<rect class=\"scale\" y=\"5\" width=\"100\" height=\"2\"/>"
         "<rect class=\"range\" x=\"25\" y=\"2\" width=\"50\" height=\"8\"/>");
  if (is_out)
    printf("<path class=\"far\" d=\"M%.1Lf 0l5 6-5 6-5-6z\"/>", x);
  else
    printf("<circle class=\"dot\" cx=\"%.1Lf\" cy=\"6\" r=\"4\"/>", x);
  printf("</svg>");
}

static void page_measurement(const struct dx_json *member)
{
  static const char *const shown[] = {"value", "measurement_unit", "range",
                                      NULL};
  static const char *const limits[] = {"min", "max", NULL};
  const struct result_row row = make_row(member);
  const char *mark = mark_of(&row);
  const struct dx_json *range = dx_json_get(member, "range");

  printf("<td class=\"n%s\">", mark[0] != '\0' ? " out" : "");
  print_value(dx_json_get(member, "value"));
  printf("</td><td class=\"u\">");
  print_value(dx_json_get(member, "measurement_unit"));
  print_members(member, shown);
  printf("</td><td class=\"n\">");
  print_value(dx_json_get(range, "min"));
  printf("</td><td>");
  print_bar(&row, mark[0] != '\0');
  if (dx_json_first_member(range) != NULL) /* other members of the range */
    print_members(range, limits);
  else
    print_value(range);
  printf("</td><td>");
  print_value(dx_json_get(range, "max"));
  printf("</td><td class=\"mark\">%s%s</td>",
         mark[0] == 'l'   ? "▼ "
         : mark[0] == 'h' ? "▲ "
                          : "",
         mark);
}

static void page_rows(const struct dx_json *document)
{
  const struct dx_json *member = next_row(dx_json_first_member(document));

  if (member == NULL)
    return;
  printf("<table>\n<thead><tr><th scope=\"col\">Field</th>"
         "<th scope=\"col\" class=\"n\">Value</th>"
         "<th scope=\"col\">Unit</th>"
         "<th scope=\"col\" class=\"n\">Min</th>"
         "<th scope=\"col\">Range</th><th scope=\"col\">Max</th>"
         "<th scope=\"col\">Out of range</th></tr></thead>\n<tbody>\n");
  for (; member != NULL; member = next_row(dx_json_next(member))) {
    printf("<tr><th scope=\"row\">");
    print_apart(dx_json_name(member));
    printf("</th>");
    if (dx_json_get(member, "value") != NULL) {
      page_measurement(member);
    } else {
      printf("<td colspan=\"6\">");
      print_value(member);
      printf("</td>");
    }
    printf("</tr>\n");
  }
  printf("</tbody>\n</table>\n");
}

static void page_patient(const struct dx_json *document)
{
  static const char *const labels[PATIENT_FIELDS] = {"First name", "Last name",
                                                     "MRN", "Born"};
  size_t i;

  printf("<dl>");
  for (i = 0; i < PATIENT_FIELDS; i++) {
    const struct dx_json *field = dx_json_get(document, patient_fields[i]);

    if (field == NULL)
      continue;
    printf("<div><dt>%s</dt><dd>", labels[i]);
    print_value(field);
    printf("</dd></div>");
  }
  printf("</dl>\n");
}

void result_print_page(const struct dx_json *results)
{
  static const char *const known[] = {"id",     "source_id",    "case_name",
                                      "status", "medical_data", NULL};
  const struct dx_json *data = dx_json_get(results, "medical_data");
  const struct dx_json *document = dx_json_first_member(data);

  printf("<section>\n<h2>Case ");
  print_apart(text_of(dx_json_get(results, "case_name")));
  printf(" <small>");
  print_apart(text_of(dx_json_get(results, "id")));
  printf("</small></h2>\n");
  print_members(results, known);
  if (is_empty(results))
    printf("<p>Nothing was found in it</p>\n");
  for (; document != NULL; document = dx_json_next(document)) {
    printf("<h3>Document ");
    print_apart(dx_json_name(document));
    printf("</h3>\n");
    if (dx_json_first_member(document) != NULL) {
      page_patient(document);
      page_rows(document);
    } else { /* it may not be an object */
      printf("<p>");
      print_value(document);
      printf("</p>\n");
    }
  }
  printf("</section>\n");
}
