/*
 * image_pdf.c - four objects for each page: the page, its content, the image,
 * and the image's length, which is known only after it.
 *
 * Numbers are written without floating point: libcups may have set a locale
 * with a decimal comma.
 */
#include "filter/image_pdf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "lib/base/fs.h"

#define BUFFER_BYTES 65536
#define CATALOG 1 /* object numbers */
#define PAGES 2
#define FIRST_PAGE 3
#define OBJECTS_OF_A_PAGE 4
#define POINT_MIN 300     /* hundredths of a point: what viewers accept */
#define POINT_MAX 1440000 /* the largest page of PDF: 200 inches */

struct image_pdf {
  int fd;
  bool failed;
  int64_t size;
  int64_t stream_at; /* where the stream begins */
  int64_t *offsets;  /* of the objects, from number 1 */
  size_t objects;
  size_t room;
  size_t pages;
  struct image_pdf_page page;
  z_stream z; /* of rows */
  size_t len; /* of what waits in bytes[] */
  unsigned char bytes[BUFFER_BYTES];
  unsigned char packed[BUFFER_BYTES];
};

struct image_pdf *image_pdf_new(int fd)
{
  struct image_pdf *pdf = calloc(1, sizeof(*pdf));

  if (pdf != NULL)
    pdf->fd = fd;
  return pdf;
}

void image_pdf_free(struct image_pdf **pdf)
{
  if (*pdf != NULL) {
    (void)deflateEnd(&(*pdf)->z); /* harmless if there is none */
    free((*pdf)->offsets);
  }
  free(*pdf);
  *pdf = NULL;
}

int64_t image_pdf_size(const struct image_pdf *pdf)
{
  return pdf->size;
}

/* ---- bytes and objects ---- */

static void flush(struct image_pdf *pdf)
{
  pdf->failed = pdf->failed || dx_fs_write_all(pdf->fd, pdf->bytes, pdf->len,
                                               "document", NULL) != DX_OK;
  pdf->len = 0;
}

static void put(struct image_pdf *pdf, const void *bytes, size_t len)
{
  const unsigned char *from = bytes;

  pdf->size += (int64_t)len;
  while (len > 0) {
    size_t part = BUFFER_BYTES - pdf->len;

    if (part > len)
      part = len;
    memcpy(pdf->bytes + pdf->len, from, part);
    pdf->len += part;
    from += part;
    len -= part;
    if (pdf->len == BUFFER_BYTES)
      flush(pdf);
  }
}

__attribute__((format(printf, 2, 3))) static void print(struct image_pdf *pdf,
                                                        const char *format, ...)
{
  char text[512]; /* no line is longer */
  va_list args;
  int len;

  va_start(args, format);
  len = vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (len > 0 && len < (int)sizeof(text))
    put(pdf, text, (size_t)len);
  else
    pdf->failed = true;
}

/* Begins object `number`: in any order, but each only once. */
static void begin_object(struct image_pdf *pdf, size_t number)
{
  if (number > pdf->room) {
    size_t room = 2 * number + 64;
    int64_t *offsets = realloc(pdf->offsets, room * sizeof(*offsets));

    if (offsets == NULL) {
      pdf->failed = true;
      return;
    }
    pdf->offsets = offsets;
    pdf->room = room;
  }
  pdf->offsets[number - 1] = pdf->size;
  if (number > pdf->objects)
    pdf->objects = number;
  print(pdf, "%zu 0 obj\n", number);
}

/* ---- a page ---- */

static size_t page_number(size_t index)
{
  return FIRST_PAGE + OBJECTS_OF_A_PAGE * index;
}

/* In hundredths of a point. */
static int length_of_side(uint32_t pixels, double dpi)
{
  double length = pixels * 7200.0 / dpi + 0.5;

  if (!(length > POINT_MIN))
    return POINT_MIN;
  return length < POINT_MAX ? (int)length : POINT_MAX;
}

/* Where the image is on the page: a unit square, turned and mirrored. */
static void print_content(struct image_pdf *pdf, int width, int height)
{
  static const int matrices[8][6] = {{1, 0, 0, 1, 0, 0},   {-1, 0, 0, 1, 1, 0},
                                     {-1, 0, 0, -1, 1, 1}, {1, 0, 0, -1, 0, 1},
                                     {0, -1, -1, 0, 1, 1}, {0, -1, 1, 0, 0, 1},
                                     {0, 1, 1, 0, 0, 0},   {0, 1, -1, 0, 1, 0}};
  const int *matrix = matrices[pdf->page.orientation - 1];
  char content[160];
  int len = 0, i;

  for (i = 0; i < 6; i++) {
    int side = i % 2 == 0 ? width : height;

    len += snprintf(content + len, sizeof(content) - (size_t)len, "%s%d.%02d ",
                    matrix[i] < 0 ? "-" : "", abs(matrix[i]) * side / 100,
                    abs(matrix[i]) * side % 100);
  }
  len += snprintf(content + len, sizeof(content) - (size_t)len, "cm\n/I Do\n");
  print(pdf, "<</Length %d>>\nstream\n%sendstream\nendobj\n", len, content);
}

