/*
 * html.c - results as a page. Text from outside gets there only through
 * print_text(). Positions are attributes of SVG, because the policy of the page
 * forbids styles in attributes, and printing leaves out backgrounds.
 */
#include "cli/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/result.h"
#include "lib/base/utf8.h"

/* tests/cli/show_test.sh compares it with the style. */
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

void html_begin(void)
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

void html_end(void)
{
  printf("</main>\n</body>\n</html>\n");
}

/* ---- text ---- */

static const char *escape_of(char c)
{
  switch (c) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  case '\'':
    return "&#39;";
  default:
    return NULL;
  }
}

/* Like cli_print_plain(), and escaped: it is neither markup nor the end of an
 * attribute. */
static void print_text(const char *text)
{
  while (*text != '\0') {
    const char *escape = escape_of(*text);
    uint32_t c;
    size_t len = dx_utf8_char(text, &c);

    if (escape != NULL)
      (void)fputs(escape, stdout);
    else if (len == 0 || dx_utf8_is_hidden(c))
      (void)putchar('?');
    else
      (void)fwrite(text, len, 1, stdout);
    text += len > 0 ? len : 1;
  }
}

/* In a direction of its own: right-to-left text does not move what is next to
 * it. */
static void print_apart(const char *text)
{
  printf("<bdi>");
  print_text(text);
  printf("</bdi>");
}

void html_note(const char *text)
{
  printf("<p class=\"note\">");
  print_text(text);
  printf("</p>\n");
}

/* ---- a value ---- */

static bool is_among(const char *name, const char *const *names)
{
  for (; *names != NULL; names++)
    if (strcmp(name, *names) == 0)
      return true;
  return false;
}

static void print_value(const struct dx_json *value);

/* Those that are not among `known`. */
static void print_members(const struct dx_json *object,
                          const char *const *known)
{
  const struct dx_json *member = dx_json_first_member(object);
  bool is_open = false;

  for (; member != NULL; member = dx_json_next(member)) {
    if (is_among(dx_json_name(member), known))
      continue;
    printf(is_open ? "<li>" : "<ul><li>");
    is_open = true;
    print_apart(dx_json_name(member));
    printf(": ");
    print_value(member);
    printf("</li>");
  }
  printf(is_open ? "</ul>" : "");
}

static void print_items(const struct dx_json *item)
{
  printf("<ul>");
  for (; item != NULL; item = dx_json_next(item)) {
    printf("<li>");
    print_value(item);
    printf("</li>");
  }
  printf("</ul>");
}

static bool is_plain(const struct dx_json *value)
{
  bool yes;

  return dx_json_string(value) != NULL || dx_json_is_null(value) ||
         dx_json_bool(value, &yes);
}

/* However deep; cJSON has a limit. */
static void print_value(const struct dx_json *value)
{
  static const char *const none[] = {NULL};

  if (dx_json_first_member(value) != NULL)
    print_members(value, none);
  else if (dx_json_first(value) != NULL)
    print_items(dx_json_first(value));
  else if (is_plain(value))
    print_apart(result_text(value));
  else if (value != NULL)
    printf("(empty)");
}

/* ---- a measurement ---- */

/* The bar is 100 wide, and the range its middle half. */
#define BAR_FROM 25.0L
#define BAR_TO 75.0L
#define BAR_EDGE 5.0L

static bool is_number(const char *text, long double *ret_value)
{
  if (!dx_json_is_number(text))
    return false;
  *ret_value = strtold(text, NULL);
  return true;
}

/* False if the row has no range that can be drawn. */
static bool place_on_bar(const struct result_row *row, long double *ret_x)
{
  long double value, min, max, x;

  if (!is_number(row->text[RESULT_VALUE], &value) ||
      !is_number(row->text[RESULT_MIN], &min) ||
      !is_number(row->text[RESULT_MAX], &max) || !(min < max))
    return false;
  x = BAR_FROM + (BAR_TO - BAR_FROM) * ((value - min) / (max - min));
  if (isnan(x)) /* too large to compute with */
    return false;
  *ret_x = fminl(fmaxl(x, BAR_EDGE), 100 - BAR_EDGE);
  return true;
}

/* The row says the same in words: screen readers skip the bar. */
static void print_bar(long double x, bool is_out)
{
  printf("<svg viewBox=\"0 0 100 12\" aria-hidden=\"true\">"
         "<rect class=\"scale\" y=\"5\" width=\"100\" height=\"2\"/>"
         "<rect class=\"range\" x=\"25\" y=\"2\" width=\"50\" height=\"8\"/>");
  if (is_out)
    printf("<path class=\"far\" d=\"M%.1Lf 0l5 6-5 6-5-6z\"/>", x);
  else
    printf("<circle class=\"dot\" cx=\"%.1Lf\" cy=\"6\" r=\"4\"/>", x);
  printf("</svg>");
}

