/*
 * raster.c - the two formats of raster.h: one compression, two page headers.
 */
#include "filter/raster.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/policy.h"

#define PWG_BEGIN "RaS2"
#define PWG_CLASS "PwgRaster" /* MuPDF leaves it out */
#define PWG_SYNC_BYTES 4
#define PWG_HEADER_BYTES 1796
#define URF_BEGIN "UNIRAST"
#define URF_SYNC_BYTES 12 /* with the number of pages */
#define URF_HEADER_BYTES 32

/* Of one page. A unit is what a run repeats: a pixel, or 8 pixels of 1 bit. */
struct raster_page {
  uint64_t units; /* in a row */
  uint32_t unit_bytes;
  uint32_t rows;
};

struct raster {
  int fd;
  bool failed; /* the file could not be read */
  const unsigned char *at, *end;
  unsigned char bytes[DX_STREAM_BYTES];
};

/* False at the end of the file. */
static bool raster_fill(struct raster *r)
{
  ssize_t n;

  do
    n = read(r->fd, r->bytes, sizeof(r->bytes));
  while (n < 0 && errno == EINTR);
  r->failed = n < 0;
  r->at = r->bytes;
  r->end = r->bytes + (n > 0 ? n : 0);
  return n > 0;
}

/* The next byte, or -1. */
static int raster_byte(struct raster *r)
{
  return r->at < r->end || raster_fill(r) ? *r->at++ : -1;
}

static bool raster_skip(struct raster *r, size_t count)
{
  while (count > (size_t)(r->end - r->at)) {
    count -= (size_t)(r->end - r->at);
    if (!raster_fill(r))
      return false;
  }
  r->at += count;
  return true;
}

/* Returns how many of the bytes are there. */
static size_t raster_get(struct raster *r, unsigned char *bytes, size_t count)
{
  size_t got;
  int c;

  for (got = 0; got < count && (c = raster_byte(r)) >= 0; got++)
    bytes[got] = (unsigned char)c;
  return got;
}

static uint32_t big_endian(const unsigned char *bytes)
{
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
         (uint32_t)bytes[2] << 8 | bytes[3];
}

/* ---- headers ---- */

/* False if the numbers do not fit together. `pages`: as stated, 0: unknown. */
static bool pwg_page(const unsigned char *header, struct raster_page *page,
                     uint32_t *pages)
{
  uint64_t width = big_endian(header + 372);
  uint32_t pixel_bits = big_endian(header + 388);
  uint32_t row_bytes = big_endian(header + 392);

  page->rows = big_endian(header + 376);
  page->unit_bytes = (pixel_bits + 7) / 8;
  *pages = memcmp(header, PWG_CLASS, sizeof(PWG_CLASS)) == 0
               ? big_endian(header + 452)
               : 0;
  if (page->unit_bytes == 0 || page->unit_bytes > 30 || width == 0 ||
      page->rows == 0 || row_bytes < (width * pixel_bits + 7) / 8 ||
      row_bytes % page->unit_bytes != 0)
    return false;
  page->units = row_bytes / page->unit_bytes;
  return big_endian(header + 396) == 0; /* the colors of a pixel together */
}

static bool urf_page(const unsigned char *header, struct raster_page *page)
{
  page->unit_bytes = header[0] / 8; /* 8, 24, 32 bits, and 48, 64 */
  page->units = big_endian(header + 12);
  page->rows = big_endian(header + 16);
  return header[0] > 0 && header[0] % 8 == 0 && page->units > 0 &&
         page->rows > 0;
}

bool raster_begins(const void *bytes, size_t len)
{
  return (len >= PWG_SYNC_BYTES &&
          memcmp(bytes, PWG_BEGIN, PWG_SYNC_BYTES) == 0) ||
         (len >= sizeof(URF_BEGIN) &&
          memcmp(bytes, URF_BEGIN, sizeof(URF_BEGIN)) == 0);
}

/* ---- rows ---- */

enum row { ROW_WHOLE, ROW_CUT, ROW_WRONG };

/*
 * Of a run, the first byte is its length: 0 to 127: the unit that follows,
 * repeated; 129 to 255: units that differ; 128: white up to the end of the row,
 * in URF and in CUPS's reader of both.
 */
static enum row raster_row(struct raster *r, const struct raster_page *page)
{
  uint64_t left = page->units;
  unsigned count;
  int c;