static void print_coding(struct image_pdf *pdf)
{
  const struct image_pdf_page *page = &pdf->page;

  switch (page->coding) {
  case IMAGE_PDF_ROWS:
    print(pdf, "/Filter/FlateDecode");
    if (page->bits == 8)
      print(pdf,
            "/DecodeParms<</Predictor 2/Colors %d/BitsPerComponent 8"
            "/Columns %" PRIu32 ">>",
            page->components, page->width);
    break;
  case IMAGE_PDF_G4:
    print(pdf,
          "/Filter/CCITTFaxDecode/DecodeParms<</K -1/Columns %" PRIu32
          "/Rows %" PRIu32 "%s>>",
          page->width, page->height, page->inverted ? "" : "/BlackIs1 true");
    break;
  case IMAGE_PDF_JPEG:
    print(pdf, "/Filter/DCTDecode");
    break;
  }
  if (page->inverted && page->coding != IMAGE_PDF_G4)
    print(pdf, "/Decode[1 0]");
}

void image_pdf_begin_page(struct image_pdf *pdf,
                          const struct image_pdf_page *page)
{
  size_t number = page_number(pdf->pages);
  int width = length_of_side(page->width, page->x_dpi);
  int height = length_of_side(page->height, page->y_dpi);

  pdf->page = *page;
  if (page->orientation > 4) { /* on its side */
    int side = width;

    width = height;
    height = side;
  }
  if (pdf->pages == 0)
    print(pdf, "%%PDF-1.4\n%%\xE2\xE3\xCF\xD3\n"); /* not text */
  begin_object(pdf, number);
  print(pdf,
        "<</Type/Page/Parent %d 0 R/MediaBox[0 0 %d.%02d %d.%02d]"
        "/Contents %zu 0 R/Resources<</XObject<</I %zu 0 R>>>>>>\nendobj\n",
        PAGES, width / 100, width % 100, height / 100, height % 100, number + 1,
        number + 2);
  begin_object(pdf, number + 1);
  print_content(pdf, width, height);
  begin_object(pdf, number + 2);
  print(pdf,
        "<</Type/XObject/Subtype/Image/Width %" PRIu32 "/Height %" PRIu32
        "/ColorSpace/Device%s/BitsPerComponent %d/Length %zu 0 R",
        page->width, page->height, page->components == 1 ? "Gray" : "RGB",
        page->bits, number + 3);
  print_coding(pdf);
  print(pdf, ">>\nstream\n");
  pdf->stream_at = pdf->size;
  if (page->coding == IMAGE_PDF_ROWS)
    pdf->failed = pdf->failed || deflateInit(&pdf->z, Z_BEST_SPEED) != Z_OK;
}

static void pack(struct image_pdf *pdf, unsigned char *bytes, size_t len,
                 int flush_mode)
{
  pdf->z.next_in = bytes;
  pdf->z.avail_in = (uInt)len;
  do {
    pdf->z.next_out = pdf->packed;
    pdf->z.avail_out = sizeof(pdf->packed);
    if (deflate(&pdf->z, flush_mode) == Z_STREAM_ERROR) {
      pdf->failed = true;
      return;
    }
    put(pdf, pdf->packed, sizeof(pdf->packed) - pdf->z.avail_out);
  } while (pdf->z.avail_out == 0);
}

/* TIFF's predictor 2: each value as the difference to its left neighbor. */
static void subtract(unsigned char *row, size_t len, size_t components)
{
  size_t i;

  for (i = len; i-- > components;)
    row[i] = (unsigned char)(row[i] - row[i - components]);
}

void image_pdf_add(struct image_pdf *pdf, unsigned char *bytes, size_t len)
{
  if (pdf->failed)
    return;
  if (pdf->page.coding != IMAGE_PDF_ROWS) {
    put(pdf, bytes, len);
    return;
  }
  if (pdf->page.bits == 8)
    subtract(bytes, len, (size_t)pdf->page.components);
  pack(pdf, bytes, len, Z_NO_FLUSH);
}

void image_pdf_end_page(struct image_pdf *pdf)
{
  int64_t length;

  if (pdf->page.coding == IMAGE_PDF_ROWS && !pdf->failed) {
    pack(pdf, NULL, 0, Z_FINISH);
    (void)deflateEnd(&pdf->z);
  }
  length = pdf->size - pdf->stream_at;
  print(pdf, "\nendstream\nendobj\n");
  begin_object(pdf, page_number(pdf->pages) + 3);
  print(pdf, "%" PRId64 "\nendobj\n", length);
  pdf->pages++;
}

/* ---- the end ---- */

bool image_pdf_end(struct image_pdf *pdf)
{
  int64_t table;
  size_t i;

  begin_object(pdf, CATALOG);
  print(pdf, "<</Type/Catalog/Pages %d 0 R>>\nendobj\n", PAGES);
  begin_object(pdf, PAGES);
  print(pdf, "<</Type/Pages/Count %zu/Kids[", pdf->pages);
  for (i = 0; i < pdf->pages; i++)
    print(pdf, "%zu 0 R\n", page_number(i));
  print(pdf, "]>>\nendobj\n");
  table = pdf->size;
  print(pdf, "xref\n0 %zu\n0000000000 65535 f \n", pdf->objects + 1);
  for (i = 0; i < pdf->objects && !pdf->failed; i++)
    print(pdf, "%010" PRId64 " 00000 n \n", pdf->offsets[i]);
  print(pdf,
        "trailer\n<</Size %zu/Root %d 0 R>>\nstartxref\n%" PRId64 "\n%%%%EOF\n",
        pdf->objects + 1, CATALOG, table);
  flush(pdf);
  return !pdf->failed;
}
