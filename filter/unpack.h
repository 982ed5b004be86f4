/*
 * unpack.h - unpacks bytes with the filters of PDF (ISO 32000-1, 7.4.2 to
 * 7.4.5), one after the other, and reports how the packed bytes end. It does
 * not use libqpdf, which accepts Flate data with a wrong checksum or no end. It
 * does not decode predictors.
 *
 * Ownership: everything is borrowed. Blocking: until the bytes end, or a limit
 * is reached. Memory: the output of every stage but the last one, and of that
 * one if it is kept. Errors: unpack_end.
 */
#ifndef DX_FILTER_UNPACK_H
#define DX_FILTER_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/buf.h"

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
                     checksum of Flate may be missing or wrong: see `sum` */
  UNPACK_SHORT,   /* all input is used, and it ends at a permitted place: the
                     end of a Deflate block, or of a group, run, or code */
  UNPACK_CUT,     /* it ends anywhere else */
  UNPACK_DAMAGED, /* invalid data */
  UNPACK_STOPPED, /* by a limit */
  UNPACK_NO_MEMORY
};

/* The checksums of the Flate stages; the largest counts. */
enum unpack_sum {
  UNPACK_NO_SUM, /* no Flate, or it has none */
  UNPACK_RIGHT_SUM,
  UNPACK_ZERO_SUM, /* wrong: 00000000, and nothing but a line end follows */
  UNPACK_WRONG_SUM
};

/* What was unpacked. The first four are set by the caller. */
struct unpacked {
  bool keep;           /* in `bytes`, which the caller releases */
  struct dx_buf bytes; /* they are added to those that it has */
  size_t most;         /* limit of `len` */
  long long *left;     /* limit of the bytes of all stages, by which it is
                          reduced; below 0 when it is reached */
  size_t len;
  enum unpack_end end;
  enum unpack_sum sum;
  size_t used; /* input bytes; all of them if the data end early */
};

/* count 0 passes the bytes unchanged. */
void unpack(const struct unpack_stage *stages, size_t count,
            const unsigned char *bytes, size_t len, struct unpacked *u);

/* True if these are the two bytes with which Flate data begin, and nothing but
 * a line end. */
bool unpack_is_flate_header(const unsigned char *bytes, size_t len);

/* True if these are complete Flate data, with checksum, of this unpacked size.
 * Also false for large data: then call unpack(). This takes half the time of
 * unpack(), but needs memory for all of the bytes. */
bool unpack_is_flate_of(const unsigned char *bytes, size_t len, size_t size);

#endif