  while (left > 0) {
    c = raster_byte(r);
    if (c < 0)
      return ROW_CUT;
    if (c == 128)
      return ROW_WHOLE;
    count = c < 128 ? (unsigned)c + 1 : 257 - (unsigned)c;
    if (count > left)
      return ROW_WRONG;
    if (!raster_skip(r, (c < 128 ? 1 : count) * (size_t)page->unit_bytes))
      return ROW_CUT;
    left -= count;
  }
  return ROW_WHOLE;
}

static enum dx_reason wrong(struct pdf_done *done, enum dx_reason reason,
                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum dx_reason wrong(struct pdf_done *done, enum dx_reason reason,
                            const char *format, ...)
{
  va_list args;

  va_start(args, format);
  (void)vsnprintf(done->why, sizeof(done->why), format, args);
  va_end(args);
  return reason;
}

static enum dx_reason raster_rows(struct raster *r,
                                  const struct raster_page *page,
                                  struct pdf_done *done)
{
  uint32_t row = 0;

  while (row < page->rows) {
    int repeated = raster_byte(r);
    enum row is = repeated < 0 ? ROW_CUT : raster_row(r, page);

    if (is == ROW_CUT)
      return wrong(done, DX_REASON_INCOMPLETE, "it has only %u of %u rows", row,
                   page->rows);
    if (is == ROW_WRONG)
      return wrong(done, DX_REASON_DAMAGED, "its row %u is too long", row + 1);
    if ((uint32_t)repeated >= page->rows - row)
      return wrong(done, DX_REASON_DAMAGED, "it has more than %u rows",
                   page->rows);
    row += (uint32_t)repeated + 1;
  }
  return DX_REASON_NONE;
}

/* ---- pages ---- */

/* Only zeros, up to the end of the file: some programs fill a block. */
static bool raster_ends(struct raster *r, const unsigned char *header,
                        size_t len)
{
  size_t i;
  int c = 0;

  for (i = 0; i < len; i++)
    if (header[i] != 0)
      return false;
  while (c == 0)
    c = raster_byte(r);
  return c < 0;
}

static enum dx_reason raster_pages(struct raster *r, struct pdf_done *done)
{
  unsigned char header[PWG_HEADER_BYTES];
  struct raster_page page;
  enum dx_reason reason;
  uint32_t stated = 0, of_page = 0;
  size_t size = URF_HEADER_BYTES, len;
  bool is_urf, ok;

  if (raster_get(r, header, PWG_SYNC_BYTES) < PWG_SYNC_BYTES)
    return wrong(done, DX_REASON_INCOMPLETE, "its header is missing");
  is_urf = memcmp(header, URF_BEGIN, PWG_SYNC_BYTES) == 0;
  if (!is_urf)
    size = PWG_HEADER_BYTES;
  else if (raster_get(r, header + PWG_SYNC_BYTES,
                      URF_SYNC_BYTES - PWG_SYNC_BYTES) <
           URF_SYNC_BYTES - PWG_SYNC_BYTES)
    return wrong(done, DX_REASON_INCOMPLETE, "its header is missing");
  else
    stated = big_endian(header + 8);
  for (;;) {
    len = raster_get(r, header, size);
    if (done->pages > 0 && raster_ends(r, header, len))
      break;
    done->page = done->pages + 1;
    if (len < size)
      return wrong(done, DX_REASON_INCOMPLETE, "its header is missing");
    ok = is_urf ? urf_page(header, &page) : pwg_page(header, &page, &of_page);
    if (!ok)
      return wrong(done, DX_REASON_DAMAGED, "its header is invalid");
    if (!is_urf && done->pages == 0)
      stated = of_page;
    reason = raster_rows(r, &page, done);
    if (reason != DX_REASON_NONE)
      return reason;
    if (++done->pages == DX_PAGES_MAX)
      return DX_REASON_TOO_COMPLEX;
  }
  done->page = 0;
  if ((uint32_t)done->pages < stated)
    return wrong(done, DX_REASON_INCOMPLETE, "it has only %d of %u pages",
                 done->pages, stated);
  return DX_REASON_NONE;
}

enum dx_reason raster_check(const struct pdf_task *task,
                            struct pdf_done *ret_done)
{
  static struct raster r; /* large */
  enum dx_reason reason;

  r = (struct raster){.fd = task->in_fd};
  r.at = r.end = r.bytes;
  reason = raster_pages(&r, ret_done);
  return r.failed ? DX_REASON_TROUBLE : reason;
}
