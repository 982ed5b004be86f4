/*
 * qpdf.h - what the C API of libqpdf lacks, and needs C++. Everything else that
 * knows libqpdf uses qpdf-c.h.
 *
 * Out of memory: libqpdf allocates with operator new, and catches
 * std::bad_alloc itself: it would read an object for which there is no memory
 * as null, and a stream as one that ends there, and the document would become
 * smaller without an error. So the process ends instead. C code checks what
 * malloc() returns.
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

/* From now on a failing operator new ends this process with the status. */
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

/* Returns what the value is to its own entries; 0: it may not be there. */
typedef uint64_t qpdf_visitor(void *ctx, const struct qpdf_entry *entry);

#define QPDF_DEPTH_MAX 100 /* of direct objects in each other */

/*
 * Passes each entry of an indirect object (id 0: of the trailer), and of the
 * direct ones in it that may be there, to the visitor. With `strip`, what may
 * not be there is removed; items become null, because moving the rest up would
 * take quadratic time. False if the object is nested too deeply or cannot be
 * read.
 */
bool qpdf_walk(qpdf_data pdf, int id, int generation, uint64_t roles,
               bool strip, qpdf_visitor *visitor, void *ctx);

/* Is the value of the key a reference to nothing, which to the C API is as if
 * the key were absent? Of a direct dictionary it is not known, and false. */
bool qpdf_is_lost(qpdf_data pdf, qpdf_oh dict, const char *key);

typedef bool qpdf_sink(void *ctx, const void *bytes, size_t len);
typedef bool qpdf_rewriter(const unsigned char *bytes, size_t len,
                           qpdf_sink *sink, void *ctx);

/*
 * When the document is written, the raw data of the indirect stream pass
 * through `rewriter`; the C API would keep what it makes of all streams in
 * memory until then. False if it is no stream.
 */
bool qpdf_rewrite_stream(qpdf_data pdf, qpdf_oh object,
                         qpdf_rewriter *rewriter);

/*
 * Is the indirect page `a` the page `b` of another document? It is if it draws
 * the same with the same resources, byte for byte when decoded. A page that
 * only looks similar is not.
 */
bool qpdf_is_same_page(qpdf_data pdf_a, qpdf_oh a, qpdf_data pdf_b, qpdf_oh b);

#ifdef __cplusplus
}
#endif

#endif
