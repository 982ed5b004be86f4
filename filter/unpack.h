/*
 * unpack.h - the filters of PDF that unpack bytes (ISO 32000-1, 7.4.2
 * to 7.4.5), one after the other, and how the packed bytes end. Without
 * libqpdf, which accepts Flate data with a wrong checksum or no end; without
 * predictors.
 *
 * Ownership: everything is borrowed. Blocking: as long as there are bytes that
 * the sink accepts. Memory: up to 100 KiB for each stage. Errors: unpack_end.
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
  UNPACK_WHOLE,   /* it ended as its format says; bytes may follow, and the
                     checksum of Flate may be missing, but not be wrong */
  UNPACK_SHORT,   /* all input is used, and it stops where it may: at the end of
                     a Deflate block, after a complete group, run, or code */
  UNPACK_CUT,     /* it stops anywhere else */
  UNPACK_DAMAGED, /* invalid data, or a wrong checksum */
  UNPACK_STOPPED, /* by the sink */
  UNPACK_NO_MEMORY
};

/* bytes NULL: `len` bytes went from one stage to the next, and are only to be
 * counted. False: enough. */
typedef bool unpack_sink(void *ctx, const unsigned char *bytes, size_t len);

/* count 0 passes the bytes unchanged. *ret_used, always set: input bytes used;
 * all of them if the data end early. */
enum unpack_end unpack(const struct unpack_stage *stages, size_t count,
                       const unsigned char *bytes, size_t len,
                       unpack_sink *sink, void *ctx, size_t *ret_used);

/* Are these Flate data that are whole, with their checksum, and unpack to so
 * many bytes? False also if they are large: unpack() says what they are. This
 * takes half of its time, and needs the memory for all of the bytes. */
bool unpack_is_flate_of(const unsigned char *bytes, size_t len, size_t size);

#endif
