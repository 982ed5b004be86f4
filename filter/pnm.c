/*
 * pnm.c - the values of a PNM, as text or as bytes.
 */
#include "filter/image_pdf.h"

#include <ctype.h>
#include <stdlib.h>

#include "filter/options.h"

#define SIDE_MAX_PX 1000000

/* The next byte that is neither blank nor in a comment, which is from '#' to
 * the end of the line; -1 at the end. */
static int pnm_skip_blanks(struct image_pdf *pdf)
{
  bool comment = false;

  for (; pdf->len > 0; pdf->len--, pdf->bytes++) {
    if (*pdf->bytes == '\n' || *pdf->bytes == '\r')
      comment = false;
    else if (*pdf->bytes == '#')
      comment = true;
    else if (!comment && !isspace(*pdf->bytes))
      return *pdf->bytes;
  }
  return -1;
}

/* -1 if there is none, or one over `most`. Bits need no blanks between them. */
static int pnm_read_text(struct image_pdf *pdf, bool is_bit, int most)
{
  int number = 0, byte = pnm_skip_blanks(pdf);

  if (byte < 0 || !isdigit(byte))
    return -1;
  do {
    number = 10 * number + *pdf->bytes++ - '0';
    pdf->len--;
  } while (!is_bit && pdf->len > 0 && isdigit(*pdf->bytes) && number <= most);
  return number <= most ? number : -1;
}

enum dx_reason image_pdf_pnm(struct image_pdf *pdf)
{
  int format = pdf->len > 2 && pdf->bytes[0] == 'P' ? pdf->bytes[1] - '0' : 0;
  struct image_pdf_page page = {.components = format % 3 == 0 ? 3 : 1,
                                .bits = format == 4 ? 1 : 8,
                                .inverted = format % 3 == 1};
  int width, height, most = format == 4 ? 255 : 1, y, value;
  size_t len, i;
  size_t count; /* of the bytes of a value; 0: text */
  unsigned char *row;
  bool ok = true;

  if (!options_choose(pdf->task->options, 1))
    return DX_REASON_NO_PAGES;
  if (format < 1 || format > 6)
    return DX_REASON_DAMAGED;
  pdf->bytes += 2;
  pdf->len -= 2;
  width = pnm_read_text(pdf, false, SIDE_MAX_PX);
  height = pnm_read_text(pdf, false, SIDE_MAX_PX);
  if (!page.inverted)
    most = pnm_read_text(pdf, false, 65535);
  if (width < 1 || height < 1 || most < 1 || pdf->len == 0 ||
      !isspace(*pdf->bytes))
    return DX_REASON_DAMAGED;
  pdf->bytes++;
  pdf->len--;
  page.width = (uint32_t)width;
  page.height = (uint32_t)height;
  len = (size_t)image_pdf_row_bytes(&page);
  row = malloc(len);
  if (row == NULL)
    return DX_REASON_TROUBLE;
  count = format < 4 ? 0 : most > 255 ? 2 : 1;
  image_pdf_begin_page(pdf, &page);
  for (y = 0; y < height && ok; y++) {
    ok = pdf->len >= len * count;
    pdf->len -= ok ? len * count : 0;
    for (i = 0; i < len && ok; i++) {
      value = count > 0 ? *pdf->bytes++ : pnm_read_text(pdf, format == 1, most);
      if (count > 1)
        value = value << 8 | *pdf->bytes++;
      ok = value >= 0 && value <= most;
      row[i] = (unsigned char)((value * 255 + most / 2) / most);
    }
    ok = ok && image_pdf_add_row(pdf, row);
  }
  free(row);
  image_pdf_end_page(pdf);
  if (!ok)
    return DX_REASON_DAMAGED;
  return pnm_skip_blanks(pdf) == 'P' ? DX_REASON_IMAGES : DX_REASON_NONE;
}
