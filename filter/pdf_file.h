/*
 * pdf_file.h - the bytes of a PDF as a file: where it begins and ends, and
 * which objects are in it. These are pure functions; they parse nothing but
 * headers of objects, such as "12 0 obj", and do not use the cross-reference
 * table. Numbers of real files in the comments: doc/policy.md.
 *
 * Ownership: the bytes are borrowed. Blocking: no; linear in the length.
 */
#ifndef DX_FILTER_PDF_FILE_H
#define DX_FILTER_PDF_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True if the bytes are a PDF, whole or damaged, and not text about PDF.
 * *ret_start: where its header begins. Anything may precede it, such as the
 * header of an HTTP response, PJL, or mail.
 */
bool pdf_file_is(const char *bytes, size_t len, size_t *ret_start);

enum pdf_file_end {
  PDF_FILE_CUT,      /* the end is missing, or that of a newer version */
  PDF_FILE_UNMARKED, /* without %%EOF: whole if its table can be read */
  PDF_FILE_ENDS
};

/*
 * Judges what follows the last "startxref". *ret_len: the length of the PDF up
 * to its last table's offset; what follows it is not a part of the PDF.
 */
enum pdf_file_end pdf_file_end(const char *bytes, size_t len, size_t *ret_len);

/* True if another PDF follows the one that the last table belongs to, in a file
 * that was joined from both: viewers show one of them. The length is that of
 * pdf_file_end(). */
bool pdf_file_has_another(const char *bytes, size_t len);

/*
 * A copy in which no offset of a table points to the white space before it:
 * libqpdf 11 skips this, as viewers do, but then reads the table from the wrong
 * place. And in which no table begins with object 1 if its first entry is that
 * of object 0: some scanners count from 1, and viewers correct it. The caller
 * frees it. NULL if there is neither, if a correct offset has more or fewer
 * digits, or if memory is lacking.
 */
char *pdf_file_fix_offsets(const char *bytes, size_t len);

/* The first object. False if there is none. */
bool pdf_file_first_object(const char *bytes, size_t len, int *ret_number,
                           int *ret_generation);

/* True if the object has its header at the offset, perhaps after white space;
 * *ret_start is where. */
bool pdf_file_has_object(const char *bytes, size_t len, long long offset,
                         int number, int generation, size_t *ret_start);

#define PDF_FILE_NUMBER_MAX 8388607 /* of an object: ISO 32000-1, annex C */

struct pdf_file_copies {
  size_t last; /* offset of the last header of the object */
  int count;
};

/* Finds the headers of the objects with these numbers; adds to the counts. */
void pdf_file_count(const char *bytes, size_t len,
                    struct pdf_file_copies *copies, size_t count);

/* True if a version ends between these offsets. */
bool pdf_file_has_end_between(const char *bytes, size_t len, size_t from,
                              size_t to);

/* True if there are several versions, and something else is where an object, a
 * table, or the end must be: perhaps a newer object without its header. */
bool pdf_file_has_gap(const char *bytes, size_t len);

#endif
