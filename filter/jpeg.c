/*
 * jpeg.c - reads the markers of a JPEG, to copy it without metadata, and checks
 * the data between them with libjpeg.
 */
#include "filter/codecs.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "filter/exif.h"

#define MARKER_SOI 0xD8
#define MARKER_SOS 0xDA

/* Of an image in several scans: at once, and of all scans together. */
#define COEFFICIENTS_MAX_BYTES (400ULL << 20)
#define SCANS_MAX_BYTES (8ULL << 30)
/* With more, libjpeg uses a faster decoder that ignores invalid codes. */
#define PIECE_BYTES 511

/* ---- markers (ITU-T T.81, annex B) ---- */

struct jpeg_walk {
  const unsigned char *at, *end; /* of the file */
  int marker;
  const unsigned char *begin;   /* 0xFF, marker, length */
  const unsigned char *segment; /* behind these 4 bytes */
  size_t len;                   /* of the segment; data of a scan follow */
};

/* In some PDFs, other bytes precede SOI. Without SOI, there are no segments. */
static struct jpeg_walk jpeg_walk_begin(const unsigned char *bytes, size_t len)
{
  const unsigned char *soi = memmem(bytes, len, "\xFF\xD8\xFF", 3);
  struct jpeg_walk w = {.at = bytes + len, .end = bytes + len};

  if (soi != NULL)
    w.at = soi + 2;
  return w;
}

/* The 0xFF before the next marker, or the end. 0xFF 0x00 and restart markers
 * belong to the data of a scan. */
static const unsigned char *jpeg_find_marker(const unsigned char *p,
                                             const unsigned char *end)
{
  const unsigned char *found;

  while ((found = memchr(p, 0xFF, (size_t)(end - p))) != NULL) {
    for (p = found + 1; p < end && *p == 0xFF; p++)
      ;
    if (p == end || (*p > 0x01 && (*p & ~7) != JPEG_RST0))
      return found;
  }
  return end;
}

/* The next segment; false at EOI, and where the file ends early. */
static bool jpeg_walk_next(struct jpeg_walk *w)
{
  const unsigned char *p = jpeg_find_marker(w->at, w->end);

  while (p < w->end && *p == 0xFF)
    p++;
  w->marker = p < w->end ? *p++ : JPEG_EOI;
  if (w->marker == JPEG_EOI || w->marker == MARKER_SOI || w->end - p < 2)
    return false;
  w->len = (size_t)p[0] << 8 | p[1];
  if (w->len < 2 || (size_t)(w->end - p) < w->len)
    return false;
  w->begin = p - 2;
  w->segment = p + 2;
  w->at = p + w->len;
  w->len -= 2;
  if (w->marker == MARKER_SOS)
    w->at = jpeg_find_marker(w->at, w->end);
  return true;
}

static bool jpeg_is(const struct jpeg_walk *w, int marker, const char *id,
                    size_t id_len, size_t least)
{
  return w->marker == marker && w->len >= least &&
         memcmp(w->segment, id, id_len) == 0;
}

/* ---- the copy ---- */

void jpeg_clean(const unsigned char *bytes, size_t len, bool keep_orientation,
                struct dx_buf *copy)
{
  unsigned char exif[10 + EXIF_CLEAN_BYTES] = "\xFF\xE1\0\x22"
                                              "Exif\0";
  unsigned char short_one[4 + 14] = {0};
  bool is_jfif;
  struct jpeg_walk w = jpeg_walk_begin(bytes, len);

  dx_buf_add(copy, "\xFF\xD8", 2);
  while (jpeg_walk_next(&w)) {
    if (keep_orientation && jpeg_is(&w, JPEG_APP0 + 1, "Exif\0", 6, 6)) {
      if (exif_clean(w.segment + 6, w.len - 6, exif + 10) != 1)
        dx_buf_add(copy, exif, sizeof(exif));
      keep_orientation = false; /* only the first one counts */
    }
    is_jfif = jpeg_is(&w, JPEG_APP0, "JFIF", 5, 14);
    if (is_jfif || jpeg_is(&w, JPEG_APP0 + 14, "Adobe", 5, 12)) {
      /* Without a thumbnail (its size is in the last two bytes), or extra
       * bytes. */
      memcpy(short_one, w.begin, 4 + 12);
      short_one[2] = 0;
      short_one[3] = is_jfif ? 16 : 14;
      dx_buf_add(copy, short_one, 2U + short_one[3]);
    } else if (((w.marker & ~15) != JPEG_APP0 && w.marker != JPEG_COM) ||
               jpeg_is(&w, JPEG_APP0 + 2, "ICC_PROFILE", 12, 14)) {
      dx_buf_add(copy, w.begin, (size_t)(w.at - w.begin));
    }
  }
  dx_buf_add(copy, "\xFF\xD9", 2);
}

/* ---- decoding ---- */

struct jpeg_decoder {
  struct jpeg_decompress_struct libjpeg;
  struct jpeg_error_mgr errors;
  const unsigned char *at, *end;
  uint64_t scans;
  jmp_buf failed;
};

static void jpeg_fail(j_common_ptr libjpeg)
{
  longjmp(((struct jpeg_decoder *)libjpeg->client_data)->failed, 1);
}

/* libjpeg looks ahead: JWRN_JPEG_EOF alone does not mean that it needed more.
 * Extraneous data and unusual headers are not damage. */
