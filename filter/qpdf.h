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

#include <qpdf/qpdf-c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on a failing operator new ends this process with the status. */
void qpdf_exit_when_out(int status);

#define QPDF_DEPTH_MAX 100 /* of direct objects in each other */

/*
 * A key whose value is a reference to nothing is to the C API as if it were
 * absent. Gives each such key of the indirect object, and of the direct
 * dictionaries in it, an operator as its value, which nothing in a document is.
 * False if the object is nested too deeply or cannot be read.
 */
bool qpdf_mark_lost(qpdf_data pdf, qpdf_oh object);

/* Is the value of the key such a reference? Of a direct dictionary it is not
 * known, and false. */
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
