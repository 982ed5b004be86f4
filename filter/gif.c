/*
 * gif.c - decodes with giflib, whose memory is limited by the process limits.
 */
#include "filter/image_pdf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gif_lib.h>

/* Returns a trailer at the end of the file, where it may be missing. */
static int gif_read(GifFileType *gif, GifByteType *bytes, int len)
{
  struct image_pdf *pdf = gif->UserData;

  if (pdf->len == 0 && len == 1)
    bytes[0] = ';';
  else if ((size_t)len > pdf->len)
    return 0;
  else {
    memcpy(bytes, pdf->bytes, (size_t)len);
    pdf->bytes += len;
    pdf->len -= (size_t)len;
  }
  return len;
}

/* The rows of the image that giflib has found. */
static bool gif_read_rows(GifFileType *gif)
{
  static const int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
  SavedImage *image = &gif->SavedImages[0];
  int width = image->ImageDesc.Width, height = image->ImageDesc.Height;
  bool ok = width > 0 && height > 0, interlaced = image->ImageDesc.Interlace;
  int pass, y;

  if (ok)
    image->RasterBits = malloc((size_t)width * (size_t)height);
  ok = ok && image->RasterBits != NULL;
  for (pass = 0; pass < (interlaced ? 4 : 1); pass++)
    for (y = interlaced ? starts[pass] : 0; y < height && ok;
         y += interlaced ? steps[pass] : 1)
      ok = DGifGetLine(gif, image->RasterBits + (size_t)y * (size_t)width,
                       width) == GIF_OK;
  return ok;
}

/* Takes over how the image is drawn. An extension may be empty, which
 * DGifSlurp() does not expect. */
static bool gif_read_extension(GifFileType *gif, GraphicsControlBlock *control)
{
  GifByteType *bytes;
  int code, status = DGifGetExtension(gif, &code, &bytes);

  while (status == GIF_OK && bytes != NULL) {
    if (code == GRAPHICS_EXT_FUNC_CODE)
      (void)DGifExtensionToGCB(bytes[0], bytes + 1, control);
    status = DGifGetExtensionNext(gif, &bytes);
  }
  return status == GIF_OK;
}

/* Reads up to the end of the file, or a second image. */
static bool gif_read_all(GifFileType *gif, GraphicsControlBlock *control)
{
  GraphicsControlBlock other;
  GifRecordType type;
  bool ok = true;

  do {
    ok = DGifGetRecordType(gif, &type) == GIF_OK;
    if (ok && type == IMAGE_DESC_RECORD_TYPE)
      ok = DGifGetImageDesc(gif) == GIF_OK &&
           (gif->ImageCount > 1 || gif_read_rows(gif));
    else if (ok && type == EXTENSION_RECORD_TYPE)
      ok = gif_read_extension(gif, gif->ImageCount == 0 ? control : &other);
  } while (ok && type != TERMINATE_RECORD_TYPE && gif->ImageCount < 2);
  return ok;
}

/* The image at its place on the screen; as in browsers, it need not fit. */
static enum dx_reason gif_add(struct image_pdf *pdf, GifFileType *gif,
                              const GraphicsControlBlock *control)
{
  const SavedImage *image = &gif->SavedImages[0];
  const GifImageDesc *at = &image->ImageDesc;
  const ColorMapObject *map = at->ColorMap ? at->ColorMap : gif->SColorMap;
  const GifByteType *pixel = image->RasterBits;
  int right = at->Left + at->Width, bottom = at->Top + at->Height, x, y;
  int width = right > gif->SWidth ? right : gif->SWidth;
  int height = bottom > gif->SHeight ? bottom : gif->SHeight;
  enum dx_reason reason;

  pdf->page = (struct image_pdf_page){.width = (uint32_t)width,
                                      .height = (uint32_t)height,
                                      .components = 3,
                                      .bits = 8};
  reason = image_pdf_begin_page(pdf);
  if (reason != DX_REASON_NONE)
    return reason;
  for (y = 0; y < height; y++) {
    memset(pdf->row, 255, pdf->row_bytes);
    for (x = at->Left; x < right && y >= at->Top && y < bottom; x++, pixel++) {
      if (map == NULL || *pixel >= map->ColorCount)
        return DX_REASON_DAMAGED;
      if (*pixel != control->TransparentColor)
        memcpy(pdf->row + 3 * x, &map->Colors[*pixel], 3);
    }
    image_pdf_add_row(pdf);
  }
  image_pdf_end_page(pdf);
  return DX_REASON_NONE;
}

enum dx_reason image_pdf_gif(struct image_pdf *pdf)
{
  GraphicsControlBlock control = {.TransparentColor = NO_TRANSPARENT_COLOR};
  enum dx_reason reason = DX_REASON_DAMAGED;
  GifFileType *gif;
  int error;

  gif = DGifOpen(pdf, gif_read, &error);
  if (gif != NULL && gif_read_all(gif, &control) && gif->ImageCount == 1)
    reason = gif_add(pdf, gif, &control);
  else if (gif != NULL && gif->ImageCount > 1)
    reason = DX_REASON_IMAGES;
  else if (errno == ENOMEM)
    reason = DX_REASON_TROUBLE;
  (void)DGifCloseFile(gif, &error);
  return reason;
}
