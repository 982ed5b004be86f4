/*
 * scans.c - makes a PDF of scanned pages, A4 at 300 dpi, one picture a page:
 * paper that is darker towards one side, lines of words, and the noise of a
 * scanner. There are four different pages, which take turns; each has a stream
 * of its own.
 *
 *   scans dct|flate|ccitt MB FILE
 *
 * dct: color, JPEG of quality 75. flate: gray. ccitt: black and white, group 4,
 * with specks. FILE gets about so many MB (10^6), and "PAGES UNPACKED_MB" is
 * printed. Needs FILE.tif for a moment. The same bytes every time.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tiffio.h>
#include <zlib.h>

#define WIDTH 2480
#define HEIGHT 3508
#define DIFFERENT 4
#define LINE 50 /* rows from one line to the next */

struct scan {
  unsigned char *bytes;
  size_t len;
};

static uint32_t seed = 1;

static unsigned scan_random(void)
{
  seed = seed * 1664525 + 1013904223;
  return seed >> 16;
}

static void scan_need(bool is_true, const char *what)
{
  if (is_true)
    return;
  fprintf(stderr, "scans: cannot %s\n", what);
  exit(1);
}

/* Rows of gray pixels: 0 is black. */
static unsigned char *scan_draw(void)
{
  unsigned char *gray = malloc((size_t)WIDTH * HEIGHT);
  int x, y, dx, dy, line;

  scan_need(gray != NULL, "get memory");
  for (y = 0; y < HEIGHT; y++)
    for (x = 0; x < WIDTH; x++)
      gray[y * WIDTH + x] = (unsigned char)(250 - x * 12 / WIDTH);
  for (line = 200; line < HEIGHT - 200; line += LINE)
    for (x = 200; x < WIDTH - 260; x += 22) {
      unsigned shape = scan_random();

      if (shape % 6 == 0) /* between words */
        continue;
      for (dy = 0; dy < 28; dy++)
        for (dx = 0; dx < 18; dx++) {
          bool is_stroke = (dx % 9 < 4 && (shape >> (dx / 9 + dy / 14)) & 1) ||
                           (dy % 12 < 3 && (shape >> (4 + dy / 12)) & 1);

          if (is_stroke)
            gray[(line + dy) * WIDTH + x + dx] = 40;
        }
    }
  for (y = 0; y < HEIGHT; y++) /* four dice: nearly a normal distribution */
    for (x = 0; x < WIDTH; x++) {
      int value = gray[y * WIDTH + x] - 6;
      int i;

      for (i = 0; i < 4; i++)
        value += (int)(scan_random() % 4);
      gray[y * WIDTH + x] = (unsigned char)(value > 255 ? 255 : value);
    }
  return gray;
}

/* One strip of a TIFF: libtiff has both encoders. */
static struct scan scan_by_tiff(const unsigned char *gray, bool is_jpeg,
                                const char *path)
{
  TIFF *tiff = TIFFOpen(path, "w");
  unsigned char *row = malloc(WIDTH * 3);
  struct scan scan;
  int x, y;

  scan_need(tiff != NULL && row != NULL, "write a TIFF");
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, WIDTH);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, HEIGHT);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, is_jpeg ? 8 : 1);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, is_jpeg ? 3 : 1);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION,
               is_jpeg ? COMPRESSION_JPEG : COMPRESSION_CCITTFAX4);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC,
               is_jpeg ? PHOTOMETRIC_YCBCR : PHOTOMETRIC_MINISWHITE);
  if (is_jpeg) {
    TIFFSetField(tiff, TIFFTAG_JPEGTABLESMODE, 0); /* in the stream */
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    TIFFSetField(tiff, TIFFTAG_JPEGQUALITY, 75);
  }
  TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, HEIGHT);
  for (y = 0; y < HEIGHT; y++) {
    const unsigned char *from = gray + (size_t)y * WIDTH;

    memset(row, 0, WIDTH * 3);
    for (x = 0; x < WIDTH; x++)
      if (is_jpeg) {
        row[3 * x] = from[x];
        row[3 * x + 1] = (unsigned char)(from[x] - from[x] / 40);
        row[3 * x + 2] = (unsigned char)(from[x] - from[x] / 16);
      } else if ((from[x] < 128) ^ (scan_random() % 400 == 0)) {
        row[x / 8] = (unsigned char)(row[x / 8] | 0x80 >> x % 8);
      }
    scan_need(TIFFWriteScanline(tiff, row, (uint32_t)y, 0) == 1, "encode");
  }
  free(row);
  TIFFClose(tiff);
  tiff = TIFFOpen(path, "r");
  scan_need(tiff != NULL, "read a TIFF");
  scan.len = (size_t)TIFFRawStripSize64(tiff, 0);
  scan.bytes = malloc(scan.len);
  scan_need(scan.bytes != NULL &&
                TIFFReadRawStrip(tiff, 0, scan.bytes, (tmsize_t)scan.len) > 0,
            "read a strip");
  TIFFClose(tiff);
  (void)unlink(path);
  return scan;
}