/* The value in its range, and whatever else is known about the range. */
static void print_range(const struct dx_json *range,
                        const struct result_row *row, const char *mark)
{
  static const char *const known[] = {"min", "max", NULL};
  long double x;

  if (place_on_bar(row, &x))
    print_bar(x, mark[0] != '\0');
  if (dx_json_first_member(range) != NULL)
    print_members(range, known);
  else
    print_value(range);
}

static void print_measurement(const struct dx_json *member)
{
  static const char *const known[] = {"value", "measurement_unit", "range",
                                      NULL};
  const struct result_row row = result_row(member);
  const char *mark = result_mark(&row);
  const struct dx_json *range = dx_json_get(member, "range");

  printf("<td class=\"n%s\">", mark[0] != '\0' ? " out" : "");
  print_value(dx_json_get(member, "value"));
  printf("</td><td class=\"u\">");
  print_value(dx_json_get(member, "measurement_unit"));
  print_members(member, known);
  printf("</td><td class=\"n\">");
  print_value(dx_json_get(range, "min"));
  printf("</td><td>");
  print_range(range, &row, mark);
  printf("</td><td>");
  print_value(dx_json_get(range, "max"));
  printf("</td><td class=\"mark\">%s%s</td>",
         mark[0] == 'l'   ? "▼ "
         : mark[0] == 'h' ? "▲ "
                          : "",
         mark);
}

static void print_row(const struct dx_json *member)
{
  printf("<tr><th scope=\"row\">");
  print_apart(dx_json_name(member));
  printf("</th>");
  if (dx_json_get(member, "value") != NULL) {
    print_measurement(member);
  } else {
    printf("<td colspan=\"6\">");
    print_value(member);
    printf("</td>");
  }
  printf("</tr>\n");
}

/* ---- a document ---- */

static void print_rows(const struct dx_json *document)
{
  const struct dx_json *member =
      result_next_row(dx_json_first_member(document));

  if (member == NULL)
    return;
  printf("<table>\n<thead><tr><th scope=\"col\">Field</th>"
         "<th scope=\"col\" class=\"n\">Value</th>"
         "<th scope=\"col\">Unit</th>"
         "<th scope=\"col\" class=\"n\">Min</th>"
         "<th scope=\"col\">Range</th><th scope=\"col\">Max</th>"
         "<th scope=\"col\">Out of range</th></tr></thead>\n<tbody>\n");
  for (; member != NULL; member = result_next_row(dx_json_next(member)))
    print_row(member);
  printf("</tbody>\n</table>\n");
}

static void print_patient(const struct dx_json *document)
{
  static const char *const labels[RESULT_PATIENT_FIELDS] = {
      "First name", "Last name", "MRN", "Born"};
  size_t i;

  printf("<dl>");
  for (i = 0; i < RESULT_PATIENT_FIELDS; i++) {
    const struct dx_json *field = dx_json_get(document, result_patient[i]);

    if (field == NULL)
      continue;
    printf("<div><dt>%s</dt><dd>", labels[i]);
    print_value(field);
    printf("</dd></div>");
  }
  printf("</dl>\n");
}

static void print_document(const struct dx_json *document)
{
  printf("<h3>Document ");
  print_apart(dx_json_name(document));
  printf("</h3>\n");
  if (dx_json_first_member(document) == NULL) { /* nobody promised an object */
    printf("<p>");
    print_value(document);
    printf("</p>\n");
    return;
  }
  print_patient(document);
  print_rows(document);
}

void html_case(const struct dx_json *results)
{
  static const char *const known[] = {"id",     "source_id",    "case_name",
                                      "status", "medical_data", NULL};
  const struct dx_json *data = dx_json_get(results, "medical_data");
  const struct dx_json *document = dx_json_first_member(data);

  printf("<section>\n<h2>Case ");
  print_apart(result_text(dx_json_get(results, "case_name")));
  printf(" <small>");
  print_apart(result_text(dx_json_get(results, "id")));
  printf("</small></h2>\n");
  print_members(results, known);
  if (result_is_empty(results))
    printf("<p>Nothing was found in it</p>\n");
  for (; document != NULL; document = dx_json_next(document))
    print_document(document);
  printf("</section>\n");
}
