/*
 * gif.c - giflib decodes; the limits of the process bound what it needs.
 */
#include "filter/image_pdf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gif_lib.h>

#include "filter/options.h"

#define PIXELS_MAX (1 << 27)

/* A byte past the end is a trailer, which may be missing. */
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
  struct image_pdf_page page = {.width = (uint32_t)width,
                                .height = (uint32_t)height,
                                .components = 3,
                                .bits = 8};
  GraphicsControlBlock control = {.TransparentColor = NO_TRANSPARENT_COLOR};
  size_t len = 3 * (size_t)width;
  unsigned char *row = height <= PIXELS_MAX / width ? malloc(len) : NULL;
  bool ok = map != NULL;

  if (row == NULL)
    return DX_REASON_TOO_COMPLEX;
  (void)DGifSavedExtensionToGCB(gif, 0, &control);
  image_pdf_begin_page(pdf, &page);
  for (y = 0; y < height && ok; y++) {
    memset(row, 255, len);
    for (x = at->Left; x < right && y >= at->Top && y < bottom && ok; x++) {
      ok = *pixel < map->ColorCount;
      if (ok && *pixel != control.TransparentColor)
        memcpy(row + 3 * x, &map->Colors[*pixel], 3);
      pixel++;
    }
    ok = ok && image_pdf_add_row(pdf, row);
  }
  free(row);
  image_pdf_end_page(pdf);
  return ok ? DX_REASON_NONE : DX_REASON_DAMAGED;
}

enum dx_reason image_pdf_gif(struct image_pdf *pdf)
{
  enum dx_reason reason = DX_REASON_DAMAGED;
  GifFileType *gif;
  int error;

  if (!options_choose(pdf->task->options, 1))
    return DX_REASON_NO_PAGES;
  gif = DGifOpen(pdf, gif_read, &error);
  if (gif != NULL && DGifSlurp(gif) == GIF_OK && gif->ImageCount == 1)
    reason = gif_add(pdf, gif);
  else if (gif != NULL && gif->ImageCount > 1) /* or the memory for them ends */
    reason = DX_REASON_IMAGES;
  else if (errno == ENOMEM)
    reason = DX_REASON_TROUBLE;
  (void)DGifCloseFile(gif, &error);
  return reason;
}
