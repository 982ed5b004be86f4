/*
 * extract.h - what a file says: cases, their documents and values.
 *
 * A page with the text DOCEXTRACT CASE SEPARATOR separates cases and belongs
 * to none. Within a case, pages with another medical record number form
 * another document; pages without one belong to the previous document. The
 * text of pictures is not read: each is a case of one document without
 * values. Every file begins a new case.
 *
 * Blocking: runs pdftotext, which is given a minute.
 */
#ifndef SIM_EXTRACT_H
#define SIM_EXTRACT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/*
 * Adds the `results` of each case in the file at `path` to the array *cases.
 * Returns false if the file cannot be read.
 */
bool sim_extract(const char *path, const char *content_type,
                 const char *source_id, cJSON *cases);

#endif