static void jpeg_warn(j_common_ptr libjpeg, int level)
{
  int code = libjpeg->err->msg_code;

  if (level < 0 && (code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
                    code == JWRN_MUST_RESYNC || code == JWRN_BOGUS_PROGRESSION))
    jpeg_fail(libjpeg);
}

static boolean jpeg_next_piece(j_decompress_ptr libjpeg)
{
  static const unsigned char eoi[2] = {0xFF, JPEG_EOI};
  struct jpeg_decoder *d = libjpeg->client_data;
  size_t left = (size_t)(d->end - d->at);
  size_t len = left < PIECE_BYTES ? left : PIECE_BYTES;

  libjpeg->src->next_input_byte = len > 0 ? d->at : eoi;
  libjpeg->src->bytes_in_buffer = len > 0 ? len : sizeof(eoi);
  d->at += len;
  return TRUE;
}

/* The scans of a progressive image must have all bits of all coefficients. */
static bool jpeg_has_all_scans(j_decompress_ptr libjpeg)
{
  int i, missing = 0;

  for (i = 0; i < libjpeg->num_components; i++)
    missing += libjpeg->comp_info[i].quant_table == NULL; /* in no scan */
  for (i = 0; libjpeg->progressive_mode && missing == 0 &&
              i < libjpeg->num_components * DCTSIZE2;
       i++)
    missing += libjpeg->coef_bits[i / DCTSIZE2][i % DCTSIZE2] != 0;
  return missing == 0;
}

/* An image in one scan is decoded row by row, at an eighth of its size, which
 * is fastest; libjpeg reads all of any other image before the first row. */
static enum dx_reason jpeg_decode(struct jpeg_decoder *d)
{
  j_decompress_ptr libjpeg = &d->libjpeg;
  uint64_t memory = 0;
  JSAMPARRAY row;
  int i;

  jpeg_create_decompress(libjpeg);
  jpeg_mem_src(libjpeg, d->at, 2); /* SOI */
  d->at += 2;
  libjpeg->src->fill_input_buffer = jpeg_next_piece;
  (void)jpeg_read_header(libjpeg, TRUE);
  if (libjpeg->arith_code || libjpeg->data_precision != 8)
    return DX_REASON_UNKNOWN;
  for (i = 0; i < libjpeg->num_components; i++)
    memory += (uint64_t)libjpeg->comp_info[i].width_in_blocks *
              libjpeg->comp_info[i].height_in_blocks * sizeof(JBLOCK);
  if (jpeg_has_multiple_scans(libjpeg) &&
      (memory > COEFFICIENTS_MAX_BYTES || memory > SCANS_MAX_BYTES / d->scans))
    return DX_REASON_TOO_COMPLEX;
  libjpeg->out_color_space = libjpeg->jpeg_color_space;
  libjpeg->scale_denom = 8;
  libjpeg->do_fancy_upsampling = FALSE;
  (void)jpeg_start_decompress(libjpeg);
  if (jpeg_has_multiple_scans(libjpeg))
    return jpeg_has_all_scans(libjpeg) ? DX_REASON_NONE : DX_REASON_DAMAGED;
  row = libjpeg->mem->alloc_sarray(
      (j_common_ptr)libjpeg, JPOOL_IMAGE,
      libjpeg->output_width * (JDIMENSION)libjpeg->output_components, 1);
  while (libjpeg->output_scanline < libjpeg->output_height)
    (void)jpeg_read_scanlines(libjpeg, row, 1);
  return DX_REASON_NONE;
}

static enum dx_reason jpeg_reason(int code, const char **ret_why)
{
  switch (code) {
  case JERR_OUT_OF_MEMORY:
    return DX_REASON_TROUBLE;
  case JERR_SOF_UNSUPPORTED:
  case JERR_BAD_PRECISION:
  case JERR_FRACT_SAMPLE_NOTIMPL:
  case JERR_CCIR601_NOTIMPL:
    return DX_REASON_UNKNOWN;
  default:
    if (code != JWRN_HIT_MARKER)
      *ret_why = "an image has invalid data";
    return DX_REASON_DAMAGED;
  }
}

enum dx_reason jpeg_check(const unsigned char *bytes, size_t len,
                          struct jpeg_info *ret_info, const char **ret_why)
{
  struct jpeg_decoder d = {0};
  struct jpeg_walk w = jpeg_walk_begin(bytes, len);
  enum dx_reason reason;

  d.at = w.at - 2;
  d.end = w.end;
  while (jpeg_walk_next(&w))
    d.scans += w.marker == MARKER_SOS;
  *ret_why = d.scans > 0 ? "an image ends early" : "an image has no data";
  if (d.scans == 0)
    return DX_REASON_DAMAGED;
  d.libjpeg.err = jpeg_std_error(&d.errors);
  d.errors.error_exit = jpeg_fail;
  d.errors.emit_message = jpeg_warn;
  d.libjpeg.client_data = &d;
  if (setjmp(d.failed) == 0)
    reason = jpeg_decode(&d);
  else
    reason = jpeg_reason(d.errors.msg_code, ret_why);
  if (reason == DX_REASON_NONE)
    *ret_info = (struct jpeg_info){.width = d.libjpeg.image_width,
                                   .height = d.libjpeg.image_height,
                                   .components = d.libjpeg.num_components};
  jpeg_destroy_decompress(&d.libjpeg);
  return reason;
}
