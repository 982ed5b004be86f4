/*
 * unpack.h - unpacks bytes with the filters of PDF (ISO 32000-1, 7.4.2 to
 * 7.4.5), one after the other, and reports how the packed bytes end. It does
 * not use libqpdf, which accepts Flate data with a wrong checksum or no end. It
 * does not decode predictors.
 *
 * Ownership: everything is borrowed. Blocking: until the bytes end, or the sink
 * stops. Memory: the output of every stage but the last one. Errors:
 * unpack_end.
 */
#ifndef DX_FILTER_UNPACK_H
#define DX_FILTER_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

enum unpack_filter {
  UNPACK_HEX,
  UNPACK_85,
  UNPACK_RUN_LENGTH,
  UNPACK_LZW,
  UNPACK_FLATE
};

struct unpack_stage {
  enum unpack_filter filter;
  bool early_change; /* LZW: codes become longer one code early */
};

enum unpack_end {
  UNPACK_WHOLE,   /* it ended as its format requires; bytes may follow, and the
                     checksum of Flate may be missing, but not be wrong */
  UNPACK_SHORT,   /* all input is used, and it ends at a permitted place: the
                     end of a Deflate block, or of a group, run, or code */
  UNPACK_CUT,     /* it ends anywhere else */
  UNPACK_DAMAGED, /* invalid data, or a wrong checksum */
  UNPACK_STOPPED, /* by the sink */
  UNPACK_NO_MEMORY
};

/* bytes NULL: `len` bytes went from one stage to the next, and are only
 * counted. Returns false to stop. */
typedef bool unpack_sink(void *ctx, const unsigned char *bytes, size_t len);

/* count 0 passes the bytes unchanged. *ret_used, always set: input bytes used;
 * all of them if the data end early. */
enum unpack_end unpack(const struct unpack_stage *stages, size_t count,
                       const unsigned char *bytes, size_t len,
                       unpack_sink *sink, void *ctx, size_t *ret_used);

/* True if these are complete Flate data, with checksum, of this unpacked size.
 * Also false for large data: then call unpack(). This takes half the time of
 * unpack(), but needs memory for all of the bytes. */
bool unpack_is_flate_of(const unsigned char *bytes, size_t len, size_t size);

#endif
