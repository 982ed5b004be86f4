/*
 * read.h - what a source's files say: cases, their documents, the values.
 *
 * A PDF page with the separator text parts cases and belongs to none. Within
 * a case, pages with another record number form another document; pages
 * without one belong to the document before. A picture is one case with one
 * document without fields. Every file starts a case of its own.
 *
 * Blocking: runs pdftotext; see pdf.h.
 */
#ifndef SIM_READ_H
#define SIM_READ_H

#include "sim/buf.h"

/* One case: its label, and the JSON text of its medical_data. */
struct sim_case_text {
  char *name;
  char *medical_data;
};

struct sim_cases {
  struct sim_case_text *rows;
  size_t n;
};

/*
 * Adds the cases of one file. False when the file cannot be decoded, memory
 * ran out or `stop_fd` became readable; *cases then holds what was added.
 */
bool sim_read_file(const char *path, const char *content_type,
                   const char *separator, int stop_fd, struct sim_cases *cases);

void sim_cases_free(struct sim_cases *cases);

#endif
