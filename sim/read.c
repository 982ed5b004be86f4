/*
 * read.c - what a source's files say: cases, their documents, the values.
 */
#include "sim/read.h"

#include "sim/field.h"
#include "sim/id.h"
#include "sim/pdf.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define CASES_MAX 100000u

/* The case that is being put together. */
struct draft {
  struct sim_fields *docs;
  size_t n;
  size_t current;
};

void sim_cases_free(struct sim_cases *cases)
{
  for (size_t i = 0; i < cases->n; i++) {
    free(cases->rows[i].name);
    free(cases->rows[i].medical_data);
  }
  free(cases->rows);
  *cases = (struct sim_cases){0};
}

/* Adds `,"name":"text"`, or nothing for an empty text. */
static void add_text(struct sim_buf *b, const char *name, const char *text)
{
  if (text[0] == '\0')
    return;
  sim_buf_addf(b, "%s\"%s\":", b->data[b->len - 1] == '{' ? "" : ",", name);
  sim_buf_json(b, text);
}

/* Numbers go out with the very digits of the document. */
static void add_measure(struct sim_buf *b, const char *name,
                        const struct sim_measure *m)
{
  if (m->value[0] == '\0')
    return;
  sim_buf_addf(b, "%s\"%s\":{\"value\":%s",
               b->data[b->len - 1] == '{' ? "" : ",", name, m->value);
  add_text(b, "measurement_unit", m->unit);
  if (m->min[0] != '\0')
    sim_buf_addf(b, ",\"range\":{\"min\":%s,\"max\":%s}", m->min, m->max);
  sim_buf_str(b, "}");
}

static void add_document(struct sim_buf *b, const struct sim_fields *f)
{
  char id[SIM_ID_BYTES];

  sim_id_next(id);
  sim_buf_addf(b, "\"%s\":{", id);
  if (b->failed)
    return;
  add_text(b, "patient_first_name", f->first_name);
  add_text(b, "patient_last_name", f->last_name);
  add_text(b, "patient_mrn", f->mrn);
  add_text(b, "patient_dob", f->dob);
  add_measure(b, "wbc_count", &f->wbc);
  add_measure(b, "hemoglobin", &f->hemoglobin);
  sim_buf_str(b, "}");
}

static char *case_data(const struct draft *d)
{
  struct sim_buf b = {0};

  sim_buf_str(&b, "{");
  for (size_t i = 0; i < d->n && !b.failed; i++) {
    if (i > 0)
      sim_buf_str(&b, ",");
    add_document(&b, &d->docs[i]);
  }
  sim_buf_str(&b, "}");
  return sim_buf_take(&b);
}

static char *case_name(const struct draft *d, size_t number)
{
  const struct sim_fields *f = &d->docs[0];
  struct sim_buf b = {0};

  if (f->last_name[0] != '\0' && f->first_name[0] != '\0')
    sim_buf_addf(&b, "%s, %s", f->last_name, f->first_name);
  else if (f->last_name[0] != '\0' || f->first_name[0] != '\0')
    sim_buf_addf(&b, "%s%s", f->last_name, f->first_name);
  else
    sim_buf_addf(&b, "Case %zu", number);
  return sim_buf_take(&b);
}

/* Turns the draft into a case, if it has any page; starts a new one. */
static bool close_case(struct draft *d, struct sim_cases *cases)
{
  struct sim_case_text row = {0};
  struct sim_case_text *rows;

  if (d->n == 0)
    return true;
  if (cases->n == CASES_MAX)
    return false;
  rows = reallocarray(cases->rows, cases->n + 1, sizeof(*rows));
  if (rows == NULL)
    return false;
  cases->rows = rows;
  row.name = case_name(d, cases->n + 1);
  row.medical_data = case_data(d);
  cases->rows[cases->n++] = row;
  free(d->docs);
  *d = (struct draft){0};
  return row.name != NULL && row.medical_data != NULL;
}

static bool add_draft_doc(struct draft *d)
{
  struct sim_fields *docs = reallocarray(d->docs, d->n + 1, sizeof(*docs));

  if (docs == NULL)
    return false;
  d->docs = docs;
  d->docs[d->n] = (struct sim_fields){0};
  d->current = d->n++;
  return true;
}

/* Makes the document with this record number the current one. */
static bool choose_doc(struct draft *d, const char *mrn)
{
  if (d->n == 0)
    return add_draft_doc(d);
  if (mrn[0] == '\0' || d->docs[d->current].mrn[0] == '\0')
    return true;
  for (size_t i = 0; i < d->n; i++)
    if (strcmp(d->docs[i].mrn, mrn) == 0) {
      d->current = i;
      return true;
    }
  return add_draft_doc(d);
}

static bool add_page(struct draft *d, const char *page, size_t len)
{
  struct sim_fields f;

  sim_fields_read(page, len, &f);
  if (!choose_doc(d, f.mrn))
    return false;
  sim_fields_merge(&d->docs[d->current], &f);
  return true;
}

/* Copies text with each run of white space made one blank. */
static void squeeze(struct sim_buf *b, const char *text, size_t len)
{
  for (size_t i = 0; i < len; i++) {
    bool blank = isspace((unsigned char)text[i]) || text[i] == '\0';

    if (!blank)
      sim_buf_add(b, &text[i], 1);
    else if (b->len > 0 && b->data[b->len - 1] != ' ')
      sim_buf_str(b, " ");
  }
  sim_buf_str(b, "");
}

static bool is_separator(const char *page, size_t len, const char *separator)
{
  struct sim_buf text = {0};
  struct sim_buf mark = {0};
  bool yes;

  squeeze(&text, page, len);
  squeeze(&mark, separator, strlen(separator));
  yes = !text.failed && !mark.failed && strstr(text.data, mark.data) != NULL;
  sim_buf_free(&text);
  sim_buf_free(&mark);
  return yes;
}

/* Splits the text at form feeds, one of which ends every page. */
static bool read_pages(const struct sim_buf *text, const char *separator,
                       struct sim_cases *cases)
{
  const char *page = text->data;
  const char *end = text->data + text->len;
  const char *feed;
  struct draft draft = {0};
  bool good = true;

  while (good && page < end &&
         (feed = memchr(page, '\f', (size_t)(end - page))) != NULL) {
    size_t len = (size_t)(feed - page);

    good = is_separator(page, len, separator) ? close_case(&draft, cases)
                                              : add_page(&draft, page, len);
    page = feed + 1;
  }
  good = good && close_case(&draft, cases);
  free(draft.docs);
  return good;
}

static bool read_pdf(const char *path, const char *separator, int stop_fd,
                     struct sim_cases *cases)
{
  struct sim_buf text = {0};
  bool good = sim_pdf_text(path, stop_fd, &text) && text.len > 0 &&
              read_pages(&text, separator, cases);

  sim_buf_free(&text);
  return good;
}

static bool read_picture(struct sim_cases *cases)
{
  struct draft draft = {0};
  bool good = add_draft_doc(&draft) && close_case(&draft, cases);

  free(draft.docs);
  return good;
}

bool sim_read_file(const char *path, const char *content_type,
                   const char *separator, int stop_fd, struct sim_cases *cases)
{
  if (strcmp(content_type, "application/pdf") == 0)
    return read_pdf(path, separator, stop_fd, cases);
  return read_picture(cases);
}