static struct scan scan_by_zlib(const unsigned char *gray)
{
  uLongf len = compressBound((uLong)WIDTH * HEIGHT);
  struct scan scan = {malloc(len), 0};

  scan_need(scan.bytes != NULL &&
                compress(scan.bytes, &len, gray, (uLong)WIDTH * HEIGHT) == Z_OK,
            "compress");
  scan.len = len;
  return scan;
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name, *dict;
    double unpacked; /* MB */
  } kinds[] = {
      {"dct", "/BitsPerComponent 8/ColorSpace/DeviceRGB/Filter/DCTDecode",
       3.0 * WIDTH * HEIGHT / 1e6},
      {"flate", "/BitsPerComponent 8/ColorSpace/DeviceGray/Filter/FlateDecode",
       1.0 * WIDTH * HEIGHT / 1e6},
      {"ccitt",
       "/BitsPerComponent 1/ColorSpace/DeviceGray/Filter/CCITTFaxDecode"
       "/DecodeParms<</K -1/Columns 2480/Rows 3508>>",
       1.0 * WIDTH * HEIGHT / 8e6},
  };
  struct scan scans[DIFFERENT];
  size_t size = 0, kind = 0, i;
  int pages, n, object;
  long *offsets, start;
  char path[4096];
  FILE *file;

  while (argc == 4 && kind < 3 && strcmp(argv[1], kinds[kind].name) != 0)
    kind++;
  if (argc != 4 || kind == 3 || strlen(argv[3]) > sizeof(path) - 5) {
    fputs("usage: scans dct|flate|ccitt MB FILE\n", stderr);
    return 2;
  }
  (void)snprintf(path, sizeof(path), "%s.tif", argv[3]);
  for (i = 0; i < DIFFERENT; i++) {
    unsigned char *gray = scan_draw();

    scans[i] =
        kind == 1 ? scan_by_zlib(gray) : scan_by_tiff(gray, kind == 0, path);
    size += scans[i].len;
    free(gray);
  }
  pages = (int)(atof(argv[2]) * 1e6 * DIFFERENT / (double)size) + 1;
  offsets = calloc((size_t)pages * 2 + 4, sizeof(offsets[0]));
  file = fopen(argv[3], "wb");
  scan_need(offsets != NULL && file != NULL, "write the file");
  fputs("%PDF-1.4\n", file);
  offsets[1] = ftell(file);
  fputs("1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n", file);
  offsets[2] = ftell(file);
  fprintf(file, "2 0 obj <</Type/Pages/Count %d/Kids[", pages);
  for (n = 0; n < pages; n++)
    fprintf(file, "%d 0 R\n", 4 + 2 * n);
  fputs("]>> endobj\n", file);
  offsets[3] = ftell(file);
  fputs("3 0 obj <</Length 28>>stream\nq 595 0 0 842 0 0 cm /I Do Q\n"
        "endstream endobj\n",
        file);
  for (n = 0; n < pages; n++) {
    const struct scan *scan = &scans[n % DIFFERENT];

    object = 4 + 2 * n;
    offsets[object] = ftell(file);
    fprintf(file,
            "%d 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]"
            "/Contents 3 0 R/Resources<</XObject<</I %d 0 R>>>>>> endobj\n",
            object, object + 1);
    offsets[object + 1] = ftell(file);
    fprintf(file,
            "%d 0 obj <</Type/XObject/Subtype/Image/Width %d/Height %d%s"
            "/Length %zu>>stream\n",
            object + 1, WIDTH, HEIGHT, kinds[kind].dict, scan->len);
    scan_need(fwrite(scan->bytes, scan->len, 1, file) == 1, "write the file");
    fputs("\nendstream endobj\n", file);
  }
  start = ftell(file);
  fprintf(file, "xref\n0 %d\n0000000000 65535 f \n", 4 + 2 * pages);
  for (n = 1; n < 4 + 2 * pages; n++)
    fprintf(file, "%010ld 00000 n \n", offsets[n]);
  fprintf(file, "trailer <</Root 1 0 R/Size %d>>\nstartxref\n%ld\n%%%%EOF\n",
          4 + 2 * pages, start);
  scan_need(fclose(file) == 0, "write the file");
  printf("%d %.0f\n", pages, pages * kinds[kind].unpacked);
  return 0;
}
