/*
 * gif.c - decodes with giflib, whose memory is limited by the process limits.
 */
#include "filter/image_pdf.h"

#include <errno.h>
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

/* The image at its place on the screen; as in browsers, it need not fit. */
static enum dx_reason gif_add(struct image_pdf *pdf, GifFileType *gif)
{
  const SavedImage *image = &gif->SavedImages[0];
  const GifImageDesc *at = &image->ImageDesc;
  const ColorMapObject *map = at->ColorMap ? at->ColorMap : gif->SColorMap;
  const GifByteType *pixel = image->RasterBits;
  int right = at->Left + at->Width, bottom = at->Top + at->Height, x, y;
  int width = right > gif->SWidth ? right : gif->SWidth;
  int height = bottom > gif->SHeight ? bottom : gif->SHeight;
  GraphicsControlBlock control = {.TransparentColor = NO_TRANSPARENT_COLOR};
  enum dx_reason reason;

  pdf->page = (struct image_pdf_page){.width = (uint32_t)width,
                                      .height = (uint32_t)height,
                                      .components = 3,
                                      .bits = 8};
  reason = image_pdf_begin_page(pdf);
  if (reason != DX_REASON_NONE)
    return reason;
  (void)DGifSavedExtensionToGCB(gif, 0, &control);
  for (y = 0; y < height; y++) {
    memset(pdf->row, 255, pdf->row_bytes);
    for (x = at->Left; x < right && y >= at->Top && y < bottom; x++, pixel++) {
      if (map == NULL || *pixel >= map->ColorCount)
        return DX_REASON_DAMAGED;
      if (*pixel != control.TransparentColor)
        memcpy(pdf->row + 3 * x, &map->Colors[*pixel], 3);
    }
    image_pdf_add_row(pdf);
  }
  image_pdf_end_page(pdf);
  return DX_REASON_NONE;
}

enum dx_reason image_pdf_gif(struct image_pdf *pdf)
{
  enum dx_reason reason = DX_REASON_DAMAGED;
  GifFileType *gif;
  int error;

  gif = DGifOpen(pdf, gif_read, &error);
  if (gif != NULL && DGifSlurp(gif) == GIF_OK && gif->ImageCount == 1)
    reason = gif_add(pdf, gif);
  else if (gif != NULL && gif->ImageCount > 1) /* or too large for memory */
    reason = DX_REASON_IMAGES;
  else if (errno == ENOMEM)
    reason = DX_REASON_TROUBLE;
  (void)DGifCloseFile(gif, &error);
  return reason;
}
