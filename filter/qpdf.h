/*
 * qpdf.h - functions that the C API of libqpdf lacks. They need C++; all other
 * code for libqpdf uses qpdf-c.h.
 *
 * Out of memory: libqpdf allocates with operator new, and catches
 * std::bad_alloc itself: it would read the object as null, or end the stream
 * there, and parts of the document would be lost without an error. Therefore
 * the process exits instead. C code checks what malloc() returns.
 */
#ifndef DX_FILTER_QPDF_H
#define DX_FILTER_QPDF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <qpdf/qpdf-c.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "filter/pdf_file.h"
#include "filter/unpack.h"
#include "lib/base/buf.h"

/* From now on, if operator new fails, this process exits with `status`. */
void qpdf_exit_when_out(int status);

/* An entry of a dictionary, or an item of an array. */
struct qpdf_entry {
  const char *key;    /* with its slash; NULL: an item */
  bool in_stream;     /* the dictionary is that of a stream */
  uint64_t roles;     /* what qpdf_visitor returned for the container */
  int id, generation; /* of the value; 0: it is direct */
  bool is_lost;       /* a reference to nothing; an item: null */
  enum qpdf_object_type_e type;
  const char *subtype; /* of a stream, with its slash; "": none */
};

/* Returns the roles of the value, for its own entries; 0: not permitted. */
typedef uint64_t qpdf_visitor(void *ctx, const struct qpdf_entry *entry);

#define QPDF_DEPTH_MAX 100 /* of nested direct objects */

/*
 * Passes each entry of an indirect object (id 0: of the trailer), and of the
 * permitted direct ones in it, to the visitor. With `strip`, entries that are
 * not permitted are removed; items become null, because moving the rest up
 * would take quadratic time. False if the object is nested too deeply or cannot
 * be read.
 */
bool qpdf_walk(qpdf_data pdf, int id, int generation, uint64_t roles,
               bool strip, qpdf_visitor *visitor, void *ctx);

/* True if the value of the key is a reference to nothing, which the C API
 * treats as an absent key. Always false for a direct dictionary. */
bool qpdf_is_lost(qpdf_data pdf, qpdf_oh dict, const char *key);

/* Passes each stream of the file to the visitor until it returns false. False
 * if the file cannot be read. */
typedef bool qpdf_stream_visitor(void *ctx, int id, int generation);
bool qpdf_each_stream(qpdf_data pdf, qpdf_stream_visitor *visitor, void *ctx);

/* True if each entry of the cross-reference table leads to the header of its
 * object in these bytes, from which the PDF was read. */
bool qpdf_has_exact_table(qpdf_data pdf, const char *bytes, size_t len);

/*
 * For a table that could be read. Sets the count to 1 if its entry leads to the
 * last copy. Adds 1 if it leads to nothing, and the last copy is in an older
 * version; and for a copy in an object stream.
 */
void qpdf_trust_table(qpdf_data pdf, const char *bytes, size_t len,
                      struct pdf_file_copies *copies, size_t count);

/* For a table that libqpdf has made: adds the copies in object streams. False
 * if such a stream cannot be read. */
bool qpdf_count_packed(qpdf_data pdf, struct pdf_file_copies *copies,
                       size_t count);

/* True if what is printed refers to an object with several copies, directly or
 * not: pages, annotations, forms, and layers. */
bool qpdf_prints_copied(qpdf_data pdf, const struct pdf_file_copies *copies,
                        size_t count);

/*
 * Removes the resources that a page, and the forms, patterns and glyphs that it
 * draws, list but do not use: those whose names are not in the content. Of a
 * lost list, the operators are looked for. False if there are none, or if a
 * content cannot be read. All streams of the page are unpacked.
 */
bool qpdf_drop_unused(qpdf_data pdf, int page);

/* Adds a copy of an image that was accepted, without metadata. If memory is
 * lacking, copy->failed is set. */
typedef void qpdf_cleaner(const unsigned char *bytes, size_t len,
                          struct dx_buf *copy);

/*
 * When the document is written, the raw data of the indirect stream are
 * unpacked and cleaned; the C API would keep the results for all streams in
 * memory until then. False if it is not a stream.
 */
bool qpdf_rewrite_stream(qpdf_data pdf, qpdf_oh object,
                         const struct unpack_stage *stages, size_t count,
                         qpdf_cleaner *clean);

/* Adds the entries of the dictionary of an inline image, without brackets,
 * except for its filters and length. */
void qpdf_copy_inline_dict(const unsigned char *dict, size_t len,
                           struct dx_buf *copy);

#ifdef __cplusplus
}
#endif

#endif
