/*
 * pnm.c - reads PNM, with values as text or bytes: the default format of
 * scanimage(1).
 */
#include "filter/image_pdf.h"

#include <ctype.h>

#define NUMBER_MAX 1000000

/* The next byte that is neither a blank nor in a comment (from '#' to the end
 * of the line); -1 at the end. */
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

/* Returns -1 if there is no number, or one over `most`. Bits need no blanks
 * between them. */
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
  bool is_bits = format == 1 || format == 4;
  int width, height, most = format == 4 ? 255 : 1, y, value;
  enum dx_reason reason;
  size_t i, count; /* of the bytes of a value; 0: text */

  if (format < 1 || format > 6)
    return DX_REASON_DAMAGED;
  pdf->bytes += 2;
  pdf->len -= 2;
  width = pnm_read_text(pdf, false, NUMBER_MAX);
  height = pnm_read_text(pdf, false, NUMBER_MAX);
  if (!is_bits)
    most = pnm_read_text(pdf, false, 65535);
  if (width < 1 || height < 1 || most < 1 || pdf->len == 0 ||
      !isspace(*pdf->bytes) ||
      (uint64_t)width * (unsigned)height / 8 > pdf->len)
    return DX_REASON_DAMAGED; /* a byte is at most 8 pixels */
  pdf->bytes++;
  pdf->len--;
  pdf->page = (struct image_pdf_page){.width = (uint32_t)width,
                                      .height = (uint32_t)height,
                                      .components = format % 3 == 0 ? 3 : 1,
                                      .bits = format == 4 ? 1 : 8,
                                      .inverted = is_bits};
  reason = image_pdf_begin_page(pdf);
  if (reason != DX_REASON_NONE)
    return reason;
  count = format < 4 ? 0 : most > 255 ? 2 : 1;
  for (y = 0; y < height; y++) {
    if (pdf->len < pdf->row_bytes * count)
      return DX_REASON_DAMAGED;
    pdf->len -= pdf->row_bytes * count;
    for (i = 0; i < pdf->row_bytes; i++) {
      value = count > 0 ? *pdf->bytes++ : pnm_read_text(pdf, format == 1, most);
      if (count > 1)
        value = value << 8 | *pdf->bytes++;
      if (value < 0 || value > most)
        return DX_REASON_DAMAGED;
      pdf->row[i] = (unsigned char)((value * 255 + most / 2) / most);
    }
    image_pdf_add_row(pdf);
  }
  image_pdf_end_page(pdf);
  return pnm_skip_blanks(pdf) == 'P' ? DX_REASON_IMAGES : DX_REASON_NONE;
}
